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

#include "AttentionGraph.h"

#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

constexpr ElementType bf16 = ElementType::bf16;

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

/// Two query heads of one key head; `clause` is the softmax's, `extra` an
/// argument after v, and `scoreOps` make %t of %u.
AttentionGraph graph(int64_t headDim, int64_t valueDim,
                     const std::string &clause = "",
                     const std::string &extra = "",
                     const std::string &scoreOps = "") {
  AttentionGraph graph;
  graph.heads = 2;
  graph.headDim = headDim;
  graph.valueDim = valueDim;
  graph.queryType = graph.type = bf16;
  graph.scale = "0.25";
  graph.clause = clause;
  graph.extra = extra;
  graph.scoreOps = scoreOps;
  return graph;
}

class Paired : public testing::TestWithParam<Config> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(GetParam().target); }

  /// With blocks of `keys` keys and tiles of `rows` rows.
  std::unique_ptr<CompiledModule> compileText(const std::string &text,
                                              int64_t rows, int64_t keys) {
    const Config &config = GetParam();
    return compile(text, config.target, Lowering::Fused,
                   "#attn.schedule<kernel = " + std::string(config.kernel) +
                       ", tile = [" + std::to_string(rows) + ", " +
                       std::to_string(keys) + "], registers = [" +
                       config.registers + "], lanes = 16>");
  }
  std::unique_ptr<CompiledModule> compileGraph(const AttentionGraph &graph,
                                               int64_t rows, int64_t keys) {
    return compileText(graph.text(), rows, keys);
  }
};

