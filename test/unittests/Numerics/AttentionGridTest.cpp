//===- AttentionGridTest.cpp - The fused path against f64, over a grid ----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every (head dim, mask kind, target) is compiled once with dynamic lengths and
// run on pairs of lengths that sit at and around the edges of tiles and
// vectors. A spread of the pairs runs every time; ATTN_GRID=all runs all of
// them. What masks and scores read beside keys is f32 in graphs of f64 too.
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"

#include <cmath>

using namespace attn;
using attn::reference::Tensor64;
using namespace attn::test;

namespace {

constexpr int64_t kLengths[] = {0,  1,  2,  15, 16,  17,  31,
                                33, 63, 64, 65, 127, 129, 257};
constexpr int64_t kHeadDims[] = {1,  8,  32,  40,  64,  72,
                                 80, 96, 100, 128, 192, 256};
constexpr int64_t kBatch = 2, kHeads = 2, kKeyHeads = 1;

enum class MaskKind {
  None,
  CausalTopLeft,
  CausalBottomRight,
  CausalOffset,
  Window,
  Lengths,
  Tensor,
  Bias,
  Softcap,
  Region,
  Branching,
  Prefix,
  Segments,
  Padding,
  Documents
};
constexpr std::pair<MaskKind, const char *> kMasks[] = {
    {MaskKind::None, "none"},
    {MaskKind::CausalTopLeft, "causal_top_left"},
    {MaskKind::CausalBottomRight, "causal_bottom_right"},
    {MaskKind::CausalOffset, "causal_offset"},
    {MaskKind::Window, "window"},
    {MaskKind::Lengths, "lengths"},
    {MaskKind::Tensor, "tensor"},
    {MaskKind::Bias, "bias"},
    {MaskKind::Softcap, "softcap"},
    {MaskKind::Region, "region"},
    {MaskKind::Branching, "branching"},
    {MaskKind::Prefix, "prefix"},
    {MaskKind::Segments, "segments"},
    {MaskKind::Padding, "padding"},
    {MaskKind::Documents, "documents"}};

/// Documents of uneven lengths, packed: the ids of positions.
int64_t segmentAt(int64_t position) { return position * position / 700; }

/// The chain with one mask, as a user writes it. Value heads have `headDim + 3`
/// features, so that nothing rests on equal head dims.
AttentionGraph graph(int64_t headDim, MaskKind mask, ElementType type) {
  AttentionGraph graph;
  graph.queryType = graph.type = type;
  graph.heads = kHeads;
  graph.keyHeads = kKeyHeads;
  graph.headDim = headDim;
  graph.valueDim = headDim + 3;
  graph.scale = "0.375";
  std::string &extra = graph.extra, &clause = graph.clause;
  std::string s = graph.scoresType();
  switch (mask) {
  case MaskKind::None:
    break;
  case MaskKind::CausalTopLeft:
    clause = "causal(top_left)";
    break;
  case MaskKind::CausalBottomRight:
    clause = "causal(bottom_right)";
    break;
  case MaskKind::CausalOffset:
    extra = ", %extra: tensor<?xi32>";
    clause = "causal(offset %extra : tensor<?xi32>)";
    break;
  case MaskKind::Window:
    clause = "window[9, 3](top_left)";
    break;
  case MaskKind::Lengths:
    extra = ", %extra: tensor<?xi32>";
    clause = "lengths(%extra : tensor<?xi32>)";
    break;
  case MaskKind::Tensor:
    extra = ", %extra: tensor<?x?xi1>";
    clause = "mask(%extra : tensor<?x?xi1>)";
    break;
  case MaskKind::Bias:
    extra = ", %extra: tensor<2x?x?xf32>";
    graph.scoreOps = "%t = attn.bias %u, %extra : " + s + ", tensor<2x?x?xf32>";
    break;
  case MaskKind::Softcap:
    graph.scoreOps = "%t = attn.softcap %u at 1.5 : " + s;
    clause = "causal(top_left)";
    break;
  case MaskKind::Region:
    clause = R"(visible {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %three = arith.constant 3 : index
        %x = arith.addi %i, %j : index
        %y = arith.addi %x, %h : index
        %z = arith.remui %y, %three : index
        %zero = arith.constant 0 : index
        %w = arith.cmpi ne, %z, %zero : index
        attn.yield %w : i1
      })";
    break;
  case MaskKind::Branching:
    // Control flow and a gather in it: no vector form.
    extra = ", %extra: tensor<?xi32>";
    clause = R"(visible {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %same = arith.cmpi eq, %i, %j : index
        %w = scf.if %same -> i1 {
          %true = arith.constant true
          scf.yield %true : i1
        } else {
          %n = tensor.extract %extra[%j] : tensor<?xi32>
          %two = arith.constant 2 : i32
          %small = arith.cmpi slt, %n, %two : i32
          scf.yield %small : i1
        }
        attn.yield %w : i1
      })";
    break;
  case MaskKind::Prefix:
    extra = ", %extra: tensor<?xi64>";
    clause = "causal(top_left, prefix = %extra : tensor<?xi64>)";
    break;
  case MaskKind::Segments:
    extra = ", %extra: tensor<?x?xi32>, %keys: tensor<?x?xi32>";
    clause = "segments(%extra, %keys : tensor<?x?xi32>, tensor<?x?xi32>)";
    break;
  case MaskKind::Padding:
    extra = ", %extra: tensor<?x1x1x?xi1>";
    clause = "mask(%extra : tensor<?x1x1x?xi1>)";
    break;
  case MaskKind::Documents:
    clause = R"(causal(bottom_right) visible {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %length = arith.constant 24 : index
        %x = arith.divui %i, %length : index
        %y = arith.divui %j, %length : index
        %w = arith.cmpi eq, %x, %y : index
        attn.yield %w : i1
      })";
    break;
  }
  return graph;
}

