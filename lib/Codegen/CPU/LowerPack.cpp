//===- LowerPack.cpp - The first step of a tile ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Packing copies rows of the caller into the layout that a micro-kernel reads:
// transposed into lanes, widened, or in panels for products of pairs.
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

/// Extents `[rows, columns]` of a dest that may be in panels.
std::array<int64_t, 2> extentsOf(MemRefType dest) {
  if (dest.getRank() == 3)
    return {dest.getDimSize(1), dest.getDimSize(0) * dest.getDimSize(2)};
  return {dest.getDimSize(0), dest.getDimSize(1)};
}

/// Rows of the source, and of the dest, which has no others if it does not say.
std::array<Value, 2> countRows(ImplicitLocOpBuilder &b, PackOp op) {
  Value rows = memref::DimOp::create(b, op.getSource(), 0);
  auto dest = cast<MemRefType>(op.getDest().getType());
  int64_t all = extentsOf(dest)[0];
  if (ShapedType::isDynamic(all))
    return {rows, rows};
  return {rows, arith::ConstantIndexOp::create(b, all)};
}

/// What row `r` is multiplied by: the factor, times the scale of integers.
Value factorOf(ImplicitLocOpBuilder &b, PackOp op, Value factor, Value r) {
  if (!op.getScales())
    return factor;
  Value scale = memref::LoadOp::create(b, op.getScales(), ValueRange{r});
  return arith::MulFOp::create(b, convertToFloat(b, scale, factor.getType()),
                               factor);
}

/// Row by row in scalars, for any layout and type.
void packScalars(ImplicitLocOpBuilder &b, PackOp op, Value factor) {
  auto destType = cast<MemRefType>(op.getDest().getType());
  Value zero = arith::ConstantIndexOp::create(b, 0);
  auto [rows, allRows] = countRows(b, op);
  Value columns = memref::DimOp::create(b, op.getSource(), 1);
  Value allColumns = arith::ConstantIndexOp::create(b, extentsOf(destType)[1]);
  Type type = factor.getType();
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
  auto storeAt = [&](Value value, Value r, Value d) {
    SmallVector<Value> indices{r, d};
    if (destType.getRank() == 3) {
      Value panel = arith::ConstantIndexOp::create(b, destType.getDimSize(2));
      indices = {arith::DivUIOp::create(b, d, panel), r,
                 arith::RemUIOp::create(b, d, panel)};
    }
    memref::StoreOp::create(b,
                            convertToFloat(b, value, destType.getElementType()),
                            op.getDest(), indices);
  };
  forEach(b, zero, rows, [&](Value r) {
    Value scale = factorOf(b, op, factor, r);
    forEach(b, zero, columns, [&](Value d) {
      Value x = convertToFloat(
          b, memref::LoadOp::create(b, op.getSource(), ValueRange{r, d}), type);
      storeAt(arith::MulFOp::create(b, x, scale), r, d);
    });
    forEach(b, columns, allColumns, [&](Value d) { storeAt(none, r, d); });
  });
  forEach(b, rows, allRows, [&](Value r) {
    forEach(b, zero, allColumns, [&](Value d) { storeAt(none, r, d); });
  });
}

