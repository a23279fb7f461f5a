//===- Report.h - What a benchmark prints and writes ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_REPORT_H
#define ATTN_TOOLS_ATTN_BENCH_REPORT_H

#include "Cases.h"
#include "Peak.h"

#include <string>
#include <vector>

namespace attn {

/// The smallest and the middle one; `times` must not be empty.
double minimumOf(const std::vector<double> &times);
double medianOf(std::vector<double> times);

/// What was measured of one case.
struct CaseReport {
  const BenchCase *bench = nullptr;
  std::string target;
  unsigned threads = 0;
  /// Milliseconds of each timed run, in order.
  std::vector<double> times;
  double compileMs = 0.0;
  bool compileCached = false;
  /// What the compiler says about its choices.
  std::vector<std::string> remarks;
  /// Largest sum of live buffers and scratch of the runs.
  int64_t plannedBytes = 0;
  int64_t pairs = 0;
  /// Bytes of q, k and v.
  int64_t inputBytes = 0;
  /// Best of the windows between the runs: of the compute unit of the case's
  /// type, and of reading q, k and v. 0 when not measured: --brief, tiny
  /// inputs.
  PeakMeter::Peak compute, read;

  double minMs() const { return minimumOf(times); }
  double medianMs() const { return medianOf(times); }
  /// By the fastest run: 2 (D + Dv) operations for each visible pair.
  double gflops() const;
  /// By the fastest run: bytes of q, k and v.
  double gigabytesPerSecond() const;
};

/// `NAME MIN_MS MEDIAN_MS`.
void printBrief(const CaseReport &report);
/// A paragraph.
void printCase(const CaseReport &report);
/// All of it, as one JSON object.
std::string toJSON(const std::vector<CaseReport> &reports);

} // namespace attn

#endif // ATTN_TOOLS_ATTN_BENCH_REPORT_H
