//===- WeightStatsOps.cpp - Statistics of weights -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers, extents and shapes of `weight_stats`, `attention_stats` and
// `online_stats`.
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace attn;

using Constraints = SmallVectorImpl<ExtentConstraint>;

//===----------------------------------------------------------------------===//
// weight_stats
//===----------------------------------------------------------------------===//

LogicalResult WeightStatsOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> loc, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  auto weights = dyn_cast<RankedTensorType>(adaptor.getWeights().getType());
  if (!weights || weights.getRank() != 4)
    return emitOptionalError(loc, "weights must have rank 4, got ",
                             adaptor.getWeights().getType());
  ArrayRef<int64_t> shape = weights.getShape(), rows = shape.drop_back();
  if (adaptor.getColumnSums())
    types.push_back(weights.clone({shape[0], shape[1], shape[3]}));
  if (adaptor.getRowMax())
    types.push_back(weights.clone(rows));
  if (adaptor.getEntropy())
    types.push_back(weights.clone(rows));
  if (std::optional<uint64_t> count = adaptor.getTopK()) {
    auto k = static_cast<int64_t>(*count);
    if (k < 1)
      return emitOptionalError(loc, "top_k must be positive, got ", k, " (C2)");
    SmallVector<int64_t> places(rows);
    places.push_back(k);
    types.push_back(weights.clone(places));
    types.push_back(
        RankedTensorType::get(places, IntegerType::get(context, 32)));
  }
  return success();
}

bool WeightStatsOp::isCompatibleReturnTypes(TypeRange inferred,
                                            TypeRange written) {
  return inferred.size() == written.size() && areCompatible(inferred, written);
}

LogicalResult
WeightStatsOp::reifyResultShapes(OpBuilder &builder,
                                 ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, getLoc(), getWeights());
  SmallVector<OpFoldResult> rows(ArrayRef(sizes).drop_back());
  if (getColumnSums())
    shapes.push_back({sizes[0], sizes[1], sizes[3]});
  if (getRowMax())
    shapes.push_back(rows);
  if (getEntropy())
    shapes.push_back(rows);
  if (std::optional<uint64_t> k = getTopK()) {
    rows.push_back(builder.getIndexAttr(static_cast<int64_t>(*k)));
    shapes.append(2, rows);
  }
  return success();
}

LogicalResult WeightStatsOp::verify() {
  if (getNumResults() == 0)
    return emitOpError("must have column_sums, row_max, entropy or top_k (C1)");
  return success();
}

//===----------------------------------------------------------------------===//
// attention_stats
//===----------------------------------------------------------------------===//

/// The outputs of `op`, from its operand `first` on.
static MutableOperandRange getOutputs(Operation *op, unsigned first,
                                      std::initializer_list<Value> outputs) {
  auto count = llvm::count_if(outputs, [](Value output) { return !!output; });
  return MutableOperandRange(op, first, static_cast<unsigned>(count));
}

MutableOperandRange AttentionStatsOp::getDpsInitsMutable() {
  return getOutputs(*this, getODSOperandIndexAndLength(8).first,
                    {getColumnSums(), getRowMax(), getEntropy(),
                     getTopWeights(), getTopKeys()});
}

/// Ranks and element types of outputs: those of `top_k` have one more than
/// those of rows.
static LogicalResult verifyOutputs(Operation *op, Value columnSums,
                                   Value rowMax, Value entropy,
                                   Value topWeights, Value topKeys,
                                   int64_t rowRank, StringRef label) {
  std::tuple<StringRef, Value, int64_t> outputs[] = {
      {"column_sums", columnSums, rowRank},
      {"row_max", rowMax, rowRank},
      {"entropy", entropy, rowRank},
      {"top_k weights", topWeights, rowRank + 1}};
  for (auto [name, output, rank] : outputs) {
    if (!output)
      continue;
    if (failed(verifyShaped(op, name, output, rank, label)))
      return failure();
    Type element = getElementTypeOrSelf(output.getType());
    if (!element.isF32() && !element.isF64())
      return op->emitOpError()
             << name << " must have element type f32 or f64, got " << element
             << " (" << label << ")";
  }
  if (!topWeights != !topKeys)
    return op->emitOpError()
           << "top_k needs weights and keys (" << label << ")";
  if (!topKeys)
    return success();
  auto keys = dyn_cast<ShapedType>(topKeys.getType());
  if (!keys || !keys.hasRank() || keys.getRank() != rowRank + 1 ||
      !keys.getElementType().isInteger(32))
    return op->emitOpError() << "top_k keys must have rank " << rowRank + 1
                             << " and be of i32, got " << topKeys.getType()
                             << " (" << label << ")";
  return success();
}

/// The number of places of `top_k` is static and positive.
static LogicalResult verifyPlaces(Operation *op, Value topWeights, int64_t dim,
                                  StringRef label) {
  if (!topWeights)
    return success();
  auto type = cast<ShapedType>(topWeights.getType());
  if (type.isDynamicDim(dim) || type.getDimSize(dim) < 1)
    return op->emitOpError()
           << "number of places of top_k must be static and positive, got "
           << type << " (" << label << ")";
  return success();
}

