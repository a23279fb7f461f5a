//===- TileVisibility.cpp - Which keys a tile of rows can see -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/TileVisibility.h"
#include "attn/Analysis/ProgramSlice.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

namespace {

/// Values from outside and constants are at most this, or not analysed.
constexpr int64_t kLargestConstant = int64_t(1) << 40;
/// Divisors and factors are at most this: products with bounds then fit.
constexpr int64_t kLargestDivisor = int64_t(1) << 21;
/// Magnitudes are tracked in bits; beyond this many, sums could overflow.
constexpr unsigned kLargestBits = 60;

/// Shifts of dividends stay below this many bits.
constexpr unsigned kQuotientBits = 41;

/// An integer of the region as `keyFactor * ((j + shift) div divisor) + r`,
/// rounded down, with shift and r in intervals. Without a divisor, which is the
/// rule, the shift is in r.
struct Linear {
  Linear() = default;
  Linear(int64_t keyFactor, Value low, Value high, unsigned bits = 41)
      : keyFactor(keyFactor), low(low), high(high), bits(bits) {}

  int64_t keyFactor = 0;
  Value low, high;
  Value shiftLow, shiftHigh, divisor;
  /// Every magnitude is below 2^bits.
  unsigned bits = 41;

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
  Evaluator(ImplicitLocOpBuilder &b, Region &region, Value keyCount)
      : b(b), region(region), keyCount(keyCount) {}

  Visibility run(ArrayRef<Linear> arguments) {
    for (auto [argument, value] : llvm::zip(region.getArguments(), arguments))
      linear[argument] = value;
    auto yield = cast<YieldOp>(region.front().getTerminator());
    return visibilityOf(yield.getValues().front());
  }

  Operation *unknownOp = nullptr;
  /// i1: whether what the bounds assume of run-time values holds: that those
  /// from outside are too small for sums of them to overflow, and that
  /// divisions round down. Null when nothing is assumed.
  Value assumption;

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
  Value mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(x, y); }
  Value floorDiv(Value x, Value y) {
    return b.createOrFold<arith::FloorDivSIOp>(x, y);
  }
  Value less(arith::CmpIPredicate predicate, Value x, Value y) {
    return b.createOrFold<arith::CmpIOp>(predicate, x, y);
  }
  Value select(Value condition, Value x, Value y) {
    return b.createOrFold<arith::SelectOp>(condition, x, y);
  }

  void assume(Value condition) {
    assumption = assumption
                     ? b.createOrFold<arith::AndIOp>(assumption, condition)
                     : condition;
  }

  bool isInside(Value value) {
    return region.isAncestor(value.getParentRegion());
  }

  /// Whether `type` is of integers that fit an index.
  static bool isInteger(Type type) {
    return type.isIndex() || (type.isInteger() && !type.isInteger(1) &&
                              type.getIntOrFloatBitWidth() <= 64);
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
    assume(b.createOrFold<arith::AndIOp>(below, above));
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
      unknownOp = getIntegerOp(value, region);
    return linear[value] = result;
  }

