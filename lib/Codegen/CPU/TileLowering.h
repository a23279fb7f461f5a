//===- TileLowering.h - Tile ops to micro-kernels ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_CPU_TILELOWERING_H
#define ATTN_LIB_CODEGEN_CPU_TILELOWERING_H

#include "StagedLoads.h"
#include "VectorEmitter.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace attn {

/// Replaces a tile op by vector code for `target`. Each fails with an error on
/// the op when an operand has a layout that its kernel does not read.
mlir::LogicalResult lowerPack(mlir::RewriterBase &rewriter, PackOp op,
                              TargetAttr target);
mlir::LogicalResult lowerMergePartials(mlir::RewriterBase &rewriter,
                                       MergePartialsOp op, TargetAttr target);
mlir::LogicalResult lowerRotate(mlir::RewriterBase &rewriter, RotateOp op,
                                TargetAttr target);
mlir::LogicalResult lowerRopeTables(mlir::RewriterBase &rewriter,
                                    RopeTablesOp op, TargetAttr target);
/// `weights` is a scratch `[keys of a block and 8, lanes of a register tile]`;
/// `allocate` gives what the programs need. Scratch is of the type that scores
/// are computed in.
mlir::LogicalResult lowerOnlineAttention(mlir::RewriterBase &rewriter,
                                         OnlineAttentionOp op,
                                         TargetAttr target, mlir::Value weights,
                                         ScratchAllocator allocate);

/// The same; `weights` has as many more keys as a vector has lanes.
mlir::LogicalResult lowerOnlineStats(mlir::RewriterBase &rewriter,
                                     OnlineStatsOp op, TargetAttr target,
                                     mlir::Value weights,
                                     ScratchAllocator allocate);

/// Whether AMX has the scores of the few rows of `op`: bf16 queries and keys,
/// whose features are whole tiles.
bool hasScoreTiles(OnlineAttentionOp op, TargetAttr target);

/// Scratch of `lowerFewRows`: weights and visibility `[rows, keys of a
/// block and one vector]`, factors `[rows]`; for narrow operands a copy of the
/// query in whole vectors. With score tiles, that is bf16 in pairs, `[D / 2, 2
/// rows]`, and there are f32 scores `[keys, rows]` and bf16 copies of the last
/// keys, one tile of rows.
struct FewRowsScratch {
  mlir::Value query, weights, visible, factors, scores, lastKeys;
};
mlir::LogicalResult lowerFewRows(mlir::RewriterBase &rewriter,
                                 OnlineAttentionOp op, TargetAttr target,
                                 FewRowsScratch scratch);

/// Features of a key in a tile of AMX.
inline constexpr int64_t kTileFeatures = 32;
/// Asks for group `index` of `kTileFeatures` features of the next block,
/// counted in the order of memory from the row of `key` on.
using KeyPrefetch =
    llvm::function_ref<void(mlir::Value key, mlir::Value index)>;
/// Raw scores of a block by AMX, into `scratch.weights`.
void emitScoreTiles(VectorEmitter &emitter, OnlineAttentionOp op,
                    FewRowsScratch scratch, KeyPrefetch prefetch);

/// Scratch of `lowerPairedAttention` for a group of query rows: f32 scores of
/// two panels of keys `[keys, rows]`, bf16 weights of two spans of panels in
/// pairs `[keys / 2, 2 rows]`, one f32 row of start values, and a panel of
/// values that holds zeros.
struct PairedScratch {
  mlir::Value scores, weights, start, zeros;
};
mlir::LogicalResult lowerPairedAttention(mlir::RewriterBase &rewriter,
                                         OnlineAttentionOp op,
                                         TargetAttr target,
                                         PairedScratch scratch,
                                         ScratchAllocator allocate);

/// Marks an `amx.tile_load` whose memory is not read again soon: it is not to
/// take the place of other lines in the first cache.
inline constexpr llvm::StringLiteral kStreamedAttrName = "attn.streamed";

/// Says which programs of `op` have no vector form.
void remarkScalarPrograms(mlir::Operation *op);

/// i1: whether the first `keyCount` rows of `value` hold a NaN or an infinity.
/// 0 times such a value is NaN, and NaN stays in a sum.
mlir::Value emitHasNonFiniteValue(VectorEmitter &emitter, mlir::Value value,
                                  mlir::Value keyCount);

/// Weights whose sum is above this take the exact path. Exponents below 10 keep
/// all weights of a block within float range and precision.
inline constexpr float kLazyMaximumBound = 1024.0f;

/// What the exact path subtracts from scores, and what the state of the `old`
/// maximum is multiplied by. A row that has seen nothing keeps -inf;
/// subtracting 0 instead keeps its weights at 0 rather than NaN.
struct MovedMaximum {
  llvm::SmallVector<mlir::Value> base, factor;
};
MovedMaximum emitMovedMaximum(VectorEmitter &emitter, mlir::ValueRange old,
                              mlir::ValueRange larger);

/// Emits the weighted sum of a block by `emitSum`. In a masked block, a key
/// hidden from one row is multiplied by 0 there, which is not 0 for NaN or
/// infinite values: the rare block that holds one, which `guard` tells, calls
/// for `select`, pair by pair. `guard` is null for a block without a mask.
void emitGuardedSum(VectorEmitter &emitter, mlir::Value guard,
                    llvm::function_ref<void(bool select)> emitSum);

/// A `linalg.matmul` of `A [rows, K]` and a packed panel, into a tile of C.
mlir::LogicalResult lowerMatrixTile(mlir::RewriterBase &rewriter,
                                    mlir::linalg::MatmulOp op,
                                    TargetAttr target);

/// Linear attention of one batch element and one key head, as a task has it.
mlir::LogicalResult lowerLinearAttention(mlir::RewriterBase &rewriter,
                                         LinearAttentionOp op,
                                         TargetAttr target);

/// A view of a rank-2 memref `[M, D]` whose rows are contiguous across M
/// (layout `strided<[1, M]>`) as the `[D, M]` memref that vector loads can
/// read; null if the layout is another.
mlir::Value getRowsInnermost(mlir::ImplicitLocOpBuilder &b, mlir::Value memref);

} // namespace attn

#endif // ATTN_LIB_CODEGEN_CPU_TILELOWERING_H