/// Squares of `lanes x lanes`, transposed in registers. Rows past the end
/// repeat the last row: each row of the tile is a lane of its own, and nobody
/// reads those.
void packTransposed(ImplicitLocOpBuilder &b, VectorEmitter &e, PackOp op,
                    Value destT, Value factor) {
  int64_t lanes = e.getLanes();
  auto destType = cast<MemRefType>(op.getDest().getType());
  Value zero = e.index(0);
  Value rows = memref::DimOp::create(b, op.getSource(), 0);
  Value lastRow = arith::SubIOp::create(b, rows, e.index(1));
  Value scale = e.broadcast(factor);
  int64_t allColumns = destType.getDimSize(1);

  auto emitSquare = [&](Value firstRow, Value column, int64_t width) {
    SmallVector<Value> square;
    for (int64_t r = 0; r < lanes; ++r) {
      Value row = arith::MinSIOp::create(
          b, arith::AddIOp::create(b, firstRow, e.index(r)), lastRow);
      Value x = width == lanes
                    ? e.load(op.getSource(), {row, column})
                    : e.maskedLoad(op.getSource(), {row, column},
                                   e.firstLanes(e.index(width)), e.splat(0.0));
      square.push_back(arith::MulFOp::create(b, x, scale));
    }
    square = e.transpose(square);
    for (int64_t d = 0; d < width; ++d)
      e.store(square[d], destT,
              {arith::AddIOp::create(b, column, e.index(d)), firstRow});
  };
  int64_t whole = allColumns / lanes * lanes;
  emitLoop(b, zero, e.index(destType.getDimSize(0)), lanes, {},
           [&](Value row, ValueRange) -> SmallVector<Value> {
             emitLoop(b, zero, e.index(whole), lanes, {},
                      [&](Value column, ValueRange) -> SmallVector<Value> {
                        emitSquare(row, column, lanes);
                        return {};
                      });
             if (whole < allColumns)
               emitSquare(row, e.index(whole), allColumns - whole);
             return {};
           });
}

/// Rows by whole vectors, widened and scaled, or copied in their own type; rows
/// and columns past the end are 0.
void packRows(ImplicitLocOpBuilder &b, VectorEmitter &e, PackOp op,
              Value factor) {
  auto destType = cast<MemRefType>(op.getDest().getType());
  bool copy = destType.getElementType() != e.getType();
  auto type = VectorType::get({copy ? 2 * e.getLanes() : e.getLanes()},
                              destType.getElementType());
  Value zero = e.index(0);
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
  auto [rows, allRows] = countRows(b, op);
  Value columns = memref::DimOp::create(b, op.getSource(), 1);
  // Masks of narrow floats are slow before AVX-512.
  bool whole = cast<MemRefType>(op.getSource().getType()).getDimSize(1) ==
               destType.getDimSize(1);
  auto forEachVector = [&](Value row, function_ref<Value(Value)> vector) {
    emitLoop(b, zero, e.index(destType.getDimSize(1)), type.getDimSize(0), {},
             [&](Value column, ValueRange) -> SmallVector<Value> {
               vector::StoreOp::create(b, vector(column), op.getDest(),
                                       ValueRange{row, column});
               return {};
             });
  };
  forEach(b, zero, rows, [&](Value row) {
    Value scale = copy ? Value() : e.broadcast(factorOf(b, op, factor, row));
    forEachVector(row, [&](Value column) -> Value {
      Value mask;
      if (!whole)
        mask = vector::CreateMaskOp::create(
            b, type.clone(b.getI1Type()),
            ValueRange(arith::SubIOp::create(b, columns, column)));
      if (copy && whole)
        return vector::LoadOp::create(b, type, op.getSource(),
                                      ValueRange{row, column});
      if (copy)
        return vector::MaskedLoadOp::create(
            b, type, op.getSource(), ValueRange{row, column}, mask, none);
      return arith::MulFOp::create(
          b, e.loadWidened(op.getSource(), {row, column}, mask), scale);
    });
  });
  forEach(b, rows, allRows,
          [&](Value row) { forEachVector(row, [&](Value) { return none; }); });
}

