//===- LinearAttention.cpp - LinearAttention of ONNX ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The recurrence as the specification states it: a loop over the tokens whose
// state, one matrix `[Dk, Dv]` for each key head, is updated in place in f32.
//
//   S = exp(g_t) S                              gated, gated_delta
//   v = beta_t (v_t - S^T k_t), or v_t          delta, gated_delta
//   S = S + k_t v^T
//   o_t = scale S^T q_t
//
//===----------------------------------------------------------------------===//

#include "ImportFunctions.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>

using namespace mlir;
using namespace attn;

namespace {

enum Input { Query, Key, Values, PastState, Decay, Beta };

class LinearAttentionImporter {
public:
  explicit LinearAttentionImporter(Node &node)
      : node(node), build(node.build) {}

  LogicalResult run();

private:
  LogicalResult readAttributes();
  LogicalResult checkInputs();
  /// Input `i`, `[B, T, N]`, as `[B, T, heads..., N / product of heads]`.
  Value split(unsigned i, ArrayRef<int64_t> heads);
  /// Token `t` of `[B, T, rest...]`.
  Value tokenOf(Value tensor, Value t);
  /// One step: the new state and the token of the output, `[B, H, G, Dv]`.
  std::pair<Value, Value> step(Value state, Value t);

  Node &node;
  TensorLoops &build;

