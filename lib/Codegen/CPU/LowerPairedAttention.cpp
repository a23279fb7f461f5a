//===- LowerPairedAttention.cpp - Attention by products of bf16 pairs -----===//
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
// the scores of the next and the weighted sum of the one before. The machine
// reorders no more than a few hundred instructions by itself, so that the
// products are emitted in pieces between those of the exponentials.
//
//===----------------------------------------------------------------------===//

#include "ProgramOnLanes.h"
#include "TileLowering.h"
#include "VectorEmitter.h"
#include "attn/Analysis/TileVisibility.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"

#include <functional>

using namespace mlir;
using namespace attn;

namespace {

using Vectors = SmallVector<Value>;

/// As in LowerOnlineAttention.cpp: a sum of a panel above this takes the exact
/// path.
constexpr float kLazyMaximumBound = 1024.0f;

constexpr int64_t kPanel = kPairedPanel;
constexpr int64_t kTile = 16;

class PairedAttentionLowering {
public:
  PairedAttentionLowering(ImplicitLocOpBuilder &b, OnlineAttentionOp op,
                          TargetAttr target, PairedScratch scratch,
                          ScratchAllocator allocate)
      : b(b), op(op), e(b, target.getIsa(), op.getSchedule()->getLanes()),
        programs(e, op, op.getSchedule()->getRegisters()[1], allocate),
        scratch(scratch), lanes(e.getLanes()) {
    ScheduleAttr schedule = *op.getSchedule();
    useTiles = schedule.getKernel() == Kernel::BF16Tiles;
    registerRows = schedule.getRegisters()[0];
    vectors = schedule.getRegisters()[1];
    width = vectors * lanes;
    scale = op.getScale() ? op.getScale()->convertToDouble() : 1.0;
  }

  LogicalResult run() {
    auto queryType = cast<MemRefType>(op.getQuery().getType());
    auto keyType = cast<MemRefType>(op.getKey().getType());
    auto valueType = cast<MemRefType>(op.getValue().getType());
    auto accType = cast<MemRefType>(op.getAcc().getType());
    if (!op.isPaired() || !queryType.hasStaticShape() ||
        !queryType.getLayout().isIdentity() ||
        !queryType.getElementType().isBF16())
      return op.emitOpError("query must be static pairs of bf16 to be lowered "
                            "by pairs, got ")
             << queryType;
    queryRows = queryType.getDimSize(1);
    keyDim = keyType.getDimSize(1);
    valueDim = valueType.getDimSize(1);
    if (!keyType.getElementType().isBF16() || keyDim % kPanel ||
        !hasUnitColumns(op.getKey()))
      return op.emitOpError("key must be rows of whole panels of ")
             << kPanel << " bf16, got " << keyType;
    if (!valueType.getElementType().isBF16() || valueDim % kTile ||
        valueType.getDimSize(2) != kPanel || !hasUnitColumns(op.getValue()))
      return op.emitOpError("value must be panels of ")
             << kTile << "-row tiles of " << kPanel << " bf16, got "
             << valueType;
    if (!accType.hasStaticShape() || !accType.getElementType().isF32() ||
        queryRows % width)
      return op.emitOpError("acc must be static, f32, and of a multiple of ")
             << width << " rows, got " << accType;
    accT = getRowsInnermost(b, op.getAcc());
    if (!accT)
      return op.emitOpError("acc tile must have unit row stride");
    // [D/2, M, 2] as [D/2, 2 M]: what vectors and tiles load.
    queryPairs = memref::CollapseShapeOp::create(
        b, op.getQuery(), ArrayRef<ReassociationIndices>{{0}, {1, 2}});

    zero = e.index(0);
    keyCount = memref::DimOp::create(b, op.getKey(), 0);
    rowCount = op.getRows() ? op.getRows() : e.index(queryRows);
    if (programs.hasMask())
      nonFinite = hasNonFiniteValue();
    emitLoop(b, zero, rowCount, width, {},
             [&](Value groupOffset, ValueRange) -> Vectors {
               emitGroup(groupOffset);
               return {};
             });
    return success();
  }

private:
  Value add(Value x, int64_t y) {
    return y == 0 ? x : arith::AddIOp::create(b, x, e.index(y)).getResult();
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value times(Value x, int64_t y) {
    return arith::MulIOp::create(b, x, e.index(y));
  }
  Value twice(Value x) { return times(x, 2); }
  Value half(Value x) { return arith::DivUIOp::create(b, x, e.index(2)); }

  /// Two panels are in flight, each in its half of the scratch.
  Value parity(Value panel) {
    return arith::AndIOp::create(b, panel, e.index(1));
  }
  Value scoreSlot(Value panel) { return times(parity(panel), kPanel); }
  Value weightSlot(Value panel) { return times(parity(panel), kPanel / 2); }

  //===--------------------------------------------------------------------===//
  // Products
  //===--------------------------------------------------------------------===//

  /// One side of a product: `left(k)` views row tile or vector `r` at depth
  /// step k, see below.
  using TileLoad = function_ref<Value(Value k, int64_t index)>;

  amx::TileType bf16Tile() {
    return amx::TileType::get({kTile, kPanel}, b.getBF16Type());
  }
  amx::TileType f32Tile() {
    return amx::TileType::get({kTile, kTile}, b.getF32Type());
  }

  Value loadTile(amx::TileType type, Value memref, ValueRange indices,
                 Value stride = {}) {
    return amx::TileLoadOp::create(b, type, memref, indices, stride);
  }

  /// Sums of `rows x vectors` tiles over `depth` steps of one panel.
  Vectors emitTileProduct(Value depth, int64_t rows, ValueRange init,
                          TileLoad left, TileLoad right) {
    return emitLoop(
        b, zero, depth, 1, init, [&](Value k, ValueRange acc) -> Vectors {
          Vectors ls, rs, next;
          for (int64_t r = 0; r < rows; ++r)
            ls.push_back(left(k, r));
          for (int64_t v = 0; v < vectors; ++v)
            rs.push_back(right(k, v));
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t v = 0; v < vectors; ++v)
              next.push_back(amx::TileMulFOp::create(b, f32Tile(), ls[r], rs[v],
                                                     acc[r * vectors + v]));
          return next;
        });
  }

