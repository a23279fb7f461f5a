//===- LowerOnlineAttention.cpp - The fused attention micro-kernel --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries in lanes: S^T = K Q^T and O^T = V^T P^T. A register tile holds a few
// keys times a few vectors of query rows; K and V are read by scalar broadcast
// from the caller's memory, whatever its strides, so nothing is packed and key
// counts need no padding. Running maximum and sum are lane vectors.
//
// Online softmax (Milakov and Gimelshein, arXiv:1805.02867) with a lazy
// maximum: accumulators start at minus the running maximum, so the product
// yields exponents directly and the steady state has no pass over the scores.
// Block sums are needed anyway; when one exceeds 2^10 (or is NaN), or a row has
// seen no key yet, the block is done again exactly: true maximum, rescaled
// state.
//
//===----------------------------------------------------------------------===//

#include "ProgramVectorizer.h"
#include "QueriesInLanes.h"
#include "TileLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace attn;

Value attn::getRowsInnermost(ImplicitLocOpBuilder &b, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides[0] != 1)
    return {};
  return memref::TransposeOp::create(
      b, memref,
      AffineMapAttr::get(AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0},
                                                      b.getContext())));
}

/// The sum of 0 times each element of the first `keyCount` rows of `value`, in
/// lanes: NaN when one is NaN or infinite.
static SmallVector<Value> emitProductsWithZero(VectorEmitter &e, Value value,
                                               Value keyCount) {
  using Vectors = SmallVector<Value>;
  ImplicitLocOpBuilder &b = e.builder();
  auto type = cast<MemRefType>(value.getType());
  int64_t columns = type.getDimSize(1), lanes = e.getLanes();
  SmallVector<int64_t> strides;
  int64_t offset;
  bool contiguous =
      succeeded(type.getStridesAndOffset(strides, offset)) && strides[1] == 1;
  Value zero = e.index(0), none = e.splat(0.0);
  // Several sums, so that no addition waits for the one before.
  Vectors init(contiguous
                   ? std::min<int64_t>(4, static_cast<int64_t>(
                                              llvm::divideCeil(columns, lanes)))
                   : 1,
               none);
  return emitLoop(
      b, zero, keyCount, 1, init, [&](Value j, ValueRange carried) -> Vectors {
        if (!contiguous)
          return emitLoop(b, zero, e.index(columns), 1, carried,
                          [&](Value d, ValueRange inner) -> Vectors {
                            Value x = memref::LoadOp::create(b, value,
                                                             ValueRange{j, d});
                            x = e.broadcast(e.convert(x));
                            return {e.fma(x, none, inner[0])};
                          });
        Vectors next(carried);
        for (int64_t d = 0; d < columns; d += lanes) {
          Value mask = d + lanes <= columns
                           ? Value()
                           : e.firstLanes(e.index(columns - d));
          Value &sum = next[d / lanes % next.size()];
          sum = e.fma(e.loadWidened(value, {j, e.index(d)}, mask), none, sum);
        }
        return next;
      });
}

Value attn::emitHasNonFiniteValue(VectorEmitter &e, Value value,
                                  Value keyCount) {
  ImplicitLocOpBuilder &b = e.builder();
  SmallVector<Value> masks;
  for (Value sum : emitProductsWithZero(e, value, keyCount))
    masks.push_back(
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, sum, sum));
  return e.anyLane(masks);
}

void attn::emitGuardedSum(VectorEmitter &e, Value guard,
                          function_ref<void(bool)> emitSum) {
  if (!guard)
    return emitSum(/*select=*/false);
  ImplicitLocOpBuilder &b = e.builder();
  auto guarded = scf::IfOp::create(b, guard, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard insertion(b);
  b.setInsertionPointToStart(guarded.thenBlock());
  emitSum(/*select=*/true);
  b.setInsertionPointToStart(guarded.elseBlock());
  emitSum(/*select=*/false);
}

MovedMaximum attn::emitMovedMaximum(VectorEmitter &e, ValueRange old,
                                    ValueRange larger) {
  ImplicitLocOpBuilder &b = e.builder();
  MovedMaximum moved;
  for (auto [before, after] : llvm::zip_equal(old, larger)) {
    Value unseen = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, after,
                                         e.splat(-INFINITY));
    Value base = arith::SelectOp::create(b, unseen, e.splat(0.0), after);
    moved.base.push_back(base);
    moved.factor.push_back(e.exp(arith::SubFOp::create(b, before, base)));
  }
  return moved;
}

namespace {

class OnlineAttentionLowering : public QueriesInLanes {
public:
  OnlineAttentionLowering(ImplicitLocOpBuilder &b, OnlineAttentionOp op,
                          TargetAttr target, Value weights,
                          ScratchAllocator allocate)
      : QueriesInLanes(b, op, target, weights, allocate), op(op),
        valueDim(cast<MemRefType>(op.getValue().getType()).getDimSize(1)) {}

