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
#include "onnx.pb.h"
#include <optional>

namespace attn {

/// Emits one operator on elements of one type, with its attributes as numbers.
/// An input that is left out is null. `int64` is the type `index`, and integers
/// have no sign: which emitter is asked says how they are read.
using ScalarEmitter = mlir::Value (*)(ScalarBuilder &, mlir::ValueRange,
                                      llvm::ArrayRef<double>);

/// An attribute that is a number, or the number of a word among `words`.
struct ScalarAttribute {
  llvm::StringLiteral name;
  onnx::AttributeProto::AttributeType type;
  /// Nothing for an attribute that must be there.
  std::optional<double> defaultValue;
  llvm::ArrayRef<llvm::StringLiteral> words = {};
};

/// What the second of two inputs must be, when the elements are integers.
enum class SecondInput {
  Any,
  /// A known number other than 0, so that no division traps.
  Divisor,
  /// A known number from 0, which makes a power a product. It may be of another
  /// type than the first input, with floats too.
  Exponent
};

/// An operator that computes each element of its result from one element of
/// each input. All inputs have one type.
struct ScalarOp {
  static constexpr unsigned kAny = ~0u;

  llvm::StringLiteral name;
  unsigned minInputs, maxInputs;
  // Null where the operator does not take elements of that kind.
  ScalarEmitter onFloats;
  ScalarEmitter onSigned;
  ScalarEmitter onUnsigned;
  ScalarEmitter onBooleans;
  /// The result is boolean.
  bool isComparison = false;
  SecondInput second = SecondInput::Any;
  llvm::ArrayRef<ScalarAttribute> attributes = {};
  /// Names of inputs that must be scalars: the last ones.
  llvm::ArrayRef<llvm::StringLiteral> scalars = {};
};

/// The operator of that name, or null.
const ScalarOp *findScalarOp(llvm::StringRef name);

/// The operators that are functions of one real number.
llvm::ArrayRef<ScalarOp> getScalarFunctions();

/// The type of values that hold elements of programs, whose types have a sign.
mlir::Type getScalarType(mlir::Type element);

/// `value`, of type `from`, as an element of type `to`, as the operator Cast
/// says.
mlir::Value castScalar(ScalarBuilder &build, mlir::Value value, mlir::Type from,
                       mlir::Type to);

} // namespace attn

#endif // ATTN_LIB_IMPORT_ONNX_SCALAROPS_H
