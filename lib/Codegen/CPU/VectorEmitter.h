//===- VectorEmitter.h - Target vectors in arith and vector ops -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few vector operations that micro-kernels are made of, in the form that
// LLVM keeps fast on each instruction set: fused multiply-add, base-2
// exponential, ordered maximum, lane tests. Vectors are one-dimensional and one
// register wide.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_CPU_VECTOREMITTER_H
#define ATTN_LIB_CODEGEN_CPU_VECTOREMITTER_H

#include "attn/Dialect/Attn/IR/AttnDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace attn {

inline constexpr float kLog2E = 1.44269504f;

/// Emits vector code for one instruction set at the builder's insertion point.
/// It computes in one type, f32 or f64: all values are `vector<lanes x type>`
/// unless said otherwise.
class VectorEmitter {
public:
  VectorEmitter(mlir::ImplicitLocOpBuilder &builder, ISA isa, int64_t lanes,
                mlir::FloatType type)
      : b(builder), isa(isa), lanes(lanes), type(type) {}
  /// Computes in f32.
  VectorEmitter(mlir::ImplicitLocOpBuilder &builder, ISA isa, int64_t lanes)
      : VectorEmitter(builder, isa, lanes, builder.getF32Type()) {}

  mlir::ImplicitLocOpBuilder &builder() { return b; }
  int64_t getLanes() const { return lanes; }
  /// What is computed in.
  mlir::FloatType getType() const { return type; }
  mlir::VectorType vectorType() const;
  mlir::VectorType vectorType(mlir::Type element) const;

  mlir::Value index(int64_t value);
  /// A scalar of the computed type.
  mlir::Value constant(double value);
  /// Any number, a scalar or on lanes, in the computed type.
  mlir::Value convert(mlir::Value value);
  /// `value` in every lane.
  mlir::Value splat(double value);
  mlir::Value broadcast(mlir::Value scalar);

  /// `x * y + z`, fused where the hardware can.
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  /// The sum of `coefficients[n] * x^n`.
  mlir::Value evaluatePolynomial(mlir::Value x,
                                 llvm::ArrayRef<double> coefficients);
  /// The larger lane; a NaN in `candidate` leaves `current`. One instruction,
  /// unlike `arith.maximumf`.
  mlir::Value orderedMax(mlir::Value current, mlir::Value candidate);
  /// 2^t: a `math.exp2`, which `attn-cpu-expand-math` makes fast.
  mlir::Value exp2(mlir::Value t);
  /// e^x by `exp2`: the factor log2(e) comes after a maximum was subtracted.
  mlir::Value exp(mlir::Value x);
  /// 2^t to 2.3 ulp of f32 or 1.5 ulp of f64, or of f32 `coarse` to 7.5e-5, in
  /// plain arithmetic: NaN for NaN, 0 for -inf and for t below the exponents of
  /// normal numbers, and something above half of the largest number or infinite
  /// for t above them.
  mlir::Value expandedExp2(mlir::Value t, bool coarse = false);
  /// i1: whether any lane of any of `masks` (vectors of i1 of one length) is
  /// set.
  mlir::Value anyLane(mlir::ValueRange masks);

  /// `memref[..., column]` of the computed type as a vector, and back.
  mlir::Value load(mlir::Value memref, mlir::ValueRange indices);
  void store(mlir::Value vector, mlir::Value memref, mlir::ValueRange indices);

