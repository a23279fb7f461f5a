//===- ExpandReshapes.cpp - Several run-time parts of one extent ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream computes the one unknown size of a group by division, and fails when
// there are two, although the op names all of them.
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace attn {
#define GEN_PASS_DEF_EXPANDRESHAPESPASS
#include "attn/Codegen/Common/Passes.h.inc"
} // namespace attn

namespace {

/// memref.expand_shape -> memref.reinterpret_cast. Inside of a group, a
/// dimension strides over what the ones behind it cover.
struct ExpandShapeToCast : OpRewritePattern<memref::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(memref::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    MemRefType type = op.getResultType();
    auto isDynamic = [&](int64_t d) { return type.isDynamicDim(d); };
    if (llvm::none_of(op.getReassociationIndices(), [&](const auto &group) {
          return llvm::count_if(group, isDynamic) > 1;
        }))
      return rewriter.notifyMatchFailure(op, "no group has two unknown sizes");
    SmallVector<int64_t> knownStrides;
    int64_t knownOffset;
    if (failed(type.getStridesAndOffset(knownStrides, knownOffset)))
      return rewriter.notifyMatchFailure(op, "the result is not strided");

    Location loc = op.getLoc();
    auto source =
        memref::ExtractStridedMetadataOp::create(rewriter, loc, op.getSrc());
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
    SmallVector<OpFoldResult> strides(type.getRank());
    for (auto [group, sourceStride] :
         llvm::zip_equal(op.getReassociationIndices(), source.getStrides())) {
      Value stride = sourceStride;
      for (int64_t d : llvm::reverse(group)) {
        strides[d] = ShapedType::isDynamic(knownStrides[d])
                         ? OpFoldResult(stride)
                         : rewriter.getIndexAttr(knownStrides[d]);
        stride = arith::MulIOp::create(
            rewriter, loc, stride,
            getValueOrCreateConstantIndexOp(rewriter, loc, sizes[d]));
      }
    }
    OpFoldResult offset = ShapedType::isDynamic(knownOffset)
                              ? OpFoldResult(source.getOffset())
                              : rewriter.getIndexAttr(knownOffset);
    rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(
        op, type, source.getBaseBuffer(), offset, sizes, strides);
    return success();
  }
};

struct ExpandReshapesPass
    : attn::impl::ExpandReshapesPassBase<ExpandReshapesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandShapeToCast>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
