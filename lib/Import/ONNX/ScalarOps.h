//===- ScalarOps.h - Elementwise ONNX operators on scalars ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IMPORT_ONNX_SCALAROPS_H
#define ATTN_LIB_IMPORT_ONNX_SCALAROPS_H

#include "attn/Conversion/AttnToLinalg/TensorLoops.h"

namespace attn {

/// Emits one operator on elements of one type. `int64` is the type `index`.
using ScalarEmitter = mlir::Value (*)(ScalarBuilder &, mlir::ValueRange);

/// An operator that computes each element of its result from one element of
/// each input. All inputs have one type.
struct ScalarOp {
  llvm::StringLiteral name;
  unsigned numInputs;
  /// Null where the operator does not take elements of that kind.
  ScalarEmitter onFloats;
  ScalarEmitter onIntegers;
  ScalarEmitter onBooleans;
  /// The result is boolean.
  bool isComparison;
  /// The second input must be a known positive number for integers, so that no
  /// division traps.
  bool divides;
};

/// The operator of that name, or null.
const ScalarOp *findScalarOp(llvm::StringRef name);

/// `value` as an element of type `to`, as the operator Cast says.
mlir::Value castScalar(ScalarBuilder &build, mlir::Value value, mlir::Type to);

} // namespace attn

#endif // ATTN_LIB_IMPORT_ONNX_SCALAROPS_H
