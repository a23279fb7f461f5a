//===- PositionsTest.cpp - Rotary, sinusoidal and ALiBi positions ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expected numbers are closed forms or were derived in f64 outside the project.
//
//===----------------------------------------------------------------------===//

#include "attn/Reference/Reference.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace attn;
using namespace attn::reference;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::vector<double> ropeOf(const Tensor64 &x, const RopeOptions &options) {
  llvm::Expected<Tensor64> y = rope(x, options);
  if (!y) {
    ADD_FAILURE() << llvm::toString(y.takeError());
    return {};
  }
  return y->data;
}

std::string ropeError(const Tensor64 &x, const RopeOptions &options) {
  llvm::Expected<Tensor64> y = rope(x, options);
  EXPECT_FALSE(static_cast<bool>(y)) << "expected an error";
  return y ? "" : llvm::toString(y.takeError());
}

void expectNear(const std::vector<double> &got,
                const std::vector<double> &expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t n = 0; n < got.size(); ++n)
    EXPECT_NEAR(got[n], expected[n], tolerance) << "element " << n;
}

TEST(Rope, LayoutsAreNotMixed) {
  const Tensor64 x({1, 1, 1, 4}, {1, 2, 3, 4});
  RopeOptions options;
  options.offset = 1;
  expectNear(ropeOf(x, options),
             {-1.984110649, 1.959900667, 2.462377902, 4.019799668}, 1e-9);
  options.layout = RopeLayout::Interleaved;
  expectNear(ropeOf(x, options),
             {-1.142639664, 1.922075597, 2.959850668, 4.029799502}, 1e-9);
}

// Scores depend on the distance of two positions only.
TEST(Rope, ScoresAreRelative) {
  const Tensor64 a({1, 1, 1, 4}, {-1.15625, 0.09375, -1.5, 0.125});
  const Tensor64 b({1, 1, 1, 4}, {-0.25, 1.0, -0.59375, 1.03125});
  for (RopeLayout layout : {RopeLayout::Half, RopeLayout::Interleaved}) {
    std::vector<double> dots;
    for (int64_t position : {3, 10, 1000}) {
      RopeOptions options;
      options.layout = layout;
      options.offset = position;
      const std::vector<double> q = ropeOf(a, options);
      options.offset = position - 3;
      const std::vector<double> k = ropeOf(b, options);
      double dot = 0;
      for (int n = 0; n < 4; ++n)
        dot += q[n] * k[n];
      dots.push_back(dot);
    }
    EXPECT_NEAR(dots[0],
                layout == RopeLayout::Half ? -0.9022130031 : 0.4360554228,
                1e-9);
    EXPECT_NEAR(dots[1], dots[0], 1e-12);
    EXPECT_NEAR(dots[2], dots[0], 1e-12);
  }
}

// Axis 1 is heads and axis 2 positions, also where both have the same size.
TEST(Rope, PositionsAreTheThirdAxis) {
  const Tensor64 x({1, 2, 2, 2}, {1, 0, 1, 0, 0, 1, 0, 1});
  const double c = std::cos(1.0), s = std::sin(1.0);
  expectNear(ropeOf(x, {}), {1, 0, c, s, 0, 1, -s, c}, 1e-15);
}

TEST(Rope, RotaryDimLeavesTheRest) {
  const Tensor64 x({1, 1, 1, 5}, {1, 2, 3, 4, 5});
  RopeOptions options;
  options.rotaryDim = 4;
  options.offset = 1;
  expectNear(ropeOf(x, options),
             {-1.984110649, 1.959900667, 2.462377902, 4.019799668, 5}, 1e-9);
}

TEST(Rope, IdsAndTables) {
  const Tensor64 x({1, 1, 2, 2}, {1, 0, 1, 0});
  RopeOptions options;
  options.positionIds = Tensor64({2}, {3, 1});
  expectNear(ropeOf(x, options),
             {std::cos(3.0), std::sin(3.0), std::cos(1.0), std::sin(1.0)},
             1e-15);
  options.positionIds = Tensor64({1, 2}, {2, 0});
  options.cosTable = Tensor64({3, 1}, {0.5, 0.25, 0.125});
  options.sinTable = Tensor64({3, 1}, {-1, -2, -3});
  expectNear(ropeOf(x, options), {0.125, -3, 0.5, -1}, 0);
  // Tables with a row of their own for each position of the batch.
  options.positionIds.reset();
  options.cosTable = Tensor64({1, 2, 1}, {0.5, 0.25});
  options.sinTable = Tensor64({1, 2, 1}, {-1, -2});
  expectNear(ropeOf(x, options), {0.5, -1, 0.25, -2}, 0);
}

