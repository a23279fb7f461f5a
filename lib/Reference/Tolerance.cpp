//===- Tolerance.cpp - How far results may be from the truth ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Reference/Tolerance.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace attn;

namespace {
/// Precision in bits (the implicit one included), the smallest normal exponent
/// and the exponent that is too large.
struct FloatFormat {
  int precision, minExponent, endExponent;
};
} // namespace

static FloatFormat formatOf(ElementType type) {
  switch (type) {
  case ElementType::f64:
    return {53, -1022, 1024};
  case ElementType::f32:
    return {24, -126, 128};
  case ElementType::f16:
    return {11, -14, 16};
  default:
    return {8, -126, 128};
  }
}

double attn::unitRoundoff(ElementType type) {
  return isFloat(type) ? std::ldexp(1.0, -formatOf(type).precision) : 0.0;
}

double attn::ulpAt(ElementType type, double value) {
  if (!isFloat(type))
    return 1.0;
  const FloatFormat format = formatOf(type);
  int exponent = format.minExponent;
  if (value != 0.0 && std::isfinite(value))
    exponent = std::max(exponent, std::ilogb(value));
  return std::ldexp(1.0, exponent - format.precision + 1);
}

double attn::attentionBound(ElementType type, double maxAbsV) {
  switch (type) {
  case ElementType::f64:
    return 1e-12 * maxAbsV;
  case ElementType::f32:
    return 4e-6 * maxAbsV;
  case ElementType::f16:
  case ElementType::bf16:
    return 3 * unitRoundoff(type) * maxAbsV;
  default:
    return 0.0;
  }
}

double attn::lseBound(ElementType lseType, ElementType inputType,
                      double maxAbsLse) {
  double coarse = inputType == ElementType::bf16 ? std::ldexp(1.0, -13) : 0.0;
  return attentionBound(lseType, std::max(1.0, maxAbsLse)) + coarse;
}

double attn::weightStatsBound(ElementType statsType, ElementType inputType,
                              double maxAbs, double maxAbsLse) {
  return (lseBound(statsType, inputType, 1.0) +
          2 * unitRoundoff(statsType) * maxAbsLse) *
         (1.0 + maxAbs);
}

double attn::maxAbsLogSumExp(llvm::ArrayRef<double> weights,
                             llvm::ArrayRef<double> scores, int64_t columns) {
  double result = 0.0;
  for (size_t row = 0; row < weights.size(); row += columns) {
    double largest = -std::numeric_limits<double>::infinity();
    for (size_t n = row; n < row + columns; ++n)
      // Those of hidden pairs are 0, or NaN in rows that see nothing.
      if (weights[n] != 0.0 && !std::isnan(weights[n]))
        largest = std::max(largest, scores[n]);
    if (std::isfinite(largest))
      result = std::max(result, std::abs(largest));
  }
  return result;
}

double attn::graphBound(ElementType type, double maxAbsExpected,
                        double twinError) {
  // Weights below the smallest normal f32 are 0 in kernels.
  return std::max({2 * twinError, attentionBound(type, maxAbsExpected),
                   std::ldexp(1.0, formatOf(ElementType::f32).minExponent)});
}

Comparison attn::compare(llvm::ArrayRef<double> got,
                         llvm::ArrayRef<double> expected, ElementType type) {
  Comparison result;
  result.numElements = expected.size();
  result.sameSize = got.size() == expected.size();
  if (!result.sameSize)
    return result;
  const auto setWorst = [&](int64_t n) {
    result.worstIndex = n;
    result.worstGot = got[n];
    result.worstExpected = expected[n];
  };
  // Infinite for f64, and for integers of no use.
  const double limit = isFloat(type)
                           ? std::ldexp(1.0, formatOf(type).endExponent)
                           : std::numeric_limits<double>::infinity();
  for (int64_t n = 0, end = expected.size(); n < end; ++n) {
    const double e = expected[n], g = got[n];
    if (std::isfinite(e))
      result.maxAbsExpected = std::max(result.maxAbsExpected, std::abs(e));
    if (std::isnan(e) != std::isnan(g)) {
      if (result.nanMismatches++ == 0)
        setWorst(n);
      continue;
    }
    // Equal infinities must not be subtracted.
    if (std::isnan(e) || e == g)
      continue;
    const bool isFar =
        std::isinf(e) || (std::isinf(g) && std::abs(e) < limit / 2);
    const double difference = isFar ? std::numeric_limits<double>::infinity()
                                    : std::abs(std::clamp(g, -limit, limit) -
                                               std::clamp(e, -limit, limit));
    if (difference > result.maxAbs) {
      result.maxAbs = difference;
      if (result.nanMismatches == 0)
        setWorst(n);
    }
    // inf / inf would be NaN where only `expected` is infinite.
    const bool isInfinite = std::isinf(difference);
    if (e != 0.0)
      result.maxRel = std::max(
          result.maxRel, isInfinite ? difference : difference / std::abs(e));
    result.maxUlp = std::max(result.maxUlp, difference / ulpAt(type, e));
  }
  return result;
}

Comparison attn::compare(const HostTensor &got,
                         llvm::ArrayRef<double> expected) {
  return compare(got.toDoubles(), expected, got.type());
}

Comparison attn::compareTopKeys(llvm::ArrayRef<double> got,
                                llvm::ArrayRef<double> expected,
                                llvm::ArrayRef<double> weights,
                                int64_t columns) {
  Comparison result;
  result.numElements = expected.size();
  result.sameSize = got.size() == expected.size();
  if (!result.sameSize || weights.empty() || expected.empty())
    return compare(got, expected, ElementType::i32);
  const size_t places = expected.size() / (weights.size() / columns);
  std::vector<bool> seen(columns);
  for (size_t n = 0; n < expected.size(); ++n) {
    if (n % places == 0)
      seen.assign(columns, false);
    const auto row = weights.slice(n / places * columns, columns);
    const double e = expected[n], g = got[n];
    const double none = -1.0, wrong = std::numeric_limits<double>::infinity();
    double difference = 0.0;
    if (g != none) {
      const bool isKey = g >= 0.0 && g < columns && g == std::floor(g);
      if (!isKey || seen[g] || row[g] == 0.0)
        difference = wrong;
      else
        seen[g] = true;
    }
    if (difference == 0.0 && g != e) {
      const double x = g == none ? 0.0 : row[g], y = e == none ? 0.0 : row[e];
      if (std::isnan(x) || std::isnan(y))
        difference = std::isnan(x) == std::isnan(y) ? 0.0 : wrong;
      else
        difference = std::abs(x - y);
    }
    if (difference > result.maxAbs) {
      result.maxAbs = difference;
      result.worstIndex = n;
      result.worstGot = g;
      result.worstExpected = e;
    }
  }
  return result;
}

bool Comparison::within(double bound) const {
  return sameSize && nanMismatches == 0 && maxAbs <= bound;
}

std::string Comparison::describe(double bound) const {
  if (!sameSize)
    return llvm::formatv("the result does not have the expected {0} elements",
                         numElements);
  std::string text =
      llvm::formatv("max abs {0:e3}, max rel {1:e3}, max ulp {2:e3}, allowed "
                    "abs {3:e3}",
                    maxAbs, maxRel, maxUlp, bound);
  if (nanMismatches)
    text += llvm::formatv(", {0} nan mismatches", nanMismatches);
  if (worstIndex >= 0)
    text += llvm::formatv(", worst at {0}: got {1:e9}, expected {2:e9}",
                          worstIndex, worstGot, worstExpected);
  return text;
}
