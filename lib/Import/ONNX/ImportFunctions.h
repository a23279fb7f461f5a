//===- ImportFunctions.h - One function per ONNX operator -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_IMPORT_ONNX_IMPORTFUNCTIONS_H
#define ATTN_LIB_IMPORT_ONNX_IMPORTFUNCTIONS_H

#include "Node.h"

namespace attn {

mlir::LogicalResult importAttention(Node &node);
mlir::LogicalResult importFlexAttention(Node &node);
mlir::LogicalResult importGelu(Node &node);
mlir::LogicalResult importLayerNormalization(Node &node);
mlir::LogicalResult importLinearAttention(Node &node);
mlir::LogicalResult importMatMul(Node &node);
mlir::LogicalResult importRMSNormalization(Node &node);
mlir::LogicalResult importRotaryEmbedding(Node &node);
mlir::LogicalResult importSoftmax(Node &node);

/// The entry of an operator, or null when there is none.
const OpEntry *findOp(llvm::StringRef domain, llvm::StringRef type);

/// The newest operator set of the domain `ai.onnx` whose ops mean what the
/// table says.
inline constexpr int64_t kNewestOpset = 28;

/// The type that an op on elements of `type` computes in: f32, or f64 for f64.
mlir::Type getComputeType(mlir::Type type);

/// Input `input`, `[B, S, H*D]`, as `[B, H, S, D]`. Null after an error.
mlir::Value splitHeads(Node &node, unsigned input, int64_t heads);

} // namespace attn

#endif // ATTN_LIB_IMPORT_ONNX_IMPORTFUNCTIONS_H
