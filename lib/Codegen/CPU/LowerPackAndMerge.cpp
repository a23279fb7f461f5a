//===- LowerPackAndMerge.cpp - First and last step of a tile
//---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Packing transposes a tile of queries into lanes; merging normalises the state
// and transposes it back into the caller's rows.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "VectorEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

namespace {

constexpr double kLn2 = 0.693147180559945309;

Value constantF32(ImplicitLocOpBuilder &b, float value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}

Value toF32(ImplicitLocOpBuilder &b, Value scalar) {
  if (scalar.getType().isF32())
    return scalar;
  if (scalar.getType().getIntOrFloatBitWidth() > 32)
    return arith::TruncFOp::create(b, b.getF32Type(), scalar);
  return arith::ExtFOp::create(b, b.getF32Type(), scalar);
}

Value fromF32(ImplicitLocOpBuilder &b, Value scalar, Type type) {
  if (type.isF32())
    return scalar;
  if (type.getIntOrFloatBitWidth() > 32)
    return arith::ExtFOp::create(b, type, scalar);
  return arith::TruncFOp::create(b, type, scalar);
}

/// Calls `body(i)` for i in [lower, upper).
void forEach(ImplicitLocOpBuilder &b, Value lower, Value upper,
             function_ref<void(Value)> body) {
  emitLoop(b, lower, upper, 1, {},
           [&](Value i, ValueRange) -> SmallVector<Value> {
             body(i);
             return {};
           });
}

} // namespace

LogicalResult attn::lowerPack(RewriterBase &rewriter, PackOp op,
                              TargetAttr target) {
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  auto destType = cast<MemRefType>(op.getDest().getType());
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value rows = memref::DimOp::create(b, op.getSource(), 0);
  Value columns = memref::DimOp::create(b, op.getSource(), 1);
  Value allRows = arith::ConstantIndexOp::create(b, destType.getDimSize(0));
  Value allColumns = arith::ConstantIndexOp::create(b, destType.getDimSize(1));
  Value factor =
      constantF32(b, static_cast<float>(op.getFactor().convertToDouble()));
  Value none = constantF32(b, 0.0f);
  auto storeAt = [&](Value value, Value r, Value d) {
    memref::StoreOp::create(b, fromF32(b, value, destType.getElementType()),
                            op.getDest(), ValueRange{r, d});
  };
  forEach(b, zero, rows, [&](Value r) {
    forEach(b, zero, columns, [&](Value d) {
      Value x =
          toF32(b, memref::LoadOp::create(b, op.getSource(), ValueRange{r, d}));
      storeAt(arith::MulFOp::create(b, x, factor), r, d);
    });
    forEach(b, columns, allColumns, [&](Value d) { storeAt(none, r, d); });
  });
  forEach(b, rows, allRows, [&](Value r) {
    forEach(b, zero, allColumns, [&](Value d) { storeAt(none, r, d); });
  });
  rewriter.eraseOp(op);
  return success();
}

LogicalResult attn::lowerMergePartials(RewriterBase &rewriter,
                                       MergePartialsOp op, TargetAttr target) {
  auto accType = cast<MemRefType>(op.getAcc().getType());
  if (accType.getDimSize(0) != 1)
    return op.emitOpError() << "has " << accType.getDimSize(0)
                            << " partials, but the CPU kernel merges 1";
  for (Value state : {op.getAcc(), op.getMax(), op.getSum()})
    if (!getElementTypeOrSelf(state.getType()).isF32())
      return op.emitOpError("partials must be f32 to be lowered, got ")
             << state.getType();
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Type outType = cast<MemRefType>(op.getOutput().getType()).getElementType();
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value rows = memref::DimOp::create(b, op.getOutput(), 0);
  Value columns = memref::DimOp::create(b, op.getOutput(), 1);
  Value none = constantF32(b, 0.0f), one = constantF32(b, 1.0f);
  forEach(b, zero, rows, [&](Value r) {
    Value sum = memref::LoadOp::create(b, op.getSum(), ValueRange{zero, r});
    // An empty row has sum 0 and a zero accumulator.
    Value empty =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, none);
    Value divisor = arith::SelectOp::create(b, empty, one, sum);
    Value reciprocal = arith::DivFOp::create(b, one, divisor);
    forEach(b, zero, columns, [&](Value d) {
      Value x = memref::LoadOp::create(b, op.getAcc(), ValueRange{zero, r, d});
      memref::StoreOp::create(
          b, fromF32(b, arith::MulFOp::create(b, x, reciprocal), outType),
          op.getOutput(), ValueRange{r, d});
    });
    if (Value lse = op.getLogSumExp()) {
      Value max = memref::LoadOp::create(b, op.getMax(), ValueRange{zero, r});
      if (op.getLog2())
        max = arith::MulFOp::create(b, max,
                                    constantF32(b, static_cast<float>(kLn2)));
      Value natural =
          arith::AddFOp::create(b, max, math::LogOp::create(b, divisor));
      Value value =
          arith::SelectOp::create(b, empty, constantF32(b, -INFINITY), natural);
      Type type = cast<MemRefType>(lse.getType()).getElementType();
      memref::StoreOp::create(b, fromF32(b, value, type), lse, ValueRange{r});
    }
  });
  rewriter.eraseOp(op);
  return success();
}