  /// Sums of `rows x vectors` vectors over pairs [0, depth). `left` gives the
  /// pair of a row in every lane, `right` a vector of pairs.
  Vectors emitVectorProduct(Value depth, int64_t rows, ValueRange init,
                            TileLoad left, TileLoad right) {
    return emitLoop(
        b, zero, depth, 1, init, [&](Value k, ValueRange acc) -> Vectors {
          Vectors rs, next;
          for (int64_t v = 0; v < vectors; ++v)
            rs.push_back(right(k, v));
          for (int64_t r = 0; r < rows; ++r) {
            Value l = left(k, r);
            for (int64_t v = 0; v < vectors; ++v)
              next.push_back(x86vector::DotBF16Op::create(
                  b, e.vectorType(), acc[r * vectors + v], l, rs[v]));
          }
          return next;
        });
  }

  VectorType pairsType() {
    return VectorType::get({2 * lanes}, b.getBF16Type());
  }

  /// The pair at `memref[indices]` in every lane.
  Value broadcastPair(Value memref, ValueRange indices) {
    Value pair = vector::LoadOp::create(
        b, VectorType::get({2}, b.getBF16Type()), memref, indices);
    Value bits = vector::BitCastOp::create(
        b, VectorType::get({1}, b.getI32Type()), pair);
    Value scalar = vector::ExtractOp::create(b, bits, ArrayRef<int64_t>{0});
    return vector::BitCastOp::create(b, pairsType(), e.broadcast(scalar));
  }

  Value loadPairs(Value memref, ValueRange indices) {
    return vector::LoadOp::create(b, pairsType(), memref, indices);
  }

  /// Rows of `panel` past the end of the block get `padding` for a score.
  void padScores(Value panel, float padding) {
    Value slot = scoreSlot(panel);
    Value left = arith::SubIOp::create(b, keyCount, times(panel, kPanel));
    left = arith::MaxSIOp::create(b, left, zero);
    forEach(b, arith::MinSIOp::create(b, left, e.index(kPanel)),
            e.index(kPanel), [&](Value j) {
              for (int64_t v = 0; v < vectors; ++v)
                storeScore(e.splat(padding), add(slot, j), v);
            });
  }

  /// scores[slot(panel) + j, :] = start + K Q^T for the keys of `panel`,
  /// padded.
  void emitScoreProducts(Value panel, bool started, float padding) {
    Value from = times(panel, kPanel), slot = scoreSlot(panel);
    if (useTiles) {
      for (int64_t r = 0; r < kPanel / kTile; r += registerRows)
        emitScoreTiles(from, slot, r * kTile,
                       std::min(registerRows, kPanel / kTile - r), started);
    } else {
      emitLoop(b, zero, e.index(kPanel), registerRows, {},
               [&](Value j, ValueRange) -> Vectors {
                 emitScoreVectors(add(from, j), add(slot, j), started);
                 return {};
               });
    }
    padScores(panel, padding);
  }

  void emitScoreTiles(Value from, Value slot, int64_t offset, int64_t rows,
                      bool started) {
    Vectors init;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        init.push_back(started
                           ? loadTile(f32Tile(), scratch.start,
                                      {zero, e.index(v * kTile)}, zero)
                           : amx::TileZeroOp::create(b, f32Tile()).getResult());
    Vectors sums = emitTileProduct(
        e.index(keyDim / kPanel), rows, init,
        [&](Value k, int64_t r) {
          Value column = arith::MulIOp::create(b, k, e.index(kPanel));
          return loadTile(bf16Tile(), op.getKey(),
                          {add(from, offset + r * kTile), column});
        },
        [&](Value k, int64_t v) {
          Value row = arith::MulIOp::create(b, k, e.index(kPanel / 2));
          return loadTile(bf16Tile(), queryPairs,
                          {row, add(twice(group), v * 2 * kTile)});
        });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        amx::TileStoreOp::create(
            b, scratch.scores,
            ValueRange{add(slot, offset + r * kTile), e.index(v * kTile)},
            sums[r * vectors + v]);
  }

