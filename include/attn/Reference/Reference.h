//===- Reference.h - Independent f64 evaluation of every op -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each op means, written down a second time: scalar C++ in double,
// straight from the definitions, without sharing a line with the compiler. Unit
// tests check the twin against it, and the twin checks the fast path.
//
// Shapes are [B, H, S, D]. A query head h reads key/value head h / (Hq / Hkv).
// Every function that takes more than one shape checks them and returns an
// error that names the operand and both values.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_REFERENCE_H
#define ATTN_REFERENCE_REFERENCE_H

#include "attn/Support/HostTensor.h"

#include <array>
#include <functional>
#include <initializer_list>

namespace attn::reference {

/// A dense row-major tensor of doubles.
struct Tensor64 {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> data;

  Tensor64() = default;
  /// A tensor filled with `value`; the extents must not be negative.
  explicit Tensor64(llvm::ArrayRef<int64_t> shape, double value = 0.0);
  /// A tensor of given elements, as many as the shape has.
  Tensor64(llvm::ArrayRef<int64_t> shape, std::vector<double> values);
  /// The same for a braced list of extents.
  explicit Tensor64(std::initializer_list<int64_t> shape, double value = 0.0)
      : Tensor64(llvm::ArrayRef<int64_t>(shape), value) {}
  Tensor64(std::initializer_list<int64_t> shape, std::vector<double> values)
      : Tensor64(llvm::ArrayRef<int64_t>(shape), std::move(values)) {}
  /// The elements of a host tensor, exactly (but for i64 beyond 2^53).
  static Tensor64 from(const HostTensor &tensor);

  int64_t rank() const { return shape.size(); }
  int64_t numElements() const { return data.size(); }
  /// Row-major offset of the given indices, one per dimension.
  int64_t offset(llvm::ArrayRef<int64_t> indices) const;
  double &at(llvm::ArrayRef<int64_t> indices) { return data[offset(indices)]; }
  double at(llvm::ArrayRef<int64_t> indices) const {
    return data[offset(indices)];
  }
};

/// Whether the pair of query row i and key column j exists: (b, h, i, j), h a
/// query head. Empty: every pair is visible.
using Visibility = std::function<bool(int64_t, int64_t, int64_t, int64_t)>;

/// A score program: (score, b, h, i, j) -> score, after the scale and before
/// the mask. Empty: the score as it is.
using ScoreFunction =
    std::function<double(double, int64_t, int64_t, int64_t, int64_t)>;

//===----------------------------------------------------------------------===//
// Heads, scores
//===----------------------------------------------------------------------===//

/// [B, S, H*D] -> [B, H, S, D]: reshape to [B, S, H, D], then transpose.
llvm::Expected<Tensor64> splitHeads(const Tensor64 &x, int64_t numHeads);

/// [B, H, S, D] -> [B, S, H*D], the inverse of splitHeads.
llvm::Expected<Tensor64> mergeHeads(const Tensor64 &x);

/// Scores [B, Hq, Sq, Skv] of q [B, Hq, Sq, D] and k [B, Hkv, Skv, D],
/// unscaled.
llvm::Expected<Tensor64> qk(const Tensor64 &q, const Tensor64 &k);

Tensor64 scale(const Tensor64 &x, double factor);

/// cap * tanh(x / cap); cap must not be 0.
llvm::Expected<Tensor64> softcap(const Tensor64 &x, double cap);

/// One element of a bias: -inf is a select (it hides the pair whatever the
/// score is, NaN included), everything else is added.
double addBias(double score, double bias);

/// Scores plus a right-aligned broadcast bias, as addBias does. In the result
/// -inf marks a hidden pair.
llvm::Expected<Tensor64> bias(const Tensor64 &scores, const Tensor64 &bias);

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// j <= i + offset. Top-left alignment is offset 0, bottom-right Skv - Sq, a
/// key/value cache the past length.
Visibility causal(int64_t offset);
Visibility causalTopLeft();
Visibility causalBottomRight(int64_t sq, int64_t skv);

/// i + offset - left <= j <= i + offset + right, inclusive; -1 is unbounded.
Visibility window(int64_t left, int64_t right, int64_t offset = 0);

/// j < kvLengths[b], and i < qLengths[b] when they are given. One length per
/// batch element; an element without one sees nothing.
Visibility lengths(std::vector<int64_t> kvLengths,
                   std::vector<int64_t> qLengths = {});

/// j < prefixes[b] || j <= i + offset: a causal mask over whose first keys
/// every row looks.
Visibility prefix(std::vector<int64_t> prefixes, int64_t offset = 0);

/// querySegments[b, i] == keySegments[b, j], of tensors [B, Sq] and [B, Skv].
Visibility segments(Tensor64 querySegments, Tensor64 keySegments);

/// A boolean mask (non-zero is visible) of up to four dimensions, broadcast
/// right-aligned to [B, Hq, Sq, Skv] = `full`.
llvm::Expected<Visibility> maskTensor(Tensor64 mask,
                                      llvm::ArrayRef<int64_t> full);

/// Hides the pairs whose bias, broadcast as above, is exactly -inf.
llvm::Expected<Visibility> hiddenByBias(Tensor64 bias,
                                        llvm::ArrayRef<int64_t> full);

/// Visible where all of them are.
Visibility allOf(std::vector<Visibility> masks);

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// Ten rounds of Philox (Salmon et al., SC 2011).
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                   std::array<uint32_t, 2> key);
std::array<uint32_t, 2> philox2x32(std::array<uint32_t, 2> counter,
                                   uint32_t key);

