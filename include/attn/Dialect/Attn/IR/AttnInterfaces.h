//===- AttnInterfaces.h - Interfaces of attn ops ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNINTERFACES_H
#define ATTN_DIALECT_ATTN_IR_ATTNINTERFACES_H

#include "attn/Dialect/Attn/IR/AttnDialect.h"
#include "mlir/IR/OpDefinition.h"

namespace attn {

enum class ExtentRelation {
  Equal,       ///< lhs == rhs
  DivisibleBy, ///< rhs > 0 and lhs % rhs == 0
  OneOr,       ///< lhs == 1 or lhs == rhs
  AtMost,      ///< lhs <= rhs
};

/// One relation between two extents of an op's values.
struct ExtentConstraint {
  /// Label of the constraint in the op's description, e.g. "C3".
  llvm::StringRef label;
  ExtentRelation relation;
  mlir::Value lhs;
  int64_t lhsDim;
  mlir::Value rhs;
  int64_t rhsDim;
  /// What the extents are called in messages: "batch extent", "head count".
  llvm::StringRef what;
  /// Operand names: "query", "key".
  llvm::StringRef lhsName, rhsName;
};

/// Whether two known extents satisfy `relation`.
bool holds(ExtentRelation relation, int64_t lhs, int64_t rhs);

/// The message of a violated constraint with `{0}` and `{1}` where the values
/// of the two extents go.
std::string getViolationText(const ExtentConstraint &constraint);

/// Checks the extents known at compile time of an op that implements
/// `ExtentConstraintsOpInterface`.
mlir::LogicalResult verifyExtents(mlir::Operation *op);

} // namespace attn

#include "attn/Dialect/Attn/IR/AttnInterfaces.h.inc"

#endif // ATTN_DIALECT_ATTN_IR_ATTNINTERFACES_H
