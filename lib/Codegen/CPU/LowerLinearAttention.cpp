//===- LowerLinearAttention.cpp - Linear attention of one head ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearAttention.h"
#include "attn/Codegen/Common/Views.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

static MemRefType typeOf(Value memref) {
  return cast<MemRefType>(memref.getType());
}

LinearAttentionLowering::LinearAttentionLowering(RewriterBase &rewriter,
                                                 ImplicitLocOpBuilder &b,
                                                 LinearAttentionOp op,
                                                 TargetAttr target)
    : rewriter(rewriter), b(b), op(op), target(target),
      e(b, target.getIsa(), target.getLanes()) {
  ScheduleAttr schedule = *op.getSchedule();
  isChunked = schedule.getKernel() == Kernel::ChunkedState;
  chunk = schedule.getTile()[0];
  depth = typeOf(op.getKey()).getDimSize(3);
  paddedDepth = llvm::alignTo(depth, e.getLanes());
  group = typeOf(op.getQuery()).getDimSize(1);
  registerRows = schedule.getRegisters()[0];
  vectors = schedule.getRegisters()[1];
  width = vectors * e.getLanes();
}

Value LinearAttentionLowering::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(x, y);
}
Value LinearAttentionLowering::add(Value x, int64_t y) {
  return y == 0 ? x : add(x, e.index(y));
}
Value LinearAttentionLowering::sub(Value x, Value y) {
  return b.createOrFold<arith::SubIOp>(x, y);
}
Value LinearAttentionLowering::min(Value x, Value y) {
  return b.createOrFold<arith::MinSIOp>(x, y);
}
Value LinearAttentionLowering::loadScalar(Value memref, ValueRange indices) {
  return memref::LoadOp::create(b, memref, indices);
}

Value LinearAttentionLowering::allocate(ArrayRef<int64_t> shape) {
  return memref::AllocOp::create(b, MemRefType::get(shape, b.getF32Type()));
}

LogicalResult LinearAttentionLowering::run() {
  zero = e.index(0);
  tokens = b.createOrFold<memref::DimOp>(op.getKey(), 2);
  columns = b.createOrFold<memref::DimOp>(op.getValue(), 3);
  panelCount =
      b.createOrFold<arith::DivUIOp>(add(columns, width - 1), e.index(width));
  int64_t panels = op.getSchedule()->getTile()[1] / width;
  int64_t chunkLanes = llvm::alignTo(chunk, e.getLanes());
  state = allocate({panels, depth, width});
  values = allocate({panels, chunk, width});
  queries = allocate({isChunked ? 1 : group, chunk, paddedDepth});
  keys = allocate({chunk, paddedDepth});
  rowBuffer = allocate({width});
  if (op.hasRowDecay()) {
    gates = allocate({chunk, paddedDepth});
    if (op.getBeta())
      gatedKeys = allocate({chunk, paddedDepth});
  } else if (op.getDecay()) {
    gates = allocate({chunkLanes});
  }
  if (op.getBeta())
    betas = allocate({chunkLanes});
  if (isChunked) {
    keysT = allocate({paddedDepth, chunk});
    scores = allocate({chunk, chunk});
    if (op.getDecay()) {
      decays = allocate({chunk, chunk});
      starts = allocate({chunk});
    }
  }

  if (failed(loadState()))
    return failure();
  LogicalResult result = success();
  emitLoop(b, zero, tokens, chunk, {}, [&](Value token, ValueRange) -> Vectors {
    first = token;
    count = min(e.index(chunk), sub(tokens, token));
    if (failed(loadChunk()) ||
        failed(isChunked ? emitChunk() : emitRecurrence()))
      result = failure();
    return {};
  });
  if (op.getFinal())
    storeState();
  return result;
}

//===----------------------------------------------------------------------===//
// Views and copies
//===----------------------------------------------------------------------===//

