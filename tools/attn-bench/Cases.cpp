//===- Cases.cpp - The attention shapes that are timed --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"

#include "attn/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace attn;
using namespace llvm;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

constexpr auto f32 = ElementType::f32, f64 = ElementType::f64,
               bf16 = ElementType::bf16;
using Mask = CaseMask;

// clang-format off
/// Name, B, Hq, Hkv, Sq, Skv, D, Dv, mask, type.
static const BenchCase kCases[] = {
    {"bert-512",         8, 12, 12,  512,   512,  64,  64, Mask::None,     f32},
    {"vit-197",         16, 12, 12,  197,   197,  64,  64, Mask::None,     f32},
    {"minilm-128",      32, 12, 12,  128,   128,  32,  32, Mask::Lengths,  f32},
    {"cross-77",         2,  8,  8, 4096,    77,  40,  40, Mask::None,     f32},
    {"gpt2-1k",          4, 12, 12, 1024,  1024,  64,  64, Mask::Causal,   f32},
    {"llama-2k",         1, 32,  8, 2048,  2048, 128, 128, Mask::Causal,   f32},
    {"long-8k",          1,  4,  4, 8192,  8192,  64,  64, Mask::None,     f32},
    {"long-causal-8k",   1,  4,  4, 8192,  8192,  64,  64, Mask::Causal,   f32},
    {"window-4k",        1,  8,  8, 4096,  4096,  64,  64, Mask::Window,   f32},
    {"document-4k",      1,  8,  8, 4096,  4096,  64,  64, Mask::Document, f32},
    {"prefix-2k",        1, 16, 16, 2048,  2048,  64,  64, Mask::Prefix,   f32},
    {"alibi-2k",         1, 16, 16, 2048,  2048,  64,  64, Mask::ALiBi,    f32},
    {"softcap-2k",       1,  8,  4, 2048,  2048, 256, 256, Mask::Softcap,  f32},
    {"boolmask-1k",      4, 12, 12, 1024,  1024,  64,  64, Mask::Bool,     f32},
    {"mla-2k",           1, 16,  1,  256,  2048, 576, 512, Mask::None,     f32},
    {"decode-4k",        8, 32,  8,    1,  4096, 128, 128, Mask::None,     f32},
    {"decode-32k",       1, 32,  8,    1, 32768, 128, 128, Mask::None,     f32},
    {"bert-512-bf16",    8, 12, 12,  512,   512,  64,  64, Mask::None,     bf16},
    {"llama-2k-bf16",    1, 32,  8, 2048,  2048, 128, 128, Mask::Causal,   bf16},
    {"long-8k-bf16",     1,  4,  4, 8192,  8192,  64,  64, Mask::None,     bf16},
    {"window-4k-bf16",   1,  8,  8, 4096,  4096,  64,  64, Mask::Window,   bf16},
    {"document-4k-bf16", 1,  8,  8, 4096,  4096,  64,  64, Mask::Document, bf16},
    {"decode-4k-bf16",   8, 32,  8,    1,  4096, 128, 128, Mask::None,     bf16},
    {"decode-32k-bf16",  1, 32,  8,    1, 32768, 128, 128, Mask::None,     bf16},
    {"llama-2k-f64",     1, 32,  8, 2048,  2048, 128, 128, Mask::Causal,   f64},
    {"decode-4k-f64",    8, 32,  8,    1,  4096, 128, 128, Mask::None,     f64},
};

