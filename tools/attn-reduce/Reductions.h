//===- Reductions.h - How graphs are made smaller ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_REDUCE_REDUCTIONS_H
#define ATTN_TOOLS_ATTN_REDUCE_REDUCTIONS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace attn {

/// Gives the attn dialect its reduction patterns.
void registerReductions(mlir::DialectRegistry &registry);

} // namespace attn

#endif // ATTN_TOOLS_ATTN_REDUCE_REDUCTIONS_H
