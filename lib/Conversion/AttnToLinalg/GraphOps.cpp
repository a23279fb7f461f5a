//===- GraphOps.cpp - Naive lowering of graph ops ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function says in loops what the description of its op says in words.
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "attn/Dialect/Attn/IR/DropoutProgram.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include <limits>

using namespace mlir;
using namespace attn;

using arith::CmpIPredicate;
static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

//===----------------------------------------------------------------------===//
// Shared parts
//===----------------------------------------------------------------------===//

Type attn::getSumType(Type type) {
  return type.isF64() ? type : Float32Type::get(type.getContext());
}

Value attn::inlineProgram(ScalarBuilder &build, Region &region,
                          ValueRange arguments) {
  IRMapping mapping;
  mapping.map(region.getArguments(), arguments);
  Block &block = region.front();
  for (Operation &op : block.without_terminator()) {
    Operation *clone = build.builder.clone(op, mapping);
    SmallVector<tensor::ExtractOp> gathers;
    clone->walk([&](tensor::ExtractOp gather) { gathers.push_back(gather); });
    for (tensor::ExtractOp gather : gathers) {
      OpBuilder builder(gather);
      ScalarBuilder scalars(builder, gather.getLoc());
      Value element =
          scalars.loadClamped(gather.getTensor(), gather.getIndices());
      if (gather == clone)
        mapping.map(op.getResult(0), element);
      gather.getResult().replaceAllUsesWith(element);
      gather.erase();
    }
  }
  return mapping.lookupOrDefault(block.getTerminator()->getOperand(0));
}

Value attn::scoreTerm(ScalarBuilder &build, Value query, Value key,
                      Value weight) {
  if (!weight)
    return build.mul(query, key);
  Value sum = build.add(query, key);
  return build.mul(weight, math::TanhOp::create(build.builder, build.loc, sum));
}

Value attn::buildScores(TensorLoops &build, Value query, Value key,
                        Value weight) {
  Type element = getSumType(getElementTypeOrSelf(query.getType()));
  SmallVector<OpFoldResult> sizes = build.sizes(query);
  sizes[3] = build.sizes(key)[2];
  Value group = build.div(build.dim(query, 1), build.dim(key, 1));
  enum { B, H, I, J, D };
  return build.loops(
      5, {{query, {B, H, I, D}}},
      {build.fill(sizes, element, 0.0), {B, H, I, J}}, [&](LoopBody &b) {
        Value k = b.load(
            key, {b.loop(B), b.div(b.loop(H), group), b.loop(J), b.loop(D)});
        Value w;
        if (weight) {
          SmallVector<Value> at{b.loop(D)};
          if (cast<RankedTensorType>(weight.getType()).getRank() == 2)
            at.insert(at.begin(), b.loop(H));
          w = b.cast(b.load(weight, at), element);
        }
        return b.add(b.output, scoreTerm(b, b.cast(b.inputs[0], element),
                                         b.cast(k, element), w));
      });
}

Value attn::sinkWeight(ScalarBuilder &build, Value sink, Value max) {
  Value isMax = arith::CmpFOp::create(build.builder, build.loc,
                                      arith::CmpFPredicate::OEQ, sink, max);
  Value exp =
      math::ExpOp::create(build.builder, build.loc, build.sub(sink, max));
  return build.select(isMax, build.constant(sink.getType(), 1.0), exp);
}

Softmax attn::buildSoftmax(TensorLoops &build, Value scores, Value sink) {
  Type element = getElementTypeOrSelf(scores.getType());
  SmallVector<OpFoldResult> sizes = build.sizes(scores);
  TensorLoops::Sizes rows = ArrayRef(sizes).drop_back();
  enum { B, H, I, J };

  // The sink is there before every key: a start of the maximum and of the sum.
  Value start = build.fill(rows, element, -kInfinity);
  if (sink)
    start =
        build.loops(3, {{sink, {H}}}, {build.empty(rows, element), {B, H, I}},
                    [&](LoopBody &b) { return b.cast(b.inputs[0], element); });
  Softmax softmax;
  softmax.max = build.loops(4, {{scores, {B, H, I, J}}}, {start, {B, H, I}},
                            [&](LoopBody &b) {
                              return arith::MaximumFOp::create(
                                  b.builder, b.loc, b.output, b.inputs[0]);
                            });
  // A row may hold a NaN: what is hidden stays 0 by selection.
  Value exps = build.loops(
      4, {{scores, {B, H, I, J}}, {softmax.max, {B, H, I}}},
      {build.empty(sizes, element), {B, H, I, J}}, [&](LoopBody &b) {
        Value exp = math::ExpOp::create(b.builder, b.loc,
                                        b.sub(b.inputs[0], b.inputs[1]));
        return b.select(b.equals(b.inputs[0], -kInfinity),
                        b.constant(element, 0.0), exp);
      });
  Value first =
      sink ? build.map(rows, element, {start, softmax.max},
                       [&](LoopBody &b) {
                         return sinkWeight(b, b.inputs[0], b.inputs[1]);
                       })
           : build.fill(rows, element, 0.0);
  softmax.sum =
      build.loops(4, {{exps, {B, H, I, J}}}, {first, {B, H, I}},
                  [&](LoopBody &b) { return b.add(b.output, b.inputs[0]); });
  // Only what is hidden has no weight: 0 / sum may be NaN in a row with one.
  softmax.weights = build.loops(
      4,
      {{exps, {B, H, I, J}}, {softmax.sum, {B, H, I}}, {scores, {B, H, I, J}}},
      {build.empty(sizes, element), {B, H, I, J}}, [&](LoopBody &b) {
        return b.select(b.equals(b.inputs[2], -kInfinity),
                        b.constant(element, 0.0),
                        b.div(b.inputs[0], b.inputs[1]));
      });
  return softmax;
}

