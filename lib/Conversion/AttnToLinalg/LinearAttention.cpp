//===- LinearAttention.cpp - Naive lowering of linear attention -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The recurrence as its description states it: a loop over the tokens whose
// state, one matrix `[Dk, Dv]` for each key head, is updated in place.
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

namespace {

class LinearAttentionLoop {
public:
  LinearAttentionLoop(TensorLoops &build, LinearAttentionOp op)
      : build(build), op(op),
        sum(getSumType(getElementTypeOrSelf(op.getQuery().getType()))) {}

  Results run() {
    OpBuilder &builder = build.builder;
    Location loc = build.loc;
    auto key = cast<RankedTensorType>(op.getKey().getType());
    auto query = cast<RankedTensorType>(op.getQuery().getType());
    int64_t keyHeads = key.getDimSize(1);
    groups =
        splitGroups(op.getQuery(), keyHeads, query.getDimSize(1) / keyHeads);

    SmallVector<OpFoldResult> stateSizes{
        build.sizes(op.getKey())[0], build.sizes(op.getKey())[1],
        build.sizes(op.getKey())[3], build.sizes(op.getValue())[3]};
    Value state = op.getInitial() ? build.castElements(op.getInitial(), sum)
                                  : build.fill(stateSizes, sum, 0.0);
    SmallVector<OpFoldResult> outputSizes = build.sizes(groups);
    outputSizes[4] = build.sizes(op.getValue())[3];
    Type element = getElementTypeOrSelf(op.getOutput().getType());
    Value output = build.empty(outputSizes, element);
    auto loop = scf::ForOp::create(
        builder, loc, build.index(0), build.dim(op.getQuery(), 2),
        build.index(1), ValueRange{state, output},
        [&](OpBuilder &, Location, Value t, ValueRange carried) {
          Value next = update(carried[0], t);
          Value token = attend(next, t, element);
          SmallVector<OpFoldResult> offsets(5, builder.getIndexAttr(0)),
              sizes = outputSizes, strides(5, builder.getIndexAttr(1));
          offsets[3] = t;
          sizes[3] = builder.getIndexAttr(1);
          Value inserted = tensor::InsertSliceOp::create(
              builder, loc, token, carried[1], offsets, sizes, strides);
          scf::YieldOp::create(builder, loc, ValueRange{next, inserted});
        });
    Results results{tensor::CollapseShapeOp::create(
        builder, loc, loop.getResult(1),
        SmallVector<ReassociationIndices>{{0}, {1, 2}, {3}, {4}})};
    if (Value final = op.getFinal())
      results.push_back(build.castElements(
          loop.getResult(0), getElementTypeOrSelf(final.getType())));
    return results;
  }

private:
  /// `[B, Hq, S, D]` as `[B, Hkv, group, S, D]`.
  Value splitGroups(Value tensor, int64_t keyHeads, int64_t group) {
    auto from = cast<RankedTensorType>(tensor.getType());
    SmallVector<OpFoldResult> sizes = build.sizes(tensor);
    sizes[1] = build.builder.getIndexAttr(keyHeads);
    sizes.insert(sizes.begin() + 2, build.builder.getIndexAttr(group));
    SmallVector<int64_t> shape(from.getShape());
    shape[1] = keyHeads;
    shape.insert(shape.begin() + 2, group);
    return tensor::ExpandShapeOp::create(
        build.builder, build.loc,
        RankedTensorType::get(shape, from.getElementType()), tensor,
        SmallVector<ReassociationIndices>{{0}, {1, 2}, {3}, {4}}, sizes);
  }

  /// Token `t` of `tensor`, whose dimension `dim` is that of tokens.
  Value tokenOf(Value tensor, Value t, int64_t dim = 2) {
    auto from = cast<RankedTensorType>(tensor.getType());
    SmallVector<OpFoldResult> sizes = build.sizes(tensor);
    SmallVector<OpFoldResult> offsets(sizes.size(),
                                      build.builder.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(sizes.size(),
                                      build.builder.getIndexAttr(1));
    offsets[dim] = t;
    sizes[dim] = build.builder.getIndexAttr(1);
    SmallVector<int64_t> shape(from.getShape());
    shape.erase(shape.begin() + dim);
    return tensor::ExtractSliceOp::create(
        build.builder, build.loc,
        RankedTensorType::get(shape, from.getElementType()), tensor, offsets,
        sizes, strides);
  }

  /// The state after token `t`.
  Value update(Value state, Value t) {
    enum { B, H, K, V };
    const LoopOperand key{tokenOf(op.getKey(), t), {B, H, K}};
    const LoopOperand value{tokenOf(op.getValue(), t), {B, H, V}};
    if (Value decay = op.getDecay()) {
      LoopOperand gate{tokenOf(decay, t), {B, H}};
      if (op.hasRowDecay())
        gate.loops.push_back(K);
      state = build.loops(4, {gate}, {state, {B, H, K, V}}, [&](LoopBody &b) {
        Value factor =
            math::ExpOp::create(b.builder, b.loc, b.cast(b.inputs[0], sum));
        return b.mul(b.output, factor);
      });
    }
    SmallVector<LoopOperand> inputs{key, value};
    if (Value beta = op.getBeta()) {
      SmallVector<OpFoldResult> sizes = build.sizes(state);
      sizes.erase(sizes.begin() + K);
      Value retrieved = build.loops(
          4, {key, {state, {B, H, K, V}}},
          {build.fill(sizes, sum, 0.0), {B, H, V}}, [&](LoopBody &b) {
            return b.add(b.output,
                         b.mul(b.cast(b.inputs[0], sum), b.inputs[1]));
          });
      inputs.push_back({retrieved, {B, H, V}});
      inputs.push_back({tokenOf(beta, t), {B, H}});
    }
    return build.loops(4, inputs, {state, {B, H, K, V}}, [&](LoopBody &b) {
      Value added = b.cast(b.inputs[1], sum);
      if (op.getBeta())
        added = b.mul(b.cast(b.inputs[3], sum), b.sub(added, b.inputs[2]));
      return b.add(b.output, b.mul(b.cast(b.inputs[0], sum), added));
    });
  }

  /// The outputs of token `t`, `[B, Hkv, group, Dv]`.
  Value attend(Value state, Value t, Type element) {
    enum { B, H, G, V, K };
    Value query = tokenOf(groups, t, 3);
    SmallVector<OpFoldResult> sizes = build.sizes(query);
    sizes[V] = build.sizes(op.getValue())[3];
    Value products = build.loops(
        5, {{query, {B, H, G, K}}, {state, {B, H, K, V}}},
        {build.fill(sizes, sum, 0.0), {B, H, G, V}}, [&](LoopBody &b) {
          return b.add(b.output, b.mul(b.cast(b.inputs[0], sum), b.inputs[1]));
        });
    return build.map(sizes, element, products, [&](LoopBody &b) {
      Value scale = b.constant(sum, op.getScale().convertToDouble());
      return b.cast(b.mul(b.inputs[0], scale), element);
    });
  }

  TensorLoops &build;
  LinearAttentionOp op;
  Type sum;
  Value groups;
};

} // namespace

Results attn::lower(TensorLoops &build, LinearAttentionOp op) {
  return LinearAttentionLoop(build, op).run();
}
