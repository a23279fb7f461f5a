//===- ToleranceTest.cpp - Bounds and comparisons ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Reference/Tolerance.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace attn;
using testing::HasSubstr;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Tolerance, UlpAndRoundoff) {
  EXPECT_EQ(unitRoundoff(ElementType::f32), 0x1p-24);
  EXPECT_EQ(unitRoundoff(ElementType::f16), 0x1p-11);
  EXPECT_EQ(unitRoundoff(ElementType::bf16), 0x1p-8);
  EXPECT_EQ(unitRoundoff(ElementType::i32), 0.0);
  for (float value : {1.0f, -1.5f, 3e-42f, 1e-38f, 7e30f})
    EXPECT_EQ(ulpAt(ElementType::f32, value),
              double(std::nextafter(std::abs(value), float(inf))) -
                  std::abs(double(value)))
        << value;
  EXPECT_EQ(ulpAt(ElementType::f32, 0.0), 0x1p-149);
  EXPECT_EQ(ulpAt(ElementType::f16, 1.0), 0x1p-10);
  EXPECT_EQ(ulpAt(ElementType::f16, 1e-9), 0x1p-24);
  EXPECT_EQ(ulpAt(ElementType::bf16, 2.0), 0x1p-6);
}

TEST(Tolerance, Bounds) {
  EXPECT_DOUBLE_EQ(attentionBound(ElementType::f32, 5.0), 2e-5);
  EXPECT_EQ(attentionBound(ElementType::f16, 1.0), 3 * 0x1p-11);
  EXPECT_EQ(attentionBound(ElementType::i32, 1.0), 0.0);
  for (ElementType type : {ElementType::f32, ElementType::f16}) {
    EXPECT_EQ(lseBound(ElementType::f32, type, 0.25), 4e-6);
    EXPECT_DOUBLE_EQ(lseBound(ElementType::f32, type, 10.0), 4e-5);
  }
  EXPECT_DOUBLE_EQ(lseBound(ElementType::f32, ElementType::bf16, 10.0),
                   4e-5 + 0x1p-13);
  EXPECT_DOUBLE_EQ(weightStatsBound(ElementType::f32, ElementType::f32, 0, 0),
                   4e-6);
  EXPECT_DOUBLE_EQ(weightStatsBound(ElementType::f32, ElementType::bf16, 3, 0),
                   4 * (4e-6 + 0x1p-13));
  EXPECT_DOUBLE_EQ(weightStatsBound(ElementType::f32, ElementType::f32, 1, 256),
                   2 * (4e-6 + 0x1p-15));
  // Twice the twin's error, and never less than attention alone.
  EXPECT_EQ(graphBound(ElementType::f32, 1.0, 1e-3), 2e-3);
  EXPECT_EQ(graphBound(ElementType::f32, 1.0, 1e-9), 4e-6);
  // What has no normal weight may be 0.
  EXPECT_EQ(graphBound(ElementType::f32, 1e-42, 0.0), 0x1p-126);
}

/// What is beyond a type rounds to infinity there, and what is nearly beyond
/// may.
TEST(Tolerance, Overflow) {
  auto distance = [](double got, double expected, ElementType type) {
    return compare({got}, {expected}, type).maxAbs;
  };
  EXPECT_EQ(distance(inf, 1.2e5, ElementType::f16), 0.0);
  EXPECT_EQ(distance(-inf, -65536.0, ElementType::f16), 0.0);
  EXPECT_EQ(distance(inf, 65520.0, ElementType::f16), 16.0);
  EXPECT_EQ(distance(65504.0, 1e9, ElementType::f16), 32.0);
  EXPECT_EQ(distance(-inf, 1e9, ElementType::f16), 0x1p17);
  EXPECT_EQ(distance(inf, 1e39, ElementType::bf16), 0.0);
  EXPECT_EQ(distance(inf, 0x1p127, ElementType::f32), 0x1p127);
  EXPECT_EQ(distance(inf, 1e5, ElementType::f32), inf);
  EXPECT_EQ(distance(inf, 1e300, ElementType::f64), inf);
  // An infinity that is meant is not rounded from anything.
  EXPECT_EQ(distance(65504.0, inf, ElementType::f16), inf);
}

TEST(Tolerance, ComparesErrors) {
  const Comparison c =
      compare({1.0, 2.5, 0.25}, {1.0, 2.0, 0.0}, ElementType::f16);
  EXPECT_EQ(c.maxAbs, 0.5);
  EXPECT_EQ(c.maxRel, 0.25);
  EXPECT_EQ(c.maxUlp, 0.25 / 0x1p-24);
  EXPECT_EQ(c.worstIndex, 1);
  EXPECT_EQ(c.worstGot, 2.5);
  EXPECT_EQ(c.maxAbsExpected, 2.0);
  EXPECT_TRUE(c.within(0.5));
  EXPECT_FALSE(c.within(0.49));
  EXPECT_THAT(c.describe(0.5), HasSubstr("worst at 1: got 2.5"));
}

