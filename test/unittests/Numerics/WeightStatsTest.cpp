//===- WeightStatsTest.cpp - Statistics of weights, against f64 -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All statistics of one chain, with the weighted sum or without it, fused, on
// every target and around the edges of tiles, blocks and vectors.
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"

#include <deque>

using namespace attn;
using namespace attn::test;
using reference::Tensor64;

namespace {

class WeightStats : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(GetParam()); }
};

constexpr int64_t kPlaces = 3;

/// `f` of `graph` with all statistics as results, keys as numbers of f32, and
/// the weighted sum if asked, last.
std::string statsText(const AttentionGraph &graph, bool withSum) {
  std::string rows = "?x" + std::to_string(graph.heads) + "x";
  std::string columns = "tensor<" + rows + "?xf32>",
              ofRows = "tensor<" + rows + graph.queryRows + "xf32>",
              places = "tensor<" + rows + graph.queryRows + "x" +
                       std::to_string(kPlaces);
  std::string top = places + "xf32>", keys = places + "xi32>";
  std::string types =
      columns + ", " + ofRows + ", " + ofRows + ", " + top + ", " + top;
  if (withSum)
    types += ", " + graph.output();
  // Where there is a sum, it comes after half of the statistics.
  return "func.func @f(" + graph.arguments() + ") -> (" + types + ") {\n" +
         graph.weightsText() + "%c, %m = attn.weight_stats " + graph.weights() +
         " column_sums row_max : " + graph.scoresType() + " -> " + columns +
         ", " + ofRows + "\n" + (withSum ? graph.sumText() : "") +
         "%e, %tw, %ti = attn.weight_stats " + graph.weights() +
         " entropy top_k " + std::to_string(kPlaces) + " : " +
         graph.scoresType() + " -> " + ofRows + ", " + top + ", " + keys +
         "\n%tk = arith.sitofp %ti : " + keys + " to " + top +
         "\nreturn %c, %m, %e, %tw, %tk" + (withSum ? ", %o" : "") + " : " +
         types + "\n}\n";
}

/// One call: the graph's shapes, and what its weights are in f64.
struct Call {
  int64_t batch = 2, queryRows = 1, keys = 1;
  /// Weights of scores that are scaled.
  std::function<Tensor64(const Tensor64 &)> weigh;
  /// Operands after the values.
  std::deque<Operand> extra;
  /// Values of keys; `patternAt` if empty.
  std::function<double(int64_t)> key;
  double bound = 0;
};

std::vector<HostTensor> runStats(CompiledModule &module,
                                 llvm::ArrayRef<CallArgument> inputs,
                                 llvm::ArrayRef<Shape> shapes,
                                 ElementType sumType, unsigned threads = 1) {
  std::deque<Operand> outputs;
  std::vector<TensorView> views;
  for (auto [n, shape] : llvm::enumerate(shapes)) {
    outputs.emplace_back(n < 5 ? ElementType::f32 : sumType, shape, n % 2 == 0,
                         [](int64_t) { return NAN; });
    views.push_back(outputs.back().view);
  }
  RunConfig config;
  config.threads = threads;
  llvm::Error error = module.run("f", inputs, views, config);
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  std::vector<HostTensor> results;
  for (Operand &output : outputs) {
    output.fetch();
    results.push_back(std::move(output.host));
  }
  return results;
}

std::vector<Shape> shapesOf(const AttentionGraph &graph, int64_t batch,
                            int64_t queryRows, int64_t keys, bool withSum) {
  std::vector<Shape> shapes{{batch, graph.heads, keys},
                            {batch, graph.heads, queryRows},
                            {batch, graph.heads, queryRows},
                            {batch, graph.heads, queryRows, kPlaces},
                            {batch, graph.heads, queryRows, kPlaces}};
  if (withSum)
    shapes.push_back({batch, graph.heads, queryRows, graph.valueDim});
  return shapes;
}

