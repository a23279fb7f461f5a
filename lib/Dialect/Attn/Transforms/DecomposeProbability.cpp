//===- DecomposeProbability.cpp - Attention in two passes -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A running softmax never sees a weight: only at the end is the sum known that
// it is divided by. A program that is not homogeneous needs the weight itself,
// so the keys are passed twice, the first time for the log-sum-exp alone.
//
//===----------------------------------------------------------------------===//

#include "InlineProgram.h"
#include "attn/Analysis/HomogeneousProgram.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

namespace attn {
#define GEN_PASS_DEF_DECOMPOSEPROBABILITYPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

class Decomposition {
public:
  Decomposition(RewriterBase &rewriter, AttentionOp op)
      : rewriter(rewriter), b(op.getLoc(), rewriter), op(op) {}

  void run() {
    b.setInsertionPoint(op);
    AttentionOp sums = emitFirstPass();
    AttentionOp weighted =
        emitSecondPass({sums.getResult(1), sums.getResult(2)});
    SmallVector<Value> results{weighted.getResult(0)};
    if (Value init = op.getLogSumExp())
      results.push_back(convert(sums.getResult(1), init));
    if (op.getRemainder())
      results.push_back(sums.getResult(2));
    rewriter.replaceOp(op, results);
  }

private:
  /// The log-sum-exp, with one feature of the values: kernels have no form
  /// without a weighted sum.
  AttentionOp emitFirstPass() {
    auto column = [&](Value tensor) {
      SmallVector<OpFoldResult> sizes =
          tensor::getMixedSizes(b, b.getLoc(), tensor);
      sizes[3] = b.getIndexAttr(1);
      return sizes;
    };
    SmallVector<OpFoldResult> zeros(4, b.getIndexAttr(0)),
        ones(4, b.getIndexAttr(1));
    Value value = tensor::ExtractSliceOp::create(b, op.getValue(), zeros,
                                                 column(op.getValue()), ones);
    Type element = getElementTypeOrSelf(op.getOutput().getType());
    SmallVector<OpFoldResult> sizes = column(op.getOutput());
    Value output = tensor::EmptyOp::create(b, sizes, element);
    // Weights are as exact as it.
    SmallVector<Value> inits{output};
    for (Value init : {op.getLogSumExp(), op.getRemainder()}) {
      if (!init || getElementTypeOrSelf(init.getType()) != op.getScoreType())
        init = tensor::EmptyOp::create(b, ArrayRef(sizes).drop_back(),
                                       op.getScoreType());
      inits.push_back(init);
    }
    return cloneWith(value, inits);
  }

  /// The op with other values and outputs, and no program on weights. All else
  /// stays, but for the schedule: another one may suit it.
  AttentionOp cloneWith(Value value, ValueRange inits) {
    AttentionOp copy = clone(b, op, TypeRange(inits), op->getOperands());
    copy.getValueMutable().assign(value);
    copy.getInitsMutable().assign(inits);
    copy.removeScheduleAttr();
    copy.getProbability().dropAllReferences();
    copy.getProbability().getBlocks().clear();
    return copy;
  }

  /// `lse`, of the type of scores, in the type of `init`.
  Value convert(Value lse, Value init) {
    Type to = getElementTypeOrSelf(init.getType());
    if (op.getScoreType() == to)
      return lse;
    return linalg::MapOp::create(
               b, ValueRange(lse), init,
               [&](OpBuilder &builder, Location loc, ValueRange arguments) {
                 linalg::YieldOp::create(
                     builder, loc,
                     convertScalarToDtype(builder, loc, arguments[0], to,
                                          /*isUnsignedCast=*/false));
               })
        .getResult()[0];
  }

  /// Weights from the scores and the log-sum-exp of their row.
  AttentionOp emitSecondPass(const LogSumExp &lse) {
    AttentionOp second = cloneWith(op.getValue(), op.getOutput());
    second.getSinkMutable().clear();
    second.setUnnormalized(true);
    Region &region = second.getScore();
    Type type = op.getProbability().getArgument(0).getType();
    if (region.empty()) {
      OpBuilder::InsertionGuard guard(b);
      SmallVector<Type> types(5, b.getIndexType());
      types[0] = type;
      Block *block = rewriter.createBlock(&region, {}, types,
                                          SmallVector<Location>(5, b.getLoc()));
      b.setInsertionPointToStart(block);
      YieldOp::create(b, ValueRange(block->getArgument(0)));
    }
    OpBuilder::InsertionGuard guard(b);
    Operation *yield = region.front().getTerminator();
    b.setInsertionPoint(yield);
    yield->setOperand(0, emitWeight(yield->getOperand(0), lse, region));
    return second;
  }

  /// The mapped weight of a pair whose score is `score`; one of -inf is hidden.
  Value emitWeight(Value score, const LogSumExp &lse, Region &region) {
    SmallVector<Value> row(region.getArguments().slice(1, 3));
    if (!op.getOffsets().empty())
      for (auto [index, offset] : llvm::zip(row, op.getOffsets()))
        index = arith::SubIOp::create(b, index, offset);
    SmallVector<Value> arguments{emitSoftmaxWeightOf(b, score, lse, row)};
    llvm::append_range(arguments, region.getArguments().drop_front());
    Value weight = inlineProgram(b, op.getProbability(), arguments);
    return emitSelectVisible(b, score, weight);
  }

  RewriterBase &rewriter;
  ImplicitLocOpBuilder b;
  AttentionOp op;
};

class DecomposeProbabilityPass
    : public attn::impl::DecomposeProbabilityPassBase<
          DecomposeProbabilityPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionOp> ops;
    getOperation().walk([&](AttentionOp op) {
      if (!op.getProbability().empty() &&
          isa<RankedTensorType>(op.getQuery().getType()))
        ops.push_back(op);
    });
    for (AttentionOp op : ops) {
      Operation *culprit;
      if (isHomogeneousProgram(op.getProbability(), &culprit))
        continue;
      remark::missed(op.getLoc(), remark::RemarkOpts::name("two-passes")
                                      .category("attn")
                                      .function(getOperation().getName()))
          << ((culprit ? "'" + culprit->getName().getStringRef().str() +
                             "' in the program on weights"
                       : "the program on weights") +
              " needs normalised weights: the keys are passed twice");
      Decomposition(rewriter, op).run();
    }
  }
};

} // namespace
