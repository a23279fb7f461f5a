//===- ReferenceTest.cpp - The reference against closed forms ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected numbers are closed forms or were derived in f64 outside the project
// from the definitions; each test names the fault that a wrong system shows.
//
//===----------------------------------------------------------------------===//

#include "attn/Reference/Reference.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>

using namespace attn;
using namespace attn::reference;
using testing::DoubleEq;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;
using testing::Pointwise;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

template <typename T> T valueOf(llvm::Expected<T> value) {
  if (!value) {
    llvm::errs() << llvm::toString(value.takeError()) << '\n';
    std::exit(1);
  }
  return std::move(*value);
}

template <typename T> std::string errorText(llvm::Expected<T> value) {
  EXPECT_FALSE(static_cast<bool>(value)) << "expected an error";
  return value ? "" : llvm::toString(value.takeError());
}

/// Deterministic test data, exact in f32, f16 and bf16: multiples of 1/32 with
/// period 97 in the row-major index, mixed so that heads and batches differ.
Tensor64 generate(uint64_t seed, llvm::ArrayRef<int64_t> shape) {
  Tensor64 x(shape);
  for (uint64_t i = 0; i < x.data.size(); ++i) {
    const uint64_t residue =
        (3 * i * i + 37 * i + 13 * (i / 97) + 29 * seed + 11) % 97;
    x.data[i] = (static_cast<double>(residue) - 48) / 32;
  }
  return x;
}

MATCHER_P(NearOrSame, tolerance, "") {
  const double got = std::get<0>(arg), expected = std::get<1>(arg);
  return got == expected || std::abs(got - expected) <= tolerance;
}

/// 10 significant digits are given, of values around 1.
auto isNear(std::vector<double> expected, double tolerance = 1e-9) {
  return Pointwise(NearOrSame(tolerance), expected);
}

std::vector<double> slice(const Tensor64 &x, size_t begin, size_t count) {
  return {x.data.begin() + begin, x.data.begin() + begin + count};
}

/// Sum and position-weighted sum of a flat result.
std::pair<double, double> digest(const Tensor64 &x) {
  double sum = 0, weighted = 0;
  for (size_t n = 0; n < x.data.size(); ++n) {
    sum += x.data[n];
    weighted += x.data[n] * ((n % 7) + 1) / 7.0;
  }
  return {sum, weighted};
}

/// q = generate(0), k = generate(1), v = generate(2) of one head.
struct Case {
  Tensor64 q, k, v;
  Case(int64_t sq, int64_t skv, int64_t d = 4)
      : q(generate(0, {1, 1, sq, d})), k(generate(1, {1, 1, skv, d})),
        v(generate(2, {1, 1, skv, d})) {}
  AttentionResult run(const AttentionOptions &options = {}) const {
    return valueOf(attention(q, k, v, options));
  }
};

AttentionOptions masked(Visibility mask) {
  AttentionOptions options;
  options.mask = std::move(mask);
  return options;
}

/// The decomposed chain must give what the whole op gives.
void expectChainAgrees(const Case &c, const AttentionOptions &options) {
  const Tensor64 scores =
      scale(valueOf(qk(c.q, c.k)), 1 / std::sqrt(double(c.q.shape[3])));
  const SoftmaxResult p =
      valueOf(maskedSoftmax(scores, options.mask, options.sink));
  const Tensor64 o = valueOf(weightedSum(p.weights, c.v, options.mask));
  const AttentionResult whole = c.run(options);
  EXPECT_THAT(o.data, isNear(whole.o.data, 1e-14));
  EXPECT_THAT(p.lse.data, isNear(whole.lse.data, 1e-14));
}

// Rows of the case with q [1,1,3,4], k and v [1,1,4,4], row 1 all hidden and
// pair (2, 3) hidden.
const std::vector<double> emptyRowOutput = {
    0.7052581027,  -0.2387741687, 0.008114273325,
    -0.2179135657, 0.0,           0.0,
    0.0,           0.0,           0.7329953994,
    0.1211552348,  0.01012607847, 0.482799146};
const std::vector<double> emptyRowLse = {1.523225266, -inf, 1.46435824};

Tensor64 emptyRowMask(double shown, double hidden) {
  Tensor64 mask({1, 1, 3, 4}, shown);
  for (int64_t j = 0; j < 4; ++j)
    mask.at({0, 0, 1, j}) = hidden;
  mask.at({0, 0, 2, 3}) = hidden;
  return mask;
}