  Linear computeLinear(Value value) {
    APInt literal;
    if (matchPattern(value, m_ConstantInt(&literal))) {
      // With the sign, the largest one has 42 bits.
      if (literal.getSignificantBits() > 42 ||
          std::abs(literal.getSExtValue()) > kLargestConstant)
        return {};
      return point(constant(literal.getSExtValue()));
    }
    if (!isInside(value))
      return isInteger(value.getType()) ? outsidePoint(value) : Linear();
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
    if (auto product = dyn_cast<arith::MulIOp>(op))
      return multiple(product);
    if (isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp>(op))
      return quotient(op);
    if (isa<arith::RemUIOp, arith::RemSIOp>(op))
      return remainder(op);
    if (isa<arith::MinSIOp, arith::MaxSIOp>(op)) {
      Linear x = linearOf(op->getOperand(0)), y = linearOf(op->getOperand(1));
      if (!x || !y || x.keyFactor || y.keyFactor)
        return {};
      bool isMin = isa<arith::MinSIOp>(op);
      return {0, isMin ? min(x.low, y.low) : max(x.low, y.low),
              isMin ? min(x.high, y.high) : max(x.high, y.high),
              std::max(x.bits, y.bits)};
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

  /// The key part of `x` and `y` together, which must be of one kind, and the
  /// interval [low, high].
  Linear combine(const Linear &x, const Linear &y, int64_t keyFactor, Value low,
                 Value high) {
    if (x.keyFactor && y.keyFactor && (x.divisor || y.divisor))
      return {};
    Linear result = x.keyFactor ? x : y;
    result.keyFactor = keyFactor;
    result.low = low;
    result.high = high;
    result.bits = std::max(x.bits, y.bits) + 1;
    return result.bits <= kLargestBits ? result : Linear();
  }

  Linear sum(const Linear &x, const Linear &y) {
    if (!x || !y)
      return {};
    return combine(x, y, x.keyFactor + y.keyFactor, add(x.low, y.low),
                   add(x.high, y.high));
  }

  Linear difference(const Linear &x, const Linear &y) {
    return combine(x, y, x.keyFactor - y.keyFactor, sub(x.low, y.high),
                   sub(x.high, y.low));
  }

  /// A product with a constant.
  Linear multiple(arith::MulIOp op) {
    if (!op.getType().isIndex() && !op.getType().isInteger(64))
      return {};
    Value other = op.getLhs();
    APInt literal;
    if (!matchPattern(op.getRhs(), m_ConstantInt(&literal))) {
      other = op.getRhs();
      if (!matchPattern(op.getLhs(), m_ConstantInt(&literal)))
        return {};
    }
    Linear x = linearOf(other);
    if (!x || literal.isZero() || literal.getSignificantBits() > 22 ||
        std::abs(literal.getSExtValue()) > kLargestDivisor)
      return {};
    int64_t factor = literal.getSExtValue();
    x.bits += llvm::Log2_64_Ceil(std::abs(factor));
    x.keyFactor *= factor;
    if (x.bits > kLargestBits)
      return {};
    Value f = constant(factor);
    Value low = mul(x.low, f), high = mul(x.high, f);
    x.low = factor > 0 ? low : high;
    x.high = factor > 0 ? high : low;
    return x;
  }

  /// A divisor from the region: positive and not too large, or assumed to be.
  Value divisorOf(Value value) {
    Linear y = linearOf(value);
    if (!y || !y.isPoint())
      return {};
    APInt literal;
    if (matchPattern(value, m_ConstantInt(&literal)))
      return literal.isStrictlyPositive() && literal.ule(kLargestDivisor)
                 ? y.low
                 : Value();
    Value one = constant(1);
    assume(less(arith::CmpIPredicate::sge, y.low, one));
    assume(less(arith::CmpIPredicate::sle, y.low, constant(kLargestDivisor)));
    return max(y.low, one);
  }

  /// The dividend and the divisor of `op`, for which it rounds down.
  std::pair<Linear, Value> operandsOfDivision(Operation *op) {
    Linear x = linearOf(op->getOperand(0));
    if (!x || x.divisor || (x.keyFactor != 0 && x.keyFactor != 1))
      return {};
    Value divisor = divisorOf(op->getOperand(1));
    // Keys are at least 0, so r says whether the dividend is.
    if (divisor && !isa<arith::FloorDivSIOp>(op))
      assume(less(arith::CmpIPredicate::sge, x.low, constant(0)));
    return {x, divisor};
  }

  Linear quotient(Operation *op) {
    auto [x, divisor] = operandsOfDivision(op);
    if (!divisor)
      return {};
    if (x.keyFactor == 0)
      return {0, floorDiv(x.low, divisor), floorDiv(x.high, divisor), x.bits};
    // Quotients are cut to what keys reach: see cut().
    if (x.bits > kQuotientBits)
      return {};
    Linear result = x;
    result.shiftLow = x.low;
    result.shiftHigh = x.high;
    result.divisor = divisor;
    result.low = result.high = constant(0);
    return result;
  }

  Linear remainder(Operation *op) {
    auto [x, divisor] = operandsOfDivision(op);
    if (!divisor)
      return {};
    Value zero = constant(0), last = sub(divisor, constant(1));
    if (x.keyFactor != 0)
      return {0, zero, last};
    Value first = floorDiv(x.low, divisor);
    Value same =
        less(arith::CmpIPredicate::eq, first, floorDiv(x.high, divisor));
    Value base = mul(first, divisor);
    return {0, select(same, sub(x.low, base), zero),
            select(same, sub(x.high, base), last)};
  }

  /// A load whose indices are the same for the whole tile is done once.
  Linear loadPoint(memref::LoadOp load) {
    if (isInside(load.getMemRef()) || !isInteger(load.getType()))
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
      return unknownVisibility(op);
    Linear one = point(constant(1));
    switch (op.getPredicate()) {
    case arith::CmpIPredicate::sle:
      return atMostZero(difference(x, y), op);
    case arith::CmpIPredicate::sge:
      return atMostZero(difference(y, x), op);
    case arith::CmpIPredicate::slt:
      return atMostZero(sum(difference(x, y), one), op);
    case arith::CmpIPredicate::sgt:
      return atMostZero(sum(difference(y, x), one), op);
    case arith::CmpIPredicate::eq: {
      Visibility below = atMostZero(difference(x, y), op);
      Visibility above = atMostZero(difference(y, x), op);
      return {intersect(below.possible, above.possible),
              intersect(below.sure, above.sure)};
    }
    default:
      return unknownVisibility(op);
    }
  }

  Visibility unknownVisibility(Operation *op) {
    if (!unknownOp)
      unknownOp = op;
    return Visibility::unknown();
  }

  /// `keyFactor * ((j + shift) div divisor) + r <= 0`.
  Visibility atMostZero(const Linear &x, Operation *op) {
    if (!x)
      return unknownVisibility(op);
    if (x.keyFactor == 0) { // the same for every key
      Value zero = constant(0);
      Value everything = constant(kLargestConstant * 4);
      Value nothing = constant(-kLargestConstant * 4);
      auto when = [&](Value r) {
        return select(less(arith::CmpIPredicate::sle, r, zero), everything,
                      nothing);
      };
      return {{{}, when(x.low)}, {{}, when(x.high)}};
    }
    if (x.keyFactor > 0) // at most -r / keyFactor
      return {{{}, keysUpTo(x, x.low, x.shiftLow)},
              {{}, keysUpTo(x, x.high, x.shiftHigh)}};
    return {{keysFrom(x, x.low, x.shiftHigh), {}},
            {keysFrom(x, x.high, x.shiftLow), {}}};
  }

  /// A quotient cut to what keys reach from shifts below 2^kQuotientBits, so
  /// that products do not overflow.
  Value cut(Value quotient) {
    return max(min(quotient, constant(2 * kLargestConstant)),
               constant(-2 * kLargestConstant));
  }

  /// The first key beyond `keyFactor * ((j + shift) div divisor) <= -r`.
  Value keysUpTo(const Linear &x, Value r, Value shift) {
    Value one = constant(1);
    Value next =
        x.keyFactor == 1
            ? sub(one, r)
            : add(floorDiv(sub(constant(0), r), constant(x.keyFactor)), one);
    return x.divisor ? sub(mul(cut(next), x.divisor), shift) : next;
  }

  /// The first key of `-keyFactor * ((j + shift) div divisor) >= r`.
  Value keysFrom(const Linear &x, Value r, Value shift) {
    Value first = r;
    if (x.keyFactor != -1) // r / -keyFactor, rounded up
      first = sub(constant(0),
                  floorDiv(sub(constant(0), r), constant(-x.keyFactor)));
    return x.divisor ? sub(mul(cut(first), x.divisor), shift) : first;
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

  /// A range inside the union (an inner bound): all of it where the two meet,
  /// else the longer one.
  KeyRange unite(const KeyRange &x, const KeyRange &y) {
    if (x.empty)
      return y;
    if (y.empty)
      return x;
    if ((!x.low && !y.low) || (!x.high && !y.high))
      return hull(x, y);
    auto concrete = [&](const KeyRange &range) {
      Value zero = constant(0);
      return KeyRange{range.low ? max(range.low, zero) : zero,
                      range.high ? min(range.high, keyCount) : keyCount};
    };
    KeyRange first = concrete(x), second = concrete(y),
             both = hull(first, second);
    Value meet = b.createOrFold<arith::AndIOp>(
        less(arith::CmpIPredicate::sle, first.low, second.high),
        less(arith::CmpIPredicate::sle, second.low, first.high));
    Value isLonger = less(arith::CmpIPredicate::sge, sub(first.high, first.low),
                          sub(second.high, second.low));
    auto pick = [&](Value either, Value x, Value y) {
      return select(meet, either, select(isLonger, x, y));
    };
    return {pick(both.low, first.low, second.low),
            pick(both.high, first.high, second.high)};
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
  Value keyCount;
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
  Evaluator evaluator(b, mask, keyCount);
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
  // Where an assumption fails, every key is possible, and none is sure.
  auto ifAssumed = [&](Value bound, Value otherwise) {
    return evaluator.assumption ? b.createOrFold<arith::SelectOp>(
                                      evaluator.assumption, bound, otherwise)
                                : bound;
  };
  bounds.lower = ifAssumed(
      possible.low ? clamp(possible.low, zero, keyCount) : zero, zero);
  bounds.upper = ifAssumed(
      possible.high ? clamp(possible.high, bounds.lower, keyCount) : keyCount,
      keyCount);
  if (sure.empty) {
    bounds.fullLower = bounds.fullUpper = bounds.upper;
    return bounds;
  }
  bounds.fullLower =
      sure.low ? clamp(sure.low, bounds.lower, bounds.upper) : bounds.lower;
  bounds.fullUpper =
      ifAssumed(sure.high ? clamp(sure.high, bounds.fullLower, bounds.upper)
                          : bounds.upper,
                bounds.fullLower);
  return bounds;
}
