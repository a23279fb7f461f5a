//===- TileAttention.cpp - Heavy ops to parallel tasks of tile ops --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Works on buffers, so that each task's views and scratch are explicit. One
// task of attention is one tile of query rows of one head: pack the queries,
// walk the key blocks that the mask program leaves, merge. Scratch is a static
// `memref.alloc` in the task, which code generation turns into a slice of the
// thread's memory.
//
//===----------------------------------------------------------------------===//

#include "AttentionTiling.h"
#include "attn/Analysis/HomogeneousProgram.h"
#include "attn/Codegen/Common/Passes.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

namespace attn {
#define GEN_PASS_DEF_TILEATTENTIONPASS
#include "attn/Codegen/Common/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// `memref<Mx...>` as `memref<1xMx...>`.
Value addLeadingOne(ImplicitLocOpBuilder &b, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides, shape{1};
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  llvm::append_range(shape, type.getShape());
  // The stride of the single partial is never used.
  strides.insert(strides.begin(), 1);
  auto result =
      MemRefType::get(shape, type.getElementType(),
                      StridedLayoutAttr::get(b.getContext(), offset, strides));
  return memref::ReinterpretCastOp::create(b, result, memref, offset, shape,
                                           strides);
}

} // namespace

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void AttentionTiling::run() {
  Value batches = x.dim(op.getQuery(), 0), heads = x.dim(op.getQuery(), 1);
  readKeys();
  values.memref = op.getValue();
  values.scale = op.getValueScale();
  if (schedule.getKernel() == Kernel::FeaturesInLanes)
    return emitFewRows(batches);
  keyGroup = x.div(heads, x.dim(op.getKey(), 1));
  valueGroup = x.div(heads, x.dim(op.getValue(), 1));
  if (isPaired())
    return emitPairedTasks(batches, heads);
  Value tiles = x.ceilDiv(queryCount, tileRows);
  auto tasks =
      scf::ForallOp::create(b,
                            ArrayRef<OpFoldResult>{getAsOpFoldResult(batches),
                                                   getAsOpFoldResult(heads),
                                                   getAsOpFoldResult(tiles)},
                            ValueRange(), std::nullopt);
  b.setInsertionPointToStart(tasks.getBody());
  Value batch = tasks.getInductionVar(0), head = tasks.getInductionVar(1);
  // Late rows of a causal mask see most keys: longest tasks first.
  Value tile = x.sub(x.sub(tiles, x.constant(1)), tasks.getInductionVar(2));
  emitTask(batch, head, x.mul(tile, x.constant(tileRows)));
}

void AttentionTiling::emitTask(Value batch, Value head, Value firstRow) {
  rows = x.min(x.constant(tileRows), x.sub(queryCount, firstRow));
  Value zero = x.constant(0);
  SmallVector<Value> own{batch, head};
  keys.at = {batch, x.div(head, keyGroup)};
  // Dynamic head counts may differ: each operand has its own groups.
  values.at = {batch, x.div(head, valueGroup)};
  Value query = readQuery(own, firstRow, rows, tileRows);
  int64_t valueDim = cast<MemRefType>(op.getValue().getType()).getDimSize(3);
  Value queryTile;
  if (isPaired()) {
    int64_t storedDim = cast<MemRefType>(keys.memref.getType()).getDimSize(3);
    queryTile = memref::AllocOp::create(
        b, MemRefType::get({storedDim / 2, tileRows, 2}, b.getBF16Type()));
    PackOp::create(b, TypeRange(), query, queryTile, b.getF64FloatAttr(1.0));
  } else {
    queryTile = packQueries(query, head);
  }
  int64_t storedValueDim =
      isPaired() ? cast<MemRefType>(values.memref.getType()).getDimSize(3)
                 : valueDim;
  Type type = op.getScoreType();
  acc = isPaired() ? allocate(b, {storedValueDim, tileRows}, type)
                   : allocateSpread(storedValueDim);
  max = allocate(b, {tileRows}, type);
  sum = allocate(b, {tileRows}, type);
  fill(b, acc, 0.0f);
  fill(b, max, -INFINITY);
  fill(b, sum, 0.0f);
  acc = transpose(b, acc);

  allocateScratch(keys);
  allocateScratch(values);
  // The next task is likely that of the rows before. A store of less than a
  // line reads it first.
  Value before = beginOfTile(firstRow);
  if (isPaired()) {
    // A line from memory takes as long as a panel: all at once would keep the
    // first panels waiting.
    upcoming = {
        viewRows(b, op.getQuery(), own, before, x.sub(firstRow, before)),
        viewRows(b, op.getOutput(), own, firstRow, rows)};
  } else {
    emitPrefetch(op.getQuery(), own, before, firstRow);
    emitPrefetch(op.getOutput(), own, firstRow, x.add(firstRow, rows),
                 /*isWrite=*/true);
  }
  emitBlocks(queryTile, {batch, head, firstRow}, rows, zero, keyCount);

  if (storedValueDim != valueDim)
    acc = viewBlock(acc, 0, tileRows, valueDim);
  SmallVector<Value> outputs;
  for (Value output : op.getInits())
    outputs.push_back(viewRows(b, output, own, firstRow, rows));
  MergePartialsOp::create(b, TypeRange(), addLeadingOne(b, acc),
                          addLeadingOne(b, max), addLeadingOne(b, sum), outputs,
                          loadSink(head), op.getUnnormalizedAttr());
}

