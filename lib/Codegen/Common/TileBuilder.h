//===- TileBuilder.h - Views, scratch and index arithmetic ------*- C++ -*-===//
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

#include "attn/Codegen/Common/MatrixProduct.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace attn {

/// Scalar index arithmetic with folding.
struct IndexBuilder {
  mlir::ImplicitLocOpBuilder &b;
  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, value);
  }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::AddIOp>(x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::SubIOp>(x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::MulIOp>(x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::DivUIOp>(x, y);
  }
  mlir::Value min(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::MinSIOp>(x, y);
  }
  mlir::Value ceilDiv(mlir::Value x, int64_t y) {
    return div(add(x, constant(y - 1)), constant(y));
  }
  /// `x` rounded down to a multiple of `y`.
  mlir::Value roundDown(mlir::Value x, int64_t y) {
    return mul(div(x, constant(y)), constant(y));
  }
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::slt,
                                               x, y);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::SelectOp>(condition, x, y);
  }
  mlir::Value dim(mlir::Value memref, int64_t d) {
    return b.createOrFold<mlir::memref::DimOp>(memref, d);
  }
};

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
