//===- PoisonClamps.cpp - Reads out of bounds are NaN -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clamping is for hidden pairs. A NaN shows in a result only when a visible
// pair has read one, and does when nothing on the way swallows it.
//
//===----------------------------------------------------------------------===//

#include "EntrySignature.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace attn {
#define GEN_PASS_DEF_POISONCLAMPSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static void poison(tensor::ExtractOp extract) {
  if (!isGatherOfProgram(extract))
    return;
  auto type = cast<FloatType>(extract.getType());
  ImplicitLocOpBuilder b(extract.getLoc(), extract);
  b.setInsertionPointAfter(extract);
  Value inBounds;
  for (auto [d, index] : llvm::enumerate(extract.getIndices())) {
    Value extent = tensor::DimOp::create(b, extract.getTensor(), d);
    // As unsigned numbers, negative ones are large.
    Value isBelow =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, extent);
    inBounds = inBounds ? arith::AndIOp::create(b, inBounds, isBelow) : isBelow;
  }
  Value nan = arith::ConstantOp::create(
      b, b.getFloatAttr(type, APFloat::getNaN(type.getFloatSemantics())));
  auto select = arith::SelectOp::create(b, inBounds, extract, nan);
  extract.getResult().replaceAllUsesExcept(select, select);
}

namespace {

struct PoisonClampsPass : attn::impl::PoisonClampsPassBase<PoisonClampsPass> {
  void runOnOperation() override { getOperation()->walk(poison); }
};

} // namespace
