//===- SubprogramShapes.cpp - Shapes in elementwise subgraphs ---*- C++ -*-===//
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

std::optional<int64_t> attn::readInt(const onnx::NodeProto &proto,
                                     StringRef name, int64_t defaultValue) {
  for (const onnx::AttributeProto &attribute : proto.attribute())
    if (name == attribute.name())
      return attribute.type() == onnx::AttributeProto::INT
                 ? std::optional<int64_t>(attribute.i())
                 : std::nullopt;
  return defaultValue;
}

std::string attn::stringify(ArrayRef<Extent> shape) {
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
        if ((a.dim < 0) != (b.dim < 0)) {
          needed = a.dim < 0 ? Extent{a.value, b.dim} : Extent{b.value, a.dim};
          return std::nullopt;
        }
        error(proto) << "shapes " << stringify(shape) << " and "
                     << stringify(other) << " do not broadcast";
        return std::nullopt;
      }
    }
  }
  return shape;
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

const Program *Subprogram::gather(const Program &data, const Program &index,
                                  int64_t axis) {
  Program &program = add();
  auto dims = ArrayRef(data.shape);
  llvm::append_range(program.shape, dims.take_front(axis));
  llvm::append_range(program.shape, index.shape);
  llvm::append_range(program.shape, dims.drop_front(axis + 1));
  program.element = data.element;
  program.usesScores = data.usesScores || index.usesScores;
  Extent extent = data.shape[axis];
  Value atRunTime = extent.dim < 0 ? Value() : extents[extent.dim];
  const Program *from = &data, *at = &index;
  program.at = [=](Evaluator &e, ArrayRef<Value> indices) -> Value {
    size_t rank = at->shape.size();
    Value position = e.element(*at, indices.slice(axis, rank));
    if (!position)
      return {};
    ScalarBuilder &b = e.build;
    position = castScalar(b, position, at->element, b.builder.getIndexType());
    // A negative index is one from the end.
    Value size = atRunTime ? atRunTime : b.index(extent.value);
    Value isNegative = b.compare(arith::CmpIPredicate::slt, position, e.zero);
    position = b.select(isNegative, b.add(position, size), position);
    auto used = llvm::to_vector(indices.take_front(axis));
    used.push_back(position);
    llvm::append_range(used, indices.drop_front(axis + rank));
    return e.element(*from, used);
  };
  return &program;
}

const Program *Subprogram::readGather(const onnx::NodeProto &proto,
                                      ArrayRef<const Program *> inputs) {
  const Program &data = *inputs[0], &index = *inputs[1];
  int64_t rank = data.shape.size();
  std::optional<int64_t> axis = readInt(proto, "axis", 0);
  if (axis && *axis < 0)
    *axis += rank;
  if (!axis || *axis < 0 || *axis >= rank)
    return fail(proto, "axis must be an integer from " + Twine(-rank) + " to " +
                           Twine(rank - 1));
  if (!index.element.isIndex() && !index.element.isSignlessInteger(32))
    return fail(proto, "indices must be of type int32 or int64, got " +
                           stringifyType(index.element));
  if (!data.integers || rank != 1 || !index.integers) {
    int64_t resultRank = rank - 1 + index.shape.size();
    if (resultRank > kMaxRank)
      return fail(proto, "rank must be at most " + Twine(kMaxRank) + ", got " +
                             Twine(resultRank));
    return gather(data, index, *axis);
  }
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

std::optional<SmallVector<bool>>
Subprogram::readAxes(const onnx::NodeProto &proto, const Program &axes,
                     int64_t rank) {
  if (!axes.integers) {
    error(proto) << "the axes must be known";
    return std::nullopt;
  }
  SmallVector<bool> named(rank, false);
  for (const Extent &axis : *axes.integers) {
    int64_t at = axis.value < 0 ? axis.value + rank : axis.value;
    if (axis.dim >= 0 || at < 0 || at >= rank || named[at]) {
      error(proto) << "axes must be different and from " << -rank << " to "
                   << rank - 1 << ", got " << axis.value;
      return std::nullopt;
    }
    named[at] = true;
  }
  return named;
}

const Program *Subprogram::readUnsqueeze(const onnx::NodeProto &proto,
                                         ArrayRef<const Program *> inputs) {
  int64_t rank = inputs[0]->shape.size();
  if (inputs[1]->integers)
    rank += inputs[1]->integers->size();
  if (rank > kMaxRank)
    return fail(proto, "rank must be at most " + Twine(kMaxRank) + ", got " +
                           Twine(rank));
  auto isNew = readAxes(proto, *inputs[1], rank);
  if (!isNew)
    return nullptr;
  SmallVector<Extent> shape;
  const Extent *next = inputs[0]->shape.begin();
  for (bool added : *isNew)
    shape.push_back(added ? Extent{1, -1} : *next++);
  return reshape(proto, *inputs[0], shape);
}

const Program *Subprogram::readSqueeze(const onnx::NodeProto &proto,
                                       ArrayRef<const Program *> inputs) {
  ArrayRef<Extent> from = inputs[0]->shape;
  auto isGone =
      inputs.size() > 1
          ? readAxes(proto, *inputs[1], from.size())
          : std::optional(llvm::map_to_vector(
                from, [](const Extent &extent) { return extent.isKnown(1); }));
  if (!isGone)
    return nullptr;
  SmallVector<Extent> shape;
  for (auto [extent, gone] : llvm::zip_equal(from, *isGone))
    if (!gone)
      shape.push_back(extent);
  return reshape(proto, *inputs[0], shape);
}

const Program *Subprogram::readTranspose(const onnx::NodeProto &proto,
                                         ArrayRef<const Program *> inputs) {
  const Program *source = inputs[0];
  int64_t rank = source->shape.size();
  // Dimension `d` of the result is `order[d]` of the source.
  auto order = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  for (const onnx::AttributeProto &attribute : proto.attribute())
    if (attribute.name() == "perm")
      order.assign(attribute.ints().begin(), attribute.ints().end());
  SmallVector<int64_t> sorted(order);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    return fail(proto,
                "perm must be a permutation of " + Twine(rank) + " dimensions");
  Program &program = add();
  for (int64_t d : order)
    program.shape.push_back(source->shape[d]);
  program.element = source->element;
  program.usesScores = source->usesScores;
  if (rank <= 1)
    program.integers = source->integers;
  program.at = [source, order](Evaluator &e, ArrayRef<Value> indices) {
    SmallVector<Value> used(order.size());
    for (auto [d, index] : llvm::zip_equal(order, indices))
      used[d] = index;
    return e.element(*source, used);
  };
  return &program;
}

const Program *Subprogram::readExpand(const onnx::NodeProto &proto,
                                      ArrayRef<const Program *> inputs) {
  const auto &sizes = inputs[1]->integers;
  if (!sizes || inputs[1]->shape.size() != 1)
    return fail(proto, "the shape must be known");
  for (const Extent &size : *sizes)
    if (size.value < 0)
      return fail(proto,
                  "the shape must not be negative, got " + Twine(size.value));
  // Broadcast with a tensor of that shape.
  Program asked;
  asked.shape = *sizes;
  const Program *source = inputs[0];
  auto shape = broadcast(proto, {source, &asked});
  if (!shape)
    return nullptr;
  Program &program = add();
  program.shape = *shape;
  program.element = source->element;
  program.usesScores = source->usesScores;
  program.at = [source](Evaluator &e, ArrayRef<Value> indices) {
    return e.element(*source, broadcastIndices(e, source->shape, indices));
  };
  return &program;
}
