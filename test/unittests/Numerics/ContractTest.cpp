//===- ContractTest.cpp - Guarantees of the semantics on the fused path ---===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hidden means absent, empty rows, huge and tiny scores, same bits: in f32 and
// f64, on every target that the host can execute.
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"

#include <cfloat>
#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

class Contract
    : public testing::TestWithParam<std::tuple<const char *, ElementType>> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(std::get<0>(GetParam())); }

  /// One head of `dim` features; `clause` is the softmax's, `extra` what comes
  /// after v, and `scoreOps` make %t of %u. `T` in them is the type.
  AttentionGraph graph(int64_t dim, std::string clause = "",
                       std::string extra = "", std::string scoreOps = "") {
    AttentionGraph graph;
    graph.headDim = graph.valueDim = dim;
    graph.queryType = graph.type = type;
    for (std::string *text : {&clause, &extra, &scoreOps})
      for (size_t at; (at = text->find('T')) != std::string::npos;)
        text->replace(at, 1, elementTypeName(type).str());
    graph.clause = clause;
    graph.extra = extra;
    graph.scoreOps = scoreOps;
    return graph;
  }

  std::unique_ptr<CompiledModule> compileGraph(const AttentionGraph &graph) {
    std::unique_ptr<CompiledModule> module =
        compile(graph.text(), std::get<0>(GetParam()));
    EXPECT_TRUE(module);
    return module;
  }

  double bound(double maxAbsV) { return attentionBound(type, maxAbsV); }

  const ElementType type = std::get<1>(GetParam());
};

TEST_P(Contract, WeightsOfThreeScores) {
  // softmax(2.0, 1.0, 0.5) with the identity as values.
  auto module = compileGraph(graph(3));
  ASSERT_TRUE(module);
  double scores[] = {2.0, 1.0, 0.5};
  Operand q(type, {1, 1, 1, 3}, true, [](int64_t n) { return n == 0; });
  Operand k(type, {1, 1, 3, 3}, true,
            [&](int64_t n) { return n % 3 == 0 ? scores[n / 3] : 0.0; });
  Operand v(type, {1, 1, 3, 3}, true, [](int64_t n) { return n % 4 == 0; });
  HostTensor o = run(*module, {q.view, k.view, v.view}, type, {1, 1, 1, 3});
  EXPECT_NEAR(o.get(0), 0.6285, 1e-4);
  EXPECT_NEAR(o.get(1), 0.2312, 1e-4);
  EXPECT_NEAR(o.get(2), 0.1402, 1e-4);
}

/// Keys and values past `length` are NaN or infinite; the result must be as if
/// they were not there, and rows that see nothing 0.
TEST_P(Contract, HiddenMeansAbsent) {
  for (const char *clause :
       {"lengths(%n : tensor<?xi32>)", "causal(offset %n : tensor<?xi32>)",
        "visible {\n^bb0(%b: index, %h: index, %i: index, %j: index):\n"
        "%x = tensor.extract %n[%b] : tensor<?xi32>\n"
        "%y = arith.index_cast %x : i32 to index\n"
        "%z = arith.subi %y, %j : index\n%c1 = arith.constant 1 : index\n"
        "%c = arith.cmpi uge, %y, %c1 : index\n"
        "%a = arith.cmpi sge, %z, %c1 : index\n"
        "%r = arith.andi %a, %c : i1\nattn.yield %r : i1\n}"}) {
    SCOPED_TRACE(clause);
    bool causal = llvm::StringRef(clause).starts_with("causal");
    auto module = compileGraph(graph(20, clause, ", %n: tensor<?xi32>"));
    ASSERT_TRUE(module);
    constexpr int64_t rows = 70, keys = 150, dim = 20;
    for (double poison : {(double)NAN, (double)INFINITY, (double)-INFINITY})
      for (int64_t length : {0, 1, 37, 64, 149}) {
        SCOPED_TRACE("length " + std::to_string(length));
        // The last row of a causal mask sees `length` keys.
        int64_t value = causal ? length - rows : length;
        reference::AttentionOptions options;
        options.scale = 1.0;
        options.mask =
            causal ? reference::causal(value) : reference::lengths({length});
        auto poisoned = [&](int64_t seed) {
          return [=](int64_t n) {
            return n / dim >= length ? poison : patternAt(seed, n) / 4;
          };
        };
        Shape kv{1, 1, keys, dim};
        Operand q(type, {1, 1, rows, dim}, true, pattern(0, 0.25));
        Operand k(type, kv, true, poisoned(1));
        Operand v(type, kv, true, poisoned(2));
        Operand cleanK(type, kv, true, pattern(1, 0.25));
        Operand cleanV(type, kv, true, pattern(2, 0.25));
        Operand n(ElementType::i32, {1}, true, [&](int64_t) { return value; });
        expectAttention(run(*module, {q.view, k.view, v.view, n.view}, type,
                            {1, 1, rows, dim}),
                        q, cleanK, cleanV, options, bound(1.0));
      }
  }
}

