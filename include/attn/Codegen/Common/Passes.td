//===- Passes.td - Target-neutral scheduling and tiling --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CODEGEN_COMMON_PASSES_TD
#define ATTN_CODEGEN_COMMON_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectSchedulePass : Pass<"attn-select-schedule", "mlir::func::FuncOp"> {
  let summary = "chooses tiles and registers for every heavy op";
  let description = [{
    Reads the module's `#attn.target` and puts a `#attn.schedule` on each
    `attn.attention` and on each matrix product. An op that has one is left
    alone.
  }];
}

def TileAttentionPass : Pass<"attn-tile", "mlir::func::FuncOp"> {
  let summary = "cuts scheduled ops on buffers into parallel tasks of tile ops";
  let description = [{
    `attn.attention` becomes an `scf.forall` over (batch, head, query tile) with
    a loop over key blocks inside. The mask program gives the loop's bounds, and
    splits it into blocks that need the mask and blocks that do not. Matrix
    products become an `scf.forall` over tiles of the result.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::memref::MemRefDialect",
                           "mlir::scf::SCFDialect", "mlir::linalg::LinalgDialect"];
}

#endif // ATTN_CODEGEN_COMMON_PASSES_TD
