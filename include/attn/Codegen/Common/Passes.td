//===- Passes.td - Passes of the target-neutral back end ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CODEGEN_COMMON_PASSES_TD
#define ATTN_CODEGEN_COMMON_PASSES_TD

include "mlir/Pass/PassBase.td"

def ResultsToOutputsPass : Pass<"attn-results-to-outputs", "mlir::ModuleOp"> {
  let summary = "turns tensor results of public functions into out parameters";
  let description = [{
    Each tensor result of a public function becomes a memref argument with an
    identity layout, appended in order, into which the function writes. The
    caller allocates it; it must not overlap an input. Results of other types
    stay. Attributes of a result move to its argument.

    Done on tensors, before bufferisation, so that the analysis can compute a
    result where it is wanted (`eliminate-empty-tensors`), and so that no
    function returns an allocation. A result that is an argument or a constant
    is copied.

    Calls must have been inlined: a public function that is still called is an
    error, and so is a result without a rank.

    ```mlir
    func.func @f(%x: tensor<?xf32>) -> tensor<?xf32>
    // becomes
    func.func @f(%x: tensor<?xf32>, %out: memref<?xf32>)
    ```
  }];
  let dependentDialects = ["mlir::bufferization::BufferizationDialect",
                           "mlir::memref::MemRefDialect"];
}

def BufferizePass : Pass<"attn-bufferize", "mlir::ModuleOp"> {
  let summary = "one-shot bufferisation with the layouts of the calling convention";
  let description = [{
    Tensor arguments become memrefs with dynamic strides and offset but a unit
    innermost stride (`strided<[?, ?, 1], offset: ?>`), so that views of a
    caller's array need no copy. Arguments of public functions are never
    written to. Public functions get `llvm.emit_c_interface`.
  }];
  let dependentDialects = ["mlir::bufferization::BufferizationDialect",
                           "mlir::linalg::LinalgDialect",
                           "mlir::memref::MemRefDialect"];
}

def ExpandArithPass : Pass<"attn-expand-arith"> {
  let summary = "expands arithmetic that LLVM has no instruction for";
  let description = [{
    Rounding integer divisions, and conversions from and to bf16, which would
    otherwise call a compiler runtime that is not there. Nothing else: what
    `arith-expand` does to `maximumf` costs instructions.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

#endif // ATTN_CODEGEN_COMMON_PASSES_TD