/// A program on weights: 0 with probability `rate`, divided by 1 - rate
/// otherwise. Which, depends on the seed and the pair alone.
ScoreFunction dropout(double rate, int64_t seed);

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Weights [B, H, Sq, Skv] and natural log-sum-exp [B, H, Sq].
struct SoftmaxResult {
  Tensor64 weights, lse;
};

/// Softmax over the visible keys of scores [B, H, Sq, Skv]. A score of exactly
/// -inf counts as hidden. `sink` has one logit per head (or is empty): it
/// enters the maximum, the denominator and the log-sum-exp, but has no weight.
/// A row without a visible key has weights 0 and log-sum-exp -inf (the sink,
/// when there is one). Hidden pairs have weight 0 even in a row that is NaN.
/// `emptyWeight` replaces the 0 of rows whose log-sum-exp is -inf.
llvm::Expected<SoftmaxResult> maskedSoftmax(const Tensor64 &scores,
                                            const Visibility &visible = {},
                                            llvm::ArrayRef<double> sink = {},
                                            double emptyWeight = 0.0);

/// Weights [B, H, Sq, Skv] of scores: 1 / (1 + exp(-score)) where visible, 0
/// elsewhere. A score of exactly -inf counts as hidden.
llvm::Expected<Tensor64> sigmoidWeights(const Tensor64 &scores,
                                        const Visibility &visible = {});

/// `program` on the weights [B, H, Sq, Skv] of visible pairs; hidden ones are
/// 0.
llvm::Expected<Tensor64> mapWeights(const Tensor64 &weights,
                                    const ScoreFunction &program,
                                    const Visibility &visible = {});

/// What weights [B, H, Sq, Skv] look like.
struct WeightStats {
  Tensor64 columnSums;          ///< [B, H, Skv]
  Tensor64 rowMax, entropy;     ///< [B, H, Sq]
  Tensor64 topWeights, topKeys; ///< [B, H, Sq, places]
};

/// Sums of the columns, and of each row the largest weight (at least 0), the
/// entropy in nats, and the largest weights with their keys, the lower key
/// first where they are equal; 0 and -1 past the last weight above 0. A NaN
/// counts as the largest.
llvm::Expected<WeightStats> weightStats(const Tensor64 &weights,
                                        int64_t places);