TEST(Generator, FirstValues) {
  EXPECT_THAT(generate(0, {8}).data,
              ElementsAre(-1.15625, 0.09375, -1.5, 0.125, -1.09375, 0.90625,
                          0.0625, -0.59375));
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

TEST(Mask, EmptyRowIsZeroWithLseMinusInfinity) {
  const Case c(3, 4);
  const AttentionOptions options =
      masked(valueOf(maskTensor(emptyRowMask(1, 0), {1, 1, 3, 4})));
  const AttentionResult result = c.run(options);
  EXPECT_THAT(result.o.data, isNear(emptyRowOutput));
  EXPECT_THAT(result.lse.data, isNear(emptyRowLse));
  EXPECT_THAT(slice(result.o, 4, 4), Each(0.0));
  expectChainAgrees(c, options);
}

// Two spellings of one mask give the same bits.
TEST(Mask, MinusInfinityBiasHides) {
  const Case c(3, 4);
  const Tensor64 plane = emptyRowMask(0, -inf);
  AttentionOptions options;
  options.score = [&](double s, int64_t b, int64_t h, int64_t i, int64_t j) {
    return addBias(s, plane.at({b, h, i, j}));
  };
  const AttentionResult result = c.run(options);
  const AttentionResult boolean =
      c.run(masked(valueOf(maskTensor(emptyRowMask(1, 0), {1, 1, 3, 4}))));
  EXPECT_EQ(result.o.data, boolean.o.data);
  EXPECT_EQ(result.lse.data, boolean.lse.data);
  const Tensor64 scores =
      valueOf(bias(scale(valueOf(qk(c.q, c.k)), 0.5), plane));
  const SoftmaxResult p = valueOf(maskedSoftmax(scores));
  EXPECT_THAT(p.lse.data, isNear(emptyRowLse));
  EXPECT_THAT(valueOf(weightedSum(p.weights, c.v,
                                  valueOf(hiddenByBias(plane, {1, 1, 3, 4}))))
                  .data,
              isNear(emptyRowOutput));
}

// A finite value, even the most negative f32, is only a bias: a row of them is
// uniform. Where the f32 sum of two of them overflows to -inf, the pair is
// hidden.
TEST(Mask, MostNegativeFiniteBiasIsABias) {
  const float m = -3.40282347e38f;
  const float first[] = {0, m, m, 0, m, m, 0, m, 0, 0, m, m};
  const float second[] = {0, 0, m, m, 0, m, m, m, 0, 0, 0, m};
  Tensor64 plane({3, 4});
  for (size_t n = 0; n < 12; ++n)
    plane.data[n] = first[n] + second[n];
  const Case c(3, 4);
  // In f32 a score disappears beside m; in f64 it would not.
  AttentionOptions options;
  options.score = [&](double s, int64_t, int64_t, int64_t i, int64_t j) {
    return addBias(static_cast<float>(s), plane.at({i, j})) <= m &&
                   plane.at({i, j}) != -inf
               ? m
               : addBias(s, plane.at({i, j}));
  };
  EXPECT_THAT(c.run(options).o.data,
              isNear({0.65625, -1.125, 0.3125, -1.09375, 0.703125, -0.328125,
                      0.34375, -0.3125, 0.6996050313, -0.5613845925,
                      -0.7063432367, 0.5103861599}));
  const Tensor64 uniform({1, 1, 1, 4}, m);
  EXPECT_THAT(valueOf(maskedSoftmax(uniform)).weights.data, Each(0.25));
}

// true/false is not 1/0 added to the scores.
TEST(Mask, BooleanIsASelect) {
  const Tensor64 q({1, 1, 1, 4}), k({1, 1, 2, 4}), v({1, 1, 2, 1}, {1, 0});
  const Tensor64 mask({2}, {1, 0});
  EXPECT_EQ(valueOf(attention(q, k, v,
                              masked(valueOf(maskTensor(mask, {1, 1, 1, 2})))))
                .o.data[0],
            1.0);
  const SoftmaxResult p =
      valueOf(maskedSoftmax(valueOf(bias(valueOf(qk(q, k)), mask))));
  EXPECT_NEAR(valueOf(weightedSum(p.weights, v)).data[0], 0.7310585786, 1e-10);
}

// Causal and a mask without the diagonal leave row 0 empty.
TEST(Mask, CausalAndMaskCombineByAnd) {
  const Case c(3, 3);
  const AttentionResult result =
      c.run(masked(allOf({causalTopLeft(), [](int64_t, int64_t, int64_t i,
                                              int64_t j) { return i != j; }})));
  EXPECT_THAT(result.o.data, isNear({0, 0, 0, 0, 0.65625, -1.125, 0.3125,
                                     -1.09375, 0.6996050313, -0.5613845925,
                                     -0.7063432367, 0.5103861599}));
  EXPECT_THAT(result.lse.data, isNear({-inf, 0.2651367188, 0.3779508281}));
}

// With B == Sq a 2-D mask is [Sq, Skv], not [B, Skv].
TEST(Mask, TwoDimensionsAreRowsAndKeys) {
  const Tensor64 q = generate(0, {2, 1, 2, 4}), k = generate(1, {2, 1, 2, 4});
  const Tensor64 v = generate(2, {2, 1, 2, 4});
  const AttentionResult result =
      valueOf(attention(q, k, v,
                        masked(valueOf(maskTensor(
                            Tensor64({2, 2}, {1, 0, 1, 1}), {2, 1, 2, 2})))));
  EXPECT_THAT(
      result.o.data,
      isNear({0.65625, -1.125, 0.3125, -1.09375, 0.6759307907, -0.8691497211,
              -0.149998581, -0.3655607448, 0.75, 0.46875, 0.375, 0.46875, 0.75,
              0.7466752487, -0.1924307162, 0.1792445326}));
}

TEST(Mask, ShapesThatDoNotBroadcast) {
  EXPECT_EQ(errorText(maskTensor(Tensor64({2, 5}), {1, 1, 2, 3})),
            "mask: shape 2x5 does not broadcast to 1x1x2x3");
  EXPECT_THAT(
      errorText(bias(Tensor64({1, 1, 2, 3}), Tensor64({1, 1, 1, 2, 3}))),
      HasSubstr("bias: shape 1x1x1x2x3 does not broadcast"));
}

// Hidden means absent: NaN and infinity in hidden keys and values stay there.
TEST(Mask, HiddenGarbageDoesNotLeak) {
  Case c(3, 4);
  const AttentionOptions options = masked(lengths({2}));
  const AttentionResult clean = c.run(options);
  for (int64_t j : {2, 3})
    for (int64_t d = 0; d < 4; ++d) {
      c.k.at({0, 0, j, d}) = d % 2 ? nan : inf;
      c.v.at({0, 0, j, d}) = d % 2 ? inf : nan;
    }
  EXPECT_EQ(c.run(options).o.data, clean.o.data);
  EXPECT_EQ(c.run(options).lse.data, clean.lse.data);
  expectChainAgrees(c, options);
  // The same through a bias: the score is NaN, and the pair is hidden all the
  // same.
  const Tensor64 plane({4}, {0, 0, -inf, -inf});
  const Tensor64 scores =
      valueOf(bias(scale(valueOf(qk(c.q, c.k)), 0.5), plane));
  const SoftmaxResult p = valueOf(maskedSoftmax(scores));
  EXPECT_THAT(valueOf(weightedSum(p.weights, c.v,
                                  valueOf(hiddenByBias(plane, {1, 1, 3, 4}))))
                  .data,
              isNear(clean.o.data, 1e-14));
}

TEST(Mask, VisibleNaNReachesItsOwnRowOnly) {
  Case c(2, 4);
  const AttentionResult clean = c.run();
  c.q.at({0, 0, 1, 0}) = nan;
  AttentionResult result = c.run();
  EXPECT_THAT(slice(result.o, 0, 4), isNear({0.7052581027, -0.2387741687,
                                             0.008114273325, -0.2179135657}));
  EXPECT_THAT(slice(result.o, 4, 4), Each(IsNan()));
  c.q.at({0, 0, 1, 0}) = 0;
  c.q = generate(0, {1, 1, 2, 4});
  c.v.at({0, 0, 2, 1}) = nan;
  result = c.run();
  for (int64_t i : {0, 1})
    for (int64_t d = 0; d < 4; ++d) {
      if (d == 1)
        EXPECT_THAT(result.o.at({0, 0, i, d}), IsNan());
      else
        EXPECT_EQ(result.o.at({0, 0, i, d}), clean.o.at({0, 0, i, d}));
    }
}

TEST(Mask, CausalAlignments) {
  const Case c(2, 5);
  EXPECT_THAT(c.run(masked(causalTopLeft())).o.data,
              isNear({0.65625, -1.125, 0.3125, -1.09375, 0.6759307907,
                      -0.8691497211, -0.149998581, -0.3655607448}));
  EXPECT_THAT(
      c.run(masked(causalBottomRight(2, 5))).o.data,
      isNear({0.7052581027, -0.2387741687, 0.008114273325, -0.2179135657,
              0.7200443677, -0.05483848145, -0.2734989206, -0.3731908723}));
}

// Three new tokens on four cached ones: row i sees keys 0 .. 4 + i.
TEST(Mask, CausalWithPastLength) {
  EXPECT_THAT(
      Case(3, 7).run(masked(causal(4))).o.data,
      isNear({0.7092735121, -0.4932289619, 0.09870444475, -0.4878773267,
              0.7141146608, -0.08750229442, -0.3671697056, -0.2397429468,
              0.6526448123, 0.1643742883, -0.1647814959, 0.3000602275}));
}

/// Means of the visible key numbers: q and k are 0, v[j] = j.
std::vector<double> visibleMeans(int64_t sq, int64_t skv, Visibility mask) {
  Tensor64 v({1, 1, skv, 1});
  for (int64_t j = 0; j < skv; ++j)
    v.data[j] = j;
  return valueOf(attention(Tensor64({1, 1, sq, 4}), Tensor64({1, 1, skv, 4}), v,
                           masked(std::move(mask))))
      .o.data;
}

TEST(Mask, CausalMeansInClosedForm) {
  const std::vector<double> topLeft = visibleMeans(130, 257, causalTopLeft());
  const std::vector<double> bottomRight =
      visibleMeans(130, 257, causalBottomRight(130, 257));
  for (int64_t i = 0; i < 130; ++i) {
    EXPECT_NEAR(topLeft[i], i / 2.0, 1e-10);
    EXPECT_NEAR(bottomRight[i], (i + 127) / 2.0, 1e-10);
  }
}

// left = 2 is three keys with self; left = 3 is four.
TEST(Mask, WindowEndsAreInclusive) {
  EXPECT_THAT(visibleMeans(6, 6, allOf({causalTopLeft(), window(2, 0)})),
              isNear({0, 0.5, 1, 2, 3, 4}));
  EXPECT_THAT(visibleMeans(6, 6, window(3, 0)),
              isNear({0, 0.5, 1, 1.5, 2.5, 3.5}));
  // Unbounded to the left; a right bound beyond every key.
  EXPECT_THAT(visibleMeans(6, 3, window(-1, 2147483647, 3 - 6)),
              isNear({1, 1, 1, 1, 1, 1}));
  EXPECT_THAT(visibleMeans(3, 3, window(0, -1)), isNear({1, 1.5, 2}));
}

TEST(Mask, LengthsOfKeysAndQueries) {
  EXPECT_THAT(visibleMeans(3, 4, lengths({3}, {2})), isNear({1, 1, 0}));
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
  EXPECT_THAT(result.lse.data, Each(-inf));
  // Bottom-right causal with more rows than keys: the first rows are empty.
  const AttentionResult causalResult =
      Case(4, 2).run(masked(causalBottomRight(4, 2)));
  EXPECT_EQ(causalResult.lse.data[0], -inf);
  EXPECT_EQ(causalResult.lse.data[1], -inf);
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
  EXPECT_THAT(errorText(maskedSoftmax(Tensor64({1, 2, 1, 1}), {}, {1.0})),
              HasSubstr("sink size: expected 2, got 1"));
}

TEST(Softmax, ExtremeLogits) {
  // All of them below what a finite stand-in for -infinity might be.
  EXPECT_NEAR(logits({-100000, -99999}, {0, 1}).o.data[0], 0.7310585786, 1e-10);
  EXPECT_NEAR(logits({-100000, -99999}, {0, 1}).lse.data[0], -99998.68674,
              1e-5);
  EXPECT_EQ(logits({-2e38, -2e38 + 1e32}, {0, 1}).o.data[0], 1.0);
  EXPECT_EQ(logits({0, -1e30}, {1, 3e38}).o.data[0], 1.0);
  EXPECT_EQ(logits({0, -inf}, {1, 1}).o.data[0], 1.0);
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
      valueOf(bias(valueOf(softcap(scores, 1.0)), Tensor64({2}, {0, -inf})));
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
// Tiles of keys and partial results
//===----------------------------------------------------------------------===//

Tensor64 keysOf(const Tensor64 &x, int64_t begin, int64_t end) {
  Tensor64 y({x.shape[0], x.shape[1], end - begin, x.shape[3]});
  for (int64_t b = 0; b < x.shape[0]; ++b)
    for (int64_t h = 0; h < x.shape[1]; ++h)
      for (int64_t j = begin; j < end; ++j)
        for (int64_t d = 0; d < x.shape[3]; ++d)
          y.at({b, h, j - begin, d}) = x.at({b, h, j, d});
  return y;
}

/// One running state over tiles of `tile` keys, or one partial per tile.
AttentionResult tiled(const Tensor64 &q, const Tensor64 &k, const Tensor64 &v,
                      const AttentionOptions &options, int64_t tile,
                      bool split) {
  std::vector<OnlineState> states;
  const auto begin = [&] {
    states.push_back(
        OnlineState::empty(q.shape[0], q.shape[1], q.shape[2], v.shape[3]));
  };
  begin();
  for (int64_t j = 0; j < k.shape[2]; j += tile) {
    if (split && j > 0)
      begin();
    const int64_t end = std::min(j + tile, k.shape[2]);
    TileOrigin origin;
    origin.j = j;
    llvm::cantFail(onlineAttention(states.back(), q, keysOf(k, j, end),
                                   keysOf(v, j, end), options, origin));
  }
  return valueOf(mergePartials(states, options.sink));
}

// The old sum and accumulator are scaled by the step of the maximum: without
// the rescale the result is 3.
TEST(Online, RescalesByTheOldMaximum) {
  std::vector<double> scores = {0, 0, 0, 0, 10, 10, 10, 10};
  std::vector<double> values = {1, 1, 1, 1, 5, 5, 5, 5};
  AttentionOptions options;
  options.scale = 1.0;
  const Tensor64 q({1, 1, 1, 1}, 1.0);
  for (bool reversed : {false, true}) {
    SCOPED_TRACE(reversed);
    const Tensor64 k({1, 1, 8, 1}, scores), v({1, 1, 8, 1}, values);
    EXPECT_NEAR(tiled(q, k, v, options, 4, false).o.data[0], 4.999818409, 1e-9);
    EXPECT_NEAR(tiled(q, k, v, options, 4, true).o.data[0], 4.999818409, 1e-9);
    std::reverse(scores.begin(), scores.end());
    std::reverse(values.begin(), values.end());
  }
}

TEST(Online, AgreesWithTheWholeForAnyTile) {
  const Tensor64 q = generate(0, {2, 4, 5, 8}), k = generate(1, {2, 2, 13, 8});
  const Tensor64 v = generate(2, {2, 2, 13, 6});
  AttentionOptions options =
      masked(allOf({causal(3), window(4, -1, 3), lengths({13, 2})}));
  options.score = [](double s, int64_t b, int64_t h, int64_t i, int64_t j) {
    return s + 0.25 * h - 0.125 * (i - j) + b;
  };
  for (bool withSink : {false, true}) {
    options.sink =
        withSink ? std::vector<double>{0, 1, -1, 2} : std::vector<double>{};
    const AttentionResult whole = valueOf(attention(q, k, v, options));
    for (int64_t tile : {1, 2, 4, 5, 13, 20})
      for (bool split : {false, true}) {
        const AttentionResult parts = tiled(q, k, v, options, tile, split);
        EXPECT_THAT(parts.o.data, isNear(whole.o.data, 1e-13));
        EXPECT_THAT(parts.lse.data, isNear(whole.lse.data, 1e-13));
      }
  }
}

// What stands beside a sum of 0 may be garbage.
TEST(Merge, SkipsPartialsWithoutKeys) {
  OnlineState full = OnlineState::empty(1, 1, 1, 2), none = full;
  full.maximum.data = {1.0};
  full.sum.data = {2.0};
  full.accumulator.data = {3.0, -5.0};
  none.maximum.data = {nan};
  none.accumulator.data = {nan, inf};
  const AttentionResult result = valueOf(mergePartials({none, full, none}));
  EXPECT_THAT(result.o.data, ElementsAre(1.5, -2.5));
  EXPECT_THAT(result.lse.data[0], DoubleNear(1 + std::log(2.0), 1e-15));
  const AttentionResult empty = valueOf(mergePartials({none, none}));
  EXPECT_THAT(empty.o.data, Each(0.0));
  EXPECT_EQ(empty.lse.data[0], -inf);
  EXPECT_THAT(errorText(mergePartials({})), HasSubstr("no partials"));
  EXPECT_THAT(errorText(mergePartials({full, OnlineState::empty(1, 1, 1, 3)})),
              HasSubstr("accumulator: expected shape 1x1x1x2, got 1x1x1x3"));
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