/// Runs `module` and compares with the reference, where `cleanK` and `cleanV`
/// stand for keys and values if they are given.
void check(CompiledModule &module, const Operand &q, const Operand &k,
           const Operand &v, const reference::AttentionOptions &options,
           std::vector<CallArgument> more = {}, const Operand *cleanK = nullptr,
           const Operand *cleanV = nullptr) {
  Shape shape(q.view.shape.begin(), q.view.shape.end());
  shape.back() = v.view.shape.back();
  std::vector<CallArgument> inputs{q.view, k.view, v.view};
  inputs.insert(inputs.end(), more.begin(), more.end());
  expectAttention(run(module, inputs, bf16, shape), q, cleanK ? *cleanK : k,
                  cleanV ? *cleanV : v, options, attentionBound(bf16, 1.5));
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
    const char *clause, *scale, *scoreOps;
  } programs[] = {
      {"", "0.25", ""},
      {"causal(bottom_right)", "0.25", ""},
      {"causal(top_left) window[40, 0]", "0.25", ""},
      {"causal(bottom_right)", "0.25",
       "%t = attn.softcap %u at 2.0 : tensor<?x2x?x?xf32>"},
      {"", "-0.25", ""},
      {"", "0.0", ""},
  };
  for (auto [n, dim] : llvm::enumerate(dims))
    for (auto [m, program] : llvm::enumerate(programs)) {
      if (!runAll() && n > 1 && m != 2 * n - 3)
        continue;
      SCOPED_TRACE("D " + std::to_string(dim.first) + ", " + program.clause +
                   " scale " + program.scale + " " + program.scoreOps);
      AttentionGraph scaled =
          graph(dim.first, dim.second, program.clause, "", program.scoreOps);
      scaled.scale = program.scale;
      auto module = compileGraph(scaled, n % 2 ? 32 : 64, m % 2 ? 64 : 128);
      ASSERT_TRUE(module);
      for (auto [sq, skv] : lengths) {
        SCOPED_TRACE("Sq " + std::to_string(sq) + ", Skv " +
                     std::to_string(skv));
        reference::AttentionOptions options;
        options.scale = std::atof(program.scale);
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
  auto module = compileText(
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
  auto module = compileGraph(graph(dim, dim), 64, 128);
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

/// One jump of the maximum in each place of a span, for spans of every length:
/// what is pending then, and what was never there, must not be lost or counted
/// twice. The weights before the jump is noticed are infinite.
TEST_P(Paired, MaximumJumpsInASpan) {
  constexpr int64_t rows = 33, keys = 300, dim = 32;
  for (int64_t valueDim : {32, 64, 80, 96, 128, 192, 256}) {
    auto module = compileGraph(graph(dim, valueDim), 32, 512);
    ASSERT_TRUE(module);
    for (int64_t at : {1, 33, 65, 97, 130, 161, 193, 290}) {
      SCOPED_TRACE("Dv " + std::to_string(valueDim) + ", at " +
                   std::to_string(at));
      Operand q(bf16, {1, 2, rows, dim}, true, [](int64_t) { return 1.0; });
      // Scores of 0, then of 0.25 * 32 * 25 = 200.
      Operand k(bf16, {1, 1, keys, dim}, true,
                [=](int64_t n) { return n / dim < at ? 0.0 : 25.0; });
      Operand v(bf16, {1, 1, keys, valueDim}, true, pattern(2));
      reference::AttentionOptions options;
      options.scale = 0.25;
      check(*module, q, k, v, options);
    }
  }
}

/// Keys are read where they are if they lie as panels of lines do, else copied:
/// the same bits, from buffers that end where memory ends.
TEST_P(Paired, SameBitsWhereverKeysAre) {
  constexpr int64_t rows = 40, dim = 64;
  auto module = compileGraph(graph(dim, dim), 32, 64);
  ASSERT_TRUE(module);
  for (int64_t keys : {32, 64, 96, 160, 97}) {
    SCOPED_TRACE(std::to_string(keys) + " keys");
    Operand q(bf16, {2, 2, rows, dim}, true, pattern(0));
    Operand k(bf16, {2, 1, keys, dim}, true, pattern(1));
    Operand v(bf16, {2, 1, keys, dim}, true, pattern(2));
    Shape shape{2, 2, rows, dim};
    HostTensor dense = run(*module, {q.view, k.view, v.view}, bf16, shape);
    auto expectSame = [&](const char *where, const TensorView &view) {
      HostTensor o = run(*module, {q.view, view, v.view}, bf16, shape);
      EXPECT_EQ(memcmp(dense.data(), o.data(), o.sizeInBytes()), 0) << where;
    };
    // Inside [2, 1, keys, wide], whose other columns are NaN.
    auto inside = [&](int64_t wide, int64_t first) {
      return [=](int64_t n) {
        int64_t column = n % wide - first, row = n / wide;
        return column < 0 || column >= dim ? NAN
                                           : patternAt(1, row * dim + column);
      };
    };
    auto slice = [&](const Operand &operand, int64_t first) {
      TensorView view = operand.view;
      view.shape[3] = dim;
      view.data = static_cast<char *>(view.data) + 2 * first;
      return view;
    };
    Operand far(bf16, {2, 1, keys, 2 * dim}, true, inside(2 * dim, dim));
    expectSame("rows apart", slice(far, dim));
    Operand odd(bf16, {2, 1, keys, dim + 3}, true, inside(dim + 3, 3));
    expectSame("odd rows", slice(odd, 3));
    // Rows one after the other that begin anywhere.
    Operand shifted(bf16, {1, 1, 2 * keys * dim + 5, 1}, true, [](int64_t n) {
      return n < 5 ? NAN : patternAt(1, n - 5);
    });
    TensorView view = k.view;
    view.data = static_cast<char *>(shifted.view.data) + 2 * 5;
    expectSame("unaligned", view);
    if (HasFailure())
      return;
  }
}

/// Whatever stands in hidden keys and values, in the same panel or another.
TEST_P(Paired, HiddenMeansAbsent) {
  constexpr int64_t rows = 40;
  // Keys that are copied, and keys that are read in place.
  for (auto [dim, keys] : {std::pair<int64_t, int64_t>{48, 150}, {32, 160}}) {
    auto module = compileGraph(
        graph(dim, dim, "lengths(%n : tensor<?xi32>)", ", %n: tensor<?xi32>"),
        32, 64);
    auto causal =
        compileGraph(graph(dim, dim, "causal(offset %n : tensor<?xi32>)",
                           ", %n: tensor<?xi32>"),
                     64, 128);
    ASSERT_TRUE(module && causal);
    for (double poison : {(double)NAN, (double)INFINITY, (double)-INFINITY})
      for (int64_t length : {0, 1, 31, 32, 37, 64, 149}) {
        SCOPED_TRACE("length " + std::to_string(length));
        auto poisoned = [&, dim = dim](int64_t seed) {
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
          Operand n(ElementType::i32, {1}, true,
                    [&](int64_t) { return length; });
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
    HostTensor o =
        run(*module, {q.view, k.view, v.view}, bf16, {1, 2, rows, dim});
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
  expectSameBits(*module, {&q, &k, &v}, bf16, {batch, 2, rows, dim});
}

/// Tasks are whole heads where those are enough for the threads, else tiles:
/// the same bits, with values in several chunks and in groups of heads.
TEST_P(Paired, SameBitsForTasksOfHeadsAndTiles) {
  constexpr int64_t batch = 5, rows = 70, keys = 1050, dim = 64, keyHeads = 2;
  AttentionGraph grouped = graph(dim, dim, "causal(bottom_right)");
  grouped.heads = 6;
  grouped.keyHeads = keyHeads;
  auto module = compileGraph(grouped, 32, 128);
  ASSERT_TRUE(module);
  Operand q(bf16, {batch, 6, rows, dim}, true, pattern(0));
  Operand k(bf16, {batch, keyHeads, keys, dim}, true, pattern(1));
  Operand v(bf16, {batch, keyHeads, keys, dim}, true, pattern(2));
  reference::AttentionOptions options;
  options.scale = 0.25;
  options.mask = reference::causalBottomRight(rows, keys);
  // Ten heads of values: one thread takes heads, more take tiles.
  check(*module, q, k, v, options);
  expectSameBits(*module, {&q, &k, &v}, bf16, {batch, 6, rows, dim});
}

INSTANTIATE_TEST_SUITE_P(Kernels, Paired, testing::ValuesIn(kConfigs),
                         [](const testing::TestParamInfo<Config> &info) {
                           return std::string(info.param.name);
                         });

} // namespace
