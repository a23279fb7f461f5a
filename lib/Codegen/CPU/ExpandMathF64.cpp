//===- ExpandMathF64.cpp - Functions of f64 in plain arithmetic -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's approximations are those of f32. The functions of scores and sums have
// one of f64 here, to 2 ulp, on vectors of any length and with no instruction
// that one of the targets lacks.
//
//===----------------------------------------------------------------------===//

#include "ExpandMathF64.h"
#include "VectorEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;

namespace {

/// ln(2) as a number of 32 significant bits, whose products with exponents are
/// exact, and what is left of it.
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;

class Functions {
public:
  Functions(ImplicitLocOpBuilder &b, VectorEmitter &e)
      : b(b), e(e), bits(e.vectorType(b.getI64Type())) {}

  /// e^x = 2^n e^r with |r| <= ln(2) / 2. What would be below the normal
  /// numbers, about, is 0.
  Value exp(Value x) {
    // 1.5 * 2^52 rounds to an integer, which stands in the low mantissa bits.
    Value magic = e.splat(0x1.8p52);
    Value shifted = e.fma(x, e.splat(llvm::numbers::log2e), magic);
    Value n = sub(shifted, magic);
    Value r = e.fma(n, e.splat(-kLn2High), x);
    r = e.fma(n, e.splat(-kLn2Low), r);
    // Minimax, 3.8e-18 relative.
    Value p = e.evaluatePolynomial(
        r,
        {1.0, 1.0, 0.5000000000000011, 0.16666666666666408, 0.0416666666665281,
         0.008333333333496923, 0.0013888888944249196, 0.0001984126950274092,
         2.480149238828576e-05, 2.7557588421266513e-06, 2.7630523469856495e-07,
         2.4999858279795606e-08});
    // 2^(n - 1), as 2^1024 is no number.
    Value power = arith::AddIOp::create(
        b,
        arith::ShLIOp::create(b, arith::BitcastOp::create(b, bits, shifted),
                              integer(52)),
        integer(int64_t(1022) << 52));
    power = arith::BitcastOp::create(b, e.vectorType(), power);
    Value result = mul(mul(p, power), e.splat(2.0));
    result = select(compare(arith::CmpFPredicate::OLT, x, -708.0), e.splat(0.0),
                    result);
    return select(compare(arith::CmpFPredicate::OGT, x, 0x1.62e42fefa39efp+9),
                  e.splat(INFINITY), result);
  }

  /// log(x) = k ln(2) + log(1 + f) with 1 + f in [sqrt(1/2), sqrt(2)], by the
  /// series of s = f / (2 + f) as in FDLIBM.
  Value log(Value x) {
    Value denormal = compare(arith::CmpFPredicate::OLT, x, 0x1p-1022);
    Value word = arith::BitcastOp::create(
        b, bits, select(denormal, mul(x, e.splat(0x1p54)), x));
    // Moved so that the exponent changes at sqrt(1/2).
    constexpr int64_t kOne = 0x3ff0000000000000, kRoot = 0x3fe6a09e667f3bcd;
    word = arith::AddIOp::create(b, word, integer(kOne - kRoot));
    Value mantissa = arith::AddIOp::create(
        b, arith::AndIOp::create(b, word, integer(0x000fffffffffffff)),
        integer(kRoot));
    Value f =
        sub(arith::BitcastOp::create(b, e.vectorType(), mantissa), e.splat(1));
    // An integer in the mantissa of 2^52 is that much more than 2^52.
    Value exponent =
        arith::OrIOp::create(b, arith::ShRUIOp::create(b, word, integer(52)),
                             integer(0x4330000000000000));
    Value k = sub(
        arith::BitcastOp::create(b, e.vectorType(), exponent),
        select(denormal, e.splat(0x1p52 + 1023 + 54), e.splat(0x1p52 + 1023)));

    Value s = arith::DivFOp::create(b, f, add(f, e.splat(2.0)));
    Value z = mul(s, s);
    Value series =
        mul(z, e.evaluatePolynomial(
                   z, {6.666666666666735130e-01, 3.999999999940941908e-01,
                       2.857142874366239149e-01, 2.222219843214978396e-01,
                       1.818357216161805012e-01, 1.531383769920937332e-01,
                       1.479819860511658591e-01}));
    Value half = mul(e.splat(0.5), mul(f, f));
    Value small = e.fma(k, e.splat(kLn2Low), mul(s, add(half, series)));
    Value result = sub(mul(k, e.splat(kLn2High)), sub(sub(half, small), f));

    result = select(compare(arith::CmpFPredicate::OEQ, x, INFINITY), x, result);
    result = select(compare(arith::CmpFPredicate::OEQ, x, 0.0),
                    e.splat(-INFINITY), result);
    return select(compare(arith::CmpFPredicate::ULT, x, 0.0), e.splat(NAN),
                  result);
  }

  /// tanh(x): a rational function of x^2 near 0, where 1 - 2 / (e^2x + 1) would
  /// lose digits, as in Cephes.
  Value tanh(Value x) {
    Value size = math::AbsFOp::create(b, x), z = mul(x, x);
    Value quotient = arith::DivFOp::create(
        b,
        e.evaluatePolynomial(z, {-1.61468768441708447952e3,
                                 -9.92877231001918586564e1,
                                 -9.64399179425052238628e-1}),
        e.evaluatePolynomial(z, {4.84406305325125486048e3,
                                 2.23548839060100448583e3,
                                 1.12811678491632931402e2, 1.0}));
    Value near = e.fma(mul(x, z), quotient, x);
    Value power = add(exp(add(size, size)), e.splat(1.0));
    Value far =
        sub(e.splat(1.0), arith::DivFOp::create(b, e.splat(2.0), power));
    return select(compare(arith::CmpFPredicate::OLT, size, 0.625), near,
                  math::CopySignOp::create(b, far, x));
  }

private:
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value compare(arith::CmpFPredicate predicate, Value x, double y) {
    return arith::CmpFOp::create(b, predicate, x, e.splat(y));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value integer(int64_t value) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(bits, llvm::ArrayRef<int64_t>(value)));
  }

  ImplicitLocOpBuilder &b;
  VectorEmitter &e;
  VectorType bits;
};

/// One function on vectors of f64.
template <typename OpTy, Value (Functions::*expand)(Value)>
struct ExpandF64 : OpRewritePattern<OpTy> {
  ExpandF64(MLIRContext *context, ISA isa)
      : OpRewritePattern<OpTy>(context, /*benefit=*/2), isa(isa) {}

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getRank() != 1 || !type.getElementType().isF64())
      return rewriter.notifyMatchFailure(op, "not one vector of f64");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    VectorEmitter emitter(b, isa, type.getDimSize(0), b.getF64Type());
    Functions functions(b, emitter);
    rewriter.replaceOp(op, (functions.*expand)(op.getOperand()));
    return success();
  }

  ISA isa;
};

} // namespace

void attn::populateExpandF64Patterns(RewritePatternSet &patterns, ISA isa) {
  patterns.add<ExpandF64<math::ExpOp, &Functions::exp>,
               ExpandF64<math::LogOp, &Functions::log>,
               ExpandF64<math::TanhOp, &Functions::tanh>>(patterns.getContext(),
                                                          isa);
}
