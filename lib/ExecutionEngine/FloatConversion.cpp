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

#include <cmath>
#include <cstring>

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

/// Rounds to a 16-bit float with the given numbers of exponent and mantissa
/// bits. Every f32 is a double, so one function rounds both, and only once.
template <int ExponentBits, int MantissaBits> uint16_t narrow(double value) {
  static_assert(ExponentBits + MantissaBits == 15);
  constexpr int bias = (1 << (ExponentBits - 1)) - 1;
  constexpr uint64_t infinity = uint64_t((1 << ExponentBits) - 1)
                                << MantissaBits;

  uint64_t bits = bitCast<uint64_t>(value);
  uint64_t sign = (bits >> 63) << 15;
  uint64_t fraction = bits & ((uint64_t(1) << 52) - 1);
  int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  if (exponent == 0x7ff) {
    if (!fraction)
      return static_cast<uint16_t>(sign | infinity);
    // A NaN stays one: the quiet bit is set, as much of the payload as fits
    // kept.
    return static_cast<uint16_t>(sign | infinity |
                                 (uint64_t(1) << (MantissaBits - 1)) |
                                 (fraction >> (52 - MantissaBits)));
  }
  if (exponent == 0) // zero, or far below the smallest 16-bit denormal
    return static_cast<uint16_t>(sign);
  exponent -= 1023;
  if (exponent > bias)
    return static_cast<uint16_t>(sign | infinity);

  uint64_t significand = fraction | (uint64_t(1) << 52);
  int denormalShift = exponent < 1 - bias ? 1 - bias - exponent : 0;
  int shift = 52 - MantissaBits + denormalShift;
  if (shift > 54)
    return static_cast<uint16_t>(sign);
  uint64_t quotient = significand >> shift;
  uint64_t remainder = significand & ((uint64_t(1) << shift) - 1);
  uint64_t half = uint64_t(1) << (shift - 1);
  if (remainder > half || (remainder == half && (quotient & 1)))
    ++quotient;
  // The leading one of a normal number adds 1 to the exponent field, and so
  // does a carry out of rounding; past the largest number that gives infinity.
  uint64_t magnitude =
      denormalShift
          ? quotient
          : (uint64_t(exponent + bias - 1) << MantissaBits) + quotient;
  return static_cast<uint16_t>(sign | magnitude);
}

float widenF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits >> 15) << 31;
  uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t mantissa = bits & 0x3ff;
  if (exponent == 0) {
    float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -magnitude : magnitude;
  }
  uint32_t wide = exponent == 0x1f ? 0xff : exponent - 15 + 127;
  return bitCast<float>(sign | (wide << 23) | (mantissa << 13));
}

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

RawHalf attnTruncF32ToF16(float value) { return rawOf(narrow<5, 10>(value)); }
RawHalf attnTruncF64ToF16(double value) { return rawOf(narrow<5, 10>(value)); }
RawHalf attnTruncF32ToBF16(float value) { return rawOf(narrow<8, 7>(value)); }
RawHalf attnTruncF64ToBF16(double value) { return rawOf(narrow<8, 7>(value)); }
float attnExtendF16ToF32(RawHalf value) { return widenF16(bitsOf(value)); }
double attnExtendF16ToF64(RawHalf value) { return widenF16(bitsOf(value)); }
float attnExtendBF16ToF32(RawHalf value) {
  return bitCast<float>(uint32_t(bitsOf(value)) << 16);
}
uint16_t attnTruncF32ToF16Bits(float value) { return narrow<5, 10>(value); }
float attnExtendF16BitsToF32(uint16_t bits) { return widenF16(bits); }
float attnPowiF32(float base, int32_t exponent) { return powi(base, exponent); }
double attnPowiF64(double base, int32_t exponent) {
  return powi(base, exponent);
}
