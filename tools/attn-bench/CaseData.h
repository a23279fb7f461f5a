//===- CaseData.h - Inputs of a case ----------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_CASEDATA_H
#define ATTN_TOOLS_ATTN_BENCH_CASEDATA_H

#include "Cases.h"

#include "attn/ExecutionEngine/CompiledModule.h"

#include <optional>

namespace attn {

/// The arguments of a case's function and the place for its result.
struct CaseData {
  HostTensor query, key, value, result;
  /// Lengths, slopes or the boolean mask.
  std::optional<HostTensor> extra;
  /// Visible pairs of these inputs.
  int64_t pairs = 0;

  std::vector<CallArgument> arguments();
  /// Bytes of query, key and value.
  int64_t inputBytes() const;
};

/// Makes the inputs: from q.npy, k.npy and v.npy (f32, rounded to the type of
/// the case) and mask.npy (bool; for a boolean mask only) in `folder`, or, when
/// that is empty, standard normal numbers of fixed seeds, and a mask that shows
/// 7 pairs of 10 and all of the first key. Errors name the file, what was
/// expected and what it holds.
llvm::Expected<CaseData> makeCaseData(const BenchCase &bench,
                                      llvm::StringRef folder);

} // namespace attn

#endif // ATTN_TOOLS_ATTN_BENCH_CASEDATA_H
