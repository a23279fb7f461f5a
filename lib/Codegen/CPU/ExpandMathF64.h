//===- ExpandMathF64.h - Functions of f64 in plain arithmetic ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_CPU_EXPANDMATHF64_H
#define ATTN_LIB_CODEGEN_CPU_EXPANDMATHF64_H

#include "attn/Dialect/Attn/IR/AttnDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace attn {

/// Patterns that expand `math.exp`, `math.log` and `math.tanh` on vectors of
/// f64. Others are library calls.
void populateExpandF64Patterns(mlir::RewritePatternSet &patterns, ISA isa);

} // namespace attn

#endif // ATTN_LIB_CODEGEN_CPU_EXPANDMATHF64_H
