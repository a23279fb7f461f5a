//===- ScalarOps.cpp - Elementwise ONNX operators on scalars ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

namespace {

using Numbers = ArrayRef<double>;

//===----------------------------------------------------------------------===//
// Emitters
//===----------------------------------------------------------------------===//

template <typename Op>
Value emitUnary(ScalarBuilder &b, ValueRange x, Numbers) {
  return Op::create(b.builder, b.loc, x[0]);
}

template <typename Op>
Value emitBinary(ScalarBuilder &b, ValueRange x, Numbers) {
  return Op::create(b.builder, b.loc, x[0], x[1]);
}

/// One or more inputs, from the left.
template <typename Op> Value emitFold(ScalarBuilder &b, ValueRange x, Numbers) {
  Value result = x[0];
  for (Value next : x.drop_front())
    result = Op::create(b.builder, b.loc, result, next);
  return result;
}

template <arith::CmpFPredicate predicate>
Value compareFloats(ScalarBuilder &b, ValueRange x, Numbers) {
  return arith::CmpFOp::create(b.builder, b.loc, predicate, x[0], x[1]);
}

template <arith::CmpIPredicate predicate>
Value compareIntegers(ScalarBuilder &b, ValueRange x, Numbers) {
  return arith::CmpIOp::create(b.builder, b.loc, predicate, x[0], x[1]);
}

Value identity(ScalarBuilder &, ValueRange x, Numbers) { return x[0]; }

Value integerConstant(ScalarBuilder &b, Type type, int64_t value) {
  return arith::ConstantOp::create(b.builder, b.loc,
                                   b.builder.getIntegerAttr(type, value));
}

std::optional<APInt> getKnownInteger(Value value) {
  APInt known;
  if (matchPattern(value, m_ConstantInt(&known)))
    return known;
  return std::nullopt;
}

Value negateInteger(ScalarBuilder &b, ValueRange x, Numbers) {
  Value zero = integerConstant(b, x[0].getType(), 0);
  return arith::SubIOp::create(b.builder, b.loc, zero, x[0]);
}

Value absoluteInteger(ScalarBuilder &b, ValueRange x, Numbers) {
  return arith::MaxSIOp::create(b.builder, b.loc, x[0],
                                negateInteger(b, x, {}));
}

/// The remainder: of the divisor's sign, or with the attribute `fmod` of the
/// dividend's.
Value moduloSigned(ScalarBuilder &b, ValueRange x, Numbers attributes) {
  Value zero = integerConstant(b, x[0].getType(), 0);
  Value rest = arith::RemSIOp::create(b.builder, b.loc, x[0], x[1]);
  if (attributes[0] != 0)
    return rest;
  auto compare = [&](arith::CmpIPredicate predicate, Value number) -> Value {
    return arith::CmpIOp::create(b.builder, b.loc, predicate, number, zero);
  };
  auto divisor = getKnownInteger(x[1]);
  Value isWrong;
  if (divisor)
    isWrong = compare(divisor->isNegative() ? arith::CmpIPredicate::sgt
                                            : arith::CmpIPredicate::slt,
                      rest);
  else // neither 0 nor of the divisor's sign
    isWrong = arith::AndIOp::create(
        b.builder, b.loc, compare(arith::CmpIPredicate::ne, rest),
        compare(arith::CmpIPredicate::slt,
                arith::XOrIOp::create(b.builder, b.loc, rest, x[1])));
  Value wrapped = arith::AddIOp::create(b.builder, b.loc, rest, x[1]);
  return b.select(isWrong, wrapped, rest);
}

template <typename Mul> Value power(ScalarBuilder &b, Value base, uint64_t n) {
  Value result;
  while (true) {
    if (n & 1)
      result = result ? Mul::create(b.builder, b.loc, result, base) : base;
    n >>= 1;
    if (n == 0)
      return result;
    base = Mul::create(b.builder, b.loc, base, base);
  }
}

/// Small powers are products, which vectors have.
Value powerOfFloat(ScalarBuilder &b, ValueRange x, Numbers) {
  FloatAttr attr;
  if (matchPattern(x[1], m_Constant(&attr))) {
    double exponent = attr.getValueAsDouble();
    if (exponent == 0.0)
      return b.constant(x[0].getType(), 1.0);
    if (exponent == -1.0)
      return b.div(b.constant(x[0].getType(), 1.0), x[0]);
    for (unsigned n = 1; n <= 4; ++n)
      if (exponent == n)
        return power<arith::MulFOp>(b, x[0], n);
  }
  return math::PowFOp::create(b.builder, b.loc, x[0], x[1]);
}

Value powerOfInteger(ScalarBuilder &b, ValueRange x, Numbers) {
  auto exponent = getKnownInteger(x[1]);
  if (!exponent || exponent->isZero())
    return integerConstant(b, x[0].getType(), 1);
  return power<arith::MulIOp>(b, x[0], exponent->getZExtValue());
}

/// First from below, so that of two bounds that cross, the upper one holds.
template <typename Max, typename Min>
Value clip(ScalarBuilder &b, ValueRange x, Numbers) {
  Value result = x[0];
  if (x.size() > 1 && x[1])
    result = Max::create(b.builder, b.loc, result, x[1]);
  if (x.size() > 2 && x[2])
    result = Min::create(b.builder, b.loc, result, x[2]);
  return result;
}

Value mean(ScalarBuilder &b, ValueRange x, Numbers) {
  return b.div(emitFold<arith::AddFOp>(b, x, {}),
               b.constant(x[0].getType(), x.size()));
}

Value prelu(ScalarBuilder &b, ValueRange x, Numbers) {
  Value zero = b.constant(x[0].getType(), 0.0);
  Value isPositive =
      compareFloats<arith::CmpFPredicate::OGT>(b, ValueRange{x[0], zero}, {});
  return b.select(isPositive, x[0], b.mul(x[0], x[1]));
}

Value signOfFloat(ScalarBuilder &b, ValueRange x, Numbers) {
  auto constant = [&](double value) {
    return b.constant(x[0].getType(), value);
  };
  auto compare = [&](arith::CmpFPredicate predicate) -> Value {
    return arith::CmpFOp::create(b.builder, b.loc, predicate, x[0],
                                 constant(0.0));
  };
  // NaN stays, and zeros become the positive one.
  Value rest =
      b.select(compare(arith::CmpFPredicate::OEQ), constant(0.0), x[0]);
  rest = b.select(compare(arith::CmpFPredicate::OLT), constant(-1.0), rest);
  return b.select(compare(arith::CmpFPredicate::OGT), constant(1.0), rest);
}

Value signOfInteger(ScalarBuilder &b, ValueRange x, Numbers) {
  Type type = x[0].getType();
  Value below = arith::MaxSIOp::create(b.builder, b.loc, x[0],
                                       integerConstant(b, type, -1));
  return arith::MinSIOp::create(b.builder, b.loc, below,
                                integerConstant(b, type, 1));
}

Value signOfUnsigned(ScalarBuilder &b, ValueRange x, Numbers) {
  return arith::MinUIOp::create(b.builder, b.loc, x[0],
                                integerConstant(b, x[0].getType(), 1));
}

Value isNaN(ScalarBuilder &b, ValueRange x, Numbers) {
  return arith::CmpFOp::create(b.builder, b.loc, arith::CmpFPredicate::UNO,
                               x[0], x[0]);
}

Value isInf(ScalarBuilder &b, ValueRange x, Numbers attributes) {
  double infinity = std::numeric_limits<double>::infinity();
  Value negative = attributes[0] != 0 ? b.equals(x[0], -infinity) : Value();
  Value positive = attributes[1] != 0 ? b.equals(x[0], infinity) : Value();
  if (negative && positive)
    return arith::OrIOp::create(b.builder, b.loc, negative, positive);
  if (negative || positive)
    return negative ? negative : positive;
  return arith::ConstantIntOp::create(b.builder, b.loc, 0, 1);
}

Value negateBoolean(ScalarBuilder &b, ValueRange x, Numbers) {
  Value yes = arith::ConstantIntOp::create(b.builder, b.loc, 1, 1);
  return arith::XOrIOp::create(b.builder, b.loc, x[0], yes);
}

Value bitwiseNot(ScalarBuilder &b, ValueRange x, Numbers) {
  Value ones = integerConstant(b, x[0].getType(), -1);
  return arith::XOrIOp::create(b.builder, b.loc, x[0], ones);
}

/// Bits that are shifted by their number or more are gone.
Value shift(ScalarBuilder &b, ValueRange x, Numbers attributes) {
  Type type = x[0].getType();
  Value zero = integerConstant(b, type, 0);
  Value isInside = arith::CmpIOp::create(
      b.builder, b.loc, arith::CmpIPredicate::ult, x[1],
      integerConstant(b, type, type.getIntOrFloatBitWidth()));
  Value count = b.select(isInside, x[1], zero);
  Value shifted = attributes[0] == 0
                      ? emitBinary<arith::ShLIOp>(b, {x[0], count}, {})
                      : emitBinary<arith::ShRUIOp>(b, {x[0], count}, {});
  return b.select(isInside, shifted, zero);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

using FP = arith::CmpFPredicate;
using IP = arith::CmpIPredicate;
constexpr auto kAny = ScalarOp::kAny;
constexpr auto INT = onnx::AttributeProto::INT;
constexpr auto STRING = onnx::AttributeProto::STRING;

constexpr StringLiteral kBounds[] = {"min", "max"};
constexpr StringLiteral kDirections[] = {"LEFT", "RIGHT"};
const ScalarAttribute kShift[] = {
    {"direction", STRING, std::nullopt, kDirections}};
const ScalarAttribute kModulo[] = {{"fmod", INT, 0.0}};
const ScalarAttribute kInfinities[] = {{"detect_negative", INT, 1.0},
                                       {"detect_positive", INT, 1.0}};

const ScalarOp table[] = {
    {"Abs", 1, 1, emitUnary<math::AbsFOp>, absoluteInteger, identity, nullptr},
    {"Add", 2, 2, emitBinary<arith::AddFOp>, emitBinary<arith::AddIOp>,
     emitBinary<arith::AddIOp>, nullptr},
    {"And", 2, 2, nullptr, nullptr, nullptr, emitBinary<arith::AndIOp>},
    {"BitShift", 2, 2, nullptr, nullptr, shift, nullptr, false,
     SecondInput::Any, kShift},
    {"BitwiseAnd", 2, 2, nullptr, emitBinary<arith::AndIOp>,
     emitBinary<arith::AndIOp>, nullptr},
    {"BitwiseNot", 1, 1, nullptr, bitwiseNot, bitwiseNot, nullptr},
    {"BitwiseOr", 2, 2, nullptr, emitBinary<arith::OrIOp>,
     emitBinary<arith::OrIOp>, nullptr},
    {"BitwiseXor", 2, 2, nullptr, emitBinary<arith::XOrIOp>,
     emitBinary<arith::XOrIOp>, nullptr},
    {"Ceil", 1, 1, emitUnary<math::CeilOp>, nullptr, nullptr, nullptr},
    {"Clip",
     1,
     3,
     clip<arith::MaximumFOp, arith::MinimumFOp>,
     clip<arith::MaxSIOp, arith::MinSIOp>,
     clip<arith::MaxUIOp, arith::MinUIOp>,
     nullptr,
     false,
     SecondInput::Any,
     {},
     kBounds},
    {"Div", 2, 2, emitBinary<arith::DivFOp>, emitBinary<arith::DivSIOp>,
     emitBinary<arith::DivUIOp>, nullptr, false, SecondInput::Divisor},
    {"Equal", 2, 2, compareFloats<FP::OEQ>, compareIntegers<IP::eq>,
     compareIntegers<IP::eq>, compareIntegers<IP::eq>, true},
    {"Floor", 1, 1, emitUnary<math::FloorOp>, nullptr, nullptr, nullptr},
    {"Greater", 2, 2, compareFloats<FP::OGT>, compareIntegers<IP::sgt>,
     compareIntegers<IP::ugt>, nullptr, true},
    {"GreaterOrEqual", 2, 2, compareFloats<FP::OGE>, compareIntegers<IP::sge>,
     compareIntegers<IP::uge>, nullptr, true},
    {"IsInf", 1, 1, isInf, nullptr, nullptr, nullptr, true, SecondInput::Any,
     kInfinities},
    {"IsNaN", 1, 1, isNaN, nullptr, nullptr, nullptr, true},
    {"Less", 2, 2, compareFloats<FP::OLT>, compareIntegers<IP::slt>,
     compareIntegers<IP::ult>, nullptr, true},
    {"LessOrEqual", 2, 2, compareFloats<FP::OLE>, compareIntegers<IP::sle>,
     compareIntegers<IP::ule>, nullptr, true},
    {"Max", 1, kAny, emitFold<arith::MaximumFOp>, emitFold<arith::MaxSIOp>,
     emitFold<arith::MaxUIOp>, nullptr},
    {"Mean", 1, kAny, mean, nullptr, nullptr, nullptr},
    {"Min", 1, kAny, emitFold<arith::MinimumFOp>, emitFold<arith::MinSIOp>,
     emitFold<arith::MinUIOp>, nullptr},
    {"Mod", 2, 2, emitBinary<arith::RemFOp>, moduloSigned,
     emitBinary<arith::RemUIOp>, nullptr, false, SecondInput::Divisor, kModulo},
    {"Mul", 2, 2, emitBinary<arith::MulFOp>, emitBinary<arith::MulIOp>,
     emitBinary<arith::MulIOp>, nullptr},
    {"Neg", 1, 1, emitUnary<arith::NegFOp>, negateInteger, nullptr, nullptr},
    {"Not", 1, 1, nullptr, nullptr, nullptr, negateBoolean},
    {"Or", 2, 2, nullptr, nullptr, nullptr, emitBinary<arith::OrIOp>},
    {"PRelu", 2, 2, prelu, nullptr, nullptr, nullptr},
    {"Pow", 2, 2, powerOfFloat, powerOfInteger, powerOfInteger, nullptr, false,
     SecondInput::Exponent},
    {"Round", 1, 1, emitUnary<math::RoundEvenOp>, nullptr, nullptr, nullptr},
    {"Sign", 1, 1, signOfFloat, signOfInteger, signOfUnsigned, nullptr},
    {"Sub", 2, 2, emitBinary<arith::SubFOp>, emitBinary<arith::SubIOp>,
     emitBinary<arith::SubIOp>, nullptr},
    {"Sum", 1, kAny, emitFold<arith::AddFOp>, nullptr, nullptr, nullptr},
    {"Xor", 2, 2, nullptr, nullptr, nullptr, emitBinary<arith::XOrIOp>},
};

} // namespace

const ScalarOp *attn::findScalarOp(StringRef name) {
  for (ArrayRef<ScalarOp> ops : {ArrayRef(table), getScalarFunctions()})
    for (const ScalarOp &op : ops)
      if (op.name == name)
        return &op;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

Type attn::getScalarType(Type element) {
  if (element.isUnsignedInteger())
    return IntegerType::get(element.getContext(),
                            element.getIntOrFloatBitWidth());
  return element;
}

Value attn::castScalar(ScalarBuilder &build, Value value, Type from, Type to) {
  OpBuilder &b = build.builder;
  Location loc = build.loc;
  if (from == to)
    return value;
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return build.cast(value, to);
  if (to.isInteger(1)) {
    if (isa<FloatType>(from))
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, value,
                                   build.constant(from, 0.0));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                                 integerConstant(build, value.getType(), 0));
  }
  // Everything else by way of i64. Constants stay constants.
  Type i64 = b.getI64Type();
  if (isa<FloatType>(from))
    value = to.isUnsignedInteger(64)
                ? b.createOrFold<arith::FPToUIOp>(loc, i64, value)
                : b.createOrFold<arith::FPToSIOp>(loc, i64, value);
  else if (from.isIndex())
    value = b.createOrFold<arith::IndexCastOp>(loc, i64, value);
  else if (value.getType() != i64)
    value = from.isInteger(1) || from.isUnsignedInteger()
                ? b.createOrFold<arith::ExtUIOp>(loc, i64, value)
                : b.createOrFold<arith::ExtSIOp>(loc, i64, value);
  if (isa<FloatType>(to))
    return from.isUnsignedInteger(64)
               ? b.createOrFold<arith::UIToFPOp>(loc, to, value)
               : b.createOrFold<arith::SIToFPOp>(loc, to, value);
  if (to.isIndex())
    return b.createOrFold<arith::IndexCastOp>(loc, to, value);
  Type type = getScalarType(to);
  return type == i64 ? value
                     : b.createOrFold<arith::TruncIOp>(loc, type, value);
}
