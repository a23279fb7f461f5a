//===- ImportONNX.cpp - ONNX models as attention graphs ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Import/ONNX/ImportONNX.h"
#include "GraphImporter.h"
#include "attn/Dialect/Attn/IR/AttnDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

using namespace mlir;
using namespace attn;

/// Messages inside of messages: a graph inside of a node is three levels.
static constexpr int kMaxDepth = 64;

void attn::registerONNXImportDialects(DialectRegistry &registry) {
  registry.insert<AttnDialect, arith::ArithDialect, func::FuncDialect,
                  linalg::LinalgDialect, math::MathDialect, scf::SCFDialect,
                  tensor::TensorDialect>();
}

OwningOpRef<ModuleOp> attn::importONNX(MLIRContext &context, StringRef bytes,
                                       StringRef path) {
  context.loadDialect<AttnDialect, arith::ArithDialect, func::FuncDialect,
                      linalg::LinalgDialect, math::MathDialect, scf::SCFDialect,
                      tensor::TensorDialect>();

  ModelSource source;
  source.fileName = path.empty() ? "<onnx>" : llvm::sys::path::filename(path);
  if (!path.empty()) {
    source.folder = llvm::sys::path::parent_path(path);
    if (source.folder.empty())
      source.folder = ".";
  }
  auto fail = [&](const Twine &text) {
    mlir::emitError(FileLineColLoc::get(&context, source.fileName, 0, 0), text);
    return OwningOpRef<ModuleOp>();
  };
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return fail("an ONNX model must have less than 2 GiB, got " +
                Twine(bytes.size()) + " bytes");

  // What protobuf would print says less than the error.
  google::protobuf::LogSilencer silencer;
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  stream.SetRecursionLimit(kMaxDepth);
  onnx::ModelProto model;
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return fail("not an ONNX model: it is damaged, cut off, or nested in more "
                "than " +
                Twine(kMaxDepth) + " levels");
  OwningOpRef<ModuleOp> module = GraphImporter(context, model, source).run();
  if (module && failed(verify(*module)))
    return {};
  return module;
}
