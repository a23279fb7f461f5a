//===- ProgramVectorizer.h - Score and mask programs on lanes ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inlines a score or mask region for one vector of query rows and one key. A
// value that is the same in every lane stays a scalar; the rest becomes
// vectors.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_CPU_PROGRAMVECTORIZER_H
#define ATTN_LIB_CODEGEN_CPU_PROGRAMVECTORIZER_H

#include "VectorEmitter.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Region.h"

namespace attn {

/// Whether every op of `region` has a form on lanes. If not, `*culprit` is one
/// that has none, and the program is evaluated lane by lane.
bool isVectorizableProgram(mlir::Region &region, mlir::Operation **culprit);

/// Evaluates `region` on `arguments` and returns the yielded value, as a
/// vector. Each argument is either the scalar that the region expects (the same
/// in every lane) or a vector of it. Gather indices are clamped to the extents
/// of the operand, since padded and hidden lanes are evaluated too. Values that
/// `known` maps are not computed again.
mlir::Value vectorizeProgram(VectorEmitter &emitter, mlir::Region &region,
                             mlir::ValueRange arguments,
                             const mlir::IRMapping &known = {});

/// `mapped`, the value of a probability program, where `weight` is not 0.
mlir::Value keepZero(VectorEmitter &emitter, mlir::Value weight,
                     mlir::Value mapped);

/// Evaluates what follows from those of `arguments` that are not null, and adds
/// it to `known`.
void vectorizeKnownPart(VectorEmitter &emitter, mlir::Region &region,
                        llvm::ArrayRef<mlir::Value> arguments,
                        mlir::IRMapping &known);

/// `index`, a scalar or on lanes, clamped to the extent of dimension `dim`.
mlir::Value clampIndex(VectorEmitter &emitter, mlir::Value index,
                       mlir::Value memref, int64_t dim);

} // namespace attn

#endif // ATTN_LIB_CODEGEN_CPU_PROGRAMVECTORIZER_H
