//===- AttentionTiling.h - Fused ops as tasks of tile ops -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_COMMON_ATTENTIONTILING_H
#define ATTN_LIB_CODEGEN_COMMON_ATTENTIONTILING_H

#include "TileBuilder.h"
#include "attn/Analysis/BlockVisibility.h"
#include "attn/Analysis/TileVisibility.h"

namespace attn {

/// Walks the blocks of keys that the mask program of a fused op leaves to one
/// tile of queries (TileKeyBlocks.cpp). Subclasses say what the tasks are and
/// which op computes a block.
class KeyBlocksTiling {
public:
  virtual ~KeyBlocksTiling() = default;

protected:
  KeyBlocksTiling(mlir::ImplicitLocOpBuilder &b, KeyBlocksOpInterface op);

  /// Keys or values as they lie in memory.
  struct Rows {
    /// `[B, Hkv, N, D]`, or the pages `[P, Hkv, T, D]` of the block table; null
    /// where there are none.
    mlir::Value memref;
    /// One number a row of integers, or null.
    mlir::Value scale;
    /// Where blocks are copied to for kernels that cannot read them where they
    /// are, or null.
    mlir::Value scratch;
    /// Batch element and head of the task.
    llvm::SmallVector<mlir::Value> at;
  };
  bool isPaired() const { return isPairedKernel(schedule.getKernel()); }
  /// bf16 queries stay exact where keys are bf16 too, so that the products are
  /// exact as well: their scores are scaled, in f32.
  bool scalesScores();
  /// Sets the lengths, the keys and the heads of each.
  void readKeys();
  /// Packs rows of `query`, which are of `head`, into a tile whose rows are
  /// innermost.
  mlir::Value packQueries(mlir::Value query, mlir::Value head);
  /// A scratch tile `[columns, tileRows]` whose rows are an odd number of
  /// vectors apart: one vector of each, which is what the last rows of a query
  /// are read by, would otherwise fall into a few sets of the cache.
  mlir::Value allocateSpread(int64_t columns);
  /// The weight `[D]` of a head's additive scores, or null.
  mlir::Value viewAdditive(mlir::Value head);
  /// `memref[row : row + rows, 0 : columns]` of a rank-2 memref.
  mlir::Value viewBlock(mlir::Value memref, int64_t row, int64_t rows,
                        int64_t columns);
  /// The blocks of keys [keyBegin, keyEnd). `position` is the tile's batch
  /// element, head and first row; the mask is asked for `maskRows` rows.
  void emitBlocks(mlir::Value queryTile, std::array<mlir::Value, 3> position,
                  mlir::Value maskRows, mlir::Value keyBegin,
                  mlir::Value keyEnd);
  /// Emits the block of `count` keys from `key` on; `at` is the position of the
  /// tile's first pair.
  virtual void emitBlock(mlir::Value queryTile, mlir::ValueRange at,
                         mlir::Value key, mlir::Value count, bool masked) = 0;
  /// Copies the score program, and the mask program if asked, to a block.
  void clonePrograms(KeyBlockOpInterface block, bool masked);
  /// Rows [first, first + count) as kernels read them: where they are, or once
  /// for all rows of the tile as floats in the scratch, one after the other.
  mlir::Value readRows(const Rows &from, mlir::Value first, mlir::Value count);
  /// Rows that lie one after the other: `count` from `row` on of column `page`
  /// of the block table, or of the whole memref when that is null. `distance`
  /// is that of the first one from the first of all.
  struct Run {
    mlir::Value page, row, count, distance;
  };
  /// Calls `body` for the runs of rows [first, first + count).
  void forEachRun(mlir::Value first, mlir::Value count,
                  llvm::function_ref<void(const Run &)> body);
  /// The rows of a run in `memref`, which are `rows` or their scales.
  mlir::Value viewRun(const Rows &rows, mlir::Value memref, const Run &run);
  /// From `row` on to the end of its page.
  Run findRunAt(mlir::Value row);
  /// Allocates `rows.scratch` if blocks have to be copied.
  void allocateScratch(Rows &rows);
  /// Rows [begin, end) of `memref[leading...]` move towards the core.
  void emitPrefetch(mlir::Value memref, mlir::ValueRange leading,
                    mlir::Value begin, mlir::Value end, bool isWrite = false);
  /// The first row of the tile before `end`, or the first of all.
  mlir::Value beginOfTile(mlir::Value end);

private:
  /// Keys of a block, in whole register tiles, for as few blocks of `keys` as
  /// the schedule allows: a short last block would cost as much as a long one
  /// wherever work is for the block and not for its keys.
  mlir::Value evenBlocks(mlir::Value keys);
  void emitLoop(mlir::Value lower, mlir::Value upper,
                llvm::function_ref<void(mlir::Value)> body);
  /// Says which op of the mask program is why blocks are evaluated for nothing.
  void remarkUnknown(mlir::Operation *unknown);
  mlir::Value blockCount(mlir::Value key, mlir::Value end);
  /// i1: whether a block reads no key beside its own: panels hold other keys
  /// after the last one, unless that is the last of all.
  mlir::Value isWhole(mlir::Value key, mlir::Value count);
  /// One loop over all blocks between the bounds; each is skipped, full or
  /// partial by what its keys read.
  void emitClassifiedBlocks(mlir::Value queryTile, mlir::ValueRange at,
                            BlockVisibility &classes, const TileBounds &bounds);
  /// One loop over the blocks of three ranges: [lower, fullLower) needs the
  /// mask, [fullLower, fullUpper) does not, [fullUpper, upper) needs it again.
  void emitMaskedBlocks(mlir::Value queryTile, mlir::ValueRange at,
                        mlir::Value maskRows, mlir::Value keyBegin,
                        mlir::Value keyEnd);
  /// Whether the kernel reads the rows where they are.
  bool readsInPlace(const Rows &rows);

