//===- Session.h - What all cases of a run share ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_SESSION_H
#define ATTN_TOOLS_ATTN_BENCH_SESSION_H

#include "Cases.h"
#include "Options.h"

#include "attn/Pipelines/Compiler.h"

#include <chrono>
#include <optional>
#include <string>

namespace attn {

using Clock = std::chrono::steady_clock;

inline double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

/// What stays the same for all cases of a run.
struct Session {
  const Options &options;
  Target target;
  PipelineOptions pipeline;
  std::optional<ObjectCache> cache;
  unsigned threads = 1;
  /// A brief line needs no peak, and must not wait for one.
  bool measurePeak = true;

  /// To compile the graph of a case, which must outlive the request.
  CompileRequest makeRequest(const BenchCase &bench,
                             llvm::StringRef graph) const {
    CompileRequest request;
    request.input = graph;
    request.inputName = bench.name.str();
    request.target = target;
    request.pipeline = pipeline;
    request.cache = cache ? &*cache : nullptr;
    return request;
  }
};

} // namespace attn

#endif // ATTN_TOOLS_ATTN_BENCH_SESSION_H