Value LinearAttentionLowering::view(Value memref, ValueRange leading, Value row,
                                    Value rows, OpFoldResult column,
                                    OpFoldResult columns) {
  SmallVector<OpFoldResult> offsets = getAsOpFoldResult(leading),
                            sizes(leading.size(), b.getIndexAttr(1));
  llvm::append_values(offsets, getAsOpFoldResult(row), column);
  llvm::append_values(sizes, getAsOpFoldResult(rows), columns);
  return viewTrailing(b, memref, offsets, sizes, 2);
}

Value LinearAttentionLowering::viewRows(Value memref, ValueRange leading,
                                        Value row, Value rows) {
  return view(memref, leading, row, rows, b.getIndexAttr(0),
              b.getIndexAttr(typeOf(memref).getShape().back()));
}

LogicalResult LinearAttentionLowering::pack(Value source, Value dest,
                                            double factor) {
  auto op =
      PackOp::create(b, TypeRange(), source, dest, b.getF64FloatAttr(factor));
  return lowerPack(rewriter, op, target);
}

LogicalResult LinearAttentionLowering::packPanels(Value source, Value row,
                                                  Value rows, Value panels) {
  LogicalResult result = success();
  auto packPart = [&](Value panel, OpFoldResult size) {
    Value column = arith::MulIOp::create(b, panel, e.index(width));
    if (failed(pack(view(source, {zero, zero}, row, rows, column, size),
                    viewRows(panels, panel, zero, rows))))
      result = failure();
  };
  // Whole panels need no masks, which are slow for narrow floats before
  // AVX-512.
  Value whole = b.createOrFold<arith::DivUIOp>(columns, e.index(width));
  forEach(b, zero, whole,
          [&](Value panel) { packPart(panel, b.getIndexAttr(width)); });
  if (std::optional<int64_t> known = getConstantIntValue(columns)) {
    if (*known % width)
      packPart(whole, b.getIndexAttr(*known % width));
    return result;
  }
  forEach(b, whole, panelCount, [&](Value panel) {
    packPart(panel,
             arith::RemUIOp::create(b, columns, e.index(width)).getResult());
  });
  return result;
}

LogicalResult LinearAttentionLowering::loadState() {
  Value rows = e.index(depth);
  if (op.getInitial())
    return packPanels(op.getInitial(), zero, rows, state);
  forEach(b, zero, panelCount, [&](Value panel) {
    forEach(b, zero, rows, [&](Value row) {
      storePanel(Vectors(vectors, e.splat(0.0f)), state, panel, row);
    });
  });
  return success();
}

void LinearAttentionLowering::storeState() {
  forEach(b, zero, panelCount, [&](Value panel) {
    forEach(b, zero, e.index(depth), [&](Value row) {
      storeColumns(loadPanel(state, panel, row), op.getFinal(), zero, row,
                   panel);
    });
  });
}

LinearAttentionLowering::Vectors
LinearAttentionLowering::loadPanel(Value panels, Value panel, Value row) {
  Vectors result;
  for (int64_t v = 0; v < vectors; ++v)
    result.push_back(e.load(panels, {panel, row, e.index(v * e.getLanes())}));
  return result;
}

void LinearAttentionLowering::storePanel(ValueRange values, Value panels,
                                         Value panel, Value row) {
  for (auto [v, value] : llvm::enumerate(values))
    e.store(value, panels, {panel, row, e.index(v * e.getLanes())});
}

