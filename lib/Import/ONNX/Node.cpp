//===- Node.cpp - One ONNX node while it is imported ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Node.h"
#include "attn/Support/Error.h"
#include "attn/Support/HostTensor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type attn::getElementType(MLIRContext *context, int32_t dataType) {
  Builder builder(context);
  switch (dataType) {
  case onnx::TensorProto::FLOAT:
    return builder.getF32Type();
  case onnx::TensorProto::FLOAT16:
    return builder.getF16Type();
  case onnx::TensorProto::BFLOAT16:
    return builder.getBF16Type();
  case onnx::TensorProto::DOUBLE:
    return builder.getF64Type();
  case onnx::TensorProto::INT64:
    return builder.getI64Type();
  case onnx::TensorProto::INT32:
    return builder.getI32Type();
  case onnx::TensorProto::INT8:
    return builder.getI8Type();
  case onnx::TensorProto::BOOL:
    return builder.getI1Type();
  default:
    return {};
  }
}

std::string attn::stringifyDataType(int32_t dataType) {
  if (onnx::TensorProto::DataType_IsValid(dataType))
    return onnx::TensorProto::DataType_Name(
        static_cast<onnx::TensorProto::DataType>(dataType));
  return std::to_string(dataType);
}

std::string attn::stringifyType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static StringRef stringifyKind(int type) {
  // The name lives as long as the process.
  if (onnx::AttributeProto::AttributeType_IsValid(type))
    return onnx::AttributeProto::AttributeType_Name(
        static_cast<onnx::AttributeProto::AttributeType>(type));
  return "of an unknown type";
}

//===----------------------------------------------------------------------===//
// Node
//===----------------------------------------------------------------------===//

Node::Node(const onnx::NodeProto &proto, const OpEntry &entry, int64_t opset,
           Location loc, OpBuilder &builder, ArrayRef<Value> inputs,
           Lookup lookup)
    : build(builder, loc), proto(proto), entry(entry), opset(opset),
      inputs(inputs), lookupName(std::move(lookup)),
      outputs(proto.output_size()) {}

InFlightDiagnostic Node::error() const {
  InFlightDiagnostic diagnostic = mlir::emitError(build.loc);
  diagnostic << cast<NameLoc>(build.loc).getName().getValue() << ": ";
  return diagnostic;
}

StringRef Node::inputName(unsigned i) const { return entry.inputs[i]; }

LogicalResult Node::expectRank(unsigned i, ArrayRef<int64_t> ranks) const {
  if (llvm::is_contained(ranks, type(i).getRank()))
    return success();
  auto numbers =
      llvm::map_range(ranks, [](int64_t rank) { return std::to_string(rank); });
  return error() << "rank of input " << inputName(i) << " must be "
                 << llvm::join(numbers, " or ") << ", got "
                 << stringifyType(type(i));
}

LogicalResult Node::expectFloat(unsigned i) const {
  if (isa<FloatType>(type(i).getElementType()))
    return success();
  return error() << "input " << inputName(i)
                 << " must have float elements, got " << stringifyType(type(i));
}

LogicalResult Node::expectEqual(unsigned i, int64_t d, unsigned j,
                                int64_t e) const {
  int64_t a = type(i).getDimSize(d), b = type(j).getDimSize(e);
  if (ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b)
    return success();
  return error() << "dimension " << d << " of input " << inputName(i)
                 << " must equal dimension " << e << " of input "
                 << inputName(j) << ", got " << a << " and " << b;
}

FailureOr<int64_t> Node::expectStatic(unsigned i, int64_t d) const {
  int64_t size = type(i).getDimSize(d);
  if (!ShapedType::isDynamic(size) && size > 0)
    return size;
  error() << "dimension " << d << " of input " << inputName(i)
          << " must be a known positive number, got " << stringifyType(type(i));
  return failure();
}

bool Node::wants(unsigned i) const {
  return static_cast<int>(i) < proto.output_size() && !proto.output(i).empty();
}

LogicalResult Node::setOutput(unsigned i, Value value) {
  if (!wants(i))
    return success();
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  auto known = llvm::to_vector(llvm::map_range(shape, [](int64_t size) {
    return ShapedType::isDynamic(size) ? int64_t(1) : size;
  }));
  if (auto count = checkedElementCount(known); !count)
    return error() << "output " << i << ": "
                   << llvm::toString(count.takeError());
  outputs[i] = value;
  return success();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const onnx::AttributeProto *
Node::find(StringRef name, onnx::AttributeProto::AttributeType type) {
  read.insert(name);
  for (const onnx::AttributeProto &attribute : proto.attribute()) {
    if (name != attribute.name())
      continue;
    if (attribute.type() == type)
      return &attribute;
    if (wrongAttribute.empty())
      wrongAttribute =
          ("attribute '" + name + "' must be " + stringifyKind(type) +
           ", got " + stringifyKind(attribute.type()))
              .str();
    return nullptr;
  }
  return nullptr;
}

std::optional<int64_t> Node::getInt(StringRef name) {
  auto *attribute = find(name, onnx::AttributeProto::INT);
  return attribute ? std::optional<int64_t>(attribute->i()) : std::nullopt;
}

int64_t Node::getInt(StringRef name, int64_t defaultValue) {
  return getInt(name).value_or(defaultValue);
}

std::optional<double> Node::getFloat(StringRef name) {
  auto *attribute = find(name, onnx::AttributeProto::FLOAT);
  if (!attribute)
    return std::nullopt;
  if (!std::isfinite(attribute->f()) && wrongAttribute.empty())
    wrongAttribute = ("attribute '" + name + "' must be finite, got " +
                      std::to_string(attribute->f()))
                         .str();
  return attribute->f();
}

double Node::getFloat(StringRef name, double defaultValue) {
  return getFloat(name).value_or(defaultValue);
}

std::string Node::getString(StringRef name, StringRef defaultValue) {
  auto *attribute = find(name, onnx::AttributeProto::STRING);
  return attribute ? attribute->s() : defaultValue.str();
}

const onnx::GraphProto *Node::getGraph(StringRef name) {
  auto *attribute = find(name, onnx::AttributeProto::GRAPH);
  return attribute ? &attribute->g() : nullptr;
}

const onnx::TensorProto *Node::getTensor(StringRef name) {
  auto *attribute = find(name, onnx::AttributeProto::TENSOR);
  return attribute ? &attribute->t() : nullptr;
}

bool Node::getFlag(StringRef name) {
  int64_t value = getInt(name, 0);
  if (value != 0 && value != 1 && wrongAttribute.empty())
    wrongAttribute = ("attribute '" + name + "' must be 0 or 1, got " +
                      std::to_string(value))
                         .str();
  return value == 1;
}

LogicalResult Node::checkAttributes() {
  if (!wrongAttribute.empty())
    return error() << wrongAttribute;
  llvm::StringSet<> names;
  for (const onnx::AttributeProto &attribute : proto.attribute()) {
    if (!read.contains(attribute.name()))
      return error() << "unknown attribute " << quoteName(attribute.name())
                     << " in operator set " << opset;
    if (!names.insert(attribute.name()).second)
      return error() << "attribute " << quoteName(attribute.name())
                     << " is given twice";
  }
  return success();
}
