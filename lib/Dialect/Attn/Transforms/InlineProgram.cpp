//===- InlineProgram.cpp - Programs at a place in code --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InlineProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

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

static Value constantLike(ImplicitLocOpBuilder &b, Value score, double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(score.getType(), value));
}

Value attn::emitSoftmaxWeightOf(ImplicitLocOpBuilder &b, Value score,
                                const LogSumExp &logSumExp, ValueRange row) {
  Value logarithm = score;
  // One after the other: their sum is the rounded one again.
  for (Value part : {logSumExp.rounded, logSumExp.remainder})
    logarithm = arith::SubFOp::create(b, logarithm,
                                      tensor::ExtractOp::create(b, part, row));
  // No weight is above 1, however the other pass rounds the score.
  Value zero = constantLike(b, score, 0.0);
  Value isAbove =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, zero, logarithm);
  logarithm = arith::SelectOp::create(b, isAbove, zero, logarithm);
  Value exponent = arith::MulFOp::create(
      b, logarithm, constantLike(b, score, llvm::numbers::log2e));
  return math::Exp2Op::create(b, exponent);
}

Value attn::emitSelectVisible(ImplicitLocOpBuilder &b, Value score,
                              Value weight) {
  Value isHidden = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, score,
                                         constantLike(b, score, -INFINITY));
  return arith::SelectOp::create(b, isHidden, constantLike(b, score, 0.0),
                                 weight);
}