Value attn::buildWeightedSum(TensorLoops &build, Value weights, Value selector,
                             double absent, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  Type sum = getSumType(element);
  if (getElementTypeOrSelf(weights.getType()).isF64())
    sum = build.builder.getF64Type();
  SmallVector<OpFoldResult> sizes = build.sizes(weights);
  sizes[3] = build.sizes(value)[3];
  Value group = build.div(build.dim(weights, 1), build.dim(value, 1));
  enum { B, H, I, D, J };
  SmallVector<LoopOperand> inputs{{weights, {B, H, I, J}}};
  if (selector != weights)
    inputs.push_back({selector, {B, H, I, J}});
  Value result = build.loops(
      5, inputs, {build.fill(sizes, sum, 0.0), {B, H, I, D}}, [&](LoopBody &b) {
        Value v = b.load(
            value, {b.loop(B), b.div(b.loop(H), group), b.loop(J), b.loop(D)});
        Value product = b.mul(b.cast(b.inputs[0], sum), b.cast(v, sum));
        return b.select(b.equals(b.inputs.back(), absent), b.output,
                        b.add(b.output, product));
      });
  return build.castElements(result, element);
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

/// Swaps axes 1 and 2.
static Value swapHeadsAndRows(TensorLoops &build, Value input) {
  SmallVector<OpFoldResult> sizes = build.sizes(input);
  std::swap(sizes[1], sizes[2]);
  return linalg::TransposeOp::create(
             build.builder, build.loc, input,
             build.empty(sizes, getElementTypeOrSelf(input.getType())),
             ArrayRef<int64_t>{0, 2, 1, 3})
      ->getResult(0);
}

Value attn::lower(TensorLoops &build, SplitHeadsOp op) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t heads = op.getNumHeads();
  int64_t headDim = type.getDimSize(2) / heads;
  auto split = RankedTensorType::get(
      {type.getDimSize(0), type.getDimSize(1), heads, headDim},
      type.getElementType());
  SmallVector<OpFoldResult> sizes = build.sizes(op.getInput());
  sizes.back() = build.builder.getIndexAttr(heads);
  sizes.push_back(build.builder.getIndexAttr(headDim));
  SmallVector<ReassociationIndices> groups{{0}, {1}, {2, 3}};
  return swapHeadsAndRows(
      build, tensor::ExpandShapeOp::create(build.builder, build.loc, split,
                                           op.getInput(), groups, sizes));
}

