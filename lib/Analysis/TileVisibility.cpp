//===- TileVisibility.cpp - Which keys a tile of rows can see -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/TileVisibility.h"
#include "LinearIntegers.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

namespace {

/// The largest or the smallest of integers.
struct Extremum {
  SmallVector<Linear, 2> parts;
  bool isLargest = true;

  explicit operator bool() const {
    return llvm::all_of(parts, [](const Linear &x) { return bool(x); });
  }
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

class Evaluator : public LinearIntegers {
public:
  using LinearIntegers::LinearIntegers;

  Visibility run(ArrayRef<Linear> arguments) {
    for (auto [argument, value] : llvm::zip(region.getArguments(), arguments))
      linear[argument] = value;
    auto yield = cast<YieldOp>(region.front().getTerminator());
    return visibilityOf(yield.getValues().front());
  }

  /// Whether the keys that may be visible need not be one range.
  bool hasGap = false;

private:
  //===--------------------------------------------------------------------===//
  // Conditions
  //===--------------------------------------------------------------------===//

  Visibility visibilityOf(Value value) {
    if (auto it = visibilities.find(value); it != visibilities.end())
      return it->second;
    Visibility result = computeVisibility(value);
    visibilities[value] = result;
    return result;
  }

  Visibility computeVisibility(Value value) {
    APInt literal;
    if (matchPattern(value, m_ConstantInt(&literal)))
      return literal.isZero() ? Visibility{{{}, {}, true}, {{}, {}, true}}
                              : Visibility{};
    if (!isInside(value))
      return everywhere(value);
    Operation *op = value.getDefiningOp();
    if (auto compare = dyn_cast_or_null<arith::CmpIOp>(op))
      return compareKeys(compare);
    if (isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
      Visibility x = visibilityOf(op->getOperand(0));
      if (isa<arith::XOrIOp>(op) && matchPattern(op->getOperand(1), m_One()))
        return negation(x);
      Visibility y = visibilityOf(op->getOperand(1));
      return isa<arith::AndIOp>(op)  ? conjunction(x, y)
             : isa<arith::OrIOp>(op) ? disjunction(x, y)
                                     : choice(x, negation(y), y);
    }
    if (isa_and_nonnull<arith::SelectOp>(op))
      return choice(visibilityOf(op->getOperand(0)),
                    visibilityOf(op->getOperand(1)),
                    visibilityOf(op->getOperand(2)));
    if (auto load = dyn_cast_or_null<memref::LoadOp>(op))
      if (Value loaded = loadOnce(load))
        return everywhere(loaded);
    return unknownVisibility(op);
  }

  Visibility conjunction(const Visibility &x, const Visibility &y) {
    return {intersect(x.possible, y.possible), intersect(x.sure, y.sure)};
  }

  Visibility disjunction(const Visibility &x, const Visibility &y) {
    const KeyRange &p = x.possible, &q = y.possible;
    hasGap |= !p.empty && !q.empty && (p.low || q.low) && (p.high || q.high);
    return {hull(p, q), unite(x.sure, y.sure)};
  }

  Visibility negation(const Visibility &x) {
    hasGap |= x.sure.low && x.sure.high;
    return {complement(x.sure, /*outer=*/true),
            complement(x.possible, /*outer=*/false)};
  }

  /// `x` where `condition` holds, else `y`.
  Visibility choice(const Visibility &condition, const Visibility &x,
                    const Visibility &y) {
    return disjunction(conjunction(condition, x),
                       conjunction(negation(condition), y));
  }

  /// A condition that is the same for every row and key.
  Visibility everywhere(Value condition) {
    Value end = select(condition, constant(kLargestConstant * 4),
                       constant(-kLargestConstant * 4));
    return {{{}, end}, {{}, end}};
  }

  Visibility compareKeys(arith::CmpIOp op) {
    using Predicate = arith::CmpIPredicate;
    Predicate predicate = op.getPredicate();
    bool isEqual = predicate == Predicate::eq;
    if (op.getLhs().getType().isInteger(1)) {
      if (!isEqual && predicate != Predicate::ne)
        return unknownVisibility(op);
      Visibility x = visibilityOf(op.getLhs()), y = visibilityOf(op.getRhs());
      return isEqual ? choice(x, y, negation(y)) : choice(x, negation(y), y);
    }
    Extremum x = extremumOf(op.getLhs()), y = extremumOf(op.getRhs());
    if (!x || !y)
      return unknownVisibility(op);
    switch (predicate) {
    case Predicate::sle:
      return atMost(x, y, 0, op);
    case Predicate::sge:
      return atMost(y, x, 0, op);
    case Predicate::slt:
      return atMost(x, y, 1, op);
    case Predicate::sgt:
      return atMost(y, x, 1, op);
    case Predicate::eq:
    case Predicate::ne: {
      Visibility same = conjunction(atMost(x, y, 0, op), atMost(y, x, 0, op));
      return isEqual ? same : negation(same);
    }
    case Predicate::ule:
      return atMostUnsigned(x, y, 0, op);
    case Predicate::uge:
      return atMostUnsigned(y, x, 0, op);
    case Predicate::ult:
      return atMostUnsigned(x, y, 1, op);
    case Predicate::ugt:
      return atMostUnsigned(y, x, 1, op);
    }
    llvm_unreachable("all predicates are handled");
  }

