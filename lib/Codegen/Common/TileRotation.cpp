//===- TileRotation.cpp - Rotary embeddings to parallel tasks -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task of either op is a chunk of rows: of the tables, or of one head.
//
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

namespace {

/// Rows of a task: enough to be worth one, and still in L1.
constexpr int64_t kChunkRows = 64;

/// Calls `body` in tasks of chunks of `rowCount` rows, with the leading indices
/// below `leading`, the first row and the number of rows.
void emitChunks(ImplicitLocOpBuilder &b, ValueRange leading, Value rowCount,
                function_ref<void(ValueRange, Value, Value)> body) {
  IndexBuilder x{b};
  SmallVector<OpFoldResult> bounds = getAsOpFoldResult(leading);
  bounds.push_back(getAsOpFoldResult(x.ceilDiv(rowCount, kChunkRows)));
  auto tasks = scf::ForallOp::create(b, bounds, ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(tasks.getBody());
  SmallVector<Value> at(tasks.getInductionVars());
  Value first = x.mul(at.pop_back_val(), x.constant(kChunkRows));
  body(at, first, x.min(x.constant(kChunkRows), x.sub(rowCount, first)));
}

/// Rank-2 rows of `cos` or `sin` of a batch element.
Value viewTurns(ImplicitLocOpBuilder &b, Value turns, Value batch, Value first,
                Value rows) {
  bool hasBatch = cast<MemRefType>(turns.getType()).getRank() == 3;
  return viewRows(b, turns, hasBatch ? ValueRange(batch) : ValueRange(), first,
                  rows);
}

LogicalResult verifyOnBuffers(DestinationStyleOpInterface op) {
  for (Value operand : op->getOperands())
    if (isa<ShapedType>(operand.getType()) &&
        (!isa<MemRefType>(operand.getType()) || !isStrided(operand)))
      return op.emitOpError("must have strided buffers to be tiled, got ")
             << operand.getType();
  return success();
}

} // namespace

void attn::emitRotation(ImplicitLocOpBuilder &b, Value source, Value dest,
                        Value cos, Value sin, RopeLayout layout, Value batch,
                        Value first, Value rows) {
  RotateOp::create(b, TypeRange(), source,
                   viewTurns(b, cos, batch, first, rows),
                   viewTurns(b, sin, batch, first, rows), dest, layout);
}

LogicalResult attn::tileRotate(RewriterBase &rewriter, RotateOp op) {
  if (failed(verifyOnBuffers(op)))
    return failure();
  // The tile form.
  if (cast<MemRefType>(op.getSource().getType()).getRank() == 2)
    return success();
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  IndexBuilder x{b};
  Value heads[] = {x.dim(op.getSource(), 0), x.dim(op.getSource(), 1)};
  emitChunks(b, heads, x.dim(op.getSource(), 2),
             [&](ValueRange own, Value first, Value rows) {
               emitRotation(b, viewRows(b, op.getSource(), own, first, rows),
                            viewRows(b, op.getDest(), own, first, rows),
                            op.getCos(), op.getSin(), op.getLayout(), own[0],
                            first, rows);
             });
  rewriter.eraseOp(op);
  return success();
}

LogicalResult attn::tileRopeTables(RewriterBase &rewriter, RopeTablesOp op) {
  if (failed(verifyOnBuffers(op)))
    return failure();
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  IndexBuilder x{b};
  int64_t rank = cast<MemRefType>(op.getCos().getType()).getRank();
  SmallVector<Value> batches;
  if (rank == 3)
    batches.push_back(x.dim(op.getCos(), 0));
  emitChunks(b, batches, x.dim(op.getCos(), rank - 2),
             [&](ValueRange own, Value first, Value rows) {
               Value offset = op.getOffset(), positions = op.getPositions();
               if (positions)
                 positions = viewRows(b, positions, own, first, rows);
               else
                 offset = offset ? x.add(offset, first) : first;
               RopeTablesOp::create(b, TypeRange(), op.getFrequencies(),
                                    op.getCosTable(), op.getSinTable(), offset,
                                    positions,
                                    viewRows(b, op.getCos(), own, first, rows),
                                    viewRows(b, op.getSin(), own, first, rows));
             });
  rewriter.eraseOp(op);
  return success();
}
