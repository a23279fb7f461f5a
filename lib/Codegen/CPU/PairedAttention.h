//===- PairedAttention.h - Attention by products of bf16 pairs --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries in lanes, as in LowerOnlineAttention.cpp, with both products in bf16
// pairs and f32 sums, by AMX (`tdpbf16ps`) or AVX512-BF16 (`vdpbf16ps`). The
// two take the same operands: on the left rows of pairs, which are the keys as
// they lie and the values transposed in panels; on the right pairs of rows with
// queries in lanes, which are the packed queries and the weights. Scores leave
// the products through a scratch tile, the softmax between the two is vectors.
//
// A group is 32 query rows, a panel 32 keys. Accumulators start at minus the
// running maximum over the scale, so that a score times the scale is an
// exponent: queries are never rounded again. Weights are rounded to bf16, their
// sums are not; the exponential needs no more than degree 3 then.
//
// Panels are pipelined: while the exponentials of one run, the tile unit has
// the scores of the next and a part of the weighted sum of those before. The
// machine reorders no more than a few hundred instructions by itself, so that
// the products are emitted in pieces between those of the exponentials.
//
// A weighted sum reads and writes all sums of the group, which costs more than
// its products. A span is the panels that are summed together: sums pass
// through memory once a span. Each panel of a span sums its share of the
// features over the span before.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_CPU_PAIREDATTENTION_H
#define ATTN_LIB_CODEGEN_CPU_PAIREDATTENTION_H

#include "ProgramOnLanes.h"
#include "TileLowering.h"
#include "VectorEmitter.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>
#include <functional>

namespace attn {

/// Emits one `attn.online_attention` on pairs.
class PairedAttentionLowering {
public:
  PairedAttentionLowering(mlir::ImplicitLocOpBuilder &b, OnlineAttentionOp op,
                          TargetAttr target, PairedScratch scratch,
                          ScratchAllocator allocate);
  mlir::LogicalResult run();

  /// Whether single tile operations alternate with exponentials: programs would
  /// be repeated for each pair of keys, and many features are busy with
  /// products anyway.
  static bool alternates(OnlineAttentionOp op);
  /// Panels whose weighted sum is done together.
  static int64_t getPanelsInSpan(OnlineAttentionOp op);

private:
  using Vectors = llvm::SmallVector<mlir::Value>;
  static constexpr int64_t kPanel = kPairedPanel, kTile = 16;

  mlir::Value add(mlir::Value x, int64_t y) {
    return y == 0 ? x
                  : mlir::arith::AddIOp::create(b, x, e.index(y)).getResult();
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return mlir::arith::AddIOp::create(b, x, y);
  }
  mlir::Value times(mlir::Value x, int64_t y) {
    return mlir::arith::MulIOp::create(b, x, e.index(y));
  }
  mlir::Value twice(mlir::Value x) { return times(x, 2); }
  mlir::Value half(mlir::Value x) {
    return mlir::arith::DivUIOp::create(b, x, e.index(2));
  }
  mlir::Value remainder(mlir::Value x, int64_t y) {
    return mlir::arith::RemUIOp::create(b, x, e.index(y));
  }
  /// The scores of two panels are in flight, each in its half of the scratch,
  /// and the weights of two spans.
  mlir::Value scoreSlot(mlir::Value panel) {
    return times(remainder(panel, 2), kPanel);
  }
  mlir::Value weightSlot(mlir::Value panel) {
    // The span before the first has negative panels.
    return times(remainder(add(panel, 2 * span), 2 * span), kPanel / 2);
  }

  //===--------------------------------------------------------------------===//
  // Products
  //===--------------------------------------------------------------------===//