/// A weight of additive scores of rank 1, or 2 where heads may differ.
static LogicalResult verifyAdditive(Operation *op, Value weight, bool ofHeads,
                                    StringRef label) {
  if (!weight)
    return success();
  auto type = dyn_cast<ShapedType>(weight.getType());
  bool isOfHeads = ofHeads && type && type.hasRank() && type.getRank() == 2;
  return verifyShaped(op, "additive", weight, isOfHeads ? 2 : 1, label);
}

LogicalResult AttentionStatsOp::verify() {
  if (failed(verifyShaped(*this, "query", getQuery(), 4, "C1")) ||
      failed(verifyShaped(*this, "key", getKey(), 4, "C1", true)) ||
      failed(verifyPages(*this, "key", getKey(), getTable(), "C12")) ||
      failed(verifyScale(*this, "key", getKey(), getKeyScale(), 3, "C13")))
    return failure();
  if (getDpsInits().empty())
    return emitOpError("must have column_sums, row_max, entropy or top_k (C5)");
  if (failed(verifyOutputs(*this, getColumnSums(), getRowMax(), getEntropy(),
                           getTopWeights(), getTopKeys(), 3, "C6")) ||
      failed(verifyPlaces(*this, getTopWeights(), 3, "C6")))
    return failure();
  for (auto [name, value] : {std::pair("log_sum_exp", getLogSumExp()),
                             {"remainder", getRemainder()}}) {
    if (!value)
      continue;
    if (failed(verifyShaped(*this, name, value, 3, "C11")))
      return failure();
    Type type = getElementTypeOrSelf(value.getType());
    if (!type.isF32() && !type.isF64())
      return emitOpError() << name << " must have element type f32 or f64, got "
                           << type << " (C11)";
  }
  if (getRemainder() && !getLogSumExp())
    return emitOpError("remainder must come with log_sum_exp (C11)");
  if (failed(verifyAdditive(*this, getAdditive(), true, "C14")) ||
      failed(verifyHeadDim(*this, "query", getQuery(), "C2")) ||
      failed(verifyHeadDim(*this, "key", getKey(), "C2")) ||
      failed(verifyExtents(*this)) ||
      failed(verifyFinite(*this, "scale", getScale(), false, "C7",
                          getScoreType())))
    return failure();
  if (!getOffsets().empty() && getOffsets().size() != 4)
    return emitOpError() << "offsets must be none or four, got "
                         << getOffsets().size() << " (C8)";
  return verifyDestination(*this, "C10");
}

FloatType AttentionStatsOp::getScoreType() {
  return getScoreTypeOf(getQuery());
}

LogicalResult AttentionStatsOp::verifyRegions() {
  return verifyPrograms(*this, getScore(), getMask(), nullptr, getScoreType(),
                        "C9");
}

void AttentionStatsOp::getAsmBlockArgumentNames(Region &region,
                                                OpAsmSetValueNameFn setName) {
  nameProgramArguments(region, setName);
}

void AttentionStatsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationEffects(*this, effects);
}

void AttentionStatsOp::getExtentConstraints(Constraints &constraints) {
  Value q = getQuery(), k = getKey();
  auto equal = [&](StringRef label, Value a, int64_t da, Value b, int64_t db,
                   StringRef what, StringRef an, StringRef bn) {
    constraints.push_back(
        {label, ExtentRelation::Equal, a, da, b, db, what, an, bn});
  };
  if (Value table = getTable()) {
    equal("C2", q, 3, k, 3, "head dim", "query", "key");
    equal("C12", q, 0, table, 0, "batch extent", "query", "table");
    constraints.push_back({"C4", ExtentRelation::DivisibleBy, q, 1, k, 1,
                           "head count", "query", "key"});
  } else {
    addQueryAndKey(constraints, q, k);
  }
  if (Value scale = getKeyScale()) {
    static constexpr StringLiteral names[] = {"extent 0", "extent 1",
                                              "extent 2"};
    for (auto [d, name] : llvm::enumerate(names))
      equal("C13", scale, static_cast<int64_t>(d), k, static_cast<int64_t>(d),
            name, "key_scale", "key");
  }
  auto ofRows = [&](Value value, StringRef label, StringRef name) {
    if (!value)
      return;
    equal(label, value, 0, q, 0, "batch extent", name, "query");
    equal(label, value, 1, q, 1, "head count", name, "query");
    equal(label, value, 2, q, 2, "sequence length", name, "query");
  };
  ofRows(getLogSumExp(), "C11", "log_sum_exp");
  ofRows(getRemainder(), "C11", "remainder");
  ofRows(getRowMax(), "C6", "row_max");
  ofRows(getEntropy(), "C6", "entropy");
  ofRows(getTopWeights(), "C6", "top_k weights");
  ofRows(getTopKeys(), "C6", "top_k keys");
  if (getTopWeights())
    equal("C6", getTopKeys(), 3, getTopWeights(), 3, "number of places",
          "top_k keys", "top_k weights");
  if (Value sums = getColumnSums()) {
    equal("C6", sums, 0, q, 0, "batch extent", "column_sums", "query");
    equal("C6", sums, 1, q, 1, "head count", "column_sums", "query");
    // Of pages, the table knows how many keys there are.
    if (!getTable())
      equal("C6", sums, 2, k, 2, "key length", "column_sums", "key");
  }
  if (getAdditive())
    addAdditiveWeight(constraints, "C14", getAdditive(), "additive", q);
}

