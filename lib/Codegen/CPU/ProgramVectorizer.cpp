//===- ProgramVectorizer.cpp - Score and mask programs on lanes -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramVectorizer.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace attn;

bool attn::isVectorizableProgram(Region &region, Operation **culprit) {
  for (Operation &op : region.front()) {
    if (isa<YieldOp>(op))
      continue;
    bool scalar = llvm::all_of(op.getResultTypes(), [](Type type) {
      return type.isIntOrIndexOrFloat();
    });
    if (scalar && isa<memref::LoadOp, arith::MulUIExtendedOp>(op))
      continue;
    if (auto dim = dyn_cast<memref::DimOp>(op))
      if (dim.getConstantIndex())
        continue;
    // An exponent of its own for each lane is no instruction nor library call.
    if (scalar && op.getNumRegions() == 0 && op.getNumResults() == 1 &&
        !isa<math::FPowIOp, math::IPowIOp>(op) &&
        (op.hasTrait<OpTrait::ConstantLike>() ||
         OpTrait::hasElementwiseMappableTraits(&op)))
      continue;
    *culprit = &op;
    return false;
  }
  return true;
}

namespace {

class ProgramVectorizer {
public:
  ProgramVectorizer(VectorEmitter &emitter, const IRMapping &known)
      : emitter(emitter), b(emitter.builder()), mapping(known) {}

  Value run(Region &region, ValueRange arguments) {
    Operation *culprit;
    if (!isVectorizableProgram(region, &culprit))
      return runLaneByLane(region, arguments);
    mapping.map(region.getArguments(), arguments);
    for (Operation &op : region.front().without_terminator())
      if (!mapping.contains(op.getResult(0)))
        evaluate(op);
    auto yield = cast<YieldOp>(region.front().getTerminator());
    return onLanes(lookup(yield.getValues().front()));
  }

  IRMapping runKnownPart(Region &region, ArrayRef<Value> arguments) {
    for (auto [parameter, argument] :
         llvm::zip(region.getArguments(), arguments))
      if (argument)
        mapping.map(parameter, argument);
    Operation *culprit;
    if (!isVectorizableProgram(region, &culprit))
      return mapping;
    for (Operation &op : region.front().without_terminator())
      if (!mapping.contains(op.getResult(0)) &&
          llvm::all_of(op.getOperands(), [&](Value operand) {
            return mapping.contains(operand) ||
                   !region.isAncestor(operand.getParentRegion());
          }))
        evaluate(op);
    return mapping;
  }

private:
  Value lookup(Value value) { return mapping.lookupOrDefault(value); }

  static bool isOnLanes(Value value) {
    return isa<VectorType>(value.getType());
  }

  Value onLanes(Value value) {
    return isOnLanes(value) ? value : emitter.broadcast(value);
  }

  /// A loop over the lanes with the program as it stands: for ops that have no
  /// vector form, such as control flow.
  Value runLaneByLane(Region &region, ValueRange arguments) {
    auto yield = cast<YieldOp>(region.front().getTerminator());
    Value result = yield.getValues().front();
    Value none = arith::ConstantOp::create(
        b, b.getZeroAttr(emitter.vectorType(result.getType())));
    return emitLoop(b, emitter.index(0), emitter.index(emitter.getLanes()), 1,
                    ValueRange(none),
                    [&](Value lane, ValueRange carried) -> SmallVector<Value> {
                      for (auto [parameter, argument] :
                           llvm::zip(region.getArguments(), arguments))
                        mapping.map(parameter,
                                    isOnLanes(argument)
                                        ? vector::ExtractOp::create(
                                              b, argument, OpFoldResult(lane))
                                              .getResult()
                                        : argument);
                      for (Operation &op : region.front().without_terminator())
                        b.clone(op, mapping)->walk([&](memref::LoadOp load) {
                          clampIndices(load);
                        });
                      return {vector::InsertOp::create(
                          b, lookup(result), carried[0], OpFoldResult(lane))};
                    })[0];
  }

