//===- AdditiveTest.cpp - Additive scores, against f64 --------------------===//
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

using Additive = FormsTest;

/// Additive scores with a weight `[A]`, or one for each head; it is f64 where
/// queries are.
Form additiveForm(bool eachHead, ElementType type) {
  auto shape = [=](int64_t heads, int64_t headDim) {
    return eachHead ? Shape{heads, headDim} : Shape{headDim};
  };
  return {[=](AttentionGraph &graph) {
            std::string extents;
            for (int64_t extent : shape(graph.heads, graph.headDim))
              extents += (extents.empty() ? "" : "x") + std::to_string(extent);
            graph.additive = "%weight";
            graph.additiveType = AttentionGraph::tensor(
                extents,
                graph.queryType == ElementType::f64 ? graph.queryType : type);
            graph.extra += ", %weight: " + graph.additiveType;
          },
          [=](FormCall &call) {
            call.options.additive =
                call.add(call.type == ElementType::f64 ? call.type : type,
                         shape(call.heads, call.headDim), pattern(7));
          }};
}

TEST_P(Additive, MatchesF64) {
  checkForm(GetParam(), additiveForm(false, ElementType::f32));
}

TEST_P(Additive, WeightOfEachHead) {
  for (ElementType type : {ElementType::f32, ElementType::bf16}) {
    checkForm(GetParam(), additiveForm(true, type), kFormShapes[0], "causal");
    checkForm(GetParam(), additiveForm(true, type), kFormShapes[3], "lengths");
  }
}

/// With a score program after it, and a program on weights in two passes.
TEST_P(Additive, WithPrograms) {
  Form plain = additiveForm(true, ElementType::f32);
  Form form = {
      [=](AttentionGraph &graph) {
        plain.write(graph);
        graph.scoreOps = "%t = attn.softcap %u at 1.5 : " + graph.scoresType();
        std::string type = elementTypeName(graph.scoreElement()).str();
        graph.weightOps =
            "%w = attn.probability_map %p : " + graph.scoresType() +
            " {\n^bb0(%p0: " + type +
            ", %b: index, %h: index, %i: index, %j: index):\n%y = arith.mulf "
            "%p0, %p0 : " +
            type + "\nattn.yield %y : " + type + "\n}";
      },
      [=](FormCall &call) {
        plain.fill(call);
        call.options.score = [](double s, int64_t, int64_t, int64_t, int64_t) {
          return 1.5 * std::tanh(s / 1.5);
        };
        call.options.probability = [](double p, int64_t, int64_t, int64_t,
                                      int64_t) { return p * p; };
      }};
  checkForm(GetParam(), form, kFormShapes[0], "causal");
  checkForm(GetParam(), form, kFormShapes[2], "lengths");
  checkForm(GetParam(), form, kFormShapes[6], "lengths");
}

INSTANTIATE_FORMS_TESTS(Additive);

} // namespace
