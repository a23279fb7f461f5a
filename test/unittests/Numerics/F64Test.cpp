//===- F64Test.cpp - What is special to attention in f64 ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The grids of the other files have f64 among their types. Here are its
// functions, against libm, and what has f64 beside other types.
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"

#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

constexpr ElementType f64 = ElementType::f64;

class F64 : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(GetParam()); }

  /// `f` of one feature, whose result is the score program's value for the
  /// query: `lines` make %y of %s. Rows of queries in lanes, or a few.
  std::unique_ptr<CompiledModule> compileFunction(const std::string &lines,
                                                  const std::string &rows) {
    std::string q = "tensor<1x1x" + rows + "x1xf64>", k = "tensor<1x1x1x1xf64>";
    return compile("func.func @f(%q: " + q + ", %k: " + k + ") -> " + q +
                       " {\n%c2 = arith.constant 2 : index\n" +
                       (rows == "?" ? "%n = tensor.dim %q, %c2 : " + q +
                                          "\n%init = tensor.empty(%n) : " + q
                                    : "%init = tensor.empty() : " + q) +
                       "\n%o = attn.attention ins(%q, %k, %k : " + q + ", " +
                       k + ", " + k + ") outs(%init : " + q +
                       ") scale 1.0 unnormalized score {\n^bb0(%s: f64, %b: "
                       "index, %h: index, %i: index, %j: index):\n" +
                       lines + "\nattn.yield %y : f64\n} -> " + q +
                       "\nreturn %o : " + q + "\n}\n",
                   GetParam());
  }

  /// Values of `lines` for `inputs`, in f64.
  std::vector<double> evaluate(const std::string &lines,
                               const std::vector<double> &inputs) {
    auto module = compileFunction(lines, "?");
    if (!module)
      return {};
    auto rows = static_cast<int64_t>(inputs.size());
    Operand x(f64, {1, 1, rows, 1}, true, [&](int64_t n) { return inputs[n]; });
    Operand one(f64, {1, 1, 1, 1}, true, [](int64_t) { return 1; });
    return run(*module, {x.view, one.view}, f64, {1, 1, rows, 1}).toDoubles();
  }
};

/// Where a function is asked: everywhere, around its turning points, and at
/// what is no number.
std::vector<double> points(double from, double to) {
  std::vector<double> points{0.0,
                             -0.0,
                             1.0,
                             -1.0,
                             0.625,
                             -0.625,
                             0x1p-30,
                             0x1p-60,
                             -0x1p-60,
                             INFINITY,
                             -INFINITY,
                             NAN,
                             std::sqrt(0.5),
                             std::sqrt(2.0)};
  for (int n = 0; n <= 4000; ++n) {
    points.push_back(from + (to - from) * n / 4000);
    points.push_back(std::ldexp(1 + n / 4001.0, n % 40 - 30) *
                     (n % 2 ? 1 : -1));
  }
  return points;
}

struct Function {
  const char *name;
  double (*exact)(double);
  double from, to;
};

/// To 2 ulp of libm, on vectors of every target. Numbers below the normal ones
/// may become 0, and 2^x stops somewhere above 2^1023.
TEST_P(F64, Functions) {
  const Function functions[] = {
      {"exp", [](double x) { return std::exp(x); }, -750, 712},
      {"exp2", [](double x) { return std::exp2(x); }, -1030, 1022},
      {"log", [](double x) { return std::log(x); }, 1e-3, 3},
      {"tanh", [](double x) { return std::tanh(x); }, -22, 22}};
  for (const Function &function : functions) {
    SCOPED_TRACE(function.name);
    std::vector<double> inputs = points(function.from, function.to);
    if (function.name == llvm::StringRef("log"))
      for (double x : {0x1p-1074, 0x1p-1030, 0x1.8p-1023, 0x1.fffp1023})
        inputs.push_back(x);
    std::vector<double> results = evaluate(
        std::string("%y = math.") + function.name + " %s : f64", inputs);
    ASSERT_EQ(results.size(), inputs.size());
    for (auto [x, got] : llvm::zip(inputs, results)) {
      double expected = function.exact(x);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(got)) << x;
        continue;
      }
      // Some large number or an infinite one.
      if (function.name == llvm::StringRef("exp2") && x > 1023) {
        EXPECT_GE(got, 0x1p1023) << x;
        continue;
      }
      if (std::isinf(expected)) {
        EXPECT_EQ(got, expected) << x;
        continue;
      }
      double ulps = std::abs(got - expected) / ulpAt(f64, expected);
      bool isTiny = std::abs(expected) < 0x1.1p-1021;
      EXPECT_TRUE(ulps <= 2 || (isTiny && got == 0))
          << x << ": got " << got << ", expected " << expected << ", " << ulps
          << " ulp";
    }
  }
}