LogicalResult
AttentionStatsOp::reifyResultShapes(OpBuilder &builder,
                                    ReifiedRankedShapedTypeDims &shapes) {
  for (Value init : getDpsInits())
    shapes.push_back(tensor::getMixedSizes(builder, getLoc(), init));
  return success();
}

//===----------------------------------------------------------------------===//
// online_stats
//===----------------------------------------------------------------------===//

MutableOperandRange OnlineStatsOp::getDpsInitsMutable() {
  return getOutputs(*this, getODSOperandIndexAndLength(10).first,
                    {getColumnSums(), getRowMax(), getEntropy(),
                     getTopWeights(), getTopKeys()});
}

LogicalResult OnlineStatsOp::verify() {
  if (failed(verifyShaped(*this, "query", getQuery(), 2, "C1")) ||
      failed(verifyShaped(*this, "key", getKey(), 2, "C1")))
    return failure();
  if (getDpsInits().empty())
    return emitOpError("must have column_sums, row_max, entropy or top_k (C4)");
  if (failed(verifyOutputs(*this, getColumnSums(), getRowMax(), getEntropy(),
                           getTopWeights(), getTopKeys(), 1, "C1")) ||
      failed(verifyPlaces(*this, getTopWeights(), 0, "C3")) ||
      (getLogSumExp() &&
       failed(verifyShaped(*this, "log_sum_exp", getLogSumExp(), 1, "C1"))) ||
      (getRemainder() &&
       failed(verifyShaped(*this, "remainder", getRemainder(), 1, "C1"))) ||
      failed(verifyAdditive(*this, getAdditive(), false, "C8")) ||
      failed(verifyHeadDim(*this, "query", getQuery(), "C2")) ||
      failed(verifyHeadDim(*this, "key", getKey(), "C2")) ||
      failed(verifyExtents(*this)))
    return failure();
  if (getRemainder() && !getLogSumExp())
    return emitOpError("remainder must come with log_sum_exp (C6)");
  if (getScale() && failed(verifyFinite(*this, "scale", *getScale(), false,
                                        "C7", getScoreType())))
    return failure();
  return verifyDestination(*this, "C1");
}

FloatType OnlineStatsOp::getScoreType() { return getScoreTypeOf(getQuery()); }

LogicalResult OnlineStatsOp::verifyRegions() {
  return verifyPrograms(*this, getScore(), getMask(), nullptr, getScoreType(),
                        "C5");
}

void OnlineStatsOp::getAsmBlockArgumentNames(Region &region,
                                             OpAsmSetValueNameFn setName) {
  nameProgramArguments(region, setName);
}

void OnlineStatsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationEffects(*this, effects);
}

void OnlineStatsOp::getExtentConstraints(Constraints &constraints) {
  auto equal = [&](StringRef label, Value a, int64_t da, Value b, int64_t db,
                   StringRef what, StringRef an, StringRef bn) {
    if (a)
      constraints.push_back(
          {label, ExtentRelation::Equal, a, da, b, db, what, an, bn});
  };
  Value q = getQuery();
  equal("C2", q, 1, getKey(), 1, "head dim", "query", "key");
  equal("C3", getColumnSums(), 0, getKey(), 0, "key count", "column_sums",
        "key");
  equal("C3", getRowMax(), 0, q, 0, "row count", "row_max", "query");
  equal("C3", getEntropy(), 0, q, 0, "row count", "entropy", "query");
  equal("C3", getTopWeights(), 1, q, 0, "row count", "top_k weights", "query");
  equal("C3", getTopKeys(), 1, q, 0, "row count", "top_k keys", "query");
  equal("C3", getTopKeys(), 0, getTopWeights(), 0, "number of places",
        "top_k keys", "top_k weights");
  if (getLogSumExp())
    constraints.push_back({"C6", ExtentRelation::AtMost, getLogSumExp(), 0, q,
                           0, "row count", "log_sum_exp", "query"});
  if (getLogSumExp())
    equal("C6", getRemainder(), 0, getLogSumExp(), 0, "row count", "remainder",
          "log_sum_exp");
  equal("C8", getAdditive(), 0, q, 1, "head dim", "additive", "query");
}
