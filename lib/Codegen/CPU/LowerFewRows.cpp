//===- LowerFewRows.cpp - Attention of a few query rows -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Features in lanes: for the rows of a decoding step, which are too few to fill
// vectors. K and V are streamed once; each of their vectors meets every row. A
// register tile of dot products is reduced to one vector of scores, the softmax
// runs with keys in lanes, and the maximum is the block's true one.
//
// Memory is the limit, and must never wait for arithmetic: while a block is
// computed, the next one is prefetched, its keys while keys are read and its
// values during the softmax and while values are read, so that no phase goes
// without. Lines are asked for in the order of memory, whatever the order is
// that they are used in: the prefetcher of the cache keeps more of them on
// their way than a core can ask for, if it can follow. Addresses past the end
// are harmless to a prefetch.
//
// bf16 halves the bytes and not the arithmetic, which then takes about as long.
// So AMX has the scores of bf16 queries and keys, where it is there
// (ScoreTiles.cpp).
//
//===----------------------------------------------------------------------===//

#include "ProgramVectorizer.h"
#include "TileLowering.h"
#include "VectorEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace attn;

namespace {

class FewRowsLowering {
public:
  using Vectors = SmallVector<Value>;

  FewRowsLowering(ImplicitLocOpBuilder &b, OnlineAttentionOp op,
                  TargetAttr target, FewRowsScratch scratch)
      : b(b), op(op),
        e(b, target.getIsa(), op.getSchedule()->getLanes(), op.getScoreType()),
        scratch(scratch), lanes(e.getLanes()) {
    rows = cast<MemRefType>(op.getQuery().getType()).getDimSize(0);
    headDim = cast<MemRefType>(op.getKey().getType()).getDimSize(1);
    valueDim = cast<MemRefType>(op.getValue().getType()).getDimSize(1);
    stepKeys = lanes / rows;
    vectors =
        std::max<int64_t>(1, op.getSchedule()->getRegisters()[0] *
                                 op.getSchedule()->getRegisters()[1] / rows);
    vectors = std::min<int64_t>(
        vectors, static_cast<int64_t>(llvm::divideCeil(valueDim, lanes)));
    useTiles = hasScoreTiles(op, target);
    // The bits of pairs are those of f32.
    bool takesPairs = e.getType().isF32();
    pairedKeys = takesPairs && isBF16(op.getKey());
    pairedValues = takesPairs && isBF16(op.getValue()) && vectors % 2 == 0;
  }

