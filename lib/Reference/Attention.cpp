//===- Attention.cpp - Softmax, weighted sums and attention in f64 --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Detail.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace attn::reference;

static constexpr double minusInfinity =
    -std::numeric_limits<double>::infinity();

llvm::Error reference::checkValues(int64_t batch, int64_t heads, int64_t keys,
                                   const Tensor64 &v) {
  if (llvm::Error error = checkRank("value", v, 4))
    return error;
  if (llvm::Error error = checkSize("value batch", batch, v.shape[0]))
    return error;
  if (v.shape[1] <= 0)
    return makeError("value head count must be positive, got {0}", v.shape[1]);
  if (heads % v.shape[1] != 0)
    return makeError("query heads {0} not divisible by value heads {1}", heads,
                     v.shape[1]);
  if (v.shape[3] <= 0)
    return makeError("value head dim must be positive, got {0}", v.shape[3]);
  return checkSize("value length", keys, v.shape[2]);
}

llvm::Error reference::checkSink(llvm::ArrayRef<double> sink, int64_t heads) {
  if (sink.empty())
    return llvm::Error::success();
  return checkSize("sink size", heads, sink.size());
}

/// The larger of two; NaN when either is, so that a NaN score spoils its row.
static double maximum(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

namespace {
/// A row's scores and which of them take part.
struct Row {
  std::vector<double> scores;
  std::vector<bool> visible;

  explicit Row(int64_t keys) : scores(keys), visible(keys) {}

  /// Hides pair j, or shows it with its score; a score of -inf hides as well.
  void set(int64_t j, bool isShown, double score) {
    visible[j] = isShown && score != minusInfinity;
    scores[j] = score;
  }

  double maximumWith(double start) const {
    for (size_t j = 0; j < scores.size(); ++j)
      if (visible[j])
        start = maximum(start, scores[j]);
    return start;
  }
};
} // namespace

/// exp(score - highest), where infinities of one sign are equal.
static double expBelow(double score, double highest) {
  return score == highest ? 1.0 : std::exp(score - highest);
}

/// Turns a row's scores into weights (0 where hidden) and returns the natural
/// log-sum-exp. `sink` is -inf when there is none: it then adds nothing.
static double softmaxRow(Row &row, double sink) {
  const double highest = row.maximumWith(sink);
  const bool isEmpty = highest == minusInfinity;
  double sum = isEmpty ? 0.0 : expBelow(sink, highest);
  for (size_t j = 0; j < row.scores.size(); ++j) {
    row.scores[j] = row.visible[j] ? std::exp(row.scores[j] - highest) : 0.0;
    sum += row.scores[j];
  }
  if (isEmpty)
    return minusInfinity;
  for (size_t j = 0; j < row.scores.size(); ++j)
    if (row.visible[j])
      row.scores[j] /= sum;
  return highest + std::log(sum);
}

static double sigmoid(double score) { return 1.0 / (1.0 + std::exp(-score)); }

/// Turns a row's scores into weights as the options say; returns the
/// log-sum-exp.
static double weighRow(Row &row, const AttentionOptions &options, int64_t b,
                       int64_t h, int64_t i) {
  double lse = minusInfinity;
  if (options.normalizer == Normalizer::Softmax)
    lse =
        softmaxRow(row, options.sink.empty() ? minusInfinity : options.sink[h]);
  for (size_t j = 0; j < row.scores.size(); ++j) {
    double &weight = row.scores[j];
    if (!row.visible[j]) {
      weight = 0.0;
      continue;
    }
    if (options.normalizer == Normalizer::Sigmoid)
      weight = sigmoid(weight);
    if (options.probability)
      weight = options.probability(weight, b, h, i, j);
  }
  return lse;
}

llvm::Expected<Tensor64> reference::sigmoidWeights(const Tensor64 &scores,
                                                   const Visibility &visible) {
  return mapWeights(
      scores,
      [](double score, int64_t, int64_t, int64_t, int64_t) {
        return score == minusInfinity ? 0.0 : sigmoid(score);
      },
      visible);
}

llvm::Expected<Tensor64> reference::mapWeights(const Tensor64 &weights,
                                               const ScoreFunction &program,
                                               const Visibility &visible) {
  if (llvm::Error error = checkRank("weights", weights, 4))
    return error;
  Tensor64 result(weights.shape);
  for (int64_t b = 0; b < weights.shape[0]; ++b)
    for (int64_t h = 0; h < weights.shape[1]; ++h)
      for (int64_t i = 0; i < weights.shape[2]; ++i)
        for (int64_t j = 0; j < weights.shape[3]; ++j)
          if (isVisible(visible, b, h, i, j))
            result.at({b, h, i, j}) =
                program(weights.at({b, h, i, j}), b, h, i, j);
  return result;
}

llvm::Expected<SoftmaxResult>
reference::maskedSoftmax(const Tensor64 &scores, const Visibility &visible,
                         llvm::ArrayRef<double> sink, double emptyWeight) {
  if (llvm::Error error = checkRank("scores", scores, 4))
    return error;
  const int64_t heads = scores.shape[1], rows = scores.shape[2];
  const int64_t keys = scores.shape[3];
  if (llvm::Error error = checkSink(sink, heads))
    return error;
  SoftmaxResult result{Tensor64(scores.shape),
                       Tensor64({scores.shape[0], heads, rows})};
  for (int64_t b = 0; b < scores.shape[0]; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < rows; ++i) {
        Row row(keys);
        for (int64_t j = 0; j < keys; ++j)
          row.set(j, isVisible(visible, b, h, i, j), scores.at({b, h, i, j}));
        double &lse = result.lse.at({b, h, i});
        lse = softmaxRow(row, sink.empty() ? minusInfinity : sink[h]);
        for (int64_t j = 0; j < keys; ++j)
          result.weights.at({b, h, i, j}) =
              lse == minusInfinity ? emptyWeight : row.scores[j];
      }
  return result;
}

llvm::Expected<Tensor64> reference::weightedSum(const Tensor64 &weights,
                                                const Tensor64 &v,
                                                const Visibility &visible) {
  if (llvm::Error error = checkRank("weights", weights, 4))
    return error;
  const int64_t batch = weights.shape[0], heads = weights.shape[1];
  const int64_t rows = weights.shape[2], keys = weights.shape[3];
  if (llvm::Error error = checkValues(batch, heads, keys, v))
    return error;
  const int64_t group = std::max<int64_t>(heads / v.shape[1], 1);
  Tensor64 o({batch, heads, rows, v.shape[3]});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < keys; ++j)
          if (isVisible(visible, b, h, i, j))
            for (int64_t d = 0; d < v.shape[3]; ++d)
              o.at({b, h, i, d}) +=
                  weights.at({b, h, i, j}) * v.at({b, h / group, j, d});
  return o;
}

