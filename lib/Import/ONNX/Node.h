//===- Node.h - One ONNX node while it is imported --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What import functions see of the model: values for inputs, attributes of the
// types they expect, and errors that name the node.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IMPORT_ONNX_NODE_H
#define ATTN_LIB_IMPORT_ONNX_NODE_H

#include "attn/Conversion/AttnToLinalg/TensorLoops.h"
#include "mlir/IR/Diagnostics.h"
#include "onnx.pb.h"
#include "llvm/ADT/StringSet.h"
#include <functional>
#include <optional>

namespace attn {

struct OpEntry;

/// The builtin type of a TensorProto.DataType that tools can hold, or null.
mlir::Type getElementType(mlir::MLIRContext *context, int32_t dataType);
/// `FLOAT16`, or the number of a type that there is not.
std::string stringifyDataType(int32_t dataType);
/// A type as messages print it.
std::string stringifyType(mlir::Type type);

class Node {
public:
  using Lookup = std::function<mlir::Value(llvm::StringRef)>;

  /// `inputs` are null where the node has none. `lookup` finds values of the
  /// graph by name, for subgraphs; null when there is none.
  Node(const onnx::NodeProto &proto, const OpEntry &entry, int64_t opset,
       mlir::Location loc, mlir::OpBuilder &builder,
       llvm::ArrayRef<mlir::Value> inputs, Lookup lookup);

  /// Builds tensors and loops at the node's location.
  TensorLoops build;
  mlir::OpBuilder &builder() { return build.builder; }
  mlir::Location getLoc() { return build.loc; }
  mlir::MLIRContext *getContext() { return build.builder.getContext(); }
  /// The version of the operator set that the model asks for.
  int64_t getOpset() const { return opset; }
  mlir::Value lookup(llvm::StringRef name) const { return lookupName(name); }

  /// An error about this node. Gives failure when it is returned.
  mlir::InFlightDiagnostic error() const;

  //===--- Inputs and outputs ---------------------------------------------===//

  /// Input `i`, or null when it is left out.
  mlir::Value input(unsigned i) const {
    return i < inputs.size() ? inputs[i] : mlir::Value();
  }
  mlir::RankedTensorType type(unsigned i) const {
    return llvm::cast<mlir::RankedTensorType>(input(i).getType());
  }
  /// The name of input `i` in the operator's specification.
  llvm::StringRef inputName(unsigned i) const;
  mlir::LogicalResult expectRank(unsigned i,
                                 llvm::ArrayRef<int64_t> ranks) const;
  mlir::LogicalResult expectFloat(unsigned i) const;
  /// Static extents of dimension `d` of input `i` and `e` of input `j` must be
  /// equal.
  mlir::LogicalResult expectEqual(unsigned i, int64_t d, unsigned j,
                                  int64_t e) const;
  /// Dimension `d` of input `i` must be known and positive.
  mlir::FailureOr<int64_t> expectStatic(unsigned i, int64_t d) const;

  /// Whether somebody reads output `i`.
  bool wants(unsigned i) const;
  /// Fails when the extents of `value` are beyond what memory can be.
  mlir::LogicalResult setOutput(unsigned i, mlir::Value value);
  llvm::ArrayRef<mlir::Value> getOutputs() const { return outputs; }

  //===--- Attributes -----------------------------------------------------===//

  // Each returns the default for an attribute that is not there or wrong;
  // `checkAttributes` reports the wrong ones, and those that nobody asked for.
  int64_t getInt(llvm::StringRef name, int64_t defaultValue);
  std::optional<int64_t> getInt(llvm::StringRef name);
  double getFloat(llvm::StringRef name, double defaultValue);
  std::optional<double> getFloat(llvm::StringRef name);
  std::string getString(llvm::StringRef name, llvm::StringRef defaultValue);
  const onnx::GraphProto *getGraph(llvm::StringRef name);
  const onnx::TensorProto *getTensor(llvm::StringRef name);
  /// An integer that is 0 or 1.
  bool getFlag(llvm::StringRef name);
  mlir::LogicalResult checkAttributes();

private:
  const onnx::AttributeProto *find(llvm::StringRef name,
                                   onnx::AttributeProto::AttributeType type);

  const onnx::NodeProto &proto;
  const OpEntry &entry;
  int64_t opset;
  llvm::ArrayRef<mlir::Value> inputs;
  Lookup lookupName;
  llvm::SmallVector<mlir::Value> outputs;
  llvm::StringSet<> read;
  std::string wrongAttribute;
};

using ImportFunction = mlir::LogicalResult (*)(Node &);

/// One supported operator.
struct OpEntry {
  llvm::StringLiteral domain;
  llvm::StringLiteral type;
  /// The first operator set with the meaning that is imported.
  int64_t since;
  /// Names of the specification; the first `required` must be there.
  unsigned required;
  llvm::ArrayRef<llvm::StringLiteral> inputs;
  unsigned numOutputs;
  ImportFunction import;
};

} // namespace attn

#endif // ATTN_LIB_IMPORT_ONNX_NODE_H
