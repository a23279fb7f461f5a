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
    if (programs.hasProbability()) {
      even = programs.probability(even, clampKey(key), v);
      odd = programs.probability(odd, clampKey(add(key, 1)), v);
    }
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
  if (alternates(op))
    return emitAlternatingPanels(state);
  if (op.getUnnormalized()) {
    emitScoresAsWeights();
    return Vectors(state);
  }
  storeStart(state.take_front(vectors));
  // A finite weight may be mapped to a NaN.
  bool checked = programs.hasProbability();
  return emitLoop(
      b, firstPanel, panelEnd, 1, state,
      [&](Value panel, ValueRange carried) -> Vectors {
        emitPrefetches(panel);
        emitScoreProducts(panel, startsAtMaximum(), startedPadding());
        ValueRange max = carried.take_front(vectors);
        Vectors sums =
            emitWeights(panel, 0, kPanel, Vectors(vectors, e.splat(0.0f)),
                        checked, [&](Value key, Value row, int64_t v) {
                          return lazyWeight(key, row, v, max);
                        });
        Vectors next = keepOrRedo(panel, sums, carried).first;
        emitWeightedSum(panel);
        return next;
      });
}

void PairedAttentionLowering::emitScoresAsWeights() {
  forEach(b, firstPanel, panelEnd, [&](Value panel) {
    emitPrefetches(panel);
    emitScoreProducts(panel, /*started=*/false, /*padding=*/0.0f);
    emitWeights(panel, 0, kPanel, Vectors(vectors, e.splat(0.0f)),
                /*checked=*/true, [&](Value key, Value row, int64_t v) {
                  Value s = naturalScore(loadScore(row, v), key, v);
                  return hide(hidePadding(s, key), key, v);
                });
    emitWeightedSum(panel);
  });
}

std::pair<SmallVector<Value>, Value>
PairedAttentionLowering::keepOrRedo(Value panel, ValueRange sums,
                                    ValueRange state,
                                    llvm::function_ref<void()> prepare) {
  Vectors beyond;
  for (Value sum : sums)
    beyond.push_back(arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, sum,
                                           e.splat(kLazyMaximumBound)));
  Value fails = e.anyLane(beyond);
  auto exact =
      scf::IfOp::create(b, state.getTypes(), fails, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(exact.thenBlock());
  prepare();
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
  for (const TileOp &tileOp : tileOps.drop_front(done))
    tileOp();
  return next;
}

SmallVector<Value> PairedAttentionLowering::emitProductsAmong(
    ValueRange sums, LoadTile loadLeft, LoadTile loadRight,
    llvm::function_ref<Vectors(ArrayRef<TileOp>)> among) {
  Vectors acc(sums), left(2), right(2);
  auto toLeft = [&](int64_t i) -> TileOp {
    return [&, i] { left[i] = loadLeft(i); };
  };
  auto toRight = [&](int64_t i) -> TileOp {
    return [&, i] { right[i] = loadRight(i); };
  };
  auto multiply = [&](int64_t i) -> TileOp {
    return [&, i] {
      acc[i] = amx::TileMulFOp::create(b, f32Tile(), left[i / 2], right[i % 2],
                                       acc[i]);
    };
  };
  SmallVector<TileOp> tileOps = {toLeft(0), toRight(0), multiply(0), toRight(1),
                                 multiply(1)};
  if (acc.size() == 4)
    tileOps.append({toLeft(1), multiply(2), multiply(3)});
  llvm::append_range(acc, among(tileOps));
  return acc;
}

SmallVector<Value>
PairedAttentionLowering::emitNextScoresAmong(Value panel, int64_t pairs,
                                             ValueRange max) {
  Value next = add(panel, 1);
  Value key = times(next, kPanel), scoreRow = scoreSlot(next);
  Vectors carried;
  for (int64_t i = 0; i < 4; ++i)
    carried.push_back(loadTile(f32Tile(), scratch.start,
                               {zero, e.index(i % 2 * kTile)}, zero));
  carried.append(vectors, e.splat(0.0f));
  carried = emitLoop(
      b, zero, e.index(keyDim / kPanel), 1, carried,
      [&](Value k, ValueRange values) -> Vectors {
        Value column = times(k, kPanel), row = times(k, kPanel / 2);
        return emitProductsAmong(
            values.take_front(4),
            [&](int64_t i) {
              return streamTile(op.getKey(), {add(key, i * kTile), column});
            },
            [&](int64_t i) {
              return loadTile(bf16Tile(), queryPairs,
                              {row, add(twice(group), i * 2 * kTile)});
            },
            [&](ArrayRef<TileOp> tileOps) {
              return emitWeightsAmong(tileOps, panel, times(k, pairs), pairs,
                                      values.drop_front(4), max);
            });
      });
  for (int64_t i = 0; i < 4; ++i)
    amx::TileStoreOp::create(
        b, scratch.scores,
        ValueRange{add(scoreRow, i / 2 * kTile), e.index(i % 2 * kTile)},
        carried[i]);
  padScores(next, startedPadding());
  return Vectors(ValueRange(carried).drop_front(4));
}

