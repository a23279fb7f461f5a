//===- Inputs.cpp - Random inputs of a random graph -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::fuzz;

using Shape = llvm::SmallVector<int64_t>;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// Bytes from the first element to behind the last one.
static size_t span(ElementType type, llvm::ArrayRef<int64_t> shape,
                   llvm::ArrayRef<int64_t> strides) {
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip_equal(shape, strides)) {
    if (extent == 0)
      return 0;
    last += (extent - 1) * stride;
  }
  return (last + 1) * elementSize(type);
}

Tensor::Tensor(ElementType type, llvm::ArrayRef<int64_t> shape,
               llvm::ArrayRef<int64_t> strides, bool flushEnd)
    : buffer(span(type, shape, strides), flushEnd) {
  view.type = type;
  view.data = buffer.data();
  view.shape.assign(shape.begin(), shape.end());
  view.strides.assign(strides.begin(), strides.end());
  heads = view;
}

static char *elementAt(const TensorView &view,
                       llvm::ArrayRef<int64_t> indices) {
  int64_t at = 0;
  for (auto [index, stride] : llvm::zip_equal(indices, view.strides))
    at += index * stride;
  return static_cast<char *>(view.data) + at * elementSize(view.type);
}

double Tensor::get(const TensorView &of,
                   llvm::ArrayRef<int64_t> indices) const {
  double value;
  decodeElements(of.type, elementAt(of, indices), &value, 1);
  return value;
}

void Tensor::set(const TensorView &of, llvm::ArrayRef<int64_t> indices,
                 double value) {
  encodeElements(of.type, &value, elementAt(of, indices), 1);
}

void Tensor::fill(const TensorView &of,
                  llvm::function_ref<double(llvm::ArrayRef<int64_t>)> value) {
  Shape indices(of.shape.size(), 0);
  for (int64_t left = of.numElements(); left > 0; --left) {
    set(of, indices, value(indices));
    for (size_t axis = indices.size(); axis-- > 0;) {
      if (++indices[axis] < of.shape[axis])
        break;
      indices[axis] = 0;
    }
  }
}

/// Strides of a permuted, padded or broadcast tensor; row-major most often.
static Shape chooseStrides(llvm::ArrayRef<int64_t> shape, Random &random) {
  Shape strides(shape.size()), order;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    order.push_back(axis);
  bool isOdd = random.chance(35);
  // Mostly with the last axis innermost, as kernels take it.
  if (isOdd && shape.size() > 1)
    for (int64_t swaps = random.pick(0, 2); swaps; --swaps)
      std::swap(order[random.pick(0, shape.size() - 2)],
                order[random.pick(0, random.chance(85) ? shape.size() - 2
                                                       : shape.size() - 1)]);
  int64_t stride = isOdd && random.chance(8) ? 2 : 1;
  for (size_t n = order.size(); n-- > 0;) {
    int64_t axis = order[n];
    if (isOdd && axis + 1 != static_cast<int64_t>(shape.size()) &&
        random.chance(10))
      continue; // stride 0
    strides[axis] = stride;
    stride *= std::max<int64_t>(shape[axis], 1);
    if (isOdd && random.chance(25))
      stride += random.pick(1, 5);
  }
  return strides;
}