/// [B, Hq, Sq, Dv] of weights [B, Hq, Sq, Skv] and v [B, Hkv, Skv, Dv]: a sum
/// over the visible keys only, so that NaN in a hidden value does not matter.
llvm::Expected<Tensor64> weightedSum(const Tensor64 &weights, const Tensor64 &v,
                                     const Visibility &visible = {});

/// Scores [B, Hq, Sq, Skv]: the sum of w * tanh(q + k) over the features, w [A]
/// or [Hq, A].
llvm::Expected<Tensor64> additiveScores(const Tensor64 &q, const Tensor64 &k,
                                        const Tensor64 &w);

/// What makes weights of a row's scores: a softmax, a sigmoid of each, or
/// nothing.
enum class Normalizer { Softmax, Sigmoid, None };

struct AttentionOptions {
  /// Default 1 / sqrt(D_qk).
  std::optional<double> scale;
  ScoreFunction score;
  Visibility mask;
  /// One logit per query head, or empty.
  std::vector<double> sink;
  Normalizer normalizer = Normalizer::Softmax;
  /// The weight of additive scores, which then replace dot products.
  std::optional<Tensor64> additive;
  /// A program on the weights of visible pairs, or empty.
  ScoreFunction probability;
};

/// o [B, Hq, Sq, Dv] and natural log-sum-exp [B, Hq, Sq], which means something
/// with a softmax.
struct AttentionResult {
  Tensor64 o, lse;
};

/// The whole chain, one row at a time. A pair whose modified score is exactly
/// -inf is hidden.
llvm::Expected<AttentionResult> attention(const Tensor64 &q, const Tensor64 &k,
                                          const Tensor64 &v,
                                          const AttentionOptions &options = {});

/// A partial result: maximum and sum [B, Hq, Sq], and the accumulator
/// [B, Hq, Sq, Dv] that is still to be divided by the sum.
struct OnlineState {
  Tensor64 accumulator, maximum, sum;

  /// Nothing seen yet: maximum -inf, sum and accumulator 0.
  static OnlineState empty(int64_t b, int64_t hq, int64_t sq, int64_t dv);
};

/// Absolute position of element (0, 0, 0, 0) of a tile, added to what the score
/// and mask functions see.
struct TileOrigin {
  int64_t b = 0, h = 0, i = 0, j = 0;
};

/// Adds the keys of one tile to `state` (Milakov and Gimelshein, 2018: the old
/// sum and accumulator are scaled by exp(old maximum - new maximum)). The
/// options' sink is ignored: it belongs to mergePartials.
llvm::Error onlineAttention(OnlineState &state, const Tensor64 &q,
                            const Tensor64 &kTile, const Tensor64 &vTile,
                            const AttentionOptions &options = {},
                            TileOrigin origin = {});

/// Merges partials of disjoint sets of keys; those with sum 0 are skipped, so
/// their maximum and accumulator do not matter. With a single partial this is
/// the final division.
llvm::Expected<AttentionResult>
mergePartials(llvm::ArrayRef<OnlineState> partials,
              llvm::ArrayRef<double> sink = {});

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

enum class RopeLayout {
  /// Pairs (k, k + R/2).
  Half,
  /// Pairs (2k, 2k + 1).
  Interleaved,
};

struct RopeOptions {
  RopeLayout layout = RopeLayout::Half;
  /// R, even, at most D; 0 is D. The other elements pass through.
  int64_t rotaryDim = 0;
  /// Angle of pair k at a position: position * base^(-2k/R).
  double base = 10000.0;
  /// Position of row s is offset + s, unless position ids are given.
  int64_t offset = 0;
  /// [S] or [B, S]; integral, not negative where tables are used.
  std::optional<Tensor64> positionIds;
  /// Both or none: [P, R/2], read at the position (an error beyond P), or
  /// [B, S, R/2], read at the row. They replace base.
  std::optional<Tensor64> cosTable, sinTable;
};

