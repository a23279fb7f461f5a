//===- InlineProgram.cpp - Programs at a place in code --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlineProgram.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

Value attn::inlineProgram(ImplicitLocOpBuilder &b, Region &program,
                          ValueRange arguments) {
  IRMapping mapping;
  mapping.map(program.getArguments(), arguments);
  for (Operation &op : program.front().without_terminator())
    b.clone(op, mapping);
  return mapping.lookupOrDefault(
      program.front().getTerminator()->getOperand(0));
}
