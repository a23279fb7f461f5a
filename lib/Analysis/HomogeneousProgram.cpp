//===- HomogeneousProgram.cpp - Programs that scale with their value ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each value is constant in p, or scales with it, or neither is known. Casts to
// narrower types are no multiplications: they round a weight and its multiple
// differently.
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/HomogeneousProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace {

class Homogeneity {
public:
  explicit Homogeneity(Region &program) {
    scaled.insert(program.getArgument(0));
  }

  /// Whether `op` keeps to what is known; its result then is.
  bool visit(Operation &op) {
    bool isConstant = true;
    op.walk([&](Operation *nested) {
      isConstant &= llvm::none_of(nested->getOperands(), [&](Value operand) {
        return scaled.contains(operand);
      });
    });
    if (isConstant)
      return true;
    if (!keepsScale(op))
      return false;
    scaled.insert(op.getResult(0));
    return true;
  }

  /// 0 is a multiple of everything.
  bool isScaled(Value value) const {
    return scaled.contains(value) || matchPattern(value, m_AnyZeroFloat());
  }

private:
  bool keepsScale(Operation &op) const {
    auto at = [&](unsigned n) { return op.getOperand(n); };
    if (isa<arith::MulFOp>(op))
      return scaled.contains(at(0)) != scaled.contains(at(1));
    if (isa<arith::DivFOp>(op))
      return !scaled.contains(at(1));
    if (isa<arith::NegFOp>(op))
      return true;
    if (isa<arith::AddFOp, arith::SubFOp>(op))
      return isScaled(at(0)) && isScaled(at(1));
    if (isa<arith::SelectOp>(op))
      return !scaled.contains(at(0)) && isScaled(at(1)) && isScaled(at(2));
    return false;
  }

  llvm::DenseSet<Value> scaled;
};

} // namespace

bool attn::isHomogeneousProgram(Region &program, Operation **culprit) {
  Homogeneity homogeneity(program);
  for (Operation &op : program.front().without_terminator())
    if (!homogeneity.visit(op)) {
      if (culprit)
        *culprit = &op;
      return false;
    }
  if (culprit)
    *culprit = nullptr;
  return homogeneity.isScaled(program.front().getTerminator()->getOperand(0));
}
