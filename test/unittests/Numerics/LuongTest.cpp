//===- LuongTest.cpp - Luong's dot and general attention, against f64 -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores without a scale, and queries that a matrix brings to the features of
// the keys, which are the values too.
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"

using namespace attn;
using namespace attn::test;
using reference::Tensor64;

namespace {

class Luong : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(GetParam()); }
};

constexpr int64_t kFeatures = 33;

/// Decoder states of `depth` features, or of those of the encoder and no matrix
/// for 0.
std::string luongText(int64_t depth) {
  std::string k = "tensor<?x?x33xf32>", heads = "tensor<?x1x?x33xf32>",
              s = "tensor<?x1x?x?xf32>",
              q = depth ? "tensor<?x?x" + std::to_string(depth) + "xf32>" : k,
              w = "tensor<" + std::to_string(depth) + "x33xf32>";
  std::string product =
      "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
      "%zero = arith.constant 0.0 : f32\n%b = tensor.dim %q, %c0 : " +
      q + "\n%t = tensor.dim %q, %c1 : " + q +
      "\n%e = tensor.empty(%b, %t) : " + k +
      "\n%i = linalg.fill ins(%zero : f32) outs(%e : " + k + ") -> " + k +
      "\n%x = linalg.contract indexing_maps = [affine_map<(b, t, n, k) -> (b, "
      "t, k)>, affine_map<(b, t, n, k) -> (k, n)>, affine_map<(b, t, n, k) -> "
      "(b, t, n)>] ins(%q, %w : " +
      q + ", " + w + ") outs(%i : " + k + ") -> " + k + "\n";
  std::string states = depth ? "%x" : "%q";
  return "func.func @f(%q: " + q + ", %k: " + k + ", %lengths: tensor<?xi32>" +
         (depth ? ", %w: " + w : "") + ") -> " + k + " {\n" +
         (depth ? product : "") + "%qh = attn.split_heads " + states +
         " {num_heads = 1} : " + k + " -> " + heads +
         "\n%kh = attn.split_heads %k {num_heads = 1} : " + k + " -> " + heads +
         "\n%s = attn.qk %qh, %kh : " + heads + ", " + heads + " -> " + s +
         "\n%p = attn.masked_softmax %s lengths(%lengths : tensor<?xi32>) : " +
         s + "\n%o = attn.weighted_sum %p, %kh : " + s + ", " + heads + " -> " +
         heads + "\n%y = attn.merge_heads %o : " + heads + " -> " + k +
         "\nreturn %y : " + k + "\n}\n";
}

/// `x` of one head as `[B, 1, S, D]`.
Tensor64 asHead(const Tensor64 &x) {
  return Tensor64({x.shape[0], 1, x.shape[1], x.shape[2]}, x.data);
}

TEST_P(Luong, MatchesF64) {
  for (int64_t depth : {0, 7, 48}) {
    std::string text = luongText(depth);
    SCOPED_TRACE(text);
    auto module = compile(text, GetParam());
    ASSERT_TRUE(module);
    for (auto [rows, keys] :
         {std::pair<int64_t, int64_t>{1, 5}, {0, 3}, {21, 70}, {70, 130}}) {
      SCOPED_TRACE("Tq " + std::to_string(rows) + ", Tk " +
                   std::to_string(keys));
      int64_t seen[] = {keys / 2, keys}, dim = depth ? depth : kFeatures;
      // Padding of the first element may hold anything.
      auto padded = [&, keys = keys](int64_t n) {
        return n / kFeatures >= seen[0] && n / kFeatures < keys
                   ? NAN
                   : patternAt(1, n);
      };
      Operand q(ElementType::f32, {2, rows, dim}, true, pattern(0, 0.5));
      Operand k(ElementType::f32, {2, keys, kFeatures}, false, padded);
      Operand lengths(ElementType::i32, {2}, true,
                      [&](int64_t n) { return seen[n]; });
      Operand w(ElementType::f32, {dim, kFeatures}, true, pattern(3, 0.25));
      std::vector<CallArgument> inputs{q.view, k.view, lengths.view};
      if (depth)
        inputs.push_back(w.view);
      HostTensor got =
          run(*module, inputs, ElementType::f32, {2, rows, kFeatures});
      Tensor64 states = Tensor64::from(q.host);
      if (depth)
        states =
            llvm::cantFail(reference::matmul(states, Tensor64::from(w.host)));
      reference::AttentionOptions options;
      options.scale = 1.0;
      options.mask = reference::lengths({seen[0], seen[1]});
      Tensor64 encoder = asHead(Tensor64::from(k.host));
      auto expected = llvm::cantFail(
          reference::attention(asHead(states), encoder, encoder, options));
      Comparison comparison = compare(got, expected.o.data);
      // Scores are up to some tens here, and so is what they lose.
      double bound = 8 * attentionBound(ElementType::f32, 1.5);
      EXPECT_TRUE(comparison.within(bound)) << comparison.describe(bound);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Luong, testing::ValuesIn(kTargets),
                         targetTestName);

} // namespace
