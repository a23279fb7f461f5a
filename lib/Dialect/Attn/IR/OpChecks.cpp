//===- OpChecks.cpp - Checks that verifiers share -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Tensor/Utils/Utils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace attn;

LogicalResult attn::verifyShaped(Operation *op, StringRef name, Value value,
                                 int64_t rank, StringRef label, bool integers) {
  auto type = dyn_cast<ShapedType>(value.getType());
  if (!type || !type.hasRank() || type.getRank() != rank ||
      !isa<RankedTensorType, MemRefType>(type))
    return op->emitOpError()
           << name << " must be a tensor or memref of rank " << rank << ", got "
           << value.getType() << " (" << label << ")";
  if (!isa<FloatType>(type.getElementType()) &&
      !(integers && type.getElementType().isInteger(8)))
    return op->emitOpError() << name << " must have a float element type"
                             << (integers ? " or i8" : "") << ", got "
                             << type.getElementType() << " (" << label << ")";
  return success();
}

bool attn::isInPanels(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && type.hasRank() && type.getRank() == 3;
}

LogicalResult attn::verifyHeadDim(Operation *op, StringRef name, Value value,
                                  StringRef label) {
  auto type = cast<ShapedType>(value.getType());
  int64_t dim = type.getRank() - 1;
  if (type.isDynamicDim(dim) || type.getDimSize(dim) < 1)
    return op->emitOpError()
           << "head dim of " << name << " must be static and positive, got "
           << type << " (" << label << ")";
  return success();
}

LogicalResult attn::verifyFinite(Operation *op, StringRef name, APFloat value,
                                 bool positive, StringRef label,
                                 FloatType type) {
  double given = value.convertToDouble();
  bool losesInfo;
  if (type)
    value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  if (value.isFinite() &&
      (!positive || (!value.isNegative() && !value.isZero())))
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << name << " must be "
                            << (positive ? "positive and finite" : "finite");
  if (type)
    diag << " in " << type;
  return diag << ", got " << given << " (" << label << ")";
}