/// The same where tensors say what is hidden: by row, by key, and by pair.
TEST_P(Contract, HiddenByTensorsMeansAbsent) {
  constexpr int64_t rows = 70, keys = 150, dim = 20;
  struct Form {
    const char *clause, *extra, *scoreOps;
    std::vector<Shape> shapes;
    ElementType type;
    /// Element `n` of operand `which` when keys from `length` on are hidden.
    double (*element)(size_t which, int64_t n, int64_t length);
  };
  const Form forms[] = {
      {"segments(%a, %c : tensor<?x?xi64>, tensor<?x?xi64>)",
       ", %a: tensor<?x?xi64>, %c: tensor<?x?xi64>",
       "",
       {{1, rows}, {1, keys}},
       ElementType::i64,
       [](size_t which, int64_t n, int64_t length) {
         return which == 1 && n >= length ? 2.0 : 1.0;
       }},
      {"causal(offset %a : tensor<?xi32>, prefix = %c : tensor<?xi32>)",
       ", %a: tensor<?xi32>, %c: tensor<?xi32>",
       "",
       {{1}, {1}},
       ElementType::i32,
       [](size_t which, int64_t, int64_t length) {
         return which == 0 ? -1000.0 : static_cast<double>(length);
       }},
      {"mask(%a : tensor<?x?xi1>)",
       ", %a: tensor<?x?xi1>",
       "",
       {{rows, keys}},
       ElementType::i1,
       [](size_t, int64_t n, int64_t length) {
         return n % keys < length ? 1.0 : 0.0;
       }},
      {"mask(%a : tensor<?x1x1x?xi1>)",
       ", %a: tensor<?x1x1x?xi1>",
       "",
       {{1, 1, 1, keys}},
       ElementType::i1,
       [](size_t, int64_t n, int64_t length) {
         return n < length ? 1.0 : 0.0;
       }},
      {"",
       ", %a: tensor<?x?xf16>",
       "%t = attn.bias %u, %a : tensor<?x1x?x?xT>, tensor<?x?xf16>",
       {{rows, keys}},
       ElementType::f16,
       [](size_t, int64_t n, int64_t length) {
         return n % keys < length ? 0.0 : -INFINITY;
       }}};
  for (const Form &form : forms) {
    SCOPED_TRACE(form.clause);
    auto module =
        compileGraph(graph(dim, form.clause, form.extra, form.scoreOps));
    ASSERT_TRUE(module);
    for (double poison : {(double)NAN, (double)-INFINITY})
      for (int64_t length : {0, 1, 37, 64, 149}) {
        SCOPED_TRACE("length " + std::to_string(length));
        reference::AttentionOptions options;
        options.scale = 1.0;
        options.mask = reference::lengths({length});
        auto poisoned = [&](int64_t seed) {
          return [=](int64_t n) {
            return n / dim >= length ? poison : patternAt(seed, n) / 4;
          };
        };
        Shape kv{1, 1, keys, dim};
        Operand q(type, {1, 1, rows, dim}, true, pattern(0, 0.25));
        Operand k(type, kv, true, poisoned(1));
        Operand v(type, kv, true, poisoned(2));
        Operand cleanK(type, kv, true, pattern(1, 0.25));
        Operand cleanV(type, kv, true, pattern(2, 0.25));
        std::vector<CallArgument> inputs{q.view, k.view, v.view};
        std::vector<std::unique_ptr<Operand>> extras;
        for (auto [which, shape] : llvm::enumerate(form.shapes)) {
          size_t number = which;
          extras.push_back(
              std::make_unique<Operand>(form.type, shape, true, [&](int64_t n) {
                return form.element(number, n, length);
              }));
          inputs.push_back(extras.back()->view);
        }
        expectAttention(run(*module, inputs, type, {1, 1, rows, dim}), q,
                        cleanK, cleanV, options, bound(1.0));
      }
  }
}

