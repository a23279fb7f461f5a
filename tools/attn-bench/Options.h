//===- Options.h - The command line of attn-bench ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options register themselves when this is constructed, which must be after
// `removeLibraryOptions`.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_OPTIONS_H
#define ATTN_TOOLS_ATTN_BENCH_OPTIONS_H

#include "common/CommonOptions.h"

#include "llvm/Support/CommandLine.h"

#include <string>

namespace attn {

struct Options : CommonOptions {
  Options()
      : CommonOptions(
            "#attn.schedule<...> instead of the chosen one",
            "Folder of compiled objects and tuned schedules to use and "
            "to fill") {}

  llvm::cl::opt<std::string> caseName{"case", llvm::cl::value_desc("name"),
                                      llvm::cl::cat(category),
                                      llvm::cl::desc("Time this case")};
  llvm::cl::opt<std::string> suite{
      "suite", llvm::cl::value_desc("name"), llvm::cl::cat(category),
      llvm::cl::desc("Time these cases: all, f32, f64, bf16, prefill, decode, "
                     "masks or test")};
  llvm::cl::opt<bool> peak{
      "peak", llvm::cl::cat(category),
      llvm::cl::desc("Measure what the machine can do: f32 and bf16 "
                     "multiply-adds, reads from memory")};
  llvm::cl::opt<uint64_t> peakBytes{
      "peak-bytes", llvm::cl::value_desc("N"), llvm::cl::init(0),
      llvm::cl::cat(category),
      llvm::cl::desc("Size of the buffer that --peak reads (default: several "
                     "times the last-level cache)")};
  llvm::cl::opt<unsigned> repeat{"repeat", llvm::cl::value_desc("N"),
                                 llvm::cl::init(5), llvm::cl::cat(category),
                                 llvm::cl::desc("Timed runs (default: 5)")};
  llvm::cl::opt<unsigned> warmup{"warmup", llvm::cl::value_desc("N"),
                                 llvm::cl::init(1), llvm::cl::cat(category),
                                 llvm::cl::desc("Runs before (default: 1)")};
  llvm::cl::opt<bool> brief{
      "brief", llvm::cl::cat(category),
      llvm::cl::desc("Print one line for each case: NAME MIN_MS MEDIAN_MS")};
  llvm::cl::opt<std::string> json{
      "json", llvm::cl::value_desc("path"), llvm::cl::cat(category),
      llvm::cl::desc("Write times, rates, peaks and bytes; - for stdout")};
  llvm::cl::opt<std::string> inputs{
      "inputs", llvm::cl::value_desc("folder"), llvm::cl::cat(category),
      llvm::cl::desc("Folder of q.npy, k.npy, v.npy (f32) and mask.npy (bool) "
                     "(default: random numbers of fixed seeds)")};
  llvm::cl::opt<std::string> output{
      "output", llvm::cl::value_desc("path.npy"), llvm::cl::cat(category),
      llvm::cl::desc("File for the result, as f32")};
  llvm::cl::opt<bool> printGraph{
      "print-graph", llvm::cl::cat(category),
      llvm::cl::desc("Print the graph that is compiled instead of timing it")};
  llvm::cl::opt<bool> tune{
      "tune", llvm::cl::cat(category),
      llvm::cl::desc("Try schedules near the chosen one, in turn, and keep the "
                     "best in --cache-dir for later runs")};
};

} // namespace attn

#endif // ATTN_TOOLS_ATTN_BENCH_OPTIONS_H
