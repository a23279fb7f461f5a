//===- IntervalIntegers.h - Integers of a mask program by block -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The integers of a mask program as intervals, for some rows and some keys:
// what `BlockVisibility` compares.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_ANALYSIS_INTERVALINTEGERS_H
#define ATTN_LIB_ANALYSIS_INTERVALINTEGERS_H

#include "attn/Analysis/BlockVisibility.h"
#include "attn/Analysis/IndexBuilder.h"

namespace attn {

/// Evaluates the integers of `mask` from those in `intervals`, which it adds
/// to.
class IntervalIntegers : protected IndexBuilder {
public:
  IntervalIntegers(mlir::ImplicitLocOpBuilder &b, mlir::Region &mask,
                   llvm::DenseMap<mlir::Value, Interval> &intervals)
      : IndexBuilder{b}, mask(mask), intervals(intervals) {}
  virtual ~IntervalIntegers() = default;

  /// Null where it is not known.
  Interval intervalOf(mlir::Value value);

  /// The first op that is not known, or null.
  mlir::Operation *unknown = nullptr;

protected:
  /// The elements that `load` reads.
  virtual Interval gather(mlir::memref::LoadOp load) = 0;

  static unsigned bitsOf(mlir::Type type) {
    return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  }

  //===--------------------------------------------------------------------===//
  // Integers; their magnitudes are tracked in bits, as sums could overflow
  //===--------------------------------------------------------------------===//

  Interval computeInterval(mlir::Value value);
  /// `x` as integers of `type`: all of those where some do not fit, for they
  /// wrap.
  Interval fitted(Interval x, mlir::Type type);
  /// `x` where it lies in [-limit, limit), else all of that.
  Interval within(Interval x, int64_t limit, unsigned bits);
  Interval sumOf(mlir::Operation *op);
  /// The constant that `op` multiplies by or divides by, and the other operand.
  std::pair<mlir::Value, int64_t> scaleOf(mlir::Operation *op);
  Interval productOf(mlir::Operation *op);
  /// The interval that `op` divides, and its divisor, a positive constant. A
  /// dividend that may be negative gives nothing where that matters.
  std::pair<Interval, mlir::Value> operandsOfDivision(mlir::Operation *op);
  Interval quotientOf(mlir::Operation *op);
  Interval remainderOf(mlir::Operation *op);

  mlir::Region &mask;
  llvm::DenseMap<mlir::Value, Interval> &intervals;
};

} // namespace attn

#endif // ATTN_LIB_ANALYSIS_INTERVALINTEGERS_H
