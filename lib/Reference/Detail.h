//===- Detail.h - Shape checks the reference files share --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to lib/Reference.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_REFERENCE_DETAIL_H
#define ATTN_LIB_REFERENCE_DETAIL_H

#include "attn/Reference/Reference.h"
#include "attn/Support/Error.h"

namespace attn::reference {

inline llvm::Error checkRank(llvm::StringRef operand, const Tensor64 &x,
                             int64_t rank) {
  if (x.rank() != rank)
    return makeError("{0}: expected rank {1}, got {2}", operand, rank,
                     x.rank());
  return llvm::Error::success();
}

inline llvm::Error checkSize(llvm::StringRef what, int64_t expected,
                             int64_t got) {
  if (expected != got)
    return makeError("{0}: expected {1}, got {2}", what, expected, got);
  return llvm::Error::success();
}

/// Ranks, batch, heads and head dim of a query and its keys.
llvm::Error checkQueryKey(const Tensor64 &q, const Tensor64 &k);

/// Ranks, batch, heads and length of something with Hq heads and Skv keys
/// against the values.
llvm::Error checkValues(int64_t batch, int64_t heads, int64_t keys,
                        const Tensor64 &v);

/// A sink is absent or has one logit per head.
llvm::Error checkSink(llvm::ArrayRef<double> sink, int64_t heads);

inline bool isVisible(const Visibility &visible, int64_t b, int64_t h,
                      int64_t i, int64_t j) {
  return !visible || visible(b, h, i, j);
}

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_DETAIL_H
