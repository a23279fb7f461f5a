//===- StateOps.cpp - Ops with a recurrent state --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// linear_attention
//===----------------------------------------------------------------------===//

bool LinearAttentionOp::hasRowDecay() {
  return getDecay() && cast<ShapedType>(getDecay().getType()).getRank() == 4;
}

bool LinearAttentionOp::hasKernel() {
  return llvm::all_of(getOperands(), [](Value operand) {
    return isa<Float32Type, Float16Type, BFloat16Type>(
        getElementTypeOrSelf(operand.getType()));
  });
}

/// Static and positive head counts.
static LogicalResult verifyHeads(LinearAttentionOp op) {
  for (auto [name, value] :
       {std::pair("query", op.getQuery()), std::pair("key", op.getKey()),
        std::pair("value", op.getValue())}) {
    auto type = cast<ShapedType>(value.getType());
    if (type.isDynamicDim(1) || type.getDimSize(1) < 1)
      return op.emitOpError()
             << "head count of " << name << " must be static and positive, got "
             << type << " (C4)";
  }
  return success();
}

LogicalResult LinearAttentionOp::verify() {
  if (failed(verifyShaped(*this, "query", getQuery(), 4, "C1")) ||
      failed(verifyShaped(*this, "key", getKey(), 4, "C1")) ||
      failed(verifyShaped(*this, "value", getValue(), 4, "C1")))
    return failure();
  if (getInits().empty() || getInits().size() > 2)
    return emitOpError() << "must have one or two outputs, got "
                         << getInits().size() << " (C9)";
  if (failed(verifyShaped(*this, "output", getOutput(), 4, "C9")) ||
      (getFinal() &&
       failed(verifyShaped(*this, "final state", getFinal(), 4, "C9"))))
    return failure();
  if (Value decay = getDecay()) {
    auto type = dyn_cast<ShapedType>(decay.getType());
    int64_t rank = type && type.hasRank() && type.getRank() == 4 ? 4 : 3;
    if (failed(verifyShaped(*this, "decay", decay, rank, "C6")))
      return failure();
  }
  if ((getBeta() && failed(verifyShaped(*this, "beta", getBeta(), 3, "C7"))) ||
      (getInitial() &&
       failed(verifyShaped(*this, "initial", getInitial(), 4, "C8"))))
    return failure();

  Type query = getElementTypeOrSelf(getQuery().getType());
  for (auto [name, operand] :
       {std::pair("key", getKey()), std::pair("value", getValue())})
    if (Type type = getElementTypeOrSelf(operand.getType());
        type != query && (type.isF64() || query.isF64()))
      return emitOpError() << "element type of query is " << query << " but of "
                           << name << " is " << type << " (C1)";
  Type value = getElementTypeOrSelf(getValue().getType());
  Type output = getElementTypeOrSelf(getOutput().getType());
  if (value != output)
    return emitOpError() << "element type of output is " << output
                         << " but of value is " << value << " (C9)";

  if (failed(verifyHeadDim(*this, "query", getQuery(), "C2")) ||
      failed(verifyHeadDim(*this, "key", getKey(), "C2")))
    return failure();
  auto valueType = cast<ShapedType>(getValue().getType());
  if (!(isa<MemRefType>(valueType) && valueType.isDynamicDim(3)) &&
      failed(verifyHeadDim(*this, "value", getValue(), "C2")))
    return failure();
  if (failed(verifyHeads(*this)) || failed(verifyExtents(*this)) ||
      failed(verifyFinite(*this, "scale", getScale(), false, "C10",
                          getScoreTypeOf(getQuery()))))
    return failure();
  return verifyDestination(*this, "C11");
}

void LinearAttentionOp::getExtentConstraints(
    SmallVectorImpl<ExtentConstraint> &constraints) {
  Value q = getQuery(), k = getKey(), v = getValue();
  auto equal = [&](StringRef label, Value a, int64_t da, Value b, int64_t db,
                   StringRef what, StringRef an, StringRef bn) {
    constraints.push_back(
        {label, ExtentRelation::Equal, a, da, b, db, what, an, bn});
  };
  equal("C2", q, 3, k, 3, "head dim", "query", "key");
  equal("C3", q, 0, k, 0, "batch extent", "query", "key");
  equal("C3", q, 0, v, 0, "batch extent", "query", "value");
  equal("C4", k, 1, v, 1, "head count", "key", "value");
  constraints.push_back({"C4", ExtentRelation::DivisibleBy, q, 1, k, 1,
                         "head count", "query", "key"});
  equal("C5", q, 2, k, 2, "sequence length", "query", "key");
  equal("C5", q, 2, v, 2, "sequence length", "query", "value");
  // One number, or row, for each token and key head.
  auto eachToken = [&](StringRef label, Value operand, StringRef name) {
    equal(label, operand, 0, k, 0, "batch extent", name, "key");
    equal(label, operand, 1, k, 1, "head count", name, "key");
    equal(label, operand, 2, k, 2, "sequence length", name, "key");
  };
  if (Value decay = getDecay()) {
    eachToken("C6", decay, "decay");
    if (hasRowDecay())
      equal("C6", decay, 3, k, 3, "head dim", "decay", "key");
  }
  if (Value beta = getBeta())
    eachToken("C7", beta, "beta");
  auto state = [&](StringRef label, Value operand, StringRef name) {
    equal(label, operand, 0, k, 0, "batch extent", name, "key");
    equal(label, operand, 1, k, 1, "head count", name, "key");
    equal(label, operand, 2, k, 3, "head dim", name, "key");
    equal(label, operand, 3, v, 3, "head dim", name, "value");
  };
  if (Value initial = getInitial())
    state("C8", initial, "initial");
  Value output = getOutput();
  equal("C9", output, 0, q, 0, "batch extent", "output", "query");
  equal("C9", output, 1, q, 1, "head count", "output", "query");
  equal("C9", output, 2, q, 2, "sequence length", "output", "query");
  equal("C9", output, 3, v, 3, "head dim", "output", "value");
  if (Value final = getFinal())
    state("C9", final, "final state");
}

LogicalResult
LinearAttentionOp::reifyResultShapes(OpBuilder &builder,
                                     ReifiedRankedShapedTypeDims &shapes) {
  for (Value init : getInits())
    shapes.push_back(tensor::getMixedSizes(builder, getLoc(), init));
  return success();
}

void LinearAttentionOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationEffects(*this, effects);
}
