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

/// Programs are evaluated for hidden pairs too, where they may divide by
/// anything: 1 instead of 0, and instead of -1 under the lowest integer.
void makeSafe(Operation *division) {
  Value dividend = division->getOperand(0), divisor = division->getOperand(1);
  Type type = divisor.getType(), element = getElementTypeOrSelf(type);
  APInt known;
  if (matchPattern(divisor, m_ConstantInt(&known)) && !known.isZero() &&
      !known.isAllOnes())
    return;
  ImplicitLocOpBuilder b(division->getLoc(), division);
  unsigned width = element.isIndex() ? IndexType::kInternalStorageBitWidth
                                     : element.getIntOrFloatBitWidth();
  auto constant = [&](const APInt &value) -> Value {
    TypedAttr attr = b.getIntegerAttr(element, value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, value);
    return arith::ConstantOp::create(b, attr);
  };
  auto equals = [&](Value x, const APInt &value) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x,
                                 constant(value));
  };
  Value traps = equals(divisor, APInt::getZero(width));
  // As an unsigned number, -1 is a divisor like others.
  if (!isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(division))
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

/// An integer to f16, by f32. It rounds once: f32 has each integer that is not
/// infinite in f16.
template <typename ConversionOp>
struct ToHalf : OpRewritePattern<ConversionOp> {
  using OpRewritePattern<ConversionOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(ConversionOp op,
                                PatternRewriter &rewriter) const override {
    if (!isWideConversion(op.getType(), op.getIn().getType()))
      return failure();
    Value wide = ConversionOp::create(
        rewriter, op.getLoc(), withElement(op.getType(), rewriter.getF32Type()),
        op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }
};

struct ExpandArithPass : attn::impl::ExpandArithPassBase<ExpandArithPass> {
  void runOnOperation() override {
    // Before expansions, which compare with the divisor as well.
    getOperation()->walk([](Operation *op) {
      if (isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp,
              arith::CeilDivUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op))
        makeSafe(op);
    });
    RewritePatternSet patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);
    patterns.add<FromHalf<arith::FPToSIOp, arith::ExtSIOp>,
                 FromHalf<arith::FPToUIOp, arith::ExtUIOp>,
                 ToHalf<arith::SIToFPOp>, ToHalf<arith::UIToFPOp>>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
