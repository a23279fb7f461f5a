//===- Check.cpp - A random graph, fused and by the twin ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Inputs.h"

#include "attn/Pipelines/Compiler.h"
#include "attn/Pipelines/Tuning.h"
#include "attn/Reference/Tolerance.h"
#include "attn/Support/Error.h"
#include "attn/Support/HostTarget.h"
#include "attn/Support/Npy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace attn;
using namespace attn::fuzz;
using namespace llvm;

void Progress::begin(const char *what) {
  strncpy(step, what, sizeof(step) - 1);
}

namespace {

constexpr int kCalls = 8;

class Checker {
public:
  Checker(Graph &graph, StringRef folder, Progress &progress)
      : graph(graph), folder(folder), progress(progress),
        random(graph.seed ^ 0x5EED) {}

  /// What is wrong, as an error.
  Error run();

private:
  Expected<Compilation> compile(StringRef text, Lowering lowering);
  Error chooseSchedule();
  Error checkCall(int call);
  Error checkResult(size_t index, const HostTensor &got,
                    llvm::ArrayRef<HostTensor> expected, const Inputs &inputs);
  Error checkKeys(const HostTensor &got, const HostTensor &expected,
                  const HostTensor &weights, double bound);
  Expected<std::vector<HostTensor>>
  evaluate(const Compilation &compilation, const Inputs &inputs, bool promote);
  Expected<std::vector<HostTensor>> runFused(const Inputs &inputs,
                                             unsigned threads);
  /// Error of the twin in the types of the graph.
  Expected<double> twinError(size_t index, const HostTensor &expected,
                             const Inputs &inputs);
  ElementType scoreType() const {
    return graph.queryType == ElementType::f64 ? ElementType::f64
                                               : ElementType::f32;
  }
  /// Of one chain whose queries are at most `maxQuery`.
  double largestScore(const Chain &chain, double maxQuery,
                      const Inputs &inputs) const {
    return scoreSlope(chain, inputs) * maxQuery + chain.offset;
  }
  /// How much scores grow with the queries.
  double scoreSlope(const Chain &chain, const Inputs &inputs) const {
    return chain.gain * std::abs(chain.scale) * graph.productGain *
           inputs.maxKey * static_cast<double>(graph.headDim);
  }
  /// Allowed error of a result whose largest number is `largest`.
  double boundOf(ResultKind kind, ElementType type, double largest,
                 const Inputs &inputs) const;
  /// The graph, and the command that runs it on `inputs` if there are any.
  Error writeFiles(const Inputs *inputs);

  Graph &graph;
  StringRef folder;
  Progress &progress;
  Random random;
  Compilation fused, truth;
  std::optional<Compilation> twin;
};

} // namespace

Expected<Compilation> Checker::compile(StringRef text, Lowering lowering) {
  auto target = resolveTarget(graph.target);
  if (!target)
    return target.takeError();
  CompileRequest request;
  request.input = text;
  request.lowering = lowering;
  request.target = std::move(*target);
  request.pipeline.target = graph.target;
  request.pipeline.schedule = graph.schedule;
  // The twin's calls are short.
  if (lowering != Lowering::Fused)
    request.codegen.optLevel = 0;
  return compileToMemory(request);
}

/// One near the compiler's choice.
Error Checker::chooseSchedule() {
  auto target = resolveTarget(graph.target);
  if (!target)
    return target.takeError();
  CompileRequest request;
  request.input = graph.text;
  request.target = *target;
  request.pipeline.target = graph.target;
  auto chosen = attn::chooseSchedule(request);
  if (!chosen) { // not fused: nothing to choose
    consumeError(chosen.takeError());
    return Error::success();
  }
  std::string schedule = *chosen;
  for (int64_t steps = random.pick(1, 3); steps; --steps) {
    auto neighbours = neighbourSchedules(schedule, *target);
    if (!neighbours)
      return neighbours.takeError();
    if (neighbours->empty())
      break;
    schedule = (*neighbours)[random.pick(0, neighbours->size() - 1)];
  }
  graph.schedule = schedule;
  return Error::success();
}

