//===- RotaryEmbedding.cpp - Rotary embeddings of ONNX ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImportFunctions.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"

using namespace mlir;
using namespace attn;

namespace {
enum Input { X, Cos, Sin, Positions };
} // namespace

Value attn::splitHeads(Node &node, unsigned input, int64_t heads) {
  FailureOr<int64_t> hidden = node.expectStatic(input, 2);
  if (failed(hidden))
    return {};
  if (heads <= 0 || *hidden % heads != 0) {
    node.error() << "dimension 2 of input " << node.inputName(input)
                 << " must be a multiple of the number of heads, got "
                 << *hidden << " and " << heads;
    return {};
  }
  return SplitHeadsOp::create(node.builder(), node.getLoc(), node.input(input),
                              heads);
}

/// Tables with a row for each batch element and position, `[B, S, R/2]`, as
/// rows of one table, and the positions that select them.
static Value flattenTable(Node &node, Value table) {
  return tensor::CollapseShapeOp::create(
      node.builder(), node.getLoc(), table,
      SmallVector<ReassociationIndices>{{0, 1}, {2}});
}

static Value makePositions(Node &node, Value table) {
  TensorLoops &build = node.build;
  Type i64 = build.builder.getI64Type();
  auto sizes = build.sizes(table);
  Value rows = build.dim(table, 1);
  return build.map(ArrayRef(sizes).take_front(2), i64, {}, [&](LoopBody &b) {
    Value position = b.add(b.mul(b.loop(0), rows), b.loop(1));
    return arith::IndexCastOp::create(b.builder, b.loc, i64, position)
        .getResult();
  });
}

LogicalResult attn::importRotaryEmbedding(Node &node) {
  bool isInterleaved = node.getFlag("interleaved");
  int64_t rotaryDim = node.getInt("rotary_embedding_dim", 0);
  std::optional<int64_t> heads = node.getInt("num_heads");
  if (failed(node.checkAttributes()) || failed(node.expectRank(X, {3, 4})) ||
      failed(node.expectFloat(X)))
    return failure();
  bool isPacked = node.type(X).getRank() == 3;
  Value input = node.input(X);
  if (isPacked) {
    if (!heads)
      return node.error() << "inputs of rank 3 need num_heads";
    input = splitHeads(node, X, *heads);
    if (!input)
      return failure();
  } else if (failed(node.expectStatic(X, 3))) {
    return failure();
  }
  auto type = cast<RankedTensorType>(input.getType());
  int64_t headDim = type.getDimSize(3);
  if (rotaryDim == 0)
    rotaryDim = headDim;
  if (rotaryDim < 2 || rotaryDim > headDim || rotaryDim % 2 != 0)
    return node.error() << "the number of rotated features must be even and "
                        << "from 2 to " << headDim << ", got " << rotaryDim;

  Value positions = node.input(Positions);
  int64_t tableRank = positions ? 2 : 3;
  for (unsigned i : {Cos, Sin}) {
    if (failed(node.expectRank(i, tableRank)) || failed(node.expectFloat(i)))
      return failure();
    int64_t width = node.type(i).getShape().back();
    if (!ShapedType::isDynamic(width) && width != rotaryDim / 2)
      return node.error() << "the last dimension of " << node.inputName(i)
                          << " must be " << rotaryDim / 2 << ", got " << width;
    for (int64_t d = 0; d + 1 < tableRank; ++d)
      if (failed(node.expectEqual(Cos, d, i, d)))
        return failure();
  }
  int64_t rows[] = {type.getDimSize(0), type.getDimSize(2)};
  auto checkRows = [&](unsigned i) -> LogicalResult {
    for (int64_t d : {0, 1}) {
      int64_t size = node.type(i).getDimSize(d);
      if (!ShapedType::isDynamic(size) && !ShapedType::isDynamic(rows[d]) &&
          size != rows[d])
        return node.error() << "dimension " << d << " of " << node.inputName(i)
                            << " must be " << rows[d] << ", got " << size;
    }
    return success();
  };
  Value cos = node.input(Cos), sin = node.input(Sin);
  if (positions) {
    if (failed(node.expectRank(Positions, 2)) || failed(checkRows(Positions)))
      return failure();
    if (!node.type(Positions).getElementType().isInteger(64))
      return node.error() << "position_ids must have i64 elements, got "
                          << stringifyType(node.type(Positions));
  } else {
    if (failed(checkRows(Cos)))
      return failure();
    positions = makePositions(node, cos);
    cos = flattenTable(node, cos);
    sin = flattenTable(node, sin);
  }
  OpBuilder &builder = node.builder();
  RopeLayout layout =
      isInterleaved ? RopeLayout::Interleaved : RopeLayout::Half;
  Value result =
      RopeOp::create(builder, node.getLoc(), input, /*offset=*/Value(),
                     positions, cos, sin, layout, rotaryDim,
                     /*base=*/llvm::APFloat(1.0e4));
  if (isPacked)
    result = MergeHeadsOp::create(builder, node.getLoc(), result);
  return node.setOutput(0, result);
}