Value AttentionTiling::readQuery(ValueRange own, Value firstRow, Value rows,
                                 int64_t maxRows) {
  Value query = viewRows(b, op.getQuery(), own, firstRow, rows);
  if (!op.getQueryLayout())
    return query;
  // Rounded to the type of the query, as the graph says.
  auto type = cast<MemRefType>(query.getType());
  int64_t headDim = type.getDimSize(1);
  Value scratch = memref::AllocOp::create(
      b, MemRefType::get({maxRows, headDim}, type.getElementType()));
  Value rotated = memref::SubViewOp::create(
      b, scratch, ArrayRef<OpFoldResult>{b.getIndexAttr(0), b.getIndexAttr(0)},
      ArrayRef<OpFoldResult>{getAsOpFoldResult(rows), b.getIndexAttr(headDim)},
      ArrayRef<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)});
  emitRotation(b, query, rotated, op.getQueryCos(), op.getQuerySin(),
               *op.getQueryLayout(), own[0], firstRow, rows);
  return rotated;
}

Value AttentionTiling::loadSink(Value head) {
  if (!op.getSink())
    return {};
  return memref::LoadOp::create(b, op.getSink(), head);
}

void AttentionTiling::emitFewRows(Value batches) {
  auto queryType = cast<MemRefType>(op.getQuery().getType());
  int64_t heads = queryType.getDimSize(1), headRows = queryType.getDimSize(2);
  int64_t keyHeads = cast<MemRefType>(op.getKey().getType()).getDimSize(1);
  int64_t group = heads / keyHeads, lanes = schedule.getLanes();
  int64_t headDim = queryType.getDimSize(3);
  int64_t valueDim = cast<MemRefType>(op.getValue().getType()).getDimSize(3);
  int64_t storedDim = llvm::alignTo(valueDim, lanes);
  int64_t split = schedule.getSplit() ? schedule.getSplit()
                                      : std::numeric_limits<int32_t>::max();
  // At least one, so that rows without keys are written too.
  Value parts = x.max(x.ceilDiv(keyCount, split), x.constant(1));

  // Partial results, one a task.
  auto allocatePartials = [&](ArrayRef<int64_t> tile) {
    SmallVector<int64_t> shape{ShapedType::kDynamic, keyHeads,
                               ShapedType::kDynamic};
    llvm::append_range(shape, tile);
    return memref::AllocOp::create(b, MemRefType::get(shape, op.getScoreType()),
                                   ValueRange{batches, parts})
        .getResult();
  };
  Value accs = allocatePartials({tileRows, storedDim});
  Value maxes = allocatePartials({tileRows});
  Value sums = allocatePartials({tileRows});
  {
    OpBuilder::InsertionGuard guard(b);
    auto tasks =
        scf::ForallOp::create(b,
                              ArrayRef<OpFoldResult>{getAsOpFoldResult(batches),
                                                     b.getIndexAttr(keyHeads),
                                                     getAsOpFoldResult(parts)},
                              ValueRange(), std::nullopt);
    b.setInsertionPointToStart(tasks.getBody());
    Value batch = tasks.getInductionVar(0), keyHead = tasks.getInductionVar(1),
          part = tasks.getInductionVar(2);
    keys.at = values.at = {batch, keyHead};
    Value firstHead = x.mul(keyHead, x.constant(group));

    bool exact = scalesScores();
    Type element = exact ? b.getBF16Type() : op.getScoreType();
    int64_t storedHeadDim = llvm::alignTo(headDim, exact ? 2 * lanes : lanes);
    Value storage = memref::AllocOp::create(
        b, MemRefType::get({tileRows, storedHeadDim}, element));
    fill(b, storage, 0.0f);
    for (int64_t g = 0; g < group; ++g) {
      SmallVector<Value> own{batch, x.add(firstHead, x.constant(g))};
      Value source =
          readQuery(own, x.constant(0), x.constant(headRows), headRows);
      PackOp::create(b, TypeRange(), source,
                     viewBlock(storage, g * headRows, headRows, headDim),
                     exact ? b.getF64FloatAttr(1.0) : op.getScaleAttr());
    }
    acc = viewPart(accs, batch, keyHead, part);
    max = viewPart(maxes, batch, keyHead, part);
    sum = viewPart(sums, batch, keyHead, part);
    fill(b, acc, 0.0f);
    fill(b, max, -INFINITY);
    fill(b, sum, 0.0f);
    acc = viewBlock(acc, 0, tileRows, valueDim);
    this->headRows = headRows;
    rows = x.constant(group * headRows);
    headGroup = group;
    allocateScratch(keys);
    allocateScratch(values);
    Value begin = x.mul(part, x.constant(split));
    Value end = x.min(keyCount, x.add(begin, x.constant(split)));
    emitBlocks(viewBlock(storage, 0, tileRows, headDim),
               {batch, firstHead, x.constant(0)}, x.constant(headRows), begin,
               end);
  }

  auto tasks = scf::ForallOp::create(
      b,
      ArrayRef<OpFoldResult>{getAsOpFoldResult(batches), b.getIndexAttr(heads)},
      ValueRange(), std::nullopt);
  b.setInsertionPointToStart(tasks.getBody());
  Value batch = tasks.getInductionVar(0), head = tasks.getInductionVar(1);
  Value keyHead = x.div(head, x.constant(group));
  Value firstRow = x.mul(x.sub(head, x.mul(keyHead, x.constant(group))),
                         x.constant(headRows));
  SmallVector<Value> own{batch, head};
  SmallVector<Value> outputs;
  for (Value output : op.getInits())
    outputs.push_back(
        viewRows(b, output, own, x.constant(0), x.constant(headRows)));
  MergePartialsOp::create(
      b, TypeRange(),
      viewPartials(accs, batch, keyHead, parts, firstRow, headRows, valueDim),
      viewPartials(maxes, batch, keyHead, parts, firstRow, headRows),
      viewPartials(sums, batch, keyHead, parts, firstRow, headRows), outputs,
      loadSink(head), op.getUnnormalizedAttr());
}

