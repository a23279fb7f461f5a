//===- Views.h - Views that drop dimensions ---------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CODEGEN_COMMON_VIEWS_H
#define ATTN_CODEGEN_COMMON_VIEWS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace attn {

/// The last `rank` dimensions of `memref[offsets : sizes]`, whose other sizes
/// are 1. The strides of the view are those of these dimensions. Told the shape
/// alone, upstream keeps the first dimensions that fit it: where a kept extent
/// is 1 that is a leading one, and its stride not the unit that kernels need.
mlir::Value viewTrailing(mlir::ImplicitLocOpBuilder &b, mlir::Value memref,
                         llvm::ArrayRef<mlir::OpFoldResult> offsets,
                         llvm::ArrayRef<mlir::OpFoldResult> sizes, size_t rank);

} // namespace attn

#endif // ATTN_CODEGEN_COMMON_VIEWS_H
