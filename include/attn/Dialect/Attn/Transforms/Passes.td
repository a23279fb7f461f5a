//===- Passes.td - Passes on attention graphs ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_TD
#define ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FuseAttentionPass : Pass<"attn-fuse", "mlir::func::FuncOp"> {
  let summary = "fuses qk ... masked_softmax ... weighted_sum into attn.attention";
  let description = [{
    Matches backwards from each `attn.weighted_sum` over `masked_softmax` and
    any order of `scale`, `softcap`, `bias` and `score_map` to `attn.qk`. A
    chain whose inner values have other uses is left alone, with a remark.
    Keywords and tensors of the mask become code of the mask region.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect",
                           "mlir::tensor::TensorDialect"];
}

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_TD