/// A NaN in row r of the queries reaches that row, a NaN in a key every row
/// that sees it, and no other.
TEST_P(Contract, VisibleNaNReachesItsRowsOnly) {
  auto module = compileGraph(graph(16, "causal(top_left)"));
  ASSERT_TRUE(module);
  constexpr int64_t rows = 100, dim = 16;
  for (int64_t bad : {0, 5, 63, 64, 99})
    for (int operand : {0, 1, 2}) {
      SCOPED_TRACE("row " + std::to_string(bad) + " of operand " +
                   std::to_string(operand));
      auto maker = [&](int which) {
        return [=](int64_t n) {
          return which == operand && n == bad * dim + 3
                     ? NAN
                     : patternAt(which, n) / 4;
        };
      };
      Shape shape{1, 1, rows, dim};
      Operand q(type, shape, true, maker(0));
      Operand k(type, shape, true, maker(1));
      Operand v(type, shape, true, maker(2));
      HostTensor o = run(*module, {q.view, k.view, v.view}, type, shape);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t d = 0; d < dim; ++d) {
          bool reached = operand == 0   ? i == bad
                         : operand == 1 ? i >= bad
                                        : i >= bad && d == 3;
          EXPECT_EQ(std::isnan(o.get(i * dim + d)), reached)
              << "row " << i << ", feature " << d;
        }
    }
}

/// Scores far beyond the range of half floats, rising and falling from block to
/// block, in both directions: the running maximum must carry.
TEST_P(Contract, HugeScores) {
  auto module = compileGraph(graph(1));
  ASSERT_TRUE(module);
  constexpr int64_t keys = 300;
  for (double slope : {1000.0, -1000.0, 50.0, -50.0, 0.0}) {
    SCOPED_TRACE("slope " + std::to_string(slope));
    Operand q(type, {1, 1, 2, 1}, true,
              [](int64_t n) { return n == 0 ? 1.0 : -1.0; });
    Operand k(type, {1, 1, keys, 1}, true,
              [&](int64_t n) { return slope * n; });
    Operand v(type, {1, 1, keys, 1}, true, [](int64_t n) { return n; });
    reference::AttentionOptions options;
    options.scale = 1.0;
    expectAttention(run(*module, {q.view, k.view, v.view}, type, {1, 1, 2, 1}),
                    q, k, v, options, bound(keys));
  }
}

/// A finite bias, even the lowest, is only a bias: a row of them is uniform. A
/// row of -inf is empty.
TEST_P(Contract, LowestBiasIsUniformAndInfinityHides) {
  std::string s = "tensor<?x1x?x?xT>";
  auto module =
      compileGraph(graph(4, "", ", %n: tensor<?x?xT>",
                         "%t = attn.bias %u, %n : " + s + ", tensor<?x?xT>"));
  ASSERT_TRUE(module);
  constexpr int64_t rows = 3, keys = 90;
  Operand q(type, {1, 1, rows, 4}, true, pattern(0));
  Operand k(type, {1, 1, keys, 4}, true, pattern(1));
  Operand v(type, {1, 1, keys, 4}, true, [](int64_t n) { return n / 4; });
  Operand bias(type, {rows, keys}, true, [](int64_t n) {
    int64_t i = n / keys, j = n % keys;
    if (i == 0)
      return -(double)FLT_MAX;
    if (i == 1)
      return -(double)INFINITY;
    // A row that is hidden first and low later.
    return j < 70 ? -(double)INFINITY : -(double)FLT_MAX;
  });
  HostTensor o =
      run(*module, {q.view, k.view, v.view, bias.view}, type, {1, 1, rows, 4});
  EXPECT_NEAR(o.get(0), (keys - 1) / 2.0, bound(250));
  EXPECT_EQ(o.get(4), 0.0);
  EXPECT_NEAR(o.get(8), (70 + keys - 1) / 2.0, bound(250));
}

