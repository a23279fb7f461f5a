//===- RotationOps.cpp - Rotary embeddings as plain loops -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cosines and sines of each row come first: heads share them.
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;

using arith::CmpIPredicate;

namespace {

/// What rows are turned by.
struct Turns {
  Value cos, sin;
};

Value toF64(ScalarBuilder &b, Value index) {
  Value integer = arith::IndexCastOp::create(b.builder, b.loc,
                                             b.builder.getI64Type(), index);
  return arith::SIToFPOp::create(b.builder, b.loc, b.builder.getF64Type(),
                                 integer);
}

/// `[S, P]` or `[B, S, P]` of what `element(body, position, pair, isCosine)`
/// makes of each position and pair.
Turns buildTurns(TensorLoops &build, ArrayRef<OpFoldResult> sizes, Type type,
                 Value positions, Value offset,
                 function_ref<Value(LoopBody &, Value, Value, bool)> element) {
  unsigned rowLoop = sizes.size() - 2;
  auto buildTable = [&](bool isCosine) {
    return build.map(sizes, type, {}, [&](LoopBody &b) -> Value {
      Value position = b.loop(rowLoop);
      if (positions) {
        SmallVector<Value> row;
        for (unsigned d = 0; d <= rowLoop; ++d)
          row.push_back(b.loop(d));
        position = b.toIndex(b.loadBroadcast(positions, row));
      } else if (offset) {
        position = b.add(position, offset);
      }
      return b.cast(element(b, position, b.loop(rowLoop + 1), isCosine), type);
    });
  };
  return {buildTable(true), buildTable(false)};
}

Value cosineOrSine(ScalarBuilder &b, Value angle, bool isCosine) {
  if (isCosine)
    return math::CosOp::create(b.builder, b.loc, angle);
  return math::SinOp::create(b.builder, b.loc, angle);
}

/// `input`, of rank 4 or 2, turned by tables of the sum type.
Value buildRotated(TensorLoops &build, Value input, RopeLayout layout,
                   Turns turns, int64_t pairs) {
  auto type = cast<RankedTensorType>(input.getType());
  Type element = type.getElementType(), sum = getSumType(element);
  unsigned rank = type.getRank();
  int64_t headDim = type.getDimSize(rank - 1);
  bool hasBatch = cast<RankedTensorType>(turns.cos.getType()).getRank() == 3;
  return build.map(
      build.sizes(input), element, input, [&](LoopBody &b) -> Value {
        SmallVector<Value> at;
        for (unsigned d = 0; d < rank; ++d)
          at.push_back(b.loop(d));
        Value d = at.back(), pair, partner, isFirst;
        if (layout == RopeLayout::Interleaved) {
          Value one = b.index(1), two = b.index(2);
          pair = b.div(d, two);
          isFirst = b.compare(CmpIPredicate::eq, b.mul(pair, two), d);
          partner = b.select(isFirst, b.add(d, one), b.sub(d, one));
        } else {
          Value step = b.index(pairs);
          isFirst = b.compare(CmpIPredicate::slt, d, step);
          pair = b.select(isFirst, d, b.sub(d, step));
          partner = b.select(isFirst, b.add(d, step), b.sub(d, step));
        }
        // Features past the rotary dim pass through; their partner is not used.
        bool whole = 2 * pairs == headDim;
        if (!whole) {
          pair = arith::MinSIOp::create(b.builder, b.loc, pair,
                                        b.index(pairs - 1));
          partner = arith::MinSIOp::create(b.builder, b.loc, partner,
                                           b.index(headDim - 1));
        }
        SmallVector<Value> turn;
        if (hasBatch)
          turn.push_back(at.front());
        turn.append({at[rank - 2], pair});
        at.back() = partner;
        Value x = b.cast(b.inputs[0], sum);
        Value y = b.cast(b.load(input, at), sum);
        Value along = b.mul(x, b.load(turns.cos, turn));
        Value across = b.mul(y, b.load(turns.sin, turn));
        Value turned =
            b.select(isFirst, b.sub(along, across), b.add(along, across));
        turned = b.cast(turned, element);
        if (whole)
          return turned;
        return b.select(b.compare(CmpIPredicate::slt, d, b.index(2 * pairs)),
                        turned, b.inputs[0]);
      });
}

} // namespace

Value attn::lower(TensorLoops &build, RopeOp op) {
  Type sum = getSumType(getElementTypeOrSelf(op.getInput().getType()));
  Type f64 = build.builder.getF64Type();
  auto half = static_cast<int64_t>(op.getRotaryDim() / 2);
  SmallVector<OpFoldResult> sizes = build.sizes(op.getInput()), tableSizes;
  if (op.getPositionIds())
    tableSizes.push_back(sizes[0]);
  tableSizes.append({sizes[2], build.builder.getIndexAttr(half)});
  Turns turns = buildTurns(
      build, tableSizes, sum, op.getPositionIds(), op.getOffset(),
      [&](LoopBody &b, Value position, Value pair, bool isCosine) -> Value {
        if (Value table = isCosine ? op.getCos() : op.getSin())
          return b.loadClamped(table, {position, pair});
        Value exponent =
            b.div(toF64(b, pair), b.constant(f64, -static_cast<double>(half)));
        Value frequency = math::PowFOp::create(
            b.builder, b.loc, b.constant(f64, op.getBase().convertToDouble()),
            exponent);
        return cosineOrSine(b, b.mul(toF64(b, position), frequency), isCosine);
      });
  return buildRotated(build, op.getInput(), op.getLayout(), turns, half);
}

Results attn::lower(TensorLoops &build, RopeTablesOp op) {
  Turns turns = buildTurns(
      build, build.sizes(op.getCos()),
      getElementTypeOrSelf(op.getCos().getType()), op.getPositions(),
      op.getOffset(),
      [&](LoopBody &b, Value position, Value pair, bool isCosine) -> Value {
        if (op.getFrequencies())
          return cosineOrSine(
              b, b.mul(toF64(b, position), b.load(op.getFrequencies(), pair)),
              isCosine);
        return b.loadClamped(isCosine ? op.getCosTable() : op.getSinTable(),
                             {position, pair});
      });
  return {turns.cos, turns.sin};
}

Value attn::lower(TensorLoops &build, RotateOp op) {
  return buildRotation(build, op.getSource(), op.getLayout(), op.getCos(),
                       op.getSin());
}

Value attn::buildRotation(TensorLoops &build, Value input, RopeLayout layout,
                          Value cos, Value sin) {
  Type sum = getSumType(getElementTypeOrSelf(input.getType()));
  Turns turns{build.castElements(cos, sum), build.castElements(sin, sum)};
  return buildRotated(build, input, layout, turns,
                      cast<RankedTensorType>(cos.getType()).getShape().back());
}
