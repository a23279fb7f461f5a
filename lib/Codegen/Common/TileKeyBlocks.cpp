//===- TileKeyBlocks.cpp - The key blocks of one tile of queries ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of queries walks the blocks of keys that the mask program leaves: some
// are skipped, some need no mask, the rest are evaluated pair by pair.
//
//===----------------------------------------------------------------------===//

#include "AttentionTiling.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

KeyBlocksTiling::KeyBlocksTiling(ImplicitLocOpBuilder &b,
                                 KeyBlocksOpInterface op)
    : fused(op), b(b), x{b}, schedule(op.getScheduleAttr()),
      tileRows(schedule.getTile()[0]), blockKeys(schedule.getTile()[1]) {}

void KeyBlocksTiling::readKeys() {
  queryCount = x.dim(fused.getQuery(), 2);
  keyCount = x.dim(fused.getKey(), 2);
  if (fused.getTable())
    keyCount = x.mul(x.dim(fused.getTable(), 1), keyCount);
  keys.memref = fused.getKey();
  keys.scale = fused.getKeyScale();
}

bool KeyBlocksTiling::scalesScores() {
  auto isBF16 = [](Value operand) {
    return getElementTypeOrSelf(operand.getType()).isBF16();
  };
  return isPaired() || fused.getAdditive() ||
         (schedule.getKernel() == Kernel::FeaturesInLanes &&
          isBF16(fused.getQuery()) && isBF16(fused.getKey()));
}

Value KeyBlocksTiling::viewAdditive(Value head) {
  Value weight = fused.getAdditive();
  if (!weight)
    return {};
  auto type = cast<MemRefType>(weight.getType());
  if (type.getRank() == 1)
    return weight;
  SmallVector<OpFoldResult> offsets{head, b.getIndexAttr(0)},
      sizes{b.getIndexAttr(1), b.getIndexAttr(type.getDimSize(1))};
  return viewTrailing(b, weight, offsets, sizes, 1);
}

Value KeyBlocksTiling::allocateSpread(int64_t columns) {
  int64_t vectors = llvm::divideCeil(tileRows, schedule.getLanes());
  Value storage = allocate(b, {columns, (vectors | 1) * schedule.getLanes()},
                           fused.getScoreType());
  return viewBlock(storage, 0, columns, tileRows);
}

Value KeyBlocksTiling::viewBlock(Value memref, int64_t row, int64_t rows,
                                 int64_t columns) {
  return memref::SubViewOp::create(
      b, memref, ArrayRef<OpFoldResult>{b.getIndexAttr(row), b.getIndexAttr(0)},
      ArrayRef<OpFoldResult>{b.getIndexAttr(rows), b.getIndexAttr(columns)},
      ArrayRef<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)});
}

