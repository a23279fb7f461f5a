//===- OpChecks.h - Checks that verifiers share -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `label` is that of the constraint in the description of the op that fails.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_IR_OPCHECKS_H
#define ATTN_LIB_DIALECT_ATTN_IR_OPCHECKS_H

#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attn {

/// Rank and float element type of one shaped operand; i8 too, if asked.
llvm::LogicalResult verifyShaped(mlir::Operation *op, llvm::StringRef name,
                                 mlir::Value value, int64_t rank,
                                 llvm::StringRef label, bool integers = false);

/// Whether an operand that may have rank 2 or 3 has rank 3.
bool isInPanels(mlir::Value value);

/// A head dim: static and positive.
llvm::LogicalResult verifyHeadDim(mlir::Operation *op, llvm::StringRef name,
                                  mlir::Value value, llvm::StringRef label);

/// A constant that scores of `type` are computed with: finite there, and
/// positive and not lost to 0 if asked.
llvm::LogicalResult verifyFinite(mlir::Operation *op, llvm::StringRef name,
                                 llvm::APFloat value, bool positive,
                                 llvm::StringRef label,
                                 mlir::FloatType type = {});

/// A score or mask program: argument types, yielded type, no side effects.
llvm::LogicalResult verifyProgram(mlir::Operation *op, mlir::Region &region,
                                  llvm::StringRef name,
                                  mlir::TypeRange arguments, mlir::Type result,
                                  llvm::StringRef label);

/// The regions of fused ops and of their tiles; `probability` may be null.
llvm::LogicalResult verifyPrograms(mlir::Operation *op, mlir::Region &score,
                                   mlir::Region &mask,
                                   mlir::Region *probability,
                                   mlir::Type scoreType, llvm::StringRef label);

/// `operand` has a `scale` exactly when it is of integers.
llvm::LogicalResult verifyScale(mlir::Operation *op, llvm::StringRef name,
                                mlir::Value operand, mlir::Value scale,
                                int64_t rank, llvm::StringRef label);

/// Keys or values of a fused op in pages of `table`, which may be null.
llvm::LogicalResult verifyPages(mlir::Operation *op, llvm::StringRef name,
                                mlir::Value rows, mlir::Value table,
                                llvm::StringRef label);

/// The type that scores of `query` are accumulated in.
mlir::FloatType getScoreTypeOf(mlir::Value query);

/// Results mirror the outputs for tensors; memrefs have none.
llvm::LogicalResult verifyDestination(mlir::DestinationStyleOpInterface op,
                                      llvm::StringRef label);

/// Names for printing. `value` is what the region maps: a score, or a
/// probability.
void nameProgramArguments(mlir::Region &region,
                          mlir::OpAsmSetValueNameFn setName,
                          llvm::StringRef value = "score");

/// What the rows of `rows [B, H, S, D]` may be rotated by: `cos`, `sin` and
/// `layout`, all of them or none.
llvm::LogicalResult verifyRotation(mlir::Operation *op, mlir::Value cos,
                                   llvm::StringRef cosName, mlir::Value sin,
                                   llvm::StringRef sinName,
                                   RopeLayoutAttr layout, mlir::Value rows,
                                   llvm::StringRef label);
void addRotationConstraints(
    llvm::SmallVectorImpl<ExtentConstraint> &constraints, llvm::StringRef label,
    mlir::Value cos, llvm::StringRef cosName, mlir::Value sin,
    llvm::StringRef sinName, mlir::Value rows, llvm::StringRef rowsName);

void getDestinationEffects(
    mlir::DestinationStyleOpInterface op,
    llvm::SmallVectorImpl<
        mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>
        &effects);

/// Inferred and written result types agree when no two static extents differ:
/// a written type may forget extents.
bool areCompatible(mlir::TypeRange inferred, mlir::TypeRange written);

/// Head dims, batches and groups of heads of what makes scores (C2 to C4).
void addQueryAndKey(llvm::SmallVectorImpl<ExtentConstraint> &constraints,
                    mlir::Value query, mlir::Value key);

/// A weight `[D]` or `[Hq, D]` of additive scores.
void addAdditiveWeight(llvm::SmallVectorImpl<ExtentConstraint> &constraints,
                       llvm::StringRef label, mlir::Value weight,
                       llvm::StringRef name, mlir::Value query);

} // namespace attn

#endif // ATTN_LIB_DIALECT_ATTN_IR_OPCHECKS_H
