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

#include "ProgramOnLanes.h"
#include "ProgramVectorizer.h"
#include "TileLowering.h"
#include "VectorEmitter.h"
#include "attn/Analysis/TileVisibility.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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

class OnlineAttentionLowering {
public:
  OnlineAttentionLowering(ImplicitLocOpBuilder &b, OnlineAttentionOp op,
                          TargetAttr target, Value weights,
                          ScratchAllocator allocate)
      : b(b), op(op),
        e(b, target.getIsa(), op.getSchedule()->getLanes(), op.getScoreType()),
        programs(e, op, op.getSchedule()->getRegisters()[1], allocate),
        weights(weights) {
    ScheduleAttr schedule = *op.getSchedule();
    lanes = schedule.getLanes();
    keyRows = schedule.getRegisters()[0];
    vectors = schedule.getRegisters()[1];
    width = lanes * vectors;
    queryRows = cast<MemRefType>(op.getQuery().getType()).getDimSize(0);
    headDim = cast<MemRefType>(op.getKey().getType()).getDimSize(1);
    valueDim = cast<MemRefType>(op.getValue().getType()).getDimSize(1);
  }

  LogicalResult run() {
    for (Value state : {op.getQuery(), op.getAcc(), op.getMax(), op.getSum()}) {
      auto type = cast<MemRefType>(state.getType());
      if (!type.hasStaticShape() || type.getElementType() != e.getType())
        return op.emitOpError("query and state tiles must be static and ")
               << e.getType() << " to be lowered, got " << type;
    }
    for (Value block : {op.getKey(), op.getValue()}) {
      auto type = cast<MemRefType>(block.getType());
      if (type.getElementTypeBitWidth() > e.getType().getWidth())
        return op.emitOpError("has no kernel for the element type ")
               << type.getElementType();
    }
    ScheduleAttr schedule = *op.getSchedule();
    if (schedule.getKernel() != Kernel::QueriesInLanes)
      return op.emitOpError("has the schedule of a matrix product");
    if (queryRows % width)
      return op.emitOpError()
             << "query tile has " << queryRows
             << " rows, expected a multiple of registers times lanes, "
             << width;
    queryT = getRowsInnermost(b, op.getQuery());
    accT = getRowsInnermost(b, op.getAcc());
    if (!queryT || !accT)
      return op.emitOpError("query and acc tiles must have unit row stride");
    keyCount = memref::DimOp::create(b, op.getKey(), 0);
    zero = e.index(0);
    if (programs.hasMask()) {
      nonFinite = emitHasNonFiniteValue(e, op.getValue(), keyCount);
      // Fewer rows and more keys in a register tile: a narrow group of rows
      // sees fewer of the block's keys, and the others are left out.
      for (; vectors > 2; vectors /= 2)
        keyRows = std::min<int64_t>(2 * keyRows, 8);
      width = lanes * vectors;
    }
    // Rows in whole register tiles, then what is left by single vectors, unless
    // that is most of a register tile anyway. Tiles of masked blocks are
    // narrow, and those blocks few: they do without code of their own for what
    // is left.
    rowCount = op.getRows() ? op.getRows() : e.index(queryRows);
    if (vectors == 1 || programs.hasMask()) {
      emitGroups(zero, rowCount);
      return success();
    }
    Value slack = e.index(width / 4);
    Value wide = arith::MulIOp::create(
        b, arith::DivUIOp::create(b, add(rowCount, slack), e.index(width)),
        e.index(width));
    emitGroups(zero, wide);
    // The exact form alone serves the few rows that are left: it costs a pass
    // over the scores, the steady state would cost compile time.
    lazyMaximum = false;
    keyRows = std::min<int64_t>(2 * keyRows, 8);
    vectors = 1;
    width = lanes;
    emitGroups(wide, rowCount);
    return success();
  }

private:
  using Vectors = SmallVector<Value>;

