//===- NarrowTypesTest.cpp - f16 and bf16 on the fused path -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels compute in f32 whatever the inputs are, and round once, to nearest
// even, when they store. Levels without F16C or AVX512-BF16 convert by calls or
// by arithmetic, and must come to the same bits.
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"

#include <cfloat>
#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

/// Element types of the queries, and of keys, values and result.
struct Types {
  ElementType query, other;
};
constexpr Types kTypes[] = {{ElementType::f16, ElementType::f16},
                            {ElementType::bf16, ElementType::bf16},
                            {ElementType::f32, ElementType::bf16},
                            {ElementType::f16, ElementType::f32},
                            {ElementType::bf16, ElementType::f16}};
constexpr int64_t kHeadDims[] = {8, 40, 64, 100};
constexpr const char *kMasks[] = {"none", "causal", "lengths", "bias"};
constexpr std::pair<int64_t, int64_t> kLengths[] = {
    {1, 1}, {3, 0}, {0, 5}, {1, 130}, {17, 33}, {64, 64}, {65, 127}};
constexpr int64_t kBatch = 2, kHeads = 2, kKeyHeads = 1;
constexpr double kScale = 0.25;

AttentionGraph graph(Types types, int64_t headDim, llvm::StringRef mask) {
  AttentionGraph graph;
  graph.heads = kHeads;
  graph.keyHeads = kKeyHeads;
  graph.headDim = graph.valueDim = headDim;
  graph.queryType = types.query;
  graph.type = types.other;
  graph.scale = "0.25";
  if (mask == "causal")
    graph.clause = "causal(bottom_right)";
  if (mask == "lengths") {
    graph.extra = ", %extra: tensor<?xi32>";
    graph.clause = "lengths(%extra : tensor<?xi32>)";
  }
  if (mask == "bias") {
    std::string bias = AttentionGraph::tensor("2x?x?", types.other);
    graph.extra = ", %extra: " + bias;
    graph.scoreOps =
        "%t = attn.bias %u, %extra : " + graph.scoresType() + ", " + bias;
  }
  return graph;
}

void runLengths(CompiledModule &module, Types types, int64_t headDim,
                llvm::StringRef mask, int64_t sq, int64_t skv) {
  SCOPED_TRACE("Sq " + std::to_string(sq) + ", Skv " + std::to_string(skv));
  bool flush = (sq + skv) % 2 == 0;
  Operand q(types.query, {kBatch, kHeads, sq, headDim}, flush, pattern(0));
  Operand k(types.other, {kBatch, kKeyHeads, skv, headDim}, flush, pattern(1));
  Operand v(types.other, {kBatch, kKeyHeads, skv, headDim}, !flush, pattern(2));
  std::vector<CallArgument> inputs{q.view, k.view, v.view};

  reference::AttentionOptions options;
  options.scale = kScale;
  std::optional<Operand> extra;
  if (mask == "causal") {
    options.mask = reference::causalBottomRight(sq, skv);
  } else if (mask == "lengths") {
    std::vector<int64_t> lengths{skv / 2, skv};
    extra.emplace(ElementType::i32, llvm::ArrayRef<int64_t>{kBatch}, flush,
                  [&](int64_t n) { return lengths[n]; });
    options.mask = reference::lengths(lengths);
  } else if (mask == "bias") {
    extra.emplace(
        types.other, llvm::ArrayRef<int64_t>{kHeads, sq, skv}, flush,
        [](int64_t n) { return n * 7 % 11 < 2 ? -INFINITY : patternAt(4, n); });
    options.score = [&](double s, int64_t, int64_t h, int64_t i, int64_t j) {
      return reference::addBias(s, extra->host.get((h * sq + i) * skv + j));
    };
  }
  if (extra)
    inputs.push_back(extra->view);

  // As in the grid: the rounding of f32 scores grows with them.
  double spread = types.other == ElementType::f32
                      ? std::max(1.0, kScale * std::sqrt(double(headDim)))
                      : 1.0;
  double bound = attentionBound(types.other, 1.5) * spread;
  expectAttention(run(module, inputs, types.other,
                      {kBatch, kHeads, sq, headDim}, /*threads=*/1, flush),
                  q, k, v, options, bound);
}

