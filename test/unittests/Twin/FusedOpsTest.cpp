//===- FusedOpsTest.cpp - Fused and tile ops of the twin --------*- C++ -*-===//
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

using FusedOps = TwinTest;

/// `tensor<AxBx...xf32>`.
std::string tensorType(const std::string &extents) {
  return "tensor<" + extents + "xf32>";
}

/// Adds to the score what depends on all four indices, through a gather.
constexpr const char *kScoreRegion = R"( score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %d = arith.subi %j, %i : index
    %near = tensor.extract %table[%d] : tensor<?xf32>
    %bh = arith.addi %b, %h : index
    %n = arith.index_cast %bh : index to i32
    %f = arith.sitofp %n : i32 to f32
    %tenth = arith.constant 0.125 : f32
    %g = arith.mulf %f, %tenth : f32
    %y = arith.addf %x, %near : f32
    %z = arith.subf %y, %g : f32
    attn.yield %z : f32
  })";
/// Hides by all four indices.
constexpr const char *kMaskRegion = R"( mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %three = arith.constant 3 : index
    %bh = arith.addi %b, %h : index
    %m = arith.addi %bh, %j : index
    %r = arith.remui %m, %three : index
    %one = arith.constant 1 : index
    %some = arith.cmpi ne, %r, %one : index
    %past = arith.cmpi sle, %j, %i : index
    %w = arith.andi %some, %past : i1
    attn.yield %w : i1
  })";

bool isVisible(int64_t b, int64_t h, int64_t i, int64_t j) {
  return (b + h + j) % 3 != 1 && j <= i;
}

double scoreOf(const Tensor64 &table, double x, int64_t b, int64_t h, int64_t i,
               int64_t j) {
  int64_t last = table.shape[0] - 1;
  return x + table.data[std::clamp<int64_t>(j - i, 0, last)] - 0.125 * (b + h);
}

TEST_P(FusedOps, Attention) {
  for (int64_t headDim : kHeadDims)
    for (bool hasScore : {false, true})
      for (bool hasMask : {false, true}) {
        if ((headDim == 2 || headDim == 32) && hasScore != hasMask)
          continue; // a spread of the head dims
        SCOPED_TRACE("D " + std::to_string(headDim) +
                     (hasScore ? ", score" : "") + (hasMask ? ", mask" : ""));
        int64_t valueDim = headDim + 2;
        std::string q = headsType(headDim), v = headsType(valueDim),
                    l = "tensor<?x?x?xf32>";
        auto module = compileTwin(
            "func.func @f(%q: " + q + ", %k: " + q + ", %v: " + v +
            ", %o: " + v + ", %l: " + l +
            ", %table: tensor<?xf32>, %ob: index, %oh: index, %oi: index, "
            "%oj: index) -> (" +
            v + ", " + l + ") {\n%r:2 = attn.attention ins(%q, %k, %v : " + q +
            ", " + q + ", " + v + ") outs(%o, %l : " + v + ", " + l +
            ") scale 0.375 offsets(%ob, %oh, %oi, %oj)" +
            (hasScore ? kScoreRegion : "") + (hasMask ? kMaskRegion : "") +
            " -> " + v + ", " + l + "\nreturn %r#0, %r#1 : " + v + ", " + l +
            "\n}\n");
        ASSERT_TRUE(module);
        for (reference::TileOrigin at : {reference::TileOrigin{0, 0, 0, 0},
                                         reference::TileOrigin{1, 2, 30, 20},
                                         reference::TileOrigin{0, 1, 0, 3}})
          for (auto [heads, keyHeads] : kHeadCounts)
            for (auto [batch, rows, keys] : kExtents) {
              TwinCall c = call();
              Tensor64 qs = c.floats({batch, heads, rows, headDim});
              Tensor64 ks = c.floats({batch, keyHeads, keys, headDim});
              // One key is hidden from everybody under the mask: with one
              // head, the only one whose value may then be anything.
              bool poison = hasMask && heads == 1;
              int64_t keyCount = keys;
              Tensor64 vs =
                  c.floats({batch, keyHeads, keys, valueDim}, [&](int64_t n) {
                    int64_t j = n / valueDim % keyCount,
                            b = n / valueDim / keyCount;
                    bool never = (b + at.b + at.h + j + at.j) % 3 == 1;
                    return poison && never ? NAN : patternAt(2, n);
                  });
              Shape o{batch, heads, rows, valueDim}, l{batch, heads, rows};
              c.floats(o, [](int64_t) { return NAN; });
              c.floats(l, [](int64_t) { return NAN; });
              Tensor64 table = c.floats({5});
              for (int64_t index : {at.b, at.h, at.i, at.j})
                c.index(index);
              reference::AttentionOptions options;
              options.scale = 0.375;
              if (hasScore)
                options.score = [&](double x, int64_t b, int64_t h, int64_t i,
                                    int64_t j) {
                  return scoreOf(table, x, b + at.b, h + at.h, i + at.i,
                                 j + at.j);
                };
              if (hasMask)
                options.mask = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
                  return isVisible(b + at.b, h + at.h, i + at.i, j + at.j);
                };
              auto expected =
                  llvm::cantFail(reference::attention(qs, ks, vs, options));
              c.expect(*module, {expected.o, expected.lse}, spreadOf(headDim));
              if (HasFailure())
                return;
            }
      }
}

