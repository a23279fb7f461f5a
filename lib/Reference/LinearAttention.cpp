//===- LinearAttention.cpp - Linear attention in f64 ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Detail.h"

#include <cmath>

using namespace attn;
using namespace attn::reference;
using llvm::Expected;

namespace {

llvm::Error checkShape(llvm::StringRef operand, const Tensor64 &x,
                       llvm::ArrayRef<int64_t> expected) {
  if (llvm::Error error = checkRank(operand, x, expected.size()))
    return error;
  for (auto [d, extent] : llvm::enumerate(expected))
    if (x.shape[d] != extent)
      return makeError("extent {0} of {1}: expected {2}, got {3}", d, operand,
                       extent, x.shape[d]);
  return llvm::Error::success();
}

llvm::Error checkOptions(const LinearAttentionOptions &options, int64_t batch,
                         int64_t heads, int64_t tokens, int64_t dk,
                         int64_t dv) {
  if (options.decay) {
    llvm::SmallVector<int64_t> shape{batch, heads, tokens};
    if (options.decay->rank() == 4)
      shape.push_back(dk);
    if (llvm::Error error = checkShape("decay", *options.decay, shape))
      return error;
  }
  if (options.beta)
    if (llvm::Error error =
            checkShape("beta", *options.beta, {batch, heads, tokens}))
      return error;
  if (options.initial)
    return checkShape("initial", *options.initial, {batch, heads, dk, dv});
  return llvm::Error::success();
}

} // namespace

Expected<LinearAttentionResult>
reference::linearAttention(const Tensor64 &q, const Tensor64 &k,
                           const Tensor64 &v,
                           const LinearAttentionOptions &options) {
  if (llvm::Error error = checkQueryKey(q, k))
    return error;
  if (llvm::Error error = checkRank("value", v, 4))
    return error;
  int64_t batch = k.shape[0], heads = k.shape[1], tokens = k.shape[2];
  int64_t dk = k.shape[3], dv = v.shape[3];
  if (llvm::Error error = checkSize("tokens of query", tokens, q.shape[2]))
    return error;
  if (llvm::Error error = checkShape("value", v, {batch, heads, tokens, dv}))
    return error;
  if (llvm::Error error = checkOptions(options, batch, heads, tokens, dk, dv))
    return error;
  int64_t group = q.shape[1] / heads;
  double scale = options.scale.value_or(1 / std::sqrt(double(dk)));

  LinearAttentionResult result{Tensor64({batch, q.shape[1], tokens, dv}),
                               Tensor64({batch, heads, dk, dv})};
  if (options.initial)
    result.state = *options.initial;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t t = 0; t < tokens; ++t) {
        auto state = [&](int64_t i, int64_t j) -> double & {
          return result.state.at({b, h, i, j});
        };
        for (int64_t i = 0; i < dk && options.decay; ++i) {
          double gate = std::exp(options.decay->rank() == 4
                                     ? options.decay->at({b, h, t, i})
                                     : options.decay->at({b, h, t}));
          for (int64_t j = 0; j < dv; ++j)
            state(i, j) *= gate;
        }
        for (int64_t j = 0; j < dv; ++j) {
          double update = v.at({b, h, t, j});
          if (options.beta) {
            for (int64_t i = 0; i < dk; ++i)
              update -= state(i, j) * k.at({b, h, t, i});
            update *= options.beta->at({b, h, t});
          }
          for (int64_t i = 0; i < dk; ++i)
            state(i, j) += k.at({b, h, t, i}) * update;
          for (int64_t g = 0; g < group; ++g) {
            double sum = 0;
            for (int64_t i = 0; i < dk; ++i)
              sum += q.at({b, h * group + g, t, i}) * state(i, j);
            result.o.at({b, h * group + g, t, j}) = scale * sum;
          }
        }
      }
  return result;
}
