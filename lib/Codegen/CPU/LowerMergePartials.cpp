//===- LowerMergePartials.cpp - The last step of a tile -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Merging normalises the state and transposes it back into the caller's rows. A
// row of sum 0 is empty and selects 0: what is in its accumulator is 0, or 0
// times a value that is not finite, where scores of -inf gave it weight 0.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "VectorEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

namespace {

/// `log` above `max`, and rounded the log-sum-exp. Rows in lanes, or one row as
/// a scalar.
struct LogSumExp {
  Value max, log, rounded;
};

/// What a row of the accumulator is multiplied by, and its log-sum-exp.
struct Normalization {
  Value factor;
  LogSumExp logSumExp;
};

/// `x`, but 0 in empty rows; `empty` is null where rows have no sum.
Value clearEmpty(ImplicitLocOpBuilder &b, Value empty, Value x) {
  if (!empty)
    return x;
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(x.getType()));
  return arith::SelectOp::create(b, empty, none, x);
}

/// The constant `value` of a float type, or in all lanes.
Value constantLike(ImplicitLocOpBuilder &b, Type type, double value) {
  TypedAttr constant = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    constant = DenseElementsAttr::get(vector, Attribute(constant));
  return arith::ConstantOp::create(b, constant);
}

/// Takes a sink into rows of maximum `max` and sum `sum`, which is 0 for empty
/// rows. Everything is relative to the larger of the two: the smaller one's
/// weight is at most 1, however far they are apart.
Normalization includeSink(ImplicitLocOpBuilder &b, Value max, Value sum,
                          Value sink, function_ref<Value(Value)> exp) {
  Type type = max.getType();
  Value none = constantLike(b, type, 0.0), one = constantLike(b, type, 1.0);
  sink = convertToFloat(b, sink, getElementTypeOrSelf(type));
  if (isa<VectorType>(type))
    sink = vector::BroadcastOp::create(b, type, sink);
  Value empty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, none);
  Value sinkIsMax =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, sink, max);
  Value distance = math::AbsFOp::create(b, arith::SubFOp::create(b, max, sink));
  Value weight = exp(arith::NegFOp::create(b, distance));
  auto select = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, condition, x, y);
  };
  Value keys = select(sinkIsMax, weight, one);
  Value total = arith::AddFOp::create(b, arith::MulFOp::create(b, sum, keys),
                                      select(sinkIsMax, one, weight));
  Value factor =
      select(empty, none, arith::DivFOp::create(b, keys, total).getResult());
  Value larger = select(sinkIsMax, sink, max);
  Value log = math::LogOp::create(b, total);
  Value rounded = arith::AddFOp::create(b, larger, log);
  return {factor, {larger, log, select(empty, sink, rounded)}};
}

/// That of rows of maximum `max` and sum `sum`, which is 1 for `empty` ones.
LogSumExp getLogSumExp(ImplicitLocOpBuilder &b, Value max, Value sum,
                       Value empty) {
  Value log = math::LogOp::create(b, sum);
  Value rounded = arith::AddFOp::create(b, max, log);
  Value none = constantLike(b, max.getType(), -INFINITY);
  return {max, log, arith::SelectOp::create(b, empty, none, rounded)};
}

/// What is left out of the rounded one, 0 where that is infinite. Next to a
/// large maximum, this is the whole logarithm.
Value getRemainder(ImplicitLocOpBuilder &b, const LogSumExp &lse) {
  Type type = lse.max.getType();
  Value rest = arith::AddFOp::create(
      b, arith::SubFOp::create(b, lse.max, lse.rounded), lse.log);
  Value isInfinite = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                           math::AbsFOp::create(b, lse.rounded),
                                           constantLike(b, type, INFINITY));
  return arith::SelectOp::create(b, isInfinite, constantLike(b, type, 0.0),
                                 rest);
}

/// Calls `store` for each output of `op` that has a number a row.
void storeLogSumExp(ImplicitLocOpBuilder &b, MergePartialsOp op,
                    const LogSumExp &lse,
                    function_ref<void(Value, Value)> store) {
  store(lse.rounded, op.getLogSumExp());
  if (Value remainder = op.getRemainder())
    store(getRemainder(b, lse), remainder);
}