/// A place holds the key of the reference, or another one whose weight is as
/// good as equal; keys of equal weights are in order. Whether a weight that is
/// less than any normal number has a place is up to the target.
void expectKeys(const HostTensor &got, const reference::WeightStats &expected,
                const Tensor64 &weights, double bound) {
  std::vector<double> keys = got.toDoubles();
  int64_t count = weights.shape[3];
  for (size_t n = 0; n < keys.size(); ++n) {
    double right = expected.topKeys.data[n], left = keys[n];
    if (left == right)
      continue;
    SCOPED_TRACE("place " + std::to_string(n) + ": key " +
                 std::to_string(left) + ", expected " + std::to_string(right));
    ASSERT_GE(left, -1);
    ASSERT_LT(left, count);
    int64_t row = static_cast<int64_t>(n) / kPlaces * count;
    auto weightOf = [&](double key) {
      return key < 0 ? 0 : weights.data[row + static_cast<int64_t>(key)];
    };
    double x = weightOf(left), y = weightOf(right);
    if (left < 0 || right < 0) {
      EXPECT_LE(std::max(x, y), 0x1p-125);
      continue;
    }
    EXPECT_NE(x, y);
    EXPECT_LE(std::abs(x - y), 2 * bound);
  }
}

void checkCall(CompiledModule &module, const AttentionGraph &graph, Call &call,
               bool withSum) {
  bool flush = (call.queryRows + call.keys) % 2;
  Operand q(graph.queryType,
            {call.batch, graph.heads, call.queryRows, graph.headDim}, flush,
            pattern(0));
  Operand k(graph.type, {call.batch, graph.keyHeads, call.keys, graph.headDim},
            !flush, call.key ? call.key : pattern(1));
  Operand v(graph.type, {call.batch, graph.keyHeads, call.keys, graph.valueDim},
            flush, pattern(2));
  std::vector<CallArgument> inputs{q.view, k.view, v.view};
  for (Operand &operand : call.extra)
    inputs.push_back(operand.view);
  std::vector<HostTensor> got =
      runStats(module, inputs,
               shapesOf(graph, call.batch, call.queryRows, call.keys, withSum),
               graph.type);

  Tensor64 scores = llvm::cantFail(
      reference::qk(Tensor64::from(q.host), Tensor64::from(k.host)));
  Tensor64 weights = call.weigh(reference::scale(scores, 0.25));
  reference::WeightStats expected =
      llvm::cantFail(reference::weightStats(weights, kPlaces));
  const std::pair<const char *, const Tensor64 *> results[] = {
      {"column sums", &expected.columnSums},
      {"row maximum", &expected.rowMax},
      {"entropy", &expected.entropy},
      {"largest weights", &expected.topWeights}};
  for (auto [n, result] : llvm::enumerate(results)) {
    SCOPED_TRACE(result.first);
    Comparison comparison = compare(got[n], result.second->data);
    double bound = call.bound * std::max(1.0, comparison.maxAbsExpected);
    EXPECT_TRUE(comparison.within(bound)) << comparison.describe(bound);
  }
  expectKeys(got[4], expected, weights, call.bound);
}

/// What the scores of a head dim lose, relative to weights of at most 1.
double boundOf(const AttentionGraph &graph) {
  return attentionBound(graph.type, 1.5) *
         std::max(1.0, 0.25 * std::sqrt(static_cast<double>(graph.headDim)));
}

/// Weights of a softmax with `visible` and `sink`.
std::function<Tensor64(const Tensor64 &)>
softmaxOf(reference::Visibility visible = {}, std::vector<double> sink = {}) {
  return [=](const Tensor64 &scores) {
    return llvm::cantFail(reference::maskedSoftmax(scores, visible, sink))
        .weights;
  };
}

struct StatsShape {
  int64_t heads, keyHeads, headDim;
  const char *queryRows;
  ElementType type;
};
constexpr StatsShape kShapes[] = {{4, 2, 40, "?", ElementType::f32},
                                  {2, 1, 64, "?", ElementType::bf16},
                                  {2, 2, 33, "?", ElementType::f16},
                                  {3, 3, 1, "?", ElementType::f32},
                                  {8, 2, 64, "1", ElementType::f32}};

AttentionGraph graphOf(const StatsShape &shape) {
  AttentionGraph graph;
  graph.heads = shape.heads;
  graph.keyHeads = shape.keyHeads;
  graph.headDim = shape.headDim;
  graph.valueDim = 24;
  graph.queryRows = shape.queryRows;
  graph.queryType = graph.type = shape.type;
  graph.scale = "0.25";
  return graph;
}

