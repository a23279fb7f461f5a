//===- TileLinearAttention.cpp - Linear attention to parallel tasks -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// States of batch elements and key heads are independent, and so are columns of
// a state: a task is the same op on a slice of them. It goes through all
// tokens.
//
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

namespace {

/// A piece of one dimension.
struct Slice {
  OpFoldResult offset, size;
};

class LinearAttentionTiling {
public:
  LinearAttentionTiling(ImplicitLocOpBuilder &b, LinearAttentionOp op)
      : b(b), x{b}, op(op), schedule(*op.getSchedule()) {}

  void run() {
    auto query = cast<MemRefType>(op.getQuery().getType());
    int64_t keyHeads = cast<MemRefType>(op.getKey().getType()).getDimSize(1);
    int64_t group = query.getDimSize(1) / keyHeads;
    Value batches = x.dim(op.getQuery(), 0);
    int64_t width = cast<MemRefType>(op.getValue().getType()).getDimSize(3);
    OpFoldResult columns =
        chooseColumns(x.mul(batches, x.constant(keyHeads)), width);
    Value size = getValueOrCreateConstantIndexOp(b, b.getLoc(), columns);
    Value blocks = x.div(x.add(size, x.constant(width - 1)), size);
    auto tasks =
        scf::ForallOp::create(b,
                              ArrayRef<OpFoldResult>{getAsOpFoldResult(batches),
                                                     b.getIndexAttr(keyHeads),
                                                     getAsOpFoldResult(blocks)},
                              ValueRange(), std::nullopt);
    b.setInsertionPointToStart(tasks.getBody());
    Value keyHead = tasks.getInductionVar(1);
    batch = {tasks.getInductionVar(0), b.getIndexAttr(1)};
    Slice own{keyHead, b.getIndexAttr(1)};
    Slice queries{getAsOpFoldResult(x.mul(keyHead, x.constant(group))),
                  b.getIndexAttr(group)};
    Value first = x.mul(tasks.getInductionVar(2), size);
    block = {getAsOpFoldResult(first),
             getAsOpFoldResult(x.min(size, x.sub(x.constant(width), first)))};
    // Known where all blocks are equal.
    if (std::optional<int64_t> known = getConstantIntValue(columns);
        known && (width <= *known || width % *known == 0))
      block.size = b.getIndexAttr(std::min(width, *known));

    SmallVector<Value> outputs{viewColumns(op.getOutput(), queries)};
    if (Value final = op.getFinal())
      outputs.push_back(viewColumns(final, own));
    LinearAttentionOp::create(
        b, TypeRange(), view(op.getQuery(), queries), view(op.getKey(), own),
        viewColumns(op.getValue(), own), outputs, view(op.getDecay(), own),
        view(op.getBeta(), own), viewColumns(op.getInitial(), own),
        op.getScaleAttr(), op.getScheduleAttr());
  }

private:
  /// Columns of one task: those of the schedule, or where that leaves threads
  /// without a task those of a register tile. A column's numbers do not depend
  /// on which others its task has.
  OpFoldResult chooseColumns(Value states, int64_t width) {
    int64_t most = schedule.getTile()[1];
    int64_t least = schedule.getRegisters()[1] * schedule.getLanes();
    if (most == least || width <= least)
      return b.getIndexAttr(most);
    Value threads = ThreadCountOp::create(b, b.getIndexType());
    Value wide = x.mul(states, x.constant(llvm::divideCeil(width, most)));
    return x.select(x.less(wide, threads), x.constant(least), x.constant(most));
  }

  /// The slice of `operand`, which may be null, for this task's batch element
  /// and `heads`.
  Value view(Value operand, Slice heads, std::optional<Slice> columns = {}) {
    if (!operand)
      return {};
    auto type = cast<MemRefType>(operand.getType());
    SmallVector<OpFoldResult> offsets{batch.offset, heads.offset},
        sizes{batch.size, heads.size},
        strides(type.getRank(), b.getIndexAttr(1));
    for (int64_t d = 2; d < type.getRank(); ++d) {
      offsets.push_back(b.getIndexAttr(0));
      sizes.push_back(type.isDynamicDim(d)
                          ? getAsOpFoldResult(x.dim(operand, d))
                          : OpFoldResult(b.getIndexAttr(type.getDimSize(d))));
    }
    if (columns) {
      offsets.back() = columns->offset;
      sizes.back() = columns->size;
    }
    return memref::SubViewOp::create(b, operand, offsets, sizes, strides);
  }
  Value viewColumns(Value operand, Slice heads) {
    return view(operand, heads, block);
  }

  ImplicitLocOpBuilder &b;
  IndexBuilder x;
  LinearAttentionOp op;
  ScheduleAttr schedule;
  Slice batch, block;
};

} // namespace

LogicalResult attn::tileLinearAttention(RewriterBase &rewriter,
                                        LinearAttentionOp op) {
  if (!isa<MemRefType>(op.getQuery().getType()))
    return op.emitOpError("must be on buffers to be tiled");
  if (!op.getSchedule())
    return op.emitOpError("has no schedule to be tiled by");
  if (!isStateKernel(op.getSchedule()->getKernel()))
    return op.emitOpError("has the schedule of ")
           << stringifyKernel(op.getSchedule()->getKernel())
           << ", expected one of linear attention";
  for (Value operand : op->getOperands()) {
    auto type = cast<MemRefType>(operand.getType());
    if (!isa<Float32Type, Float16Type, BFloat16Type>(type.getElementType()))
      return op.emitOpError("has no kernel for the element type ")
             << type.getElementType();
    if (!isStrided(operand))
      return op.emitOpError("must have strided operands to be tiled, got ")
             << type;
  }
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  LinearAttentionTiling(b, op).run();
  rewriter.eraseOp(op);
  return success();
}
