//===- MaskedSoftmaxTest.cpp - The twin's masks against f64 -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every alignment with causal, window and both, each alone and together with
// lengths, a mask tensor and a program. Hidden scores are NaN or infinite.
//
//===----------------------------------------------------------------------===//

#include "TwinTest.h"

using namespace attn;
using namespace attn::test;
using attn::reference::Visibility;

namespace {

using MaskedSoftmax = TwinTest;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
constexpr int64_t kHeads = 4;

/// One way to write a diagonal.
struct Band {
  bool causal;
  std::optional<std::pair<int64_t, int64_t>> window;
  bool prefix = false;
};
const Band kBands[] = {
    {true, {}},          {false, {{2, 1}}},         {false, {{-1, 2}}},
    {false, {{0, -1}}},  {true, {{3, 0}}},          {true, {{0, -1}}},
    {false, {{-1, -1}}}, {false, {{kHuge, kHuge}}}, {true, {{kHuge, 1}}},
    {true, {}, true},    {true, {{3, 0}}, true}};
const char *const kAlignments[] = {"top_left", "bottom_right",
                                   "offset %past : index",
                                   "offset %pasts : tensor<?xi32>"};

std::string bandText(const Band &band, const std::string &alignment) {
  std::string text, at = "(" + alignment + ")";
  if (band.causal)
    text += "causal(" + alignment +
            (band.prefix ? ", prefix = %pasts : tensor<?xi32>)" : ")");
  if (band.window) {
    text += " window[" + std::to_string(band.window->first) + ", " +
            std::to_string(band.window->second) + "]";
    if (!band.causal)
      text += at;
  }
  return text;
}

/// The operands of all clauses, for given extents.
struct Operands {
  int64_t past = 2;
  Tensor64 pasts, lengths, mask, rowIds, keyIds;
};

/// Bits of `clauses`.
enum { Lengths = 1, Mask = 2, Program = 4, Segments = 8, AllClauses = 15 };

std::string clausesText(unsigned clauses) {
  std::string text;
  if (clauses & Lengths)
    text += " lengths(%lengths : tensor<?xi64>)";
  if (clauses & Segments)
    text += " segments(%rowIds, %keyIds : tensor<?x?xi32>, tensor<?x?xi32>)";
  if (clauses & Mask)
    text += " mask(%mask : tensor<?x1x?x?xi1>)";
  if (clauses & Program)
    text += R"( visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %three = arith.constant 3 : index
    %x = arith.addi %i, %h : index
    %y = arith.addi %x, %j : index
    %z = arith.remui %y, %three : index
    %w = arith.cmpi ne, %z, %b : index
    attn.yield %w : i1
  })";
  return text;
}

Visibility visibilityOf(const Band *band, size_t alignment, unsigned clauses,
                        const Operands &operands, Extents extents) {
  std::vector<Visibility> all;
  if (band)
    all.push_back([=](int64_t b, int64_t h, int64_t i, int64_t j) {
      int64_t offset = alignment == 0   ? 0
                       : alignment == 1 ? extents.keys - extents.rows
                       : alignment == 2
                           ? operands.past
                           : static_cast<int64_t>(operands.pasts.at({b}));
      bool inPrefix = band->prefix && j < operands.pasts.at({b});
      if (band->causal && !inPrefix && !reference::causal(offset)(b, h, i, j))
        return false;
      return !band->window ||
             reference::window(band->window->first, band->window->second,
                               offset)(b, h, i, j);
    });
  if (clauses & Lengths)
    all.push_back([=](int64_t b, int64_t, int64_t, int64_t j) {
      return j < operands.lengths.at({b});
    });
  if (clauses & Segments)
    all.push_back(reference::segments(operands.rowIds, operands.keyIds));
  if (clauses & Mask)
    all.push_back(llvm::cantFail(reference::maskTensor(
        operands.mask, {extents.batch, kHeads, extents.rows, extents.keys})));
  if (clauses & Program)
    all.push_back([](int64_t b, int64_t h, int64_t i, int64_t j) {
      return (i + h + j) % 3 != b;
    });
  return reference::allOf(all);
}

