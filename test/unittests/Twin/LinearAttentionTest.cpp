//===- LinearAttentionTest.cpp - Linear attention of the twin -------------===//
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

using LinearAttention = TwinTest;

/// Every combination of operands, over lengths and groups of heads.
TEST_P(LinearAttention, MatchesReference) {
  std::string q = "tensor<?x4x?x5xf32>", k = "tensor<?x2x?x5xf32>",
              v = "tensor<?x2x?x3xf32>", o = "tensor<?x4x?x3xf32>",
              s = "tensor<?x2x5x3xf32>", n = "tensor<?x2x?xf32>";
  // Rank of the decay, 0 without one.
  for (int rank : {0, 3, 4})
    for (bool beta : {false, true})
      for (bool initial : {false, true}) {
        std::string clauses;
        std::string decayType = rank == 4 ? k : n;
        if (rank)
          clauses += " decay(%g : " + decayType + ")";
        if (beta)
          clauses += " beta(%beta : " + n + ")";
        if (initial)
          clauses += " initial(%s0 : " + s + ")";
        SCOPED_TRACE(clauses);
        auto module = compileTwin(
            "func.func @f(%q: " + q + ", %k: " + k + ", %v: " + v +
            ", %g: " + decayType + ", %beta: " + n + ", %s0: " + s + ") -> (" +
            o + ", " + s +
            ") {\n%c0 = arith.constant 0 : index\n%c2 = arith.constant 2 : "
            "index\n%b = tensor.dim %q, %c0 : " +
            q + "\n%t = tensor.dim %q, %c2 : " + q +
            "\n%o0 = tensor.empty(%b, %t) : " + o +
            "\n%f0 = tensor.empty(%b) : " + s +
            "\n%r:2 = attn.linear_attention ins(%q, %k, %v : " + q + ", " + k +
            ", " + v + ") outs(%o0, %f0 : " + o + ", " + s + ") scale 0.5" +
            clauses + " -> " + o + ", " + s + "\nreturn %r#0, %r#1 : " + o +
            ", " + s + "\n}\n");
        ASSERT_TRUE(module);
        for (auto [batch, tokens] :
             {std::pair<int64_t, int64_t>{2, 9}, {1, 1}, {1, 0}, {0, 3}}) {
          TwinCall call = this->call();
          Tensor64 q64 = call.floats({batch, 4, tokens, 5});
          Tensor64 k64 = call.floats({batch, 2, tokens, 5}, [](int64_t n) {
            return patternAt(1, n) / 4;
          });
          Tensor64 v64 = call.floats({batch, 2, tokens, 3});
          Shape numbers{batch, 2, tokens}, rows{batch, 2, tokens, 5};
          Tensor64 decay =
              call.floats(rank == 4 ? rows : numbers,
                          [](int64_t n) { return patternAt(3, n) / 4 - 0.5; });
          Tensor64 rate = call.floats(
              numbers, [](int64_t n) { return patternAt(4, n) / 4 + 0.5; });
          Tensor64 state = call.floats({batch, 2, 5, 3});
          reference::LinearAttentionOptions options;
          options.scale = 0.5;
          if (rank)
            options.decay = decay;
          if (beta)
            options.beta = rate;
          if (initial)
            options.initial = state;
          auto expected = llvm::cantFail(
              reference::linearAttention(q64, k64, v64, options));
          call.expect(*module, {expected.o, expected.state}, /*spread=*/4);
        }
      }
}

INSTANTIATE_TWIN_TESTS(LinearAttention);

} // namespace