  LogicalResult run() {
    if (failed(
            checkTiles({op.getQuery(), op.getAcc(), op.getMax(), op.getSum()},
                       {op.getKey(), op.getValue()})))
      return failure();
    queryT = getRowsInnermost(b, op.getQuery());
    accT = getRowsInnermost(b, op.getAcc());
    if (!queryT || !accT)
      return op.emitOpError("query and acc tiles must have unit row stride");
    upcomingValues = op.getValue();
    if (programs.hasMask())
      nonFinite = emitHasNonFiniteValue(
          e, op.getValue(), memref::DimOp::create(b, op.getKey(), 0));
    emitRows();
    return success();
  }

private:
  void emitGroupBody() override {
    // The exact form alone serves the few rows that are left: it costs a pass
    // over the scores, the steady state would cost compile time.
    if (op.getUnnormalized())
      emitScoresAsWeights();
    else if (isRemainder)
      emitExactBlock(loadState(op.getMax()));
    else
      emitLazyOrExactBlock(loadState(op.getMax()));
    emitWeightedSum();
  }

  void emitScoresAsWeights() {
    emitLoop(b, keyBegin, keyEnd, keyRows, {},
             [&](Value j, ValueRange) -> Vectors {
               SmallVector<Vectors> block = scores(j, {});
               for (int64_t r = 0; r < keyRows; ++r)
                 for (int64_t v = 0; v < vectors; ++v)
                   storeWeight(block[r][v], add(j, r), v);
               return {};
             });
  }

  /// The steady state where every row has a maximum, and the exact form where
  /// one has none or its weights do not stand.
  void emitLazyOrExactBlock(ValueRange max) {
    Vectors fresh;
    for (Value m : max)
      fresh.push_back(arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, m,
                                            e.splat(-INFINITY)));
    // The steady state first; it reports whether its weights stand.
    auto lazy = scf::IfOp::create(b, TypeRange(b.getI1Type()), e.anyLane(fresh),
                                  /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(lazy.thenBlock());
      scf::YieldOp::create(
          b, ValueRange(arith::ConstantOp::create(b, b.getBoolAttr(false))));
      b.setInsertionPointToStart(lazy.elseBlock());
      Value stands = emitLazyBlock(max);
      scf::YieldOp::create(b, ValueRange(stands));
    }
    Value truth = arith::ConstantOp::create(b, b.getBoolAttr(true));
    Value again = arith::XOrIOp::create(b, lazy.getResult(0), truth);
    auto exact = scf::IfOp::create(b, again, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(exact.thenBlock());
    emitExactBlock(max);
  }

  /// Weights and block sums with the maximum as it is; returns whether every
  /// sum is at most 2^10, in which case the running sum is updated.
  Value emitLazyBlock(ValueRange max) {
    Vectors start, sums;
    for (Value m : max) {
      start.push_back(arith::NegFOp::create(b, m));
      sums.push_back(e.splat(0.0));
    }
    sums = emitLoop(
        b, keyBegin, keyEnd, keyRows, sums,
        [&](Value j, ValueRange carried) -> Vectors {
          Vectors next(carried);
          SmallVector<Vectors> block = scores(j, start);
          for (int64_t r = 0; r < keyRows; ++r) {
            // Repetitions of the last key count 0 times.
            Value exists = r == 0 ? Value() : countOf(add(j, r));
            for (int64_t v = 0; v < vectors; ++v) {
              Value weight = e.exp(block[r][v]);
              Value mapped = weight;
              if (programs.hasProbability())
                mapped = programs.probability(weight, clampKey(j, r), v);
              storeWeight(mapped, add(j, r), v);
              next[v] = exists ? e.fma(weight, exists, next[v])
                               : arith::AddFOp::create(b, next[v], weight);
            }
          }
          return next;
        });
    Vectors beyond;
    for (Value sum : sums)
      beyond.push_back(arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, sum,
                                             e.splat(kLazyMaximumBound)));
    Value truth = arith::ConstantOp::create(b, b.getBoolAttr(true));
    Value stands = arith::XOrIOp::create(b, e.anyLane(beyond), truth);
    auto keep = scf::IfOp::create(b, stands, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(keep.thenBlock());
    Vectors total = loadState(op.getSum());
    for (int64_t v = 0; v < vectors; ++v)
      total[v] = arith::AddFOp::create(b, total[v], sums[v]);
    storeState(total, op.getSum());
    return stands;
  }

