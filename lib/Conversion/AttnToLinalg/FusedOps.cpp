//===- FusedOps.cpp - Naive lowering of fused and tile ops ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the fast path does in tiles and registers, said in whole tensors.
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace attn;

using arith::CmpIPredicate;
static constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value attn::applyPrograms(ScalarBuilder &build, Value score, ValueRange pair,
                          Region &scoreRegion, Region &maskRegion,
                          double hidden) {
  if (!scoreRegion.empty()) {
    SmallVector<Value> arguments{score};
    llvm::append_range(arguments, pair);
    score = inlineProgram(build, scoreRegion, arguments);
  }
  if (maskRegion.empty())
    return score;
  Value visible = inlineProgram(build, maskRegion, pair);
  return build.select(visible, score, build.constant(score.getType(), hidden));
}

static Value exponential(ScalarBuilder &build, Value x) {
  return math::ExpOp::create(build.builder, build.loc, x);
}

/// exp(x - max), and 0 for an absent x (-inf) whatever the maximum.
static Value exponentialBelow(ScalarBuilder &build, Value x, Value max) {
  return build.select(build.equals(x, -kInfinity),
                      build.constant(x.getType(), 0.0),
                      exponential(build, build.sub(x, max)));
}

static Value maximum(ScalarBuilder &build, Value a, Value b) {
  return arith::MaximumFOp::create(build.builder, build.loc, a, b);
}

