//===- WeightsTest.cpp - Programs on weights and sigmoids, against f64 ----===//
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

using Weights = FormsTest;

/// An `attn.probability_map` with the lines of `program`, which make %y of %p0;
/// `T` in it stands for the type of weights.
std::string mapText(const AttentionGraph &graph, const std::string &program) {
  std::string text = "%w = attn.probability_map %p : " + graph.scoresType() +
                     " {\n^bb0(%p0: T, %b: index, %h: index, %i: index, "
                     "%j: index):\n" +
                     program + "attn.yield %y : T\n}";
  llvm::StringRef type = elementTypeName(graph.scoreElement());
  for (size_t at; (at = text.find('T')) != std::string::npos;)
    text.replace(at, 1, type.str());
  return text;
}

/// A gate for each head and key, and a pattern of pairs that are left out.
/// Homogeneous: one pass.
const Form kGates = {
    [](AttentionGraph &graph) {
      std::string gate = AttentionGraph::tensor(
          std::to_string(graph.heads) + "x?", graph.scoreElement());
      graph.extra += ", %gate: " + gate;
      graph.weightOps =
          mapText(graph, "%x = tensor.extract %gate[%h, %j] : " + gate + R"(
              %z = arith.mulf %p0, %x : T
              %three = arith.constant 3 : index
              %n = arith.addi %i, %j : index
              %m = arith.addi %n, %b : index
              %r = arith.remui %m, %three : index
              %zero = arith.constant 0 : index
              %c = arith.cmpi ne, %r, %zero : index
              %none = arith.constant 0.0 : T
              %y = arith.select %c, %z, %none : T
              )");
    },
    [](FormCall &call) {
      auto gate =
          call.add(call.type == ElementType::f64 ? call.type : ElementType::f32,
                   {call.heads, call.keys},
                   [](int64_t n) { return 1 + patternAt(5, n); });
      call.options.probability = [=](double p, int64_t b, int64_t h, int64_t i,
                                     int64_t j) {
        return (i + j + b) % 3 != 0 ? p * gate.at({h, j}) : 0.0;
      };
      call.factor = 2.5;
    }};

/// Nothing that scales: two passes. 0 is mapped to something else, which hidden
/// pairs must not show.
const Form kCurve = {[](AttentionGraph &graph) {
                       graph.weightOps = mapText(graph, R"(
              %c = arith.constant 0.125 : T
              %d = arith.constant -0.01 : T
              %q0 = arith.mulf %p0, %p0 : T
              %l = arith.mulf %p0, %c : T
              %z = arith.addf %q0, %l : T
              %y = arith.addf %z, %d : T
              )");
                     },
                     [](FormCall &call) {
                       call.options.probability = [](double p, int64_t, int64_t,
                                                     int64_t, int64_t) {
                         return p * p + 0.125 * p - 0.01;
                       };
                       call.factor = 1 + 0.01 * call.keys;
                     }};

const Form kSigmoid = {
    [](AttentionGraph &graph) { graph.clause += " normalizer(sigmoid)"; },
    [](FormCall &call) {
      call.options.normalizer = reference::Normalizer::Sigmoid;
      call.factor = std::max<double>(1, call.keys);
    }};

TEST_P(Weights, HomogeneousProgram) { checkForm(GetParam(), kGates); }

TEST_P(Weights, ProgramInTwoPasses) { checkForm(GetParam(), kCurve); }

TEST_P(Weights, Sigmoid) { checkForm(GetParam(), kSigmoid); }

TEST_P(Weights, ProgramAfterSigmoid) {
  Form form = {[](AttentionGraph &graph) {
                 kSigmoid.write(graph);
                 kCurve.write(graph);
               },
               [](FormCall &call) {
                 kCurve.fill(call);
                 kSigmoid.fill(call);
               }};
  for (size_t n = 0; n < std::size(kFormShapes); ++n)
    checkForm(GetParam(), form, kFormShapes[n], kFormMasks[n % 3]);
}

