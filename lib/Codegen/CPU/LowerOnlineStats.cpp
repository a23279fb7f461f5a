//===- LowerOnlineStats.cpp - Statistics of weights, a block at a time ----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries in lanes: what is said of a row stays in its lane. Only the sums of
// the columns cross lanes, those of as many keys at once as there are lanes.
//
//===----------------------------------------------------------------------===//

#include "QueriesInLanes.h"
#include "TileLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

namespace {

class OnlineStatsLowering : public QueriesInLanes {
public:
  OnlineStatsLowering(ImplicitLocOpBuilder &b, OnlineStatsOp op,
                      TargetAttr target, Value weights,
                      ScratchAllocator allocate)
      : QueriesInLanes(b, op, target, weights, allocate), op(op) {}

  LogicalResult run() {
    SmallVector<Value> state{op.getQuery()}, blocks{op.getKey()};
    for (Value rows :
         {op.getRowMax(), op.getEntropy(), op.getTopWeights(), op.getTopKeys()})
      if (rows)
        state.push_back(rows);
    for (Value strided :
         {op.getColumnSums(), op.getLogSumExp(), op.getRemainder()}) {
      if (!strided)
        continue;
      blocks.push_back(strided);
      if (!hasUnitColumns(strided))
        return op.emitOpError("column_sums, log_sum_exp and remainder must "
                              "have unit stride to be lowered, got ")
               << strided.getType();
    }
    if (failed(checkTiles(state, blocks)))
      return failure();
    queryT = getRowsInnermost(b, op.getQuery());
    if (!queryT)
      return op.emitOpError("query tile must have unit row stride");
    emitRows();
    return success();
  }

private:
  void emitGroupBody() override {
    exists.clear();
    lse.clear();
    remainder.clear();
    for (int64_t v = 0; v < vectors; ++v) {
      Value left = arith::SubIOp::create(b, rowCount, stateIndex(v));
      exists.push_back(e.firstLanes(left));
      if (Value sums = op.getLogSumExp())
        lse.push_back(e.loadWidened(sums, stateIndex(v), exists[v]));
      if (Value rest = op.getRemainder())
        remainder.push_back(e.loadWidened(rest, stateIndex(v), exists[v]));
    }
    emitWeights();
    if (op.getColumnSums())
      emitColumnSums();
    if (op.getTopWeights())
      emitTopWeights();
  }

  //===--------------------------------------------------------------------===//
  // Weights
  //===--------------------------------------------------------------------===//

