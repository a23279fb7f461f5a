//===- SinkTest.cpp - Attention with a sink, against f64 ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormsTest.h"

using namespace attn;
using namespace attn::test;

namespace {

using Sink = FormsTest;

/// One logit a head, of `type`: beside the scores, none, far below and far
/// above them, in turn.
Form sinkForm(ElementType type) {
  static constexpr double logits[] = {0.5, -INFINITY, -1e30, 3.0, 40.0};
  return {[=](AttentionGraph &graph) {
            std::string sink =
                AttentionGraph::tensor(std::to_string(graph.heads), type);
            graph.extra += ", %sink: " + sink;
            graph.clause += " sink(%sink : " + sink + ")";
          },
          [=](FormCall &call) {
            call.options.sink = call.add(type, {call.heads},
                                         [](int64_t n) {
                                           return logits[n % std::size(logits)];
                                         })
                                    .data;
          }};
}

TEST_P(Sink, MatchesF64) { checkForm(GetParam(), sinkForm(ElementType::f32)); }

TEST_P(Sink, OfEveryType) {
  for (ElementType type :
       {ElementType::f16, ElementType::bf16, ElementType::f64}) {
    checkForm(GetParam(), sinkForm(type), kFormShapes[0], "causal");
    checkForm(GetParam(), sinkForm(type), kFormShapes[3], "lengths");
    checkForm(GetParam(), sinkForm(type), kFormShapes[6], "lengths");
  }
}

/// The log-sum-exp with the sink, that of rows without a key included, for
/// tiles of rows and for a split of the keys. A NaN spoils its head alone, an
/// infinite sink takes all weight.
TEST_P(Sink, LogSumExp) {
  for (auto [rows, keys, text] :
       {std::tuple<int64_t, int64_t, const char *>{70, 45, "?"},
        {1, 5000, "1"}}) {
    std::string q = std::string("tensor<?x4x") + text + "x16xf32>",
                k = "tensor<?x2x?x16xf32>",
                l = std::string("tensor<?x4x") + text + "xf32>";
    auto module = compile(
        "func.func @f(%q: " + q + ", %k: " + k +
            ", %sink: tensor<4xf32>) -> (" + q + ", " + l +
            ") {\n%c0 = arith.constant 0 : index\n%c2 = arith.constant 2 : "
            "index\n%b = tensor.dim %q, %c0 : " +
            q + "\n%r = tensor.dim %q, %c2 : " + q +
            "\n%n = tensor.dim %k, %c2 : " + k +
            "\n%past = arith.subi %n, %r : index\n%x = tensor.empty(%b" +
            (rows == 1 ? "" : ", %r") + ") : " + q + "\n%y = tensor.empty(%b" +
            (rows == 1 ? "" : ", %r") + ") : " + l +
            "\n%o:2 = attn.attention ins(%q, %k, %k : " + q + ", " + k + ", " +
            k + ") outs(%x, %y : " + q + ", " + l +
            ") scale 0.5 sink(%sink : tensor<4xf32>) mask {\n^bb0(%b0: index, "
            "%h: index, %i: index, %j: index):\n%d = arith.addi %i, %past : "
            "index\n%s = arith.cmpi sle, %j, %d : index\nattn.yield %s : "
            "i1\n} -> " +
            q + ", " + l + "\nreturn %o#0, %o#1 : " + q + ", " + l + "\n}\n",
        GetParam());
    ASSERT_TRUE(module);
    Operand queries(ElementType::f32, {2, 4, rows, 16}, true, pattern(0));
    Operand values(ElementType::f32, {2, 2, keys, 16}, false, pattern(1));
    const double logits[] = {1.5, NAN, INFINITY, -INFINITY};
    Operand sink(ElementType::f32, llvm::ArrayRef<int64_t>{4}, true,
                 [&](int64_t n) { return logits[n]; });
    Operand o(ElementType::f32, {2, 4, rows, 16}, true,
              [](int64_t) { return 0; });
    Operand lse(ElementType::f32, {2, 4, rows}, true,
                [](int64_t) { return 0; });
    TensorView outputs[] = {o.view, lse.view};
    llvm::Error error =
        module->run("f", {queries.view, values.view, sink.view}, outputs);
    ASSERT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    reference::AttentionOptions options;
    options.scale = 0.5;
    options.mask = reference::causalBottomRight(rows, keys);
    options.sink.assign(std::begin(logits), std::end(logits));
    auto kv = reference::Tensor64::from(values.host);
    auto expected = llvm::cantFail(reference::attention(
        reference::Tensor64::from(queries.host), kv, kv, options));
    double bound = 2 * attentionBound(ElementType::f32, 1.5);
    Comparison output = compare(o.fetch(), expected.o.data);
    EXPECT_TRUE(output.within(bound)) << output.describe(bound);
    Comparison sums = compare(lse.fetch(), expected.lse.data);
    bound = lseBound(ElementType::f32, ElementType::f32, sums.maxAbsExpected);
    EXPECT_TRUE(sums.within(bound)) << sums.describe(bound);
  }
}

/// A sink of -inf changes no bit, one of any value none between threads and
/// batches.
TEST_P(Sink, Bits) {
  AttentionGraph plain;
  plain.heads = 4;
  plain.headDim = plain.valueDim = 32;
  plain.clause = "causal(top_left)";
  AttentionGraph withSink = plain;
  sinkForm(ElementType::f32).write(withSink);
  auto without = compile(plain.text(), GetParam());
  auto with = compile(withSink.text(), GetParam());
  ASSERT_TRUE(without && with);
  Shape shape{2, 4, 100, 32};
  Operand q(ElementType::f32, shape, true, pattern(0));
  Operand k(ElementType::f32, {2, 1, 100, 32}, true, pattern(1));
  Operand none(ElementType::f32, llvm::ArrayRef<int64_t>{4}, true,
               [](int64_t) { return -INFINITY; });
  HostTensor a =
      run(*without, {q.view, k.view, k.view}, ElementType::f32, shape);
  HostTensor b =
      run(*with, {q.view, k.view, k.view, none.view}, ElementType::f32, shape);
  EXPECT_EQ(memcmp(a.data(), b.data(), a.sizeInBytes()), 0);
}

INSTANTIATE_FORMS_TESTS(Sink);

} // namespace