Error Checker::writeFiles(const Inputs *inputs) {
  std::string base = formatv("{0}/seed-{1}", folder, graph.seed);
  std::error_code code;
  raw_fd_ostream text(base + ".mlir", code);
  if (code)
    return createFileError(base + ".mlir", code);
  text << graph.text;
  std::string command = "attn-run " + base + ".mlir --target=" + graph.target;
  if (!graph.schedule.empty())
    command += " '--schedule=" + graph.schedule + "'";
  if (!inputs)
    command += " --emit=obj -o /dev/null";
  else
    for (size_t n = 0; n < graph.arguments.size(); ++n) {
      if (graph.arguments[n].isScalar) {
        double scalar = inputs->scalars[n];
        command += " --input=";
        if (isFloat(graph.arguments[n].type))
          command += formatv("{0:f4}", scalar);
        else
          command += std::to_string(static_cast<int64_t>(scalar));
        continue;
      }
      std::string path = formatv("{0}-{1}.npy", base, n);
      auto tensor = HostTensor::copyOf(inputs->tensors[n]->view);
      if (!tensor)
        return tensor.takeError();
      if (Error error = writeNpy(path, *tensor))
        return error;
      command += " --input=" + path;
    }
  if (inputs)
    command += " --threads=1 --check";
  if (graph.mustFuse && inputs)
    command += " --require-fused";
  raw_fd_ostream script(base + ".sh", code);
  if (code)
    return createFileError(base + ".sh", code);
  script << command << "\n";
  return Error::success();
}

Expected<std::vector<HostTensor>>
Checker::evaluate(const Compilation &compilation, const Inputs &inputs,
                  bool promote) {
  std::vector<HostTensor> copies;
  copies.reserve(inputs.tensors.size());
  std::vector<CallArgument> arguments = inputs.arguments(graph);
  for (CallArgument &argument : arguments) {
    auto *view = std::get_if<TensorView>(&argument);
    if (!view)
      continue;
    auto dense = HostTensor::copyOf(*view);
    if (!dense)
      return dense.takeError();
    auto copy = dense->convertTo(
        promote && isFloat(view->type) ? ElementType::f64 : view->type);
    if (!copy)
      return copy.takeError();
    copies.push_back(std::move(*copy));
    argument = copies.back().view();
  }
  const FunctionInfo &function = *compilation.function;
  auto shapes = compilation.module->resultShapes("f", arguments);
  if (!shapes)
    return shapes.takeError();
  std::vector<HostTensor> results;
  std::vector<TensorView> views;
  for (auto [shape, info] : zip_equal(*shapes, function.results)) {
    auto result = HostTensor::create(*parseElementType(info.type), shape);
    if (!result)
      return result.takeError();
    results.push_back(std::move(*result));
    views.push_back(results.back().view());
  }
  if (Error error = compilation.module->run("f", arguments, views))
    return error;
  return results;
}

Expected<std::vector<HostTensor>> Checker::runFused(const Inputs &inputs,
                                                    unsigned threads) {
  std::vector<CallArgument> arguments = inputs.arguments(graph);
  auto shapes = fused.module->resultShapes("f", arguments);
  if (!shapes)
    return shapes.takeError();
  std::vector<std::unique_ptr<Tensor>> results;
  std::vector<TensorView> views;
  for (auto [shape, info, result] :
       zip_equal(*shapes, fused.function->results, graph.results)) {
    results.push_back(std::make_unique<Tensor>(*parseElementType(info.type),
                                               shape, rowMajorStrides(shape),
                                               random.chance(50)));
    Tensor &tensor = *results.back();
    views.push_back(tensor.view);
    // In place: a buffer that holds the cache, for the argument as well.
    if (result.kind != ResultKind::Cache || random.chance(50))
      continue;
    const Tensor &cache = *inputs.tensors[result.cache];
    tensor.fill(tensor.view, [&](ArrayRef<int64_t> at) {
      return cache.get(cache.view, at);
    });
    arguments[result.cache] = tensor.view;
  }
  RunConfig config;
  config.threads = threads;
  if (Error error = fused.module->run("f", arguments, views, config))
    return error;
  std::vector<HostTensor> copies;
  for (const std::unique_ptr<Tensor> &result : results)
    copies.push_back(cantFail(HostTensor::copyOf(result->view)));
  return copies;
}