std::vector<CallArgument> Inputs::arguments(const Graph &graph) const {
  std::vector<CallArgument> result;
  for (size_t n = 0; n < graph.arguments.size(); ++n) {
    const Argument &argument = graph.arguments[n];
    if (!argument.isScalar)
      result.push_back(tensors[n]->view);
    else if (isFloat(argument.type))
      result.push_back(scalars[n]);
    else
      result.push_back(static_cast<int64_t>(scalars[n]));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

/// Sizes that the twin, which is slow, can do.
static Sizes chooseSizes(const Graph &graph, Random &random) {
  while (true) {
    Sizes sizes = graph.fixed;
    if (!graph.isFixed[0])
      sizes.b = random.of<int64_t>({1, 1, 1, 2, 3, 0});
    if (!graph.isFixed[1]) {
      sizes.g = random.of<int64_t>({1, 1, 2, 3});
      sizes.h = sizes.g * random.of<int64_t>({1, 1, 2, 3, 4});
    }
    if (!graph.isFixed[3])
      sizes.q =
          random.of<int64_t>({0,  1,  1,  2,  3,  5,  7,  8,  9,   15,  16,
                              17, 31, 33, 48, 63, 64, 65, 97, 128, 130, 200});
    if (!graph.isFixed[4])
      sizes.k = random.of<int64_t>({0,   1,   1,   2,   3,   5,   7,   15, 16,
                                    17,  31,  33,  63,  64,  65,  96,  97, 127,
                                    128, 129, 200, 257, 300, 515, 1030});
    if (graph.pageRows) {
      sizes.k = sizes.k / graph.pageRows * graph.pageRows;
      sizes.m = sizes.k / graph.pageRows;
      sizes.p = random.pick(1, sizes.b * sizes.m + 3);
    }
    sizes.n = random.pick(0, std::min<int64_t>(sizes.k, 20));
    sizes.c = random.pick(1, 6);
    double work = static_cast<double>(sizes.b) * sizes.h * sizes.q * sizes.k *
                  (graph.headDim + graph.valueDim + 40);
    if (work <= 4e6 || (graph.isFixed[3] && graph.isFixed[4]))
      return sizes;
  }
}

/// The values of queries, keys or values: spread, equal, sparse, huge, tiny.
static void fillRows(const Argument &argument, Tensor &tensor, Random &random,
                     double &largest) {
  if (argument.type == ElementType::i8)
    return tensor.fill(tensor.view, [&](llvm::ArrayRef<int64_t>) {
      return random.pick(-127, 127);
    });
  double factor = random.of({1.0, 1.0, 1.0, 1.0, 0.125, 0.0009765625, 16.0});
  if (random.chance(4))
    factor = argument.type == ElementType::f16 ? 4096.0 : 1048576.0;
  if (random.chance(2))
    factor = std::ldexp(1.0, argument.type == ElementType::f16 ? -20 : -100);
  int style = random.pick(0, 9);
  tensor.fill(tensor.view, [&](llvm::ArrayRef<int64_t>) {
    double value = random.pick(-48, 48) / 32.0;
    if (style == 0)
      value = 1.0;
    if (style == 1)
      value = random.chance(90) ? 0.0 : value;
    if (style == 2)
      value = std::abs(value);
    value *= factor;
    largest = std::max(largest, std::abs(value));
    return value;
  });
}

static double position(const Sizes &sizes, Random &random) {
  if (random.chance(3))
    return random.of({-2147483648.0, 2147483647.0, -100000.0, 100000.0});
  return random.chance(50) ? random.pick(-3, std::max<int64_t>(sizes.k, 1) + 3)
                           : random.pick(-sizes.q - 2, sizes.k + 2);
}

/// An argument with rows of heads as [B, H, S, D], or pages as [P, H, T, D].
static TensorView viewHeads(const Argument &argument, const TensorView &view) {
  TensorView heads = view;
  switch (argument.layout) {
  case Layout::Split: {
    int64_t dim = view.shape[2] / argument.heads;
    heads.shape = {view.shape[0], argument.heads, view.shape[1], dim};
    heads.strides = {view.strides[0], dim * view.strides[2], view.strides[1],
                     view.strides[2]};
    break;
  }
  case Layout::Transposed:
    std::swap(heads.shape[1], heads.shape[2]);
    std::swap(heads.strides[1], heads.strides[2]);
    break;
  case Layout::Sliced:
    heads.shape[3] = argument.columns;
    heads.data = static_cast<char *>(view.data) +
                 argument.firstColumn * view.strides[3] *
                     static_cast<int64_t>(elementSize(view.type));
    break;
  case Layout::Projected: // all heads come from one row
    heads.shape.insert(heads.shape.begin() + 1, 1);
    heads.strides.insert(heads.strides.begin() + 1, 0);
    break;
  default:
    if (argument.role == Role::Scale) {
      heads.shape.push_back(1);
      heads.strides.push_back(1);
    }
  }
  return heads;
}

Inputs attn::fuzz::makeInputs(const Graph &graph, Random &random) {
  Inputs inputs;
  Sizes &sizes = inputs.sizes;
  sizes = chooseSizes(graph, random);
  for (const Argument &argument : graph.arguments) {
    if (argument.role == Role::Position)
      inputs.scalars.push_back(position(sizes, random));
    else if (argument.role == Role::CachePosition)
      inputs.scalars.push_back(random.pick(
          0, graph.isRolling ? 3 * sizes.k + 5 : sizes.k - sizes.n));
    else
      inputs.scalars.push_back(random.pick(-16, 16) / 8.0);
    std::unique_ptr<Tensor> &tensor = inputs.tensors.emplace_back();
    if (argument.isScalar)
      continue;
    Shape shape;
    for (const Extent &extent : argument.shape)
      shape.push_back(extent.isDynamic && !extent.size
                          ? random.pick(random.chance(5) ? 0 : 1, 12)
                          : extent.in(sizes));
    tensor = std::make_unique<Tensor>(
        argument.type, shape, chooseStrides(shape, random), random.chance(50));
    tensor->heads = viewHeads(argument, tensor->view);
    int percent = random.of({0, 10, 50, 90, 100});
    double factor = random.of({1.0, 1.0, 0.125, 8.0});
    auto fill = [&](auto value) {
      tensor->fill(tensor->view, [&](llvm::ArrayRef<int64_t> at) -> double {
        return value(at);
      });
    };
    switch (argument.role) {
    case Role::Query:
      fillRows(argument, *tensor, random, inputs.maxQuery);
      break;
    case Role::Key:
      fillRows(argument, *tensor, random, inputs.maxKey);
      break;
    case Role::Value:
      fillRows(argument, *tensor, random, inputs.maxValue);
      break;
    case Role::Bias: {
      bool hides = random.chance(40);
      fill([&](auto) {
        return hides && random.chance(percent)
                   ? -INFINITY
                   : random.pick(-48, 48) / 32.0 * factor;
      });
      break;
    }
    case Role::Bits:
      fill([&](auto) { return random.chance(percent); });
      break;
    case Role::Position:
      fill([&](auto) { return position(sizes, random); });
      break;
    case Role::Segments: { // documents one after the other, or anything
      bool isSorted = random.chance(75);
      int64_t length = random.pick(1, 70);
      fill([&](llvm::ArrayRef<int64_t> at) {
        return isSorted ? at[1] / length : random.pick(-1, 2);
      });
      break;
    }
    case Role::Sink:
      fill([&](auto) {
        return random.chance(8) ? -INFINITY
                                : random.pick(-48, 48) / 32.0 * factor;
      });
      break;
    case Role::Scale: { // of keys or of values: integers times it are small
      fill([&](auto) { return random.pick(-48, 48) / 32.0 / 127; });
      inputs.maxKey = std::max(inputs.maxKey, 1.5);
      inputs.maxValue = std::max(inputs.maxValue, 1.5);
      break;
    }
    case Role::Weights:
      fill([&](auto) {
        return random.pick(-8, 8) / 8.0 / static_cast<double>(shape[0]);
      });
      break;
    case Role::Table:
      fill([&](auto) {
        return random.chance(5) ? random.of({-7.0, 100000.0, 2147483647.0})
                                : random.pick(0, sizes.p - 1);
      });
      break;
    case Role::Bounds: { // of keys or of queries, up to about their number
      std::vector<double> bounds;
      for (int64_t n = 0; n < shape[0]; ++n)
        bounds.push_back(random.pick(
            0, random.chance(50) ? std::max(sizes.q, sizes.k) : sizes.q));
      llvm::sort(bounds);
      if (random.chance(70))
        bounds[0] = 0;
      fill([&](llvm::ArrayRef<int64_t> at) { return bounds[at[0]]; });
      break;
    }
    case Role::Seed: // numbers
    case Role::CachePosition:
      break;
    case Role::Reals:
      fill([&](auto) { return random.pick(-32, 32) / 8.0; });
      break;
    case Role::Integers:
      fill([&](auto) {
        return random.chance(2) ? random.of({-2147483648.0, 2147483647.0})
                                : random.pick(-9, 40);
      });
      break;
    case Role::Quantizable: { // with a scale that is a power of two
      double unit = 0.0;
      fill([&](llvm::ArrayRef<int64_t> at) {
        if (at.back() == 0)
          unit = random.chance(5) ? 0.0 : std::ldexp(1.0, random.pick(-9, -6));
        return unit * (at.back() == 0 ? random.of({-127, 127})
                                      : random.pick(-127, 127));
      });
      inputs.maxKey = std::max(inputs.maxKey, 2.0);
      inputs.maxValue = std::max(inputs.maxValue, 2.0);
      break;
    }
    case Role::Feature: {
      double length = std::sqrt(static_cast<double>(
          argument.layout == Layout::Split ? shape.back() / argument.heads
                                           : shape.back()));
      fill([&](auto) { return random.pick(-32, 32) / 32.0 / length; });
      break;
    }
    case Role::Decay: { // some forget everything
      int forgotten = random.of({0, 0, 3, 100});
      fill([&](auto) {
        if (random.chance(forgotten))
          return random.of({-100.0, -static_cast<double>(INFINITY)});
        return random.pick(-48, random.chance(3) ? 2 : 0) / 32.0;
      });
      break;
    }
    case Role::Beta:
      fill([&](auto) { return random.pick(0, 32) / 32.0; });
      break;
    }
  }
  return inputs;
}

//===----------------------------------------------------------------------===//
// Poison
//===----------------------------------------------------------------------===//

static double poison(ElementType type, Random &random) {
  double huge = type == ElementType::f16 ? 65504.0 : 1e38;
  return random.of({static_cast<double>(NAN), static_cast<double>(INFINITY),
                    -static_cast<double>(INFINITY), huge, -huge});
}

namespace {

/// Which rows a visible pair has: of queries [B, Hq, Sq], and of keys
/// [B, Hkv, Skv].
struct SeenRows {
  std::vector<bool> queries, keys;
};

} // namespace

static SeenRows findSeen(const Sizes &s, llvm::ArrayRef<double> weights) {
  SeenRows seen;
  seen.queries.resize(s.b * s.h * s.q);
  seen.keys.resize(s.b * s.g * s.k);
  int64_t group = s.h / s.g;
  const double *weight = weights.data();
  for (int64_t b = 0; b < s.b; ++b)
    for (int64_t h = 0; h < s.h; ++h)
      for (int64_t i = 0; i < s.q; ++i)
        for (int64_t j = 0; j < s.k; ++j)
          if (*weight++ != 0.0) {
            seen.queries[(b * s.h + h) * s.q + i] = true;
            seen.keys[(b * s.g + h / group) * s.k + j] = true;
          }
  return seen;
}

/// The keys of `seen` in the order of the pool, [P, Hkv, T].
static std::vector<bool> findSeenPages(const Graph &graph, const Inputs &inputs,
                                       const std::vector<bool> &seen) {
  const Sizes &s = inputs.sizes;
  int64_t rows = graph.pageRows;
  std::vector<bool> pages(s.p * s.g * rows);
  auto argument = llvm::find_if(graph.arguments, [](const Argument &argument) {
    return argument.role == Role::Table;
  });
  const Tensor &table = *inputs.tensors[argument - graph.arguments.begin()];
  for (int64_t b = 0; b < s.b; ++b)
    for (int64_t m = 0; m < s.m; ++m) {
      auto page = static_cast<int64_t>(
          std::clamp(table.get(table.view, {b, m}), 0.0, s.p - 1.0));
      for (int64_t g = 0; g < s.g; ++g)
        for (int64_t t = 0; t < rows; ++t)
          if (seen[(b * s.g + g) * s.k + m * rows + t])
            pages[(page * s.g + g) * rows + t] = true;
    }
  return pages;
}

void attn::fuzz::poisonHidden(const Graph &graph, Inputs &inputs,
                              llvm::ArrayRef<double> weights, Random &random) {
  const Sizes &s = inputs.sizes;
  if (s.b == 0 || s.h == 0)
    return;
  SeenRows seen = findSeen(s, weights);
  std::vector<bool> pages;
  if (graph.pageRows)
    pages = findSeenPages(graph, inputs, seen.keys);
  // Elements of stride 0 are shared: nothing but a row that nobody sees through
  // any of its names is overwritten.
  for (size_t n = 0; n < graph.arguments.size(); ++n) {
    const Argument &argument = graph.arguments[n];
    bool isQuery = argument.role == Role::Query;
    if ((!isQuery && argument.role != Role::Key &&
         argument.role != Role::Value && argument.role != Role::Scale) ||
        argument.layout == Layout::Other)
      continue;
    Tensor &tensor = *inputs.tensors[n];
    const TensorView &view = tensor.heads;
    bool isShared = false;
    for (auto [extent, stride] : llvm::zip_equal(view.shape, view.strides))
      isShared |= extent > 1 && stride == 0;
    if (isShared)
      continue;
    const std::vector<bool> &rows = argument.layout == Layout::Pages
                                        ? pages
                                        : (isQuery ? seen.queries : seen.keys);
    // Heads that come from the same row.
    int64_t heads = isQuery ? s.h : s.g;
    int64_t shared = argument.layout == Layout::Projected ? heads : 1;
    for (int64_t b = 0; b < view.shape[0]; ++b)
      for (int64_t h = 0; h < view.shape[1]; ++h)
        for (int64_t row = 0; row < view.shape[2]; ++row) {
          bool isSeen = false;
          for (int64_t of = 0; of < shared; ++of)
            isSeen |= rows[(b * heads + h + of) * view.shape[2] + row];
          if (isSeen || random.chance(10))
            continue;
          double value = poison(argument.type, random);
          for (int64_t d = 0; d < view.shape[3]; ++d)
            tensor.set(view, {b, h, row, d}, value);
        }
  }
}

void attn::fuzz::poisonVisible(const Graph &graph, Inputs &inputs,
                               Random &random) {
  std::vector<size_t> candidates;
  for (auto [n, argument] : llvm::enumerate(graph.arguments))
    if (isFloat(argument.type) &&
        (argument.role == Role::Query || argument.role == Role::Key ||
         argument.role == Role::Value))
      candidates.push_back(n);
  Tensor &tensor =
      *inputs.tensors[candidates[random.pick(0, candidates.size() - 1)]];
  if (tensor.view.numElements() == 0)
    return;
  Shape indices;
  for (int64_t extent : tensor.view.shape)
    indices.push_back(random.pick(0, extent - 1));
  tensor.set(tensor.view, indices, NAN);
}
