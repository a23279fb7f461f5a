//===- Check.h - Results against the f64 twin -------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `--check` compiles the model two more times by the naive lowering: in f64,
// whose results are the truth, and in its own types, whose error says how well
// the model can be computed in them at all.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_RUN_CHECK_H
#define ATTN_TOOLS_ATTN_RUN_CHECK_H

#include "Inputs.h"

#include "attn/Pipelines/Compiler.h"
#include "attn/Reference/Tolerance.h"

#include <vector>

namespace attn {

/// One result against its f64 evaluation.
struct ResultCheck {
  Comparison comparison;
  /// Error of the unfused twin in the model's own types.
  double twinError = 0.0;
  /// Allowed absolute error.
  double bound = 0.0;
  /// Indices of the worst element; empty when there is none.
  llvm::SmallVector<int64_t> worst;
  /// Whether a float that a program has read out of bounds is part of it.
  bool isClamped = false;

  bool passed() const { return comparison.within(bound); }
};

/// Evaluates the model of `request` on `inputs` with both twins and compares
/// `outputs` of `function` with them.
llvm::Expected<std::vector<ResultCheck>>
checkResults(const CompileRequest &request, const FunctionInfo &function,
             std::vector<InputValue> &inputs,
             const std::vector<HostTensor> &outputs);

} // namespace attn

#endif // ATTN_TOOLS_ATTN_RUN_CHECK_H
