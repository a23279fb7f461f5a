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
//===----------------------------------------------------------------------===//

#include "ProgramVectorizer.h"
#include "TileLowering.h"
#include "VectorEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

  /// Calls `body(column, mask)` for each vector of `extent` columns; the mask
  /// is null but for the last, ragged one.
  void forEachVector(int64_t extent, ValueRange init, Vectors &carried,
                     function_ref<Vectors(Value, Value, ValueRange)> body) {
    int64_t whole = extent / lanes * lanes;
    carried = emitLoop(b, zero, e.index(whole), lanes, init,
                       [&](Value column, ValueRange values) {
                         return body(column, Value(), values);
                       });
    if (whole < extent)
      carried =
          body(e.index(whole), e.firstLanes(e.index(extent - whole)), carried);
  }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  /// scores[r][j] = dot(q_r, k_j), `stepKeys` keys a step.
  void emitScores() {
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

  void emitStep(Value j, Value last) {
    Vectors keys;
    for (int64_t t = 0; t < stepKeys; ++t) {
      Value key = add(j, t);
      keys.push_back(last ? arith::MinSIOp::create(b, key, last).getResult()
                          : key);
    }
    Vectors sums(lanes, e.splat(0.0f));
    forEachVector(headDim, sums, sums,
                  [&](Value d, Value mask, ValueRange acc) -> Vectors {
                    Vectors next(acc), ks;
                    for (Value key : keys)
                      ks.push_back(e.loadWidened(op.getKey(), {key, d}, mask));
                    // Columns of the query past the head dim are 0.
                    for (int64_t r = 0; r < rows; ++r) {
                      Value q = e.load(op.getQuery(), {e.index(r), d});
                      for (int64_t t = 0; t < stepKeys; ++t) {
                        Value &sum = next[r * stepKeys + t];
                        sum = e.fma(q, ks[t], sum);
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
    int64_t vectors =
        std::max<int64_t>(1, op.getSchedule()->getRegisters()[0] *
                                 op.getSchedule()->getRegisters()[1] / rows);
    vectors = std::min<int64_t>(
        vectors, static_cast<int64_t>(llvm::divideCeil(valueDim, lanes)));
    int64_t width = vectors * lanes, whole = valueDim / width * width;
    emitLoop(b, zero, e.index(whole), width, {},
             [&](Value d, ValueRange) -> Vectors {
               emitColumns(d, width, select);
               return {};
             });
    if (whole < valueDim)
      emitColumns(e.index(whole), valueDim - whole, select);
  }

  /// acc[r, d + ...] = acc * factor + sum_j weights[r, j] * value[j, d + ...].
  void emitColumns(Value d, int64_t columns, bool select) {
    int64_t vectors = llvm::divideCeil(columns, lanes);
    Vectors masks(vectors), init;
    if (columns % lanes)
      masks.back() = e.firstLanes(e.index(columns % lanes));
    for (int64_t r = 0; r < rows; ++r) {
      Value factor = e.broadcast(
          memref::LoadOp::create(b, scratch.factors, ValueRange(e.index(r))));
      for (int64_t v = 0; v < vectors; ++v)
        init.push_back(arith::MulFOp::create(
            b, e.load(op.getAcc(), {e.index(r), add(d, v * lanes)}), factor));
    }
    Vectors sums = emitLoop(
        b, zero, keyCount, 1, init, [&](Value j, ValueRange acc) -> Vectors {
          Vectors next(acc), values;
          for (int64_t v = 0; v < vectors; ++v)
            values.push_back(
                e.loadWidened(op.getValue(), {j, add(d, v * lanes)}, masks[v]));
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
            for (int64_t v = 0; v < vectors; ++v) {
              Value &sum = next[r * vectors + v];
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
      for (int64_t v = 0; v < vectors; ++v)
        e.store(sums[r * vectors + v], op.getAcc(),
                {e.index(r), add(d, v * lanes)});
  }

  ImplicitLocOpBuilder &b;
  OnlineAttentionOp op;
  VectorEmitter e;
  FewRowsScratch scratch;
  int64_t lanes, rows, headDim, valueDim, stepKeys;
  Value keyCount, zero;
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
