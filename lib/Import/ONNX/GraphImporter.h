//===- GraphImporter.h - An ONNX graph becomes a function -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IMPORT_ONNX_GRAPHIMPORTER_H
#define ATTN_LIB_IMPORT_ONNX_GRAPHIMPORTER_H

#include "Node.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace attn {

/// Where the model comes from.
struct ModelSource {
  /// For locations: without its folder, so that moving a model changes nothing.
  std::string fileName;
  /// For external data; empty when there is none.
  std::string folder;
};

class GraphImporter {
public:
  GraphImporter(mlir::MLIRContext &context, const onnx::ModelProto &model,
                const ModelSource &source);

  /// The module, or null after a diagnostic.
  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  /// The location of node `index`, or of the graph for -1.
  mlir::Location locate(llvm::StringRef what, int index = -1);
  mlir::InFlightDiagnostic error();

  mlir::LogicalResult readOpsets();
  mlir::LogicalResult importInitializers();
  mlir::LogicalResult importInputs();
  mlir::LogicalResult importNode(const onnx::NodeProto &proto, int index);
  mlir::LogicalResult importOutputs();
  /// The tensor type of a graph input or output; the names of its extents are
  /// put into `dims`.
  mlir::FailureOr<mlir::RankedTensorType>
  readType(const onnx::ValueInfoProto &info, llvm::StringRef what,
           llvm::SmallVectorImpl<llvm::StringRef> &dims);
  /// Fails when `name` is defined already.
  mlir::LogicalResult define(mlir::Location loc, llvm::StringRef name,
                             mlir::Value value);

  mlir::MLIRContext &context;
  const onnx::ModelProto &model;
  const onnx::GraphProto &graph;
  const ModelSource &source;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  llvm::StringMap<int64_t> opsets;
  llvm::StringMap<mlir::Value> values;
};

} // namespace attn

#endif // ATTN_LIB_IMPORT_ONNX_GRAPHIMPORTER_H
