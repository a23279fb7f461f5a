//===- Check.h - A random graph, fused and by the twin ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_FUZZ_CHECK_H
#define ATTN_TEST_FUZZ_CHECK_H

#include "Graph.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace attn::fuzz {

/// What is being done, for the message after a crash: in memory that the parent
/// process sees.
struct Progress {
  uint64_t seed = 0;
  int call = -1;
  char step[64] = "";

  void begin(const char *what);
};

/// Compiles the graph by both lowerings, runs them on several sets of inputs,
/// and compares. Returns what is wrong, or nothing. The graph, the inputs and a
/// command that shows the fault are left in files `folder`/seed-N*.
std::string check(Graph &graph, llvm::StringRef folder, Progress &progress);

} // namespace attn::fuzz

#endif // ATTN_TEST_FUZZ_CHECK_H