void runPair(CompiledModule &module, int64_t headDim, MaskKind mask,
             ElementType type, int64_t sq, int64_t skv) {
  SCOPED_TRACE("Sq " + std::to_string(sq) + ", Skv " + std::to_string(skv));
  bool flush = (sq + skv) % 2 == 0;
  int64_t valueDim = headDim + 3;
  Operand q(type, {kBatch, kHeads, sq, headDim}, flush, pattern(0));
  Operand k(type, {kBatch, kKeyHeads, skv, headDim}, flush, pattern(1));
  Operand v(type, {kBatch, kKeyHeads, skv, valueDim}, !flush, pattern(2));
  std::vector<CallArgument> inputs{q.view, k.view, v.view};

  reference::AttentionOptions options;
  options.scale = 0.375;
  std::optional<Operand> extra, more;
  llvm::SmallVector<int64_t> full{kBatch, kHeads, sq, skv};
  switch (mask) {
  case MaskKind::None:
    break;
  case MaskKind::CausalTopLeft:
    options.mask = reference::causalTopLeft();
    break;
  case MaskKind::CausalBottomRight:
    options.mask = reference::causalBottomRight(sq, skv);
    break;
  case MaskKind::CausalOffset: {
    // One element starts behind its keys, the other has a past.
    int64_t offsets[] = {-3, 20};
    extra.emplace(ElementType::i32, llvm::ArrayRef<int64_t>{kBatch}, flush,
                  [&](int64_t n) { return offsets[n]; });
    options.mask = [=](int64_t b, int64_t, int64_t i, int64_t j) {
      return j <= i + (b == 0 ? -3 : 20);
    };
    break;
  }
  case MaskKind::Window:
    options.mask = reference::window(9, 3);
    break;
  case MaskKind::Lengths: {
    std::vector<int64_t> lengths{skv / 2, skv};
    extra.emplace(ElementType::i32, llvm::ArrayRef<int64_t>{kBatch}, flush,
                  [&](int64_t n) { return lengths[n]; });
    options.mask = reference::lengths(lengths);
    break;
  }
  case MaskKind::Tensor:
    extra.emplace(ElementType::i1, llvm::ArrayRef<int64_t>{sq, skv}, flush,
                  [](int64_t n) { return n * 7 % 10 < 7; });
    options.mask = llvm::cantFail(
        reference::maskTensor(Tensor64::from(extra->host), full));
    break;
  case MaskKind::Bias:
    extra.emplace(
        ElementType::f32, llvm::ArrayRef<int64_t>{kHeads, sq, skv}, flush,
        [](int64_t n) { return n * 7 % 11 < 2 ? -INFINITY : patternAt(4, n); });
    options.score = [&](double s, int64_t, int64_t h, int64_t i, int64_t j) {
      return reference::addBias(s, extra->host.get((h * sq + i) * skv + j));
    };
    break;
  case MaskKind::Softcap:
    options.score = [](double s, int64_t, int64_t, int64_t, int64_t) {
      return 1.5 * std::tanh(s / 1.5);
    };
    options.mask = reference::causalTopLeft();
    break;
  case MaskKind::Region:
    options.mask = [](int64_t, int64_t h, int64_t i, int64_t j) {
      return (i + j + h) % 3 != 0;
    };
    break;
  case MaskKind::Branching:
    extra.emplace(ElementType::i32, llvm::ArrayRef<int64_t>{skv}, flush,
                  [](int64_t n) { return n % 5; });
    options.mask = [](int64_t, int64_t, int64_t i, int64_t j) {
      return i == j || j % 5 < 2;
    };
    break;
  case MaskKind::Prefix: {
    // One prefix beyond every key, one before all.
    int64_t prefixes[] = {skv / 2 + 1, -7};
    extra.emplace(ElementType::i64, llvm::ArrayRef<int64_t>{kBatch}, flush,
                  [&](int64_t n) { return prefixes[n]; });
    options.mask = reference::prefix({prefixes[0], prefixes[1]});
    break;
  }
  case MaskKind::Segments:
    // In the second element, keys of ids that no row has.
    extra.emplace(ElementType::i32, llvm::ArrayRef<int64_t>{kBatch, sq}, flush,
                  [&](int64_t n) { return segmentAt(n % sq); });
    more.emplace(ElementType::i32, llvm::ArrayRef<int64_t>{kBatch, skv}, flush,
                 [&](int64_t n) {
                   return n < skv ? segmentAt(n) : 3 - segmentAt(n - skv);
                 });
    options.mask = reference::segments(Tensor64::from(extra->host),
                                       Tensor64::from(more->host));
    break;
  case MaskKind::Padding:
    // Whole blocks without a key, with all keys, and with some.
    extra.emplace(ElementType::i1, llvm::ArrayRef<int64_t>{kBatch, 1, 1, skv},
                  flush, [&](int64_t n) {
                    return n < skv ? n < 64 || n >= 128 : n % skv < skv - 5;
                  });
    options.mask = llvm::cantFail(
        reference::maskTensor(Tensor64::from(extra->host), full));
    break;
  case MaskKind::Documents:
    options.mask = [=](int64_t, int64_t, int64_t i, int64_t j) {
      return j <= i + skv - sq && i / 24 == j / 24;
    };
    break;
  }
  if (extra)
    inputs.push_back(extra->view);
  if (more)
    inputs.push_back(more->view);

  // Scores reach 0.375 * 2.25 * D here, beyond the unit variance of the bound,
  // and their rounding grows with them.
  double spread =
      std::max(1.0, 0.375 * std::sqrt(static_cast<double>(headDim)));
  double bound = attentionBound(type, 1.5) * spread;
  expectAttention(run(module, inputs, type, {kBatch, kHeads, sq, valueDim},
                      /*threads=*/1, flush),
                  q, k, v, options, bound);
}

