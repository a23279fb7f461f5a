//===- CacheTest.cpp - Attention on caches against the reference ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"
#include "NumericsTest.h"

using namespace attn;
using namespace attn::test;
using reference::Tensor64;

namespace {

constexpr int64_t kHeads = 6, kKeyHeads = 2;

/// A graph whose keys and values come from a cache.
struct CacheGraph {
  int64_t headDim = 64;
  /// Rows of a page, or 0.
  int64_t pageRows = 16;
  bool integers = false, isCausal = false;
  ElementType type = ElementType::f32;
  std::string queryRows = "?", clause = "lengths(%n : tensor<?xi32>)";

  std::string text() const {
    std::string element = elementTypeName(type).str();
    std::string d = std::to_string(headDim);
    std::string q = "tensor<?x6x" + queryRows + "x" + d + "x" + element + ">";
    std::string k = "tensor<?x2x?x" + d + "x" + element + ">";
    std::string s = "tensor<?x6x" + queryRows + "x?x" +
                    (type == ElementType::f64 ? element : "f32") + ">";
    std::string shape = pageRows ? "?x2x" + std::to_string(pageRows) : "?x2x?";
    std::string stored =
        "tensor<" + shape + "x" + d + "x" + (integers ? "i8" : element) + ">";
    std::string whole = "tensor<" + shape + "x" + d + "x" + element + ">";
    std::string scale = "tensor<" + shape + "xf32>";
    std::string arguments, ops;
    for (std::string x : {"k", "v"}) {
      arguments += ", %" + x + "c: " + stored;
      std::string from = "%" + x + "c";
      if (integers) {
        arguments += ", %" + x + "s: " + scale;
        ops += "%" + x + "d = attn.dequantize " + from + ", %" + x +
               "s : " + stored + ", " + scale + " -> " + whole + "\n";
        from = "%" + x + "d";
      }
      if (pageRows)
        ops += "%" + x + " = attn.gather_pages " + from + ", %t : " + whole +
               ", tensor<?x?xi32> -> " + k + "\n";
      else
        ops += "%" + x + " = tensor.cast " + from + " : " + whole + " to " + k +
               "\n";
    }
    if (pageRows)
      arguments += ", %t: tensor<?x?xi32>";
    return "func.func @f(%q: " + q + arguments + ", %n: tensor<?xi32>) -> " +
           q + " {\n" + ops + "%s = attn.qk %q, %k : " + q + ", " + k + " -> " +
           s + "\n%u = attn.scale %s by 0.125 : " + s +
           "\n%p = attn.masked_softmax %u " + clause + " : " + s +
           "\n%o = attn.weighted_sum %p, %v : " + s + ", " + k + " -> " + q +
           "\nreturn %o : " + q + "\n}\n";
  }
};

class Cache : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(GetParam()); }
};

double asInteger(int64_t seed, int64_t n) { return 80 * patternAt(seed, n); }

