//===- attn-run.cpp - Compiles and runs an attention graph ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exit codes: 0 done, 1 bad usage or input (one line), 2 compile error (MLIR
// diagnostics), 3 check failed, 77 device not available.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Inputs.h"
#include "Model.h"
#include "Options.h"
#include "Report.h"
#include "common/Command.h"

#include "attn/Pipelines/Compiler.h"
#include "attn/Support/AtomicFile.h"
#include "attn/Support/Error.h"
#include "attn/Support/Npy.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <optional>

using namespace attn;
using namespace llvm;

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

std::optional<CodeKind> parseCodeKind(StringRef name) {
  return StringSwitch<std::optional<CodeKind>>(name)
      .Case("llvmir", CodeKind::LLVMIR)
      .Case("asm", CodeKind::Assembly)
      .Case("obj", CodeKind::Object)
      .Default(std::nullopt);
}

/// Options that make no sense, alone or together.
Error checkUsage(const Options &options) {
  if (options.inputFile.empty())
    return makeError("no input file: attn-run FILE [options], see --help");
  if (Error error = options.verify())
    return error;
  if (options.repeat == 0)
    return makeError("--repeat=0: expected at least 1");
  if (options.twin)
    if (Error error = refuseWith("--twin", options.check, options.schedule,
                                 options.requireFused))
      return error;
  if (!options.emit.getNumOccurrences()) {
    if (options.emitTo.getNumOccurrences())
      return makeError("-o {0}: expected --emit with it",
                       quoteName(options.emitTo));
  } else {
    bool isPhase = parsePhase(options.emit).has_value();
    if (!isPhase && !parseCodeKind(options.emit))
      return makeError("--emit={0}: expected one of {1}, llvmir, asm, obj",
                       quoteName(options.emit), listPhases());
    std::string option = "--emit=" + options.emit;
    // Only the fused lowering has phases.
    if (isPhase)
      if (Error error = refuseWith(option, options.twin))
        return error;
    if (Error error =
            refuseWith(option, options.inputs, options.dims, options.outputs,
                       options.check, options.repeat, options.warmup,
                       options.threads, options.benchJSON, options.cacheDir,
                       options.requireFused, options.explain))
      return error;
  }
  SmallVector<StringRef> paths(options.outputs.begin(), options.outputs.end());
  paths.push_back(options.benchJSON);
  return checkWritable(paths);
}

Expected<std::string> emitText(const Options &options,
                               const CompileRequest &request) {
  if (auto phase = parsePhase(options.emit))
    return compileToPhase(request, *phase);
  return compileToCode(request, *parseCodeKind(options.emit));
}

Error writeText(StringRef path, StringRef text) {
  if (path == "-") {
    outs() << text;
    return finishOutput();
  }
  return writeFileAtomically(path,
                             [&](raw_ostream &stream) { stream << text; });
}

/// Prints remarks when asked to; an error when attention must be fused and is
/// not.
Error explainChoices(const Options &options, const FunctionInfo &function) {
  if (options.explain) {
    for (const std::string &remark : function.remarks)
      printOut("{}: {}\n", function.name, remark);
    if (options.twin)
      printOut("{}: the naive lowering, nothing is fused or scheduled\n",
               function.name);
    else if (function.remarks.empty())
      printOut("{}: nothing to fuse or to schedule\n", function.name);
  }
  if (!options.requireFused)
    return Error::success();
  std::string reasons;
  for (const std::string &remark : function.remarks)
    if (StringRef(remark).starts_with(kNotFusedPrefix))
      reasons += options.inputFile + ": error: in function '" + function.name +
                 "': " + remark + "\n";
  if (reasons.empty())
    return Error::success();
  return make_error<CompileFailure>(reasons);
}

/// Warm-up and timed runs.
Error runRepeatedly(const Options &options, const PreparedCall &call,
                    RunReport &report) {
  RunConfig config;
  config.threads = options.threads;
  RunStatistics statistics;
  config.statistics = &statistics;
  unsigned warmups =
      options.warmup.getNumOccurrences() || !options.repeat.getNumOccurrences()
          ? options.warmup
          : 1;
  for (unsigned i = 0; i < warmups; ++i)
    if (Error error = call.invoke(config))
      return error;
  for (unsigned i = 0; i < options.repeat; ++i) {
    Clock::time_point start = Clock::now();
    if (Error error = call.invoke(config))
      return error;
    report.times.push_back(millisecondsSince(start));
  }
  report.plannedBytes = statistics.peakBytes;
  return Error::success();
}

