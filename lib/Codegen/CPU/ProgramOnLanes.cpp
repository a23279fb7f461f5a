//===- ProgramOnLanes.cpp - Programs of a block on query rows -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramOnLanes.h"
#include "ProgramVectorizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

Value ProgramOnLanes::add(Value x, Value y) {
  return arith::AddIOp::create(b, x, y);
}

Value ProgramOnLanes::beginGroup(Value group, int64_t vectors, Value rowCount,
                                 Value keyBegin, Value keyEnd) {
  scoreOfRows.assign(vectors, IRMapping());
  maskOfRows.assign(vectors, IRMapping());
  if (!hasScore() && !hasMask())
    return {};
  // Padding repeats the last row: a program must not see a row that does not
  // exist.
  Value last = arith::SubIOp::create(b, add(op.getI(), rowCount), e.index(1));
  Value first = add(op.getI(), group);
  for (int64_t v = 0; v < vectors; ++v) {
    Value row = arith::AddIOp::create(
        b, e.broadcast(v == 0 ? first : add(first, e.index(v * e.getLanes()))),
        vector::StepOp::create(b, e.vectorType(b.getIndexType())));
    row = arith::MinSIOp::create(b, row, e.broadcast(last));
    if (hasScore())
      vectorizeKnownPart(e, op.getScore(),
                         {Value(), op.getB(), op.getH(), row, Value()},
                         scoreOfRows[v]);
    if (hasMask())
      vectorizeKnownPart(e, op.getMask(), {op.getB(), op.getH(), row, Value()},
                         maskOfRows[v]);
  }
  return loads.stage(first, last, vectors, keyBegin, keyEnd);
}

Value ProgramOnLanes::score(Value score, Value j, int64_t v) {
  IRMapping known = scoreOfRows[v];
  Region &program = op.getScore();
  loads.addTo(known, program, j, v);
  return vectorizeProgram(e, program,
                          {score, op.getB(), op.getH(),
                           known.lookup(program.getArgument(3)),
                           add(op.getJ(), j)},
                          known);
}

Value ProgramOnLanes::visible(Value j, int64_t v) {
  IRMapping known = maskOfRows[v];
  Region &program = op.getMask();
  loads.addTo(known, program, j, v);
  return vectorizeProgram(e, program,
                          {op.getB(), op.getH(),
                           known.lookup(program.getArgument(2)),
                           add(op.getJ(), j)},
                          known);
}
