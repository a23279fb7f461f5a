//===- Report.cpp - What a benchmark prints and writes --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "common/Command.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

#include <algorithm>

using namespace attn;

double attn::minimumOf(const std::vector<double> &times) {
  return *std::min_element(times.begin(), times.end());
}

double attn::medianOf(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  size_t middle = times.size() / 2;
  return times.size() % 2 ? times[middle]
                          : (times[middle - 1] + times[middle]) / 2;
}

double CaseReport::gflops() const {
  return 2.0 * (bench->headDim + bench->valueDim) * pairs / minMs() / 1e6;
}

double CaseReport::gigabytesPerSecond() const {
  return inputBytes / minMs() / 1e6;
}

void attn::printBrief(const CaseReport &report) {
  printOut("{} {:.4f} {:.4f}\n", report.bench->name.str(), report.minMs(),
           report.medianMs());
}

void attn::printCase(const CaseReport &report) {
  const BenchCase &bench = *report.bench;
  printOut("{}: {}x{} heads ({} of keys), {} queries of {}, {} keys, values "
           "of {}, mask {}, {}, {}, {} thread{}\n",
           bench.name.str(), bench.batch, bench.queryHeads, bench.keyHeads,
           bench.queries, bench.headDim, bench.keys, bench.valueDim,
           maskName(bench.mask).str(), elementTypeName(bench.type).str(),
           report.target, report.threads, report.threads == 1 ? "" : "s");
  printOut("  time:    min {:.4f} ms, median {:.4f} ms of {} run{}\n",
           report.minMs(), report.medianMs(), report.times.size(),
           report.times.size() == 1 ? "" : "s");
  printOut("  compute: {:.1f} GFLOP/s on {} visible pairs, {:.1f} % of the "
           "peak of {:.1f} ({})\n",
           report.gflops(), report.pairs,
           100.0 * report.gflops() / report.compute.best, report.compute.best,
           report.compute.unit);
  std::string share =
      report.read.best == 0.0
          ? ""
          : fmt::format(", {:.1f} % of the peak of {:.1f}",
                        100.0 * report.gigabytesPerSecond() / report.read.best,
                        report.read.best);
  printOut("  memory:  {:.1f} GB/s of q, k, v ({:.1f} MB){}\n",
           report.gigabytesPerSecond(), report.inputBytes / 1e6, share);
  printOut("  compile: {:.1f} ms{}, buffers: {} bytes\n", report.compileMs,
           report.compileCached ? " (from the cache)" : "",
           report.plannedBytes);
  for (const std::string &remark : report.remarks)
    printOut("  {}\n", remark);
}

static void writeCase(llvm::json::OStream &json, const CaseReport &report) {
  const BenchCase &bench = *report.bench;
  json.attribute("name", bench.name);
  json.attribute("batch", bench.batch);
  json.attribute("query_heads", bench.queryHeads);
  json.attribute("key_heads", bench.keyHeads);
  json.attribute("queries", bench.queries);
  json.attribute("keys", bench.keys);
  json.attribute("head_dim", bench.headDim);
  json.attribute("value_dim", bench.valueDim);
  json.attribute("mask", maskName(bench.mask));
  json.attribute("type", elementTypeName(bench.type));
  json.attribute("target", report.target);
  json.attribute("threads", static_cast<int64_t>(report.threads));
  json.attribute("min_ms", report.minMs());
  json.attribute("median_ms", report.medianMs());
  json.attribute("times_ms", llvm::json::Array(report.times));
  json.attribute("visible_pairs", report.pairs);
  json.attribute("gflops", report.gflops());
  json.attribute("peak_gflops", report.compute.best);
  json.attribute("peak_unit", report.compute.unit);
  json.attribute("share_of_peak", report.gflops() / report.compute.best);
  json.attribute("input_bytes", report.inputBytes);
  json.attribute("gb_per_s", report.gigabytesPerSecond());
  if (report.read.best != 0.0) {
    json.attribute("read_gb_per_s", report.read.best);
    json.attribute("share_of_read",
                   report.gigabytesPerSecond() / report.read.best);
  }
  json.attribute("compile_ms", report.compileMs);
  json.attribute("compile_cached", report.compileCached);
  json.attribute("planned_bytes", report.plannedBytes);
  json.attribute("remarks", llvm::json::Array(report.remarks));
}

std::string attn::toJSON(const std::vector<CaseReport> &reports) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, /*IndentSize=*/2);
  json.object([&] {
    json.attributeArray("cases", [&] {
      for (const CaseReport &report : reports)
        json.object([&] { writeCase(json, report); });
    });
  });
  stream << "\n";
  return text;
}