  /// Distances of rows and keys are written as `max(i - j, j - i)` or as an
  /// absolute value; neither is linear, but their parts are.
  Extremum extremumOf(Value value) {
    Operation *op = isInside(value) ? value.getDefiningOp() : nullptr;
    if (isa_and_nonnull<arith::MaxSIOp, arith::MinSIOp>(op)) {
      Linear x = linearOf(op->getOperand(0)), y = linearOf(op->getOperand(1));
      if (x && y && (x.keyFactor || y.keyFactor))
        return {{x, y}, isa<arith::MaxSIOp>(op)};
    }
    if (isa_and_nonnull<math::AbsIOp>(op)) {
      Linear x = linearOf(op->getOperand(0));
      if (x)
        return {
            {x, fitted(difference(point(constant(0), 1), x), value.getType())}};
    }
    return {{linearOf(value)}};
  }

  using IndexBuilder::atMost;
  /// `x + shift <= y`, for the largest or smallest of either.
  Visibility atMost(const Extremum &x, const Extremum &y, int64_t shift,
                    Operation *op) {
    auto overParts = [&](const Extremum &of, bool isAnd, auto part) {
      Visibility result = part(of.parts.front());
      for (const Linear &next : llvm::drop_begin(of.parts))
        result = isAnd ? conjunction(result, part(next))
                       : disjunction(result, part(next));
      return result;
    };
    Linear distance = point(constant(shift), 2);
    return overParts(x, x.isLargest, [&](const Linear &left) {
      return overParts(y, !y.isLargest, [&](const Linear &right) {
        return atMostZero(sum(difference(left, right), distance), op);
      });
    });
  }

  /// `x + shift <= y` of unsigned integers, of which one is assumed not to be
  /// negative: `y`, or if that falls with the key, `x`.
  Visibility atMostUnsigned(const Extremum &x, const Extremum &y, int64_t shift,
                            Operation *op) {
    if (x.parts.size() > 1 || y.parts.size() > 1)
      return unknownVisibility(op);
    Extremum zero{{point(constant(0), 1)}};
    if (y.parts[0].keyFactor < 0) {
      assumeNotNegative(x.parts[0]);
      return negation(
          conjunction(atMost(zero, y, 0, op), atMost(y, x, 1 - shift, op)));
    }
    assumeNotNegative(y.parts[0]);
    return conjunction(atMost(zero, x, 0, op), atMost(x, y, shift, op));
  }

  Visibility unknownVisibility(Operation *op) {
    if (op && !unknownOp)
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
        return select(atMost(r, zero), everything, nothing);
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
             all = hull(first, second);
    Value meet =
        both(atMost(first.low, second.high), atMost(second.low, first.high));
    Value isLonger =
        atLeast(sub(first.high, first.low), sub(second.high, second.low));
    auto pick = [&](Value either, Value x, Value y) {
      return select(meet, either, select(isLonger, x, y));
    };
    return {pick(all.low, first.low, second.low),
            pick(all.high, first.high, second.high)};
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

  llvm::DenseMap<Value, Visibility> visibilities;
};

} // namespace

TileBounds attn::emitTileBounds(ImplicitLocOpBuilder &b, Region &mask,
                                Value batch, Value firstHead, Value lastHead,
                                Value rowBegin, Value rowEnd, Value keyOffset,
                                Value keyCount) {
  IndexBuilder x{b};
  Value zero = x.constant(0), one = x.constant(1);
  Value lastRow = x.sub(rowEnd, one);
  Evaluator evaluator(b, mask, keyCount);
  // j = key + keyOffset.
  Visibility visibility =
      evaluator.run({{0, batch, batch, kPositionBits},
                     {0, firstHead, lastHead, kPositionBits},
                     {0, rowBegin, lastRow, kPositionBits},
                     {1, keyOffset, keyOffset, kPositionBits}});

  auto clamp = [&](Value key, Value low, Value high) {
    return x.max(x.min(key, high), low);
  };
  TileBounds bounds;
  bounds.unknown = evaluator.unknownOp;
  bounds.hasGap = evaluator.hasGap;
  const KeyRange &possible = visibility.possible, &sure = visibility.sure;
  if (possible.empty) {
    bounds.lower = bounds.upper = bounds.fullLower = bounds.fullUpper = zero;
    return bounds;
  }
  // Where an assumption fails, every key is possible, and none is sure.
  auto ifAssumed = [&](Value bound, Value otherwise) {
    return evaluator.assumption
               ? x.select(evaluator.assumption, bound, otherwise)
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
