//===- Passes.td - From tile ops to vector code for CPUs ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CODEGEN_CPU_PASSES_TD
#define ATTN_CODEGEN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerTilesPass : Pass<"attn-cpu-lower-tiles", "mlir::func::FuncOp"> {
  let summary = "replaces tile ops by micro-kernels in vector, arith and memref";
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::memref::MemRefDialect",
                           "mlir::scf::SCFDialect", "mlir::vector::VectorDialect",
                           "mlir::math::MathDialect", "mlir::LLVM::LLVMDialect",
                           "mlir::amx::AMXDialect", "mlir::x86vector::X86VectorDialect"];
}

def OutlineTasksPass : Pass<"attn-cpu-outline-tasks", "mlir::ModuleOp"> {
  let summary = "makes each scf.forall a task function run by the thread pool";
  let description = [{
    The body becomes `@f_task_N(task, scratch, captures...)`. Static allocations
    of the body become slices of the thread's scratch. The loop becomes a call
    of the declaration `@f_parallel_N(tasks, captures...)`, whose body
    `attn-cpu-materialize-tasks` writes once types are LLVM's.
    `attn.thread_count` becomes a call of the runtime.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::memref::MemRefDialect",
                           "mlir::func::FuncDialect"];
}

def ExpandMathPass : Pass<"attn-cpu-expand-math", "mlir::ModuleOp"> {
  let summary = "math functions as polynomials and target instructions";
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect",
                           "mlir::scf::SCFDialect", "mlir::vector::VectorDialect",
                           "mlir::LLVM::LLVMDialect"];
}

def ExpandTileLoadsPass : Pass<"attn-cpu-expand-tile-loads", "mlir::ModuleOp"> {
  let summary = "streamed tile loads as tileloaddt1";
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::memref::MemRefDialect",
                           "mlir::LLVM::LLVMDialect"];
}

def MaterializeTasksPass : Pass<"attn-cpu-materialize-tasks", "mlir::ModuleOp"> {
  let summary = "writes the bodies of parallel calls: context, and attnParallelFor";
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

#endif // ATTN_CODEGEN_CPU_PASSES_TD