Expected<double> Checker::twinError(size_t index, const HostTensor &expected,
                                    const Inputs &inputs) {
  if (!twin) {
    auto compiled = compile(graph.text, Lowering::Twin);
    if (!compiled)
      return compiled.takeError();
    twin = std::move(*compiled);
  }
  auto results = evaluate(*twin, inputs, /*promote=*/false);
  if (!results)
    return results.takeError();
  double error = compare((*results)[index], expected.toDoubles()).maxAbs;
  return std::isfinite(error) ? error : 0.0;
}

double Checker::boundOf(ResultKind kind, ElementType type, double largest,
                        const Inputs &inputs) const {
  // Products are at most about 1, and so is what they come from.
  if (graph.isLinear)
    return std::max(1.0, largest) *
           (2 * attentionBound(graph.valueType, 1.0) +
            4 * (graph.productRounding + graph.valueRounding));
  double u = unitRoundoff(scoreType());
  double maxQuery = inputs.maxQuery, queryError = 0.0, bound = 0.0;
  for (const Chain &chain : graph.chains) {
    // The score is a sum in f32, and what the program makes of it is rounded at
    // each step: exponents carry both into the result.
    double rounding = u * (8.0 + graph.headDim / 8.0) + graph.productRounding;
    double shift = largestScore(chain, maxQuery, inputs) * rounding +
                   scoreSlope(chain, inputs) * queryError;
    if (kind == ResultKind::LogSumExp)
      return lseBound(type, graph.valueType, largest) + shift;
    double sum = chain.isSum ? std::max<int64_t>(inputs.sizes.k, 1) : 1.0;
    bool isLast = &chain == &graph.chains.back();
    if (isLast && kind != ResultKind::Output) {
      // Weights have the relative error of the log-sum-exp; an entropy that of
      // its weights and of their sum.
      double relative = lseBound(type, graph.valueType,
                                 largestScore(chain, maxQuery, inputs)) +
                        2 * std::min(1.0, shift);
      double size = kind == ResultKind::Sums ? largest + sum : largest;
      return relative * std::max(size, chain.largestWeight);
    }
    double reach = inputs.maxValue * chain.largestWeight * sum;
    // Errors of the outputs in between are those of the values' type as well.
    bound = graphBound(type, std::max(reach, largest), 0.0) +
            2 * reach * std::min(1.0, shift) + reach * graph.valueRounding;
    maxQuery = reach;
    queryError = bound;
  }
  return bound;
}

/// Keys of equal weights, but for rounding, may change places.
Error Checker::checkKeys(const HostTensor &got, const HostTensor &expected,
                         const HostTensor &weights, double bound) {
  std::vector<double> keys = got.toDoubles(), right = expected.toDoubles(),
                      all = weights.toDoubles();
  int64_t places = got.shape()[3], count = weights.shape()[3];
  auto weightOf = [&](size_t place, double key) {
    return key < 0 ? 0.0 : all[place / places * count + size_t(key)];
  };
  for (size_t place = 0; place < keys.size(); ++place) {
    if (keys[place] == right[place])
      continue;
    for (size_t other = place / places * places; other < place; ++other)
      if (keys[other] == keys[place] && keys[place] >= 0)
        return makeError("place {0}: key {1} stands twice", place, keys[place]);
    if (keys[place] < -1 || keys[place] >= count)
      return makeError("place {0}: key {1} of {2}", place, keys[place], count);
    double weight = weightOf(place, keys[place]),
           best = weightOf(place, right[place]);
    if (std::isnan(weight) != std::isnan(best) ||
        std::abs(weight - best) > bound)
      return makeError("place {0}: key {1} of weight {2:e6}, expected {3} of "
                       "weight {4:e6}",
                       place, keys[place], weight, right[place], best);
  }
  return Error::success();
}

