//===- GraphOpsTest.cpp - The twin's graph ops against f64 ------*- C++ -*-===//
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

constexpr double kInfinity = INFINITY;

using GraphOps = TwinTest;

TEST_P(GraphOps, SplitAndMergeHeads) {
  for (int64_t headDim : kHeadDims)
    for (int64_t heads : {1, 3, 4}) {
      std::string joined =
          "tensor<?x?x" + std::to_string(heads * headDim) + "xf32>";
      std::string split = "tensor<?x" + std::to_string(heads) + "x?x" +
                          std::to_string(headDim) + "xf32>";
      auto module = compileTwin(
          "func.func @f(%x: " + joined + ", %y: " + split + ") -> (" + split +
          ", " + joined + ") {\n%s = attn.split_heads %x {num_heads = " +
          std::to_string(heads) + "} : " + joined + " -> " + split +
          "\n%m = attn.merge_heads %y : " + split + " -> " + joined +
          "\nreturn %s, %m : " + split + ", " + joined + "\n}\n");
      ASSERT_TRUE(module);
      for (auto [batch, rows, keys] : kExtents) {
        TwinCall c = call();
        Tensor64 x = c.floats({batch, rows, heads * headDim});
        Tensor64 y = c.floats({batch, heads, keys, headDim});
        c.expect(*module, {llvm::cantFail(reference::splitHeads(x, heads)),
                           llvm::cantFail(reference::mergeHeads(y))});
      }
    }
}

TEST_P(GraphOps, QK) {
  for (int64_t headDim : kHeadDims) {
    SCOPED_TRACE("D " + std::to_string(headDim));
    std::string t = headsType(headDim);
    auto module =
        compileTwin("func.func @f(%q: " + t + ", %k: " + t + ") -> " + kScores +
                    " {\n%s = attn.qk %q, %k : " + t + ", " + t + " -> " +
                    kScores + "\nreturn %s : " + kScores + "\n}\n");
    ASSERT_TRUE(module);
    for (auto [heads, keyHeads] : kHeadCounts)
      for (auto [batch, rows, keys] : kExtents) {
        TwinCall c = call();
        Tensor64 q = c.floats({batch, heads, rows, headDim});
        Tensor64 k = c.floats({batch, keyHeads, keys, headDim});
        c.expect(*module, {llvm::cantFail(reference::qk(q, k))},
                 spreadOf(headDim));
      }
  }
}

/// Factors of 0, negative ones and one that f32 cannot hold exactly; a NaN and
/// infinities among the scores.
TEST_P(GraphOps, ScaleAndSoftcap) {
  std::string s = kScores;
  auto module =
      compileTwin("func.func @f(%s: " + s + ") -> (" + s + ", " + s + ", " + s +
                  ", " + s + ") {\n" + "%a = attn.scale %s by 0.0 : " + s +
                  "\n" + "%b = attn.scale %s by -0.75 : " + s + "\n" +
                  "%c = attn.scale %s by 0.1 : " + s + "\n" +
                  "%d = attn.softcap %s at 0.7 : " + s + "\n" +
                  "return %a, %b, %c, %d : " + s + ", " + s + ", " + s + ", " +
                  s + "\n}\n");
  ASSERT_TRUE(module);
  for (auto [batch, rows, keys] : kExtents) {
    TwinCall c = call();
    Tensor64 x = c.floats({batch, 3, rows, keys}, [](int64_t n) {
      return n == 4   ? NAN
             : n == 5 ? kInfinity
             : n == 6 ? -kInfinity
             : n == 7 ? 1e30
                      : 8 * patternAt(3, n);
    });
    c.expect(*module, {reference::scale(x, 0.0), reference::scale(x, -0.75),
                       reference::scale(x, 0.1),
                       llvm::cantFail(reference::softcap(x, 0.7))});
  }
}

/// Every rank, extents of 1 that are written and that come at run time.
TEST_P(GraphOps, Bias) {
  struct Case {
    const char *extents;
    Shape (*shape)(Shape full);
  };
  const Case cases[] = {
      {"", [](Shape) { return Shape{}; }},
      {"?x", [](Shape f) { return Shape{f[3]}; }},
      {"1x", [](Shape) { return Shape{1}; }},
      {"?x?x", [](Shape f) { return Shape{f[2], f[3]}; }},
      {"?x?x", [](Shape f) { return Shape{1, f[3]}; }},
      {"?x1x", [](Shape f) { return Shape{f[2], 1}; }},
      {"?x?x?x", [](Shape f) { return Shape{f[1], f[2], f[3]}; }},
      {"3x1x?x", [](Shape f) { return Shape{3, 1, f[3]}; }},
      {"?x?x?x?x", [](Shape f) { return f; }},
      {"?x1x?x?x", [](Shape f) { return Shape{f[0], 1, f[2], f[3]}; }},
      {"?x?x?x?x", [](Shape f) { return Shape{1, 1, 1, f[3]}; }}};
  for (const Case &test : cases) {
    SCOPED_TRACE(test.extents);
    std::string s = kScores, t = std::string("tensor<") + test.extents + "f32>";
    auto module = compileTwin("func.func @f(%s: " + s + ", %b: " + t + ") -> " +
                              s + " {\n%r = attn.bias %s, %b : " + s + ", " +
                              t + "\nreturn %r : " + s + "\n}\n");
    ASSERT_TRUE(module);
    for (auto [batch, rows, keys] : kExtents) {
      TwinCall c = call();
      Shape full{batch, 3, rows, keys};
      // A NaN score under -inf is hidden; the lowest finite bias is only that.
      Tensor64 x = c.floats(
          full, [](int64_t n) { return n % 5 == 2 ? NAN : patternAt(0, n); });
      Tensor64 b = c.floats(test.shape(full), [](int64_t n) {
        return n % 7 == 2   ? -kInfinity
               : n % 7 == 4 ? -0x1.fffffep127
                            : patternAt(1, n);
      });
      c.expect(*module, {llvm::cantFail(reference::bias(x, b))});
    }
  }
}