class AttentionGrid : public testing::TestWithParam<const char *> {
protected:
  /// Of every `stride` kernels, one is run; all, if asked.
  void runGrid(ElementType type, size_t stride) {
    SKIP_UNLESS_EXECUTABLE(GetParam());
    size_t turn = 0;
    for (int64_t headDim : kHeadDims)
      for (auto [mask, name] : kMasks) {
        if (!runAll() && ++turn % stride)
          continue;
        SCOPED_TRACE("D " + std::to_string(headDim) + ", mask " + name);
        std::unique_ptr<CompiledModule> module =
            compile(graph(headDim, mask, type).text(), GetParam());
        ASSERT_TRUE(module);
        size_t pair = turn;
        for (int64_t sq : kLengths)
          for (int64_t skv : kLengths)
            if (runAll() || ++pair % 17 == 0)
              runPair(*module, headDim, mask, type, sq, skv);
        if (HasFailure())
          return;
      }
  }
};

/// The named targets take every third kernel, each another third of the head
/// dims for a mask kind.
TEST_P(AttentionGrid, MatchesF64) {
  bool isNative = llvm::StringRef(GetParam()) == "native";
  runGrid(ElementType::f32, isNative ? 1 : 3);
}

/// Kernels of f64 differ from those in their vectors alone.
TEST_P(AttentionGrid, OfF64MatchesF64) { runGrid(ElementType::f64, 7); }

INSTANTIATE_TEST_SUITE_P(Targets, AttentionGrid, testing::ValuesIn(kTargets),
                         targetTestName);

} // namespace