Error Checker::checkResult(size_t index, const HostTensor &got,
                           ArrayRef<HostTensor> expecteds,
                           const Inputs &inputs) {
  const HostTensor &expected = expecteds[index];
  if (got.shape() != expected.shape())
    return makeError("shapes differ");
  Comparison comparison = compare(got, expected.toDoubles());
  ResultKind kind = graph.results[index].kind;
  if (kind == ResultKind::Keys) {
    const HostTensor &maxima = expecteds[index - 1];
    double largest = compare(maxima, maxima.toDoubles()).maxAbsExpected;
    double bound = boundOf(kind, scoreType(), largest, inputs);
    if (Error error = checkKeys(got, expected, expecteds.back(), 2 * bound))
      return joinErrors(makeError("keys {0}", index), std::move(error));
    return Error::success();
  }
  if (kind == ResultKind::Cache) {
    if (comparison.within(0.0))
      return Error::success();
    return makeError("cache {0}: {1}", index, comparison.describe(0.0));
  }
  double bound = boundOf(kind, got.type(), comparison.maxAbsExpected, inputs);
  if (comparison.within(bound))
    return Error::success();
  auto error = twinError(index, expected, inputs);
  if (!error)
    return error.takeError();
  bound = std::max(bound,
                   graphBound(got.type(), comparison.maxAbsExpected, *error));
  if (comparison.within(bound))
    return Error::success();
  return makeError("result {0}: {1}", index, comparison.describe(bound));
}

Error Checker::checkCall(int call) {
  progress.call = call;
  progress.begin("making inputs");
  Inputs inputs = fuzz::makeInputs(graph, random);
  // The twin skips weights that f64 finds to be 0, and so do kernels with f32:
  // the NaN of a value must not be near that border.
  if (random.chance(10) && !graph.dropsPairs && !graph.isLinear &&
      largestScore(graph.chains[0], inputs.maxQuery, inputs) < 40)
    poisonVisible(graph, inputs, random);
  progress.begin("running the twin in f64");
  auto expected = evaluate(truth, inputs, /*promote=*/true);
  if (!expected)
    return expected.takeError();
  if (!graph.isLinear) {
    poisonHidden(graph, inputs, expected->back().toDoubles(), random);
    expected->pop_back();
  }
  // Before the run: it may not return.
  if (Error error = writeFiles(&inputs))
    return error;
  progress.begin("running the kernel");
  unsigned threads = random.of({1, 1, 2, 3});
  auto got = runFused(inputs, threads);
  if (!got)
    return got.takeError();
  for (size_t index = 0; index < got->size(); ++index)
    if (Error error = checkResult(index, (*got)[index], *expected, inputs))
      return error;
  if (threads == 1)
    return Error::success();
  auto alone = runFused(inputs, 1);
  if (!alone)
    return alone.takeError();
  for (auto [x, y] : zip_equal(*got, *alone))
    if (memcmp(x.data(), y.data(), x.sizeInBytes()))
      return makeError("other bits on {0} threads", threads);
  return Error::success();
}

Error Checker::run() {
  progress.call = -1;
  progress.begin("compiling");
  if (Error error = writeFiles(nullptr))
    return error;
  if (graph.hasSchedule) {
    if (Error error = chooseSchedule())
      return error;
    if (Error error = writeFiles(nullptr))
      return error;
  }
  auto compiled = compile(graph.text, Lowering::Fused);
  if (!compiled)
    return compiled.takeError();
  fused = std::move(*compiled);
  if (graph.mustFuse)
    for (const std::string &remark : fused.function->remarks)
      // Pages and integers are copied where no chain takes them in.
      if (StringRef(remark).starts_with(kNotFusedPrefix) &&
          !StringRef(remark).contains("its result is a copy"))
        return makeError("{0}", remark);
  progress.begin("compiling the twin");
  auto naive = compile(graph.textWithWeights, Lowering::TwinF64);
  if (!naive)
    return naive.takeError();
  truth = std::move(*naive);
  for (int call = 0; call < kCalls; ++call)
    if (Error error = checkCall(call))
      return joinErrors(makeError("call {0}", call), std::move(error));
  return Error::success();
}

std::string attn::fuzz::check(Graph &graph, StringRef folder,
                              Progress &progress) {
  progress.seed = graph.seed;
  std::string text = toString(Checker(graph, folder, progress).run());
  if (!text.empty())
    return text;
  // Nothing to show.
  std::string base = formatv("{0}/seed-{1}", folder, graph.seed);
  sys::fs::remove(base + ".mlir");
  sys::fs::remove(base + ".sh");
  for (size_t n = 0; n < graph.arguments.size(); ++n)
    sys::fs::remove(formatv("{0}-{1}.npy", base, n).str());
  return text;
}
