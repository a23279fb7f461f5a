//===- LinearAttentionTest.cpp - Linear attention, against f64 ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every update rule with every kernel, over lengths around chunks and shapes
// around vectors, and what a recurrence could lose: the states of strong decays
// and long memories, NaN of later tokens, bits.
//
//===----------------------------------------------------------------------===//

#include "NumericsTest.h"

#include "llvm/ADT/SmallVector.h"
#include <cmath>
#include <optional>

using namespace attn;
using namespace attn::test;
using reference::Tensor64;

namespace {

enum class Decay { None, Token, Row };

/// One graph. Batch and length are unknown to it but for `tokens`.
struct Graph {
  Decay decay = Decay::None;
  bool beta = false, initial = true, final = true;
  int64_t heads = 2, keyHeads = 1, keyDim = 16, valueDim = 24;
  ElementType type = ElementType::f32, stateType = ElementType::f32;
  std::string tokens = "?", schedule;

  static std::string tensor(const std::string &extents, ElementType type) {
    return "tensor<" + extents + "x" + elementTypeName(type).str() + ">";
  }
  std::string text() const {
    auto number = [](int64_t n) { return std::to_string(n); };
    std::string k = "?x" + number(keyHeads) + "x" + tokens;
    std::string h = "?x" + number(heads) + "x" + tokens;
    std::string q = tensor(h + "x" + number(keyDim), type);
    std::string key = tensor(k + "x" + number(keyDim), type);
    std::string v = tensor(k + "x" + number(valueDim), type);
    std::string o = tensor(h + "x" + number(valueDim), type);
    std::string s = tensor("?x" + number(keyHeads) + "x" + number(keyDim) +
                               "x" + number(valueDim),
                           stateType);
    std::string g =
        tensor(decay == Decay::Row ? k + "x" + number(keyDim) : k, type);
    std::string beta = tensor(k, type);
    std::string results = final ? o + ", " + s : o;
    std::string text = "func.func @f(%q: " + q + ", %k: " + key + ", %v: " + v;
    if (decay != Decay::None)
      text += ", %g: " + g;
    if (this->beta)
      text += ", %beta: " + beta;
    if (initial)
      text += ", %s0: " + s;
    text += ") -> (" + results +
            ") {\n"
            "%c0 = arith.constant 0 : index\n"
            "%c2 = arith.constant 2 : index\n"
            "%b = tensor.dim %q, %c0 : " +
            q + "\n";
    if (tokens == "?")
      text += "%n = tensor.dim %q, %c2 : " + q +
              "\n%o0 = tensor.empty(%b, %n) "
              ": " +
              o + "\n";
    else
      text += "%o0 = tensor.empty(%b) : " + o + "\n";
    text += "%f0 = tensor.empty(%b) : " + s + "\n%r" + (final ? ":2" : "") +
            " = attn.linear_attention ins(%q, %k, %v : " + q + ", " + key +
            ", " + v + ") outs(%o0" + (final ? ", %f0" : "") + " : " + results +
            ") scale 0.25";
    if (decay != Decay::None)
      text += " decay(%g : " + g + ")";
    if (this->beta)
      text += " beta(%beta : " + beta + ")";
    if (initial)
      text += " initial(%s0 : " + s + ")";
    if (!schedule.empty())
      text += " schedule(" + schedule + ")";
    return text + " -> " + results + "\nreturn " +
           (final ? "%r#0, %r#1" : "%r") + " : " + results + "\n}\n";
  }
};

using Values = std::function<double(int64_t)>;

Values pattern(int64_t seed, double factor, double shift = 0.0) {
  return [=](int64_t n) { return patternAt(seed, n) * factor + shift; };
}

/// Operands and results of one call.
struct Call {
  Call(const Graph &graph, int64_t batch, int64_t tokens, Values decay,
       Values value = pattern(2, 1.0))
      : graph(graph), flush(tokens % 2),
        // Keys of about length 1.
        q(graph.type, {batch, graph.heads, tokens, graph.keyDim}, flush,
          pattern(0, 1.0)),
        k(graph.type, {batch, graph.keyHeads, tokens, graph.keyDim}, !flush,
          pattern(1, 1 / std::sqrt(double(graph.keyDim)))),
        v(graph.type, {batch, graph.keyHeads, tokens, graph.valueDim}, flush,
          value),
        g(graph.type,
          graph.decay == Decay::Row
              ? Shape{batch, graph.keyHeads, tokens, graph.keyDim}
              : Shape{batch, graph.keyHeads, tokens},
          flush, decay),
        beta(graph.type, {batch, graph.keyHeads, tokens}, !flush,
             pattern(4, 0.3, 0.5)),
        initial(graph.stateType,
                {batch, graph.keyHeads, graph.keyDim, graph.valueDim}, flush,
                pattern(5, 1.0)),
        o(graph.type, {batch, graph.heads, tokens, graph.valueDim}, flush,
          [](int64_t) { return NAN; }),
        state(graph.stateType,
              {batch, graph.keyHeads, graph.keyDim, graph.valueDim}, !flush,
              [](int64_t) { return NAN; }) {}