/// One partial, normalised and transposed back square by square.
class MergeLowering {
public:
  MergeLowering(ImplicitLocOpBuilder &b, VectorEmitter &e, MergePartialsOp op)
      : b(b), e(e), op(op), lanes(e.getLanes()) {
    zero = e.index(0);
    rows = memref::DimOp::create(b, op.getOutput(), 0);
    valueDim = cast<MemRefType>(op.getAcc().getType()).getDimSize(2);
    accT = memref::TransposeOp::create(
        b, op.getAcc(),
        AffineMapAttr::get(AffineMap::getPermutationMap(
            ArrayRef<unsigned>{0, 2, 1}, b.getContext())));
  }

  void run() {
    int64_t tileRows = cast<MemRefType>(op.getAcc().getType()).getDimSize(1);
    emitLoop(b, zero, e.index(tileRows), lanes, {},
             [&](Value row, ValueRange) -> SmallVector<Value> {
               // Squares of padding alone are left out.
               Value used = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                                  row, rows);
               auto guarded =
                   scf::IfOp::create(b, used, /*withElseRegion=*/false);
               OpBuilder::InsertionGuard guard(b);
               b.setInsertionPointToStart(guarded.thenBlock());
               emitRows(row);
               return {};
             });
  }

private:
  void emitRows(Value row) {
    Value sum = e.load(op.getSum(), {zero, row});
    Value empty =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, e.splat(0.0));
    Value divisor = arith::SelectOp::create(b, empty, e.splat(1.0), sum);
    Value reciprocal = arith::DivFOp::create(b, e.splat(1.0), divisor);
    Normalization normal;
    if (op.getUnnormalized())
      reciprocal = e.splat(1.0);
    if (op.getSink()) {
      normal = includeSink(b, e.load(op.getMax(), {zero, row}), sum,
                           op.getSink(), [&](Value x) { return e.exp(x); });
      reciprocal = normal.factor;
    }
    Value cleared = op.getUnnormalized() ? Value() : empty;
    int64_t whole = valueDim / lanes * lanes;
    emitLoop(b, zero, e.index(whole), lanes, {},
             [&](Value column, ValueRange) -> SmallVector<Value> {
               emitSquare(row, column, lanes, reciprocal, cleared);
               return {};
             });
    if (whole < valueDim)
      emitSquare(row, e.index(whole), valueDim - whole, reciprocal, cleared);
    if (!op.getLogSumExp())
      return;
    if (!op.getSink())
      normal.logSumExp =
          getLogSumExp(b, e.load(op.getMax(), {zero, row}), divisor, empty);
    Value mask = e.firstLanes(arith::SubIOp::create(b, rows, row));
    storeLogSumExp(b, op, normal.logSumExp, [&](Value value, Value output) {
      e.maskedStore(value, output, {row}, mask);
    });
  }

  void emitSquare(Value row, Value column, int64_t width, Value reciprocal,
                  Value empty) {
    SmallVector<Value> square;
    for (int64_t d = 0; d < lanes; ++d) {
      Value x = e.splat(0.0);
      if (d < width) {
        x = loadAcc(arith::AddIOp::create(b, column, e.index(d)), row);
        x = clearEmpty(b, empty, arith::MulFOp::create(b, x, reciprocal));
      }
      square.push_back(x);
    }
    square = e.transpose(square);
    Value mask;
    if (width < lanes)
      mask = e.firstLanes(e.index(width));
    for (int64_t r = 0; r < lanes; ++r) {
      // A branch that nearly always goes one way costs less than a mask.
      Value at = arith::AddIOp::create(b, row, e.index(r));
      auto inside = scf::IfOp::create(
          b, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at, rows),
          /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(inside.thenBlock());
      Value x = convertToFloat(b, square[r],
                               getElementTypeOrSelf(op.getOutput().getType()));
      if (mask)
        e.maskedStore(x, op.getOutput(), {at, column}, mask);
      else
        e.store(x, op.getOutput(), {at, column});
    }
  }

  /// Feature `d` of rows [row, row + lanes).
  Value loadAcc(Value d, Value row) { return e.load(accT, {zero, d, row}); }

  ImplicitLocOpBuilder &b;
  VectorEmitter &e;
  MergePartialsOp op;
  int64_t lanes, valueDim;
  Value zero, rows, accT;
};

