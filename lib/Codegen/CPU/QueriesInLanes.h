//===- QueriesInLanes.h - Scores of a block of keys -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels with query rows in lanes share, whatever they make of the
// weights: the scores S^T = K Q^T of a block of keys, register tile by register
// tile, for one group of rows after the other.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_CPU_QUERIESINLANES_H
#define ATTN_LIB_CODEGEN_CPU_QUERIESINLANES_H

#include "ProgramOnLanes.h"
#include "VectorEmitter.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"

namespace attn {

/// Emits the scores of one tile op. Subclasses emit what one group of rows
/// makes of them.
class QueriesInLanes {
public:
  virtual ~QueriesInLanes() = default;

protected:
  using Vectors = llvm::SmallVector<mlir::Value>;

  /// `weights` is a scratch `[keys of a block and 8, lanes of a register tile]`
  /// of the type that scores are computed in.
  QueriesInLanes(mlir::ImplicitLocOpBuilder &b, KeyBlockOpInterface op,
                 TargetAttr target, mlir::Value weights,
                 ScratchAllocator allocate);

  /// Checks the operands; `state` are the tiles with a row for each query.
  llvm::LogicalResult checkTiles(mlir::ValueRange state,
                                 mlir::ValueRange blocks);
  /// Emits all rows of the tile, group by group.
  void emitRows();
  /// Emits one group of rows, for keys [keyBegin, keyEnd).
  virtual void emitGroupBody() = 0;

  /// Scores of keys [j, j + keyRows), one vector list a key, hidden ones -inf,
  /// or 0 where scores are weights. Past the end the last key is repeated: no
  /// second copy of the code for what is left of a block. `start[v]` is what
  /// the accumulators of vector `v` start from. With a score program, `start`
  /// is subtracted after it instead.
  llvm::SmallVector<Vectors> scores(mlir::Value j, mlir::ValueRange start);
  /// Key `j + r` of the block, or its last one where there are fewer.
  mlir::Value clampKey(mlir::Value j, int64_t r);
  /// 1 in every lane when key `j` of the block exists, else 0.
  mlir::Value countOf(mlir::Value j);

  mlir::Value add(mlir::Value x, int64_t y);
  mlir::Value add(mlir::Value x, mlir::Value y);
  /// The first row of vector `v` of the group.
  mlir::Value stateIndex(int64_t v) { return add(group, v * lanes); }
  Vectors loadState(mlir::Value memref);
  void storeState(mlir::ValueRange state, mlir::Value memref);
  void storeWeight(mlir::Value weight, mlir::Value j, int64_t v);
  mlir::Value loadWeight(mlir::Value j, int64_t v);

private:
  void emitGroups(mlir::Value from, mlir::Value to);
  void emitGroup(mlir::Value groupOffset);
  /// Narrows the keys to those that the group's rows may see, in whole register
  /// tiles.
  void emitKeyBounds();
  void emitVisibleGroup();
  Vectors
  emitKeyProducts(mlir::Value j, mlir::ValueRange init,
                  llvm::function_ref<mlir::Value(mlir::Value, int64_t)> key,
                  llvm::function_ref<mlir::Value(mlir::Value, int64_t)> query);
  Vectors
  emitAdditiveSums(mlir::ValueRange init,
                   llvm::function_ref<mlir::Value(mlir::Value, int64_t)> key,
                   llvm::function_ref<mlir::Value(mlir::Value, int64_t)> query);

  KeyBlockOpInterface block;

protected:
  mlir::ImplicitLocOpBuilder &b;
  VectorEmitter e;
  ProgramOnLanes programs;
  mlir::Value weights;
  int64_t lanes, queryRows, headDim;
  /// The register tile that is being emitted: keys times vectors of rows.
  int64_t keyRows, vectors, width;
  /// Whether the rows are those that fill no register tile.
  bool isRemainder = false;
  /// Rows of the block's values, which are prefetched while scores are
  /// computed; null for none.
  mlir::Value upcomingValues;
  /// The tile with query rows innermost, `[D, M]`.
  mlir::Value queryT;
  mlir::Value keyCount, rowCount, zero, group;
  /// The keys of the block that matter to the group.
  mlir::Value keyBegin, keyEnd;
};

} // namespace attn

#endif // ATTN_LIB_CODEGEN_CPU_QUERIESINLANES_H
