//===- MatMul.cpp - Matrix products of ONNX ---------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of any rank are one contraction, whose leading loops are the batch.
// A right operand of rank 2 (a projection) is what the fast matrix kernel
// takes, whatever the rank of the left one.
//
//===----------------------------------------------------------------------===//

#include "ImportFunctions.h"

using namespace mlir;
using namespace attn;

namespace {

/// The extent that two extents broadcast to; nothing when they do not.
std::optional<int64_t> broadcastExtents(int64_t a, int64_t b) {
  if (a == 1)
    return b;
  if (b == 1 || a == b)
    return a;
  // One that is known at run time only must be the other; that is checked then.
  if (ShapedType::isDynamic(a))
    return b;
  if (ShapedType::isDynamic(b))
    return a;
  return std::nullopt;
}

} // namespace

LogicalResult attn::importMatMul(Node &node) {
  if (failed(node.checkAttributes()) || failed(node.expectFloat(0)) ||
      failed(node.expectFloat(1)))
    return failure();
  RankedTensorType types[] = {node.type(0), node.type(1)};
  if (types[0].getElementType() != types[1].getElementType())
    return node.error() << "A and B must have one element type, got "
                        << stringifyType(types[0]) << " and "
                        << stringifyType(types[1]);
  int64_t ranks[] = {types[0].getRank(), types[1].getRank()};
  for (unsigned i : {0, 1})
    if (ranks[i] == 0)
      return node.error() << "input " << node.inputName(i)
                          << " must have rank 1 or more, got "
                          << stringifyType(types[i]);
  bool hasRows = ranks[0] > 1, hasColumns = ranks[1] > 1;
  if (failed(
          node.expectEqual(0, ranks[0] - 1, 1, hasColumns ? ranks[1] - 2 : 0)))
    return failure();

  // Loops: batch, row and column where there are, and the depth.
  int64_t batch = std::max<int64_t>({ranks[0] - 2, ranks[1] - 2, 0});
  unsigned row = batch, column = row + hasRows, depth = column + hasColumns;
  TensorLoops &build = node.build;
  Type element = types[0].getElementType(), type = getComputeType(element);
  LoopOperand operands[2];
  SmallVector<OpFoldResult> sizes(batch);
  SmallVector<int64_t> extents(batch, 1);
  for (unsigned i : {0, 1}) {
    // The fast kernel is for f32.
    operands[i].tensor = build.castElements(node.input(i), type);
    int64_t leading = std::max<int64_t>(ranks[i] - 2, 0);
    for (int64_t d = 0; d < leading; ++d) {
      int64_t loop = batch - leading + d, size = types[i].getDimSize(d);
      auto both = broadcastExtents(extents[loop], size);
      if (!both)
        return node.error() << "dimension " << d << " of B must be 1 or "
                            << extents[loop] << ", got " << size;
      if (size != 1 || i == 0)
        if (size != 1 || !sizes[loop])
          sizes[loop] =
              tensor::getMixedSize(build.builder, build.loc, node.input(i), d);
      extents[loop] = *both;
    }
  }
  for (int64_t loop = 0; loop < batch; ++loop)
    if (!sizes[loop])
      sizes[loop] = build.builder.getIndexAttr(1);
  for (unsigned i : {0, 1}) {
    int64_t leading = std::max<int64_t>(ranks[i] - 2, 0);
    for (int64_t d = 0; d < leading; ++d) {
      unsigned loop = batch - leading + d;
      bool repeats = types[i].getDimSize(d) == 1 && extents[loop] != 1;
      operands[i].loops.push_back(repeats ? kBroadcast : loop);
    }
  }
  if (hasRows)
    operands[0].loops.push_back(row);
  operands[0].loops.push_back(depth);
  operands[1].loops.push_back(depth);
  if (hasColumns)
    operands[1].loops.push_back(column);

  auto sizeOf = [&](unsigned i, int64_t d) {
    return tensor::getMixedSize(build.builder, build.loc, node.input(i), d);
  };
  if (hasRows)
    sizes.push_back(sizeOf(0, ranks[0] - 2));
  if (hasColumns)
    sizes.push_back(sizeOf(1, ranks[1] - 1));
  auto parallel = llvm::to_vector(llvm::seq<unsigned>(0, depth));
  Value product =
      build.loops(depth + 1, operands, {build.fill(sizes, type, 0.0), parallel},
                  [](LoopBody &b) {
                    return b.add(b.output, b.mul(b.inputs[0], b.inputs[1]));
                  });
  return node.setOutput(0, build.castElements(product, element));
}
