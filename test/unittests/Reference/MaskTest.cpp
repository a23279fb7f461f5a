//===- MaskTest.cpp - Masks of the reference --------------------*- C++ -*-===//
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
using testing::HasSubstr;
using testing::IsNan;

namespace {

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
const std::vector<double> emptyRowLse = {1.523225266, -kInf, 1.46435824};

Tensor64 emptyRowMask(double shown, double hidden) {
  Tensor64 mask({1, 1, 3, 4}, shown);
  for (int64_t j = 0; j < 4; ++j)
    mask.at({0, 0, 1, j}) = hidden;
  mask.at({0, 0, 2, 3}) = hidden;
  return mask;
}

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
  const Tensor64 plane = emptyRowMask(0, -kInf);
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
// uniform. Where the f32 sum of two of them overflows to -kInf, the pair is
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
                   plane.at({i, j}) != -kInf
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
  EXPECT_THAT(result.lse.data, isNear({-kInf, 0.2651367188, 0.3779508281}));
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
      c.k.at({0, 0, j, d}) = d % 2 ? kNaN : kInf;
      c.v.at({0, 0, j, d}) = d % 2 ? kInf : kNaN;
    }
  EXPECT_EQ(c.run(options).o.data, clean.o.data);
  EXPECT_EQ(c.run(options).lse.data, clean.lse.data);
  expectChainAgrees(c, options);
  // The same through a bias: the score is NaN, and the pair is hidden all the
  // same.
  const Tensor64 plane({4}, {0, 0, -kInf, -kInf});
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
  c.q.at({0, 0, 1, 0}) = kNaN;
  AttentionResult result = c.run();
  EXPECT_THAT(slice(result.o, 0, 4), isNear({0.7052581027, -0.2387741687,
                                             0.008114273325, -0.2179135657}));
  EXPECT_THAT(slice(result.o, 4, 4), Each(IsNan()));
  c.q.at({0, 0, 1, 0}) = 0;
  c.q = generate(0, {1, 1, 2, 4});
  c.v.at({0, 0, 2, 1}) = kNaN;
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

} // namespace
