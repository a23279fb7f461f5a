//===- RuntimeChecks.h - Which extents an op needs checked ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What must hold between run-time extents for a function on tensors to be
// defined, as SSA values with a text: the input of the shape functions.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_RUNTIMECHECKS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_RUNTIMECHECKS_H

#include "attn/Dialect/Attn/IR/AttnInterfaces.h"
#include "mlir/IR/Builders.h"

namespace attn {

/// One relation between two `index` values that must hold at run time.
struct RuntimeCheck {
  ExtentRelation relation;
  mlir::Value lhs, rhs;
  /// The message of a failure; `{0}` and `{1}` stand for `lhs` and `rhs`.
  std::string text;
  /// Where the check comes from.
  mlir::Location loc;
  /// Keeps arithmetic on scalar arguments in range; needless for an extent of
  /// an argument, as that tensor exists.
  bool isLimit = false;
};

/// `text` with braces made parentheses, as placeholders are the only braces of
/// a message.
std::string withoutBraces(llvm::StringRef text);

/// Appends what `op` on tensors needs of its extents. Extents that are known
/// on both sides need no check: verifiers saw them. New ops go to `builder`'s
/// insertion point, where the operands and results of `op` must be visible.
void collectChecks(mlir::OpBuilder &builder, mlir::Operation *op,
                   llvm::SmallVectorImpl<RuntimeCheck> &checks);

} // namespace attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_RUNTIMECHECKS_H