std::vector<std::pair<int64_t, int64_t>> lengthsOf(const StatsShape &shape) {
  if (shape.queryRows == llvm::StringRef("1"))
    return {{1, 0}, {1, 1}, {1, 300}};
  return {{0, 5}, {5, 0}, {1, 1}, {7, 2}, {17, 33}, {64, 97}, {130, 257}};
}

/// Named targets take a third of the graphs each, in turn.
bool isLeftOut(llvm::StringRef target, size_t &turn) {
  return target != "native" && !runAll() && ++turn % 3;
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

TEST_P(WeightStats, MatchesF64) {
  bool withSum = false;
  size_t turn = llvm::hash_value(llvm::StringRef(GetParam())) % 3;
  for (const StatsShape &shape : kShapes)
    for (const char *mask : {"none", "causal", "lengths"}) {
      if (isLeftOut(GetParam(), turn))
        continue;
      AttentionGraph graph = graphOf(shape);
      if (mask == llvm::StringRef("causal"))
        graph.clause = "causal(bottom_right)";
      if (mask == llvm::StringRef("lengths")) {
        graph.extra = ", %lengths: tensor<?xi32>";
        graph.clause = "lengths(%lengths : tensor<?xi32>)";
      }
      withSum = !withSum;
      std::string text = statsText(graph, withSum);
      SCOPED_TRACE(text);
      auto module = compile(text, GetParam());
      ASSERT_TRUE(module);
      for (auto [queryRows, keys] : lengthsOf(shape)) {
        SCOPED_TRACE("Sq " + std::to_string(queryRows) + ", Skv " +
                     std::to_string(keys));
        Call call;
        call.queryRows = queryRows;
        call.keys = keys;
        call.bound = boundOf(graph);
        call.weigh = softmaxOf();
        if (mask == llvm::StringRef("causal"))
          call.weigh = softmaxOf(reference::causalBottomRight(queryRows, keys));
        if (mask == llvm::StringRef("lengths")) {
          // In the first element, rows see a third of the keys; the others are
          // nobody's, and NaN.
          int64_t seen[] = {keys / 3, keys}, size = keys * shape.headDim;
          call.weigh = softmaxOf(reference::lengths({seen[0], seen[1]}));
          call.extra.emplace_back(ElementType::i32, Shape{2}, true,
                                  [&](int64_t n) { return seen[n]; });
          int64_t heads = shape.keyHeads, dim = shape.headDim, length = keys,
                  first = seen[0];
          call.key = [=](int64_t n) {
            bool isHidden = n / (heads * size) == 0 &&
                            n / dim % std::max<int64_t>(length, 1) >= first;
            return isHidden ? NAN : patternAt(1, n);
          };
        }
        checkCall(*module, graph, call, withSum);
        if (HasFailure())
          return;
      }
    }
}

/// One form of the chain beside masks.
struct Form {
  const char *name;
  std::function<void(AttentionGraph &)> write;
  std::function<void(Call &)> fill;
};

std::string elementwise(const std::string &op, const AttentionGraph &graph,
                        const std::string &body) {
  return op + " : " + graph.scoresType() +
         " {\n^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):\n" +
         body + "attn.yield %y : f32\n}";
}

Tensor64 mapped(const Tensor64 &x, double (*f)(double)) {
  Tensor64 result = x;
  for (double &value : result.data)
    value = f(value);
  return result;
}

std::vector<Form> forms() {
  return {
      {"sink",
       [](AttentionGraph &graph) {
         graph.extra = ", %sink: tensor<4xf32>";
         graph.clause = "causal(top_left) sink(%sink : tensor<4xf32>)";
       },
       [](Call &call) {
         std::vector<double> sink{-1.0, 0.5, -INFINITY, 3.0};
         call.extra.emplace_back(ElementType::f32, Shape{4}, true,
                                 [&](int64_t n) { return sink[n]; });
         call.weigh = softmaxOf(reference::causalTopLeft(), sink);
       }},
      {"softcap",
       [](AttentionGraph &graph) {
         graph.scoreOps = "%t = attn.softcap %u at 1.5 : " + graph.scoresType();
       },
       [](Call &call) {
         call.weigh = [](const Tensor64 &scores) {
           return softmaxOf()(llvm::cantFail(reference::softcap(scores, 1.5)));
         };
       }},
      {"bias",
       [](AttentionGraph &graph) {
         graph.extra = ", %bias: tensor<?x?xf32>";
         graph.scoreOps = "%t = attn.bias %u, %bias : " + graph.scoresType() +
                          ", tensor<?x?xf32>";
       },
       [](Call &call) {
         // A third of the pairs is hidden, and all of row 3.
         auto value = [keys = call.keys](int64_t n) {
           return n % 3 == 1 || n / keys == 3 ? -INFINITY : patternAt(5, n);
         };
         call.extra.emplace_back(ElementType::f32,
                                 Shape{call.queryRows, call.keys}, true, value);
         Tensor64 bias = Tensor64::from(call.extra.back().host);
         call.weigh = [=](const Tensor64 &scores) {
           return softmaxOf(
               llvm::cantFail(reference::hiddenByBias(bias, scores.shape)))(
               llvm::cantFail(reference::bias(scores, bias)));
         };
       }},
      {"sigmoid",
       [](AttentionGraph &graph) {
         graph.clause = "window[9, 3](top_left) normalizer(sigmoid)";
       },
       [](Call &call) {
         call.weigh = [](const Tensor64 &scores) {
           return llvm::cantFail(
               reference::sigmoidWeights(scores, reference::window(9, 3)));
         };
       }},
      {"program on weights",
       [](AttentionGraph &graph) {
         graph.clause = "causal(top_left)";
         graph.weightOps = elementwise("%w = attn.probability_map %p", graph,
                                       "%y = arith.mulf %x, %x : f32\n");
       },
       [](Call &call) {
         call.weigh = [](const Tensor64 &scores) {
           return mapped(softmaxOf(reference::causalTopLeft())(scores),
                         [](double p) { return p * p; });
         };
       }},
      {"dropout",
       [](AttentionGraph &graph) {
         graph.extra = ", %seed: tensor<1xi64>";
         graph.weightOps =
             "%zero = arith.constant 0 : index\n"
             "%number = tensor.extract %seed[%zero] : tensor<1xi64>\n"
             "%w = attn.dropout %p rate 0.25 seed(%number) : " +
             graph.scoresType();
       },
       [](Call &call) {
         call.extra.emplace_back(ElementType::i64, Shape{1}, true,
                                 [](int64_t) { return 77; });
         call.weigh = [](const Tensor64 &scores) {
           return llvm::cantFail(reference::mapWeights(
               softmaxOf()(scores), reference::dropout(0.25, 77)));
         };
       }},
      {"mask tensor",
       [](AttentionGraph &graph) {
         graph.extra = ", %mask: tensor<?x1x?x?xi1>";
         graph.clause = "mask(%mask : tensor<?x1x?x?xi1>)";
       },
       [](Call &call) {
         call.extra.emplace_back(
             ElementType::i1, Shape{call.batch, 1, call.queryRows, call.keys},
             true, [](int64_t n) { return n % 5 != 2 && n % 7 != 1; });
         Tensor64 mask = Tensor64::from(call.extra.back().host);
         call.weigh = [=](const Tensor64 &scores) {
           return softmaxOf(llvm::cantFail(
               reference::maskTensor(mask, scores.shape)))(scores);
         };
       }},
      {"branch in the mask",
       [](AttentionGraph &graph) {
         graph.clause =
             "visible {\n^bb0(%b: index, %h: index, %i: index, %j: "
             "index):\n%own = arith.cmpi eq, %h, %b : index\n"
             "%sees = scf.if %own -> i1 {\n%l = arith.cmpi sle, %j, %i : "
             "index\nscf.yield %l : i1\n} else {\n%g = arith.cmpi "
             "sge, %j, %i : index\nscf.yield %g : i1\n}\n"
             "attn.yield %sees : i1\n}";
       },
       [](Call &call) {
         call.weigh = softmaxOf([](int64_t b, int64_t h, int64_t i, int64_t j) {
           return h == b ? j <= i : j >= i;
         });
       }}};
}

TEST_P(WeightStats, Forms) {
  size_t turn = llvm::hash_value(llvm::StringRef(GetParam())) % 3;
  // With and without a weighted sum in turn.
  for (auto [number, form] : llvm::enumerate(forms()))
    for (bool withSum : {false, true}) {
      if ((!runAll() && withSum != (number % 2 == 0)) ||
          isLeftOut(GetParam(), turn))
        continue;
      AttentionGraph graph = graphOf(kShapes[0]);
      form.write(graph);
      std::string text = statsText(graph, withSum);
      SCOPED_TRACE(form.name + ("\n" + text));
      auto module = compile(text, GetParam());
      ASSERT_TRUE(module);
      for (auto [queryRows, keys] :
           {std::pair<int64_t, int64_t>{5, 3}, {35, 70}, {80, 40}}) {
        Call call;
        call.queryRows = queryRows;
        call.keys = keys;
        call.bound = 2 * boundOf(graph);
        form.fill(call);
        checkCall(*module, graph, call, withSum);
        if (HasFailure())
          return;
      }
    }
}

/// Keys come again every seven: of equal weights the lower key is first, in one
/// block and over blocks.
TEST_P(WeightStats, TiesGoToTheLowerKey) {
  AttentionGraph graph = graphOf(kShapes[0]);
  auto module = compile(statsText(graph, false), GetParam());
  ASSERT_TRUE(module);
  for (int64_t keys : {7, 40, 250}) {
    Call call;
    call.queryRows = 21;
    call.keys = keys;
    call.bound = boundOf(graph);
    call.weigh = softmaxOf();
    call.key = [=](int64_t n) {
      int64_t size = keys * graph.headDim, d = n % graph.headDim;
      int64_t j = n / graph.headDim % keys;
      return patternAt(1 + n / size, j % 7 * graph.headDim + d);
    };
    checkCall(*module, graph, call, false);
  }
}

/// A NaN in a key reaches the rows that see it, what they see, and nothing
/// else.
TEST_P(WeightStats, VisibleNaNStaysInItsRows) {
  AttentionGraph graph = graphOf(kShapes[0]);
  graph.clause = "causal(top_left)";
  for (bool withSum : {false, true}) {
    auto module = compile(statsText(graph, withSum), GetParam());
    ASSERT_TRUE(module);
    for (int64_t key : {0, 50, 69}) {
      Call call;
      call.queryRows = 75;
      call.keys = 70;
      call.bound = boundOf(graph);
      call.weigh = softmaxOf(reference::causalTopLeft());
      call.key = [=](int64_t n) {
        return n / graph.headDim % 70 == key && n % graph.headDim == 3
                   ? NAN
                   : patternAt(1, n);
      };
      checkCall(*module, graph, call, withSum);
    }
  }
}

/// Where scores are huge, most weights are 0: no NaN, no entropy below 0 by
/// more than rounding, and no places for weights of 0.
TEST_P(WeightStats, HugeScores) {
  AttentionGraph graph = graphOf(kShapes[0]);
  graph.scoreOps = "%t = attn.scale %u by 256.0 : " + graph.scoresType();
  auto module = compile(statsText(graph, false), GetParam());
  ASSERT_TRUE(module);
  Call call;
  call.queryRows = 33;
  call.keys = 100;
  // Scores are rounded to f32.
  constexpr double largest = 256 * 0.25 * 40 * 1.5 * 1.5;
  call.bound = boundOf(graph) + unitRoundoff(ElementType::f32) * largest;
  call.weigh = [](const Tensor64 &scores) {
    Tensor64 weights = softmaxOf()(reference::scale(scores, 256.0));
    // What f32 does not hold is 0.
    for (double &weight : weights.data)
      weight = weight < 0x1p-126 ? 0 : weight;
    return weights;
  };
  checkCall(*module, graph, call, false);
}

/// Rows whose log-sum-exp is rounded to the largest score: all of -1e9, of the
/// lowest number, as masks add it, or of 1e9, and real keys among such ones.
TEST_P(WeightStats, HugeBiases) {
  constexpr double lowest = -std::numeric_limits<float>::max();
  size_t turn = llvm::hash_value(llvm::StringRef(GetParam())) % 3;
  for (const StatsShape &shape : kShapes)
    for (bool hasSink : {false, true}) {
      if (isLeftOut(GetParam(), turn))
        continue;
      AttentionGraph graph = graphOf(shape);
      std::string bias = "tensor<" + std::string(shape.queryRows) + "x?xf32>";
      std::string sink = "tensor<" + std::to_string(shape.heads) + "xf32>";
      graph.extra = ", %bias: " + bias + (hasSink ? ", %sink: " + sink : "");
      graph.scoreOps =
          "%t = attn.bias %u, %bias : " + graph.scoresType() + ", " + bias;
      graph.clause = "causal(bottom_right)" +
                     (hasSink ? " sink(%sink : " + sink + ")" : "");
      bool withSum = hasSink == (shape.heads % 4 == 0);
      std::string text = statsText(graph, withSum);
      SCOPED_TRACE(text);
      auto module = compile(text, GetParam());
      ASSERT_TRUE(module);
      for (auto [queryRows, keys] : lengthsOf(shape)) {
        SCOPED_TRACE("Sq " + std::to_string(queryRows) + ", Skv " +
                     std::to_string(keys));
        Call call;
        call.queryRows = queryRows;
        call.keys = keys;
        call.bound = boundOf(graph);
        call.extra.emplace_back(
            ElementType::f32, Shape{queryRows, keys}, true,
            [keys = keys](int64_t n) {
              const double ofRows[] = {-1e9, lowest, 1e9, 0};
              int64_t i = n / keys + keys, j = n % keys;
              if (i % 5 == 4)
                return j % 7 == 2 ? patternAt(5, n) : lowest;
              return ofRows[i % 5];
            });
        Tensor64 biases = Tensor64::from(call.extra.back().host);
        std::vector<double> sinks;
        if (hasSink) {
          const double ofHeads[] = {-1e9, 0.5, lowest, -INFINITY};
          for (int64_t h = 0; h < shape.heads; ++h)
            sinks.push_back(ofHeads[h % 4]);
          call.extra.emplace_back(ElementType::f32, Shape{shape.heads}, true,
                                  [&](int64_t n) { return sinks[n]; });
        }
        auto visible = reference::causalBottomRight(queryRows, keys);
        call.weigh = [=](const Tensor64 &scores) {
          Tensor64 rounded = llvm::cantFail(reference::bias(scores, biases));
          for (double &score : rounded.data)
            score = static_cast<float>(score);
          return softmaxOf(visible, sinks)(rounded);
        };
        checkCall(*module, graph, call, withSum);
        if (HasFailure())
          return;
      }
    }
}

/// The same bits for any number of threads and for an element of the batch
/// alone, with more tiles than a head has parts.
TEST_P(WeightStats, SameBits) {
  AttentionGraph graph = graphOf(kShapes[0]);
  graph.clause = "causal(top_left)";
  auto module = compile(statsText(graph, false), GetParam());
  ASSERT_TRUE(module);
  int64_t batch = 2, queryRows = 1111, keys = 150;
  Operand q(ElementType::f32, {batch, 4, queryRows, 40}, true, pattern(0));
  Operand k(ElementType::f32, {batch, 2, keys, 40}, true, pattern(1));
  Operand v(ElementType::f32, {batch, 2, keys, 24}, true, pattern(2));
  auto shapes = shapesOf(graph, batch, queryRows, keys, false);
  std::vector<HostTensor> one =
      runStats(*module, {q.view, k.view, v.view}, shapes, ElementType::f32);
  for (unsigned threads : {2u, 3u}) {
    std::vector<HostTensor> many = runStats(*module, {q.view, k.view, v.view},
                                            shapes, ElementType::f32, threads);
    for (size_t n = 0; n < one.size(); ++n)
      EXPECT_EQ(memcmp(one[n].data(), many[n].data(), one[n].sizeInBytes()), 0)
          << "result " << n << ", " << threads << " threads";
  }
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<HostTensor> alone = runStats(
        *module,
        {elementOfBatch(q, b), elementOfBatch(k, b), elementOfBatch(v, b)},
        shapesOf(graph, 1, queryRows, keys, false), ElementType::f32);
    for (size_t n = 0; n < one.size(); ++n)
      EXPECT_EQ(memcmp(static_cast<const char *>(one[n].data()) +
                           b * alone[n].sizeInBytes(),
                       alone[n].data(), alone[n].sizeInBytes()),
                0)
          << "result " << n << ", element " << b;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, WeightStats, testing::ValuesIn(kTargets),
                         targetTestName);

} // namespace
