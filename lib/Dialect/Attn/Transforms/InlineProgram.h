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

/// exp(score - lse) for the log-sum-exp at `row`, `(b, h, i)`, of a tensor.
mlir::Value emitSoftmaxWeightOf(mlir::ImplicitLocOpBuilder &b,
                                mlir::Value score, mlir::Value logSumExp,
                                mlir::ValueRange row);

/// `weight`, and 0 for a score of -inf, whose pair is hidden.
mlir::Value emitSelectVisible(mlir::ImplicitLocOpBuilder &b, mlir::Value score,
                              mlir::Value weight);

} // namespace attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_INLINEPROGRAM_H
