//===- TileVisibility.cpp - Which keys a tile of rows can see -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/TileVisibility.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

namespace {

/// Constants beyond this could overflow the 64-bit sums and are not analysed.
constexpr int64_t kLargestConstant = int64_t(1) << 40;

/// An integer of the region as `keyFactor * j + r` with r in [low, high].
struct Linear {
  int64_t keyFactor = 0;
  Value low, high;

  explicit operator bool() const { return static_cast<bool>(low); }
  bool isPoint() const { return keyFactor == 0 && low == high; }
};

/// A half-open range of keys; a null end is unbounded.
struct KeyRange {
  Value low, high;
  bool empty = false;
};

/// What is known of an i1 of the region: keys for which it may hold for some
/// row, and keys for which it holds for every row.
struct Visibility {
  KeyRange possible, sure;
  static Visibility unknown() { return {{}, {{}, {}, true}}; }
};

class Evaluator {
public:
  Evaluator(ImplicitLocOpBuilder &b, Region &region) : b(b), region(region) {}

  Visibility run(ArrayRef<Linear> arguments) {
    for (auto [argument, value] : llvm::zip(region.getArguments(), arguments))
      linear[argument] = value;
    auto yield = cast<YieldOp>(region.front().getTerminator());
    return visibilityOf(yield.getValues().front());
  }

