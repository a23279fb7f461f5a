//===- IntervalIntegers.cpp - Integers of a mask program by block ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntervalIntegers.h"
#include "attn/Analysis/ProgramSlice.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

/// Integers of more bits are not known not to overflow.
constexpr unsigned kLargestBits = 62;

Interval IntervalIntegers::intervalOf(Value value) {
  if (auto it = intervals.find(value); it != intervals.end())
    return it->second;
  Interval result = computeInterval(value);
  if (!result && !unknown)
    unknown = getIntegerOp(value, mask);
  return intervals[value] = result;
}

Interval IntervalIntegers::computeInterval(Value value) {
  APInt literal;
  if (matchPattern(value, m_ConstantInt(&literal))) {
    unsigned bits = literal.getSignificantBits();
    if (bits > 64)
      return {};
    Value point = constant(literal.getSExtValue());
    return {point, point, bits, bits, /*isNarrow=*/true};
  }
  if (!mask.isAncestor(value.getParentRegion())) {
    if (!value.getType().isIntOrIndex() || bitsOf(value.getType()) > 64)
      return {};
    Value point = toIndex(value);
    unsigned bits = bitsOf(value.getType());
    return {point, point, bits, bits, /*isNarrow=*/true};
  }
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return sumOf(op);
  if (isa<arith::MulIOp, arith::ShLIOp>(op))
    return productOf(op);
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
    return quotientOf(op);
  if (isa<arith::RemUIOp, arith::RemSIOp>(op))
    return remainderOf(op);
  if (isa<math::AbsIOp>(op)) {
    Interval x = intervalOf(op->getOperand(0));
    if (!x || std::max(x.lowBits, x.highBits) > kLargestBits)
      return {};
    unsigned bits = std::max(x.lowBits, x.highBits);
    Value opposite = sub(constant(0), x.low);
    return fitted({max(max(x.low, constant(0)), sub(constant(0), x.high)),
                   max(opposite, x.high), bits, bits, x.isNarrow},
                  value.getType());
  }
  if (isa<arith::MinSIOp, arith::MaxSIOp>(op)) {
    Interval x = intervalOf(op->getOperand(0)),
             y = intervalOf(op->getOperand(1));
    if (!x || !y)
      return {};
    bool isNarrow = x.isNarrow && y.isNarrow;
    if (isa<arith::MinSIOp>(op))
      return {min(x.low, y.low), min(x.high, y.high),
              std::max(x.lowBits, y.lowBits), std::min(x.highBits, y.highBits),
              isNarrow};
    return {max(x.low, y.low), max(x.high, y.high),
            std::min(x.lowBits, y.lowBits), std::max(x.highBits, y.highBits),
            isNarrow};
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op)) {
    Interval x = intervalOf(op->getOperand(0));
    return x ? fitted(x, value.getType()) : Interval();
  }
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return gather(load);
  return {};
}

Interval IntervalIntegers::fitted(Interval x, Type type) {
  unsigned bits = bitsOf(type);
  if (bits >= 64 || std::max(x.lowBits, x.highBits) < bits)
    return x;
  if (bits == 1)
    return {};
  return within(x, int64_t(1) << (bits - 1), bits);
}

Interval IntervalIntegers::within(Interval x, int64_t limit, unsigned bits) {
  Value least = constant(-limit), largest = constant(limit - 1);
  Value fits = both(atMost(least, x.low), atMost(x.high, largest));
  return {select(fits, x.low, least), select(fits, x.high, largest), bits, bits,
          x.isNarrow};
}

Interval IntervalIntegers::sumOf(Operation *op) {
  Interval x = intervalOf(op->getOperand(0)), y = intervalOf(op->getOperand(1));
  if (!x || !y)
    return {};
  bool isSum = isa<arith::AddIOp>(op);
  Value low = isSum ? add(x.low, y.low) : sub(x.low, y.high);
  Value high = isSum ? add(x.high, y.high) : sub(x.high, y.low);
  bool isNarrow = x.isNarrow && y.isNarrow;
  Type type = op->getResult(0).getType();
  unsigned bits = 1 + std::max({x.lowBits, x.highBits, y.lowBits, y.highBits});
  if (bits <= kLargestBits)
    return fitted({low, high, bits, bits, isNarrow}, type);
  // Large sums wrap.
  Value limit = constant(int64_t(1) << (kLargestBits - 1));
  Value least = constant(-(int64_t(1) << (kLargestBits - 1)));
  auto isSmall = [&](const Interval &z) {
    return both(atMost(least, z.low), atMost(z.high, limit));
  };
  Value fits = both(isSmall(x), isSmall(y));
  return fitted({select(fits, low, constant(INT64_MIN)),
                 select(fits, high, constant(INT64_MAX)), 64, 64, isNarrow},
                type);
}

