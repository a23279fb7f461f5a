//===- VectorEmitter.cpp - Target vectors in arith and vector ops ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

VectorType VectorEmitter::vectorType() const { return vectorType(type); }

VectorType VectorEmitter::vectorType(Type element) const {
  return VectorType::get({lanes}, element);
}

Value VectorEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value VectorEmitter::constant(double value) {
  return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
}

Value VectorEmitter::convert(Value value) {
  return convertToFloat(b, value, type);
}

Value VectorEmitter::splat(double value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(vectorType(),
                                Attribute(b.getFloatAttr(type, value))));
}

Value VectorEmitter::broadcast(Value scalar) {
  return vector::BroadcastOp::create(b, vectorType(scalar.getType()), scalar);
}

Value VectorEmitter::fma(Value x, Value y, Value z) {
  // Without the instruction, a fused multiply-add would be a library call.
  if (isa == ISA::Portable)
    return arith::AddFOp::create(b, arith::MulFOp::create(b, x, y), z);
  return vector::FMAOp::create(b, x, y, z);
}

Value VectorEmitter::evaluatePolynomial(Value x,
                                        llvm::ArrayRef<double> coefficients) {
  Value sum = splat(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, splat(coefficient));
  return sum;
}

Value VectorEmitter::orderedMax(Value current, Value candidate) {
  Value larger =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, candidate, current);
  return arith::SelectOp::create(b, larger, candidate, current);
}

/// Minimax polynomials of 2^f on [0, 1): degree 5, 1.5e-7 relative, degree 3,
/// 7.5e-5, and degree 11, 3.3e-18.
static constexpr double kExp2Coefficients[] = {.99999994, .69315308, .24015361,
                                               .05582632, .00898934, .00187758};
static constexpr double kCoarseExp2Coefficients[] = {1.0, .695146143,
                                                     .227564394, .0771190897};
static constexpr double kExp2CoefficientsF64[] = {1.0,
                                                  0.693147180559946,
                                                  0.2402265069590633,
                                                  0.05550410866560225,
                                                  0.009618129099550796,
                                                  0.0013333558629566756,
                                                  0.00015403512309628662,
                                                  1.525317505556275e-05,
                                                  1.3208367288951658e-06,
                                                  1.0253212435718193e-07,
                                                  6.559529322785904e-09,
                                                  6.263466142268619e-10};

Value VectorEmitter::exp2(Value t) { return math::Exp2Op::create(b, t); }

Value VectorEmitter::exp(Value x) {
  return exp2(arith::MulFOp::create(b, x, splat(llvm::numbers::log2e)));
}