/// Sides of a window that no length reaches are unbounded.
TEST_P(Contract, HugeWindows) {
  constexpr int64_t huge = std::numeric_limits<int64_t>::max();
  constexpr int64_t rows = 70, keys = 90, dim = 8;
  const std::pair<int64_t, int64_t> windows[] = {
      {0, huge}, {huge, 0}, {huge, huge}, {3, huge - 5}};
  for (auto [left, right] : windows) {
    std::string clause = "window[" + std::to_string(left) + ", " +
                         std::to_string(right) + "](bottom_right)";
    SCOPED_TRACE(clause);
    auto module = compileGraph(graph(dim, clause));
    ASSERT_TRUE(module);
    Operand q(type, {1, 1, rows, dim}, true, pattern(0));
    Operand k(type, {1, 1, keys, dim}, true, pattern(1));
    Operand v(type, {1, 1, keys, dim}, true, pattern(2));
    reference::AttentionOptions options;
    options.scale = 1.0;
    options.mask = reference::window(left, right, keys - rows);
    expectAttention(
        run(*module, {q.view, k.view, v.view}, type, {1, 1, rows, dim}), q, k,
        v, options, bound(1.5) * std::sqrt(static_cast<double>(dim)));
  }
}

/// Every NaN is one: payloads, signs and signalling bits too.
TEST_P(Contract, NaNOfAnyBits) {
  auto module = compileGraph(graph(8));
  ASSERT_TRUE(module);
  for (uint32_t bits : {0x7fc00001u, 0x7f812345u, 0xffc001ffu, 0x7fffffffu}) {
    Shape shape{1, 1, 3, 8};
    Operand q(type, shape, true, pattern(0));
    // The exponent of f64 has three bits more.
    uint64_t wide = uint64_t(bits | 0x7ff00000u) << 32;
    const void *from = type == ElementType::f64 ? &wide : (const void *)&bits;
    int64_t size = elementSize(type);
    memcpy(static_cast<char *>(q.view.data) + 9 * size, from, size);
    Operand k(type, shape, true, pattern(1));
    HostTensor o = run(*module, {q.view, k.view, k.view}, type, shape);
    for (int64_t n = 0; n < 24; ++n)
      EXPECT_EQ(std::isnan(o.get(n)), n / 8 == 1) << std::hex << bits;
  }
}

/// Padded rows and hidden pairs are evaluated too, where a divisor may be 0.
TEST_P(Contract, ProgramsDivideByAnything) {
  auto module =
      compileGraph(graph(4, R"(visible {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %rows = tensor.dim %q, %c2 : tensor<?x1x?x4xT>
        %left = arith.subi %rows, %i : index
        %x = arith.remsi %j, %left : index
        %c5 = arith.constant 5 : index
        %d = arith.subi %j, %c5 : index
        %y = arith.divsi %i, %d : index
        %c0 = arith.constant 0 : index
        %odd = arith.cmpi eq, %x, %c0 : index
        %seen = arith.cmpi ne, %j, %c5 : index
        %big = arith.cmpi sle, %y, %i : index
        %both = arith.andi %odd, %seen : i1
        %w = arith.andi %both, %big : i1
        attn.yield %w : i1
      })",
                         "",
                         "%c2 = arith.constant 2 : index\n"
                         "%t = attn.scale %u by 1.0 : tensor<?x1x?x?xT>"));
  ASSERT_TRUE(module);
  for (int64_t rows : {1, 15, 17, 70}) {
    Shape shape{1, 1, rows, 4};
    Operand q(type, shape, true, pattern(0));
    Operand k(type, {1, 1, 40, 4}, true, pattern(1));
    Operand v(type, {1, 1, 40, 4}, true, pattern(2));
    reference::AttentionOptions options;
    options.scale = 1.0;
    options.mask = [=](int64_t, int64_t, int64_t i, int64_t j) {
      return j != 5 && j % (rows - i) == 0 && i / (j - 5) <= i;
    };
    expectAttention(run(*module, {q.view, k.view, v.view}, type, shape), q, k,
                    v, options, bound(2.5));
  }
}

