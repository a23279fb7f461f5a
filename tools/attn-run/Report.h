//===- Report.h - What a run prints and writes ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Summaries of results, times and checks for people, and the same for scripts
// as JSON (`--bench-json`).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_RUN_REPORT_H
#define ATTN_TOOLS_ATTN_RUN_REPORT_H

#include "Check.h"

#include "attn/Support/HostTensor.h"

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace attn {

/// Everything about one run.
struct RunReport {
  std::string function;
  std::string target;
  unsigned threads = 1;
  /// Time of each repetition, in milliseconds.
  std::vector<double> times;
  /// From the parsed command line to code that can be called.
  double compileMs = 0.0;
  bool compileCached = false;
  /// Largest sum of the run's own buffers at any time, in bytes.
  int64_t plannedBytes = 0;
  std::vector<ResultCheck> checks;

  double minMs() const;
  double medianMs() const;
};

/// Prints shape, type, range, mean and the first values of result `index`.
void printSummary(size_t index, const HostTensor &result);

/// Prints times and bytes.
void printTimes(const RunReport &report);

/// Prints the error of each result.
void printChecks(const RunReport &report);

/// The report as JSON text that ends in a newline.
std::string toJSON(const RunReport &report,
                   const std::vector<HostTensor> &outputs);

} // namespace attn

#endif // ATTN_TOOLS_ATTN_RUN_REPORT_H
