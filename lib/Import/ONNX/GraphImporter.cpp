//===- GraphImporter.cpp - An ONNX graph becomes a function -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes stand in the order of their use, and each name is defined once; so one
// walk with a table of names imports the graph, and a cycle shows up as a name
// that is used before it is defined.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "ImportFunctions.h"
#include "TensorData.h"
#include "attn/Support/Error.h"
#include "attn/Support/HostTensor.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attn;

/// Models of real networks have thousands of nodes.
static constexpr int kMaxNodes = 100'000;

GraphImporter::GraphImporter(MLIRContext &context,
                             const onnx::ModelProto &model,
                             const ModelSource &source)
    : context(context), model(model), graph(model.graph()), source(source),
      builder(&context) {}

Location GraphImporter::locate(StringRef what, int index) {
  return NameLoc::get(
      StringAttr::get(&context, what),
      FileLineColLoc::get(&context, source.fileName, index + 1, 0));
}

InFlightDiagnostic GraphImporter::error() {
  return mlir::emitError(locate("graph"));
}

/// The domain of the standard operators has two spellings.
static StringRef canonicalDomain(StringRef domain) {
  return domain == "ai.onnx" ? StringRef() : domain;
}

OwningOpRef<ModuleOp> GraphImporter::run() {
  if (failed(readOpsets()))
    return {};
  if (!model.has_graph())
    return error() << "the model has no graph", OwningOpRef<ModuleOp>();
  if (graph.sparse_initializer_size() > 0)
    return error() << "sparse initializers are not supported",
           OwningOpRef<ModuleOp>();
  if (graph.node_size() > kMaxNodes)
    return error() << "the graph must have at most " << kMaxNodes
                   << " nodes, got " << graph.node_size(),
           OwningOpRef<ModuleOp>();

  module = ModuleOp::create(locate("graph"));
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, locate("graph"), "main",
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  if (failed(importInitializers()) || failed(importInputs()))
    return {};
  for (auto [index, node] : llvm::enumerate(graph.node()))
    if (failed(importNode(node, index)))
      return {};
  if (failed(importOutputs()))
    return {};
  return std::move(module);
}

LogicalResult GraphImporter::readOpsets() {
  for (const onnx::OperatorSetIdProto &opset : model.opset_import())
    if (!opsets.try_emplace(canonicalDomain(opset.domain()), opset.version())
             .second)
      return error() << "operator set " << quoteName(opset.domain())
                     << " is imported twice";
  auto standard = opsets.find("");
  if (standard == opsets.end())
    return error() << "the model imports no operator set of the domain ai.onnx";
  if (standard->second < 1 || standard->second > kNewestOpset)
    return error() << "operator set must be from 1 to " << kNewestOpset
                   << ", got " << standard->second;
  return success();
}

LogicalResult GraphImporter::define(Location loc, StringRef name, Value value) {
  if (values.try_emplace(name, value).second)
    return success();
  return mlir::emitError(loc)
         << cast<NameLoc>(loc).getName().getValue() << ": the name "
         << quoteName(name) << " is defined twice";
}

FailureOr<RankedTensorType>
GraphImporter::readType(const onnx::ValueInfoProto &info, StringRef what,
                        SmallVectorImpl<StringRef> &dims) {
  auto fail = [&](const Twine &text) {
    error() << what << " " << quoteName(info.name()) << " " << text;
    return failure();
  };
  if (!info.type().has_tensor_type())
    return fail("must be a tensor");
  const onnx::TypeProto::Tensor &tensor = info.type().tensor_type();
  Type element = getElementType(&context, tensor.elem_type());
  if (!element)
    return fail("has elements of type " +
                stringifyDataType(tensor.elem_type()) +
                ", which is not supported");
  if (!tensor.has_shape())
    return fail("has no shape");
  SmallVector<int64_t> shape, known;
  for (auto [d, dim] : llvm::enumerate(tensor.shape().dim())) {
    dims.push_back(dim.has_dim_value() ? StringRef() : dim.dim_param());
    shape.push_back(dim.has_dim_value() ? dim.dim_value()
                                        : ShapedType::kDynamic);
    if (!dim.has_dim_value())
      continue;
    if (dim.dim_value() < 0)
      return fail("has dimension " + Twine(d) + " of " +
                  Twine(dim.dim_value()) + ", expected at least 0");
    known.push_back(dim.dim_value());
  }
  if (static_cast<int64_t>(shape.size()) > kMaxRank)
    return fail("has rank " + Twine(shape.size()) + ", expected at most " +
                Twine(kMaxRank));
  if (auto count = checkedElementCount(known); !count)
    return fail("is too large: " + llvm::toString(count.takeError()));
  return RankedTensorType::get(shape, element);
}

LogicalResult GraphImporter::importInitializers() {
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    Location loc = locate("initializer " + quoteName(tensor.name()));
    if (tensor.name().empty())
      return error() << "an initializer has no name";
    auto elements = readTensor(getElementType(&context, tensor.data_type()),
                               tensor, source.folder);
    if (!elements)
      return mlir::emitError(loc)
             << cast<NameLoc>(loc).getName().getValue() << ": "
             << llvm::toString(elements.takeError());
    Value value = arith::ConstantOp::create(builder, loc, *elements);
    if (failed(define(loc, tensor.name(), value)))
      return failure();
  }
  return success();
}

