//===- WeightStatsTest.cpp - Statistics of weights in the twin ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TwinTest.h"

using namespace attn;
using namespace attn::test;

namespace {

using WeightStats = TwinTest;

constexpr int64_t kPlaces = 3;
const std::string kRows = "tensor<?x?x?xf32>", kTop = "tensor<?x?x?x3xf32>",
                  kKeys = "tensor<?x?x?x3xi32>";

/// Returns sums, maxima, entropies, and places with their keys as floats.
std::string returned() {
  return "%tk = arith.sitofp %ti : " + kKeys + " to " + kTop +
         "\nreturn %c, %m, %e, %tw, %tk : " + kRows + ", " + kRows + ", " +
         kRows + ", " + kTop + ", " + kTop + "\n}\n";
}

std::string resultTypes() {
  return "(" + kRows + ", " + kRows + ", " + kRows + ", " + kTop + ", " + kTop +
         ")";
}

std::vector<Tensor64> statsOf(const Tensor64 &weights) {
  reference::WeightStats stats =
      llvm::cantFail(reference::weightStats(weights, kPlaces));
  return {stats.columnSums, stats.rowMax, stats.entropy, stats.topWeights,
          stats.topKeys};
}

/// Adds the integers of a log-sum-exp, and what they leave out.
void addParts(TwinCall &c, const Tensor64 &lse) {
  c.floats(lse.shape, [&](int64_t n) { return std::floor(lse.data[n]); });
  c.floats(lse.shape, [&](int64_t n) {
    double x = lse.data[n];
    return std::isfinite(x) ? x - std::floor(x) : 0;
  });
}

/// Weights as they come: with zeros, equal ones, negative ones and NaN.
TEST_P(WeightStats, OfGivenWeights) {
  auto module = compileTwin(
      "func.func @f(%w: " + std::string(kScores) + ") -> " + resultTypes() +
      " {\n%c, %m, %e, %tw, %ti = attn.weight_stats %w column_sums row_max "
      "entropy top_k 3 : " +
      kScores + " -> " + kRows + ", " + kRows + ", " + kRows + ", " + kTop +
      ", " + kKeys + "\n" + returned());
  ASSERT_TRUE(module);
  for (auto [batch, rows, keys] : kExtents) {
    TwinCall c = call();
    Tensor64 weights =
        c.floats({batch, 2, rows, keys}, [](int64_t n) -> double {
          if (n % 11 == 10)
            return NAN;
          return n % 3 ? static_cast<double>(n * n % 13) / 16 : 0;
        });
    c.expect(*module, statsOf(weights));
  }
}

/// The fused op with its log-sum-exp, offsets and a mask, against the weights.
TEST_P(WeightStats, AttentionStats) {
  for (bool isNormalized : {true, false}) {
    std::string q = headsType(8);
    auto module = compileTwin(
        "func.func @f(%q: " + q + ", %k: " + q + ", %l: " + kRows +
        ", %rest: " + kRows + ", %c0: " + kRows + ", %r0: " + kRows +
        ", %t0: " + kTop + ", %i0: " + kKeys + ", %oj: index) -> " +
        resultTypes() +
        " {\n%zero = arith.constant 0 : index\n"
        "%c, %m, %e, %tw, %ti = attn.attention_stats ins(%q, %k : " +
        q + ", " + q + ") scale 0.25 offsets(%zero, %zero, %zero, %oj)" +
        (isNormalized ? " log_sum_exp(%l : " + kRows +
                            ") remainder(%rest : " + kRows + ")"
                      : "") +
        " column_sums(%c0 : " + kRows + ") row_max(%r0 : " + kRows +
        ") entropy(%r0 : " + kRows + ") top_k(%t0, %i0 : " + kTop + ", " +
        kKeys + ")" + (isNormalized ? "" : R"( score {
          ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
            %y = math.exp2 %x : f32
            attn.yield %y : f32
          })") +
        R"( mask {
          ^bb0(%b: index, %h: index, %i: index, %j: index):
            %n = arith.addi %i, %oj : index
            %v = arith.cmpi sle, %j, %n : index
            attn.yield %v : i1
          } -> )" +
        kRows + ", " + kRows + ", " + kRows + ", " + kTop + ", " + kKeys +
        "\n" + returned());
    ASSERT_TRUE(module);
    for (auto [heads, keyHeads] : kHeadCounts)
      for (auto [batch, rows, keys] : kExtents) {
        TwinCall c = call();
        Tensor64 qs = c.floats({batch, heads, rows, 8});
        Tensor64 ks = c.floats({batch, keyHeads, keys, 8});
        Tensor64 scores =
            reference::scale(llvm::cantFail(reference::qk(qs, ks)), 0.25);
        auto causal = reference::causalTopLeft();
        auto softmax = llvm::cantFail(reference::maskedSoftmax(scores, causal));
        Tensor64 weights = isNormalized
                               ? softmax.weights
                               : llvm::cantFail(reference::mapWeights(
                                     scores,
                                     [](double x, int64_t, int64_t, int64_t,
                                        int64_t) { return std::exp2(x); },
                                     causal));
        addParts(c, softmax.lse);
        c.floats({batch, heads, keys});
        c.floats({batch, heads, rows});
        c.floats({batch, heads, rows, kPlaces});
        c.add(ElementType::i32, {batch, heads, rows, kPlaces},
              [](int64_t) { return 5; });
        c.index(40);
        std::vector<Tensor64> expected = statsOf(weights);
        for (double &key : expected[4].data)
          key = key < 0 ? key : key + 40;
        c.expect(*module, expected, 8);
      }
  }
}

