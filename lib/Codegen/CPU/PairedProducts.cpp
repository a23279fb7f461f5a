//===- PairedProducts.cpp - Products of bf16 pairs by tiles or vectors ----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairedAttention.h"
#include "mlir/Dialect/X86Vector/X86VectorDialect.h"

using namespace mlir;
using namespace attn;

SmallVector<Value> PairedAttentionLowering::emitTileProduct(
    Value depth, int64_t rows, ValueRange init, TileLoad left, TileLoad right) {
  return emitLoop(b, zero, depth, 1, init,
                  [&](Value k, ValueRange acc) -> Vectors {
                    Vectors ls, rs, next;
                    for (int64_t r = 0; r < rows; ++r)
                      ls.push_back(left(k, r));
                    for (int64_t v = 0; v < vectors; ++v)
                      rs.push_back(right(k, v));
                    for (int64_t r = 0; r < rows; ++r)
                      for (int64_t v = 0; v < vectors; ++v)
                        next.push_back(amx::TileMulFOp::create(
                            b, f32Tile(), ls[r], rs[v], acc[r * vectors + v]));
                    return next;
                  });
}

SmallVector<Value> PairedAttentionLowering::emitVectorProduct(
    Value depth, int64_t rows, ValueRange init, TileLoad left, TileLoad right) {
  return emitLoop(b, zero, depth, 1, init,
                  [&](Value k, ValueRange acc) -> Vectors {
                    Vectors rs, next;
                    for (int64_t v = 0; v < vectors; ++v)
                      rs.push_back(right(k, v));
                    for (int64_t r = 0; r < rows; ++r) {
                      Value l = left(k, r);
                      for (int64_t v = 0; v < vectors; ++v)
                        next.push_back(x86vector::DotBF16Op::create(
                            b, e.vectorType(), acc[r * vectors + v], l, rs[v]));
                    }
                    return next;
                  });
}

Value PairedAttentionLowering::broadcastPair(Value memref, ValueRange indices) {
  Value pair = vector::LoadOp::create(b, VectorType::get({2}, b.getBF16Type()),
                                      memref, indices);
  Value bits =
      vector::BitCastOp::create(b, VectorType::get({1}, b.getI32Type()), pair);
  Value scalar = vector::ExtractOp::create(b, bits, ArrayRef<int64_t>{0});
  return vector::BitCastOp::create(b, pairsType(), e.broadcast(scalar));
}

void PairedAttentionLowering::padScores(Value panel, float padding) {
  Value slot = scoreSlot(panel);
  Value left = arith::SubIOp::create(b, keyCount, times(panel, kPanel));
  left = arith::MaxSIOp::create(b, left, zero);
  forEach(b, arith::MinSIOp::create(b, left, e.index(kPanel)), e.index(kPanel),
          [&](Value j) {
            for (int64_t v = 0; v < vectors; ++v)
              storeScore(e.splat(padding), add(slot, j), v);
          });
}

void PairedAttentionLowering::emitScoreProducts(Value panel, bool started,
                                                float padding) {
  Value from = times(panel, kPanel), slot = scoreSlot(panel);
  if (useTiles) {
    for (int64_t r = 0; r < kPanel / kTile; r += registerRows)
      emitScoreTiles(from, slot, r * kTile,
                     std::min(registerRows, kPanel / kTile - r), started);
  } else {
    emitLoop(b, zero, e.index(kPanel), registerRows, {},
             [&](Value j, ValueRange) -> Vectors {
               emitScoreVectors(add(from, j), add(slot, j), started);
               return {};
             });
  }
  padScores(panel, padding);
}