/// Pairs of columns, `[C/2, R, 2]`: squares of `lanes` rows times `lanes` pairs
/// transposed in registers. Rows past the end repeat the last row, as in
/// packTransposed.
void packPairs(ImplicitLocOpBuilder &b, VectorEmitter &e, PackOp op) {
  int64_t lanes = e.getLanes();
  auto destType = cast<MemRefType>(op.getDest().getType());
  auto pairs = VectorType::get({2 * lanes}, destType.getElementType());
  VectorType bits = e.vectorType(b.getI32Type());
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(pairs));
  Value rows = memref::DimOp::create(b, op.getSource(), 0);
  Value columns = memref::DimOp::create(b, op.getSource(), 1);
  Value lastRow = arith::SubIOp::create(b, rows, e.index(1));
  Value dest = memref::CollapseShapeOp::create(
      b, op.getDest(), ArrayRef<ReassociationIndices>{{0}, {1, 2}});
  int64_t allPairs = destType.getDimSize(0);
  emitLoop(
      b, e.index(0), e.index(destType.getDimSize(1)), lanes, {},
      [&](Value firstRow, ValueRange) -> SmallVector<Value> {
        emitLoop(
            b, e.index(0), e.index(allPairs), lanes, {},
            [&](Value pair, ValueRange) -> SmallVector<Value> {
              Value column = arith::MulIOp::create(b, pair, e.index(2));
              Value mask = vector::CreateMaskOp::create(
                  b, pairs.clone(b.getI1Type()),
                  ValueRange(arith::SubIOp::create(b, columns, column)));
              SmallVector<Value> square;
              for (int64_t r = 0; r < lanes; ++r) {
                Value row = arith::MinSIOp::create(
                    b, arith::AddIOp::create(b, firstRow, e.index(r)), lastRow);
                Value x = vector::MaskedLoadOp::create(b, pairs, op.getSource(),
                                                       ValueRange{row, column},
                                                       mask, none);
                square.push_back(vector::BitCastOp::create(b, bits, x));
              }
              square = e.transpose(square);
              Value at = arith::MulIOp::create(b, firstRow, e.index(2));
              for (int64_t d = 0; d < lanes; ++d)
                vector::StoreOp::create(
                    b, vector::BitCastOp::create(b, pairs, square[d]), dest,
                    ValueRange{arith::AddIOp::create(b, pair, e.index(d)), at});
              return {};
            });
        return {};
      });
}

/// Panels of `2 * lanes` columns of a source whose columns are rows in memory:
/// `lanes` features of two keys become one vector of pairs, `lanes` of those a
/// square that is transposed in registers.
void packPanels(ImplicitLocOpBuilder &b, VectorEmitter &e, PackOp op,
                Value sourceT) {
  int64_t lanes = e.getLanes();
  auto destType = cast<MemRefType>(op.getDest().getType());
  VectorType half = e.vectorType(destType.getElementType());
  VectorType raw = e.vectorType(b.getI16Type());
  VectorType bits = e.vectorType(b.getI32Type());
  auto pairs = VectorType::get({2 * lanes}, destType.getElementType());
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(half));
  Value keys = memref::DimOp::create(b, sourceT, 0);
  Value features = memref::DimOp::create(b, sourceT, 1);
  Value lastKey = arith::SubIOp::create(b, keys, e.index(1));
  Value shift = arith::ConstantOp::create(
      b, DenseElementsAttr::get(bits, llvm::ArrayRef<int32_t>(16)));
  // A whole panel of padding would have no row to load from.
  Value used = arith::CeilDivUIOp::create(b, keys, e.index(2 * lanes));
  auto store = [&](Value vector, Value panel, Value feature) {
    vector::StoreOp::create(b, vector, op.getDest(),
                            ValueRange{panel, feature, e.index(0)});
  };
  auto loadInside = [&](Value key, Value feature) -> Value {
    Value left = arith::SubIOp::create(b, features, feature);
    Value inside =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, key, keys);
    Value mask =
        e.firstLanes(arith::SelectOp::create(b, inside, left, e.index(0)));
    Value row = arith::MinSIOp::create(b, key, lastKey);
    return vector::MaskedLoadOp::create(b, half, sourceT,
                                        ValueRange{row, feature}, mask, none);
  };
  auto loadWhole = [&](Value key, Value feature) -> Value {
    return vector::LoadOp::create(b, half, sourceT, ValueRange{key, feature});
  };
  auto packPanel = [&](Value panel, function_ref<Value(Value, Value)> load) {
    auto loadRow = [&](Value key, Value feature) -> Value {
      return arith::ExtUIOp::create(
          b, bits, vector::BitCastOp::create(b, raw, load(key, feature)));
    };
    Value firstKey = arith::MulIOp::create(b, panel, e.index(2 * lanes));
    emitLoop(b, e.index(0), e.index(destType.getDimSize(1)), lanes, {},
             [&](Value feature, ValueRange) -> SmallVector<Value> {
               SmallVector<Value> square;
               for (int64_t pair = 0; pair < lanes; ++pair) {
                 Value key =
                     arith::AddIOp::create(b, firstKey, e.index(2 * pair));
                 Value low = loadRow(key, feature);
                 Value high = loadRow(arith::AddIOp::create(b, key, e.index(1)),
                                      feature);
                 square.push_back(arith::OrIOp::create(
                     b, low, arith::ShLIOp::create(b, high, shift)));
               }
               square = e.transpose(square);
               for (int64_t d = 0; d < lanes; ++d)
                 store(vector::BitCastOp::create(b, pairs, square[d]), panel,
                       arith::AddIOp::create(b, feature, e.index(d)));
               return {};
             });
  };
  // Masks of rows past the end would be half of the work.
  Value whole = e.index(0);
  if (cast<MemRefType>(sourceT.getType()).getDimSize(1) ==
      destType.getDimSize(1))
    whole = arith::DivUIOp::create(b, keys, e.index(2 * lanes));
  forEach(b, e.index(0), whole,
          [&](Value panel) { packPanel(panel, loadWhole); });
  forEach(b, whole, used, [&](Value panel) { packPanel(panel, loadInside); });
  forEach(b, used, e.index(destType.getDimSize(0)), [&](Value panel) {
    forEach(b, e.index(0), e.index(destType.getDimSize(1)), [&](Value feature) {
      store(arith::ConstantOp::create(b, b.getZeroAttr(pairs)), panel, feature);
    });
  });
}

} // namespace

