//===- WeightStatsTest.cpp - Statistics of weights, closed forms ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceTest.h"

#include <cmath>

using namespace attn::reference;
using namespace attn::reference::test;

namespace {

TEST(WeightStats, OfFourWeights) {
  Tensor64 weights({1, 1, 2, 4}, {0.5, 0.0, 0.25, 0.25, 0.0, 1.0, 0.0, 0.0});
  WeightStats stats = valueOf(weightStats(weights, 3));
  EXPECT_THAT(stats.columnSums.data, isNear({0.5, 1.0, 0.25, 0.25}));
  EXPECT_THAT(stats.rowMax.data, isNear({0.5, 1.0}));
  EXPECT_THAT(stats.entropy.data, isNear({1.5 * std::log(2.0), 0.0}));
  EXPECT_THAT(stats.topWeights.data, isNear({0.5, 0.25, 0.25, 1.0, 0.0, 0.0}));
  EXPECT_THAT(stats.topKeys.data, isNear({0, 2, 3, 1, -1, -1}));
}

TEST(WeightStats, UniformRowsHaveTheLargestEntropy) {
  WeightStats stats = valueOf(weightStats(Tensor64({1, 1, 1, 8}, 1.0 / 8), 0));
  EXPECT_THAT(stats.entropy.data, isNear({std::log(8.0)}));
  EXPECT_TRUE(stats.topKeys.data.empty());
}

TEST(WeightStats, EmptyRowsAreZero) {
  WeightStats stats = valueOf(weightStats(Tensor64({1, 2, 1, 0}), 1));
  EXPECT_TRUE(stats.columnSums.data.empty());
  EXPECT_THAT(stats.rowMax.data, isNear({0, 0}));
  EXPECT_THAT(stats.entropy.data, isNear({0, 0}));
  EXPECT_THAT(stats.topWeights.data, isNear({0, 0}));
  EXPECT_THAT(stats.topKeys.data, isNear({-1, -1}));
}

TEST(WeightStats, NaNIsTheLargest) {
  WeightStats stats =
      valueOf(weightStats(Tensor64({1, 1, 1, 3}, {0.5, NAN, 0.75}), 3));
  EXPECT_TRUE(std::isnan(stats.rowMax.data[0]));
  EXPECT_THAT(stats.topKeys.data, isNear({1, 2, 0}));
}

TEST(WeightStats, Errors) {
  EXPECT_THAT(errorText(weightStats(Tensor64({2, 3}), 1)),
              testing::HasSubstr("weights: expected rank 4, got 2"));
  EXPECT_THAT(errorText(weightStats(Tensor64({1, 1, 1, 1}), -2)),
              testing::HasSubstr("at least 0, got -2"));
}

} // namespace
