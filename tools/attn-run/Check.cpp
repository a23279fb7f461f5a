//===- Check.cpp - Results against the f64 twin ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Check.h"

#include "attn/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace llvm;

namespace {
/// The results of a twin: those of the model, and weights behind statistics.
struct Evaluation {
  std::vector<ValueInfo> infos;
  std::vector<HostTensor> results;
};
} // namespace

/// Compiles the model by a twin and runs it once.
static Expected<Evaluation> evaluate(CompileRequest request, Lowering lowering,
                                     std::vector<InputValue> &inputs,
                                     bool poisonClamps = false) {
  request.lowering = lowering;
  request.pipeline.poisonClamps = poisonClamps;
  request.pipeline.returnWeights = true;
  auto compiled = compileToMemory(request);
  if (!compiled)
    return compiled.takeError();
  std::vector<CallArgument> arguments;
  for (InputValue &input : inputs)
    arguments.push_back(input.argument());
  auto outputs = makeOutputs(*compiled->module, *compiled->function, arguments);
  if (!outputs)
    return outputs.takeError();
  std::vector<TensorView> views;
  for (HostTensor &output : *outputs)
    views.push_back(output.view());
  if (Error error =
          compiled->module->run(compiled->function->name, arguments, views))
    return error;
  return Evaluation{compiled->function->results, std::move(*outputs)};
}

/// Indices of element `position` of the row-major order.
static SmallVector<int64_t> unflatten(int64_t position,
                                      ArrayRef<int64_t> shape) {
  SmallVector<int64_t> indices(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    indices[axis] = position % shape[axis];
    position /= shape[axis];
  }
  return indices;
}

/// The error of `twin`. One that overflows says nothing about what is
/// acceptable.
static double errorOf(const HostTensor &twin, ArrayRef<double> truth) {
  double error = compare(twin, truth).maxAbs;
  return std::isfinite(error) ? error : 0.0;
}

/// The largest magnitude of a log-sum-exp behind statistics, if any.
static double sizeOfLogSumExp(const Evaluation &truth, const ValueInfo &stats) {
  if (stats.weights < 0 || stats.scores < 0)
    return 0.0;
  const HostTensor &weights = truth.results[stats.weights];
  return maxAbsLogSumExp(weights.toDoubles(),
                         truth.results[stats.scores].toDoubles(),
                         weights.shape().back());
}

/// Keys of the largest weights; their bound is that of the weights, twice.
static void checkTopKeys(ResultCheck &check, const HostTensor &output,
                         const Evaluation &truth, const Evaluation &twin,
                         size_t index) {
  const ValueInfo &info = truth.infos[index];
  const HostTensor &narrow = twin.results[info.weights];
  std::vector<double> weights = truth.results[info.weights].toDoubles();
  check.comparison =
      compareTopKeys(output.toDoubles(), truth.results[index].toDoubles(),
                     weights, narrow.shape().back());
  check.twinError = errorOf(narrow, weights);
  double largest = compare(weights, weights, narrow.type()).maxAbsExpected;
  check.bound = graphBound(narrow.type(), largest, check.twinError);
  if (auto inputType = parseElementType(twin.infos[index].weightStatsOf))
    check.bound = std::max(check.bound,
                           weightStatsBound(narrow.type(), *inputType, largest,
                                            sizeOfLogSumExp(truth, info)));
  check.bound *= 2;
}

Expected<std::vector<ResultCheck>>
attn::checkResults(const CompileRequest &request, const FunctionInfo &function,
                   std::vector<InputValue> &inputs,
                   const std::vector<HostTensor> &outputs) {
  auto promoted = promoteInputs(inputs);
  if (!promoted)
    return promoted.takeError();
  auto truth = evaluate(request, Lowering::TwinF64, *promoted);
  if (!truth)
    return truth.takeError();
  std::optional<Evaluation> poisoned;
  if (function.gathers) {
    auto evaluation =
        evaluate(request, Lowering::TwinF64, *promoted, /*poisonClamps=*/true);
    if (!evaluation)
      return evaluation.takeError();
    poisoned = std::move(*evaluation);
  }
  auto twin = evaluate(request, Lowering::Twin, inputs);
  if (!twin)
    return twin.takeError();

  std::vector<ResultCheck> checks;
  for (auto [index, output] : enumerate(outputs)) {
    const HostTensor &expected = truth->results[index];
    if (output.shape() != expected.shape())
      return makeError("result {0}: shape {1}, but {2} by the twin", index,
                       formatShape(output.shape()),
                       formatShape(expected.shape()));
    std::vector<double> values = expected.toDoubles();
    ResultCheck &check = checks.emplace_back();
    check.comparison = compare(output, values);
    check.isClamped =
        poisoned && compare(poisoned->results[index], values).nanMismatches > 0;
    if (!isFloat(output.type()) && truth->infos[index].weights >= 0) {
      checkTopKeys(check, output, *truth, *twin, index);
    } else if (isFloat(output.type())) {
      check.twinError = errorOf(twin->results[index], values);
      check.bound = graphBound(output.type(), check.comparison.maxAbsExpected,
                               check.twinError);
      if (auto inputType =
              parseElementType(function.results[index].logSumExpOf))
        check.bound =
            std::max(check.bound, lseBound(output.type(), *inputType,
                                           check.comparison.maxAbsExpected));
      if (auto inputType =
              parseElementType(function.results[index].weightStatsOf))
        check.bound = std::max(
            check.bound,
            weightStatsBound(output.type(), *inputType,
                             check.comparison.maxAbsExpected,
                             sizeOfLogSumExp(*truth, truth->infos[index])));
    }
    if (check.comparison.worstIndex >= 0)
      check.worst = unflatten(check.comparison.worstIndex, output.shape());
  }
  return checks;
}
