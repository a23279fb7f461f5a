//===- PairedPipeline.cpp - Products and exponentials side by side --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairedAttention.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <memory>

using namespace mlir;
using namespace attn;

SmallVector<Value> PairedAttentionLowering::emitWeightPair(Value panel, Value j,
                                                           ValueRange sums,
                                                           bool checked,
                                                           Weight weight) {
  Vectors next(sums);
  Value key = add(times(panel, kPanel), j), row = add(scoreSlot(panel), j);
  Value pair = add(weightSlot(panel), half(j));
  for (int64_t v = 0; v < vectors; ++v) {
    Value even = weight(key, row, v);
    Value odd = weight(add(key, 1), add(row, 1), v);
    next[v] = arith::AddFOp::create(b, next[v], even);
    next[v] = arith::AddFOp::create(b, next[v], odd);
    vector::StoreOp::create(b, toPairs(even, odd, checked), scratch.weights,
                            ValueRange{pair, e.index(v * 2 * lanes)});
  }
  return next;
}

SmallVector<Value>
PairedAttentionLowering::emitWeights(Value panel, int64_t from, int64_t to,
                                     ValueRange sums, bool checked,
                                     Weight weight) {
  return emitLoop(b, e.index(from), e.index(to), 2, sums,
                  [&](Value j, ValueRange carried) -> Vectors {
                    return emitWeightPair(panel, j, carried, checked, weight);
                  });
}

void PairedAttentionLowering::storeStart(ValueRange max) {
  if (!startsAtMaximum())
    return;
  for (int64_t v = 0; v < vectors; ++v)
    e.store(arith::MulFOp::create(b, max[v],
                                  e.splat(-1.0f / static_cast<float>(scale))),
            scratch.start, {zero, e.index(v * lanes)});
}

SmallVector<Value> PairedAttentionLowering::emitPanels(ValueRange state) {
  storeStart(state.take_front(vectors));
  if (alternates())
    return emitAlternatingPanels(state);
  return emitLoop(
      b, firstPanel, panelEnd, 1, state,
      [&](Value panel, ValueRange carried) -> Vectors {
        emitScoreProducts(panel, startsAtMaximum(), startedPadding());
        ValueRange max = carried.take_front(vectors);
        Vectors sums = emitWeights(
            panel, 0, kPanel, Vectors(vectors, e.splat(0.0f)),
            /*checked=*/false, [&](Value key, Value row, int64_t v) {
              return lazyWeight(key, row, v, max);
            });
        Vectors next = keepOrRedo(panel, sums, carried).first;
        emitWeightedSum(panel);
        return next;
      });
}

std::pair<SmallVector<Value>, Value>
PairedAttentionLowering::keepOrRedo(Value panel, ValueRange sums,
                                    ValueRange state) {
  Vectors beyond;
  for (Value sum : sums)
    beyond.push_back(arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, sum,
                                           e.splat(kLazyMaximumBound)));
  Value fails = e.anyLane(beyond);
  auto exact =
      scf::IfOp::create(b, state.getTypes(), fails, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(exact.thenBlock());
  Vectors next = emitExactPanel(panel, state);
  storeStart(ValueRange(next).take_front(vectors));
  scf::YieldOp::create(b, next);
  b.setInsertionPointToStart(exact.elseBlock());
  next = Vectors(state);
  for (int64_t v = 0; v < vectors; ++v)
    next[vectors + v] = arith::AddFOp::create(b, next[vectors + v], sums[v]);
  scf::YieldOp::create(b, next);
  return {Vectors(exact.getResults()), fails};
}

Value PairedAttentionLowering::lazyWeight(Value key, Value row, int64_t v,
                                          ValueRange max) {
  Value raw = loadScore(row, v);
  if (startsAtMaximum()) {
    Value t = arith::MulFOp::create(
        b, raw, e.splat(static_cast<float>(scale * kLog2E)));
    return exp2(hide(t, key, v));
  }
  Value s = naturalScore(raw, key, v);
  s = arith::SubFOp::create(b, s, max[v]);
  s = hide(hidePadding(s, key), key, v);
  return exp2(arith::MulFOp::create(b, s, e.splat(kLog2E)));
}

