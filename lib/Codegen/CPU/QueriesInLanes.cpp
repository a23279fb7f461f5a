//===- QueriesInLanes.cpp - Scores of a block of keys ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueriesInLanes.h"
#include "TileLowering.h"
#include "attn/Analysis/TileVisibility.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

QueriesInLanes::QueriesInLanes(ImplicitLocOpBuilder &b, KeyBlockOpInterface op,
                               TargetAttr target, Value weights,
                               ScratchAllocator allocate)
    : block(op), b(b),
      e(b, target.getIsa(), op.getScheduleAttr().getLanes(), op.getScoreType()),
      programs(e, op, op.getScheduleAttr().getRegisters()[1], allocate),
      weights(weights) {
  ScheduleAttr schedule = op.getScheduleAttr();
  lanes = schedule.getLanes();
  keyRows = schedule.getRegisters()[0];
  vectors = schedule.getRegisters()[1];
  width = lanes * vectors;
  queryRows = cast<MemRefType>(op.getQuery().getType()).getDimSize(0);
  headDim = cast<MemRefType>(op.getKey().getType()).getDimSize(1);
}

LogicalResult QueriesInLanes::checkTiles(ValueRange state, ValueRange blocks) {
  for (Value tile : state) {
    auto type = cast<MemRefType>(tile.getType());
    if (!type.hasStaticShape() || (type.getElementType() != e.getType() &&
                                   !type.getElementType().isInteger(32)))
      return block->emitOpError("query and state tiles must be static and ")
             << e.getType() << " to be lowered, got " << type;
  }
  for (Value rows : blocks) {
    auto type = cast<MemRefType>(rows.getType());
    if (type.getElementTypeBitWidth() > e.getType().getWidth())
      return block->emitOpError("has no kernel for the element type ")
             << type.getElementType();
  }
  if (block.getScheduleAttr().getKernel() != Kernel::QueriesInLanes)
    return block->emitOpError("has the schedule of a matrix product");
  if (queryRows % width)
    return block->emitOpError()
           << "query tile has " << queryRows
           << " rows, expected a multiple of registers times lanes, " << width;
  return success();
}

void QueriesInLanes::emitRows() {
  keyCount = memref::DimOp::create(b, block.getKey(), 0);
  zero = e.index(0);
  // Fewer rows and more keys in a register tile: a narrow group of rows sees
  // fewer of the block's keys, and the others are left out.
  if (programs.hasMask()) {
    for (; vectors > 2; vectors /= 2)
      keyRows = std::min<int64_t>(2 * keyRows, 8);
    width = lanes * vectors;
  }
  // Rows in whole register tiles, then what is left by single vectors, unless
  // that is most of a register tile anyway. Tiles of masked blocks are narrow,
  // and those blocks few: they do without code of their own for what is left.
  rowCount = block.getRows() ? block.getRows() : e.index(queryRows);
  if (vectors == 1 || programs.hasMask())
    return emitGroups(zero, rowCount);
  Value slack = e.index(width / 4);
  Value wide = arith::MulIOp::create(
      b, arith::DivUIOp::create(b, add(rowCount, slack), e.index(width)),
      e.index(width));
  emitGroups(zero, wide);
  isRemainder = true;
  keyRows = std::min<int64_t>(2 * keyRows, 8);
  vectors = 1;
  width = lanes;
  emitGroups(wide, rowCount);
}

//===----------------------------------------------------------------------===//
// Groups of query rows
//===----------------------------------------------------------------------===//

void QueriesInLanes::emitGroups(Value from, Value to) {
  emitLoop(b, from, to, width, {},
           [&](Value group, ValueRange) -> SmallVector<Value> {
             emitGroup(group);
             return {};
           });
}

void QueriesInLanes::emitGroup(Value groupOffset) {
  group = groupOffset;
  keyBegin = zero;
  keyEnd = keyCount;
  if (!programs.hasMask())
    return emitVisibleGroup();
  emitKeyBounds();
  auto seesAny = scf::IfOp::create(
      b, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, keyBegin, keyEnd),
      /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(seesAny.thenBlock());
  emitVisibleGroup();
}

void QueriesInLanes::emitKeyBounds() {
  Value first = add(block.getI(), group);
  Value last =
      arith::MinSIOp::create(b, add(first, width), add(block.getI(), rowCount));
  TileBounds bounds =
      emitTileBounds(b, block.getMask(), block.getB(), block.getH(),
                     block.getH(), first, last, block.getJ(), keyCount);
  Value step = e.index(keyRows);
  auto roundDown = [&](Value key) -> Value {
    return arith::MulIOp::create(b, arith::DivUIOp::create(b, key, step), step);
  };
  Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                        bounds.lower, bounds.upper);
  keyBegin = roundDown(bounds.lower);
  keyEnd = arith::MinSIOp::create(b, roundDown(add(bounds.upper, keyRows - 1)),
                                  keyCount);
  keyEnd = arith::SelectOp::create(b, isEmpty, keyBegin, keyEnd);
}

void QueriesInLanes::emitVisibleGroup() {
  Value sees = programs.beginGroup(group, vectors, rowCount, keyBegin, keyEnd);
  OpBuilder::InsertionGuard guard(b);
  if (sees) {
    auto seesAny = scf::IfOp::create(b, sees, /*withElseRegion=*/false);
    b.setInsertionPointToStart(seesAny.thenBlock());
  }
  emitGroupBody();
}

