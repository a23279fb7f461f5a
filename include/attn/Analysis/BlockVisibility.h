//===- BlockVisibility.h - What a tile sees of a block of keys --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks that read tensors by row or by key, such as segment ids or a padding
// mask, give no loop bounds. Here the mask program is evaluated over intervals
// for one block of keys at a time, at run time: a gather becomes the smallest
// and the largest element of its slice, which costs little against the block.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_BLOCKVISIBILITY_H
#define ATTN_ANALYSIS_BLOCKVISIBILITY_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Region.h"

namespace attn {

/// An integer of the region between two `index` values; null when unknown.
struct Interval {
  mlir::Value low, high;
  /// The two magnitudes are below 2^bits.
  unsigned lowBits = 64, highBits = 64;
  /// It spans about as many integers as the tile has rows or the block keys.
  bool isNarrow = false;

  explicit operator bool() const { return static_cast<bool>(low); }
  bool isPoint() const { return low && low == high; }
};

/// An i1 of the region: whether it may hold for some pair, and whether it holds
/// for all of them.
struct Truth {
  mlir::Value possible, sure;
};

/// Classifies the blocks of keys of one tile of rows.
class BlockVisibility {
public:
  /// Whether `mask` reads tensors in a way that classes can tell blocks apart.
  static bool isUseful(mlir::Region &mask);

  /// Emits what the rows give, for the arguments of `emitTileBounds`.
  BlockVisibility(mlir::ImplicitLocOpBuilder &b, mlir::Region &mask,
                  mlir::Value batch, mlir::Value firstHead,
                  mlir::Value lastHead, mlir::Value rowBegin,
                  mlir::Value rowEnd);

  /// Emits the class of the keys `[firstKey, lastKey]`, as the region's `j`.
  Truth classify(mlir::Value firstKey, mlir::Value lastKey);

  /// The first op of the region that the evaluation did not know, or null.
  mlir::Operation *unknown = nullptr;

private:
  mlir::ImplicitLocOpBuilder &b;
  mlir::Region &mask;
  /// What does not depend on the key.
  llvm::DenseMap<mlir::Value, Interval> intervals;
  llvm::DenseMap<mlir::Value, Truth> truths;
};

} // namespace attn

#endif // ATTN_ANALYSIS_BLOCKVISIBILITY_H
