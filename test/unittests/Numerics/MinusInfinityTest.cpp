//===- MinusInfinityTest.cpp - Scores of -inf -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pairs that no mask hides and whose score is -inf, by a program or as a
// product of infinities: weight 0, and rows of nothing else are empty whatever
// their values hold.
//
//===----------------------------------------------------------------------===//

#include "FormsTest.h"

#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

constexpr double kInfinity = INFINITY;

class MinusInfinity : public FormsTest {};

/// What comes after the softmax's scores in a call.
struct Extra {
  const char *clause, *arguments;
};

/// Rows of odd number have scores of -inf alone, by a score program or by
/// queries of -inf whose keys are all positive, and every value of the heads
/// that are `poisoned` is infinite or NaN.
void checkRows(const std::string &target, Lowering lowering,
               const FormShape &shape, const Extra &extra, bool byProgram) {
  AttentionGraph graph = shape.graph();
  graph.clause = extra.clause;
  graph.extra = extra.arguments;
  bool fewRows = shape.queryRows != llvm::StringRef("?");
  // Of few rows, those of odd heads.
  bool isF64 = shape.type == ElementType::f64;
  std::string score = isF64 ? "f64" : "f32";
  if (byProgram)
    graph.scoreOps =
        "%t = attn.score_map %u : " + graph.scoresType() +
        " {\n^bb0(%score: " + score +
        ", %b: index, %h: index, %i: index, %j: index):\n"
        "%c2 = arith.constant 2 : index\n%c1 = arith.constant 1 : index\n"
        "%none = arith.constant " +
        (isF64 ? "0xFFF0000000000000 : " : "0xFF800000 : ") + score +
        "\n%odd = arith.remui " + std::string(fewRows ? "%h" : "%i") +
        ", %c2 : index\n%is = arith.cmpi eq, %odd, %c1 : index\n"
        "%x = arith.select %is, %none, %score : " +
        score + "\nattn.yield %x : " + score + "\n}\n";
  std::string text = graph.text();
  SCOPED_TRACE(text);
  auto module = compile(text, target, lowering);
  ASSERT_TRUE(module);
  for (auto [rows, keys] : formLengths(shape)) {
    // The twin is slow, and splits no keys.
    if (lowering != Lowering::Fused && keys > 300)
      continue;
    SCOPED_TRACE("Sq " + std::to_string(rows) + ", Skv " +
                 std::to_string(keys));
    auto isEmpty = [&, rows = rows](int64_t row) {
      return (fewRows ? row / rows : row % rows) % 2 == 1;
    };
    Operand q(shape.type, {1, shape.heads, rows, shape.headDim}, true,
              [&](int64_t n) {
                if (!byProgram && isEmpty(n / shape.headDim))
                  return n % shape.headDim ? 0.0 : -kInfinity;
                return patternAt(0, n);
              });
    Operand k(shape.type, {1, shape.keyHeads, keys, shape.headDim}, false,
              [](int64_t n) { return std::abs(patternAt(1, n)) + 0.5; });
    // The other rows have finite values, by themselves.
    Operand plain(shape.type, {1, shape.keyHeads, keys, shape.valueDim}, true,
                  pattern(2));
    Operand poison(
        shape.type, {1, shape.keyHeads, keys, shape.valueDim}, true,
        [](int64_t n) {
          return n % 3 == 0 ? kInfinity : n % 3 == 1 ? NAN : -kInfinity;
        });
    Operand sink(ElementType::f32, {shape.heads}, true, pattern(3));
    reference::AttentionOptions options;
    options.scale = 0.25;
    bool hasSink = !std::string(extra.arguments).empty();
    if (hasSink)
      options.sink = reference::Tensor64::from(sink.host).data;
    else if (!std::string(extra.clause).empty())
      options.mask = reference::causalBottomRight(rows, keys);
    if (byProgram)
      options.score = [&](double score, int64_t, int64_t h, int64_t i,
                          int64_t) {
        return (fewRows ? h : i) % 2 ? -kInfinity : score;
      };
    for (const Operand *v : {&plain, &poison}) {
      std::vector<CallArgument> inputs{q.view, k.view, v->view};
      if (hasSink)
        inputs.push_back(sink.view);
      HostTensor o = run(*module, inputs, shape.type,
                         {1, shape.heads, rows, shape.valueDim});
      if (v == &plain)
        expectAttention(o, q, k, *v, options,
                        attentionBound(shape.type, 1.5) *
                            std::max(1.0, 0.25 * std::sqrt(static_cast<double>(
                                                     shape.headDim))));
      auto truth = llvm::cantFail(reference::attention(
          reference::Tensor64::from(q.host), reference::Tensor64::from(k.host),
          reference::Tensor64::from(v->host), options));
      for (int64_t n = 0; n < o.numElements(); ++n)
        if (isEmpty(n / shape.valueDim)) {
          ASSERT_EQ(o.get(n), 0.0) << n;
          ASSERT_EQ(truth.o.data[n], 0.0) << n;
        } else if (v == &poison && keys &&
                   std::isfinite(truth.lse.data[n / shape.valueDim])) {
          ASSERT_FALSE(std::isfinite(o.get(n))) << n;
        }
    }
  }
}

