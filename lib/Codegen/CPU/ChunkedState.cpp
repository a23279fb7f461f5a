//===- ChunkedState.cpp - Linear attention chunk by chunk -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chunked form (Sun et al., arXiv:2307.08621; Yang et al.,
// arXiv:2312.06635). For the tokens i of a chunk, the state S before it, and
// what a product of gates leaves at i of token j, d_ij, and of S, d_i:
//
//   o_i = d_i (q_i S) + sum over j <= i of d_ij (q_i k_j) v_j
//   S   = d_n S + sum over j of d_nj k_j v_j^T
//
// so that the state is read and written once a chunk, and its rows meet
// register tiles. Logarithms of d_ij are sums of those of the gates between j
// and i, never differences of longer sums: they keep their digits after a
// strong decay, and nothing but the result itself can overflow.
//
// Tokens past the own one are never multiplied by 0: their NaN would spread.
//
//===----------------------------------------------------------------------===//

#include "LinearAttention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

LogicalResult LinearAttentionLowering::emitChunk() {
  Value transposed = memref::TransposeOp::create(
      b, keysT,
      AffineMapAttr::get(AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0},
                                                      b.getContext())));
  if (failed(pack(viewRows(keys, {}, zero, count), transposed)))
    return failure();
  if (op.getDecay()) {
    emitDecays();
    scaleKeys();
  }
  LogicalResult result = success();
  forEach(b, zero, e.index(group), [&](Value head) {
    if (failed(loadQueries(head, zero)))
      result = failure();
    emitScores();
    emitOutputs(head);
  });
  emitStateUpdate();
  return result;
}

void LinearAttentionLowering::emitDecays() {
  int64_t lanes = e.getLanes(), blocks = chunk / lanes;
  Vectors columns;
  for (int64_t v = 0; v < blocks; ++v)
    columns.push_back(arith::AddIOp::create(
        b, vector::StepOp::create(b, e.vectorType(b.getIndexType())),
        e.broadcast(e.index(v * lanes))));
  // Row by row: what has been lost since token j grows by the gate of token i.
  Vectors lost(blocks, e.splat(0.0f));
  lost.push_back(e.constant(0.0));
  Value factor = e.splat(kLog2E), one = e.splat(1.0f);
  emitLoop(b, zero, count, 1, lost, [&](Value i, ValueRange carried) {
    Value decay = loadScalar(gates, i);
    Vectors next;
    for (int64_t v = 0; v < blocks; ++v) {
      Value isPast = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                           columns[v], e.broadcast(i));
      Value sum = arith::AddFOp::create(b, carried[v], e.broadcast(decay));
      sum = arith::SelectOp::create(b, isPast, sum, e.splat(0.0f));
      next.push_back(sum);
      // Denormal factors would take a hundred cycles each.
      Value power = arith::MulFOp::create(b, sum, factor);
      Value vanishes = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                                             power, e.splat(-126.0f));
      power = arith::SelectOp::create(b, vanishes, e.splat(-INFINITY), power);
      Value left = arith::SelectOp::create(b, isPast, e.exp2(power), one);
      e.store(left, decays, {i, e.index(v * lanes)});
    }
    Value total = arith::AddFOp::create(b, carried[blocks], decay);
    memref::StoreOp::create(b, total, starts, i);
    next.push_back(total);
    return next;
  });
  emitLoop(b, zero, count, lanes, {}, [&](Value i, ValueRange) -> Vectors {
    e.store(gate(e.load(starts, i)), starts, i);
    return {};
  });
}

void LinearAttentionLowering::scaleKeys() {
  // What the end of the chunk has of each key.
  Value last = sub(count, e.index(1));
  forEach(b, zero, count, [&](Value j) {
    Value factor = e.broadcast(loadScalar(decays, {last, j}));
    emitLoop(b, zero, e.index(paddedDepth), e.getLanes(), {},
             [&](Value d, ValueRange) -> Vectors {
               e.store(arith::MulFOp::create(b, factor, e.load(keys, {j, d})),
                       keys, {j, d});
               return {};
             });
  });
}

