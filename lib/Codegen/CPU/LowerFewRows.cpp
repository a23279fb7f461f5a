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
// Memory is the limit, and must never wait for arithmetic: while the keys of a
// block are read, its values are prefetched, and while those are read, the keys
// of the next block are. Addresses past the end are harmless to a prefetch.
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
      : b(b), op(op), e(b, target.getIsa(), op.getSchedule()->getLanes()),
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
    pairedKeys = isBF16(op.getKey());
    pairedValues = isBF16(op.getValue()) && vectors % 2 == 0;
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
    emitScores();
    emitSoftmax();
    emitWeightedSum();
    return success();
  }

private:
  Value add(Value x, int64_t y) {
    return y == 0 ? x : arith::AddIOp::create(b, x, e.index(y)).getResult();
  }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }

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

  /// The vectors of `memref[row, first + ...]`, widened to f32.
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

  /// The same of an f32 tile whose rows are whole vectors in order.
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

  /// Columns of `memref` in one cache line.
  static int64_t lineColumns(Value memref) {
    constexpr int64_t kLineBytes = 64;
    auto type = cast<MemRefType>(memref.getType());
    return kLineBytes * 8 / type.getElementTypeBitWidth();
  }

  /// Asks for `columns` columns of a row.
  void prefetchColumns(Value memref, Value row, Value first, int64_t columns) {
    for (int64_t at = 0; at < columns; at += lineColumns(memref))
      e.prefetch(memref, {row, add(first, at)});
  }

  /// Calls `body(column, count, other)` for groups of `step` columns of
  /// [0, extent) and for what is left; `other` says whether an operand with
  /// `otherExtent` columns has them too.
  Vectors
  forEachColumns(int64_t extent, int64_t otherExtent, int64_t step,
                 ValueRange init,
                 function_ref<Vectors(Value, int64_t, bool, ValueRange)> body) {
    int64_t whole = extent / step * step;
    int64_t common = std::min(extent, otherExtent) / step * step;
    Vectors carried(init);
    auto emitRange = [&](int64_t from, int64_t to, bool other) {
      if (from < to)
        carried = emitLoop(b, e.index(from), e.index(to), step, carried,
                           [&](Value column, ValueRange values) {
                             return body(column, step, other, values);
                           });
    };
    emitRange(0, common, /*other=*/true);
    emitRange(common, whole, /*other=*/false);
    if (whole < extent)
      carried =
          body(e.index(whole), extent - whole, whole < otherExtent, carried);
    return carried;
  }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  /// scores[r][j] = dot(q_r, k_j), `stepKeys` keys a step.
  void emitScores() {
    query = op.getQuery();
    if (pairedKeys)
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

  /// Copies the query once a block with its columns in the order of the keys.
  void orderQuery() {
    for (int64_t r = 0; r < rows; ++r)
      forEachColumns(
          headDim, headDim, keyColumns(), {},
          [&](Value d, int64_t columns, bool, ValueRange) {
            Vectors ordered = loadTile(op.getQuery(), e.index(r), d,
                                       splitColumns(columns, /*paired=*/true));
            for (auto [v, x] : llvm::enumerate(ordered))
              e.store(x, scratch.query, {e.index(r), add(d, v * lanes)});
            return Vectors();
          });
    query = scratch.query;
  }

  /// Columns of a key that one iteration takes: whole lines and whole pairs.
  int64_t keyColumns() {
    return std::max(lineColumns(op.getKey()), pairedKeys ? 2 * lanes : lanes);
  }

  void emitStep(Value j, Value last) {
    Vectors keys;
    for (int64_t t = 0; t < stepKeys; ++t) {
      Value key = add(j, t);
      keys.push_back(last ? arith::MinSIOp::create(b, key, last).getResult()
                          : key);
    }
    Value nextBlock = e.index(op.getSchedule()->getTile()[1]);
    Vectors sums(lanes, e.splat(0.0f));
    sums = forEachColumns(
        headDim, valueDim, keyColumns(), sums,
        [&](Value d, int64_t columns, bool isValue, ValueRange acc) {
          Vectors next(acc);
          SmallVector<Piece> pieces = splitColumns(columns, pairedKeys);
          SmallVector<Vectors> ks;
          for (Value key : keys) {
            ks.push_back(loadColumns(op.getKey(), key, d, pieces));
            // Longer keys than values: the rest of the next block's.
            prefetchColumns(isValue ? op.getValue() : op.getKey(),
                            isValue ? key : add(key, nextBlock), d, columns);
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

  /// Padding rows are left out: a program must not see them.
  void emitSoftmax() {
    Value count = op.getRows() ? op.getRows() : e.index(rows);
    emitLoop(b, zero, count, 1, {}, [&](Value r, ValueRange) -> Vectors {
      emitRow(r);
      return {};
    });
  }

  void emitRow(Value r) {
    Value head, row;
    std::tie(head, row) = positionOf(r);
    Value old = e.broadcast(memref::LoadOp::create(b, op.getMax(), r));
    Value none = e.splat(-INFINITY);
    Value lastKey =
        arith::SubIOp::create(b, add(op.getJ(), keyCount), e.index(1));
    // Programs and the maximum.
    Value max = emitLoop(
        b, zero, keyCount, lanes, ValueRange(old),
        [&](Value j, ValueRange carried) -> Vectors {
          Value s = e.load(scratch.weights, {r, j});
          Value lane = arith::AddIOp::create(
              b, e.broadcast(add(op.getJ(), j)),
              vector::StepOp::create(b, e.vectorType(b.getIndexType())));
          // Lanes past the end repeat the last key for the programs.
          lane = arith::MinSIOp::create(b, lane, e.broadcast(lastKey));
          if (!op.getScore().empty())
            s = vectorizeProgram(e, op.getScore(),
                                 {s, op.getB(), head, row, lane});
          Value seen = e.firstLanes(arith::SubIOp::create(b, keyCount, j));
          if (!op.getMask().empty()) {
            Value visible =
                vectorizeProgram(e, op.getMask(), {op.getB(), head, row, lane});
            seen = arith::AndIOp::create(b, seen, visible);
            e.store(
                arith::SelectOp::create(b, seen, e.splat(1.0f), e.splat(0.0f)),
                scratch.visible, {r, j});
          }
          s = arith::SelectOp::create(b, seen, s, none);
          e.store(s, scratch.weights, {r, j});
          return {e.orderedMax(carried[0], s)};
        })[0];
    max = e.maxOfLanes(max);
    // A row that has seen nothing keeps -inf; subtracting 0 instead keeps its
    // weights at 0 rather than NaN.
    Value unseen =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, max, none);
    Value base = arith::SelectOp::create(b, unseen, e.splat(0.0f), max);
    Value factor = e.exp(arith::SubFOp::create(b, old, base));
    Value sum =
        emitLoop(b, zero, keyCount, lanes, ValueRange(e.splat(0.0f)),
                 [&](Value j, ValueRange carried) -> Vectors {
                   Value s = e.load(scratch.weights, {r, j});
                   Value weight = e.exp(arith::SubFOp::create(b, s, base));
                   e.store(weight, scratch.weights, {r, j});
                   return {arith::AddFOp::create(b, carried[0], weight)};
                 })[0];
    Value total = e.broadcast(memref::LoadOp::create(b, op.getSum(), r));
    total = e.fma(total, factor, e.sumOfLanes(sum));
    auto storeFirst = [&](Value vector, Value memref) {
      Value scalar = vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{0});
      memref::StoreOp::create(b, scalar, memref, ValueRange(r));
    };
    storeFirst(max, op.getMax());
    storeFirst(total, op.getSum());
    storeFirst(factor, scratch.factors);
  }

  //===--------------------------------------------------------------------===//
  // Weighted sum
  //===--------------------------------------------------------------------===//

  void emitWeightedSum() {
    Value guard = op.getMask().empty()
                      ? Value()
                      : emitHasNonFiniteValue(e, op.getValue(), keyCount);
    emitGuardedSum(e, guard, [&](bool select) { emitWeightedSumOf(select); });
  }

  void emitWeightedSumOf(bool select) {
    forEachColumns(
        valueDim, headDim, vectors * lanes, {},
        [&](Value d, int64_t columns, bool isKey, ValueRange) -> Vectors {
          emitColumns(d, columns, isKey, select);
          return {};
        });
  }

  /// acc[r, d + ...] = acc * factor + sum_j weights[r, j] * value[j, d + ...].
  /// Meanwhile the next block's keys are prefetched, or its values where keys
  /// have no such columns.
  void emitColumns(Value d, int64_t columns, bool isKey, bool select) {
    SmallVector<Piece> pieces = splitColumns(columns, pairedValues);
    Vectors init;
    for (int64_t r = 0; r < rows; ++r) {
      Value factor = e.broadcast(
          memref::LoadOp::create(b, scratch.factors, ValueRange(e.index(r))));
      for (Value x : loadTile(op.getAcc(), e.index(r), d, pieces))
        init.push_back(arith::MulFOp::create(b, x, factor));
    }
    size_t count = init.size() / rows;
    Value nextBlock = e.index(op.getSchedule()->getTile()[1]);
    Vectors sums = emitLoop(
        b, zero, keyCount, 1, init, [&](Value j, ValueRange acc) -> Vectors {
          Vectors next(acc);
          Vectors values = loadColumns(op.getValue(), j, d, pieces);
          prefetchColumns(isKey ? op.getKey() : op.getValue(),
                          add(j, nextBlock), d, columns);
          for (int64_t r = 0; r < rows; ++r) {
            Value weight = memref::LoadOp::create(b, scratch.weights,
                                                  ValueRange{e.index(r), j});
            weight = e.broadcast(weight);
            Value seen;
            if (select) {
              Value flag = memref::LoadOp::create(b, scratch.visible,
                                                  ValueRange{e.index(r), j});
              seen = arith::CmpFOp::create(
                  b, arith::CmpFPredicate::UNE, flag,
                  arith::ConstantOp::create(b, b.getF32FloatAttr(0.0f)));
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
  bool pairedKeys, pairedValues;
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
