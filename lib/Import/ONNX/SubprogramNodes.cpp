//===- SubprogramNodes.cpp - Nodes of elementwise subgraphs -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarOps.h"
#include "Subprogram.h"
#include "attn/Support/Error.h"
#include "attn/Support/HostTensor.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Elementwise operators
//===----------------------------------------------------------------------===//

std::optional<SmallVector<double>>
Subprogram::readAttributes(const onnx::NodeProto &proto, const ScalarOp &op) {
  SmallVector<std::optional<double>> numbers;
  for (const ScalarAttribute &attribute : op.attributes)
    numbers.push_back(attribute.defaultValue);
  for (const onnx::AttributeProto &given : proto.attribute()) {
    const ScalarAttribute *it =
        llvm::find_if(op.attributes, [&](const ScalarAttribute &known) {
          return known.name == given.name();
        });
    if (it == op.attributes.end()) {
      error(proto) << "attribute " << quoteName(given.name())
                   << " is not supported";
      return std::nullopt;
    }
    if (given.type() != it->type) {
      error(proto) << "attribute " << quoteName(given.name())
                   << " must be of type "
                   << onnx::AttributeProto::AttributeType_Name(it->type);
      return std::nullopt;
    }
    double number = given.type() == onnx::AttributeProto::FLOAT
                        ? static_cast<double>(given.f())
                        : static_cast<double>(given.i());
    if (given.type() == onnx::AttributeProto::STRING) {
      auto word = llvm::find(it->words, StringRef(given.s()));
      if (word == it->words.end()) {
        error(proto) << "attribute " << quoteName(given.name())
                     << " must be one of " << llvm::join(it->words, ", ")
                     << ", got " << quoteName(given.s());
        return std::nullopt;
      }
      number = word - it->words.begin();
    }
    numbers[it - op.attributes.begin()] = number;
  }
  SmallVector<double> result;
  for (auto [attribute, number] : llvm::zip_equal(op.attributes, numbers)) {
    if (!number) {
      error(proto) << "attribute " << quoteName(attribute.name)
                   << " is missing";
      return std::nullopt;
    }
    result.push_back(*number);
  }
  return result;
}

LogicalResult Subprogram::checkSecondInput(const onnx::NodeProto &proto,
                                           const ScalarOp &op,
                                           const Program &input) {
  if (op.second == SecondInput::Any)
    return success();
  const auto &known = input.integers;
  bool isKnown = known && known->size() == 1 && known->front().dim < 0;
  int64_t value = isKnown ? known->front().value : 0;
  if (op.second == SecondInput::Divisor && isKnown && value == 0)
    return error(proto) << "the divisor of integers is 0";
  if (op.second == SecondInput::Exponent && (!isKnown || value < 0))
    return error(proto)
           << "the exponent of integers must be a known number from 0";
  return success();
}

const Program *Subprogram::readElementwise(const onnx::NodeProto &proto,
                                           ArrayRef<const Program *> inputs) {
  const ScalarOp *op = findScalarOp(proto.op_type());
  if (!op)
    return fail(proto, "operator " + quoteName(proto.op_type()) +
                           " is not supported in a subgraph of FlexAttention");
  if (inputs.size() < op->minInputs || inputs.size() > op->maxInputs)
    return fail(proto, "expected " + Twine(op->minInputs) +
                           (op->maxInputs == op->minInputs ? ""
                            : op->maxInputs == ScalarOp::kAny
                                ? " or more"
                                : " to " + std::to_string(op->maxInputs)) +
                           " inputs, got " + Twine(inputs.size()));
  auto attributes = readAttributes(proto, *op);
  if (!attributes)
    return nullptr;
  unsigned firstScalar = op->maxInputs - op->scalars.size();
  SmallVector<const Program *> operands(inputs);
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (!input && i < firstScalar)
      return fail(proto, "input " + Twine(i) + " must not be left out");
    if (input && i >= firstScalar && !input->shape.empty())
      return fail(proto, op->scalars[i - firstScalar] +
                             " must be a scalar, got shape " +
                             stringify(input->shape));
  }
  Type element = inputs[0]->element;
  if (op->second == SecondInput::Exponent && isa<FloatType>(element) &&
      inputs[1]->element.isIntOrIndexOrFloat() &&
      !inputs[1]->element.isInteger(1))
    operands[1] = addCast(inputs[1], element);
  else if (op->second == SecondInput::Exponent && inputs[1]->integers)
    operands[1] = addCast(inputs[1], element);
  for (const Program *input : operands)
    if (input && input->element != element)
      return fail(proto, "inputs must have one element type, got " +
                             stringifyType(element) + " and " +
                             stringifyType(input->element));
  ScalarEmitter emitter = isa<FloatType>(element)       ? op->onFloats
                          : element.isInteger(1)        ? op->onBooleans
                          : element.isUnsignedInteger() ? op->onUnsigned
                                                        : op->onSigned;
  if (!emitter)
    return fail(proto, "elements of type " + stringifyType(element) +
                           " are not supported");
  if (!isa<FloatType>(element)) {
    if (inputs.size() > 1 && failed(checkSecondInput(proto, *op, *operands[1])))
      return nullptr;
  } else if (op->name == "Mod" && attributes->front() == 0) {
    return fail(proto, "fmod must be 1 for floats");
  }
  SmallVector<const Program *> given;
  llvm::copy_if(operands, std::back_inserter(given),
                [](const Program *operand) { return operand; });
  auto shape = broadcast(proto, given);
  if (!shape)
    return nullptr;

  Program &program = add();
  program.shape = *shape;
  program.element =
      op->isComparison ? Type(IntegerType::get(node.getContext(), 1)) : element;
  program.usesScores = llvm::any_of(
      given, [](const Program *input) { return input->usesScores; });
  program.at = [operands, emitter, attributes = *attributes](
                   Evaluator &e, ArrayRef<Value> indices) -> Value {
    SmallVector<Value> elements;
    for (const Program *operand : operands) {
      elements.push_back({});
      if (!operand)
        continue;
      elements.back() =
          e.element(*operand, broadcastIndices(e, operand->shape, indices));
      if (!elements.back())
        return {};
    }
    return emitter(e.build, elements, attributes);
  };
  return &program;
}

