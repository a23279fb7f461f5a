//===- BlockVisibility.cpp - What a tile sees of a block of keys ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/BlockVisibility.h"
#include "IntervalIntegers.h"
#include "attn/Analysis/ProgramSlice.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Which programs
//===----------------------------------------------------------------------===//

constexpr unsigned kRow = 2, kKey = 3;

/// A gather over more than one dimension reads at most one element for this
/// many pairs.
constexpr int64_t kPairsPerElement = 64;

/// The number of rows or keys for one `index`, as quotients have.
static int64_t stepsOf(Value index, Region &mask) {
  Operation *op = mask.isAncestor(index.getParentRegion())
                      ? index.getDefiningOp()
                      : nullptr;
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return stepsOf(op->getOperand(0), mask);
  APInt literal;
  if (!op || op->getNumOperands() != 2 ||
      !matchPattern(op->getOperand(1), m_ConstantInt(&literal)))
    return 1;
  if (isa<arith::DivUIOp, arith::DivSIOp, arith::FloorDivSIOp,
          arith::CeilDivSIOp>(op))
    return literal.isStrictlyPositive() && literal.getActiveBits() < 32
               ? literal.getSExtValue()
               : 1;
  if (isa<arith::ShRSIOp, arith::ShRUIOp>(op))
    return literal.ult(32) ? int64_t(1) << literal.getZExtValue() : 1;
  return 1;
}

/// Whether the elements that `load` reads for one block are few.
static bool isSmall(memref::LoadOp load, Region &mask) {
  if (mask.isAncestor(load.getMemRef().getParentRegion()))
    return false;
  Value position[] = {mask.getArgument(kRow), mask.getArgument(kKey)};
  int64_t along = 0, steps = 1;
  for (Value index : load.getIndices())
    if (dependsOn(index, mask, position)) {
      ++along;
      steps = std::min<int64_t>(steps, kPairsPerElement) *
              std::min<int64_t>(stepsOf(index, mask), kPairsPerElement);
    }
  return along <= 1 || steps >= kPairsPerElement;
}