/// A sink counts in the weights that a program sees.
TEST_P(Weights, ProgramWithSink) {
  Form form = {[](AttentionGraph &graph) {
                 kCurve.write(graph);
                 std::string sink =
                     "tensor<" + std::to_string(graph.heads) + "xf32>";
                 graph.extra += ", %sink: " + sink;
                 graph.clause += " sink(%sink : " + sink + ")";
               },
               [](FormCall &call) {
                 kCurve.fill(call);
                 call.options.sink =
                     call.add(ElementType::f32, {call.heads},
                              [](int64_t n) { return 2.0 * n - 1; })
                         .data;
               }};
  checkForm(GetParam(), form, kFormShapes[0], "causal");
  checkForm(GetParam(), form, kFormShapes[3], "lengths");
  checkForm(GetParam(), form, kFormShapes[7], "lengths");
}

/// Rows whose log-sum-exp is rounded to the largest score: all of -1e9, of the
/// lowest f32, or of 1e9, and a real key among such ones.
TEST_P(Weights, ProgramOnHugeScores) {
  for (bool hasSink : {false, true}) {
    Form form = {
        [=](AttentionGraph &graph) {
          kCurve.write(graph);
          std::string bias = "tensor<" + graph.queryRows + "x?xf32>",
                      sink = "tensor<" + std::to_string(graph.heads) + "xf32>";
          graph.extra += ", %bias: " + bias;
          graph.scoreOps =
              "%t = attn.bias %u, %bias : " + graph.scoresType() + ", " + bias;
          if (!hasSink)
            return;
          graph.extra += ", %sink: " + sink;
          graph.clause += " sink(%sink : " + sink + ")";
        },
        [=](FormCall &call) {
          kCurve.fill(call);
          constexpr double lowest = -std::numeric_limits<float>::max();
          auto bias = call.add(
              ElementType::f32, {call.queryRows, call.keys}, [&](int64_t n) {
                int64_t i = n / call.keys + call.keys, j = n % call.keys;
                const double ofRows[] = {-1e9, lowest, 1e9,
                                         j % 7 == 2 ? 0 : lowest};
                return ofRows[i % 4];
              });
          bool isDouble = call.type == ElementType::f64;
          call.options.score = [=](double score, int64_t, int64_t, int64_t i,
                                   int64_t j) {
            score += bias.at({i, j});
            return isDouble ? score : static_cast<float>(score);
          };
          if (hasSink)
            call.options.sink =
                call.add(ElementType::f32, {call.heads},
                         [](int64_t n) {
                           const double ofHeads[] = {-1e9, 2, lowest};
                           return ofHeads[n % 3];
                         })
                    .data;
        }};
    // Shapes have one in turn.
    for (size_t n = 0; n < std::size(kFormShapes); ++n)
      if (runAll() || hasSink == (n % 2 == 1))
        checkForm(GetParam(), form, kFormShapes[n],
                  hasSink ? "lengths" : "causal");
  }
}

/// Threads and batches change no bit of either pass.
TEST_P(Weights, Bits) {
  for (const Form *form : {&kCurve, &kSigmoid}) {
    AttentionGraph graph;
    graph.heads = 4;
    graph.keyHeads = 2;
    graph.headDim = graph.valueDim = 32;
    graph.clause = "causal(top_left)";
    form->write(graph);
    auto module = compile(graph.text(), GetParam());
    ASSERT_TRUE(module);
    Operand q(ElementType::f32, {2, 4, 150, 32}, true, pattern(0));
    Operand k(ElementType::f32, {2, 2, 150, 32}, true, pattern(1));
    expectSameBits(*module, {&q, &k, &k}, ElementType::f32, {2, 4, 150, 32});
  }
}

INSTANTIATE_FORMS_TESTS(Weights);

} // namespace