/// The log-sum-exp of rows of `max` and `sum`, for each of `inits` that is
/// there: itself and its remainder, both computed in `element`.
static Results buildLogSumExp(TensorLoops &build, Value max, Value sum,
                              Type element, std::array<Value, 2> inits) {
  Results results;
  for (auto [n, init] : llvm::enumerate(inits)) {
    if (!init)
      continue;
    Type type = getElementTypeOrSelf(init.getType());
    bool isRemainder = n == 1;
    results.push_back(
        build.map(build.sizes(sum), type, {max, sum}, [&](LoopBody &b) {
          Value log = math::LogOp::create(b.builder, b.loc, b.inputs[1]);
          Value minusInfinity = b.constant(element, -kInfinity);
          Value lse = b.select(b.equals(b.inputs[1], 0.0), minusInfinity,
                               b.add(b.inputs[0], log));
          if (!isRemainder)
            return b.cast(lse, type);
          Value none = b.constant(element, 0.0);
          Value rest = b.add(b.sub(b.inputs[0], lse), log);
          rest = b.select(b.equals(lse, kInfinity), none, rest);
          return b.cast(b.select(b.equals(lse, -kInfinity), none, rest), type);
        }));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

Results attn::lower(TensorLoops &build, AttentionOp op) {
  Type output = getElementTypeOrSelf(op.getOutput().getType());
  auto read = [&](Value operand, Value scale) {
    if (scale)
      operand = buildDequantized(build, operand, scale, output);
    return op.getTable() ? buildPages(build, operand, op.getTable()) : operand;
  };
  Value value = read(op.getValue(), op.getValueScale());
  Value query = op.getQuery();
  if (op.getQueryLayout())
    query = buildRotation(build, query, *op.getQueryLayout(), op.getQueryCos(),
                          op.getQuerySin());
  Value raw = buildScores(build, query, read(op.getKey(), op.getKeyScale()),
                          op.getAdditive());
  Type element = getElementTypeOrSelf(raw.getType());
  Value scores = build.map(build.sizes(raw), element, raw, [&](LoopBody &b) {
    Value score = b.mul(b.inputs[0],
                        b.constant(element, op.getScale().convertToDouble()));
    SmallVector<Value> pair;
    for (unsigned d = 0; d < 4; ++d) {
      Value index = b.loop(d);
      if (!op.getOffsets().empty())
        index = b.add(index, op.getOffsets()[d]);
      pair.push_back(index);
    }
    return applyPrograms(b, score, pair, op.getScore(), op.getMask(),
                         op.getUnnormalized() ? 0.0 : -kInfinity);
  });
  if (op.getUnnormalized())
    return {buildWeightedSum(build, scores, scores, 0.0, value)};
  Softmax softmax = buildSoftmax(build, scores, op.getSink());
  Value weights = softmax.weights, selector = scores;
  double absent = -kInfinity;
  if (!op.getProbability().empty()) {
    weights = selector = buildProbabilityMap(
        build, weights, scores, op.getProbability(), op.getOffsets());
    absent = 0.0;
  }
  Results results{buildWeightedSum(build, weights, selector, absent, value)};
  results.append(buildLogSumExp(build, softmax.max, softmax.sum, element,
                                {op.getLogSumExp(), op.getRemainder()}));
  return results;
}

//===----------------------------------------------------------------------===//
// online_attention
//===----------------------------------------------------------------------===//

Value attn::buildTileScores(TensorLoops &build, Value query, Value key,
                            Value weight) {
  Type element = getSumType(getElementTypeOrSelf(query.getType()));
  SmallVector<OpFoldResult> sizes{build.sizes(query)[0], build.sizes(key)[0]};
  enum { M, N, D };
  SmallVector<LoopOperand> factors{{query, {M, D}}, {key, {N, D}}};
  if (weight)
    factors.push_back({weight, {D}});
  return build.loops(
      3, factors, {build.fill(sizes, element, 0.0), {M, N}}, [&](LoopBody &b) {
        Value factor = weight ? b.cast(b.inputs[2], element) : Value();
        return b.add(b.output, scoreTerm(b, b.cast(b.inputs[0], element),
                                         b.cast(b.inputs[1], element), factor));
      });
}

Results attn::lower(TensorLoops &build, OnlineAttentionOp op) {
  Type element = getSumType(getElementTypeOrSelf(op.getQuery().getType()));
  Value oldAcc = build.castElements(op.getAcc(), element);
  Value oldMax = build.castElements(op.getMax(), element);
  Value oldSum = build.castElements(op.getSum(), element);
  SmallVector<OpFoldResult> stats = build.sizes(op.getMax());
  SmallVector<OpFoldResult> sizes{stats[0], build.sizes(op.getKey())[0]};
  auto read = [&](Value rows, Value scale) {
    return scale ? buildDequantized(build, rows, scale, element) : rows;
  };
  Value key = read(op.getKey(), op.getKeyScale());
  Value value = read(op.getValue(), op.getValueScale());

  enum { M, N, D };
  Value scores = buildTileScores(build, op.getQuery(), key, op.getAdditive());
  scores = build.map(sizes, element, scores, [&](LoopBody &b) {
    Value pair[] = {op.getB(), op.getH(), b.add(op.getI(), b.loop(M)),
                    b.add(op.getJ(), b.loop(N))};
    Value score = b.inputs[0];
    if (op.getScale())
      score =
          b.mul(score, b.constant(element, op.getScale()->convertToDouble()));
    return applyPrograms(b, score, pair, op.getScore(), op.getMask(),
                         op.getUnnormalized() ? 0.0 : -kInfinity);
  });

  auto finish = [&](Value tensor, Value init) {
    return build.castElements(tensor, getElementTypeOrSelf(init.getType()));
  };
  // acc + weights V over the pairs whose `selector` is not `absent`.
  auto addWeighted = [&](Value acc, Value weights, Value selector,
                         double absent) {
    return build.loops(
        3, {{weights, {M, N}}, {selector, {M, N}}, {value, {N, D}}},
        {acc, {M, D}}, [&](LoopBody &b) {
          Value product = b.mul(b.inputs[0], b.cast(b.inputs[2], element));
          return b.select(b.equals(b.inputs[1], absent), b.output,
                          b.add(b.output, product));
        });
  };
  if (op.getUnnormalized())
    return {finish(addWeighted(oldAcc, scores, scores, 0.0), op.getAcc()),
            op.getMax(), op.getSum()};
  auto combineMax = [&](LoopBody &b) {
    return maximum(b, b.output, b.inputs[0]);
  };
  Value blockMax =
      build.loops(2, {{scores, {M, N}}},
                  {build.fill(stats, element, -kInfinity), {M}}, combineMax);
  Value max = build.map(stats, element, {oldMax, blockMax}, [&](LoopBody &b) {
    return maximum(b, b.inputs[0], b.inputs[1]);
  });
  // What earlier blocks summed below their maximum moves below the new one.
  Value decay = build.map(stats, element, {oldMax, max}, [&](LoopBody &b) {
    return exponentialBelow(b, b.inputs[0], b.inputs[1]);
  });
  Value exps =
      build.loops(2, {{scores, {M, N}}, {max, {M}}},
                  {build.empty(sizes, element), {M, N}}, [&](LoopBody &b) {
                    return exponentialBelow(b, b.inputs[0], b.inputs[1]);
                  });
  auto decayed = [&](LoopBody &b) { return b.mul(b.inputs[0], b.inputs[1]); };
  Value sum =
      build.loops(2, {{exps, {M, N}}},
                  {build.map(stats, element, {oldSum, decay}, decayed), {M}},
                  [&](LoopBody &b) { return b.add(b.output, b.inputs[0]); });
  SmallVector<OpFoldResult> accSizes = build.sizes(op.getAcc());
  Value acc = build.loops(2, {{oldAcc, {0, 1}}, {decay, {0}}},
                          {build.empty(accSizes, element), {0, 1}}, decayed);
  if (op.getProbability().empty()) {
    acc = addWeighted(acc, exps, scores, -kInfinity);
  } else {
    Value weights = build.map(sizes, element, exps, [&](LoopBody &b) {
      Value arguments[] = {b.inputs[0], op.getB(), op.getH(),
                           b.add(op.getI(), b.loop(M)),
                           b.add(op.getJ(), b.loop(N))};
      Value zero = b.constant(element, 0.0);
      return b.select(b.equals(b.inputs[0], 0.0), zero,
                      inlineProgram(b, op.getProbability(), arguments));
    });
    acc = addWeighted(acc, weights, weights, 0.0);
  }
  return {finish(acc, op.getAcc()), finish(max, op.getMax()),
          finish(sum, op.getSum())};
}

//===----------------------------------------------------------------------===//
// merge_partials
//===----------------------------------------------------------------------===//

Results attn::lower(TensorLoops &build, MergePartialsOp op) {
  Type element = getSumType(getElementTypeOrSelf(op.getAcc().getType()));
  Value partials = op.getMax();
  SmallVector<OpFoldResult> sizes = build.sizes(op.getOutput());
  TensorLoops::Sizes rows = ArrayRef(sizes).drop_back();
  Type type = getElementTypeOrSelf(op.getOutput().getType());
  // Outputs may have fewer rows than the state: their loops index it.
  SmallVector<OpFoldResult> partial{build.sizes(partials)[0]};
  Value steps = build.empty(partial, element);

  enum { R, P };
  if (op.getUnnormalized()) {
    enum { D = 2 };
    Value total = build.loops(
        3, {{steps, {P}}}, {build.fill(sizes, element, 0.0), {R, D}},
        [&](LoopBody &b) {
          Value x = b.load(op.getAcc(), {b.loop(P), b.loop(R), b.loop(D)});
          return b.add(b.output, b.cast(x, element));
        });
    return {build.castElements(total, type)};
  }
  auto load = [&](LoopBody &b, Value stats) {
    return b.cast(b.load(stats, {b.loop(P), b.loop(R)}), element);
  };
  Value sink = op.getSink() ? build.cast(op.getSink(), element)
                            : build.constant(element, -kInfinity);
  Value start = build.map(rows, element, {}, [&](LoopBody &) { return sink; });
  Value max = build.loops(2, {{steps, {P}}}, {start, {R}}, [&](LoopBody &b) {
    Value some = maximum(b, b.output, load(b, op.getMax()));
    return b.select(b.equals(load(b, op.getSum()), 0.0), b.output, some);
  });
  /// exp(max of the partial - max of all) times `x`, or nothing.
  auto accumulate = [&](LoopBody &b, Value rowMax, Value x) {
    Value weight = exponential(b, b.sub(load(b, op.getMax()), rowMax));
    return b.select(b.equals(load(b, op.getSum()), 0.0), b.output,
                    b.add(b.output, b.mul(weight, x)));
  };
  Value first = op.getSink()
                    ? build.map(rows, element, max,
                                [&](LoopBody &b) {
                                  return sinkWeight(b, sink, b.inputs[0]);
                                })
                    : build.fill(rows, element, 0.0);
  Value total = build.loops(
      2, {{steps, {P}}, {max, {R}}}, {first, {R}}, [&](LoopBody &b) {
        return accumulate(b, b.inputs[1], load(b, op.getSum()));
      });
  enum { D = 2 };
  Value acc =
      build.loops(3, {{steps, {P}}, {max, {R}}},
                  {build.fill(sizes, element, 0.0), {R, D}}, [&](LoopBody &b) {
                    Value x =
                        b.load(op.getAcc(), {b.loop(P), b.loop(R), b.loop(D)});
                    return accumulate(b, b.inputs[1], b.cast(x, element));
                  });
  Results results{
      build.loops(2, {{acc, {0, 1}}, {total, {0}}},
                  {build.empty(sizes, type), {0, 1}}, [&](LoopBody &b) {
                    Value mean = b.select(b.equals(b.inputs[1], 0.0),
                                          b.constant(element, 0.0),
                                          b.div(b.inputs[0], b.inputs[1]));
                    return b.cast(mean, type);
                  })};
  results.append(buildLogSumExp(build, max, total, element,
                                {op.getLogSumExp(), op.getRemainder()}));
  return results;
}

//===----------------------------------------------------------------------===//
// pack
//===----------------------------------------------------------------------===//

Value attn::lower(TensorLoops &build, PackOp op) {
  Type type = getElementTypeOrSelf(op.getDest().getType());
  Type source = getElementTypeOrSelf(op.getSource().getType());
  bool isInteger = source.isInteger();
  Type element = getSumType(type.isF64() || isInteger ? type : source);
  Value rows = build.dim(op.getSource(), 0);
  Value columns = build.dim(op.getSource(), 1);
  return build.map(build.sizes(op.getDest()), type, {}, [&](LoopBody &b) {
    Value r = b.loop(0), d = b.loop(1);
    Value inside = b.logicalAnd(b.compare(CmpIPredicate::slt, r, rows),
                                b.compare(CmpIPredicate::slt, d, columns));
    // The padding of an empty source has nothing to be selected from.
    return scf::IfOp::create(
               b.builder, b.loc, inside,
               [&](OpBuilder &nested, Location loc) {
                 ScalarBuilder s(nested, loc);
                 Value x = s.load(op.getSource(), {r, d});
                 if (isInteger) {
                   x = arith::SIToFPOp::create(nested, loc, element, x);
                   x = s.mul(x, s.cast(s.load(op.getScales(), r), element));
                 } else {
                   x = s.cast(x, element);
                 }
                 x = s.mul(
                     x, s.constant(element, op.getFactor().convertToDouble()));
                 scf::YieldOp::create(nested, loc, s.cast(x, type));
               },
               [&](OpBuilder &nested, Location loc) {
                 ScalarBuilder s(nested, loc);
                 scf::YieldOp::create(nested, loc, s.constant(type, 0.0));
               })
        .getResult(0);
  });
}