//===----------------------------------------------------------------------===//
// Tile operations among exponentials
//===----------------------------------------------------------------------===//

SmallVector<Value>
PairedAttentionLowering::emitWeightsAmong(ArrayRef<TileOp> tileOps, Value panel,
                                          Value first, int64_t pairs,
                                          ValueRange sums, ValueRange max) {
  Vectors next(sums);
  size_t done = 0;
  for (int64_t i = 0; i < pairs; ++i) {
    next = emitWeightPair(panel, twice(add(first, i)), next, /*checked=*/false,
                          [&](Value key, Value row, int64_t v) {
                            return lazyWeight(key, row, v, max);
                          });
    for (size_t until = tileOps.size() * (i + 1) / pairs; done < until; ++done)
      tileOps[done]();
  }
  return next;
}

SmallVector<Value>
PairedAttentionLowering::emitNextScoresAmong(Value panel, int64_t pairs,
                                             ValueRange max) {
  Value next = arith::MinSIOp::create(b, add(panel, 1), add(panelEnd, -1));
  Value key = times(next, kPanel), scoreRow = scoreSlot(add(panel, 1));
  Vectors carried;
  for (int64_t i = 0; i < 4; ++i)
    carried.push_back(loadTile(f32Tile(), scratch.start,
                               {zero, e.index(i % 2 * kTile)}, zero));
  carried.append(vectors, e.splat(0.0f));
  carried = emitLoop(
      b, zero, e.index(keyDim / kPanel), 1, carried,
      [&](Value k, ValueRange values) -> Vectors {
        Vectors acc(values.take_front(4)), left(2), right(2);
        Value column = times(k, kPanel), row = times(k, kPanel / 2);
        auto loadLeft = [&](int64_t i) -> TileOp {
          return [&, i] {
            left[i] = loadTile(bf16Tile(), op.getKey(),
                               {add(key, i * kTile), column});
          };
        };
        auto loadRight = [&](int64_t i) -> TileOp {
          return [&, i] {
            right[i] = loadTile(bf16Tile(), queryPairs,
                                {row, add(twice(group), i * 2 * kTile)});
          };
        };
        auto multiply = [&](int64_t i) -> TileOp {
          return [&, i] {
            acc[i] = amx::TileMulFOp::create(b, f32Tile(), left[i / 2],
                                             right[i % 2], acc[i]);
          };
        };
        TileOp tileOps[] = {loadLeft(0),  loadRight(0), multiply(0),
                            loadRight(1), multiply(1),  loadLeft(1),
                            multiply(2),  multiply(3)};
        llvm::append_range(acc,
                           emitWeightsAmong(tileOps, panel, times(k, pairs),
                                            pairs, values.drop_front(4), max));
        return acc;
      });
  for (int64_t i = 0; i < 4; ++i)
    amx::TileStoreOp::create(
        b, scratch.scores,
        ValueRange{add(scoreRow, i / 2 * kTile), e.index(i % 2 * kTile)},
        carried[i]);
  padScores(add(panel, 1), startedPadding());
  return Vectors(ValueRange(carried).drop_front(4));
}

SmallVector<PairedAttentionLowering::TileOp>
PairedAttentionLowering::previousValueOps(Value panel, Value values, Value d,
                                          int64_t tiles) {
  struct Registers {
    Value acc[4], left[2], right[2];
  };
  auto r = std::make_shared<Registers>();
  Value previous = arith::MaxSIOp::create(b, add(panel, -1), zero);
  Value weightRow = weightSlot(add(panel, 1));
  auto indices = [=](int64_t i) {
    return SmallVector<Value>{add(d, i / 2 * kTile), add(group, i % 2 * kTile)};
  };
  auto store = [=](int64_t i) -> TileOp {
    return [=] { amx::TileStoreOp::create(b, accT, indices(i), r->acc[i]); };
  };
  // Each product as soon as its operands are there, each sum back as soon as
  // the next product runs: the one store port is never waited for.
  SmallVector<TileOp> tileOps;
  for (int64_t i = 0; i < 2 * tiles; ++i) {
    if (i % 2 == 0)
      tileOps.push_back([=] {
        r->left[i / 2] = loadTile(bf16Tile(), values,
                                  {previous, add(d, i / 2 * kTile), zero});
      });
    if (i < 2)
      tileOps.push_back([=] {
        r->right[i] = loadTile(bf16Tile(), scratch.weights,
                               {weightRow, e.index(i * 2 * kTile)});
      });
    tileOps.push_back(
        [=] { r->acc[i] = loadTile(f32Tile(), accT, indices(i)); });
    tileOps.push_back([=] {
      r->acc[i] = amx::TileMulFOp::create(b, f32Tile(), r->left[i / 2],
                                          r->right[i % 2], r->acc[i]);
    });
    if (i > 0)
      tileOps.push_back(store(i - 1));
  }
  tileOps.push_back(store(2 * tiles - 1));
  return tileOps;
}