void LinearAttentionLowering::storeColumns(ValueRange values, Value memref,
                                           Value head, Value row, Value panel) {
  Type type = typeOf(memref).getElementType();
  Value column = arith::MulIOp::create(b, panel, e.index(width));
  Value left = sub(columns, column);
  if (!hasUnitColumns(memref)) {
    for (auto [v, value] : llvm::enumerate(values))
      e.store(value, rowBuffer, e.index(v * e.getLanes()));
    forEach(b, zero, min(left, e.index(width)), [&](Value d) {
      Value x = loadScalar(rowBuffer, d);
      memref::StoreOp::create(b, convertToFloat(b, x, type), memref,
                              ValueRange{zero, head, row, add(column, d)});
    });
    return;
  }
  auto store = [&](bool ragged) {
    for (auto [v, value] : llvm::enumerate(values)) {
      int64_t from = v * e.getLanes();
      Value x = value;
      if (!type.isF32())
        x = arith::TruncFOp::create(b, e.vectorType(type), x);
      SmallVector<Value> at{zero, head, row, add(column, from)};
      if (ragged)
        e.maskedStore(x, memref, at, e.firstLanes(sub(left, e.index(from))));
      else
        e.store(x, memref, at);
    }
  };
  if (std::optional<int64_t> known = getConstantIntValue(columns);
      known && *known % width == 0)
    return store(/*ragged=*/false);
  Value whole =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, left, e.index(width));
  auto either = scf::IfOp::create(b, whole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  for (bool ragged : {false, true}) {
    b.setInsertionPointToStart(ragged ? either.elseBlock()
                                      : either.thenBlock());
    store(ragged);
  }
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

LogicalResult LinearAttentionLowering::loadChunk() {
  SmallVector<Value> head{zero, zero};
  if (failed(pack(viewRows(op.getKey(), head, first, count),
                  viewRows(keys, {}, zero, count))) ||
      failed(packPanels(op.getValue(), first, count, values)))
    return failure();
  for (Value operand : {op.getKey(), op.getValue()})
    prefetchNextChunk(operand, zero);
  if (op.getBeta())
    loadTokens(op.getBeta(), betas);
  if (!op.getDecay())
    return success();
  if (!op.hasRowDecay()) {
    loadTokens(op.getDecay(), gates);
    return success();
  }
  if (failed(pack(viewRows(op.getDecay(), head, first, count),
                  viewRows(gates, {}, zero, count))))
    return failure();
  forEach(b, zero, count, [&](Value t) {
    emitLoop(b, zero, e.index(paddedDepth), e.getLanes(), {},
             [&](Value d, ValueRange) -> Vectors {
               Value factor = gate(e.load(gates, {t, d}));
               e.store(factor, gates, {t, d});
               if (gatedKeys)
                 e.store(arith::MulFOp::create(b, factor, e.load(keys, {t, d})),
                         gatedKeys, {t, d});
               return {};
             });
  });
  return success();
}

void LinearAttentionLowering::prefetchNextChunk(Value memref, Value head) {
  Value extent = b.createOrFold<memref::DimOp>(memref, 3);
  forEach(b, zero, count, [&](Value t) {
    Value row = add(add(first, chunk), t);
    emitLoop(b, zero, extent, columnsOfLine(memref), {},
             [&](Value d, ValueRange) -> Vectors {
               e.prefetch(memref, {zero, head, row, d});
               return {};
             });
  });
}

LogicalResult LinearAttentionLowering::loadQueries(Value head, Value dest) {
  prefetchNextChunk(op.getQuery(), head);
  return pack(viewRows(op.getQuery(), {zero, head}, first, count),
              viewRows(queries, dest, zero, count),
              op.getScale().convertToDouble());
}

void LinearAttentionLowering::loadTokens(Value source, Value dest) {
  Value extent = e.index(typeOf(dest).getDimSize(0));
  forEach(b, zero, count, [&](Value t) {
    Value x = loadScalar(source, {zero, zero, add(first, t)});
    memref::StoreOp::create(b, e.convert(x), dest, t);
  });
  forEach(b, count, extent, [&](Value t) {
    memref::StoreOp::create(b, e.constant(0.0), dest, t);
  });
}

Value LinearAttentionLowering::gate(Value x) {
  // x = k ln(2) + r with k the nearest integer, so that nothing is rounded
  // where x is small. Thresholds keep 2^k and the result normal.
  auto compare = [&](arith::CmpFPredicate predicate, float bound) {
    return arith::CmpFOp::create(b, predicate, x, e.splat(bound));
  };
  Value vanishes = compare(arith::CmpFPredicate::OLT, -87.33f);
  Value beyond = compare(arith::CmpFPredicate::OGT, 88.37f);
  Value none = e.splat(0.0f);
  Value y = arith::SelectOp::create(b, vanishes, none, x);
  y = arith::SelectOp::create(b, beyond, none, y);
  // Adding 1.5 * 2^23 rounds to an integer in the low bits of the mantissa.
  Value magic = e.splat(12582912.0f);
  Value shifted = e.fma(y, e.splat(kLog2E), magic);
  Value k = arith::SubFOp::create(b, shifted, magic);
  // ln(2) in two parts, the first with zeros at its end.
  Value r = e.fma(k, e.splat(-0.693145752f), y);
  r = e.fma(k, e.splat(-1.42860677e-6f), r);
  static constexpr float coefficients[] = {1.0f / 2,   1.0f / 6,   1.0f / 24,
                                           1.0f / 120, 1.0f / 720, 1.0f / 5040};
  Value p = e.splat(coefficients[5]);
  for (float coefficient : llvm::reverse(ArrayRef(coefficients).drop_back()))
    p = e.fma(p, r, e.splat(coefficient));
  p = arith::AddFOp::create(b, e.splat(1.0f),
                            e.fma(arith::MulFOp::create(b, r, r), p, r));
  VectorType bits = e.vectorType(b.getI32Type());
  auto integer = [&](int32_t value) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(bits, ArrayRef<int32_t>(value)));
  };
  Value power = arith::AddIOp::create(
      b,
      arith::ShLIOp::create(b, arith::BitcastOp::create(b, bits, shifted),
                            integer(23)),
      integer(0x3f800000));
  Value result = arith::MulFOp::create(
      b, p, arith::BitcastOp::create(b, e.vectorType(), power));
  result = arith::SelectOp::create(b, vanishes, none, result);
  return arith::SelectOp::create(b, beyond, e.splat(INFINITY), result);
}

