//===- AttentionGraph.h - Attention as a user writes it ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of the chain from queries, keys and values to the output, and what
// tests do with the code that it becomes: run it, compare it with the f64
// reference, and run it for parts of a batch.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNITTESTS_NUMERICS_ATTENTIONGRAPH_H
#define ATTN_TEST_UNITTESTS_NUMERICS_ATTENTIONGRAPH_H

#include "NumericsTest.h"

#include <cmath>
#include <functional>

namespace attn::test {

using Shape = llvm::SmallVector<int64_t>;

/// A function `f` of queries `%q [?, heads, queryRows, headDim]`, keys `%k [?,
/// keyHeads, ?, headDim]` and values `%v [?, keyHeads, ?, valueDim]`.
struct AttentionGraph {
  int64_t heads = 1, keyHeads = 1;
  int64_t headDim = 1, valueDim = 1;
  std::string queryRows = "?";
  /// Of the queries, and of keys, values and the output.
  ElementType queryType = ElementType::f32, type = ElementType::f32;
  std::string scale = "1.0";
  /// Of the softmax.
  std::string clause = "";
  /// Arguments after %v, each with a comma before it.
  std::string extra = "";
  /// What scores are made of, and the ops that make that of %q and %k, whose
  /// types it has.
  std::string query = "%q", key = "%k", inputOps = "";
  /// Ops that make the scores %t of the scaled ones, %u. Their type is
  /// `scoresType()`.
  std::string scoreOps = "";
  /// Ops that make the weights %w of those of the softmax, %p.
  std::string weightOps = "";
  /// The weight of additive scores and its type, or empty for dot products.
  std::string additive = "", additiveType = "";

  static std::string tensor(const std::string &shape, ElementType type) {
    return "tensor<" + shape + "x" + elementTypeName(type).str() + ">";
  }
  /// What scores and weights are computed in.
  ElementType scoreElement() const {
    return queryType == ElementType::f64 ? queryType : ElementType::f32;
  }
  std::string scoresType() const {
    return tensor("?x" + std::to_string(heads) + "x" + queryRows + "x?",
                  scoreElement());
  }
  static std::string rows(int64_t heads, const std::string &count, int64_t dim,
                          ElementType type) {
    return tensor("?x" + std::to_string(heads) + "x" + count + "x" +
                      std::to_string(dim),
                  type);
  }
  std::string queries() const {
    return rows(heads, queryRows, headDim, queryType);
  }
  std::string keys() const { return rows(keyHeads, "?", headDim, type); }
  std::string values() const { return rows(keyHeads, "?", valueDim, type); }
  std::string output() const { return rows(heads, queryRows, valueDim, type); }
  /// The arguments of `f`.
  std::string arguments() const {
    return "%q: " + queries() + ", %k: " + keys() + ", %v: " + values() + extra;
  }
  /// The ops up to the weights, `weights()`.
  std::string weightsText() const {
    std::string s = scoresType(), scaled = scoreOps.empty() ? "%t" : "%u";
    return inputOps + "%s = " +
           (additive.empty() ? "attn.qk " + query + ", " + key
                             : "attn.additive_scores " + query + ", " + key +
                                   ", " + additive) +
           " : " + queries() + ", " + keys() +
           (additive.empty() ? "" : ", " + additiveType) + " -> " + s + "\n" +
           scaled + " = attn.scale %s by " + scale + " : " + s + "\n" +
           scoreOps + "\n%p = attn.masked_softmax %t " + clause + " : " + s +
           "\n" + weightOps + "\n";
  }
  std::string weights() const { return weightOps.empty() ? "%p" : "%w"; }
  /// The weighted sum, `%o`.
  std::string sumText() const {
    return "%o = attn.weighted_sum " + weights() + ", %v : " + scoresType() +
           ", " + values() + " -> " + output() + "\n";
  }
  std::string text() const {
    return "func.func @f(" + arguments() + ") -> " + output() + " {\n" +
           weightsText() + sumText() + "return %o : " + output() + "\n}\n";
  }
};

/// The result of `f` on `inputs`, of `type` and `shape`.
inline HostTensor run(CompiledModule &module,
                      llvm::ArrayRef<CallArgument> inputs, ElementType type,
                      const Shape &shape, unsigned threads = 1,
                      bool flushEnd = true) {
  Operand o(type, shape, flushEnd, [](int64_t) { return NAN; });
  RunConfig config;
  config.threads = threads;
  llvm::Error error = module.run("f", inputs, o.view, config);
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  o.fetch();
  return std::move(o.host);
}

/// patternAt of `seed`, times `factor`.
inline std::function<double(int64_t)> pattern(int64_t seed,
                                              double factor = 1.0) {
  return [=](int64_t n) { return patternAt(seed, n) * factor; };
}

/// Compares `o` with what the f64 reference gives.
inline void expectAttention(const HostTensor &o, const Operand &q,
                            const Operand &k, const Operand &v,
                            const reference::AttentionOptions &options,
                            double bound) {
  using reference::Tensor64;
  auto expected = llvm::cantFail(
      reference::attention(Tensor64::from(q.host), Tensor64::from(k.host),
                           Tensor64::from(v.host), options));
  Comparison comparison = compare(o, expected.o.data);
  EXPECT_TRUE(comparison.within(bound)) << comparison.describe(bound);
}

/// Element `b` of the batch that `operand` is.
inline TensorView elementOfBatch(const Operand &operand, int64_t b) {
  TensorView view = operand.view;
  view.data = static_cast<char *>(view.data) +
              b * view.strides[0] * elementSize(view.type);
  view.shape[0] = 1;
  return view;
}

/// The same bits for any number of threads, and for an element of the batch
/// alone: every one of `inputs` has a batch dimension.
inline void expectSameBits(CompiledModule &module,
                           llvm::ArrayRef<const Operand *> inputs,
                           ElementType type, Shape shape) {
  std::vector<CallArgument> all;
  for (const Operand *input : inputs)
    all.push_back(input->view);
  HostTensor one = run(module, all, type, shape);
  for (unsigned threads : {2u, 3u, 4u}) {
    HostTensor many = run(module, all, type, shape, threads);
    EXPECT_EQ(memcmp(one.data(), many.data(), one.sizeInBytes()), 0)
        << threads << " threads";
  }
  int64_t batch = std::exchange(shape[0], 1);
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<CallArgument> element;
    for (const Operand *input : inputs)
      element.push_back(elementOfBatch(*input, b));
    HostTensor alone = run(module, element, type, shape);
    EXPECT_EQ(
        memcmp(static_cast<const char *>(one.data()) + b * alone.sizeInBytes(),
               alone.data(), alone.sizeInBytes()),
        0)
        << "element " << b;
  }
}

} // namespace attn::test

#endif // ATTN_TEST_UNITTESTS_NUMERICS_ATTENTIONGRAPH_H
