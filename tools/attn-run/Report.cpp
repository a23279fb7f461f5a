//===- Report.cpp - What a run prints and writes --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "common/Command.h"

#include "attn/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <sys/resource.h>

using namespace attn;

double RunReport::minMs() const {
  return times.empty() ? 0.0 : *std::min_element(times.begin(), times.end());
}

double RunReport::medianMs() const {
  if (times.empty())
    return 0.0;
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  size_t middle = sorted.size() / 2;
  return sorted.size() % 2 ? sorted[middle]
                           : (sorted[middle - 1] + sorted[middle]) / 2;
}

static std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

void attn::printSummary(size_t index, const HostTensor &result) {
  std::string head = fmt::format("result {}: {} {}", index,
                                 elementTypeName(result.type()).str(),
                                 shapeText(result.shape()));
  if (result.numElements() == 0) {
    printOut("{}, empty\n", head);
    return;
  }
  constexpr int64_t kFirst = 8;
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0.0;
  int64_t nans = 0;
  for (int64_t n = 0; n < result.numElements(); ++n) {
    double value = result.get(n);
    if (std::isnan(value)) {
      ++nans;
      continue;
    }
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
  int64_t numbers = result.numElements() - nans;
  if (numbers)
    head += fmt::format(", min {:.6g}, max {:.6g}, mean {:.6g}", low, high,
                        sum / numbers);
  if (nans)
    head += fmt::format(", {} NaN", nans);
  std::vector<std::string> first;
  for (int64_t n = 0; n < std::min(result.numElements(), kFirst); ++n)
    first.push_back(fmt::format("{:.6g}", result.get(n)));
  printOut("{}\n  {}{}\n", head, fmt::join(first, " "),
           result.numElements() > kFirst ? " ..." : "");
}

void attn::printTimes(const RunReport &report) {
  printOut("time: min {:.3f} ms, median {:.3f} ms of {} run{}, {} thread{}\n",
           report.minMs(), report.medianMs(), report.times.size(),
           report.times.size() == 1 ? "" : "s", report.threads,
           report.threads == 1 ? "" : "s");
  printOut("compile: {:.1f} ms{}, buffers: {} bytes\n", report.compileMs,
           report.compileCached ? " (from the cache)" : "",
           report.plannedBytes);
}

void attn::printChecks(const RunReport &report) {
  for (const auto &[index, check] : llvm::enumerate(report.checks)) {
    const Comparison &comparison = check.comparison;
    std::string line = fmt::format(
        "check result {}: {}: max abs {:.3g} (allowed {:.3g}), max "
        "rel {:.3g}, max ulp {:.3g}",
        index, check.passed() ? "passed" : "FAILED", comparison.maxAbs,
        check.bound, comparison.maxRel, comparison.maxUlp);
    if (comparison.nanMismatches)
      line += fmt::format(", {} NaN mismatches", comparison.nanMismatches);
    if (comparison.worstIndex >= 0)
      line += fmt::format(", worst at {}: got {:.9g}, expected {:.9g}",
                          shapeText(check.worst), comparison.worstGot,
                          comparison.worstExpected);
    if (check.isClamped)
      line += ", a program read out of bounds for a visible pair";
    printOut("{}\n", line);
  }
}

/// JSON has no infinities and NaNs.
static llvm::json::Value number(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

static void writeCheck(llvm::json::OStream &json, const ResultCheck &check) {
  json.attribute("passed", check.passed());
  json.attribute("max_abs", number(check.comparison.maxAbs));
  json.attribute("max_rel", number(check.comparison.maxRel));
  json.attribute("max_ulp", number(check.comparison.maxUlp));
  json.attribute("bound", number(check.bound));
  json.attribute("twin_error", number(check.twinError));
  json.attribute("nan_mismatches", check.comparison.nanMismatches);
  json.attribute("worst", llvm::json::Array(check.worst));
  json.attribute("clamped", check.isClamped);
}

std::string attn::toJSON(const RunReport &report,
                         const std::vector<HostTensor> &outputs) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, /*IndentSize=*/2);
  json.object([&] {
    json.attribute("function", report.function);
    json.attribute("target", report.target);
    json.attribute("threads", report.threads);
    json.attribute("repeat", static_cast<int64_t>(report.times.size()));
    json.attribute("min_ms", report.minMs());
    json.attribute("median_ms", report.medianMs());
    json.attribute("compile_ms", report.compileMs);
    json.attribute("compile_cached", report.compileCached);
    json.attribute("planned_bytes", report.plannedBytes);
    json.attribute("peak_rss_bytes",
                   static_cast<int64_t>(usage.ru_maxrss) * 1024);
    json.attributeArray("outputs", [&] {
      for (const HostTensor &output : outputs)
        json.object([&] {
          json.attribute("shape", llvm::json::Array(output.shape()));
          json.attribute("type", elementTypeName(output.type()));
        });
    });
    if (report.checks.empty())
      return;
    json.attributeObject("check", [&] {
      json.attribute("passed",
                     llvm::all_of(report.checks, [](const ResultCheck &check) {
                       return check.passed();
                     }));
      json.attributeArray("results", [&] {
        for (const ResultCheck &check : report.checks)
          json.object([&] { writeCheck(json, check); });
      });
    });
  });
  stream << '\n';
  return text;
}