/// Rotary embedding of x [B, H, S, D].
llvm::Expected<Tensor64> rope(const Tensor64 &x,
                              const RopeOptions &options = {});

/// [S, d]: sin(p / 10000^(2i/d)) at 2i and the cosine at 2i + 1, for positions
/// offset + s; an odd d drops the last cosine.
Tensor64 sinusoidal(int64_t s, int64_t d, int64_t offset = 0);

/// [1, T] of T tokens: n where cu[n] <= t < cu[n + 1], `outside` elsewhere.
/// `cu` must not decrease.
llvm::Expected<Tensor64> sequenceIds(llvm::ArrayRef<int64_t> cu, int64_t tokens,
                                     int64_t outside = -1);

/// [1, T]: t - cu[n], or t - cu[n + 1] from the end, of a token of sequence n;
/// 0 of one outside.
llvm::Expected<Tensor64> sequencePositions(llvm::ArrayRef<int64_t> cu,
                                           int64_t tokens,
                                           bool fromEnd = false);

/// ALiBi slopes: 2^(-8k/H), k = 1..H for a power of two; otherwise those of the
/// power of two below H, then every second slope of the next one.
std::vector<double> alibiSlopes(int64_t numHeads);

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

/// `cache` [B, H, N, ...] with the rows of `update` [B, H, S, ...], S <= N, at
/// rows at[b] + s. Rows outside of the cache are dropped; in a `rolling` one
/// position p has row p mod N, and only negative positions are dropped.
llvm::Expected<Tensor64> cacheUpdate(const Tensor64 &cache,
                                     const Tensor64 &update,
                                     llvm::ArrayRef<int64_t> at, bool rolling);

/// [B, H, M * T, D] of pages [P, H, T, D], P > 0, and a table [B, M], whose
/// numbers are clamped to the pages.
llvm::Expected<Tensor64> gatherPages(const Tensor64 &pages,
                                     const Tensor64 &table);

/// Integers in [-127, 127] and one scale a row, the largest magnitude / 127.
struct Quantized {
  Tensor64 values, scale;
};
llvm::Expected<Quantized> quantize(const Tensor64 &x);

/// [B, H, S, D] times [B, H, S].
llvm::Expected<Tensor64> dequantize(const Tensor64 &x, const Tensor64 &scale);

//===----------------------------------------------------------------------===//
// Recurrent states
//===----------------------------------------------------------------------===//

struct LinearAttentionOptions {
  /// Default 1 / sqrt(D_qk).
  std::optional<double> scale;
  /// Logarithms of gates, [B, Hkv, S] or [B, Hkv, S, Dk].
  std::optional<Tensor64> decay;
  /// Rates of the delta rule, [B, Hkv, S].
  std::optional<Tensor64> beta;
  /// The state before the first token, [B, Hkv, Dk, Dv]; zeros when absent.
  std::optional<Tensor64> initial;
};

/// o [B, Hq, S, Dv] and the state after the last token, [B, Hkv, Dk, Dv].
struct LinearAttentionResult {
  Tensor64 o, state;
};

/// q [B, Hq, S, Dk], k [B, Hkv, S, Dk], v [B, Hkv, S, Dv], token by token: the
/// state is multiplied by its gates, k times v is added (beta times the
/// difference of v and what the state has for k, with the delta rule), and q
/// reads it.
llvm::Expected<LinearAttentionResult>
linearAttention(const Tensor64 &q, const Tensor64 &k, const Tensor64 &v,
                const LinearAttentionOptions &options = {});

//===----------------------------------------------------------------------===//
// Linear algebra
//===----------------------------------------------------------------------===//

/// [..., M, K] x [K, N] or [..., K, N] (the same leading extents) ->
/// [..., M, N].
llvm::Expected<Tensor64> matmul(const Tensor64 &a, const Tensor64 &b);

} // namespace attn::reference

#endif // ATTN_REFERENCE_REFERENCE_H