/// A sink a head, with the log-sum-exp.
TEST_P(FusedOps, AttentionWithSink) {
  std::string t = "tensor<?x4x?x13xf32>", k = headsType(13),
              l = "tensor<?x4x?xf32>";
  auto module =
      compileTwin("func.func @f(%q: " + t + ", %k: " + k + ", %o: " + t +
                  ", %l: " + l + ", %sink: tensor<4xf32>) -> (" + t + ", " + l +
                  ") {\n%r:2 = attn.attention ins(%q, %k, %k : " + t + ", " +
                  k + ", " + k + ") outs(%o, %l : " + t + ", " + l +
                  ") scale 0.5 sink(%sink : tensor<4xf32>) -> " + t + ", " + l +
                  "\nreturn %r#0, %r#1 : " + t + ", " + l + "\n}\n");
  ASSERT_TRUE(module);
  for (auto [batch, rows, keys] : kExtents) {
    TwinCall c = call();
    Tensor64 q = c.floats({batch, 4, rows, 13});
    Tensor64 k = c.floats({batch, 2, keys, 13});
    c.floats({batch, 4, rows, 13}, [](int64_t) { return NAN; });
    c.floats({batch, 4, rows}, [](int64_t) { return NAN; });
    const double logits[] = {1.5, -INFINITY, 80, INFINITY};
    reference::AttentionOptions options;
    options.scale = 0.5;
    options.sink = c.floats({4}, [&](int64_t n) { return logits[n]; }).data;
    auto expected = llvm::cantFail(reference::attention(q, k, k, options));
    c.expect(*module, {expected.o, expected.lse}, spreadOf(13));
  }
}

