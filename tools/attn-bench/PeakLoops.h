//===- PeakLoops.h - Loops that keep one unit of a CPU busy -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_PEAKLOOPS_H
#define ATTN_TOOLS_ATTN_BENCH_PEAKLOOPS_H

#include <cstdint>

namespace attn {

/// A loop of independent multiply-adds.
struct ComputeLoop {
  /// What executes it: `avx512 fma`, `amx bf16`, ...
  const char *unit;
  /// Floating point operations of one iteration (a multiply-add is two).
  int64_t flops;
  /// Runs; the result depends on all of the work.
  float (*run)(int64_t iterations);
};

/// Reads `vectors` pieces of kReadBytes from 64-byte aligned memory; the result
/// depends on all of them.
using ReadLoop = uint64_t (*)(const void *memory, int64_t vectors);
inline constexpr int64_t kReadBytes = 256;

/// f32 multiply-adds on the widest vectors of this CPU.
ComputeLoop f32Loop();
/// bf16 products summed in f32: AMX tiles where `amxAllowed`, else AVX512-BF16;
/// `run` is null when this CPU has neither.
ComputeLoop bf16Loop(bool amxAllowed);
/// Loads of the widest vectors of this CPU.
ReadLoop readLoop();

} // namespace attn

#endif // ATTN_TOOLS_ATTN_BENCH_PEAKLOOPS_H
