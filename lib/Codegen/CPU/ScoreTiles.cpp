//===- ScoreTiles.cpp - Scores of a few query rows by AMX -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// S = K Q^T: a tile of keys is what lies in memory, rows of the query are
// columns of pairs, and no sum goes across lanes. A tile costs the same for one
// row of the query as for sixteen, where vectors are paid by the row. Products
// of bf16 are exact in f32; the scale comes later.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "VectorEmitter.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace attn;

using Vectors = SmallVector<Value>;

/// Keys of a tile, and pairs of their features.
static constexpr int64_t kTile = kTileFeatures / 2;

bool attn::hasScoreTiles(OnlineAttentionOp op, TargetAttr target) {
  auto isBF16 = [](Value memref) {
    return cast<MemRefType>(memref.getType()).getElementType().isBF16();
  };
  // For fewer, vectors take no longer.
  constexpr int64_t kFewestRows = 4;
  auto query = cast<MemRefType>(op.getQuery().getType());
  return target.getBf16() == BF16Unit::Tiles &&
         op.getSchedule()->getLanes() == kTile &&
         query.getDimSize(0) >= kFewestRows &&
         query.getDimSize(1) % kTileFeatures == 0 && isBF16(op.getQuery()) &&
         isBF16(op.getKey()) && hasUnitColumns(op.getKey());
}

/// Vectors of one row each, a power of two of them, as vectors that take from
/// each row in turn.
static Vectors interleaveRows(VectorEmitter &e, ArrayRef<Value> rows) {
  if (rows.size() == 1)
    return Vectors(rows);
  Vectors halves[2], result;
  for (auto [i, row] : llvm::enumerate(rows))
    halves[i % 2].push_back(row);
  for (auto [even, odd] : llvm::zip_equal(interleaveRows(e, halves[0]),
                                          interleaveRows(e, halves[1]))) {
    auto [lower, upper] = e.interleave(even, odd);
    llvm::append_values(result, lower, upper);
  }
  return result;
}

/// The inverse.
static Vectors deinterleaveRows(VectorEmitter &e, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return Vectors(vectors);
  Vectors halves[2], result;
  for (size_t i = 0; i < vectors.size(); i += 2) {
    auto [even, odd] = e.deinterleave(vectors[i], vectors[i + 1]);
    halves[0].push_back(even);
    halves[1].push_back(odd);
  }
  for (auto [even, odd] : llvm::zip_equal(deinterleaveRows(e, halves[0]),
                                          deinterleaveRows(e, halves[1])))
    llvm::append_values(result, even, odd);
  return result;
}

namespace {

class ScoreTilesEmitter {
public:
  ScoreTilesEmitter(VectorEmitter &e, OnlineAttentionOp op,
                    FewRowsScratch scratch, KeyPrefetch prefetch)
      : e(e), b(e.builder()), op(op), scratch(scratch), prefetch(prefetch),
        zero(e.index(0)), lanes(e.getLanes()),
        pairs(VectorType::get({2 * lanes}, b.getBF16Type())) {
    auto query = cast<MemRefType>(op.getQuery().getType());
    rows = query.getDimSize(0);
    headDim = query.getDimSize(1);
  }

  void emit() {
    pairQuery();
    Value keyCount = memref::DimOp::create(b, op.getKey(), 0);
    Value tile = e.index(kTile);
    // The chains of products of four tiles overlap.
    emitGroupedLoop(b, arith::DivUIOp::create(b, keyCount, tile), 4, {},
                    [&](Value i, ValueRange, int64_t tiles) -> Vectors {
                      Value j = arith::MulIOp::create(b, i, tile);
                      emitTiles(op.getKey(), j, j, tiles);
                      return {};
                    });
    emitRest(keyCount);
    toRows(keyCount);
  }

private:
  Value add(Value x, int64_t y) {
    return y == 0 ? x : arith::AddIOp::create(b, x, e.index(y)).getResult();
  }
  Value flatten(Value memref) {
    return memref::CollapseShapeOp::create(
        b, memref, ArrayRef<ReassociationIndices>{{0, 1}});
  }
  Value loadPairs(Value memref, ValueRange indices) {
    return vector::LoadOp::create(b, pairs, memref, indices);
  }

