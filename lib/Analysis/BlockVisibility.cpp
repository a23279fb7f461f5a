//===- BlockVisibility.cpp - What a tile sees of a block of keys ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/BlockVisibility.h"
#include "attn/Analysis/ProgramSlice.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Which programs
//===----------------------------------------------------------------------===//

constexpr unsigned kRow = 2, kKey = 3;

bool BlockVisibility::isUseful(Region &mask) {
  return llvm::any_of(mask.getOps<memref::LoadOp>(), [&](memref::LoadOp load) {
    ValueRange indices = load.getIndices();
    if (!load.getType().isIntOrIndex() || indices.empty() ||
        mask.isAncestor(load.getMemRef().getParentRegion()))
      return false;
    // Along rows or keys, and for one row or key no other.
    Value position[] = {mask.getArgument(kRow), mask.getArgument(kKey)};
    return dependsOn(indices.back(), mask, position) &&
           llvm::none_of(indices.drop_back(), [&](Value index) {
             return dependsOn(index, mask, position);
           });
  });
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

namespace {

class Evaluator {
public:
  Evaluator(ImplicitLocOpBuilder &b, Region &mask,
            llvm::DenseMap<Value, Interval> &intervals,
            llvm::DenseMap<Value, Truth> &truths)
      : b(b), mask(mask), intervals(intervals), truths(truths) {}

  Interval intervalOf(Value value) {
    if (auto it = intervals.find(value); it != intervals.end())
      return it->second;
    Interval result = computeInterval(value);
    if (!result && !unknown)
      unknown = getIntegerOp(value, mask);
    return intervals[value] = result;
  }

  Truth truthOf(Value value) {
    if (auto it = truths.find(value); it != truths.end())
      return it->second;
    return truths[value] = computeTruth(value);
  }

  Operation *unknown = nullptr;

private:
  //===--------------------------------------------------------------------===//
  // Scalar arithmetic
  //===--------------------------------------------------------------------===//

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value boolean(bool value) {
    return arith::ConstantOp::create(b, b.getBoolAttr(value));
  }
  Value min(Value x, Value y) { return b.createOrFold<arith::MinSIOp>(x, y); }
  Value max(Value x, Value y) { return b.createOrFold<arith::MaxSIOp>(x, y); }
  Value both(Value x, Value y) { return b.createOrFold<arith::AndIOp>(x, y); }
  Value either(Value x, Value y) { return b.createOrFold<arith::OrIOp>(x, y); }
  Value negate(Value x) {
    return b.createOrFold<arith::XOrIOp>(x, boolean(true));
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return b.createOrFold<arith::CmpIOp>(predicate, x, y);
  }
  Value toIndex(Value value) {
    if (value.getType().isIndex())
      return value;
    return arith::IndexCastOp::create(b, b.getIndexType(), value);
  }

  static unsigned bitsOf(Type type) {
    return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  }

  //===--------------------------------------------------------------------===//
  // Integers
  //===--------------------------------------------------------------------===//

  Interval computeInterval(Value value) {
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
    if (isa<arith::MinSIOp, arith::MaxSIOp>(op)) {
      Interval x = intervalOf(op->getOperand(0)),
               y = intervalOf(op->getOperand(1));
      if (!x || !y)
        return {};
      bool isNarrow = x.isNarrow && y.isNarrow;
      if (isa<arith::MinSIOp>(op))
        return {min(x.low, y.low), min(x.high, y.high),
                std::max(x.lowBits, y.lowBits),
                std::min(x.highBits, y.highBits), isNarrow};
      return {max(x.low, y.low), max(x.high, y.high),
              std::min(x.lowBits, y.lowBits), std::max(x.highBits, y.highBits),
              isNarrow};
    }
    if (isa<arith::IndexCastOp, arith::ExtSIOp>(op)) {
      // Narrowing a 64-bit index may wrap.
      Value from = op->getOperand(0);
      return bitsOf(value.getType()) < bitsOf(from.getType())
                 ? Interval()
                 : intervalOf(from);
    }
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return gather(load);
    return {};
  }

  Interval sumOf(Operation *op) {
    Interval x = intervalOf(op->getOperand(0)),
             y = intervalOf(op->getOperand(1));
    // Sums of narrow integers, and of large ones, wrap.
    if (!x || !y || bitsOf(op->getResult(0).getType()) < 64)
      return {};
    unsigned bits =
        1 + std::max({x.lowBits, x.highBits, y.lowBits, y.highBits});
    if (bits > 62)
      return {};
    bool isNarrow = x.isNarrow && y.isNarrow;
    if (isa<arith::AddIOp>(op))
      return {b.createOrFold<arith::AddIOp>(x.low, y.low),
              b.createOrFold<arith::AddIOp>(x.high, y.high), bits, bits,
              isNarrow};
    return {b.createOrFold<arith::SubIOp>(x.low, y.high),
            b.createOrFold<arith::SubIOp>(x.high, y.low), bits, bits, isNarrow};
  }

  //===--------------------------------------------------------------------===//
  // Gathers
  //===--------------------------------------------------------------------===//

  /// The slice that `load` reads: points but for the last dimension, of which
  /// [first, last] is in bounds.
  struct Slice {
    SmallVector<Value> leading;
    Value first, last;
    SmallVector<Value> at(Value index) const {
      SmallVector<Value> indices(leading);
      indices.push_back(index);
      return indices;
    }
  };

  std::optional<Slice> sliceOf(memref::LoadOp load) {
    Value memref = load.getMemRef();
    if (mask.isAncestor(memref.getParentRegion()) || load.getIndices().empty())
      return std::nullopt;
    auto clamp = [&](Value index, int64_t dim) {
      Value extent = b.createOrFold<memref::DimOp>(memref, dim);
      Value end = b.createOrFold<arith::SubIOp>(extent, constant(1));
      return max(min(index, end), constant(0));
    };
    Slice slice;
    for (auto [dim, index] : llvm::enumerate(load.getIndices().drop_back())) {
      Interval i = intervalOf(index);
      if (!i.isPoint())
        return std::nullopt;
      slice.leading.push_back(clamp(i.low, dim));
    }
    Interval last = intervalOf(load.getIndices().back());
    if (!last || !last.isNarrow)
      return std::nullopt;
    int64_t dim = slice.leading.size();
    slice.first = clamp(last.low, dim);
    slice.last = last.isPoint() ? slice.first : clamp(last.high, dim);
    return slice;
  }

  Interval gather(memref::LoadOp load) {
    Type type = load.getType();
    if (!type.isIntOrIndex() || type.isInteger(1) || bitsOf(type) > 64)
      return {};
    std::optional<Slice> slice = sliceOf(load);
    if (!slice)
      return {};
    unsigned bits = bitsOf(type);
    Value low =
        memref::LoadOp::create(b, load.getMemRef(), slice->at(slice->first));
    if (slice->first == slice->last) {
      low = toIndex(low);
      return {low, low, bits, bits, /*isNarrow=*/true};
    }
    auto [least, largest] = extremesOf(load, *slice, low);
    return {toIndex(least), toIndex(largest), bits, bits};
  }

  /// The smallest and the largest element of `slice`; `element` is one.
  std::pair<Value, Value> extremesOf(memref::LoadOp load, const Slice &slice,
                                     Value element) {
    Value memref = load.getMemRef();
    Value count = b.createOrFold<arith::AddIOp>(
        b.createOrFold<arith::SubIOp>(slice.last, slice.first), constant(1));
    Value done = constant(0), least = element, largest = element;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (succeeded(load.getMemRefType().getStridesAndOffset(strides, offset)) &&
        strides.back() == 1) {
      // Whole vectors first.
      int64_t lanes = 512 / bitsOf(element.getType());
      auto vector = VectorType::get({lanes}, element.getType());
      Value size = constant(lanes);
      done = b.createOrFold<arith::MulIOp>(
          b.createOrFold<arith::DivUIOp>(count, size), size);
      Value start = vector::BroadcastOp::create(b, vector, element);
      ValueRange extremes =
          emitFor(constant(0), done, lanes, {start, start},
                  [&](Value t, ValueRange carried) -> SmallVector<Value> {
                    Value next = vector::LoadOp::create(
                        b, vector, memref,
                        slice.at(arith::AddIOp::create(b, slice.first, t)));
                    return {arith::MinSIOp::create(b, carried[0], next),
                            arith::MaxSIOp::create(b, carried[1], next)};
                  });
      least = vector::ReductionOp::create(b, vector::CombiningKind::MINSI,
                                          extremes[0]);
      largest = vector::ReductionOp::create(b, vector::CombiningKind::MAXSI,
                                            extremes[1]);
    }
    ValueRange extremes = emitFor(
        done, count, 1, {least, largest},
        [&](Value t, ValueRange carried) -> SmallVector<Value> {
          Value next = memref::LoadOp::create(
              b, memref, slice.at(arith::AddIOp::create(b, slice.first, t)));
          return {arith::MinSIOp::create(b, carried[0], next),
                  arith::MaxSIOp::create(b, carried[1], next)};
        });
    return {extremes[0], extremes[1]};
  }

  /// Whether any, and whether each boolean of the slice is set.
  Truth gatherTruth(memref::LoadOp load) {
    std::optional<Slice> slice = sliceOf(load);
    if (!slice)
      return unknownTruth(load);
    Value end = b.createOrFold<arith::AddIOp>(slice->last, constant(1));
    ValueRange found =
        emitFor(slice->first, end, 1, {boolean(false), boolean(true)},
                [&](Value t, ValueRange carried) -> SmallVector<Value> {
                  Value next =
                      memref::LoadOp::create(b, load.getMemRef(), slice->at(t));
                  return {arith::OrIOp::create(b, carried[0], next),
                          arith::AndIOp::create(b, carried[1], next)};
                });
    return {found[0], found[1]};
  }

  ValueRange emitFor(Value lower, Value upper, int64_t step,
                     ArrayRef<Value> init,
                     function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto loop = scf::ForOp::create(b, lower, upper, constant(step), init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(
        b, body(loop.getInductionVar(), loop.getRegionIterArgs()));
    return loop.getResults();
  }

  //===--------------------------------------------------------------------===//
  // Conditions
  //===--------------------------------------------------------------------===//

  Truth unknownTruth(Operation *op) {
    if (!unknown)
      unknown = op;
    return {boolean(true), boolean(false)};
  }

  Truth computeTruth(Value value) {
    APInt literal;
    if (matchPattern(value, m_ConstantInt(&literal))) {
      Value known = boolean(!literal.isZero());
      return {known, known};
    }
    if (!mask.isAncestor(value.getParentRegion()))
      return {value, value};
    Operation *op = value.getDefiningOp();
    if (auto comparison = dyn_cast<arith::CmpIOp>(op))
      return compareIntervals(comparison);
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return gatherTruth(load);
    if (isa<arith::AndIOp, arith::OrIOp>(op)) {
      Truth x = truthOf(op->getOperand(0)), y = truthOf(op->getOperand(1));
      if (isa<arith::AndIOp>(op))
        return {both(x.possible, y.possible), both(x.sure, y.sure)};
      return {either(x.possible, y.possible), either(x.sure, y.sure)};
    }
    if (isa<arith::XOrIOp>(op) && matchPattern(op->getOperand(1), m_One())) {
      Truth x = truthOf(op->getOperand(0));
      return {negate(x.sure), negate(x.possible)};
    }
    return unknownTruth(op);
  }

  Truth compareIntervals(arith::CmpIOp op) {
    if (op.getLhs().getType().isInteger(1))
      return unknownTruth(op);
    Interval x = intervalOf(op.getLhs()), y = intervalOf(op.getRhs());
    if (!x || !y)
      return unknownTruth(op);
    using Predicate = arith::CmpIPredicate;
    switch (op.getPredicate()) {
    case Predicate::sgt:
    case Predicate::sge:
      std::swap(x, y);
      [[fallthrough]];
    case Predicate::slt:
    case Predicate::sle: {
      bool isStrict = op.getPredicate() == Predicate::slt ||
                      op.getPredicate() == Predicate::sgt;
      Predicate less = isStrict ? Predicate::slt : Predicate::sle;
      return {compare(less, x.low, y.high), compare(less, x.high, y.low)};
    }
    case Predicate::eq:
    case Predicate::ne: {
      Value meet = both(compare(Predicate::sle, x.low, y.high),
                        compare(Predicate::sle, y.low, x.high));
      Value same = both(both(compare(Predicate::eq, x.low, x.high),
                             compare(Predicate::eq, y.low, y.high)),
                        compare(Predicate::eq, x.low, y.low));
      if (op.getPredicate() == Predicate::eq)
        return {meet, same};
      return {negate(same), negate(meet)};
    }
    default:
      return unknownTruth(op);
    }
  }

  ImplicitLocOpBuilder &b;
  Region &mask;
  llvm::DenseMap<Value, Interval> &intervals;
  llvm::DenseMap<Value, Truth> &truths;
};

} // namespace

BlockVisibility::BlockVisibility(ImplicitLocOpBuilder &b, Region &mask,
                                 Value batch, Value firstHead, Value lastHead,
                                 Value rowBegin, Value rowEnd)
    : b(b), mask(mask) {
  // Positions are indices of memory.
  constexpr unsigned bits = 41;
  auto position = [](Value low, Value high, bool isNarrow) {
    return Interval{low, high, bits, bits, isNarrow};
  };
  intervals[mask.getArgument(0)] = position(batch, batch, true);
  intervals[mask.getArgument(1)] =
      position(firstHead, lastHead, firstHead == lastHead);
  Value lastRow = b.createOrFold<arith::SubIOp>(
      rowEnd, arith::ConstantIndexOp::create(b, 1));
  intervals[mask.getArgument(kRow)] = position(rowBegin, lastRow, true);
  Evaluator evaluator(b, mask, intervals, truths);
  for (Operation &op : mask.front().without_terminator())
    for (Value result : op.getResults()) {
      if (dependsOn(result, mask, mask.getArgument(kKey)))
        continue;
      if (result.getType().isInteger(1))
        evaluator.truthOf(result);
      else if (result.getType().isIntOrIndex())
        evaluator.intervalOf(result);
    }
  unknown = evaluator.unknown;
}

Truth BlockVisibility::classify(Value firstKey, Value lastKey) {
  llvm::DenseMap<Value, Interval> ofBlock = intervals;
  llvm::DenseMap<Value, Truth> truthsOfBlock = truths;
  ofBlock[mask.getArgument(kKey)] = {firstKey, lastKey, 41, 41, true};
  Evaluator evaluator(b, mask, ofBlock, truthsOfBlock);
  Truth result = evaluator.truthOf(
      cast<YieldOp>(mask.front().getTerminator()).getValues().front());
  if (!unknown)
    unknown = evaluator.unknown;
  return result;
}