/// What has no expansion is libm's, lane by lane.
TEST_P(F64, OtherFunctions) {
  std::vector<double> inputs = points(-3, 3);
  std::vector<double> results = evaluate("%y = math.erf %s : f64", inputs);
  ASSERT_EQ(results.size(), inputs.size());
  for (auto [x, got] : llvm::zip(inputs, results)) {
    double expected = std::erf(x);
    EXPECT_TRUE(std::isnan(x) ? std::isnan(got) : got == expected) << x;
  }
}

/// Large scores that are close: in f32 they would be equal.
TEST_P(F64, ScoresInF64) {
  for (const char *rows : {"?", "1"}) {
    AttentionGraph graph;
    graph.headDim = graph.valueDim = 1;
    graph.queryRows = rows;
    graph.queryType = graph.type = f64;
    auto module = compile(graph.text(), GetParam());
    ASSERT_TRUE(module);
    Operand q(f64, {1, 1, 1, 1}, true, [](int64_t) { return 1; });
    Operand k(f64, {1, 1, 40, 1}, true,
              [](int64_t n) { return 1e9 + n / 16.0; });
    Operand v(f64, {1, 1, 40, 1}, true, [](int64_t n) { return n / 40.0; });
    reference::AttentionOptions options;
    options.scale = 1.0;
    expectAttention(run(*module, {q.view, k.view, v.view}, f64, {1, 1, 1, 1}),
                    q, k, v, options, attentionBound(f64, 1.0));
  }
}

/// Narrow values of f64 scores: computed in f64, rounded once.
TEST_P(F64, NarrowValues) {
  for (ElementType type :
       {ElementType::f32, ElementType::f16, ElementType::bf16})
    for (const char *rows : {"?", "1"})
      for (int64_t valueDim : {24, 40}) {
        SCOPED_TRACE(elementTypeName(type).str() + ", rows " + rows);
        auto tensor = [&](const char *rows, int64_t dim, ElementType type) {
          return AttentionGraph::tensor(
              std::string("?x2x") + rows + "x" + std::to_string(dim), type);
        };
        std::string q = tensor(rows, 20, f64), k = tensor("?", 20, f64),
                    v = tensor("?", valueDim, type),
                    o = tensor(rows, valueDim, type),
                    s = AttentionGraph::tensor(
                        std::string("?x2x") + rows + "x?", f64);
        auto module = compile(
            "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v + ") -> " +
                o + " {\n%s = attn.qk %q, %k : " + q + ", " + k + " -> " + s +
                "\n%p = attn.masked_softmax %s causal(bottom_right) : " + s +
                "\n%o = attn.weighted_sum %p, %v : " + s + ", " + v + " -> " +
                o + "\nreturn %o : " + o + "\n}\n",
            GetParam());
        ASSERT_TRUE(module);
        int64_t queryRows = rows[0] == '?' ? 37 : 1;
        Operand queries(f64, {2, 2, queryRows, 20}, true, pattern(0));
        Operand keys(f64, {2, 2, 70, 20}, true, pattern(1));
        Operand values(type, {2, 2, 70, valueDim}, true, pattern(2));
        reference::AttentionOptions options;
        options.scale = 1.0;
        options.mask = reference::causalBottomRight(queryRows, 70);
        Shape shape{2, 2, queryRows, valueDim};
        expectAttention(
            run(*module, {queries.view, keys.view, values.view}, type, shape),
            queries, keys, values, options, unitRoundoff(type) * 1.5 + 1e-12);
      }
}

