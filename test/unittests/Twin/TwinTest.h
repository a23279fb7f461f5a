//===- TwinTest.h - One call of the twin against the reference --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The twin checks the fast path, and is itself checked here: each op, alone or
// in the chain that gives it its meaning, against attn::reference, in f64 and
// in f32. Texts are written in f32; the f64 twin promotes them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNITTESTS_TWIN_TWINTEST_H
#define ATTN_TEST_UNITTESTS_TWIN_TWINTEST_H

#include "../Common/CompileText.h"
#include "../Common/Operand.h"
#include "attn/Reference/Reference.h"
#include "attn/Reference/Tolerance.h"

#include <cmath>
#include <deque>
#include <gtest/gtest.h>

namespace attn::test {

using reference::Tensor64;
using Shape = llvm::SmallVector<int64_t>;

/// Arguments of one call, in order. Every method that adds one returns its
/// value in f64.
class TwinCall {
public:
  /// `type` is that of the floats, f64 or f32.
  explicit TwinCall(ElementType type) : type(type) {}

  Tensor64 add(ElementType element, llvm::ArrayRef<int64_t> shape,
               llvm::function_ref<double(int64_t)> value) {
    Operand &operand = operands.emplace_back(
        element, shape, /*flushEnd=*/operands.size() % 2 == 0, value);
    inputs.push_back(operand.view);
    return Tensor64::from(operand.host);
  }
  /// Floats by `value`, or different ones for each argument.
  Tensor64 floats(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<double(int64_t)> value) {
    return add(type, shape, value);
  }
  Tensor64 floats(llvm::ArrayRef<int64_t> shape) {
    auto seed = static_cast<int64_t>(operands.size());
    return floats(shape, [=](int64_t n) { return patternAt(seed, n); });
  }
  Tensor64 copyOf(const Tensor64 &values) {
    return floats(values.shape, [&](int64_t n) { return values.data[n]; });
  }
  void index(int64_t value) { inputs.push_back(value); }

  /// Runs `f`. Results have the shapes of `shapes` and the type of the floats;
  /// empty after a failure.
  std::vector<Tensor64> run(CompiledModule &module,
                            llvm::ArrayRef<Shape> shapes) {
    auto computed = module.resultShapes("f", inputs);
    if (!computed) {
      ADD_FAILURE() << llvm::toString(computed.takeError());
      return {};
    }
    std::deque<Operand> outputs;
    std::vector<TensorView> views;
    for (auto [n, shape] : llvm::enumerate(shapes)) {
      EXPECT_EQ(llvm::ArrayRef((*computed)[n]), llvm::ArrayRef(shape));
      outputs.emplace_back(type, shape, n % 2 == 0,
                           [](int64_t) { return NAN; });
      views.push_back(outputs.back().view);
    }
    if (llvm::Error error = module.run("f", inputs, views)) {
      ADD_FAILURE() << llvm::toString(std::move(error));
      return {};
    }
    std::vector<Tensor64> results;
    for (Operand &output : outputs)
      results.push_back(Tensor64::from(output.fetch()));
    return results;
  }

  /// Runs `f` and compares all its results. `spread` multiplies the tolerance
  /// where what is rounded (scores) is larger than what is compared.
  void expect(CompiledModule &module, llvm::ArrayRef<Tensor64> expected,
              double spread = 1) {
    std::vector<Shape> shapes;
    for (const Tensor64 &tensor : expected)
      shapes.push_back(tensor.shape);
    std::vector<Tensor64> got = run(module, shapes);
    for (size_t n = 0; n < got.size(); ++n) {
      SCOPED_TRACE("result " + std::to_string(n));
      expectNear(got[n], expected[n], spread);
    }
  }

  /// Compares element by element, relative to max(1, |expected|).
  void expectNear(const Tensor64 &got, const Tensor64 &expected,
                  double spread = 1) {
    std::vector<double> left = got.data, right = expected.data;
    ASSERT_EQ(left.size(), right.size());
    for (size_t n = 0; n < right.size(); ++n) {
      double unit = std::max(1.0, std::abs(right[n]));
      if (!std::isfinite(unit))
        continue;
      left[n] /= unit;
      right[n] /= unit;
    }
    Comparison comparison = compare(left, right, type);
    double bound = spread * attentionBound(type, 1);
    EXPECT_TRUE(comparison.within(bound)) << comparison.describe(bound);
  }

private:
  ElementType type;
  std::deque<Operand> operands;
  std::vector<CallArgument> inputs;
};

/// Tests that run in f64 and in f32.
class TwinTest : public testing::TestWithParam<ElementType> {
protected:
  std::unique_ptr<CompiledModule> compileTwin(const std::string &text) {
    return compile(text, "native",
                   GetParam() == ElementType::f64 ? Lowering::TwinF64
                                                  : Lowering::Twin);
  }
  TwinCall call() { return TwinCall(GetParam()); }
  /// How much larger than 1 scores of a head dim may be here.
  static double spreadOf(int64_t headDim) {
    return std::max(1.0, std::sqrt(static_cast<double>(headDim)));
  }
};

#define INSTANTIATE_TWIN_TESTS(suite)                                          \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      Types, suite, testing::Values(ElementType::f64, ElementType::f32),       \
      [](const auto &info) { return elementTypeName(info.param).str(); })

/// Batch, rows and keys, with each of them 0 once.
struct Extents {
  int64_t batch, rows, keys;
};
inline constexpr Extents kExtents[] = {{1, 1, 1}, {2, 3, 5},  {1, 7, 4},
                                       {2, 0, 3}, {2, 3, 0},  {0, 2, 2},
                                       {3, 5, 5}, {1, 17, 33}};

/// Query heads and key heads.
inline constexpr std::pair<int64_t, int64_t> kHeadCounts[] = {
    {1, 1}, {3, 3}, {4, 2}, {6, 2}, {5, 1}};

inline constexpr int64_t kHeadDims[] = {1, 2, 3, 8, 13, 32, 40};

/// `tensor<?x?x?xDxf32>`.
inline std::string headsType(int64_t headDim) {
  return "tensor<?x?x?x" + std::to_string(headDim) + "xf32>";
}

inline constexpr const char *kScores = "tensor<?x?x?x?xf32>";

} // namespace attn::test

#endif // ATTN_TEST_UNITTESTS_TWIN_TWINTEST_H
