//===- attn-run.cpp - Compiles and runs an attention graph ----------------*-
// C++ -*-===//
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
#include "Report.h"

#include "attn/Pipelines/Compiler.h"
#include "attn/Support/AtomicFile.h"
#include "attn/Support/Error.h"
#include "attn/Support/Npy.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

using namespace attn;
using namespace llvm;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static cl::OptionCategory category("Attn options");

template <typename T> using Opt = cl::opt<T>;
static Opt<std::string> inputFile(cl::Positional, cl::Required,
                                  cl::desc("FILE.mlir|FILE.mlirbc"),
                                  cl::cat(category));
static Opt<std::string> functionName(
    "function", cl::value_desc("name"), cl::cat(category),
    cl::desc("Entry to run (default: the only public function, else main)"));
static cl::list<std::string>
    inputs("input", cl::value_desc("[name=]spec"), cl::cat(category),
           cl::desc("Argument, in order or by name: x.npy, "
                    "w.safetensors:tensor, random[:seed=N][:SHAPE], "
                    "zeros[:SHAPE], ones[:SHAPE] or a number"));
static cl::list<std::string>
    dims("dim", cl::value_desc("name=N"), cl::cat(category),
         cl::desc("Size of a named dimension of generated inputs"));
static cl::list<std::string>
    outputs("output", cl::value_desc("path.npy"), cl::cat(category),
            cl::desc("File for a result, in order; the others are summarised"));
static Opt<bool> check("check", cl::cat(category),
                       cl::desc("Compare the results with the f64 twin"));
static Opt<std::string>
    emit("emit", cl::value_desc("phase|llvmir|asm|obj"), cl::cat(category),
         cl::desc("Stop there and print: input, fusion, schedule, tiles, "
                  "vector, llvm, llvmir, asm or obj"));
static Opt<std::string> emitTo("o", cl::value_desc("file"), cl::init("-"),
                               cl::cat(category),
                               cl::desc("Where --emit prints"));
static Opt<std::string>
    schedule("schedule", cl::value_desc("file|text"), cl::cat(category),
             cl::desc("#attn.schedule<...> for attention that has none"));
static Opt<std::string> targetName("target", cl::value_desc("cpu"),
                                   cl::init("native"), cl::cat(category),
                                   cl::desc("CPU to compile for"));
static cl::list<std::string>
    disabledFeatures("disable-feature", cl::CommaSeparated,
                     cl::value_desc("feature,..."), cl::cat(category),
                     cl::desc("Features of the target to leave unused"));
static Opt<std::string> device("device", cl::value_desc("cpu"), cl::init("cpu"),
                               cl::cat(category),
                               cl::desc("Where to run: cpu"));
static Opt<unsigned> threads("threads", cl::value_desc("N"), cl::init(0),
                             cl::cat(category),
                             cl::desc("Threads (default: all cores)"));
static Opt<bool>
    requireFused("require-fused", cl::cat(category),
                 cl::desc("Attention that is not fused is an error"));
static Opt<bool> explain("explain", cl::cat(category),
                         cl::desc("Print what the compiler did and why"));
static Opt<unsigned> repeat("repeat", cl::value_desc("N"), cl::init(1),
                            cl::cat(category),
                            cl::desc("Timed runs; prints their times"));
static Opt<unsigned>
    warmup("warmup", cl::value_desc("N"), cl::init(0), cl::cat(category),
           cl::desc("Runs before (default: 1 when runs are timed)"));
static Opt<std::string> benchJSON("bench-json", cl::value_desc("path"),
                                  cl::cat(category),
                                  cl::desc("Write times, bytes and errors"));
static Opt<std::string>
    cacheDir("cache-dir", cl::value_desc("path"), cl::cat(category),
             cl::desc("Folder of compiled objects to use and to fill"));

//===----------------------------------------------------------------------===//
// Outcome
//===----------------------------------------------------------------------===//