/// Scores so large that their log-sum-exp is rounded to the largest of them:
/// what it lost is in its remainder, here and where partials are merged.
TEST_P(FusedOps, Remainder) {
  std::string t = "tensor<?x4x?x13xf32>", k = headsType(13),
              l = "tensor<?x4x?xf32>", acc = tensorType("3x4x2"),
              stats = tensorType("3x4"), o = tensorType("4x2"),
              r = tensorType("4");
  // The distance of the log-sum-exp from what all scores are.
  auto distance = [](const std::string &name, const std::string &type) {
    return "%" + name + "d = arith.subf %" + name + "#1, %" + name +
           "all : " + type + "\n%" + name + "e = arith.addf %" + name + "d, %" +
           name + "#2 : " + type + "\n";
  };
  for (bool hasSink : {false, true}) {
    std::string sink = hasSink ? " sink(%sink : tensor<4xf32>)" : "";
    auto module = compileTwin(
        "func.func @f(%q: " + t + ", %k: " + k + ", %o: " + t + ", %lall: " +
        l + ", %acc: " + acc + ", %max: " + stats + ", %sum: " + stats +
        ", %ro: " + o + ", %mall: " + r + ", %sink: tensor<4xf32>) -> (" + l +
        ", " + r + ") {\n%c = arith.constant -1.0e9 : f32\n" +
        "%l:3 = attn.attention ins(%q, %k, %k : " + t + ", " + k + ", " + k +
        ") outs(%o, %lall, %lall : " + t + ", " + l + ", " + l + ") scale 0.5" +
        sink + R"( score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %c : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %v = arith.cmpi sle, %j, %i : index
    attn.yield %v : i1
  } -> )" +
        t + ", " + l + ", " + l + "\n" + distance("l", l) +
        "%m:3 = attn.merge_partials ins(%acc, %max, %sum : " + acc + ", " +
        stats + ", " + stats + ") outs(%ro, %mall, %mall : " + o + ", " + r +
        ", " + r + ")" + (hasSink ? " sink(%c : f32)" : "") + " -> " + o +
        ", " + r + ", " + r + "\n" + distance("m", r) +
        "return %le, %me : " + l + ", " + r + "\n}\n");
    ASSERT_TRUE(module);
    for (auto [batch, rows, keys] : kExtents) {
      TwinCall c = call();
      auto all = [](int64_t) { return -1e9; };
      c.floats({batch, 4, rows, 13});
      c.floats({batch, 2, keys, 13});
      c.floats({batch, 4, rows, 13});
      c.floats({batch, 4, rows}, all);
      c.floats({3, 4, 2});
      c.floats({3, 4}, all);
      // The last row is empty.
      c.floats({3, 4}, [](int64_t n) { return n % 4 == 3 ? 0 : n + 1; });
      c.floats({4, 2});
      c.floats({4}, all);
      c.floats({4}, all);
      double ofSink = hasSink ? 1 : 0;
      Tensor64 ofRows({batch, 4, rows}), ofMerged({4});
      for (int64_t n = 0; n < static_cast<int64_t>(ofRows.data.size()); ++n)
        ofRows.data[n] =
            std::log(std::min<int64_t>(n % rows + 1, keys) + ofSink);
      for (int64_t n = 0; n < 4; ++n)
        ofMerged.data[n] = std::log((n == 3 ? 0 : 3 * n + 15) + ofSink);
      c.expect(*module, {ofRows, ofMerged});
    }
  }
}

/// A program on weights, which sees them normalised and at the absolute
/// position; and scores that are weights.
TEST_P(FusedOps, AttentionWithPrograms) {
  std::string t = headsType(13), l = "tensor<?x?x?xf32>",
              arguments = "func.func @f(%q: " + t + ", %k: " + t +
                          ", %o: " + t + ", %l: " + l +
                          ", %table: tensor<?xf32>, %ob: index, %oh: index, "
                          "%oi: index, %oj: index) -> ",
              attention = "attn.attention ins(%q, %k, %k : " + t + ", " + t +
                          ", " + t + ") outs(%o";
  auto mapped =
      compileTwin(arguments + "(" + t + ", " + l +
                  ") {\n%first:2 = " + attention + ", %l : " + t + ", " + l +
                  ") scale 0.5 offsets(%ob, %oh, %oi, %oj) " + kMaskRegion +
                  R"( probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %table[%j] : tensor<?xf32>
    %y = arith.addf %p, %x : f32
    attn.yield %y : f32
  })" + " -> " + t +
                  ", " + l + "\nreturn %first#0, %first#1 : " + t + ", " + l +
                  "\n}\n");
  auto raw =
      compileTwin(arguments + t + " {\n%second = " + attention + " : " + t +
                  ") scale 0.5 offsets(%ob, %oh, %oi, %oj) "
                  "unnormalized " +
                  kScoreRegion + kMaskRegion + " -> " + t +
                  "\nreturn %second : " + t + "\n}\n");
  ASSERT_TRUE(mapped && raw);
  reference::TileOrigin at{1, 2, 3, 2};
  for (auto [batch, rows, keys] : kExtents) {
    TwinCall c = call();
    Tensor64 q = c.floats({batch, 4, rows, 13});
    Tensor64 k = c.floats({batch, 2, keys, 13});
    c.floats({batch, 4, rows, 13}, [](int64_t) { return NAN; });
    c.floats({batch, 4, rows}, [](int64_t) { return NAN; });
    Tensor64 table = c.floats({5});
    for (int64_t index : {at.b, at.h, at.i, at.j})
      c.index(index);
    reference::AttentionOptions options;
    options.scale = 0.5;
    options.mask = [&](int64_t b, int64_t h, int64_t i, int64_t j) {
      return isVisible(b + at.b, h + at.h, i + at.i, j + at.j);
    };
    options.probability = [&](double p, int64_t, int64_t, int64_t, int64_t j) {
      return p + table.data[std::min<int64_t>(j + at.j, 4)];
    };
    auto expected = llvm::cantFail(reference::attention(q, k, k, options));
    c.expect(*mapped, {expected.o, expected.lse}, 8 * spreadOf(13));
    options.probability = {};
    options.normalizer = reference::Normalizer::None;
    options.score = [&](double x, int64_t b, int64_t h, int64_t i, int64_t j) {
      return scoreOf(table, x, b + at.b, h + at.h, i + at.i, j + at.j);
    };
    expected = llvm::cantFail(reference::attention(q, k, k, options));
    c.expect(*raw, {expected.o}, 8 * spreadOf(13));
  }
}

