//===- ProgramSlice.cpp - What a program's value comes from ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/ProgramSlice.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

bool attn::dependsOn(Value value, Region &program, ValueRange sources) {
  // Values may share operands: each is looked at once.
  llvm::SetVector<Value> slice;
  slice.insert(value);
  for (size_t i = 0; i < slice.size(); ++i) {
    Value part = slice[i];
    if (!program.isAncestor(part.getParentRegion()))
      continue;
    if (llvm::is_contained(sources, part))
      return true;
    if (Operation *op = part.getDefiningOp())
      slice.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

Operation *attn::getIntegerOp(Value value, Region &program) {
  if (!program.isAncestor(value.getParentRegion()) ||
      value.getType().isInteger(1) || matchPattern(value, m_Constant()))
    return nullptr;
  return value.getDefiningOp();
}