static llvm::Error checkAdditive(const Tensor64 &w, const Tensor64 &q) {
  if (w.rank() != 1 && w.rank() != 2)
    return makeError("additive weight must have rank 1 or 2, got {0}",
                     w.rank());
  if (w.rank() == 2)
    if (llvm::Error error =
            checkSize("additive weight heads", q.shape[1], w.shape[0]))
      return error;
  return checkSize("additive weight dim", q.shape[3], w.shape.back());
}

/// The product of one query and one key, or their additive score.
static double scorePair(const Tensor64 &q, const Tensor64 &k, const Tensor64 *w,
                        int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t dim = q.shape[3];
  const int64_t kvHead = h / std::max<int64_t>(q.shape[1] / k.shape[1], 1);
  double score = 0.0;
  for (int64_t d = 0; d < dim; ++d) {
    const double x = q.at({b, h, i, d}), y = k.at({b, kvHead, j, d});
    if (w)
      score += w->data[w->rank() == 2 ? h * dim + d : d] * std::tanh(x + y);
    else
      score += x * y;
  }
  return score;
}

llvm::Expected<Tensor64> reference::additiveScores(const Tensor64 &q,
                                                   const Tensor64 &k,
                                                   const Tensor64 &w) {
  if (llvm::Error error = checkQueryKey(q, k))
    return error;
  if (llvm::Error error = checkAdditive(w, q))
    return error;
  Tensor64 scores({q.shape[0], q.shape[1], q.shape[2], k.shape[2]});
  for (int64_t b = 0; b < q.shape[0]; ++b)
    for (int64_t h = 0; h < q.shape[1]; ++h)
      for (int64_t i = 0; i < q.shape[2]; ++i)
        for (int64_t j = 0; j < k.shape[2]; ++j)
          scores.at({b, h, i, j}) = scorePair(q, k, &w, b, h, i, j);
  return scores;
}

