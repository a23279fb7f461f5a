//===- PairedTest.cpp - Attention by products of bf16 pairs ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels bf16_tiles (AMX) and bf16_vectors (AVX512-BF16) against the f64
// reference: panels and groups of every raggedness, programs, keys that move
// the maximum late, and what must not leak from padding and hidden keys.
//
//===----------------------------------------------------------------------===//

#include "NumericsTest.h"

#include <cmath>

using namespace attn;
using attn::reference::Tensor64;
using namespace attn::test;

namespace {

constexpr ElementType bf16 = ElementType::bf16;
using Shape = llvm::SmallVector<int64_t>;

struct Config {
  /// Of the kernel; tests need a host that has it.
  const char *name, *target, *kernel, *registers;
};
void PrintTo(const Config &config, std::ostream *os) { *os << config.name; }
constexpr Config kConfigs[] = {
    {"tiles", "sapphirerapids", "bf16_tiles", "2, 2"},
    {"vectors", "cooperlake", "bf16_vectors", "8, 2"},
    {"narrow_tiles", "sapphirerapids", "bf16_tiles", "1, 2"},
};

/// Two query heads of one key head; `clause` is the softmax's, `scoreOp` makes
/// %t of %s.
std::string graph(int64_t headDim, int64_t valueDim, const std::string &clause,
                  const std::string &extra = "",
                  const std::string &scoreOp = "") {
  auto tensor = [](int64_t heads, int64_t dim) {
    return "tensor<?x" + std::to_string(heads) + "x?x" + std::to_string(dim) +
           "xbf16>";
  };
  std::string q = tensor(2, headDim), k = tensor(1, headDim),
              v = tensor(1, valueDim), o = tensor(2, valueDim),
              s = "tensor<?x2x?x?xf32>";
  return "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v + extra +
         ") -> " + o + " {\n%s = attn.qk %q, %k : " + q + ", " + k + " -> " +
         s + "\n" +
         (scoreOp.empty() ? "%t = attn.scale %s by 0.25 : " + s : scoreOp) +
         "\n%p = attn.masked_softmax %t " + clause + " : " + s +
         "\n%o = attn.weighted_sum %p, %v : " + s + ", " + v + " -> " + o +
         "\nreturn %o : " + o + "\n}\n";
}

HostTensor run(CompiledModule &module, std::vector<CallArgument> inputs,
               const Shape &shape, unsigned threads = 1) {
  Operand o(bf16, shape, true, [](int64_t) { return NAN; });
  RunConfig config;
  config.threads = threads;
  llvm::Error error = module.run("f", inputs, o.view, config);
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  o.fetch();
  return std::move(o.host);
}

class Paired : public testing::TestWithParam<Config> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(GetParam().target); }

  /// With blocks of `keys` keys and tiles of `rows` rows.
  std::unique_ptr<CompiledModule> compileGraph(const std::string &text,
                                               int64_t rows, int64_t keys) {
    const Config &config = GetParam();
    return compile(text, config.target, Lowering::Fused,
                   "#attn.schedule<kernel = " + std::string(config.kernel) +
                       ", tile = [" + std::to_string(rows) + ", " +
                       std::to_string(keys) + "], registers = [" +
                       config.registers + "], lanes = 16>");
  }
};

std::function<double(int64_t)> pattern(int64_t seed, double factor = 1.0) {
  return [=](int64_t n) { return patternAt(seed, n) * factor; };
}

/// Runs `module` on patterns and compares with the reference.
void check(CompiledModule &module, const Operand &q, const Operand &k,
           const Operand &v, const reference::AttentionOptions &options,
           std::vector<CallArgument> more = {}, const Operand *cleanK = nullptr,
           const Operand *cleanV = nullptr) {
  Shape shape(q.view.shape.begin(), q.view.shape.end());
  shape.back() = v.view.shape.back();
  std::vector<CallArgument> inputs{q.view, k.view, v.view};
  inputs.insert(inputs.end(), more.begin(), more.end());
  auto expected = llvm::cantFail(reference::attention(
      Tensor64::from(q.host), Tensor64::from(cleanK ? cleanK->host : k.host),
      Tensor64::from(cleanV ? cleanV->host : v.host), options));
  Comparison comparison = compare(run(module, inputs, shape), expected.o.data);
  double bound = attentionBound(bf16, 1.5);
  EXPECT_TRUE(comparison.within(bound)) << comparison.describe(bound);
}