struct Variant {
  const Band *band;
  size_t alignment;
  unsigned clauses;
  std::string text;
};

/// One function for many variants: each softmax has scores of its own, for what
/// is hidden differs.
void checkVariants(ElementType type, CompiledModule &module,
                   llvm::ArrayRef<Variant> variants) {
  for (Extents extents : kExtents) {
    const int64_t batch = extents.batch, rows = extents.rows;
    const int64_t keys = extents.keys;
    TwinCall c(type);
    Operands operands;
    c.index(operands.past);
    operands.pasts = c.add(ElementType::i32, {batch},
                           [](int64_t n) { return n == 1 ? -2 : 4 - n; });
    operands.lengths = c.add(ElementType::i64, {batch}, [=](int64_t n) {
      return n == 0 ? keys - 1 : n == 1 ? -1 : keys + 5;
    });
    operands.mask = c.add(ElementType::i1, {batch, 1, rows, keys},
                          [](int64_t n) { return n * 5 % 7 < 5; });
    operands.rowIds = c.add(ElementType::i32, {batch, rows},
                            [](int64_t n) { return n / 3 % 4; });
    operands.keyIds = c.add(ElementType::i32, {batch, keys},
                            [](int64_t n) { return n / 2 % 5; });
    std::vector<Tensor64> expected;
    for (const Variant &variant : variants) {
      Visibility visible = visibilityOf(variant.band, variant.alignment,
                                        variant.clauses, operands, extents);
      auto isHidden = [&](int64_t n) {
        int64_t j = n % keys, i = n / keys % rows, h = n / keys / rows % kHeads,
                b = n / keys / rows / kHeads;
        return !visible(b, h, i, j);
      };
      const double poison[] = {NAN, INFINITY, -INFINITY, 1e30};
      Tensor64 scores = c.floats({batch, kHeads, rows, keys}, [&](int64_t n) {
        return isHidden(n) ? poison[n % 4] : 4 * patternAt(variant.clauses, n);
      });
      expected.push_back(
          llvm::cantFail(reference::maskedSoftmax(scores, visible)).weights);
    }
    SCOPED_TRACE("B " + std::to_string(batch) + ", Sq " + std::to_string(rows) +
                 ", Skv " + std::to_string(keys));
    c.expect(module, expected);
  }
}

std::string functionOf(llvm::ArrayRef<Variant> variants) {
  std::string s = kScores, arguments, body, results, types;
  for (auto [n, variant] : llvm::enumerate(variants)) {
    std::string number = std::to_string(n);
    arguments += ", %s" + number + ": " + s;
    body += "%r" + number + " = attn.masked_softmax %s" + number + " " +
            variant.text + " : " + s + "\n";
    results += (n ? ", %r" : "%r") + number;
    types += (n ? ", " : "") + s;
  }
  return "func.func @f(%past: index, %pasts: tensor<?xi32>, %lengths: "
         "tensor<?xi64>, %mask: tensor<?x1x?x?xi1>, %rowIds: tensor<?x?xi32>, "
         "%keyIds: tensor<?x?xi32>" +
         arguments + ") -> (" + types + ") {\n" + body + "return " + results +
         " : " + types + "\n}\n";
}

TEST_P(MaskedSoftmax, EveryClauseAndCombination) {
  std::vector<Variant> variants;
  for (unsigned clauses = 0; clauses <= AllClauses; ++clauses)
    variants.push_back({nullptr, 0, clauses, clausesText(clauses)});
  unsigned turn = 0;
  for (size_t alignment = 0; alignment < std::size(kAlignments); ++alignment)
    for (const Band &band : kBands) {
      // Alone, with all the others, and with some.
      for (unsigned clauses : {0u, unsigned(AllClauses), 1 + turn % 14})
        variants.push_back(
            {&band, alignment, clauses,
             bandText(band, kAlignments[alignment]) + clausesText(clauses)});
      ++turn;
    }
  constexpr size_t perFunction = 12;
  for (size_t first = 0; first < variants.size(); first += perFunction) {
    llvm::ArrayRef<Variant> some = llvm::ArrayRef(variants).slice(
        first, std::min(perFunction, variants.size() - first));
    std::string text = functionOf(some);
    SCOPED_TRACE(text);
    auto module = compileTwin(text);
    ASSERT_TRUE(module);
    checkVariants(GetParam(), *module, some);
  }
}

