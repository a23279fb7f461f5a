//===- DropoutTest.cpp - Dropout on the fused path ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormsTest.h"

#include "attn/Support/HostTarget.h"

using namespace attn;
using namespace attn::test;

namespace {

using Dropout = FormsTest;

/// Both halves of the seed matter.
constexpr int64_t kSeed = 0x123456789abcdef;

Form dropoutForm(const std::string &rate, int64_t seed) {
  return {[=](AttentionGraph &graph) {
            graph.weightOps = "%seed = arith.constant " + std::to_string(seed) +
                              " : i64\n%w = attn.dropout %p rate " + rate +
                              " seed(%seed) : " + graph.scoresType();
          },
          [=](FormCall &call) {
            call.options.probability =
                reference::dropout(std::stod(rate), seed);
            call.factor = 2;
          }};
}

/// The very pairs that the reference keeps.
TEST_P(Dropout, MatchesF64) {
  checkForm(GetParam(), dropoutForm("0.3", kSeed));
}

TEST_P(Dropout, OfEverything) {
  checkForm(GetParam(), dropoutForm("1.0", kSeed), kFormShapes[0], "causal");
  checkForm(GetParam(), dropoutForm("1.0", kSeed), kFormShapes[4], "none");
}

/// Behind a sigmoid it is a part of the score program.
TEST_P(Dropout, AfterSigmoid) {
  Form form = dropoutForm("0.5", kSeed);
  Form both = {[=](AttentionGraph &graph) {
                 form.write(graph);
                 graph.clause += " normalizer(sigmoid)";
               },
               [=](FormCall &call) {
                 form.fill(call);
                 call.options.normalizer = reference::Normalizer::Sigmoid;
                 call.factor = std::max<double>(2, call.keys);
               }};
  checkForm(GetParam(), both, kFormShapes[0], "lengths");
  checkForm(GetParam(), both, kFormShapes[1], "causal");
  checkForm(GetParam(), both, kFormShapes[3], "none");
}

/// Equal weights of values of 1 count what is kept of each row. Tiles, key
/// blocks and threads leave out the same pairs.
TEST_P(Dropout, Share) {
  constexpr int64_t heads = 4, rows = 200, keys = 300;
  AttentionGraph graph;
  graph.heads = heads;
  graph.keyHeads = 2;
  graph.headDim = 8;
  Operand q(ElementType::f32, {2, heads, rows, 8}, true,
            [](int64_t) { return 0; });
  Operand k(ElementType::f32, {2, 2, keys, 8}, true, [](int64_t) { return 0; });
  Operand v(ElementType::f32, {2, 2, keys, 1}, true, [](int64_t) { return 1; });
  auto results = [&](int64_t seed, const std::string &schedule,
                     unsigned threads) {
    dropoutForm("0.25", seed).write(graph);
    auto module = compile(graph.text(), GetParam(), Lowering::Fused, schedule);
    return run(*module, {q.view, k.view, v.view}, ElementType::f32,
               {2, heads, rows, 1}, threads)
        .toDoubles();
  };
  std::vector<double> shares = results(1, "", 1);
  double sum = 0;
  for (double share : shares) {
    sum += share;
    EXPECT_NEAR(share * 0.75, 0.75, 5 * std::sqrt(0.75 * 0.25 / keys));
  }
  double pairs = 2 * heads * rows * keys;
  EXPECT_NEAR(sum / shares.size() * 0.75, 0.75,
              5 * std::sqrt(0.75 * 0.25 / pairs));
  // Another seed, another head or batch element: other pairs.
  EXPECT_NE(shares, results(2, "", 1));
  EXPECT_NE(shares, results(1 + (int64_t(1) << 32), "", 1));
  auto part = [&](int64_t n) {
    return std::vector<double>(shares.begin() + n * rows,
                               shares.begin() + (n + 1) * rows);
  };
  for (int64_t n = 1; n < 2 * heads; ++n)
    EXPECT_NE(part(0), part(n));
  EXPECT_EQ(shares, results(1, "", 3));
  auto lanes =
      std::to_string(llvm::cantFail(resolveTarget(GetParam())).vectorBytes / 4);
  std::vector<double> tiled =
      results(1,
              "#attn.schedule<kernel = queries_in_lanes, tile = [32, 24], "
              "registers = [4, 2], lanes = " +
                  lanes + ">",
              1);
  for (size_t n = 0; n < shares.size(); ++n)
    EXPECT_NEAR(shares[n], tiled[n], 1e-5);
}

INSTANTIATE_FORMS_TESTS(Dropout);

} // namespace