class NarrowTypes : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(GetParam()); }
};

/// Every pair of types meets every head dim and every mask on each target, but
/// only ATTN_GRID=all has all three at once.
TEST_P(NarrowTypes, MatchesF64) {
  bool isNative = llvm::StringRef(GetParam()) == "native";
  size_t turn = 0;
  for (Types types : kTypes)
    for (int64_t headDim : kHeadDims) {
      ++turn;
      for (auto [n, mask] : llvm::enumerate(kMasks)) {
        // Along a row of kHeadDims each mask comes once, or twice.
        size_t distance = (turn + turn / 4 + n) % 4;
        if (!runAll() && distance > (isNative ? 1 : 0))
          continue;
        SCOPED_TRACE("q " + elementTypeName(types.query).str() + ", k and v " +
                     elementTypeName(types.other).str() + ", D " +
                     std::to_string(headDim) + ", mask " + mask);
        auto module = compile(graph(types, headDim, mask).text(), GetParam());
        ASSERT_TRUE(module);
        for (auto [sq, skv] : kLengths)
          runLengths(*module, types, headDim, mask, sq, skv);
        if (HasFailure())
          return;
      }
    }
}

/// Runs `f` on two keys that weigh the same: the elements of `pairs`, [B, 2,
/// D], as values, all in `type`.
HostTensor meanOfPairs(ElementType type, const char *target,
                       const std::vector<double> &pairs, int64_t dim) {
  int64_t batch = static_cast<int64_t>(pairs.size()) / (2 * dim);
  Operand o(type, {batch, 2, 1, dim}, true, [](int64_t) { return 7; });
  auto module = compile(graph({type, type}, dim, "none").text(), target);
  if (!module)
    return std::move(o.host);
  Operand q(type, {batch, 2, 1, dim}, true, [](int64_t) { return 0; });
  Operand k(type, {batch, 1, 2, dim}, true, [](int64_t) { return 1; });
  Operand v(type, {batch, 1, 2, dim}, true,
            [&](int64_t n) { return pairs[n]; });
  std::vector<CallArgument> inputs{q.view, k.view, v.view};
  EXPECT_EQ(llvm::toString(module->run("f", inputs, o.view)), "");
  o.fetch();
  return std::move(o.host);
}