  LogicalResult run() {
    for (Value tile : {op.getQuery(), op.getAcc()}) {
      auto type = cast<MemRefType>(tile.getType());
      SmallVector<int64_t> strides;
      int64_t offset;
      if (failed(type.getStridesAndOffset(strides, offset)) ||
          strides[1] != 1 || strides[0] % lanes)
        return op.emitOpError("query and acc tiles must have rows of whole "
                              "vectors, got ")
               << type;
    }
    if (rows > lanes || (rows & (rows - 1)))
      return op.emitOpError("query tile must have a power of two up to ")
             << lanes << " rows, got " << rows;
    zero = e.index(0);
    keyCount = memref::DimOp::create(b, op.getKey(), 0);
    useTiles ? emitTileScores() : emitScores();
    emitSoftmax();
    emitWeightedSum();
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

  static bool isInteger(Value memref) {
    return cast<MemRefType>(memref.getType()).getElementType().isInteger();
  }

  static bool isBF16(Value memref) {
    return cast<MemRefType>(memref.getType()).getElementType().isBF16();
  }

  //===--------------------------------------------------------------------===//
  // Columns
  //===--------------------------------------------------------------------===//

  /// One or two vectors of columns, counted from some first one.
  struct Piece {
    int64_t column;
    /// Columns that exist, when that is less than a vector; else 0.
    int64_t ragged;
    /// `2 * lanes` columns: those at even places, then those at odd ones.
    bool paired;
  };

  /// `columns` as pieces, pairs first where `paired`.
  SmallVector<Piece> splitColumns(int64_t columns, bool paired) const {
    SmallVector<Piece> pieces;
    int64_t at = 0;
    for (; paired && at + 2 * lanes <= columns; at += 2 * lanes)
      pieces.push_back({at, 0, true});
    for (; at < columns; at += lanes)
      pieces.push_back({at, at + lanes > columns ? columns - at : 0, false});
    return pieces;
  }

  /// The vectors of `memref[row, first + ...]`, widened.
  Vectors loadColumns(Value memref, Value row, Value first,
                      ArrayRef<Piece> pieces) {
    Vectors result;
    for (const Piece &piece : pieces) {
      Value column = add(first, piece.column);
      if (piece.paired) {
        auto [even, odd] = e.loadBF16Pairs(memref, {row, column});
        llvm::append_values(result, even, odd);
        continue;
      }
      Value mask;
      if (piece.ragged)
        mask = e.firstLanes(e.index(piece.ragged));
      result.push_back(e.loadWidened(memref, {row, column}, mask));
    }
    return result;
  }

  /// The same of a tile of the computed type whose rows are whole vectors in
  /// order.
  Vectors loadTile(Value tile, Value row, Value first, ArrayRef<Piece> pieces) {
    Vectors result;
    for (const Piece &piece : pieces) {
      Value x = e.load(tile, {row, add(first, piece.column)});
      if (!piece.paired) {
        result.push_back(x);
        continue;
      }
      auto [even, odd] = e.deinterleave(
          x, e.load(tile, {row, add(first, piece.column + lanes)}));
      llvm::append_values(result, even, odd);
    }
    return result;
  }

  void storeTile(ValueRange values, Value tile, Value row, Value first,
                 ArrayRef<Piece> pieces) {
    for (const Piece &piece : pieces) {
      Value x = values.front();
      if (piece.paired) {
        Value second;
        std::tie(x, second) = e.interleave(x, values[1]);
        e.store(second, tile, {row, add(first, piece.column + lanes)});
      }
      e.store(x, tile, {row, add(first, piece.column)});
      values = values.drop_front(piece.paired ? 2 : 1);
    }
  }

  /// A group of columns of those that are taken in groups.
  struct Columns {
    Value first;
    int64_t count;
    /// The groups of this size, and the columns before them.
    int64_t groups, before;
  };

  /// Calls `body` for groups of `step` columns of [0, extent) and for what is
  /// left.
  Vectors
  forEachColumns(int64_t extent, int64_t step, ValueRange init,
                 function_ref<Vectors(const Columns &, ValueRange)> body) {
    int64_t whole = extent / step * step;
    Vectors carried(init);
    if (whole > 0)
      carried = emitLoop(b, zero, e.index(whole), step, carried,
                         [&](Value column, ValueRange values) {
                           return body({column, step, whole / step, 0}, values);
                         });
    if (whole < extent)
      carried = body({e.index(whole), extent - whole, 1, whole}, carried);
    return carried;
  }

  //===--------------------------------------------------------------------===//
  // Prefetches
  //===--------------------------------------------------------------------===//

  /// Where the rows of the next block are: those of `memref` from row `first`
  /// on correspond to those of this one.
  struct NextBlock {
    Value memref;
    int64_t first;
  };
  NextBlock nextKeys() {
    if (op.getUpcoming().empty())
      return {op.getKey(), op.getSchedule()->getTile()[1]};
    return {op.getUpcoming().front(), 0};
  }
  NextBlock nextValues() {
    if (op.getUpcoming().empty())
      return {op.getValue(), op.getSchedule()->getTile()[1]};
    return {op.getUpcoming().back(), 0};
  }

  /// Columns of the row that corresponds to `row` of this block.
  void prefetchRow(NextBlock next, Value row, Value first, int64_t columns) {
    row = add(row, next.first);
    for (int64_t at = 0; at < columns; at += columnsOfLine(next.memref))
      e.prefetch(next.memref, {row, add(first, at)});
  }

  /// Asks for as many columns as a group has. `index` counts the groups of
  /// rows from `row` on in the order of memory.
  void prefetchGroup(NextBlock next, Value row, Value index,
                     const Columns &columns) {
    Value groups = e.index(columns.groups);
    Value group = arith::RemUIOp::create(b, index, groups);
    prefetchRow(next, add(row, arith::DivUIOp::create(b, index, groups)),
                add(times(group, columns.count), columns.before),
                columns.count);
  }

  /// The number of the group.
  Value indexOf(const Columns &columns) {
    return arith::DivUIOp::create(
        b, arith::SubIOp::create(b, columns.first, e.index(columns.before)),
        e.index(columns.count));
  }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  /// scores[r][j] = dot(q_r, k_j), `stepKeys` keys a step.
  void emitScores() {
    query = op.getQuery();
    if (scratch.query)
      orderQuery();
    Value step = e.index(stepKeys);
    Value rest = arith::RemUIOp::create(b, keyCount, step);
    Value whole = arith::SubIOp::create(b, keyCount, rest);
    emitLoop(b, zero, whole, stepKeys, {}, [&](Value j, ValueRange) -> Vectors {
      emitStep(j, /*last=*/{});
      return {};
    });
    // The last step reads the last key for the ones past the end; the softmax
    // hides those.
    Value ragged =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, rest, zero);
    auto tail = scf::IfOp::create(b, ragged, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(tail.thenBlock());
    emitStep(whole, arith::SubIOp::create(b, keyCount, e.index(1)));
  }

  /// Copies the query once a block, widened and with its columns in the order
  /// of the keys.
  void orderQuery() {
    for (int64_t r = 0; r < rows; ++r)
      forEachColumns(
          headDim, keyColumns(), {}, [&](const Columns &columns, ValueRange) {
            Value d = columns.first;
            SmallVector<Piece> pieces = splitColumns(columns.count, pairedKeys);
            Vectors ordered =
                isBF16(op.getQuery())
                    ? loadColumns(op.getQuery(), e.index(r), d, pieces)
                    : loadTile(op.getQuery(), e.index(r), d, pieces);
            for (auto [v, x] : llvm::enumerate(ordered))
              e.store(x, scratch.query, {e.index(r), add(d, v * lanes)});
            return Vectors();
          });
    query = scratch.query;
  }

  /// Columns of a key that one iteration takes: whole lines and whole pairs.
  int64_t keyColumns() {
    return std::max(columnsOfLine(op.getKey()), pairedKeys ? 2 * lanes : lanes);
  }

  void emitStep(Value j, Value last) {
    Vectors keys;
    for (int64_t t = 0; t < stepKeys; ++t) {
      Value key = add(j, t);
      keys.push_back(last ? arith::MinSIOp::create(b, key, last).getResult()
                          : key);
    }
    Vectors sums(lanes, e.splat(0.0));
    sums = forEachColumns(
        headDim, keyColumns(), sums,
        [&](const Columns &columns, ValueRange acc) {
          Vectors next(acc);
          Value d = columns.first;
          SmallVector<Piece> pieces = splitColumns(columns.count, pairedKeys);
          SmallVector<Vectors> ks;
          for (auto [t, key] : llvm::enumerate(keys)) {
            ks.push_back(loadColumns(op.getKey(), key, d, pieces));
            prefetchGroup(nextKeys(), j,
                          add(times(indexOf(columns), stepKeys), t), columns);
          }
          // Columns of the query past the head dim are 0.
          for (size_t v = 0; v < ks[0].size(); ++v)
            for (int64_t r = 0; r < rows; ++r) {
              Value q = e.load(query, {e.index(r), add(d, v * lanes)});
              for (int64_t t = 0; t < stepKeys; ++t) {
                Value &sum = next[r * stepKeys + t];
                sum = e.fma(q, ks[t][v], sum);
              }
            }
          return next;
        });
    Value scores = e.sumEach(sums);
    for (int64_t r = 0; r < rows; ++r) {
      Value part = scores;
      if (rows > 1)
        part = vector::ExtractStridedSliceOp::create(
            b, scores, ArrayRef<int64_t>{r * stepKeys},
            ArrayRef<int64_t>{stepKeys}, ArrayRef<int64_t>{1});
      vector::StoreOp::create(b, part, scratch.weights,
                              ValueRange{e.index(r), j});
    }
  }

  /// The same by AMX.
  void emitTileScores() {
    Columns columns{{}, kTileFeatures, headDim / kTileFeatures, 0};
    emitScoreTiles(e, op, scratch, [&](Value key, Value index) {
      prefetchGroup(nextKeys(), key, index, columns);
    });
  }

  //===--------------------------------------------------------------------===//
  // Softmax
  //===--------------------------------------------------------------------===//

  /// Index of the head and of the row that the programs see for row `r`.
  std::pair<Value, Value> positionOf(Value r) {
    if (!op.getHeadRows())
      return {op.getH(), add(op.getI(), r)};
    Value count = e.index(*op.getHeadRows());
    return {add(op.getH(), arith::DivUIOp::create(b, r, count).getResult()),
            add(op.getI(), arith::RemUIOp::create(b, r, count).getResult())};
  }

  /// The weights of row `r` from key `j` on, times the scales of their values.
  /// Scales of hidden keys may be anything.
  Value scaleByValue(Value weights, Value r, Value j) {
    if (!op.getValueScale())
      return weights;
    Value exists = e.firstLanes(arith::SubIOp::create(b, keyCount, j));
    weights = arith::MulFOp::create(
        b, weights, e.loadWidened(op.getValueScale(), {j}, exists));
    if (op.getMask().empty())
      return weights;
    Value none = e.splat(0.0);
    Value seen = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE,
                                       e.load(scratch.visible, {r, j}), none);
    return arith::SelectOp::create(b, seen, weights, none);
  }

