//===- VerifyTypes.cpp - Numbers that code can be generated for -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of upstream dialects admit numbers of which LLVM knows nothing (8-bit
// floats), or which the runtime library has no functions for. They are refused
// where the source can still be named: after this, an op without a lowering
// ends in the translation to LLVM.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace attn {
#define GEN_PASS_DEF_VERIFYTYPESPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;

namespace {

/// Whether `type` is of numbers that nothing can be computed with. Other things
/// than numbers have ops of their own.
bool isUnsupported(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (auto integer = dyn_cast<IntegerType>(element))
    // LLVM expands wider ones into code without end.
    return !integer.isSignless() || integer.getWidth() < 1 ||
           integer.getWidth() > 128;
  return isa<ComplexType>(element) ||
         (isa<FloatType>(element) &&
          !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(element));
}

struct VerifyTypesPass : attn::impl::VerifyTypesPassBase<VerifyTypesPass> {
  void runOnOperation() override {
    WalkResult walk = getOperation()->walk([](Operation *op) {
      for (Type type :
           llvm::concat<Type>(op->getOperandTypes(), op->getResultTypes()))
        if (isUnsupported(type)) {
          op->emitOpError()
              << "computes with " << type
              << ", expected index, signless integers of 1 to 128 "
                 "bits, f16, bf16, f32 or f64";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
