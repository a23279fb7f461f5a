//===- ScalarOps.cpp - Elementwise ONNX operators on scalars ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;

namespace {

template <typename Op> Value emit(ScalarBuilder &b, ValueRange x) {
  return Op::create(b.builder, b.loc, x);
}

template <typename Op> Value emitBinary(ScalarBuilder &b, ValueRange x) {
  return Op::create(b.builder, b.loc, x[0], x[1]);
}

template <typename Op> Value emitUnary(ScalarBuilder &b, ValueRange x) {
  return Op::create(b.builder, b.loc, x[0]);
}

template <arith::CmpFPredicate predicate>
Value compareFloats(ScalarBuilder &b, ValueRange x) {
  return arith::CmpFOp::create(b.builder, b.loc, predicate, x[0], x[1]);
}

template <arith::CmpIPredicate predicate>
Value compareIntegers(ScalarBuilder &b, ValueRange x) {
  return arith::CmpIOp::create(b.builder, b.loc, predicate, x[0], x[1]);
}

Value integerConstant(ScalarBuilder &b, Type type, int64_t value) {
  return arith::ConstantOp::create(b.builder, b.loc,
                                   b.builder.getIntegerAttr(type, value));
}

Value negateInteger(ScalarBuilder &b, ValueRange x) {
  Value zero = integerConstant(b, x[0].getType(), 0);
  return arith::SubIOp::create(b.builder, b.loc, zero, x[0]);
}

Value absoluteInteger(ScalarBuilder &b, ValueRange x) {
  return arith::MaxSIOp::create(b.builder, b.loc, x[0], negateInteger(b, x));
}

/// The remainder of a positive divisor, from 0.
Value moduloInteger(ScalarBuilder &b, ValueRange x) {
  Value rest = arith::RemSIOp::create(b.builder, b.loc, x[0], x[1]);
  Value zero = integerConstant(b, rest.getType(), 0);
  Value isNegative = arith::CmpIOp::create(
      b.builder, b.loc, arith::CmpIPredicate::slt, rest, zero);
  Value wrapped = arith::AddIOp::create(b.builder, b.loc, rest, x[1]);
  return b.select(isNegative, wrapped, rest);
}

Value sigmoid(ScalarBuilder &b, ValueRange x) {
  Value negative = arith::NegFOp::create(b.builder, b.loc, x[0]);
  Value exp = math::ExpOp::create(b.builder, b.loc, negative);
  Value one = b.constant(exp.getType(), 1.0);
  return b.div(one, b.add(one, exp));
}

Value relu(ScalarBuilder &b, ValueRange x) {
  return arith::MaximumFOp::create(b.builder, b.loc, x[0],
                                   b.constant(x[0].getType(), 0.0));
}

Value reciprocal(ScalarBuilder &b, ValueRange x) {
  return b.div(b.constant(x[0].getType(), 1.0), x[0]);
}

Value negateBoolean(ScalarBuilder &b, ValueRange x) {
  Value yes = arith::ConstantIntOp::create(b.builder, b.loc, 1, 1);
  return arith::XOrIOp::create(b.builder, b.loc, x[0], yes);
}

using FP = arith::CmpFPredicate;
using IP = arith::CmpIPredicate;

const ScalarOp table[] = {
    {"Abs", 1, emitUnary<math::AbsFOp>, absoluteInteger, nullptr, false, false},
    {"Add", 2, emitBinary<arith::AddFOp>, emitBinary<arith::AddIOp>, nullptr,
     false, false},
    {"And", 2, nullptr, nullptr, emitBinary<arith::AndIOp>, false, false},
    {"Cos", 1, emitUnary<math::CosOp>, nullptr, nullptr, false, false},
    {"Div", 2, emitBinary<arith::DivFOp>, emitBinary<arith::DivSIOp>, nullptr,
     false, true},
    {"Equal", 2, compareFloats<FP::OEQ>, compareIntegers<IP::eq>,
     compareIntegers<IP::eq>, true, false},
    {"Erf", 1, emitUnary<math::ErfOp>, nullptr, nullptr, false, false},
    {"Exp", 1, emitUnary<math::ExpOp>, nullptr, nullptr, false, false},
    {"Greater", 2, compareFloats<FP::OGT>, compareIntegers<IP::sgt>, nullptr,
     true, false},
    {"GreaterOrEqual", 2, compareFloats<FP::OGE>, compareIntegers<IP::sge>,
     nullptr, true, false},
    {"Less", 2, compareFloats<FP::OLT>, compareIntegers<IP::slt>, nullptr, true,
     false},
    {"LessOrEqual", 2, compareFloats<FP::OLE>, compareIntegers<IP::sle>,
     nullptr, true, false},
    {"Log", 1, emitUnary<math::LogOp>, nullptr, nullptr, false, false},
    {"Max", 2, emitBinary<arith::MaximumFOp>, emitBinary<arith::MaxSIOp>,
     nullptr, false, false},
    {"Min", 2, emitBinary<arith::MinimumFOp>, emitBinary<arith::MinSIOp>,
     nullptr, false, false},
    {"Mod", 2, nullptr, moduloInteger, nullptr, false, true},
    {"Mul", 2, emitBinary<arith::MulFOp>, emitBinary<arith::MulIOp>, nullptr,
     false, false},
    {"Neg", 1, emitUnary<arith::NegFOp>, negateInteger, nullptr, false, false},
    {"Not", 1, nullptr, nullptr, negateBoolean, false, false},
    {"Or", 2, nullptr, nullptr, emitBinary<arith::OrIOp>, false, false},
    {"Pow", 2, emitBinary<math::PowFOp>, nullptr, nullptr, false, false},
    {"Reciprocal", 1, reciprocal, nullptr, nullptr, false, false},
    {"Relu", 1, relu, nullptr, nullptr, false, false},
    {"Sigmoid", 1, sigmoid, nullptr, nullptr, false, false},
    {"Sin", 1, emitUnary<math::SinOp>, nullptr, nullptr, false, false},
    {"Sqrt", 1, emitUnary<math::SqrtOp>, nullptr, nullptr, false, false},
    {"Sub", 2, emitBinary<arith::SubFOp>, emitBinary<arith::SubIOp>, nullptr,
     false, false},
    {"Tanh", 1, emitUnary<math::TanhOp>, nullptr, nullptr, false, false},
    {"Xor", 2, nullptr, nullptr, emitBinary<arith::XOrIOp>, false, false},
};

} // namespace

