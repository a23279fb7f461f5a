//===- Cases.h - The attention shapes that are timed ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A case is a line of a table: sizes, a mask, an element type. The graph that
// is compiled for it is ordinary text in the attn dialect, with the sizes that
// a model would leave open (batch and sequence lengths) left open.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_CASES_H
#define ATTN_TOOLS_ATTN_BENCH_CASES_H

#include "attn/Support/HostTensor.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace attn {

/// Which pairs are visible, and what happens to the scores before.
enum class CaseMask {
  None,
  Causal,
  /// Keys up to a length for each batch element: `caseLengths`.
  Lengths,
  /// Causal, and at most kWindowKeys keys with the row's own.
  Window,
  /// kDocuments documents of equal length, causal inside.
  Document,
  /// Causal, but everyone sees the first kPrefixKeys keys.
  Prefix,
  /// Causal, with a bias that grows with the distance, one slope a head.
  ALiBi,
  /// Causal, with scores bounded by kSoftcap.
  Softcap,
  /// A boolean tensor [1, 1, Sq, Skv].
  Bool
};

inline constexpr int64_t kWindowKeys = 256;
inline constexpr int64_t kDocuments = 8;
inline constexpr int64_t kPrefixKeys = 512;
inline constexpr double kSoftcap = 50.0;

/// `none`, `causal`, ...
llvm::StringRef maskName(CaseMask mask);

/// One line of the table.
struct BenchCase {
  llvm::StringLiteral name;
  int64_t batch, queryHeads, keyHeads, queries, keys, headDim, valueDim;
  CaseMask mask;
  ElementType type;
};

/// The cases of `text`, a name of one case. The error lists the names.
llvm::Expected<const BenchCase *> findCase(llvm::StringRef name);

/// The cases of a suite: `all`, `f32`, `f64`, `bf16`, `prefill` (many queries),
/// `decode` (one query), `masks` (all but none and causal) or `test` (tiny ones
/// that no other suite has). The error lists the names.
llvm::Expected<std::vector<const BenchCase *>> findSuite(llvm::StringRef name);

/// "cases: a, b, c; suites: all, ..." for messages.
std::string listCases();

/// The graph: one function `attention` that takes q, k, v and, if the mask
/// needs it, one more argument.
std::string caseGraph(const BenchCase &bench);

/// Shapes of the inputs and of the result.
llvm::SmallVector<int64_t> queryShape(const BenchCase &bench);
llvm::SmallVector<int64_t> keyShape(const BenchCase &bench);
llvm::SmallVector<int64_t> valueShape(const BenchCase &bench);
llvm::SmallVector<int64_t> resultShape(const BenchCase &bench);
llvm::SmallVector<int64_t> maskShape(const BenchCase &bench);

/// Visible keys of each batch element of a `Lengths` case: they fall evenly
/// from all to a little more than half.
std::vector<int64_t> caseLengths(const BenchCase &bench);
/// The slope of each head of an `ALiBi` case: 2^(-8 (h + 1) / H).
std::vector<double> caseSlopes(const BenchCase &bench);

/// Visible (query, key) pairs over all query heads. `boolMask` holds the tensor
/// of a `Bool` case, one byte an element.
int64_t visiblePairs(const BenchCase &bench,
                     llvm::ArrayRef<uint8_t> boolMask = {});

} // namespace attn

#endif // ATTN_TOOLS_ATTN_BENCH_CASES_H
