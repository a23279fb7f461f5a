//===- CacheUpdate.h - New rows of a cache ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_COMMON_CACHEUPDATE_H
#define ATTN_LIB_CODEGEN_COMMON_CACHEUPDATE_H

#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace attn {

/// The operands of a `cache_update` on buffers; `cos` and `sin` may be null.
struct CacheBuffers {
  mlir::Value cache, update, at, cos, sin;
};

/// Copies or rotates the rows of `update` into `cache`, from row `at` on: an
/// index, or a memref of one number a batch element. Rows outside of the cache
/// are dropped, or go round if it is rolling, as `op` says.
void emitCacheUpdate(mlir::ImplicitLocOpBuilder &b, CacheUpdateOp op,
                     CacheBuffers buffers);

/// Lets the cache of the update `result` be `output`, the buffer of that
/// result: the old rows are copied there, which costs nothing when the caller
/// gives one buffer for both.
void redirectCache(mlir::Value result, mlir::Value output);

} // namespace attn

#endif // ATTN_LIB_CODEGEN_COMMON_CACHEUPDATE_H