Value KeyBlocksTiling::packQueries(Value query, Value head) {
  int64_t headDim = cast<MemRefType>(query.getType()).getDimSize(1);
  // Query rows are innermost, where vectors run: tiles are allocated
  // transposed. Scores stay natural: log2(e) in the query would save one
  // multiplication a score and round each score once more, which two large
  // scores that are close do not survive; it would also overflow in the last
  // third of the range of f32.
  Value tile = transpose(b, allocateSpread(headDim));
  double factor =
      scalesScores() ? 1.0 : fused.getScaleAttr().getValueAsDouble();
  additive = viewAdditive(head);
  PackOp::create(b, TypeRange(), query, tile, b.getF64FloatAttr(factor));
  return tile;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void KeyBlocksTiling::emitBlocks(Value queryTile, std::array<Value, 3> position,
                                 Value maskRows, Value keyBegin, Value keyEnd) {
  // Absolute position of the tile, as the programs see it.
  SmallVector<Value> at(position.begin(), position.end());
  at.push_back(x.constant(0));
  for (auto [index, offset] : llvm::enumerate(fused.getOffsets()))
    at[index] = x.add(at[index], offset);
  firstFullKey = keyBegin;
  if (!fused.getMask().empty())
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

Value KeyBlocksTiling::evenBlocks(Value keys) {
  int64_t group = schedule.getRegisters()[0];
  if (blockKeys % group)
    return x.constant(blockKeys);
  Value one = x.constant(1);
  Value blocks = x.max(x.ceilDiv(keys, blockKeys), one);
  Value even = x.div(x.add(keys, x.sub(blocks, one)), blocks);
  // A step of 0 is no step, whatever the loop's bounds.
  return x.max(x.mul(x.ceilDiv(even, group), x.constant(group)),
               x.constant(group));
}

void KeyBlocksTiling::emitLoop(Value lower, Value upper,
                               function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, lower, upper, x.constant(blockKeys));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void KeyBlocksTiling::emitPrefetch(Value memref, ValueRange leading,
                                   Value begin, Value end, bool isWrite) {
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

Value KeyBlocksTiling::beginOfTile(Value end) {
  return x.max(x.sub(end, x.constant(tileRows)), x.constant(0));
}

void KeyBlocksTiling::remarkUnknown(Operation *unknown) {
  if (!unknown)
    return;
  remark::missed(
      fused->getLoc(),
      remark::RemarkOpts::name("mask-not-bounded")
          .category("attn")
          .function(fused->getParentOfType<func::FuncOp>().getSymName()))
      << ("'" + unknown->getName().getStringRef() +
          "' in the mask program is not analysed: the mask is evaluated "
          "pair by pair where it matters")
             .str();
}

Value KeyBlocksTiling::blockCount(Value key, Value end) {
  return x.min(x.constant(blockKeys), x.sub(end, key));
}

Value KeyBlocksTiling::isWhole(Value key, Value count) {
  if (!isPaired())
    return x.boolean(true);
  return x.either(x.equal(count, x.roundDown(count, kPairedPanel)),
                  x.equal(x.add(key, count), keyCount));
}

void KeyBlocksTiling::emitClassifiedBlocks(Value queryTile, ValueRange at,
                                           BlockVisibility &classes,
                                           const TileBounds &bounds) {
  firstFullKey = bounds.lower;
  emitLoop(bounds.lower, bounds.upper, [&](Value key) {
    Value count = blockCount(key, bounds.upper);
    Value first = x.add(at[3], key);
    Truth visible =
        classes.classify(first, x.sub(x.add(first, count), x.constant(1)));
    if (bounds.fullLower != bounds.fullUpper) {
      Value isInside = x.both(x.atMost(bounds.fullLower, key),
                              x.atMost(x.add(key, count), bounds.fullUpper));
      visible.sure = x.either(visible.sure, isInside);
    }
    auto any = scf::IfOp::create(b, visible.possible, false);
    b.setInsertionPointToStart(any.thenBlock());
    auto all =
        scf::IfOp::create(b, x.both(visible.sure, isWhole(key, count)), true);
    b.setInsertionPointToStart(all.thenBlock());
    emitBlock(queryTile, at, key, count, /*masked=*/false);
    b.setInsertionPointToStart(all.elseBlock());
    emitBlock(queryTile, at, key, count, /*masked=*/true);
  });
}

void KeyBlocksTiling::emitMaskedBlocks(Value queryTile, ValueRange at,
                                       Value maskRows, Value keyBegin,
                                       Value keyEnd) {
  Value lastHead =
      headGroup > 1 ? x.add(at[1], x.constant(headGroup - 1)) : at[1];
  TileBounds bounds =
      emitTileBounds(b, fused.getMask(), at[0], at[1], lastHead, at[2],
                     x.add(at[2], maskRows), at[3], keyCount);
  // Where masks read tensors by row or key, or what is visible is no range,
  // blocks are told apart one by one.
  std::optional<BlockVisibility> classes;
  if (bounds.hasGap ||
      (bounds.unknown && BlockVisibility::isUseful(fused.getMask())))
    classes.emplace(b, fused.getMask(), at[0], at[1], lastHead, at[2],
                    x.add(at[2], maskRows));
  // The next task is likely that of the rows before, which sees as many keys
  // before these.
  if (!isPaired() && !fused.getTable() && !isZeroInteger(bounds.lower)) {
    Value before = beginOfTile(bounds.lower);
    for (const Rows *rows : {&keys, &values})
      if (rows->memref)
        emitPrefetch(rows->memref, rows->at, before, bounds.lower);
  }
  // Packed values are read by whole panels.
  if (isPaired())
    bounds.lower = x.roundDown(bounds.lower, kPairedPanel);
  bool isNeverFull = bounds.fullLower == bounds.fullUpper;
  // The part of the task.
  for (Value *bound :
       {&bounds.lower, &bounds.fullLower, &bounds.fullUpper, &bounds.upper})
    *bound = x.min(x.max(*bound, keyBegin), keyEnd);
  if (classes) {
    if (isNeverFull)
      bounds.fullUpper = bounds.fullLower;
    // A block that one document ends in is evaluated as a whole: that costs
    // more than short blocks do, as panels stream from L2 either way.
    constexpr int64_t kClassifiedKeys = 256;
    if (isPaired())
      blockKeys = std::min(blockKeys, kClassifiedKeys);
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
    bounds.fullUpper = x.max(bounds.fullUpper, fullLower);
  } else {
    fullLower = x.min(bounds.fullUpper, fullLower);
  }
  Value fullKeys = x.sub(bounds.fullUpper, fullLower);
  Value isLast = x.equal(bounds.fullUpper, bounds.upper);
  isLast = x.both(isLast, isWhole(fullLower, fullKeys));
  fullKeys = x.select(isLast, fullKeys, x.roundDown(fullKeys, step));
  Value fullUpper = x.add(fullLower, fullKeys);
  firstFullKey = fullLower;
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
  Value isFull = x.both(beforeTail, x.negate(inHead));
  auto either = scf::IfOp::create(b, isFull, /*withElseRegion=*/true);
  b.setInsertionPointToStart(either.thenBlock());
  emitBlock(queryTile, at, key, count, /*masked=*/false);
  b.setInsertionPointToStart(either.elseBlock());
  emitBlock(queryTile, at, key, count, /*masked=*/true);
}

//===----------------------------------------------------------------------===//
// Rows of keys and values
//===----------------------------------------------------------------------===//

void KeyBlocksTiling::forEachRun(Value first, Value count,
                                 function_ref<void(const Run &)> body) {
  if (!fused.getTable())
    return body({Value(), first, count, x.constant(0)});
  Value pageRows =
      x.constant(cast<MemRefType>(fused.getKey().getType()).getDimSize(2));
  Value end = x.add(first, count), one = x.constant(1);
  Value endPage = x.div(x.add(end, x.sub(pageRows, one)), pageRows);
  auto loop = scf::ForOp::create(b, x.div(first, pageRows), endPage, one);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value page = loop.getInductionVar();
  Value pageBegin = x.mul(page, pageRows);
  Value begin = x.max(first, pageBegin);
  Value pageEnd = x.min(end, x.add(pageBegin, pageRows));
  body({page, x.sub(begin, pageBegin), x.sub(pageEnd, begin),
        x.sub(begin, first)});
}

Value KeyBlocksTiling::viewRun(const Rows &rows, Value memref, const Run &run) {
  if (!run.page)
    return viewRows(b, memref, rows.at, run.row, run.count);
  Value number = memref::LoadOp::create(b, fused.getTable(),
                                        ValueRange{rows.at[0], run.page});
  // The table is data: a number beyond the pool reads the last page.
  Value last = x.sub(x.dim(memref, 0), x.constant(1));
  number = x.toIndex(number);
  number = x.max(x.min(number, last), x.constant(0));
  return viewRows(b, memref, {number, rows.at[1]}, run.row, run.count);
}

KeyBlocksTiling::Run KeyBlocksTiling::findRunAt(Value row) {
  Value pageRows =
      x.constant(cast<MemRefType>(fused.getKey().getType()).getDimSize(2));
  Value page = x.div(row, pageRows);
  Value inPage = x.sub(row, x.mul(page, pageRows));
  // After the last page of all, it stands in for the next one.
  page = x.min(page, x.sub(x.dim(fused.getTable(), 1), x.constant(1)));
  return {page, inPage, x.sub(pageRows, inPage), x.constant(0)};
}

Value KeyBlocksTiling::readRows(const Rows &from, Value first, Value count) {
  if (!from.scratch)
    return viewRows(b, from.memref, from.at, first, count);
  auto viewScratch = [&](Value row, Value rows, int64_t columns) -> Value {
    return memref::SubViewOp::create(
        b, from.scratch,
        ArrayRef<OpFoldResult>{getAsOpFoldResult(row), b.getIndexAttr(0)},
        ArrayRef<OpFoldResult>{getAsOpFoldResult(rows),
                               b.getIndexAttr(columns)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(1), b.getIndexAttr(1)});
  };
  auto type = cast<MemRefType>(from.scratch.getType());
  forEachRun(first, count, [&](const Run &run) {
    Value rows = viewRun(from, from.memref, run);
    Value scales = from.scale ? viewRun(from, from.scale, run) : Value();
    Value dest =
        run.page ? viewScratch(run.distance, x.dim(rows, 0), type.getDimSize(1))
                 : from.scratch;
    PackOp::create(b, TypeRange(), rows, dest, scales, b.getF64FloatAttr(1.0));
  });
  int64_t columns = cast<MemRefType>(from.memref.getType()).getDimSize(3);
  return viewScratch(x.constant(0), count, columns);
}

bool KeyBlocksTiling::readsInPlace(const Rows &rows) {
  if (isPaired())
    return true;
  auto type = cast<MemRefType>(rows.memref.getType());
  if (schedule.getKernel() != Kernel::FeaturesInLanes)
    return !fused.getTable() && type.getElementType() == fused.getScoreType();
  // Pages become blocks, whose softmax runs by vectors of keys, and of scales.
  // That is so for keys and values, or for neither.
  auto hasUnitStride = [](Value memref) {
    SmallVector<int64_t> strides;
    int64_t offset;
    return !memref || (succeeded(cast<MemRefType>(memref.getType())
                                     .getStridesAndOffset(strides, offset)) &&
                       strides.back() == 1);
  };
  return (!fused.getTable() || type.getDimSize(2) >= schedule.getLanes()) &&
         hasUnitStride(keys.scale) && hasUnitStride(values.scale);
}

void KeyBlocksTiling::allocateScratch(Rows &rows) {
  rows.scratch = {};
  if (readsInPlace(rows))
    return;
  auto type = cast<MemRefType>(rows.memref.getType());
  // What is read as it comes is copied as it is.
  Type scratch = fused.getScoreType();
  if (schedule.getKernel() == Kernel::FeaturesInLanes &&
      rows.memref == fused.getKey() && scalesScores())
    scratch = type.getElementType();
  int64_t vector =
      schedule.getLanes() * (scratch == fused.getScoreType() ? 1 : 2);
  auto columns =
      static_cast<int64_t>(llvm::alignTo(type.getDimSize(3), vector));
  rows.scratch = memref::AllocOp::create(
      b, MemRefType::get({blockKeys, columns}, scratch));
}

void KeyBlocksTiling::clonePrograms(KeyBlockOpInterface block, bool masked) {
  auto clone = [](Region &from, Region &to) {
    IRMapping mapping;
    from.cloneInto(&to, mapping);
  };
  clone(fused.getScore(), block.getScore());
  if (masked)
    clone(fused.getMask(), block.getMask());
}
