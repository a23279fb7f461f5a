//===- LinearAttention.cpp - LinearAttention of ONNX ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The four update rules are `attn.linear_attention` with and without decay and
// beta. Heads are packed into the last dimension.
//
//===----------------------------------------------------------------------===//

#include "ImportFunctions.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "llvm/Support/CheckedArithmetic.h"
#include <cmath>

using namespace mlir;
using namespace attn;

namespace {

enum Input { Query, Key, Values, PastState, Decay, Beta };
enum Result { Output, PresentState };

class LinearAttentionImporter {
public:
  explicit LinearAttentionImporter(Node &node)
      : node(node), build(node.build) {}

  LogicalResult run();

private:
  LogicalResult readAttributes();
  LogicalResult checkInputs();
  /// Input `i`, `[B, T, H]`, as `[B, H, T]`.
  Value splitNumbers(unsigned i);
  Value splitDecay();
  Value splitBeta();

  Node &node;
  TensorLoops &build;

  int64_t queryHeads = 0, keyHeads = 0;
  double scale = 0.0;
  bool isGated = false, isDelta = false;
  int64_t keySize = 0, valueSize = 0;
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
    if (!node.type(PastState).isDynamicDim(d) &&
        node.type(PastState).getDimSize(d) != size)
      return node.error() << "dimension " << d << " of input past_state must "
                          << "be " << size << ", got "
                          << stringifyType(node.type(PastState));
  return success();
}

Value LinearAttentionImporter::splitNumbers(unsigned i) {
  Value heads = splitHeads(node, i, node.type(i).getDimSize(2));
  return tensor::CollapseShapeOp::create(
      build.builder, build.loc, heads,
      SmallVector<ReassociationIndices>{{0}, {1}, {2, 3}});
}

Value LinearAttentionImporter::splitDecay() {
  if (!isGated)
    return {};
  return node.type(Decay).getDimSize(2) == keyHeads
             ? splitNumbers(Decay)
             : splitHeads(node, Decay, keyHeads);
}

Value LinearAttentionImporter::splitBeta() {
  if (!isDelta)
    return {};
  if (node.type(Beta).getDimSize(2) == keyHeads)
    return splitNumbers(Beta);
  // One number for all heads of a token.
  Value input = node.input(Beta);
  SmallVector<OpFoldResult> sizes = build.sizes(input);
  sizes = {sizes[0], build.builder.getIndexAttr(keyHeads), sizes[1]};
  return build.map(sizes, node.type(Beta).getElementType(), {},
                   [&](LoopBody &b) {
                     return b.load(input, {b.loop(0), b.loop(2), b.index(0)});
                   });
}

LogicalResult LinearAttentionImporter::run() {
  if (failed(readAttributes()) || failed(checkInputs()))
    return failure();
  if (scale == 0.0)
    scale = 1.0 / std::sqrt(double(keySize));
  OpBuilder &builder = build.builder;
  Location loc = build.loc;
  Value query = splitHeads(node, Query, queryHeads);
  Value key = splitHeads(node, Key, keyHeads);
  Value value = splitHeads(node, Values, keyHeads);

  // The output is laid out as its merge reads it.
  Type element = node.type(Query).getElementType();
  SmallVector<OpFoldResult> sizes = build.sizes(node.input(Query));
  std::optional<int64_t> width = llvm::checkedMul(queryHeads, valueSize);
  if (!width)
    return node.error() << "q_num_heads times the head size of value is too "
                        << "large, got " << queryHeads << " and " << valueSize;
  sizes[2] = builder.getIndexAttr(*width);
  SmallVector<Value> outputs{SplitHeadsOp::create(
      builder, loc, build.empty(sizes, element), queryHeads)};
  bool hasState = node.wants(PresentState);
  if (hasState) {
    Type type =
        node.input(PastState) ? node.type(PastState).getElementType() : element;
    outputs.push_back(build.empty({sizes[0], builder.getIndexAttr(keyHeads),
                                   builder.getIndexAttr(keySize),
                                   builder.getIndexAttr(valueSize)},
                                  type));
  }
  auto linear = LinearAttentionOp::create(
      builder, loc, ValueRange(outputs).getTypes(), query, key, value, outputs,
      splitDecay(), splitBeta(), node.input(PastState),
      builder.getF64FloatAttr(scale), /*schedule=*/ScheduleAttr());
  Value merged = MergeHeadsOp::create(builder, loc, linear.getResult(0));
  if (failed(node.setOutput(Output, merged)))
    return failure();
  return hasState ? node.setOutput(PresentState, linear.getResult(1))
                  : success();
}

} // namespace

LogicalResult attn::importLinearAttention(Node &node) {
  return LinearAttentionImporter(node).run();
}
