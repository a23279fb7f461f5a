//===- Subprogram.cpp - Elementwise ONNX subgraphs as programs --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Subprogram.h"
#include "ScalarOps.h"
#include "TensorData.h"
#include "attn/Support/Error.h"
#include "attn/Support/HostTensor.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attn;

/// A program is a region of one kernel, and is read node in node.
static constexpr int kMaxProgramNodes = 500;

/// Contents of tensors of integers are known up to here: shapes have them.
static constexpr int64_t kMaxKnownIntegers = kMaxRank;

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

Value Evaluator::element(const Program &program, ArrayRef<Value> indices) {
  Key key{&program, {}};
  for (Value index : indices)
    key.second.push_back(index.getAsOpaquePointer());
  if (auto it = known.find(key); it != known.end())
    return it->second;
  Value value = program.at(*this, indices);
  known[key] = value;
  return value;
}

SmallVector<Value> attn::broadcastIndices(Evaluator &evaluator,
                                          ArrayRef<Extent> from,
                                          ArrayRef<Value> indices) {
  SmallVector<Value> result;
  for (auto [extent, index] :
       llvm::zip_equal(from, indices.take_back(from.size())))
    result.push_back(extent.isKnown(1) ? evaluator.zero : index);
  return result;
}

Value Subprogram::emitScore(ScalarBuilder build, Value score,
                            ValueRange position) const {
  Evaluator evaluator(build, score, position);
  return evaluator.element(*result, llvm::to_vector(position));
}

