//===- RecurrentState.cpp - Linear attention token by token ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The recurrence itself, columns of the state in lanes. All tokens of a chunk
// go through one panel of the state, which stays in L1: each reads and writes
// it once, twice with the delta rule, whose update needs what the state has for
// the token's key.
//
//===----------------------------------------------------------------------===//

#include "LinearAttention.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

LogicalResult LinearAttentionLowering::emitRecurrence() {
  LogicalResult result = success();
  forEach(b, zero, e.index(group), [&](Value head) {
    if (failed(loadQueries(head, head)))
      result = failure();
  });
  if (op.getDecay() && !op.hasRowDecay())
    emitLoop(b, zero, e.index(cast<MemRefType>(gates.getType()).getDimSize(0)),
             e.getLanes(), {}, [&](Value t, ValueRange) -> Vectors {
               e.store(gate(e.load(gates, t)), gates, t);
               return {};
             });
  forEach(b, zero, panelCount, [&](Value panel) {
    forEach(b, zero, count, [&](Value t) { emitToken(panel, t); });
  });
  return result;
}

LinearAttentionLowering::Vectors LinearAttentionLowering::sumRows(
    function_ref<void(Value row, MutableArrayRef<Value>)> addRow) {
  // Eight sums hide the latency of an addition.
  int64_t copies = std::max<int64_t>(1, 8 / vectors);
  Vectors sums = emitGroupedLoop(
      b, e.index(depth), copies, Vectors(copies * vectors, e.splat(0.0f)),
      [&](Value row, ValueRange carried, int64_t size) {
        Vectors next(carried);
        for (int64_t r = 0; r < size; ++r)
          addRow(add(row, r),
                 MutableArrayRef(next).slice(r * vectors, vectors));
        return next;
      });
  for (int64_t r = 1; r < copies; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      sums[v] = arith::AddFOp::create(b, sums[v], sums[r * vectors + v]);
  sums.truncate(vectors);
  return sums;
}

void LinearAttentionLowering::emitToken(Value panel, Value t) {
  auto factor = [&](Value rows, Value d) {
    return e.broadcast(loadScalar(rows, {t, d}));
  };
  Value decay;
  if (op.getDecay() && !op.hasRowDecay())
    decay = e.broadcast(loadScalar(gates, t));
  Vectors update = loadPanel(values, panel, t);
  if (op.getBeta()) {
    Value source = gatedKeys ? gatedKeys : keys;
    Vectors retrieved = sumRows([&](Value d, MutableArrayRef<Value> sums) {
      Value key = factor(source, d);
      for (auto [sum, row] : llvm::zip(sums, loadPanel(state, panel, d)))
        sum = e.fma(key, row, sum);
    });
    Value beta = e.broadcast(loadScalar(betas, t));
    for (auto [u, old] : llvm::zip(update, retrieved)) {
      if (decay)
        old = arith::MulFOp::create(b, old, decay);
      u = arith::MulFOp::create(b, beta, arith::SubFOp::create(b, u, old));
    }
  }
  auto query = [&](Value head, Value d) {
    return e.broadcast(loadScalar(queries, {head, t, d}));
  };
  Vectors outputs = sumRows([&](Value d, MutableArrayRef<Value> sums) {
    Value key = factor(keys, d), first = query(zero, d);
    Value kept = op.hasRowDecay() ? factor(gates, d) : decay;
    Vectors rows = loadPanel(state, panel, d);
    for (auto [row, u, sum] : llvm::zip(rows, update, sums)) {
      if (kept)
        row = arith::MulFOp::create(b, row, kept);
      row = e.fma(key, u, row);
      sum = e.fma(first, row, sum);
    }
    storePanel(rows, state, panel, d);
  });
  storeColumns(outputs, op.getOutput(), zero, add(first, t), panel);
  if (group == 1)
    return;
  // The other heads of the group read what the first has updated.
  forEach(b, e.index(1), e.index(group), [&](Value head) {
    Vectors others = sumRows([&](Value d, MutableArrayRef<Value> sums) {
      Value factor = query(head, d);
      for (auto [sum, row] : llvm::zip(sums, loadPanel(state, panel, d)))
        sum = e.fma(factor, row, sum);
    });
    storeColumns(others, op.getOutput(), head, add(first, t), panel);
  });
}
