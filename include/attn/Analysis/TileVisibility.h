//===- TileVisibility.h - Which keys a tile of rows can see -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives loop bounds from a mask program. The region is evaluated with the row
// index as an interval and the key index as a symbol; comparisons that are
// linear in the key become bounds. Whatever the analysis does not know is
// unknown: slower, never wrong.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_TILEVISIBILITY_H
#define ATTN_ANALYSIS_TILEVISIBILITY_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Region.h"

namespace attn {

/// Key ranges of one tile of rows, as `index` values with
/// `0 <= lower <= fullLower <= fullUpper <= upper <= keyCount`.
struct TileBounds {
  /// Keys outside [lower, upper) are hidden from every row of the tile.
  mlir::Value lower, upper;
  /// Keys in [fullLower, fullUpper) are visible to every row of the tile.
  mlir::Value fullLower, fullUpper;
  /// The first op of the region that the analysis did not know, or null.
  mlir::Operation *unknown = nullptr;
  /// Whether keys inside [lower, upper) may be hidden from every row, as those
  /// between the first keys and a window.
  bool hasGap = false;
};

/// Emits code at the builder's insertion point that computes the bounds for the
/// mask region `(b, h, i, j) -> i1` over rows [rowBegin, rowEnd) of the heads
/// from `firstHead` to `lastHead` (the same value for one head) of batch
/// element `b`, and keys [0, keyCount). `keyOffset` is added to the key to give
/// the region's `j`. The region's captures must dominate the insertion point.
TileBounds emitTileBounds(mlir::ImplicitLocOpBuilder &b, mlir::Region &mask,
                          mlir::Value batch, mlir::Value firstHead,
                          mlir::Value lastHead, mlir::Value rowBegin,
                          mlir::Value rowEnd, mlir::Value keyOffset,
                          mlir::Value keyCount);

} // namespace attn

#endif // ATTN_ANALYSIS_TILEVISIBILITY_H