SmallVector<Value> PairedAttentionLowering::emitAlternating(Value panel,
                                                            ValueRange max) {
  int64_t keySteps = keyDim / kPanel, valueSteps = valueDim / kPanel;
  int64_t pairs = kPanel / 2;
  int64_t stepPairs = std::max<int64_t>(1, pairs / (keySteps + valueSteps));
  Vectors sums = emitNextScoresAmong(panel, stepPairs, max);
  int64_t done = keySteps * stepPairs;

  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, panel, zero);
  Value nothing =
      memref::CastOp::create(b, op.getValue().getType(), scratch.zeros);
  Value values = arith::SelectOp::create(b, isFirst, nothing, op.getValue());
  int64_t mixedSteps = std::min(valueSteps, (pairs - done) / stepPairs);
  sums = emitLoop(b, zero, e.index(mixedSteps), 1, sums,
                  [&](Value step, ValueRange carried) -> Vectors {
                    return emitWeightsAmong(
                        previousValueOps(panel, values, times(step, kPanel), 2),
                        panel, add(times(step, stepPairs), done), stepPairs,
                        carried, max);
                  });
  done += mixedSteps * stepPairs;
  auto emitAlone = [&](Value d, int64_t tiles) {
    for (const TileOp &tileOp : previousValueOps(panel, values, d, tiles))
      tileOp();
  };
  forEach(b, e.index(mixedSteps), e.index(valueSteps),
          [&](Value step) { emitAlone(times(step, kPanel), 2); });
  if (valueDim % kPanel)
    emitAlone(e.index(valueDim - kTile), 1);
  if (done < pairs)
    sums = emitWeights(panel, 2 * done, kPanel, sums, /*checked=*/false,
                       [&](Value key, Value row, int64_t v) {
                         return lazyWeight(key, row, v, max);
                       });
  return sums;
}

SmallVector<Value>
PairedAttentionLowering::emitAlternatingPanels(ValueRange state) {
  // The weights of no panel, in the slot before that of panel 0.
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(pairsType()));
  forEach(b, e.index(kPanel / 2), e.index(kPanel), [&](Value pair) {
    for (int64_t v = 0; v < vectors; ++v)
      vector::StoreOp::create(b, none, scratch.weights,
                              ValueRange{pair, e.index(v * 2 * lanes)});
  });
  // The scores of the first panel, and those after a new maximum, are not there
  // yet.
  Vectors carried(state);
  carried.push_back(arith::ConstantOp::create(b, b.getBoolAttr(true)));
  carried =
      emitLoop(b, zero, panelEnd, 1, carried,
               [&](Value panel, ValueRange values) -> Vectors {
                 auto missing = scf::IfOp::create(b, values.back(),
                                                  /*withElseRegion=*/false);
                 {
                   OpBuilder::InsertionGuard guard(b);
                   b.setInsertionPointToStart(missing.thenBlock());
                   emitScoreProducts(panel, /*started=*/true, startedPadding());
                 }
                 ValueRange old = values.drop_back();
                 Vectors sums = emitAlternating(panel, old.take_front(vectors));
                 auto [next, fails] = keepOrRedo(panel, sums, old);
                 next.push_back(fails);
                 return next;
               });
  emitValueProducts(add(panelEnd, -1));
  carried.pop_back();
  return carried;
}
