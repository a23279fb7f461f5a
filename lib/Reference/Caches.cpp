//===- Caches.cpp - Caches of keys and values in f64 ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Detail.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::reference;
using llvm::Expected;

Expected<Tensor64> reference::cacheUpdate(const Tensor64 &cache,
                                          const Tensor64 &update,
                                          llvm::ArrayRef<int64_t> at,
                                          bool rolling) {
  if (llvm::Error error = checkRank("update", update, cache.rank()))
    return error;
  if (cache.rank() < 3)
    return makeError("cache: expected rank 3 or more, got {0}", cache.rank());
  for (int64_t d = 0; d < cache.rank(); ++d)
    if (d != 2)
      if (llvm::Error error =
              checkSize("extent of update", cache.shape[d], update.shape[d]))
        return error;
  int64_t batch = cache.shape[0], heads = cache.shape[1], rows = cache.shape[2];
  int64_t count = update.shape[2], width = 1;
  for (int64_t extent : llvm::ArrayRef(cache.shape).drop_front(3))
    width *= extent;
  if (count > rows)
    return makeError("update: expected at most {0} rows, got {1}", rows, count);
  if (llvm::Error error =
          checkSize("positions", batch, static_cast<int64_t>(at.size())))
    return error;
  Tensor64 result = cache;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t s = 0; s < count; ++s) {
        // Positions near the ends of the type must not overflow.
        if (at[b] < -s || (!rolling && at[b] >= rows - s))
          continue;
        int64_t row = (at[b] % rows + s) % rows;
        for (int64_t d = 0; d < width; ++d)
          result.data[((b * heads + h) * rows + row) * width + d] =
              update.data[((b * heads + h) * count + s) * width + d];
      }
  return result;
}

Expected<Tensor64> reference::gatherPages(const Tensor64 &pages,
                                          const Tensor64 &table) {
  if (llvm::Error error = checkRank("pages", pages, 4))
    return error;
  if (llvm::Error error = checkRank("table", table, 2))
    return error;
  int64_t count = pages.shape[0], heads = pages.shape[1];
  int64_t pageRows = pages.shape[2], headDim = pages.shape[3];
  if (count < 1)
    return makeError("pages: expected at least 1, got {0}", count);
  int64_t batch = table.shape[0], rows = table.shape[1] * pageRows;
  Tensor64 result({batch, heads, rows, headDim});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t j = 0; j < rows; ++j) {
        auto page = std::clamp<int64_t>(
            static_cast<int64_t>(table.at({b, j / pageRows})), 0, count - 1);
        for (int64_t d = 0; d < headDim; ++d)
          result.at({b, h, j, d}) = pages.at({page, h, j % pageRows, d});
      }
  return result;
}

Expected<Quantized> reference::quantize(const Tensor64 &x) {
  if (llvm::Error error = checkRank("input", x, 4))
    return error;
  int64_t headDim = x.shape[3];
  if (headDim < 1)
    return makeError("head dim: expected at least 1, got {0}", headDim);
  Quantized result{Tensor64(x.shape),
                   Tensor64(llvm::ArrayRef(x.shape).drop_back())};
  for (int64_t row = 0; row < result.scale.numElements(); ++row) {
    double largest = 0;
    for (int64_t d = 0; d < headDim; ++d)
      if (double magnitude = std::abs(x.data[row * headDim + d]);
          !(magnitude <= largest))
        largest = magnitude;
    double scale = result.scale.data[row] = largest / 127;
    for (int64_t d = 0; d < headDim && scale != 0; ++d)
      result.values.data[row * headDim + d] =
          std::nearbyint(x.data[row * headDim + d] / scale);
  }
  return result;
}

Expected<Tensor64> reference::dequantize(const Tensor64 &x,
                                         const Tensor64 &scale) {
  if (llvm::Error error = checkRank("input", x, 4))
    return error;
  if (llvm::Error error = checkRank("scale", scale, 3))
    return error;
  for (int64_t d = 0; d < 3; ++d)
    if (llvm::Error error =
            checkSize("extent of scale", x.shape[d], scale.shape[d]))
      return error;
  Tensor64 result = x;
  for (int64_t n = 0; n < result.numElements(); ++n)
    result.data[n] *= scale.data[n / x.shape[3]];
  return result;
}