  /// Loads of floats or i8, widened; `mask` may be null.
  mlir::Value loadWidened(mlir::Value memref, mlir::ValueRange indices,
                          mlir::Value mask = {});
  /// `2 * lanes` bf16 elements as f32: those at even places and those at odd
  /// ones. One instruction a vector, where widening in order takes two.
  std::pair<mlir::Value, mlir::Value> loadBF16Pairs(mlir::Value memref,
                                                    mlir::ValueRange indices);
  /// Two consecutive vectors to elements at even and at odd places, and back.
  std::pair<mlir::Value, mlir::Value> deinterleave(mlir::Value first,
                                                   mlir::Value second);
  std::pair<mlir::Value, mlir::Value> interleave(mlir::Value even,
                                                 mlir::Value odd);
  /// Asks for the cache line of `memref[indices]` in L2. The address need not
  /// exist.
  void prefetch(mlir::Value memref, mlir::ValueRange indices);
  /// The sum of all lanes, and the largest (a NaN among others is passed over),
  /// in every lane.
  mlir::Value sumOfLanes(mlir::Value vector);
  mlir::Value maxOfLanes(mlir::Value vector);
  /// One vector whose lane `i` is the sum of the lanes of `vectors[i]`; there
  /// are as many as lanes.
  mlir::Value sumEach(mlir::ValueRange vectors);

  /// The `lanes x lanes` transpose of `rows`: element j of result i is element
  /// i of row j.
  llvm::SmallVector<mlir::Value> transpose(mlir::ValueRange rows);
  /// i1 lanes, the first `count` (clamped to [0, lanes]) set.
  mlir::Value firstLanes(mlir::Value count);
  /// Only the lanes of `mask`; the others load `pass` and are not touched in
  /// memory.
  mlir::Value maskedLoad(mlir::Value memref, mlir::ValueRange indices,
                         mlir::Value mask, mlir::Value pass);
  void maskedStore(mlir::Value vector, mlir::Value memref,
                   mlir::ValueRange indices, mlir::Value mask);

private:
  /// Lane i of the result is lane `i ^ distance` of `vector`.
  mlir::Value swapLanes(mlir::Value vector, int64_t distance);

  mlir::ImplicitLocOpBuilder &b;
  ISA isa;
  int64_t lanes;
  mlir::FloatType type;
};

/// Any number, a scalar or on lanes, as a float of `type`.
mlir::Value convertToFloat(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                           mlir::Type type);

/// Columns of `memref` in one cache line.
int64_t columnsOfLine(mlir::Value memref);

/// Whether the innermost stride of `memref` is known to be 1.
bool hasUnitColumns(mlir::Value memref);

/// Calls `body(i)` for i in [lower, upper).
void forEach(mlir::ImplicitLocOpBuilder &b, mlir::Value lower,
             mlir::Value upper, llvm::function_ref<void(mlir::Value)> body);

/// Emits `for (k = lower; k < upper; ++k) acc[r][v] += scalar(k, r) * vector(k,
/// v)` with all accumulators in registers, and returns them row by row. `init`
/// holds `rows * vectors` start values. `scalar` returns the broadcast vector.
llvm::SmallVector<mlir::Value> emitOuterProduct(
    VectorEmitter &emitter, mlir::Value lower, mlir::Value upper, int64_t rows,
    int64_t vectors, mlir::ValueRange init,
    llvm::function_ref<mlir::Value(mlir::Value k, int64_t row)> scalar,
    llvm::function_ref<mlir::Value(mlir::Value k, int64_t vector)> vector);

/// Emits `for (i = lower; i < upper; i += step) body(i, carried)`; returns the
/// carried values after the loop. The builder's insertion point is restored.
llvm::SmallVector<mlir::Value> emitLoop(
    mlir::ImplicitLocOpBuilder &b, mlir::Value lower, mlir::Value upper,
    int64_t step, mlir::ValueRange init,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value i,
                                                      mlir::ValueRange carried)>
        body);

/// Splits [0, count) into groups of `size` and a remainder of single steps:
/// calls `body(i, carried, size)` for the groups and `body(i, carried, 1)` for
/// the rest.
llvm::SmallVector<mlir::Value>
emitGroupedLoop(mlir::ImplicitLocOpBuilder &b, mlir::Value count, int64_t size,
                mlir::ValueRange init,
                llvm::function_ref<llvm::SmallVector<mlir::Value>(
                    mlir::Value i, mlir::ValueRange carried, int64_t size)>
                    body);

} // namespace attn

#endif // ATTN_LIB_CODEGEN_CPU_VECTOREMITTER_H
