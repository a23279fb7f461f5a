//===- ReferenceTest.cpp - The reference against closed forms ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceTest.h"

using namespace attn;
using namespace attn::reference;
using namespace attn::reference::test;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

TEST(Generator, FirstValues) {
  EXPECT_THAT(generate(0, {8}).data,
              ElementsAre(-1.15625, 0.09375, -1.5, 0.125, -1.09375, 0.90625,
                          0.0625, -0.59375));
}

//===----------------------------------------------------------------------===//
// Log-sum-exp, sinks, numerics
//===----------------------------------------------------------------------===//

/// One query row with the given logits and one value each.
AttentionResult logits(std::vector<double> scores, std::vector<double> values,
                       std::vector<double> sink = {}) {
  const int64_t keys = scores.size();
  AttentionOptions options;
  options.scale = 1.0;
  options.sink = std::move(sink);
  return valueOf(attention(
      Tensor64({1, 1, 1, 1}, 1.0), Tensor64({1, 1, keys, 1}, std::move(scores)),
      Tensor64({1, 1, keys, 1}, std::move(values)), options));
}

TEST(Lse, IsNaturalAndIncludesTheScale) {
  EXPECT_NEAR(logits({0, std::log(3.0)}, {1, 1}).lse.data[0], 1.386294361,
              1e-9);
}

TEST(Lse, NoKeys) {
  const AttentionResult result = Case(2, 0).run();
  EXPECT_THAT(result.o.data, Each(0.0));
  EXPECT_THAT(result.lse.data, Each(-kInf));
  // Bottom-right causal with more rows than keys: the first rows are empty.
  const AttentionResult causalResult =
      Case(4, 2).run(masked(causalBottomRight(4, 2)));
  EXPECT_EQ(causalResult.lse.data[0], -kInf);
  EXPECT_EQ(causalResult.lse.data[1], -kInf);
  EXPECT_TRUE(std::isfinite(causalResult.lse.data[2]));
  EXPECT_THAT(slice(causalResult.o, 0, 8), Each(0.0));
}

// The published example of softmax: scores 2, 1, 0.5.
TEST(Softmax, KnownWeights) {
  const SoftmaxResult p =
      valueOf(maskedSoftmax(Tensor64({1, 1, 1, 3}, {2.0, 1.0, 0.5})));
  EXPECT_THAT(p.weights.data, isNear({0.63, 0.23, 0.14}, 5e-3));
  EXPECT_NEAR(p.weights.data[0] + p.weights.data[1] + p.weights.data[2], 1.0,
              1e-15);
}

TEST(Softmax, SinkEntersTheDenominatorOnly) {
  EXPECT_NEAR(logits({0, 0}, {3, 6}, {0}).o.data[0], 3.0, 1e-12);
  EXPECT_NEAR(logits({0, 0}, {3, 6}, {0}).lse.data[0], 1.098612289, 1e-9);
  EXPECT_NEAR(logits({0, 0}, {3, 6}, {100}).o.data[0], 9 * std::exp(-100.0),
              1e-52);
  EXPECT_EQ(logits({0, 0}, {3, 6}, {100}).lse.data[0], 100.0);
  EXPECT_EQ(logits({0, 0}, {3, 6}, {-1e30}).o.data[0], 4.5);
  EXPECT_EQ(logits({}, {}, {0.5}).lse.data[0], 0.5);
  EXPECT_EQ(logits({}, {}, {0.5}).o.data[0], 0.0);
  // An infinite one takes all weight; without it the scores are as they were.
  EXPECT_EQ(logits({1, 2}, {3, 6}, {INFINITY}).o.data[0], 0.0);
  EXPECT_EQ(logits({1, 2}, {3, 6}, {INFINITY}).lse.data[0], INFINITY);
  EXPECT_EQ(logits({1, 2}, {3, 6}, {-INFINITY}).o.data[0],
            logits({1, 2}, {3, 6}).o.data[0]);
  EXPECT_TRUE(std::isnan(logits({1, 2}, {3, 6}, {NAN}).o.data[0]));
  EXPECT_THAT(errorText(maskedSoftmax(Tensor64({1, 2, 1, 1}), {}, {1.0})),
              HasSubstr("sink size: expected 2, got 1"));
}

TEST(AdditiveScores, SumsTanhOfSums) {
  const Tensor64 q({1, 2, 1, 2}, {0.5, -1.0, 0.25, 0.0});
  const Tensor64 k({1, 1, 1, 2}, {0.25, 2.0});
  EXPECT_NEAR(valueOf(additiveScores(q, k, Tensor64({2}, {2.0, -3.0}))).data[0],
              2 * std::tanh(0.75) - 3 * std::tanh(1.0), 1e-15);
  // A row of weights for each head.
  EXPECT_NEAR(
      valueOf(additiveScores(q, k, Tensor64({2, 2}, {2.0, -3.0, 1.0, 4.0})))
          .data[1],
      std::tanh(0.5) + 4 * std::tanh(2.0), 1e-15);
  EXPECT_THAT(errorText(additiveScores(q, k, Tensor64({3}))),
              HasSubstr("additive weight dim: expected 2, got 3"));
}

