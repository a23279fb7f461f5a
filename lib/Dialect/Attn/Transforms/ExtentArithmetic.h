//===- ExtentArithmetic.h - From tensors to their extents -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps that turn a function on tensors into arithmetic on the extents of its
// arguments, as far as its terminator needs them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_EXTENTARITHMETIC_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_EXTENTARITHMETIC_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn {

/// Expresses the dims of op results in terms of operands, and folds.
void resolveDims(mlir::func::FuncOp shape);

/// Makes affine ops, which reification leaves, arith ops, and folds.
void lowerToArith(mlir::func::FuncOp shape);

/// Erases what the terminator does not need, side effects or not: a shape
/// function computes extents only.
void eraseUnneeded(mlir::func::FuncOp shape);

/// Reports the first op of the shape function of `function` that no extent can
/// be computed from.
mlir::LogicalResult verifyOnlyExtents(mlir::func::FuncOp shape,
                                      mlir::func::FuncOp function);

} // namespace attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_EXTENTARITHMETIC_H