  /// The query once a block as the right side of products: pairs of features,
  /// with its rows as columns.
  void pairQuery() {
    Value flat = flatten(scratch.query);
    emitLoop(
        b, zero, e.index(headDim), kTileFeatures, {},
        [&](Value d, ValueRange) -> Vectors {
          Vectors ordered;
          for (int64_t r = 0; r < rows; ++r)
            ordered.push_back(vector::BitCastOp::create(
                b, e.vectorType(), loadPairs(op.getQuery(), {e.index(r), d})));
          Value at = arith::MulIOp::create(b, d, e.index(rows));
          for (auto [i, x] : llvm::enumerate(interleaveRows(e, ordered)))
            vector::StoreOp::create(b, vector::BitCastOp::create(b, pairs, x),
                                    flat, add(at, i * 2 * lanes));
          return {};
        });
  }

  /// scores[to + j][r] = dot(keys[from + j], q_r) for `tiles` tiles of keys.
  void emitTiles(Value keys, Value from, Value to, int64_t tiles) {
    auto leftType = amx::TileType::get({kTile, kTileFeatures}, b.getBF16Type());
    auto rightType = amx::TileType::get({kTile, 2 * rows}, b.getBF16Type());
    auto sumType = amx::TileType::get({kTile, rows}, b.getF32Type());
    Vectors sums;
    for (int64_t t = 0; t < tiles; ++t)
      sums.push_back(amx::TileZeroOp::create(b, sumType));
    sums = emitLoop(
        b, zero, e.index(headDim), kTileFeatures, sums,
        [&](Value d, ValueRange acc) -> Vectors {
          Vectors next;
          Value pair = arith::DivUIOp::create(b, d, e.index(2));
          Value right = amx::TileLoadOp::create(b, rightType, scratch.query,
                                                ValueRange{pair, zero});
          // As many lines of the next block as are read of this one.
          Value index = arith::MulIOp::create(
              b, arith::DivUIOp::create(b, d, e.index(kTileFeatures)),
              e.index(tiles * kTile));
          for (int64_t t = 0; t < tiles; ++t) {
            Value left = amx::TileLoadOp::create(
                b, leftType, keys, ValueRange{add(from, t * kTile), d});
            next.push_back(
                amx::TileMulFOp::create(b, sumType, left, right, acc[t]));
            for (int64_t j = 0; j < kTile; ++j)
              prefetch(to, add(index, t * kTile + j));
          }
          return next;
        });
    for (int64_t t = 0; t < tiles; ++t)
      amx::TileStoreOp::create(b, scratch.scores,
                               ValueRange{add(to, t * kTile), zero}, sums[t]);
  }

  /// What is left of a tile is copied: rows past the end cannot be read. The
  /// softmax hides what stands there.
  void emitRest(Value keyCount) {
    Value rest = arith::RemUIOp::create(b, keyCount, e.index(kTile));
    Value whole = arith::SubIOp::create(b, keyCount, rest);
    Value ragged =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, rest, zero);
    auto tail = scf::IfOp::create(b, ragged, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(tail.thenBlock());
    forEach(b, zero, rest, [&](Value j) {
      Value key = arith::AddIOp::create(b, whole, j);
      emitLoop(b, zero, e.index(headDim), kTileFeatures, {},
               [&](Value d, ValueRange) -> Vectors {
                 vector::StoreOp::create(b, loadPairs(op.getKey(), {key, d}),
                                         scratch.lastKeys, ValueRange{j, d});
                 return {};
               });
    });
    emitTiles(scratch.lastKeys, zero, whole, 1);
  }

  /// weights[r][j] = scores[j][r].
  void toRows(Value keyCount) {
    Value flat = flatten(scratch.scores);
    emitLoop(b, zero, keyCount, lanes, {}, [&](Value j, ValueRange) -> Vectors {
      Value at = arith::MulIOp::create(b, j, e.index(rows));
      Vectors scores;
      for (int64_t r = 0; r < rows; ++r)
        scores.push_back(e.load(flat, add(at, r * lanes)));
      for (auto [r, x] : llvm::enumerate(deinterleaveRows(e, scores)))
        e.store(x, scratch.weights, {e.index(r), j});
      return {};
    });
  }

  VectorEmitter &e;
  ImplicitLocOpBuilder &b;
  OnlineAttentionOp op;
  FewRowsScratch scratch;
  KeyPrefetch prefetch;
  Value zero;
  int64_t lanes, rows, headDim;
  /// As many bf16 as a vector holds.
  VectorType pairs;
};

} // namespace

void attn::emitScoreTiles(VectorEmitter &emitter, OnlineAttentionOp op,
                          FewRowsScratch scratch, KeyPrefetch prefetch) {
  ScoreTilesEmitter(emitter, op, scratch, prefetch).emit();
}
