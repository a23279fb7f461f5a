//===- Model.cpp - The file that a command compiles -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "attn/Import/ONNX/ImportONNX.h"
#include "attn/Pipelines/Compiler.h"
#include "attn/Support/Error.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace llvm;

static Expected<std::unique_ptr<MemoryBuffer>> import(StringRef bytes,
                                                      StringRef path) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  std::string diagnostics;
  raw_string_ostream stream(diagnostics);
  SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context, stream);
  mlir::OwningOpRef<mlir::ModuleOp> module = importONNX(context, bytes, path);
  if (!module)
    return make_error<CompileFailure>(diagnostics);
  std::string bytecode;
  raw_string_ostream output(bytecode);
  if (failed(mlir::writeBytecodeToFile(*module, output)))
    return makeError("cannot encode the imported model {0}", quoteName(path));
  return MemoryBuffer::getMemBufferCopy(bytecode, path);
}

Expected<std::unique_ptr<MemoryBuffer>> attn::readModel(StringRef path) {
  auto file = MemoryBuffer::getFileOrSTDIN(path);
  if (!file)
    return makeError("cannot read {0}: {1}", quoteName(path),
                     file.getError().message());
  if (path.ends_with(".onnx"))
    return import((*file)->getBuffer(), path);
  return std::move(*file);
}
