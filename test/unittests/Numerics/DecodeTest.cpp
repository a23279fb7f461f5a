//===- DecodeTest.cpp - A few query rows on many keys, against f64 --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a decoding step have a kernel of their own: every group size and
// query length that it takes, masks of each kind, types, and key counts at and
// around the edges of its blocks and splits.
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"

#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

/// Query heads of a group and query rows: products of 1 to 8.
struct Rows {
  int64_t group, queries;
};
constexpr Rows kRows[] = {{1, 1}, {4, 1}, {3, 1}, {8, 1}, {2, 2}, {1, 5}};
/// Of keys and of values: below, at and above whole vectors and lines, and
/// whole tiles of AMX.
struct Dims {
  int64_t key, value;
};
constexpr Dims kDims[] = {{1, 1},     {20, 20}, {64, 64},
                          {128, 128}, {96, 40}, {40, 150}};
constexpr const char *kMasks[] = {"none", "offset", "lengths", "program",
                                  "bias"};
constexpr int64_t kLengths[] = {0, 1, 3, 16, 31, 127, 129, 2047, 2049, 4500};
constexpr int64_t kBatch = 2, kKeyHeads = 2;

AttentionGraph graph(Rows rows, Dims dims, llvm::StringRef mask,
                     ElementType type) {
  AttentionGraph graph;
  graph.heads = rows.group * kKeyHeads;
  graph.keyHeads = kKeyHeads;
  graph.headDim = dims.key;
  graph.valueDim = dims.value;
  graph.queryRows = std::to_string(rows.queries);
  graph.queryType = graph.type = type;
  graph.scale = "0.25";
  std::string &extra = graph.extra, &clause = graph.clause;
  if (mask == "offset") {
    extra = ", %extra: tensor<?xi32>";
    clause = "causal(offset %extra : tensor<?xi32>)";
  } else if (mask == "lengths") {
    extra = ", %extra: tensor<?xi32>";
    clause = "lengths(%extra : tensor<?xi32>)";
  } else if (mask == "bias") {
    std::string bias = "tensor<" + std::to_string(graph.heads) + "x" +
                       graph.queryRows + "x?xf32>";
    extra = ", %extra: " + bias;
    graph.scoreOps =
        "%t = attn.bias %u, %extra : " + graph.scoresType() + ", " + bias;
  } else if (mask == "program") {
    // Depends on the head and the row, which are not the tile's.
    clause = R"(visible {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %three = arith.constant 3 : index
        %x = arith.addi %i, %j : index
        %y = arith.addi %x, %h : index
        %z = arith.remui %y, %three : index
        %zero = arith.constant 0 : index
        %w = arith.cmpi ne, %z, %zero : index
        attn.yield %w : i1
      })";
  }
  return graph;
}