/// One of each mask, small enough for every test run.
static const BenchCase kTestCases[] = {
    {"tiny-none",     1, 1, 1,    3,    4, 4, 2, Mask::None,     f32},
    {"tiny-causal",   2, 4, 2,   40,   40, 8, 8, Mask::Causal,   f32},
    {"tiny-lengths",  3, 2, 2,    9,   20, 8, 8, Mask::Lengths,  f32},
    {"tiny-window",   1, 1, 1,  300,  300, 8, 8, Mask::Window,   f32},
    {"tiny-document", 1, 2, 2,   80,   80, 8, 8, Mask::Document, f32},
    {"tiny-prefix",   1, 1, 1,  530,  530, 8, 8, Mask::Prefix,   f32},
    {"tiny-alibi",    1, 4, 4,   40,   40, 8, 8, Mask::ALiBi,    f32},
    {"tiny-softcap",  1, 2, 1,   40,   40, 8, 8, Mask::Softcap,  f32},
    {"tiny-bool",     2, 2, 2,    3,    4, 4, 2, Mask::Bool,     f32},
    {"tiny-bf16",     1, 1, 1,    3,    4, 4, 2, Mask::None,     bf16},
    {"tiny-f64",      1, 2, 1,   40,   40, 8, 8, Mask::Causal,   f64},
};
// clang-format on

namespace {
struct Suite {
  StringLiteral name;
  bool (*has)(const BenchCase &);
};
} // namespace

static const Suite kSuites[] = {
    {"all", [](const BenchCase &) { return true; }},
    {"f32", [](const BenchCase &bench) { return bench.type == f32; }},
    {"f64", [](const BenchCase &bench) { return bench.type == f64; }},
    {"bf16", [](const BenchCase &bench) { return bench.type == bf16; }},
    {"prefill", [](const BenchCase &bench) { return bench.queries > 1; }},
    {"decode", [](const BenchCase &bench) { return bench.queries == 1; }},
    {"masks",
     [](const BenchCase &bench) {
       return bench.mask != Mask::None && bench.mask != Mask::Causal;
     }},
};

StringRef attn::maskName(CaseMask mask) {
  switch (mask) {
  case Mask::None:
    return "none";
  case Mask::Causal:
    return "causal";
  case Mask::Lengths:
    return "lengths";
  case Mask::Window:
    return "window";
  case Mask::Document:
    return "document";
  case Mask::Prefix:
    return "prefix";
  case Mask::ALiBi:
    return "alibi";
  case Mask::Softcap:
    return "softcap";
  case Mask::Bool:
    return "bool";
  }
  return "";
}

std::string attn::listCases() {
  auto nameOf = [](const auto &entry) { return StringRef(entry.name); };
  return "cases: " + join(map_range(kCases, nameOf), ", ") +
         "; suites: " + join(map_range(kSuites, nameOf), ", ");
}

Expected<const BenchCase *> attn::findCase(StringRef name) {
  for (const BenchCase &bench : kCases)
    if (bench.name == name)
      return &bench;
  for (const BenchCase &bench : kTestCases)
    if (bench.name == name)
      return &bench;
  return makeError("unknown case {0}, {1}", quoteName(name), listCases());
}