/// Mask tensors of every rank, extents of 1 that are written and that come at
/// run time.
TEST_P(MaskedSoftmax, MaskTensors) {
  struct Case {
    const char *extents;
    Shape (*shape)(Shape full);
  };
  const Case cases[] = {
      {"", [](Shape) { return Shape{}; }},
      {"?x", [](Shape f) { return Shape{f[3]}; }},
      {"?x?x", [](Shape f) { return Shape{f[2], f[3]}; }},
      {"?x1x", [](Shape f) { return Shape{f[2], 1}; }},
      {"?x?x", [](Shape f) { return Shape{1, f[3]}; }},
      {"4x?x?x", [](Shape f) { return Shape{4, f[2], f[3]}; }},
      {"?x?x?x", [](Shape f) { return Shape{1, f[2], f[3]}; }},
      {"?x?x?x?x", [](Shape f) { return f; }},
      {"?x?x?x?x", [](Shape f) { return Shape{f[0], 1, 1, f[3]}; }}};
  for (const Case &test : cases) {
    SCOPED_TRACE(test.extents);
    std::string s = kScores, t = std::string("tensor<") + test.extents + "i1>";
    auto module =
        compileTwin("func.func @f(%s: " + s + ", %m: " + t + ") -> " + s +
                    " {\n%r = attn.masked_softmax %s mask(%m : " + t +
                    ") : " + s + "\nreturn %r : " + s + "\n}\n");
    ASSERT_TRUE(module);
    for (auto [batch, rows, keys] : kExtents)
      for (int64_t first : {0, 1}) {
        TwinCall c = call();
        Shape full{batch, kHeads, rows, keys};
        Tensor64 x = c.floats(full);
        Tensor64 m = c.add(ElementType::i1, test.shape(full),
                           [=](int64_t n) { return (n + first) % 3 != 1; });
        Visibility visible = llvm::cantFail(reference::maskTensor(m, full));
        c.expect(
            *module,
            {llvm::cantFail(reference::maskedSoftmax(x, visible)).weights});
      }
  }
}

/// A NaN that is visible spoils its row and no other, and hidden pairs of the
/// row stay 0; -inf hides; a row of the lowest finite number is uniform; +inf
/// is as in the reference.
TEST_P(MaskedSoftmax, ExtremeScores) {
  std::string s = kScores;
  auto module = compileTwin("func.func @f(%s: " + s + ") -> " + s +
                            " {\n%r = attn.masked_softmax %s causal(top_left) "
                            ": " +
                            s + "\nreturn %r : " + s + "\n}\n");
  ASSERT_TRUE(module);
  for (double extreme : {(double)NAN, -(double)INFINITY, -0x1.fffffep127,
                         0x1.fffffep127, (double)INFINITY}) {
    SCOPED_TRACE(extreme);
    TwinCall c = call();
    Tensor64 x = c.floats({1, 2, 8, 8}, [&](int64_t n) {
      int64_t i = n / 8 % 8, j = n % 8;
      return i == 5 || j == 6 || (i == 2 && j == 1) ? extreme : patternAt(0, n);
    });
    c.expect(
        *module,
        {llvm::cantFail(reference::maskedSoftmax(x, reference::causalTopLeft()))
             .weights});
  }
}

