//===- WeightStats.cpp - Naive statistics of weights ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each statistic is a reduction of a tensor of weights. The k-th largest weight
// of a row is found by looking for the largest one after those before it, from
// the first one on: there is no list that could be kept in a wrong order.
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace attn;

using arith::CmpIPredicate;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The weight of a candidate of a row by its number.
using Candidate = function_ref<Value(ScalarBuilder &, Value)>;

/// A loop over [0, count) that carries a weight and the number of a candidate.
std::pair<Value, Value> search(
    ScalarBuilder &b, Value count, Value weight, Value number,
    function_ref<std::pair<Value, Value>(ScalarBuilder &, Value, Value, Value)>
        step) {
  auto loop = scf::ForOp::create(
      b.builder, b.loc, b.index(0), count, b.index(1),
      ValueRange{weight, number},
      [&](OpBuilder &nested, Location loc, Value i, ValueRange carried) {
        ScalarBuilder body(nested, loc);
        auto [nextWeight, nextNumber] = step(body, i, carried[0], carried[1]);
        scf::YieldOp::create(nested, loc, ValueRange{nextWeight, nextNumber});
      });
  return {loop.getResult(0), loop.getResult(1)};
}

/// A NaN is larger than every number, and equal to another.
Value isLarger(ScalarBuilder &b, Value x, Value y) {
  auto compare = [&](arith::CmpFPredicate predicate, Value left,
                     Value right) -> Value {
    return arith::CmpFOp::create(b.builder, b.loc, predicate, left, right);
  };
  return b.logicalAnd(compare(arith::CmpFPredicate::UGT, x, y),
                      compare(arith::CmpFPredicate::ORD, y, y));
}

Value either(ScalarBuilder &b, Value x, Value y) {
  return arith::OrIOp::create(b.builder, b.loc, x, y);
}

Value no(ScalarBuilder &b) {
  return arith::ConstantOp::create(b.builder, b.loc,
                                   b.builder.getBoolAttr(false));
}

/// The candidate that `place` others come before, as its weight and number: 0
/// and -1 if it is not above 0. Equal weights keep the order of their numbers.
std::pair<Value, Value> findPlace(ScalarBuilder &b, Type element, Value place,
                                  Value count, Candidate weightOf) {
  Value none = b.constant(element, 0.0), nobody = b.index(-1);
  return search(
      b, b.add(place, b.index(1)), none, nobody,
      [&](ScalarBuilder &b, Value turn, Value before, Value numberBefore) {
        Value isFirst = b.compare(CmpIPredicate::eq, turn, b.index(0));
        return search(b, count, none, nobody,
                      [&](ScalarBuilder &b, Value c, Value best, Value number) {
                        Value weight = weightOf(b, c);
                        Value isNotBefore = b.select(
                            isLarger(b, weight, before), no(b),
                            b.compare(CmpIPredicate::sgt, c, numberBefore));
                        Value comesAfter = either(
                            b, either(b, isFirst, isLarger(b, before, weight)),
                            isNotBefore);
                        Value enters =
                            b.logicalAnd(comesAfter, isLarger(b, weight, best));
                        return std::pair(b.select(enters, weight, best),
                                         b.select(enters, c, number));
                      });
      });
}

/// What is asked for; no places is no `top_k`.
struct Statistics {
  bool columnSums, rowMax, entropy;
  int64_t places = 0;
};

Value maximum(ScalarBuilder &b, Value x, Value y) {
  return arith::MaximumFOp::create(b.builder, b.loc, x, y);
}

/// sum - w ln w.
Value addEntropy(ScalarBuilder &b, Value sum, Value weight) {
  Value term = b.mul(weight, math::LogOp::create(b.builder, b.loc, weight));
  return b.select(b.equals(weight, 0.0), sum, b.sub(sum, term));
}

/// exp((score - lse) - remainder), at most 1, and 0 for a hidden score;
/// `remainder` may be null.
Value weightOf(ScalarBuilder &b, Value score, Value lse, Value remainder) {
  Value logarithm = b.sub(score, lse);
  if (remainder)
    logarithm = b.sub(logarithm, remainder);
  Value zero = b.constant(score.getType(), 0.0);
  Value isAbove = arith::CmpFOp::create(
      b.builder, b.loc, arith::CmpFPredicate::OLT, zero, logarithm);
  logarithm = b.select(isAbove, zero, logarithm);
  Value weight = math::ExpOp::create(b.builder, b.loc, logarithm);
  return b.select(b.equals(score, -kInfinity), zero, weight);
}

