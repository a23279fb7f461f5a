//===- Reductions.cpp - How graphs are made smaller -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op gives way to an operand of its type or to a constant; a clause, a sink
// or a program goes. What is tried is kept only if the fault is still there:
// most changes of a graph that fails make it pass.
//
//===----------------------------------------------------------------------===//

#include "Reductions.h"
#include "attn/Dialect/Attn/IR/AttnDialect.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Reducer/ReductionPatternInterface.h"
#include "mlir/Reducer/Tester.h"

#include <functional>

using namespace mlir;
using namespace attn;

namespace {

/// A change of an op, in place or by a replacement.
using Change = std::function<void(RewriterBase &, Operation *)>;

void clearRegion(Region &region) {
  region.dropAllReferences();
  region.getBlocks().clear();
}

/// Clauses of the softmax, one by one.
void addClauseChanges(MaskedSoftmaxOp op, SmallVectorImpl<Change> &changes) {
  auto add = [&](bool isThere, void (*drop)(MaskedSoftmaxOp)) {
    if (isThere)
      changes.push_back([drop](RewriterBase &rewriter, Operation *op) {
        rewriter.modifyOpInPlace(op, [&] { drop(cast<MaskedSoftmaxOp>(op)); });
      });
  };
  add(op.getCausal() || op.getWindow(), [](MaskedSoftmaxOp op) {
    op.setCausal(false);
    op.removeWindowAttr();
    op.removeAlignmentAttr();
    op.getOffsetMutable().clear();
    op.getPrefixMutable().clear();
  });
  add(op.getCausal() && op.getWindow(),
      [](MaskedSoftmaxOp op) { op.removeWindowAttr(); });
  add(op.getPrefix() != nullptr,
      [](MaskedSoftmaxOp op) { op.getPrefixMutable().clear(); });
  add(op.getLengths() != nullptr,
      [](MaskedSoftmaxOp op) { op.getLengthsMutable().clear(); });
  add(op.getQuerySegments() != nullptr, [](MaskedSoftmaxOp op) {
    op.getQuerySegmentsMutable().clear();
    op.getKeySegmentsMutable().clear();
  });
  add(op.getMask() != nullptr,
      [](MaskedSoftmaxOp op) { op.getMaskMutable().clear(); });
  add(op.getSink() != nullptr,
      [](MaskedSoftmaxOp op) { op.getSinkMutable().clear(); });
  add(op.getEmptyRow() != EmptyRow::Zero,
      [](MaskedSoftmaxOp op) { op.setEmptyRow(EmptyRow::Zero); });
  add(!op.getVisible().empty(),
      [](MaskedSoftmaxOp op) { clearRegion(op.getVisible()); });
}

/// Programs and the sink of the fused op.
void addFusedChanges(AttentionOp op, SmallVectorImpl<Change> &changes) {
  auto add = [&](bool isThere, void (*drop)(AttentionOp)) {
    if (isThere)
      changes.push_back([drop](RewriterBase &rewriter, Operation *op) {
        rewriter.modifyOpInPlace(op, [&] { drop(cast<AttentionOp>(op)); });
      });
  };
  add(!op.getMask().empty(), [](AttentionOp op) { clearRegion(op.getMask()); });
  add(!op.getScore().empty(),
      [](AttentionOp op) { clearRegion(op.getScore()); });
  add(op.getSink() != nullptr,
      [](AttentionOp op) { op.getSinkMutable().clear(); });
}

void addReplacements(Operation *op, SmallVectorImpl<Change> &changes) {
  if (op->getNumResults() != 1 || op->hasTrait<OpTrait::ConstantLike>())
    return;
  Type type = op->getResult(0).getType();
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (operand.getType() == type)
      changes.push_back([index = index](RewriterBase &rewriter, Operation *op) {
        rewriter.replaceOp(op, op->getOperand(index));
      });
  if (type.isIntOrIndexOrFloat())
    for (bool one : {false, true})
      changes.push_back([one](RewriterBase &rewriter, Operation *op) {
        Type type = op->getResult(0).getType();
        TypedAttr value = isa<FloatType>(type)
                              ? TypedAttr(rewriter.getFloatAttr(type, one))
                              : rewriter.getIntegerAttr(type, one);
        rewriter.setInsertionPoint(op);
        rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, value);
      });
}

struct TryChanges : RewritePattern {
  TryChanges(MLIRContext *context, Tester &tester)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context),
        tester(tester) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    auto module = op->getParentOfType<ModuleOp>();
    if (!module)
      return failure();
    SmallVector<Change> changes;
    if (auto softmax = dyn_cast<MaskedSoftmaxOp>(op))
      addClauseChanges(softmax, changes);
    if (auto attention = dyn_cast<AttentionOp>(op))
      addFusedChanges(attention, changes);
    if (isMemoryEffectFree(op))
      addReplacements(op, changes);
    for (const Change &change : changes) {
      IRMapping mapping;
      OwningOpRef<ModuleOp> copy =
          cast<ModuleOp>(module.getOperation()->clone(mapping));
      IRRewriter copyRewriter(copy->getContext());
      change(copyRewriter, mapping.lookup(op));
      if (failed(verify(*copy)) ||
          tester.isInteresting(*copy).first != Tester::Interestingness::True)
        continue;
      change(rewriter, op);
      return success();
    }
    return failure();
  }

  Tester &tester;
};

struct AttnReductions : DialectReductionPatternInterface {
  explicit AttnReductions(Dialect *dialect)
      : DialectReductionPatternInterface(dialect) {}

  void populateReductionPatterns(RewritePatternSet &) const override {}
  void populateReductionPatternsWithTester(RewritePatternSet &patterns,
                                           Tester &tester) const override {
    patterns.add<TryChanges>(patterns.getContext(), tester);
  }
};

} // namespace

void attn::registerReductions(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, AttnDialect *dialect) {
    dialect->addInterfaces<AttnReductions>();
  });
}