  void clampIndices(memref::LoadOp load) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(load);
    for (auto [dim, operand] : llvm::enumerate(load.getIndicesMutable()))
      operand.set(clampIndex(emitter, operand.get(), load.getMemRef(), dim));
  }

  void evaluate(Operation &op) {
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      mapping.map(load.getResult(), evaluateLoad(load));
      return;
    }
    bool uniform = llvm::none_of(op.getOperands(), [&](Value operand) {
      return isOnLanes(lookup(operand));
    });
    if (uniform) {
      b.clone(op, mapping);
      return;
    }
    if (auto product = dyn_cast<arith::MulUIExtendedOp>(op)) {
      evaluateWideProduct(product);
      return;
    }
    if (std::optional<Value> narrow = evaluateNarrowing(op)) {
      mapping.map(op.getResult(0), *narrow);
      return;
    }
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(onLanes(lookup(operand)));
    Type type = emitter.vectorType(op.getResult(0).getType());
    OperationState state(b.getLoc(), op.getName());
    state.addOperands(operands);
    state.addTypes(type);
    state.addAttributes(llvm::to_vector(op.getDiscardableAttrs()));
    state.propertiesAttr = op.getPropertiesAsAttribute();
    Operation *vector = b.create(state);
    // A product and a sum may become one instruction, which rounds once. On
    // casts the flag would drop the rounding of `truncf` and back.
    if (isa<arith::AddFOp, arith::SubFOp, arith::MulFOp>(vector)) {
      auto math = cast<arith::ArithFastMathInterface>(vector);
      arith::FastMathFlags flags = math.getFastMathFlagsAttr().getValue();
      math->setAttr(
          math.getFastMathAttrName(),
          arith::FastMathFlagsAttr::get(
              b.getContext(), flags | arith::FastMathFlags::contract));
    }
    Value result = vector->getResult(0);
    if (isa<math::Exp2Op>(vector) && result.getType() == emitter.vectorType())
      result = overflowing(operands.front(), result);
    mapping.map(op.getResult(0), result);
  }

  /// `power`, which is 2^t, but infinite where that is beyond the type: kernels
  /// do without.
  Value overflowing(Value t, Value power) {
    const llvm::fltSemantics &type = emitter.getType().getFloatSemantics();
    double end = llvm::APFloat::semanticsMaxExponent(type) + 1;
    Value isBeyond = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, t,
                                           emitter.splat(end));
    return arith::SelectOp::create(
        b, isBeyond, emitter.splat(std::numeric_limits<double>::infinity()),
        power);
  }

  /// Products of 32-bit lanes, low and high halves: those of even lanes and
  /// those of odd ones are 64-bit lanes, which is what machines multiply. LLVM
  /// would widen all lanes to twice as many vectors.
  void evaluateWideProduct(arith::MulUIExtendedOp op) {
    Value x = onLanes(lookup(op.getLhs())), y = onLanes(lookup(op.getRhs()));
    auto type = cast<VectorType>(x.getType());
    if (!type.getElementType().isInteger(32) || type.getDimSize(0) % 2) {
      auto product = arith::MulUIExtendedOp::create(b, x, y);
      mapping.map(op.getResults(), product.getResults());
      return;
    }
    VectorType wide = VectorType::get({type.getDimSize(0) / 2}, b.getI64Type());
    auto constant = [&](uint64_t value) -> Value {
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(wide, APInt(64, value)));
    };
    Value half = constant(32), lower = constant(0xffffffffu),
          upper = constant(0xffffffff00000000u);
    x = vector::BitCastOp::create(b, wide, x);
    y = vector::BitCastOp::create(b, wide, y);
    auto both = [&](Value value, Value mask) -> Value {
      return arith::AndIOp::create(b, value, mask);
    };
    auto shifted = [&](Value value) -> Value {
      return arith::ShRUIOp::create(b, value, half);
    };
    Value even = arith::MulIOp::create(b, both(x, lower), both(y, lower));
    Value odd = arith::MulIOp::create(b, shifted(x), shifted(y));
    Value low = arith::OrIOp::create(b, both(even, lower),
                                     arith::ShLIOp::create(b, odd, half));
    Value high = arith::OrIOp::create(b, shifted(even), both(odd, upper));
    mapping.map(op.getLow(), vector::BitCastOp::create(b, type, low));
    mapping.map(op.getHigh(), vector::BitCastOp::create(b, type, high));
  }

  /// A cast of an integer on lanes to fewer bits. Only the low bits of sums and
  /// products matter, so those are computed on fewer bits too.
  std::optional<Value> evaluateNarrowing(Operation &op) {
    if (!isa<arith::IndexCastOp, arith::TruncIOp>(op))
      return std::nullopt;
    auto bits = [](Type type) {
      return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    };
    Type type = op.getResult(0).getType();
    if (bits(type) >= bits(op.getOperand(0).getType()))
      return std::nullopt;
    return lowBits(op.getOperand(0), type);
  }

  Value lowBits(Value value, Type type) {
    Value known = lookup(value);
    Operation *op = value.getDefiningOp();
    if (isOnLanes(known) &&
        isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)) {
      OperationState state(b.getLoc(), op->getName());
      for (Value operand : op->getOperands())
        state.addOperands(onLanes(lowBits(operand, type)));
      state.addTypes(emitter.vectorType(type));
      return b.create(state)->getResult(0);
    }
    Type to = isOnLanes(known) ? Type(emitter.vectorType(type)) : type;
    if (getElementTypeOrSelf(known.getType()).isIndex())
      return arith::IndexCastOp::create(b, to, known);
    return arith::TruncIOp::create(b, to, known);
  }

  Value evaluateLoad(memref::LoadOp load) {
    Value memref = lookup(load.getMemRef());
    SmallVector<Value> indices;
    for (auto [dim, index] : llvm::enumerate(load.getIndices()))
      indices.push_back(clampIndex(emitter, lookup(index), memref, dim));
    if (llvm::none_of(indices, isOnLanes))
      return memref::LoadOp::create(b, memref, indices);
    // One scalar load a lane.
    Type element = load.getType();
    Value result = arith::ConstantOp::create(
        b, b.getZeroAttr(emitter.vectorType(element)));
    for (int64_t lane = 0; lane < emitter.getLanes(); ++lane) {
      SmallVector<Value> scalars;
      for (Value index : indices)
        scalars.push_back(isOnLanes(index)
                              ? vector::ExtractOp::create(b, index, lane)
                              : index);
      Value value = memref::LoadOp::create(b, memref, scalars);
      result = vector::InsertOp::create(b, value, result, lane);
    }
    return result;
  }

  VectorEmitter &emitter;
  ImplicitLocOpBuilder &b;
  IRMapping mapping;
};

} // namespace

