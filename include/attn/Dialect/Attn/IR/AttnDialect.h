//===- AttnDialect.h - The attn dialect, its enums and attributes ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNDIALECT_H
#define ATTN_DIALECT_ATTN_IR_ATTNDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include "attn/Dialect/Attn/IR/AttnDialect.h.inc"
#include "attn/Dialect/Attn/IR/AttnEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Attn/IR/AttnAttrs.h.inc"

namespace attn {

/// Name of the module attribute that holds the `#attn.target`.
inline constexpr llvm::StringLiteral kTargetAttrName = "attn.target";
/// Name of the `#attn.schedule` on ops of other dialects.
inline constexpr llvm::StringLiteral kScheduleAttrName = "attn.schedule";

/// Whether `kernel` multiplies pairs of bf16.
inline bool isPairedKernel(Kernel kernel) {
  return kernel == Kernel::BF16Vectors || kernel == Kernel::BF16Tiles;
}

/// Whether `kernel` is one of linear attention.
inline bool isStateKernel(Kernel kernel) {
  return kernel == Kernel::RecurrentState || kernel == Kernel::ChunkedState;
}

/// Keys of one panel of packed bf16 values: the depth of one AMX product.
inline constexpr int64_t kPairedPanel = 32;
/// Argument attributes: the user's name, and names of its dimensions.
inline constexpr llvm::StringLiteral kNameAttrName = "attn.name";
inline constexpr llvm::StringLiteral kDimsAttrName = "attn.dims";

} // namespace attn

#endif // ATTN_DIALECT_ATTN_IR_ATTNDIALECT_H