  void emitScoreVectors(Value j, Value slot, bool started) {
    Vectors init;
    for (int64_t r = 0; r < registerRows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        init.push_back(started
                           ? e.load(scratch.start, {zero, e.index(v * lanes)})
                           : e.splat(0.0f));
    Vectors sums = emitVectorProduct(
        e.index(keyDim / 2), registerRows, init,
        [&](Value k, int64_t r) {
          return broadcastPair(op.getKey(), {add(j, r), twice(k)});
        },
        [&](Value k, int64_t v) {
          return loadPairs(queryPairs, {k, add(twice(group), v * 2 * lanes)});
        });
    for (int64_t r = 0; r < registerRows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        storeScore(sums[r * vectors + v], add(slot, r), v);
  }

  /// acc[d, rows] += value[d, :] weights[:, rows] over a panel, for `rows`
  /// tiles of features from `d`.
  void emitValueTiles(Value panel, Value d, int64_t rows) {
    Vectors init, ls, rs;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        init.push_back(loadTile(f32Tile(), accT,
                                {add(d, r * kTile), add(group, v * kTile)}));
    for (int64_t r = 0; r < rows; ++r)
      ls.push_back(loadTile(bf16Tile(), op.getValue(),
                            {panel, add(d, r * kTile), zero}));
    Value slot = weightSlot(panel);
    for (int64_t v = 0; v < vectors; ++v)
      rs.push_back(loadTile(bf16Tile(), scratch.weights,
                            {slot, e.index(v * 2 * kTile)}));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        amx::TileStoreOp::create(
            b, accT, ValueRange{add(d, r * kTile), add(group, v * kTile)},
            amx::TileMulFOp::create(b, f32Tile(), ls[r], rs[v],
                                    init[r * vectors + v]));
  }

  /// The same for `registerRows` features.
  void emitValueVectors(Value panel, Value d) {
    Vectors init;
    for (int64_t r = 0; r < registerRows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        init.push_back(e.load(accT, {add(d, r), stateIndex(v)}));
    Value slot = weightSlot(panel);
    Vectors sums = emitVectorProduct(
        e.index(kPanel / 2), registerRows, init,
        [&](Value k, int64_t r) {
          return broadcastPair(op.getValue(), {panel, add(d, r), twice(k)});
        },
        [&](Value k, int64_t v) {
          return loadPairs(scratch.weights,
                           {add(slot, k), e.index(v * 2 * lanes)});
        });
    for (int64_t r = 0; r < registerRows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        e.store(sums[r * vectors + v], accT, {add(d, r), stateIndex(v)});
  }

  /// Features [from, to) of the weighted sum of a panel.
  void emitValueProducts(Value panel, int64_t from, int64_t to) {
    int64_t step = useTiles ? registerRows * kTile : registerRows;
    int64_t whole = from + (to - from) / step * step;
    emitLoop(b, e.index(from), e.index(whole), step, {},
             [&](Value d, ValueRange) -> Vectors {
               useTiles ? emitValueTiles(panel, d, registerRows)
                        : emitValueVectors(panel, d);
               return {};
             });
    // Vectors divide the feature tiles.
    if (whole < to)
      emitValueTiles(panel, e.index(whole), (to - whole) / kTile);
  }

  //===--------------------------------------------------------------------===//
  // Scores and weights
  //===--------------------------------------------------------------------===//

  Value stateIndex(int64_t v) { return add(group, v * lanes); }

  Vectors loadState(Value memref) {
    Vectors state;
    for (int64_t v = 0; v < vectors; ++v)
      state.push_back(e.load(memref, stateIndex(v)));
    return state;
  }

  void storeState(ValueRange state, Value memref) {
    for (int64_t v = 0; v < vectors; ++v)
      e.store(state[v], memref, stateIndex(v));
  }

  Value loadScore(Value j, int64_t v) {
    return e.load(scratch.scores, {j, e.index(v * lanes)});
  }
  void storeScore(Value score, Value j, int64_t v) {
    e.store(score, scratch.scores, {j, e.index(v * lanes)});
  }

  bool hasPrograms() { return programs.hasScore() || programs.hasMask(); }

  /// Key `j` of the block for the programs: padding repeats the last one.
  Value clampKey(Value j) {
    return arith::MinSIOp::create(
        b, j, arith::SubIOp::create(b, keyCount, e.index(1)));
  }

  /// `s` where key `j` is visible, -inf elsewhere.
  Value hide(Value s, Value j, int64_t v) {
    if (!programs.hasMask())
      return s;
    return arith::SelectOp::create(b, programs.visible(clampKey(j), v), s,
                                   e.splat(-INFINITY));
  }

  /// The natural score that `raw` is the product of, scaled and mapped.
  Value naturalScore(Value raw, Value j, int64_t v) {
    Value s = arith::MulFOp::create(b, raw, e.splat(static_cast<float>(scale)));
    return programs.hasScore() ? programs.score(s, clampKey(j), v) : s;
  }

  /// Products that start at minus the maximum are exponents once scaled: one
  /// factor takes them to base 2.
  bool startsAtMaximum() { return !programs.hasScore() && scale != 0.0; }

  /// With a score program, padding is hidden after it.
  Value hidePadding(Value s, Value j) {
    Value inside =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, j, keyCount);
    return arith::SelectOp::create(b, e.broadcast(inside), s,
                                   e.splat(-INFINITY));
  }

  /// 2^t, close enough for a weight that is rounded to bf16.
  Value exp2(Value t) {
    return math::Exp2Op::create(b, t, arith::FastMathFlags::afn);
  }

  /// Two rows of weights as bf16 pairs, rounded to nearest; with `checked`,
  /// every NaN stays one.
  Value toPairs(Value even, Value odd, bool checked) {
    VectorType bits = e.vectorType(b.getI32Type());
    auto integer = [&](uint32_t value) -> Value {
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(bits, llvm::ArrayRef<uint32_t>(value)));
    };
    auto rounded = [&](Value weight) -> Value {
      Value raw = arith::BitcastOp::create(b, bits, weight);
      Value result = arith::AddIOp::create(b, raw, integer(0x8000));
      if (!checked)
        return result;
      Value nan =
          arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, weight, weight);
      return arith::SelectOp::create(b, nan, integer(0x7fc00000), result);
    };
    Value low = arith::ShRUIOp::create(b, rounded(even), integer(16));
    Value high = arith::AndIOp::create(b, rounded(odd), integer(0xffff0000u));
    return vector::BitCastOp::create(b, pairsType(),
                                     arith::OrIOp::create(b, low, high));
  }

  using Weight = function_ref<Value(Value key, Value row, int64_t v)>;

  /// Weights of keys j and j + 1 of `panel`, added to `sums`. `weight` gets the
  /// key in the block and its row in the scores.
  Vectors emitWeightPair(Value panel, Value j, ValueRange sums, bool checked,
                         Weight weight) {
    Vectors next(sums);
    Value key = add(times(panel, kPanel), j), row = add(scoreSlot(panel), j);
    Value pair = add(weightSlot(panel), half(j));
    for (int64_t v = 0; v < vectors; ++v) {
      Value even = weight(key, row, v);
      Value odd = weight(add(key, 1), add(row, 1), v);
      next[v] = arith::AddFOp::create(b, next[v], even);
      next[v] = arith::AddFOp::create(b, next[v], odd);
      vector::StoreOp::create(b, toPairs(even, odd, checked), scratch.weights,
                              ValueRange{pair, e.index(v * 2 * lanes)});
    }
    return next;
  }

  /// The same for keys [from, to) of `panel`.
  Vectors emitWeights(Value panel, int64_t from, int64_t to, ValueRange sums,
                      bool checked, Weight weight) {
    return emitLoop(b, e.index(from), e.index(to), 2, sums,
                    [&](Value j, ValueRange carried) -> Vectors {
                      return emitWeightPair(panel, j, carried, checked, weight);
                    });
  }

  //===--------------------------------------------------------------------===//
  // One group of query rows
  //===--------------------------------------------------------------------===//

  void emitGroup(Value groupOffset) {
    group = groupOffset;
    firstPanel = zero;
    panelEnd = memref::DimOp::create(b, op.getValue(), 0);
    if (!programs.hasMask())
      return emitGroupBody();
    emitPanelBounds();
    auto seesAny =
        scf::IfOp::create(b,
                          arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                                firstPanel, panelEnd),
                          /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(seesAny.thenBlock());
    emitGroupBody();
  }

  /// The panels of the block that the group's rows may see.
  void emitPanelBounds() {
    Value first = add(op.getI(), group);
    Value last =
        arith::MinSIOp::create(b, add(first, width), add(op.getI(), rowCount));
    TileBounds bounds =
        emitTileBounds(b, op.getMask(), op.getB(), op.getH(), op.getH(), first,
                       last, op.getJ(), keyCount);
    Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                          bounds.lower, bounds.upper);
    firstPanel = arith::DivUIOp::create(b, bounds.lower, e.index(kPanel));
    panelEnd = arith::CeilDivUIOp::create(b, bounds.upper, e.index(kPanel));
    panelEnd = arith::SelectOp::create(b, isEmpty, firstPanel, panelEnd);
  }

