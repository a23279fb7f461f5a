//===- attn-reduce.cpp - Shrinks a graph that shows a fault -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   attn-reduce FILE --reduction-tree='traversal-mode=0 test=SCRIPT'
//
// SCRIPT gets a file and exits with 1 when the file still shows the fault.
//
//===----------------------------------------------------------------------===//

#include "Reductions.h"
#include "attn/InitAll.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  attn::registerAllDialects(registry);
  attn::registerReductions(registry);
  attn::registerAllPasses();
  mlir::MLIRContext context(registry);
  return failed(mlir::mlirReduceMain(argc, argv, context));
}
