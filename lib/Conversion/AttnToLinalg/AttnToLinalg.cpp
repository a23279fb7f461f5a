//===- AttnToLinalg.cpp - The naive lowering of attn ops --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The twin: a second implementation of each op, as close to its description as
// loops can be, that exists to check the fast path.
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "attn/Conversion/AttnToLinalg/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

namespace attn {
#define GEN_PASS_DEF_ATTNTOLINALGPASS
#include "attn/Conversion/AttnToLinalg/Passes.h.inc"
} // namespace attn

namespace {

Results lowerOp(TensorLoops &build, Operation *op) {
  return llvm::TypeSwitch<Operation *, Results>(op)
      .Case<SplitHeadsOp, MergeHeadsOp, RopeOp, SinusoidalOp, SequenceIdsOp,
            SequencePositionsOp, QKOp, AdditiveScoresOp, ScaleOp, SoftcapOp,
            BiasOp, ScoreMapOp, MaskedSoftmaxOp, ProbabilityMapOp, DropoutOp,
            WeightedSumOp, PackOp, RotateOp, CacheUpdateOp, GatherPagesOp,
            DequantizeOp>(
          [&](auto typed) { return Results{attn::lower(build, typed)}; })
      .Case<AttentionOp, LinearAttentionOp, OnlineAttentionOp, MergePartialsOp,
            QuantizeOp, RopeTablesOp, WeightStatsOp, AttentionStatsOp,
            OnlineStatsOp>(
          [&](auto typed) { return attn::lower(build, typed); })
      .Default([](Operation *) { return Results(); });
}

struct AttnToLinalgPass : attn::impl::AttnToLinalgPassBase<AttnToLinalgPass> {
  using AttnToLinalgPassBase::AttnToLinalgPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    SmallVector<Operation *> ops;
    func.walk([&](Operation *op) {
      if (isa<AttnDialect>(op->getDialect()) && !isa<YieldOp>(op) && !keeps(op))
        ops.push_back(op);
    });

    IRRewriter rewriter(&getContext());
    // Users first: masked_softmax looks for the biases of its scores, and
    // programs on weights for their masked_softmax.
    for (Operation *op : llvm::reverse(ops)) {
      for (Type type : op->getOperandTypes())
        if (isa<BaseMemRefType>(type)) {
          op->emitOpError() << "is lowered to linalg on tensors, got " << type;
          return signalPassFailure();
        }
      rewriter.setInsertionPoint(op);
      TensorLoops build(rewriter, op->getLoc());
      Results results = lowerOp(build, op);
      if (results.size() != op->getNumResults()) {
        op->emitOpError("has no lowering to linalg");
        return signalPassFailure();
      }
      if (!keep.empty())
        remarkUnfused(func, op);
      // A written result type may know more or less than the operands do.
      for (auto [result, old] : llvm::zip_equal(results, op->getResults()))
        if (result.getType() != old.getType())
          result = tensor::CastOp::create(rewriter, op->getLoc(), old.getType(),
                                          result);
      rewriter.replaceOp(op, results);
    }
  }

private:
  /// Whether `op` is left to a kernel.
  bool keeps(Operation *op) {
    return hasKernel(op) &&
           llvm::is_contained(keep, op->getName().stripDialect());
  }

  /// Whether the fast path has code for the types of what it may keep. Rows
  /// turn in f32.
  static bool hasKernel(Operation *op) {
    if (auto linear = dyn_cast<LinearAttentionOp>(op))
      return linear.hasKernel();
    auto has = [](ValueRange values, function_ref<bool(Type)> isRight) {
      return llvm::all_of(values, [&](Value value) {
        return isRight(getElementTypeOrSelf(value.getType()));
      });
    };
    auto isF32 = [](Type type) { return type.isF32(); };
    auto isNarrow = [](Type type) { return !type.isF64(); };
    if (auto rotate = dyn_cast<RotateOp>(op))
      return has({rotate.getCos(), rotate.getSin()}, isF32) &&
             has({rotate.getSource()}, isNarrow);
    if (auto tables = dyn_cast<RopeTablesOp>(op))
      return has({tables.getCos(), tables.getSin()}, isF32) &&
             (!tables.getCosTable() ||
              has({tables.getCosTable(), tables.getSinTable()}, isNarrow));
    return true;
  }

  void remarkUnfused(func::FuncOp func, Operation *op) {
    StringRef cost = "its scores take O(Sq*Skv) memory";
    if (isa<LinearAttentionOp, RotateOp, RopeTablesOp>(op))
      cost = "there is no kernel for its types";
    else if (isa<GatherPagesOp, DequantizeOp>(op))
      cost = "its result is a copy";
    else if (!isa<QKOp, AdditiveScoresOp, ScaleOp, SoftcapOp, BiasOp,
                  ScoreMapOp, MaskedSoftmaxOp, ProbabilityMapOp, DropoutOp,
                  WeightedSumOp, WeightStatsOp>(op))
      return;
    remark::missed(
        op->getLoc(),
        remark::RemarkOpts::name("unfused").category("attn").function(
            func.getSymName()))
        << (op->getName().getStringRef() + " is not fused: " + cost).str();
  }
};

} // namespace
