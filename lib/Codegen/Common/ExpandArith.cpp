//===- ExpandArith.cpp - Arithmetic without an LLVM instruction -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's expansions, but only those without which the module does not
// translate or does not link; and divisors that no instruction traps for.
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
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
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
