//===- MatrixProduct.cpp - Which linalg ops are matrix products -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/MatrixProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;
using namespace attn;

/// The body `yield(acc + a * b)` with optional widening of a and b.
static bool isMultiplyAdd(Block &body) {
  auto yield = cast<linalg::YieldOp>(body.getTerminator());
  auto add = yield.getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  Value acc = body.getArgument(2);
  Value product = add.getLhs() == acc ? add.getRhs() : add.getLhs();
  if (add.getLhs() != acc && add.getRhs() != acc)
    return false;
  auto mul = product.getDefiningOp<arith::MulFOp>();
  if (!mul)
    return false;
  auto source = [](Value value) {
    if (auto extend = value.getDefiningOp<arith::ExtFOp>())
      return extend.getIn();
    return value;
  };
  Value x = source(mul.getLhs()), y = source(mul.getRhs());
  Value lhs = body.getArgument(0), rhs = body.getArgument(1);
  return (x == lhs && y == rhs) || (x == rhs && y == lhs);
}

FailureOr<MatrixProduct> attn::matchMatrixProduct(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumDpsInputs() != 2 ||
      linalgOp.getNumDpsInits() != 1 || linalgOp.getNumReductionLoops() != 1)
    return failure();
  SmallVector<AffineMap> maps = linalgOp.getIndexingMapsArray();
  unsigned loops = linalgOp.getNumLoops();
  // Result dims are the parallel loops in order; k is the last loop.
  if (loops < 3 ||
      linalgOp.getIteratorTypesArray().back() != utils::IteratorType::reduction)
    return failure();
  MLIRContext *context = op->getContext();
  AffineExpr n = getAffineDimExpr(loops - 2, context);
  AffineExpr k = getAffineDimExpr(loops - 1, context);
  SmallVector<AffineExpr> leading;
  for (unsigned d = 0; d + 2 < loops; ++d)
    leading.push_back(getAffineDimExpr(d, context));
  auto mapOf = [&](ArrayRef<AffineExpr> prefix, ArrayRef<AffineExpr> rest) {
    SmallVector<AffineExpr> exprs(prefix);
    llvm::append_range(exprs, rest);
    return AffineMap::get(loops, 0, exprs, context);
  };
  bool plain = maps[1] == mapOf({}, {k, n});
  bool transposed = maps[1] == mapOf({}, {n, k});
  if (maps[0] != mapOf(leading, {k}) || maps[2] != mapOf(leading, {n}) ||
      !(plain || transposed) || !isMultiplyAdd(*linalgOp.getBlock()))
    return failure();
  // Panels of B are laid out by its depth.
  auto rhsType = cast<ShapedType>(linalgOp.getDpsInputs()[1].getType());
  if (rhsType.isDynamicDim(plain ? 0 : 1))
    return failure();
  Value result = linalgOp.getDpsInits()[0];
  auto type = cast<ShapedType>(result.getType());
  if (!type.getElementType().isF32())
    return failure();
  for (Value input : linalgOp.getDpsInputs())
    if (!cast<ShapedType>(input.getType()).getElementType().isF32())
      return failure();
  return MatrixProduct{linalgOp, linalgOp.getDpsInputs()[0],
                       linalgOp.getDpsInputs()[1], result, transposed};
}
