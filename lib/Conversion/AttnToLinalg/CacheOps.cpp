//===- CacheOps.cpp - Caches as plain loops -------------------------------===//
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

Value attn::buildPages(TensorLoops &build, Value pages, Value table) {
  SmallVector<OpFoldResult> sizes = build.sizes(pages);
  Value pageRows = build.dim(pages, 2);
  sizes[0] = build.sizes(table)[0];
  sizes[2] = getAsOpFoldResult(build.mul(build.dim(table, 1), pageRows));
  enum { B, H, J, D };
  return build.map(
      sizes, getElementTypeOrSelf(pages.getType()), {}, [&](LoopBody &b) {
        Value page =
            b.toIndex(b.load(table, {b.loop(B), b.div(b.loop(J), pageRows)}));
        Value row =
            arith::RemUIOp::create(b.builder, b.loc, b.loop(J), pageRows);
        return b.loadClamped(pages, {page, b.loop(H), row, b.loop(D)});
      });
}

Value attn::buildDequantized(TensorLoops &build, Value input, Value scale,
                             Type element) {
  Type sum = getSumType(getElementTypeOrSelf(scale.getType()));
  if (element.isF64())
    sum = element;
  int64_t rank = cast<ShapedType>(scale.getType()).getRank();
  return build.map(build.sizes(input), element, input, [&](LoopBody &b) {
    Value x = arith::SIToFPOp::create(b.builder, b.loc, sum, b.inputs[0]);
    SmallVector<Value> row;
    for (int64_t d = 0; d < rank; ++d)
      row.push_back(b.loop(d));
    Value factor = b.load(scale, row);
    return b.cast(b.mul(x, b.cast(factor, sum)), element);
  });
}

Value attn::lower(TensorLoops &build, GatherPagesOp op) {
  return buildPages(build, op.getPages(), op.getTable());
}

Value attn::lower(TensorLoops &build, DequantizeOp op) {
  return buildDequantized(build, op.getInput(), op.getScale(),
                          getElementTypeOrSelf(op.getResult().getType()));
}

Results attn::lower(TensorLoops &build, QuantizeOp op) {
  Type element = getElementTypeOrSelf(op.getScale().getType());
  SmallVector<OpFoldResult> sizes = build.sizes(op.getInput());
  TensorLoops::Sizes rows = ArrayRef(sizes).drop_back();
  enum { B, H, S, D };
  Value largest = build.loops(
      4, {{op.getInput(), {B, H, S, D}}},
      {build.fill(rows, element, 0.0), {B, H, S}}, [&](LoopBody &b) -> Value {
        Value magnitude = math::AbsFOp::create(b.builder, b.loc,
                                               b.cast(b.inputs[0], element));
        return arith::MaximumFOp::create(b.builder, b.loc, b.output, magnitude);
      });
  Value scale = build.map(rows, element, largest, [&](LoopBody &b) {
    return b.div(b.inputs[0], b.constant(element, 127.0));
  });
  Value result = build.loops(
      4, {{op.getInput(), {B, H, S, D}}, {scale, {B, H, S}}},
      {build.empty(sizes, build.builder.getI8Type()), {B, H, S, D}},
      [&](LoopBody &b) -> Value {
        Value ratio = b.div(b.cast(b.inputs[0], element), b.inputs[1]);
        Value rounded = math::RoundEvenOp::create(b.builder, b.loc, ratio);
        // Scales that are denormal are rounded too. 0 / 0 and numbers that are
        // none become 0: the conversion must see neither.
        Value largest = b.constant(element, 127.0);
        Value smallest = b.constant(element, -127.0);
        Value isNumber = arith::CmpFOp::create(
            b.builder, b.loc, arith::CmpFPredicate::ORD, rounded, rounded);
        rounded = arith::MinimumFOp::create(b.builder, b.loc, rounded, largest);
        rounded =
            arith::MaximumFOp::create(b.builder, b.loc, rounded, smallest);
        rounded = b.select(isNumber, rounded, b.constant(element, 0.0));
        return arith::FPToSIOp::create(b.builder, b.loc, b.builder.getI8Type(),
                                       rounded);
      });
  return {result, scale};
}

Value attn::lower(TensorLoops &build, CacheUpdateOp op) {
  auto type = cast<RankedTensorType>(op.getCache().getType());
  Value update = op.getUpdate();
  if (op.getLayout())
    update =
        buildRotation(build, update, *op.getLayout(), op.getCos(), op.getSin());
  Value rows = build.dim(op.getCache(), 2), count = build.dim(update, 2);
  bool perElement = isa<ShapedType>(op.getAt().getType());
  return build.map(
      build.sizes(op.getCache()), type.getElementType(), op.getCache(),
      [&](LoopBody &b) {
        SmallVector<Value> at;
        for (int64_t d = 0; d < type.getRank(); ++d)
          at.push_back(b.loop(d));
        Value position = op.getAt();
        if (perElement)
          position = b.toIndex(b.load(position, at[0]));
        // Before the first row, where all is dropped, no difference overflows.
        position = arith::MaxSIOp::create(b.builder, b.loc, position,
                                          b.sub(b.index(0), count));
        // The row of the update that lies in this one, if any.
        Value row = b.sub(at[2], position);
        if (op.getRolling()) {
          // Any row a whole number of caches away, the first that is there.
          Value rest = arith::RemSIOp::create(b.builder, b.loc, row, rows);
          Value negative = b.compare(CmpIPredicate::slt, rest, b.index(0));
          row = b.select(negative, b.add(rest, rows), rest);
          Value before = b.logicalAnd(
              b.compare(CmpIPredicate::slt, position, b.index(0)),
              b.compare(CmpIPredicate::slt, b.add(position, row), b.index(0)));
          row = b.select(before, b.index(-1), row);
        }
        Value inside =
            b.logicalAnd(b.compare(CmpIPredicate::sge, row, b.index(0)),
                         b.compare(CmpIPredicate::slt, row, count));
        at[2] = row;
        return b.select(inside, b.loadClamped(update, at), b.inputs[0]);
      });
}
