//===- MatrixProductTest.cpp - Tiled matrix products against f64 ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NumericsTest.h"

#include <cmath>

using namespace attn;
using attn::reference::Tensor64;
using namespace attn::test;

namespace {

/// C[b, m, n] = bias[n] + sum_k A[b, m, k] * B, with B `[K, N]` or `[N, K]`.
std::string graph(int64_t depth, int64_t width, bool transposed) {
  std::string k = std::to_string(depth), n = std::to_string(width);
  std::string a = "tensor<?x?x" + k + "xf32>";
  std::string b = transposed ? "tensor<" + n + "x" + k + "xf32>"
                             : "tensor<" + k + "x" + n + "xf32>";
  std::string c = "tensor<?x?x" + n + "xf32>";
  std::string bias = "tensor<" + n + "xf32>";
  return "func.func @f(%a: " + a + ", %b: " + b + ", %bias: " + bias + ") -> " +
         c + R"( {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %a, %c0 : )" +
         a + R"(
  %d1 = tensor.dim %a, %c1 : )" +
         a + R"(
  %e = tensor.empty(%d0, %d1) : )" +
         c + R"(
  %i = linalg.broadcast ins(%bias : )" +
         bias + ") outs(%e : " + c +
         R"() dimensions = [0, 1]
  %y = linalg.generic {indexing_maps = [
      affine_map<(b, m, n, k) -> (b, m, k)>,
      affine_map<(b, m, n, k) -> )" +
         std::string(transposed ? "(n, k)" : "(k, n)") + R"(>,
      affine_map<(b, m, n, k) -> (b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : )" +
         a + ", " + b + ") outs(%i : " + c + R"() {
    ^bb0(%x: f32, %w: f32, %acc: f32):
      %p = arith.mulf %x, %w : f32
      %s = arith.addf %acc, %p : f32
      linalg.yield %s : f32
  } -> )" +
         c + "\n  return %y : " + c + "\n}\n";
}

class MatrixProduct : public testing::TestWithParam<const char *> {};

TEST_P(MatrixProduct, MatchesF64) {
  SKIP_UNLESS_EXECUTABLE(GetParam());
  for (int64_t depth : {1, 7, 64})
    for (int64_t width : {1, 17, 64, 100, 192})
      for (bool transposed : {false, true}) {
        SCOPED_TRACE("K " + std::to_string(depth) + ", N " +
                     std::to_string(width) + (transposed ? ", [N, K]" : ""));
        auto module = compile(graph(depth, width, transposed), GetParam());
        ASSERT_TRUE(module);
        for (int64_t rows : {0, 1, 3, 4, 65}) {
          llvm::SmallVector<int64_t> rhs{depth, width};
          if (transposed)
            std::swap(rhs[0], rhs[1]);
          auto make = [](int64_t seed) {
            return [seed](int64_t n) { return patternAt(seed, n); };
          };
          bool flush = rows % 2;
          Operand a(ElementType::f32, {2, rows, depth}, flush, make(0));
          Operand b(ElementType::f32, rhs, flush, make(1));
          Operand bias(ElementType::f32, {width}, flush, make(2));
          Operand c(ElementType::f32, {2, rows, width}, flush,
                    [](int64_t) { return NAN; });
          llvm::Error error =
              module->run("f", {a.view, b.view, bias.view}, c.view);
          ASSERT_FALSE(static_cast<bool>(error))
              << llvm::toString(std::move(error));
          std::vector<double> expected;
          for (int64_t r = 0; r < 2 * rows; ++r)
            for (int64_t n = 0; n < width; ++n) {
              double sum = bias.host.get(n);
              for (int64_t k = 0; k < depth; ++k)
                sum += a.host.get(r * depth + k) *
                       b.host.get(transposed ? n * depth + k : k * width + n);
              expected.push_back(sum);
            }
          Comparison comparison = compare(c.fetch(), expected);
          // Each of K + 1 additions rounds a sum of at most 2.25 K.
          double bound = 2.25 * depth * (depth + 1) * 6e-8 + 1e-7;
          EXPECT_TRUE(comparison.within(bound)) << comparison.describe(bound);
        }
        if (HasFailure())
          return;
      }
}

INSTANTIATE_TEST_SUITE_P(Targets, MatrixProduct, testing::ValuesIn(kTargets),
                         targetTestName);

} // namespace
