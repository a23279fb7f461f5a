//===- EntrySignature.h - What callers know of an entry ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names, types and named extents of an entry's arguments, as attributes of the
// function give them and as JSON hands them to the run time.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_ENTRYSIGNATURE_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_ENTRYSIGNATURE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/JSON.h"

namespace attn {

/// One argument of an entry.
struct EntryArgument {
  /// `attn.name`, or `argK`.
  std::string name;
  mlir::Type type;
  /// Names of the extents (`attn.dims`), "" where anonymous; empty for scalars.
  mlir::SmallVector<llvm::StringRef> dims;
};

/// Whether an entry may take and return `type` by value: index, floats, and
/// integers of up to 64 bits.
bool isEntryScalar(mlir::Type type);

/// Reads and checks types, `attn.name` and `attn.dims` of all arguments, and
/// the types of the results; reports what is wrong at the function.
mlir::FailureOr<mlir::SmallVector<EntryArgument>>
getEntryArguments(mlir::func::FuncOp function);

/// What statistics of weights are made from; null where they are none, or where
/// nobody can tell.
struct StatsSource {
  mlir::Value weights;
  /// The scores of the softmax that the weights come from.
  mlir::Value scores;
};

/// The source of the statistics that `result`, but for its shape, is.
StatsSource getStatsSource(mlir::Value result);

/// Whether a program of an attn op reads a float by `extract`, at indices.
bool isGatherOfProgram(mlir::tensor::ExtractOp extract);

/// The description of `function` in the module's JSON, with the texts of its
/// run-time checks.
llvm::json::Object getEntryInfo(mlir::func::FuncOp function,
                                llvm::ArrayRef<EntryArgument> arguments,
                                llvm::ArrayRef<std::string> texts);

} // namespace attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_ENTRYSIGNATURE_H