Expected<std::vector<const BenchCase *>> attn::findSuite(StringRef name) {
  std::vector<const BenchCase *> result;
  if (name == "test") {
    for (const BenchCase &bench : kTestCases)
      result.push_back(&bench);
    return result;
  }
  auto suite =
      find_if(kSuites, [&](const Suite &entry) { return entry.name == name; });
  if (suite == std::end(kSuites))
    return makeError("unknown suite {0}, {1}", quoteName(name), listCases());
  for (const BenchCase &bench : kCases)
    if (suite->has(bench))
      result.push_back(&bench);
  return result;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

SmallVector<int64_t> attn::queryShape(const BenchCase &bench) {
  return {bench.batch, bench.queryHeads, bench.queries, bench.headDim};
}
SmallVector<int64_t> attn::keyShape(const BenchCase &bench) {
  return {bench.batch, bench.keyHeads, bench.keys, bench.headDim};
}
SmallVector<int64_t> attn::valueShape(const BenchCase &bench) {
  return {bench.batch, bench.keyHeads, bench.keys, bench.valueDim};
}
SmallVector<int64_t> attn::resultShape(const BenchCase &bench) {
  return {bench.batch, bench.queryHeads, bench.queries, bench.valueDim};
}
SmallVector<int64_t> attn::maskShape(const BenchCase &bench) {
  return {1, 1, bench.queries, bench.keys};
}

std::vector<int64_t> attn::caseLengths(const BenchCase &bench) {
  std::vector<int64_t> lengths(bench.batch);
  for (int64_t b = 0; b < bench.batch; ++b)
    lengths[b] =
        std::max<int64_t>(1, bench.keys - b * bench.keys / (2 * bench.batch));
  return lengths;
}

std::vector<double> attn::caseSlopes(const BenchCase &bench) {
  std::vector<double> slopes(bench.queryHeads);
  for (int64_t h = 0; h < bench.queryHeads; ++h)
    slopes[h] = std::exp2(-8.0 * (h + 1) / bench.queryHeads);
  return slopes;
}

/// Keys that row `i` sees under a mask that is the same for all heads and batch
/// elements.
static int64_t visibleKeys(const BenchCase &bench, int64_t i) {
  int64_t causal = std::min(i + 1, bench.keys);
  switch (bench.mask) {
  case Mask::Causal:
  case Mask::ALiBi:
  case Mask::Softcap:
    return causal;
  case Mask::Window:
    return std::max<int64_t>(causal - std::max<int64_t>(0, i + 1 - kWindowKeys),
                             0);
  case Mask::Document:
    // Queries and keys have one length here.
    return i % (bench.queries / kDocuments) + 1;
  case Mask::Prefix:
    return std::max(causal, std::min(kPrefixKeys, bench.keys));
  default:
    return bench.keys;
  }
}

int64_t attn::visiblePairs(const BenchCase &bench, ArrayRef<uint8_t> boolMask) {
  if (bench.mask == Mask::Bool)
    return bench.batch * bench.queryHeads *
           count_if(boolMask, [](uint8_t bit) { return bit != 0; });
  if (bench.mask == Mask::Lengths) {
    std::vector<int64_t> lengths = caseLengths(bench);
    return bench.queryHeads * bench.queries *
           std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  }
  int64_t pairs = 0;
  for (int64_t i = 0; i < bench.queries; ++i)
    pairs += visibleKeys(bench, i);
  return bench.batch * bench.queryHeads * pairs;
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// The region of a mask program, for the two masks without a clause of their
/// own.
static std::string maskProgram(const BenchCase &bench) {
  const char *body =
      bench.mask == Mask::Document
          ? "    %length = arith.constant {0} : index\n"
            "    %row = arith.divui %i, %length : index\n"
            "    %column = arith.divui %j, %length : index\n"
            "    %visible = arith.cmpi eq, %row, %column : index\n"
          : "    %prefix = arith.constant {0} : index\n"
            "    %first = arith.cmpi slt, %j, %prefix : index\n"
            "    %past = arith.cmpi sle, %j, %i : index\n"
            "    %visible = arith.ori %first, %past : i1\n";
  int64_t constant =
      bench.mask == Mask::Document ? bench.queries / kDocuments : kPrefixKeys;
  return "visible {\n  ^bb0(%b: index, %h: index, %i: index, %j: index):\n" +
         fmt::format(fmt::runtime(body), constant) +
         "    attn.yield %visible : i1\n  }";
}

/// The clauses of attn.masked_softmax.
static std::string maskClauses(const BenchCase &bench) {
  switch (bench.mask) {
  case Mask::None:
    return "";
  case Mask::Causal:
  case Mask::ALiBi:
  case Mask::Softcap:
    return " causal(top_left)";
  case Mask::Lengths:
    return " lengths(%lengths : tensor<?xi32>)";
  case Mask::Window:
    return fmt::format(" causal(top_left) window[{}, 0]", kWindowKeys - 1);
  case Mask::Document:
    return " causal(top_left) " + maskProgram(bench);
  case Mask::Prefix:
    return " " + maskProgram(bench);
  case Mask::Bool:
    return " mask(%mask : tensor<1x1x?x?xi1>)";
  }
  return "";
}

std::string attn::caseGraph(const BenchCase &bench) {
  // A model that decodes has one query row by construction; every other length
  // is known at run time only. Self-attention has one length, S.
  bool self = bench.queries == bench.keys;
  bool decode = bench.queries == 1;
  std::string rows = decode ? "1" : "?";
  std::string rowsName = decode ? "" : self ? "S" : "Sq";
  std::string columnsName = self && !decode ? "S" : "Skv";
  std::string type = elementTypeName(bench.type).str();
  auto tensor = [&](int64_t heads, const std::string &length, int64_t dim) {
    return fmt::format("tensor<?x{}x{}x{}x{}>", heads, length, dim, type);
  };
  auto argument = [](const char *name, const char *typeName,
                     const std::string &length) {
    return fmt::format("%{0}: {1} {{attn.name = \"{0}\", attn.dims = [\"B\", "
                       "\"\", \"{2}\", \"\"]}}",
                       name, typeName, length);
  };

  std::string text = fmt::format(
      "// {}: B={}, Hq={}, Hkv={}, Sq={}, Skv={}, D={}, Dv={}, mask {}, {}\n",
      bench.name.str(), bench.batch, bench.queryHeads, bench.keyHeads,
      bench.queries, bench.keys, bench.headDim, bench.valueDim,
      maskName(bench.mask).str(), type);
  text +=
      fmt::format("!q = {}\n!k = {}\n!v = {}\n!o = {}\n"
                  "!s = tensor<?x{}x{}x?x{}>\n\n",
                  tensor(bench.queryHeads, rows, bench.headDim),
                  tensor(bench.keyHeads, "?", bench.headDim),
                  tensor(bench.keyHeads, "?", bench.valueDim),
                  tensor(bench.queryHeads, rows, bench.valueDim),
                  bench.queryHeads, rows, bench.type == f64 ? "f64" : "f32");
  text += "func.func @attention(\n    " + argument("q", "!q", rowsName) +
          ",\n    " + argument("k", "!k", columnsName) + ",\n    " +
          argument("v", "!v", columnsName);
  if (bench.mask == Mask::Lengths)
    text += ",\n    %lengths: tensor<?xi32> {attn.name = \"lengths\", "
            "attn.dims = [\"B\"]}";
  if (bench.mask == Mask::Bool)
    text += fmt::format(",\n    %mask: tensor<1x1x?x?xi1> {{attn.name = "
                        "\"mask\", attn.dims = [\"\", \"\", \"{}\", \"{}\"]}}",
                        rowsName, columnsName);
  if (bench.mask == Mask::ALiBi)
    text +=
        fmt::format(",\n    %slopes: tensor<{}xf32> {{attn.name = \"slopes\"}}",
                    bench.queryHeads);
  text += ") -> !o {\n";

  text += "  %scores = attn.qk %q, %k : !q, !k -> !s\n";
  // 17 digits give the same double back.
  text += fmt::format("  %scaled = attn.scale %scores by {:.17e} : !s\n",
                      1.0 / std::sqrt(static_cast<double>(bench.headDim)));
  const char *last = "%scaled";
  if (bench.mask == Mask::Softcap) {
    text += fmt::format("  %capped = attn.softcap %scaled at {:.1f} : !s\n",
                        kSoftcap);
    last = "%capped";
  }
  if (bench.mask == Mask::ALiBi) {
    text += fmt::format(
        "  %biased = attn.score_map %scaled : !s {{\n"
        "  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):\n"
        "    %distance = arith.subi %j, %i : index\n"
        "    %integer = arith.index_cast %distance : index to i32\n"
        "    %real = arith.sitofp %integer : i32 to f32\n"
        "    %slope = tensor.extract %slopes[%h] : tensor<{}xf32>\n"
        "    %bias = arith.mulf %slope, %real : f32\n"
        "    %sum = arith.addf %score, %bias : f32\n"
        "    attn.yield %sum : f32\n"
        "  }}\n",
        bench.queryHeads);
    last = "%biased";
  }
  text += fmt::format("  %weights = attn.masked_softmax {}{} : !s\n", last,
                      maskClauses(bench));
  text += "  %o = attn.weighted_sum %weights, %v : !s, !v -> !o\n"
          "  return %o : !o\n}\n";
  return text;
}
