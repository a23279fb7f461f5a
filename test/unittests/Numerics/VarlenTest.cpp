//===- VarlenTest.cpp - Packed sequences, each against itself alone -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"

using namespace attn;
using namespace attn::test;
using reference::Tensor64;

namespace {

/// Bounds of sequences of queries and of keys, and how many tokens there are:
/// more than the sequences have.
struct Packing {
  std::vector<int64_t> queries, keys;
  int64_t queryTokens, keyTokens;
};

/// Empty sequences, of one side and of both; more queries than keys; and blocks
/// that hold several sequences or a part of one.
const Packing kPackings[] = {
    {{0, 5, 12}, {0, 5, 12}, 12, 12},
    {{0, 1, 1, 70, 133, 140}, {0, 5, 45, 45, 300, 303}, 147, 310},
    {{0, 3, 3, 3, 20}, {0, 2, 2, 9, 250}, 20, 257},
    {{0, 200, 210, 400}, {0, 200, 210, 400}, 401, 400},
    {{2, 9, 30}, {1, 4, 60}, 33, 64},
    {{0}, {0}, 4, 7}};

enum class Kind { Segments, TopLeft, BottomRight, Distance };
constexpr Kind kKinds[] = {Kind::Segments, Kind::TopLeft, Kind::BottomRight,
                           Kind::Distance};

/// `b` and `e` of the graph are positions from the beginning and from the end.
std::string programOf(Kind kind, const std::string &scores) {
  std::string from = kind == Kind::TopLeft ? "b" : "e";
  std::string loads = "^bb0(" +
                      std::string(kind == Kind::Distance ? "%x: f32, " : "") +
                      "%b: index, %h: index, %i: index, %j: index):\n" +
                      "%p = tensor.extract %q" + from +
                      "[%c0, %i] : tensor<1x?xi32>\n%r = tensor.extract %k" +
                      from + "[%c0, %j] : tensor<1x?xi32>\n";
  if (kind == Kind::Distance)
    return "%t = attn.score_map %u : " + scores + " {\n" + loads +
           "%d = arith.subi %r, %p : i32\n%f = arith.sitofp %d : i32 to f32\n" +
           "%m = arith.constant 0.03125 : f32\n" +
           "%y = arith.mulf %f, %m : f32\n%z = arith.addf %x, %y : f32\n" +
           "attn.yield %z : f32\n}\n";
  return "visible {\n" + loads +
         "%v0 = arith.cmpi sle, %r, %p : i32\nattn.yield %v0 : i1\n}";
}

AttentionGraph graphOf(Kind kind, ElementType type, int64_t headDim) {
  AttentionGraph graph;
  graph.heads = 4;
  graph.keyHeads = 2;
  graph.headDim = headDim;
  graph.valueDim = headDim == 64 ? 64 : 24;
  graph.queryType = graph.type = type;
  graph.scale = "0.25";
  graph.extra = ", %cuq: tensor<?xi32>, %cuk: tensor<?xi64>";
  graph.scoreOps =
      "%c0 = arith.constant 0 : index\n%c2 = arith.constant 2 : index\n";
  std::string rows = "tensor<?x4x?x" + std::to_string(headDim) + "x" +
                     elementTypeName(type).str() + ">";
  std::string keys = "tensor<?x2x?x" + std::to_string(headDim) + "x" +
                     elementTypeName(type).str() + ">";
  graph.scoreOps += "%tq = tensor.dim %q, %c2 : " + rows +
                    "\n%tk = tensor.dim %k, %c2 : " + keys + "\n";
  for (auto [x, cu, outside] :
       {std::tuple("q", "tensor<?xi32>", "-1"), {"k", "tensor<?xi64>", "-2"}}) {
    std::string side = x,
                arrow = std::string(" : ") + cu + " -> tensor<1x?xi32>\n";
    std::string head = " %cu" + side + " length(%t" + side + ")";
    graph.scoreOps += "%" + side + "s = attn.sequence_ids" + head +
                      " outside " + outside + arrow;
    graph.scoreOps += "%" + side + "b = attn.sequence_positions" + head + arrow;
    graph.scoreOps +=
        "%" + side + "e = attn.sequence_positions" + head + " from_end" + arrow;
  }
  graph.clause = "segments(%qs, %ks : tensor<1x?xi32>, tensor<1x?xi32>)";
  if (kind == Kind::Distance) {
    graph.scoreOps += programOf(kind, graph.scoresType());
  } else {
    graph.scoreOps +=
        "%t = attn.softcap %u at 30.0 : " + graph.scoresType() + "\n";
    if (kind != Kind::Segments)
      graph.clause += " " + programOf(kind, "");
  }
  return graph;
}

/// Rows [begin, end) of axis 2.
Tensor64 rowsOf(const Operand &x, int64_t begin, int64_t end) {
  Tensor64 all = Tensor64::from(x.host);
  Tensor64 part({1, all.shape[1], end - begin, all.shape[3]});
  for (int64_t h = 0; h < all.shape[1]; ++h)
    for (int64_t s = begin; s < end; ++s)
      for (int64_t d = 0; d < all.shape[3]; ++d)
        part.at({0, h, s - begin, d}) = all.at({0, h, s, d});
  return part;
}

/// What each sequence gives alone; 0 for tokens of none.
Tensor64 expectedOf(Kind kind, const Packing &packing, const Operand &q,
                    const Operand &k, const Operand &v) {
  Tensor64 expected(
      {1, q.host.shape()[1], packing.queryTokens, v.host.shape()[3]});
  for (size_t n = 0; n + 1 < packing.queries.size(); ++n) {
    int64_t begin = packing.queries[n], end = packing.queries[n + 1];
    int64_t first = packing.keys[n], last = packing.keys[n + 1];
    int64_t rows = end - begin, keys = last - first;
    if (!rows)
      continue;
    reference::AttentionOptions options;
    options.scale = 0.25;
    options.score = [](double score, int64_t, int64_t, int64_t, int64_t) {
      return 30 * std::tanh(score / 30);
    };
    if (kind == Kind::Distance)
      options.score = [=](double score, int64_t, int64_t, int64_t i,
                          int64_t j) {
        return score + ((j - keys) - (i - rows)) / 32.0;
      };
    if (kind == Kind::TopLeft)
      options.mask = reference::causalTopLeft();
    if (kind == Kind::BottomRight)
      options.mask = reference::causalBottomRight(rows, keys);
    Tensor64 part =
        llvm::cantFail(reference::attention(rowsOf(q, begin, end),
                                            rowsOf(k, first, last),
                                            rowsOf(v, first, last), options))
            .o;
    for (int64_t h = 0; h < part.shape[1]; ++h)
      for (int64_t s = begin; s < end; ++s)
        for (int64_t d = 0; d < part.shape[3]; ++d)
          expected.at({0, h, s, d}) = part.at({0, h, s - begin, d});
  }
  return expected;
}

class Varlen : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(GetParam()); }
};

