//===- LinearIntegers.cpp - Integers of a mask program by key -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinearIntegers.h"
#include "attn/Analysis/ProgramSlice.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

/// Divisors and factors are at most this: products with bounds then fit.
constexpr int64_t kLargestDivisor = int64_t(1) << 21;
/// Magnitudes are tracked in bits; beyond this many, sums could overflow.
constexpr unsigned kLargestBits = 60;

/// Shifts of dividends stay below this many bits.
constexpr unsigned kQuotientBits = 41;

Linear LinearIntegers::outsidePoint(Value original) {
  Value value = toIndex(original);
  if (!original.getType().isIndex() &&
      original.getType().getIntOrFloatBitWidth() <= 32)
    return point(value);
  Value limit = constant(kLargestConstant);
  Value below = atMost(value, limit);
  Value above = atLeast(value, constant(-kLargestConstant));
  assume(both(below, above));
  return point(value);
}

Linear LinearIntegers::linearOf(Value value) {
  auto [it, inserted] = linear.try_emplace(value);
  if (!inserted)
    return it->second;
  Linear result = computeLinear(value);
  if (!result && !unknownOp)
    unknownOp = getIntegerOp(value, region);
  return linear[value] = result;
}

Linear LinearIntegers::computeLinear(Value value) {
  APInt literal;
  if (matchPattern(value, m_ConstantInt(&literal))) {
    // With the sign, the largest one has 42 bits.
    if (literal.getSignificantBits() > 42 ||
        std::abs(literal.getSExtValue()) > kLargestConstant)
      return {};
    return point(constant(literal.getSExtValue()),
                 literal.getSignificantBits());
  }
  if (!isInside(value))
    return isInteger(value.getType()) ? outsidePoint(value) : Linear();
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    Linear x = linearOf(op->getOperand(0)), y = linearOf(op->getOperand(1));
    if (!x || !y)
      return {};
    return fitted(isa<arith::AddIOp>(op) ? sum(x, y) : difference(x, y),
                  value.getType());
  }
  if (auto product = dyn_cast<arith::MulIOp>(op))
    return fitted(multiple(product), value.getType());
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
    return shifted(op);
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp>(op))
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
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return fitted(linearOf(op->getOperand(0)), value.getType());
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return loadPoint(load);
  return {};
}

Linear LinearIntegers::fitted(Linear x, Type type) {
  if (!x || type.isIndex() || type.isInteger(64))
    return x;
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 1 || bits > 64)
    return {};
  int64_t limit = int64_t(1) << (bits - 1);
  auto [low, high] = extremesOf(x);
  assume(atLeast(low, constant(-limit)));
  assume(less(high, constant(limit)));
  return x;
}

std::pair<Value, Value> LinearIntegers::extremesOf(const Linear &x) {
  if (x.keyFactor == 0)
    return {x.low, x.high};
  Value first = constant(0), last = sub(keyCount, constant(1));
  if (x.divisor) {
    first = floorDiv(add(first, x.shiftLow), x.divisor);
    last = floorDiv(add(last, x.shiftHigh), x.divisor);
  }
  Value factor = constant(x.keyFactor);
  first = mul(first, factor);
  last = mul(last, factor);
  if (x.keyFactor < 0)
    std::swap(first, last);
  return {add(x.low, first), add(x.high, last)};
}

Linear LinearIntegers::combine(const Linear &x, const Linear &y,
                               int64_t keyFactor, Value low, Value high) {
  if (x.keyFactor && y.keyFactor && (x.divisor || y.divisor))
    return {};
  Linear result = x.keyFactor ? x : y;
  result.keyFactor = keyFactor;
  result.low = low;
  result.high = high;
  result.bits = std::max(x.bits, y.bits) + 1;
  return result.bits <= kLargestBits ? result : Linear();
}

Linear LinearIntegers::sum(const Linear &x, const Linear &y) {
  if (!x || !y)
    return {};
  return combine(x, y, x.keyFactor + y.keyFactor, add(x.low, y.low),
                 add(x.high, y.high));
}

Linear LinearIntegers::difference(const Linear &x, const Linear &y) {
  return combine(x, y, x.keyFactor - y.keyFactor, sub(x.low, y.high),
                 sub(x.high, y.low));
}

Linear LinearIntegers::multiple(arith::MulIOp op) {
  Value other = op.getLhs();
  APInt literal;
  if (!matchPattern(op.getRhs(), m_ConstantInt(&literal))) {
    other = op.getRhs();
    if (!matchPattern(op.getLhs(), m_ConstantInt(&literal)))
      return {};
  }
  if (literal.getSignificantBits() > 22)
    return {};
  return multiple(linearOf(other), literal.getSExtValue());
}

