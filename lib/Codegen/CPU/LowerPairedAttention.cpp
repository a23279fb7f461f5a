//===- LowerPairedAttention.cpp - Attention by products of bf16 pairs -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairedAttention.h"
#include "attn/Analysis/TileVisibility.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

bool PairedAttentionLowering::alternates(OnlineAttentionOp op) {
  ScheduleAttr schedule = *op.getSchedule();
  return schedule.getKernel() == Kernel::BF16Tiles && op.getMask().empty() &&
         op.getProbability().empty() && !op.getUnnormalized() &&
         startsAtMaximum(op) &&
         llvm::all_equal({int64_t(2), schedule.getRegisters()[0],
                          schedule.getRegisters()[1]}) &&
         cast<MemRefType>(op.getKey().getType()).getDimSize(1) <= 256 &&
         cast<MemRefType>(op.getValue().getType()).getDimSize(1) <= 256;
}

int64_t PairedAttentionLowering::getPanelsInSpan(OnlineAttentionOp op) {
  int64_t features = cast<MemRefType>(op.getValue().getType()).getDimSize(1);
  if (!alternates(op))
    return 1;
  // Each panel of a span has the same number of tiles to sum: two or more, as
  // one tile of values is multiplied by both tiles of weights, and two of them
  // share the loads of those.
  for (int64_t span : {4, 3, 2})
    if (features / kTile % span == 0 && features / kTile / span >= 2)
      return span;
  return 1;
}

PairedAttentionLowering::PairedAttentionLowering(ImplicitLocOpBuilder &b,
                                                 OnlineAttentionOp op,
                                                 TargetAttr target,
                                                 PairedScratch scratch,
                                                 ScratchAllocator allocate)
    : b(b), op(op), e(b, target.getIsa(), op.getSchedule()->getLanes()),
      programs(e, op, op.getSchedule()->getRegisters()[1], allocate),
      scratch(scratch), lanes(e.getLanes()) {
  ScheduleAttr schedule = *op.getSchedule();
  useTiles = schedule.getKernel() == Kernel::BF16Tiles;
  registerRows = schedule.getRegisters()[0];
  vectors = schedule.getRegisters()[1];
  width = vectors * lanes;
  span = getPanelsInSpan(op);
  scale = getScale(op);
}

LogicalResult PairedAttentionLowering::run() {
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
           << kTile << "-row tiles of " << kPanel << " bf16, got " << valueType;
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

SmallVector<Value> PairedAttentionLowering::loadState(Value memref) {
  Vectors state;
  for (int64_t v = 0; v < vectors; ++v)
    state.push_back(e.load(memref, stateIndex(v)));
  return state;
}

Value PairedAttentionLowering::hide(Value s, Value j, int64_t v) {
  if (!programs.hasMask())
    return s;
  return arith::SelectOp::create(b, programs.visible(clampKey(j), v), s,
                                 hiddenScore());
}

Value PairedAttentionLowering::hidePadding(Value s, Value j) {
  Value inside =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, j, keyCount);
  return arith::SelectOp::create(b, e.broadcast(inside), s, hiddenScore());
}

Value PairedAttentionLowering::toPairs(Value even, Value odd, bool checked) {
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
  // The upper halves of both, as a funnel shift: LLVM makes a permutation of
  // masks and shifts, which wants the port that tile products run on.
  Value high = arith::ShRUIOp::create(b, rounded(odd), integer(16));
  Value pair = LLVM::FshlOp::create(b, bits, high, rounded(even), integer(16));
  return vector::BitCastOp::create(b, pairsType(), pair);
}

void PairedAttentionLowering::emitGroup(Value groupOffset) {
  group = groupOffset;
  firstPanel = zero;
  panelEnd = memref::DimOp::create(b, op.getValue(), 0);
  if (!programs.hasMask())
    return emitGroupBody();
  emitPanelBounds();
  auto seesAny = scf::IfOp::create(
      b,
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, firstPanel, panelEnd),
      /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(seesAny.thenBlock());
  emitGroupBody();
}

void PairedAttentionLowering::emitPanelBounds() {
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

void PairedAttentionLowering::emitGroupBody() {
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
  state = emitPanels(state);
  storeState(ValueRange(state).take_front(vectors), op.getMax());
  storeState(ValueRange(state).drop_front(vectors), op.getSum());
}

SmallVector<Value> PairedAttentionLowering::emitExactPanel(Value panel,
                                                           ValueRange state) {
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
  MovedMaximum moved = emitMovedMaximum(e, max, newMax);
  Vectors base = moved.base, factor = moved.factor;
  Vectors sums(vectors, e.splat(0.0f));
  sums =
      emitWeights(panel, 0, kPanel, sums, /*checked=*/true,
                  [&](Value, Value row, int64_t v) {
                    Value s =
                        arith::SubFOp::create(b, loadScore(row, v), base[v]);
                    return exp2(arith::MulFOp::create(b, s, e.splat(kLog2E)));
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

Value PairedAttentionLowering::hasNonFiniteValue() {
  VectorType bits = VectorType::get({2 * lanes}, b.getI16Type());
  auto integer = [&](int16_t value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(bits, llvm::ArrayRef<int16_t>(value)));
  };
  Value panels = memref::DimOp::create(b, op.getValue(), 0);
  Value largest = emitLoop(
      b, zero, panels, 1, ValueRange(integer(0)),
      [&](Value panel, ValueRange outer) {
        return emitLoop(b, zero, e.index(valueDim), 1, outer,
                        [&](Value d, ValueRange carried) -> Vectors {
                          Value x = loadPairs(op.getValue(), {panel, d, zero});
                          x = arith::AndIOp::create(
                              b, vector::BitCastOp::create(b, bits, x),
                              integer(0x7fff));
                          return {arith::MaxUIOp::create(b, carried[0], x)};
                        });
      })[0];
  Value beyond = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, largest,
                                       integer(0x7f80));
  return e.anyLane(beyond);
}

void PairedAttentionLowering::emitWeightedSum(Value panel) {
  if (!programs.hasMask())
    return emitValueProducts(panel);
  auto guarded = scf::IfOp::create(b, nonFinite, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(guarded.thenBlock());
  forEach(b, zero, e.index(valueDim),
          [&](Value d) { emitSelectedSum(panel, d); });
  b.setInsertionPointToStart(guarded.elseBlock());
  emitValueProducts(panel);
}

void PairedAttentionLowering::emitSelectedSum(Value panel, Value d) {
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
        value = e.broadcast(e.convert(value));
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
