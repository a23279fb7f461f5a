//===- RotationOps.cpp - Rotary embeddings on their way to kernels --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace attn;

namespace {

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;
using Constraints = SmallVectorImpl<ExtentConstraint>;

ShapedType shapedType(Value value) { return cast<ShapedType>(value.getType()); }

/// The rank of a tensor or memref, 0 of anything else.
int64_t rankOf(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && type.hasRank() ? type.getRank() : 0;
}

/// Cosines and sines of every batch element, or of each.
LogicalResult verifyTurns(Operation *op, Value cos, StringRef cosName,
                          Value sin, StringRef sinName, StringRef label) {
  int64_t rank = rankOf(cos) == 3 ? 3 : 2;
  if (failed(verifyShaped(op, cosName, cos, rank, label)) ||
      failed(verifyShaped(op, sinName, sin, rank, label)))
    return failure();
  ShapedType type = shapedType(cos);
  if (type.isDynamicDim(rank - 1) || type.getDimSize(rank - 1) < 1)
    return op->emitOpError() << "last extent of " << cosName
                             << " must be static and positive, got " << type
                             << " (" << label << ")";
  return success();
}

void addTurns(Constraints &constraints, StringRef label, Value cos,
              StringRef cosName, Value sin, StringRef sinName) {
  static constexpr StringLiteral names[] = {"batch extent", "row count",
                                            "pair count"};
  int64_t rank = rankOf(cos);
  for (int64_t d = 0; d < rank; ++d)
    constraints.push_back({label, ExtentRelation::Equal, cos, d, sin, d,
                           names[d + 3 - rank], cosName, sinName});
}

/// The rows, and batch elements, that `cos` has are those of `rows`.
void addRows(Constraints &constraints, StringRef label, Value cos,
             StringRef cosName, Value rows, int64_t rowDim, StringRef name) {
  int64_t rank = rankOf(cos);
  if (rank == 3)
    constraints.push_back({label, ExtentRelation::Equal, cos, 0, rows, 0,
                           "batch extent", cosName, name});
  constraints.push_back({label, ExtentRelation::Equal, cos, rank - 2, rows,
                         rowDim, "row count", cosName, name});
}

LogicalResult verifyPairCount(Operation *op, Value cos, StringRef cosName,
                              Value rows, StringRef label) {
  int64_t pairs = shapedType(cos).getShape().back();
  int64_t headDim = shapedType(rows).getShape().back();
  if (2 * pairs <= headDim)
    return success();
  return op->emitOpError() << cosName << " turns " << pairs
                           << " pairs of features, but the head dim is "
                           << headDim << " (" << label << ")";
}

} // namespace

//===----------------------------------------------------------------------===//
// rope_tables
//===----------------------------------------------------------------------===//

MutableOperandRange RopeTablesOp::getDpsInitsMutable() {
  return MutableOperandRange(*this, getCosMutable().getOperandNumber(), 2);
}

LogicalResult RopeTablesOp::verify() {
  if (static_cast<bool>(getFrequencies()) == static_cast<bool>(getCosTable()) ||
      !getCosTable() != !getSinTable())
    return emitOpError("takes either frequencies or two tables (C1)");
  if (Value frequencies = getFrequencies()) {
    if (failed(verifyShaped(*this, "frequencies", frequencies, 1, "C1")))
      return failure();
    if (Type type = shapedType(frequencies).getElementType(); !type.isF64())
      return emitOpError() << "frequencies must be f64, got " << type
                           << " (C1)";
  } else if (failed(verifyShaped(*this, "cos_table", getCosTable(), 2, "C1")) ||
             failed(verifyShaped(*this, "sin_table", getSinTable(), 2, "C1"))) {
    return failure();
  }
  if (failed(verifyTurns(*this, getCos(), "cos", getSin(), "sin", "C2")))
    return failure();
  Type element = shapedType(getCos()).getElementType();
  if (element != shapedType(getSin()).getElementType() ||
      (!element.isF32() && !element.isF64()))
    return emitOpError() << "cos and sin must both be f32 or f64, got "
                         << element << " and "
                         << shapedType(getSin()).getElementType() << " (C2)";
  if (getOffset() && getPositions())
    return emitOpError("offset and positions exclude each other (C3)");
  if (Value positions = getPositions()) {
    int64_t rank = rankOf(getCos()) - 1;
    Type type = getElementTypeOrSelf(positions.getType());
    if (rankOf(positions) != rank ||
        (!type.isInteger(32) && !type.isInteger(64)))
      return emitOpError() << "positions must be i32 or i64 of rank " << rank
                           << ", got " << positions.getType() << " (C4)";
  }
  if (failed(verifyExtents(*this)))
    return failure();
  return verifyDestination(*this, "C5");
}