/// A gather finds 0 where there is no element, and touches no foreign memory,
/// whichever extent is 0 and however the index is computed.
TEST_P(Contract, EmptyTablesReadAsZero) {
  auto module = compileGraph(
      graph(4, "", ", %table: tensor<?x?x7xT>, %list: tensor<?xT>",
            "%t = attn.score_map %u : tensor<?x1x?x?xT> {\n"
            "^bb0(%score: T, %b: index, %h: index, %i: index, %j: index):\n"
            "  %d = arith.subi %i, %j : index\n"
            "  %x = tensor.extract %table[%b, %d, %j] : tensor<?x?x7xT>\n"
            "  %y = tensor.extract %list[%j] : tensor<?xT>\n"
            "  %z = tensor.extract %list[%i] : tensor<?xT>\n"
            "  %xy = arith.addf %x, %y : T\n"
            "  %xyz = arith.addf %xy, %z : T\n"
            "  %sum = arith.addf %score, %xyz : T\n"
            "  attn.yield %sum : T\n}\n"));
  ASSERT_TRUE(module);
  for (const Shape &empty : {Shape{0, 3, 7}, Shape{5, 0, 7}, Shape{0, 0, 7}})
    for (bool flushEnd : {false, true}) {
      Shape shape{2, 1, 70, 4};
      Operand q(type, shape, true, pattern(0));
      Operand k(type, shape, true, pattern(1));
      Operand v(type, shape, true, pattern(2));
      Operand table(type, empty, flushEnd, pattern(3));
      Operand list(type, {0}, flushEnd, pattern(4));
      reference::AttentionOptions options;
      options.scale = 1.0;
      expectAttention(run(*module,
                          {q.view, k.view, v.view, table.view, list.view}, type,
                          shape),
                      q, k, v, options, bound(2.5));
    }
}

/// Offsets that mean "no limit" do not wrap.
TEST_P(Contract, HugeOffsets) {
  auto module = compileGraph(
      graph(4, "causal(offset %n : tensor<?xi64>)", ", %n: tensor<?xi64>"));
  ASSERT_TRUE(module);
  for (int64_t offset :
       {std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::max() - 1, int64_t(1) << 50,
        std::numeric_limits<int64_t>::min()}) {
    SCOPED_TRACE("offset " + std::to_string(offset));
    Shape shape{1, 1, 70, 4};
    Operand q(type, shape, true, pattern(0));
    Operand k(type, shape, true, pattern(1));
    Operand v(type, shape, true, pattern(2));
    Operand n(ElementType::i64, {1}, true, [](int64_t) { return 0.0; });
    memcpy(n.view.data, &offset, sizeof(offset));
    reference::AttentionOptions options;
    options.scale = 1.0;
    options.mask = [=](int64_t, int64_t, int64_t, int64_t) {
      return offset > 0;
    };
    expectAttention(run(*module, {q.view, k.view, v.view, n.view}, type, shape),
                    q, k, v, options, bound(2.5));
  }
}

/// The scale is applied to the dot product, whatever its size.
TEST_P(Contract, ScalesFarFromOne) {
  for (const char *factor : {"1.0e30", "1.0e-30", "0.0", "-3.0e20"}) {
    SCOPED_TRACE(factor);
    AttentionGraph scaled = graph(4);
    scaled.scale = factor;
    auto module = compileGraph(scaled);
    ASSERT_TRUE(module);
    Shape shape{1, 1, 5, 4};
    double scale = std::atof(factor);
    // Scores come out near 1.
    double size = scale == 0 ? 1e15 : std::sqrt(1 / std::abs(scale));
    Operand q(type, shape, true,
              [&](int64_t n) { return patternAt(0, n) * size * 1e15; });
    Operand k(type, shape, true,
              [&](int64_t n) { return patternAt(1, n) * size * 1e-15; });
    Operand v(type, shape, true, pattern(2));
    reference::AttentionOptions options;
    options.scale = scale;
    expectAttention(run(*module, {q.view, k.view, v.view}, type, shape), q, k,
                    v, options, bound(2.5));
  }
}

TEST_P(Contract, SameBitsForThreadsAndBatch) {
  auto module =
      compileGraph(graph(40, "causal(bottom_right) lengths(%n : tensor<?xi32>)",
                         ", %n: tensor<?xi32>"));
  ASSERT_TRUE(module);
  constexpr int64_t batch = 3, rows = 130, keys = 200, dim = 40;
  Operand q(type, {batch, 1, rows, dim}, true, pattern(0, 0.5));
  Operand k(type, {batch, 1, keys, dim}, true, pattern(1, 0.5));
  Operand v(type, {batch, 1, keys, dim}, true, pattern(2, 0.5));
  Operand n(ElementType::i32, {batch}, true,
            [](int64_t b) { return 200 - 31 * b; });
  expectSameBits(*module, {&q, &k, &v, &n}, type, {batch, 1, rows, dim});
}

INSTANTIATE_TEST_SUITE_P(
    Targets, Contract,
    testing::Combine(testing::ValuesIn(kTargets),
                     testing::Values(ElementType::f32, ElementType::f64)),
    [](const auto &info) {
      std::string name = std::get<0>(info.param);
      llvm::replace(name, '-', '_');
      return name + "_" + elementTypeName(std::get<1>(info.param)).str();
    });

} // namespace