  /// The weight of a score on the lanes of vector `v`, and its logarithm if the
  /// entropy asks for it. Hidden pairs and padding have 0, also where the
  /// log-sum-exp of the row is NaN.
  std::pair<Value, Value> emitWeight(Value score, int64_t v) {
    Value weight = score, logarithm, none = e.splat(0.0);
    if (op.getLogSumExp()) {
      Value isHidden = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                             score, e.splat(-INFINITY));
      logarithm = arith::SubFOp::create(b, score, lse[v]);
      // Not from their sum, which is the log-sum-exp again.
      if (op.getRemainder())
        logarithm = arith::SubFOp::create(b, logarithm, remainder[v]);
      // No weight is above 1, however the other kernel rounds the score.
      Value isAbove =
          arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, none, logarithm);
      logarithm = arith::SelectOp::create(b, isAbove, none, logarithm);
      weight = arith::SelectOp::create(b, isHidden, none, e.exp(logarithm));
    }
    weight = arith::SelectOp::create(b, exists[v], weight, none);
    if (op.getEntropy() && !logarithm)
      logarithm = math::LogOp::create(b, weight);
    return {weight, logarithm};
  }

  /// Weights into the scratch, if something reads them there, and what is said
  /// of a row without order.
  void emitWeights() {
    bool stores = op.getColumnSums() || op.getTopWeights();
    Value none = e.splat(0.0);
    Vectors init;
    if (op.getRowMax())
      init = loadState(op.getRowMax());
    if (op.getEntropy())
      init.append(vectors, none);
    auto entropyAt = static_cast<int64_t>(init.size()) - vectors;
    Vectors totals = emitLoop(
        b, keyBegin, keyEnd, keyRows, init,
        [&](Value j, ValueRange carried) -> Vectors {
          Vectors next(carried);
          SmallVector<Vectors> block = scores(j, {});
          for (int64_t r = 0; r < keyRows; ++r) {
            // Repetitions of the last key count 0 times.
            Value count = r && op.getEntropy() ? countOf(add(j, r)) : Value();
            for (int64_t v = 0; v < vectors; ++v) {
              auto [weight, logarithm] = emitWeight(block[r][v], v);
              if (stores)
                storeWeight(weight, add(j, r), v);
              if (op.getRowMax())
                next[v] = arith::MaximumFOp::create(b, next[v], weight);
              if (!op.getEntropy())
                continue;
              Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                                   weight, none);
              Value term = arith::SelectOp::create(
                  b, isZero, none, arith::MulFOp::create(b, weight, logarithm));
              Value &sum = next[entropyAt + v];
              sum = count ? e.fma(term, count, sum)
                          : arith::AddFOp::create(b, sum, term).getResult();
            }
          }
          return next;
        });
    if (op.getRowMax())
      storeState(ArrayRef(totals).take_front(vectors), op.getRowMax());
    if (!op.getEntropy())
      return;
    Vectors entropy = loadState(op.getEntropy());
    for (int64_t v = 0; v < vectors; ++v)
      entropy[v] = arith::SubFOp::create(b, entropy[v], totals[entropyAt + v]);
    storeState(entropy, op.getEntropy());
  }

  //===--------------------------------------------------------------------===//
  // Columns
  //===--------------------------------------------------------------------===//

  void emitColumnSums() {
    emitLoop(
        b, keyBegin, keyEnd, lanes, {}, [&](Value j, ValueRange) -> Vectors {
          Vectors ofKeys;
          for (int64_t l = 0; l < lanes; ++l) {
            Value key = add(j, l), sum = loadWeight(key, 0);
            for (int64_t v = 1; v < vectors; ++v)
              sum = arith::AddFOp::create(b, sum, loadWeight(key, v));
            ofKeys.push_back(sum);
          }
          Value mask = e.firstLanes(arith::SubIOp::create(b, keyEnd, j));
          Value old = e.maskedLoad(op.getColumnSums(), j, mask, e.splat(0.0));
          e.maskedStore(arith::AddFOp::create(b, old, e.sumEach(ofKeys)),
                        op.getColumnSums(), j, mask);
          return {};
        });
  }

  //===--------------------------------------------------------------------===//
  // Largest weights
  //===--------------------------------------------------------------------===//

  /// Lanes in which `weight` comes before `other`, of a lower key: a NaN comes
  /// before every number.
  Value isLarger(Value weight, Value other) {
    return arith::AndIOp::create(
        b, arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, weight, other),
        arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, other, other));
  }

  void emitTopWeights() {
    int64_t places =
        cast<MemRefType>(op.getTopWeights().getType()).getDimSize(0);
    forEach(b, keyBegin, keyEnd, [&](Value j) {
      for (int64_t v = 0; v < vectors; ++v) {
        Value weight = loadWeight(j, v);
        // Few weights get past the last place.
        Value last =
            e.load(op.getTopWeights(), {e.index(places - 1), stateIndex(v)});
        auto enters = scf::IfOp::create(b, e.anyLane(isLarger(weight, last)),
                                        /*withElseRegion=*/false);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(enters.thenBlock());
        emitInsertion(weight, j, v, places);
      }
    });
  }

  /// Puts key `j` at its place in each lane. Those after it move by one, so
  /// that the order of equal weights stays.
  void emitInsertion(Value weight, Value j, int64_t v, int64_t places) {
    VectorType integers = e.vectorType(b.getI32Type());
    Value key = e.broadcast(
        arith::IndexCastOp::create(b, b.getI32Type(), add(op.getJ(), j)));
    Value never = arith::ConstantOp::create(
        b, b.getZeroAttr(e.vectorType(b.getI1Type())));
    emitLoop(
        b, zero, e.index(places), 1, {weight, key, never},
        [&](Value k, ValueRange carried) -> Vectors {
          SmallVector<Value> at{k, stateIndex(v)};
          Value there = e.load(op.getTopWeights(), at);
          Value thereKey =
              vector::LoadOp::create(b, integers, op.getTopKeys(), at);
          Value moves =
              arith::OrIOp::create(b, carried[2], isLarger(carried[0], there));
          auto pick = [&](Value x, Value y) -> Value {
            return arith::SelectOp::create(b, moves, x, y);
          };
          e.store(pick(carried[0], there), op.getTopWeights(), at);
          vector::StoreOp::create(b, pick(carried[1], thereKey),
                                  op.getTopKeys(), at);
          return {pick(there, carried[0]), pick(thereKey, carried[1]), moves};
        });
  }

  OnlineStatsOp op;
  /// i1 lanes for each vector of the group: rows that are no padding.
  Vectors exists;
  Vectors lse, remainder;
};

} // namespace

LogicalResult attn::lowerOnlineStats(RewriterBase &rewriter, OnlineStatsOp op,
                                     TargetAttr target, Value weights,
                                     ScratchAllocator allocate) {
  remarkScalarPrograms(op);
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  if (failed(OnlineStatsLowering(b, op, target, weights, allocate).run()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}
