//===- ScalarFunctions.cpp - Functions and activations of ONNX --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators on one real number. What has no vector form of its own is a formula
// of functions that have one (ExpandMath), arranged so that it neither cancels
// nor overflows where the function itself does not.
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace attn;

namespace {

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// A value in a formula.
struct Real {
  ScalarBuilder &b;
  Value value;

  Real constant(double number) const {
    return {b, b.constant(value.getType(), number)};
  }
  template <typename Op> Real apply() const {
    return {b, Op::create(b.builder, b.loc, value)};
  }
  template <typename Op> Real apply(Real other) const {
    return {b, Op::create(b.builder, b.loc, value, other.value)};
  }
  Value compare(arith::CmpFPredicate predicate, double number) const {
    return arith::CmpFOp::create(b.builder, b.loc, predicate, value,
                                 constant(number).value);
  }
};

Real operator+(Real x, Real y) { return {x.b, x.b.add(x.value, y.value)}; }
Real operator-(Real x, Real y) { return {x.b, x.b.sub(x.value, y.value)}; }
Real operator*(Real x, Real y) { return {x.b, x.b.mul(x.value, y.value)}; }
Real operator/(Real x, Real y) { return {x.b, x.b.div(x.value, y.value)}; }
Real operator+(Real x, double y) { return x + x.constant(y); }
Real operator-(Real x, double y) { return x - x.constant(y); }
Real operator*(double x, Real y) { return y.constant(x) * y; }
Real operator/(double x, Real y) { return y.constant(x) / y; }
Real operator/(Real x, double y) { return x / x.constant(y); }
Real operator-(Real x) { return x.apply<arith::NegFOp>(); }
Value operator<(Real x, double y) {
  return x.compare(arith::CmpFPredicate::OLT, y);
}
Value operator==(Real x, double y) {
  return x.compare(arith::CmpFPredicate::OEQ, y);
}
Value operator>(Real x, double y) {
  return x.compare(arith::CmpFPredicate::OGT, y);
}

Real select(Value condition, Real x, Real y) {
  return {x.b, x.b.select(condition, x.value, y.value)};
}
Real select(Value condition, Real x, double y) {
  return select(condition, x, x.constant(y));
}
Real max(Real x, double y) { return x.apply<arith::MaximumFOp>(x.constant(y)); }
Real min(Real x, double y) { return x.apply<arith::MinimumFOp>(x.constant(y)); }
Real abs(Real x) { return x.apply<math::AbsFOp>(); }
Real copysign(Real x, Real sign) { return x.apply<math::CopySignOp>(sign); }
Real exp(Real x) { return x.apply<math::ExpOp>(); }
Real log(Real x) { return x.apply<math::LogOp>(); }
Real sqrt(Real x) { return x.apply<math::SqrtOp>(); }
Real tanh(Real x) { return x.apply<math::TanhOp>(); }

/// log(1 + x). What 1 + x rounds away, the quotient gives back (Kahan). The op
/// of that name becomes log(1 + x) as it stands on f64.
Real log1p(Real x) {
  Real shifted = x + 1.0;
  Real result = log(shifted) * (x / (shifted - 1.0));
  return select(x == INFINITY, x, select(shifted == 1.0, x, result));
}

/// e^x - 1, likewise.
Real expm1(Real x) {
  Real power = exp(x), grown = power - 1.0;
  Real result = select(power == 1.0, x, grown * (x / log(power)));
  return select(power == INFINITY, power, select(grown == -1.0, grown, result));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

using Numbers = ArrayRef<double>;

Real tangent(Real x, Numbers) {
  return x.apply<math::SinOp>() / x.apply<math::CosOp>();
}

/// By the arc sine, which is more exact on vectors of f32 than the op. Beyond 1
/// it is that of the reciprocal, so that squares do not overflow.
Real inverseTangent(Real x, Numbers) {
  Real size = abs(x);
  Value isSteep = size > 1.0;
  Real slope = select(isSteep, 1.0 / size, size);
  Real angle = (slope / sqrt(slope * slope + 1.0)).apply<math::AsinOp>();
  return copysign(select(isSteep, -angle + M_PI_2, angle), x);
}

/// With the root of e^|x|, which is finite wherever the result is.
Real hyperbolicCosine(Real x, Numbers) {
  Real root = exp(0.5 * abs(x));
  return 0.5 * root * root + 0.5 / root / root;
}

Real hyperbolicSine(Real x, Numbers) {
  Real size = abs(x), root = exp(0.5 * size), grown = expm1(size);
  Real near = 0.5 * (grown + grown / (grown + 1.0));
  Real far = 0.5 * root * root - 0.5 / root / root;
  return copysign(select(size < 1.0, near, far), x);
}

/// Beyond this, 1 is nothing beside the square.
constexpr double kLarge = 0x1p28;

Real inverseHyperbolicSine(Real x, Numbers) {
  Real size = abs(x), square = size * size;
  Real near = log1p(size + square / (sqrt(square + 1.0) + 1.0));
  Real far = log(size) + M_LN2;
  return copysign(select(size > kLarge, far, near), x);
}

Real inverseHyperbolicCosine(Real x, Numbers) {
  Real above = x - 1.0;
  Real near = log1p(above + sqrt(above * (above + 2.0)));
  Real result = select(x > kLarge, log(x) + M_LN2, near);
  return select(x < 1.0, x.constant(NAN), result);
}

Real inverseHyperbolicTangent(Real x, Numbers) {
  Real size = abs(x);
  return copysign(0.5 * log1p(2.0 * size / (-size + 1.0)), x);
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

Real reciprocal(Real x, Numbers) { return 1.0 / x; }

Real relu(Real x, Numbers) { return max(x, 0.0); }

Real sigmoid(Real x, Numbers) { return 1.0 / (exp(-x) + 1.0); }

Real softplus(Real x, Numbers) { return max(x, 0.0) + log1p(exp(-abs(x))); }

Real softsign(Real x, Numbers) { return x / (abs(x) + 1.0); }

Real elu(Real x, Numbers alpha) {
  return select(x > 0.0, x, alpha[0] * expm1(x));
}

Real leakyRelu(Real x, Numbers alpha) {
  return select(x > 0.0, x, alpha[0] * x);
}

Real thresholdedRelu(Real x, Numbers alpha) {
  return select(x > alpha[0], x, 0.0);
}

Real selu(Real x, Numbers alphaGamma) {
  return alphaGamma[1] * elu(x, alphaGamma);
}

Real celu(Real x, Numbers alpha) {
  return max(x, 0.0) + min(alpha[0] * expm1(x / alpha[0]), 0.0);
}

Real hardSigmoid(Real x, Numbers alphaBeta) {
  return max(min(alphaBeta[0] * x + alphaBeta[1], 1.0), 0.0);
}

Real hardSwish(Real x, Numbers) { return x * hardSigmoid(x, {1.0 / 6, 0.5}); }

Real swish(Real x, Numbers alpha) { return x / (exp(-(alpha[0] * x)) + 1.0); }

Real mish(Real x, Numbers) { return x * tanh(softplus(x, {})); }

/// x / 2 (1 + erf(x / sqrt(2))), or with an approximation of the curve.
Real gelu(Real x, Numbers isTanh) {
  Real curve = isTanh[0] != 0
                   ? tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * (x * x * x)))
                   : (M_SQRT1_2 * x).apply<math::ErfOp>();
  return 0.5 * x * (curve + 1.0);
}

Real shrink(Real x, Numbers biasLambda) {
  Real inner = select(x > biasLambda[1], x - biasLambda[0], 0.0);
  return select(x < -biasLambda[1], x + biasLambda[0], inner);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

template <Real (*function)(Real, Numbers)>
Value emit(ScalarBuilder &b, ValueRange x, Numbers attributes) {
  return function({b, x[0]}, attributes).value;
}

template <typename Op> Real function(Real x, Numbers) { return x.apply<Op>(); }

template <Real (*function)(Real, Numbers)>
ScalarOp makeFunction(StringLiteral name,
                      ArrayRef<ScalarAttribute> attributes = {}) {
  return {name,    1,       1,     emit<function>,   nullptr,
          nullptr, nullptr, false, SecondInput::Any, attributes};
}

constexpr auto FLOAT = onnx::AttributeProto::FLOAT;

constexpr StringLiteral kApproximations[] = {"none", "tanh"};
const ScalarAttribute kAlpha1[] = {{"alpha", FLOAT, 1.0}};
const ScalarAttribute kAlpha001[] = {{"alpha", FLOAT, 0.01f}};
// The decimals of the specification are floats.
const ScalarAttribute kSelu[] = {{"alpha", FLOAT, 1.67326319217681884765625f},
                                 {"gamma", FLOAT, 1.05070102214813232421875f}};
const ScalarAttribute kHardSigmoid[] = {{"alpha", FLOAT, 0.2f},
                                        {"beta", FLOAT, 0.5f}};
const ScalarAttribute kShrink[] = {{"bias", FLOAT, 0.0}, {"lambd", FLOAT, 0.5}};
const ScalarAttribute kGelu[] = {
    {"approximate", onnx::AttributeProto::STRING, 0.0, kApproximations}};

const ScalarOp functions[] = {
    makeFunction<function<math::AcosOp>>("Acos"),
    makeFunction<inverseHyperbolicCosine>("Acosh"),
    makeFunction<function<math::AsinOp>>("Asin"),
    makeFunction<inverseHyperbolicSine>("Asinh"),
    makeFunction<inverseTangent>("Atan"),
    makeFunction<inverseHyperbolicTangent>("Atanh"),
    makeFunction<celu>("Celu", kAlpha1),
    makeFunction<function<math::CosOp>>("Cos"),
    makeFunction<hyperbolicCosine>("Cosh"),
    makeFunction<elu>("Elu", kAlpha1),
    makeFunction<function<math::ErfOp>>("Erf"),
    makeFunction<function<math::ExpOp>>("Exp"),
    makeFunction<gelu>("Gelu", kGelu),
    makeFunction<hardSigmoid>("HardSigmoid", kHardSigmoid),
    makeFunction<hardSwish>("HardSwish"),
    makeFunction<leakyRelu>("LeakyRelu", kAlpha001),
    makeFunction<function<math::LogOp>>("Log"),
    makeFunction<mish>("Mish"),
    makeFunction<reciprocal>("Reciprocal"),
    makeFunction<relu>("Relu"),
    makeFunction<selu>("Selu", kSelu),
    makeFunction<shrink>("Shrink", kShrink),
    makeFunction<sigmoid>("Sigmoid"),
    makeFunction<function<math::SinOp>>("Sin"),
    makeFunction<hyperbolicSine>("Sinh"),
    makeFunction<softplus>("Softplus"),
    makeFunction<softsign>("Softsign"),
    makeFunction<function<math::SqrtOp>>("Sqrt"),
    makeFunction<swish>("Swish", kAlpha1),
    makeFunction<tangent>("Tan"),
    makeFunction<function<math::TanhOp>>("Tanh"),
    makeFunction<thresholdedRelu>("ThresholdedRelu", kAlpha1),
};

} // namespace

ArrayRef<ScalarOp> attn::getScalarFunctions() { return functions; }
