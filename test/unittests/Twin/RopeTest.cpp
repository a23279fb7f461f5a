//===- RopeTest.cpp - The twin's rotary embedding against f64 ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both layouts, all and some of the features, and each way to give positions
// and angles, in every combination that the op allows.
//
//===----------------------------------------------------------------------===//

#include "TwinTest.h"

using namespace attn;
using namespace attn::test;

namespace {

using Rope = TwinTest;

constexpr int64_t kOffset = 5, kTableRows = 50;

TEST_P(Rope, EveryForm) {
  const std::pair<int64_t, int64_t> dims[] = {{2, 2},   {6, 4},   {13, 12},
                                              {32, 32}, {40, 16}, {3, 2}};
  for (auto [headDim, rotary] : dims)
    for (bool half : {true, false}) {
      std::string t = headsType(headDim);
      std::string table = "tensor<?x" + std::to_string(rotary / 2) + "xf32>";
      std::string head = "attn.rope %x " +
                         std::string(half ? "half" : "interleaved") +
                         " rotary_dim " + std::to_string(rotary);
      std::string tables = " tables(%cos, %sin : " + table + ", " + table + ")";
      std::string ids = " positions(%ids : tensor<?x?xi64>)";
      std::string forms[] = {
          "",          " base 5.0e5", " offset(%past)",
          ids,         tables,        " offset(%past)" + tables,
          ids + tables};
      std::string body, results, types;
      for (auto [n, form] : llvm::enumerate(forms)) {
        std::string name = "%r" + std::to_string(n);
        body += name + " = " + head + form + " : " + t + "\n";
        results += (n ? ", " : "") + name;
        types += (n ? ", " : "") + t;
      }
      auto module =
          compileTwin("func.func @f(%x: " + t +
                      ", %past: index, %ids: tensor<?x?xi64>, %cos: " + table +
                      ", %sin: " + table + ") -> (" + types + ") {\n" + body +
                      "return " + results + " : " + types + "\n}\n");
      ASSERT_TRUE(module);
      for (auto [batch, rows, keys] : kExtents) {
        SCOPED_TRACE(head + ", D " + std::to_string(headDim) + ", S " +
                     std::to_string(rows));
        TwinCall c = call();
        Tensor64 x = c.floats({batch, 3, rows, headDim});
        c.index(kOffset);
        reference::RopeOptions plain;
        plain.layout = half ? reference::RopeLayout::Half
                            : reference::RopeLayout::Interleaved;
        plain.rotaryDim = rotary;
        Tensor64 ids = c.add(ElementType::i64, {batch, rows},
                             [](int64_t n) { return n * 17 % kTableRows; });
        Tensor64 cos = c.floats({kTableRows, rotary / 2});
        Tensor64 sin = c.floats({kTableRows, rotary / 2});
        std::vector<reference::RopeOptions> options(std::size(forms), plain);
        options[1].base = 5e5;
        options[2].offset = options[5].offset = kOffset;
        options[3].positionIds = options[6].positionIds = ids;
        for (int form : {4, 5, 6}) {
          options[form].cosTable = cos;
          options[form].sinTable = sin;
        }
        std::vector<Tensor64> expected;
        for (const reference::RopeOptions &option : options)
          expected.push_back(llvm::cantFail(reference::rope(x, option)));
        c.expect(*module, expected);
      }
    }
}

/// A past that is far away or negative, ids below 0, and i32 ids.
TEST_P(Rope, FarPositions) {
  std::string t = headsType(8);
  auto module = compileTwin(
      "func.func @f(%x: " + t + ", %past: index, %ids: tensor<?x?xi32>) -> (" +
      t + ", " + t + ") {\n" +
      "%a = attn.rope %x half rotary_dim 8 offset(%past) : " + t + "\n" +
      "%b = attn.rope %x interleaved rotary_dim 6 positions(%ids : "
      "tensor<?x?xi32>) : " +
      t + "\nreturn %a, %b : " + t + ", " + t + "\n}\n");
  ASSERT_TRUE(module);
  for (int64_t past : {-7, 0, 2047}) {
    TwinCall c = call();
    Tensor64 x = c.floats({2, 2, 9, 8});
    c.index(past);
    reference::RopeOptions a, b;
    a.offset = past;
    b.layout = reference::RopeLayout::Interleaved;
    b.rotaryDim = 6;
    b.positionIds = c.add(ElementType::i32, {2, 9},
                          [](int64_t n) { return 200 * n - 1000; });
    c.expect(*module, {llvm::cantFail(reference::rope(x, a)),
                       llvm::cantFail(reference::rope(x, b))});
  }
}

/// The steps that fusion makes of it: tables and rotations, and attention that
/// rotates its queries.
TEST_P(Rope, Steps) {
  for (bool half : {true, false}) {
    std::string t = headsType(8), layout = half ? "half" : "interleaved",
                c = "tensor<?x3xf32>", b = "tensor<?x?x3xf32>";
    auto module = compileTwin(
        "func.func @f(%x: " + t +
        ", %f: tensor<3xf64>, %ids: "
        "tensor<?x?xi64>, %b: " +
        b + ", %cos: " + c + ", %sin: " + c + ", %past: index, %c: " + c +
        ") -> (" + t + ", " + t + ", " + t +
        ") {\n%i:2 = attn.rope_tables frequencies(%f : tensor<3xf64>) "
        "positions(%ids : tensor<?x?xi64>) outs(%b, %b : " +
        b + ", " + b + ") -> " + b + ", " + b +
        "\n%t:2 = attn.rope_tables tables(%cos, %sin : " + c + ", " + c +
        ") offset(%past) outs(%c, %c : " + c + ", " + c + ") -> " + c + ", " +
        c + "\n%r = attn.rotate ins(%x : " + t + ") by " + layout +
        "(%i#0, %i#1 : " + b + ", " + b + ") outs(%x : " + t + ") -> " + t +
        "\n%s = attn.rotate ins(%x : " + t + ") by " + layout +
        "(%t#0, %t#1 : " + c + ", " + c + ") outs(%x : " + t + ") -> " + t +
        "\n%o = attn.attention ins(%x, %s, %x : " + t + ", " + t + ", " + t +
        ") outs(%x : " + t + ") scale 0.5 rotated " + layout +
        "(%i#0, %i#1 : " + b + ", " + b + ") -> " + t +
        "\nreturn %r, %s, %o : " + t + ", " + t + ", " + t + "\n}\n");
    ASSERT_TRUE(module);
    for (auto [batch, rows, keys] : kExtents) {
      TwinCall call = this->call();
      Tensor64 x = call.floats({batch, 3, rows, 8});
      reference::RopeOptions ids, tables;
      ids.layout = half ? reference::RopeLayout::Half
                        : reference::RopeLayout::Interleaved;
      ids.rotaryDim = 6;
      ids.base = 1000.0;
      tables = ids;
      call.add(ElementType::f64, llvm::ArrayRef<int64_t>{3},
               [](int64_t k) { return std::pow(1000.0, -2.0 * k / 6); });
      ids.positionIds = call.add(ElementType::i64, {batch, rows},
                                 [](int64_t n) { return 41 * n - 60; });
      call.floats({batch, rows, 3});
      tables.cosTable = call.floats({kTableRows, 3});
      tables.sinTable = call.floats({kTableRows, 3});
      tables.offset = kOffset;
      call.index(kOffset);
      call.floats({rows, 3});
      Tensor64 byIds = llvm::cantFail(reference::rope(x, ids));
      Tensor64 byTables = llvm::cantFail(reference::rope(x, tables));
      reference::AttentionOptions options;
      options.scale = 0.5;
      call.expect(
          *module,
          {byIds, byTables,
           llvm::cantFail(reference::attention(byIds, byTables, x, options)).o},
          spreadOf(8));
    }
  }
}

INSTANTIATE_TWIN_TESTS(Rope);

} // namespace
