//===- Normalization.cpp - Layer and RMS normalisation of ONNX --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both normalise over the dimensions from `axis` on, in f32 (f64 for f64), and
// then scale in the type of the input, as their function bodies do.
//
//===----------------------------------------------------------------------===//

#include "ImportFunctions.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;

namespace {

enum Input { X, Scale, Bias };

class NormImporter {
public:
  explicit NormImporter(Node &node) : node(node), build(node.build) {}

  LogicalResult layerNormalization();
  LogicalResult rmsNormalization();

private:
  LogicalResult readAttributes();
  /// A tensor of scales must broadcast to X.
  LogicalResult checkBroadcast(unsigned i);
  /// The loops that `tensor`, right-aligned to X, runs with.
  SmallVector<unsigned> broadcast(Value tensor);
  /// The mean of `term` over the normalised dimensions, of the outer ones.
  Value mean(ArrayRef<LoopOperand> inputs, TensorLoops::Body term);
  /// `[outer..., 1...]` from `[outer...]`, of the stash type.
  Value keepDims(Value statistic);

  Node &node;
  TensorLoops &build;
  int64_t axis = 0;
  double epsilon = 0.0;
  Type element, type, stash;
  unsigned rank = 0;
  SmallVector<unsigned> all, outer;
};

LogicalResult NormImporter::readAttributes() {
  axis = node.getInt("axis", -1);
  epsilon = node.getFloat("epsilon", 1e-5f);
  int64_t stashType = node.getInt("stash_type", onnx::TensorProto::FLOAT);
  if (failed(node.checkAttributes()) || failed(node.expectFloat(X)))
    return failure();
  if (stashType != onnx::TensorProto::FLOAT &&
      stashType != onnx::TensorProto::BFLOAT16)
    return node.error() << "stash_type must be 1 or 16, got " << stashType;
  stash = getElementType(node.getContext(), stashType);
  rank = node.type(X).getRank();
  int64_t signedRank = rank;
  if (axis < -signedRank || axis >= signedRank)
    return node.error() << "axis must be from " << -signedRank << " to "
                        << signedRank - 1 << ", got " << axis;
  if (axis < 0)
    axis += rank;
  if (epsilon < 0)
    return node.error() << "epsilon must not be negative, got " << epsilon;
  element = node.type(X).getElementType();
  type = getComputeType(element);
  all = llvm::to_vector(llvm::seq<unsigned>(0, rank));
  outer.assign(all.begin(), all.begin() + axis);
  return success();
}

LogicalResult NormImporter::checkBroadcast(unsigned i) {
  if (!node.input(i))
    return success();
  if (failed(node.expectFloat(i)))
    return failure();
  auto shape = node.type(i).getShape();
  if (shape.size() > rank)
    return node.error() << "rank of " << node.inputName(i)
                        << " must be at most that of X, got " << shape.size()
                        << " and " << rank;
  for (auto [d, size] : llvm::enumerate(shape)) {
    int64_t full = node.type(X).getDimSize(rank - shape.size() + d);
    if (!ShapedType::isDynamic(size) && !ShapedType::isDynamic(full) &&
        size != 1 && size != full)
      return node.error() << "dimension " << d << " of " << node.inputName(i)
                          << " must be 1 or " << full << ", got " << size;
  }
  return success();
}

SmallVector<unsigned> NormImporter::broadcast(Value tensor) {
  auto shape = cast<RankedTensorType>(tensor.getType()).getShape();
  SmallVector<unsigned> loops;
  for (auto [d, size] : llvm::enumerate(shape)) {
    unsigned loop = rank - shape.size() + d;
    bool repeats = size == 1 && node.type(X).getDimSize(loop) != 1;
    loops.push_back(repeats ? kBroadcast : loop);
  }
  return loops;
}

Value NormImporter::mean(ArrayRef<LoopOperand> inputs, TensorLoops::Body term) {
  auto sizes = build.sizes(node.input(X));
  auto outerSizes = ArrayRef(sizes).take_front(axis);
  Value sum =
      build.loops(rank, inputs, {build.fill(outerSizes, type, 0.0), outer},
                  [&](LoopBody &b) { return b.add(b.output, term(b)); });
  Value count = build.index(1);
  for (unsigned d = axis; d < rank; ++d)
    count = build.mul(count, build.dim(node.input(X), d));
  count = arith::IndexCastOp::create(build.builder, build.loc,
                                     build.builder.getI64Type(), count);
  count = arith::SIToFPOp::create(build.builder, build.loc, type, count);
  return build.map(outerSizes, type, sum,
                   [&](LoopBody &b) { return b.div(b.inputs[0], count); });
}

Value NormImporter::keepDims(Value statistic) {
  statistic = build.castElements(statistic, stash);
  auto from = cast<RankedTensorType>(statistic.getType());
  SmallVector<int64_t> shape(from.getShape());
  shape.resize(rank, 1);
  SmallVector<OpFoldResult> sizes = build.sizes(statistic);
  sizes.resize(rank, build.builder.getIndexAttr(1));
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d < axis; ++d)
    groups.push_back({d});
  if (axis > 0)
    for (int64_t d = axis; d < rank; ++d)
      groups.back().push_back(d);
  return tensor::ExpandShapeOp::create(build.builder, build.loc,
                                       RankedTensorType::get(shape, stash),
                                       statistic, groups, sizes);
}

