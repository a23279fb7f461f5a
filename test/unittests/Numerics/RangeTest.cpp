//===- RangeTest.cpp - The smallest and the largest numbers ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Denormal inputs and results, scores beyond every narrow type, and the lowest
// finite biases, on every target that the host can execute.
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"

#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

constexpr ElementType f32 = ElementType::f32, f16 = ElementType::f16,
                      bf16 = ElementType::bf16;

class Range : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(GetParam()); }

  /// Attention of `rows` queries and `keys` keys of 32 features with operands
  /// of `factors` times a pattern, for queries known to be few and not.
  void check(ElementType type, double queryFactor, double keyFactor,
             double valueFactor, double bound) {
    for (bool isFew : {false, true}) {
      AttentionGraph graph;
      graph.headDim = graph.valueDim = 32;
      graph.queryType = graph.type = type;
      graph.queryRows = isFew ? "1" : "?";
      auto module = compile(graph.text(), GetParam());
      ASSERT_TRUE(module);
      int64_t rows = isFew ? 1 : 37;
      for (int64_t keys : {1, 70, 900}) {
        SCOPED_TRACE(elementTypeName(type).str() + ", Sq " +
                     std::to_string(rows) + ", Skv " + std::to_string(keys));
        Operand q(type, {1, 1, rows, 32}, true, pattern(0, queryFactor));
        Operand k(type, {1, 1, keys, 32}, true, pattern(1, keyFactor));
        Operand v(type, {1, 1, keys, 32}, true, pattern(2, valueFactor));
        reference::AttentionOptions options;
        options.scale = 1.0;
        expectAttention(
            run(*module, {q.view, k.view, v.view}, type, {1, 1, rows, 32}), q,
            k, v, options, bound);
      }
    }
  }
};

/// Values and results below the smallest normal number are not flushed to 0.
TEST_P(Range, DenormalValues) {
  // 97 different numbers of 12 bits; each of 900 products is rounded.
  check(f32, 0.25, 0.25, std::ldexp(1.0, -130), 900 * std::ldexp(1.0, -149));
  check(f16, 0.25, 0.25, std::ldexp(1.0, -15),
        std::ldexp(1.0, -25) + attentionBound(f16, std::ldexp(1.0, -15)));
  // The instructions that multiply pairs of bf16 take such numbers for 0.
  check(bf16, 0.25, 0.25, std::ldexp(1.0, -128), std::ldexp(1.0, -126));
}

/// Denormal queries make scores with keys that are large enough.
TEST_P(Range, DenormalQueries) {
  check(f32, std::ldexp(1.0, -128), std::ldexp(1.0, 125), 1.0, 1e-5);
  check(f16, std::ldexp(1.0, -15), std::ldexp(1.0, 12), 1.0,
        attentionBound(f16, 1.5));
}

/// And denormal keys with queries.
TEST_P(Range, DenormalKeys) {
  check(f32, std::ldexp(1.0, 125), std::ldexp(1.0, -128), 1.0, 1e-5);
  check(f16, std::ldexp(1.0, 12), std::ldexp(1.0, -15), 1.0,
        attentionBound(f16, 1.5));
}

/// Products near the squares of the largest numbers of a type.
TEST_P(Range, HugeScores) {
  check(f16, 40000.0, 40000.0, 1.0, attentionBound(f16, 1.5));
  check(bf16, std::ldexp(1.0, 50), std::ldexp(1.0, 60), 1.0,
        attentionBound(bf16, 1.5));
  check(f32, std::ldexp(1.0, 50), std::ldexp(1.0, 60), 1.0, 4e-6 * 1.5);
}

/// The lowest finite number of each type as a bias is a bias: alone in a row it
/// makes it uniform, beside others it weighs nothing.
TEST_P(Range, LowestBiases) {
  for (ElementType type : {f32, f16, bf16}) {
    double lowest = type == f16    ? -65504.0
                    : type == bf16 ? -0x1.FEp127
                                   : -0x1.FFFFFEp127;
    for (bool isFew : {false, true}) {
      AttentionGraph graph;
      graph.headDim = graph.valueDim = 32;
      graph.queryRows = isFew ? "2" : "?";
      std::string bias = "tensor<" + graph.queryRows + "x?x" +
                         elementTypeName(type).str() + ">";
      graph.extra = ", %bias: " + bias;
      graph.scoreOps =
          "%t = attn.bias %u, %bias : " + graph.scoresType() + ", " + bias;
      auto module = compile(graph.text(), GetParam());
      ASSERT_TRUE(module);
      int64_t rows = isFew ? 2 : 35;
      for (int64_t keys : {70, 900}) {
        SCOPED_TRACE(elementTypeName(type).str() + ", Sq " +
                     std::to_string(rows) + ", Skv " + std::to_string(keys));
        // Queries of 0, so that rounding a huge sum leaves nothing out.
        Operand q(f32, {1, 1, rows, 32}, true, [](int64_t) { return 0.0; });
        Operand k(f32, {1, 1, keys, 32}, true, pattern(1));
        Operand v(f32, {1, 1, keys, 32}, true, pattern(2));
        Operand b(type, {rows, keys}, true, [&](int64_t n) {
          return n / keys % 2 == 0 || n % keys % 3 ? lowest : 0.25;
        });
        reference::AttentionOptions options;
        options.scale = 1.0;
        options.score = [&](double score, int64_t, int64_t, int64_t i,
                            int64_t j) {
          return score + b.host.get(i * keys + j);
        };
        expectAttention(run(*module, {q.view, k.view, v.view, b.view}, f32,
                            {1, 1, rows, 32}),
                        q, k, v, options, attentionBound(f32, 1.5));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Range, testing::ValuesIn(kTargets),
                         targetTestName);

} // namespace