namespace {

enum ExitCode {
  Done = 0,
  BadInput = 1,
  CompileError = 2,
  CheckFailed = 3,
  NoDevice = 77
};

/// The error of a device that this machine does not have.
class DeviceError : public ErrorInfo<DeviceError> {
public:
  static char ID;
  explicit DeviceError(std::string text) : text(std::move(text)) {}
  void log(raw_ostream &stream) const override { stream << text; }
  std::error_code convertToErrorCode() const override {
    return std::make_error_code(std::errc::no_such_device);
  }

private:
  std::string text;
};
char DeviceError::ID = 0;

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

/// Prints `error` and gives its exit code.
int report(Error error) {
  int code = BadInput;
  handleAllErrors(
      std::move(error),
      [&](const CompileFailure &failure) {
        errs() << failure.message();
        code = CompileError;
      },
      [&](const DeviceError &missing) {
        errs() << "error: " << missing.message() << "\n";
        code = NoDevice;
      },
      [&](const ErrorInfoBase &other) {
        errs() << "error: " << other.message() << "\n";
      });
  return code;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Error checkDevice() {
  if (device == "cpu")
    return Error::success();
  if (device == "cuda" || device == "gpu-emulator")
    return make_error<DeviceError>("device '" + device +
                                   "' is not available in this build");
  return makeError("unknown device {0}, expected cpu, cuda or gpu-emulator",
                   quoteName(device));
}

/// The text of --schedule, from the file of that name if there is one.
Expected<std::string> readSchedule() {
  StringRef text = StringRef(schedule).trim();
  if (text.empty() || text.starts_with("#"))
    return text.str();
  auto file = MemoryBuffer::getFile(text, /*IsText=*/true);
  if (!file)
    return makeError("--schedule={0}: expected #attn.schedule<...> or a file "
                     "with it: {1}",
                     quoteName(text), file.getError().message());
  return (*file)->getBuffer().trim().str();
}

Expected<std::string> emitText(const CompileRequest &request) {
  if (auto phase = parsePhase(emit))
    return compileToPhase(request, *phase);
  if (emit == "llvmir")
    return compileToCode(request, CodeKind::LLVMIR);
  if (emit == "asm")
    return compileToCode(request, CodeKind::Assembly);
  if (emit == "obj")
    return compileToCode(request, CodeKind::Object);
  return makeError("--emit={0}: expected one of {1}, llvmir, asm, obj",
                   quoteName(emit), listPhases());
}

Error writeText(StringRef path, StringRef text) {
  if (path == "-") {
    outs() << text;
    outs().flush();
    return Error::success();
  }
  return writeFileAtomically(path,
                             [&](raw_ostream &stream) { stream << text; });
}

/// Prints remarks when asked to; an error when attention must be fused and is
/// not.
Error explainChoices(const FunctionInfo &function) {
  if (explain) {
    for (const std::string &remark : function.remarks)
      fmt::print("{}: {}\n", function.name, remark);
    if (function.remarks.empty())
      fmt::print("{}: nothing to fuse or to schedule\n", function.name);
  }
  if (!requireFused)
    return Error::success();
  std::string reasons;
  for (const std::string &remark : function.remarks)
    if (StringRef(remark).starts_with(kNotFusedPrefix))
      reasons += inputFile + ": error: in function '" + function.name +
                 "': " + remark + "\n";
  if (reasons.empty())
    return Error::success();
  return make_error<CompileFailure>(reasons);
}

/// Warm-up and timed runs.
Error runRepeatedly(const PreparedCall &call, RunReport &report) {
  RunConfig config;
  config.threads = threads;
  RunStatistics statistics;
  config.statistics = &statistics;
  unsigned warmups =
      warmup.getNumOccurrences() || !repeat.getNumOccurrences() ? warmup : 1;
  for (unsigned i = 0; i < warmups; ++i)
    if (Error error = call.invoke(config))
      return error;
  for (unsigned i = 0; i < repeat; ++i) {
    Clock::time_point start = Clock::now();
    if (Error error = call.invoke(config))
      return error;
    report.times.push_back(millisecondsSince(start));
  }
  report.plannedBytes = statistics.peakBytes;
  return Error::success();
}

/// Everything but the choice of the exit code. False when the check failed.
Expected<bool> run() {
  Clock::time_point start = Clock::now();
  if (Error error = checkDevice())
    return error;
  if (repeat == 0)
    return makeError("--repeat=0: expected at least 1");

  CompileRequest request;
  request.inputName = inputFile;
  request.function = functionName;
  request.pipeline.target = targetName;
  request.pipeline.disabledFeatures = disabledFeatures;
  auto scheduleText = readSchedule();
  if (!scheduleText)
    return scheduleText.takeError();
  request.pipeline.schedule = std::move(*scheduleText);
  if (Error error = checkSchedule(request.pipeline.schedule))
    return error;
  auto target = resolveTarget(targetName, disabledFeatures);
  if (!target)
    return target.takeError();
  request.target = std::move(*target);
  auto file = MemoryBuffer::getFileOrSTDIN(inputFile);
  if (!file)
    return makeError("cannot read {0}: {1}", quoteName(inputFile),
                     file.getError().message());
  request.input = (*file)->getBuffer();

  if (!emit.empty()) {
    auto text = emitText(request);
    if (!text)
      return text.takeError();
    if (Error error = writeText(emitTo, *text))
      return error;
    return true;
  }

  if (Error error = hostCanExecute(request.target))
    return make_error<DeviceError>(toString(std::move(error)));
  std::optional<ObjectCache> cache;
  if (!cacheDir.empty()) {
    auto opened = ObjectCache::open(cacheDir);
    if (!opened)
      return opened.takeError();
    cache = std::move(*opened);
    request.cache = &*cache;
  }
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
  result.threads = threads ? threads : request.target.cores;
  if (Error error = explainChoices(function))
    return error;
  if (outputs.size() > function.results.size())
    return makeError("too many outputs: function {0} has {1} results, got {2}",
                     quoteName(function.name), function.results.size(),
                     outputs.size());

  auto values = makeInputs(function, inputs, dims);
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
  auto call = compiled->module->prepare(function.name, arguments, views);
  if (!call)
    return call.takeError();
  if (Error error = runRepeatedly(*call, result))
    return error;
  if (check) {
    auto checks = checkResults(request, *values, *results);
    if (!checks)
      return checks.takeError();
    result.checks = std::move(*checks);
  }

  // Everything is known: only now is anything written.
  for (size_t i = 0; i < results->size(); ++i) {
    if (i >= outputs.size())
      printSummary(i, (*results)[i]);
    else if (Error error = writeNpy(outputs[i], (*results)[i]))
      return error;
  }
  if (repeat.getNumOccurrences())
    printTimes(result);
  printChecks(result);
  if (!benchJSON.empty())
    if (Error error = writeText(benchJSON, toJSON(result, *results)))
      return error;
  return all_of(result.checks, [](const ResultCheck &c) { return c.passed(); });
}

} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv,
                              "compiles and runs an attention graph\n");
  auto passed = run();
  if (!passed)
    return report(passed.takeError());
  std::fflush(stdout);
  return *passed ? Done : CheckFailed;
}