  /// Padding rows are left out: a program must not see them.
  void emitSoftmax() {
    Value count = op.getRows() ? op.getRows() : e.index(rows);
    emitLoop(b, zero, count, 1, {}, [&](Value r, ValueRange) -> Vectors {
      emitRow(r);
      return {};
    });
  }

  /// One row, which also prefetches a row of the next block's values for each
  /// vector of keys.
  void emitRow(Value r) {
    Value head, row;
    std::tie(head, row) = positionOf(r);
    Value lastKey =
        arith::SubIOp::create(b, add(op.getJ(), keyCount), e.index(1));
    // The keys of the vector from `j` on. Lanes past the end repeat the last
    // one for the programs.
    auto keysFrom = [&](Value j) -> Value {
      Value lane = arith::AddIOp::create(
          b, e.broadcast(add(op.getJ(), j)),
          vector::StepOp::create(b, e.vectorType(b.getIndexType())));
      return arith::MinSIOp::create(b, lane, e.broadcast(lastKey));
    };
    auto prefetchValues = [&](Value j) {
      prefetchRow(
          nextValues(),
          arith::DivUIOp::create(
              b, add(arith::MulIOp::create(b, r, keyCount), j), e.index(lanes)),
          zero, valueDim);
    };
    bool isSoftmax = !op.getUnnormalized();
    Value none = e.splat(isSoftmax ? -INFINITY : 0.0), old = none;
    if (isSoftmax)
      old = e.broadcast(memref::LoadOp::create(b, op.getMax(), r));
    // Programs and the maximum.
    Value max = emitLoop(
        b, zero, keyCount, lanes, ValueRange(old),
        [&](Value j, ValueRange carried) -> Vectors {
          Value s = e.load(scratch.weights, {r, j});
          if (op.getScale())
            s = arith::MulFOp::create(
                b, s, e.splat(op.getScale()->convertToDouble()));
          Value exists = e.firstLanes(arith::SubIOp::create(b, keyCount, j));
          if (op.getKeyScale())
            s = arith::MulFOp::create(
                b, s, e.loadWidened(op.getKeyScale(), {j}, exists));
          Value lane = keysFrom(j);
          if (!op.getScore().empty())
            s = vectorizeProgram(e, op.getScore(),
                                 {s, op.getB(), head, row, lane});
          Value seen = exists;
          if (!op.getMask().empty()) {
            Value visible =
                vectorizeProgram(e, op.getMask(), {op.getB(), head, row, lane});
            seen = arith::AndIOp::create(b, exists, visible);
            e.store(
                arith::SelectOp::create(b, seen, e.splat(1.0), e.splat(0.0)),
                scratch.visible, {r, j});
          }
          s = arith::SelectOp::create(b, seen, s, none);
          if (!isSoftmax)
            s = scaleByValue(s, r, j);
          e.store(s, scratch.weights, {r, j});
          if (isSoftmax)
            return {e.orderedMax(carried[0], s)};
          prefetchValues(j);
          return Vectors(carried);
        })[0];
    auto storeFirst = [&](Value vector, Value memref) {
      Value scalar = vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{0});
      memref::StoreOp::create(b, scalar, memref, ValueRange(r));
    };
    if (!isSoftmax)
      return storeFirst(e.splat(1.0), scratch.factors);
    max = e.maxOfLanes(max);
    // A row that has seen nothing keeps -inf; subtracting 0 instead keeps its
    // weights at 0 rather than NaN.
    Value unseen =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, max, none);
    Value base = arith::SelectOp::create(b, unseen, e.splat(0.0), max);
    Value factor = e.exp(arith::SubFOp::create(b, old, base));
    Value sum = emitLoop(
        b, zero, keyCount, lanes, ValueRange(e.splat(0.0)),
        [&](Value j, ValueRange carried) -> Vectors {
          Value s = e.load(scratch.weights, {r, j});
          Value weight = e.exp(arith::SubFOp::create(b, s, base));
          Value mapped = weight;
          if (!op.getProbability().empty())
            mapped = keepZero(
                e, weight,
                vectorizeProgram(e, op.getProbability(),
                                 {weight, op.getB(), head, row, keysFrom(j)}));
          e.store(scaleByValue(mapped, r, j), scratch.weights, {r, j});
          prefetchValues(j);
          return {arith::AddFOp::create(b, carried[0], weight)};
        })[0];
    Value total = e.broadcast(memref::LoadOp::create(b, op.getSum(), r));
    total = e.fma(total, factor, e.sumOfLanes(sum));
    storeFirst(max, op.getMax());
    storeFirst(total, op.getSum());
    storeFirst(factor, scratch.factors);
  }

  //===--------------------------------------------------------------------===//
  // Weighted sum
  //===--------------------------------------------------------------------===//

  void emitWeightedSum() {
    // Integers are finite, and their scales are in the weights.
    Value guard = op.getMask().empty() || isInteger(op.getValue())
                      ? Value()
                      : emitHasNonFiniteValue(e, op.getValue(), keyCount);
    emitGuardedSum(e, guard, [&](bool select) { emitWeightedSumOf(select); });
  }

  void emitWeightedSumOf(bool select) {
    forEachColumns(valueDim, vectors * lanes, {},
                   [&](const Columns &columns, ValueRange) -> Vectors {
                     emitColumns(columns, select);
                     return {};
                   });
  }

  /// acc[r, d + ...] = acc * factor + sum_j weights[r, j] * value[j, d + ...].
  /// Meanwhile the next block's values are prefetched, but for those that the
  /// softmax has asked for.
  void emitColumns(const Columns &columns, bool select) {
    Value d = columns.first;
    SmallVector<Piece> pieces = splitColumns(columns.count, pairedValues);
    Vectors init;
    for (int64_t r = 0; r < rows; ++r) {
      Value factor = e.broadcast(
          memref::LoadOp::create(b, scratch.factors, ValueRange(e.index(r))));
      for (Value x : loadTile(op.getAcc(), e.index(r), d, pieces))
        init.push_back(arith::MulFOp::create(b, x, factor));
    }
    size_t count = init.size() / rows;
    Value nextRow =
        arith::DivUIOp::create(b, times(keyCount, rows), e.index(lanes));
    Vectors sums = emitLoop(
        b, zero, keyCount, 1, init, [&](Value j, ValueRange acc) -> Vectors {
          Vectors next(acc);
          Vectors values = loadColumns(op.getValue(), j, d, pieces);
          if (rows < lanes) {
            Value index =
                add(arith::MulIOp::create(b, indexOf(columns), keyCount), j);
            index = arith::DivUIOp::create(b, times(index, lanes - rows),
                                           e.index(lanes));
            prefetchGroup(nextValues(), nextRow, index, columns);
          }
          for (int64_t r = 0; r < rows; ++r) {
            Value weight = memref::LoadOp::create(b, scratch.weights,
                                                  ValueRange{e.index(r), j});
            weight = e.broadcast(weight);
            Value seen;
            if (select) {
              Value flag = memref::LoadOp::create(b, scratch.visible,
                                                  ValueRange{e.index(r), j});
              seen = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, flag,
                                           e.constant(0.0));
            }
            for (size_t v = 0; v < count; ++v) {
              Value &sum = next[r * count + v];
              Value more = e.fma(weight, values[v], sum);
              sum =
                  select
                      ? arith::SelectOp::create(b, seen, more, sum).getResult()
                      : more;
            }
          }
          return next;
        });
    for (int64_t r = 0; r < rows; ++r)
      storeTile(ValueRange(sums).slice(r * count, count), op.getAcc(),
                e.index(r), d, pieces);
  }

  ImplicitLocOpBuilder &b;
  OnlineAttentionOp op;
  VectorEmitter e;
  FewRowsScratch scratch;
  int64_t lanes, rows, headDim, valueDim, stepKeys;
  /// Vectors of columns of a register tile of the weighted sum.
  int64_t vectors;
  bool pairedKeys, pairedValues, useTiles;
  Value keyCount, zero;
  /// The query tile, its columns in the order of the keys' vectors.
  Value query;
};

} // namespace

LogicalResult attn::lowerFewRows(RewriterBase &rewriter, OnlineAttentionOp op,
                                 TargetAttr target, FewRowsScratch scratch) {
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  if (failed(FewRowsLowering(b, op, target, scratch).run()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}
