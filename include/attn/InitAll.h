//===- InitAll.h - What every tool registers --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only the dialects that attention graphs and their lowerings use: registering
// all of MLIR's costs each process start some milliseconds.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_INITALL_H
#define ATTN_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace attn {

/// Registers the dialects that modules may contain in any phase, with the
/// interfaces that bufferisation and the LLVM lowering look up.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers the translation of all left after the `llvm` phase to LLVM IR.
void registerAllTranslations(mlir::DialectRegistry &registry);

/// Registers the passes and pipelines of the project, and those of upstream
/// that are useful beside them. For tools with a command line.
void registerAllPasses();

} // namespace attn

#endif // ATTN_INITALL_H
