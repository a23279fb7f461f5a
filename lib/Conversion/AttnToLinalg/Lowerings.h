//===- Lowerings.h - Lowerings of single ops, for the twin ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOLINALG_LOWERINGS_H
#define ATTN_LIB_CONVERSION_ATTNTOLINALG_LOWERINGS_H

#include "attn/Conversion/AttnToLinalg/TensorLoops.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"

namespace attn {

using Results = llvm::SmallVector<mlir::Value>;

// Graph ops. Each builds the result of `op` from its operands.
mlir::Value lower(TensorLoops &build, SplitHeadsOp op);
mlir::Value lower(TensorLoops &build, MergeHeadsOp op);
mlir::Value lower(TensorLoops &build, RopeOp op);
mlir::Value lower(TensorLoops &build, SinusoidalOp op);
mlir::Value lower(TensorLoops &build, SequenceIdsOp op);
mlir::Value lower(TensorLoops &build, SequencePositionsOp op);
mlir::Value lower(TensorLoops &build, QKOp op);
mlir::Value lower(TensorLoops &build, AdditiveScoresOp op);
mlir::Value lower(TensorLoops &build, ScaleOp op);
mlir::Value lower(TensorLoops &build, SoftcapOp op);
mlir::Value lower(TensorLoops &build, BiasOp op);
mlir::Value lower(TensorLoops &build, ScoreMapOp op);
mlir::Value lower(TensorLoops &build, MaskedSoftmaxOp op);
mlir::Value lower(TensorLoops &build, ProbabilityMapOp op);
mlir::Value lower(TensorLoops &build, DropoutOp op);
mlir::Value lower(TensorLoops &build, WeightedSumOp op);

Results lower(TensorLoops &build, WeightStatsOp op);

// Fused ops and tile ops, on tensors.
mlir::Value lower(TensorLoops &build, CacheUpdateOp op);
mlir::Value lower(TensorLoops &build, GatherPagesOp op);
mlir::Value lower(TensorLoops &build, DequantizeOp op);
Results lower(TensorLoops &build, QuantizeOp op);

Results lower(TensorLoops &build, RopeTablesOp op);
mlir::Value lower(TensorLoops &build, RotateOp op);
Results lower(TensorLoops &build, AttentionOp op);
Results lower(TensorLoops &build, LinearAttentionOp op);
Results lower(TensorLoops &build, OnlineAttentionOp op);
Results lower(TensorLoops &build, MergePartialsOp op);
mlir::Value lower(TensorLoops &build, PackOp op);
Results lower(TensorLoops &build, AttentionStatsOp op);
Results lower(TensorLoops &build, OnlineStatsOp op);

//===----------------------------------------------------------------------===//
// Parts shared by them
//===----------------------------------------------------------------------===//

/// The type that products of elements of `type` are summed in.
mlir::Type getSumType(mlir::Type type);

/// Inserts the program `region` with `arguments` for its block arguments and
/// returns what it yields. Gather indices are clamped.
mlir::Value inlineProgram(ScalarBuilder &build, mlir::Region &region,
                          mlir::ValueRange arguments);

/// `[B, Hq, Sq, Skv]` = Q K^T of the sum type, or with the `weight` of additive
/// scores the sums of `weight * tanh(q + k)`.
mlir::Value buildScores(TensorLoops &build, mlir::Value query, mlir::Value key,
                        mlir::Value weight = {});
/// The term of a score that one feature of a query and of a key gives.
mlir::Value scoreTerm(ScalarBuilder &build, mlir::Value query, mlir::Value key,
                      mlir::Value weight);

/// The same `[M, N]` of the queries and keys of a tile.
mlir::Value buildTileScores(TensorLoops &build, mlir::Value query,
                            mlir::Value key, mlir::Value weight = {});

/// The programs of fused ops and their tiles on one score: the score region,
/// then `hidden` where the mask region yields false.
mlir::Value applyPrograms(ScalarBuilder &build, mlir::Value score,
                          mlir::ValueRange pair, mlir::Region &scoreRegion,
                          mlir::Region &maskRegion, double hidden);

/// Softmax along the last axis of scores whose hidden pairs are -inf. `sink`,
/// one logit a head, may be null.
struct Softmax {
  mlir::Value weights; ///< 0 where hidden and in rows without a visible pair
  mlir::Value max;     ///< of each row; -inf without a visible pair and sink
  mlir::Value sum;     ///< of exp(score - max) of each row; 0 likewise
};
Softmax buildSoftmax(TensorLoops &build, mlir::Value scores, mlir::Value sink);
/// exp(sink - max) of sinks that `max` includes: two infinities are equal and
/// have no difference.
mlir::Value sinkWeight(ScalarBuilder &build, mlir::Value sink, mlir::Value max);

/// The region `(p, b, h, i, j) -> p` on the weights of pairs whose `score` is
/// not -inf; 0 elsewhere. `scores` may be null: no pair is hidden then.
mlir::Value buildProbabilityMap(TensorLoops &build, mlir::Value weights,
                                mlir::Value scores, mlir::Region &program,
                                mlir::ValueRange offsets = {});

/// `[B, Hq, Sq, Dv]` of `value`'s element type: the sum of weight times value
/// over the pairs whose `selector` is not `absent`.
mlir::Value buildWeightedSum(TensorLoops &build, mlir::Value weights,
                             mlir::Value selector, double absent,
                             mlir::Value value);

/// `input` turned by `cos` and `sin`, as by `rotate`.
mlir::Value buildRotation(TensorLoops &build, mlir::Value input,
                          RopeLayout layout, mlir::Value cos, mlir::Value sin);

/// `[B, H, M * T, D]` of pages `[P, H, T, D]` and a block table `[B, M]`.
mlir::Value buildPages(TensorLoops &build, mlir::Value pages,
                       mlir::Value table);

/// Integers times one scale a row, as elements of `element`.
mlir::Value buildDequantized(TensorLoops &build, mlir::Value input,
                             mlir::Value scale, mlir::Type element);

} // namespace attn

#endif // ATTN_LIB_CONVERSION_ATTNTOLINALG_LOWERINGS_H