LogicalResult attn::verifyProgram(Operation *op, Region &region, StringRef name,
                                  TypeRange arguments, Type result,
                                  StringRef label) {
  if (region.empty())
    return success();
  if (region.getArgumentTypes() != arguments) {
    InFlightDiagnostic diag = op->emitOpError()
                              << name << " region must have arguments (";
    llvm::interleaveComma(arguments, diag);
    diag << "), got (";
    llvm::interleaveComma(region.getArgumentTypes(), diag);
    return diag << ") (" << label << ")";
  }
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || yield.getValues().getTypes() != TypeRange(result)) {
    InFlightDiagnostic diag = op->emitOpError()
                              << name << " region must yield one " << result
                              << ", got (";
    if (yield)
      llvm::interleaveComma(yield.getValues().getTypes(), diag);
    return diag << ") (" << label << ")";
  }
  WalkResult walk = region.walk([&](Operation *nested) {
    // The walk reaches the ops that a structured op nests.
    if (isMemoryEffectFree(nested) ||
        nested->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
      return WalkResult::advance();
    if (auto effects = dyn_cast<MemoryEffectOpInterface>(nested))
      if (effects.onlyHasEffect<MemoryEffects::Read>())
        return WalkResult::advance();
    op->emitOpError() << name << " region must be free of side effects, but "
                      << "contains '" << nested->getName() << "' (" << label
                      << ")";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult attn::verifyPrograms(Operation *op, Region &score, Region &mask,
                                   Region *probability, Type scoreType,
                                   StringRef label) {
  Builder builder(op->getContext());
  SmallVector<Type> indices(4, builder.getIndexType());
  SmallVector<Type> scoreArguments{scoreType};
  llvm::append_range(scoreArguments, indices);
  if (failed(verifyProgram(op, score, "score", scoreArguments, scoreType,
                           label)) ||
      failed(
          verifyProgram(op, mask, "mask", indices, builder.getI1Type(), label)))
    return failure();
  return probability ? verifyProgram(op, *probability, "probability",
                                     scoreArguments, scoreType, label)
                     : success();
}

FloatType attn::getScoreTypeOf(Value query) {
  Type type = getElementTypeOrSelf(query.getType());
  return type.isF64() ? cast<FloatType>(type)
                      : Float32Type::get(type.getContext());
}

LogicalResult attn::verifyDestination(DestinationStyleOpInterface op,
                                      StringRef label) {
  bool tensors = isa<RankedTensorType>(op.getDpsInits().front().getType());
  for (Value operand : op->getOperands())
    if (isa<ShapedType>(operand.getType()) &&
        isa<RankedTensorType>(operand.getType()) != tensors)
      return op->emitOpError()
             << "operands must be all tensors or all memrefs (" << label << ")";
  if (!tensors)
    return op->getNumResults() == 0
               ? success()
               : op->emitOpError()
                     << "has memref outputs and " << op->getNumResults()
                     << " results, expected none (" << label << ")";
  if (op->getResultTypes() != TypeRange(op.getDpsInits().getTypes()))
    return op->emitOpError()
           << "result types must be those of the outputs (" << label << ")";
  return success();
}

void attn::nameProgramArguments(Region &region, OpAsmSetValueNameFn setName,
                                StringRef value) {
  if (region.empty())
    return;
  StringRef names[] = {value, "b", "h", "i", "j"};
  // A mask region maps no value.
  size_t skip = region.getNumArguments() == 5 ? 0 : 1;
  for (auto [argument, name] : llvm::zip(
           region.getArguments(), ArrayRef<StringRef>(names).drop_front(skip)))
    setName(argument, name);
}

void attn::getDestinationEffects(
    DestinationStyleOpInterface op,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

static bool hasRank(Value value, int64_t rank) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && type.hasRank() && type.getRank() == rank;
}

LogicalResult attn::verifyScale(Operation *op, StringRef name, Value operand,
                                Value scale, int64_t rank, StringRef label) {
  bool isInteger = getElementTypeOrSelf(operand.getType()).isInteger();
  if (isInteger && !scale)
    return op->emitOpError()
           << name << " of i8 needs " << name << "_scale (" << label << ")";
  if (!isInteger && scale)
    return op->emitOpError() << name << " has no " << name
                             << "_scale: it is of floats (" << label << ")";
  if (scale && (!hasRank(scale, rank) ||
                !isa<FloatType>(getElementTypeOrSelf(scale.getType()))))
    return op->emitOpError() << name << "_scale must have rank " << rank
                             << " and be of floats, got " << scale.getType()
                             << " (" << label << ")";
  return success();
}

LogicalResult attn::verifyPages(Operation *op, StringRef name, Value rows,
                                Value table, StringRef label) {
  if (!table)
    return success();
  Type element = getElementTypeOrSelf(table.getType());
  if (!hasRank(table, 2) || !(element.isInteger(32) || element.isInteger(64)))
    return op->emitOpError()
           << "table must have rank 2 and be of i32 or i64, got "
           << table.getType() << " (" << label << ")";
  auto type = cast<ShapedType>(rows.getType());
  for (int64_t d : {1, 2})
    if (type.isDynamicDim(d) || type.getDimSize(d) < 1)
      return op->emitOpError() << "extents 1 and 2 of the pages of " << name
                               << " must be static and positive, got " << type
                               << " (" << label << ")";
  return success();
}

bool attn::areCompatible(TypeRange inferred, TypeRange written) {
  return llvm::all_of_zip(inferred, written, [](Type a, Type b) {
    auto x = dyn_cast<RankedTensorType>(a), y = dyn_cast<RankedTensorType>(b);
    return x && y && x.getElementType() == y.getElementType() &&
           succeeded(verifyCompatibleShape(x, y));
  });
}
