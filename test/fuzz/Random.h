//===- Random.h - Choices of the fuzzer -------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The distributions of <random> differ between libraries; a seed must mean the
// same graph everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_FUZZ_RANDOM_H
#define ATTN_TEST_FUZZ_RANDOM_H

#include <cstdint>
#include <initializer_list>

namespace attn::fuzz {

/// splitmix64 (Steele, Lea, Flood, 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t bits() {
    uint64_t x = state += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
  /// A number from `low` to `high`, both included.
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits() % (high - low + 1));
  }
  /// True `percent` times in a hundred.
  bool chance(int percent) { return pick(0, 99) < percent; }
  template <typename T> T of(std::initializer_list<T> values) {
    return values.begin()[pick(0, values.size() - 1)];
  }

private:
  uint64_t state;
};

} // namespace attn::fuzz

#endif // ATTN_TEST_FUZZ_RANDOM_H