  /// The operand of a product at depth step `k`: a tile or a vector of row or
  /// column `index`.
  using TileLoad =
      llvm::function_ref<mlir::Value(mlir::Value k, int64_t index)>;
  mlir::amx::TileType bf16Tile() {
    return mlir::amx::TileType::get({kTile, kPanel}, b.getBF16Type());
  }
  mlir::amx::TileType f32Tile() {
    return mlir::amx::TileType::get({kTile, kTile}, b.getF32Type());
  }
  mlir::Value loadTile(mlir::amx::TileType type, mlir::Value memref,
                       mlir::ValueRange indices, mlir::Value stride = {}) {
    return mlir::amx::TileLoadOp::create(b, type, memref, indices, stride);
  }
  /// A tile of keys or values: each is read once for a group of rows, and must
  /// not push sums, queries and weights out of the first cache.
  mlir::Value streamTile(mlir::Value memref, mlir::ValueRange indices) {
    auto load = mlir::amx::TileLoadOp::create(b, bf16Tile(), memref, indices);
    load->setDiscardableAttr(kStreamedAttrName, b.getUnitAttr());
    return load;
  }
  /// Sums of `rows x vectors` tiles over `depth` steps of one panel.
  Vectors emitTileProduct(mlir::Value depth, int64_t rows,
                          mlir::ValueRange init, TileLoad left, TileLoad right);
  /// Sums of `rows x vectors` vectors over pairs [0, depth). `left` gives the
  /// pair of a row in every lane, `right` a vector of pairs.
  Vectors emitVectorProduct(mlir::Value depth, int64_t rows,
                            mlir::ValueRange init, TileLoad left,
                            TileLoad right);
  mlir::VectorType pairsType() {
    return mlir::VectorType::get({2 * lanes}, b.getBF16Type());
  }
  /// The pair at `memref[indices]` in every lane.
  mlir::Value broadcastPair(mlir::Value memref, mlir::ValueRange indices);
  mlir::Value loadPairs(mlir::Value memref, mlir::ValueRange indices) {
    return mlir::vector::LoadOp::create(b, pairsType(), memref, indices);
  }
  /// Rows of `panel` past the end of the block get `padding` for a score.
  void padScores(mlir::Value panel, float padding);
  /// scores[slot(panel) + j, :] = start + K Q^T for the keys of `panel`,
  /// padded.
  void emitScoreProducts(mlir::Value panel, bool started, float padding);
  void emitScoreTiles(mlir::Value from, mlir::Value slot, int64_t offset,
                      int64_t rows, bool started);
  void emitScoreVectors(mlir::Value j, mlir::Value slot, bool started);
  /// acc[d, rows] += value[d, :] weights[:, rows] over a panel, for `rows`
  /// tiles of features from `d`.
  void emitValueTiles(mlir::Value panel, mlir::Value d, int64_t rows);
  /// The same for `registerRows` features.
  void emitValueVectors(mlir::Value panel, mlir::Value d);
  /// The weighted sum of a panel.
  void emitValueProducts(mlir::Value panel);

  //===--------------------------------------------------------------------===//
  // Scores and weights
  //===--------------------------------------------------------------------===//

