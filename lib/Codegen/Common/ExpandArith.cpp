//===- ExpandArith.cpp - Arithmetic without an LLVM instruction -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's expansions, but only those without which the module does not
// translate or does not link; divisors that no instruction traps for; and a way
// around LLVM's instruction selection, which fails on vectors of conversions
// between f16 and integers beyond 64 bits.
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace attn {
#define GEN_PASS_DEF_EXPANDARITHPASS
#include "attn/Codegen/Common/Passes.h.inc"
} // namespace attn

namespace {

/// `value` in `type`, an integer or a vector of such.
Value createConstant(OpBuilder &b, Location loc, Type type,
                     const APInt &value) {
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, value);
  return arith::ConstantOp::create(b, loc, attr);
}

/// Programs are evaluated for hidden pairs too, where they may divide by
/// anything: 1 instead of 0, and instead of -1 under the lowest integer.
void makeSafe(Operation *division, bool isSigned) {
  Value dividend = division->getOperand(0), divisor = division->getOperand(1);
  Type type = divisor.getType(), element = getElementTypeOrSelf(type);
  APInt known;
  if (matchPattern(divisor, m_ConstantInt(&known)) && !known.isZero() &&
      !known.isAllOnes())
    return;
  ImplicitLocOpBuilder b(division->getLoc(), division);
  unsigned width = element.isIndex() ? IndexType::kInternalStorageBitWidth
                                     : element.getIntOrFloatBitWidth();
  auto constant = [&](const APInt &value) {
    return createConstant(b, division->getLoc(), type, value);
  };
  auto equals = [&](Value x, const APInt &value) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x,
                                 constant(value));
  };
  Value traps = equals(divisor, APInt::getZero(width));
  if (isSigned)
    traps = arith::OrIOp::create(
        b, traps,
        arith::AndIOp::create(
            b, equals(divisor, APInt::getAllOnes(width)),
            equals(dividend, APInt::getSignedMinValue(width))));
  division->setOperand(
      1, arith::SelectOp::create(b, traps, constant(APInt(width, 1)), divisor));
}

/// Whether `half` is f16 and `integer` beyond 64 bits, or vectors of such.
bool isWideConversion(Type half, Type integer) {
  return getElementTypeOrSelf(half).isF16() &&
         getElementTypeOrSelf(integer).getIntOrFloatBitWidth() > 64;
}

/// `element`, or a vector of it like `type`.
Type withElement(Type type, Type element) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(element)) : element;
}

/// f16 to an integer, by i32, which has each number that is finite in f16. By
/// f32, LLVM would make one conversion of the two again.
template <typename ConversionOp, typename ExtensionOp>
struct FromHalf : OpRewritePattern<ConversionOp> {
  using OpRewritePattern<ConversionOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(ConversionOp op,
                                PatternRewriter &rewriter) const override {
    if (!isWideConversion(op.getIn().getType(), op.getType()))
      return failure();
    Value narrow = ConversionOp::create(
        rewriter, op.getLoc(), withElement(op.getType(), rewriter.getI32Type()),
        op.getIn());
    rewriter.replaceOpWithNewOp<ExtensionOp>(op, op.getType(), narrow);
    return success();
  }
};

/// `integer` in f16, by i32. Those that it does not have are infinite in f16,
/// as is 2^17.
Value convertToHalf(OpBuilder &b, Location loc, Value integer, Type half,
                    bool isSigned) {
  Type type = integer.getType();
  APInt end = APInt::getOneBitSet(
      getElementTypeOrSelf(type).getIntOrFloatBitWidth(), 17);
  auto constant = [&](const APInt &value) {
    return createConstant(b, loc, type, value);
  };
  Type narrow = withElement(type, b.getI32Type());
  if (!isSigned) {
    integer = arith::MinUIOp::create(b, loc, integer, constant(end));
    integer = arith::TruncIOp::create(b, loc, narrow, integer);
    return arith::UIToFPOp::create(b, loc, half, integer);
  }
  integer = arith::MinSIOp::create(b, loc, integer, constant(end));
  integer = arith::MaxSIOp::create(b, loc, integer, constant(-end));
  integer = arith::TruncIOp::create(b, loc, narrow, integer);
  return arith::SIToFPOp::create(b, loc, half, integer);
}

template <typename ConversionOp>
struct ToHalf : OpRewritePattern<ConversionOp> {
  using OpRewritePattern<ConversionOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(ConversionOp op,
                                PatternRewriter &rewriter) const override {
    if (!isWideConversion(op.getType(), op.getIn().getType()))
      return failure();
    rewriter.replaceOp(op,
                       convertToHalf(rewriter, op.getLoc(), op.getIn(),
                                     op.getType(), isa<arith::SIToFPOp>(op)));
    return success();
  }
};

/// The same where the integer goes by f32 or f64, which have each that is not
/// infinite in f16: LLVM would make it one conversion.
struct TruncationToHalf : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Operation *source = op.getIn().getDefiningOp();
    if (!isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(source) ||
        !isWideConversion(op.getType(), source->getOperand(0).getType()))
      return failure();
    rewriter.replaceOp(op, convertToHalf(rewriter, op.getLoc(),
                                         source->getOperand(0), op.getType(),
                                         isa<arith::SIToFPOp>(source)));
    return success();
  }
};

struct ExpandArithPass : attn::impl::ExpandArithPassBase<ExpandArithPass> {
  void runOnOperation() override {
    // Before expansions, which compare with the divisor as well.
    getOperation()->walk([](Operation *op) {
      if (isa<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp,
              arith::FloorDivSIOp, index::DivSOp, index::RemSOp,
              index::CeilDivSOp, index::FloorDivSOp>(op))
        makeSafe(op, /*isSigned=*/true);
      else if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp,
                   index::DivUOp, index::RemUOp, index::CeilDivUOp>(op))
        makeSafe(op, /*isSigned=*/false);
    });
    RewritePatternSet patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);
    patterns
        .add<FromHalf<arith::FPToSIOp, arith::ExtSIOp>,
             FromHalf<arith::FPToUIOp, arith::ExtUIOp>, ToHalf<arith::SIToFPOp>,
             ToHalf<arith::UIToFPOp>, TruncationToHalf>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