void RopeTablesOp::getExtentConstraints(Constraints &constraints) {
  Value cos = getCos();
  int64_t rank = rankOf(cos);
  addTurns(constraints, "C2", cos, "cos", getSin(), "sin");
  if (getFrequencies()) {
    constraints.push_back({"C1", ExtentRelation::Equal, getFrequencies(), 0,
                           cos, rank - 1, "pair count", "frequencies", "cos"});
  } else {
    addTurns(constraints, "C1", getCosTable(), "cos_table", getSinTable(),
             "sin_table");
    constraints.push_back({"C1", ExtentRelation::Equal, getCosTable(), 1, cos,
                           rank - 1, "pair count", "cos_table", "cos"});
  }
  if (Value positions = getPositions())
    addRows(constraints, "C4", cos, "cos", positions, rank - 2, "positions");
}

void RopeTablesOp::getEffects(Effects &effects) {
  getDestinationEffects(*this, effects);
}

//===----------------------------------------------------------------------===//
// rotate
//===----------------------------------------------------------------------===//

LogicalResult RotateOp::verify() {
  int64_t rank = rankOf(getSource()) == 2 ? 2 : 4;
  if (failed(verifyShaped(*this, "source", getSource(), rank, "C1")) ||
      failed(verifyShaped(*this, "dest", getDest(), rank, "C1")))
    return failure();
  Type from = shapedType(getSource()).getElementType();
  Type to = shapedType(getDest()).getElementType();
  if (from != to)
    return emitOpError() << "element type of source is " << from
                         << " but of dest is " << to << " (C1)";
  if (failed(verifyTurns(*this, getCos(), "cos", getSin(), "sin", "C2")))
    return failure();
  if (rank == 2 && rankOf(getCos()) == 3)
    return emitOpError() << "rows of one head have cos and sin of rank 2, got "
                         << getCos().getType() << " (C2)";
  if (shapedType(getSource()).isDynamicDim(rank - 1))
    return emitOpError() << "last extent of source must be static, got "
                         << getSource().getType() << " (C3)";
  if (failed(verifyPairCount(*this, getCos(), "cos", getSource(), "C3")) ||
      failed(verifyExtents(*this)))
    return failure();
  return verifyDestination(*this, "C4");
}

void RotateOp::getExtentConstraints(Constraints &constraints) {
  static constexpr StringLiteral names[] = {"batch extent", "head count",
                                            "row count", "head dim"};
  int64_t rank = rankOf(getSource());
  for (int64_t d = 0; d < rank; ++d)
    constraints.push_back({"C1", ExtentRelation::Equal, getSource(), d,
                           getDest(), d, names[d + 4 - rank], "source",
                           "dest"});
  addTurns(constraints, "C2", getCos(), "cos", getSin(), "sin");
  addRows(constraints, "C2", getCos(), "cos", getSource(), rank - 2, "source");
}

void RotateOp::getEffects(Effects &effects) {
  getDestinationEffects(*this, effects);
}

//===----------------------------------------------------------------------===//
// Ops that rotate besides
//===----------------------------------------------------------------------===//

LogicalResult attn::verifyRotation(Operation *op, Value cos, StringRef cosName,
                                   Value sin, StringRef sinName,
                                   RopeLayoutAttr layout, Value rows,
                                   StringRef label) {
  if (!cos != !sin || !cos != !layout)
    return op->emitOpError()
           << cosName << ", " << sinName << " and a layout are given together ("
           << label << ")";
  if (!cos)
    return success();
  if (failed(verifyShaped(op, "what turns", rows, 4, label)) ||
      failed(verifyTurns(op, cos, cosName, sin, sinName, label)))
    return failure();
  if (shapedType(rows).isDynamicDim(3))
    return op->emitOpError() << "last extent of what turns must be static, got "
                             << rows.getType() << " (" << label << ")";
  return verifyPairCount(op, cos, cosName, rows, label);
}

void attn::addRotationConstraints(Constraints &constraints, StringRef label,
                                  Value cos, StringRef cosName, Value sin,
                                  StringRef sinName, Value rows,
                                  StringRef rowsName) {
  if (!cos)
    return;
  addTurns(constraints, label, cos, cosName, sin, sinName);
  addRows(constraints, label, cos, cosName, rows, 2, rowsName);
}