/// The log-sum-exp of f64 scores in f64 and f32, alone and beside a program
/// that reads it.
TEST_P(F64, LogSumExp) {
  for (ElementType type : {ElementType::f64, ElementType::f32})
    for (const char *rows : {"?", "1"})
      for (bool squares : {false, true}) {
        SCOPED_TRACE(elementTypeName(type).str() + ", rows " + rows);
        std::string q = std::string("tensor<2x4x") + rows + "x16xf64>",
                    k = "tensor<2x2x?x16xf64>",
                    l = AttentionGraph::tensor(std::string("2x4x") + rows,
                                               type),
                    of = rows[0] == '?' ? "(%r) : " : "() : ";
        // Some rows see nothing.
        int64_t past = rows[0] == '?' ? -6 : 40;
        auto module = compile(
            "func.func @f(%q: " + q + ", %k: " + k + ") -> (" + q + ", " + l +
                ") {\n%c2 = arith.constant 2 : index\n%r = tensor.dim %q, "
                "%c2 : " +
                q + "\n%x = tensor.empty" + of + q + "\n%y = tensor.empty" +
                of + l + "\n%o:2 = attn.attention ins(%q, %k, %k : " + q +
                ", " + k + ", " + k + ") outs(%x, %y : " + q + ", " + l +
                ") scale 0.5 mask {\n^bb0(%b: index, %h: index, %i: index, "
                "%j: index):\n%past = arith.constant " +
                std::to_string(past) +
                " : index\n%m = arith.addi %i, %past : index\n"
                "%s = arith.cmpi slt, %j, %m : index\n"
                "attn.yield %s : i1\n}" +
                (squares ? " probability {\n^bb0(%p: f64, %b: index, %h: "
                           "index, %i: index, %j: index):\n%z = arith.mulf "
                           "%p, %p : f64\nattn.yield %z : f64\n}"
                         : "") +
                " -> " + q + ", " + l + "\nreturn %o#0, %o#1 : " + q + ", " +
                l + "\n}\n",
            GetParam());
        ASSERT_TRUE(module);
        int64_t queryRows = rows[0] == '?' ? 70 : 1;
        Operand queries(f64, {2, 4, queryRows, 16}, true, pattern(0));
        Operand values(f64, {2, 2, 45, 16}, false, pattern(1));
        Operand o(f64, {2, 4, queryRows, 16}, true, [](int64_t) { return 0; });
        Operand lse(type, {2, 4, queryRows}, true, [](int64_t) { return 0; });
        TensorView outputs[] = {o.view, lse.view};
        llvm::Error error =
            module->run("f", {queries.view, values.view}, outputs);
        ASSERT_FALSE(static_cast<bool>(error))
            << llvm::toString(std::move(error));
        reference::AttentionOptions options;
        options.scale = 0.5;
        options.mask = [=](int64_t, int64_t, int64_t i, int64_t j) {
          return j < i + past;
        };
        if (squares)
          options.probability = [](double p, int64_t, int64_t, int64_t,
                                   int64_t) { return p * p; };
        auto kv = reference::Tensor64::from(values.host);
        auto expected = llvm::cantFail(reference::attention(
            reference::Tensor64::from(queries.host), kv, kv, options));
        double bound = 2 * attentionBound(f64, 1.5);
        Comparison output = compare(o.fetch(), expected.o.data);
        EXPECT_TRUE(output.within(bound)) << output.describe(bound);
        Comparison sums = compare(lse.fetch(), expected.lse.data);
        bound = lseBound(type, type, sums.maxAbsExpected);
        EXPECT_TRUE(sums.within(bound)) << sums.describe(bound);
      }
}

INSTANTIATE_TEST_SUITE_P(Targets, F64, testing::ValuesIn(kTargets),
                         targetTestName);

} // namespace
