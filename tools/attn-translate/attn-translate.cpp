//===- attn-translate.cpp - Other formats to and from MLIR ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Import/ONNX/ImportONNX.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace mlir {
void registerToLLVMIRTranslation();
} // namespace mlir

static OwningOpRef<Operation *> importONNX(llvm::SourceMgr &sources,
                                           MLIRContext *context) {
  const llvm::MemoryBuffer *file =
      sources.getMemoryBuffer(sources.getMainFileID());
  StringRef name = file->getBufferIdentifier();
  return attn::importONNX(*context, file->getBuffer(),
                          name == "<stdin>" ? StringRef() : name);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  TranslateToMLIRRegistration fromONNX("import-onnx", "an ONNX model to attn",
                                       importONNX,
                                       attn::registerONNXImportDialects);
  registerToLLVMIRTranslation();
  return failed(mlirTranslateMain(argc, argv, "translates attention graphs\n"));
}
