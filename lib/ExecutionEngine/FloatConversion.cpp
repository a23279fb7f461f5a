//===- FloatConversion.cpp - Conversions to and from 16-bit floats --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM calls these where a target has no instruction for a conversion. Debian's
// libgcc lacks those for bf16, so that none of them is taken from there.
//
//===----------------------------------------------------------------------===//

#include "RuntimeFunctions.h"
#include "attn/Support/HostTensor.h"

#include <cstring>

using namespace attn;

namespace {

template <typename To, typename From> To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

uint16_t bitsOf(RawHalf value) {
  return static_cast<uint16_t>(bitCast<uint32_t>(value));
}
RawHalf rawOf(uint16_t bits) { return bitCast<float>(uint32_t(bits)); }

template <typename Float> Float powi(Float base, int32_t exponent) {
  // The negation of the smallest integer is itself as an unsigned number.
  uint32_t left =
      exponent < 0 ? 0u - static_cast<uint32_t>(exponent) : uint32_t(exponent);
  Float result = 1;
  for (Float square = base; left; left >>= 1, square *= square)
    if (left & 1)
      result *= square;
  return exponent < 0 ? 1 / result : result;
}

} // namespace

// Every f32 is a double, so one function rounds both, and only once.
RawHalf attnTruncF32ToF16(float value) { return rawOf(encodeF16(value)); }
RawHalf attnTruncF64ToF16(double value) { return rawOf(encodeF16(value)); }
RawHalf attnTruncF32ToBF16(float value) { return rawOf(encodeBF16(value)); }
RawHalf attnTruncF64ToBF16(double value) { return rawOf(encodeBF16(value)); }
float attnExtendF16ToF32(RawHalf value) {
  return static_cast<float>(decodeF16(bitsOf(value)));
}
double attnExtendF16ToF64(RawHalf value) { return decodeF16(bitsOf(value)); }
float attnExtendBF16ToF32(RawHalf value) {
  return static_cast<float>(decodeBF16(bitsOf(value)));
}
uint16_t attnTruncF32ToF16Bits(float value) { return encodeF16(value); }
float attnExtendF16BitsToF32(uint16_t bits) {
  return static_cast<float>(decodeF16(bits));
}
float attnPowiF32(float base, int32_t exponent) { return powi(base, exponent); }
double attnPowiF64(double base, int32_t exponent) {
  return powi(base, exponent);
}
