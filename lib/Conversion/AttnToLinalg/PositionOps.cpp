//===- PositionOps.cpp - Tables of positions as plain loops ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

using arith::CmpIPredicate;

namespace {

OpFoldResult sizeOr(OpBuilder &builder, Value size, Value result, int64_t dim) {
  if (size)
    return size;
  return builder.getIndexAttr(
      cast<RankedTensorType>(result.getType()).getDimSize(dim));
}

/// A token's sequence `n`, where that begins and ends, and whether there is
/// one.
struct Sequence {
  Value number, begin, end, exists;
};

/// Searches the bounds `cu` for `token`: how many of them are not behind it.
Sequence findSequence(ScalarBuilder &b, Value cu, Value token) {
  Value count = b.dim(cu, 0), zero = b.index(0), one = b.index(1);
  Type i64 = b.builder.getI64Type();
  // Each step halves what is left: as many as the count has bits.
  Value zeros = math::CountLeadingZerosOp::create(
      b.builder, b.loc,
      arith::IndexCastOp::create(b.builder, b.loc, i64, count));
  Value steps = b.sub(b.index(64), b.toIndex(zeros));
  auto search = scf::ForOp::create(b.builder, b.loc, zero, steps, one,
                                   ValueRange{zero, count});
  {
    OpBuilder::InsertionGuard guard(b.builder);
    b.builder.setInsertionPointToStart(search.getBody());
    Value low = search.getRegionIterArg(0), high = search.getRegionIterArg(1);
    Value middle = b.div(b.add(low, high), b.index(2));
    Value bound = b.toIndex(b.loadClamped(cu, middle));
    Value isOpen = b.compare(CmpIPredicate::slt, low, high);
    Value isBehind = b.compare(CmpIPredicate::sgt, bound, token);
    Value newLow = b.select(isBehind, low, b.add(middle, one));
    Value newHigh = b.select(isBehind, middle, high);
    scf::YieldOp::create(b.builder, b.loc,
                         ValueRange{b.select(isOpen, newLow, low),
                                    b.select(isOpen, newHigh, high)});
  }
  Value next = search.getResult(0), number = b.sub(next, one);
  Value exists = b.logicalAnd(b.compare(CmpIPredicate::sge, number, zero),
                              b.compare(CmpIPredicate::slt, next, count));
  return {number, b.toIndex(b.loadClamped(cu, number)),
          b.toIndex(b.loadClamped(cu, next)), exists};
}

/// `[1, T]` of what `body` makes of each token.
template <typename SequenceOp>
Value mapTokens(TensorLoops &build, SequenceOp op,
                function_ref<Value(LoopBody &, Value, const Sequence &)> body) {
  Type element = getElementTypeOrSelf(op.getResult().getType());
  OpFoldResult sizes[] = {
      build.builder.getIndexAttr(1),
      sizeOr(build.builder, op.getLength(), op.getResult(), 1)};
  return build.map(sizes, element, {}, [&](LoopBody &b) -> Value {
    Value token = b.loop(1);
    Value result = body(b, token, findSequence(b, op.getCu(), token));
    return arith::IndexCastOp::create(b.builder, b.loc, element, result);
  });
}

} // namespace

Value attn::lower(TensorLoops &build, SequenceIdsOp op) {
  return mapTokens(build, op,
                   [&](LoopBody &b, Value token, const Sequence &sequence) {
                     return b.select(sequence.exists, sequence.number,
                                     b.index(op.getOutsideAttr().getInt()));
                   });
}

Value attn::lower(TensorLoops &build, SequencePositionsOp op) {
  return mapTokens(
      build, op, [&](LoopBody &b, Value token, const Sequence &sequence) {
        Value from = op.getFromEnd() ? sequence.end : sequence.begin;
        return b.select(sequence.exists, b.sub(token, from), b.index(0));
      });
}

Value attn::lower(TensorLoops &build, SinusoidalOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Type f64 = build.builder.getF64Type();
  OpFoldResult sizes[] = {
      sizeOr(build.builder, op.getRows(), op.getResult(), 0),
      build.builder.getIndexAttr(type.getDimSize(1))};
  return build.map(sizes, type.getElementType(), {}, [&](LoopBody &b) -> Value {
    auto toF64 = [&](Value index) -> Value {
      Value integer = arith::IndexCastOp::create(b.builder, b.loc,
                                                 b.builder.getI64Type(), index);
      return arith::SIToFPOp::create(b.builder, b.loc, f64, integer);
    };
    Value position = b.loop(0), column = b.loop(1), two = b.index(2);
    if (op.getOffset())
      position = b.add(position, op.getOffset());
    Value even = b.mul(b.div(column, two), two);
    Value exponent = b.div(
        toF64(even), b.constant(f64, static_cast<double>(type.getDimSize(1))));
    Value period = math::PowFOp::create(b.builder, b.loc,
                                        b.constant(f64, 10000.0), exponent);
    Value angle = b.div(toF64(position), period);
    Value isEven = b.compare(CmpIPredicate::eq, even, column);
    Value result =
        b.select(isEven, math::SinOp::create(b.builder, b.loc, angle),
                 math::CosOp::create(b.builder, b.loc, angle));
    return b.cast(result, type.getElementType());
  });
}
