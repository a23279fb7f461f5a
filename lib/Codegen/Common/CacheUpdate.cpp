//===- CacheUpdate.cpp - New rows of a cache ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheUpdate.h"
#include "TileBuilder.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace attn;

void attn::emitCacheUpdate(ImplicitLocOpBuilder &b, CacheUpdateOp op,
                           CacheBuffers buffers) {
  Value cache = buffers.cache, update = buffers.update, at = buffers.at;
  IndexBuilder x{b};
  OpBuilder::InsertionGuard guard(b);
  auto tasks = scf::ForallOp::create(
      b,
      ArrayRef<OpFoldResult>{getAsOpFoldResult(x.dim(update, 0)),
                             getAsOpFoldResult(x.dim(update, 1))},
      ValueRange(), std::nullopt);
  b.setInsertionPointToStart(tasks.getBody());
  SmallVector<Value> own{tasks.getInductionVar(0), tasks.getInductionVar(1)};
  Value zero = x.constant(0), rows = x.dim(cache, 2), count = x.dim(update, 2);
  if (isa<MemRefType>(at.getType()))
    at = x.toIndex(memref::LoadOp::create(b, at, own[0]));
  // Positions so far out that every row is dropped are cut, so that no sum
  // overflows.
  at = x.max(at, x.sub(zero, count));
  auto copy = [&](Value first, Value to, Value length) {
    length = x.max(length, zero);
    Value from = viewRows(b, buffers.update, own, first, length);
    Value into = viewRows(b, buffers.cache, own, to, length);
    if (op.getLayout())
      emitRotation(b, from, into, buffers.cos, buffers.sin, *op.getLayout(),
                   own[0], first, length);
    else
      memref::CopyOp::create(b, from, into);
  };
  // The first row whose position is not negative.
  Value first = x.max(x.sub(zero, at), zero);
  Value begin = x.max(at, zero), length = x.sub(count, first);
  if (!op.getRolling()) {
    begin = x.min(begin, rows);
    copy(first, begin, x.min(length, x.sub(rows, begin)));
    return;
  }
  // Rows up to the end of the cache, and the others at its beginning. A cache
  // without rows has none to be written.
  Value size = x.max(rows, x.constant(1));
  begin = arith::RemUIOp::create(b, begin, size);
  length = x.min(length, rows);
  Value before = x.min(length, x.sub(rows, x.min(begin, rows)));
  copy(first, begin, before);
  copy(x.add(first, before), zero, x.sub(length, before));
}

void attn::redirectCache(Value result, Value output) {
  CacheUpdateOp update = CacheUpdateOp::getFirstOf(result);
  if (!update)
    return;
  Value cache = update.getCache();
  auto type = cast<RankedTensorType>(cache.getType());
  ImplicitLocOpBuilder b(update.getLoc(), update);
  auto layout = StridedLayoutAttr::get(
      b.getContext(), ShapedType::kDynamic,
      SmallVector<int64_t>(type.getRank(), ShapedType::kDynamic));
  Value old = bufferization::ToBufferOp::create(
      b, MemRefType::get(type.getShape(), type.getElementType(), layout), cache,
      /*read_only=*/true);
  memref::CopyOp::create(b, old, output);
  update.getCacheMutable().assign(bufferization::ToTensorOp::create(
      b, type, output, /*restrict=*/true, /*writable=*/true));
}
