//===- Views.cpp - Views that drop dimensions -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/Views.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

Value attn::viewTrailing(ImplicitLocOpBuilder &b, Value memref,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes, size_t rank) {
  SmallVector<OpFoldResult> ones(sizes.size(), b.getIndexAttr(1));
  auto whole = memref::SubViewOp::inferResultType(
      cast<MemRefType>(memref.getType()), offsets, sizes, ones);
  auto [strides, offset] = whole.getStridesAndOffset();
  auto layout = StridedLayoutAttr::get(b.getContext(), offset,
                                       ArrayRef(strides).take_back(rank));
  auto type =
      MemRefType::get(whole.getShape().take_back(rank), whole.getElementType(),
                      layout, whole.getMemorySpace());
  return memref::SubViewOp::create(b, type, memref, offsets, sizes, ones);
}
