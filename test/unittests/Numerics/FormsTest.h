//===- FormsTest.h - Forms of attention over all kernel families *- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A form is what a graph says beside queries, keys, values and a mask: a sink,
// a program on weights, and so on. Each is run by every family of kernels that
// the target has for it, with and without masks, split keys, and empty rows,
// and compared with the f64 reference.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNITTESTS_NUMERICS_FORMSTEST_H
#define ATTN_TEST_UNITTESTS_NUMERICS_FORMSTEST_H

#include "AttentionGraph.h"

#include <deque>

namespace attn::test {

/// Targets with and without each unit that kernels are written for.
inline constexpr const char *kFormTargets[] = {
    "native", "cooperlake", "x86-64-v4", "x86-64-v3", "x86-64"};

/// One call of a form, before it runs.
struct FormCall {
  int64_t batch, heads, queryRows, keys, headDim;
  ElementType type;
  /// What the reference is to do.
  reference::AttentionOptions options;
  /// Arguments after the values, in the order of the graph's `extra`.
  std::deque<Operand> extra;
  /// What scores are made of instead of queries and keys, or null.
  std::function<reference::Tensor64(const reference::Tensor64 &)> query, key;
  /// How much larger than those of plain attention results and their errors
  /// are.
  double factor = 1.0;

  reference::Tensor64 add(ElementType element, llvm::ArrayRef<int64_t> shape,
                          llvm::function_ref<double(int64_t)> value) {
    extra.emplace_back(element, shape, extra.size() % 2 == 0, value);
    return reference::Tensor64::from(extra.back().host);
  }
};

struct Form {
  /// Adds the form to a graph whose shapes are set.
  std::function<void(AttentionGraph &)> write;
  /// Adds its operands and its meaning.
  std::function<void(FormCall &)> fill;
};

/// Heads and features for each family: tiles of rows in each type, and rows
/// that are few and known.
struct FormShape {
  int64_t heads, keyHeads, headDim, valueDim;
  const char *queryRows;
  ElementType type;

  /// Plain attention of these shapes.
  AttentionGraph graph() const {
    AttentionGraph graph;
    graph.heads = heads;
    graph.keyHeads = keyHeads;
    graph.headDim = headDim;
    graph.valueDim = valueDim;
    graph.queryRows = queryRows;
    graph.queryType = graph.type = type;
    graph.scale = "0.25";
    return graph;
  }
};
inline constexpr FormShape kFormShapes[] = {
    {4, 2, 40, 24, "?", ElementType::f32},
    {2, 1, 64, 64, "?", ElementType::bf16},
    {2, 2, 96, 33, "?", ElementType::f16},
    {8, 2, 64, 64, "1", ElementType::f32},
    {8, 2, 64, 40, "1", ElementType::bf16},
    {3, 3, 16, 20, "2", ElementType::f16},
    {4, 2, 40, 24, "?", ElementType::f64},
    {8, 2, 24, 40, "1", ElementType::f64}};
inline constexpr const char *kFormMasks[] = {"none", "causal", "lengths"};

/// Query rows and keys of the calls of a graph.
inline std::vector<std::pair<int64_t, int64_t>>
formLengths(const FormShape &shape) {
  if (shape.queryRows == llvm::StringRef("?"))
    return {{1, 1}, {5, 0}, {17, 33}, {64, 97}, {130, 257}};
  int64_t rows = shape.queryRows[0] - '0';
  return {{rows, 0}, {rows, 1}, {rows, 31}, {rows, 300}, {rows, 4500}};
}

/// Runs `form` for one shape and mask on `target`.
inline void checkForm(const std::string &target, const Form &form,
                      const FormShape &shape, llvm::StringRef mask) {
  constexpr int64_t batch = 2;
  AttentionGraph graph = shape.graph();
  if (mask == "causal")
    graph.clause = "causal(bottom_right)";
  if (mask == "lengths") {
    graph.extra = ", %lengths: tensor<?xi32>";
    graph.clause = "lengths(%lengths : tensor<?xi32>)";
  }
  form.write(graph);
  std::string text = graph.text();
  SCOPED_TRACE(text);
  auto module = compile(text, target);
  ASSERT_TRUE(module);
  for (std::pair<int64_t, int64_t> lengths : formLengths(shape)) {
    int64_t queryRows = lengths.first, keys = lengths.second;
    SCOPED_TRACE("Sq " + std::to_string(queryRows) + ", Skv " +
                 std::to_string(keys));
    bool flush = (queryRows + keys) % 2;
    // In the first element of the batch, some keys are nobody's, and NaN.
    int64_t seen[] = {keys / 3, keys}, keyHeads = shape.keyHeads;
    auto hidden = [=](int64_t seed, int64_t dim) {
      return [=](int64_t n) {
        int64_t b = n / (keyHeads * keys * dim), j = n / dim % keys;
        return mask == "lengths" && j >= seen[b] ? NAN : patternAt(seed, n);
      };
    };
    Operand q(shape.type, {batch, shape.heads, queryRows, shape.headDim}, flush,
              pattern(0));
    Operand k(shape.type, {batch, keyHeads, keys, shape.headDim}, flush,
              hidden(1, shape.headDim));
    Operand v(shape.type, {batch, keyHeads, keys, shape.valueDim}, !flush,
              hidden(2, shape.valueDim));
    FormCall call;
    call.batch = batch;
    call.heads = shape.heads;
    call.queryRows = queryRows;
    call.keys = keys;
    call.headDim = shape.headDim;
    call.type = shape.type;
    call.options.scale = 0.25;
    if (mask == "causal")
      call.options.mask = reference::causalBottomRight(queryRows, keys);
    if (mask == "lengths") {
      call.add(ElementType::i32, {batch}, [&](int64_t n) { return seen[n]; });
      call.options.mask = reference::lengths({seen[0], seen[1]});
    }
    form.fill(call);
    std::vector<CallArgument> inputs{q.view, k.view, v.view};
    for (Operand &operand : call.extra)
      inputs.push_back(operand.view);
    // Ops on queries and keys round to their type.
    auto apply = [&](const Operand &operand,
                     const decltype(call.query) &function) {
      auto values = reference::Tensor64::from(operand.host);
      if (function)
        values = function(values);
      return Operand(shape.type, values.shape, flush,
                     [&](int64_t n) { return values.data[n]; });
    };
    double spread =
        std::max(1.0, 0.25 * std::sqrt(static_cast<double>(shape.headDim)));
    expectAttention(run(*module, inputs, shape.type,
                        {batch, shape.heads, queryRows, shape.valueDim},
                        /*threads=*/1, flush),
                    apply(q, call.query), apply(k, call.key), v, call.options,
                    attentionBound(shape.type, 1.5) * spread * call.factor);
  }
}

/// Runs `form` for all shapes and masks; named targets take a third of them
/// each.
inline void checkForm(const std::string &target, const Form &form) {
  size_t turn = llvm::hash_value(target) % 3;
  for (const FormShape &shape : kFormShapes)
    for (const char *mask : kFormMasks) {
      if (target != "native" && !runAll() && ++turn % 3)
        continue;
      checkForm(target, form, shape, mask);
      if (testing::Test::HasFailure())
        return;
    }
}

/// The tests of a form on every target.
class FormsTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(GetParam()); }
};

#define INSTANTIATE_FORMS_TESTS(suite)                                         \
  INSTANTIATE_TEST_SUITE_P(Targets, suite, testing::ValuesIn(kFormTargets),    \
                           targetTestName)

} // namespace attn::test

#endif // ATTN_TEST_UNITTESTS_NUMERICS_FORMSTEST_H