Linear LinearIntegers::multiple(Linear x, int64_t factor) {
  if (!x || factor == 0 || std::abs(factor) > kLargestDivisor)
    return {};
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

Linear LinearIntegers::shifted(Operation *op) {
  // A shift by the width or more is poison.
  APInt count;
  Type type = op->getResult(0).getType();
  if (!matchPattern(op->getOperand(1), m_ConstantInt(&count)) ||
      count.ugt(llvm::Log2_64(kLargestDivisor)) ||
      (!type.isIndex() && count.uge(type.getIntOrFloatBitWidth())))
    return {};
  int64_t factor = int64_t(1) << count.getZExtValue();
  Linear x = linearOf(op->getOperand(0));
  if (isa<arith::ShLIOp>(op))
    return fitted(multiple(x, factor), type);
  if (isa<arith::ShRUIOp>(op) && x)
    assumeNotNegative(x);
  return quotient(x, constant(factor));
}

void LinearIntegers::assumeNotNegative(const Linear &x) {
  assume(atLeast(extremesOf(x).first, constant(0)));
}

Value LinearIntegers::divisorOf(Value value) {
  Linear y = linearOf(value);
  if (!y || !y.isPoint())
    return {};
  APInt literal;
  if (matchPattern(value, m_ConstantInt(&literal)))
    return literal.isStrictlyPositive() && literal.ule(kLargestDivisor)
               ? y.low
               : Value();
  Value one = constant(1);
  assume(atLeast(y.low, one));
  assume(atMost(y.low, constant(kLargestDivisor)));
  return max(y.low, one);
}

std::pair<Linear, Value> LinearIntegers::operandsOfDivision(Operation *op) {
  Linear x = linearOf(op->getOperand(0));
  if (!x)
    return {};
  Value divisor = divisorOf(op->getOperand(1));
  if (divisor && isa<arith::CeilDivSIOp>(op))
    return {sum(x, point(sub(divisor, constant(1)), 22)), divisor};
  if (divisor && !isa<arith::FloorDivSIOp>(op))
    assumeNotNegative(x);
  return {x, divisor};
}

Linear LinearIntegers::quotient(Operation *op) {
  auto [x, divisor] = operandsOfDivision(op);
  return divisor ? quotient(x, divisor) : Linear();
}

Linear LinearIntegers::quotient(const Linear &x, Value divisor) {
  if (!x)
    return {};
  if (x.keyFactor == 0)
    return {0, floorDiv(x.low, divisor), floorDiv(x.high, divisor), x.bits};
  // Quotients are cut to what keys reach: see cut().
  if (x.divisor || x.keyFactor != 1 || x.bits > kQuotientBits)
    return {};
  Linear result = x;
  result.shiftLow = x.low;
  result.shiftHigh = x.high;
  result.divisor = divisor;
  result.low = result.high = constant(0);
  return result;
}

Linear LinearIntegers::remainder(Operation *op) {
  auto [x, divisor] = operandsOfDivision(op);
  if (!divisor)
    return {};
  Value zero = constant(0), last = sub(divisor, constant(1));
  if (x.keyFactor != 0)
    return {0, zero, last};
  Value first = floorDiv(x.low, divisor);
  Value same = equal(first, floorDiv(x.high, divisor));
  Value base = mul(first, divisor);
  return {0, select(same, sub(x.low, base), zero),
          select(same, sub(x.high, base), last)};
}

Linear LinearIntegers::loadPoint(memref::LoadOp load) {
  if (!isInteger(load.getType()))
    return {};
  Value loaded = loadOnce(load);
  return loaded ? point(toIndex(loaded)) : Linear();
}

Value LinearIntegers::loadOnce(memref::LoadOp load) {
  if (isInside(load.getMemRef()))
    return {};
  SmallVector<Value> indices;
  for (Value index : load.getIndices()) {
    Linear i = linearOf(index);
    if (!i || !i.isPoint())
      return {};
    indices.push_back(i.low);
  }
  for (auto [dim, index] : llvm::enumerate(indices)) {
    Value extent = memref::DimOp::create(b, load.getMemRef(), dim);
    Value last = sub(extent, constant(1));
    index = max(min(index, last), constant(0));
  }
  return memref::LoadOp::create(b, load.getMemRef(), indices);
}