Value AttentionTiling::viewPart(Value partials, Value batch, Value keyHead,
                                Value part) {
  auto type = cast<MemRefType>(partials.getType());
  SmallVector<OpFoldResult> offsets{batch, keyHead, part};
  SmallVector<OpFoldResult> sizes(3, b.getIndexAttr(1));
  for (int64_t d = 3; d < type.getRank(); ++d) {
    offsets.push_back(b.getIndexAttr(0));
    sizes.push_back(b.getIndexAttr(type.getDimSize(d)));
  }
  return viewTrailing(b, partials, offsets, sizes, type.getRank() - 3);
}

Value AttentionTiling::viewPartials(Value partials, Value batch, Value keyHead,
                                    Value parts, Value row, int64_t rows,
                                    int64_t columns) {
  SmallVector<OpFoldResult> offsets{batch, keyHead, b.getIndexAttr(0),
                                    getAsOpFoldResult(row)};
  SmallVector<OpFoldResult> sizes{b.getIndexAttr(1), b.getIndexAttr(1),
                                  getAsOpFoldResult(parts),
                                  b.getIndexAttr(rows)};
  if (columns) {
    offsets.push_back(b.getIndexAttr(0));
    sizes.push_back(b.getIndexAttr(columns));
  }
  return viewTrailing(b, partials, offsets, sizes, sizes.size() - 2);
}

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