  /// Runs element `b` of the batch, or all of it.
  void run(CompiledModule &module, unsigned threads = 1,
           std::optional<int64_t> b = {}) {
    auto part = [&](Operand &operand) {
      TensorView view = operand.view;
      if (b) {
        view.data = static_cast<char *>(view.data) +
                    *b * view.strides[0] * elementSize(view.type);
        view.shape[0] = 1;
      }
      return view;
    };
    std::vector<CallArgument> inputs{part(q), part(k), part(v)};
    if (graph.decay != Decay::None)
      inputs.push_back(part(g));
    if (graph.beta)
      inputs.push_back(part(beta));
    if (graph.initial)
      inputs.push_back(part(initial));
    std::vector<TensorView> outputs{part(o)};
    if (graph.final)
      outputs.push_back(part(state));
    RunConfig config;
    config.threads = threads;
    llvm::Error error = module.run("f", inputs, outputs, config);
    EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    o.fetch();
    state.fetch();
  }

  reference::LinearAttentionResult expected() const {
    reference::LinearAttentionOptions options;
    options.scale = 0.25;
    if (graph.decay != Decay::None)
      options.decay = Tensor64::from(g.host);
    if (graph.beta)
      options.beta = Tensor64::from(beta.host);
    if (graph.initial)
      options.initial = Tensor64::from(initial.host);
    return llvm::cantFail(reference::linearAttention(
        Tensor64::from(q.host), Tensor64::from(k.host), Tensor64::from(v.host),
        options));
  }

  /// Compares both results, within the bound of attention for numbers as large
  /// as these, `factor` times.
  void expect(double factor = 1.0) {
    auto check = [&](const HostTensor &got, const Tensor64 &expected) {
      Comparison comparison = compare(got, expected.data);
      double bound =
          factor *
          attentionBound(got.type(), std::max(1.0, comparison.maxAbsExpected));
      EXPECT_TRUE(comparison.within(bound)) << comparison.describe(bound);
    };
    reference::LinearAttentionResult result = expected();
    check(o.host, result.o);
    if (graph.final)
      check(state.host, result.state);
  }

  using Shape = llvm::SmallVector<int64_t>;
  const Graph &graph;
  bool flush;
  Operand q, k, v, g, beta, initial, o, state;
};

struct Rule {
  const char *name;
  Decay decay;
  bool beta;
};
constexpr Rule kRules[] = {{"linear", Decay::None, false},
                           {"gated", Decay::Token, false},
                           {"gated_rows", Decay::Row, false},
                           {"delta", Decay::None, true},
                           {"gated_delta", Decay::Token, true},
                           {"gated_delta_rows", Decay::Row, true}};

class LinearAttention : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(GetParam()); }
};

