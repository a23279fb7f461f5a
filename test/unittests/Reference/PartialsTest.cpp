//===- PartialsTest.cpp - Tiles of keys and their merge ---------*- C++ -*-===//
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
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

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
  none.maximum.data = {kNaN};
  none.accumulator.data = {kNaN, kInf};
  const AttentionResult result = valueOf(mergePartials({none, full, none}));
  EXPECT_THAT(result.o.data, ElementsAre(1.5, -2.5));
  EXPECT_THAT(result.lse.data[0], DoubleNear(1 + std::log(2.0), 1e-15));
  const AttentionResult empty = valueOf(mergePartials({none, none}));
  EXPECT_THAT(empty.o.data, Each(0.0));
  EXPECT_EQ(empty.lse.data[0], -kInf);
  EXPECT_THAT(errorText(mergePartials({})), HasSubstr("no partials"));
  EXPECT_THAT(errorText(mergePartials({full, OnlineState::empty(1, 1, 1, 3)})),
              HasSubstr("accumulator: expected shape 1x1x1x2, got 1x1x1x3"));
}

} // namespace