/// The statistics of weights `[B, H, Sq, Skv]`, in the order of the results.
Results buildStatistics(TensorLoops &build, Value weights,
                        const Statistics &wanted) {
  Type element = getElementTypeOrSelf(weights.getType());
  SmallVector<OpFoldResult> sizes = build.sizes(weights);
  SmallVector<OpFoldResult> rows(ArrayRef(sizes).drop_back()),
      columns{sizes[0], sizes[1], sizes[3]};
  enum { B, H, I, J };
  LoopOperand all{weights, {B, H, I, J}};
  auto zeros = [&](TensorLoops::Sizes extents) {
    return build.fill(extents, element, 0.0);
  };
  Results results;
  if (wanted.columnSums)
    results.push_back(
        build.loops(4, all, {zeros(columns), {B, H, J}},
                    [&](LoopBody &b) { return b.add(b.output, b.inputs[0]); }));
  if (wanted.rowMax)
    results.push_back(
        build.loops(4, all, {zeros(rows), {B, H, I}}, [&](LoopBody &b) {
          return maximum(b, b.output, b.inputs[0]);
        }));
  if (wanted.entropy)
    results.push_back(
        build.loops(4, all, {zeros(rows), {B, H, I}}, [&](LoopBody &b) {
          return addEntropy(b, b.output, b.inputs[0]);
        }));
  if (!wanted.places)
    return results;
  SmallVector<OpFoldResult> places(rows);
  places.push_back(build.builder.getIndexAttr(wanted.places));
  Value count = build.dim(weights, 3);
  auto find = [&](LoopBody &b) {
    Value row[] = {b.loop(B), b.loop(H), b.loop(I)};
    return findPlace(b, element, b.loop(3), count,
                     [&](ScalarBuilder &b, Value j) {
                       return b.load(weights, {row[0], row[1], row[2], j});
                     });
  };
  results.push_back(build.map(places, element, {},
                              [&](LoopBody &b) { return find(b).first; }));
  Type integer = build.builder.getI32Type();
  results.push_back(build.map(places, integer, {}, [&](LoopBody &b) -> Value {
    return arith::IndexCastOp::create(b.builder, b.loc, integer,
                                      find(b).second);
  }));
  return results;
}

/// `results` in the element types of the outputs of `op`.
Results asOutputs(TensorLoops &build, DestinationStyleOpInterface op,
                  Results results) {
  for (auto [result, init] : llvm::zip_equal(results, op.getDpsInits()))
    if (Type type = getElementTypeOrSelf(init.getType()); !type.isInteger())
      result = build.castElements(result, type);
  return results;
}

} // namespace

Results attn::lower(TensorLoops &build, WeightStatsOp op) {
  return buildStatistics(build, op.getWeights(),
                         {op.getColumnSums(), op.getRowMax(), op.getEntropy(),
                          static_cast<int64_t>(op.getTopK().value_or(0))});
}

Results attn::lower(TensorLoops &build, AttentionStatsOp op) {
  Value key = op.getKey();
  Type narrow = getElementTypeOrSelf(op.getQuery().getType());
  if (op.getKeyScale())
    key = buildDequantized(build, key, op.getKeyScale(), getSumType(narrow));
  if (op.getTable())
    key = buildPages(build, key, op.getTable());
  Value raw = buildScores(build, op.getQuery(), key, op.getAdditive());
  Type element = getElementTypeOrSelf(raw.getType());
  Value lse = op.getLogSumExp();
  Value weights = build.map(build.sizes(raw), element, raw, [&](LoopBody &b) {
    Value score = b.mul(b.inputs[0],
                        b.constant(element, op.getScale().convertToDouble()));
    SmallVector<Value> at, pair;
    for (unsigned d = 0; d < 4; ++d) {
      at.push_back(b.loop(d));
      pair.push_back(
          op.getOffsets().empty() ? at[d] : b.add(at[d], op.getOffsets()[d]));
    }
    if (!lse)
      return applyPrograms(b, score, pair, op.getScore(), op.getMask(), 0.0);
    score =
        applyPrograms(b, score, pair, op.getScore(), op.getMask(), -kInfinity);
    auto ofRow = [&](Value rows) {
      return rows ? b.cast(b.load(rows, ArrayRef(at).drop_back()), element)
                  : Value();
    };
    return weightOf(b, score, ofRow(lse), ofRow(op.getRemainder()));
  });
  int64_t places = 0;
  if (Value top = op.getTopWeights())
    places = cast<ShapedType>(top.getType()).getDimSize(3);
  Results results = buildStatistics(
      build, weights,
      {!!op.getColumnSums(), !!op.getRowMax(), !!op.getEntropy(), places});
  // Keys are numbered as the programs see them.
  if (places && !op.getOffsets().empty()) {
    Value keys = results.back();
    Type integer = getElementTypeOrSelf(keys.getType());
    results.back() =
        build.map(build.sizes(keys), integer, keys, [&](LoopBody &b) -> Value {
          Value shift = arith::IndexCastOp::create(b.builder, b.loc, integer,
                                                   op.getOffsets()[3]);
          Value nobody = arith::ConstantOp::create(
              b.builder, b.loc, b.builder.getI32IntegerAttr(-1));
          Value isNobody = b.compare(CmpIPredicate::eq, b.inputs[0], nobody);
          Value moved =
              arith::AddIOp::create(b.builder, b.loc, b.inputs[0], shift);
          return b.select(isNobody, nobody, moved);
        });
  }
  return asOutputs(build, op, results);
}