/// Scale, score program and mask of one row of queries against all of k. Hidden
/// pairs do not reach the score program.
static Row scoreRow(const Tensor64 &q, const Tensor64 &k,
                    const AttentionOptions &options, TileOrigin origin,
                    int64_t b, int64_t h, int64_t i) {
  const int64_t keys = k.shape[2], dim = q.shape[3];
  const double factor =
      options.scale.value_or(1.0 / std::sqrt(static_cast<double>(dim)));
  Row row(keys);
  for (int64_t j = 0; j < keys; ++j) {
    const int64_t at[] = {origin.b + b, origin.h + h, origin.i + i,
                          origin.j + j};
    if (!isVisible(options.mask, at[0], at[1], at[2], at[3])) {
      row.set(j, false, minusInfinity);
      continue;
    }
    double score =
        factor * scorePair(q, k,
                           options.additive ? &*options.additive : nullptr, b,
                           h, i, j);
    if (options.score)
      score = options.score(score, at[0], at[1], at[2], at[3]);
    row.set(j, true, score);
  }
  return row;
}

llvm::Expected<AttentionResult>
reference::attention(const Tensor64 &q, const Tensor64 &k, const Tensor64 &v,
                     const AttentionOptions &options) {
  if (llvm::Error error = checkQueryKey(q, k))
    return error;
  const int64_t batch = q.shape[0], heads = q.shape[1], rows = q.shape[2];
  if (llvm::Error error = checkValues(batch, heads, k.shape[2], v))
    return error;
  if (llvm::Error error = checkSink(options.sink, heads))
    return error;
  if (options.additive)
    if (llvm::Error error = checkAdditive(*options.additive, q))
      return error;
  const int64_t group = std::max<int64_t>(heads / v.shape[1], 1);
  AttentionResult result{Tensor64({batch, heads, rows, v.shape[3]}),
                         Tensor64({batch, heads, rows})};
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < rows; ++i) {
        Row row = scoreRow(q, k, options, {}, b, h, i);
        result.lse.at({b, h, i}) = weighRow(row, options, b, h, i);
        for (int64_t j = 0; j < k.shape[2]; ++j)
          if (row.visible[j])
            for (int64_t d = 0; d < v.shape[3]; ++d)
              result.o.at({b, h, i, d}) +=
                  row.scores[j] * v.at({b, h / group, j, d});
      }
  return result;
}

//===----------------------------------------------------------------------===//
// Running softmax and partial results
//===----------------------------------------------------------------------===//

OnlineState OnlineState::empty(int64_t b, int64_t hq, int64_t sq, int64_t dv) {
  return {Tensor64({b, hq, sq, dv}), Tensor64({b, hq, sq}, minusInfinity),
          Tensor64({b, hq, sq})};
}

/// The three parts of a partial have the shapes of o and of the log-sum-exp.
static llvm::Error checkState(const OnlineState &state,
                              llvm::ArrayRef<int64_t> o) {
  if (llvm::ArrayRef(state.accumulator.shape) != o)
    return makeError("accumulator: expected shape {0}, got {1}", formatShape(o),
                     formatShape(state.accumulator.shape));
  for (const auto &[name, part] : {std::make_pair("maximum", &state.maximum),
                                   std::make_pair("sum", &state.sum)})
    if (llvm::ArrayRef(part->shape) != o.drop_back())
      return makeError("{0}: expected shape {1}, got {2}", name,
                       formatShape(o.drop_back()), formatShape(part->shape));
  return llvm::Error::success();
}