/// Every index, a gather by head, and one that leaves its table on both sides.
TEST_P(GraphOps, ScoreMap) {
  std::string s = kScores;
  auto module = compileTwin("func.func @f(%s: " + s +
                            R"(, %slopes: tensor<?xf32>, %table: tensor<?xf32>)
      -> )" + s +
                            " {\n%r = attn.score_map %s : " + s + R"( {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %d = arith.subi %j, %i : index
    %n = arith.index_cast %d : index to i32
    %f = arith.sitofp %n : i32 to f32
    %slope = tensor.extract %slopes[%h] : tensor<?xf32>
    %alibi = arith.mulf %slope, %f : f32
    %near = tensor.extract %table[%d] : tensor<?xf32>
    %bi = arith.index_cast %b : index to i32
    %bf = arith.sitofp %bi : i32 to f32
    %y = arith.addf %x, %alibi : f32
    %z = arith.addf %y, %near : f32
    %w = arith.subf %z, %bf : f32
    attn.yield %w : f32
  }
  return %r : )" + s + "\n}\n");
  ASSERT_TRUE(module);
  for (auto [batch, rows, keys] : kExtents) {
    int64_t tableSize = 3;
    TwinCall c = call();
    Tensor64 x = c.floats({batch, 4, rows, keys});
    Tensor64 slopes = c.floats({4});
    Tensor64 table = c.floats({tableSize});
    Tensor64 expected = x;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < 4; ++h)
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < keys; ++j)
            expected.at({b, h, i, j}) +=
                slopes.at({h}) * (j - i) +
                table.at({std::clamp<int64_t>(j - i, 0, tableSize - 1)}) - b;
    c.expect(*module, {expected});
  }
}

/// Keys without weight may hold anything.
TEST_P(GraphOps, WeightedSum) {
  for (int64_t headDim : kHeadDims) {
    SCOPED_TRACE("D " + std::to_string(headDim));
    std::string t = headsType(headDim), s = kScores;
    auto module =
        compileTwin("func.func @f(%p: " + s + ", %v: " + t + ") -> " + t +
                    " {\n%o = attn.weighted_sum %p, %v : " + s + ", " + t +
                    " -> " + t + "\nreturn %o : " + t + "\n}\n");
    ASSERT_TRUE(module);
    for (double poison : {(double)NAN, kInfinity, -kInfinity})
      for (auto [heads, keyHeads] : kHeadCounts)
        for (auto [batch, rows, keys] : kExtents) {
          // No row weighs the last key; a row of head 0 weighs none.
          auto isHidden = [keys = keys](int64_t, int64_t h, int64_t i,
                                        int64_t j) {
            return j == keys - 1 || (h == 0 && i == 1);
          };
          TwinCall c = call();
          int64_t heads0 = heads, rows0 = rows, keys0 = keys;
          Tensor64 p = c.floats({batch, heads, rows, keys}, [&](int64_t n) {
            int64_t j = n % keys0, i = n / keys0 % rows0,
                    h = n / keys0 / rows0 % heads0;
            return isHidden(0, h, i, j) ? 0 : patternAt(0, n) + 2;
          });
          Tensor64 v =
              c.floats({batch, keyHeads, keys, headDim}, [&](int64_t n) {
                return n / headDim % keys0 == keys0 - 1 ? poison
                                                        : patternAt(1, n);
              });
          c.expect(*module,
                   {llvm::cantFail(reference::weightedSum(
                       p, v,
                       [&](int64_t b, int64_t h, int64_t i, int64_t j) {
                         return !isHidden(b, h, i, j);
                       }))},
                   /*spread=*/4); // weights up to 3.5
        }
  }
}

/// Weights of one head and of each.
TEST_P(GraphOps, AdditiveScores) {
  std::string t = "tensor<?x4x?x5xf32>", k = headsType(5), s = kScores;
  for (const Shape &shape : {Shape{5}, Shape{4, 5}}) {
    std::string w = shape.size() == 1 ? "tensor<5xf32>" : "tensor<4x5xf32>";
    auto module = compileTwin(
        "func.func @f(%q: " + t + ", %k: " + k + ", %w: " + w + ") -> " + s +
        " {\n%a = attn.additive_scores %q, %k, %w : " + t + ", " + k + ", " +
        w + " -> " + s + "\nreturn %a : " + s + "\n}\n");
    ASSERT_TRUE(module);
    for (auto [batch, rows, keys] : kExtents) {
      TwinCall c = call();
      Tensor64 q = c.floats({batch, 4, rows, 5});
      Tensor64 k = c.floats({batch, 2, keys, 5});
      Tensor64 w = c.floats(shape);
      c.expect(*module, {llvm::cantFail(reference::additiveScores(q, k, w))},
               4);
    }
  }
}

INSTANTIATE_TWIN_TESTS(GraphOps);

} // namespace