Results attn::lower(TensorLoops &build, OnlineStatsOp op) {
  Type element = getSumType(getElementTypeOrSelf(op.getQuery().getType()));
  SmallVector<OpFoldResult> sizes{build.sizes(op.getQuery())[0],
                                  build.sizes(op.getKey())[0]};
  enum { M, N };
  Value lse = op.getLogSumExp();
  Value raw =
      buildTileScores(build, op.getQuery(), op.getKey(), op.getAdditive());
  Value weights = build.map(sizes, element, raw, [&](LoopBody &b) {
    Value pair[] = {op.getB(), op.getH(), b.add(op.getI(), b.loop(M)),
                    b.add(op.getJ(), b.loop(N))};
    Value score = b.inputs[0];
    if (op.getScale())
      score =
          b.mul(score, b.constant(element, op.getScale()->convertToDouble()));
    Value weight = applyPrograms(b, score, pair, op.getScore(), op.getMask(),
                                 lse ? -kInfinity : 0.0);
    auto ofRow = [&](Value rows) {
      return rows ? b.cast(b.loadClamped(rows, b.loop(M)), element) : Value();
    };
    if (lse)
      weight = weightOf(b, weight, ofRow(lse), ofRow(op.getRemainder()));
    if (!op.getRows())
      return weight;
    return b.select(b.compare(CmpIPredicate::slt, b.loop(M), op.getRows()),
                    weight, b.constant(element, 0.0));
  });
  Results results;
  auto fold = [&](Value old, unsigned loop,
                  function_ref<Value(ScalarBuilder &, Value, Value)> combine) {
    if (old)
      results.push_back(build.loops(
          2, {{weights, {M, N}}}, {build.castElements(old, element), {loop}},
          [&](LoopBody &b) { return combine(b, b.output, b.inputs[0]); }));
  };
  fold(op.getColumnSums(), N,
       [](ScalarBuilder &b, Value x, Value y) { return b.add(x, y); });
  fold(op.getRowMax(), M, maximum);
  fold(op.getEntropy(), M, addEntropy);
  if (Value top = op.getTopWeights()) {
    // Those of earlier blocks come first.
    Value places = build.dim(top, 0), keys = op.getTopKeys();
    Value count = build.add(places, build.dim(op.getKey(), 0));
    auto find = [&](LoopBody &b) {
      Value row = b.loop(1);
      return findPlace(
          b, element, b.loop(0), count, [&](ScalarBuilder &b, Value c) {
            Value old = b.cast(b.loadClamped(top, {c, row}), element);
            Value fresh = b.loadClamped(weights, {row, b.sub(c, places)});
            return b.select(b.compare(CmpIPredicate::slt, c, places), old,
                            fresh);
          });
    };
    SmallVector<OpFoldResult> extents = build.sizes(top);
    results.push_back(build.map(extents, element, {},
                                [&](LoopBody &b) { return find(b).first; }));
    Type integer = build.builder.getI32Type();
    results.push_back(
        build.map(extents, integer, {}, [&](LoopBody &b) -> Value {
          Value number = find(b).second;
          Value old = b.toIndex(b.loadClamped(keys, {number, b.loop(1)}));
          Value fresh = b.add(op.getJ(), b.sub(number, places));
          Value key = b.select(b.compare(CmpIPredicate::slt, number, places),
                               old, fresh);
          key = b.select(b.compare(CmpIPredicate::slt, number, b.index(0)),
                         b.index(-1), key);
          return arith::IndexCastOp::create(b.builder, b.loc, integer, key);
        }));
  }
  return asOutputs(build, op, results);
}
