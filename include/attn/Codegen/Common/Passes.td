//===- Passes.td - Scheduling, bufferisation and tiling -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CODEGEN_COMMON_PASSES_TD
#define ATTN_CODEGEN_COMMON_PASSES_TD

include "mlir/Pass/PassBase.td"

def SetTargetPass : Pass<"attn-set-target", "mlir::ModuleOp"> {
  let summary = "puts the `attn.target` of a CPU on the module";
  let description = [{
    A module that has one keeps it.
  }];
  let dependentDialects = ["attn::AttnDialect"];
  let options = [
    Option<"cpu", "cpu", "std::string", "\"native\"", "LLVM name of the CPU, or native">,
    ListOption<"disabledFeatures", "disable-feature", "std::string",
               "features of the CPU to leave unused">
  ];
  let dependentDialects = ["attn::AttnDialect"];
}

def SelectSchedulePass : Pass<"attn-select-schedule", "mlir::func::FuncOp"> {
  let summary = "chooses tiles and registers for every heavy op";
  let description = [{
    Reads the module's `#attn.target` and puts a `#attn.schedule` on each
    `attn.attention`, `attn.attention_stats`, each `attn.linear_attention` that
    has a kernel, and each matrix product. An op that has one is left alone. A
    remark of the category `attn` says what was chosen.
  }];
  let dependentDialects = ["attn::AttnDialect"];
  let options = [
    Option<"attention", "attention", "std::string", /*default=*/"",
           "A `#attn.schedule<...>` for each attn.attention that has none, "
           "instead of the pass's own choice">
  ];
  let dependentDialects = ["attn::AttnDialect"];
}

def TileAttentionPass : Pass<"attn-tile", "mlir::func::FuncOp"> {
  let summary = "cuts scheduled ops on buffers into parallel tasks of tile ops";
  let description = [{
    `attn.attention` becomes an `scf.forall` over (batch, head, query tile) with
    a loop over key blocks inside. The mask program gives the loop's bounds, and
    splits it into blocks that need the mask and blocks that do not. So does
    `attn.attention_stats`, whose tasks take several tiles each where they sum
    columns; a second loop adds their sums. Matrix products become an
    `scf.forall` over tiles of the result, and `attn.linear_attention` one over
    (batch, key head, columns of the state), with the op on a slice of each.
    `attn.rotate` and `attn.rope_tables` become one over chunks of rows.
  }];
  let dependentDialects = ["attn::AttnDialect", "mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
                           "mlir::linalg::LinalgDialect", "mlir::vector::VectorDialect"];
}

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

def DecomposeTensorsPass : Pass<"attn-decompose-tensors"> {
  let summary = "turns tensor ops without a bufferisation into ones that have it";
  let description = [{
    Elementwise arith and math ops on tensors become `linalg.generic`,
    `tensor.concat` becomes insertions, and `linalg.softmax` and its like become
    the ops that they stand for.
  }];
  let dependentDialects = ["mlir::linalg::LinalgDialect",
                           "mlir::tensor::TensorDialect"];
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
    otherwise call a compiler runtime that is not there; conversions from and to
    f16 of integers beyond 64 bits go by i32. Nothing else: what `arith-expand`
    does to `maximumf` costs instructions.

    Integer divisions whose divisor is not known never trap: they divide by 1
    instead of 0, and instead of -1 under the lowest integer.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def ExpandReshapesPass : Pass<"attn-expand-reshapes"> {
  let summary = "expands `memref.expand_shape` with several unknown sizes";
  let description = [{
    Where two or more sizes that one extent is split into are known at run time
    only, the op becomes a `memref.reinterpret_cast`. Others are upstream's.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect"];
}

def GuardAllocationsPass : Pass<"attn-guard-allocations"> {
  let summary = "lets `memref.alloc` of more bytes than a number holds fail";
  let description = [{
    Where the product of an allocation's sizes may not fit 63 bits, the sizes
    become ones that no machine has the memory for, instead of wrapping around.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::memref::MemRefDialect"];
}

#endif // ATTN_CODEGEN_COMMON_PASSES_TD
