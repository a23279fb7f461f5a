//===- MatrixProduct.h - Which linalg ops are matrix products ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classifies the loop dimensions of a contraction once, so that no other file
// does index arithmetic on indexing maps.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CODEGEN_COMMON_MATRIXPRODUCT_H
#define ATTN_CODEGEN_COMMON_MATRIXPRODUCT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace attn {

/// A product `C[..., m, n] += A[..., m, k] * B[k, n]` of floats: leading
/// dimensions of A and C are rows too, B is one matrix, stored as `[K, N]` or
/// `[N, K]`, and K is static there.
struct MatrixProduct {
  mlir::linalg::LinalgOp op;
  mlir::Value lhs, rhs, result;
  /// B is `[N, K]`: the weight of a linear layer as frameworks store it.
  bool rhsTransposed;
};

/// Matches linalg.matmul and linalg ops equal to one, on tensors or buffers.
llvm::FailureOr<MatrixProduct> matchMatrixProduct(mlir::Operation *op);

} // namespace attn

#endif // ATTN_CODEGEN_COMMON_MATRIXPRODUCT_H
