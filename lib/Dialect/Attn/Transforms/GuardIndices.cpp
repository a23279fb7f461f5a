//===- GuardIndices.cpp - Indices from data stay in bounds ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shape functions check what follows from extents and scalar arguments; token
// ids and positions are contents of tensors, which nobody has seen before the
// run. An index that is out of bounds there must not touch foreign memory.
// Done once, before the fast path and the twin part, so that both agree.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/AttnDialect.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace attn {
#define GEN_PASS_DEF_GUARDINDICESPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Guards the accesses to elements of one tensor.
class Guard {
public:
  Guard(RewriterBase &rewriter, Location loc, Value tensor)
      : rewriter(rewriter), loc(loc), tensor(tensor),
        type(cast<RankedTensorType>(tensor.getType())) {}

  /// Whether index `d` is a constant that its static extent admits.
  bool isKnown(Value index, int64_t d) const {
    APInt value;
    return !type.isDynamicDim(d) &&
           matchPattern(index, m_ConstantInt(&value)) && !value.isNegative() &&
           value.slt(type.getDimSize(d));
  }
  bool areKnown(ValueRange indices) const {
    return llvm::all_of(llvm::enumerate(indices), [&](auto index) {
      return isKnown(index.value(), index.index());
    });
  }

  /// `indices`, each at the nearest element that there is.
  SmallVector<Value> clamp(ValueRange indices) {
    SmallVector<Value> clamped;
    for (auto [d, index] : llvm::enumerate(indices)) {
      if (isKnown(index, d)) {
        clamped.push_back(index);
        continue;
      }
      Value last = arith::SubIOp::create(rewriter, loc, extent(d), constant(1));
      Value low = arith::MaxSIOp::create(rewriter, loc, index, constant(0));
      clamped.push_back(arith::MinSIOp::create(rewriter, loc, low, last));
    }
    return clamped;
  }

  /// Whether the tensor has an element; null when its type says so.
  Value hasElements() {
    Value all;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (!type.isDynamicDim(d) && type.getDimSize(d) == 0)
        return arith::ConstantIntOp::create(rewriter, loc, 0, 1);
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        all = conjunction(all, arith::CmpIOp::create(rewriter, loc,
                                                     arith::CmpIPredicate::sgt,
                                                     extent(d), constant(0)));
    return all;
  }

  /// Whether all of `indices` are in bounds; not all of them are known to be.
  Value inBounds(ValueRange indices) {
    Value all;
    for (auto [d, index] : llvm::enumerate(indices))
      // As unsigned numbers, negative ones are large.
      if (!isKnown(index, d))
        all = conjunction(all, arith::CmpIOp::create(rewriter, loc,
                                                     arith::CmpIPredicate::ult,
                                                     index, extent(d)));
    return all;
  }

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }
  Value extent(int64_t d) {
    if (!type.isDynamicDim(d))
      return constant(type.getDimSize(d));
    return tensor::DimOp::create(rewriter, loc, tensor, d);
  }
  Value conjunction(Value lhs, Value rhs) {
    return lhs ? arith::AndIOp::create(rewriter, loc, lhs, rhs).getResult()
               : rhs;
  }

  RewriterBase &rewriter;
  Location loc;
  Value tensor;
  RankedTensorType type;
};

/// Reads the nearest element, or 0 when there is none.
void guardExtract(RewriterBase &rewriter, tensor::ExtractOp extract) {
  Location loc = extract.getLoc();
  rewriter.setInsertionPoint(extract);
  Guard guard(rewriter, loc, extract.getTensor());
  if (extract.getIndices().empty() || guard.areKnown(extract.getIndices()))
    return;
  Value hasElements = guard.hasElements();
  SmallVector<Value> indices = guard.clamp(extract.getIndices());
  // Elements that have no zero (complex numbers) cannot come from a caller.
  TypedAttr zero = rewriter.getZeroAttr(extract.getType());
  if (!hasElements || !zero) {
    rewriter.modifyOpInPlace(
        extract, [&] { extract.getIndicesMutable().assign(indices); });
    return;
  }
  auto branch = scf::IfOp::create(
      rewriter, loc, hasElements,
      [&](OpBuilder &builder, Location loc) {
        Value element = tensor::ExtractOp::create(builder, loc,
                                                  extract.getTensor(), indices);
        scf::YieldOp::create(builder, loc, element);
      },
      [&](OpBuilder &builder, Location loc) {
        Value none = arith::ConstantOp::create(builder, loc, zero);
        scf::YieldOp::create(builder, loc, none);
      });
  rewriter.replaceOp(extract, branch);
}

/// Writes nothing when out of bounds.
void guardInsert(RewriterBase &rewriter, tensor::InsertOp insert) {
  Location loc = insert.getLoc();
  rewriter.setInsertionPoint(insert);
  Guard guard(rewriter, loc, insert.getDest());
  if (insert.getIndices().empty() || guard.areKnown(insert.getIndices()))
    return;
  Value inBounds = guard.inBounds(insert.getIndices());
  auto branch = scf::IfOp::create(
      rewriter, loc, inBounds,
      [&](OpBuilder &builder, Location loc) {
        Value written =
            tensor::InsertOp::create(builder, loc, insert.getScalar(),
                                     insert.getDest(), insert.getIndices());
        scf::YieldOp::create(builder, loc, written);
      },
      [&](OpBuilder &builder, Location loc) {
        scf::YieldOp::create(builder, loc, insert.getDest());
      });
  rewriter.replaceOp(insert, branch);
}

/// Asks for the extent of a dimension that there is.
void guardDim(RewriterBase &rewriter, tensor::DimOp dim) {
  auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
  // Constant ones are verified or folded.
  if (!type || dim.getConstantIndex())
    return;
  Location loc = dim.getLoc();
  rewriter.setInsertionPoint(dim);
  auto constant = [&](int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  };
  Value low =
      arith::MaxSIOp::create(rewriter, loc, dim.getIndex(), constant(0));
  Value index =
      arith::MinSIOp::create(rewriter, loc, low, constant(type.getRank() - 1));
  rewriter.modifyOpInPlace(dim, [&] { dim.getIndexMutable().assign(index); });
}

struct GuardIndicesPass : attn::impl::GuardIndicesPassBase<GuardIndicesPass> {
  void runOnOperation() override {
    SmallVector<Operation *> accesses;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      // The lowerings of attn ops clamp what their programs read.
      if (isa_and_nonnull<AttnDialect>(op->getDialect()))
        return WalkResult::skip();
      if (isa<tensor::ExtractOp, tensor::InsertOp, tensor::DimOp>(op))
        accesses.push_back(op);
      return WalkResult::advance();
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : accesses) {
      if (auto extract = dyn_cast<tensor::ExtractOp>(op))
        guardExtract(rewriter, extract);
      else if (auto dim = dyn_cast<tensor::DimOp>(op))
        guardDim(rewriter, dim);
      else
        guardInsert(rewriter, cast<tensor::InsertOp>(op));
    }
  }
};

} // namespace