/// Any number of partials, row by row with features in lanes. The weight of a
/// partial is exp(its maximum - the largest), and 0 for one that saw nothing.
void mergeRows(ImplicitLocOpBuilder &b, VectorEmitter &e, MergePartialsOp op) {
  using Vectors = SmallVector<Value>;
  Value zero = e.index(0), none = e.splat(0.0);
  Value parts = memref::DimOp::create(b, op.getAcc(), 0);
  Value rows = memref::DimOp::create(b, op.getOutput(), 0);
  Type outType = cast<MemRefType>(op.getOutput().getType()).getElementType();
  int64_t valueDim = cast<MemRefType>(op.getAcc().getType()).getDimSize(2);
  int64_t lanes = e.getLanes();
  forEach(b, zero, rows, [&](Value r) {
    auto statistic = [&](Value memref, Value p) {
      return e.broadcast(memref::LoadOp::create(b, memref, ValueRange{p, r}));
    };
    Value max =
        emitLoop(b, zero, parts, 1, ValueRange(e.splat(-INFINITY)),
                 [&](Value p, ValueRange carried) -> Vectors {
                   return {e.orderedMax(carried[0], statistic(op.getMax(), p))};
                 })[0];
    auto weigh = [&](Value p, Value sum, Value x, Value total) -> Value {
      if (op.getUnnormalized())
        return arith::AddFOp::create(b, total, x);
      Value weight =
          e.exp(arith::SubFOp::create(b, statistic(op.getMax(), p), max));
      Value empty =
          arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, none);
      return arith::SelectOp::create(b, empty, total, e.fma(weight, x, total));
    };
    Value total = emitLoop(b, zero, parts, 1, ValueRange(none),
                           [&](Value p, ValueRange carried) -> Vectors {
                             Value sum = statistic(op.getSum(), p);
                             return {weigh(p, sum, sum, carried[0])};
                           })[0];
    Value empty =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, total, none);
    Value divisor = arith::SelectOp::create(b, empty, e.splat(1.0), total);
    Normalization normal;
    if (op.getSink())
      normal = includeSink(b, max, total, op.getSink(),
                           [&](Value x) { return e.exp(x); });
    for (int64_t d = 0; d < valueDim; d += lanes) {
      Value column = e.index(d);
      // Rows of partials are stored in whole vectors.
      Value x = emitLoop(
          b, zero, parts, 1, ValueRange(none),
          [&](Value p, ValueRange carried) -> Vectors {
            Value part = e.load(op.getAcc(), {p, r, column});
            return {weigh(p, statistic(op.getSum(), p), part, carried[0])};
          })[0];
      if (normal.factor)
        x = arith::MulFOp::create(b, x, normal.factor);
      else if (!op.getUnnormalized())
        x = arith::DivFOp::create(b, x, divisor);
      x = convertToFloat(b, x, outType);
      if (d + lanes <= valueDim)
        vector::StoreOp::create(b, x, op.getOutput(), ValueRange{r, column});
      else
        vector::MaskedStoreOp::create(b, op.getOutput(), ValueRange{r, column},
                                      e.firstLanes(e.index(valueDim - d)), x);
    }
    if (!op.getLogSumExp())
      return;
    if (!op.getSink())
      normal.logSumExp = getLogSumExp(b, max, divisor, empty);
    storeLogSumExp(b, op, normal.logSumExp, [&](Value value, Value output) {
      Value scalar = vector::ExtractOp::create(b, value, ArrayRef<int64_t>{0});
      scalar =
          convertToFloat(b, scalar, getElementTypeOrSelf(output.getType()));
      memref::StoreOp::create(b, scalar, output, ValueRange(r));
    });
  });
}

/// Whether rows of `memref` can be stored by masked vectors: AVX-512 alone has
/// masks of 16-bit elements.
bool hasVectorStores(Value memref, TargetAttr target) {
  Type type = cast<MemRefType>(memref.getType()).getElementType();
  return hasUnitColumns(memref) && (type.getIntOrFloatBitWidth() >= 32 ||
                                    (target.getIsa() == ISA::AVX512 &&
                                     type.getIntOrFloatBitWidth() == 16));
}