TEST_P(MinusInfinity, RowsOfNothingElseAreEmpty) {
  size_t turn = llvm::hash_value(llvm::StringRef(GetParam())) % 3;
  for (const FormShape &shape : kFormShapes)
    for (const Extra &extra : {Extra{"", ""}, Extra{"causal(bottom_right)", ""},
                               Extra{"sink(%sink : tensor<HEADSxf32>)",
                                     ", %sink: tensor<HEADSxf32>"}})
      for (bool byProgram : {true, false}) {
        if (std::string(GetParam()) != "native" && !runAll() && ++turn % 3)
          continue;
        std::string heads = std::to_string(shape.heads);
        auto fill = [&](std::string text) {
          if (size_t at = text.find("HEADS"); at != std::string::npos)
            text.replace(at, 5, heads);
          return text;
        };
        std::string clause = fill(extra.clause), more = fill(extra.arguments);
        for (Lowering lowering : {Lowering::Fused, Lowering::Twin})
          checkRows(GetParam(), lowering, shape, {clause.c_str(), more.c_str()},
                    byProgram);
        if (HasFailure())
          return;
      }
}

/// Keys with scores of -inf and finite values weigh nothing among others, at
/// the beginning of a row, where they fill whole blocks, and in its middle.
TEST_P(MinusInfinity, WeighsNothingAmongOthers) {
  for (const FormShape &shape : kFormShapes) {
    AttentionGraph graph = shape.graph();
    auto module = compile(graph.text(), GetParam());
    ASSERT_TRUE(module);
    for (auto [rows, keys] : formLengths(shape)) {
      SCOPED_TRACE("Sq " + std::to_string(rows) + ", Skv " +
                   std::to_string(keys));
      Operand q(shape.type, {1, shape.heads, rows, shape.headDim}, true,
                [](int64_t n) { return std::abs(patternAt(0, n)) + 0.5; });
      Operand k(shape.type, {1, shape.keyHeads, keys, shape.headDim}, false,
                [&, keys = keys](int64_t n) {
                  int64_t j = n / shape.headDim % keys;
                  bool none = j < keys / 2 || j % 5 == 0;
                  return none && n % shape.headDim == 0 ? -kInfinity
                                                        : patternAt(1, n);
                });
      Operand v(shape.type, {1, shape.keyHeads, keys, shape.valueDim}, true,
                pattern(2));
      reference::AttentionOptions options;
      options.scale = 0.25;
      expectAttention(run(*module, {q.view, k.view, v.view}, shape.type,
                          {1, shape.heads, rows, shape.valueDim}),
                      q, k, v, options,
                      attentionBound(shape.type, 1.5) *
                          std::max(1.0, 0.25 * std::sqrt(static_cast<double>(
                                                   shape.headDim))));
    }
    if (HasFailure())
      return;
  }
}

