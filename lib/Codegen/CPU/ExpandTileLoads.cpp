//===- ExpandTileLoads.cpp - Streamed tile loads --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `amx.tile_load` has no form for `tileloaddt1`, which leaves the first cache
// to other lines.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "attn/Codegen/CPU/Passes.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace attn {
#define GEN_PASS_DEF_EXPANDTILELOADSPASS
#include "attn/Codegen/CPU/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

class ExpandTileLoadsPass
    : public attn::impl::ExpandTileLoadsPassBase<ExpandTileLoadsPass> {
  void runOnOperation() override {
    getOperation().walk([](amx::TileLoadOp op) {
      if (op->hasAttr(kStreamedAttrName))
        expand(op);
    });
  }

  static void expand(amx::TileLoadOp op) {
    OpBuilder builder(op);
    ImplicitLocOpBuilder b(op.getLoc(), builder);
    amx::TileType tile = op.getTileType();
    int64_t bytes = tile.getElementType().getIntOrFloatBitWidth() / 8;
    auto memory = memref::ExtractStridedMetadataOp::create(b, op.getBase());
    auto scaled = [&](Value count) -> Value {
      return arith::MulIOp::create(b, count,
                                   arith::ConstantIndexOp::create(b, bytes));
    };
    auto toI64 = [&](Value index) -> Value {
      return arith::IndexCastOp::create(b, b.getI64Type(), index);
    };
    Value offset = memory.getOffset();
    for (auto [index, stride] :
         llvm::zip_equal(op.getIndices(), memory.getStrides()))
      offset = arith::AddIOp::create(b, offset,
                                     arith::MulIOp::create(b, index, stride));
    Value start =
        memref::ExtractAlignedPointerAsIndexOp::create(b, op.getBase());
    Value address = arith::AddIOp::create(b, start, scaled(offset));
    Value pointer = LLVM::IntToPtrOp::create(
        b, LLVM::LLVMPointerType::get(b.getContext()), toI64(address));
    Value stride = op.getStride();
    if (!stride)
      stride = memory.getStrides()[memory.getStrides().size() - 2];
    auto i16 = [&](int64_t value) -> Value {
      return arith::ConstantIntOp::create(b, value, 16);
    };
    Value args[] = {i16(tile.getDimSize(0)), i16(tile.getDimSize(1) * bytes),
                    pointer, toI64(scaled(stride))};
    auto load = LLVM::CallIntrinsicOp::create(
        b, LLVM::LLVMX86AMXType::get(b.getContext()),
        b.getStringAttr("llvm.x86.tileloaddt164.internal"), ValueRange(args));
    op.replaceAllUsesWith(UnrealizedConversionCastOp::create(b, TypeRange(tile),
                                                             load.getResults())
                              .getResult(0));
    op.erase();
  }
};

} // namespace