/// Two blocks of keys of one tile, one after the other.
TEST_P(WeightStats, OnlineStats) {
  std::string tile = "tensor<?x8xf32>", row = "tensor<?xf32>",
              top = "tensor<3x?xf32>", places = "tensor<3x?xi32>";
  std::string types = row + ", " + row + ", " + top + ", " + places;
  auto block = [&](const std::string &name, const std::string &state,
                   const std::string &first, const std::string &sums) {
    return name + ":5 = attn.online_stats ins(%q, %k" + first + " : " + tile +
           ", " + tile + ") at(%zero, %zero, %at, %j" + first +
           ") rows(%rows) scale 0.5 log_sum_exp(%l : " + row +
           ") remainder(%rest : " + row + ") column_sums(" + sums + " : " +
           row + ") row_max(" + state + "m : " + row + ") entropy(" + state +
           "e : " + row + ") top_k(" + state + "t, " + state + "i : " + top +
           ", " + places +
           R"() mask {
          ^bb0(%b: index, %h: index, %r: index, %c: index):
            %v = arith.cmpi sle, %c, %r : index
            attn.yield %v : i1
          } -> )" +
           row + ", " + types + "\n";
  };
  std::string second = block("%y", "%x", "1", "%s1");
  for (auto [from, to] : {std::pair("%xm", "%x#1"),
                          {"%xe", "%x#2"},
                          {"%xt", "%x#3"},
                          {"%xi", "%x#4"}})
    second.replace(second.find(from), 3, to);
  auto module = compileTwin(
      "func.func @f(%q: " + tile + ", %k0: " + tile + ", %k1: " + tile +
      ", %l: " + row + ", %rest: " + row + ", %s0: " + row + ", %s1: " + row +
      ", %m: " + row + ", %e: " + row + ", %t: " + top + ", %i: " + places +
      ", %rows: index, %at: index) -> (" + row + ", " + row + ", " + row +
      ", " + row + ", " + top + ", " + top +
      ") {\n%zero = arith.constant 0 : index\n%j0 = arith.constant 0 : index\n"
      "%one = arith.constant 0 : index\n%j1 = tensor.dim %k0, %one : " +
      tile + "\n" + block("%x", "%", "0", "%s0") + second +
      "%tk = arith.sitofp %y#4 : " + places + " to " + top +
      "\nreturn %x#0, %y#0, %y#1, %y#2, %y#3, %tk : " + row + ", " + row +
      ", " + row + ", " + row + ", " + top + ", " + top + "\n}\n");
  ASSERT_TRUE(module);
  for (std::pair<int64_t, int64_t> lengths :
       {std::pair<int64_t, int64_t>{5, 4}, {9, 7}}) {
    int64_t rows = lengths.first, keys = lengths.second;
    TwinCall c = call();
    int64_t padded = rows + 2, at = 3;
    Tensor64 q = c.floats({padded, 8});
    Tensor64 first = c.floats({keys, 8}), rest = c.floats({keys, 8});
    Tensor64 all({1, 1, 2 * keys, 8}, first.data);
    all.data.insert(all.data.end(), rest.data.begin(), rest.data.end());
    Tensor64 queries(
        {1, 1, rows, 8},
        std::vector<double>(q.data.begin(), q.data.begin() + rows * 8));
    auto softmax = llvm::cantFail(reference::maskedSoftmax(
        reference::scale(llvm::cantFail(reference::qk(queries, all)), 0.5),
        reference::causal(at)));
    addParts(c, Tensor64({rows}, softmax.lse.data));
    auto zero = [](int64_t) { return 0.0; };
    c.floats({keys}, zero);
    c.floats({keys}, zero);
    c.floats({padded}, zero);
    c.floats({padded}, zero);
    c.floats({kPlaces, padded}, zero);
    c.add(ElementType::i32, {kPlaces, padded}, [](int64_t) { return -1; });
    c.index(rows);
    c.index(at);
    std::vector<Tensor64> stats = statsOf(softmax.weights);
    auto part = [](const Tensor64 &x, int64_t begin, int64_t count,
                   int64_t extent, double padding) {
      std::vector<double> values(x.data.begin() + begin,
                                 x.data.begin() + begin + count);
      values.resize(extent, padding);
      return Tensor64({extent}, values);
    };
    auto turned = [&](const Tensor64 &x, double padding) {
      Tensor64 result({kPlaces, padded}, padding);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t n = 0; n < kPlaces; ++n)
          result.at({n, i}) = x.at({0, 0, i, n});
      return result;
    };
    c.expect(
        *module,
        {part(stats[0], 0, keys, keys, 0), part(stats[0], keys, keys, keys, 0),
         part(stats[1], 0, rows, padded, 0), part(stats[2], 0, rows, padded, 0),
         turned(stats[3], 0), turned(stats[4], -1)},
        4);
  }
}

INSTANTIATE_TWIN_TESTS(WeightStats);

} // namespace
