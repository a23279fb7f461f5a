//===- StagedLoads.h - Tensors of pairs, transposed by block ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that reads `mask[b, h, i, j]` or `bias[b, h, i, j]` for query rows
// in lanes would gather one element a lane: memory runs along the keys. Such
// loads are staged instead: once for a group of rows and a block of keys, each
// row is read by whole vectors, and its elements are put where the lanes find
// them, booleans as bits of a word a row, numbers transposed.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_CPU_STAGEDLOADS_H
#define ATTN_LIB_CODEGEN_CPU_STAGEDLOADS_H

#include "VectorEmitter.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

namespace attn {

/// Gives scratch of the task; the same for equal arguments.
using ScratchAllocator = llvm::function_ref<mlir::Value(
    llvm::StringRef purpose, int64_t number, llvm::ArrayRef<int64_t> shape,
    mlir::Type element)>;

/// The loads of the programs of one block that are staged.
class StagedLoads {
public:
  /// Finds them; scratch is for groups of at most `vectors` vectors of rows.
  StagedLoads(VectorEmitter &emitter, KeyBlockOpInterface op, int64_t vectors,
              ScratchAllocator allocate);

  /// Emits the staging for `vectors` vectors of rows from `firstRow` on, which
  /// stop at `lastRow`, and keys [keyBegin, keyEnd) of the block. Returns an i1
  /// that is false if no pair is visible because of a boolean tensor, or null.
  mlir::Value stage(mlir::Value firstRow, mlir::Value lastRow, int64_t vectors,
                    mlir::Value keyBegin, mlir::Value keyEnd);

  /// Adds the loads' values for key `j` of the block and the rows of vector `v`
  /// to what is known of `program`.
  void addTo(mlir::IRMapping &known, mlir::Region &program, mlir::Value j,
             int64_t v);

private:
  struct Load {
    /// Equal loads, perhaps of both programs; the first is evaluated.
    llvm::SmallVector<mlir::memref::LoadOp> ops;
    /// What is added to `j` to give the last index, in the region, or null.
    mlir::Value shift;
    /// Booleans: `[keys / 32, rows]` of i32. Numbers: `[keys, rows]` of what
    /// is computed in.
    mlir::Value staged;
    /// Numbers: the rows as they come, `[rows, keys]`.
    mlir::Value rows;
    bool isBoolean() const;
  };

  void find(mlir::Region &program);
  mlir::Value stageRow(const Load &load, mlir::Value row, mlir::Value r,
                       mlir::Value keyBegin, mlir::Value keyEnd);
  mlir::Value stageWords(const Load &load, mlir::ValueRange leading,
                         mlir::Value first, mlir::Value r, mlir::Value keyBegin,
                         mlir::Value keyEnd);
  void stageNumbers(const Load &load, mlir::ValueRange leading,
                    mlir::Value first, mlir::Value r, mlir::Value keyBegin,
                    mlir::Value keyEnd);
  void transposeRows(const Load &load, int64_t vectors, mlir::Value keyBegin,
                     mlir::Value keyEnd);
  mlir::Value add(mlir::Value x, mlir::Value y);

  VectorEmitter &e;
  mlir::ImplicitLocOpBuilder &b;
  KeyBlockOpInterface op;
  llvm::SmallVector<Load> loads;
};

} // namespace attn

#endif // ATTN_LIB_CODEGEN_CPU_STAGEDLOADS_H