/// One output, no regions, no offsets, a negative scale.
TEST_P(FusedOps, PlainAttention) {
  std::string t = headsType(13);
  auto module = compileTwin(
      "func.func @f(%q: " + t + ", %k: " + t + ", %v: " + t + ", %o: " + t +
      ") -> " + t + " {\n%r = attn.attention ins(%q, %k, %v : " + t + ", " + t +
      ", " + t + ") outs(%o : " + t + ") scale -0.25 -> " + t +
      "\nreturn %r : " + t + "\n}\n");
  ASSERT_TRUE(module);
  for (auto [batch, rows, keys] : kExtents) {
    TwinCall c = call();
    Tensor64 q = c.floats({batch, 4, rows, 13});
    Tensor64 k = c.floats({batch, 2, keys, 13});
    Tensor64 v = c.floats({batch, 2, keys, 13});
    c.floats({batch, 4, rows, 13}, [](int64_t) { return NAN; });
    reference::AttentionOptions options;
    options.scale = -0.25;
    c.expect(*module,
             {llvm::cantFail(reference::attention(q, k, v, options)).o},
             spreadOf(13));
  }
}

/// The twin in the types of the model: sums in f32, one rounding at the end,
/// in the chain as in the fused op.
TEST(FusedOpsNarrow, Attention) {
  for (ElementType type : {ElementType::f16, ElementType::bf16}) {
    std::string name = elementTypeName(type).str();
    SCOPED_TRACE(name);
    std::string t = "tensor<?x?x?x40x" + name + ">", s = kScores;
    auto module = compile(
        "func.func @f(%q: " + t + ", %k: " + t + ", %v: " + t + ", %o: " + t +
            ") -> (" + t + ", " + t + ") {\n%s = attn.qk %q, %k : " + t + ", " +
            t + " -> " + s + "\n%t = attn.scale %s by 0.25 : " + s +
            "\n%p = attn.masked_softmax %t : " + s +
            "\n%a = attn.weighted_sum %p, %v : " + s + ", " + t + " -> " + t +
            "\n%b = attn.attention ins(%q, %k, %v : " + t + ", " + t + ", " +
            t + ") outs(%o : " + t + ") scale 0.25 -> " + t +
            "\nreturn %a, %b : " + t + ", " + t + "\n}\n",
        "native", Lowering::Twin);
    ASSERT_TRUE(module);
    for (auto [batch, rows, keys] : kExtents) {
      TwinCall c(type);
      Tensor64 q = c.floats({batch, 4, rows, 40});
      Tensor64 k = c.floats({batch, 2, keys, 40});
      Tensor64 v = c.floats({batch, 2, keys, 40});
      c.floats({batch, 4, rows, 40}, [](int64_t) { return NAN; });
      reference::AttentionOptions options;
      options.scale = 0.25;
      Tensor64 o = llvm::cantFail(reference::attention(q, k, v, options)).o;
      c.expect(*module, {o, o});
    }
  }
}

