//===- Bufferize.cpp - With our calling convention --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's one-shot bufferisation; what is ours are the layouts at function
// boundaries, and that copies between strided views become linalg ops (the
// LLVM lowering of memref.copy would call a runtime function for them).
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/Passes.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

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
      signalPassFailure();
  }
};

} // namespace
