//===- FuseRope.cpp - Rotary embeddings become part of attention ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The angles of a row are those of all its heads: they become tables, which ops
// of the same positions share. Queries are read once a tile and can turn on
// their way into it, and new rows of a cache on their way there. Other keys are
// read by every tile, so they turn once before.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>

namespace attn {
#define GEN_PASS_DEF_FUSEROPEPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

bool isQuery(OpOperand &use) {
  auto attention = dyn_cast<AttentionOp>(use.getOwner());
  return attention &&
         use.getOperandNumber() ==
             attention.getQueryMutable().getOperandNumber() &&
         !attention.getQueryLayout();
}

/// The cache update that takes the result of `rope`, if nothing else does.
CacheUpdateOp getOnlyUpdate(RopeOp rope) {
  if (!rope.getResult().hasOneUse())
    return {};
  OpOperand &use = *rope.getResult().use_begin();
  auto update = dyn_cast<CacheUpdateOp>(use.getOwner());
  bool isTaken =
      update && !update.getLayout() &&
      use.getOperandNumber() == update.getUpdateMutable().getOperandNumber();
  return isTaken ? update : CacheUpdateOp();
}

/// Why `rope` is a pass of its own, or empty.
StringRef whyNotFused(RopeOp rope) {
  bool isKey = false, isOther = false;
  for (OpOperand &use : rope.getResult().getUses()) {
    if (isQuery(use))
      continue;
    auto attention = dyn_cast<AttentionOp>(use.getOwner());
    bool asKey = attention && use.getOperandNumber() ==
                                  attention.getKeyMutable().getOperandNumber();
    (asKey ? isKey : isOther) = true;
  }
  if (isOther)
    return "its result has users other than the queries of attention or one "
           "cache";
  if (isKey)
    return "keys turn once for all tiles of queries";
  return rope.getResult().use_empty() ? "its result has no users" : "";
}

remark::RemarkOpts remarkOptions(RopeOp rope) {
  return remark::RemarkOpts::name("rope").category("attn").function(
      rope->getParentOfType<func::FuncOp>().getSymName());
}

void remarkFused(RopeOp rope, const Twine &how) {
  remark::passed(rope.getLoc(), remarkOptions(rope))
      << ("attn.rope is part of how " + how).str();
}

void remarkAlone(RopeOp rope, const Twine &reason) {
  remark::analysis(rope.getLoc(), remarkOptions(rope))
      << ("attn.rope is a pass of its own: " + reason).str();
}

class Lowering {
public:
  Lowering(RewriterBase &rewriter, RopeOp rope)
      : rewriter(rewriter), b(rope.getLoc(), rewriter), rope(rope) {
    b.setInsertionPoint(rope);
  }

  void run() {
    // Fusion asks a query for its extents.
    for (OpOperand &use :
         llvm::make_early_inc_range(rope.getResult().getUses()))
      if (isa<tensor::DimOp>(use.getOwner()))
        rewriter.modifyOpInPlace(use.getOwner(),
                                 [&] { use.set(rope.getInput()); });
    emitTables();
    if (CacheUpdateOp update = getOnlyUpdate(rope))
      return fuseInto(update);
    if (StringRef reason = whyNotFused(rope); !reason.empty())
      return rotateAlone(reason);
    remarkFused(rope, "attention packs its queries");
    for (OpOperand &use :
         llvm::make_early_inc_range(rope.getResult().getUses())) {
      auto attention = cast<AttentionOp>(use.getOwner());
      rewriter.modifyOpInPlace(attention, [&] {
        attention.getQueryMutable().assign(rope.getInput());
        attention.getQueryCosMutable().assign(cos);
        attention.getQuerySinMutable().assign(sin);
        attention.setQueryLayout(rope.getLayout());
      });
    }
    rewriter.eraseOp(rope);
  }

private:
  void fuseInto(CacheUpdateOp update) {
    remarkFused(rope, "the cache takes new rows");
    rewriter.modifyOpInPlace(update, [&] {
      update.getUpdateMutable().assign(rope.getInput());
      update.getCosMutable().assign(cos);
      update.getSinMutable().assign(sin);
      update.setLayout(rope.getLayout());
    });
    rewriter.eraseOp(rope);
  }

  void rotateAlone(StringRef reason) {
    remarkAlone(rope, reason);
    Value init = tensor::EmptyOp::create(
        b, tensor::getMixedSizes(b, b.getLoc(), rope.getInput()),
        getElementTypeOrSelf(rope.getInput().getType()));
    if (init.getType() != rope.getType())
      init = tensor::CastOp::create(b, rope.getType(), init);
    auto rotate = RotateOp::create(b, rope.getType(), rope.getInput(), cos, sin,
                                   init, rope.getLayout());
    rewriter.replaceOp(rope, rotate.getResult());
  }

  void emitTables() {
    auto pairs = static_cast<int64_t>(rope.getRotaryDim() / 2);
    SmallVector<OpFoldResult> sizes;
    // Angles of numbers that the caller gives are those of a batch element.
    // Ropes of the same numbers share tables whatever they rotate.
    if (Value positions = rope.getPositionIds())
      sizes = tensor::getMixedSizes(b, b.getLoc(), positions);
    else
      sizes.push_back(tensor::getMixedSize(b, b.getLoc(), rope.getInput(), 2));
    sizes.push_back(b.getIndexAttr(pairs));
    Value init = tensor::EmptyOp::create(b, sizes, b.getF32Type());
    Value frequencies;
    if (!rope.getCos())
      frequencies = emitFrequencies(pairs);
    Type types[] = {init.getType(), init.getType()};
    auto tables = RopeTablesOp::create(
        b, TypeRange(types), frequencies, rope.getCos(), rope.getSin(),
        rope.getOffset(), rope.getPositionIds(), init, init);
    cos = tables.getResults()[0];
    sin = tables.getResults()[1];
  }

  Value emitFrequencies(int64_t pairs) {
    double base = rope.getBase().convertToDouble();
    SmallVector<double> values;
    for (int64_t pair = 0; pair < pairs; ++pair)
      values.push_back(std::pow(base, pair / -static_cast<double>(pairs)));
    auto type = RankedTensorType::get({pairs}, b.getF64Type());
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, ArrayRef<double>(values)));
  }

  RewriterBase &rewriter;
  ImplicitLocOpBuilder b;
  RopeOp rope;
  Value cos, sin;
};

class FuseRopePass : public attn::impl::FuseRopePassBase<FuseRopePass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<RopeOp> ropes;
    getOperation().walk([&](RopeOp op) {
      if (getElementTypeOrSelf(op.getInput().getType()).isF64())
        remarkAlone(op, "f64 turns in plain loops");
      else
        ropes.push_back(op);
    });
    for (RopeOp rope : ropes)
      Lowering(rewriter, rope).run();
  }
};

} // namespace