void AttentionTiling::emitBlock(Value queryTile, ValueRange at, Value key,
                                Value count, bool masked) {
  if (schedule.getKernel() == Kernel::FeaturesInLanes && !keys.scratch)
    return forEachRun(key, count, [&](const Run &run) {
      BlockOperands operands{viewRun(keys, keys.memref, run),
                             viewRun(values, values.memref, run)};
      if (keys.scale)
        operands.keyScale = viewRun(keys, keys.scale, run);
      if (values.scale)
        operands.valueScale = viewRun(values, values.scale, run);
      Value first = x.add(key, run.distance);
      if (run.page) {
        Run next = findRunAt(x.add(first, run.count));
        operands.upcoming = {viewRun(keys, keys.memref, next),
                             viewRun(values, values.memref, next)};
      }
      emitKernel(queryTile, at, first, operands, masked);
    });
  BlockOperands operands{readRows(keys, key, count),
                         isPaired()
                             ? viewRows(b, values.memref, values.at,
                                        x.div(key, x.constant(kPairedPanel)),
                                        x.ceilDiv(count, kPairedPanel))
                             : readRows(values, key, count)};
  // The first block that has room for it brings what the task needs next.
  if (!masked && !upcoming.empty()) {
    Value isFirst = x.equal(key, firstFullKey);
    for (Value rows : upcoming) {
      int64_t columns = cast<MemRefType>(rows.getType()).getDimSize(1);
      Value count = x.select(isFirst, x.dim(rows, 0), x.constant(0));
      operands.upcoming.push_back(memref::SubViewOp::create(
          b, rows, ArrayRef<OpFoldResult>{b.getIndexAttr(0), b.getIndexAttr(0)},
          ArrayRef<OpFoldResult>{count, b.getIndexAttr(columns)},
          ArrayRef<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)}));
    }
  }
  emitKernel(queryTile, at, key, operands, masked);
}

void AttentionTiling::emitKernel(Value queryTile, ValueRange at, Value key,
                                 const BlockOperands &operands, bool masked) {
  auto block = OnlineAttentionOp::create(
      b, TypeRange(), queryTile, operands.key, operands.value, acc, max, sum,
      at[0], at[1], at[2], x.add(at[3], key), rows, operands.upcoming, additive,
      operands.keyScale, operands.valueScale,
      scalesScores() ? op.getScaleAttr() : FloatAttr(),
      headRows ? b.getI64IntegerAttr(headRows) : IntegerAttr(),
      op.getUnnormalizedAttr(), schedule);
  clonePrograms(block, masked);
  IRMapping mapping;
  op.getProbability().cloneInto(&block.getProbability(), mapping);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

/// What the tiling of every fused op asks for. `floats` are the operands that
/// kernels read as floats or, where the op says so, as 8-bit integers.
LogicalResult verifyTileable(KeyBlocksOpInterface op, ValueRange floats) {
  if (!isa<MemRefType>(op.getQuery().getType()))
    return op->emitOpError("must be on buffers to be tiled");
  ScheduleAttr schedule = op.getScheduleAttr();
  if (!schedule)
    return op->emitOpError("has no schedule to be tiled by");
  if (schedule.getKernel() == Kernel::Gemm)
    return op->emitOpError("has the schedule of a matrix product");
  if (isStateKernel(schedule.getKernel()))
    return op->emitOpError("has the schedule of linear attention");
  if (op.getAdditive() && schedule.getKernel() != Kernel::QueriesInLanes)
    return op->emitOpError("has additive scores and the schedule of ")
           << stringifyKernel(schedule.getKernel())
           << ", which has dot products";
  for (Value operand : floats) {
    Type element = getElementTypeOrSelf(operand.getType());
    if (!isa<Float64Type, Float32Type, Float16Type, BFloat16Type>(element) &&
        !element.isInteger(8))
      return op->emitOpError("has no kernel for the element type ") << element;
  }
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType()) && !isStrided(operand))
      return op->emitOpError("must have strided operands to be tiled, got ")
             << operand.getType();
  return success();
}

