//===- TileMatrixProduct.cpp - Matrix products to parallel tiles ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

static bool hasUnitInnermostStride(Value memref) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(cast<MemRefType>(memref.getType())
                       .getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

/// B is packed once into panels `[N / columns, K, columns]`; then each task
/// computes one tile of C from rows of A and one panel.
LogicalResult attn::tileMatrixProduct(RewriterBase &rewriter,
                                      MatrixProduct product,
                                      ScheduleAttr schedule) {
  if (!product.op.hasPureBufferSemantics())
    return product.op.emitOpError("must be on buffers to be tiled");
  if (schedule.getKernel() != Kernel::Gemm)
    return product.op.emitOpError("has the schedule of attention");
  // Vectors are stored along the rows of the result. One that lies otherwise is
  // left to the loops of linalg.
  if (!hasUnitInnermostStride(product.result) || !isStrided(product.lhs) ||
      !isStrided(product.rhs)) {
    product.op->removeAttr(kScheduleAttrName);
    return success();
  }
  rewriter.setInsertionPoint(product.op);
  ImplicitLocOpBuilder b(product.op.getLoc(), rewriter);
  IndexBuilder x{b};
  int64_t tileRows = schedule.getTile()[0], columns = schedule.getTile()[1];
  auto lhsType = cast<MemRefType>(product.lhs.getType());
  int64_t rank = lhsType.getRank();
  Value rows = x.dim(product.lhs, rank - 2);
  auto rhsType = cast<MemRefType>(product.rhs.getType());
  int64_t nDim = product.rhsTransposed ? 0 : 1;
  int64_t depthExtent = rhsType.getDimSize(1 - nDim);
  Value width = x.dim(product.rhs, nDim);
  Value panels = x.ceilDiv(width, columns);
  Type f32 = b.getF32Type();
  Value zero = x.constant(0), depth = x.constant(depthExtent);
  auto panelsType =
      MemRefType::get({ShapedType::kDynamic, depthExtent, columns}, f32);
  Value packed = memref::AllocOp::create(b, panelsType, ValueRange(panels));

  auto columnsOf = [&](Value panel) {
    return x.min(x.constant(columns),
                 x.sub(width, x.mul(panel, x.constant(columns))));
  };
  {
    OpBuilder::InsertionGuard guard(b);
    auto tasks = scf::ForallOp::create(
        b, ArrayRef<OpFoldResult>{getAsOpFoldResult(panels)}, ValueRange(),
        std::nullopt);
    b.setInsertionPointToStart(tasks.getBody());
    Value panel = tasks.getInductionVar(0);
    Value first = x.mul(panel, x.constant(columns));
    Value dest = viewRows(b, packed, panel, zero, depth);
    Value source;
    if (product.rhsTransposed) {
      source = viewRows(b, product.rhs, {}, first, columnsOf(panel));
      dest = transpose(b, dest);
    } else {
      source = memref::SubViewOp::create(
          b, product.rhs, ArrayRef<OpFoldResult>{b.getIndexAttr(0), first},
          ArrayRef<OpFoldResult>{b.getIndexAttr(depthExtent), columnsOf(panel)},
          ArrayRef<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)});
    }
    PackOp::create(b, TypeRange(), source, dest, b.getF64FloatAttr(1.0));
  }

  SmallVector<OpFoldResult> bounds;
  for (int64_t d = 0; d < rank - 2; ++d)
    bounds.push_back(getAsOpFoldResult(x.dim(product.lhs, d)));
  bounds.push_back(getAsOpFoldResult(x.ceilDiv(rows, tileRows)));
  bounds.push_back(getAsOpFoldResult(panels));
  {
    OpBuilder::InsertionGuard guard(b);
    auto tasks = scf::ForallOp::create(b, bounds, ValueRange(), std::nullopt);
    b.setInsertionPointToStart(tasks.getBody());
    SmallVector<Value> ivs(tasks.getInductionVars());
    ValueRange leading = ValueRange(ivs).drop_back(2);
    Value row = x.mul(ivs[rank - 2], x.constant(tileRows));
    Value panel = ivs[rank - 1];
    Value count = x.min(x.constant(tileRows), x.sub(rows, row));
    Value lhs = viewRows(b, product.lhs, leading, row, count);
    Value result = viewRows(b, product.result, leading, row, count);
    Value used = columnsOf(panel);
    auto slice = [&](Value memref, Value firstColumn) {
      OpFoldResult height = getAsOpFoldResult(x.dim(memref, 0));
      return memref::SubViewOp::create(
          b, memref,
          ArrayRef<OpFoldResult>{b.getIndexAttr(0),
                                 getAsOpFoldResult(firstColumn)},
          ArrayRef<OpFoldResult>{height, getAsOpFoldResult(used)},
          ArrayRef<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)});
    };
    Value rhs = slice(viewRows(b, packed, panel, zero, depth), zero);
    Value dest = slice(result, x.mul(panel, x.constant(columns)));
    auto tile =
        linalg::MatmulOp::create(b, ValueRange{lhs, rhs}, ValueRange{dest});
    tile->setAttr(kScheduleAttrName, schedule);
  }
  rewriter.eraseOp(product.op);
  return success();
}