/// Lengths around chunks and vectors; every rule; heads in groups.
TEST_P(LinearAttention, MatchesF64) {
  struct Sizes {
    int64_t heads, keyHeads, keyDim, valueDim;
    ElementType type, stateType;
  };
  constexpr Sizes kSizes[] = {
      {4, 2, 16, 24, ElementType::f32, ElementType::f32},
      {2, 2, 64, 64, ElementType::f32, ElementType::f32},
      {3, 1, 13, 70, ElementType::f32, ElementType::f16},
      {2, 1, 40, 33, ElementType::bf16, ElementType::f32},
      {2, 2, 32, 128, ElementType::f16, ElementType::f16},
      {1, 1, 1, 1, ElementType::f32, ElementType::bf16}};
  for (const Rule &rule : kRules)
    for (auto [n, sizes] : llvm::enumerate(kSizes)) {
      // Named targets take a part of the shapes each.
      if (llvm::StringRef(GetParam()) != "native" && !runAll() &&
          (n + rule.name[0]) % 2)
        continue;
      Graph graph;
      graph.decay = rule.decay;
      graph.beta = rule.beta;
      graph.heads = sizes.heads;
      graph.keyHeads = sizes.keyHeads;
      graph.keyDim = sizes.keyDim;
      graph.valueDim = sizes.valueDim;
      graph.type = sizes.type;
      graph.stateType = sizes.stateType;
      graph.initial = n != 1;
      graph.final = n != 0;
      SCOPED_TRACE(std::string(rule.name) + "\n" + graph.text());
      auto module = compile(graph.text(), GetParam());
      ASSERT_TRUE(module);
      for (int64_t tokens : {0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 130}) {
        SCOPED_TRACE(std::to_string(tokens) + " tokens");
        Call call(graph, tokens == 33 ? 3 : 1, tokens, pattern(3, 0.2, -0.3));
        call.run(*module);
        call.expect();
      }
      Call none(graph, 0, 5, pattern(3, 0.2, -0.3));
      none.run(*module);
    }
}

/// A length that is known, down to the single token of a decoding step.
TEST_P(LinearAttention, KnownLengths) {
  for (const Rule &rule : kRules)
    for (int64_t tokens : {0, 1, 7, 40}) {
      Graph graph;
      graph.decay = rule.decay;
      graph.beta = rule.beta;
      graph.tokens = std::to_string(tokens);
      SCOPED_TRACE(std::string(rule.name) + "\n" + graph.text());
      auto module = compile(graph.text(), GetParam());
      ASSERT_TRUE(module);
      Call call(graph, 2, tokens, pattern(3, 0.2, -0.3));
      call.run(*module);
      call.expect();
    }
}

/// Gates that forget everything at once, keep everything, grow, or take turns.
TEST_P(LinearAttention, Decays) {
  const std::pair<const char *, Values> kDecays[] = {
      {"-80", [](int64_t) { return -80.0; }},
      {"0", [](int64_t) { return 0.0; }},
      {"-inf", [](int64_t) { return -INFINITY; }},
      {"-3", [](int64_t) { return -3.0; }},
      {"-0.001", [](int64_t) { return -0.001; }},
      {"0.05", [](int64_t) { return 0.05; }},
      {"-80 once", [](int64_t n) { return n % 37 == 5 ? -80.0 : -0.01; }},
      {"-inf once", [](int64_t n) { return n % 37 == 5 ? -INFINITY : -0.01; }},
      {"+-30", [](int64_t n) { return n % 2 ? 30.0 : -30.5; }}};
  for (const Rule &rule : kRules) {
    if (rule.decay == Decay::None)
      continue;
    Graph graph;
    graph.decay = rule.decay;
    graph.beta = rule.beta;
    auto module = compile(graph.text(), GetParam());
    ASSERT_TRUE(module);
    for (const auto &[name, decay] : kDecays) {
      // Rows of the delta rule that grow apart diverge.
      bool grows = decay(0) > 0 || decay(1) > 0;
      if (grows && rule.beta)
        continue;
      SCOPED_TRACE(std::string(rule.name) + ", decay " + name);
      int64_t rows = rule.decay == Decay::Row ? graph.keyDim : 1;
      Call call(graph, 1, 130,
                [&, decay = decay](int64_t n) { return decay(n / rows); });
      call.run(*module);
      call.expect();
    }
  }
}

/// Gates near 1 are multiplied thousands of times.
TEST_P(LinearAttention, LongMemory) {
  for (const Rule &rule : kRules) {
    if (rule.decay == Decay::None)
      continue;
    Graph graph;
    graph.decay = rule.decay;
    graph.beta = rule.beta;
    auto module = compile(graph.text(), GetParam());
    auto twin = compile(graph.text(), "native", Lowering::Twin);
    ASSERT_TRUE(module && twin);
    for (double decay : {0.0, -1e-4, -1e-3}) {
      SCOPED_TRACE(std::string(rule.name) + ", decay " + std::to_string(decay));
      Call call(graph, 1, 3000, [=](int64_t) { return decay; });
      call.run(*twin);
      reference::LinearAttentionResult expected = call.expected();
      double error = compare(call.o.host, expected.o.data).maxAbs;
      call.run(*module);
      Comparison comparison = compare(call.o.host, expected.o.data);
      double bound =
          graphBound(ElementType::f32, comparison.maxAbsExpected, error);
      EXPECT_TRUE(comparison.within(bound)) << comparison.describe(bound);
    }
  }
}

