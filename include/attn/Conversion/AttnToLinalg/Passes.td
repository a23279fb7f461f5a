//===- Passes.td - Passes of the twin -------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The twin is the second, deliberately naive lowering that checks the fast one:
// unfused, scalar loops, in f64 when asked.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_ATTNTOLINALG_PASSES_TD
#define ATTN_CONVERSION_ATTNTOLINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnToLinalgPass : Pass<"attn-to-linalg", "mlir::func::FuncOp"> {
  let summary = "lowers attn ops on tensors to linalg, one op at a time";
  let description = [{
    Each op becomes loops that say what its description says, with no fusion
    and no tiling. Hidden pairs are selected away, never added or multiplied;
    `attn.bias` hides where the bias is -inf, whatever comes between it and the
    softmax; gather indices inside regions are clamped.

    `keep` names ops (without `attn.`) that are left alone. With it the pass
    serves the fast path, as the lowering of what did not fuse: each op that
    works on the score matrix gets a `missed` remark. `attn.linear_attention` of
    types that have no kernel is lowered even if it is kept.

    Ops on memrefs belong to later phases, and are an error.
  }];
  let options = [
    ListOption<"keep", "keep", "std::string", "mnemonics of ops to leave alone">
  ];
  let dependentDialects = [
    "mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect",
    "mlir::math::MathDialect", "mlir::scf::SCFDialect",
    "mlir::tensor::TensorDialect"];
}

def PromoteToF64Pass : Pass<"attn-promote-to-f64", "mlir::ModuleOp"> {
  let summary = "computes in f64 throughout";
  let description = [{
    f16, bf16 and f32 become f64 in every type, constant and signature, and
    casts between them go away. An op that depends on the width of a float, as
    a bitcast does, is an error.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

#endif // ATTN_CONVERSION_ATTNTOLINALG_PASSES_TD