bool BlockVisibility::isUseful(Region &mask) {
  Value position[] = {mask.getArgument(kRow), mask.getArgument(kKey)};
  return llvm::any_of(mask.getOps<memref::LoadOp>(), [&](memref::LoadOp load) {
    return isSmall(load, mask) &&
           llvm::any_of(load.getIndices(), [&](Value index) {
             return dependsOn(index, mask, position);
           });
  });
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

namespace {

class Evaluator : public IntervalIntegers {
public:
  Evaluator(ImplicitLocOpBuilder &b, Region &mask,
            llvm::DenseMap<Value, Interval> &intervals,
            llvm::DenseMap<Value, Truth> &truths)
      : IntervalIntegers(b, mask, intervals), truths(truths) {}

  Truth truthOf(Value value) {
    if (auto it = truths.find(value); it != truths.end())
      return it->second;
    return truths[value] = computeTruth(value);
  }

private:
  //===--------------------------------------------------------------------===//
  // Gathers
  //===--------------------------------------------------------------------===//

  /// The elements that `load` reads: those in bounds of a box.
  struct Slice {
    SmallVector<Value> first, last;
    bool isPoint() const { return first == last; }
    /// The index `t` along the last dimension.
    SmallVector<Value> at(ArrayRef<Value> leading, Value t) const {
      SmallVector<Value> indices(leading);
      indices.push_back(t);
      return indices;
    }
  };

  std::optional<Slice> sliceOf(memref::LoadOp load) {
    Value memref = load.getMemRef();
    if (load.getIndices().empty() || !isSmall(load, mask))
      return std::nullopt;
    Slice slice;
    for (auto [d, index] : llvm::enumerate(load.getIndices())) {
      Interval i = intervalOf(index);
      if (!i || (!i.isPoint() && !i.isNarrow))
        return std::nullopt;
      Value extent = dim(memref, d);
      Value end = sub(extent, constant(1));
      auto clamp = [&](Value index) {
        return max(min(index, end), constant(0));
      };
      slice.first.push_back(clamp(i.low));
      slice.last.push_back(i.isPoint() ? slice.first.back() : clamp(i.high));
    }
    return slice;
  }

  using Carried = SmallVector<Value>;

  /// `row(leading, carried)` for the rows of `slice` along its last dimension,
  /// in loops over the others.
  Carried
  forEachRow(const Slice &slice, const Carried &carried,
             function_ref<Carried(ArrayRef<Value>, const Carried &)> row,
             const SmallVector<Value> &leading = {}) {
    size_t dim = leading.size();
    if (dim + 1 == slice.first.size())
      return row(leading, carried);
    auto inside = [&](Value t, const Carried &carried) {
      SmallVector<Value> next(leading);
      next.push_back(t);
      return forEachRow(slice, carried, row, next);
    };
    if (slice.first[dim] == slice.last[dim])
      return inside(slice.first[dim], carried);
    return emitFor(slice.first[dim], next(slice.last[dim]), 1, carried, inside);
  }

  Value next(Value index) { return add(index, constant(1)); }

  Interval gather(memref::LoadOp load) override {
    Type type = load.getType();
    if (!type.isIntOrIndex() || type.isInteger(1) || bitsOf(type) > 64)
      return {};
    std::optional<Slice> slice = sliceOf(load);
    if (!slice)
      return {};
    unsigned bits = bitsOf(type);
    Value low = memref::LoadOp::create(b, load.getMemRef(), slice->first);
    if (slice->isPoint()) {
      low = toIndex(low);
      return {low, low, bits, bits, /*isNarrow=*/true};
    }
    Carried extremes = forEachRow(
        *slice, {low, low},
        [&](ArrayRef<Value> leading, const Carried &carried) -> Carried {
          return extremesOfRow(load, *slice, leading, carried);
        });
    return {toIndex(extremes[0]), toIndex(extremes[1]), bits, bits};
  }

  /// The smallest and the largest element of a row of `slice` and `carried`.
  Carried extremesOfRow(memref::LoadOp load, const Slice &slice,
                        ArrayRef<Value> leading, Carried carried) {
    Value memref = load.getMemRef(), first = slice.first.back();
    Value count = next(sub(slice.last.back(), first));
    Value done = constant(0);
    auto at = [&](Value t) {
      return slice.at(leading, arith::AddIOp::create(b, first, t));
    };
    SmallVector<int64_t> strides;
    int64_t offset;
    if (succeeded(load.getMemRefType().getStridesAndOffset(strides, offset)) &&
        strides.back() == 1) {
      // Whole vectors first.
      int64_t lanes = 512 / bitsOf(load.getType());
      auto vector = VectorType::get({lanes}, load.getType());
      Value size = constant(lanes);
      done = mul(div(count, size), size);
      Carried start;
      for (Value value : carried)
        start.push_back(vector::BroadcastOp::create(b, vector, value));
      Carried extremes =
          emitFor(constant(0), done, lanes, start,
                  [&](Value t, const Carried &carried) -> Carried {
                    Value row =
                        vector::LoadOp::create(b, vector, memref, at(t));
                    return {arith::MinSIOp::create(b, carried[0], row),
                            arith::MaxSIOp::create(b, carried[1], row)};
                  });
      carried = {vector::ReductionOp::create(b, vector::CombiningKind::MINSI,
                                             extremes[0]),
                 vector::ReductionOp::create(b, vector::CombiningKind::MAXSI,
                                             extremes[1])};
    }
    return emitFor(done, count, 1, carried,
                   [&](Value t, const Carried &carried) -> Carried {
                     Value element = memref::LoadOp::create(b, memref, at(t));
                     return {arith::MinSIOp::create(b, carried[0], element),
                             arith::MaxSIOp::create(b, carried[1], element)};
                   });
  }

  /// Whether `test` holds for any, and for each element of the slice.
  Truth gatherTruth(memref::LoadOp load, Operation *op,
                    function_ref<Value(Value)> test) {
    std::optional<Slice> slice = sliceOf(load);
    if (!slice)
      return unknownTruth(op);
    Carried found = forEachRow(
        *slice, {boolean(false), boolean(true)},
        [&](ArrayRef<Value> leading, const Carried &carried) -> Carried {
          return emitFor(slice->first.back(), next(slice->last.back()), 1,
                         carried,
                         [&](Value t, const Carried &carried) -> Carried {
                           Value holds = test(memref::LoadOp::create(
                               b, load.getMemRef(), slice->at(leading, t)));
                           return {arith::OrIOp::create(b, carried[0], holds),
                                   arith::AndIOp::create(b, carried[1], holds)};
                         });
        });
    return {found[0], found[1]};
  }

  Carried emitFor(Value lower, Value upper, int64_t step, const Carried &init,
                  function_ref<Carried(Value, const Carried &)> body) {
    auto loop = scf::ForOp::create(b, lower, upper, constant(step), init);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(
        b, body(loop.getInductionVar(),
                llvm::to_vector_of<Value>(loop.getRegionIterArgs())));
    return llvm::to_vector_of<Value>(loop.getResults());
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
    if (auto comparison = dyn_cast<arith::CmpFOp>(op))
      return compareFloats(comparison);
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return gatherTruth(load, op, [](Value loaded) { return loaded; });
    if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
      Truth x = truthOf(op->getOperand(0)), y = truthOf(op->getOperand(1));
      return isa<arith::AndIOp>(op)  ? conjunction(x, y)
             : isa<arith::OrIOp>(op) ? disjunction(x, y)
                                     : choice(x, negation(y), y);
    }
    if (isa<arith::SelectOp>(op))
      return choice(truthOf(op->getOperand(0)), truthOf(op->getOperand(1)),
                    truthOf(op->getOperand(2)));
    return unknownTruth(op);
  }

  Truth conjunction(Truth x, Truth y) {
    return {both(x.possible, y.possible), both(x.sure, y.sure)};
  }
  Truth disjunction(Truth x, Truth y) {
    return {either(x.possible, y.possible), either(x.sure, y.sure)};
  }
  Truth negation(Truth x) { return {negate(x.sure), negate(x.possible)}; }
  /// `x` where `condition` holds, else `y`.
  Truth choice(Truth condition, Truth x, Truth y) {
    return disjunction(conjunction(condition, x),
                       conjunction(negation(condition), y));
  }

  /// An element that is read, widened or not, and a number from outside, such
  /// as the -inf of an additive mask.
  Truth compareFloats(arith::CmpFOp op) {
    for (bool isLeft : {true, false}) {
      Value number = isLeft ? op.getRhs() : op.getLhs();
      bool isInside = mask.isAncestor(number.getParentRegion());
      if (isInside && !matchPattern(number, m_Constant()))
        continue;
      SmallVector<Operation *> casts{op};
      Operation *source = (isLeft ? op.getLhs() : op.getRhs()).getDefiningOp();
      while (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(source)) {
        casts.push_back(source);
        source = source->getOperand(0).getDefiningOp();
      }
      auto load = dyn_cast_or_null<memref::LoadOp>(source);
      if (!load || !mask.isAncestor(load->getParentRegion()))
        continue;
      return gatherTruth(load, op, [&](Value loaded) -> Value {
        IRMapping mapping;
        mapping.map(load.getResult(), loaded);
        if (isInside)
          b.clone(*number.getDefiningOp(), mapping);
        for (Operation *cast : llvm::reverse(casts))
          b.clone(*cast, mapping);
        return mapping.lookup(op.getResult());
      });
    }
    return unknownTruth(op);
  }

  Truth compareIntervals(arith::CmpIOp op) {
    using Predicate = arith::CmpIPredicate;
    if (op.getLhs().getType().isInteger(1)) {
      Truth x = truthOf(op.getLhs()), y = truthOf(op.getRhs());
      if (op.getPredicate() == Predicate::eq)
        return choice(x, y, negation(y));
      if (op.getPredicate() == Predicate::ne)
        return choice(x, negation(y), y);
      return unknownTruth(op);
    }
    Interval x = intervalOf(op.getLhs()), y = intervalOf(op.getRhs());
    if (!x || !y)
      return unknownTruth(op);
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
      Value meet = both(atMost(x.low, y.high), atMost(y.low, x.high));
      Value same = both(both(equal(x.low, x.high), equal(y.low, y.high)),
                        equal(x.low, y.low));
      if (op.getPredicate() == Predicate::eq)
        return {meet, same};
      return {negate(same), negate(meet)};
    }
    case Predicate::ugt:
    case Predicate::uge:
      std::swap(x, y);
      [[fallthrough]];
    case Predicate::ult:
    case Predicate::ule:
      break;
    }
    // Of integers that are not negative, unsigned order is the signed one;
    // others are larger.
    bool isStrict = op.getPredicate() == Predicate::ult ||
                    op.getPredicate() == Predicate::ugt;
    Predicate less = isStrict ? Predicate::slt : Predicate::sle;
    Value zero = constant(0);
    auto isPositive = [&](Value value) { return atMost(zero, value); };
    Value isBeyond =
        either(negate(isPositive(x.high)),
               both(isPositive(x.low), negate(compare(less, x.low, y.high))));
    return {negate(both(isPositive(y.low), isBeyond)),
            both(both(isPositive(x.low), isPositive(y.low)),
                 compare(less, x.high, y.low))};
  }

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
  IndexBuilder x{b};
  Value lastRow = x.sub(rowEnd, x.constant(1));
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
