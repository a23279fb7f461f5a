//===- Tune.h - Finds a schedule by trying ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_TUNE_H
#define ATTN_TOOLS_ATTN_BENCH_TUNE_H

#include "Session.h"

#include "llvm/Support/Error.h"

namespace attn {

/// Times the schedule that the compiler chooses for a case and its neighbours
/// in turn, prints a table, and keeps the best in the session's cache, which it
/// must have. A schedule counts when its result agrees with that of the chosen
/// one; it is kept when it is faster by a margin, in the table and once more
/// against the chosen one alone. If none is, none is kept.
llvm::Error tuneCase(const Session &session, const BenchCase &bench);

} // namespace attn

#endif // ATTN_TOOLS_ATTN_BENCH_TUNE_H