Value Subprogram::emitVisible(ScalarBuilder build, ValueRange position) const {
  Evaluator evaluator(build, {}, position);
  Value visible;
  for (auto [condition, shownWhen] : conditions) {
    Value term = evaluator.element(*condition,
                                   broadcastIndices(evaluator, condition->shape,
                                                    llvm::to_vector(position)));
    if (!term)
      return {};
    if (!shownWhen)
      term = findScalarOp("Not")->onBooleans(build, term, {});
    visible = visible ? build.logicalAnd(visible, term) : term;
  }
  return visible;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

InFlightDiagnostic Subprogram::error() const {
  InFlightDiagnostic diagnostic = node.error();
  diagnostic << attribute << ": ";
  return diagnostic;
}

InFlightDiagnostic Subprogram::error(const onnx::NodeProto &proto) const {
  InFlightDiagnostic diagnostic = error();
  diagnostic << "node "
             << quoteName(proto.name().empty() && proto.output_size() > 0
                              ? proto.output(0)
                              : proto.name())
             << " (" << quoteName(proto.op_type()) << "): ";
  return diagnostic;
}

const Program *Subprogram::fail(const onnx::NodeProto &proto,
                                const Twine &text) const {
  error(proto) << text;
  return nullptr;
}

Program &Subprogram::add() { return programs.emplace_back(); }

Type attn::programType(Type element) {
  return element.isSignlessInteger(64)
             ? Type(IndexType::get(element.getContext()))
             : element;
}

Type attn::getProgramType(MLIRContext *context, int32_t dataType) {
  auto unsignedType = [&](unsigned bits) {
    return IntegerType::get(context, bits, IntegerType::Unsigned);
  };
  switch (dataType) {
  case onnx::TensorProto::UINT8:
    return unsignedType(8);
  case onnx::TensorProto::UINT16:
    return unsignedType(16);
  case onnx::TensorProto::UINT32:
    return unsignedType(32);
  case onnx::TensorProto::UINT64:
    return unsignedType(64);
  case onnx::TensorProto::INT16:
    return IntegerType::get(context, 16);
  }
  Type element = getElementType(context, dataType);
  return element ? programType(element) : Type();
}

const Program *Subprogram::addConstant(const onnx::TensorProto &tensor,
                                       StringRef what) {
  // Data beside the model is for weights.
  Type element = getProgramType(node.getContext(), tensor.data_type());
  Type stored = element && element.isIndex() ? node.builder().getI64Type()
                : element                    ? getScalarType(element)
                                             : Type();
  auto elements = readTensor(stored, tensor, /*folder=*/"");
  if (!elements) {
    error() << what << ": " << llvm::toString(elements.takeError());
    return nullptr;
  }
  DenseElementsAttr contents = *elements;
  auto type = cast<RankedTensorType>(contents.getType());
  Program *program = &add();
  if (contents.isSplat() || type.getNumElements() == 1) {
    program->element = element;
    auto value = contents.isSplat() ? contents.getSplatValue<TypedAttr>()
                                    : *contents.value_begin<TypedAttr>();
    if (auto number = dyn_cast<FloatAttr>(value)) {
      const APFloat &real = number.getValue();
      program->isMinusInfinity = real.isInfinity() && real.isNegative();
    }
    if (program->element.isIndex())
      value =
          IntegerAttr::get(program->element, cast<IntegerAttr>(value).getInt());
    program->at = [value](Evaluator &e, ArrayRef<Value>) -> Value {
      return arith::ConstantOp::create(e.build.builder, e.build.loc, value);
    };
  } else {
    Value constant =
        arith::ConstantOp::create(node.builder(), node.getLoc(), contents);
    programs.pop_back();
    program = const_cast<Program *>(addCapture(constant, element));
  }
  program->shape.clear();
  for (int64_t size : type.getShape())
    program->shape.push_back({size, -1});
  if (element.isIntOrIndex() && !element.isInteger(1) && type.getRank() <= 1 &&
      type.getNumElements() <= kMaxKnownIntegers) {
    program->integers.emplace();
    for (const APInt &value : contents.getValues<APInt>()) {
      APSInt number(value, element.isUnsignedInteger());
      if (!number.isRepresentableByInt64()) {
        program->integers.reset();
        break;
      }
      program->integers->push_back({number.getExtValue(), -1});
    }
  }
  return program;
}

const Program *Subprogram::addCapture(Value value, Type element) {
  auto type = cast<RankedTensorType>(value.getType());
  Program &program = add();
  for (auto [d, size] : llvm::enumerate(type.getShape())) {
    if (ShapedType::isDynamic(size)) {
      error() << "a tensor of the outer graph must have a static shape, got "
              << stringifyType(type);
      return nullptr;
    }
    program.shape.push_back({size, -1});
  }
  program.element = element;
  bool isIndex = element.isIndex();
  program.at = [value, isIndex](Evaluator &e, ArrayRef<Value> indices) {
    Value loaded = e.build.load(value, indices);
    return isIndex ? e.build.toIndex(loaded) : loaded;
  };
  return &program;
}

std::optional<const Program *> Subprogram::lookup(const onnx::NodeProto &proto,
                                                  int input) {
  const std::string &name = proto.input(input);
  if (name.empty())
    return nullptr;
  const Program *program = values.lookup(name);
  if (!program) {
    Value outer = node.lookup(name);
    if (!outer) {
      error(proto) << "no input, initializer or earlier node defines "
                   << quoteName(name);
      return std::nullopt;
    }
    program = addCapture(
        outer,
        programType(cast<RankedTensorType>(outer.getType()).getElementType()));
    if (!program)
      return std::nullopt;
    values[name] = program;
  }
  return program;
}

//===----------------------------------------------------------------------===//
// The subgraph
//===----------------------------------------------------------------------===//

LogicalResult Subprogram::read(const onnx::GraphProto &graph, bool hides) {
  if (graph.input_size() != 1 || graph.output_size() != 1)
    return error() << "expected one input and one output, got "
                   << graph.input_size() << " and " << graph.output_size();
  if (graph.node_size() > kMaxProgramNodes)
    return error() << "expected at most " << kMaxProgramNodes << " nodes, got "
                   << graph.node_size();
  if (graph.sparse_initializer_size() > 0)
    return error() << "sparse initializers are not supported";
  const onnx::ValueInfoProto &input = graph.input(0);
  int32_t said = input.type().tensor_type().elem_type();
  if (input.has_type() && getElementType(node.getContext(), said) != element)
    return error() << "input " << quoteName(input.name())
                   << " must have elements of type " << stringifyType(element)
                   << ", got " << stringifyDataType(said);

  Program &program = add();
  program.element = element;
  program.usesScores = true;
  for (auto [d, size] : llvm::enumerate(shape))
    program.shape.push_back(ShapedType::isDynamic(size)
                                ? Extent{0, static_cast<int>(d)}
                                : Extent{size, -1});
  program.at = [this, &program](Evaluator &e, ArrayRef<Value> indices) {
    for (auto [extent, index, at] :
         llvm::zip_equal(program.shape, indices, e.position))
      if (!extent.isKnown(1) && index != at) {
        error() << "scores must be used element by element";
        return Value();
      }
    return e.score;
  };
  values[input.name()] = &program;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    const Program *constant =
        addConstant(tensor, "initializer " + quoteName(tensor.name()));
    if (!constant)
      return failure();
    if (!values.try_emplace(tensor.name(), constant).second)
      return error() << "the name " << quoteName(tensor.name())
                     << " is defined twice";
  }
  for (const onnx::NodeProto &proto : graph.node())
    if (failed(readNode(proto)))
      return failure();

  const std::string &output = graph.output(0).name();
  result = values.lookup(output);
  if (!result)
    return error() << "no input, initializer or node defines the output "
                   << quoteName(output);
  if (result->element != element || result->shape != program.shape)
    return error() << "output " << quoteName(output)
                   << " must have the shape and the element type of the input";
  // A score of -inf by position hides its pair: a mask has tiles to skip.
  while (hides && result->condition && !result->condition->usesScores &&
         result->shown->shape == result->shape) {
    conditions.push_back({result->condition, result->shownWhen});
    result = result->shown;
  }
  return success();
}

