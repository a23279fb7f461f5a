//===- ImportONNX.h - ONNX models as attention graphs -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Models come from outside: sizes, depths, names and paths are checked, and
// whatever is wrong is an error at a location that names the node.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_IMPORT_ONNX_IMPORTONNX_H
#define ATTN_IMPORT_ONNX_IMPORTONNX_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace attn {

/// The dialects that an imported model consists of.
void registerONNXImportDialects(mlir::DialectRegistry &registry);

/// The graph of an ONNX model as the function `main`: graph inputs without an
/// initializer are its arguments, with `attn.name` and `attn.dims`, graph
/// outputs its results, in order. `bytes` is the content of the file `path`, in
/// whose folder external data is looked for; with an empty path there is none.
/// Null after an error, which is a diagnostic. Line N of a location is node
/// number N of the graph, from 1.
mlir::OwningOpRef<mlir::ModuleOp> importONNX(mlir::MLIRContext &context,
                                             llvm::StringRef bytes,
                                             llvm::StringRef path);

} // namespace attn

#endif // ATTN_IMPORT_ONNX_IMPORTONNX_H
