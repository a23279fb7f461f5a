//===- LowerRotation.cpp - Rotary embeddings in vectors -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows by vectors of pairs. The last vector of a row overlaps the one before
// where pairs are not whole vectors: no mask, and no loop over single pairs.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "VectorEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

namespace {

/// Vectors of columns of the rows of memrefs.
class Columns {
public:
  /// Vectors of at most `lanes` of `count` columns; of one if a memref has no
  /// unit columns.
  Columns(ImplicitLocOpBuilder &b, int64_t lanes, int64_t count,
          ValueRange memrefs)
      : b(b), count(count) {
    auto powerOfTwo = static_cast<int64_t>(llvm::bit_floor<uint64_t>(count));
    bool isUnit = llvm::all_of(memrefs, hasUnitColumns);
    width = isUnit ? std::min(std::max<int64_t>(lanes, 1), powerOfTwo) : 1;
  }

  int64_t getWidth() const { return width; }

  VectorType vectorType(Type element) const {
    return VectorType::get({width}, element);
  }

  /// Calls `body` with the first column of each vector.
  void forEachVector(function_ref<void(Value)> body) {
    auto index = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, value);
    };
    int64_t whole = count / width * width;
    emitLoop(b, index(0), index(whole), width, {},
             [&](Value column, ValueRange) -> SmallVector<Value> {
               body(column);
               return {};
             });
    if (whole < count)
      body(index(count - width));
  }

  /// `memref[indices]` on as a vector of its elements.
  Value load(Value memref, ValueRange indices) {
    VectorType type =
        vectorType(cast<MemRefType>(memref.getType()).getElementType());
    if (width == 1)
      return vector::BroadcastOp::create(
          b, type, memref::LoadOp::create(b, memref, indices).getResult());
    return vector::LoadOp::create(b, type, memref, indices);
  }

  void store(Value vector, Value memref, ValueRange indices) {
    if (width == 1)
      memref::StoreOp::create(
          b, vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{0}), memref,
          indices);
    else
      vector::StoreOp::create(b, vector, memref, indices);
  }

private:
  ImplicitLocOpBuilder &b;
  int64_t count, width;
};

/// Cosines and sines of a vector of f64.
class Turn {
public:
  Turn(ImplicitLocOpBuilder &b, VectorType type)
      : b(b), type(type), bits(type.clone(b.getI64Type())) {}

  /// Accurate to f64 for angles below 2^33, and to f32 below 2^50, which the
  /// angle itself is not.
  std::pair<Value, Value> emit(Value angle) {
    // The nearest multiple of pi/2, whose number is left in the low bits of a
    // sum that has no fraction.
    constexpr double kTwoOverPi = 6.36619772367581382433e-01;
    Value shifted = fma(angle, splat(kTwoOverPi), splat(0x1.8p52));
    Value number = arith::SubFOp::create(b, shifted, splat(0x1.8p52));
    Value quadrant = arith::BitcastOp::create(b, bits, shifted);
    // pi/2 in parts of 33 bits (fdlibm's): products with them are exact.
    number = arith::NegFOp::create(b, number);
    Value x = fma(number, splat(1.57079632673412561417e+00), angle);
    x = fma(number, splat(6.07710050630396597660e-11), x);
    x = fma(number, splat(2.02226624879595063154e-21), x);
    // Angles beyond that are those of no position, but of what stands for none:
    // some turn, and no more.
    Value end = splat(7.85398163397448309616e-01);
    x = arith::MinNumFOp::create(
        b, arith::MaxNumFOp::create(b, x, arith::NegFOp::create(b, end)), end);

    // Polynomials on [-pi/4, pi/4] of S. Moshier's Cephes library.
    Value z = arith::MulFOp::create(b, x, x);
    Value sine =
        polynomial(z, {1.58962301576546568060e-10, -2.50507477628578072866e-8,
                       2.75573136213857245213e-6, -1.98412698295895385996e-4,
                       8.33333333332211858878e-3, -1.66666666666666307295e-1});
    sine = fma(arith::MulFOp::create(b, x, z), sine, x);
    Value cosine = polynomial(
        z, {-1.13585365213876817300e-11, 2.08757008419747316778e-9,
            -2.75573141792967388112e-7, 2.48015872888517045348e-5,
            -1.38888888888730564116e-3, 4.16666666666665929218e-2, -0.5, 1.0});

    Value isOdd = arith::CmpIOp::create(
        b, arith::CmpIPredicate::ne,
        arith::AndIOp::create(b, quadrant, integer(1)), integer(0));
    Value cos = arith::SelectOp::create(b, isOdd, sine, cosine);
    Value sin = arith::SelectOp::create(b, isOdd, cosine, sine);
    Value next = arith::AddIOp::create(b, quadrant, integer(1));
    return {negateIf(cos, next), negateIf(sin, quadrant)};
  }

private:
  Value splat(double value) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
  }
  Value integer(int64_t value) {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(bits, value));
  }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = splat(coefficients.front());
    for (double coefficient : coefficients.drop_front())
      sum = fma(sum, x, splat(coefficient));
    return sum;
  }
  /// Bit 1 of `quadrant` becomes the sign's.
  Value negateIf(Value value, Value quadrant) {
    Value sign = arith::ShLIOp::create(
        b, arith::AndIOp::create(b, quadrant, integer(2)), integer(62));
    Value raw = arith::BitcastOp::create(b, bits, value);
    return arith::BitcastOp::create(b, type,
                                    arith::XOrIOp::create(b, raw, sign));
  }

  ImplicitLocOpBuilder &b;
  VectorType type, bits;
};

