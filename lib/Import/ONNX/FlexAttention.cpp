//===- FlexAttention.cpp - FlexAttention of ONNX ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `score_mod` becomes a score program, and a mask program where it writes -inf.
//
//===----------------------------------------------------------------------===//

#include "ImportFunctions.h"
#include "ScalarOps.h"
#include "Subprogram.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

using namespace mlir;
using namespace attn;

namespace {

enum Input { Q, K, V };

LogicalResult checkInputs(Node &node) {
  for (unsigned i : {Q, K, V}) {
    if (failed(node.expectRank(i, 4)) || failed(node.expectFloat(i)) ||
        failed(node.expectStatic(i, 3)) || failed(node.expectEqual(Q, 0, i, 0)))
      return failure();
    if (node.type(i).getElementType() != node.type(Q).getElementType())
      return node.error() << "inputs must have one element type, got "
                          << stringifyType(node.type(Q)) << " and "
                          << stringifyType(node.type(i));
  }
  if (failed(node.expectEqual(Q, 3, K, 3)) ||
      failed(node.expectEqual(K, 1, V, 1)) ||
      failed(node.expectEqual(K, 2, V, 2)))
    return failure();
  int64_t queryHeads = node.type(Q).getDimSize(1);
  int64_t keyHeads = node.type(K).getDimSize(1);
  if (!ShapedType::isDynamic(keyHeads) &&
      (keyHeads <= 0 ||
       (!ShapedType::isDynamic(queryHeads) && queryHeads % keyHeads != 0)))
    return node.error() << "the number of heads of Q must be a multiple of "
                        << "that of K, got " << queryHeads << " and "
                        << keyHeads;
  return success();
}

/// Fills `region` with a block of `arguments` and what `emit` yields there.
LogicalResult
emitRegion(Node &node, Region &region, TypeRange arguments,
           llvm::function_ref<Value(ScalarBuilder, Block &)> emit) {
  OpBuilder &builder = node.builder();
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locations(arguments.size(), node.getLoc());
  Block *block = builder.createBlock(&region, {}, arguments, locations);
  Value result = emit(ScalarBuilder(builder, node.getLoc()), *block);
  if (!result)
    return failure();
  YieldOp::create(builder, node.getLoc(), result);
  return success();
}

/// Maps `scores` by the subgraph, which computes in elements of type `element`.
FailureOr<Value> mapScores(Node &node, const Subprogram &program, Value scores,
                           Type element) {
  if (program.keepsScores())
    return scores;
  Type type = getElementTypeOrSelf(scores.getType());
  Type index = node.builder().getIndexType();
  auto map = ScoreMapOp::create(node.builder(), node.getLoc(), scores.getType(),
                                scores);
  if (failed(emitRegion(
          node, map.getScore(), {type, index, index, index, index},
          [&](ScalarBuilder build, Block &block) -> Value {
            Value score =
                castScalar(build, block.getArgument(0), type, element);
            score = program.emitScore(build, score,
                                      block.getArguments().drop_front());
            return score ? castScalar(build, score, element, type) : Value();
          })))
    return failure();
  return map.getResult();
}

/// `value` with the extent `size` in dimension `d`: checked at entry.
Value withExtent(Node &node, Value value, int64_t d, int64_t size) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (!ShapedType::isDynamic(shape[d]))
    return value;
  shape[d] = size;
  return tensor::CastOp::create(node.builder(), node.getLoc(),
                                type.clone(shape), value);
}

/// One FlexAttention. Subgraphs may need extents that the inputs have at run
/// time only; then these become static, and the subgraphs are read again.
class FlexAttention {
public:
  FlexAttention(Node &node, const onnx::GraphProto *scoreGraph,
                const onnx::GraphProto *weightGraph, double scale, Type element)
      : node(node), scoreGraph(scoreGraph), weightGraph(weightGraph),
        scale(scale), element(element), query(node.input(Q)),
        key(node.input(K)), value(node.input(V)) {}

  LogicalResult import() {
    // Each round makes one of four extents static.
    while (true) {
      Operation *last = lastOp();
      std::optional<Extent> needed;
      if (succeeded(tryImport(needed)))
        return success();
      if (!needed)
        return failure();
      while (lastOp() != last)
        lastOp()->erase();
      makeStatic(*needed);
    }
  }

private:
  /// The op after which new ones come, or null.
  Operation *lastOp() {
    OpBuilder &builder = node.builder();
    Block::iterator point = builder.getInsertionPoint();
    return point == builder.getInsertionBlock()->begin() ? nullptr
                                                         : &*std::prev(point);
  }