  void emitGroupBody() {
    Value sees = programs.beginGroup(
        group, vectors, rowCount, times(firstPanel, kPanel),
        arith::MinSIOp::create(b, times(panelEnd, kPanel), keyCount));
    OpBuilder::InsertionGuard guard(b);
    if (sees) {
      auto seesAny = scf::IfOp::create(b, sees, /*withElseRegion=*/false);
      b.setInsertionPointToStart(seesAny.thenBlock());
    }
    Vectors state = loadState(op.getMax());
    llvm::append_range(state, loadState(op.getSum()));
    if (!programs.hasMask()) {
      state = emitPanels(state);
    } else {
      // A key that is hidden from one row is multiplied by 0 there, which is
      // not 0 for NaN or infinite values: the rare masked block that holds one
      // goes pair by pair.
      auto guarded = scf::IfOp::create(b, ValueRange(state).getTypes(),
                                       nonFinite, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(guarded.thenBlock());
      scf::YieldOp::create(b, emitSelectedPanels(state));
      b.setInsertionPointToStart(guarded.elseBlock());
      scf::YieldOp::create(b, emitPanels(state));
      state = Vectors(guarded.getResults());
      b.setInsertionPointAfter(guarded);
    }
    storeState(ValueRange(state).take_front(vectors), op.getMax());
    storeState(ValueRange(state).drop_front(vectors), op.getSum());
  }

  /// Of the sign that the scale turns into -inf.
  float startedPadding() const { return scale < 0 ? INFINITY : -INFINITY; }

  /// Products that start at minus `max` over the scale. A row that has seen
  /// nothing starts at an infinity: the first key it sees is no finite weight,
  /// which takes the exact path.
  void storeStart(ValueRange max) {
    if (!startsAtMaximum())
      return;
    for (int64_t v = 0; v < vectors; ++v)
      e.store(arith::MulFOp::create(b, max[v],
                                    e.splat(static_cast<float>(-1.0 / scale))),
              scratch.start, {zero, e.index(v * lanes)});
  }

  /// The pipeline over the panels of the block. `state` is the maximum, then
  /// the sum.
  Vectors emitPanels(ValueRange state) {
    storeStart(state.take_front(vectors));
    emitScoreProducts(firstPanel, startsAtMaximum(), startedPadding());
    if (alternates()) {
      // The weights of no panel, in the slot before that of panel 0.
      Value none = arith::ConstantOp::create(b, b.getZeroAttr(pairsType()));
      forEach(b, e.index(kPanel / 2), e.index(kPanel), [&](Value pair) {
        for (int64_t v = 0; v < vectors; ++v)
          vector::StoreOp::create(b, none, scratch.weights,
                                  ValueRange{pair, e.index(v * 2 * lanes)});
      });
    }
    Vectors result = emitLoop(
        b, firstPanel, panelEnd, 1, state,
        [&](Value panel, ValueRange carried) {
          ValueRange max = carried.take_front(vectors);
          Vectors sums = alternates() ? emitAlternating(panel, max)
                                      : emitPanelWeights(panel, max);
          Vectors beyond;
          for (Value sum : sums)
            beyond.push_back(arith::CmpFOp::create(
                b, arith::CmpFPredicate::UGT, sum, e.splat(kLazyMaximumBound)));
          auto exact = scf::IfOp::create(b, carried.getTypes(),
                                         e.anyLane(beyond), /*withElse=*/true);
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(exact.thenBlock());
          Vectors next = emitExactPanel(panel, carried);
          if (startsAtMaximum()) {
            storeStart(ValueRange(next).take_front(vectors));
            // Those of the next panel started from the old maximum.
            emitNextScores(panel);
          }
          scf::YieldOp::create(b, next);
          b.setInsertionPointToStart(exact.elseBlock());
          next = Vectors(carried);
          for (int64_t v = 0; v < vectors; ++v)
            next[vectors + v] =
                arith::AddFOp::create(b, next[vectors + v], sums[v]);
          scf::YieldOp::create(b, next);
          return Vectors(exact.getResults());
        });
    forEach(b, arith::MaxSIOp::create(b, add(panelEnd, -1), firstPanel),
            panelEnd,
            [&](Value last) { emitValueProducts(last, 0, valueDim); });
    return result;
  }

  void emitNextScores(Value panel) {
    Value next = add(panel, 1);
    Value exists =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, next, panelEnd);
    auto guarded = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(guarded.thenBlock());
    emitScoreProducts(next, startsAtMaximum(), startedPadding());
  }

