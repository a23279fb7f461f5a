//===- RopeTest.cpp - Attention on rotated queries and keys, against f64 --===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormsTest.h"

using namespace attn;
using namespace attn::test;
using reference::RopeLayout;
using reference::RopeOptions;
using reference::Tensor64;

namespace {

using Rope = FormsTest;

/// Where the positions and angles of queries and keys come from.
enum class Angles { Base, Offset, Ids, Tables, TablesAtIds };

struct RopeForm {
  RopeLayout layout;
  Angles angles;
  /// Features in a third of the head stay, if they do not fill it.
  bool isPartial;

  int64_t rotaryDim(int64_t headDim) const {
    return isPartial ? headDim / 3 * 2 : headDim;
  }
};

constexpr int64_t kTableRows = 5000;
/// Angles of a radian each, a million of them.
constexpr int64_t kFar = 1000000;

RopeOptions withAngles(FormCall &call, const RopeForm &form, int64_t rows,
                       const char *side) {
  RopeOptions options;
  options.layout = form.layout;
  options.rotaryDim = form.rotaryDim(call.headDim);
  int64_t pairs = options.rotaryDim / 2;
  bool isQuery = side[0] == 'q';
  switch (form.angles) {
  case Angles::Base:
    break;
  case Angles::Offset:
    options.base = 5e5;
    options.offset = kFar + (isQuery ? call.keys - call.queryRows : 0);
    break;
  case Angles::Ids:
    options.positionIds = call.add(
        isQuery ? ElementType::i64 : ElementType::i32, {call.batch, rows},
        [&](int64_t n) { return (n * 7919 + 13) % kFar - 100; });
    break;
  case Angles::Tables:
  case Angles::TablesAtIds:
    if (form.angles == Angles::TablesAtIds)
      options.positionIds =
          call.add(ElementType::i64, {call.batch, rows},
                   [&](int64_t n) { return (n * 31 + 3) % kTableRows; });
    ElementType type = isQuery ? ElementType::f32 : ElementType::bf16;
    options.cosTable = call.add(type, {kTableRows, pairs}, pattern(5, 0.5));
    options.sinTable = call.add(type, {kTableRows, pairs}, pattern(6, 0.5));
    break;
  }
  return options;
}

Form ropeForm(RopeForm form) {
  auto write = [=](AttentionGraph &graph) {
    std::string pairs = std::to_string(form.rotaryDim(graph.headDim) / 2);
    if (form.angles == Angles::Offset)
      graph.inputOps += "%c2 = arith.constant 2 : index\n%far = "
                        "arith.constant " +
                        std::to_string(kFar) +
                        " : index\n%sk = tensor.dim %k, %c2 : " + graph.keys() +
                        "\n%sq = tensor.dim %q, %c2 : " + graph.queries() +
                        "\n%past = arith.subi %sk, %sq : index\n%farq = "
                        "arith.addi %past, %far : index\n";
    for (std::string side : {"q", "k"}) {
      bool isQuery = side == "q";
      std::string op =
          "%r" + side + " = attn.rope %" + side +
          (form.layout == RopeLayout::Half ? " half" : " interleaved") +
          " rotary_dim " + std::to_string(form.rotaryDim(graph.headDim));
      if (form.angles == Angles::Offset)
        op += std::string(" base 5.0e5 offset(") +
              (isQuery ? "%farq" : "%far") + ")";
      if (form.angles == Angles::Ids || form.angles == Angles::TablesAtIds) {
        bool isNarrow = form.angles == Angles::Ids && !isQuery;
        std::string type = isNarrow ? "tensor<?x?xi32>" : "tensor<?x?xi64>";
        graph.extra += ", %i" + side + ": " + type;
        op += " positions(%i" + side + " : " + type + ")";
      }
      if (form.angles == Angles::Tables || form.angles == Angles::TablesAtIds) {
        // One side does not know the number of pairs.
        std::string type = "tensor<?x" + (isQuery ? pairs : "?") + "x" +
                           (isQuery ? "f32>" : "bf16>");
        graph.extra +=
            ", %c" + side + ": " + type + ", %s" + side + ": " + type;
        op += " tables(%c" + side + ", %s" + side + " : " + type + ", " + type +
              ")";
      }
      graph.inputOps +=
          op + " : " + (isQuery ? graph.queries() : graph.keys()) + "\n";
    }
    graph.query = "%rq";
    graph.key = "%rk";
  };
  auto fill = [=](FormCall &call) {
    auto rotate = [](const RopeOptions &options) {
      return [=](const Tensor64 &x) {
        return llvm::cantFail(reference::rope(x, options));
      };
    };
    call.query = rotate(withAngles(call, form, call.queryRows, "q"));
    call.key = rotate(withAngles(call, form, call.keys, "k"));
    // Rotated values are up to sqrt(2) larger, and those of f16 and bf16 are
    // rounded from f32, not from f64.
    call.factor = 2.0;
  };
  return {write, fill};
}

TEST_P(Rope, Half) {
  checkForm(GetParam(), ropeForm({RopeLayout::Half, Angles::Base, false}));
}

TEST_P(Rope, InterleavedFarAway) {
  checkForm(GetParam(),
            ropeForm({RopeLayout::Interleaved, Angles::Offset, false}));
}

TEST_P(Rope, PartialWithIds) {
  checkForm(GetParam(), ropeForm({RopeLayout::Half, Angles::Ids, true}));
}

TEST_P(Rope, Tables) {
  checkForm(GetParam(), ropeForm({RopeLayout::Half, Angles::Tables, true}));
  checkForm(GetParam(),
            ropeForm({RopeLayout::Interleaved, Angles::TablesAtIds, false}));
}

INSTANTIATE_FORMS_TESTS(Rope);

/// One rope of heads of each number of features and pairs: vectors that are
/// whole, that overlap, and that are narrow, beside features that stay.
class RopeAlone : public FormsTest {};

TEST_P(RopeAlone, EveryWidth) {
  const std::pair<int64_t, int64_t> dims[] = {
      {2, 2},   {7, 4},   {13, 12}, {16, 10},   {40, 40},
      {64, 64}, {80, 20}, {96, 72}, {128, 128}, {256, 34}};
  for (ElementType type :
       {ElementType::f32, ElementType::bf16, ElementType::f16})
    for (auto [headDim, rotary] : dims)
      for (RopeLayout layout : {RopeLayout::Half, RopeLayout::Interleaved}) {
        if (type != ElementType::f32 && headDim % 16)
          continue; // a spread of the dims
        std::string t = AttentionGraph::rows(3, "?", headDim, type);
        std::string text =
            "func.func @f(%x: " + t + ", %n: index) -> " + t +
            " {\n%r = attn.rope %x " +
            (layout == RopeLayout::Half ? "half" : "interleaved") +
            " rotary_dim " + std::to_string(rotary) + " offset(%n) : " + t +
            "\nreturn %r : " + t + "\n}\n";
        SCOPED_TRACE(text);
        auto module = compile(text, GetParam());
        ASSERT_TRUE(module);
        for (int64_t rows : {0, 1, 70}) {
          Operand x(type, {2, 3, rows, headDim}, rows % 2 == 0, pattern(0));
          RopeOptions options;
          options.layout = layout;
          options.rotaryDim = rotary;
          options.offset = kFar;
          HostTensor y = run(*module, {x.view, options.offset}, type,
                             {2, 3, rows, headDim}, 2, rows % 2);
          auto expected =
              llvm::cantFail(reference::rope(Tensor64::from(x.host), options));
          Comparison comparison = compare(y, expected.data);
          double bound = type == ElementType::f32    ? 1e-6
                         : type == ElementType::bf16 ? 1e-2
                                                     : 1.5e-3;
          EXPECT_TRUE(comparison.within(bound)) << comparison.describe(bound);
        }
        if (HasFailure())
          return;
      }
}

INSTANTIATE_FORMS_TESTS(RopeAlone);

} // namespace