llvm::Error reference::onlineAttention(OnlineState &state, const Tensor64 &q,
                                       const Tensor64 &kTile,
                                       const Tensor64 &vTile,
                                       const AttentionOptions &options,
                                       TileOrigin origin) {
  if (llvm::Error error = checkQueryKey(q, kTile))
    return error;
  const int64_t batch = q.shape[0], heads = q.shape[1], rows = q.shape[2];
  if (llvm::Error error = checkValues(batch, heads, kTile.shape[2], vTile))
    return error;
  const int64_t dim = vTile.shape[3];
  if (llvm::Error error = checkState(state, {batch, heads, rows, dim}))
    return error;
  const int64_t group = std::max<int64_t>(heads / vTile.shape[1], 1);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < rows; ++i) {
        const Row row = scoreRow(q, kTile, options, origin, b, h, i);
        double &highest = state.maximum.at({b, h, i});
        double &sum = state.sum.at({b, h, i});
        const double before = highest;
        const double now = row.maximumWith(before);
        if (now == minusInfinity)
          continue;
        const double factor = std::exp(before - now);
        sum *= factor;
        for (int64_t d = 0; d < dim; ++d)
          state.accumulator.at({b, h, i, d}) *= factor;
        for (int64_t j = 0; j < kTile.shape[2]; ++j) {
          if (!row.visible[j])
            continue;
          const double p = std::exp(row.scores[j] - now);
          sum += p;
          for (int64_t d = 0; d < dim; ++d)
            state.accumulator.at({b, h, i, d}) +=
                p * vTile.at({b, h / group, j, d});
        }
        highest = now;
      }
  return llvm::Error::success();
}

llvm::Expected<AttentionResult>
reference::mergePartials(llvm::ArrayRef<OnlineState> partials,
                         llvm::ArrayRef<double> sink) {
  if (partials.empty())
    return makeError("merge_partials: no partials were given");
  const Tensor64 &first = partials.front().accumulator;
  if (llvm::Error error = checkRank("accumulator", first, 4))
    return error;
  for (const OnlineState &partial : partials)
    if (llvm::Error error = checkState(partial, first.shape))
      return error;
  if (llvm::Error error = checkSink(sink, first.shape[1]))
    return error;
  AttentionResult result{
      Tensor64(first.shape),
      Tensor64(llvm::ArrayRef(first.shape).drop_back(), minusInfinity)};
  const int64_t heads = first.shape[1], rows = first.shape[2];
  const int64_t dim = first.shape[3];
  for (int64_t b = 0; b < first.shape[0]; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < rows; ++i) {
        const double sinkScore = sink.empty() ? minusInfinity : sink[h];
        double highest = sinkScore;
        for (const OnlineState &partial : partials)
          if (partial.sum.at({b, h, i}) != 0.0)
            highest = maximum(highest, partial.maximum.at({b, h, i}));
        if (highest == minusInfinity)
          continue;
        double sum = expBelow(sinkScore, highest);
        for (const OnlineState &partial : partials) {
          if (partial.sum.at({b, h, i}) == 0.0)
            continue;
          const double factor =
              std::exp(partial.maximum.at({b, h, i}) - highest);
          sum += factor * partial.sum.at({b, h, i});
          for (int64_t d = 0; d < dim; ++d)
            result.o.at({b, h, i, d}) +=
                factor * partial.accumulator.at({b, h, i, d});
        }
        for (int64_t d = 0; d < dim; ++d)
          result.o.at({b, h, i, d}) /= sum;
        result.lse.at({b, h, i}) = highest + std::log(sum);
      }
  return result;
}