  /// Features [from, to) of the weighted sum of the panel before `panel`.
  void emitPreviousValues(Value panel, int64_t from, int64_t to) {
    Value exists =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, panel, firstPanel);
    auto guarded = scf::IfOp::create(b, exists, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(guarded.thenBlock());
    emitValueProducts(add(panel, -1), from, to);
  }

  /// The weight of a key with the maximum as it is.
  Value lazyWeight(Value key, Value row, int64_t v, ValueRange max) {
    constexpr float log2E = 1.44269504f;
    Value raw = loadScore(row, v);
    if (startsAtMaximum()) {
      Value t = arith::MulFOp::create(
          b, raw, e.splat(static_cast<float>(scale * log2E)));
      return exp2(hide(t, key, v));
    }
    Value s = naturalScore(raw, key, v);
    s = arith::SubFOp::create(b, s, max[v]);
    s = hide(hidePadding(s, key), key, v);
    return exp2(arith::MulFOp::create(b, s, e.splat(log2E)));
  }

  /// Weights of `panel` with the maximum as it is, in pieces between the
  /// products of its neighbours; returns their sums.
  Vectors emitPanelWeights(Value panel, ValueRange max) {
    auto weight = [&](Value key, Value row, int64_t v) {
      return lazyWeight(key, row, v, max);
    };
    // Key pairs per piece, in proportion to the products beside them.
    int64_t pieceDim = std::max<int64_t>(
        registerRows * kTile,
        llvm::alignTo(llvm::divideCeil(valueDim, 4), registerRows * kTile));
    int64_t work = keyDim + valueDim, done = 0, from = 0;
    Vectors sums(vectors, e.splat(0.0f));
    auto emitPiece = [&](int64_t products) {
      done += products;
      int64_t to = std::min(kPanel, 2 * (kPanel / 2 * done / work));
      if (to > from)
        sums = emitWeights(panel, from, to, sums, /*checked=*/false, weight);
      from = to;
    };
    emitNextScores(panel);
    emitPiece(keyDim);
    for (int64_t d = 0; d < valueDim; d += pieceDim) {
      int64_t to = std::min(valueDim, d + pieceDim);
      emitPreviousValues(panel, d, to);
      emitPiece(to - d);
    }
    return sums;
  }