/// The log-sum-exp of such rows is -inf, or the sink.
TEST_P(MinusInfinity, LogSumExp) {
  for (ElementType type : {ElementType::f32, ElementType::bf16})
    for (bool hasSink : {false, true})
      for (int64_t rows : {1, 70})
        for (Lowering lowering : {Lowering::Fused, Lowering::Twin}) {
          std::string name = elementTypeName(type).str();
          std::string q =
              "tensor<1x2x" + std::to_string(rows) + "x64x" + name + ">";
          std::string k = "tensor<1x2x?x64x" + name + ">";
          std::string l = "tensor<1x2x" + std::to_string(rows) + "xf32>";
          auto module = compile(
              "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + k +
                  ", %sink: tensor<2xf32>) -> (" + q + ", " + l +
                  ") {\n%x = tensor.empty() : " + q +
                  "\n%y = tensor.empty() : " + l +
                  "\n%o:2 = attn.attention ins(%q, %k, %v : " + q + ", " + k +
                  ", " + k + ") outs(%x, %y : " + q + ", " + l +
                  ") scale 0.125" +
                  (hasSink ? " sink(%sink : tensor<2xf32>)" : "") + " -> " + q +
                  ", " + l + "\nreturn %o#0, %o#1 : " + q + ", " + l + "\n}\n",
              GetParam(), lowering);
          ASSERT_TRUE(module);
          for (int64_t keys : {3, 100, 5000}) {
            // Head 1 has scores of -inf alone.
            Operand queries(type, {1, 2, rows, 64}, true, [&](int64_t n) {
              return n < rows * 64 ? patternAt(0, n)
                     : n % 64      ? 0.0
                                   : -kInfinity;
            });
            Operand kv(type, {1, 2, keys, 64}, true, [](int64_t n) {
              return std::abs(patternAt(1, n)) + 0.5;
            });
            Operand values(type, {1, 2, keys, 64}, true, [&](int64_t n) {
              return n < keys * 64 ? patternAt(2, n) : kInfinity;
            });
            Operand sink(ElementType::f32, llvm::ArrayRef<int64_t>{2}, true,
                         pattern(3));
            Operand o(type, {1, 2, rows, 64}, true,
                      [](int64_t) { return NAN; });
            Operand lse(ElementType::f32, {1, 2, rows}, true,
                        [](int64_t) { return NAN; });
            TensorView outputs[] = {o.view, lse.view};
            llvm::Error error = module->run(
                "f", {queries.view, kv.view, values.view, sink.view}, outputs);
            ASSERT_FALSE(static_cast<bool>(error))
                << llvm::toString(std::move(error));
            reference::AttentionOptions options;
            options.scale = 0.125;
            if (hasSink)
              options.sink = reference::Tensor64::from(sink.host).data;
            auto expected = llvm::cantFail(reference::attention(
                reference::Tensor64::from(queries.host),
                reference::Tensor64::from(kv.host),
                reference::Tensor64::from(values.host), options));
            Comparison sums = compare(lse.fetch(), expected.lse.data);
            double bound =
                lseBound(ElementType::f32, type, sums.maxAbsExpected);
            EXPECT_TRUE(sums.within(bound)) << sums.describe(bound);
            EXPECT_EQ(lse.host.get(rows),
                      hasSink ? sink.host.get(1) : -kInfinity);
            Comparison output = compare(o.fetch(), expected.o.data);
            bound = 2 * attentionBound(type, 1.5);
            EXPECT_TRUE(output.within(bound)) << output.describe(bound);
          }
        }
}

INSTANTIATE_FORMS_TESTS(MinusInfinity);

} // namespace