QueriesInLanes::Vectors QueriesInLanes::loadState(Value memref) {
  Vectors state;
  for (int64_t v = 0; v < vectors; ++v)
    state.push_back(e.load(memref, stateIndex(v)));
  return state;
}

void QueriesInLanes::storeState(ValueRange state, Value memref) {
  for (int64_t v = 0; v < vectors; ++v)
    e.store(state[v], memref, stateIndex(v));
}

void QueriesInLanes::storeWeight(Value weight, Value j, int64_t v) {
  e.store(weight, weights, {j, e.index(v * lanes)});
}

Value QueriesInLanes::loadWeight(Value j, int64_t v) {
  return e.load(weights, {j, e.index(v * lanes)});
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value QueriesInLanes::add(Value x, int64_t y) {
  return y == 0 ? x : arith::AddIOp::create(b, x, e.index(y)).getResult();
}

Value QueriesInLanes::add(Value x, Value y) {
  return arith::AddIOp::create(b, x, y);
}

/// The products of keys with queries over the features, while the values of
/// the keys from `j` on are prefetched, a line or so a feature: the weighted
/// sum goes down the columns of a block, faster than memory delivers lines.
/// The first group of rows does it for all; blocks with a mask are few.
QueriesInLanes::Vectors
QueriesInLanes::emitKeyProducts(Value j, ValueRange init,
                                function_ref<Value(Value, int64_t)> key,
                                function_ref<Value(Value, int64_t)> query) {
  if (programs.hasMask() || !upcomingValues)
    return emitOuterProduct(e, zero, e.index(headDim), keyRows, vectors, init,
                            key, query);
  // A few lines for every few features: all at once would wait for memory,
  // and a test for each feature costs what the loop has no room for.
  constexpr int64_t kFeatures = 16;
  auto type = cast<MemRefType>(upcomingValues.getType());
  int64_t columns = columnsOfLine(upcomingValues);
  auto keyLines =
      static_cast<int64_t>(llvm::divideCeil(type.getDimSize(1), columns));
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
    e.prefetch(upcomingValues, {row, column});
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
        return emitOuterProduct(e, d, end, keyRows, vectors, sums, key, query);
      });
}

/// The sums of `weight * tanh(key + query)` over the features.
QueriesInLanes::Vectors
QueriesInLanes::emitAdditiveSums(ValueRange init,
                                 function_ref<Value(Value, int64_t)> key,
                                 function_ref<Value(Value, int64_t)> query) {
  return emitLoop(b, zero, e.index(headDim), 1, init,
                  [&](Value d, ValueRange carried) -> Vectors {
                    Vectors next(carried), queries;
                    Value weight = e.broadcast(e.convert(
                        memref::LoadOp::create(b, block.getAdditive(), d)));
                    for (int64_t v = 0; v < vectors; ++v)
                      queries.push_back(query(d, v));
                    for (int64_t r = 0; r < keyRows; ++r) {
                      Value k = key(d, r);
                      for (int64_t v = 0; v < vectors; ++v) {
                        Value sum = arith::AddFOp::create(b, k, queries[v]);
                        Value &score = next[r * vectors + v];
                        score =
                            e.fma(weight, math::TanhOp::create(b, sum), score);
                      }
                    }
                    return next;
                  });
}

Value QueriesInLanes::clampKey(Value j, int64_t r) {
  if (r == 0)
    return j;
  Value last = arith::SubIOp::create(b, keyCount, e.index(1));
  return arith::MinSIOp::create(b, add(j, r), last);
}

SmallVector<QueriesInLanes::Vectors> QueriesInLanes::scores(Value j,
                                                            ValueRange start) {
  // What comes between the sums and the score is no part of `start`.
  bool scaled = block.getScaleAttr() &&
                !block.getScaleAttr().getValue().isExactlyValue(1.0);
  bool program = programs.hasScore() || scaled;
  Vectors init, keys;
  Value none = e.splat(0.0);
  Value hidden = block.getUnnormalized() ? none : e.splat(-INFINITY);
  for (int64_t r = 0; r < keyRows; ++r) {
    keys.push_back(clampKey(j, r));
    for (int64_t v = 0; v < vectors; ++v)
      init.push_back(program || start.empty() ? none : start[v]);
  }
  auto key = [&](Value d, int64_t r) {
    return e.broadcast(e.convert(
        memref::LoadOp::create(b, block.getKey(), ValueRange{keys[r], d})));
  };
  auto query = [&](Value d, int64_t v) {
    return e.load(queryT, {d, add(group, v * lanes)});
  };
  Vectors flat = block.getAdditive() ? emitAdditiveSums(init, key, query)
                                     : emitKeyProducts(j, init, key, query);
  SmallVector<Vectors> result(keyRows);
  for (int64_t r = 0; r < keyRows; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      Value s = flat[r * vectors + v];
      Value key = keys[r];
      if (program) {
        if (scaled)
          s = arith::MulFOp::create(
              b, s, e.splat(block.getScaleAttr().getValueAsDouble()));
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

Value QueriesInLanes::countOf(Value j) {
  Value exists =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, j, keyCount);
  return e.broadcast(
      arith::SelectOp::create(b, exists, e.constant(1.0), e.constant(0.0)));
}
