//===- TensorLoops.cpp - Loops on tensors, for the twin ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Conversion/AttnToLinalg/TensorLoops.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value ScalarBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value ScalarBuilder::constant(Type type, double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}

Value ScalarBuilder::cast(Value value, Type type) {
  // f16 and bf16 meet in f32.
  if (value.getType() != type &&
      value.getType().getIntOrFloatBitWidth() == type.getIntOrFloatBitWidth())
    value = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  return convertScalarToDtype(builder, loc, value, type,
                              /*isUnsignedCast=*/false);
}

Value ScalarBuilder::toIndex(Value value) {
  if (value.getType().isIndex())
    return value;
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    value);
}

Value ScalarBuilder::equals(Value value, double number) {
  return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, value,
                               constant(value.getType(), number));
}

Value ScalarBuilder::add(Value a, Value b) {
  if (a.getType().isIndex())
    return arith::AddIOp::create(builder, loc, a, b);
  return arith::AddFOp::create(builder, loc, a, b);
}

Value ScalarBuilder::sub(Value a, Value b) {
  if (a.getType().isIndex())
    return arith::SubIOp::create(builder, loc, a, b);
  return arith::SubFOp::create(builder, loc, a, b);
}

Value ScalarBuilder::mul(Value a, Value b) {
  if (a.getType().isIndex())
    return arith::MulIOp::create(builder, loc, a, b);
  return arith::MulFOp::create(builder, loc, a, b);
}

Value ScalarBuilder::div(Value a, Value b) {
  if (a.getType().isIndex())
    return arith::DivUIOp::create(builder, loc, a, b);
  return arith::DivFOp::create(builder, loc, a, b);
}

Value ScalarBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value ScalarBuilder::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, predicate, a, b);
}

Value ScalarBuilder::logicalAnd(Value a, Value b) {
  return arith::AndIOp::create(builder, loc, a, b);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value ScalarBuilder::dim(Value tensor, int64_t d) {
  auto type = llvm::cast<RankedTensorType>(tensor.getType());
  if (!type.isDynamicDim(d))
    return index(type.getDimSize(d));
  return tensor::DimOp::create(builder, loc, tensor, d);
}

Value ScalarBuilder::load(Value tensor, ValueRange indices) {
  return tensor::ExtractOp::create(builder, loc, tensor, indices);
}

Value ScalarBuilder::loadClamped(Value tensor, ValueRange indices) {
  auto type = llvm::cast<RankedTensorType>(tensor.getType());
  Value zero = index(0), one = index(1);
  SmallVector<Value> clamped;
  Value nonempty;
  for (auto [d, i] : llvm::enumerate(indices)) {
    APInt known;
    if (!type.isDynamicDim(d) && matchPattern(i, m_ConstantInt(&known)) &&
        known.getSExtValue() >= 0 &&
        known.getSExtValue() < type.getDimSize(d)) {
      clamped.push_back(i);
      continue;
    }
    Value extent = dim(tensor, d);
    Value last = sub(extent, one);
    clamped.push_back(arith::MaxSIOp::create(
        builder, loc, arith::MinSIOp::create(builder, loc, i, last), zero));
    if (type.isDynamicDim(d) || type.getDimSize(d) == 0) {
      Value some = compare(arith::CmpIPredicate::sgt, extent, zero);
      nonempty = nonempty ? logicalAnd(nonempty, some) : some;
    }
  }
  if (!nonempty)
    return load(tensor, clamped);
  // An empty tensor has no element to clamp to.
  Type element = type.getElementType();
  return scf::IfOp::create(
             builder, loc, nonempty,
             [&](OpBuilder &then, Location) {
               ScalarBuilder scalars(then, loc);
               scf::YieldOp::create(then, loc, scalars.load(tensor, clamped));
             },
             [&](OpBuilder &otherwise, Location) {
               scf::YieldOp::create(
                   otherwise, loc,
                   Value(arith::ConstantOp::create(
                       otherwise, loc, otherwise.getZeroAttr(element))));
             })
      .getResult(0);
}

Value ScalarBuilder::loadBroadcast(Value tensor, ValueRange indices) {
  auto type = llvm::cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> used;
  for (auto [d, i] : llvm::enumerate(indices.take_back(type.getRank()))) {
    // An extent is 1 or the full one, so clamping broadcasts.
    if (type.getDimSize(d) == 1)
      used.push_back(index(0));
    else if (type.isDynamicDim(d))
      used.push_back(arith::MinSIOp::create(builder, loc, i,
                                            sub(dim(tensor, d), index(1))));
    else
      used.push_back(i);
  }
  return load(tensor, used);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value TensorLoops::fill(Sizes sizes, Type element, double value) {
  return linalg::FillOp::create(builder, loc, constant(element, value),
                                empty(sizes, element))
      .getResult(0);
}

Value TensorLoops::loops(unsigned numLoops, ArrayRef<LoopOperand> inputs,
                         const LoopOperand &output, Body body) {
  auto getMap = [&](const LoopOperand &operand) {
    SmallVector<AffineExpr> exprs;
    for (unsigned loop : operand.loops)
      exprs.push_back(loop == kBroadcast ? builder.getAffineConstantExpr(0)
                                         : builder.getAffineDimExpr(loop));
    return AffineMap::get(numLoops, 0, exprs, builder.getContext());
  };
  SmallVector<Value> tensors;
  SmallVector<AffineMap> maps;
  for (const LoopOperand &input : inputs) {
    tensors.push_back(input.tensor);
    maps.push_back(getMap(input));
  }
  maps.push_back(getMap(output));
  SmallVector<utils::IteratorType> iterators(numLoops,
                                             utils::IteratorType::reduction);
  for (unsigned loop : output.loops)
    iterators[loop] = utils::IteratorType::parallel;
  return linalg::GenericOp::create(
             builder, loc, output.tensor.getType(), tensors, output.tensor,
             maps, iterators,
             [&](OpBuilder &nested, Location, ValueRange arguments) {
               LoopBody loopBody(nested, loc, arguments.drop_back(),
                                 arguments.back());
               linalg::YieldOp::create(nested, loc, body(loopBody));
             })
      .getResult(0);
}

Value TensorLoops::map(Sizes sizes, Type element, ValueRange inputs,
                       Body body) {
  SmallVector<unsigned> all =
      llvm::to_vector(llvm::seq<unsigned>(0, sizes.size()));
  SmallVector<LoopOperand> operands;
  for (Value input : inputs)
    operands.push_back({input, all});
  return loops(sizes.size(), operands, {empty(sizes, element), all}, body);
}

Value TensorLoops::castElements(Value input, Type element) {
  if (getElementTypeOrSelf(input.getType()) == element)
    return input;
  return map(sizes(input), element, input,
             [&](LoopBody &b) { return b.cast(b.inputs[0], element); });
}