SmallVector<Value> PairedAttentionLowering::emitFeatures(Panels panels, Value d,
                                                         int64_t tiles,
                                                         ValueRange sums,
                                                         EmitAmong among) {
  auto indices = [&](int64_t i) {
    return SmallVector<Value>{add(d, i / 2 * kTile), add(group, i % 2 * kTile)};
  };
  Vectors carried;
  for (int64_t i = 0; i < 2 * tiles; ++i)
    carried.push_back(loadTile(f32Tile(), accT, indices(i)));
  llvm::append_range(carried, sums);
  carried = emitLoop(
      b, panels.from, panels.to, 1, carried,
      [&](Value place, ValueRange values) -> Vectors {
        Value panel = add(panels.first, place);
        Value source = op.getValue(), row = panel;
        if (panels.pending) {
          Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                               panel, panels.pending);
          Value none =
              memref::CastOp::create(b, source.getType(), scratch.zeros);
          source = arith::SelectOp::create(b, inside, source, none);
          row = arith::SelectOp::create(b, inside, panel, zero);
        }
        Value weightRow = weightSlot(panel);
        return emitProductsAmong(
            values.take_front(2 * tiles),
            [&](int64_t i) {
              return streamTile(source, {row, add(d, i * kTile), zero});
            },
            [&](int64_t i) {
              return loadTile(bf16Tile(), scratch.weights,
                              {weightRow, e.index(i * 2 * kTile)});
            },
            [&](ArrayRef<TileOp> tileOps) {
              return among(tileOps, place, values.drop_front(2 * tiles));
            });
      });
  for (int64_t i = 0; i < 2 * tiles; ++i)
    amx::TileStoreOp::create(b, accT, indices(i), carried[i]);
  return Vectors(ValueRange(carried).drop_front(2 * tiles));
}

SmallVector<Value> PairedAttentionLowering::emitShare(Panels panels,
                                                      Value share,
                                                      ValueRange sums,
                                                      EmitAmong among) {
  Value d = times(share, shareTiles() * kTile);
  int64_t pairs = shareTiles() / 2;
  Vectors next = emitLoop(
      b, zero, e.index(pairs), 1, sums,
      [&](Value step, ValueRange carried) -> Vectors {
        return emitFeatures(
            panels, add(d, times(step, 2 * kTile)), 2, carried,
            [&](ArrayRef<TileOp> tileOps, Value place, ValueRange values) {
              return among(tileOps, add(times(step, span), place), values);
            });
      });
  if (shareTiles() % 2)
    next = emitFeatures(
        panels, add(d, pairs * 2 * kTile), 1, next,
        [&](ArrayRef<TileOp> tileOps, Value place, ValueRange values) {
          return among(tileOps, add(place, pairs * span), values);
        });
  return next;
}

void PairedAttentionLowering::emitShares(Panels panels, Value from) {
  auto any =
      scf::IfOp::create(b,
                        arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                              panels.from, panels.to),
                        /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(any.thenBlock());
  emitLoop(b, from, e.index(span), 1, {},
           [&](Value share, ValueRange) -> Vectors {
             return emitShare(panels, share, {},
                              [](ArrayRef<TileOp> tileOps, Value, ValueRange) {
                                for (const TileOp &tileOp : tileOps)
                                  tileOp();
                                return Vectors();
                              });
           });
}

void PairedAttentionLowering::emitPending(Value panel, Value pending,
                                          Value end) {
  Value place = remainder(panel, span);
  Value first = arith::SubIOp::create(b, panel, place);
  auto from = [&](Value first) -> Value {
    return arith::MaxSIOp::create(b, arith::SubIOp::create(b, pending, first),
                                  zero);
  };
  Value before = add(first, -span);
  emitShares({before, from(before), e.index(span), /*pending=*/{}},
             add(place, 1));
  emitShares({first, from(first), arith::SubIOp::create(b, end, first),
              /*pending=*/{}},
             zero);
}