LogicalResult GraphImporter::importInputs() {
  llvm::StringSet<> seen;
  for (const onnx::ValueInfoProto &info : graph.input()) {
    Location loc = locate("input " + quoteName(info.name()));
    if (info.name().empty())
      return error() << "an input has no name";
    if (!seen.insert(info.name()).second)
      return error() << "input " << quoteName(info.name()) << " occurs twice";
    SmallVector<StringRef> dims;
    FailureOr<RankedTensorType> type = readType(info, "input", dims);
    if (failed(type))
      return failure();
    // The initializer of an input is its value.
    if (auto it = values.find(info.name()); it != values.end()) {
      if (failed(verifyCompatibleShape(it->second.getType(), *type)) ||
          getElementTypeOrSelf(it->second.getType()) != type->getElementType())
        return error() << "input " << quoteName(info.name()) << " is "
                       << stringifyType(*type) << ", but its initializer is "
                       << stringifyType(it->second.getType());
      continue;
    }
    unsigned index = function.getNumArguments();
    if (failed(function.insertArgument(index, *type, {}, loc)))
      return failure();
    function.setArgAttr(index, "attn.name", builder.getStringAttr(info.name()));
    if (llvm::any_of(dims, [](StringRef dim) { return !dim.empty(); }))
      function.setArgAttr(index, "attn.dims", builder.getStrArrayAttr(dims));
    if (failed(define(loc, info.name(), function.getArgument(index))))
      return failure();
  }
  return success();
}

LogicalResult GraphImporter::importNode(const onnx::NodeProto &proto,
                                        int index) {
  std::string what = "node ";
  what += proto.name().empty() ? std::to_string(index + 1)
                               : quoteName(proto.name());
  what += " (" + quoteName(proto.op_type()) + ")";
  Location loc = locate(what, index);
  auto fail = [&]() -> InFlightDiagnostic {
    return mlir::emitError(loc) << what << ": ";
  };
  StringRef domain = canonicalDomain(proto.domain());
  const OpEntry *entry = findOp(domain, proto.op_type());
  if (!entry)
    return fail() << "operator " << quoteName(proto.op_type()) << " of domain "
                  << quoteName(proto.domain()) << " is not supported";
  auto opset = opsets.find(domain);
  if (opset == opsets.end())
    return fail() << "the model imports no operator set of the domain "
                  << quoteName(proto.domain());
  if (opset->second < entry->since)
    return fail() << "operator set must be at least " << entry->since
                  << ", got " << opset->second;

  if (proto.input_size() > static_cast<int>(entry->inputs.size()))
    return fail() << "expected at most " << entry->inputs.size()
                  << " inputs, got " << proto.input_size();
  if (proto.output_size() > static_cast<int>(entry->numOutputs))
    return fail() << "expected at most " << entry->numOutputs
                  << " outputs, got " << proto.output_size();
  SmallVector<Value> inputs;
  for (const std::string &name : proto.input()) {
    if (name.empty()) {
      inputs.push_back({});
      continue;
    }
    auto it = values.find(name);
    if (it == values.end())
      return fail() << "input " << entry->inputs[inputs.size()]
                    << ": no input, "
                    << "initializer or earlier node defines "
                    << quoteName(name);
    inputs.push_back(it->second);
  }
  for (unsigned i = 0; i < entry->required; ++i)
    if (i >= inputs.size() || !inputs[i])
      return fail() << "input " << entry->inputs[i] << " is missing";

  Node node(proto, *entry, opset->second, loc, builder, inputs,
            [this](StringRef name) { return values.lookup(name); });
  if (failed(entry->import(node)))
    return failure();
  for (auto [i, value] : llvm::enumerate(node.getOutputs())) {
    if (!node.wants(i))
      continue;
    if (failed(define(loc, proto.output(i), value)))
      return failure();
  }
  return success();
}

LogicalResult GraphImporter::importOutputs() {
  if (graph.output_size() == 0)
    return error() << "the graph has no outputs";
  SmallVector<Value> results;
  for (const onnx::ValueInfoProto &info : graph.output()) {
    auto it = values.find(info.name());
    if (it == values.end())
      return error() << "output " << quoteName(info.name())
                     << ": no input, initializer or node defines it";
    results.push_back(it->second);
    // What is said of an output is checked; it need not be said.
    if (!info.has_type() || (info.type().has_tensor_type() &&
                             !info.type().tensor_type().has_shape()))
      continue;
    SmallVector<StringRef> dims;
    FailureOr<RankedTensorType> type = readType(info, "output", dims);
    if (failed(type))
      return failure();
    auto computed = cast<RankedTensorType>(it->second.getType());
    if (failed(verifyCompatibleShape(computed, *type)) ||
        computed.getElementType() != type->getElementType())
      return error() << "output " << quoteName(info.name()) << " is said to be "
                     << stringifyType(*type) << ", but is computed as "
                     << stringifyType(computed);
  }
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(builder.getFunctionType(
      function.getArgumentTypes(), ValueRange(results).getTypes()));
  return success();
}