  /// The block with its true maximum: scores first, then the new maximum,
  /// weights, and the state rescaled to it.
  void emitExactBlock(ValueRange max) {
    Vectors newMax = emitLoop(b, keyBegin, keyEnd, keyRows, max,
                              [&](Value j, ValueRange carried) -> Vectors {
                                Vectors next(carried);
                                SmallVector<Vectors> block = scores(j, {});
                                for (int64_t r = 0; r < keyRows; ++r)
                                  for (int64_t v = 0; v < vectors; ++v) {
                                    storeWeight(block[r][v], add(j, r), v);
                                    next[v] =
                                        e.orderedMax(next[v], block[r][v]);
                                  }
                                return next;
                              });
    MovedMaximum moved = emitMovedMaximum(e, max, newMax);
    Vectors base = moved.base, factor = moved.factor;
    Vectors sums(vectors, e.splat(0.0));
    sums = emitLoop(b, keyBegin, keyEnd, 1, sums,
                    [&](Value j, ValueRange carried) -> Vectors {
                      Vectors next(carried);
                      for (int64_t v = 0; v < vectors; ++v) {
                        Value weight = e.exp(arith::SubFOp::create(
                            b, loadWeight(j, v), base[v]));
                        storeWeight(programs.probability(weight, j, v), j, v);
                        next[v] = arith::AddFOp::create(b, next[v], weight);
                      }
                      return next;
                    });
    Vectors total = loadState(op.getSum());
    for (int64_t v = 0; v < vectors; ++v)
      total[v] = e.fma(total[v], factor[v], sums[v]);
    storeState(total, op.getSum());
    storeState(newMax, op.getMax());
    emitLoop(b, zero, e.index(valueDim), 1, {},
             [&](Value d, ValueRange) -> Vectors {
               for (int64_t v = 0; v < vectors; ++v) {
                 Value old = e.load(accT, {d, stateIndex(v)});
                 e.store(arith::MulFOp::create(b, old, factor[v]), accT,
                         {d, stateIndex(v)});
               }
               return {};
             });
  }

  //===--------------------------------------------------------------------===//
  // Weighted sum
  //===--------------------------------------------------------------------===//

  void emitWeightedSum() {
    emitGuardedSum(e, nonFinite,
                   [&](bool select) { emitWeightedSumOf(select); });
  }

  void emitWeightedSumOf(bool select) {
    // The rare select stays small.
    int64_t rows = select ? 1 : std::min(keyRows, valueDim);
    int64_t whole = valueDim / rows * rows;
    emitLoop(b, zero, e.index(whole), rows, {},
             [&](Value d, ValueRange) -> Vectors {
               emitValueRows(d, rows, select);
               return {};
             });
    if (whole < valueDim)
      emitValueRows(e.index(whole), valueDim - whole, select);
  }

  /// acc[d + r, rows] += weights[j, rows] * value[j, d + r] over the block.
  void emitValueRows(Value d, int64_t rows, bool select) {
    Vectors init;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        init.push_back(e.load(accT, {add(d, r), stateIndex(v)}));
    auto value = [&](Value j, int64_t r) {
      return e.broadcast(e.convert(
          memref::LoadOp::create(b, op.getValue(), ValueRange{j, add(d, r)})));
    };
    Vectors sums;
    if (!select) {
      sums = emitOuterProduct(
          e, keyBegin, keyEnd, rows, vectors, init, value,
          [&](Value j, int64_t v) { return loadWeight(j, v); });
    } else {
      sums = emitLoop(b, keyBegin, keyEnd, 1, init,
                      [&](Value j, ValueRange acc) -> Vectors {
                        Vectors next(acc);
                        for (int64_t v = 0; v < vectors; ++v) {
                          Value seen = programs.visible(j, v);
                          for (int64_t r = 0; r < rows; ++r) {
                            Value &sum = next[r * vectors + v];
                            sum = arith::SelectOp::create(
                                b, seen,
                                e.fma(value(j, r), loadWeight(j, v), sum), sum);
                          }
                        }
                        return next;
                      });
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        e.store(sums[r * vectors + v], accT, {add(d, r), stateIndex(v)});
  }

  OnlineAttentionOp op;
  int64_t valueDim;
  /// The accumulators with query rows innermost, `[Dv, M]`.
  Value accT;
  /// i1: whether a value of the block is NaN or infinite; null without a mask.
  Value nonFinite;
};

} // namespace

void attn::remarkScalarPrograms(Operation *op) {
  for (Region &program : op->getRegions()) {
    Operation *culprit;
    if (!program.empty() && !isVectorizableProgram(program, &culprit))
      remark::missed(
          op->getLoc(),
          remark::RemarkOpts::name("program-not-vectorised")
              .category("attn")
              .function(op->getParentOfType<func::FuncOp>().getSymName()))
          << ("'" + culprit->getName().getStringRef() +
              "' has no vector form: the program runs lane by lane")
                 .str();
  }
}

LogicalResult attn::lowerOnlineAttention(RewriterBase &rewriter,
                                         OnlineAttentionOp op,
                                         TargetAttr target, Value weights,
                                         ScratchAllocator allocate) {
  remarkScalarPrograms(op);
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  if (failed(OnlineAttentionLowering(b, op, target, weights, allocate).run()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}
