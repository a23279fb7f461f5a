//===- Bufferize.cpp - With our calling convention --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's one-shot bufferisation; what is ours are the layouts at function
// boundaries, that copies between strided views become linalg ops (the LLVM
// lowering of memref.copy would call a runtime function for them), and that
// slices say which dimensions they drop.
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/Passes.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::bufferization;

namespace attn {
#define GEN_PASS_DEF_BUFFERIZEPASS
#include "attn/Codegen/Common/Passes.h.inc"
} // namespace attn

namespace {

/// Upstream's name of the calling convention of shape functions.
constexpr StringLiteral kBarePointersAttrName = "llvm.bareptr";

/// Dynamic strides and offset, but a unit innermost stride.
MemRefType getArgumentType(RankedTensorType tensor, Attribute memorySpace) {
  int64_t rank = tensor.getRank();
  SmallVector<int64_t> strides(rank, ShapedType::kDynamic);
  if (rank)
    strides.back() = 1;
  auto layout = StridedLayoutAttr::get(tensor.getContext(),
                                       ShapedType::kDynamic, strides);
  return MemRefType::get(tensor.getShape(), tensor.getElementType(), layout,
                         memorySpace);
}

LogicalResult createCopy(OpBuilder &builder, Location loc, Value from,
                         Value to) {
  auto isContiguous = [](Value value) {
    auto type = dyn_cast<MemRefType>(value.getType());
    return type && type.getLayout().isIdentity();
  };
  if (isContiguous(from) && isContiguous(to))
    memref::CopyOp::create(builder, loc, from, to);
  else
    linalg::CopyOp::create(builder, loc, from, to);
  return success();
}

/// Upstream guesses from strides which dimensions of 1 a view drops. Where
/// several strides are unknown it takes the first one, and addresses
/// `[1, 2, 1, 4]` as `[1, 2, 4]` by the strides of `[2, 1, 4]`; where steps
/// change a stride it finds none. Such a view becomes one that drops nothing,
/// and a cast that names the strides that are kept.
void nameDroppedDims(memref::SubViewOp op) {
  MemRefType type = op.getType();
  ArrayRef<int64_t> full = op.getStaticSizes(), kept = type.getShape();
  auto dropped = static_cast<ptrdiff_t>(full.size() - kept.size());
  bool hasSteps = llvm::any_of(op.getStaticStrides(),
                               [](int64_t step) { return step != 1; });
  if (dropped == 0 || (llvm::count(full, 1) == dropped && !hasSteps))
    return;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value view =
      memref::SubViewOp::create(b, op.getSource(), op.getMixedOffsets(),
                                op.getMixedSizes(), op.getMixedStrides());
  auto whole = memref::ExtractStridedMetadataOp::create(b, view);
  auto [knownStrides, knownOffset] = type.getStridesAndOffset();
  auto orKnown = [&](int64_t known, Value value) {
    return ShapedType::isDynamic(known) ? OpFoldResult(value)
                                        : OpFoldResult(b.getIndexAttr(known));
  };
  // What is dropped is 1 long, so that any way to match the shapes is right.
  SmallVector<OpFoldResult> sizes, strides, all = op.getMixedSizes();
  for (auto [dim, extent] : llvm::enumerate(full)) {
    size_t next = sizes.size();
    if (next == kept.size() || extent != kept[next])
      continue;
    sizes.push_back(all[dim]);
    strides.push_back(orKnown(knownStrides[next], whole.getStrides()[dim]));
  }
  Value cast = memref::ReinterpretCastOp::create(
      b, type, view, orKnown(knownOffset, whole.getOffset()), sizes, strides);
  op.replaceAllUsesWith(cast);
  op.erase();
}

struct BufferizePass : attn::impl::BufferizePassBase<BufferizePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Builder builder(&getContext());

    for (func::FuncOp func : module.getOps<func::FuncOp>()) {
      if (!func.isPublic() || func.isExternal())
        continue;
      // A function of bare pointers has a C interface already.
      if (!func->hasAttr(kBarePointersAttrName))
        func->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                      builder.getUnitAttr());
      for (BlockArgument argument : func.getArguments())
        if (isa<TensorType>(argument.getType()))
          func.setArgAttr(argument.getArgNumber(),
                          BufferizationDialect::kWritableAttrName,
                          builder.getBoolAttr(false));
    }

    OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.functionArgTypeConverterFn =
        [](TensorLikeType type, Attribute memorySpace, func::FuncOp,
           const BufferizationOptions &) -> BufferLikeType {
      if (auto ranked = dyn_cast<RankedTensorType>(type))
        return cast<BufferLikeType>(
            static_cast<Type>(getArgumentType(ranked, memorySpace)));
      return cast<BufferLikeType>(static_cast<Type>(UnrankedMemRefType::get(
          cast<TensorType>(type).getElementType(), memorySpace)));
    };
    options.allowReturnAllocsFromLoops = true;
    options.memCpyFn = createCopy;
    BufferizationState state;
    if (failed(runOneShotModuleBufferize(module, options, state)))
      return signalPassFailure();
    module.walk(nameDroppedDims);
  }
};

} // namespace
