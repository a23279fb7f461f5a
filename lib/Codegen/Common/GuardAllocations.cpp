//===- GuardAllocations.cpp - Sizes of buffers do not wrap ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each extent may be fine and their product not: the number of bytes that
// upstream computes wraps around, and a small buffer is filled as if it were a
// large one. A buffer of the most bytes that there can be is asked for instead,
// which the runtime reports as out of memory.
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attn {
#define GEN_PASS_DEF_GUARDALLOCATIONSPASS
#include "attn/Codegen/Common/Passes.h.inc"
} // namespace attn

namespace {

/// Bytes of the known extents of `type`, at least 1; none when there are more
/// than fit.
std::optional<int64_t> getKnownBytes(MemRefType type) {
  Type element = type.getElementType();
  int64_t bytes = element.isIntOrFloat()
                      ? static_cast<int64_t>(llvm::divideCeil(
                            element.getIntOrFloatBitWidth(), 8))
                      : 16; // index and complex numbers take no more
  for (int64_t extent : type.getShape())
    if (!ShapedType::isDynamic(extent) && extent != 0 &&
        llvm::MulOverflow(bytes, extent, bytes))
      return std::nullopt;
  return bytes;
}

void guard(memref::AllocOp alloc) {
  if (alloc.getDynamicSizes().empty())
    return;
  ImplicitLocOpBuilder b(alloc.getLoc(), alloc);
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  int64_t known = getKnownBytes(alloc.getType()).value_or(most);
  Type i64 = b.getI64Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  // Extents are at least 0; a negative one is a large number here.
  Value bytes = constant(known), fits;
  for (Value size : alloc.getDynamicSizes()) {
    Value factor = arith::IndexCastOp::create(b, i64, size);
    auto product = arith::MulUIExtendedOp::create(b, bytes, factor);
    bytes = product.getLow();
    Value one = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                      product.getHigh(), constant(0));
    fits = fits ? arith::AndIOp::create(b, fits, one).getResult() : one;
  }
  Value positive =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, bytes, constant(0));
  fits = arith::AndIOp::create(b, fits, positive);
  // One size stands for all of them.
  Value instead = arith::ConstantIndexOp::create(b, most / known);
  for (OpOperand &size : alloc.getDynamicSizesMutable()) {
    size.set(arith::SelectOp::create(b, fits, size.get(), instead));
    instead = arith::ConstantIndexOp::create(b, 1);
  }
}

struct GuardAllocationsPass
    : attn::impl::GuardAllocationsPassBase<GuardAllocationsPass> {
  void runOnOperation() override {
    getOperation()->walk([](memref::AllocOp alloc) { guard(alloc); });
  }
};

} // namespace