LogicalResult verifyTile(DestinationStyleOpInterface op, Value rows, Value cos,
                         Value sin) {
  for (Value memref : {rows, cos, sin})
    if (auto type = dyn_cast<MemRefType>(memref.getType());
        !type || type.getRank() != 2)
      return op.emitOpError("must be on rows of rank 2 to be lowered, got ")
             << memref.getType();
  for (Value memref : {cos, sin})
    if (Type type = getElementTypeOrSelf(memref.getType()); !type.isF32())
      return op.emitOpError("must have cos and sin of f32 to be lowered, got ")
             << type;
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// rotate
//===----------------------------------------------------------------------===//

LogicalResult attn::lowerRotate(RewriterBase &rewriter, RotateOp op,
                                TargetAttr target) {
  Value source = op.getSource(), dest = op.getDest();
  if (failed(verifyTile(op, source, op.getCos(), op.getSin())))
    return failure();
  auto type = cast<MemRefType>(source.getType());
  Type element = type.getElementType();
  if (element.getIntOrFloatBitWidth() > 32)
    return op.emitOpError("has no kernel for the element type ") << element;
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  int64_t pairs = op.getPairs(), headDim = type.getDimSize(1);
  Value memrefs[] = {source, dest, op.getCos(), op.getSin()};
  Columns columns(b, target.getLanes(), pairs, memrefs);
  VectorEmitter e(b, target.getIsa(), columns.getWidth());
  bool isHalf = op.getLayout() == RopeLayout::Half;
  // A single pair is apart as it is.
  bool isInterleaved = !isHalf && columns.getWidth() > 1;

  auto load = [&](Value memref, Value row, Value column) {
    return convertToFloat(b, columns.load(memref, {row, column}),
                          b.getF32Type());
  };
  auto store = [&](Value vector, Value row, Value column) {
    columns.store(convertToFloat(b, vector, element), dest, {row, column});
  };
  auto turn = [&](Value row, Value pair) {
    Value first = pair;
    if (!isHalf)
      first = arith::AddIOp::create(b, pair, pair);
    Value second = arith::AddIOp::create(
        b, first, e.index(isHalf ? pairs : columns.getWidth()));
    Value x = load(source, row, first), y = load(source, row, second);
    if (isInterleaved)
      std::tie(x, y) = e.deinterleave(x, y);
    Value cos = load(op.getCos(), row, pair),
          sin = load(op.getSin(), row, pair);
    Value across = arith::MulFOp::create(b, y, sin);
    Value along = arith::MulFOp::create(b, y, cos);
    Value newX = e.fma(x, cos, arith::NegFOp::create(b, across)),
          newY = e.fma(x, sin, along);
    if (isInterleaved)
      std::tie(newX, newY) = e.interleave(newX, newY);
    store(newX, row, first);
    store(newY, row, second);
  };
  forEach(b, e.index(0), memref::DimOp::create(b, source, 0), [&](Value row) {
    columns.forEachVector([&](Value pair) { turn(row, pair); });
    if (2 * pairs == headDim)
      return;
    Columns rest(b, target.getLanes(), headDim - 2 * pairs, {source, dest});
    rest.forEachVector([&](Value column) {
      column = arith::AddIOp::create(b, column, e.index(2 * pairs));
      rest.store(rest.load(source, {row, column}), dest, {row, column});
    });
  });
  rewriter.eraseOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// rope_tables
//===----------------------------------------------------------------------===//

namespace {

class TablesLowering {
public:
  TablesLowering(ImplicitLocOpBuilder &b, RopeTablesOp op, TargetAttr target)
      : b(b), op(op), lanes(target.getLanes()) {
    pairs = cast<MemRefType>(op.getCos().getType()).getDimSize(1);
  }

  void emitAngles() {
    Value memrefs[] = {op.getFrequencies(), op.getCos(), op.getSin()};
    Columns columns(b, lanes / 2, pairs, memrefs);
    VectorType type = columns.vectorType(b.getF64Type());
    forEachRow([&](Value row, Value position) {
      if (position.getType().isIndex())
        position = arith::IndexCastOp::create(b, b.getI64Type(), position);
      position = arith::SIToFPOp::create(b, b.getF64Type(), position);
      position = vector::BroadcastOp::create(b, type, position);
      columns.forEachVector([&](Value pair) {
        Value frequency = columns.load(op.getFrequencies(), pair);
        auto [cos, sin] =
            Turn(b, type).emit(arith::MulFOp::create(b, position, frequency));
        store(columns, cos, op.getCos(), row, pair);
        store(columns, sin, op.getSin(), row, pair);
      });
    });
  }

  /// Rows of the given tables. Positions, and pairs of tables whose number of
  /// columns is not known, are clamped to what there is.
  void emitGathers() {
    Value cosTable = op.getCosTable(), sinTable = op.getSinTable();
    Value memrefs[] = {cosTable, sinTable, op.getCos(), op.getSin()};
    bool isWhole =
        llvm::all_of(ValueRange{cosTable, sinTable}, [&](Value table) {
          return cast<MemRefType>(table.getType()).getDimSize(1) == pairs;
        });
    Columns columns(b, isWhole ? lanes : 1, pairs, memrefs);
    gather(columns, cosTable, op.getCos(), isWhole);
    gather(columns, sinTable, op.getSin(), isWhole);
  }

private:
  void gather(Columns &columns, Value table, Value dest, bool isWhole) {
    Value rows = memref::DimOp::create(b, table, 0);
    Value pairsThere = memref::DimOp::create(b, table, 1);
    Value isEmpty = arith::CmpIOp::create(
        b, arith::CmpIPredicate::sle,
        arith::MinSIOp::create(b, rows, pairsThere), index(0));
    auto either = scf::IfOp::create(b, isEmpty, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(either.thenBlock());
    Value none = arith::ConstantOp::create(
        b, b.getZeroAttr(columns.vectorType(b.getF32Type())));
    forEachRow([&](Value row, Value) {
      columns.forEachVector(
          [&](Value pair) { store(columns, none, dest, row, pair); });
    });
    b.setInsertionPointToStart(either.elseBlock());
    forEachRow([&](Value row, Value position) {
      if (!position.getType().isIndex())
        position = arith::IndexCastOp::create(b, b.getIndexType(), position);
      position = clamp(position, rows);
      columns.forEachVector([&](Value pair) {
        Value from = isWhole ? pair : clamp(pair, pairsThere);
        store(columns, columns.load(table, {position, from}), dest, row, pair);
      });
    });
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  Value clamp(Value i, Value extent) {
    Value last = arith::SubIOp::create(b, extent, index(1));
    return arith::MaxSIOp::create(b, arith::MinSIOp::create(b, i, last),
                                  index(0));
  }

  void store(Columns &columns, Value vector, Value memref, Value row,
             Value pair) {
    columns.store(convertToFloat(b, vector, b.getF32Type()), memref,
                  {row, pair});
  }

  /// Calls `body` with each row and its position, an index or integer.
  void forEachRow(function_ref<void(Value, Value)> body) {
    forEach(b, index(0), memref::DimOp::create(b, op.getCos(), 0),
            [&](Value row) {
              if (Value positions = op.getPositions())
                return body(row, memref::LoadOp::create(b, positions, row));
              Value offset = op.getOffset();
              body(row, offset ? arith::AddIOp::create(b, offset, row) : row);
            });
  }

  ImplicitLocOpBuilder &b;
  RopeTablesOp op;
  int64_t lanes, pairs;
};

} // namespace

LogicalResult attn::lowerRopeTables(RewriterBase &rewriter, RopeTablesOp op,
                                    TargetAttr target) {
  if (failed(verifyTile(op, op.getCos(), op.getCos(), op.getSin())))
    return failure();
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  TablesLowering tables(b, op, target);
  if (op.getFrequencies())
    tables.emitAngles();
  else
    tables.emitGathers();
  rewriter.eraseOp(op);
  return success();
}