/// What comes later reaches no result, NaN included.
TEST_P(LinearAttention, LaterTokensAreAbsent) {
  constexpr int64_t tokens = 50, spoilt = 21;
  for (const Rule &rule : kRules) {
    Graph graph;
    graph.decay = rule.decay;
    graph.beta = rule.beta;
    graph.heads = 1;
    auto module = compile(graph.text(), GetParam());
    ASSERT_TRUE(module);
    Call clean(graph, 1, tokens, pattern(3, 0.2, -0.3));
    clean.run(*module);
    Call call(graph, 1, tokens, pattern(3, 0.2, -0.3), [&](int64_t n) {
      return n / graph.valueDim == spoilt ? NAN : patternAt(2, n);
    });
    call.run(*module);
    SCOPED_TRACE(rule.name);
    std::vector<double> got = call.o.host.toDoubles(),
                        expected = clean.o.host.toDoubles();
    for (size_t n = 0; n < got.size(); ++n) {
      if (static_cast<int64_t>(n) / graph.valueDim < spoilt)
        ASSERT_EQ(got[n], expected[n]) << n;
      else
        ASSERT_TRUE(std::isnan(got[n])) << n;
    }
  }
}

/// The same bits for any number of threads, which may cut a state into columns,
/// and for an element of the batch alone.
TEST_P(LinearAttention, KeepsBits) {
  for (const Rule &rule : kRules) {
    Graph graph;
    graph.decay = rule.decay;
    graph.beta = rule.beta;
    graph.valueDim = 150;
    auto module = compile(graph.text(), GetParam());
    ASSERT_TRUE(module);
    SCOPED_TRACE(rule.name);
    Call one(graph, 2, 70, pattern(3, 0.2, -0.3));
    one.run(*module);
    for (unsigned threads : {2u, 5u}) {
      Call many(graph, 2, 70, pattern(3, 0.2, -0.3));
      many.run(*module, threads);
      EXPECT_EQ(memcmp(one.o.host.data(), many.o.host.data(),
                       one.o.host.sizeInBytes()),
                0)
          << threads << " threads";
      EXPECT_EQ(memcmp(one.state.host.data(), many.state.host.data(),
                       one.state.host.sizeInBytes()),
                0)
          << threads << " threads";
    }
    Call parts(graph, 2, 70, pattern(3, 0.2, -0.3));
    for (int64_t b : {1, 0})
      parts.run(*module, 1, b);
    EXPECT_EQ(memcmp(one.o.host.data(), parts.o.host.data(),
                     one.o.host.sizeInBytes()),
              0);
  }
}

/// Both kernels, chunks and register tiles of several sizes.
TEST_P(LinearAttention, Schedules) {
  llvm::Expected<Target> target = resolveTarget(GetParam());
  ASSERT_TRUE(static_cast<bool>(target));
  std::string lanes = GetParam() == llvm::StringRef("x86-64")      ? "4"
                      : GetParam() == llvm::StringRef("x86-64-v3") ? "8"
                                                                   : "16";
  if (GetParam() == llvm::StringRef("native"))
    GTEST_SKIP() << "lanes of the named targets are known";
  for (const Rule &rule : kRules)
    for (std::string kernel :
         {"recurrent_state, tile = [5, 64], registers = [1, 1]",
          "recurrent_state, tile = [48, 128], registers = [4, 2]",
          "chunked_state, tile = [16, 64], registers = [3, 1]",
          "chunked_state, tile = [64, 128], registers = [6, 2]"}) {
      if (kernel[0] == 'c' && (rule.beta || rule.decay == Decay::Row))
        continue;
      Graph graph;
      graph.decay = rule.decay;
      graph.beta = rule.beta;
      graph.valueDim = 150;
      graph.schedule = "<kernel = " + kernel + ", lanes = " + lanes + ">";
      SCOPED_TRACE(std::string(rule.name) + "\n" + graph.text());
      auto module = compile(graph.text(), GetParam());
      ASSERT_TRUE(module);
      Call call(graph, 1, 75, pattern(3, 0.2, -0.3));
      call.run(*module);
      call.expect();
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, LinearAttention, testing::ValuesIn(kTargets),
                         targetTestName);

} // namespace
