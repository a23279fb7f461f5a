//===- Graph.h - A random attention graph -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of the graph, what its arguments stand for (which decides what they
// may hold), and how large its scores may become (which decides how exactly
// kernels can compute it).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_FUZZ_GRAPH_H
#define ATTN_TEST_FUZZ_GRAPH_H

#include "Random.h"
#include "attn/Support/HostTensor.h"

#include <string>
#include <vector>

namespace attn::fuzz {

/// Of one call: batch, query heads, key heads, query rows, keys; pages of a
/// sequence and of the pool, new rows of a cache, bounds of packed sequences.
struct Sizes {
  int64_t b = 1, h = 1, g = 1, q = 1, k = 1;
  int64_t m = 1, p = 1, n = 1, c = 1;
};

/// An extent of an argument: one of `Sizes` by its letter, or a number.
struct Extent {
  char size = 0;
  int64_t number = 1;
  bool isDynamic = false;

  int64_t in(const Sizes &sizes) const;
  std::string text() const { return isDynamic ? "?" : std::to_string(number); }
};

enum class Role {
  Query,
  Key,
  Value,
  /// Added to scores; may hold -inf.
  Bias,
  /// i1.
  Bits,
  /// Integers around 0 and the numbers of rows and keys.
  Position,
  Segments,
  Sink,
  /// Scales of 8-bit integers, one a row.
  Scale,
  /// Of projections: what is multiplied by them does not grow.
  Weights,
  /// Numbers of pages, some beyond the pool.
  Table,
  /// Where new rows of a cache go: an index that drops none.
  CachePosition,
  /// Of packed sequences, from 0 on and in order.
  Bounds,
  /// Of dropout, an i64.
  Seed,
  /// Small floats and integers that programs gather.
  Reals,
  Integers,
  /// Rows that are integers of 8 bits times a power of two.
  Quantizable,
  /// Of linear attention: queries, keys and values, whose rows have a length of
  /// at most about 1; logarithms of gates; numbers from 0 to 1.
  Feature,
  Decay,
  Beta
};

/// Where the rows of queries, keys, values and scales lie in an argument.
enum class Layout {
  /// [B, H, S, D], or [B, H, S].
  Plain,
  /// [B, S, H * D].
  Split,
  /// [B, S, H, D].
  Transposed,
  /// [B, H, S, more than D].
  Sliced,
  /// [B, S, M], times a matrix.
  Projected,
  /// [P, H, T, D] or [P, H, T], in the order of a block table.
  Pages,
  /// Not to be known here: nothing in it counts as hidden.
  Other
};

struct Argument {
  std::string name;
  Role role;
  ElementType type;
  std::vector<Extent> shape;
  /// A number: an index, or a float of `type`.
  bool isScalar = false;
  Layout layout = Layout::Plain;
  /// Of `Split`.
  int64_t heads = 1;
  /// The columns of `Sliced`.
  int64_t firstColumn = 0, columns = 0;

  std::string typeText() const;
};

enum class ResultKind {
  Output,
  LogSumExp,
  /// Of weights: sums of columns or entropies; maxima.
  Sums,
  Maxima,
  /// The keys of the maxima before it, a result.
  Keys,
  /// Exact; argument `cache` with new rows.
  Cache
};

struct Result {
  ResultKind kind;
  size_t cache = 0;
};

/// One attention, as far as errors of its result go.
struct Chain {
  /// Scores are at most `gain * |scale * q k| + offset`.
  double scale = 1.0, gain = 1.0, offset = 0.0;
  /// Weights are at most this; with `isSum` they do not sum up to 1.
  double largestWeight = 1.0;
  bool isSum = false;
};

struct Graph {
  uint64_t seed = 0;
  std::string target, schedule;
  std::vector<Argument> arguments;
  /// The function `f`, and the same with more results: the weights if they are
  /// shown, and weights of scores that are all 0, which are positive exactly
  /// for visible pairs.
  std::string text, textWithWeights;
  /// Extents that are the same in every call; the others are not used.
  Sizes fixed;
  bool isFixed[5] = {};
  int64_t headDim = 1, valueDim = 1;
  ElementType queryType = ElementType::f32, keyType = ElementType::f32,
              valueType = ElementType::f32;
  /// Rows of a page, or 0.
  int64_t pageRows = 0;
  bool isRolling = false;
  /// Each one's output is the next one's query.
  std::vector<Chain> chains = {Chain()};
  /// What ops before the products of queries and keys multiply them by at most,
  /// and the relative error by which they round; the latter of values as well.
  double productGain = 1.0, productRounding = 0.0, valueRounding = 0.0;
  std::vector<Result> results = {{ResultKind::Output}};
  bool hasSchedule = false;
  /// Whether the weights are a result of `textWithWeights` before the last one,
  /// and whether there are no weights at all.
  bool showsWeights = false, isLinear = false;
  /// Whether a visible pair may have weight 0.
  bool dropsPairs = false;
  /// Whether every chain must fuse.
  bool mustFuse = true;

  Chain &chain() { return chains.back(); }
};

/// `tensor<...>`.
std::string tensorType(llvm::ArrayRef<Extent> shape, ElementType type);

/// The graph of `seed` for one of `targets`.
Graph makeGraph(uint64_t seed, const std::vector<std::string> &targets);

} // namespace attn::fuzz

#endif // ATTN_TEST_FUZZ_GRAPH_H
