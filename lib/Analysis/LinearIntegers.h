//===- LinearIntegers.h - Integers of a mask program by key -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The integers of a mask program as functions of the key, with everything that
// the rows decide in intervals: what `TileVisibility` compares.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_ANALYSIS_LINEARINTEGERS_H
#define ATTN_LIB_ANALYSIS_LINEARINTEGERS_H

#include "attn/Analysis/IndexBuilder.h"

namespace attn {

/// Values from outside and constants are at most this, or not analysed.
inline constexpr int64_t kLargestConstant = int64_t(1) << 40;
/// Positions are indices of memory.
inline constexpr unsigned kPositionBits = 40;

/// An integer of the region as `keyFactor * ((j + shift) div divisor) + r`,
/// rounded down, with shift and r in intervals. Without a divisor, which is the
/// rule, the shift is in r.
struct Linear {
  Linear() = default;
  Linear(int64_t keyFactor, mlir::Value low, mlir::Value high,
         unsigned bits = 41)
      : keyFactor(keyFactor), low(low), high(high), bits(bits) {}

  int64_t keyFactor = 0;
  mlir::Value low, high;
  mlir::Value shiftLow, shiftHigh, divisor;
  /// Every magnitude is below 2^bits.
  unsigned bits = 41;

  explicit operator bool() const { return static_cast<bool>(low); }
  bool isPoint() const { return keyFactor == 0 && low == high; }
};

/// Evaluates the integers of `region` for keys [0, keyCount).
class LinearIntegers : protected IndexBuilder {
public:
  LinearIntegers(mlir::ImplicitLocOpBuilder &b, mlir::Region &region,
                 mlir::Value keyCount)
      : IndexBuilder{b}, region(region), keyCount(keyCount) {}

  /// The first op that is not known, or null.
  mlir::Operation *unknownOp = nullptr;
  /// i1: whether what the bounds assume of run-time values holds: that those
  /// from outside are too small for sums of them to overflow, and that
  /// divisions round down. Null when nothing is assumed.
  mlir::Value assumption;

protected:
  void assume(mlir::Value condition) {
    assumption = assumption ? both(assumption, condition) : condition;
  }

  bool isInside(mlir::Value value) {
    return region.isAncestor(value.getParentRegion());
  }

  /// Whether `type` is of integers that fit an index.
  static bool isInteger(mlir::Type type) {
    return type.isIndex() || (type.isInteger() && !type.isInteger(1) &&
                              type.getIntOrFloatBitWidth() <= 64);
  }

  Linear point(mlir::Value value, unsigned bits = 41) {
    return {0, value, value, bits};
  }

  //===--------------------------------------------------------------------===//
  // Integers; null where they are not known
  //===--------------------------------------------------------------------===//

  /// A value that is known at run time only, converted to index.
  Linear outsidePoint(mlir::Value original);
  Linear linearOf(mlir::Value value);
  Linear computeLinear(mlir::Value value);
  /// `x` as an integer of `type`, which it is assumed to fit.
  Linear fitted(Linear x, mlir::Type type);
  /// The least and the largest of `x` over all keys.
  std::pair<mlir::Value, mlir::Value> extremesOf(const Linear &x);
  /// The key part of `x` and `y` together, which must be of one kind, and the
  /// interval [low, high].
  Linear combine(const Linear &x, const Linear &y, int64_t keyFactor,
                 mlir::Value low, mlir::Value high);
  Linear sum(const Linear &x, const Linear &y);
  Linear difference(const Linear &x, const Linear &y);
  /// A product with a constant.
  Linear multiple(mlir::arith::MulIOp op);
  Linear multiple(Linear x, int64_t factor);
  /// A shift by a constant: a product with a power of two, or a quotient.
  Linear shifted(mlir::Operation *op);
  void assumeNotNegative(const Linear &x);
  /// A divisor from the region: positive and not too large, or assumed to be.
  mlir::Value divisorOf(mlir::Value value);
  /// The dividend and the divisor of `op`, for which it rounds down.
  std::pair<Linear, mlir::Value> operandsOfDivision(mlir::Operation *op);
  Linear quotient(mlir::Operation *op);
  /// `x` by `divisor`, rounded down.
  Linear quotient(const Linear &x, mlir::Value divisor);
  Linear remainder(mlir::Operation *op);
  Linear loadPoint(mlir::memref::LoadOp load);
  /// A load whose indices are the same for the whole tile is done once; null
  /// for others.
  mlir::Value loadOnce(mlir::memref::LoadOp load);

  mlir::Region &region;
  mlir::Value keyCount;
  llvm::DenseMap<mlir::Value, Linear> linear;
};

} // namespace attn

#endif // ATTN_LIB_ANALYSIS_LINEARINTEGERS_H