std::pair<Value, int64_t> IntervalIntegers::scaleOf(Operation *op) {
  Value other = op->getOperand(0);
  APInt literal;
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&literal))) {
    other = op->getOperand(1);
    if (!isa<arith::MulIOp>(op) ||
        !matchPattern(op->getOperand(0), m_ConstantInt(&literal)))
      return {};
  }
  constexpr unsigned kScaleBits = 21;
  // A shift by the width or more is poison.
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
    return literal.ult(std::min(kScaleBits, bitsOf(other.getType())))
               ? std::pair(other, int64_t(1) << literal.getZExtValue())
               : std::pair(Value(), int64_t(0));
  if (literal.getSignificantBits() > kScaleBits)
    return {};
  return {other, literal.getSExtValue()};
}

Interval IntervalIntegers::productOf(Operation *op) {
  auto [other, factor] = scaleOf(op);
  Interval x = other ? intervalOf(other) : Interval();
  if (!x || factor == 0)
    return {};
  unsigned bits =
      std::max(x.lowBits, x.highBits) + llvm::Log2_64_Ceil(std::abs(factor));
  if (bits > kLargestBits)
    return {};
  Value f = constant(factor), low = mul(x.low, f), high = mul(x.high, f);
  if (factor < 0)
    std::swap(low, high);
  return fitted({low, high, bits, bits, x.isNarrow && std::abs(factor) < 8},
                op->getResult(0).getType());
}

std::pair<Interval, Value> IntervalIntegers::operandsOfDivision(Operation *op) {
  auto [other, divisor] = scaleOf(op);
  if (!other || divisor < 1)
    return {};
  Interval x = intervalOf(other);
  if (!x || std::max(x.lowBits, x.highBits) > kLargestBits)
    return {};
  return {x, constant(divisor)};
}

Interval IntervalIntegers::quotientOf(Operation *op) {
  std::pair<Interval, Value> operands = operandsOfDivision(op);
  const Interval &x = operands.first;
  Value divisor = operands.second;
  if (!x)
    return {};
  auto divide = [&](Value dividend) -> Value {
    if (isa<arith::CeilDivSIOp>(op))
      return b.createOrFold<arith::CeilDivSIOp>(dividend, divisor);
    if (isa<arith::FloorDivSIOp, arith::ShRSIOp>(op))
      return floorDiv(dividend, divisor);
    return b.createOrFold<arith::DivSIOp>(dividend, divisor);
  };
  Interval result = {divide(x.low), divide(x.high), x.lowBits, x.highBits,
                     x.isNarrow};
  if (!isa<arith::DivUIOp, arith::ShRUIOp>(op))
    return result;
  // A negative dividend is a large one.
  Value isKnown = atLeast(x.low, constant(0));
  return {select(isKnown, result.low, constant(INT64_MIN)),
          select(isKnown, result.high, constant(INT64_MAX)), 64, 64,
          x.isNarrow};
}

Interval IntervalIntegers::remainderOf(Operation *op) {
  auto [x, divisor] = operandsOfDivision(op);
  if (!x)
    return {};
  Value zero = constant(0);
  Value last = sub(divisor, constant(1));
  Value quotient = b.createOrFold<arith::DivSIOp>(x.low, divisor);
  Value isPositive = atLeast(x.low, zero);
  Value same =
      both(isPositive,
           equal(quotient, b.createOrFold<arith::DivSIOp>(x.high, divisor)));
  Value base = mul(quotient, divisor);
  Value least = isa<arith::RemUIOp>(op)
                    ? zero
                    : select(isPositive, zero, sub(zero, last));
  return {select(same, sub(x.low, base), least),
          select(same, sub(x.high, base), last), 21, 21, x.isNarrow};
}
