//===- Dropout.cpp - Counter-based random numbers and dropout -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Reference/Reference.h"

#include <cmath>

using namespace attn;

/// High and low word of a product.
static std::array<uint32_t, 2> multiply(uint32_t x, uint32_t y) {
  const uint64_t product = static_cast<uint64_t>(x) * y;
  return {static_cast<uint32_t>(product >> 32), static_cast<uint32_t>(product)};
}

std::array<uint32_t, 4> reference::philox4x32(std::array<uint32_t, 4> counter,
                                              std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const auto [high0, low0] = multiply(0xD2511F53, counter[0]);
    const auto [high1, low1] = multiply(0xCD9E8D57, counter[2]);
    counter = {high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1],
               low0};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::array<uint32_t, 2> reference::philox2x32(std::array<uint32_t, 2> counter,
                                              uint32_t key) {
  for (int round = 0; round < 10; ++round) {
    const auto [high, low] = multiply(0xD256D193, counter[0]);
    counter = {high ^ key ^ counter[1], low};
    key += 0x9E3779B9;
  }
  return counter;
}

reference::ScoreFunction reference::dropout(double rate, int64_t seed) {
  return [=](double p, int64_t b, int64_t h, int64_t i, int64_t j) {
    const uint64_t bits = static_cast<uint64_t>(seed);
    const auto word = [](uint64_t x) { return static_cast<uint32_t>(x); };
    const std::array<uint32_t, 4> head =
        philox4x32({word(b), word(h), 0, 0}, {word(bits), word(bits >> 32)});
    const uint32_t random =
        philox2x32({word(i) ^ head[1], word(j) ^ head[2]}, head[0])[0];
    return random >= std::nearbyint(rate * 0x1p32) ? p / (1 - rate) : 0.0;
  };
}
