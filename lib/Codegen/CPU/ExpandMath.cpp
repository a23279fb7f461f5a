//===- ExpandMath.cpp - Math functions in plain arithmetic ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A math function on a vector would become one library call a lane.
//
//===----------------------------------------------------------------------===//

#include "ExpandMathF64.h"
#include "VectorEmitter.h"
#include "attn/Codegen/CPU/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "attn/Codegen/CPU/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// math.exp2 of one register of f32 or f64, by the target's instructions.
struct ExpandExp2 : OpRewritePattern<math::Exp2Op> {
  ExpandExp2(MLIRContext *context, TargetAttr target)
      : OpRewritePattern(context, /*benefit=*/2), target(target) {}

  LogicalResult matchAndRewrite(math::Exp2Op op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getRank() != 1 ||
        !isa<Float32Type, Float64Type>(type.getElementType()))
      return rewriter.notifyMatchFailure(op, "not one vector of f32 or f64");
    auto element = cast<FloatType>(type.getElementType());
    int64_t lanes = target.getLanes(element);
    if (type.getDimSize(0) != lanes)
      return rewriter.notifyMatchFailure(op, "not one register");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    VectorEmitter emitter(b, target.getIsa(), lanes, element);
    bool coarse =
        bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
    rewriter.replaceOp(op, emitter.expandedExp2(op.getOperand(), coarse));
    return success();
  }

  TargetAttr target;
};

/// math.fma where there is no such instruction: a library call a lane.
struct SplitFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    Value product =
        arith::MulFOp::create(rewriter, op.getLoc(), op.getA(), op.getB());
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, product, op.getC());
    return success();
  }
};

/// Whether a vector of `op` is a library call an element.
bool isLibraryCall(Operation *op) {
  if (!isa<math::MathDialect>(op->getDialect()) ||
      !isa<VectorType>(op->getResult(0).getType()))
    return false;
  // Counts of bits and classes of numbers are instructions.
  if (getElementTypeOrSelf(op->getResult(0).getType()).isInteger())
    return isa<math::IPowIOp>(op);
  return !isa<math::FmaOp, math::AbsFOp, math::SqrtOp, math::CopySignOp,
              math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp>(
      op);
}

/// What is left on vectors and is no instruction is slow, which the user of a
/// score program wants to know, once for each op of it.
void remarkLibraryCalls(ModuleOp module) {
  DenseSet<std::pair<OperationName, Location>> seen;
  module.walk([&](Operation *op) {
    if (!isLibraryCall(op) ||
        !seen.insert({op->getName(), op->getLoc()}).second)
      return;
    auto func = op->getParentOfType<func::FuncOp>();
    // The task of an entry speaks for the entry.
    StringRef name = func ? func.getName().split("_task_").first : StringRef();
    remark::missed(op->getLoc(), remark::RemarkOpts::name("library-call")
                                     .category("attn")
                                     .function(name))
        << (op->getName().getStringRef().str() +
            " is one library call for each pair of query and key");
  });
}

class ExpandMathPass : public attn::impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = module->getAttrOfType<TargetAttr>(kTargetAttrName);
    if (!target) {
      module.emitError() << "attn-cpu-expand-math needs the module attribute '"
                         << kTargetAttrName << "'";
      return signalPassFailure();
    }
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExp2>(&getContext(), target);
    populateExpandF64Patterns(patterns, target.getIsa());
    populateMathPolynomialApproximationPatterns(patterns);
    // An expansion may use another function, as log1p does log.
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (int round = 0; round < 3; ++round)
      walkAndApplyPatterns(module, frozen);
    if (target.getIsa() == ISA::Portable) {
      RewritePatternSet split(&getContext());
      split.add<SplitFma>(&getContext());
      walkAndApplyPatterns(module, std::move(split));
    }
    remarkLibraryCalls(module);
  }
};

} // namespace
