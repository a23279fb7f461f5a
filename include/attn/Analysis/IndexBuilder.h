//===- IndexBuilder.h - Folded arithmetic on indices ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounds of tiles, of keys and of loops are scalars that are often known: what
// computes them folds what it can, so that no pass has to.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_INDEXBUILDER_H
#define ATTN_ANALYSIS_INDEXBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace attn {

/// Arithmetic on indices and conditions, with folding.
struct IndexBuilder {
  mlir::ImplicitLocOpBuilder &b;

  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, value);
  }
  mlir::Value toIndex(mlir::Value value) {
    if (value.getType().isIndex())
      return value;
    return mlir::arith::IndexCastOp::create(b, b.getIndexType(), value);
  }
  mlir::Value dim(mlir::Value memref, int64_t d) {
    return b.createOrFold<mlir::memref::DimOp>(memref, d);
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
  mlir::Value min(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::MinSIOp>(x, y);
  }
  mlir::Value max(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::MaxSIOp>(x, y);
  }

  //===--------------------------------------------------------------------===//
  // Divisions
  //===--------------------------------------------------------------------===//

  /// Of numbers that are not negative.
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::DivUIOp>(x, y);
  }
  mlir::Value ceilDiv(mlir::Value x, int64_t y) {
    return div(add(x, constant(y - 1)), constant(y));
  }
  /// `x` rounded down to a multiple of `y`.
  mlir::Value roundDown(mlir::Value x, int64_t y) {
    return mul(div(x, constant(y)), constant(y));
  }
  mlir::Value floorDiv(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::FloorDivSIOp>(x, y);
  }

  //===--------------------------------------------------------------------===//
  // Conditions
  //===--------------------------------------------------------------------===//

  mlir::Value boolean(bool value) {
    return mlir::arith::ConstantOp::create(b, b.getBoolAttr(value));
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x,
                      mlir::Value y) {
    return b.createOrFold<mlir::arith::CmpIOp>(predicate, x, y);
  }
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return compare(mlir::arith::CmpIPredicate::slt, x, y);
  }
  mlir::Value atMost(mlir::Value x, mlir::Value y) {
    return compare(mlir::arith::CmpIPredicate::sle, x, y);
  }
  mlir::Value atLeast(mlir::Value x, mlir::Value y) {
    return compare(mlir::arith::CmpIPredicate::sge, x, y);
  }
  mlir::Value equal(mlir::Value x, mlir::Value y) {
    return compare(mlir::arith::CmpIPredicate::eq, x, y);
  }
  mlir::Value both(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::AndIOp>(x, y);
  }
  mlir::Value either(mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::OrIOp>(x, y);
  }
  mlir::Value negate(mlir::Value x) {
    return b.createOrFold<mlir::arith::XOrIOp>(x, boolean(true));
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return b.createOrFold<mlir::arith::SelectOp>(condition, x, y);
  }
};

} // namespace attn

#endif // ATTN_ANALYSIS_INDEXBUILDER_H
