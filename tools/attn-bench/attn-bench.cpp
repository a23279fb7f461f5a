//===- attn-bench.cpp - Times attention of fixed shapes -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each case goes through the whole compiler as text, as any graph does. Exit
// codes: 0 done, 1 bad usage or input (one line), 2 compile error (MLIR
// diagnostics), 77 device not available.
//
//===----------------------------------------------------------------------===//

#include "CaseData.h"
#include "Cases.h"
#include "Options.h"
#include "Peak.h"
#include "Report.h"
#include "Session.h"
#include "Tune.h"
#include "common/Command.h"

#include "attn/Pipelines/Compiler.h"
#include "attn/Support/AtomicFile.h"
#include "attn/Support/Error.h"
#include "attn/Support/Npy.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace llvm;

namespace {

Expected<std::vector<const BenchCase *>> chooseCases(const Options &options) {
  bool one = options.caseName.getNumOccurrences();
  bool many = options.suite.getNumOccurrences();
  if (one && many)
    return makeError("--case={0} and --suite={1}: expected one of them",
                     quoteName(options.caseName), quoteName(options.suite));
  if (!one && !many)
    return makeError("expected --case=NAME or --suite=NAME; {0}", listCases());
  if (many)
    return findSuite(options.suite);
  auto bench = findCase(options.caseName);
  if (!bench)
    return bench.takeError();
  return std::vector<const BenchCase *>{*bench};
}

Error checkUsage(const Options &options) {
  if (Error error = options.verify())
    return error;
  if (options.repeat == 0)
    return makeError("--repeat=0: expected at least 1");
  if (options.tune) {
    if (options.cacheDir.empty())
      return makeError("--tune: expected --cache-dir=PATH with it, the folder "
                       "that keeps the schedules");
    // The check of each schedule warms up.
    if (Error error = refuseWith("--tune", options.schedule, options.warmup,
                                 options.brief, options.json, options.output))
      return error;
  }
  if (Error error =
          checkWritable({StringRef(options.output), StringRef(options.json)}))
    return error;
  if (options.peakBytes.getNumOccurrences() && !options.peak)
    return makeError("--peak-bytes={0}: expected --peak with it",
                     uint64_t(options.peakBytes));
  if (options.peak && (options.caseName.getNumOccurrences() ||
                       options.suite.getNumOccurrences()))
    return makeError("--peak: expected no --case and no --suite with it");
  if (options.peak)
    if (Error error = refuseWith(
            "--peak", options.tune, options.printGraph, options.schedule,
            options.repeat, options.warmup, options.brief, options.json,
            options.inputs, options.output, options.cacheDir))
      return error;
  if (options.printGraph)
    if (Error error = refuseWith("--print-graph", options.tune, options.brief,
                                 options.json, options.inputs, options.output))
      return error;
  return Error::success();
}

Expected<Session> openSession(const Options &options) {
  auto target = resolveTarget(options.targetName, options.disabledFeatures);
  if (!target)
    return target.takeError();
  Session session{options, std::move(*target), {}, std::nullopt};
  if (Error error = hostCanExecute(session.target))
    return make_error<DeviceError>(toString(std::move(error)));
  auto pipeline = options.makePipelineOptions();
  if (!pipeline)
    return pipeline.takeError();
  session.pipeline = std::move(*pipeline);
  auto cache = options.openCache();
  if (!cache)
    return cache.takeError();
  session.cache = std::move(*cache);
  session.threads = options.threads ? options.threads : session.target.cores;
  session.measurePeak = !options.brief || !options.json.empty();
  return session;
}

/// One window of the peaks that `report` compares with.
Error measurePeaks(PeakMeter &meter, const CaseData &data, CaseReport &report) {
  auto bytes = [](const HostTensor &tensor) {
    return ArrayRef<char>(tensor.dataAs<char>(), tensor.sizeInBytes());
  };
  ElementType type = report.bench->type;
  bool isBF16 = type == ElementType::bf16;
  if (Error error = isBF16 ? meter.measureBF16() : meter.measureF32())
    return error;
  if (Error error = meter.measureRead(
          {bytes(data.query), bytes(data.key), bytes(data.value)}))
    return error;
  report.compute = isBF16                     ? meter.bf16()
                   : type == ElementType::f64 ? meter.f64()
                                              : meter.f32();
  report.read = meter.read();
  return Error::success();
}

/// Warm-up and timed runs, with windows of the peaks around each of them.
Error timeCall(const Session &session, const PreparedCall &call,
               const CaseData &data, CaseReport &report) {
  RunConfig config;
  config.threads = session.threads;
  RunStatistics statistics;
  config.statistics = &statistics;
  PeakMeter meter(session.threads);
  for (unsigned i = 0; i < session.options.warmup; ++i)
    if (Error error = call.invoke(config))
      return error;
  for (unsigned i = 0; i < session.options.repeat; ++i) {
    if (session.measurePeak)
      if (Error error = measurePeaks(meter, data, report))
        return error;
    Clock::time_point start = Clock::now();
    if (Error error = call.invoke(config))
      return error;
    report.times.push_back(millisecondsSince(start));
  }
  if (session.measurePeak)
    if (Error error = measurePeaks(meter, data, report))
      return error;
  report.plannedBytes = statistics.peakBytes;
  return Error::success();
}

Expected<CaseReport> runCase(const Session &session, const BenchCase &bench) {
  const Options &options = session.options;
  CaseReport report;
  report.bench = &bench;
  report.target = session.target.cpu;
  report.threads = session.threads;

  auto data = makeCaseData(bench, options.inputs);
  if (!data)
    return data.takeError();
  report.pairs = data->pairs;
  report.inputBytes = data->inputBytes();

  std::string graph = caseGraph(bench);
  CompileRequest request = session.makeRequest(bench, graph);
  Clock::time_point start = Clock::now();
  auto compiled = compileToMemory(request);
  if (!compiled)
    return compiled.takeError();
  report.compileMs = millisecondsSince(start);
  report.compileCached = compiled->cached;
  report.remarks = compiled->function->remarks;
  errs() << compiled->diagnostics;

  std::vector<CallArgument> arguments = data->arguments();
  TensorView result = data->result.view();
  auto call =
      compiled->module->prepare(compiled->function->name, arguments, result);
  if (!call)
    return call.takeError();
  if (Error error = timeCall(session, *call, *data, report))
    return error;
  if (!options.output.empty()) {
    auto asF32 = data->result.convertTo(ElementType::f32);
    if (!asF32)
      return asF32.takeError();
    if (Error error = writeNpy(options.output, *asF32))
      return error;
  }
  return report;
}

Error run(const Options &options) {
  if (Error error = checkUsage(options))
    return error;
  if (options.peak) {
    auto host = resolveTarget("native");
    if (!host)
      return host.takeError();
    return printPeak(options.threads ? unsigned(options.threads) : host->cores,
                     options.peakBytes, host->l3Bytes);
  }
  auto cases = chooseCases(options);
  if (!cases)
    return cases.takeError();
  if (options.printGraph) {
    for (const BenchCase *bench : *cases)
      printOut("{}{}", bench == cases->front() ? "" : "\n// -----\n\n",
               caseGraph(*bench));
    return Error::success();
  }
  if (cases->size() > 1 && !(options.inputs.empty() && options.output.empty()))
    return makeError("--inputs and --output: expected one case, got {0}",
                     cases->size());
  auto session = openSession(options);
  if (!session)
    return session.takeError();
  std::vector<CaseReport> reports;
  for (const BenchCase *bench : *cases) {
    if (options.tune) {
      if (Error error = tuneCase(*session, *bench))
        return error;
      continue;
    }
    auto report = runCase(*session, *bench);
    if (!report)
      return report.takeError();
    if (options.brief)
      printBrief(*report);
    else
      printCase(*report);
    if (Error error = finishOutput())
      return error;
    reports.push_back(std::move(*report));
  }
  if (options.json.empty())
    return Error::success();
  if (options.json == "-") {
    std::fflush(stdout);
    outs() << toJSON(reports);
    return finishOutput();
  }
  return writeFileAtomically(
      options.json, [&](raw_ostream &stream) { stream << toJSON(reports); });
}

} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  removeLibraryOptions();
  Options options;
  if (Error error =
          parseCommandLine(argc, argv, "times attention of fixed shapes"))
    return reportError(std::move(error));
  if (Error error = run(options))
    return reportError(std::move(error));
  if (Error error = finishOutput())
    return reportError(std::move(error));
  return Done;
}