/// Dims below, at and above whole tiles and panels; lengths of one row, of
/// ragged groups and panels, of several blocks, and of nothing.
TEST_P(Paired, MatchesF64) {
  constexpr std::pair<int64_t, int64_t> dims[] = {
      {64, 64}, {40, 24}, {128, 128}, {96, 80}, {288, 272}};
  constexpr std::pair<int64_t, int64_t> lengths[] = {
      {1, 1},   {3, 0},   {0, 5},    {33, 31},
      {31, 33}, {64, 64}, {70, 129}, {9, 300}};
  const struct {
    const char *clause, *scoreOp;
  } programs[] = {
      {"", ""},
      {"causal(bottom_right)", ""},
      {"causal(top_left) window[40, 0]", ""},
      {"causal(bottom_right)",
       "%u = attn.scale %s by 0.25 : tensor<?x2x?x?xf32>\n"
       "%t = attn.softcap %u at 2.0 : tensor<?x2x?x?xf32>"},
      {"", "%t = attn.scale %s by -0.25 : tensor<?x2x?x?xf32>"},
      {"", "%t = attn.scale %s by 0.0 : tensor<?x2x?x?xf32>"},
  };
  for (auto [n, dim] : llvm::enumerate(dims))
    for (auto [m, program] : llvm::enumerate(programs)) {
      if (!runAll() && n > 1 && m != 2 * n - 3)
        continue;
      SCOPED_TRACE("D " + std::to_string(dim.first) + ", " + program.clause +
                   program.scoreOp);
      auto module = compileGraph(
          graph(dim.first, dim.second, program.clause, "", program.scoreOp),
          n % 2 ? 32 : 64, m % 2 ? 64 : 128);
      ASSERT_TRUE(module);
      for (auto [sq, skv] : lengths) {
        SCOPED_TRACE("Sq " + std::to_string(sq) + ", Skv " +
                     std::to_string(skv));
        reference::AttentionOptions options;
        options.scale = m == 4 ? -0.25 : m == 5 ? 0.0 : 0.25;
        if (m == 1 || m == 3)
          options.mask = reference::causalBottomRight(sq, skv);
        if (m == 2)
          options.mask = reference::window(40, 0);
        if (m == 3)
          options.score = [](double s, int64_t, int64_t, int64_t, int64_t) {
            return 2 * std::tanh(s / 2);
          };
        bool flush = (sq + skv) % 2;
        check(*module, Operand(bf16, {2, 2, sq, dim.first}, flush, pattern(0)),
              Operand(bf16, {2, 1, skv, dim.first}, flush, pattern(1)),
              Operand(bf16, {2, 1, skv, dim.second}, !flush, pattern(2)),
              options);
      }
      if (HasFailure())
        return;
    }
}

/// A scale whose inverse is beyond f32 weighs all keys the same.
TEST_P(Paired, TinyScale) {
  constexpr int64_t rows = 33, keys = 145, dim = 64;
  std::string q = "tensor<1x2x?x64xbf16>", k = "tensor<1x1x?x64xbf16>";
  auto module = compileGraph(
      "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + k + ") -> " + q +
          " {\n%c2 = arith.constant 2 : index\n%n = tensor.dim %q, %c2 : " + q +
          "\n%e = tensor.empty(%n) : " + q +
          "\n%o = attn.attention ins(%q, %k, %v : " + q + ", " + k + ", " + k +
          ") outs(%e : " + q + ") scale 1.0e-39 -> " + q +
          "\nreturn %o : " + q + "\n}\n",
      32, 64);
  ASSERT_TRUE(module);
  reference::AttentionOptions options;
  options.scale = 1.0e-39;
  check(*module, Operand(bf16, {1, 2, rows, dim}, true, pattern(0)),
        Operand(bf16, {1, 1, keys, dim}, true, pattern(1)),
        Operand(bf16, {1, 1, keys, dim}, true, pattern(2)), options);
}

/// Keys whose scores grow with their number take the exact path again and
/// again, in every panel and across blocks, with the sums of the panels before
/// under way.
TEST_P(Paired, MaximumMovesLate) {
  constexpr int64_t rows = 70, keys = 260, dim = 64;
  auto module = compileGraph(graph(dim, dim, ""), 64, 128);
  ASSERT_TRUE(module);
  for (int64_t step : {1, 5, 32, 33, 100}) {
    SCOPED_TRACE("every " + std::to_string(step) + " keys");
    Operand q(bf16, {1, 2, rows, dim}, true, [](int64_t) { return 1.0; });
    // Scores grow by 0.25 * 64 * 0.5 = 8 a step.
    Operand k(bf16, {1, 1, keys, dim}, true,
              [=](int64_t n) { return 0.5 * (n / dim / step); });
    Operand v(bf16, {1, 1, keys, dim}, true, pattern(2));
    reference::AttentionOptions options;
    options.scale = 0.25;
    check(*module, q, k, v, options);
  }
}