/// What a kernel stores is its f32 result rounded once: the same program on the
/// same values in f32 says what was to be rounded. Means of neighbours are ties
/// but for the last bit of f32.
TEST_P(NarrowTypes, ResultsRoundToNearestEven) {
  constexpr int64_t dim = 40, batch = 16;
  for (ElementType type : {ElementType::f16, ElementType::bf16}) {
    SCOPED_TRACE(elementTypeName(type).str());
    bool isHalf = type == ElementType::f16;
    const double ulp = isHalf ? 0x1p-10 : 0x1p-7; // above 1
    std::vector<double> pairs(batch * 2 * dim);
    auto set = [&](int64_t b, int64_t d, double first, double second) {
      pairs[(2 * b) * dim + d] = first;
      pairs[(2 * b + 1) * dim + d] = second;
    };
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t d = 0; d < dim; ++d) {
        // Normal numbers from 2^-12 on, of both signs; then, for f16, numbers
        // around the smallest subnormal.
        double unit = std::ldexp(d % 2 ? -1.0 : 1.0, b - 12);
        double n = (b * dim + d) % 128;
        set(b, d, unit * (1 + n * ulp), unit * (1 + (n + 1) * ulp));
        if (isHalf && b == 1)
          set(b, d, d * 0x1p-24, (d + 1) * 0x1p-24);
        if (isHalf && b == 2) // around the smallest normal
          set(b, d, (1004 + d) * 0x1p-24, (1005 + d) * 0x1p-24);
      }
    const std::pair<double, double> special[] = {
        {INFINITY, 1}, {1, -INFINITY}, {NAN, 1},       {INFINITY, -INFINITY},
        {0, 0},        {65504, 65472}, {65504, 65504}, {-65504, -65504}};
    for (auto [d, pair] : llvm::enumerate(special))
      set(0, d, pair.first, pair.second);

    HostTensor wide = meanOfPairs(ElementType::f32, GetParam(), pairs, dim);
    HostTensor narrow = meanOfPairs(type, GetParam(), pairs, dim);
    int64_t ties = 0;
    for (int64_t n = 0; n < wide.numElements(); ++n) {
      double value = wide.get(n), got = narrow.get(n);
      auto rounded = [&](double x) {
        return isHalf ? decodeF16(encodeF16(x)) : decodeBF16(encodeBF16(x));
      };
      double expected = rounded(value);
      // Products of bf16 pairs have weights of their own, which give the mean
      // without the last bit.
      int64_t row = n / dim, d = n % dim, b = row / 2;
      double exact =
          (pairs[2 * b * dim + d] + pairs[(2 * b + 1) * dim + d]) / 2;
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got)) << n;
      else
        EXPECT_TRUE(got == expected || got == rounded(exact))
            << "element " << n << ": got " << got << ", expected " << expected
            << ", f32 " << value;
      ties += std::abs(value - expected) == ulpAt(type, value) / 2;
    }
    // Enough of both directions to tell even from away, up and down.
    EXPECT_GT(ties, 100);
  }
}

/// f16 scores far beyond 65504 and bf16 sums of many keys stay in f32.
TEST_P(NarrowTypes, AccumulatesInF32) {
  auto module =
      compile(graph({ElementType::f16, ElementType::f16}, 8, "none").text(),
              GetParam());
  ASSERT_TRUE(module);
  // Scores: 0.25 * 8 * 1000 * 1000 = 2e6 for key 3, 0 for the others.
  Operand q(ElementType::f16, {1, 2, 1, 8}, true, [](int64_t) { return 1000; });
  Operand k(ElementType::f16, {1, 1, 5, 8}, true,
            [](int64_t n) { return n / 8 == 3 ? 1000 : 0; });
  Operand v(ElementType::f16, {1, 1, 5, 8}, true,
            [](int64_t n) { return n / 8; });
  Operand o(ElementType::f16, {1, 2, 1, 8}, true, [](int64_t) { return NAN; });
  std::vector<CallArgument> inputs{q.view, k.view, v.view};
  ASSERT_EQ(llvm::toString(module->run("f", inputs, o.view)), "");
  for (double value : o.fetch().toDoubles())
    EXPECT_EQ(value, 3);

  // A sum of ones in bf16 would stop at 256; the mean of 1024 values that
  // alternate is exact.
  module =
      compile(graph({ElementType::bf16, ElementType::bf16}, 8, "none").text(),
              GetParam());
  ASSERT_TRUE(module);
  Operand zeros(ElementType::bf16, {1, 2, 1, 8}, true,
                [](int64_t) { return 0; });
  Operand keys(ElementType::bf16, {1, 1, 1024, 8}, true,
               [](int64_t) { return 1; });
  Operand values(ElementType::bf16, {1, 1, 1024, 8}, true,
                 [](int64_t n) { return n / 8 % 2 ? 1 : 2; });
  Operand mean(ElementType::bf16, {1, 2, 1, 8}, true,
               [](int64_t) { return NAN; });
  inputs = {zeros.view, keys.view, values.view};
  ASSERT_EQ(llvm::toString(module->run("f", inputs, mean.view)), "");
  for (double value : mean.fetch().toDoubles())
    EXPECT_EQ(value, 1.5);
}

INSTANTIATE_TEST_SUITE_P(Targets, NarrowTypes, testing::ValuesIn(kTargets),
                         targetTestName);

} // namespace