  void emitGroups(Value from, Value to) {
    emitLoop(b, from, to, width, {},
             [&](Value group, ValueRange) -> SmallVector<Value> {
               emitGroup(group);
               return {};
             });
  }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  Value add(Value x, int64_t y) {
    return y == 0 ? x : arith::AddIOp::create(b, x, e.index(y)).getResult();
  }

  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }

  /// The products of keys with queries over the features, while the values of
  /// the keys from `j` on are prefetched, a line or so a feature: the weighted
  /// sum goes down the columns of a block, faster than memory delivers lines.
  /// The first group of rows does it for all; blocks with a mask are few.
  Vectors emitKeyProducts(Value j, ValueRange init,
                          function_ref<Value(Value, int64_t)> key,
                          function_ref<Value(Value, int64_t)> query) {
    if (programs.hasMask())
      return emitOuterProduct(e, zero, e.index(headDim), keyRows, vectors, init,
                              key, query);
    // A few lines for every few features: all at once would wait for memory,
    // and a test for each feature costs what the loop has no room for.
    constexpr int64_t kFeatures = 16, kLineBits = 64 * 8;
    auto type = cast<MemRefType>(op.getValue().getType());
    int64_t columns = kLineBits / type.getElementTypeBitWidth();
    auto keyLines = static_cast<int64_t>(llvm::divideCeil(valueDim, columns));
    int64_t lines = keyRows * keyLines;
    auto perStep = static_cast<int64_t>(
        llvm::divideCeil(lines, llvm::divideCeil(headDim, kFeatures)));
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, zero);
    Value fetched = arith::SelectOp::create(b, isFirst, e.index(lines), zero);
    auto prefetch = [&](Value line, ValueRange) -> Vectors {
      Value count = e.index(keyLines);
      Value row = add(j, arith::DivUIOp::create(b, line, count));
      Value column = arith::MulIOp::create(
          b, arith::RemUIOp::create(b, line, count), e.index(columns));
      e.prefetch(op.getValue(), {row, column});
      return {};
    };
    return emitLoop(
        b, zero, e.index(headDim), kFeatures, init,
        [&](Value d, ValueRange sums) -> Vectors {
          Value step = arith::DivUIOp::create(b, d, e.index(kFeatures));
          Value line = arith::MulIOp::create(b, step, e.index(perStep));
          Value end = arith::MinSIOp::create(b, add(line, perStep), fetched);
          emitLoop(b, line, end, 1, {}, prefetch);
          end = add(d, kFeatures);
          if (headDim % kFeatures)
            end = arith::MinSIOp::create(b, end, e.index(headDim));
          return emitOuterProduct(e, d, end, keyRows, vectors, sums, key,
                                  query);
        });
  }

  /// The sums of `weight * tanh(key + query)` over the features.
  Vectors emitAdditiveSums(ValueRange init,
                           function_ref<Value(Value, int64_t)> key,
                           function_ref<Value(Value, int64_t)> query) {
    return emitLoop(
        b, zero, e.index(headDim), 1, init,
        [&](Value d, ValueRange carried) -> Vectors {
          Vectors next(carried), queries;
          Value weight = e.broadcast(
              e.convert(memref::LoadOp::create(b, op.getAdditive(), d)));
          for (int64_t v = 0; v < vectors; ++v)
            queries.push_back(query(d, v));
          for (int64_t r = 0; r < keyRows; ++r) {
            Value k = key(d, r);
            for (int64_t v = 0; v < vectors; ++v) {
              Value sum = arith::AddFOp::create(b, k, queries[v]);
              Value &score = next[r * vectors + v];
              score = e.fma(weight, math::TanhOp::create(b, sum), score);
            }
          }
          return next;
        });
  }

  /// Key `j + r` of the block, or its last one where there are fewer.
  Value clampKey(Value j, int64_t r) {
    if (r == 0)
      return j;
    Value last = arith::SubIOp::create(b, keyCount, e.index(1));
    return arith::MinSIOp::create(b, add(j, r), last);
  }

  /// Scores of keys [j, j + keyRows), one vector list a key, hidden ones -inf,
  /// or 0 where scores are weights.
  /// Past the end the last key is repeated: no second copy of the code for what
  /// is left of a block. `start[v]` is what the accumulators of vector `v`
  /// start from. With a score program, `start` is subtracted after it instead.
  SmallVector<Vectors> scores(Value j, ValueRange start) {
    // What comes between the sums and the score is no part of `start`.
    bool scaled = op.getScale() && !op.getScale()->isExactlyValue(1.0);
    bool program = programs.hasScore() || scaled;
    Vectors init, keys;
    Value none = e.splat(0.0);
    Value hidden = op.getUnnormalized() ? none : e.splat(-INFINITY);
    for (int64_t r = 0; r < keyRows; ++r) {
      keys.push_back(clampKey(j, r));
      for (int64_t v = 0; v < vectors; ++v)
        init.push_back(program || start.empty() ? none : start[v]);
    }
    auto key = [&](Value d, int64_t r) {
      return e.broadcast(e.convert(
          memref::LoadOp::create(b, op.getKey(), ValueRange{keys[r], d})));
    };
    auto query = [&](Value d, int64_t v) {
      return e.load(queryT, {d, add(group, v * lanes)});
    };
    Vectors flat = op.getAdditive() ? emitAdditiveSums(init, key, query)
                                    : emitKeyProducts(j, init, key, query);
    SmallVector<Vectors> result(keyRows);
    for (int64_t r = 0; r < keyRows; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        Value s = flat[r * vectors + v];
        Value key = keys[r];
        if (program) {
          if (scaled)
            s = arith::MulFOp::create(
                b, s, e.splat(op.getScale()->convertToDouble()));
          if (programs.hasScore())
            s = programs.score(s, key, v);
          if (!start.empty())
            s = arith::AddFOp::create(b, s, start[v]);
        }
        if (programs.hasMask())
          s = arith::SelectOp::create(b, programs.visible(key, v), s, hidden);
        result[r].push_back(s);
      }
    return result;
  }

  //===--------------------------------------------------------------------===//
  // One group of query rows
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

  void storeWeight(Value weight, Value j, int64_t v) {
    e.store(weight, weights, {j, e.index(v * lanes)});
  }

  Value loadWeight(Value j, int64_t v) {
    return e.load(weights, {j, e.index(v * lanes)});
  }

  /// 1 in every lane when key `j` of the block exists, else 0.
  Value countOf(Value j) {
    Value exists =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, j, keyCount);
    return e.broadcast(
        arith::SelectOp::create(b, exists, e.constant(1.0), e.constant(0.0)));
  }

  void emitGroup(Value groupOffset) {
    group = groupOffset;
    keyBegin = zero;
    keyEnd = keyCount;
    if (!programs.hasMask())
      return emitGroupBody();
    emitKeyBounds();
    auto seesAny = scf::IfOp::create(
        b,
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, keyBegin, keyEnd),
        /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(seesAny.thenBlock());
    emitGroupBody();
  }

  /// The keys of the block that the group's rows may see, in whole register
  /// tiles.
  void emitKeyBounds() {
    Value first = add(op.getI(), group);
    Value last =
        arith::MinSIOp::create(b, add(first, width), add(op.getI(), rowCount));
    TileBounds bounds =
        emitTileBounds(b, op.getMask(), op.getB(), op.getH(), op.getH(), first,
                       last, op.getJ(), keyCount);
    Value step = e.index(keyRows);
    auto roundDown = [&](Value key) -> Value {
      return arith::MulIOp::create(b, arith::DivUIOp::create(b, key, step),
                                   step);
    };
    Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                          bounds.lower, bounds.upper);
    keyBegin = roundDown(bounds.lower);
    keyEnd = arith::MinSIOp::create(
        b, roundDown(add(bounds.upper, keyRows - 1)), keyCount);
    keyEnd = arith::SelectOp::create(b, isEmpty, keyBegin, keyEnd);
  }

  void emitGroupBody() {
    Value sees =
        programs.beginGroup(group, vectors, rowCount, keyBegin, keyEnd);
    OpBuilder::InsertionGuard guard(b);
    if (sees) {
      auto seesAny = scf::IfOp::create(b, sees, /*withElseRegion=*/false);
      b.setInsertionPointToStart(seesAny.thenBlock());
    }
    if (op.getUnnormalized())
      emitScoresAsWeights();
    else if (lazyMaximum)
      emitLazyOrExactBlock(loadState(op.getMax()));
    else
      emitExactBlock(loadState(op.getMax()));
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

  ImplicitLocOpBuilder &b;
  OnlineAttentionOp op;
  VectorEmitter e;
  ProgramOnLanes programs;
  Value weights;
  int64_t lanes, queryRows, headDim, valueDim;
  /// The register tile that is being emitted: keys times vectors of rows.
  int64_t keyRows, vectors, width;
  bool lazyMaximum = true;
  /// The tiles with query rows innermost: `[D, M]` and `[Dv, M]`.
  Value queryT, accT;
  Value keyCount, rowCount, zero, group;
  /// The keys of the block that matter to the group.
  Value keyBegin, keyEnd;
  /// i1: whether a value of the block is NaN or infinite; null without a mask.
  Value nonFinite;
};

} // namespace

void attn::remarkScalarPrograms(OnlineAttentionOp op) {
  for (Region &program : op->getRegions()) {
    Operation *culprit;
    if (!program.empty() && !isVectorizableProgram(program, &culprit))
      remark::missed(
          op.getLoc(),
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