const ScalarOp *attn::findScalarOp(StringRef name) {
  for (const ScalarOp &op : table)
    if (op.name == name)
      return &op;
  return nullptr;
}

Value attn::castScalar(ScalarBuilder &build, Value value, Type to) {
  OpBuilder &b = build.builder;
  Location loc = build.loc;
  Type from = value.getType();
  if (from == to)
    return value;
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return build.cast(value, to);
  if (to.isInteger(1)) {
    if (isa<FloatType>(from))
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, value,
                                   build.constant(from, 0.0));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                                 integerConstant(build, from, 0));
  }
  // Everything else by way of i64.
  Type i64 = b.getI64Type();
  if (isa<FloatType>(from))
    value = arith::FPToSIOp::create(b, loc, i64, value);
  else if (from.isInteger(1))
    value = arith::ExtUIOp::create(b, loc, i64, value);
  else if (from.isIndex())
    value = arith::IndexCastOp::create(b, loc, i64, value);
  else if (from != i64)
    value = arith::ExtSIOp::create(b, loc, i64, value);
  if (isa<FloatType>(to))
    return arith::SIToFPOp::create(b, loc, to, value);
  if (to.isIndex())
    return arith::IndexCastOp::create(b, loc, to, value);
  return arith::TruncIOp::create(b, loc, to, value);
}