const Program *Subprogram::readWhere(const onnx::NodeProto &proto,
                                     ArrayRef<const Program *> inputs) {
  auto shape = broadcast(proto, inputs);
  if (!shape)
    return nullptr;
  if (!inputs[0]->element.isInteger(1) ||
      inputs[1]->element != inputs[2]->element)
    return fail(proto,
                "expected a boolean condition and inputs of one type, got " +
                    stringifyType(inputs[0]->element) + ", " +
                    stringifyType(inputs[1]->element) + " and " +
                    stringifyType(inputs[2]->element));
  Program &program = add();
  program.shape = *shape;
  program.element = inputs[1]->element;
  program.usesScores = llvm::any_of(
      inputs, [](const Program *input) { return input->usesScores; });
  if (inputs[1]->isMinusInfinity || inputs[2]->isMinusInfinity) {
    program.condition = inputs[0];
    program.shownWhen = inputs[2]->isMinusInfinity;
    program.shown = inputs[program.shownWhen ? 1 : 2];
  }
  auto operands = llvm::to_vector(inputs);
  program.at = [operands](Evaluator &e, ArrayRef<Value> indices) -> Value {
    SmallVector<Value> elements;
    for (const Program *operand : operands) {
      elements.push_back(
          e.element(*operand, broadcastIndices(e, operand->shape, indices)));
      if (!elements.back())
        return {};
    }
    return e.build.select(elements[0], elements[1], elements[2]);
  };
  return &program;
}

//===----------------------------------------------------------------------===//
// Casts and constants
//===----------------------------------------------------------------------===//

const Program *Subprogram::addCast(const Program *source, Type element) {
  if (source->element == element)
    return source;
  Program &program = add();
  program.shape = source->shape;
  program.element = element;
  program.usesScores = source->usesScores;
  if (source->integers && element.isIntOrIndex() && !element.isInteger(1)) {
    unsigned bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
    bool fits = llvm::all_of(*source->integers, [&](const Extent &extent) {
      if (element.isIndex() || bits == 64)
        return element.isIndex() || extent.value >= 0;
      return extent.dim < 0 &&
             (element.isUnsignedInteger() ? llvm::isUIntN(bits, extent.value)
                                          : llvm::isIntN(bits, extent.value));
    });
    if (fits)
      program.integers = source->integers;
  }
  program.at = [source, element](Evaluator &e,
                                 ArrayRef<Value> indices) -> Value {
    Value value = e.element(*source, indices);
    return value ? castScalar(e.build, value, source->element, element)
                 : Value();
  };
  return &program;
}

const Program *Subprogram::readCast(const onnx::NodeProto &proto,
                                    ArrayRef<const Program *> inputs) {
  std::optional<int64_t> to = readInt(proto, "to", 0);
  Type element = to ? getProgramType(node.getContext(), *to) : Type();
  if (!element)
    return fail(proto, "Cast to type " +
                           (to ? stringifyDataType(*to) : std::string("?")) +
                           " is not supported");
  return addCast(inputs[0], element);
}

const Program *Subprogram::readCastLike(const onnx::NodeProto &,
                                        ArrayRef<const Program *> inputs) {
  return addCast(inputs[0], inputs[1]->element);
}

const Program *Subprogram::readIdentity(const onnx::NodeProto &,
                                        ArrayRef<const Program *> inputs) {
  return inputs[0];
}

const Program *Subprogram::readConstant(const onnx::NodeProto &proto,
                                        ArrayRef<const Program *>) {
  if (proto.attribute_size() != 1)
    return fail(proto,
                "expected one attribute, got " + Twine(proto.attribute_size()));
  const onnx::AttributeProto &value = proto.attribute(0);
  onnx::TensorProto tensor;
  switch (value.type()) {
  case onnx::AttributeProto::TENSOR:
    tensor = value.t();
    break;
  case onnx::AttributeProto::FLOAT:
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(value.f());
    break;
  case onnx::AttributeProto::FLOATS:
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(value.floats_size());
    *tensor.mutable_float_data() = value.floats();
    break;
  case onnx::AttributeProto::INT:
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_int64_data(value.i());
    break;
  case onnx::AttributeProto::INTS:
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(value.ints_size());
    *tensor.mutable_int64_data() = value.ints();
    break;
  default:
    return fail(proto, "attribute " + quoteName(value.name()) +
                           " must be a tensor, a number or a list of numbers");
  }
  return addConstant(tensor, quoteName(proto.output(0)));
}
