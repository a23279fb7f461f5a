//===- DecomposeTensors.cpp - Tensor ops before bufferisation ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Users and importers write elementwise ops on tensors and concatenations,
// which upstream does not bufferise, and ops that stand for several, such as
// linalg.softmax, which it does not lower to loops.
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace attn {
#define GEN_PASS_DEF_DECOMPOSETENSORSPASS
#include "attn/Codegen/Common/Passes.h.inc"
} // namespace attn

namespace {

struct DecomposeTensorsPass
    : attn::impl::DecomposeTensorsPassBase<DecomposeTensorsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    WalkResult walk =
        getOperation()->walk([&](linalg::AggregatedOpInterface op) {
          rewriter.setInsertionPoint(op);
          for (Type type : op->getOperandTypes())
            if (!isa<FloatType>(getElementTypeOrSelf(type))) {
              op->emitOpError() << "has no code for " << type;
              return WalkResult::interrupt();
            }
          FailureOr<SmallVector<Value>> results =
              op.decomposeOperation(rewriter);
          if (failed(results)) {
            op->emitOpError("has no decomposition");
            return WalkResult::interrupt();
          }
          rewriter.replaceOp(op, *results);
          return WalkResult::advance();
        });
    if (walk.wasInterrupted())
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    tensor::populateDecomposeTensorConcatPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();

    // The elementwise patterns name an operand as the destination whose
    // contents they ignore. A fresh one can be replaced by the result's buffer.
    getOperation()->walk([](linalg::GenericOp op) {
      OpBuilder builder(op);
      for (OpOperand &init : op.getDpsInitsMutable()) {
        if (!isa<RankedTensorType>(init.get().getType()) ||
            op.payloadUsesValueFromOperand(&init) ||
            init.get().getDefiningOp<tensor::EmptyOp>())
          continue;
        init.set(tensor::EmptyOp::create(
            builder, op.getLoc(),
            tensor::getMixedSizes(builder, op.getLoc(), init.get()),
            getElementTypeOrSelf(init.get().getType())));
      }
    });
  }
};

} // namespace