Value VectorEmitter::expandedExp2(Value t, bool coarse) {
  bool isF64 = type.isF64();
  auto polynomial = [&](Value f) {
    if (isF64)
      return evaluatePolynomial(f, kExp2CoefficientsF64);
    if (coarse)
      return evaluatePolynomial(f, kCoarseExp2Coefficients);
    return evaluatePolynomial(f, kExp2Coefficients);
  };

  if (isa == ISA::AVX512) {
    // vreduce gives t - floor(t), vscalef p * 2^floor(t): exact at both
    // infinities and for denormal results.
    auto intrinsic = [&](llvm::StringRef name, ValueRange operands) {
      auto full =
          ("llvm.x86.avx512.mask." + name + (isF64 ? ".pd" : ".ps") + ".512")
              .str();
      return LLVM::CallIntrinsicOp::create(b, t.getType(),
                                           b.getStringAttr(full), operands)
          .getResult(0);
    };
    Value imm = arith::ConstantOp::create(b, b.getI32IntegerAttr(9));
    Value mask = arith::ConstantOp::create(
        b, b.getIntegerAttr(b.getIntegerType(lanes), -1));
    Value rounding = arith::ConstantOp::create(b, b.getI32IntegerAttr(4));
    Value f = intrinsic("reduce", {t, imm, t, mask, rounding});
    Value p = polynomial(f);
    return intrinsic("scalef", {p, t, p, mask, rounding});
  }

  // Clamp so that the exponent field cannot overflow; both selects keep a NaN.
  // A far-away key weighs 0, not the smallest normal number. It is computed as
  // 2^0 first: below that the product would be denormal, which takes a hundred
  // cycles.
  double bias = isF64 ? 1023 : 127;
  int64_t mantissaBits = isF64 ? 52 : 23;
  Value zero = splat(0.0), high = splat(bias);
  Value vanishes =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, t, splat(1 - bias));
  Value x = arith::SelectOp::create(b, vanishes, zero, t);
  Value beyond = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, high, x);
  x = arith::SelectOp::create(b, beyond, high, x);
  // Adding 1.5 * 2^23, 2^52 for f64, rounds to an integer that stands in the
  // low mantissa bits; subtracting one half first makes it the floor.
  Value magic = splat(std::ldexp(1.5, mantissaBits));
  Value shifted =
      arith::AddFOp::create(b, arith::SubFOp::create(b, x, splat(0.5)), magic);
  Value floor = arith::SubFOp::create(b, shifted, magic);
  Value p = polynomial(arith::SubFOp::create(b, x, floor));
  Type word = b.getIntegerType(type.getWidth());
  VectorType bits = vectorType(word);
  auto integer = [&](int64_t value) {
    return arith::ConstantOp::create(
        b,
        DenseElementsAttr::get(bits, Attribute(b.getIntegerAttr(word, value))));
  };
  // 2^floor(t) as a float: the integer moves into the exponent, whose bias is
  // the bits of 1. Multiplying by it, unlike adding to the exponent of p, keeps
  // every NaN.
  Value exponent = arith::AddIOp::create(
      b,
      arith::ShLIOp::create(b, arith::BitcastOp::create(b, bits, shifted),
                            integer(mantissaBits)),
      integer(static_cast<int64_t>(bias) << mantissaBits));
  Value result = arith::MulFOp::create(
      b, p, arith::BitcastOp::create(b, vectorType(), exponent));
  return arith::SelectOp::create(b, vanishes, zero, result);
}

Value VectorEmitter::anyLane(ValueRange masks) {
  Value any = masks.front();
  for (Value mask : masks.drop_front())
    any = arith::OrIOp::create(b, any, mask);
  Type wordType =
      b.getIntegerType(cast<VectorType>(any.getType()).getDimSize(0));
  Value bits =
      vector::BitCastOp::create(b, VectorType::get({1}, wordType), any);
  Value word = vector::ExtractOp::create(b, bits, llvm::ArrayRef<int64_t>{0});
  Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(wordType, 0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, word, zero);
}

Value VectorEmitter::load(Value memref, ValueRange indices) {
  return vector::LoadOp::create(b, vectorType(), memref, indices);
}

void VectorEmitter::store(Value vector, Value memref, ValueRange indices) {
  vector::StoreOp::create(b, vector, memref, indices);
}

Value VectorEmitter::loadWidened(Value memref, ValueRange indices, Value mask) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  VectorType type = vectorType(element);
  Value value;
  if (mask)
    value = vector::MaskedLoadOp::create(
        b, type, memref, indices, mask,
        arith::ConstantOp::create(b, b.getZeroAttr(type)));
  else
    value = vector::LoadOp::create(b, type, memref, indices);
  return convert(value);
}

std::pair<Value, Value> VectorEmitter::loadBF16Pairs(Value memref,
                                                     ValueRange indices) {
  VectorType bits = vectorType(b.getI32Type());
  Value raw = vector::LoadOp::create(
      b, VectorType::get({2 * lanes}, b.getBF16Type()), memref, indices);
  raw = vector::BitCastOp::create(b, bits, raw);
  auto integer = [&](uint32_t value) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(bits, static_cast<int32_t>(value)));
  };
  // The bits of a bf16 are the upper half of those of the f32.
  Value even = arith::ShLIOp::create(b, raw, integer(16));
  Value odd = arith::AndIOp::create(b, raw, integer(0xffff0000));
  return {arith::BitcastOp::create(b, vectorType(), even),
          arith::BitcastOp::create(b, vectorType(), odd)};
}

