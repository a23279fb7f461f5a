//===- TileBuilder.cpp - Views, scratch and index arithmetic --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileBuilder.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace attn;

Value attn::viewRows(ImplicitLocOpBuilder &b, Value memref, ValueRange leading,
                     Value row, Value rows) {
  auto type = cast<MemRefType>(memref.getType());
  Attribute zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets, sizes;
  for (Value index : leading) {
    offsets.push_back(index);
    sizes.push_back(one);
  }
  offsets.push_back(getAsOpFoldResult(row));
  sizes.push_back(getAsOpFoldResult(rows));
  for (int64_t d = leading.size() + 1; d < type.getRank(); ++d) {
    offsets.push_back(zero);
    sizes.push_back(
        type.isDynamicDim(d)
            ? OpFoldResult(memref::DimOp::create(b, memref, d).getResult())
            : OpFoldResult(b.getIndexAttr(type.getDimSize(d))));
  }
  return viewTrailing(b, memref, offsets, sizes,
                      type.getRank() - leading.size());
}

Value attn::transpose(ImplicitLocOpBuilder &b, Value memref) {
  return memref::TransposeOp::create(
      b, memref,
      AffineMapAttr::get(AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0},
                                                      b.getContext())));
}

Value attn::allocate(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape,
                     Type element) {
  return memref::AllocOp::create(b, MemRefType::get(shape, element));
}

bool attn::isStrided(Value memref) {
  return cast<MemRefType>(memref.getType()).isStrided();
}

void attn::fill(ImplicitLocOpBuilder &b, Value memref, double value) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  TypedAttr attr =
      element.isInteger()
          ? TypedAttr(b.getIntegerAttr(element, static_cast<int64_t>(value)))
          : b.getFloatAttr(element, value);
  Value scalar = arith::ConstantOp::create(b, attr);
  linalg::FillOp::create(b, ValueRange(scalar), ValueRange(memref));
}
