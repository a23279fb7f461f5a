//===- SetTarget.cpp - The machine that a module is compiled for ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/Passes.h"
#include "attn/Dialect/Attn/IR/AttnDialect.h"
#include "attn/Support/HostTarget.h"

namespace attn {
#define GEN_PASS_DEF_SETTARGETPASS
#include "attn/Codegen/Common/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct SetTargetPass : attn::impl::SetTargetPassBase<SetTargetPass> {
  using SetTargetPassBase::SetTargetPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module->hasAttr(kTargetAttrName))
      return;
    llvm::Expected<Target> target =
        resolveTarget(cpu, llvm::to_vector(disabledFeatures));
    if (!target) {
      module.emitError() << llvm::toString(target.takeError());
      return signalPassFailure();
    }
    ISA isa = target->avx512                ? ISA::AVX512
              : target->avx2 && target->fma ? ISA::AVX2
                                            : ISA::Portable;
    // Every CPU with the tiles has the vectors.
    BF16Unit bf16 = !target->avx512bf16 ? BF16Unit::None
                    : target->amxbf16   ? BF16Unit::Tiles
                                        : BF16Unit::Vectors;
    module->setAttr(kTargetAttrName,
                    TargetAttr::get(&getContext(), target->cpu, isa,
                                    target->l1dBytes, target->l2Bytes, bf16));
  }
};

} // namespace