Value attn::clampIndex(VectorEmitter &emitter, Value index, Value memref,
                       int64_t dim) {
  ImplicitLocOpBuilder &b = emitter.builder();
  Value zero = emitter.index(0);
  Value extent = memref::DimOp::create(b, memref, dim);
  Value last = arith::SubIOp::create(b, extent, emitter.index(1));
  if (isa<VectorType>(index.getType())) {
    zero = emitter.broadcast(zero);
    last = emitter.broadcast(last);
  }
  // First from above: an empty extent then gives 0, never -1; the runtime has
  // memory behind empty tensors.
  Value below = arith::MinSIOp::create(b, index, last);
  return arith::MaxSIOp::create(b, below, zero);
}

Value attn::vectorizeProgram(VectorEmitter &emitter, Region &region,
                             ValueRange arguments, const IRMapping &known) {
  return ProgramVectorizer(emitter, known).run(region, arguments);
}

Value attn::keepZero(VectorEmitter &emitter, Value weight, Value mapped) {
  ImplicitLocOpBuilder &b = emitter.builder();
  Value none = emitter.splat(0.0);
  Value isZero =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, weight, none);
  return arith::SelectOp::create(b, isZero, none, mapped);
}

void attn::vectorizeKnownPart(VectorEmitter &emitter, Region &region,
                              ArrayRef<Value> arguments, IRMapping &known) {
  known = ProgramVectorizer(emitter, known).runKnownPart(region, arguments);
}
