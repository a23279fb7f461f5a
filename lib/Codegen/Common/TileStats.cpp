//===- TileStats.cpp - Tasks of statistics of weights ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of queries says all there is to say of its rows. The sums of the
// columns go over all tiles: a task takes every n-th one and adds up what they
// say, and the tasks' sums are added in order. How many tasks a head has
// depends on its length alone, and so does every bit of the sums.
//
//===----------------------------------------------------------------------===//

#include "AttentionTiling.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

namespace {

/// Tasks of a head at most, when they sum columns: enough for the threads of
/// large machines, few enough for their sums to take no more than the keys.
constexpr int64_t kParts = 8;

} // namespace

void StatsTiling::run() {
  Value batches = x.dim(op.getQuery(), 0), heads = x.dim(op.getQuery(), 1);
  readKeys();
  keyGroup = x.div(heads, x.dim(op.getKey(), 1));
  Value one = x.constant(1), tiles = x.ceilDiv(queryCount, tileRows);
  Value parts = tiles;
  if (op.getColumnSums()) {
    // At least one, so that the sums of no rows are written too.
    parts = x.max(x.min(tiles, x.constant(kParts)), one);
    partialSums = memref::AllocOp::create(
        b,
        MemRefType::get(SmallVector<int64_t>(4, ShapedType::kDynamic),
                        op.getScoreType()),
        ValueRange{batches, heads, parts, keyCount});
  }
  {
    OpBuilder::InsertionGuard guard(b);
    auto tasks =
        scf::ForallOp::create(b,
                              ArrayRef<OpFoldResult>{getAsOpFoldResult(batches),
                                                     getAsOpFoldResult(heads),
                                                     getAsOpFoldResult(parts)},
                              ValueRange(), std::nullopt);
    b.setInsertionPointToStart(tasks.getBody());
    Value batch = tasks.getInductionVar(0), head = tasks.getInductionVar(1),
          part = tasks.getInductionVar(2);
    if (partialSums) {
      taskSums = viewRows(b, partialSums, {batch, head, part}, x.constant(0),
                          keyCount);
      fill(b, taskSums, 0.0);
    }
    auto loop = scf::ForOp::create(b, part, tiles, parts);
    b.setInsertionPointToStart(loop.getBody());
    emitTile(batch, head, x.mul(loop.getInductionVar(), x.constant(tileRows)));
  }
  if (partialSums)
    emitMerge(batches, heads, parts);
}

void StatsTiling::emitTile(Value batch, Value head, Value firstRow) {
  rows = x.min(x.constant(tileRows), x.sub(queryCount, firstRow));
  SmallVector<Value> own{batch, head};
  keys.at = {batch, x.div(head, keyGroup)};
  if (Value lse = op.getLogSumExp())
    logSumExp = viewRows(b, lse, own, firstRow, rows);
  if (Value rest = op.getRemainder())
    remainder = viewRows(b, rest, own, firstRow, rows);
  Value queryTile =
      packQueries(viewRows(b, op.getQuery(), own, firstRow, rows), head);

  // The state has whole vectors of rows; where a row ends, it has less.
  SmallVector<std::pair<Value, Value>> outputs;
  auto begin = [&](Value output, ArrayRef<int64_t> shape,
                   double value) -> Value {
    if (!output)
      return {};
    Type element = cast<MemRefType>(output.getType()).getElementType();
    if (!element.isInteger())
      element = op.getScoreType();
    Value state = memref::AllocOp::create(b, MemRefType::get(shape, element));
    fill(b, state, value);
    outputs.emplace_back(state, viewRows(b, output, own, firstRow, rows));
    return state;
  };
  rowMax = begin(op.getRowMax(), {tileRows}, 0.0);
  entropy = begin(op.getEntropy(), {tileRows}, 0.0);
  if (Value weights = op.getTopWeights()) {
    int64_t places = cast<MemRefType>(weights.getType()).getDimSize(3);
    topWeights = begin(weights, {places, tileRows}, 0.0);
    topKeys = begin(op.getTopKeys(), {places, tileRows}, -1.0);
  }
  allocateScratch(keys);
  emitBlocks(queryTile, {batch, head, firstRow}, rows, x.constant(0), keyCount);

  for (auto [state, output] : outputs) {
    if (cast<MemRefType>(state.getType()).getRank() == 2)
      state = transpose(b, state);
    auto type = cast<MemRefType>(state.getType());
    SmallVector<OpFoldResult> begins(type.getRank(), b.getIndexAttr(0)),
        sizes{getAsOpFoldResult(rows)}, ones(type.getRank(), b.getIndexAttr(1));
    if (type.getRank() == 2)
      sizes.push_back(b.getIndexAttr(type.getDimSize(1)));
    Value whole = memref::SubViewOp::create(b, state, begins, sizes, ones);
    linalg::CopyOp::create(b, whole, output);
  }
}

void StatsTiling::emitBlock(Value queryTile, ValueRange at, Value key,
                            Value count, bool masked) {
  Value sums;
  if (taskSums)
    sums = viewRows(b, taskSums, {}, key, count);
  auto block = OnlineStatsOp::create(
      b, TypeRange(), queryTile, readRows(keys, key, count), at[0], at[1],
      at[2], x.add(at[3], key), rows, logSumExp, remainder, additive, sums,
      rowMax, entropy, topWeights, topKeys,
      scalesScores() ? op.getScaleAttr() : FloatAttr(), schedule);
  clonePrograms(block, masked);
}

void StatsTiling::emitMerge(Value batches, Value heads, Value parts) {
  OpBuilder::InsertionGuard guard(b);
  auto tasks =
      scf::ForallOp::create(b,
                            ArrayRef<OpFoldResult>{getAsOpFoldResult(batches),
                                                   getAsOpFoldResult(heads)},
                            ValueRange(), std::nullopt);
  b.setInsertionPointToStart(tasks.getBody());
  SmallVector<Value> own{tasks.getInductionVar(0), tasks.getInductionVar(1)};
  Value source = viewRows(b, partialSums, own, x.constant(0), parts);
  Value dest = viewRows(b, op.getColumnSums(), own, x.constant(0), keyCount);
  fill(b, dest, 0.0);
  AffineMap both = b.getMultiDimIdentityMap(2);
  linalg::GenericOp::create(
      b, source, dest, ArrayRef<AffineMap>{both, both.getSubMap({1})},
      ArrayRef<utils::IteratorType>{utils::IteratorType::reduction,
                                    utils::IteratorType::parallel},
      [](OpBuilder &nested, Location loc, ValueRange arguments) {
        Value term = convertScalarToDtype(nested, loc, arguments[0],
                                          arguments[1].getType(),
                                          /*isUnsignedCast=*/false);
        Value sum = arith::AddFOp::create(nested, loc, arguments[1], term);
        linalg::YieldOp::create(nested, loc, sum);
      });
}