TEST(Softmax, ExtremeLogits) {
  // All of them below what a finite stand-in for -infinity might be.
  EXPECT_NEAR(logits({-100000, -99999}, {0, 1}).o.data[0], 0.7310585786, 1e-10);
  EXPECT_NEAR(logits({-100000, -99999}, {0, 1}).lse.data[0], -99998.68674,
              1e-5);
  EXPECT_EQ(logits({-2e38, -2e38 + 1e32}, {0, 1}).o.data[0], 1.0);
  EXPECT_EQ(logits({0, -1e30}, {1, 3e38}).o.data[0], 1.0);
  EXPECT_EQ(logits({0, -kInf}, {1, 1}).o.data[0], 1.0);
  EXPECT_EQ(logits({741455, 741455, -741455}, {1, 3, 100}).o.data[0], 2.0);
}

TEST(Scale, ZeroNegativeAndDefault) {
  const Case c(2, 4);
  AttentionOptions options;
  const std::vector<double> half = {
      0.7052581027, -0.2387741687, 0.008114273325, -0.2179135657,
      0.7203950211, 0.2266100337,  -0.4322501936,  -0.1695204356};
  EXPECT_THAT(c.run(options).o.data, isNear(half));
  options.scale = 0.5;
  EXPECT_THAT(c.run(options).o.data, isNear(half));
  options.scale = 0.0;
  EXPECT_THAT(c.run(options).o.data,
              isNear({0.71875, 0.0625, -0.40625, 0.0703125, 0.71875, 0.0625,
                      -0.40625, 0.0703125}));
  options.scale = -0.5;
  EXPECT_THAT(
      c.run(options).o.data,
      isNear({0.7289752264, 0.3133415366, -0.8185786151, 0.2914669901,
              0.7187792263, -0.06538450298, -0.4876066722, 0.3762742168}));
}

TEST(Softcap, FormulaAndOrder) {
  const auto capped = [](std::vector<double> scores, std::vector<double> values,
                         double cap) {
    const int64_t keys = scores.size();
    const Tensor64 s({1, 1, 1, keys}, std::move(scores));
    const SoftmaxResult p = valueOf(maskedSoftmax(valueOf(softcap(s, cap))));
    return valueOf(weightedSum(p.weights,
                               Tensor64({1, 1, keys, 1}, std::move(values))))
        .data[0];
  };
  EXPECT_NEAR(capped({1e4, -1e4, 0}, {1, 2, 3}, 5), 1.013430192, 1e-9);
  EXPECT_NEAR(capped({10, 0}, {0, 1}, 4), 0.0189567367, 1e-10);
  // First the cap, then the mask: a hidden pair does not come back as -cap.
  const Tensor64 scores({1, 1, 1, 2});
  const Tensor64 masked =
      valueOf(bias(valueOf(softcap(scores, 1.0)), Tensor64({2}, {0, -kInf})));
  EXPECT_THAT(valueOf(maskedSoftmax(masked)).weights.data, ElementsAre(1, 0));
  EXPECT_THAT(errorText(softcap(scores, 0.0)), HasSubstr("other than 0"));
}

//===----------------------------------------------------------------------===//
// Heads and shapes
//===----------------------------------------------------------------------===//

TEST(Heads, GroupsAreNeighbours) {
  const Tensor64 q = generate(0, {1, 4, 2, 4}), k = generate(1, {1, 2, 3, 4});
  const Tensor64 v({1, 2, 3, 1}, {1, 1, 1, 2, 2, 2});
  EXPECT_THAT(valueOf(attention(q, k, v)).o.data,
              isNear({1, 1, 1, 1, 2, 2, 2, 2}, 1e-15));
  const AttentionResult six =
      valueOf(attention(generate(0, {1, 6, 2, 4}), generate(1, {1, 2, 3, 4}),
                        generate(2, {1, 2, 3, 4})));
  const auto [sum, weighted] = digest(six.o);
  EXPECT_NEAR(sum, 0.9558771638, 1e-9);
  EXPECT_NEAR(weighted, -0.4271945849, 1e-9);
}

TEST(Heads, DifferentValueDim) {
  const AttentionResult result =
      valueOf(attention(generate(0, {1, 1, 2, 72}), generate(1, {1, 1, 3, 72}),
                        generate(2, {1, 1, 3, 40})));
  EXPECT_THAT(slice(result.o, 0, 4), isNear({-0.1915214093, -0.4435697578,
                                             -0.1620540278, -0.5785373286}));
  const auto [sum, weighted] = digest(result.o);
  EXPECT_NEAR(sum, 9.293257071, 1e-8);
  EXPECT_NEAR(weighted, 6.267397538, 1e-8);
}

