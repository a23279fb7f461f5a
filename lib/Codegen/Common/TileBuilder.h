//===- TileBuilder.h - Views, scratch and tilings ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the tilings of heavy ops share.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_COMMON_TILEBUILDER_H
#define ATTN_LIB_CODEGEN_COMMON_TILEBUILDER_H

#include "attn/Analysis/IndexBuilder.h"
#include "attn/Codegen/Common/MatrixProduct.h"
#include "attn/Codegen/Common/Views.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/IR/PatternMatch.h"

namespace attn {

/// The rank-2 view `memref[leading..., row : row + rows, :]`, or rank 1 when
/// `memref` has no further dimension.
mlir::Value viewRows(mlir::ImplicitLocOpBuilder &b, mlir::Value memref,
                     mlir::ValueRange leading, mlir::Value row,
                     mlir::Value rows);

/// The transposed view of a rank-2 memref.
mlir::Value transpose(mlir::ImplicitLocOpBuilder &b, mlir::Value memref);

/// A new buffer; in a task, a slice of the thread's memory.
mlir::Value allocate(mlir::ImplicitLocOpBuilder &b,
                     llvm::ArrayRef<int64_t> shape, mlir::Type element);

/// Sets every element of `memref`, of floats or integers.
void fill(mlir::ImplicitLocOpBuilder &b, mlir::Value memref, double value);

bool isStrided(mlir::Value memref);

/// Turns rows of one head that begin at row `first` of batch element `batch`
/// by those of `cos` and `sin`, which may be of all batch elements.
void emitRotation(mlir::ImplicitLocOpBuilder &b, mlir::Value source,
                  mlir::Value dest, mlir::Value cos, mlir::Value sin,
                  RopeLayout layout, mlir::Value batch, mlir::Value first,
                  mlir::Value rows);

/// Cuts ops on buffers into tasks of their tile forms.
mlir::LogicalResult tileRotate(mlir::RewriterBase &rewriter, RotateOp op);
mlir::LogicalResult tileRopeTables(mlir::RewriterBase &rewriter,
                                   RopeTablesOp op);

/// Tiles a matrix product on buffers; one whose result has no unit innermost
/// stride loses its schedule instead.
mlir::LogicalResult tileMatrixProduct(mlir::RewriterBase &rewriter,
                                      MatrixProduct product,
                                      ScheduleAttr schedule);

/// Tiles linear attention on buffers into tasks, each a linear attention of one
/// batch element, one key head and some columns of the values.
mlir::LogicalResult tileLinearAttention(mlir::RewriterBase &rewriter,
                                        LinearAttentionOp op);

} // namespace attn

#endif // ATTN_LIB_CODEGEN_COMMON_TILEBUILDER_H