SmallVector<Value> PairedAttentionLowering::emitAlternating(Value panel,
                                                            ValueRange max,
                                                            Value pending) {
  // As many pairs to each product step of the scores as to one of the sums.
  int64_t keySteps = keyDim / kPanel;
  int64_t valueSteps = llvm::divideCeil(shareTiles(), 2) * span;
  int64_t pairs = kPanel / 2;
  int64_t stepPairs = std::max<int64_t>(1, pairs / (keySteps + valueSteps));
  int64_t done = keySteps * stepPairs;
  auto lazy = [&](Value key, Value row, int64_t v) {
    return lazyWeight(key, row, v, max);
  };
  Vectors none(vectors, e.splat(0.0f));
  auto hasNext =
      scf::IfOp::create(b, ValueRange(none).getTypes(),
                        arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                              add(panel, 1), panelEnd),
                        /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(hasNext.thenBlock());
    scf::YieldOp::create(b, emitNextScoresAmong(panel, stepPairs, max));
    b.setInsertionPointToStart(hasNext.elseBlock());
    scf::YieldOp::create(
        b, emitWeights(panel, 0, 2 * done, none, /*checked=*/false, lazy));
  }
  Vectors sums(hasNext.getResults());

  Value place = remainder(panel, span);
  Panels before = {add(arith::SubIOp::create(b, panel, place), -span), zero,
                   e.index(span), pending};
  stepPairs = (pairs - done) / valueSteps;
  sums =
      emitShare(before, place, sums,
                [&](ArrayRef<TileOp> tileOps, Value step, ValueRange values) {
                  return emitWeightsAmong(tileOps, panel,
                                          add(times(step, stepPairs), done),
                                          stepPairs, values, max);
                });
  done += valueSteps * stepPairs;
  if (done < pairs)
    sums = emitWeights(panel, 2 * done, kPanel, sums, /*checked=*/false, lazy);
  return sums;
}

void PairedAttentionLowering::emitPrefetches(Value panel) {
  for (Value rows : op.getUpcoming()) {
    auto type = cast<MemRefType>(rows.getType());
    Value count = memref::DimOp::create(b, rows, 0);
    auto part = [&](Value panel) -> Value {
      return arith::DivUIOp::create(b, arith::MulIOp::create(b, count, panel),
                                    panelEnd);
    };
    forEach(b, part(panel), part(add(panel, 1)), [&](Value row) {
      for (int64_t d = 0; d < type.getDimSize(1); d += columnsOfLine(rows))
        e.prefetch(rows, {row, e.index(d)});
    });
  }
}

SmallVector<Value> PairedAttentionLowering::emitFirstScores(ValueRange state) {
  ValueRange max = state.take_front(vectors);
  Vectors unseen;
  for (Value m : max)
    unseen.push_back(arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, m,
                                           e.splat(-INFINITY)));
  auto first = scf::IfOp::create(b, max.getTypes(), e.anyLane(unseen),
                                 /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(first.thenBlock());
  emitScoreProducts(zero, /*started=*/false, startedPadding());
  Vectors next = emitLoop(
      b, zero, e.index(kPanel), 1, max, [&](Value j, ValueRange carried) {
        Vectors next(carried);
        for (int64_t v = 0; v < vectors; ++v)
          next[v] = e.orderedMax(next[v], naturalScore(loadScore(j, v), j, v));
        return next;
      });
  for (int64_t v = 0; v < vectors; ++v)
    next[v] = arith::SelectOp::create(b, unseen[v], next[v], max[v]);
  storeStart(next);
  forEach(b, zero, e.index(kPanel), [&](Value j) {
    for (int64_t v = 0; v < vectors; ++v) {
      Value start = e.load(scratch.start, {zero, e.index(v * lanes)});
      storeScore(arith::AddFOp::create(b, loadScore(j, v), start), j, v);
    }
  });
  scf::YieldOp::create(b, next);
  b.setInsertionPointToStart(first.elseBlock());
  storeStart(max);
  emitScoreProducts(zero, /*started=*/true, startedPadding());
  scf::YieldOp::create(b, max);
  next = Vectors(first.getResults());
  llvm::append_range(next, state.drop_front(vectors));
  return next;
}

SmallVector<Value>
PairedAttentionLowering::emitAlternatingPanels(ValueRange state) {
  // Weights left by others may be NaN, which times no value is 0.
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(pairsType()));
  forEach(b, zero, e.index(span * kPanel), [&](Value pair) {
    for (int64_t v = 0; v < vectors; ++v)
      vector::StoreOp::create(b, none, scratch.weights,
                              ValueRange{pair, e.index(v * 2 * lanes)});
  });
  Vectors carried = emitFirstScores(state);
  // Scores after a new maximum are computed again.
  carried.push_back(arith::ConstantOp::create(b, b.getBoolAttr(false)));
  carried.push_back(zero);
  carried = emitLoop(
      b, zero, panelEnd, 1, carried,
      [&](Value panel, ValueRange values) -> Vectors {
        Value pending = values.back();
        values = values.drop_back();
        emitPrefetches(panel);
        auto missing =
            scf::IfOp::create(b, values.back(), /*withElseRegion=*/false);
        {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(missing.thenBlock());
          emitScoreProducts(panel, /*started=*/true, startedPadding());
        }
        ValueRange old = values.drop_back();
        Vectors sums = emitAlternating(panel, old.take_front(vectors), pending);
        auto [next, fails] = keepOrRedo(
            panel, sums, old, [&] { emitPending(panel, pending, panel); });
        next.push_back(fails);
        next.push_back(arith::SelectOp::create(b, fails, panel, pending));
        return next;
      });
  emitPending(add(panelEnd, -1), carried.back(), panelEnd);
  carried.truncate(carried.size() - 2);
  return carried;
}