/// Runs `graph` on `pages` pages a batch element, of which only `lengths` keys
/// are visible; what is hidden holds NaN, and numbers that are no page.
void check(const CacheGraph &graph, const char *target, int64_t rows,
           llvm::ArrayRef<int64_t> lengths, int64_t keys) {
  auto module = compile(graph.text(), target);
  ASSERT_TRUE(module);
  int64_t batch = lengths.size(), pageRows = graph.pageRows;
  int64_t pages = pageRows ? keys / pageRows : 0;
  int64_t pool = batch * pages + 3, d = graph.headDim;
  Operand q(graph.type, {batch, kHeads, rows, d}, true, pattern(0));
  // Page m of element b: all over the pool, the last ones never used.
  auto numberOf = [&](int64_t b, int64_t m) {
    return (b * pages + m) * 5 % (batch * pages);
  };
  bool permutes = std::gcd<int64_t>(5, batch * pages) == 1;
  auto number = [&](int64_t b, int64_t m) {
    return permutes ? numberOf(b, m) : b * pages + m;
  };
  Operand table(ElementType::i32, {batch, pages}, true, [&](int64_t n) {
    int64_t b = n / std::max<int64_t>(pages, 1),
            m = n % std::max<int64_t>(pages, 1);
    bool isSeen = m * pageRows < lengths[b];
    return isSeen ? number(b, m) : m % 2 ? 1 << 30 : -(1 << 30);
  });
  Operand n(ElementType::i32, {batch}, true,
            [&](int64_t b) { return lengths[b]; });
  Shape stored = pageRows ? Shape{pool, kKeyHeads, pageRows, d}
                          : Shape{batch, kKeyHeads, keys, d};
  // Which stored rows a query may see.
  std::vector<bool> seen(stored[0] * stored[2]);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t j = 0; j < lengths[b]; ++j) {
      int64_t at = pageRows ? number(b, j / pageRows) * pageRows + j % pageRows
                            : b * keys + j;
      seen[at] = true;
    }
  auto rowOf = [&](int64_t row) {
    return row / (kKeyHeads * stored[2]) * stored[2] + row % stored[2];
  };
  auto rowsOf = [&](int64_t seed) {
    return [=, &seen](int64_t index) {
      if (graph.integers)
        return asInteger(seed, index);
      return seen[rowOf(index / d)] ? patternAt(seed, index) : NAN;
    };
  };
  auto scalesOf = [&](int64_t seed) {
    return [=, &seen](int64_t row) {
      return seen[rowOf(row)] ? (patternAt(seed, row) + 2) / 127 : NAN;
    };
  };
  ElementType type = graph.integers ? ElementType::i8 : graph.type;
  Shape scaleShape(stored.begin(), stored.end() - 1);
  Operand k(type, stored, true, rowsOf(1)), v(type, stored, true, rowsOf(2));
  Operand ks(ElementType::f32, scaleShape, true, scalesOf(3));
  Operand vs(ElementType::f32, scaleShape, true, scalesOf(4));
  std::vector<CallArgument> inputs{q.view};
  for (auto [x, s] : {std::pair(&k, &ks), {&v, &vs}}) {
    inputs.push_back(x->view);
    if (graph.integers)
      inputs.push_back(s->view);
  }
  if (pageRows)
    inputs.push_back(table.view);
  inputs.push_back(n.view);

  // Hidden rows are 0 for the reference, which has no NaN to lose.
  auto clean = [&](Operand &x, Operand &s) {
    Tensor64 values = Tensor64::from(x.host), scale = Tensor64::from(s.host);
    for (double &y : scale.data)
      y = std::isnan(y) ? 0 : y;
    for (double &y : values.data)
      y = std::isnan(y) ? 0 : y;
    if (graph.integers)
      values = llvm::cantFail(reference::dequantize(values, scale));
    if (pageRows)
      values = llvm::cantFail(
          reference::gatherPages(values, Tensor64::from(table.host)));
    return values;
  };
  reference::AttentionOptions options;
  options.scale = 0.125;
  options.mask = reference::lengths(lengths);
  if (graph.isCausal)
    options.mask = [inside = options.mask,
                    causal = reference::causalBottomRight(rows, keys)](
                       int64_t b, int64_t h, int64_t i, int64_t j) {
      return inside(b, h, i, j) && causal(b, h, i, j);
    };
  HostTensor o = run(*module, inputs, graph.type, {batch, kHeads, rows, d});
  auto expected = llvm::cantFail(reference::attention(
      Tensor64::from(q.host), clean(k, ks), clean(v, vs), options));
  Comparison comparison = compare(o, expected.o.data);
  double bound = attentionBound(graph.type, 3.0);
  EXPECT_TRUE(comparison.within(bound)) << comparison.describe(bound);
}

/// Pages of every size, between those of a block and within, for prefill and
/// decoding, and every type.
TEST_P(Cache, Pages) {
  for (auto [pageRows, headDim] :
       {std::pair<int64_t, int64_t>{16, 64}, {7, 40}, {1, 64}, {160, 64}})
    for (std::string queryRows : {"?", "1"})
      for (ElementType type : {ElementType::f32, ElementType::bf16,
                               ElementType::f16, ElementType::f64}) {
        if (!runAll() && pageRows != 16 && type != ElementType::f32 &&
            (pageRows != 7 || type != ElementType::bf16))
          continue;
        SCOPED_TRACE(std::to_string(pageRows) + " rows a page, D " +
                     std::to_string(headDim) + ", Sq " + queryRows + ", " +
                     elementTypeName(type).str());
        CacheGraph graph;
        graph.headDim = headDim;
        graph.pageRows = pageRows;
        graph.queryRows = queryRows;
        graph.type = type;
        int64_t keys = pageRows == 1     ? 33
                       : pageRows == 160 ? 480
                                         : pageRows * 14;
        check(graph, GetParam(), queryRows == "1" ? 1 : 70,
              {keys, keys - 5, 1, 0}, keys);
        // The mask asks for the number of keys, which no gather has to count.
        if (pageRows == 16) {
          graph.clause += " causal(bottom_right)";
          graph.isCausal = true;
          check(graph, GetParam(), queryRows == "1" ? 1 : 70,
                {keys, keys - 5, 1, 0}, keys);
        }
        if (HasFailure())
          return;
      }
}

