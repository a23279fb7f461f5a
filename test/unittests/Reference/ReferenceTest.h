//===- ReferenceTest.h - Data and checks of the reference -------*- C++ -*-===//
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

#ifndef ATTN_TEST_UNITTESTS_REFERENCE_REFERENCETEST_H
#define ATTN_TEST_UNITTESTS_REFERENCE_REFERENCETEST_H

#include "../Common/Operand.h"
#include "../Support/TestFiles.h"
#include "attn/Reference/Reference.h"

#include <gmock/gmock.h>

#include <cmath>

namespace attn::reference::test {

using attn::test::errorText;
using attn::test::patternAt;
using attn::test::valueOf;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Deterministic test data, exact in f32, f16 and bf16, in row-major order.
inline Tensor64 generate(uint64_t seed, llvm::ArrayRef<int64_t> shape) {
  Tensor64 x(shape);
  for (size_t i = 0; i < x.data.size(); ++i)
    x.data[i] = patternAt(seed, i);
  return x;
}

MATCHER_P(NearOrSame, tolerance, "") {
  const double got = std::get<0>(arg), expected = std::get<1>(arg);
  return got == expected || std::abs(got - expected) <= tolerance;
}

/// 10 significant digits are given, of values around 1.
inline auto isNear(std::vector<double> expected, double tolerance = 1e-9) {
  return testing::Pointwise(NearOrSame(tolerance), expected);
}

inline std::vector<double> slice(const Tensor64 &x, size_t begin,
                                 size_t count) {
  return {x.data.begin() + begin, x.data.begin() + begin + count};
}

/// Sum and position-weighted sum of a flat result.
inline std::pair<double, double> digest(const Tensor64 &x) {
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

inline AttentionOptions masked(Visibility mask) {
  AttentionOptions options;
  options.mask = std::move(mask);
  return options;
}

} // namespace attn::reference::test

#endif // ATTN_TEST_UNITTESTS_REFERENCE_REFERENCETEST_H