Value attn::lower(TensorLoops &build, MergeHeadsOp op) {
  SmallVector<ReassociationIndices> groups{{0}, {1}, {2, 3}};
  return tensor::CollapseShapeOp::create(
      build.builder, build.loc, swapHeadsAndRows(build, op.getInput()), groups);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value attn::lower(TensorLoops &build, QKOp op) {
  return buildScores(build, op.getQuery(), op.getKey());
}

Value attn::lower(TensorLoops &build, AdditiveScoresOp op) {
  return buildScores(build, op.getQuery(), op.getKey(), op.getWeight());
}

/// An elementwise function of scores.
static Value mapScores(TensorLoops &build, Value scores,
                       TensorLoops::Body body) {
  return build.map(build.sizes(scores), getElementTypeOrSelf(scores.getType()),
                   scores, body);
}

/// The indices b, h, i, j.
static SmallVector<Value> getPair(LoopBody &b) {
  return {b.loop(0), b.loop(1), b.loop(2), b.loop(3)};
}

Value attn::lower(TensorLoops &build, ScaleOp op) {
  return mapScores(build, op.getScores(), [&](LoopBody &b) {
    return b.mul(b.inputs[0], b.constant(b.inputs[0].getType(),
                                         op.getFactor().convertToDouble()));
  });
}

Value attn::lower(TensorLoops &build, SoftcapOp op) {
  return mapScores(build, op.getScores(), [&](LoopBody &b) {
    Value cap =
        b.constant(b.inputs[0].getType(), op.getCap().convertToDouble());
    return b.mul(
        cap, math::TanhOp::create(b.builder, b.loc, b.div(b.inputs[0], cap)));
  });
}

Value attn::lower(TensorLoops &build, BiasOp op) {
  return mapScores(build, op.getScores(), [&](LoopBody &b) {
    Type element = b.inputs[0].getType();
    // In the scores' type; a wider bias must not become -inf by rounding.
    Value bias = b.loadBroadcast(op.getBias(), getPair(b));
    Value sum = b.add(b.inputs[0], b.cast(bias, element));
    return b.select(b.equals(bias, -kInfinity), b.constant(element, -kInfinity),
                    sum);
  });
}

Value attn::lower(TensorLoops &build, ScoreMapOp op) {
  return mapScores(build, op.getScores(), [&](LoopBody &b) {
    SmallVector<Value> arguments{b.inputs[0]};
    llvm::append_range(arguments, getPair(b));
    return inlineProgram(b, op.getScore(), arguments);
  });
}

//===----------------------------------------------------------------------===//
// masked_softmax, weighted_sum
//===----------------------------------------------------------------------===//

/// Biases that act on `scores` with other ops on scores in between, which may
/// turn their -inf into anything.
static SmallVector<Value> getEarlierBiases(Value scores) {
  SmallVector<Value> biases;
  bool first = true;
  while (Operation *op = scores.getDefiningOp()) {
    if (auto bias = dyn_cast<BiasOp>(op)) {
      if (!first)
        biases.push_back(bias.getBias());
    } else if (!isa<ScaleOp, SoftcapOp, ScoreMapOp, tensor::CastOp>(op)) {
      break;
    }
    first &= isa<tensor::CastOp>(op);
    scores = op->getOperand(0);
  }
  return biases;
}

/// The scores of `op`, -inf where a pair is hidden.
static Value buildMaskedScores(TensorLoops &build, MaskedSoftmaxOp op) {
  Value scores = op.getScores();
  Value shift;
  if (op.getAlignment() == Alignment::BottomRight)
    shift = build.sub(build.dim(scores, 3), build.dim(scores, 2));
  SmallVector<Value> biases = getEarlierBiases(scores);

  return mapScores(build, scores, [&](LoopBody &b) {
    SmallVector<Value> pair = getPair(b);
    Value i = pair[2], j = pair[3];
    Value visible;
    auto require = [&](Value condition) {
      visible = visible ? b.logicalAnd(visible, condition) : condition;
    };
    Value diagonal = i;
    if (op.getAlignment() == Alignment::BottomRight)
      diagonal = b.add(i, shift);
    if (Value offset = op.getOffset()) {
      if (isa<RankedTensorType>(offset.getType()))
        offset = b.loadBroadcast(offset, pair[0]);
      // Cut where it is beyond every length and sums do not overflow.
      Value limit = b.index(int64_t(1) << 40),
            low = b.index(-(int64_t(1) << 40));
      offset = b.toIndex(offset);
      offset =
          b.select(b.compare(CmpIPredicate::sgt, offset, limit), limit, offset);
      offset =
          b.select(b.compare(CmpIPredicate::slt, offset, low), low, offset);
      diagonal = b.add(i, offset);
    }
    if (op.getCausal()) {
      Value past = b.compare(CmpIPredicate::sle, j, diagonal);
      if (Value prefix = op.getPrefix()) {
        if (isa<RankedTensorType>(prefix.getType()))
          prefix = b.loadBroadcast(prefix, pair[0]);
        Value inPrefix = b.compare(CmpIPredicate::slt, j, b.toIndex(prefix));
        past = b.select(inPrefix, inPrefix, past);
      }
      require(past);
    }
    if (std::optional<ArrayRef<int64_t>> window = op.getWindow()) {
      auto [left, right] = std::pair((*window)[0], (*window)[1]);
      // A distance, so that a huge bound does not overflow when added.
      Value distance = b.sub(j, diagonal);
      if (left >= 0)
        require(b.compare(CmpIPredicate::sge, distance, b.index(-left)));
      if (right >= 0)
        require(b.compare(CmpIPredicate::sle, distance, b.index(right)));
    }
    if (op.getLengths())
      require(b.compare(CmpIPredicate::slt, j,
                        b.toIndex(b.loadBroadcast(op.getLengths(), pair[0]))));
    if (op.getQuerySegments())
      require(b.compare(
          CmpIPredicate::eq,
          b.toIndex(b.loadBroadcast(op.getQuerySegments(), {pair[0], i})),
          b.toIndex(b.loadBroadcast(op.getKeySegments(), {pair[0], j}))));
    if (op.getMask())
      require(b.loadBroadcast(op.getMask(), pair));
    if (!op.getVisible().empty())
      require(inlineProgram(b, op.getVisible(), pair));
    Value hidden = b.constant(b.inputs[0].getType(), -kInfinity);
    Value result = b.inputs[0];
    if (visible)
      result = b.select(visible, result, hidden);
    for (Value bias : biases)
      result = b.select(b.equals(b.loadBroadcast(bias, pair), -kInfinity),
                        hidden, result);
    return result;
  });
}

/// The weights, NaN in rows whose maximum, the sink's included, is -inf.
static Value markEmptyRows(TensorLoops &build, const Softmax &softmax) {
  enum { B, H, I, J };
  Type element = getElementTypeOrSelf(softmax.weights.getType());
  return build.loops(
      4, {{softmax.weights, {B, H, I, J}}, {softmax.max, {B, H, I}}},
      {build.empty(build.sizes(softmax.weights), element), {B, H, I, J}},
      [&](LoopBody &b) {
        return b.select(b.equals(b.inputs[1], -kInfinity),
                        b.constant(element, kNaN), b.inputs[0]);
      });
}

Value attn::lower(TensorLoops &build, MaskedSoftmaxOp op) {
  Value masked = buildMaskedScores(build, op);
  if (op.getNormalizer() == Normalizer::Softmax) {
    Softmax softmax = buildSoftmax(build, masked, op.getSink());
    if (op.getEmptyRow() == EmptyRow::NaN)
      return markEmptyRows(build, softmax);
    return softmax.weights;
  }
  return mapScores(build, masked, [&](LoopBody &b) {
    Type element = b.inputs[0].getType();
    Value one = b.constant(element, 1.0);
    Value negated = arith::NegFOp::create(b.builder, b.loc, b.inputs[0]);
    Value exp = math::ExpOp::create(b.builder, b.loc, negated);
    return b.select(b.equals(b.inputs[0], -kInfinity), b.constant(element, 0.0),
                    b.div(one, b.add(one, exp)));
  });
}

Value attn::buildProbabilityMap(TensorLoops &build, Value weights, Value scores,
                                Region &program, ValueRange offsets) {
  SmallVector<Value> inputs{weights};
  if (scores)
    inputs.push_back(scores);
  Type element = getElementTypeOrSelf(weights.getType());
  return build.map(build.sizes(weights), element, inputs, [&](LoopBody &b) {
    SmallVector<Value> arguments{b.inputs[0]};
    for (unsigned d = 0; d < 4; ++d)
      arguments.push_back(offsets.empty() ? b.loop(d)
                                          : b.add(b.loop(d), offsets[d]));
    Value mapped = inlineProgram(b, program, arguments);
    if (!scores)
      return mapped;
    return b.select(b.equals(b.inputs[1], -kInfinity), b.constant(element, 0.0),
                    mapped);
  });
}

/// The scores that `weights` were made of, -inf where hidden, or null.
static Value buildScoresOf(TensorLoops &build, Value weights) {
  while (Operation *op = weights.getDefiningOp()) {
    if (auto softmax = dyn_cast<MaskedSoftmaxOp>(op))
      return buildMaskedScores(build, softmax);
    if (!isa<ProbabilityMapOp, DropoutOp, tensor::CastOp>(op))
      break;
    weights = op->getOperand(0);
  }
  return {};
}

Value attn::lower(TensorLoops &build, ProbabilityMapOp op) {
  return buildProbabilityMap(build, op.getWeights(),
                             buildScoresOf(build, op.getWeights()),
                             op.getProbability());
}

Value attn::lower(TensorLoops &build, DropoutOp op) {
  return mapScores(build, op.getWeights(), [&](LoopBody &b) {
    Type element = b.inputs[0].getType();
    double rate = op.getRate().convertToDouble();
    Value isKept = emitIsKept(b.builder, b.loc, rate, op.getSeed(), getPair(b));
    // Nothing is kept of rate 1.
    Value share = b.constant(element, rate < 1 ? 1 - rate : 1);
    return b.select(isKept, b.div(b.inputs[0], share),
                    b.constant(element, 0.0));
  });
}

Value attn::lower(TensorLoops &build, WeightedSumOp op) {
  return buildWeightedSum(build, op.getWeights(), op.getWeights(), 0.0,
                          op.getValue());
}