LogicalResult attn::lowerPack(RewriterBase &rewriter, PackOp op,
                              TargetAttr target) {
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  auto source = cast<MemRefType>(op.getSource().getType());
  auto dest = cast<MemRefType>(op.getDest().getType());
  Type from = source.getElementType(), to = dest.getElementType();
  FloatType type = to.isF64() ? b.getF64Type() : b.getF32Type();
  int64_t lanes = target.getLanes(type);
  VectorEmitter e(b, target.getIsa(), lanes, type);
  Value factor = e.constant(op.getFactor().convertToDouble());
  int64_t vectorColumns = to == type ? lanes : 2 * lanes;
  // Vectors of 16-bit elements are masked, which AVX-512 alone can, but for
  // whole rows.
  bool isAVX512 = target.getIsa() == ISA::AVX512;
  bool copies = from == to && from.getIntOrFloatBitWidth() == 16 &&
                op.getFactor().isExactlyValue(1.0);
  bool wholeRows =
      source.getDimSize(1) == dest.getDimSize(1) && dest.getRank() == 2;
  copies = copies && (isAVX512 || wholeRows);
  bool widens =
      to == type && from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
  bool unitColumns = hasUnitColumns(op.getSource());
  if (dest.getRank() == 3) {
    Value sourceT = getRowsInnermost(b, op.getSource());
    auto [rowExtent, columnExtent] = extentsOf(dest);
    bool panels = dest.getDimSize(2) == 2 * lanes && rowExtent % lanes == 0 &&
                  hasUnitColumns(op.getDest());
    bool pairs = dest.getDimSize(2) == 2 && rowExtent % lanes == 0 &&
                 columnExtent % (2 * lanes) == 0 &&
                 dest.getLayout().isIdentity();
    if (copies && unitColumns && pairs)
      packPairs(b, e, op);
    else if (copies && sourceT && panels)
      packPanels(b, e, op, sourceT);
    else
      packScalars(b, op, factor);
    rewriter.eraseOp(op);
    return success();
  }
  Value destT = getRowsInnermost(b, op.getDest());
  if (from == type && to == type && unitColumns && destT &&
      source.getDimSize(1) == dest.getDimSize(1) && !dest.isDynamicDim(0) &&
      dest.getDimSize(0) % lanes == 0)
    packTransposed(b, e, op, destT, factor);
  else if ((copies || widens) && unitColumns && hasUnitColumns(op.getDest()) &&
           dest.getDimSize(1) % vectorColumns == 0)
    packRows(b, e, op, factor);
  else
    packScalars(b, op, factor);
  rewriter.eraseOp(op);
  return success();
}
