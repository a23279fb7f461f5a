//===- WeightStats.cpp - Statistics of weights, in f64 --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Detail.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace attn;
using namespace attn::reference;

llvm::Expected<WeightStats> reference::weightStats(const Tensor64 &weights,
                                                   int64_t places) {
  if (llvm::Error error = checkRank("weights", weights, 4))
    return error;
  if (places < 0)
    return makeError("expected a number of places of at least 0, got {0}",
                     places);
  const int64_t batch = weights.shape[0], heads = weights.shape[1];
  const int64_t rows = weights.shape[2], keys = weights.shape[3];
  WeightStats stats{
      Tensor64({batch, heads, keys}), Tensor64({batch, heads, rows}),
      Tensor64({batch, heads, rows}), Tensor64({batch, heads, rows, places}),
      Tensor64({batch, heads, rows, places}, -1.0)};
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < rows; ++i) {
        std::vector<int64_t> order;
        for (int64_t j = 0; j < keys; ++j) {
          const double w = weights.at({b, h, i, j});
          stats.columnSums.at({b, h, j}) += w;
          if (w == 0.0)
            continue;
          stats.entropy.at({b, h, i}) -= w * std::log(w);
          if (std::isnan(w) || w > 0.0)
            order.push_back(j);
        }
        // NaN first, then by falling weight, then by key.
        std::sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
          auto rank = [&](int64_t j) {
            const double w = weights.at({b, h, i, j});
            return std::make_tuple(!std::isnan(w), std::isnan(w) ? 0.0 : -w, j);
          };
          return rank(x) < rank(y);
        });
        if (!order.empty())
          stats.rowMax.at({b, h, i}) = weights.at({b, h, i, order.front()});
        for (int64_t k = 0;
             k < std::min<int64_t>(places, static_cast<int64_t>(order.size()));
             ++k) {
          stats.topWeights.at({b, h, i, k}) = weights.at({b, h, i, order[k]});
          stats.topKeys.at({b, h, i, k}) = static_cast<double>(order[k]);
        }
      }
  return stats;
}
