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

/// An integer attribute, or the default; nothing when it is of another type.
static std::optional<int64_t> readInt(const onnx::NodeProto &proto,
                                      StringRef name, int64_t defaultValue) {
  for (const onnx::AttributeProto &attribute : proto.attribute())
    if (name == attribute.name())
      return attribute.type() == onnx::AttributeProto::INT
                 ? std::optional<int64_t>(attribute.i())
                 : std::nullopt;
  return defaultValue;
}

static std::string stringify(ArrayRef<Extent> shape) {
  auto texts = llvm::map_to_vector(shape, [](const Extent &extent) {
    return extent.dim < 0 ? std::to_string(extent.value) : std::string("?");
  });
  return "[" + llvm::join(texts, ", ") + "]";
}

std::optional<SmallVector<Extent>>
Subprogram::broadcast(const onnx::NodeProto &proto,
                      ArrayRef<const Program *> inputs) {
  SmallVector<Extent> shape;
  for (const Program *input : inputs) {
    SmallVector<Extent> other = input->shape;
    while (other.size() < shape.size())
      other.insert(other.begin(), Extent{1, -1});
    while (shape.size() < other.size())
      shape.insert(shape.begin(), Extent{1, -1});
    for (auto [a, b] : llvm::zip_equal(shape, other)) {
      if (a.isKnown(1))
        a = b;
      else if (!b.isKnown(1) && a != b) {
        error(proto) << "shapes " << stringify(shape) << " and "
                     << stringify(other) << " do not broadcast";
        return std::nullopt;
      }
    }
  }
  return shape;
}

