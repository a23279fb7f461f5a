//===- ExtentArithmetic.cpp - From tensors to their extents ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExtentArithmetic.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn;

namespace {

/// An elementwise op has the extents of its first operand: the others are
/// checked against it.
struct DimOfElementwise : OpRewritePattern<tensor::DimOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::DimOp dim,
                                PatternRewriter &rewriter) const override {
    Operation *op = dim.getSource().getDefiningOp();
    if (!op || !op->hasTrait<OpTrait::Elementwise>())
      return rewriter.notifyMatchFailure(dim, "source is not elementwise");
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType())) {
        rewriter.replaceOpWithNewOp<tensor::DimOp>(dim, operand,
                                                   dim.getIndex());
        return success();
      }
    return rewriter.notifyMatchFailure(dim, "no operand is a tensor");
  }
};

} // namespace

void attn::resolveDims(func::FuncOp shape) {
  MLIRContext *context = shape.getContext();
  RewritePatternSet patterns(context);
  patterns.add<DimOfElementwise>(context);
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  memref::populateResolveShapedTypeResultDimsPatterns(patterns);
  tensor::DimOp::getCanonicalizationPatterns(patterns, context);
  // Convergence does not matter: what is left is reported by name.
  (void)applyPatternsGreedily(shape, std::move(patterns));
}

void attn::lowerToArith(func::FuncOp shape) {
  MLIRContext *context = shape.getContext();
  RewritePatternSet patterns(context);
  populateAffineToStdConversionPatterns(patterns);
  context->getLoadedDialect<arith::ArithDialect>()->getCanonicalizationPatterns(
      patterns);
  for (RegisteredOperationName name :
       context->getRegisteredOperationsByDialect("arith"))
    name.getCanonicalizationPatterns(patterns, context);
  (void)applyPatternsGreedily(shape, std::move(patterns));
  IRRewriter rewriter(context);
  DominanceInfo dominance(shape);
  eliminateCommonSubExpressions(rewriter, dominance, shape);
}

void attn::eraseUnneeded(func::FuncOp shape) {
  Block &body = shape.front();
  llvm::SetVector<Operation *> needed;
  needed.insert(body.getTerminator());
  for (size_t i = 0; i < needed.size(); ++i)
    needed[i]->walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          if (Operation *top = body.findAncestorOpInBlock(*producer))
            needed.insert(top);
    });
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(body.getOperations())))
    if (!needed.contains(&op)) {
      op.dropAllUses();
      op.erase();
    }
}

LogicalResult attn::verifyOnlyExtents(func::FuncOp shape,
                                      func::FuncOp function) {
  Operation *culprit = nullptr;
  shape.front().walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool tensors = llvm::any_of(
        llvm::concat<const Type>(llvm::to_vector(op->getOperandTypes()),
                                 llvm::to_vector(op->getResultTypes())),
        [](Type type) { return isa<TensorType>(type); });
    if (!tensors && isa_and_nonnull<arith::ArithDialect, scf::SCFDialect,
                                    memref::MemRefDialect>(op->getDialect()))
      return WalkResult::advance();
    if (isa<func::ReturnOp>(op))
      return WalkResult::advance();
    // The extent that was asked for says more than the op it is asked of.
    if (!culprit || isa<tensor::DimOp>(op))
      culprit = op;
    return isa<tensor::DimOp>(culprit) ? WalkResult::interrupt()
                                       : WalkResult::advance();
  });
  if (!culprit)
    return success();
  if (auto dim = dyn_cast<tensor::DimOp>(culprit)) {
    Operation *producer = dim.getSource().getDefiningOp();
    std::optional<int64_t> index = dim.getConstantIndex();
    InFlightDiagnostic diag = (producer ? producer : culprit)->emitError()
                              << "extent ";
    if (index)
      diag << *index << " ";
    diag << "of ";
    if (producer)
      diag << "a result of '" << producer->getName() << "'";
    else
      diag << "an argument or block argument";
    return diag << " cannot be computed from the extents of the arguments of '"
                << function.getName() << "'";
  }
  return mlir::emitError(culprit->getLoc())
         << "extents in '" << function.getName() << "' depend on '"
         << culprit->getName()
         << "', which does not follow from the extents of the arguments";
}