/// Kernels widen operands to what they compute in.
LogicalResult verifyNarrow(KeyBlocksOpInterface op, ValueRange operands) {
  for (Value operand : operands)
    if (Type element = getElementTypeOrSelf(operand.getType());
        element.isF64() && op.getScoreType().isF32())
      return op->emitOpError("computes in ")
             << op.getScoreType() << ", but has operands of " << element;
  return success();
}

LogicalResult tileAttention(RewriterBase &rewriter, AttentionOp op) {
  if (failed(verifyTileable(op, op->getOperands().take_front(4))) ||
      failed(verifyNarrow(op, {op.getKey(), op.getValue()})))
    return failure();
  if (!op.getProbability().empty() &&
      !isHomogeneousProgram(op.getProbability()))
    return op.emitOpError("has a program on weights that needs normalised "
                          "ones, which attn-decompose-probability makes");
  Kernel kernel = op.getSchedule()->getKernel();
  if (isPairedKernel(kernel))
    for (Value operand : op->getOperands().take_front(3))
      if (Type element = getElementTypeOrSelf(operand.getType());
          !element.isBF16())
        return op.emitOpError("has the schedule of ")
               << stringifyKernel(kernel)
               << ", which takes bf16, but operands of " << element;
  if (isPairedKernel(kernel) && op.getTable())
    return op.emitOpError("has the schedule of ")
           << stringifyKernel(kernel) << ", which reads no pages";
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  AttentionTiling(b, op).run();
  rewriter.eraseOp(op);
  return success();
}

LogicalResult tileStats(RewriterBase &rewriter, AttentionStatsOp op) {
  SmallVector<Value> floats{op.getQuery(), op.getKey()}, narrow{op.getKey()};
  for (Value ofRows : {op.getLogSumExp(), op.getRemainder()})
    if (ofRows) {
      floats.push_back(ofRows);
      narrow.push_back(ofRows);
    }
  if (failed(verifyTileable(op, floats)) || failed(verifyNarrow(op, narrow)))
    return failure();
  if (op.getSchedule()->getKernel() != Kernel::QueriesInLanes)
    return op.emitOpError("has the schedule of ")
           << stringifyKernel(op.getSchedule()->getKernel())
           << ", which has no statistics";
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  StatsTiling(b, op).run();
  rewriter.eraseOp(op);
  return success();
}

class TileAttentionPass
    : public attn::impl::TileAttentionPassBase<TileAttentionPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> heavy;
    getOperation().walk([&](Operation *op) {
      if (isa<KeyBlocksOpInterface, LinearAttentionOp, RotateOp, RopeTablesOp>(
              op) ||
          (op->hasAttr(kScheduleAttrName) && succeeded(matchMatrixProduct(op))))
        heavy.push_back(op);
    });
    for (Operation *op : heavy) {
      if (failed(tile(rewriter, op)))
        return signalPassFailure();
    }
  }

  static LogicalResult tile(RewriterBase &rewriter, Operation *op) {
    if (auto attention = dyn_cast<AttentionOp>(op))
      return tileAttention(rewriter, attention);
    if (auto stats = dyn_cast<AttentionStatsOp>(op))
      return tileStats(rewriter, stats);
    if (auto linear = dyn_cast<LinearAttentionOp>(op))
      return tileLinearAttention(rewriter, linear);
    if (auto rotate = dyn_cast<RotateOp>(op))
      return tileRotate(rewriter, rotate);
    if (auto tables = dyn_cast<RopeTablesOp>(op))
      return tileRopeTables(rewriter, tables);
    return tileMatrixProduct(
        rewriter, *matchMatrixProduct(op),
        op->getAttrOfType<ScheduleAttr>(kScheduleAttrName));
  }
};

} // namespace
