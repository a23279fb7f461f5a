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

void Tensor::set(const TensorView &of, llvm::ArrayRef<int64_t> indices,
                 double value) {
  int64_t at = 0;
  for (auto [index, stride] : llvm::zip_equal(indices, of.strides))
    at += index * stride;
  encodeElements(of.type, &value,
                 static_cast<char *>(of.data) + at * elementSize(of.type), 1);
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
    double work = static_cast<double>(sizes.b) * sizes.h * sizes.q * sizes.k *
                  (graph.headDim + graph.valueDim + 40);
    if (work <= 4e6 || (graph.isFixed[3] && graph.isFixed[4]))
      return sizes;
  }
}

/// The values of queries, keys or values: spread, equal, sparse, huge, tiny.
static void fillRows(const Argument &argument, Tensor &tensor, Random &random,
                     double &largest) {
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

Inputs attn::fuzz::makeInputs(const Graph &graph, Random &random) {
  Inputs inputs;
  Sizes &sizes = inputs.sizes;
  sizes = chooseSizes(graph, random);
  for (const Argument &argument : graph.arguments) {
    inputs.scalars.push_back(argument.role == Role::Position
                                 ? position(sizes, random)
                                 : random.pick(-16, 16) / 8.0);
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
    if (argument.splitHeads) {
      int64_t dim = shape[2] / argument.splitHeads;
      llvm::ArrayRef<int64_t> s = tensor->view.strides;
      tensor->heads.shape = {shape[0], argument.splitHeads, shape[1], dim};
      tensor->heads.strides = {s[0], dim * s[2], s[1], s[2]};
    }
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
    case Role::Seed: // a number
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

void attn::fuzz::poisonHidden(const Graph &graph, Inputs &inputs,
                              llvm::ArrayRef<double> weights, Random &random) {
  const Sizes &s = inputs.sizes;
  if (s.b == 0 || s.h == 0)
    return;
  int64_t group = s.h / s.g;
  auto isVisible = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    return weights[((b * s.h + h) * s.q + i) * s.k + j] != 0.0;
  };
  // Elements of stride 0 are shared: nothing but a row that nobody sees through
  // any of its names is overwritten.
  for (size_t n = 0; n < graph.arguments.size(); ++n) {
    const Argument &argument = graph.arguments[n];
    bool isQuery = argument.role == Role::Query;
    if (!isQuery && argument.role != Role::Key && argument.role != Role::Value)
      continue;
    Tensor &tensor = *inputs.tensors[n];
    const TensorView &view = tensor.heads;
    bool isShared = false;
    for (auto [extent, stride] : llvm::zip_equal(view.shape, view.strides))
      isShared |= extent > 1 && stride == 0;
    if (isShared)
      continue;
    for (int64_t b = 0; b < view.shape[0]; ++b)
      for (int64_t h = 0; h < view.shape[1]; ++h)
        for (int64_t row = 0; row < view.shape[2]; ++row) {
          bool seen = false;
          if (isQuery)
            for (int64_t j = 0; j < s.k && !seen; ++j)
              seen = isVisible(b, h, row, j);
          else
            for (int64_t n = 0; n < group * s.q && !seen; ++n)
              seen = isVisible(b, h * group + n / s.q, n % s.q, row);
          if (seen || random.chance(10))
            continue;
          double value = poison(argument.type, random);
          for (int64_t d = 0; d < view.shape[3]; ++d)
            tensor.set(view, {b, h, row, d}, value);
        }
  }
}

void attn::fuzz::poisonVisible(const Graph &graph, Inputs &inputs,
                               Random &random) {
  size_t n = random.pick(0, 2);
  Tensor &tensor = *inputs.tensors[n];
  if (tensor.view.numElements() == 0)
    return;
  Shape indices;
  for (int64_t extent : tensor.view.shape)
    indices.push_back(random.pick(0, extent - 1));
  tensor.set(tensor.view, indices, NAN);
}