TEST(Tolerance, NaNAndInfinity) {
  const Comparison same =
      compare({nan, inf, -inf}, {nan, inf, -inf}, ElementType::f32);
  EXPECT_TRUE(same.within(0.0));
  EXPECT_EQ(same.worstIndex, -1);
  const Comparison onlyOne =
      compare({9.0, 1.0, nan}, {1.0, nan, 1.0}, ElementType::f32);
  EXPECT_EQ(onlyOne.nanMismatches, 2);
  EXPECT_EQ(onlyOne.worstIndex, 1);
  EXPECT_EQ(onlyOne.maxAbs, 8.0);
  EXPECT_FALSE(onlyOne.within(inf));
  EXPECT_THAT(onlyOne.describe(1.0), HasSubstr("2 nan mismatches"));
  for (auto [got, expected] :
       {std::make_pair(inf, 1.0), std::make_pair(1.0, -inf),
        std::make_pair(inf, -inf)}) {
    const Comparison c = compare({got}, {expected}, ElementType::f32);
    EXPECT_EQ(c.maxAbs, inf);
    EXPECT_FALSE(std::isnan(c.maxRel));
    EXPECT_FALSE(c.within(1e300));
  }
}

TEST(Tolerance, SizeOfLogSumExp) {
  // The largest score of each row that has a weight; the second row has none.
  const double weights[] = {0.25, 0.75, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0};
  const double scores[] = {-9.0, -8.0, 1e9, 50.0, 70.0, nan, 3.0, inf, nan};
  EXPECT_EQ(maxAbsLogSumExp(weights, scores, 3), 8.0);
  EXPECT_EQ(maxAbsLogSumExp({1.0}, {-inf}, 1), 0.0);
  // Rows that see nothing may be NaN, whatever their scores are.
  EXPECT_EQ(maxAbsLogSumExp({nan, nan, 0.5, 0.5}, {1e30, -1e30, 4.0, 4.0}, 2),
            4.0);
  EXPECT_EQ(maxAbsLogSumExp({}, {}, 0), 0.0);
}

TEST(Tolerance, TopKeys) {
  // Two rows of four keys, and three places in each.
  const std::vector<double> weights{0.25, 0.5, 0.0, 0.25, nan, 1e-9, 0.0, 0.0};
  const std::vector<double> expected{1, 0, 3, 0, 1, -1};
  auto distance = [&](std::vector<double> got) {
    return compareTopKeys(got, expected, weights, 4).maxAbs;
  };
  EXPECT_EQ(distance(expected), 0.0);
  // Keys of equal weights change places, and others by what they differ.
  EXPECT_EQ(distance({1, 3, 0, 0, 1, -1}), 0.0);
  EXPECT_EQ(distance({0, 1, 3, 0, 1, -1}), 0.25);
  EXPECT_EQ(distance({1, 0, 3, 0, -1, -1}), 1e-9);
  EXPECT_EQ(distance({1, 0, -1, 0, 1, -1}), 0.25);
  // Twice the same, without a weight, beyond the keys, no number of a key.
  for (double wrong : {0.0, 2.0, 4.0, -2.0, 0.5, nan})
    EXPECT_EQ(distance({1, 0, wrong, 0, 1, -1}), inf) << wrong;
  // A NaN is no number like others, and no key stands where there is none.
  EXPECT_EQ(distance({1, 0, 3, 1, 0, -1}), inf);
  EXPECT_EQ(distance({1, 0, 3, 0, 1, 2}), inf);
  const Comparison c =
      compareTopKeys({0, 1, 3, 0, 1, -1}, expected, weights, 4);
  EXPECT_EQ(c.worstIndex, 0);
  EXPECT_EQ(c.worstGot, 0.0);
  EXPECT_EQ(c.worstExpected, 1.0);
  EXPECT_FALSE(compareTopKeys({1.0}, expected, weights, 4).within(inf));
  // Without keys every place is empty.
  EXPECT_TRUE(compareTopKeys({-1.0}, {-1.0}, {}, 0).within(0.0));
  EXPECT_FALSE(compareTopKeys({0.0}, {-1.0}, {}, 0).within(0.0));
}

TEST(Tolerance, SizesMustAgree) {
  const Comparison c = compare({1.0}, {1.0, 1.0}, ElementType::f32);
  EXPECT_FALSE(c.within(inf));
  EXPECT_THAT(c.describe(0.0), HasSubstr("expected 2 elements"));
  EXPECT_TRUE(compare(llvm::ArrayRef<double>(), llvm::ArrayRef<double>(),
                      ElementType::f32)
                  .within(0.0));
}

TEST(Tolerance, HostTensors) {
  HostTensor tensor = llvm::cantFail(
      HostTensor::fromDoubles(ElementType::bf16, {2}, {1.0, 1.0 / 3}));
  const Comparison c = compare(tensor, {1.0, 1.0 / 3});
  EXPECT_EQ(c.worstIndex, 1);
  EXPECT_GT(c.maxUlp, 0.0);
  EXPECT_LE(c.maxUlp, 0.5);
}

} // namespace