std::pair<Value, Value> VectorEmitter::deinterleave(Value first, Value second) {
  SmallVector<int64_t> even, odd;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    even.push_back(2 * lane);
    odd.push_back(2 * lane + 1);
  }
  return {vector::ShuffleOp::create(b, first, second, even),
          vector::ShuffleOp::create(b, first, second, odd)};
}

std::pair<Value, Value> VectorEmitter::interleave(Value even, Value odd) {
  SmallVector<int64_t> lower, upper;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    int64_t from = lane / 2 + (lane % 2 ? lanes : 0);
    lower.push_back(from);
    upper.push_back(from + lanes / 2);
  }
  return {vector::ShuffleOp::create(b, even, odd, lower),
          vector::ShuffleOp::create(b, even, odd, upper)};
}

void VectorEmitter::prefetch(Value memref, ValueRange indices) {
  memref::PrefetchOp::create(b, memref, indices, /*isWrite=*/false,
                             /*localityHint=*/2, /*isDataCache=*/true);
}

Value VectorEmitter::swapLanes(Value vector, int64_t distance) {
  SmallVector<int64_t> order(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane)
    order[lane] = lane ^ distance;
  return vector::ShuffleOp::create(b, vector, vector, order);
}

Value VectorEmitter::sumOfLanes(Value vector) {
  for (int64_t distance = lanes / 2; distance >= 1; distance /= 2)
    vector = arith::AddFOp::create(b, vector, swapLanes(vector, distance));
  return vector;
}

Value VectorEmitter::maxOfLanes(Value vector) {
  for (int64_t distance = lanes / 2; distance >= 1; distance /= 2)
    vector = orderedMax(vector, swapLanes(vector, distance));
  return vector;
}

Value VectorEmitter::sumEach(ValueRange vectors) {
  assert(static_cast<int64_t>(vectors.size()) == lanes);
  // Each step halves the number of vectors and doubles the sums in each: lanes
  // with the step's bit clear come from the first of a pair.
  SmallVector<Value> values(vectors);
  for (int64_t step = 1; step < lanes; step *= 2) {
    SmallVector<int64_t> upper(lanes), lower(lanes);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool first = (lane & step) == 0;
      upper[lane] = first ? lane : lanes + lane;
      lower[lane] = first ? lane + step : lanes + lane - step;
    }
    SmallVector<Value> next;
    for (size_t i = 0; i < values.size(); i += 2) {
      Value x = values[i], y = values[i + 1];
      next.push_back(
          arith::AddFOp::create(b, vector::ShuffleOp::create(b, x, y, upper),
                                vector::ShuffleOp::create(b, x, y, lower)));
    }
    values = next;
  }
  return values.front();
}

SmallVector<Value> VectorEmitter::transpose(ValueRange rows) {
  SmallVector<Value> values(rows);
  assert(static_cast<int64_t>(values.size()) == lanes);
  // Swaps the off-diagonal blocks of size 1, 2, 4, ... of each pair of rows.
  for (int64_t step = 1; step < lanes; step *= 2) {
    SmallVector<int64_t> upper(lanes), lower(lanes);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool first = (lane & step) == 0;
      upper[lane] = first ? lane : lanes + lane - step;
      lower[lane] = first ? lane + step : lanes + lane;
    }
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & step)
        continue;
      Value x = values[i], y = values[i + step];
      values[i] = vector::ShuffleOp::create(b, x, y, upper);
      values[i + step] = vector::ShuffleOp::create(b, x, y, lower);
    }
  }
  return values;
}

