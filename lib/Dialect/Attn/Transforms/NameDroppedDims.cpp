//===- NameDroppedDims.cpp - Which dimensions slices drop -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slice of `[1, 2, 1, 4]` may be `[1, 2, 4]`. Which of the dimensions of 1 it
// drops is in no place, and upstream guesses: with an offset that folds to a
// constant, a slice of tensors takes the first one and becomes `[2, 1, 4]`, and
// so does a view whose strides are known at run time; where steps change a
// stride, it finds none.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace attn {
#define GEN_PASS_DEF_NAMEDROPPEDDIMSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;

namespace {

/// Whether a slice of the sizes `full` that is `kept` can be taken wrongly.
bool isAmbiguous(OffsetSizeAndStrideOpInterface slice, ArrayRef<int64_t> full,
                 ArrayRef<int64_t> kept) {
  auto dropped = static_cast<ptrdiff_t>(full.size() - kept.size());
  bool hasSteps = llvm::any_of(slice.getStaticStrides(),
                               [](int64_t step) { return step != 1; });
  return dropped != 0 && (hasSteps || llvm::count(full, 1) != dropped);
}

/// The dimensions of `full` behind each one of `kept`: itself, and those of 1
/// that are dropped behind it, or before the first. Any way to match the shapes
/// is right.
SmallVector<ReassociationIndices> matchDims(ArrayRef<int64_t> full,
                                            ArrayRef<int64_t> kept) {
  SmallVector<ReassociationIndices> groups(kept.size());
  size_t next = 0;
  for (auto [dim, extent] : llvm::enumerate(full)) {
    bool isKept = next < kept.size() && extent == kept[next];
    if (!kept.empty())
      groups[isKept || next == 0 ? next : next - 1].push_back(dim);
    next += isKept;
  }
  return groups;
}

void nameDims(tensor::ExtractSliceOp slice) {
  RankedTensorType type = slice.getType();
  ArrayRef<int64_t> full = slice.getStaticSizes(), kept = type.getShape();
  if (!isAmbiguous(slice, full, kept))
    return;
  ImplicitLocOpBuilder b(slice.getLoc(), slice);
  Value whole = tensor::ExtractSliceOp::create(
      b, RankedTensorType::get(full, type.getElementType()), slice.getSource(),
      slice.getMixedOffsets(), slice.getMixedSizes(), slice.getMixedStrides());
  slice.replaceAllUsesWith(
      tensor::CollapseShapeOp::create(b, type, whole, matchDims(full, kept))
          .getResult());
  slice.erase();
}

void nameDims(tensor::InsertSliceOp slice) {
  RankedTensorType type = slice.getSourceType();
  ArrayRef<int64_t> full = slice.getStaticSizes(), kept = type.getShape();
  if (!isAmbiguous(slice, full, kept))
    return;
  ImplicitLocOpBuilder b(slice.getLoc(), slice);
  Value whole = tensor::ExpandShapeOp::create(
      b, RankedTensorType::get(full, type.getElementType()), slice.getSource(),
      matchDims(full, kept), slice.getMixedSizes());
  slice.getSourceMutable().assign(whole);
}

struct NameDroppedDimsPass
    : attn::impl::NameDroppedDimsPassBase<NameDroppedDimsPass> {
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (auto extract = dyn_cast<tensor::ExtractSliceOp>(op))
        nameDims(extract);
      else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
        nameDims(insert);
    });
  }
};

} // namespace