/// Whatever stands in hidden keys and values, in the same panel or another.
TEST_P(Paired, HiddenMeansAbsent) {
  constexpr int64_t rows = 40, keys = 150, dim = 48;
  auto module = compileGraph(
      graph(dim, dim, "lengths(%n : tensor<?xi32>)", ", %n: tensor<?xi32>"), 32,
      64);
  auto causal =
      compileGraph(graph(dim, dim, "causal(offset %n : tensor<?xi32>)",
                         ", %n: tensor<?xi32>"),
                   64, 128);
  ASSERT_TRUE(module && causal);
  for (double poison : {(double)NAN, (double)INFINITY, (double)-INFINITY})
    for (int64_t length : {0, 1, 31, 32, 37, 64, 149}) {
      SCOPED_TRACE("length " + std::to_string(length));
      auto poisoned = [&](int64_t seed) {
        return [=](int64_t n) {
          return n / dim >= length ? poison : patternAt(seed, n);
        };
      };
      Operand q(bf16, {1, 2, rows, dim}, true, pattern(0));
      Operand k(bf16, {1, 1, keys, dim}, true, poisoned(1));
      Operand v(bf16, {1, 1, keys, dim}, true, poisoned(2));
      Operand cleanK(bf16, {1, 1, keys, dim}, true, pattern(1));
      Operand cleanV(bf16, {1, 1, keys, dim}, true, pattern(2));
      reference::AttentionOptions options;
      options.scale = 0.25;
      {
        Operand n(ElementType::i32, {1}, true, [&](int64_t) { return length; });
        options.mask = reference::lengths({length});
        check(*module, q, k, v, options, {n.view}, &cleanK, &cleanV);
      }
      // The last row sees `length` keys, the others fewer.
      Operand n(ElementType::i32, {1}, true,
                [&](int64_t) { return length - rows; });
      options.mask = reference::causal(length - rows);
      check(*causal, q, k, v, options, {n.view}, &cleanK, &cleanV);
    }
}

/// A NaN or an infinity in a visible element reaches the rows that see it.
TEST_P(Paired, VisibleNonFiniteReachesItsRowsOnly) {
  constexpr int64_t rows = 70, keys = 70, dim = 32, at = 37;
  auto module = compileGraph(graph(dim, dim, "causal(top_left)"), 64, 64);
  ASSERT_TRUE(module);
  for (double poison : {(double)NAN, (double)INFINITY}) {
    Operand q(bf16, {1, 2, rows, dim}, true, pattern(0));
    Operand k(bf16, {1, 1, keys, dim}, true, pattern(1));
    Operand v(bf16, {1, 1, keys, dim}, true, [&](int64_t n) {
      return n == at * dim + 5 ? poison : patternAt(2, n);
    });
    HostTensor o = run(*module, {q.view, k.view, v.view}, {1, 2, rows, dim});
    for (int64_t n = 0; n < o.numElements(); ++n) {
      int64_t row = n / dim % rows, d = n % dim;
      bool expected = row >= at && d == 5;
      EXPECT_EQ(!std::isfinite(o.get(n)), expected)
          << "row " << row << ", " << d;
    }
  }
}

TEST_P(Paired, SameBitsForThreadsAndBatch) {
  constexpr int64_t batch = 3, rows = 130, keys = 600, dim = 64;
  auto module = compileGraph(graph(dim, dim, "causal(bottom_right)"), 32, 128);
  ASSERT_TRUE(module);
  Operand q(bf16, {batch, 2, rows, dim}, true, pattern(0));
  Operand k(bf16, {batch, 1, keys, dim}, true, pattern(1));
  Operand v(bf16, {batch, 1, keys, dim}, true, pattern(2));
  Shape shape{batch, 2, rows, dim};
  HostTensor one = run(*module, {q.view, k.view, v.view}, shape, 1);
  for (unsigned threads : {2u, 4u}) {
    HostTensor many = run(*module, {q.view, k.view, v.view}, shape, threads);
    EXPECT_EQ(memcmp(one.data(), many.data(), one.sizeInBytes()), 0)
        << threads << " threads";
  }
  for (int64_t b = 0; b < batch; ++b) {
    auto slice = [&](Operand &operand) {
      TensorView view = operand.view;
      view.data = static_cast<char *>(view.data) +
                  b * view.strides[0] * elementSize(view.type);
      view.shape[0] = 1;
      return view;
    };
    HostTensor alone =
        run(*module, {slice(q), slice(k), slice(v)}, {1, 2, rows, dim});
    EXPECT_EQ(
        memcmp(static_cast<const char *>(one.data()) + b * alone.sizeInBytes(),
               alone.data(), alone.sizeInBytes()),
        0)
        << "element " << b;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Paired, testing::ValuesIn(kConfigs),
                         [](const testing::TestParamInfo<Config> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
