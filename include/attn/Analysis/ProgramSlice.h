//===- ProgramSlice.h - What a program's value comes from -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_PROGRAMSLICE_H
#define ATTN_ANALYSIS_PROGRAMSLICE_H

#include "mlir/IR/Region.h"

namespace attn {

/// Whether `value` of `program` is one of `sources` or computed from one by ops
/// of the program.
bool dependsOn(mlir::Value value, mlir::Region &program,
               mlir::ValueRange sources);

/// The op of `program` that computes the integer `value`. Null when nothing is
/// computed, for a constant or a value from outside, and for an i1, which is a
/// condition: an analysis that does not know one of these does not know the op
/// that takes it as an integer.
mlir::Operation *getIntegerOp(mlir::Value value, mlir::Region &program);

} // namespace attn

#endif // ATTN_ANALYSIS_PROGRAMSLICE_H