Value VectorEmitter::firstLanes(Value count) {
  return vector::CreateMaskOp::create(b, vectorType(b.getI1Type()),
                                      ValueRange(count));
}

Value VectorEmitter::maskedLoad(Value memref, ValueRange indices, Value mask,
                                Value pass) {
  return vector::MaskedLoadOp::create(b, vectorType(), memref, indices, mask,
                                      pass);
}

void VectorEmitter::maskedStore(Value vector, Value memref, ValueRange indices,
                                Value mask) {
  vector::MaskedStoreOp::create(b, memref, indices, mask, vector);
}

SmallVector<Value> attn::emitLoop(
    ImplicitLocOpBuilder &b, Value lower, Value upper, int64_t step,
    ValueRange init,
    function_ref<SmallVector<Value>(Value i, ValueRange carried)> body) {
  Value stride = arith::ConstantIndexOp::create(b, step);
  auto loop = scf::ForOp::create(b, lower, upper, stride, init);
  OpBuilder::InsertionGuard guard(b);
  // Without carried values the builder has already made the terminator.
  if (init.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!init.empty())
    scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> attn::emitGroupedLoop(
    ImplicitLocOpBuilder &b, Value count, int64_t size, ValueRange init,
    function_ref<SmallVector<Value>(Value i, ValueRange carried, int64_t size)>
        body) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value group = arith::ConstantIndexOp::create(b, size);
  Value rest = arith::RemUIOp::create(b, count, group);
  Value whole = arith::SubIOp::create(b, count, rest);
  SmallVector<Value> carried =
      emitLoop(b, zero, whole, size, init, [&](Value i, ValueRange values) {
        return body(i, values, size);
      });
  if (size == 1)
    return carried;
  return emitLoop(b, whole, count, 1, carried, [&](Value i, ValueRange values) {
    return body(i, values, 1);
  });
}

SmallVector<Value>
attn::emitOuterProduct(VectorEmitter &emitter, Value lower, Value upper,
                       int64_t rows, int64_t vectors, ValueRange init,
                       function_ref<Value(Value k, int64_t row)> scalar,
                       function_ref<Value(Value k, int64_t vector)> vector) {
  assert(static_cast<int64_t>(init.size()) == rows * vectors);
  return emitLoop(
      emitter.builder(), lower, upper, 1, init, [&](Value k, ValueRange acc) {
        SmallVector<Value> vs, next;
        for (int64_t v = 0; v < vectors; ++v)
          vs.push_back(vector(k, v));
        for (int64_t r = 0; r < rows; ++r) {
          Value s = scalar(k, r);
          for (int64_t v = 0; v < vectors; ++v)
            next.push_back(emitter.fma(s, vs[v], acc[r * vectors + v]));
        }
        return next;
      });
}

Value attn::convertToFloat(ImplicitLocOpBuilder &b, Value value, Type type) {
  Type from = getElementTypeOrSelf(value.getType()), to = type;
  if (from == type)
    return value;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    to = vector.clone(type);
  if (from.isInteger())
    return arith::SIToFPOp::create(b, to, value);
  if (from.getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
    return arith::TruncFOp::create(b, to, value);
  return arith::ExtFOp::create(b, to, value);
}

int64_t attn::columnsOfLine(Value memref) {
  constexpr int64_t kLineBits = 64 * 8;
  return kLineBits / getElementTypeOrSelf(memref).getIntOrFloatBitWidth();
}

bool attn::hasUnitColumns(Value memref) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(cast<MemRefType>(memref.getType())
                       .getStridesAndOffset(strides, offset)) &&
         strides.back() == 1;
}

void attn::forEach(ImplicitLocOpBuilder &b, Value lower, Value upper,
                   function_ref<void(Value)> body) {
  emitLoop(b, lower, upper, 1, {},
           [&](Value i, ValueRange) -> SmallVector<Value> {
             body(i);
             return {};
           });
}
