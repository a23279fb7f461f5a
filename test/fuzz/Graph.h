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

/// Batch, query heads, key heads, query rows, keys: of one call.
struct Sizes {
  int64_t b = 1, h = 1, g = 1, q = 1, k = 1;
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
  /// Of dropout, an i64.
  Seed,
  /// Small floats and integers that programs gather.
  Reals,
  Integers
};

struct Argument {
  std::string name;
  Role role;
  ElementType type;
  std::vector<Extent> shape;
  /// A number: an index, or a float of `type`.
  bool isScalar = false;
  /// [B, S, H * D] with so many heads; 0: [B, H, S, D].
  int64_t splitHeads = 0;

  std::string typeText() const;
};

struct Graph {
  uint64_t seed = 0;
  std::string target, schedule;
  std::vector<Argument> arguments;
  /// The function `f`, and the same with one more result: weights of scores
  /// that are all 0, which are positive exactly for visible pairs.
  std::string text, textWithWeights;
  /// Extents that are the same in every call; the others are not used.
  Sizes fixed;
  bool isFixed[5] = {};
  int64_t headDim = 1, valueDim = 1;
  /// Scores are at most `gain * |scale * q k| + offset`.
  double scale = 1.0, gain = 1.0, offset = 0.0;
  bool hasSchedule = false, hasLse = false;
  /// Weights are at most this; with `isSum` they do not sum up to 1.
  double largestWeight = 1.0;
  bool isSum = false;
  /// Whether a visible pair may have weight 0.
  bool dropsPairs = false;
  /// Whether every chain must fuse.
  bool mustFuse = true;
};

/// The graph of `seed` for one of `targets`.
Graph makeGraph(uint64_t seed, const std::vector<std::string> &targets);

} // namespace attn::fuzz

#endif // ATTN_TEST_FUZZ_GRAPH_H