void LinearAttentionLowering::emitScores() {
  // One vector of keys times as many rows as hide the latency of a product.
  constexpr int64_t rows = 8;
  emitGroupedLoop(
      b, count, rows, {}, [&](Value i, ValueRange, int64_t size) -> Vectors {
        emitLoop(b, zero, add(i, size), e.getLanes(), {},
                 [&](Value j, ValueRange) -> Vectors {
                   Vectors sums = emitOuterProduct(
                       e, zero, e.index(depth), size, 1,
                       Vectors(size, e.splat(0.0f)),
                       [&](Value d, int64_t r) {
                         return e.broadcast(
                             loadScalar(queries, {zero, add(i, r), d}));
                       },
                       [&](Value d, int64_t) { return e.load(keysT, {d, j}); });
                   for (int64_t r = 0; r < size; ++r) {
                     if (op.getDecay())
                       sums[r] = arith::MulFOp::create(
                           b, sums[r], e.load(decays, {add(i, r), j}));
                     e.store(sums[r], scores, {add(i, r), j});
                   }
                   return {};
                 });
        return {};
      });
}

void LinearAttentionLowering::emitOutputs(Value head) {
  auto emitTile = [&](Value panel, Value i, int64_t size) {
    auto value = [&](Value j, int64_t v) {
      return e.load(values, {panel, j, e.index(v * e.getLanes())});
    };
    auto score = [&](Value j, int64_t r) {
      return e.broadcast(loadScalar(scores, {add(i, r), j}));
    };
    Vectors sums = emitOuterProduct(
        e, zero, e.index(depth), size, vectors,
        Vectors(size * vectors, e.splat(0.0f)),
        [&](Value d, int64_t r) {
          return e.broadcast(loadScalar(queries, {zero, add(i, r), d}));
        },
        [&](Value d, int64_t v) {
          return e.load(state, {panel, d, e.index(v * e.getLanes())});
        });
    if (op.getDecay())
      for (int64_t r = 0; r < size; ++r) {
        Value left = e.broadcast(loadScalar(starts, add(i, r)));
        for (int64_t v = 0; v < vectors; ++v) {
          Value &sum = sums[r * vectors + v];
          sum = arith::MulFOp::create(b, sum, left);
        }
      }
    sums = emitOuterProduct(e, zero, i, size, vectors, sums, score, value);
    // The corner where rows of the tile see different tokens.
    for (int64_t j = 0; j < size; ++j) {
      Vectors own = loadPanel(values, panel, add(i, j));
      for (int64_t r = j; r < size; ++r) {
        Value weight = score(add(i, j), r);
        for (int64_t v = 0; v < vectors; ++v) {
          Value &sum = sums[r * vectors + v];
          sum = e.fma(weight, own[v], sum);
        }
      }
    }
    for (int64_t r = 0; r < size; ++r)
      storeColumns(ValueRange(sums).slice(r * vectors, vectors), op.getOutput(),
                   head, add(first, add(i, r)), panel);
  };
  forEach(b, zero, panelCount, [&](Value panel) {
    emitGroupedLoop(b, count, registerRows, {},
                    [&](Value i, ValueRange, int64_t size) -> Vectors {
                      emitTile(panel, i, size);
                      return {};
                    });
  });
}

void LinearAttentionLowering::emitStateUpdate() {
  Value kept;
  if (op.getDecay())
    kept = e.broadcast(loadScalar(starts, sub(count, e.index(1))));
  forEach(b, zero, panelCount, [&](Value panel) {
    emitGroupedLoop(
        b, e.index(depth), registerRows, {},
        [&](Value d, ValueRange, int64_t size) -> Vectors {
          Vectors sums;
          for (int64_t r = 0; r < size; ++r)
            for (Value row : loadPanel(state, panel, add(d, r)))
              sums.push_back(
                  kept ? arith::MulFOp::create(b, row, kept).getResult() : row);
          sums = emitOuterProduct(
              e, zero, count, size, vectors, sums,
              [&](Value j, int64_t r) {
                return e.broadcast(loadScalar(keys, {j, add(d, r)}));
              },
              [&](Value j, int64_t v) {
                return e.load(values, {panel, j, e.index(v * e.getLanes())});
              });
          for (int64_t r = 0; r < size; ++r)
            storePanel(ValueRange(sums).slice(r * vectors, vectors), state,
                       panel, add(d, r));
          return {};
        });
  });
}