  /// Whether single tile operations alternate with exponentials: programs would
  /// be repeated for each pair of keys, and many features are busy with
  /// products anyway.
  bool alternates() {
    return useTiles && !hasPrograms() && scale != 0.0 && registerRows == 2 &&
           vectors == 2 && keyDim <= 256 && valueDim <= 256;
  }

  /// As emitPanelWeights, with a few tile operations after the weights of every
  /// two keys. Before the first panel there is one of zeros; after the last,
  /// its scores are computed again and not used.
  Vectors emitAlternating(Value panel, ValueRange max) {
    int64_t keySteps = keyDim / kPanel, valueSteps = valueDim / kPanel;
    int64_t pairs = kPanel / 2;
    int64_t stepPairs = std::max<int64_t>(1, pairs / (keySteps + valueSteps));
    auto weight = [&](Value key, Value row, int64_t v) {
      return lazyWeight(key, row, v, max);
    };
    /// Emits the weights of `stepPairs` pairs from `pair`, with `tileOps`
    /// spread among them.
    using TileOp = std::function<void()>;
    auto spread = [&](Value pair, ValueRange sums, ArrayRef<TileOp> tileOps) {
      Vectors next(sums);
      size_t done = 0;
      for (int64_t i = 0; i < stepPairs; ++i) {
        next = emitWeightPair(panel, twice(add(pair, i)), next,
                              /*checked=*/false, weight);
        for (size_t until = tileOps.size() * (i + 1) / stepPairs; done < until;
             ++done)
          tileOps[done]();
      }
      return next;
    };

    // Scores of the next panel.
    Value next = arith::MinSIOp::create(b, add(panel, 1), add(panelEnd, -1));
    Value key = times(next, kPanel), scoreRow = scoreSlot(add(panel, 1));
    Vectors carried;
    for (int64_t i = 0; i < 4; ++i)
      carried.push_back(loadTile(f32Tile(), scratch.start,
                                 {zero, e.index(i % 2 * kTile)}, zero));
    carried.append(vectors, e.splat(0.0f));
    int64_t keyPairs = keySteps * stepPairs;
    carried = emitLoop(
        b, zero, e.index(keySteps), 1, carried,
        [&](Value k, ValueRange values) -> Vectors {
          Vectors acc(values.take_front(4)), left(2), right(2);
          Value column = times(k, kPanel), row = times(k, kPanel / 2);
          auto load = [&](bool isLeft, int64_t i) -> TileOp {
            return [&, isLeft, i] {
              if (isLeft)
                left[i] = loadTile(bf16Tile(), op.getKey(),
                                   {add(key, i * kTile), column});
              else
                right[i] = loadTile(bf16Tile(), queryPairs,
                                    {row, add(twice(group), i * 2 * kTile)});
            };
          };
          auto multiply = [&](int64_t i) -> TileOp {
            return [&, i] {
              acc[i] = amx::TileMulFOp::create(b, f32Tile(), left[i / 2],
                                               right[i % 2], acc[i]);
            };
          };
          TileOp tileOps[] = {load(true, 0),  load(false, 0), multiply(0),
                              load(false, 1), multiply(1),    load(true, 1),
                              multiply(2),    multiply(3)};
          Vectors sums =
              spread(times(k, stepPairs), values.drop_front(4), tileOps);
          llvm::append_range(acc, sums);
          return acc;
        });
    for (int64_t i = 0; i < 4; ++i)
      amx::TileStoreOp::create(
          b, scratch.scores,
          ValueRange{add(scoreRow, i / 2 * kTile), e.index(i % 2 * kTile)},
          carried[i]);
    padScores(add(panel, 1), startedPadding());

    // The weighted sum of the panel before.
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, panel, zero);
    Value nothing =
        memref::CastOp::create(b, op.getValue().getType(), scratch.zeros);
    Value values = arith::SelectOp::create(b, isFirst, nothing, op.getValue());
    Value previous = arith::MaxSIOp::create(b, add(panel, -1), zero);
    Value weightRow = weightSlot(add(panel, 1));
    Vectors sums(ValueRange(carried).drop_front(4));
    auto emitFeatures = [&](Value d, int64_t tiles, ValueRange from,
                            function_ref<Vectors(ArrayRef<TileOp>)> emit) {
      Vectors acc(2 * tiles), left(tiles), right(2);
      auto accAt = [&](int64_t i) {
        return SmallVector<Value>{add(d, i / 2 * kTile),
                                  add(group, i % 2 * kTile)};
      };
      // Each product as soon as its operands are there, each sum back as soon
      // as the next product runs: the one store port is never waited for.
      SmallVector<TileOp> tileOps;
      for (int64_t i = 0; i < 2 * tiles; ++i) {
        if (i % 2 == 0)
          tileOps.push_back([&, i] {
            left[i / 2] = loadTile(bf16Tile(), values,
                                   {previous, add(d, i / 2 * kTile), zero});
          });
        if (i < 2)
          tileOps.push_back([&, i] {
            right[i] = loadTile(bf16Tile(), scratch.weights,
                                {weightRow, e.index(i * 2 * kTile)});
          });
        tileOps.push_back(
            [&, i] { acc[i] = loadTile(f32Tile(), accT, accAt(i)); });
        tileOps.push_back([&, i] {
          acc[i] = amx::TileMulFOp::create(b, f32Tile(), left[i / 2],
                                           right[i % 2], acc[i]);
        });
        if (i > 0)
          tileOps.push_back([&, i] {
            amx::TileStoreOp::create(b, accT, accAt(i - 1), acc[i - 1]);
          });
      }
      tileOps.push_back([&] {
        amx::TileStoreOp::create(b, accT, accAt(2 * tiles - 1), acc.back());
      });
      return emit(tileOps);
    };
    int64_t valuePairs = std::min(pairs - keyPairs, valueSteps * stepPairs) /
                         stepPairs * stepPairs;
    auto emitSteps = [&](int64_t from, int64_t to, bool weights) {
      sums = emitLoop(
          b, e.index(from), e.index(to), 1, sums,
          [&](Value step, ValueRange inner) -> Vectors {
            Value pair = add(times(add(step, -from), stepPairs), keyPairs);
            return emitFeatures(times(step, kPanel), 2, inner,
                                [&](ArrayRef<TileOp> tileOps) -> Vectors {
                                  if (weights)
                                    return spread(pair, inner, tileOps);
                                  for (const TileOp &tileOp : tileOps)
                                    tileOp();
                                  return Vectors(inner);
                                });
          });
    };
    int64_t mixedSteps = valuePairs / stepPairs;
    emitSteps(0, mixedSteps, /*weights=*/true);
    emitSteps(mixedSteps, valueSteps, /*weights=*/false);
    if (valueDim % kPanel)
      emitFeatures(e.index(valueDim - kTile), 1, sums,
                   [&](ArrayRef<TileOp> tileOps) -> Vectors {
                     for (const TileOp &tileOp : tileOps)
                       tileOp();
                     return {};
                   });
    if (keyPairs + valuePairs < pairs)
      sums = emitWeights(panel, 2 * (keyPairs + valuePairs), kPanel, sums,
                         /*checked=*/false, weight);
    return sums;
  }