/// Row by row in scalars, for any layout and type.
void mergeScalars(ImplicitLocOpBuilder &b, MergePartialsOp op) {
  Type outType = cast<MemRefType>(op.getOutput().getType()).getElementType();
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value rows = memref::DimOp::create(b, op.getOutput(), 0);
  Value columns = memref::DimOp::create(b, op.getOutput(), 1);
  Type type = cast<MemRefType>(op.getAcc().getType()).getElementType();
  Value none = constantLike(b, type, 0.0), one = constantLike(b, type, 1.0);
  forEach(b, zero, rows, [&](Value r) {
    Value sum = memref::LoadOp::create(b, op.getSum(), ValueRange{zero, r});
    Value empty =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, none);
    Value divisor = arith::SelectOp::create(b, empty, one, sum);
    Value reciprocal = arith::DivFOp::create(b, one, divisor);
    Normalization normal;
    if (op.getUnnormalized())
      reciprocal = one;
    if (op.getSink()) {
      Value max = memref::LoadOp::create(b, op.getMax(), ValueRange{zero, r});
      normal = includeSink(b, max, sum, op.getSink(), [&](Value x) -> Value {
        return math::ExpOp::create(b, x);
      });
      reciprocal = normal.factor;
    }
    Value cleared = op.getUnnormalized() ? Value() : empty;
    forEach(b, zero, columns, [&](Value d) {
      Value x = memref::LoadOp::create(b, op.getAcc(), ValueRange{zero, r, d});
      x = clearEmpty(b, cleared, arith::MulFOp::create(b, x, reciprocal));
      memref::StoreOp::create(b, convertToFloat(b, x, outType), op.getOutput(),
                              ValueRange{r, d});
    });
    if (!op.getLogSumExp())
      return;
    if (!op.getSink())
      normal.logSumExp = getLogSumExp(
          b, memref::LoadOp::create(b, op.getMax(), ValueRange{zero, r}),
          divisor, empty);
    storeLogSumExp(b, op, normal.logSumExp, [&](Value value, Value output) {
      value = convertToFloat(b, value, getElementTypeOrSelf(output.getType()));
      memref::StoreOp::create(b, value, output, ValueRange{r});
    });
  });
}

} // namespace

LogicalResult attn::lowerMergePartials(RewriterBase &rewriter,
                                       MergePartialsOp op, TargetAttr target) {
  auto accType = cast<MemRefType>(op.getAcc().getType());
  auto type = cast<FloatType>(accType.getElementType());
  for (Value state : {op.getAcc(), op.getMax(), op.getSum()})
    if (!isa<Float32Type, Float64Type>(type) ||
        getElementTypeOrSelf(state.getType()) != type)
      return op.emitOpError("partials must be all f32 or all f64 to be "
                            "lowered, got ")
             << state.getType();
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  int64_t lanes = target.getLanes(type);
  VectorEmitter e(b, target.getIsa(), lanes, type);
  SmallVector<int64_t> strides;
  int64_t offset;
  bool rowsInnermost =
      succeeded(accType.getStridesAndOffset(strides, offset)) &&
      strides[1] == 1 && accType.getDimSize(1) % lanes == 0;
  bool wholeRows = succeeded(accType.getStridesAndOffset(strides, offset)) &&
                   strides[2] == 1 && !ShapedType::isDynamic(strides[1]) &&
                   strides[1] % lanes == 0;
  bool single = accType.getDimSize(0) == 1;
  auto hasVectors = [&](Value ofRows) {
    return !ofRows || (hasUnitColumns(ofRows) &&
                       getElementTypeOrSelf(ofRows.getType()) == type);
  };
  if (wholeRows && hasUnitColumns(op.getOutput()))
    mergeRows(b, e, op);
  else if (!single)
    return op.emitOpError("partials must have rows of whole vectors to be "
                          "merged, got ")
           << accType;
  else if (rowsInnermost && hasVectorStores(op.getOutput(), target) &&
           hasVectors(op.getLogSumExp()) && hasVectors(op.getRemainder()))
    MergeLowering(b, e, op).run();
  else
    mergeScalars(b, op);
  rewriter.eraseOp(op);
  return success();
}