void PairedAttentionLowering::emitScoreTiles(Value from, Value slot,
                                             int64_t offset, int64_t rows,
                                             bool started) {
  Vectors init;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      init.push_back(started
                         ? loadTile(f32Tile(), scratch.start,
                                    {zero, e.index(v * kTile)}, zero)
                         : amx::TileZeroOp::create(b, f32Tile()).getResult());
  Vectors sums = emitTileProduct(
      e.index(keyDim / kPanel), rows, init,
      [&](Value k, int64_t r) {
        Value column = arith::MulIOp::create(b, k, e.index(kPanel));
        return streamTile(op.getKey(), {add(from, offset + r * kTile), column});
      },
      [&](Value k, int64_t v) {
        Value row = arith::MulIOp::create(b, k, e.index(kPanel / 2));
        return loadTile(bf16Tile(), queryPairs,
                        {row, add(twice(group), v * 2 * kTile)});
      });
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      amx::TileStoreOp::create(
          b, scratch.scores,
          ValueRange{add(slot, offset + r * kTile), e.index(v * kTile)},
          sums[r * vectors + v]);
}

void PairedAttentionLowering::emitScoreVectors(Value j, Value slot,
                                               bool started) {
  Vectors init;
  for (int64_t r = 0; r < registerRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      init.push_back(started ? e.load(scratch.start, {zero, e.index(v * lanes)})
                             : e.splat(0.0f));
  Vectors sums = emitVectorProduct(
      e.index(keyDim / 2), registerRows, init,
      [&](Value k, int64_t r) {
        return broadcastPair(op.getKey(), {add(j, r), twice(k)});
      },
      [&](Value k, int64_t v) {
        return loadPairs(queryPairs, {k, add(twice(group), v * 2 * lanes)});
      });
  for (int64_t r = 0; r < registerRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      storeScore(sums[r * vectors + v], add(slot, r), v);
}

void PairedAttentionLowering::emitValueTiles(Value panel, Value d,
                                             int64_t rows) {
  Vectors init, ls, rs;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      init.push_back(loadTile(f32Tile(), accT,
                              {add(d, r * kTile), add(group, v * kTile)}));
  for (int64_t r = 0; r < rows; ++r)
    ls.push_back(streamTile(op.getValue(), {panel, add(d, r * kTile), zero}));
  Value slot = weightSlot(panel);
  for (int64_t v = 0; v < vectors; ++v)
    rs.push_back(
        loadTile(bf16Tile(), scratch.weights, {slot, e.index(v * 2 * kTile)}));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      amx::TileStoreOp::create(
          b, accT, ValueRange{add(d, r * kTile), add(group, v * kTile)},
          amx::TileMulFOp::create(b, f32Tile(), ls[r], rs[v],
                                  init[r * vectors + v]));
}

void PairedAttentionLowering::emitValueVectors(Value panel, Value d) {
  Vectors init;
  for (int64_t r = 0; r < registerRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      init.push_back(e.load(accT, {add(d, r), stateIndex(v)}));
  Value slot = weightSlot(panel);
  Vectors sums = emitVectorProduct(
      e.index(kPanel / 2), registerRows, init,
      [&](Value k, int64_t r) {
        return broadcastPair(op.getValue(), {panel, add(d, r), twice(k)});
      },
      [&](Value k, int64_t v) {
        return loadPairs(scratch.weights,
                         {add(slot, k), e.index(v * 2 * lanes)});
      });
  for (int64_t r = 0; r < registerRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      e.store(sums[r * vectors + v], accT, {add(d, r), stateIndex(v)});
}

void PairedAttentionLowering::emitValueProducts(Value panel) {
  int64_t step = useTiles ? registerRows * kTile : registerRows;
  int64_t whole = valueDim / step * step;
  emitLoop(b, zero, e.index(whole), step, {},
           [&](Value d, ValueRange) -> Vectors {
             useTiles ? emitValueTiles(panel, d, registerRows)
                      : emitValueVectors(panel, d);
             return {};
           });
  // Vectors divide the feature tiles.
  if (whole < valueDim)
    emitValueTiles(panel, e.index(whole), (valueDim - whole) / kTile);
}
