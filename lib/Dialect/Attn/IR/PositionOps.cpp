//===- PositionOps.cpp - Tables of positions ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace attn;

namespace {

/// An extent that only the run knows is an operand, as in tensor.empty.
LogicalResult verifySize(Operation *op, int64_t dim, Value size,
                         StringRef name) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (type.isDynamicDim(dim) == static_cast<bool>(size))
    return success();
  return op->emitOpError() << name << " must be given exactly when extent "
                           << dim << " of the result is unknown, got " << type
                           << (size ? " with " : " without ") << name
                           << " (C1)";
}

/// Result [1, T].
template <typename SequenceOp> LogicalResult verifySequence(SequenceOp op) {
  if (failed(verifySize(op, 1, op.getLength(), "length")))
    return failure();
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (type.getDimSize(0) != 1)
    return op.emitOpError()
           << "extent 0 of the result must be 1, got " << type << " (C2)";
  return success();
}

/// The result's extents, `size` for extent `dim` if it is given.
void reifyWith(OpBuilder &builder, Operation *op, int64_t dim, Value size,
               ReifiedRankedShapedTypeDims &shapes) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  if (size)
    sizes[dim] = size;
  shapes.push_back(sizes);
}

} // namespace

//===----------------------------------------------------------------------===//
// sinusoidal
//===----------------------------------------------------------------------===//

LogicalResult SinusoidalOp::verify() {
  if (failed(verifySize(*this, 0, getRows(), "rows")))
    return failure();
  auto type = cast<RankedTensorType>(getResult().getType());
  if (type.isDynamicDim(1) || type.getDimSize(1) < 1)
    return emitOpError() << "extent 1 of the result must be static and "
                            "positive, got "
                         << type << " (C2)";
  return success();
}

LogicalResult
SinusoidalOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  reifyWith(builder, *this, 0, getRows(), shapes);
  return success();
}

//===----------------------------------------------------------------------===//
// sequence_ids, sequence_positions
//===----------------------------------------------------------------------===//

LogicalResult SequenceIdsOp::verify() {
  if (failed(verifySequence(*this)))
    return failure();
  Type element = getElementTypeOrSelf(getResult().getType());
  int64_t outside = getOutsideAttr().getInt();
  if (outside >= 0 || !llvm::isIntN(element.getIntOrFloatBitWidth(), outside))
    return emitOpError() << "outside must be a negative " << element << ", got "
                         << outside << " (C3)";
  return success();
}

LogicalResult
SequenceIdsOp::reifyResultShapes(OpBuilder &builder,
                                 ReifiedRankedShapedTypeDims &shapes) {
  reifyWith(builder, *this, 1, getLength(), shapes);
  return success();
}

LogicalResult SequencePositionsOp::verify() { return verifySequence(*this); }

LogicalResult
SequencePositionsOp::reifyResultShapes(OpBuilder &builder,
                                       ReifiedRankedShapedTypeDims &shapes) {
  reifyWith(builder, *this, 1, getLength(), shapes);
  return success();
}
