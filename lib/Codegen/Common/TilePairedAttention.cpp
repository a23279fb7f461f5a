//===- TilePairedAttention.cpp - Tasks for products of bf16 pairs ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of bf16 pairs read keys as rows of whole pairs and values as panels.
// Both are made once per head. Where there are enough heads for all threads, a
// task is a whole head: it packs its values itself and finds them in its cache.
// Otherwise tasks are tiles of queries, and packing goes before them.
//
//===----------------------------------------------------------------------===//

#include "AttentionTiling.h"

using namespace mlir;
using namespace attn;

namespace {

/// Keys per task of packing.
constexpr int64_t kChunkKeys = 512;
/// Heads that each thread must have for tasks to be heads: the last ones keep
/// some threads waiting.
constexpr int64_t kHeadsPerThread = 8;

} // namespace

void AttentionTiling::emitPairedTasks(Value batches, Value heads) {
  Value one = x.constant(1), none = x.constant(0);
  Value valueHeads = x.dim(values.memref, 1),
        tiles = x.ceilDiv(queryCount, tileRows);
  Value enough = x.mul(ThreadCountOp::create(b), x.constant(kHeadsPerThread));
  Value ownsHead = x.atLeast(x.mul(batches, valueHeads), enough);
  packKeys(batches);
  Value source = values.memref;
  int64_t valueDim =
      llvm::alignTo(cast<MemRefType>(source.getType()).getDimSize(3), 16);
  values.memref =
      allocatePacked(batches, source, {valueDim, kPairedPanel}, kPairedPanel);
  emitPackTasks(x.select(ownsHead, none, batches), source, values.memref);

  auto tasks = scf::ForallOp::create(
      b,
      ArrayRef<OpFoldResult>{
          getAsOpFoldResult(batches),
          getAsOpFoldResult(x.select(ownsHead, valueHeads, heads)),
          getAsOpFoldResult(x.select(ownsHead, one, tiles))},
      ValueRange(), std::nullopt);
  b.setInsertionPointToStart(tasks.getBody());
  Value batch = tasks.getInductionVar(0), head = tasks.getInductionVar(1);
  Value chunks = x.ceilDiv(keyCount, kChunkKeys);
  auto packs =
      scf::ForOp::create(b, none, x.select(ownsHead, chunks, none), one);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(packs.getBody());
    packChunk(source, values.memref, {batch, head}, packs.getInductionVar());
  }
  auto emitFor = [&](Value count) -> Value {
    auto loop =
        scf::ForOp::create(b, none, x.select(ownsHead, count, one), one);
    b.setInsertionPointToStart(loop.getBody());
    return loop.getInductionVar();
  };
  Value firstHead = x.mul(head, x.select(ownsHead, valueGroup, one));
  head = x.add(firstHead, emitFor(valueGroup));
  // Late rows of a causal mask see most keys: longest tasks first.
  Value after = x.add(tasks.getInductionVar(2), emitFor(tiles));
  Value tile = x.sub(x.sub(tiles, one), after);
  emitTask(batch, head, x.mul(tile, x.constant(tileRows)));
}

void AttentionTiling::packKeys(Value batches) {
  int64_t keyDim = llvm::alignTo(
      cast<MemRefType>(keys.memref.getType()).getDimSize(3), kPairedPanel);
  Value inPlace = isPackedKey();
  if (inPlace)
    batches = x.select(inPlace, x.constant(0), batches);
  Value packed = allocatePacked(batches, keys.memref, {keyDim}, 1);
  emitPackTasks(batches, keys.memref, packed);
  if (!inPlace) {
    keys.memref = packed;
    return;
  }
  auto type = cast<MemRefType>(packed.getType());
  auto layout = StridedLayoutAttr::get(
      b.getContext(), ShapedType::kDynamic,
      {ShapedType::kDynamic, ShapedType::kDynamic, keyDim, 1});
  type = MemRefType::get(type.getShape(), type.getElementType(), layout);
  keys.memref = arith::SelectOp::create(
      b, inPlace, memref::CastOp::create(b, type, keys.memref),
      memref::CastOp::create(b, type, packed));
}

Value AttentionTiling::isPackedKey() {
  auto type = cast<MemRefType>(keys.memref.getType());
  int64_t keyDim = type.getDimSize(3), offset;
  SmallVector<int64_t> strides;
  if (!type.getElementType().isBF16() || keyDim % kPairedPanel ||
      failed(type.getStridesAndOffset(strides, offset)) || strides[3] != 1 ||
      (strides[2] != keyDim && !ShapedType::isDynamic(strides[2])))
    return {};
  // A line of the cache holds a row of a tile: one that begins elsewhere costs
  // two of them each time.
  auto isMultiple = [&](Value count, int64_t of) -> Value {
    return x.equal(x.sub(count, x.roundDown(count, of)), x.constant(0));
  };
  auto memory = memref::ExtractStridedMetadataOp::create(b, keys.memref);
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(b, keys.memref);
  Value bytes = x.mul(memory.getOffset(), x.constant(2));
  Value conditions[] = {isMultiple(keyCount, kPairedPanel),
                        isMultiple(x.add(start, bytes), 2 * kPairedPanel),
                        isMultiple(memory.getStrides()[0], kPairedPanel),
                        isMultiple(memory.getStrides()[1], kPairedPanel),
                        x.equal(memory.getStrides()[2], x.constant(keyDim))};
  Value all = conditions[0];
  for (Value condition : llvm::drop_begin(conditions))
    all = x.both(all, condition);
  return all;
}

Value AttentionTiling::allocatePacked(Value batches, Value source,
                                      ArrayRef<int64_t> panelShape,
                                      int64_t perPanel) {
  SmallVector<int64_t> shape(3, ShapedType::kDynamic);
  llvm::append_range(shape, panelShape);
  Value chunks = x.ceilDiv(keyCount, kChunkKeys);
  return memref::AllocOp::create(
      b, MemRefType::get(shape, b.getBF16Type()),
      ValueRange{batches, x.dim(source, 1),
                 x.mul(chunks, x.constant(kChunkKeys / perPanel))});
}

void AttentionTiling::emitPackTasks(Value batches, Value source, Value packed) {
  OpBuilder::InsertionGuard guard(b);
  auto tasks = scf::ForallOp::create(
      b,
      ArrayRef<OpFoldResult>{
          getAsOpFoldResult(batches), getAsOpFoldResult(x.dim(source, 1)),
          getAsOpFoldResult(x.ceilDiv(keyCount, kChunkKeys))},
      ValueRange(), std::nullopt);
  b.setInsertionPointToStart(tasks.getBody());
  packChunk(source, packed,
            {tasks.getInductionVar(0), tasks.getInductionVar(1)},
            tasks.getInductionVar(2));
}

void AttentionTiling::packChunk(Value source, Value packed, ValueRange leading,
                                Value chunk) {
  bool isPanels = cast<MemRefType>(packed.getType()).getRank() == 5;
  Value first = x.mul(chunk, x.constant(kChunkKeys));
  Value rows = viewRows(b, source, leading, first,
                        x.min(x.constant(kChunkKeys), x.sub(keyCount, first)));
  Value count = x.constant(isPanels ? kChunkKeys / kPairedPanel : kChunkKeys);
  Value dest = viewRows(b, packed, leading, x.mul(chunk, count), count);
  // Keys are the columns of a panel.
  PackOp::create(b, TypeRange(), isPanels ? transpose(b, rows) : rows, dest,
                 b.getF64FloatAttr(1.0));
}
