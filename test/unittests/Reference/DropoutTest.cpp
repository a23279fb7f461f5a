//===- DropoutTest.cpp - Random numbers and what they keep ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceTest.h"

using namespace attn;
using namespace attn::reference;
using testing::ElementsAre;

namespace {

// The known answers of Random123, which accompanies the paper.
TEST(Philox, KnownAnswers) {
  EXPECT_THAT(philox2x32({0, 0}, 0), ElementsAre(0xff1dae59u, 0x6cd10df2u));
  EXPECT_THAT(philox2x32({~0u, ~0u}, ~0u),
              ElementsAre(0x2c3f628bu, 0xab4fd7adu));
  EXPECT_THAT(philox2x32({0x243f6a88u, 0x85a308d3u}, 0x13198a2eu),
              ElementsAre(0xdd7ce038u, 0xf62a4c12u));
  EXPECT_THAT(philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  EXPECT_THAT(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
              ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  EXPECT_THAT(philox4x32({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                         {0xa4093822u, 0x299f31d0u}),
              ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
}

TEST(Dropout, KeepsAShareAndDividesByIt) {
  const ScoreFunction half = dropout(0.25, 7);
  int64_t kept = 0;
  constexpr int64_t extent = 300;
  for (int64_t i = 0; i < extent; ++i)
    for (int64_t j = 0; j < extent; ++j) {
      const double p = half(0.75, 0, 1, i, j);
      EXPECT_TRUE(p == 0.0 || p == 1.0);
      kept += p != 0.0;
    }
  // Five standard deviations.
  const double pairs = extent * extent;
  EXPECT_NEAR(kept / pairs, 0.75, 5 * std::sqrt(0.75 * 0.25 / pairs));
}

TEST(Dropout, EndsOfTheRange) {
  for (int64_t j = 0; j < 100; ++j) {
    EXPECT_EQ(dropout(0.0, 1)(0.3, 0, 0, 0, j), 0.3);
    EXPECT_EQ(dropout(1.0, 1)(0.3, 0, 0, 0, j), 0.0);
  }
}

// Any change of the seed, of either half of it, or of the position gives other
// pairs.
TEST(Dropout, DependsOnEverything) {
  const auto pattern = [](int64_t seed, int64_t b, int64_t h, int64_t i) {
    uint64_t bits = 0;
    for (int64_t j = 0; j < 64; ++j)
      bits |= static_cast<uint64_t>(dropout(0.5, seed)(1.0, b, h, i, j) != 0)
              << j;
    return bits;
  };
  std::vector<uint64_t> patterns;
  for (int64_t seed : {0l, 1l, -1l, 1l << 32})
    for (int64_t b : {0, 1})
      for (int64_t h : {0, 1})
        for (int64_t i : {0, 1, 2})
          patterns.push_back(pattern(seed, b, h, i));
  std::sort(patterns.begin(), patterns.end());
  EXPECT_EQ(std::unique(patterns.begin(), patterns.end()), patterns.end());
}

} // namespace