  /// `panel` with its true maximum: scores first, then the new maximum,
  /// weights, and the state rescaled to it. Returns the new state.
  Vectors emitExactPanel(Value panel, ValueRange state) {
    constexpr float log2E = 1.44269504f;
    ValueRange max = state.take_front(vectors);
    emitScoreProducts(panel, /*started=*/false, -INFINITY);
    Value first = times(panel, kPanel), slot = scoreSlot(panel);
    Value count = arith::MinSIOp::create(
        b, arith::SubIOp::create(b, keyCount, first), e.index(kPanel));
    Vectors newMax = emitLoop(
        b, zero, count, 1, max, [&](Value j, ValueRange carried) -> Vectors {
          Vectors next(carried);
          Value key = add(first, j), row = add(slot, j);
          for (int64_t v = 0; v < vectors; ++v) {
            Value s = hide(naturalScore(loadScore(row, v), key, v), key, v);
            storeScore(s, row, v);
            next[v] = e.orderedMax(next[v], s);
          }
          return next;
        });
    // A row that has seen nothing keeps -inf; subtracting 0 instead keeps its
    // weights at 0 rather than NaN.
    Vectors base, factor, sums;
    for (int64_t v = 0; v < vectors; ++v) {
      Value unseen = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                           newMax[v], e.splat(-INFINITY));
      base.push_back(
          arith::SelectOp::create(b, unseen, e.splat(0.0f), newMax[v]));
      factor.push_back(e.exp(arith::SubFOp::create(b, max[v], base.back())));
      sums.push_back(e.splat(0.0f));
    }
    sums =
        emitWeights(panel, 0, kPanel, sums, /*checked=*/true,
                    [&](Value, Value row, int64_t v) {
                      Value s =
                          arith::SubFOp::create(b, loadScore(row, v), base[v]);
                      return exp2(arith::MulFOp::create(b, s, e.splat(log2E)));
                    });
    Vectors next(newMax);
    for (int64_t v = 0; v < vectors; ++v)
      next.push_back(e.fma(state[vectors + v], factor[v], sums[v]));
    forEach(b, zero, e.index(valueDim), [&](Value d) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value old = e.load(accT, {d, stateIndex(v)});
        e.store(arith::MulFOp::create(b, old, factor[v]), accT,
                {d, stateIndex(v)});
      }
    });
    return next;
  }

  //===--------------------------------------------------------------------===//
  // Weighted sum
  //===--------------------------------------------------------------------===//

  /// i1: whether the panels hold a NaN or an infinity.
  Value hasNonFiniteValue() {
    VectorType bits = VectorType::get({2 * lanes}, b.getI16Type());
    auto integer = [&](int16_t value) -> Value {
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(bits, llvm::ArrayRef<int16_t>(value)));
    };
    Value panels = memref::DimOp::create(b, op.getValue(), 0);
    Value largest = emitLoop(
        b, zero, panels, 1, ValueRange(integer(0)),
        [&](Value panel, ValueRange outer) {
          return emitLoop(
              b, zero, e.index(valueDim), 1, outer,
              [&](Value d, ValueRange carried) -> Vectors {
                Value x = loadPairs(op.getValue(), {panel, d, zero});
                x = arith::AndIOp::create(
                    b, vector::BitCastOp::create(b, bits, x), integer(0x7fff));
                return {arith::MaxUIOp::create(b, carried[0], x)};
              });
        })[0];
    Value beyond = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, largest,
                                         integer(0x7f80));
    Value flags = vector::BitCastOp::create(
        b, VectorType::get({1}, b.getIntegerType(2 * lanes)), beyond);
    Value flag = vector::ExtractOp::create(b, flags, ArrayRef<int64_t>{0});
    Value none =
        arith::ConstantOp::create(b, b.getIntegerAttr(flag.getType(), 0));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, flag, none);
  }

  /// Every panel by the exact path and, for each feature, pair by pair.
  Vectors emitSelectedPanels(ValueRange state) {
    return emitLoop(b, firstPanel, panelEnd, 1, state,
                    [&](Value panel, ValueRange carried) {
                      Vectors next = emitExactPanel(panel, carried);
                      forEach(b, zero, e.index(valueDim),
                              [&](Value d) { emitSelectedSum(panel, d); });
                      return next;
                    });
  }

  void emitSelectedSum(Value panel, Value d) {
    VectorType bits = e.vectorType(b.getI32Type());
    Vectors init;
    for (int64_t v = 0; v < vectors; ++v)
      init.push_back(e.load(accT, {d, stateIndex(v)}));
    Value first = times(panel, kPanel), slot = weightSlot(panel);
    Value count = arith::MinSIOp::create(
        b, arith::SubIOp::create(b, keyCount, first), e.index(kPanel));
    Vectors sums = emitLoop(
        b, zero, count, 1, init, [&](Value j, ValueRange acc) -> Vectors {
          Vectors next(acc);
          Value value =
              memref::LoadOp::create(b, op.getValue(), ValueRange{panel, d, j});
          value = e.broadcast(toF32(b, value));
          // The weight of an even key is the lower half of its pair.
          Value odd = arith::RemUIOp::create(b, j, e.index(2));
          Value shift = times(arith::SubIOp::create(b, e.index(1), odd), 16);
          shift =
              e.broadcast(arith::IndexCastOp::create(b, b.getI32Type(), shift));
          Value row = add(slot, half(j)), key = add(first, j);
          for (int64_t v = 0; v < vectors; ++v) {
            Value pair = vector::BitCastOp::create(
                b, bits,
                loadPairs(scratch.weights, {row, e.index(v * 2 * lanes)}));
            Value weight = arith::ShLIOp::create(b, pair, shift);
            weight = arith::AndIOp::create(
                b, weight,
                arith::ConstantOp::create(
                    b, DenseElementsAttr::get(
                           bits, llvm::ArrayRef<uint32_t>(0xffff0000u))));
            weight = arith::BitcastOp::create(b, e.vectorType(), weight);
            next[v] =
                arith::SelectOp::create(b, programs.visible(key, v),
                                        e.fma(value, weight, next[v]), next[v]);
          }
          return next;
        });
    for (int64_t v = 0; v < vectors; ++v)
      e.store(sums[v], accT, {d, stateIndex(v)});
  }

  ImplicitLocOpBuilder &b;
  OnlineAttentionOp op;
  VectorEmitter e;
  ProgramOnLanes programs;
  PairedScratch scratch;
  bool useTiles;
  double scale;
  int64_t lanes, registerRows, vectors, width;
  int64_t queryRows, keyDim, valueDim;
  /// `[D/2, 2 M]` and `[Dv, M]`.
  Value queryPairs, accT;
  Value keyCount, rowCount, zero, nonFinite;
  /// The group of rows that is being emitted, and the panels that it sees.
  Value group, firstPanel, panelEnd;
};

} // namespace

LogicalResult attn::lowerPairedAttention(RewriterBase &rewriter,
                                         OnlineAttentionOp op,
                                         TargetAttr target,
                                         PairedScratch scratch,
                                         ScratchAllocator allocate) {
  remarkScalarPrograms(op);
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  if (failed(PairedAttentionLowering(b, op, target, scratch, allocate).run()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}