LogicalResult NormImporter::layerNormalization() {
  if (failed(readAttributes()) || failed(checkBroadcast(Scale)) ||
      failed(checkBroadcast(Bias)))
    return failure();
  Value x = node.input(X);
  Value average =
      mean({{x, all}}, [&](LoopBody &b) { return b.cast(b.inputs[0], type); });
  Value variance = mean({{x, all}, {average, outer}}, [&](LoopBody &b) {
    Value distance = b.sub(b.cast(b.inputs[0], type), b.inputs[1]);
    return b.mul(distance, distance);
  });
  Value inverse =
      build.map(build.sizes(variance), type, variance, [&](LoopBody &b) {
        Value padded = b.add(b.inputs[0], b.constant(type, epsilon));
        Value deviation = math::SqrtOp::create(b.builder, b.loc, padded);
        return b.div(b.constant(type, 1.0), deviation);
      });

  SmallVector<LoopOperand> inputs = {
      {x, all},
      {average, outer},
      {inverse, outer},
      {node.input(Scale), broadcast(node.input(Scale))}};
  if (Value bias = node.input(Bias))
    inputs.push_back({bias, broadcast(bias)});
  Value result = build.loops(
      rank, inputs, {build.empty(build.sizes(x), element), all},
      [&](LoopBody &b) {
        Value distance = b.sub(b.cast(b.inputs[0], type), b.inputs[1]);
        Value y =
            b.mul(b.mul(distance, b.inputs[2]), b.cast(b.inputs[3], type));
        if (b.inputs.size() > 4)
          y = b.add(y, b.cast(b.inputs[4], type));
        return b.cast(y, element);
      });
  if (failed(node.setOutput(0, result)))
    return failure();
  if (node.wants(1) && failed(node.setOutput(1, keepDims(average))))
    return failure();
  if (node.wants(2) && failed(node.setOutput(2, keepDims(inverse))))
    return failure();
  return success();
}

LogicalResult NormImporter::rmsNormalization() {
  if (failed(readAttributes()) || failed(checkBroadcast(Scale)))
    return failure();
  Value x = node.input(X);
  // The result has the type of the scale.
  Type result = node.type(Scale).getElementType();
  if (result.isF64())
    type = result;
  Value square = mean({{x, all}}, [&](LoopBody &b) {
    Value value = b.cast(b.inputs[0], type);
    return b.mul(value, value);
  });
  Value scale = node.input(Scale);
  Value y = build.loops(
      rank, {{x, all}, {square, outer}, {scale, broadcast(scale)}},
      {build.empty(build.sizes(x), result), all}, [&](LoopBody &b) {
        Value padded = b.add(b.inputs[1], b.constant(type, epsilon));
        Value root = math::SqrtOp::create(b.builder, b.loc, padded);
        Value normalized = b.div(b.cast(b.inputs[0], type), root);
        return b.cast(b.mul(normalized, b.cast(b.inputs[2], type)), result);
      });
  return node.setOutput(0, y);
}

} // namespace

LogicalResult attn::importLayerNormalization(Node &node) {
  return NormImporter(node).layerNormalization();
}

LogicalResult attn::importRMSNormalization(Node &node) {
  return NormImporter(node).rmsNormalization();
}
