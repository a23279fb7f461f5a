//===- PositionsTest.cpp - Position tables of the twin against f64 --------===//
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

using Positions = TwinTest;

/// Even and odd columns, from the first position, a later and a negative one.
TEST_P(Positions, Sinusoidal) {
  for (int64_t d : {1, 2, 5, 16, 33}) {
    std::string t = "tensor<?x" + std::to_string(d) + "xf32>";
    std::string known = "tensor<7x" + std::to_string(d) + "xf32>";
    auto module = compileTwin(
        "func.func @f(%n: index, %past: index) -> (" + t + ", " + t + ", " +
        known + ") {\n%0 = attn.sinusoidal rows(%n) : " + t +
        "\n%1 = attn.sinusoidal rows(%n) offset(%past) : " + t +
        "\n%2 = attn.sinusoidal offset(%past) : " + known +
        "\nreturn %0, %1, %2 : " + t + ", " + t + ", " + known + "\n}\n");
    ASSERT_TRUE(module);
    for (auto [rows, past] : {std::pair<int64_t, int64_t>{3, 0},
                              {0, 1},
                              {1, 1000},
                              {20, -7},
                              {9, 100000}}) {
      SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(d) +
                   " from " + std::to_string(past));
      TwinCall call = this->call();
      call.index(rows);
      call.index(past);
      call.expect(*module, {reference::sinusoidal(rows, d),
                            reference::sinusoidal(rows, d, past),
                            reference::sinusoidal(7, d, past)});
    }
  }
}

/// Sequences of every length, none and empty ones too, before, up to and beyond
/// the tokens.
TEST_P(Positions, Sequences) {
  std::string i = "tensor<1x?xi32>", w = "tensor<1x?xi64>";
  std::string f = "tensor<1x?xf32>";
  std::string ops, results, types;
  const std::pair<std::string, std::string> forms[] = {
      {"sequence_ids %cu length(%t)", i},
      {"sequence_ids %cu length(%t) outside -5", w},
      {"sequence_positions %cu length(%t)", w},
      {"sequence_positions %cu length(%t) from_end", i}};
  for (auto [n, form] : llvm::enumerate(forms)) {
    std::string number = std::to_string(n), separator = n ? ", " : "";
    ops += "%i" + number + " = attn." + form.first + " : tensor<?xi32> -> " +
           form.second + "\n%f" + number + " = arith.sitofp %i" + number +
           " : " + form.second + " to " + f + "\n";
    results += separator + "%f" + number;
    types += separator + f;
  }
  auto module = compileTwin("func.func @f(%cu: tensor<?xi32>, %t: index) -> (" +
                            types + ") {\n" + ops + "return " + results +
                            " : " + types + "\n}\n");
  ASSERT_TRUE(module);
  const std::vector<int64_t> bounds[] = {
      {0, 9},     {0, 1, 2, 3}, {0, 0, 0, 4, 4, 9, 9},
      {2, 5, 30}, {-3, 4, 6},   {0},
      {},         {40, 50},     {0, 3, 3, 7, 8, 8, 11, 13, 14, 20}};
  for (const std::vector<int64_t> &cu : bounds)
    for (int64_t tokens : {0, 1, 9, 20}) {
      SCOPED_TRACE(std::to_string(cu.size()) + " bounds, " +
                   std::to_string(tokens) + " tokens");
      TwinCall call = this->call();
      call.add(ElementType::i32, {static_cast<int64_t>(cu.size())},
               [&](int64_t n) { return cu[n]; });
      call.index(tokens);
      auto positions = [&](bool fromEnd) {
        return llvm::cantFail(
            reference::sequencePositions(cu, tokens, fromEnd));
      };
      call.expect(*module,
                  {llvm::cantFail(reference::sequenceIds(cu, tokens)),
                   llvm::cantFail(reference::sequenceIds(cu, tokens, -5)),
                   positions(false), positions(true)});
    }
}

INSTANTIATE_TWIN_TESTS(Positions);

} // namespace
