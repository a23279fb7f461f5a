//===- ProgramOnLanes.h - Programs of a block on query rows -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The score and mask programs of one block of keys, for kernels that have query
// rows in lanes: where the rows are, and the programs' values for one key and
// one vector of rows.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_CPU_PROGRAMONLANES_H
#define ATTN_LIB_CODEGEN_CPU_PROGRAMONLANES_H

#include "StagedLoads.h"
#include "VectorEmitter.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

namespace attn {

/// Emits the programs of `op` for groups of vectors of query rows.
class ProgramOnLanes {
public:
  /// Groups have at most `vectors` vectors of rows.
  ProgramOnLanes(VectorEmitter &emitter, KeyBlockOpInterface op,
                 int64_t vectors, ScratchAllocator allocate)
      : e(emitter), b(emitter.builder()), op(op),
        loads(emitter, op, vectors, allocate) {}

  bool hasScore() { return !op.getScore().empty(); }
  bool hasMask() { return !op.getMask().empty(); }
  bool hasProbability() { return op.getWeightProgram(); }

  /// The next programs are for `vectors` vectors of rows from row `group` of
  /// the tile on, which has `rowCount` rows, and for keys [keyBegin, keyEnd) of
  /// the block. Emits what they share, at a point that dominates their uses.
  /// Returns an i1 that is false if no pair is visible, or null.
  mlir::Value beginGroup(mlir::Value group, int64_t vectors,
                         mlir::Value rowCount, mlir::Value keyBegin,
                         mlir::Value keyEnd);

  /// The score program's value for `score`, lanes of vector `v`, and key `j` of
  /// the block.
  mlir::Value score(mlir::Value score, mlir::Value j, int64_t v);
  /// i1 lanes: which rows of vector `v` see key `j` of the block.
  mlir::Value visible(mlir::Value j, int64_t v);
  /// The probability program's value for `weight`, or that itself. Weights of 0
  /// are those of hidden pairs and of padding, and stay 0.
  mlir::Value probability(mlir::Value weight, mlir::Value j, int64_t v);

private:
  /// A comparison of the key with something of the row, on 32 bits and with the
  /// row's side computed once.
  struct KeyComparison {
    mlir::arith::CmpIOp op;
    mlir::arith::CmpIPredicate predicate;
    /// What the key's number in the block is compared with.
    mlir::Value bound;
  };
  /// What a program computes from the rows of one vector alone.
  struct RowPart {
    mlir::IRMapping known;
    llvm::SmallVector<KeyComparison> comparisons;
  };

  void beginProgram(mlir::Region &program, mlir::Value row, RowPart &part);
  mlir::Value evaluate(mlir::Region &program, const RowPart &part,
                       mlir::Value value, mlir::Value j, int64_t v);
  mlir::Value add(mlir::Value x, mlir::Value y);

  VectorEmitter &e;
  mlir::ImplicitLocOpBuilder &b;
  KeyBlockOpInterface op;
  StagedLoads loads;
  /// For each vector of rows.
  llvm::SmallVector<RowPart> scoreParts, maskParts, probabilityParts;
};

} // namespace attn

#endif // ATTN_LIB_CODEGEN_CPU_PROGRAMONLANES_H