  int64_t queryHeads = 0, keyHeads = 0, group = 0;
  double scale = 0.0;
  bool isGated = false, isDelta = false;
  int64_t keySize = 0, valueSize = 0;
  Type type;
  Value query, key, value, decay, beta;
};

LogicalResult LinearAttentionImporter::readAttributes() {
  std::optional<int64_t> q = node.getInt("q_num_heads");
  std::optional<int64_t> kv = node.getInt("kv_num_heads");
  scale = node.getFloat("scale", 0.0);
  std::string rule = node.getString("update_rule", "gated_delta");
  // How the loop is cut is the compiler's choice.
  node.getInt("chunk_size");
  if (failed(node.checkAttributes()))
    return failure();
  if (!q || !kv)
    return node.error() << "q_num_heads and kv_num_heads must be given";
  queryHeads = *q;
  keyHeads = *kv;
  if (keyHeads <= 0 || queryHeads <= 0 || queryHeads % keyHeads != 0)
    return node.error() << "q_num_heads must be a positive multiple of "
                        << "kv_num_heads, got " << queryHeads << " and "
                        << keyHeads;
  group = queryHeads / keyHeads;
  if (rule != "linear" && rule != "gated" && rule != "delta" &&
      rule != "gated_delta")
    return node.error() << "update_rule must be linear, gated, delta or "
                        << "gated_delta, got '" << rule << "'";
  isGated = rule == "gated" || rule == "gated_delta";
  isDelta = rule == "delta" || rule == "gated_delta";
  for (auto [input, needed] :
       {std::pair(Decay, isGated), std::pair(Beta, isDelta)})
    if (!node.input(input) == needed)
      return node.error() << "update_rule " << rule
                          << (needed ? " needs" : " must not have") << " input "
                          << node.inputName(input);
  return success();
}

LogicalResult LinearAttentionImporter::checkInputs() {
  for (unsigned i : {Query, Key, Values, Decay, Beta}) {
    if (!node.input(i))
      continue;
    if (failed(node.expectRank(i, 3)) || failed(node.expectFloat(i)) ||
        failed(node.expectStatic(i, 2)))
      return failure();
    // The loop over tokens takes slices, whose bounds must be known.
    if (!node.type(i).hasStaticShape())
      return node.error() << "dimensions of " << node.inputName(i)
                          << " must be known, run-time sizes are not "
                          << "supported: got " << stringifyType(node.type(i));
    if (failed(node.expectEqual(Query, 0, i, 0)) ||
        failed(node.expectEqual(Query, 1, i, 1)))
      return failure();
    if (node.type(i).getElementType() != node.type(Query).getElementType())
      return node.error() << "inputs must have one element type, got "
                          << stringifyType(node.type(Query)) << " and "
                          << stringifyType(node.type(i));
  }
  auto width = [&](unsigned i) { return node.type(i).getDimSize(2); };
  for (auto [i, heads] :
       {std::pair(Query, queryHeads), std::pair(Key, keyHeads),
        std::pair(Values, keyHeads)})
    if (width(i) % heads != 0)
      return node.error() << "dimension 2 of input " << node.inputName(i)
                          << " must be a multiple of the number of heads, got "
                          << width(i) << " and " << heads;
  keySize = width(Key) / keyHeads;
  valueSize = width(Values) / keyHeads;
  if (width(Query) / queryHeads != keySize)
    return node.error() << "head sizes of query and key must be equal, got "
                        << width(Query) / queryHeads << " and " << keySize;
  if (isGated && width(Decay) != keyHeads && width(Decay) != keyHeads * keySize)
    return node.error() << "dimension 2 of input decay must be " << keyHeads
                        << " or " << keyHeads * keySize << ", got "
                        << width(Decay);
  if (isDelta && width(Beta) != keyHeads && width(Beta) != 1)
    return node.error() << "dimension 2 of input beta must be " << keyHeads
                        << " or 1, got " << width(Beta);
  if (!node.input(PastState))
    return success();
  if (failed(node.expectRank(PastState, 4)) ||
      failed(node.expectFloat(PastState)) ||
      failed(node.expectEqual(Query, 0, PastState, 0)))
    return failure();
  for (auto [d, size] :
       {std::pair(1, keyHeads), std::pair(2, keySize), std::pair(3, valueSize)})
    if (node.type(PastState).getDimSize(d) != size)
      return node.error() << "dimension " << d << " of input past_state must "
                          << "be " << size << ", got "
                          << stringifyType(node.type(PastState));
  return success();
}

Value LinearAttentionImporter::split(unsigned i, ArrayRef<int64_t> heads) {
  Value input = node.input(i);
  auto from = node.type(i);
  SmallVector<int64_t> shape{from.getDimSize(0), from.getDimSize(1)};
  SmallVector<OpFoldResult> sizes = build.sizes(input);
  int64_t rest = from.getDimSize(2);
  sizes.pop_back();
  for (int64_t count : heads) {
    shape.push_back(count);
    sizes.push_back(build.builder.getIndexAttr(count));
    rest /= count;
  }
  shape.push_back(rest);
  sizes.push_back(build.builder.getIndexAttr(rest));
  SmallVector<ReassociationIndices> groups{{0}, {1}, {}};
  for (int64_t d = 2; d < static_cast<int64_t>(shape.size()); ++d)
    groups.back().push_back(d);
  return tensor::ExpandShapeOp::create(
      build.builder, build.loc,
      RankedTensorType::get(shape, from.getElementType()), input, groups,
      sizes);
}

Value LinearAttentionImporter::tokenOf(Value tensor, Value t) {
  auto from = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> sizes = build.sizes(tensor);
  SmallVector<OpFoldResult> offsets(sizes.size(),
                                    build.builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(sizes.size(),
                                    build.builder.getIndexAttr(1));
  offsets[1] = t;
  sizes[1] = build.builder.getIndexAttr(1);
  SmallVector<int64_t> shape(from.getShape());
  shape.erase(shape.begin() + 1);
  return tensor::ExtractSliceOp::create(
      build.builder, build.loc,
      RankedTensorType::get(shape, from.getElementType()), tensor, offsets,
      sizes, strides);
}

std::pair<Value, Value> LinearAttentionImporter::step(Value state, Value t) {
  // Loops: batch, key head, key feature, value feature.
  const LoopOperand k{tokenOf(key, t), {0, 1, 2}};
  const LoopOperand v{tokenOf(value, t), {0, 1, 3}};
  auto repeats = [](Value tensor, int64_t d) {
    return cast<RankedTensorType>(tensor.getType()).getDimSize(d) == 1;
  };
  if (isGated) {
    Value g = tokenOf(decay, t);
    unsigned feature = repeats(g, 2) && keySize != 1 ? kBroadcast : 2;
    state = build.loops(
        4, {{g, {0, 1, feature}}}, {state, {0, 1, 2, 3}}, [&](LoopBody &b) {
          Value factor =
              math::ExpOp::create(b.builder, b.loc, b.cast(b.inputs[0], type));
          return b.mul(b.output, factor);
        });
  }
  SmallVector<LoopOperand> inputs{k, v};
  if (isDelta) {
    auto sizes = build.sizes(state);
    OpFoldResult retrievedSizes[] = {sizes[0], sizes[1], sizes[3]};
    Value zero = build.fill(retrievedSizes, type, 0.0);
    Value retrieved = build.loops(
        4, {k, {state, {0, 1, 2, 3}}}, {zero, {0, 1, 3}}, [&](LoopBody &b) {
          return b.add(b.output, b.mul(b.cast(b.inputs[0], type), b.inputs[1]));
        });
    Value rate = tokenOf(beta, t);
    unsigned head = repeats(rate, 1) && keyHeads != 1 ? kBroadcast : 1;
    inputs.push_back({retrieved, {0, 1, 3}});
    inputs.push_back({rate, {0, head, kBroadcast}});
  }
  state = build.loops(4, inputs, {state, {0, 1, 2, 3}}, [&](LoopBody &b) {
    Value added = b.cast(b.inputs[1], type);
    if (isDelta)
      added = b.mul(b.cast(b.inputs[3], type), b.sub(added, b.inputs[2]));
    return b.add(b.output, b.mul(b.cast(b.inputs[0], type), added));
  });

  // Loops: batch, key head, query head of its group, value feature, key
  // feature.
  Value q = tokenOf(query, t);
  OpFoldResult outputSizes[] = {build.sizes(q)[0], build.sizes(q)[1],
                                build.sizes(q)[2],
                                build.builder.getIndexAttr(valueSize)};
  Value sum = build.loops(
      5, {{q, {0, 1, 2, 4}}, {state, {0, 1, 4, 3}}},
      {build.fill(outputSizes, type, 0.0), {0, 1, 2, 3}}, [&](LoopBody &b) {
        return b.add(b.output, b.mul(b.cast(b.inputs[0], type), b.inputs[1]));
      });
  Type element = node.type(Query).getElementType();
  Value output = build.map(outputSizes, element, sum, [&](LoopBody &b) {
    return b.cast(b.mul(b.inputs[0], b.constant(type, scale)), element);
  });
  return {state, output};
}

LogicalResult LinearAttentionImporter::run() {
  if (failed(readAttributes()) || failed(checkInputs()))
    return failure();
  type = getComputeType(node.type(Query).getElementType());
  if (scale == 0.0)
    scale = 1.0 / std::sqrt(double(keySize));
  query = split(Query, {keyHeads, group});
  key = split(Key, {keyHeads});
  value = split(Values, {keyHeads});
  if (isGated)
    decay = split(Decay, {keyHeads});
  if (isDelta)
    beta = split(Beta, {node.type(Beta).getDimSize(2)});

  OpBuilder &builder = build.builder;
  Location loc = build.loc;
  auto attribute = [&](int64_t size) -> OpFoldResult {
    return builder.getIndexAttr(size);
  };
  SmallVector<OpFoldResult> token = build.sizes(node.input(Query));
  Type element = node.type(Query).getElementType();
  Type stateElement = element;
  Value state;
  if (Value past = node.input(PastState)) {
    stateElement = node.type(PastState).getElementType();
    state = build.castElements(past, type);
  } else {
    state = build.fill({token[0], attribute(keyHeads), attribute(keySize),
                        attribute(valueSize)},
                       type, 0.0);
  }
  SmallVector<OpFoldResult> outputSizes{token[0], token[1], attribute(keyHeads),
                                        attribute(group), attribute(valueSize)};
  Value output = build.empty(outputSizes, element);
  auto loop = scf::ForOp::create(
      builder, loc, build.index(0), build.dim(node.input(Query), 1),
      build.index(1), ValueRange{state, output},
      [&](OpBuilder &, Location, Value t, ValueRange carried) {
        auto [next, o] = step(carried[0], t);
        SmallVector<OpFoldResult> offsets(5, attribute(0)),
            sizes = outputSizes, strides(5, attribute(1));
        offsets[1] = t;
        sizes[1] = attribute(1);
        Value inserted = tensor::InsertSliceOp::create(
            builder, loc, o, carried[1], offsets, sizes, strides);
        scf::YieldOp::create(builder, loc, ValueRange{next, inserted});
      });
  Value packed = tensor::CollapseShapeOp::create(
      builder, loc, loop.getResult(1),
      SmallVector<ReassociationIndices>{{0}, {1}, {2, 3, 4}});
  if (failed(node.setOutput(0, packed)))
    return failure();
  return node.setOutput(1, build.castElements(loop.getResult(0), stateElement));
}

} // namespace

LogicalResult attn::importLinearAttention(Node &node) {
  return LinearAttentionImporter(node).run();
}