/// Keys and values of no sequence are NaN.
TEST_P(Varlen, EachSequenceAlone) {
  size_t turn = llvm::hash_value(llvm::StringRef(GetParam())) % 3;
  for (Kind kind : kKinds)
    for (auto [type, headDim] :
         {std::pair<ElementType, int64_t>{ElementType::f32, 64},
          {ElementType::f32, 40},
          {ElementType::bf16, 64},
          {ElementType::f16, 32}}) {
      // Targets that are not the host's take a third each.
      if (llvm::StringRef(GetParam()) != "native" && !runAll() && ++turn % 3)
        continue;
      AttentionGraph graph = graphOf(kind, type, headDim);
      std::string text = graph.text();
      SCOPED_TRACE(text);
      auto module = compile(text, GetParam());
      ASSERT_TRUE(module);
      for (const Packing &packing : kPackings) {
        SCOPED_TRACE(std::to_string(packing.queryTokens) + " queries, " +
                     std::to_string(packing.keyTokens) + " keys");
        int64_t tokens = packing.keyTokens;
        auto orNaN = [&](int64_t seed, int64_t dim) {
          int64_t first = packing.keys.front(), last = packing.keys.back();
          return [=](int64_t n) {
            int64_t j = n / dim % tokens;
            return j < first || j >= last ? NAN : patternAt(seed, n);
          };
        };
        Operand q(type, {1, 4, packing.queryTokens, headDim}, true, pattern(0));
        Operand k(type, {1, 2, tokens, headDim}, true, orNaN(1, headDim));
        Operand v(type, {1, 2, tokens, graph.valueDim}, true,
                  orNaN(2, graph.valueDim));
        int64_t bounds = packing.queries.size();
        Operand cuq(ElementType::i32, {bounds}, true,
                    [&](int64_t n) { return packing.queries[n]; });
        Operand cuk(ElementType::i64, {bounds}, true,
                    [&](int64_t n) { return packing.keys[n]; });
        HostTensor o =
            run(*module, {q.view, k.view, v.view, cuq.view, cuk.view}, type,
                {1, 4, packing.queryTokens, graph.valueDim});
        Tensor64 expected = expectedOf(kind, packing, q, k, v);
        Comparison comparison = compare(o, expected.data);
        double bound = attentionBound(type, 1.5) * 2;
        EXPECT_TRUE(comparison.within(bound)) << comparison.describe(bound);
        if (HasFailure())
          return;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, Varlen, testing::ValuesIn(kTargets),
                         targetTestName);

} // namespace