/// Integers with a scale a row, one after the other and in pages.
TEST_P(Cache, Integers) {
  for (int64_t pageRows : {0, 16})
    for (std::string queryRows : {"?", "1"})
      for (ElementType type :
           {ElementType::f32, ElementType::bf16, ElementType::f64})
        for (int64_t headDim : {64, 40}) {
          SCOPED_TRACE(std::to_string(pageRows) + " rows a page, Sq " +
                       queryRows + ", D " + std::to_string(headDim) + ", " +
                       elementTypeName(type).str());
          CacheGraph graph;
          graph.headDim = headDim;
          graph.integers = true;
          graph.pageRows = pageRows;
          graph.queryRows = queryRows;
          graph.type = type;
          check(graph, GetParam(), queryRows == "1" ? 1 : 37, {112, 50, 0},
                112);
          if (HasFailure())
            return;
        }
}

/// The bits of an answer do not tell where pages lie, nor those of a prefill
/// whether keys came in pages. (Rows of a decoding step are summed by pages.)
TEST_P(Cache, PagesKeepBits) {
  constexpr int64_t batch = 2, pageRows = 16, pages = 9, d = 64;
  for (std::string queryRows : {"?", "1"}) {
    CacheGraph paged, whole;
    paged.queryRows = whole.queryRows = queryRows;
    whole.pageRows = 0;
    auto pagedModule = compile(paged.text(), GetParam());
    auto wholeModule = compile(whole.text(), GetParam());
    ASSERT_TRUE(pagedModule && wholeModule);
    int64_t rows = queryRows == "1" ? 1 : 70;
    Operand q(ElementType::f32, {batch, kHeads, rows, d}, true, pattern(0));
    Operand n(ElementType::i32, {batch}, true,
              [](int64_t b) { return 140 - 31 * b; });
    Shape keys{batch, kKeyHeads, pages * pageRows, d};
    Shape shape{batch, kHeads, rows, d};
    auto runPaged = [&](int64_t step) {
      auto page = [=](int64_t n) { return n * step % (batch * pages); };
      Shape pool{batch * pages, kKeyHeads, pageRows, d};
      auto poolAt = [&](int64_t seed) {
        std::vector<int64_t> owner(batch * pages);
        for (int64_t m = 0; m < batch * pages; ++m)
          owner[page(m)] = m;
        return [=](int64_t index) {
          int64_t column = index % d, j = index / d % pageRows;
          int64_t head = index / (d * pageRows) % kKeyHeads;
          int64_t m = owner[index / (d * pageRows * kKeyHeads)];
          int64_t row =
              ((m / pages * kKeyHeads + head) * pages + m % pages) * pageRows +
              j;
          return patternAt(seed, row * d + column);
        };
      };
      Operand table(ElementType::i32, {batch, pages}, true, page);
      Operand k(ElementType::f32, pool, true, poolAt(1));
      Operand v(ElementType::f32, pool, true, poolAt(2));
      return run(*pagedModule, {q.view, k.view, v.view, table.view, n.view},
                 ElementType::f32, shape);
    };
    HostTensor a = runPaged(7), b = runPaged(5);
    EXPECT_EQ(memcmp(a.data(), b.data(), a.sizeInBytes()), 0) << queryRows;
    Operand k(ElementType::f32, keys, true, pattern(1));
    Operand v(ElementType::f32, keys, true, pattern(2));
    HostTensor c = run(*wholeModule, {q.view, k.view, v.view, n.view},
                       ElementType::f32, shape);
    if (queryRows == "?")
      EXPECT_EQ(memcmp(a.data(), c.data(), a.sizeInBytes()), 0);
    Comparison comparison = compare(a, Tensor64::from(c).data);
    double bound = 2 * attentionBound(ElementType::f32, 3.0);
    EXPECT_TRUE(comparison.within(bound)) << comparison.describe(bound);
  }
}