  LogicalResult tryImport(std::optional<Extent> &needed) {
    auto shapeOf = [](Value tensor) {
      return cast<RankedTensorType>(tensor.getType()).getShape();
    };
    int64_t shape[] = {shapeOf(query)[0], shapeOf(query)[1], shapeOf(query)[2],
                       shapeOf(key)[2]};
    // Asked of the inputs: the scores must have no other use.
    Value extents[] = {node.build.dim(query, 0), node.build.dim(query, 1),
                       node.build.dim(query, 2), node.build.dim(key, 2)};
    Subprogram scoreProgram(node, "score_mod", shape, extents, element);
    Subprogram weightProgram(node, "prob_mod", shape, extents, element);
    if (scoreGraph && failed(scoreProgram.read(*scoreGraph, /*hides=*/true))) {
      needed = scoreProgram.getNeededExtent();
      return failure();
    }
    if (weightGraph &&
        failed(weightProgram.read(*weightGraph, /*hides=*/false))) {
      needed = weightProgram.getNeededExtent();
      return failure();
    }
    return build(scoreProgram, weightProgram);
  }

  void makeStatic(const Extent &extent) {
    int64_t d = extent.dim, size = extent.value;
    if (d != 3)
      query = withExtent(node, query, d, size);
    if (d == 0 || d == 3) {
      key = withExtent(node, key, d == 0 ? 0 : 2, size);
      value = withExtent(node, value, d == 0 ? 0 : 2, size);
    }
  }

  LogicalResult build(const Subprogram &scoreProgram,
                      const Subprogram &weightProgram) {
    OpBuilder &builder = node.builder();
    Location loc = node.getLoc();
    Value scores = QKOp::create(builder, loc, query, key);
    scores =
        ScaleOp::create(builder, loc, scores, builder.getF64FloatAttr(scale));
    if (scoreGraph) {
      FailureOr<Value> mapped = mapScores(node, scoreProgram, scores, element);
      if (failed(mapped))
        return failure();
      scores = *mapped;
    }
    auto softmax = MaskedSoftmaxOp::create(
        builder, loc, scores.getType(), scores, /*offset=*/Value(),
        /*prefix=*/Value(), /*lengths=*/Value(), /*query_segments=*/Value(),
        /*key_segments=*/Value(), /*mask=*/Value(), /*sink=*/Value(),
        /*causal=*/false, AlignmentAttr(), DenseI64ArrayAttr());
    Type index = builder.getIndexType();
    if (scoreProgram.hidesPairs() &&
        failed(emitRegion(
            node, softmax.getVisible(), {index, index, index, index},
            [&](ScalarBuilder build, Block &block) {
              return scoreProgram.emitVisible(build, block.getArguments());
            })))
      return failure();
    Value weights = softmax.getResult();
    if (weightGraph) {
      FailureOr<Value> mapped =
          mapScores(node, weightProgram, weights, element);
      if (failed(mapped))
        return failure();
      weights = *mapped;
    }
    Value result = WeightedSumOp::create(builder, loc, weights, value);
    return node.setOutput(0, result);
  }

  Node &node;
  const onnx::GraphProto *scoreGraph, *weightGraph;
  double scale;
  /// The type that subgraphs compute in.
  Type element;
  Value query, key, value;
};

} // namespace

LogicalResult attn::importFlexAttention(Node &node) {
  const onnx::GraphProto *scoreGraph = node.getGraph("score_mod");
  const onnx::GraphProto *weightGraph = node.getGraph("prob_mod");
  std::optional<double> scale = node.getFloat("scale");
  std::optional<int64_t> precision = node.getInt("softmax_precision");
  if (failed(node.checkAttributes()) || failed(checkInputs(node)))
    return failure();
  Type element = getComputeType(node.type(Q).getElementType());
  if (precision) {
    element = getElementType(node.getContext(), *precision);
    if (!isa_and_nonnull<FloatType>(element))
      return node.error() << "softmax_precision must be 1, 10, 11 or 16, got "
                          << *precision;
  }

  double size = node.type(Q).getDimSize(3);
  return FlexAttention(node, scoreGraph, weightGraph,
                       scale.value_or(1.0 / std::sqrt(size)), element)
      .import();
}
