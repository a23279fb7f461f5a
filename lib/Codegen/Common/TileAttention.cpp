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

#include "TileBuilder.h"
#include "attn/Analysis/BlockVisibility.h"
#include "attn/Analysis/TileVisibility.h"
#include "attn/Codegen/Common/Passes.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

namespace attn {
#define GEN_PASS_DEF_TILEATTENTIONPASS
#include "attn/Codegen/Common/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

void fill(ImplicitLocOpBuilder &b, Value memref, float value) {
  Value scalar = arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  linalg::FillOp::create(b, ValueRange(scalar), ValueRange(memref));
}

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

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

class AttentionTiling {
public:
  AttentionTiling(ImplicitLocOpBuilder &b, AttentionOp op)
      : b(b), x{b}, op(op), schedule(*op.getSchedule()) {
    tileRows = schedule.getTile()[0];
    blockKeys = schedule.getTile()[1];
  }

  void run() {
    Value batches = x.dim(op.getQuery(), 0), heads = x.dim(op.getQuery(), 1);
    queryCount = x.dim(op.getQuery(), 2);
    keyCount = x.dim(op.getKey(), 2);
    key = op.getKey();
    value = op.getValue();
    if (schedule.getKernel() == Kernel::FeaturesInLanes)
      return emitFewRows(batches);
    keyGroup = x.div(heads, x.dim(op.getKey(), 1));
    valueGroup = x.div(heads, x.dim(op.getValue(), 1));
    if (isPaired())
      packKeysAndValues(batches);
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

private:
  void emitTask(Value batch, Value head, Value firstRow) {
    rows = x.min(x.constant(tileRows), x.sub(queryCount, firstRow));
    Value zero = x.constant(0);
    SmallVector<Value> own{batch, head};
    keyAt = {batch, x.div(head, keyGroup)};
    // Dynamic head counts may differ: each operand has its own groups.
    valueAt = {batch, x.div(head, valueGroup)};
    Value query = viewRows(b, op.getQuery(), own, firstRow, rows);
    int64_t headDim = cast<MemRefType>(op.getQuery().getType()).getDimSize(3);
    int64_t valueDim = cast<MemRefType>(op.getValue().getType()).getDimSize(3);

    // Query rows are innermost, where vectors run: tiles are allocated
    // transposed. bf16 queries stay exact, their scores are scaled. Scores stay
    // natural: log2(e) in the query would save one
    // multiplication a score and round each score once more, which two large
    // scores that are close do not survive; it would also overflow in the last
    // third of the range of f32.
    Value queryTile;
    double factor = 1.0;
    if (isPaired()) {
      int64_t storedDim = cast<MemRefType>(key.getType()).getDimSize(3);
      queryTile = memref::AllocOp::create(
          b, MemRefType::get({storedDim / 2, tileRows, 2}, b.getBF16Type()));
    } else {
      queryTile = transpose(b, allocateSpread(headDim));
      factor = op.getScale().convertToDouble();
    }
    PackOp::create(b, TypeRange(), query, queryTile, b.getF64FloatAttr(factor));
    int64_t storedValueDim =
        isPaired() ? cast<MemRefType>(value.getType()).getDimSize(3) : valueDim;
    acc = isPaired() ? allocate(b, {storedValueDim, tileRows})
                     : allocateSpread(storedValueDim);
    max = allocate(b, {tileRows});
    sum = allocate(b, {tileRows});
    fill(b, acc, 0.0f);
    fill(b, max, -INFINITY);
    fill(b, sum, 0.0f);
    acc = transpose(b, acc);

    keyBlock = allocateWidened(key);
    valueBlock = allocateWidened(value);
    emitPrefetchBefore(op.getQuery(), own, firstRow);
    // A store of less than a line reads it first.
    emitPrefetch(op.getOutput(), own, firstRow, x.add(firstRow, rows),
                 /*isWrite=*/true);
    emitBlocks(queryTile, {batch, head, firstRow}, rows, zero, keyCount);

    if (storedValueDim != valueDim)
      acc = viewBlock(acc, 0, tileRows, valueDim);
    SmallVector<Value> outputs{
        viewRows(b, op.getOutput(), own, firstRow, rows)};
    if (Value lse = op.getLogSumExp())
      outputs.push_back(viewRows(b, lse, own, firstRow, rows));
    MergePartialsOp::create(b, TypeRange(), addLeadingOne(b, acc),
                            addLeadingOne(b, max), addLeadingOne(b, sum),
                            outputs);
  }

  bool isPaired() const {
    return schedule.getKernel() == Kernel::BF16Tiles ||
           schedule.getKernel() == Kernel::BF16Vectors;
  }

  /// Copies keys and values once per head into what products of bf16 pairs
  /// read: rows of whole pairs `[B, Hkv, N, D]`, and panels
  /// `[B, Hkv, N / panel, Dv, panel]`, both padded with zeros to whole chunks.
  /// All query tiles of the head share them.
  void packKeysAndValues(Value batches) {
    int64_t keyDim = llvm::alignTo(
        cast<MemRefType>(key.getType()).getDimSize(3), kPairedPanel);
    int64_t valueDim =
        llvm::alignTo(cast<MemRefType>(value.getType()).getDimSize(3), 16);
    key = packChunks(batches, key, {keyDim}, 1);
    value = packChunks(batches, value, {valueDim, kPairedPanel}, kPairedPanel);
  }

  /// `[B, H, N / perPanel, panelShape...]` with the rows of `[B, H, N, D]`.
  Value packChunks(Value batches, Value source, ArrayRef<int64_t> panelShape,
                   int64_t perPanel) {
    constexpr int64_t chunkKeys = 512;
    int64_t chunkPanels = chunkKeys / perPanel;
    Value heads = x.dim(source, 1), chunks = x.ceilDiv(keyCount, chunkKeys);
    SmallVector<int64_t> shape(3, ShapedType::kDynamic);
    llvm::append_range(shape, panelShape);
    Value packed = memref::AllocOp::create(
        b, MemRefType::get(shape, b.getBF16Type()),
        ValueRange{batches, heads, x.mul(chunks, x.constant(chunkPanels))});
    OpBuilder::InsertionGuard guard(b);
    auto tasks =
        scf::ForallOp::create(b,
                              ArrayRef<OpFoldResult>{getAsOpFoldResult(batches),
                                                     getAsOpFoldResult(heads),
                                                     getAsOpFoldResult(chunks)},
                              ValueRange(), std::nullopt);
    b.setInsertionPointToStart(tasks.getBody());
    SmallVector<Value> own{tasks.getInductionVar(0), tasks.getInductionVar(1)};
    Value chunk = tasks.getInductionVar(2);
    Value first = x.mul(chunk, x.constant(chunkKeys));
    Value rows = viewRows(b, source, own, first,
                          x.min(x.constant(chunkKeys), x.sub(keyCount, first)));
    Value dest = viewRows(b, packed, own, x.mul(chunk, x.constant(chunkPanels)),
                          x.constant(chunkPanels));
    // Keys are the columns of a panel.
    PackOp::create(b, TypeRange(), perPanel == 1 ? rows : transpose(b, rows),
                   dest, b.getF64FloatAttr(1.0));
    return packed;
  }

  /// A scratch tile `[columns, tileRows]` whose rows are an odd number of
  /// vectors apart: one vector of each, which is what the last rows of a query
  /// are read by, would otherwise fall into a few sets of the cache.
  Value allocateSpread(int64_t columns) {
    int64_t vectors = llvm::divideCeil(tileRows, schedule.getLanes());
    Value storage = allocate(b, {columns, (vectors | 1) * schedule.getLanes()});
    return viewBlock(storage, 0, columns, tileRows);
  }

  /// Online attention over keys [keyBegin, keyEnd). `position` is the tile's
  /// batch element, head and first row; the mask is asked for `maskRows` rows.
  void emitBlocks(Value queryTile, std::array<Value, 3> position,
                  Value maskRows, Value keyBegin, Value keyEnd) {
    // Absolute position of the tile, as the programs see it.
    SmallVector<Value> at(position.begin(), position.end());
    at.push_back(x.constant(0));
    for (auto [index, offset] : llvm::enumerate(op.getOffsets()))
      at[index] = x.add(at[index], offset);
    if (!op.getMask().empty())
      return emitMaskedBlocks(queryTile, at, maskRows, keyBegin, keyEnd);
    Value step = schedule.getKernel() == Kernel::QueriesInLanes
                     ? evenBlocks(x.sub(keyEnd, keyBegin))
                     : x.constant(blockKeys);
    auto loop = scf::ForOp::create(b, keyBegin, keyEnd, step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value key = loop.getInductionVar();
    emitBlock(queryTile, at, key, x.min(step, x.sub(keyEnd, key)),
              /*masked=*/false);
  }

  /// Keys of a block, in whole register tiles, for as few blocks of `keys` as
  /// the schedule allows: a short last block would cost as much as a long one
  /// wherever work is for the block and not for its keys.
  Value evenBlocks(Value keys) {
    int64_t group = schedule.getRegisters()[0];
    if (blockKeys % group)
      return x.constant(blockKeys);
    Value one = x.constant(1);
    Value blocks =
        b.createOrFold<arith::MaxSIOp>(x.ceilDiv(keys, blockKeys), one);
    Value even = x.div(x.add(keys, x.sub(blocks, one)), blocks);
    // A step of 0 is no step, whatever the loop's bounds.
    return b.createOrFold<arith::MaxSIOp>(
        x.mul(x.ceilDiv(even, group), x.constant(group)), x.constant(group));
  }

  /// The rows of all heads of a group as one tile; keys in tasks of
  /// `schedule.split`, each with a partial result, which are merged in order.
  void emitFewRows(Value batches) {
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
    Value parts = b.createOrFold<arith::MaxSIOp>(x.ceilDiv(keyCount, split),
                                                 x.constant(1));

    // Partial results, one a task.
    auto allocatePartials = [&](ArrayRef<int64_t> tile) {
      SmallVector<int64_t> shape{ShapedType::kDynamic, keyHeads,
                                 ShapedType::kDynamic};
      llvm::append_range(shape, tile);
      return memref::AllocOp::create(b, MemRefType::get(shape, b.getF32Type()),
                                     ValueRange{batches, parts})
          .getResult();
    };
    Value accs = allocatePartials({tileRows, storedDim});
    Value maxes = allocatePartials({tileRows});
    Value sums = allocatePartials({tileRows});
    {
      OpBuilder::InsertionGuard guard(b);
      auto tasks = scf::ForallOp::create(
          b,
          ArrayRef<OpFoldResult>{getAsOpFoldResult(batches),
                                 b.getIndexAttr(keyHeads),
                                 getAsOpFoldResult(parts)},
          ValueRange(), std::nullopt);
      b.setInsertionPointToStart(tasks.getBody());
      Value batch = tasks.getInductionVar(0),
            keyHead = tasks.getInductionVar(1), part = tasks.getInductionVar(2);
      keyAt = valueAt = {batch, keyHead};
      Value firstHead = x.mul(keyHead, x.constant(group));

      int64_t storedHeadDim = llvm::alignTo(headDim, lanes);
      Value storage = allocate(b, {tileRows, storedHeadDim});
      fill(b, storage, 0.0f);
      for (int64_t g = 0; g < group; ++g) {
        SmallVector<Value> own{batch, x.add(firstHead, x.constant(g))};
        Value source = viewRows(b, op.getQuery(), own, x.constant(0),
                                x.constant(headRows));
        PackOp::create(b, TypeRange(), source,
                       viewBlock(storage, g * headRows, headRows, headDim),
                       b.getF64FloatAttr(op.getScale().convertToDouble()));
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
      Value begin = x.mul(part, x.constant(split));
      Value end = x.min(keyCount, x.add(begin, x.constant(split)));
      emitBlocks(viewBlock(storage, 0, tileRows, headDim),
                 {batch, firstHead, x.constant(0)}, x.constant(headRows), begin,
                 end);
    }

    auto tasks =
        scf::ForallOp::create(b,
                              ArrayRef<OpFoldResult>{getAsOpFoldResult(batches),
                                                     b.getIndexAttr(heads)},
                              ValueRange(), std::nullopt);
    b.setInsertionPointToStart(tasks.getBody());
    Value batch = tasks.getInductionVar(0), head = tasks.getInductionVar(1);
    Value keyHead = x.div(head, x.constant(group));
    Value firstRow = x.mul(x.sub(head, x.mul(keyHead, x.constant(group))),
                           x.constant(headRows));
    SmallVector<Value> own{batch, head};
    auto output = [&](Value memref) {
      return viewRows(b, memref, own, x.constant(0), x.constant(headRows));
    };
    SmallVector<Value> outputs{output(op.getOutput())};
    if (Value lse = op.getLogSumExp())
      outputs.push_back(output(lse));
    MergePartialsOp::create(
        b, TypeRange(),
        viewPartials(accs, batch, keyHead, parts, firstRow, headRows, valueDim),
        viewPartials(maxes, batch, keyHead, parts, firstRow, headRows),
        viewPartials(sums, batch, keyHead, parts, firstRow, headRows), outputs);
  }

  /// `memref[row : row + rows, 0 : columns]` of a rank-2 memref.
  Value viewBlock(Value memref, int64_t row, int64_t rows, int64_t columns) {
    return memref::SubViewOp::create(
        b, memref,
        ArrayRef<OpFoldResult>{b.getIndexAttr(row), b.getIndexAttr(0)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(rows), b.getIndexAttr(columns)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)});
  }

  /// The tile `partials[batch, keyHead, part]`.
  Value viewPart(Value partials, Value batch, Value keyHead, Value part) {
    auto type = cast<MemRefType>(partials.getType());
    SmallVector<OpFoldResult> offsets{batch, keyHead, part};
    SmallVector<OpFoldResult> sizes(3, b.getIndexAttr(1)),
        strides(type.getRank(), b.getIndexAttr(1));
    SmallVector<int64_t> shape;
    for (int64_t d = 3; d < type.getRank(); ++d) {
      offsets.push_back(b.getIndexAttr(0));
      sizes.push_back(b.getIndexAttr(type.getDimSize(d)));
      shape.push_back(type.getDimSize(d));
    }
    auto viewType = memref::SubViewOp::inferRankReducedResultType(
        shape, type, offsets, sizes, strides);
    return memref::SubViewOp::create(b, cast<MemRefType>(viewType), partials,
                                     offsets, sizes, strides);
  }

  /// Rows [row, row + rows) and the first `columns` of every part of
  /// `partials[batch, keyHead]`; rank 2 without columns.
  Value viewPartials(Value partials, Value batch, Value keyHead, Value parts,
                     Value row, int64_t rows, int64_t columns = 0) {
    auto type = cast<MemRefType>(partials.getType());
    SmallVector<OpFoldResult> offsets{batch, keyHead, b.getIndexAttr(0),
                                      getAsOpFoldResult(row)};
    SmallVector<OpFoldResult> sizes{b.getIndexAttr(1), b.getIndexAttr(1),
                                    getAsOpFoldResult(parts),
                                    b.getIndexAttr(rows)};
    SmallVector<int64_t> shape{ShapedType::kDynamic, rows};
    if (std::optional<int64_t> known = getConstantIntValue(parts))
      shape[0] = *known;
    if (columns) {
      offsets.push_back(b.getIndexAttr(0));
      sizes.push_back(b.getIndexAttr(columns));
      shape.push_back(columns);
    }
    SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
    auto viewType = memref::SubViewOp::inferRankReducedResultType(
        shape, type, offsets, sizes, strides);
    return memref::SubViewOp::create(b, cast<MemRefType>(viewType), partials,
                                     offsets, sizes, strides);
  }

  void emitLoop(Value lower, Value upper, function_ref<void(Value)> body) {
    auto loop = scf::ForOp::create(b, lower, upper, x.constant(blockKeys));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }

  /// Rows [begin, end) of `memref[leading...]` move towards the core.
  void emitPrefetch(Value memref, ValueRange leading, Value begin, Value end,
                    bool isWrite = false) {
    auto type = cast<MemRefType>(memref.getType());
    int64_t line = 64 / llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    auto loop = scf::ForOp::create(b, begin, end, x.constant(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    for (int64_t d = 0; d < type.getDimSize(3); d += line) {
      SmallVector<Value> indices(leading);
      indices.append({loop.getInductionVar(), x.constant(d)});
      memref::PrefetchOp::create(b, memref, indices, isWrite,
                                 /*localityHint=*/2, /*isDataCache=*/true);
    }
  }

  /// The rows of a tile before `end`, or as many as there are.
  void emitPrefetchBefore(Value memref, ValueRange leading, Value end) {
    Value begin = b.createOrFold<arith::MaxSIOp>(
        x.sub(end, x.constant(tileRows)), x.constant(0));
    emitPrefetch(memref, leading, begin, end);
  }

  /// Says which op of the mask program is why blocks are evaluated for nothing.
  void remarkUnknown(Operation *unknown) {
    if (!unknown)
      return;
    remark::missed(
        op.getLoc(),
        remark::RemarkOpts::name("mask-not-bounded")
            .category("attn")
            .function(op->getParentOfType<func::FuncOp>().getSymName()))
        << ("'" + unknown->getName().getStringRef() +
            "' in the mask program is not analysed: the mask is evaluated "
            "pair by pair where it matters")
               .str();
  }

  Value blockCount(Value key, Value end) {
    return x.min(x.constant(blockKeys), x.sub(end, key));
  }

  /// i1: whether a block reads no key beside its own: panels hold other keys
  /// after the last one, unless that is the last of all.
  Value isWhole(Value key, Value count) {
    if (!isPaired())
      return arith::ConstantOp::create(b, b.getBoolAttr(true));
    auto equal = [&](Value left, Value right) {
      return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, left,
                                           right);
    };
    return b.createOrFold<arith::OrIOp>(
        equal(count, x.roundDown(count, kPairedPanel)),
        equal(x.add(key, count), keyCount));
  }

  /// One loop over all blocks between the bounds; each is skipped, full or
  /// partial by what its keys read.
  void emitClassifiedBlocks(Value queryTile, ValueRange at,
                            BlockVisibility &classes,
                            const TileBounds &bounds) {
    emitLoop(bounds.lower, bounds.upper, [&](Value key) {
      Value count = blockCount(key, bounds.upper);
      Value first = x.add(at[3], key);
      Truth visible =
          classes.classify(first, x.sub(x.add(first, count), x.constant(1)));
      auto any = scf::IfOp::create(b, visible.possible, false);
      b.setInsertionPointToStart(any.thenBlock());
      auto all = scf::IfOp::create(
          b, b.createOrFold<arith::AndIOp>(visible.sure, isWhole(key, count)),
          true);
      b.setInsertionPointToStart(all.thenBlock());
      emitBlock(queryTile, at, key, count, /*masked=*/false);
      b.setInsertionPointToStart(all.elseBlock());
      emitBlock(queryTile, at, key, count, /*masked=*/true);
    });
  }

  /// One loop over the blocks of three ranges: [lower, fullLower) needs the
  /// mask, [fullLower, fullUpper) does not, [fullUpper, upper) needs it again.
  void emitMaskedBlocks(Value queryTile, ValueRange at, Value maskRows,
                        Value keyBegin, Value keyEnd) {
    Value lastHead =
        headGroup > 1 ? x.add(at[1], x.constant(headGroup - 1)) : at[1];
    TileBounds bounds =
        emitTileBounds(b, op.getMask(), at[0], at[1], lastHead, at[2],
                       x.add(at[2], maskRows), at[3], keyCount);
    // Masks that read tensors by row or key are told apart block by block.
    std::optional<BlockVisibility> classes;
    if (bounds.unknown && BlockVisibility::isUseful(op.getMask()))
      classes.emplace(b, op.getMask(), at[0], at[1], lastHead, at[2],
                      x.add(at[2], maskRows));
    // The next task is likely that of the rows before, which sees as many keys
    // before these.
    if (!isPaired() && !isZeroInteger(bounds.lower)) {
      emitPrefetchBefore(op.getKey(), keyAt, bounds.lower);
      emitPrefetchBefore(op.getValue(), valueAt, bounds.lower);
    }
    // Packed values are read by whole panels.
    if (isPaired())
      bounds.lower = x.roundDown(bounds.lower, kPairedPanel);
    bool isNeverFull = bounds.fullLower == bounds.fullUpper;
    // The part of the task.
    for (Value *bound :
         {&bounds.lower, &bounds.fullLower, &bounds.fullUpper, &bounds.upper})
      *bound = x.min(b.createOrFold<arith::MaxSIOp>(*bound, keyBegin), keyEnd);
    if (classes) {
      emitClassifiedBlocks(queryTile, at, *classes, bounds);
      return remarkUnknown(classes->unknown);
    }
    remarkUnknown(bounds.unknown);
    if (isNeverFull)
      return emitLoop(bounds.lower, bounds.upper, [&](Value key) {
        emitBlock(queryTile, at, key, blockCount(key, bounds.upper),
                  /*masked=*/true);
      });
    // Whole blocks, or panels, in the two ranges that another one follows.
    int64_t step = isPaired() ? kPairedPanel : blockKeys;
    Value headSteps = x.ceilDiv(x.sub(bounds.fullLower, bounds.lower), step);
    Value fullLower = x.add(bounds.lower, x.mul(headSteps, x.constant(step)));
    if (isPaired()) {
      // Even an empty range stands between whole panels.
      fullLower = x.min(bounds.upper, fullLower);
      bounds.fullUpper =
          b.createOrFold<arith::MaxSIOp>(bounds.fullUpper, fullLower);
    } else {
      fullLower = x.min(bounds.fullUpper, fullLower);
    }
    Value fullKeys = x.sub(bounds.fullUpper, fullLower);
    Value isLast = b.createOrFold<arith::CmpIOp>(
        arith::CmpIPredicate::eq, bounds.fullUpper, bounds.upper);
    isLast =
        b.createOrFold<arith::AndIOp>(isLast, isWhole(fullLower, fullKeys));
    fullKeys = x.select(isLast, fullKeys, x.roundDown(fullKeys, step));
    Value fullUpper = x.add(fullLower, fullKeys);
    Value fullBlocks = x.ceilDiv(fullKeys, blockKeys);
    Value tailBlocks = x.ceilDiv(x.sub(bounds.upper, fullUpper), blockKeys);
    // The head range ends where the full range begins, even when that is empty.
    Value headBlocks = x.ceilDiv(x.sub(fullLower, bounds.lower), blockKeys);
    Value tailBegin = x.add(headBlocks, fullBlocks);
    Value blocks = x.add(tailBegin, tailBlocks);

    auto loop = scf::ForOp::create(b, x.constant(0), blocks, x.constant(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value block = loop.getInductionVar();
    Value inHead = x.less(block, headBlocks);
    Value beforeTail = x.less(block, tailBegin);
    auto pick = [&](Value head, Value full, Value tail) {
      return x.select(inHead, head, x.select(beforeTail, full, tail));
    };
    Value begin = pick(bounds.lower, fullLower, fullUpper);
    Value first = pick(x.constant(0), headBlocks, tailBegin);
    Value end = pick(fullLower, fullUpper, bounds.upper);
    Value key = x.add(begin, x.mul(x.sub(block, first), x.constant(blockKeys)));
    Value count = blockCount(key, end);
    Value isFull = b.createOrFold<arith::AndIOp>(
        beforeTail,
        b.createOrFold<arith::XOrIOp>(
            inHead,
            arith::ConstantOp::create(b, b.getBoolAttr(true)).getResult()));
    auto either = scf::IfOp::create(b, isFull, /*withElseRegion=*/true);
    b.setInsertionPointToStart(either.thenBlock());
    emitBlock(queryTile, at, key, count, /*masked=*/false);
    b.setInsertionPointToStart(either.elseBlock());
    emitBlock(queryTile, at, key, count, /*masked=*/true);
  }

  /// A block of narrow floats as f32 in `scratch`, once for all rows of the
  /// tile; f32 as it is.
  Value widen(Value rows, Value scratch) {
    if (!scratch)
      return rows;
    PackOp::create(b, TypeRange(), rows, scratch, b.getF64FloatAttr(1.0));
    int64_t columns = cast<MemRefType>(rows.getType()).getDimSize(1);
    return memref::SubViewOp::create(
        b, scratch,
        ArrayRef<OpFoldResult>{b.getIndexAttr(0), b.getIndexAttr(0)},
        ArrayRef<OpFoldResult>{memref::DimOp::create(b, rows, 0).getResult(),
                               b.getIndexAttr(columns)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)});
  }

  /// Scratch for a block of `operand` in f32, or null if that is f32.
  Value allocateWidened(Value operand) {
    auto type = cast<MemRefType>(operand.getType());
    if (type.getElementType().isF32() ||
        schedule.getKernel() != Kernel::QueriesInLanes)
      return {};
    return allocate(b,
                    {blockKeys, static_cast<int64_t>(llvm::alignTo(
                                    type.getDimSize(3), schedule.getLanes()))});
  }

  void emitBlock(Value queryTile, ValueRange at, Value key, Value count,
                 bool masked) {
    Value keys = viewRows(b, this->key, keyAt, key, count);
    Value values = isPaired() ? viewRows(b, value, valueAt,
                                         x.div(key, x.constant(kPairedPanel)),
                                         x.ceilDiv(count, kPairedPanel))
                              : viewRows(b, value, valueAt, key, count);
    if (schedule.getKernel() == Kernel::QueriesInLanes) {
      keys = widen(keys, keyBlock);
      values = widen(values, valueBlock);
    }
    auto block = OnlineAttentionOp::create(
        b, TypeRange(), queryTile, keys, values, acc, max, sum, at[0], at[1],
        at[2], x.add(at[3], key), rows,
        isPaired() ? op.getScaleAttr() : FloatAttr(),
        headRows ? b.getI64IntegerAttr(headRows) : IntegerAttr(), schedule);
    IRMapping mapping;
    if (!op.getScore().empty())
      op.getScore().cloneInto(&block.getScore(), mapping);
    if (masked)
      op.getMask().cloneInto(&block.getMask(), mapping);
  }

  ImplicitLocOpBuilder &b;
  IndexBuilder x;
  AttentionOp op;
  ScheduleAttr schedule;
  int64_t tileRows, blockKeys;
  /// Rows of each head in a tile of several heads, or 0.
  int64_t headRows = 0;
  /// Heads of one tile.
  int64_t headGroup = 1;
  Value queryCount, keyCount, rows, acc, max, sum;
  /// Keys and values as the micro-kernel reads them, or scratch for a block.
  Value key, value, keyBlock, valueBlock;
  /// Query heads of one key head and of one value head.
  Value keyGroup, valueGroup;
  /// Batch element and head of the task in keys and in values.
  SmallVector<Value> keyAt, valueAt;
};

LogicalResult tileAttention(RewriterBase &rewriter, AttentionOp op) {
  if (!isa<MemRefType>(op.getQuery().getType()))
    return op.emitOpError("must be on buffers to be tiled");
  if (!op.getSchedule())
    return op.emitOpError("has no schedule to be tiled by");
  if (op.getSchedule()->getKernel() == Kernel::Gemm)
    return op.emitOpError("has the schedule of a matrix product");
  for (Value operand : op->getOperands().take_front(4)) {
    Type element = getElementTypeOrSelf(operand.getType());
    if (!isa<Float32Type, Float16Type, BFloat16Type>(element))
      return op.emitOpError("has no kernel for the element type ") << element;
  }
  Kernel kernel = op.getSchedule()->getKernel();
  if (kernel == Kernel::BF16Tiles || kernel == Kernel::BF16Vectors)
    for (Value operand : op->getOperands().take_front(3))
      if (Type element = getElementTypeOrSelf(operand.getType());
          !element.isBF16())
        return op.emitOpError("has the schedule of ")
               << stringifyKernel(kernel)
               << ", which takes bf16, but operands of " << element;
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType()) && !isStrided(operand))
      return op.emitOpError("must have strided operands to be tiled, got ")
             << operand.getType();
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  AttentionTiling(b, op).run();
  rewriter.eraseOp(op);
  return success();
}

class TileAttentionPass
    : public attn::impl::TileAttentionPassBase<TileAttentionPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> heavy;
    getOperation().walk([&](Operation *op) {
      if (isa<AttentionOp>(op) ||
          (op->hasAttr(kScheduleAttrName) && succeeded(matchMatrixProduct(op))))
        heavy.push_back(op);
    });
    for (Operation *op : heavy) {
      LogicalResult result =
          isa<AttentionOp>(op)
              ? tileAttention(rewriter, cast<AttentionOp>(op))
              : tileMatrixProduct(
                    rewriter, *matchMatrixProduct(op),
                    op->getAttrOfType<ScheduleAttr>(kScheduleAttrName));
      if (failed(result))
        return signalPassFailure();
    }
  }
};

} // namespace