/// Updates of every type and form, into a buffer of their own and in place.
TEST_P(Cache, Updates) {
  constexpr int64_t batch = 5, d = 6;
  for (ElementType type :
       {ElementType::f32, ElementType::bf16, ElementType::f16, ElementType::i8})
    for (std::string at : {"index", "tensor<?xi32>", "tensor<?xi64>"})
      for (bool rolling : {false, true})
        for (bool scales : {false, true}) {
          if (scales && type != ElementType::f32)
            continue;
          std::string c = "tensor<?x2x?x" + std::string(scales ? "" : "6x") +
                          elementTypeName(type).str() + ">";
          auto module =
              compile("func.func @f(%c: " + c + ", %u: " + c + ", %at: " + at +
                          ") -> " + c +
                          " {\n%0 = attn.cache_update %c, %u at(%at : " + at +
                          ") " + (rolling ? "rolling " : "") + ": " + c + ", " +
                          c + "\nreturn %0 : " + c + "\n}\n",
                      GetParam());
          ASSERT_TRUE(module);
          for (auto [rows, count] :
               {std::pair<int64_t, int64_t>{9, 4}, {9, 9}, {1, 1}, {9, 0}}) {
            SCOPED_TRACE(c + " at " + at + (rolling ? ", rolling, " : ", ") +
                         std::to_string(rows) + " rows, " +
                         std::to_string(count) + " new");
            auto shape = [&](int64_t rows) {
              return scales ? Shape{batch, 2, rows} : Shape{batch, 2, rows, d};
            };
            auto number = [&](int64_t seed) {
              return [=](int64_t n) {
                return std::floor(20 * patternAt(seed, n));
              };
            };
            Operand cache(type, shape(rows), true, number(1));
            Operand update(type, shape(count), true, number(2));
            bool one = at == "index";
            bool wide = at == "tensor<?xi64>";
            constexpr int64_t far = int64_t(1) << 52;
            std::vector<int64_t> ats{rows - count, -2, rows - 1,
                                     wide ? far : 1 << 30,
                                     wide ? -far : -(1 << 30)};
            if (one)
              ats.assign(batch, rows - count);
            Operand positions(wide ? ElementType::i64 : ElementType::i32,
                              {batch}, true, [&](int64_t n) { return ats[n]; });
            CallArgument position = positions.view;
            if (one)
              position = rows - count;
            auto expected = llvm::cantFail(reference::cacheUpdate(
                Tensor64::from(cache.host), Tensor64::from(update.host), ats,
                rolling));
            HostTensor apart = run(*module, {cache.view, update.view, position},
                                   type, shape(rows), 2);
            EXPECT_EQ(Tensor64::from(apart).data, expected.data);
            EXPECT_EQ(Tensor64::from(cache.fetch()).data,
                      Tensor64::from(cache.host).data);
            llvm::Error error = module->run(
                "f", {cache.view, update.view, position}, cache.view, {});
            ASSERT_FALSE(static_cast<bool>(error))
                << llvm::toString(std::move(error));
            EXPECT_EQ(Tensor64::from(cache.fetch()).data, expected.data);
          }
          if (HasFailure())
            return;
        }
}

/// A result may be the buffer of the argument that it updates, of no other one,
/// and not part of it; of none if somebody else reads the old rows.
TEST_P(Cache, RefusesOtherOverlaps) {
  std::string c = "tensor<1x1x8x4xf32>", u = "tensor<1x1x1x4xf32>";
  auto compileReturn = [&](const std::string &update, const std::string &more) {
    return compile("func.func @f(%c: " + c + ", %e: " + c + ", %u: " + u +
                       ", %at: index) -> " + c + " {\n%0 = attn.cache_update " +
                       "%c, " + update + " at(%at : index) rolling : " + c +
                       ", " + (update == "%u" ? u : c) + "\n" + more + " : " +
                       c + "\n}\n",
                   GetParam());
  };
  auto plain = compileReturn("%u", "return %0");
  auto read =
      compileReturn("%u", "%1 = arith.addf %0, %c : " + c + "\nreturn %1");
  auto itself = compileReturn("%c", "return %0");
  ASSERT_TRUE(plain && read && itself);
  Operand cache(ElementType::f32, {1, 1, 8, 4}, true, pattern(1));
  Operand other(ElementType::f32, {1, 1, 8, 4}, true, pattern(2));
  Operand update(ElementType::f32, {1, 1, 1, 4}, true, pattern(3));
  std::vector<CallArgument> inputs{cache.view, other.view, update.view,
                                   int64_t(1)};
  auto expectRefused = [&](CompiledModule &module, TensorView output) {
    llvm::Error error = module.run("f", inputs, output, {});
    ASSERT_TRUE(static_cast<bool>(error));
    EXPECT_TRUE(llvm::StringRef(llvm::toString(std::move(error)))
                    .contains("expected memory apart from the arguments"));
  };
  expectRefused(*plain, other.view);
  expectRefused(*read, cache.view);
  expectRefused(*itself, cache.view);
  llvm::Error error = plain->run("f", inputs, cache.view, {});
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
}