void runLength(CompiledModule &module, Rows rows, Dims dims,
               llvm::StringRef mask, ElementType type, int64_t keys) {
  SCOPED_TRACE("Skv " + std::to_string(keys));
  bool flush = keys % 2;
  int64_t heads = rows.group * kKeyHeads;
  Shape qShape{kBatch, heads, rows.queries, dims.key};
  Shape oShape{kBatch, heads, rows.queries, dims.value};
  Shape kShape{kBatch, kKeyHeads, keys, dims.key};
  Shape vShape{kBatch, kKeyHeads, keys, dims.value};
  // Keys that nobody sees are NaN: what is hidden must not matter.
  std::vector<int64_t> seen{keys / 3, keys};
  bool hides = mask == "lengths" || mask == "offset";
  auto hidden = [&](int64_t seed, int64_t dim) {
    return [=](int64_t n) {
      int64_t b = n / (kKeyHeads * keys * dim);
      int64_t j = n / dim % std::max<int64_t>(keys, 1);
      return hides && j >= seen[b] ? NAN : patternAt(seed, n);
    };
  };
  Operand q(type, qShape, flush, pattern(0));
  Operand k(type, kShape, flush, hidden(1, dims.key));
  Operand v(type, vShape, !flush, hidden(2, dims.value));
  std::vector<CallArgument> inputs{q.view, k.view, v.view};

  reference::AttentionOptions options;
  options.scale = 0.25;
  std::optional<Operand> extra;
  if (mask == "lengths") {
    extra.emplace(ElementType::i32, llvm::ArrayRef<int64_t>{kBatch}, flush,
                  [&](int64_t n) { return seen[n]; });
    options.mask = reference::lengths(seen);
  } else if (mask == "offset") {
    // The last row sees `seen` keys, those before it fewer.
    extra.emplace(ElementType::i32, llvm::ArrayRef<int64_t>{kBatch}, flush,
                  [&](int64_t n) { return seen[n] - rows.queries; });
    options.mask = [=](int64_t b, int64_t, int64_t i, int64_t j) {
      return j <= i + seen[b] - rows.queries;
    };
  } else if (mask == "program") {
    options.mask = [](int64_t, int64_t h, int64_t i, int64_t j) {
      return (i + j + h) % 3 != 0;
    };
  } else if (mask == "bias") {
    extra.emplace(
        ElementType::f32, llvm::ArrayRef<int64_t>{heads, rows.queries, keys},
        flush,
        [](int64_t n) { return n * 7 % 11 < 2 ? -INFINITY : patternAt(4, n); });
    options.score = [&](double s, int64_t, int64_t h, int64_t i, int64_t j) {
      return reference::addBias(
          s, extra->host.get((h * rows.queries + i) * keys + j));
    };
  }
  if (extra)
    inputs.push_back(extra->view);
  double spread =
      std::max(1.0, 0.25 * std::sqrt(static_cast<double>(dims.key)));
  double bound = attentionBound(type, 1.5) * spread;
  expectAttention(run(module, inputs, type, oShape, /*threads=*/1, flush), q, k,
                  v, options, bound);
}

class Decode : public testing::TestWithParam<const char *> {};

TEST_P(Decode, MatchesF64) {
  SKIP_UNLESS_EXECUTABLE(GetParam());
  size_t turn = 0;
  size_t stride = llvm::StringRef(GetParam()) == "native" ? 4 : 12;
  for (Rows rows : kRows)
    for (Dims dims : kDims)
      for (const char *mask : kMasks)
        for (ElementType type :
             {ElementType::f32, ElementType::bf16, ElementType::f64}) {
          if (!runAll() && ++turn % stride)
            continue;
          SCOPED_TRACE(std::to_string(rows.group) + " heads of " +
                       std::to_string(rows.queries) + " rows, D " +
                       std::to_string(dims.key) + ", Dv " +
                       std::to_string(dims.value) + ", mask " + mask + ", " +
                       elementTypeName(type).str());
          auto module =
              compile(graph(rows, dims, mask, type).text(), GetParam());
          ASSERT_TRUE(module);
          for (int64_t keys : kLengths)
            runLength(*module, rows, dims, mask, type, keys);
          if (HasFailure())
            return;
        }
}

/// Splits are merged in the order of the keys, whatever thread made them.
TEST_P(Decode, SameBitsForThreadsAndBatch) {
  SKIP_UNLESS_EXECUTABLE(GetParam());
  for (ElementType type : {ElementType::f32, ElementType::f64}) {
    auto module =
        compile(graph({4, 1}, {64, 64}, "none", type).text(), GetParam());
    ASSERT_TRUE(module);
    constexpr int64_t keys = 9000;
    Operand q(type, {kBatch, 8, 1, 64}, true, pattern(0));
    Operand k(type, {kBatch, 2, keys, 64}, true, pattern(1));
    Operand v(type, {kBatch, 2, keys, 64}, true, pattern(2));
    expectSameBits(*module, {&q, &k, &v}, type, {kBatch, 8, 1, 64});
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Decode, testing::ValuesIn(kTargets),
                         targetTestName);

} // namespace
