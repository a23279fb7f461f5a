//===- InlineProgram.h - Programs at a place in code ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_INLINEPROGRAM_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_INLINEPROGRAM_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace attn {

/// Clones the body of `program` at the builder; returns the yielded value.
mlir::Value inlineProgram(mlir::ImplicitLocOpBuilder &b, mlir::Region &program,
                          mlir::ValueRange arguments);

/// The log-sum-exp of rows, and what is left out of it where it is rounded:
/// tensors `[B, Hq, Sq]`.
struct LogSumExp {
  mlir::Value rounded, remainder;
  explicit operator bool() const { return static_cast<bool>(rounded); }
};

/// exp(score - lse) for the log-sum-exp at `row`, `(b, h, i)`; at most 1.
mlir::Value emitSoftmaxWeightOf(mlir::ImplicitLocOpBuilder &b,
                                mlir::Value score, const LogSumExp &logSumExp,
                                mlir::ValueRange row);

/// `weight`, and 0 for a score of -inf, whose pair is hidden.
mlir::Value emitSelectVisible(mlir::ImplicitLocOpBuilder &b, mlir::Value score,
                              mlir::Value weight);

} // namespace attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_INLINEPROGRAM_H