/// Writes results and measurements to files: all of them or none.
Error writeFiles(const Options &options, const RunReport &report,
                 const std::vector<HostTensor> &results) {
  AtomicFiles files;
  for (auto [path, result] : zip(options.outputs, results))
    if (Error error = files.add(path, [&result = result](raw_ostream &stream) {
          writeNpy(stream, result);
        }))
      return error;
  if (!options.benchJSON.empty() && options.benchJSON != "-") {
    std::string json = toJSON(report, results);
    if (Error error = files.add(
            options.benchJSON,
            [json = std::move(json)](raw_ostream &stream) { stream << json; }))
      return error;
  }
  return files.commit();
}

/// Everything but the choice of the exit code. False when the check failed.
Expected<bool> run(const Options &options) {
  Clock::time_point start = Clock::now();
  if (Error error = checkUsage(options))
    return error;

  CompileRequest request;
  request.lowering = options.twin ? Lowering::Twin : Lowering::Fused;
  request.inputName = options.inputFile;
  request.function = options.functionName;
  auto pipeline = options.makePipelineOptions();
  if (!pipeline)
    return pipeline.takeError();
  request.pipeline = std::move(*pipeline);
  auto target = resolveTarget(options.targetName, options.disabledFeatures);
  if (!target)
    return target.takeError();
  request.target = std::move(*target);
  auto model = readModel(options.inputFile);
  if (!model)
    return model.takeError();
  request.input = (*model)->getBuffer();

  if (options.emit.getNumOccurrences()) {
    auto text = emitText(options, request);
    if (!text)
      return text.takeError();
    if (Error error = writeText(options.emitTo, *text))
      return error;
    return true;
  }

  if (Error error = hostCanExecute(request.target))
    return make_error<DeviceError>(toString(std::move(error)));
  auto cache = options.openCache();
  if (!cache)
    return cache.takeError();
  request.cache = *cache ? &**cache : nullptr;
  auto compiled = compileToMemory(request);
  if (!compiled)
    return compiled.takeError();
  const FunctionInfo &function = *compiled->function;
  errs() << compiled->diagnostics;

  RunReport result;
  result.compileMs = millisecondsSince(start);
  result.compileCached = compiled->cached;
  result.function = function.name;
  result.target = request.target.cpu;
  result.threads = options.threads ? options.threads : request.target.cores;
  if (Error error = explainChoices(options, function))
    return error;
  if (options.outputs.size() > function.results.size())
    return makeError("too many outputs: function {0} has {1} results, got {2}",
                     quoteName(function.name), function.results.size(),
                     options.outputs.size());

  auto values = makeInputs(function, options.inputs, options.dims);
  if (!values)
    return values.takeError();
  std::vector<CallArgument> arguments;
  for (InputValue &value : *values)
    arguments.push_back(value.argument());
  auto results = makeOutputs(*compiled->module, function, arguments);
  if (!results)
    return results.takeError();
  std::vector<TensorView> views;
  for (HostTensor &tensor : *results)
    views.push_back(tensor.view());
  std::function<void(StringRef)> remark;
  if (options.explain)
    remark = [](StringRef text) { errs() << "attn: " << text << "\n"; };
  auto call =
      compiled->module->prepare(function.name, arguments, views, remark);
  if (!call)
    return call.takeError();
  if (Error error = runRepeatedly(options, *call, result))
    return error;
  if (options.check) {
    auto checks = checkResults(request, function, *values, *results);
    if (!checks)
      return checks.takeError();
    result.checks = std::move(*checks);
  }

  // Everything is known: only now is anything written, and nothing is printed
  // before all files are there.
  if (Error error = writeFiles(options, result, *results))
    return error;
  for (size_t i = options.outputs.size(); i < results->size(); ++i)
    printSummary(i, (*results)[i]);
  if (options.repeat.getNumOccurrences())
    printTimes(result);
  printChecks(result);
  if (options.benchJSON == "-") {
    std::fflush(stdout);
    outs() << toJSON(result, *results);
    outs().flush();
  }
  return all_of(result.checks, [](const ResultCheck &c) { return c.passed(); });
}

} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  removeLibraryOptions();
  Options options;
  if (Error error =
          parseCommandLine(argc, argv, "compiles and runs an attention graph"))
    return reportError(std::move(error));
  auto passed = run(options);
  if (!passed)
    return reportError(passed.takeError());
  if (Error error = finishOutput())
    return reportError(std::move(error));
  return *passed ? Done : CheckFailed;
}
