//===- LowerMatrixTile.cpp - Register tiles of matrix products ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The outer-product micro-kernel of attention without the softmax: rows of A by
// scalar broadcast, a packed panel of B by vectors, C as accumulators.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "VectorEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

LogicalResult attn::lowerMatrixTile(RewriterBase &rewriter, linalg::MatmulOp op,
                                    TargetAttr target) {
  auto schedule = op->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
  Value lhs = op.getInputs()[0], panel = op.getInputs()[1];
  Value result = op.getOutputs()[0];
  SmallVector<int64_t> strides;
  int64_t offset, columns = schedule.getTile()[1];
  if (failed(cast<MemRefType>(panel.getType())
                 .getStridesAndOffset(strides, offset)) ||
      strides[0] != columns || strides[1] != 1)
    return op.emitOpError() << "panel must have row stride " << columns
                            << " to be lowered, got " << panel.getType();
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  int64_t lanes = schedule.getLanes(), vectors = schedule.getRegisters()[1];
  VectorEmitter e(b, target.getIsa(), lanes);
  Value zero = e.index(0);
  Value depth = memref::DimOp::create(b, lhs, 1);
  Value rows = memref::DimOp::create(b, result, 0);
  Value used = memref::DimOp::create(b, result, 1);
  auto add = [&](Value x, int64_t y) -> Value {
    return y == 0 ? x : arith::AddIOp::create(b, x, e.index(y)).getResult();
  };

  /// Rows [row, row + count) of columns [column, column + width); with `ragged`
  /// only the columns below `used` are touched.
  auto emitTile = [&](Value row, int64_t count, Value column, bool ragged) {
    SmallVector<Value> masks, init;
    if (ragged)
      for (int64_t v = 0; v < vectors; ++v)
        masks.push_back(e.firstLanes(
            arith::SubIOp::create(b, used, add(column, v * lanes))));
    for (int64_t r = 0; r < count; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        SmallVector<Value> at{add(row, r), add(column, v * lanes)};
        init.push_back(ragged
                           ? e.maskedLoad(result, at, masks[v], e.splat(0.0f))
                           : e.load(result, at));
      }
    SmallVector<Value> sums = emitOuterProduct(
        e, zero, depth, count, vectors, init,
        [&](Value k, int64_t r) {
          return e.broadcast(
              memref::LoadOp::create(b, lhs, ValueRange{add(row, r), k}));
        },
        // Panels are padded to whole tiles: a full vector is always there.
        [&](Value k, int64_t v) {
          return e.load(panel, {k, add(column, v * lanes)});
        });
    for (int64_t r = 0; r < count; ++r)
      for (int64_t v = 0; v < vectors; ++v) {
        SmallVector<Value> at{add(row, r), add(column, v * lanes)};
        Value sum = sums[r * vectors + v];
        if (ragged)
          e.maskedStore(sum, result, at, masks[v]);
        else
          e.store(sum, result, at);
      }
  };

  int64_t width = vectors * lanes;
  emitLoop(b, zero, used, width, {},
           [&](Value column, ValueRange) -> SmallVector<Value> {
             Value whole = arith::CmpIOp::create(b, arith::CmpIPredicate::sle,
                                                 add(column, width), used);
             auto either = scf::IfOp::create(b, whole, /*withElseRegion=*/true);
             OpBuilder::InsertionGuard guard(b);
             for (bool ragged : {false, true}) {
               b.setInsertionPointToStart(ragged ? either.elseBlock()
                                                 : either.thenBlock());
               emitGroupedLoop(b, rows, schedule.getRegisters()[0], {},
                               [&](Value row, ValueRange,
                                   int64_t count) -> SmallVector<Value> {
                                 emitTile(row, count, column, ragged);
                                 return {};
                               });
             }
             return {};
           });
  rewriter.eraseOp(op);
  return success();
}