/// What a bias hides stays hidden whatever comes between it and the softmax.
TEST_P(MaskedSoftmax, BiasBehindOtherOps) {
  std::string s = kScores, b = "tensor<?x?xf32>";
  auto module = compileTwin("func.func @f(%s: " + s + ", %b: " + b + ") -> " +
                            s + " {\n%t = attn.bias %s, %b : " + s + ", " + b +
                            "\n%u = attn.scale %t by -0.5 : " + s +
                            "\n%v = attn.softcap %u at 3.0 : " + s +
                            "\n%r = attn.masked_softmax %v causal(top_left) "
                            ": " +
                            s + "\nreturn %r : " + s + "\n}\n");
  ASSERT_TRUE(module);
  for (auto [batch, rows, keys] : kExtents) {
    TwinCall c = call();
    Shape full{batch, 2, rows, keys};
    Tensor64 x = c.floats(full);
    Tensor64 bias = c.floats({rows, keys}, [](int64_t n) {
      return n % 3 == 1 ? -INFINITY : patternAt(1, n);
    });
    Tensor64 scores = llvm::cantFail(reference::softcap(
        reference::scale(llvm::cantFail(reference::bias(x, bias)), -0.5), 3.0));
    Visibility visible =
        reference::allOf({reference::causalTopLeft(),
                          llvm::cantFail(reference::hiddenByBias(bias, full))});
    c.expect(
        *module,
        {llvm::cantFail(reference::maskedSoftmax(scores, visible)).weights});
  }
}

/// One sink a head: beside the scores, none, far away on both sides, infinite,
/// and NaN; rows without a key have no weights either way.
TEST_P(MaskedSoftmax, Sinks) {
  const double logits[] = {0.5, -INFINITY, -1e30, 90, INFINITY, NAN};
  std::string s = "tensor<?x6x?x?xf32>", t = "tensor<6xf32>";
  auto module =
      compileTwin("func.func @f(%s: " + s + ", %sink: " + t + ") -> " + s +
                  " {\n%r = attn.masked_softmax %s "
                  "causal(bottom_right) sink(%sink : " +
                  t + ") : " + s + "\nreturn %r : " + s + "\n}\n");
  ASSERT_TRUE(module);
  for (auto [batch, rows, keys] : kExtents) {
    TwinCall c = call();
    Tensor64 x = c.floats({batch, 6, rows, keys});
    Tensor64 sink = c.floats({6}, [&](int64_t n) { return logits[n]; });
    c.expect(*module,
             {llvm::cantFail(
                  reference::maskedSoftmax(
                      x, reference::causalBottomRight(rows, keys), sink.data))
                  .weights});
  }
}

/// With empty_row(nan), rows that the mask, the scores or a window leave
/// without a key are NaN; those with a sink above -inf are not.
TEST_P(MaskedSoftmax, EmptyRowsOfNaN) {
  const double logits[] = {0.5, -INFINITY, NAN};
  std::string s = "tensor<?x3x?x?xf32>", t = "tensor<3xf32>";
  auto module = compileTwin(
      "func.func @f(%s: " + s + ", %sink: " + t + ") -> (" + s + ", " + s +
      ") {\n%a = attn.masked_softmax %s causal(bottom_right) empty_row(nan) "
      ": " +
      s + "\n%b = attn.masked_softmax %s causal(bottom_right) sink(%sink : " +
      t + ") empty_row(nan) : " + s + "\nreturn %a, %b : " + s + ", " + s +
      "\n}\n");
  ASSERT_TRUE(module);
  for (auto [batch, rows, keys] : kExtents) {
    TwinCall c = call();
    // All scores of every fifth row are -inf.
    Tensor64 x = c.floats({batch, 3, rows, keys}, [keys = keys](int64_t n) {
      return n / keys % 5 == 4 ? -INFINITY : patternAt(0, n);
    });
    Tensor64 sink = c.floats({3}, [&](int64_t n) { return logits[n]; });
    Visibility visible = reference::causalBottomRight(rows, keys);
    c.expect(
        *module,
        {llvm::cantFail(reference::maskedSoftmax(x, visible, {}, NAN)).weights,
         llvm::cantFail(reference::maskedSoftmax(x, visible, sink.data, NAN))
             .weights});
  }
}