TEST(Heads, LengthsAroundVectorSizes) {
  const auto run = [](int64_t s, Visibility mask) {
    return digest(valueOf(attention(generate(0, {1, 2, s, 16}),
                                    generate(1, {1, 2, s, 16}),
                                    generate(2, {1, 2, s, 16}), masked(mask)))
                      .o);
  };
  EXPECT_NEAR(run(1, {}).first, 3.84375, 1e-8);
  EXPECT_NEAR(run(17, {}).first, 11.5355355, 1e-7);
  EXPECT_NEAR(run(17, {}).second, 4.784742946, 1e-8);
  EXPECT_NEAR(run(17, causalTopLeft()).second, 21.9695827, 1e-7);
  EXPECT_NEAR(run(31, causalTopLeft()).first, 22.71623713, 1e-7);
}

// A 3-D input is reshaped, then transposed; the value dim differs.
TEST(Heads, SplitAndMerge) {
  const Tensor64 q = valueOf(splitHeads(generate(0, {2, 3, 8}), 2));
  const Tensor64 k = valueOf(splitHeads(generate(1, {2, 3, 8}), 2));
  const Tensor64 v = valueOf(splitHeads(generate(2, {2, 3, 6}), 2));
  EXPECT_THAT(v.shape, ElementsAre(2, 2, 3, 3));
  const Tensor64 y = valueOf(mergeHeads(valueOf(attention(q, k, v)).o));
  EXPECT_THAT(y.shape, ElementsAre(2, 3, 6));
  EXPECT_THAT(slice(y, 0, 6),
              isNear({0.1784267991, 0.3617708001, -0.08191566852,
                      0.006997637729, 0.5112232957, 0.0017071645}));
  EXPECT_THAT(slice(y, 30, 6),
              isNear({0.7037393096, -0.3499744038, 0.3077968457, 0.283291999,
                      -0.001069923288, 0.9941709211}));
  EXPECT_EQ(valueOf(mergeHeads(q)).data, generate(0, {2, 3, 8}).data);
}

TEST(Heads, EmptyExtents) {
  EXPECT_THAT(
      valueOf(attention(Tensor64({0, 10, 16, 8}), Tensor64({0, 10, 8, 8}),
                        Tensor64({0, 10, 8, 8})))
          .o.shape,
      ElementsAre(0, 10, 16, 8));
  EXPECT_THAT(
      valueOf(attention(Tensor64({2, 4, 0, 16}), Tensor64({2, 4, 8, 16}),
                        Tensor64({2, 4, 8, 16})))
          .o.shape,
      ElementsAre(2, 4, 0, 16));
}

TEST(Heads, MismatchesNameBothValues) {
  const auto run = [](llvm::ArrayRef<int64_t> q, llvm::ArrayRef<int64_t> k,
                      llvm::ArrayRef<int64_t> v) {
    return errorText(attention(Tensor64(q), Tensor64(k), Tensor64(v)));
  };
  EXPECT_EQ(run({1, 6, 2, 4}, {1, 4, 3, 4}, {1, 4, 3, 4}),
            "query heads 6 not divisible by key heads 4");
  EXPECT_EQ(run({1, 1, 2, 4}, {1, 1, 3, 4}, {1, 1, 4, 4}),
            "value length: expected 3, got 4");
  EXPECT_EQ(run({1, 1, 2, 4}, {1, 1, 3, 5}, {1, 1, 3, 4}),
            "key head dim: expected 4, got 5");
  EXPECT_EQ(run({2, 4, 8, 16}, {2, 0, 8, 16}, {2, 0, 8, 16}),
            "key head count must be positive, got 0");
  EXPECT_EQ(run({1, 1, 2, 0}, {1, 1, 3, 0}, {1, 1, 3, 4}),
            "query head dim must be positive, got 0");
  EXPECT_EQ(run({2, 1, 2, 4}, {1, 1, 3, 4}, {1, 1, 3, 4}),
            "key batch: expected 2, got 1");
  EXPECT_EQ(run({1, 2, 4}, {1, 1, 3, 4}, {1, 1, 3, 4}),
            "query: expected rank 4, got 3");
  EXPECT_THAT(errorText(splitHeads(Tensor64({1, 2, 7}), 2)),
              HasSubstr("last size 7 is not a positive multiple of 2 heads"));
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

TEST(Matmul, SmallAndBatched) {
  const Tensor64 a({2, 1, 2}, {1, 2, 3, 4});
  const Tensor64 b({2, 3}, {1, 0, 2, 0, 1, -1});
  EXPECT_THAT(valueOf(matmul(a, b)).data, ElementsAre(1, 2, 0, 3, 4, 2));
  const Tensor64 c({2, 2, 1}, {1, 1, 2, -1});
  EXPECT_THAT(valueOf(matmul(a, c)).data, ElementsAre(3, 2));
  EXPECT_THAT(errorText(matmul(a, Tensor64({3, 2}))),
              HasSubstr("expected 2, got 3"));
  EXPECT_THAT(errorText(matmul(a, Tensor64({3, 2, 1}))),
              HasSubstr("shape 3x2x1 does not go with 2x1x2"));
}

} // namespace