/// [M, D] as [1, 1, M, D], and back.
Tensor64 asHeads(const Tensor64 &x) {
  Shape shape{1, 1};
  shape.append(x.shape);
  return Tensor64(llvm::ArrayRef(shape), x.data);
}
Tensor64 asTile(const Tensor64 &x) {
  return Tensor64(llvm::ArrayRef(x.shape).drop_front(2), x.data);
}

/// Keys in tiles of several sizes, the state passed from call to call; after
/// each tile the state. With `rows` the last two rows are padding, of which
/// nothing is asked.
TEST_P(FusedOps, OnlineAttention) {
  for (int64_t headDim : {1, 8, 13, 40})
    for (bool isPadded : {false, true})
      for (bool hasPrograms : {false, true}) {
        SCOPED_TRACE("D " + std::to_string(headDim) +
                     (isPadded ? ", padded" : "") +
                     (hasPrograms ? ", programs" : ""));
        int64_t valueDim = headDim + 1;
        std::string q = tensorType("?x" + std::to_string(headDim)),
                    v = tensorType("?x" + std::to_string(valueDim)),
                    l = tensorType("?");
        auto module = compileTwin(
            "func.func @f(%q: " + q + ", %k: " + q + ", %v: " + v +
            ", %acc: " + v + ", %max: " + l + ", %sum: " + l +
            ", %table: tensor<?xf32>, %ob: index, %oh: index, %oi: index, "
            "%oj: index, %rows: index) -> (" +
            v + ", " + l + ", " + l +
            ") {\n%r:3 = attn.online_attention ins(%q, %k, %v : " + q + ", " +
            q + ", " + v + ") outs(%acc, %max, %sum : " + v + ", " + l + ", " +
            l + ") at(%ob, %oh, %oi, %oj)" + (isPadded ? " rows(%rows)" : "") +
            (hasPrograms ? kScoreRegion : "") +
            (hasPrograms ? kMaskRegion : "") + " -> " + v + ", " + l + ", " +
            l + "\nreturn %r#0, %r#1, %r#2 : " + v + ", " + l + ", " + l +
            "\n}\n");
        ASSERT_TRUE(module);

        constexpr int64_t rows = 7;
        // The second tile is empty. With programs, rows 0 to 2 (4 and below)
        // never see a key, row 3 one of the first tile, others more.
        const int64_t tiles[] = {2, 0, 5, 1, 9};
        reference::TileOrigin at{1, 2, 2, 4};
        Tensor64 table;
        reference::AttentionOptions options;
        options.scale = 1; // it is in the query already
        if (hasPrograms)
          options.score = [&](double x, int64_t b, int64_t h, int64_t i,
                              int64_t j) {
            return scoreOf(table, x, b, h, i, j);
          };
        if (hasPrograms)
          options.mask = isVisible;
        auto state = reference::OnlineState::empty(1, 1, rows, valueDim);
        Tensor64 acc = asTile(state.accumulator), max = asTile(state.maximum),
                 sum = asTile(state.sum);
        for (int64_t keys : tiles) {
          SCOPED_TRACE("keys from " + std::to_string(at.j));
          TwinCall c = call();
          Tensor64 qs = c.floats({rows, headDim});
          Tensor64 ks = c.floats({keys, headDim}, [&](int64_t e) {
            return patternAt(10 + at.j, e);
          });
          int64_t first = at.j;
          Tensor64 vs = c.floats({keys, valueDim}, [&](int64_t e) {
            bool never = (at.b + at.h + first + e / valueDim) % 3 == 1;
            return hasPrograms && never ? INFINITY : patternAt(30 + first, e);
          });
          c.copyOf(acc);
          c.copyOf(max);
          c.copyOf(sum);
          table = c.floats({4});
          for (int64_t index : {at.b, at.h, at.i, at.j})
            c.index(index);
          c.index(rows - 2);
          std::vector<Tensor64> got =
              c.run(*module, {Shape{rows, valueDim}, Shape{rows}, Shape{rows}});
          ASSERT_EQ(got.size(), 3u);
          llvm::cantFail(reference::onlineAttention(
              state, asHeads(qs), asHeads(ks), asHeads(vs), options, at));
          at.j += keys;
          if (isPadded)
            for (int64_t r = rows - 2; r < rows; ++r) {
              for (int64_t e = 0; e < valueDim; ++e)
                got[0].at({r, e}) = state.accumulator.at({0, 0, r, e});
              got[1].at({r}) = state.maximum.at({0, 0, r});
              got[2].at({r}) = state.sum.at({0, 0, r});
            }
          acc = got[0];
          max = got[1];
          sum = got[2];
          double spread = 2 * spreadOf(headDim);
          c.expectNear(acc, asTile(state.accumulator), spread);
          c.expectNear(max, asTile(state.maximum), spread);
          c.expectNear(sum, asTile(state.sum), spread);
          if (HasFailure())
            return;
        }
      }
}

