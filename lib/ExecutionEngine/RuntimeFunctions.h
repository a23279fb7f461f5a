//===- RuntimeFunctions.h - Runtime functions without a public header -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by the sources of the CPU runtime: functions that generated code calls
// and that nobody else needs.
//
// A 16-bit float travels in the low half of an SSE register, in and out.
// `float` travels in the same register, so these functions say `float` (named
// RawHalf) where the bits are those of a half: this needs no compiler support
// for the 16-bit types.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_EXECUTIONENGINE_RUNTIMEFUNCTIONS_H
#define ATTN_LIB_EXECUTIONENGINE_RUNTIMEFUNCTIONS_H

#include <cstdint>

extern "C" {

/// A 16-bit float in the low bits; the others are of no meaning.
using RawHalf = float;

/// Conversions that LLVM calls by the names of compiler-rt. All round to
/// nearest, ties to even, once.
RawHalf attnTruncF32ToF16(float value);
RawHalf attnTruncF64ToF16(double value);
RawHalf attnTruncF32ToBF16(float value);
RawHalf attnTruncF64ToBF16(double value);
float attnExtendF16ToF32(RawHalf value);
double attnExtendF16ToF64(RawHalf value);
float attnExtendBF16ToF32(RawHalf value);
/// The same with the bits in an integer register.
uint16_t attnTruncF32ToF16Bits(float value);
float attnExtendF16BitsToF32(uint16_t bits);

/// `base` to an integer power.
float attnPowiF32(float base, int32_t exponent);
double attnPowiF64(double base, int32_t exponent);

/// A memref of any rank as MLIR passes it: `descriptor` is a strided memref
/// descriptor {allocated, aligned, offset, sizes[rank], strides[rank]}.
struct attnUnrankedMemRef {
  int64_t rank;
  void *descriptor;
};

/// Copies between memrefs of one shape and any strides. Called as `memrefCopy`.
void attnMemRefCopy(int64_t elementBytes, const attnUnrankedMemRef *source,
                    const attnUnrankedMemRef *destination);
}

#endif // ATTN_LIB_EXECUTIONENGINE_RUNTIMEFUNCTIONS_H