  mlir::Value stateIndex(int64_t v) { return add(group, v * lanes); }
  Vectors loadState(mlir::Value memref);
  void storeState(mlir::ValueRange state, mlir::Value memref) {
    for (int64_t v = 0; v < vectors; ++v)
      e.store(state[v], memref, stateIndex(v));
  }
  mlir::Value loadScore(mlir::Value j, int64_t v) {
    return e.load(scratch.scores, {j, e.index(v * lanes)});
  }
  void storeScore(mlir::Value score, mlir::Value j, int64_t v) {
    e.store(score, scratch.scores, {j, e.index(v * lanes)});
  }
  static double getScale(OnlineAttentionOp op) {
    return op.getScale() ? op.getScale()->convertToDouble() : 1.0;
  }
  /// Key `j` of the block for the programs: padding repeats the last one.
  mlir::Value clampKey(mlir::Value j) {
    return mlir::arith::MinSIOp::create(
        b, j, mlir::arith::SubIOp::create(b, keyCount, e.index(1)));
  }
  /// The score of a hidden pair: -inf, or 0 where scores are weights.
  mlir::Value hiddenScore() {
    return e.splat(op.getUnnormalized() ? 0.0f : -INFINITY);
  }
  /// `s` where key `j` is visible, that of a hidden pair elsewhere.
  mlir::Value hide(mlir::Value s, mlir::Value j, int64_t v);
  /// The natural score that `raw` is the product of, scaled and mapped.
  mlir::Value naturalScore(mlir::Value raw, mlir::Value j, int64_t v) {
    mlir::Value s =
        mlir::arith::MulFOp::create(b, raw, e.splat(static_cast<float>(scale)));
    return programs.hasScore() ? programs.score(s, clampKey(j), v) : s;
  }
  /// Products that start at minus the maximum are exponents once scaled: one
  /// factor takes them to base 2.
  static bool startsAtMaximum(OnlineAttentionOp op) {
    return op.getScore().empty() && !op.getUnnormalized() &&
           std::isfinite(-1.0f / static_cast<float>(getScale(op)));
  }
  bool startsAtMaximum() { return startsAtMaximum(op); }
  /// With a score program, padding is hidden after it.
  mlir::Value hidePadding(mlir::Value s, mlir::Value j);
  /// 2^t, close enough for a weight that is rounded to bf16.
  mlir::Value exp2(mlir::Value t) {
    return mlir::math::Exp2Op::create(b, t, mlir::arith::FastMathFlags::afn);
  }
  /// Two rows of weights as bf16 pairs, rounded to nearest; with `checked`,
  /// every NaN stays one.
  mlir::Value toPairs(mlir::Value even, mlir::Value odd, bool checked);
  using Weight = llvm::function_ref<mlir::Value(mlir::Value key,
                                                mlir::Value row, int64_t v)>;
  /// Weights of keys j and j + 1 of `panel`, added to `sums`. `weight` gets the
  /// key in the block and its row in the scores.
  Vectors emitWeightPair(mlir::Value panel, mlir::Value j,
                         mlir::ValueRange sums, bool checked, Weight weight);
  /// The same for keys [from, to) of `panel`.
  Vectors emitWeights(mlir::Value panel, int64_t from, int64_t to,
                      mlir::ValueRange sums, bool checked, Weight weight);

  //===--------------------------------------------------------------------===//
  // One group of query rows
  //===--------------------------------------------------------------------===//

  void emitGroup(mlir::Value groupOffset);
  /// The panels of the block that the group's rows may see.
  void emitPanelBounds();
  void emitGroupBody();

  //===--------------------------------------------------------------------===//
  // The pipeline over panels
  //===--------------------------------------------------------------------===//