/// Several partials, among them some that are empty for some rows and hold
/// anything there; fewer output rows than the state has.
TEST_P(FusedOps, MergePartials) {
  for (int64_t valueDim : {1, 3, 8, 40}) {
    SCOPED_TRACE("Dv " + std::to_string(valueDim));
    std::string d = std::to_string(valueDim), acc = tensorType("?x?x" + d),
                stats = tensorType("?x?"), o = tensorType("?x" + d),
                l = tensorType("?");
    auto module = compileTwin(
        "func.func @f(%acc: " + acc + ", %max: " + stats + ", %sum: " + stats +
        ", %o: " + o + ", %l: " + l + ") -> (" + o + ", " + l + ", " + o +
        ", " + l + ") {\n%r:2 = attn.merge_partials ins(%acc, %max, %sum : " +
        acc + ", " + stats + ", " + stats + ") outs(%o, %l : " + o + ", " + l +
        ") -> " + o + ", " + l +
        "\n%sink = arith.constant 7.0 : f32\n%s:2 = attn.merge_partials "
        "ins(%acc, %max, %sum : " +
        acc + ", " + stats + ", " + stats + ") outs(%o, %l : " + o + ", " + l +
        ") sink(%sink : f32) -> " + o + ", " + l +
        "\nreturn %r#0, %r#1, %s#0, %s#1 : " + o + ", " + l + ", " + o + ", " +
        l + "\n}\n");
    ASSERT_TRUE(module);
    for (int64_t partials : {0, 1, 2, 5})
      for (auto [rows, outRows] : {std::pair<int64_t, int64_t>{1, 1},
                                   {6, 6},
                                   {6, 4},
                                   {6, 0},
                                   {0, 0}}) {
        SCOPED_TRACE("P " + std::to_string(partials) + ", M " +
                     std::to_string(rows) + ", R " + std::to_string(outRows));
        // Row 3 is empty everywhere, others in some partials.
        int64_t m = std::max<int64_t>(rows, 1);
        auto isEmpty = [&](int64_t n) {
          return n % m == 3 || (n % m + n / m) % 3 == 2;
        };
        TwinCall c = call();
        Tensor64 accs = c.floats({partials, rows, valueDim}, [&](int64_t n) {
          return isEmpty(n / valueDim) ? NAN : 3 * patternAt(0, n);
        });
        Tensor64 maxs = c.floats({partials, rows}, [&](int64_t n) {
          const double anything[] = {-INFINITY, NAN, INFINITY};
          return isEmpty(n) ? anything[n % 3] : 20 * patternAt(1, n);
        });
        Tensor64 sums = c.floats({partials, rows}, [&](int64_t n) {
          return isEmpty(n) ? 0 : 2 + patternAt(2, n);
        });
        c.floats({outRows, valueDim}, [](int64_t) { return NAN; });
        c.floats({outRows}, [](int64_t) { return NAN; });

        std::vector<reference::OnlineState> states;
        for (int64_t p = 0; p < partials; ++p) {
          auto state = reference::OnlineState::empty(1, 1, outRows, valueDim);
          for (int64_t r = 0; r < outRows; ++r) {
            state.maximum.data[r] = maxs.at({p, r});
            state.sum.data[r] = sums.at({p, r});
            for (int64_t e = 0; e < valueDim; ++e)
              state.accumulator.data[r * valueDim + e] = accs.at({p, r, e});
          }
          states.push_back(std::move(state));
        }
        // The merge of no partials is that of an empty one.
        if (states.empty())
          states.push_back(
              reference::OnlineState::empty(1, 1, outRows, valueDim));
        auto expected = llvm::cantFail(reference::mergePartials(states));
        // Maxima up to 30 lose some of their last bits in f32.
        auto withSink = llvm::cantFail(reference::mergePartials(states, {7.0}));
        c.expect(*module,
                 {asTile(expected.o), asTile(expected.lse), asTile(withSink.o),
                  asTile(withSink.lse)},
                 4);
      }
  }
}

