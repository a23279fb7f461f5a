//===- InferShapeInterfaceImpl.cpp - Result types and extents -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Type inference (static) and reification (extents as SSA values) of the ops
// whose result shape follows from their operands.
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Utils/Utils.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace attn;

namespace {

/// Extent `dim` of `value` as attribute when static, else as `tensor.dim`.
OpFoldResult extent(OpBuilder &builder, Location loc, Value value,
                    int64_t dim) {
  return tensor::getMixedSize(builder, loc, value, dim);
}

LogicalResult reifyAs(OpBuilder &builder, Operation *op, Value value,
                      ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(tensor::getMixedSizes(builder, op->getLoc(), value));
  return success();
}

int64_t divideExtent(int64_t extent, int64_t divisor) {
  return ShapedType::isDynamic(extent) ? extent : extent / divisor;
}

} // namespace

//===----------------------------------------------------------------------===//
// split_heads
//===----------------------------------------------------------------------===//

LogicalResult SplitHeadsOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  int64_t heads = adaptor.getNumHeads();
  if (input.getRank() != 3 || input.isDynamicDim(2) || heads <= 0 ||
      input.getDimSize(2) % heads || input.getDimSize(2) == 0)
    return emitOptionalError(loc, "num_heads ", heads,
                             " does not divide the last extent of input, ",
                             input, " (C1)");
  types.push_back(input.clone({input.getDimSize(0), heads, input.getDimSize(1),
                               input.getDimSize(2) / heads}));
  return success();
}

bool SplitHeadsOp::isCompatibleReturnTypes(TypeRange inferred,
                                           TypeRange written) {
  return areCompatible(inferred, written);
}

LogicalResult
SplitHeadsOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  Location loc = getLoc();
  int64_t heads = getNumHeads();
  shapes.push_back(
      {extent(builder, loc, getInput(), 0), builder.getIndexAttr(heads),
       extent(builder, loc, getInput(), 1),
       builder.getIndexAttr(
           divideExtent(getInput().getType().getDimSize(2), heads))});
  return success();
}

//===----------------------------------------------------------------------===//
// merge_heads
//===----------------------------------------------------------------------===//

LogicalResult MergeHeadsOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  if (input.getRank() != 4 || input.isDynamicDim(1) || input.isDynamicDim(3))
    return emitOptionalError(
        loc, "head count and head dim must be static, got ", input, " (C1)");
  std::optional<int64_t> width =
      llvm::checkedMul(input.getDimSize(1), input.getDimSize(3));
  if (!width)
    return emitOptionalError(
        loc, "head count times head dim is too large, got ", input, " (C1)");
  types.push_back(
      input.clone({input.getDimSize(0), input.getDimSize(2), *width}));
  return success();
}

bool MergeHeadsOp::isCompatibleReturnTypes(TypeRange inferred,
                                           TypeRange written) {
  return areCompatible(inferred, written);
}

LogicalResult
MergeHeadsOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  auto input = cast<RankedTensorType>(getInput().getType());
  Location loc = getLoc();
  shapes.push_back(
      {extent(builder, loc, getInput(), 0), extent(builder, loc, getInput(), 2),
       builder.getIndexAttr(input.getDimSize(1) * input.getDimSize(3))});
  return success();
}

//===----------------------------------------------------------------------===//
// gather_pages
//===----------------------------------------------------------------------===//

bool GatherPagesOp::isCompatibleReturnTypes(TypeRange inferred,
                                            TypeRange written) {
  return areCompatible(inferred, written);
}

//===----------------------------------------------------------------------===//
// qk, additive_scores, weighted_sum
//===----------------------------------------------------------------------===//

/// `[B, Hq, Sq, Skv]` of f32, or f64 for f64 inputs.
static LogicalResult inferScores(MLIRContext *context,
                                 std::optional<Location> loc, Value queries,
                                 Value keys, SmallVectorImpl<Type> &types) {
  auto query = cast<RankedTensorType>(queries.getType());
  auto key = cast<RankedTensorType>(keys.getType());
  if (query.getRank() != 4 || key.getRank() != 4)
    return emitOptionalError(loc, "query and key must have rank 4, got ", query,
                             " and ", key);
  Type f32 = Float32Type::get(context);
  types.push_back(RankedTensorType::get(
      {query.getDimSize(0), query.getDimSize(1), query.getDimSize(2),
       key.getDimSize(2)},
      query.getElementType().isF64() ? query.getElementType() : f32));
  return success();
}

