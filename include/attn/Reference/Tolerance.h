//===- Tolerance.h - How far results may be from the truth ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place that says how large an error is allowed. `--check`, unit tests
// and conformance all ask here, so that no test carries a number of its own.
//
// Attention, absolute error relative to max|v| (unit-variance inputs, lengths
// up to 8192), against f64 evaluation of the same stored inputs:
//   f64        1e-12
//   f32        4e-6
//   f16, bf16  3u with u the unit roundoff (2^-11, 2^-8): one rounding each of
//              an input, of the probabilities and of the result
// The log-sum-exp, which is f32: 4e-6 relative to the largest one, and 2^-13
// besides where queries, keys and values are bf16. Weights are rounded to 2^-9
// there, and kernels may compute them by an exponential that is exact to 7.5e-5
// (2^-13 is 1.22e-4); their sum carries that into its logarithm.
// Whole graphs may have twice the error of the unfused twin in the same types,
// and never less than the attention bound. Integers and i1 must be exact.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_TOLERANCE_H
#define ATTN_REFERENCE_TOLERANCE_H

#include "attn/Support/HostTensor.h"

#include <string>

namespace attn {

/// Half the distance from 1 to the next larger number: 2^-53, 2^-24, 2^-11,
/// 2^-8; 0 for integers.
double unitRoundoff(ElementType type);

/// The distance between neighbours of `type` at |value|, that of the smallest
/// normal below it; 1 for integers.
double ulpAt(ElementType type, double value);

/// Allowed absolute error of attention in `type` whose largest |v| is
/// `maxAbsV`.
double attentionBound(ElementType type, double maxAbsV);

/// Allowed absolute error of the log-sum-exp of attention whose inputs have
/// `inputType`. It is stored in f32 whatever they are (f64 when the graph is
/// evaluated in f64): the f32 bound, relative to the largest finite |lse| and
/// never less than for 1, and 2^-13 more for bf16.
double lseBound(ElementType lseType, ElementType inputType, double maxAbsLse);

/// The same for statistics of weights (maxima, sums of columns, entropies),
/// whose largest is `maxAbs`. Weights have the relative error of a log-sum-exp
/// of size 1, and entropies that of the weights and of their sum. Log-sum-exps,
/// of which the largest finite one is `maxAbsLse`, and scores that large are
/// rounded besides, once each.
double weightStatsBound(ElementType statsType, ElementType inputType,
                        double maxAbs, double maxAbsLse);

/// The size of the log-sum-exps of rows of `weights`, made of `scores`, each
/// with `columns` keys: the largest magnitude of a row's largest score that has
/// a weight. (What a log-sum-exp has beyond that makes weights small.)
double maxAbsLogSumExp(llvm::ArrayRef<double> weights,
                       llvm::ArrayRef<double> scores, int64_t columns);

/// Allowed absolute error of a whole graph with results in `type`, of largest
/// finite magnitude `maxAbsExpected`, whose unfused twin in the same types is
/// `twinError` away from the f64 evaluation; never below the smallest normal
/// f32.
double graphBound(ElementType type, double maxAbsExpected, double twinError);

/// How two results differ. Infinities of one sign and NaN agree with
/// themselves. Beyond the largest number of a type comes infinity, in the place
/// of the next power of two: 1e5 is infinite in f16, and infinity is 16 away
/// from 65520.
struct Comparison {
  int64_t numElements = 0;
  /// Largest |got - expected|; infinite when `expected` is infinite itself and
  /// `got` is not, or `got` is and `expected` is not half as large as that.
  double maxAbs = 0.0;
  /// Largest |got - expected| / |expected| over elements with expected != 0.
  double maxRel = 0.0;
  /// Largest |got - expected| in ulps of the result type at expected.
  double maxUlp = 0.0;
  /// Row-major index of the worst element: the first with a NaN mismatch if
  /// there is one, else that of maxAbs. -1 when every element is equal.
  int64_t worstIndex = -1;
  double worstGot = 0.0, worstExpected = 0.0;
  /// Elements of which exactly one is NaN.
  int64_t nanMismatches = 0;
  /// The largest finite |expected|.
  double maxAbsExpected = 0.0;
  /// False when the numbers of elements differ; nothing else is set then.
  bool sameSize = true;

  /// True when every element is within an absolute error.
  bool within(double bound) const;
  /// One line: errors, bound and the worst element.
  std::string describe(double bound) const;
};

/// Compares a result with its f64 evaluation, in row-major order.
Comparison compare(const HostTensor &got, llvm::ArrayRef<double> expected);

/// The same for numbers that are already doubles; `type` sets the ulp.
Comparison compare(llvm::ArrayRef<double> got, llvm::ArrayRef<double> expected,
                   ElementType type);

/// Compares the keys of the largest weights of each row, whose `weights` in f64
/// are rows of `columns`. Weights within an error come in any order, so that
/// the difference of two keys is that of their weights: at most twice the error
/// of weights. It is infinite for what is no key, for a key that stands in the
/// row already, and for one without weight. -1 is a weight of 0.
Comparison compareTopKeys(llvm::ArrayRef<double> got,
                          llvm::ArrayRef<double> expected,
                          llvm::ArrayRef<double> weights, int64_t columns);

} // namespace attn

#endif // ATTN_REFERENCE_TOLERANCE_H
