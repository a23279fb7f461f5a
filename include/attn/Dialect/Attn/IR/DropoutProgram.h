//===- DropoutProgram.h - Which pairs a dropout keeps -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_DROPOUTPROGRAM_H
#define ATTN_DIALECT_ATTN_IR_DROPOUTPROGRAM_H

#include "mlir/IR/Builders.h"

namespace attn {

/// Emits the i1 that is true where a dropout of `rate` and `seed` (i64) keeps
/// the pair at `position`, the indices (b, h, i, j), as `attn.dropout`
/// describes it. Scalar integer arithmetic: what depends on less than all of
/// the position comes first, so that it can be computed less often.
mlir::Value emitIsKept(mlir::OpBuilder &builder, mlir::Location loc,
                       double rate, mlir::Value seed,
                       mlir::ValueRange position);

} // namespace attn

#endif // ATTN_DIALECT_ATTN_IR_DROPOUTPROGRAM_H