LogicalResult Subprogram::readNode(const onnx::NodeProto &proto) {
  if (!proto.domain().empty() && proto.domain() != "ai.onnx")
    return error(proto) << "operators of domain " << quoteName(proto.domain())
                        << " are not supported here";
  if (proto.output_size() != 1)
    return error(proto) << "expected one output, got " << proto.output_size();
  SmallVector<const Program *> inputs;
  for (int i = 0; i < proto.input_size(); ++i) {
    auto program = lookup(proto, i);
    if (!program)
      return failure();
    inputs.push_back(*program);
  }
  struct Reader {
    StringRef name;
    int minInputs, maxInputs;
    const Program *(Subprogram::*read)(const onnx::NodeProto &,
                                       ArrayRef<const Program *>);
  };
  static const Reader readers[] = {
      {"Cast", 1, 1, &Subprogram::readCast},
      {"CastLike", 2, 2, &Subprogram::readCastLike},
      {"Constant", 0, 0, &Subprogram::readConstant},
      {"Expand", 2, 2, &Subprogram::readExpand},
      {"Gather", 2, 2, &Subprogram::readGather},
      {"Identity", 1, 1, &Subprogram::readIdentity},
      {"Range", 3, 3, &Subprogram::readRange},
      {"Reshape", 2, 2, &Subprogram::readReshape},
      {"Shape", 1, 1, &Subprogram::readShape},
      {"Squeeze", 1, 2, &Subprogram::readSqueeze},
      {"Transpose", 1, 1, &Subprogram::readTranspose},
      {"Unsqueeze", 2, 2, &Subprogram::readUnsqueeze},
      {"Where", 3, 3, &Subprogram::readWhere},
  };
  const Program *program = nullptr;
  const Reader *reader = llvm::find_if(readers, [&](const Reader &reader) {
    return reader.name == proto.op_type();
  });
  if (reader != std::end(readers)) {
    int count = proto.input_size();
    if (count < reader->minInputs || count > reader->maxInputs)
      return error(proto) << "expected " << reader->minInputs << " inputs, got "
                          << count;
    if (int missing = llvm::find(inputs, nullptr) - inputs.begin();
        missing < count)
      return error(proto) << "input " << missing << " must not be left out";
    program = (this->*reader->read)(proto, inputs);
  } else {
    program = readElementwise(proto, inputs);
  }
  if (!program)
    return failure();
  if (!values.try_emplace(proto.output(0), program).second)
    return error(proto) << "the name " << quoteName(proto.output(0))
                        << " is defined twice";
  return success();
}