  KeyBlocksOpInterface fused;

protected:
  mlir::ImplicitLocOpBuilder &b;
  IndexBuilder x;
  ScheduleAttr schedule;
  int64_t tileRows, blockKeys;
  /// Heads of one tile.
  int64_t headGroup = 1;
  mlir::Value queryCount, keyCount, rows, additive;
  Rows keys, values;
  /// The first block without a mask.
  mlir::Value firstFullKey;
  /// Query heads of one key head.
  mlir::Value keyGroup;
};

/// Tiles one `attn.attention` on buffers, at the builder's insertion point.
/// Tasks are in TileAttention.cpp and TilePairedAttention.cpp.
class AttentionTiling : public KeyBlocksTiling {
public:
  AttentionTiling(mlir::ImplicitLocOpBuilder &b, AttentionOp op)
      : KeyBlocksTiling(b, op), op(op) {}
  void run();

private:
  void emitTask(mlir::Value batch, mlir::Value head, mlir::Value firstRow);
  /// Rows of the query of batch element and head `own`, at most `maxRows`,
  /// where they are, or rotated in a scratch of the task.
  mlir::Value readQuery(mlir::ValueRange own, mlir::Value firstRow,
                        mlir::Value rows, int64_t maxRows);
  /// Tasks of `batches` times `heads` for products of bf16 pairs.
  void emitPairedTasks(mlir::Value batches, mlir::Value heads);
  /// Copies keys once per head into rows of whole pairs, `[B, Hkv, N, D]`,
  /// padded with zeros to whole chunks. Keys that are such rows stay.
  void packKeys(mlir::Value batches);
  /// i1: whether keys are whole panels of rows of whole pairs, one after the
  /// other; null when they never are.
  mlir::Value isPackedKey();
  /// `[B, H, N / perPanel, panelShape...]` for the rows of `[B, H, N, D]`.
  mlir::Value allocatePacked(mlir::Value batches, mlir::Value source,
                             llvm::ArrayRef<int64_t> panelShape,
                             int64_t perPanel);
  /// Fills the first `batches` of what `allocatePacked` made.
  void emitPackTasks(mlir::Value batches, mlir::Value source,
                     mlir::Value packed);
  /// Copies the rows of a chunk; those past the last key become zeros.
  void packChunk(mlir::Value source, mlir::Value packed,
                 mlir::ValueRange leading, mlir::Value chunk);
  /// The rows of all heads of a group as one tile; keys in tasks of
  /// `schedule.split`, each with a partial result, which are merged in order.
  void emitFewRows(mlir::Value batches);
  /// The sink of a query head, which the merge of its rows takes in: the state
  /// of a block knows nothing of it, and no split of the keys counts it twice.
  /// Null without sinks.
  mlir::Value loadSink(mlir::Value head);
  /// The tile `partials[batch, keyHead, part]`.
  mlir::Value viewPart(mlir::Value partials, mlir::Value batch,
                       mlir::Value keyHead, mlir::Value part);
  /// Rows [row, row + rows) and the first `columns` of every part of
  /// `partials[batch, keyHead]`; rank 2 without columns.
  mlir::Value viewPartials(mlir::Value partials, mlir::Value batch,
                           mlir::Value keyHead, mlir::Value parts,
                           mlir::Value row, int64_t rows, int64_t columns = 0);
  void emitBlock(mlir::Value queryTile, mlir::ValueRange at, mlir::Value key,
                 mlir::Value count, bool masked) override;
  /// Keys and values of one block as the kernel reads them.
  struct BlockOperands {
    mlir::Value key, value;
    mlir::Value keyScale = {}, valueScale = {};
    llvm::SmallVector<mlir::Value> upcoming = {};
  };
  void emitKernel(mlir::Value queryTile, mlir::ValueRange at, mlir::Value key,
                  const BlockOperands &operands, bool masked);

  AttentionOp op;
  /// Rows of each head in a tile of several heads, or 0.
  int64_t headRows = 0;
  mlir::Value acc, max, sum;
  /// Rows that a kernel brings near by and by.
  llvm::SmallVector<mlir::Value> upcoming;
  /// Query heads of one value head.
  mlir::Value valueGroup;
};

/// Tiles one `attn.attention_stats` (TileStats.cpp).
class StatsTiling : public KeyBlocksTiling {
public:
  StatsTiling(mlir::ImplicitLocOpBuilder &b, AttentionStatsOp op)
      : KeyBlocksTiling(b, op), op(op) {}
  void run();

private:
  /// The statistics of the rows [firstRow, firstRow + rows).
  void emitTile(mlir::Value batch, mlir::Value head, mlir::Value firstRow);
  /// The sums of the columns over the parts of the rows, in their order.
  void emitMerge(mlir::Value batches, mlir::Value heads, mlir::Value parts);
  void emitBlock(mlir::Value queryTile, mlir::ValueRange at, mlir::Value key,
                 mlir::Value count, bool masked) override;

  AttentionStatsOp op;
  /// `[B, Hq, parts, Skv]`: the sums of the columns over some of the rows, and
  /// the part of the task. Null where nobody asks for them.
  mlir::Value partialSums, taskSums;
  /// State of the tile; null for what nobody asks for.
  mlir::Value logSumExp, remainder, rowMax, entropy, topWeights, topKeys;
};

} // namespace attn

#endif // ATTN_LIB_CODEGEN_COMMON_ATTENTIONTILING_H