const Program *Subprogram::readElementwise(const onnx::NodeProto &proto,
                                           ArrayRef<const Program *> inputs) {
  const ScalarOp *op = findScalarOp(proto.op_type());
  if (!op)
    return fail(proto, "operator " + quoteName(proto.op_type()) +
                           " is not supported in a subgraph of FlexAttention");
  if (inputs.size() != op->numInputs)
    return fail(proto, "expected " + Twine(op->numInputs) + " inputs, got " +
                           Twine(inputs.size()));
  if (proto.attribute_size() > 0)
    return fail(proto, "attribute " + quoteName(proto.attribute(0).name()) +
                           " is not supported");
  Type element = inputs[0]->element;
  for (const Program *input : inputs)
    if (input->element != element)
      return fail(proto, "inputs must have one element type, got " +
                             stringifyType(element) + " and " +
                             stringifyType(input->element));
  ScalarEmitter emitter = isa<FloatType>(element) ? op->onFloats
                          : element.isInteger(1)  ? op->onBooleans
                                                  : op->onIntegers;
  if (!emitter)
    return fail(proto, "elements of type " + stringifyType(element) +
                           " are not supported");
  if (op->divides && !isa<FloatType>(element)) {
    const auto &divisor = inputs[1]->integers;
    if (!divisor || divisor->size() != 1 || divisor->front().dim >= 0 ||
        divisor->front().value <= 0)
      return fail(proto,
                  "the divisor of integers must be a known positive number");
  }
  auto shape = broadcast(proto, inputs);
  if (!shape)
    return nullptr;

  Program &program = add();
  program.shape = *shape;
  program.element =
      op->isComparison ? Type(IntegerType::get(node.getContext(), 1)) : element;
  program.usesScores = llvm::any_of(
      inputs, [](const Program *input) { return input->usesScores; });
  auto operands = llvm::to_vector(inputs);
  program.at = [operands, emitter](Evaluator &e,
                                   ArrayRef<Value> indices) -> Value {
    SmallVector<Value> elements;
    for (const Program *operand : operands) {
      elements.push_back(
          e.element(*operand, broadcastIndices(e, operand->shape, indices)));
      if (!elements.back())
        return {};
    }
    return emitter(e.build, elements);
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

const Program *Subprogram::readCast(const onnx::NodeProto &proto,
                                    ArrayRef<const Program *> inputs) {
  std::optional<int64_t> to = readInt(proto, "to", 0);
  Type element = to ? getElementType(node.getContext(), *to) : Type();
  if (!element)
    return fail(proto, "Cast to type " +
                           (to ? stringifyDataType(*to) : std::string("?")) +
                           " is not supported");
  const Program *source = inputs[0];
  Program &program = add();
  program.shape = source->shape;
  program.element = programType(element);
  program.usesScores = source->usesScores;
  if (program.element.isIndex())
    program.integers = source->integers;
  Type type = program.element;
  program.at = [source, type](Evaluator &e, ArrayRef<Value> indices) -> Value {
    Value value = e.element(*source, indices);
    return value ? castScalar(e.build, value, type) : Value();
  };
  return &program;
}

const Program *Subprogram::readShape(const onnx::NodeProto &proto,
                                     ArrayRef<const Program *> inputs) {
  int64_t rank = inputs[0]->shape.size();
  auto start = readInt(proto, "start", 0), end = readInt(proto, "end", rank);
  if (!start || !end)
    return fail(proto, "start and end must be integers");
  auto clamp = [&](int64_t position) {
    if (position < 0)
      position += rank;
    return std::clamp<int64_t>(position, 0, rank);
  };
  int64_t first = clamp(*start), last = std::max(clamp(*end), first);
  auto extents = ArrayRef(inputs[0]->shape).slice(first, last - first);
  return addKnown(extents, {Extent{last - first, -1}});
}

const Program *Subprogram::addKnown(ArrayRef<Extent> integers,
                                    ArrayRef<Extent> shape) {
  Program &program = add();
  program.shape.assign(shape.begin(), shape.end());
  program.element = IndexType::get(node.getContext());
  program.integers.emplace(integers.begin(), integers.end());
  if (integers.size() != 1) {
    // Only single numbers enter arithmetic.
    program.at = [this](Evaluator &, ArrayRef<Value>) {
      error() << "a list of extents must be used as a shape";
      return Value();
    };
    return &program;
  }
  Extent extent = integers.front();
  Value atRunTime = extent.dim < 0 ? Value() : extents[extent.dim];
  program.at = [extent, atRunTime](Evaluator &e, ArrayRef<Value>) {
    return atRunTime ? atRunTime : e.build.index(extent.value);
  };
  return &program;
}

const Program *Subprogram::readGather(const onnx::NodeProto &proto,
                                      ArrayRef<const Program *> inputs) {
  if (readInt(proto, "axis", 0) != 0)
    return fail(proto, "axis must be 0");
  const Program &data = *inputs[0], &index = *inputs[1];
  if (!data.integers || data.shape.size() != 1 || !index.integers)
    return fail(proto, "expected a shape and known indices");
  SmallVector<Extent> chosen;
  int64_t size = data.integers->size();
  for (const Extent &position : *index.integers) {
    int64_t at = position.value < 0 ? position.value + size : position.value;
    if (position.dim >= 0 || at < 0 || at >= size)
      return fail(proto, "index must be from " + Twine(-size) + " to " +
                             Twine(size - 1) + ", got " +
                             Twine(position.value));
    chosen.push_back((*data.integers)[at]);
  }
  return addKnown(chosen, index.shape);
}

const Program *Subprogram::readRange(const onnx::NodeProto &proto,
                                     ArrayRef<const Program *> inputs) {
  for (const Program *input : inputs)
    if (!input->integers || input->integers->size() != 1)
      return fail(proto,
                  "start, limit and delta must be known integers or extents of "
                  "the scores");
  Extent start = inputs[0]->integers->front();
  Extent limit = inputs[1]->integers->front();
  Extent delta = inputs[2]->integers->front();
  if (start.dim >= 0 || !delta.isKnown(1) ||
      (limit.dim >= 0 && start.value != 0))
    return fail(proto, "expected a range by steps of 1, from 0 to an extent");
  Program &program = add();
  program.element = IndexType::get(node.getContext());
  if (limit.dim < 0) {
    int64_t count;
    if (llvm::SubOverflow(limit.value, start.value, count))
      return fail(proto, "the range is too long");
    limit.value = std::max<int64_t>(count, 0);
  }
  program.shape = {limit};
  program.at = [start](Evaluator &e, ArrayRef<Value> indices) {
    return start.value == 0
               ? indices[0]
               : e.build.add(indices[0], e.build.index(start.value));
  };
  return &program;
}

const Program *Subprogram::reshape(const onnx::NodeProto &proto,
                                   const Program &source,
                                   ArrayRef<Extent> shape) {
  // Dimension `d` of the result is dimension `origin[d]` of the source, or 1.
  SmallVector<int64_t> origin(source.shape.size(), -1);
  size_t next = 0;
  bool matches = true;
  for (auto [d, extent] : llvm::enumerate(source.shape)) {
    if (extent.isKnown(1))
      continue;
    while (next < shape.size() && shape[next].isKnown(1))
      ++next;
    matches &= next < shape.size() && shape[next] == extent;
    origin[d] = next++;
  }
  for (; next < shape.size(); ++next)
    matches &= shape[next].isKnown(1);
  if (!matches || static_cast<int64_t>(shape.size()) > kMaxRank)
    return fail(proto, "only dimensions of extent 1 may come or go, got " +
                           stringify(source.shape) + " to " + stringify(shape));
  Program &program = add();
  program.shape.assign(shape.begin(), shape.end());
  program.element = source.element;
  program.usesScores = source.usesScores;
  program.integers = source.integers;
  const Program *from = &source;
  program.at = [from, origin](Evaluator &e, ArrayRef<Value> indices) {
    SmallVector<Value> used;
    for (int64_t d : origin)
      used.push_back(d < 0 ? e.zero : indices[d]);
    return e.element(*from, used);
  };
  return &program;
}

const Program *Subprogram::readReshape(const onnx::NodeProto &proto,
                                       ArrayRef<const Program *> inputs) {
  if (readInt(proto, "allowzero", 0) != 0)
    return fail(proto, "allowzero must be 0");
  if (!inputs[1]->integers || inputs[1]->shape.size() != 1)
    return fail(proto, "the shape must be known");
  SmallVector<Extent> shape = *inputs[1]->integers;
  // What -1 stands for is the one extent that is missing.
  SmallVector<Extent> missing;
  for (const Extent &extent : inputs[0]->shape)
    if (!extent.isKnown(1))
      missing.push_back(extent);
  Extent *open = nullptr;
  for (auto [d, extent] : llvm::enumerate(shape)) {
    if (extent.isKnown(0) && d < inputs[0]->shape.size())
      extent = inputs[0]->shape[d];
    if (extent.isKnown(-1)) {
      if (open)
        return fail(proto, "the shape must have at most one -1");
      open = &extent;
      continue;
    }
    if (Extent *it = llvm::find(missing, extent); it != missing.end())
      missing.erase(it);
  }
  if (open) {
    if (missing.size() > 1)
      return fail(proto, "only dimensions of extent 1 may come or go");
    *open = missing.empty() ? Extent{1, -1} : missing.front();
  }
  return reshape(proto, *inputs[0], shape);
}

const Program *Subprogram::readUnsqueeze(const onnx::NodeProto &proto,
                                         ArrayRef<const Program *> inputs) {
  const auto &axes = inputs[1]->integers;
  if (!axes)
    return fail(proto, "the axes must be known");
  int64_t rank = inputs[0]->shape.size() + axes->size();
  if (rank > kMaxRank)
    return fail(proto, "rank must be at most " + Twine(kMaxRank) + ", got " +
                           Twine(rank));
  SmallVector<bool> isNew(rank, false);
  for (const Extent &axis : *axes) {
    int64_t at = axis.value < 0 ? axis.value + rank : axis.value;
    if (axis.dim >= 0 || at < 0 || at >= rank || isNew[at])
      return fail(proto, "axes must be different and from " + Twine(-rank) +
                             " to " + Twine(rank - 1) + ", got " +
                             Twine(axis.value));
    isNew[at] = true;
  }
  SmallVector<Extent> shape;
  const Extent *next = inputs[0]->shape.begin();
  for (bool added : isNew)
    shape.push_back(added ? Extent{1, -1} : *next++);
  return reshape(proto, *inputs[0], shape);
}
