//===- Remarks.h - What the compiler says about its choices -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes report what they did and did not do as MLIR remarks of the category
// `attn`. Here they become sentences, which travel in the description of the
// compiled module, so that `--explain` and `--require-fused` know about an
// object from the cache as much as about a fresh one.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PIPELINES_REMARKS_H
#define ATTN_PIPELINES_REMARKS_H

#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace attn {

/// One remark.
struct CompilerRemark {
  /// The entry function that it is about.
  std::string function;
  /// A sentence with the line and column of the op where known. Attention that
  /// keeps its scores in memory begins with `kNotFusedPrefix`.
  std::string text;
};

/// Adds the remarks of all passes that run in `context` from now on to
/// `remarks`, which must outlive it.
void collectRemarks(mlir::MLIRContext &context,
                    std::vector<CompilerRemark> &remarks);

} // namespace attn

#endif // ATTN_PIPELINES_REMARKS_H