/// Whether `op` is what a task has.
static LogicalResult verifyTask(LinearAttentionOp op) {
  if (!op.getSchedule())
    return op.emitOpError("has no schedule to be lowered by");
  ScheduleAttr schedule = *op.getSchedule();
  if (!isStateKernel(schedule.getKernel()))
    return op.emitOpError("has the schedule of ")
           << stringifyKernel(schedule.getKernel())
           << ", expected one of linear attention";
  if (schedule.getKernel() == Kernel::ChunkedState &&
      (op.getBeta() || op.hasRowDecay()))
    return op.emitOpError("has the schedule of ")
           << stringifyKernel(schedule.getKernel()) << ", which has no "
           << (op.getBeta() ? "beta" : "decay of each row");
  if (!op.hasKernel())
    return op.emitOpError("has no kernel for its element types");
  MemRefType key = typeOf(op.getKey()), value = typeOf(op.getValue());
  if (key.getDimSize(0) != 1 || key.getDimSize(1) != 1)
    return op.emitOpError("must have one batch element and one key head to be "
                          "lowered, got ")
           << key;
  if (!value.isDynamicDim(3) && value.getDimSize(3) > schedule.getTile()[1])
    return op.emitOpError("has a schedule of ")
           << schedule.getTile()[1] << " columns, but values of "
           << value.getDimSize(3);
  for (Value operand : op->getOperands())
    if (!typeOf(operand).isStrided())
      return op.emitOpError("must have strided operands to be lowered, got ")
             << operand.getType();
  return success();
}

LogicalResult attn::lowerLinearAttention(RewriterBase &rewriter,
                                         LinearAttentionOp op,
                                         TargetAttr target) {
  if (failed(verifyTask(op)))
    return failure();
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  if (failed(LinearAttentionLowering(rewriter, b, op, target).run()))
    return failure();
  rewriter.eraseOp(op);
  return success();
}
