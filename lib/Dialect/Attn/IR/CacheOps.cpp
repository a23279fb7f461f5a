//===- CacheOps.cpp - Caches of keys and values ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// cache_update
//===----------------------------------------------------------------------===//

LogicalResult CacheUpdateOp::verify() {
  auto cache = cast<RankedTensorType>(getCache().getType());
  auto update = cast<RankedTensorType>(getUpdate().getType());
  if (cache.getRank() != update.getRank())
    return emitOpError() << "cache has rank " << cache.getRank()
                         << " but update has rank " << update.getRank()
                         << " (C1)";
  if (cache.getElementType() != update.getElementType())
    return emitOpError() << "element type of cache is "
                         << cache.getElementType() << " but of update is "
                         << update.getElementType() << " (C1)";
  if (failed(verifyRotation(*this, getCos(), "cos", getSin(), "sin",
                            getLayoutAttr(), getUpdate(), "C5")))
    return failure();
  return verifyExtents(*this);
}

LogicalResult
CacheUpdateOp::reifyResultShapes(OpBuilder &builder,
                                 ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(tensor::getMixedSizes(builder, getLoc(), getCache()));
  return success();
}

void CacheUpdateOp::getExtentConstraints(
    SmallVectorImpl<ExtentConstraint> &constraints) {
  static constexpr StringLiteral names[] = {"batch extent", "head count",
                                            "row count", "head dim"};
  int64_t rank = cast<RankedTensorType>(getCache().getType()).getRank();
  for (int64_t d = 0; d < rank; ++d)
    constraints.push_back(
        {d == 2 ? "C3" : "C2",
         d == 2 ? ExtentRelation::AtMost : ExtentRelation::Equal, getUpdate(),
         d, getCache(), d, names[d], "update", "cache"});
  if (isa<ShapedType>(getAt().getType()))
    constraints.push_back({"C4", ExtentRelation::Equal, getAt(), 0, getCache(),
                           0, "batch extent", "at", "cache"});
  addRotationConstraints(constraints, "C5", getCos(), "cos", getSin(), "sin",
                         getUpdate(), "update");
}

CacheUpdateOp CacheUpdateOp::getFirstOf(Value result) {
  auto update = result.getDefiningOp<CacheUpdateOp>();
  auto isReadElsewhere = [](CacheUpdateOp update) {
    return llvm::any_of(update.getCache().getUses(), [&](OpOperand &use) {
      return &use != &update.getCacheMutable() &&
             !isa<tensor::DimOp>(use.getOwner());
    });
  };
  while (update && !isReadElsewhere(update)) {
    auto earlier = update.getCache().getDefiningOp<CacheUpdateOp>();
    if (!earlier)
      return update;
    update = earlier;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// gather_pages
//===----------------------------------------------------------------------===//

LogicalResult GatherPagesOp::inferReturnTypes(
    MLIRContext *, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto pages = dyn_cast<RankedTensorType>(adaptor.getPages().getType());
  auto table = dyn_cast<RankedTensorType>(adaptor.getTable().getType());
  if (!pages || pages.getRank() != 4 || !table || table.getRank() != 2)
    return emitOptionalError(loc, "pages must have rank 4 and table rank 2");
  for (int64_t d : {1, 2, 3})
    if (pages.isDynamicDim(d) || pages.getDimSize(d) < 1)
      return emitOptionalError(
          loc, "extents 1 to 3 of pages must be static and positive, got ",
          pages, " (C1)");
  int64_t rows = ShapedType::kDynamic;
  if (!table.isDynamicDim(1)) {
    std::optional<int64_t> product =
        llvm::checkedMul(table.getDimSize(1), pages.getDimSize(2));
    if (!product)
      return emitOptionalError(loc, "page count times page size is too large, ",
                               "got ", table, " of ", pages, " (C2)");
    rows = *product;
  }
  types.push_back(pages.clone(
      {table.getDimSize(0), pages.getDimSize(1), rows, pages.getDimSize(3)}));
  return success();
}

LogicalResult
GatherPagesOp::reifyResultShapes(OpBuilder &builder,
                                 ReifiedRankedShapedTypeDims &shapes) {
  Location loc = getLoc();
  auto pages = cast<RankedTensorType>(getPages().getType());
  Value count = getValueOrCreateConstantIndexOp(
      builder, loc, tensor::getMixedSize(builder, loc, getTable(), 1));
  Value size =
      arith::ConstantIndexOp::create(builder, loc, pages.getDimSize(2));
  OpFoldResult rows = builder.createOrFold<arith::MulIOp>(loc, count, size);
  shapes.push_back({tensor::getMixedSize(builder, loc, getTable(), 0),
                    builder.getIndexAttr(pages.getDimSize(1)),
                    getAsOpFoldResult(cast<Value>(rows)),
                    builder.getIndexAttr(pages.getDimSize(3))});
  return success();
}

//===----------------------------------------------------------------------===//
// quantize, dequantize
//===----------------------------------------------------------------------===//

LogicalResult
QuantizeOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                             ValueRange operands, DictionaryAttr attributes,
                             OpaqueProperties properties, RegionRange regions,
                             SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = dyn_cast<RankedTensorType>(adaptor.getInput().getType());
  if (!input || input.getRank() != 4)
    return emitOptionalError(loc, "input must have rank 4");
  Type scale = input.getElementType().isF64() ? Type(Float64Type::get(context))
                                              : Type(Float32Type::get(context));
  types.push_back(input.clone(IntegerType::get(context, 8)));
  types.push_back(RankedTensorType::get(input.getShape().drop_back(), scale));
  return success();
}

LogicalResult QuantizeOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  if (input.isDynamicDim(3) || input.getDimSize(3) < 1)
    return emitOpError() << "head dim of input must be static and positive, "
                            "got "
                         << input << " (C1)";
  return success();
}

LogicalResult
QuantizeOp::reifyResultShapes(OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, getLoc(), getInput());
  shapes.push_back(sizes);
  sizes.pop_back();
  shapes.push_back(sizes);
  return success();
}

LogicalResult DequantizeOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (input.getShape() != result.getShape())
    return emitOpError() << "result must have the shape of input, got "
                         << result << " and " << input << " (C2)";
  return verifyExtents(*this);
}

LogicalResult
DequantizeOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(tensor::getMixedSizes(builder, getLoc(), getInput()));
  return success();
}

void DequantizeOp::getExtentConstraints(
    SmallVectorImpl<ExtentConstraint> &constraints) {
  static constexpr StringLiteral names[] = {"batch extent", "head count",
                                            "row count"};
  for (auto [d, name] : llvm::enumerate(names))
    constraints.push_back({"C1", ExtentRelation::Equal, getScale(),
                           static_cast<int64_t>(d), getInput(),
                           static_cast<int64_t>(d), name, "scale", "input"});
}

//===----------------------------------------------------------------------===//
// attention, online_attention
//===----------------------------------------------------------------------===//

LogicalResult OnlineAttentionOp::verifyCache() {
  return success(
      succeeded(verifyScale(*this, "key", getKey(), getKeyScale(), 1, "C10")) &&
      succeeded(
          verifyScale(*this, "value", getValue(), getValueScale(), 1, "C10")));
}

LogicalResult AttentionOp::verifyCache() {
  return success(
      succeeded(verifyPages(*this, "key", getKey(), getTable(), "C12")) &&
      succeeded(verifyPages(*this, "value", getValue(), getTable(), "C12")) &&
      succeeded(verifyScale(*this, "key", getKey(), getKeyScale(), 3, "C13")) &&
      succeeded(
          verifyScale(*this, "value", getValue(), getValueScale(), 3, "C13")));
}
