//===- Tune.cpp - Finds a schedule by trying ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "CaseData.h"
#include "Report.h"
#include "common/Command.h"

#include "attn/Pipelines/Tuning.h"
#include "attn/Reference/Tolerance.h"
#include "attn/Support/Error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace attn;
using namespace llvm;

/// A schedule must take less than this share of the time of the chosen one:
/// smaller gains are noise, or gone with the next version.
static constexpr double kWorthKeeping = 0.97;

namespace {

/// One schedule, compiled.
struct Candidate {
  std::string schedule;
  Compilation compilation;
  std::optional<PreparedCall> call;
  /// Why it does not count; empty when it does.
  std::string refusal;
  /// Milliseconds of each run.
  std::vector<double> times;

  double minMs() const { return minimumOf(times); }
};

/// The candidates of one case, the chosen schedule first.
class Tuner {
public:
  Tuner(const Session &session, CaseData &data)
      : data(data), result(data.result.view()), arguments(data.arguments()) {
    config.threads = session.threads;
  }

  /// Compiles the schedule that the compiler would choose, and runs it for the
  /// result that the others must have.
  Error addChosen(const CompileRequest &request, StringRef schedule);
  /// Compiles another schedule and checks what it computes.
  void add(const CompileRequest &request, StringRef schedule);
  /// Runs each of `list` once, in turn, so many times. Every other round goes
  /// backwards: nobody always follows the same one.
  Error time(ArrayRef<Candidate *> list, unsigned rounds);
  /// All that count.
  std::vector<Candidate *> counting();

  ArrayRef<Candidate> all() const { return candidates; }

private:
  Error prepare(const CompileRequest &request, Candidate &candidate);

  CaseData &data;
  TensorView result;
  std::vector<CallArgument> arguments;
  RunConfig config;
  std::vector<double> expected;
  double bound = 0.0;
  std::vector<Candidate> candidates;
};

Error Tuner::prepare(const CompileRequest &request, Candidate &candidate) {
  CompileRequest withSchedule = request;
  withSchedule.pipeline.schedule = candidate.schedule;
  // The objects of schedules that do not win are of no use to anybody.
  withSchedule.cache = nullptr;
  auto compiled = compileToMemory(withSchedule);
  if (!compiled)
    return compiled.takeError();
  candidate.compilation = std::move(*compiled);
  auto call = candidate.compilation.module->prepare(
      candidate.compilation.function->name, arguments, result);
  if (!call)
    return call.takeError();
  candidate.call = std::move(*call);
  return candidate.call->invoke(config);
}

Error Tuner::addChosen(const CompileRequest &request, StringRef schedule) {
  Candidate candidate;
  candidate.schedule = schedule.str();
  if (Error error = prepare(request, candidate))
    return error;
  expected = data.result.toDoubles();
  double maxAbsV = 0.0;
  for (double value : data.value.toDoubles())
    maxAbsV = std::max(maxAbsV, std::abs(value));
  bound = attentionBound(data.result.type(), maxAbsV);
  candidates.push_back(std::move(candidate));
  return Error::success();
}

void Tuner::add(const CompileRequest &request, StringRef schedule) {
  Candidate candidate;
  candidate.schedule = schedule.str();
  if (Error error = prepare(request, candidate)) {
    candidate.refusal =
        StringRef(toString(std::move(error))).split('\n').first.str();
  } else {
    Comparison comparison = compare(data.result, expected);
    if (!comparison.within(bound))
      candidate.refusal = comparison.describe(bound);
  }
  candidates.push_back(std::move(candidate));
}

Error Tuner::time(ArrayRef<Candidate *> list, unsigned rounds) {
  for (unsigned round = 0; round < rounds; ++round)
    for (size_t n = 0; n < list.size(); ++n) {
      Candidate &candidate = *list[round % 2 ? list.size() - 1 - n : n];
      Clock::time_point start = Clock::now();
      if (Error error = candidate.call->invoke(config))
        return error;
      candidate.times.push_back(millisecondsSince(start));
    }
  return Error::success();
}

std::vector<Candidate *> Tuner::counting() {
  std::vector<Candidate *> list;
  for (Candidate &candidate : candidates)
    if (candidate.refusal.empty())
      list.push_back(&candidate);
  return list;
}

void printTable(ArrayRef<Candidate> candidates) {
  printOut("      min ms   median ms   ratio  schedule\n");
  const Candidate &chosen = candidates.front();
  for (const Candidate &candidate : candidates)
    if (candidate.refusal.empty())
      printOut("  {:10.4f}  {:10.4f}  {:6.3f}  {}{}\n", candidate.minMs(),
               medianOf(candidate.times), candidate.minMs() / chosen.minMs(),
               candidate.schedule, &candidate == &chosen ? " (chosen)" : "");
    else
      printOut("  {:>30}  {}: {}\n", "does not count", candidate.schedule,
               candidate.refusal);
}

} // namespace

Error attn::tuneCase(const Session &session, const BenchCase &bench) {
  auto data = makeCaseData(bench, session.options.inputs);
  if (!data)
    return data.takeError();
  std::string graph = caseGraph(bench);
  CompileRequest request = session.makeRequest(bench, graph);
  std::string path = tunedSchedulePath(request);
  // Minutes of work should not end in an error that was there at the start.
  if (Error error = checkWritable(StringRef(path)))
    return error;
  auto schedule = chooseSchedule(request);
  if (!schedule)
    return schedule.takeError();
  auto neighbours = neighbourSchedules(*schedule, session.target);
  if (!neighbours)
    return neighbours.takeError();

  Tuner tuner(session, *data);
  if (Error error = tuner.addChosen(request, *schedule))
    return error;
  for (const std::string &neighbour : *neighbours)
    tuner.add(request, neighbour);
  unsigned rounds = session.options.repeat;
  std::vector<Candidate *> counting = tuner.counting();
  if (Error error = tuner.time(counting, rounds))
    return error;
  printOut("{}: {} schedules in turn, {}, {} thread{}, {} round{}\n",
           bench.name.str(), counting.size(), session.target.cpu,
           session.threads, session.threads == 1 ? "" : "s", rounds,
           rounds == 1 ? "" : "s");
  printTable(tuner.all());

  // The smallest of many minima is partly luck: it has to come again.
  Candidate &chosen = *counting.front();
  Candidate &best = **std::min_element(
      counting.begin(), counting.end(),
      [](Candidate *a, Candidate *b) { return a->minMs() < b->minMs(); });
  bool kept = best.minMs() < kWorthKeeping * chosen.minMs();
  if (kept) {
    chosen.times.clear();
    best.times.clear();
    if (Error error = tuner.time({&chosen, &best}, rounds))
      return error;
    kept = best.minMs() < kWorthKeeping * chosen.minMs();
    printOut("  once more: {:.4f} ms, the chosen one {:.4f} ms\n", best.minMs(),
             chosen.minMs());
  }
  if (Error error = storeTunedSchedule(request, kept ? best.schedule : ""))
    return error;
  if (kept)
    printOut("  kept in {}: {}\n", quoteName(path), best.schedule);
  else
    printOut("  the chosen one stays, nothing is kept in {}\n",
             quoteName(path));
  return finishOutput();
}