  Operation *unknownOp = nullptr;
  /// i1: whether every value from outside is small enough for sums of a few of
  /// them not to overflow; null when there is none.
  Value inRange;

private:
  //===--------------------------------------------------------------------===//
  // Scalar arithmetic; null operands are handled by the callers
  //===--------------------------------------------------------------------===//

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(x, y); }
  Value min(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(x, y); }
  Value max(Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(x, y); }
  Value less(arith::CmpIPredicate predicate, Value x, Value y) {
    return b.createOrFold<arith::CmpIOp>(predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return b.createOrFold<arith::SelectOp>(condition, x, y);
  }

  bool isInside(Value value) {
    return region.isAncestor(value.getParentRegion());
  }

  Value toIndex(Value value) {
    if (value.getType().isIndex())
      return value;
    return arith::IndexCastOp::create(b, b.getIndexType(), value);
  }

  Linear point(Value value) { return {0, value, value}; }

  /// A value that is known at run time only, converted to index.
  Linear outsidePoint(Value original) {
    Value value = toIndex(original);
    if (!original.getType().isIndex() &&
        original.getType().getIntOrFloatBitWidth() <= 32)
      return point(value);
    Value limit = constant(kLargestConstant);
    Value below = less(arith::CmpIPredicate::sle, value, limit);
    Value above =
        less(arith::CmpIPredicate::sge, value, constant(-kLargestConstant));
    Value small = b.createOrFold<arith::AndIOp>(below, above);
    inRange = inRange ? b.createOrFold<arith::AndIOp>(inRange, small) : small;
    return point(value);
  }

  //===--------------------------------------------------------------------===//
  // Integers
  //===--------------------------------------------------------------------===//

  Linear linearOf(Value value) {
    auto [it, inserted] = linear.try_emplace(value);
    if (!inserted)
      return it->second;
    Linear result = computeLinear(value);
    if (!result && !unknownOp)
      unknownOp = value.getDefiningOp();
    return linear[value] = result;
  }

  Linear computeLinear(Value value) {
    APInt literal;
    if (matchPattern(value, m_ConstantInt(&literal))) {
      if (literal.getSignificantBits() > 41 ||
          std::abs(literal.getSExtValue()) > kLargestConstant)
        return {};
      return point(constant(literal.getSExtValue()));
    }
    if (!isInside(value)) {
      if (!value.getType().isIntOrIndex() || value.getType().isInteger(1))
        return {};
      return outsidePoint(value);
    }
    Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    if (isa<arith::AddIOp, arith::SubIOp>(op)) {
      // Sums of narrow integers wrap.
      if (!value.getType().isIndex() && !value.getType().isInteger(64))
        return {};
      Linear x = linearOf(op->getOperand(0)), y = linearOf(op->getOperand(1));
      if (!x || !y)
        return {};
      return isa<arith::AddIOp>(op) ? sum(x, y) : difference(x, y);
    }
    if (isa<arith::MinSIOp, arith::MaxSIOp>(op)) {
      Linear x = linearOf(op->getOperand(0)), y = linearOf(op->getOperand(1));
      if (!x || !y || x.keyFactor || y.keyFactor)
        return {};
      bool isMin = isa<arith::MinSIOp>(op);
      return {0, isMin ? min(x.low, y.low) : max(x.low, y.low),
              isMin ? min(x.high, y.high) : max(x.high, y.high)};
    }
    if (isa<arith::IndexCastOp, arith::ExtSIOp>(op)) {
      // Narrowing a 64-bit index may wrap.
      Type from = op->getOperand(0).getType(), to = value.getType();
      unsigned fromBits = from.isIndex() ? 64 : from.getIntOrFloatBitWidth();
      unsigned toBits = to.isIndex() ? 64 : to.getIntOrFloatBitWidth();
      return toBits < fromBits ? Linear() : linearOf(op->getOperand(0));
    }
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return loadPoint(load);
    return {};
  }

  Linear sum(const Linear &x, const Linear &y) {
    return {x.keyFactor + y.keyFactor, add(x.low, y.low), add(x.high, y.high)};
  }

  Linear difference(const Linear &x, const Linear &y) {
    return {x.keyFactor - y.keyFactor, sub(x.low, y.high), sub(x.high, y.low)};
  }

  /// A load whose indices are the same for the whole tile is done once.
  Linear loadPoint(memref::LoadOp load) {
    if (isInside(load.getMemRef()) || load.getType().isInteger(1) ||
        !load.getType().isIntOrIndex())
      return {};
    SmallVector<Value> indices;
    for (auto [dim, index] : llvm::enumerate(load.getIndices())) {
      Linear i = linearOf(index);
      if (!i || !i.isPoint())
        return {};
      Value extent = memref::DimOp::create(b, load.getMemRef(), dim);
      Value last = sub(extent, constant(1));
      indices.push_back(max(min(i.low, last), constant(0)));
    }
    return point(toIndex(memref::LoadOp::create(b, load.getMemRef(), indices)));
  }

  //===--------------------------------------------------------------------===//
  // Conditions
  //===--------------------------------------------------------------------===//

  Visibility visibilityOf(Value value) {
    APInt literal;
    if (matchPattern(value, m_ConstantInt(&literal)))
      return literal.isZero() ? Visibility{{{}, {}, true}, {{}, {}, true}}
                              : Visibility{};
    Operation *op = isInside(value) ? value.getDefiningOp() : nullptr;
    if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op))
      return compareKeys(compare);
    if (auto conjunction = dyn_cast_or_null<arith::AndIOp>(op)) {
      Visibility x = visibilityOf(conjunction.getLhs());
      Visibility y = visibilityOf(conjunction.getRhs());
      return {intersect(x.possible, y.possible), intersect(x.sure, y.sure)};
    }
    if (auto disjunction = dyn_cast_or_null<arith::OrIOp>(op)) {
      Visibility x = visibilityOf(disjunction.getLhs());
      Visibility y = visibilityOf(disjunction.getRhs());
      return {hull(x.possible, y.possible), unite(x.sure, y.sure)};
    }
    if (auto negation = dyn_cast_or_null<arith::XOrIOp>(op)) {
      Value inner = negation.getLhs();
      if (matchPattern(negation.getRhs(), m_One())) {
        Visibility x = visibilityOf(inner);
        return {complement(x.sure, /*outer=*/true),
                complement(x.possible, /*outer=*/false)};
      }
    }
    if (op && !unknownOp)
      unknownOp = op;
    return Visibility::unknown();
  }

  Visibility compareKeys(arith::CmpIOp op) {
    Linear x = linearOf(op.getLhs()), y = linearOf(op.getRhs());
    if (!x || !y)
      return Visibility::unknown();
    Value one = constant(1);
    switch (op.getPredicate()) {
    case arith::CmpIPredicate::sle:
      return atMostZero(difference(x, y), op);
    case arith::CmpIPredicate::sge:
      return atMostZero(difference(y, x), op);
    case arith::CmpIPredicate::slt:
      return atMostZero(sum(difference(x, y), point(one)), op);
    case arith::CmpIPredicate::sgt:
      return atMostZero(sum(difference(y, x), point(one)), op);
    case arith::CmpIPredicate::eq: {
      Visibility below = atMostZero(difference(x, y), op);
      Visibility above = atMostZero(difference(y, x), op);
      return {intersect(below.possible, above.possible),
              intersect(below.sure, above.sure)};
    }
    default:
      if (!unknownOp)
        unknownOp = op;
      return Visibility::unknown();
    }
  }

  /// `keyFactor * j + r <= 0` with r in [low, high].
  Visibility atMostZero(const Linear &x, Operation *op) {
    Value zero = constant(0), one = constant(1);
    switch (x.keyFactor) {
    case 1: // j <= -r
      return {{{}, sub(one, x.low)}, {{}, sub(one, x.high)}};
    case -1: // j >= r
      return {{x.low, {}}, {x.high, {}}};
    case 0: { // the same for every key
      Value everything = constant(kLargestConstant * 4);
      Value nothing = constant(-kLargestConstant * 4);
      auto when = [&](Value r) {
        return select(less(arith::CmpIPredicate::sle, r, zero), everything,
                      nothing);
      };
      return {{{}, when(x.low)}, {{}, when(x.high)}};
    }
    default:
      if (!unknownOp)
        unknownOp = op;
      return Visibility::unknown();
    }
  }

  //===--------------------------------------------------------------------===//
  // Key ranges
  //===--------------------------------------------------------------------===//

  KeyRange intersect(const KeyRange &x, const KeyRange &y) {
    if (x.empty || y.empty)
      return {{}, {}, true};
    return {x.low && y.low ? max(x.low, y.low)
            : x.low        ? x.low
                           : y.low,
            x.high && y.high ? min(x.high, y.high)
            : x.high         ? x.high
                             : y.high};
  }

  /// The smallest range that holds both (an outer bound).
  KeyRange hull(const KeyRange &x, const KeyRange &y) {
    if (x.empty)
      return y;
    if (y.empty)
      return x;
    return {x.low && y.low ? min(x.low, y.low) : Value(),
            x.high && y.high ? max(x.high, y.high) : Value()};
  }

  /// A range inside the union (an inner bound): all of it where the two are
  /// half-lines of one direction, else the first.
  KeyRange unite(const KeyRange &x, const KeyRange &y) {
    if (x.empty)
      return y;
    if (y.empty)
      return x;
    if (!x.low && !y.low)
      return hull(x, y);
    if (!x.high && !y.high)
      return hull(x, y);
    return x;
  }

  /// Keys outside `x`, when that is a range; else everything for an outer bound
  /// and nothing for an inner one.
  KeyRange complement(const KeyRange &x, bool outer) {
    if (x.empty)
      return {};
    if (!x.low && !x.high)
      return {{}, {}, true};
    if (!x.low)
      return {x.high, {}};
    if (!x.high)
      return {{}, x.low};
    return {{}, {}, !outer};
  }

  ImplicitLocOpBuilder &b;
  Region &region;
  llvm::DenseMap<Value, Linear> linear;
};

} // namespace

