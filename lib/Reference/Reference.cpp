//===- Reference.cpp - Tensors, heads, scores and positions in f64 --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Reference/Reference.h"

#include "Detail.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <cmath>

using namespace attn;
using namespace attn::reference;

//===----------------------------------------------------------------------===//
// Tensor64
//===----------------------------------------------------------------------===//

static int64_t productOf(llvm::ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

Tensor64::Tensor64(llvm::ArrayRef<int64_t> shape, double value)
    : shape(shape), data(productOf(shape), value) {}

Tensor64::Tensor64(llvm::ArrayRef<int64_t> shape, std::vector<double> values)
    : shape(shape), data(std::move(values)) {
  assert(productOf(shape) == numElements() && "as many values as elements");
}

Tensor64 Tensor64::from(const HostTensor &tensor) {
  return Tensor64(tensor.shape(), tensor.toDoubles());
}

int64_t Tensor64::offset(llvm::ArrayRef<int64_t> indices) const {
  assert(indices.size() == shape.size() && "one index per dimension");
  int64_t result = 0;
  for (auto [index, size] : llvm::zip_equal(indices, shape)) {
    assert(index >= 0 && index < size && "index out of range");
    result = result * size + index;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

llvm::Expected<Tensor64> reference::splitHeads(const Tensor64 &x,
                                               int64_t numHeads) {
  if (llvm::Error error = checkRank("split_heads input", x, 3))
    return error;
  if (numHeads <= 0 || x.shape[2] == 0 || x.shape[2] % numHeads != 0)
    return makeError("split_heads input: last size {0} is not a positive "
                     "multiple of {1} heads",
                     x.shape[2], numHeads);
  const int64_t dim = x.shape[2] / numHeads;
  Tensor64 y({x.shape[0], numHeads, x.shape[1], dim});
  for (int64_t b = 0; b < x.shape[0]; ++b)
    for (int64_t h = 0; h < numHeads; ++h)
      for (int64_t s = 0; s < x.shape[1]; ++s)
        for (int64_t d = 0; d < dim; ++d)
          y.at({b, h, s, d}) = x.at({b, s, h * dim + d});
  return y;
}

llvm::Expected<Tensor64> reference::mergeHeads(const Tensor64 &x) {
  if (llvm::Error error = checkRank("merge_heads input", x, 4))
    return error;
  const int64_t dim = x.shape[3];
  Tensor64 y({x.shape[0], x.shape[2], x.shape[1] * dim});
  for (int64_t b = 0; b < x.shape[0]; ++b)
    for (int64_t h = 0; h < x.shape[1]; ++h)
      for (int64_t s = 0; s < x.shape[2]; ++s)
        for (int64_t d = 0; d < dim; ++d)
          y.at({b, s, h * dim + d}) = x.at({b, h, s, d});
  return y;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

llvm::Error reference::checkQueryKey(const Tensor64 &q, const Tensor64 &k) {
  if (llvm::Error error = checkRank("query", q, 4))
    return error;
  if (llvm::Error error = checkRank("key", k, 4))
    return error;
  if (llvm::Error error = checkSize("key batch", q.shape[0], k.shape[0]))
    return error;
  if (k.shape[1] <= 0)
    return makeError("key head count must be positive, got {0}", k.shape[1]);
  if (q.shape[1] % k.shape[1] != 0)
    return makeError("query heads {0} not divisible by key heads {1}",
                     q.shape[1], k.shape[1]);
  if (q.shape[3] <= 0)
    return makeError("query head dim must be positive, got {0}", q.shape[3]);
  return checkSize("key head dim", q.shape[3], k.shape[3]);
}

llvm::Expected<Tensor64> reference::qk(const Tensor64 &q, const Tensor64 &k) {
  if (llvm::Error error = checkQueryKey(q, k))
    return error;
  const int64_t heads = q.shape[1], rows = q.shape[2], keys = k.shape[2];
  const int64_t group = std::max<int64_t>(heads / k.shape[1], 1);
  Tensor64 scores({q.shape[0], heads, rows, keys});
  for (int64_t b = 0; b < q.shape[0]; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < keys; ++j) {
          double sum = 0.0;
          for (int64_t d = 0; d < q.shape[3]; ++d)
            sum += q.at({b, h, i, d}) * k.at({b, h / group, j, d});
          scores.at({b, h, i, j}) = sum;
        }
  return scores;
}

Tensor64 reference::scale(const Tensor64 &x, double factor) {
  Tensor64 y = x;
  for (double &value : y.data)
    value *= factor;
  return y;
}

llvm::Expected<Tensor64> reference::softcap(const Tensor64 &x, double cap) {
  if (cap == 0.0 || std::isnan(cap))
    return makeError("softcap: the cap must be a number other than 0, got {0}",
                     cap);
  Tensor64 y = x;
  for (double &value : y.data)
    value = cap * std::tanh(value / cap);
  return y;
}

double reference::addBias(double score, double bias) {
  return bias == -std::numeric_limits<double>::infinity() ? bias : score + bias;
}

/// Offset of an index tuple in a tensor that broadcasts right-aligned.
static int64_t broadcastOffset(const Tensor64 &x,
                               llvm::ArrayRef<int64_t> indices) {
  int64_t offset = 0;
  for (auto [index, size] :
       llvm::zip_equal(indices.take_back(x.rank()), x.shape))
    offset = offset * size + (size == 1 ? 0 : index);
  return offset;
}

static llvm::Error checkBroadcast(llvm::StringRef operand, const Tensor64 &x,
                                  llvm::ArrayRef<int64_t> full) {
  const bool fits =
      x.shape.size() <= full.size() &&
      llvm::all_of(llvm::zip_equal(x.shape, full.take_back(std::min(
                                                x.shape.size(), full.size()))),
                   [](auto pair) {
                     auto [size, wanted] = pair;
                     return size == 1 || size == wanted;
                   });
  if (!fits)
    return makeError("{0}: shape {1} does not broadcast to {2}", operand,
                     formatShape(x.shape), formatShape(full));
  return llvm::Error::success();
}

llvm::Expected<Tensor64> reference::bias(const Tensor64 &scores,
                                         const Tensor64 &bias) {
  if (llvm::Error error = checkRank("scores", scores, 4))
    return error;
  if (llvm::Error error = checkBroadcast("bias", bias, scores.shape))
    return error;
  Tensor64 y = scores;
  int64_t n = 0;
  for (int64_t b = 0; b < y.shape[0]; ++b)
    for (int64_t h = 0; h < y.shape[1]; ++h)
      for (int64_t i = 0; i < y.shape[2]; ++i)
        for (int64_t j = 0; j < y.shape[3]; ++j, ++n)
          y.data[n] = addBias(y.data[n],
                              bias.data[broadcastOffset(bias, {b, h, i, j})]);
  return y;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Visibility reference::causal(int64_t offset) {
  return
      [=](int64_t, int64_t, int64_t i, int64_t j) { return j <= i + offset; };
}

Visibility reference::causalTopLeft() { return causal(0); }

Visibility reference::causalBottomRight(int64_t sq, int64_t skv) {
  return causal(skv - sq);
}

Visibility reference::window(int64_t left, int64_t right, int64_t offset) {
  return [=](int64_t, int64_t, int64_t i, int64_t j) {
    // A distance, so that a huge bound does not overflow when added.
    const int64_t distance = j - (i + offset);
    return (left == -1 || distance >= -left) &&
           (right == -1 || distance <= right);
  };
}

Visibility reference::lengths(std::vector<int64_t> kvLengths,
                              std::vector<int64_t> qLengths) {
  return [kvLengths = std::move(kvLengths), qLengths = std::move(qLengths)](
             int64_t b, int64_t, int64_t i, int64_t j) {
    return b < static_cast<int64_t>(kvLengths.size()) && j < kvLengths[b] &&
           (qLengths.empty() ||
            (b < static_cast<int64_t>(qLengths.size()) && i < qLengths[b]));
  };
}

Visibility reference::prefix(std::vector<int64_t> prefixes, int64_t offset) {
  return [=](int64_t b, int64_t, int64_t i, int64_t j) {
    return j < prefixes[b] || j <= i + offset;
  };
}

Visibility reference::segments(Tensor64 querySegments, Tensor64 keySegments) {
  return [=](int64_t b, int64_t, int64_t i, int64_t j) {
    return querySegments.data[b * querySegments.shape[1] + i] ==
           keySegments.data[b * keySegments.shape[1] + j];
  };
}

llvm::Expected<Visibility> reference::maskTensor(Tensor64 mask,
                                                 llvm::ArrayRef<int64_t> full) {
  if (llvm::Error error = checkBroadcast("mask", mask, full))
    return error;
  return [mask = std::move(mask)](int64_t b, int64_t h, int64_t i, int64_t j) {
    return mask.data[broadcastOffset(mask, {b, h, i, j})] != 0.0;
  };
}

llvm::Expected<Visibility>
reference::hiddenByBias(Tensor64 bias, llvm::ArrayRef<int64_t> full) {
  if (llvm::Error error = checkBroadcast("bias", bias, full))
    return error;
  return [bias = std::move(bias)](int64_t b, int64_t h, int64_t i, int64_t j) {
    return bias.data[broadcastOffset(bias, {b, h, i, j})] !=
           -std::numeric_limits<double>::infinity();
  };
}

Visibility reference::allOf(std::vector<Visibility> masks) {
  return
      [masks = std::move(masks)](int64_t b, int64_t h, int64_t i, int64_t j) {
        return llvm::all_of(masks, [&](const Visibility &mask) {
          return isVisible(mask, b, h, i, j);
        });
      };
}

//===----------------------------------------------------------------------===//
// Linear algebra
//===----------------------------------------------------------------------===//

llvm::Expected<Tensor64> reference::matmul(const Tensor64 &a,
                                           const Tensor64 &b) {
  if (a.rank() < 2)
    return makeError("matmul left operand: expected rank 2 or more, got {0}",
                     a.rank());
  const llvm::ArrayRef<int64_t> leading = llvm::ArrayRef(a.shape).drop_back(2);
  const bool batched = b.rank() != 2;
  if (batched &&
      (b.rank() != a.rank() || llvm::ArrayRef(b.shape).drop_back(2) != leading))
    return makeError("matmul right operand: shape {0} does not go with {1}",
                     formatShape(b.shape), formatShape(a.shape));
  const int64_t m = a.shape[a.rank() - 2], k = a.shape[a.rank() - 1];
  const int64_t n = b.shape[b.rank() - 1];
  if (llvm::Error error =
          checkSize("matmul right operand, rows", k, b.shape[b.rank() - 2]))
    return error;
  llvm::SmallVector<int64_t> shape(leading);
  shape.append({m, n});
  Tensor64 c(shape);
  for (int64_t batch = 0, end = productOf(leading); batch < end; ++batch) {
    const double *left = a.data.data() + batch * m * k;
    const double *right = b.data.data() + (batched ? batch * k * n : 0);
    for (int64_t row = 0; row < m; ++row)
      for (int64_t column = 0; column < n; ++column) {
        double sum = 0.0;
        for (int64_t inner = 0; inner < k; ++inner)
          sum += left[row * k + inner] * right[inner * n + column];
        c.data[(batch * m + row) * n + column] = sum;
      }
  }
  return c;
}