/// The tile ops with scores as weights: sums alone, and no maximum.
TEST_P(FusedOps, UnnormalizedTiles) {
  std::string q = tensorType("?x8"), v = tensorType("?x5"),
              acc = tensorType("?x?x5"), l = tensorType("?"),
              stats = tensorType("?x?");
  auto module = compileTwin(
      "func.func @f(%q: " + q + ", %k: " + q + ", %v: " + v + ", %acc: " + v +
      ", %l: " + l + ", %accs: " + acc + ", %stats: " + stats + ", %o: " + v +
      ", %table: tensor<?xf32>) -> (" + v + ", " + l + ", " + v +
      ") {\n%c = arith.constant 0 : index\n%r:3 = attn.online_attention "
      "ins(%q, %k, %v : " +
      q + ", " + q + ", " + v + ") outs(%acc, %l, %l : " + v + ", " + l + ", " +
      l + ") at(%c, %c, %c, %c) scale 0.5 unnormalized" + kScoreRegion +
      kMaskRegion + " -> " + v + ", " + l + ", " + l +
      "\n%s = attn.merge_partials ins(%accs, %stats, %stats : " + acc + ", " +
      stats + ", " + stats + ") outs(%o : " + v + ") unnormalized -> " + v +
      "\nreturn %r#0, %r#1, %s : " + v + ", " + l + ", " + v + "\n}\n");
  ASSERT_TRUE(module);
  constexpr int64_t rows = 7, keys = 9;
  TwinCall c = call();
  Tensor64 qs = c.floats({rows, 8}), ks = c.floats({keys, 8}),
           vs = c.floats({keys, 5}), state = c.floats({rows, 5}),
           max = c.floats({rows}, [](int64_t n) { return n; }),
           accs = c.floats({3, rows, 5});
  c.floats({3, rows}, [](int64_t) { return NAN; });
  c.floats({rows, 5}, [](int64_t) { return NAN; });
  Tensor64 table = c.floats({4}), total({rows, 5});
  reference::AttentionOptions options;
  options.scale = 0.5;
  options.normalizer = reference::Normalizer::None;
  options.mask = isVisible;
  options.score = [&](double x, int64_t b, int64_t h, int64_t i, int64_t j) {
    return scoreOf(table, x, b, h, i, j);
  };
  Tensor64 block =
      asTile(llvm::cantFail(reference::attention(asHeads(qs), asHeads(ks),
                                                 asHeads(vs), options))
                 .o);
  for (int64_t n = 0; n < rows * 5; ++n) {
    block.data[n] += state.data[n];
    for (int64_t p = 0; p < 3; ++p)
      total.data[n] += accs.data[p * rows * 5 + n];
  }
  c.expect(*module, {block, max, total}, 8);
}

/// Rows and columns beyond the source are 0, nothing of it included.
TEST_P(FusedOps, Pack) {
  std::string x = tensorType("?x?"), t = tensorType("9x16");
  auto module =
      compileTwin("func.func @f(%x: " + x + ", %t: " + t + ") -> " + t +
                  " {\n%r = attn.pack ins(%x : " + x + ") outs(%t : " + t +
                  ") factor -0.1 -> " + t + "\nreturn %r : " + t + "\n}\n");
  ASSERT_TRUE(module);
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{9, 16}, {3, 5}, {0, 4}, {4, 0}, {9, 1}}) {
    TwinCall c = call();
    Tensor64 source = c.floats({rows, columns});
    c.floats({9, 16}, [](int64_t) { return NAN; });
    Tensor64 expected({9, 16});
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t d = 0; d < columns; ++d)
        expected.at({r, d}) = -0.1 * source.at({r, d});
    c.expect(*module, {expected});
  }
}

INSTANTIATE_TWIN_TESTS(FusedOps);

} // namespace