/// A decoding loop on caches that are updated where they are: each step has the
/// same answer as the whole sequence at once.
TEST_P(Cache, UpdatesInPlace) {
  constexpr int64_t d = 32, steps = 5, prompt = 6, capacity = 16;
  std::string q = "tensor<?x6x?x32xf32>", c = "tensor<?x2x?x32xf32>";
  std::string s = "tensor<?x6x?x?xf32>";
  auto module = compile(
      "func.func @f(%q: " + q + ", %kc: " + c + ", %vc: " + c + ", %k: " + c +
          ", %v: " + c + ", %past: index) -> (" + q + ", " + c + ", " + c +
          ") {\n%kn = attn.cache_update %kc, %k at(%past : index) : " + c +
          ", " + c + "\n%vn = attn.cache_update %vc, %v at(%past : index) : " +
          c + ", " + c + "\n%s = attn.qk %q, %kn : " + q + ", " + c + " -> " +
          s + "\n%u = attn.scale %s by 0.125 : " + s +
          "\n%p = attn.masked_softmax %u causal(offset %past : index) : " + s +
          "\n%o = attn.weighted_sum %p, %vn : " + s + ", " + c + " -> " + q +
          "\nreturn %o, %kn, %vn : " + q + ", " + c + ", " + c + "\n}\n",
      GetParam());
  ASSERT_TRUE(module);
  Shape cacheShape{1, kKeyHeads, capacity, d};
  auto nan = [](int64_t) { return (double)NAN; };
  Operand kc(ElementType::f32, cacheShape, true, nan);
  Operand vc(ElementType::f32, cacheShape, true, nan);
  auto rowsFrom = [&](int64_t seed, int64_t first, int64_t count) {
    return [=](int64_t n) {
      int64_t row = n / d % count + first, head = n / d / count;
      return patternAt(seed, (head * capacity + row) * d + n % d);
    };
  };
  int64_t past = 0;
  for (int64_t step = 0; step <= steps; ++step) {
    int64_t count = step == 0 ? prompt : step == 3 ? 2 : 1;
    Operand qn(ElementType::f32, {1, kHeads, count, d}, true,
               rowsFrom(0, past, count));
    Operand kn(ElementType::f32, {1, kKeyHeads, count, d}, true,
               rowsFrom(1, past, count));
    Operand vn(ElementType::f32, {1, kKeyHeads, count, d}, true,
               rowsFrom(2, past, count));
    Operand o(ElementType::f32, {1, kHeads, count, d}, true, nan);
    std::vector<TensorView> outputs{o.view, kc.view, vc.view};
    llvm::Error error = module->run(
        "f", {qn.view, kc.view, vc.view, kn.view, vn.view, past}, outputs, {});
    ASSERT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    int64_t seen = past + count;
    Operand k(ElementType::f32, {1, kKeyHeads, seen, d}, true,
              rowsFrom(1, 0, seen));
    Operand v(ElementType::f32, {1, kKeyHeads, seen, d}, true,
              rowsFrom(2, 0, seen));
    reference::AttentionOptions options;
    options.scale = 0.125;
    options.mask = reference::causal(past);
    o.fetch();
    expectAttention(o.host, qn, k, v, options,
                    attentionBound(ElementType::f32, 1.5));
    // What was never written is as it was.
    kc.fetch();
    EXPECT_TRUE(std::isnan(kc.host.get(seen * d)));
    EXPECT_EQ(kc.host.get((seen - 1) * d),
              rowsFrom(1, past, count)((count - 1) * d));
    past = seen;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Cache, testing::ValuesIn(kTargets),
                         targetTestName);

} // namespace