TEST(Rope, Errors) {
  const Tensor64 x({1, 1, 2, 4});
  RopeOptions options;
  options.rotaryDim = 3;
  EXPECT_THAT(ropeError(x, options), HasSubstr("head dim 4, got 3"));
  options.rotaryDim = 6;
  EXPECT_THAT(ropeError(x, options), HasSubstr("head dim 4, got 6"));
  options.rotaryDim = 0;
  options.cosTable = Tensor64({2, 2});
  EXPECT_THAT(ropeError(x, options), HasSubstr("go together"));
  options.sinTable = Tensor64({2, 2});
  options.offset = 1;
  EXPECT_THAT(ropeError(x, options),
              HasSubstr("position 2 is outside the tables of 2 positions"));
  options.offset = 0;
  options.positionIds = Tensor64({2}, {0, -1});
  EXPECT_THAT(ropeError(x, options), HasSubstr("position -1 is outside"));
  options.positionIds = Tensor64({2}, {0, 0.5});
  EXPECT_THAT(ropeError(x, options), HasSubstr("is not an integer"));
  options.positionIds = Tensor64({3});
  EXPECT_THAT(ropeError(x, options),
              HasSubstr("expected shape 2 or 1x2, got 3"));
  options.positionIds.reset();
  options.sinTable = Tensor64({2, 3});
  EXPECT_THAT(ropeError(x, options), HasSubstr("expected shape 2x2, got 2x3"));
  options.cosTable = Tensor64({2, 3});
  EXPECT_THAT(ropeError(x, options), HasSubstr("columns: expected 2, got 3"));
}

TEST(Sinusoidal, OddDimDropsTheLastCosine) {
  expectNear(sinusoidal(3, 5).data,
             {0, 1, 0, 1, 0, 0.8414709848, 0.5403023059, 0.02511622291,
              0.9996845379, 0.0006309573026, 0.9092974268, -0.4161468365,
              0.05021659939, 0.9987383507, 0.001261914354},
             1e-9);
  expectNear(sinusoidal(1, 1, 2).data, {std::sin(2.0)}, 1e-15);
}

TEST(Sequences, NumbersAndPositions) {
  // The second is empty; tokens 0 and 6 belong to none.
  const int64_t cu[] = {1, 3, 3, 6};
  EXPECT_THAT(llvm::cantFail(sequenceIds(cu, 7)).data,
              ElementsAre(-1, 0, 0, 2, 2, 2, -1));
  EXPECT_THAT(llvm::cantFail(sequenceIds(cu, 4, -2)).data,
              ElementsAre(-2, 0, 0, 2));
  EXPECT_THAT(llvm::cantFail(sequencePositions(cu, 7)).data,
              ElementsAre(0, 0, 1, 0, 1, 2, 0));
  EXPECT_THAT(llvm::cantFail(sequencePositions(cu, 7, true)).data,
              ElementsAre(0, -2, -1, -3, -2, -1, 0));
  EXPECT_THAT(llvm::toString(sequenceIds({0, 5, 4}, 7).takeError()),
              HasSubstr("cu: decreases from 5 to 4"));
}

TEST(Alibi, Slopes) {
  EXPECT_THAT(alibiSlopes(1), ElementsAre(1.0 / 256));
  EXPECT_THAT(alibiSlopes(2), ElementsAre(1.0 / 16, 1.0 / 256));
  EXPECT_THAT(alibiSlopes(6),
              ElementsAre(0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125));
  EXPECT_THAT(alibiSlopes(8), ElementsAre(0.5, 0.25, 0.125, 0.0625, 0.03125,
                                          0.015625, 0.0078125, 0.00390625));
  expectNear(alibiSlopes(12),
             {0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125,
              0.00390625, 0.7071067812, 0.3535533906, 0.1767766953,
              0.08838834765},
             1e-10);
  const std::vector<double> forty = alibiSlopes(40);
  ASSERT_EQ(forty.size(), 40u);
  EXPECT_NEAR(forty[0], 0.8408964153, 1e-10);
  EXPECT_NEAR(forty[31], 0.00390625, 1e-12);
  EXPECT_NEAR(forty[32], 0.9170040432, 1e-10);
  EXPECT_NEAR(forty[39], 0.2726269332, 1e-10);
  EXPECT_TRUE(alibiSlopes(0).empty());
}

} // namespace
