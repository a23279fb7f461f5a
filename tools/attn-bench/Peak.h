//===- Peak.h - What this machine can do at best ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clocks and neighbours change from second to second, so a figure is only
// comparable with a peak of the same moments. A meter measures in windows of
// about two milliseconds that fit between repetitions of something else, and
// keeps the best one.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_PEAK_H
#define ATTN_TOOLS_ATTN_BENCH_PEAK_H

#include "PeakLoops.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// Times of one window, in nanoseconds.
struct WindowTimes {
  /// From the first start to the last end.
  double all = 1.0;
  /// Of each thread.
  std::vector<double> own;
};

/// Measures on all of a number of threads at once.
class PeakMeter {
public:
  /// What one measured quantity has reached.
  struct Peak {
    /// Units (operations or bytes) per nanosecond: GFLOP/s or GB/s.
    double best = 0.0;
    /// What executed it.
    std::string unit;
    /// Size of a window; 0 until it is known.
    int64_t rounds = 0;
    /// Where the threads are measured one by one: the best of each.
    std::vector<double> threadBest;
  };

  explicit PeakMeter(unsigned threads);

  /// One window each. Errors only when memory runs out.
  llvm::Error measureF32();
  /// Without a bf16 unit, or with one that is slower than f32, bf16 is the
  /// peak of f32: the numbers can be converted.
  llvm::Error measureBF16();
  /// Reads `buffers` (64-byte aligned), each thread its own part of each. Of
  /// less than kReadBytes a thread nothing is measured.
  llvm::Error measureRead(llvm::ArrayRef<llvm::ArrayRef<char>> buffers);

  const Peak &f32() const { return f32Peak; }
  /// Half of that of f32: vectors hold half as many, and multiply as fast.
  Peak f64() const;
  const Peak &bf16() const {
    return bf16Peak.best > f32Peak.best ? bf16Peak : f32Peak;
  }
  const Peak &read() const { return readPeak; }

private:
  /// Calls `work(thread, rounds)` on all threads at once, with as many rounds
  /// as fill a window, and `enter` with the times.
  llvm::Error measure(Peak &peak,
                      llvm::function_ref<void(unsigned, int64_t)> work,
                      llvm::function_ref<void(const WindowTimes &)> enter);
  llvm::Error compute(Peak &peak, const ComputeLoop &loop);

  unsigned threads;
  ComputeLoop f32Compute, bf16Compute;
  ReadLoop reader;
  Peak f32Peak, bf16Peak, readPeak;
};

/// Prints the three lines of --peak. The buffer for reads has `bytes` bytes; 0
/// for several times the last-level cache, which has `cacheBytes`.
llvm::Error printPeak(unsigned threads, uint64_t bytes, int64_t cacheBytes);

} // namespace attn

#endif // ATTN_TOOLS_ATTN_BENCH_PEAK_H