  /// Of the sign that the scale turns into -inf.
  float startedPadding() const { return scale < 0 ? INFINITY : -INFINITY; }
  /// Products that start at minus `max` over the scale. A row that has seen
  /// nothing starts at an infinity: the first key it sees is no finite weight,
  /// which takes the exact path.
  void storeStart(mlir::ValueRange max);
  /// All panels of the block. `state` is the maximum, then the sum.
  Vectors emitPanels(mlir::ValueRange state);
  /// The panels of a block whose scores are its weights.
  void emitScoresAsWeights();
  /// The state after `panel`, whose weights sum to `sums`: those stand unless
  /// one is beyond the bound. Returns also an i1, whether one was. The exact
  /// path begins with `prepare`.
  std::pair<Vectors, mlir::Value> keepOrRedo(
      mlir::Value panel, mlir::ValueRange sums, mlir::ValueRange state,
      llvm::function_ref<void()> prepare = [] {});
  /// The weight of a key with the maximum as it is.
  mlir::Value lazyWeight(mlir::Value key, mlir::Value row, int64_t v,
                         mlir::ValueRange max);
  /// Tiles of features that each panel of a span sums.
  int64_t shareTiles() { return valueDim / kTile / span; }
  /// The part of the upcoming rows that goes with `panel`.
  void emitPrefetches(mlir::Value panel);
  /// The scores of the first panel. Rows that have seen nothing get their
  /// maximum from them: their weights would not stand otherwise. Returns the
  /// state with it.
  Vectors emitFirstScores(mlir::ValueRange state);
  /// The panels of an unmasked block as a pipeline.
  Vectors emitAlternatingPanels(mlir::ValueRange state);
  /// Weights of `panel` with the maximum as it is, and a few tile operations of
  /// its neighbours after those of every two keys; returns their sums.
  Vectors emitAlternating(mlir::Value panel, mlir::ValueRange max,
                          mlir::Value pending);
  /// A few tile operations, to be emitted among weights.
  using TileOp = std::function<void()>;
  /// Weights of `pairs` pairs of keys of `panel` from pair `first` on, with
  /// `tileOps` spread among them; returns the new sums.
  Vectors emitWeightsAmong(llvm::ArrayRef<TileOp> tileOps, mlir::Value panel,
                           mlir::Value first, int64_t pairs,
                           mlir::ValueRange sums, mlir::ValueRange max);
  using LoadTile = llvm::function_ref<mlir::Value(int64_t i)>;
  /// Products of one or two tiles on the left and two on the right, added to
  /// the two or four of `sums`; `among` emits the operations, each product as
  /// soon as its operands are there. Returns the new sums and what `among`
  /// does.
  Vectors
  emitProductsAmong(mlir::ValueRange sums, LoadTile loadLeft,
                    LoadTile loadRight,
                    llvm::function_ref<Vectors(llvm::ArrayRef<TileOp>)> among);
  /// Scores of the panel after `panel`, among `pairs` pairs of weights a step.
  Vectors emitNextScoresAmong(mlir::Value panel, int64_t pairs,
                              mlir::ValueRange max);
  /// Panels `first + [from, to)` of a span. With `pending`, those before it are
  /// summed already: products with them have zeros for values, as a branch
  /// would split the code that they alternate with.
  struct Panels {
    mlir::Value first, from, to, pending;
  };
  /// Emits tile operations of step `step` and returns what it made of `sums`.
  using EmitAmong = llvm::function_ref<Vectors(
      llvm::ArrayRef<TileOp>, mlir::Value step, mlir::ValueRange sums)>;
  /// Adds `panels` to `tiles` tiles of features from `d`, the operations of
  /// each panel by `among`.
  Vectors emitFeatures(Panels panels, mlir::Value d, int64_t tiles,
                       mlir::ValueRange sums, EmitAmong among);
  /// Adds them to the features of share `share`, two tiles or one in a step.
  Vectors emitShare(Panels panels, mlir::Value share, mlir::ValueRange sums,
                    EmitAmong among);
  /// Adds them to the shares from `from` on, if there are any.
  void emitShares(Panels panels, mlir::Value from);
  /// Adds panels from `pending` to before `end` to the shares that have not got
  /// them yet, once the one that goes with `panel` is done.
  void emitPending(mlir::Value panel, mlir::Value pending, mlir::Value end);

  //===--------------------------------------------------------------------===//
  // The exact path
  //===--------------------------------------------------------------------===//

  /// `panel` with its true maximum: scores first, then the new maximum,
  /// weights, and the state rescaled to it. Returns the new state.
  Vectors emitExactPanel(mlir::Value panel, mlir::ValueRange state);
  /// i1: whether the panels hold a NaN or an infinity.
  mlir::Value hasNonFiniteValue();
  /// The weighted sum of a panel. A key that is hidden from one row is
  /// multiplied by 0 there, which is not 0 for NaN or infinite values: the rare
  /// masked block that holds one goes pair by pair.
  void emitWeightedSum(mlir::Value panel);
  /// The same for one feature, pair by pair.
  void emitSelectedSum(mlir::Value panel, mlir::Value d);

  mlir::ImplicitLocOpBuilder &b;
  OnlineAttentionOp op;
  VectorEmitter e;
  ProgramOnLanes programs;
  PairedScratch scratch;
  bool useTiles;
  double scale;
  int64_t lanes, registerRows, vectors, width, span;
  int64_t queryRows, keyDim, valueDim;
  /// `[D/2, 2 M]` and `[Dv, M]`.
  mlir::Value queryPairs, accT;
  mlir::Value keyCount, rowCount, zero, nonFinite;
  /// The group of rows that is being emitted, and the panels that it sees.
  mlir::Value group, firstPanel, panelEnd;
};

} // namespace attn

#endif // ATTN_LIB_CODEGEN_CPU_PAIREDATTENTION_H