/// Sigmoids are by pair; programs on weights leave hidden pairs at 0, through
/// each other; weights that are an argument hide nothing.
TEST_P(MaskedSoftmax, SigmoidsAndPrograms) {
  std::string s = kScores, map =
                               " {\n^bb0(%p0: f32, %b: index, %h: index, %i: "
                               "index, %j: index):\n%c = arith.constant 0.25 "
                               ": f32\n%x = arith.index_cast %j : index to "
                               "i32\n%y = arith.sitofp %x : i32 to f32\n%z = "
                               "arith.mulf %p0, %y : f32\n%r = arith.addf %z, "
                               "%c : f32\nattn.yield %r : f32\n}\n";
  auto module = compileTwin(
      "func.func @f(%s: " + s + ") -> (" + s + ", " + s + ", " + s + ", " + s +
      ") {\n%first = attn.masked_softmax %s causal(bottom_right) "
      "normalizer(sigmoid) : " +
      s + "\n%p = attn.masked_softmax %s causal(bottom_right) : " + s +
      "\n%second = attn.probability_map %p : " + s + map +
      "%third = attn.probability_map %second : " + s + map +
      "%fourth = attn.probability_map %s : " + s + map +
      "return %first, %second, %third, %fourth : " + s + ", " + s + ", " + s +
      ", " + s + "\n}\n");
  ASSERT_TRUE(module);
  reference::ScoreFunction program = [](double p, int64_t, int64_t, int64_t,
                                        int64_t j) { return p * j + 0.25; };
  for (auto [batch, rows, keys] : kExtents) {
    TwinCall c = call();
    Tensor64 x = c.floats({batch, 3, rows, keys});
    Visibility visible = reference::causalBottomRight(rows, keys);
    Tensor64 p = llvm::cantFail(reference::maskedSoftmax(x, visible)).weights;
    Tensor64 once = llvm::cantFail(reference::mapWeights(p, program, visible));
    c.expect(*module,
             {llvm::cantFail(reference::sigmoidWeights(x, visible)), once,
              llvm::cantFail(reference::mapWeights(once, program, visible)),
              llvm::cantFail(reference::mapWeights(x, program))});
  }
}

/// What the reference keeps is kept, of weights and of an argument; rates at
/// both ends.
TEST_P(MaskedSoftmax, Dropout) {
  std::string s = kScores;
  auto module = compileTwin(
      "func.func @f(%s: " + s + ", %seed: i64) -> (" + s + ", " + s + ", " + s +
      ") {\n%p = attn.masked_softmax %s causal(bottom_right) : " + s +
      "\n%first = attn.dropout %p rate 0.4 seed(%seed) : " + s +
      "\n%second = attn.dropout %s rate 0.4 seed(%seed) : " + s +
      "\n%third = attn.dropout %s rate 1.0 seed(%seed) : " + s +
      "\nreturn %first, %second, %third : " + s + ", " + s + ", " + s +
      "\n}\n");
  ASSERT_TRUE(module);
  for (int64_t seed : {int64_t(3), -kHuge})
    for (auto [batch, rows, keys] : kExtents) {
      TwinCall c = call();
      Tensor64 x = c.floats({batch, 3, rows, keys});
      c.index(seed);
      Visibility visible = reference::causalBottomRight(rows, keys);
      Tensor64 p = llvm::cantFail(reference::maskedSoftmax(x, visible)).weights;
      reference::ScoreFunction program = reference::dropout(0.4, seed);
      c.expect(*module,
               {llvm::cantFail(reference::mapWeights(p, program, visible)),
                llvm::cantFail(reference::mapWeights(x, program)),
                Tensor64(llvm::ArrayRef(x.shape))});
    }
}

INSTANTIATE_TWIN_TESTS(MaskedSoftmax);

} // namespace