TileBounds attn::emitTileBounds(ImplicitLocOpBuilder &b, Region &mask,
                                Value batch, Value firstHead, Value lastHead,
                                Value rowBegin, Value rowEnd, Value keyOffset,
                                Value keyCount) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value lastRow = b.createOrFold<arith::SubIOp>(rowEnd, one);
  Evaluator evaluator(b, mask);
  // j = key + keyOffset.
  Visibility visibility = evaluator.run({{0, batch, batch},
                                         {0, firstHead, lastHead},
                                         {0, rowBegin, lastRow},
                                         {1, keyOffset, keyOffset}});

  auto clamp = [&](Value x, Value low, Value high) {
    return b.createOrFold<arith::MaxSIOp>(
        b.createOrFold<arith::MinSIOp>(x, high), low);
  };
  TileBounds bounds;
  bounds.unknown = evaluator.unknownOp;
  const KeyRange &possible = visibility.possible, &sure = visibility.sure;
  if (possible.empty) {
    bounds.lower = bounds.upper = bounds.fullLower = bounds.fullUpper = zero;
    return bounds;
  }
  // Sums of values that are too large may have wrapped: every key is possible
  // then, and none is sure.
  auto unlessWrapped = [&](Value bound, Value otherwise) {
    return evaluator.inRange ? b.createOrFold<arith::SelectOp>(
                                   evaluator.inRange, bound, otherwise)
                             : bound;
  };
  bounds.lower = unlessWrapped(
      possible.low ? clamp(possible.low, zero, keyCount) : zero, zero);
  bounds.upper = unlessWrapped(
      possible.high ? clamp(possible.high, bounds.lower, keyCount) : keyCount,
      keyCount);
  if (sure.empty) {
    bounds.fullLower = bounds.fullUpper = bounds.upper;
    return bounds;
  }
  bounds.fullLower =
      sure.low ? clamp(sure.low, bounds.lower, bounds.upper) : bounds.lower;
  bounds.fullUpper =
      unlessWrapped(sure.high ? clamp(sure.high, bounds.fullLower, bounds.upper)
                              : bounds.upper,
                    bounds.fullLower);
  return bounds;
}
