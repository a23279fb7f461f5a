//===- ElementwiseOps.cpp - Gelu and Softmax of ONNX ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImportFunctions.h"
#include "ScalarOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;

Type attn::getComputeType(Type type) {
  return type.isF64() ? type : Float32Type::get(type.getContext());
}

LogicalResult attn::importGelu(Node &node) {
  std::string approximate = node.getString("approximate", "none");
  if (failed(node.checkAttributes()) || failed(node.expectFloat(0)))
    return failure();
  if (approximate != "none" && approximate != "tanh")
    return node.error() << "approximate must be 'none' or 'tanh', got '"
                        << approximate << "'";
  Value input = node.input(0);
  Type element = node.type(0).getElementType();
  Type type = getComputeType(element);
  const ScalarOp *gelu = findScalarOp("Gelu");
  Value result =
      node.build.map(node.build.sizes(input), element, input, [&](LoopBody &b) {
        Value x = b.cast(b.inputs[0], type);
        return b.cast(gelu->onFloats(b, x, {approximate == "tanh" ? 1.0 : 0.0}),
                      element);
      });
  return node.setOutput(0, result);
}

LogicalResult attn::importSoftmax(Node &node) {
  int64_t axis = node.getInt("axis", -1);
  if (failed(node.checkAttributes()) || failed(node.expectFloat(0)))
    return failure();
  int64_t rank = node.type(0).getRank();
  if (axis < -rank || axis >= rank)
    return node.error() << "axis must be from " << -rank << " to " << rank - 1
                        << ", got " << axis;
  if (axis < 0)
    axis += rank;
  TensorLoops &build = node.build;
  Value input = node.input(0);
  Type element = node.type(0).getElementType();
  Type type = getComputeType(element);

  auto sizes = build.sizes(input);
  SmallVector<OpFoldResult> rowSizes = sizes;
  rowSizes.erase(rowSizes.begin() + axis);
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, rank));
  SmallVector<unsigned> row = all;
  row.erase(row.begin() + axis);
  Value lowest =
      build.fill(rowSizes, type, -std::numeric_limits<double>::infinity());
  Value max = build.loops(
      rank, {{input, all}}, {lowest, row}, [&](LoopBody &b) -> Value {
        return arith::MaximumFOp::create(b.builder, b.loc, b.output,
                                         b.cast(b.inputs[0], type));
      });
  Value exp =
      build.loops(rank, {{input, all}, {max, row}},
                  {build.empty(sizes, type), all}, [&](LoopBody &b) -> Value {
                    Value x = b.sub(b.cast(b.inputs[0], type), b.inputs[1]);
                    return math::ExpOp::create(b.builder, b.loc, x);
                  });
  Value sum =
      build.loops(rank, {{exp, all}}, {build.fill(rowSizes, type, 0.0), row},
                  [](LoopBody &b) { return b.add(b.output, b.inputs[0]); });
  Value result =
      build.loops(rank, {{exp, all}, {sum, row}},
                  {build.empty(sizes, element), all}, [&](LoopBody &b) {
                    return b.cast(b.div(b.inputs[0], b.inputs[1]), element);
                  });
  return node.setOutput(0, result);
}
