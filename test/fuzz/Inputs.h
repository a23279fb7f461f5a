//===- Inputs.h - Random inputs of a random graph ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strided tensors between unreadable pages, with the gaps between their
// elements full of NaN.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_FUZZ_INPUTS_H
#define ATTN_TEST_FUZZ_INPUTS_H

#include "../unittests/Common/GuardedBuffer.h"
#include "Graph.h"
#include "attn/ExecutionEngine/CompiledModule.h"

#include <deque>
#include <optional>

namespace attn::fuzz {

/// A strided tensor in guarded memory.
struct Tensor {
  Tensor(ElementType type, llvm::ArrayRef<int64_t> shape,
         llvm::ArrayRef<int64_t> strides, bool flushEnd);

  double get(const TensorView &view, llvm::ArrayRef<int64_t> indices) const;
  void set(const TensorView &view, llvm::ArrayRef<int64_t> indices,
           double value);
  /// Calls `value` for every index of `view`, row-major.
  void fill(const TensorView &view,
            llvm::function_ref<double(llvm::ArrayRef<int64_t>)> value);

  test::GuardedBuffer buffer;
  TensorView view;
  /// `view` as [B, H, S, D], whatever the layout.
  TensorView heads;
};

/// The inputs of one call.
struct Inputs {
  Sizes sizes;
  /// By argument; scalars have none.
  std::vector<std::unique_ptr<Tensor>> tensors;
  std::vector<double> scalars;
  /// The largest |q|, |k|, |v|.
  double maxQuery = 0.0, maxKey = 0.0, maxValue = 0.0;

  std::vector<CallArgument> arguments(const Graph &graph) const;
};

/// Call number `call` of the graph.
Inputs makeInputs(const Graph &graph, Random &random);

/// Overwrites rows of keys, values and queries that no visible pair has with
/// NaN, infinities and huge numbers. `weights` [B, Hq, Sq, Skv] are positive
/// where a pair is visible.
void poisonHidden(const Graph &graph, Inputs &inputs,
                  llvm::ArrayRef<double> weights, Random &random);

/// Makes one element of a query, key or value NaN, whoever sees it.
void poisonVisible(const Graph &graph, Inputs &inputs, Random &random);

} // namespace attn::fuzz

#endif // ATTN_TEST_FUZZ_INPUTS_H