/// The same of extents.
static LogicalResult reifyScores(OpBuilder &builder, Location loc, Value query,
                                 Value key,
                                 ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(
      {extent(builder, loc, query, 0), extent(builder, loc, query, 1),
       extent(builder, loc, query, 2), extent(builder, loc, key, 2)});
  return success();
}

LogicalResult
QKOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                       ValueRange operands, DictionaryAttr attributes,
                       OpaqueProperties properties, RegionRange regions,
                       SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferScores(context, loc, adaptor.getQuery(), adaptor.getKey(), types);
}

bool QKOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange written) {
  return areCompatible(inferred, written);
}

LogicalResult QKOp::reifyResultShapes(OpBuilder &builder,
                                      ReifiedRankedShapedTypeDims &shapes) {
  return reifyScores(builder, getLoc(), getQuery(), getKey(), shapes);
}

LogicalResult AdditiveScoresOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  return inferScores(context, loc, adaptor.getQuery(), adaptor.getKey(), types);
}

bool AdditiveScoresOp::isCompatibleReturnTypes(TypeRange inferred,
                                               TypeRange written) {
  return areCompatible(inferred, written);
}

LogicalResult
AdditiveScoresOp::reifyResultShapes(OpBuilder &builder,
                                    ReifiedRankedShapedTypeDims &shapes) {
  return reifyScores(builder, getLoc(), getQuery(), getKey(), shapes);
}

LogicalResult WeightedSumOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto weights = cast<RankedTensorType>(adaptor.getWeights().getType());
  auto value = cast<RankedTensorType>(adaptor.getValue().getType());
  if (weights.getRank() != 4 || value.getRank() != 4)
    return emitOptionalError(loc, "weights and value must have rank 4, got ",
                             weights, " and ", value);
  types.push_back(value.clone({weights.getDimSize(0), weights.getDimSize(1),
                               weights.getDimSize(2), value.getDimSize(3)}));
  return success();
}

bool WeightedSumOp::isCompatibleReturnTypes(TypeRange inferred,
                                            TypeRange written) {
  return areCompatible(inferred, written);
}

LogicalResult
WeightedSumOp::reifyResultShapes(OpBuilder &builder,
                                 ReifiedRankedShapedTypeDims &shapes) {
  Location loc = getLoc();
  shapes.push_back({extent(builder, loc, getWeights(), 0),
                    extent(builder, loc, getWeights(), 1),
                    extent(builder, loc, getWeights(), 2),
                    extent(builder, loc, getValue(), 3)});
  return success();
}

//===----------------------------------------------------------------------===//
// Ops with the shape of an operand
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::reifyResultShapes(OpBuilder &builder,
                                        ReifiedRankedShapedTypeDims &shapes) {
  return reifyAs(builder, *this, getInput(), shapes);
}
LogicalResult
RopeTablesOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  return success(succeeded(reifyAs(builder, *this, getCos(), shapes)) &&
                 succeeded(reifyAs(builder, *this, getSin(), shapes)));
}
LogicalResult RotateOp::reifyResultShapes(OpBuilder &builder,
                                          ReifiedRankedShapedTypeDims &shapes) {
  return reifyAs(builder, *this, getDest(), shapes);
}
LogicalResult ScaleOp::reifyResultShapes(OpBuilder &builder,
                                         ReifiedRankedShapedTypeDims &shapes) {
  return reifyAs(builder, *this, getScores(), shapes);
}
LogicalResult
SoftcapOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &shapes) {
  return reifyAs(builder, *this, getScores(), shapes);
}
LogicalResult BiasOp::reifyResultShapes(OpBuilder &builder,
                                        ReifiedRankedShapedTypeDims &shapes) {
  return reifyAs(builder, *this, getScores(), shapes);
}
LogicalResult
ScoreMapOp::reifyResultShapes(OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &shapes) {
  return reifyAs(builder, *this, getScores(), shapes);
}
LogicalResult
MaskedSoftmaxOp::reifyResultShapes(OpBuilder &builder,
                                   ReifiedRankedShapedTypeDims &shapes) {
  return reifyAs(builder, *this, getScores(), shapes);
}

LogicalResult
ProbabilityMapOp::reifyResultShapes(OpBuilder &builder,
                                    ReifiedRankedShapedTypeDims &shapes) {
  return reifyAs(builder, *this, getWeights(), shapes);
}

LogicalResult
DropoutOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &shapes) {
  return reifyAs(builder, *this, getWeights(), shapes);
}

LogicalResult
AttentionOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  for (Value init : getInits())
    if (failed(reifyAs(builder, *this, init, shapes)))
      return failure();
  return success();
}
