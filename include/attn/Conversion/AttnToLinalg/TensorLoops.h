//===- TensorLoops.h - Loops on tensors -------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few shapes of linalg.generic that the twin and imported models consist
// of, with element types and indices handled in one place.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_ATTNTOLINALG_TENSORLOOPS_H
#define ATTN_CONVERSION_ATTNTOLINALG_TENSORLOOPS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace attn {

/// Stands for the loop of a dimension of extent 1 that every iteration reads.
inline constexpr unsigned kBroadcast = ~0u;

/// A tensor and the loop that each of its dimensions runs with.
struct LoopOperand {
  mlir::Value tensor;
  llvm::SmallVector<unsigned> loops;
};

/// Builds scalar code at one location.
class ScalarBuilder {
public:
  ScalarBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value index(int64_t value);
  /// A float constant; may be infinite.
  mlir::Value constant(mlir::Type type, double value);
  /// `value` as the float type `type`.
  mlir::Value cast(mlir::Value value, mlir::Type type);
  /// An index, i32 or i64 as index.
  mlir::Value toIndex(mlir::Value value);
  /// Whether `value` equals a constant (false for NaN).
  mlir::Value equals(mlir::Value value, double constant);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// Comparison of indices.
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      mlir::Value b);
  mlir::Value logicalAnd(mlir::Value a, mlir::Value b);

  /// Extent `d` of `tensor`.
  mlir::Value dim(mlir::Value tensor, int64_t d);
  /// Element of `tensor` at `indices`, which are known to be inside.
  mlir::Value load(mlir::Value tensor, mlir::ValueRange indices);
  /// Element of `tensor` with each index clamped to the extent; a zero (false)
  /// when the tensor is empty.
  mlir::Value loadClamped(mlir::Value tensor, mlir::ValueRange indices);
  /// Element of `tensor` broadcast right-aligned to the rank of `indices`,
  /// which are inside the full shape.
  mlir::Value loadBroadcast(mlir::Value tensor, mlir::ValueRange indices);
};

/// The body of a loop nest.
class LoopBody : public ScalarBuilder {
public:
  LoopBody(mlir::OpBuilder &builder, mlir::Location loc,
           mlir::ValueRange inputs, mlir::Value output)
      : ScalarBuilder(builder, loc), inputs(inputs), output(output) {}

  /// Elements of the inputs.
  mlir::ValueRange inputs;
  /// Element of the output: the accumulator of a reduction.
  mlir::Value output;

  /// The index of loop `n`.
  mlir::Value loop(unsigned n) {
    return mlir::linalg::IndexOp::create(builder, loc, n);
  }
};

/// Builds loops on tensors at one location.
class TensorLoops : public ScalarBuilder {
public:
  using ScalarBuilder::ScalarBuilder;
  using Body = llvm::function_ref<mlir::Value(LoopBody &)>;
  using Sizes = llvm::ArrayRef<mlir::OpFoldResult>;

  llvm::SmallVector<mlir::OpFoldResult> sizes(mlir::Value tensor) {
    return mlir::tensor::getMixedSizes(builder, loc, tensor);
  }
  mlir::Value empty(Sizes sizes, mlir::Type element) {
    return mlir::tensor::EmptyOp::create(builder, loc, sizes, element);
  }
  mlir::Value fill(Sizes sizes, mlir::Type element, double value);

  /// A nest of `numLoops` loops that writes each element of `output`; loops
  /// that `output` does not run with are reductions.
  mlir::Value loops(unsigned numLoops, llvm::ArrayRef<LoopOperand> inputs,
                    const LoopOperand &output, Body body);

  /// A tensor computed element by element; `inputs` have its shape.
  mlir::Value map(Sizes sizes, mlir::Type element, mlir::ValueRange inputs,
                  Body body);
  /// `input` as elements of another float type.
  mlir::Value castElements(mlir::Value input, mlir::Type element);
};

} // namespace attn

#endif // ATTN_CONVERSION_ATTNTOLINALG_TENSORLOOPS_H
