//===- ProgramOnLanes.cpp - Programs of a block on query rows -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramOnLanes.h"
#include "ProgramVectorizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

/// The predicate that holds for `(y, x)` when `predicate` holds for `(x, y)`.
static arith::CmpIPredicate swappedOperands(arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  switch (predicate) {
  case Predicate::slt:
    return Predicate::sgt;
  case Predicate::sle:
    return Predicate::sge;
  case Predicate::sgt:
    return Predicate::slt;
  case Predicate::sge:
    return Predicate::sle;
  default:
    return predicate;
  }
}

Value ProgramOnLanes::add(Value x, Value y) {
  return arith::AddIOp::create(b, x, y);
}

Value ProgramOnLanes::beginGroup(Value group, int64_t vectors, Value rowCount,
                                 Value keyBegin, Value keyEnd) {
  scoreParts.assign(vectors, RowPart());
  maskParts.assign(vectors, RowPart());
  probabilityParts.assign(vectors, RowPart());
  if (!hasScore() && !hasMask() && !hasProbability())
    return {};
  // Padding repeats the last row: a program must not see a row that does not
  // exist.
  Value last = arith::SubIOp::create(b, add(op.getI(), rowCount), e.index(1));
  Value first = add(op.getI(), group);
  for (int64_t v = 0; v < vectors; ++v) {
    Value row = arith::AddIOp::create(
        b, e.broadcast(v == 0 ? first : add(first, e.index(v * e.getLanes()))),
        vector::StepOp::create(b, e.vectorType(b.getIndexType())));
    row = arith::MinSIOp::create(b, row, e.broadcast(last));
    if (hasScore())
      beginProgram(op.getScore(), row, scoreParts[v]);
    if (hasMask())
      beginProgram(op.getMask(), row, maskParts[v]);
    if (hasProbability())
      beginProgram(*op.getWeightProgram(), row, probabilityParts[v]);
  }
  return loads.stage(first, last, vectors, keyBegin, keyEnd);
}

/// `value` as the program's key plus a constant, or nothing.
static std::optional<int64_t> asKeyPlusConstant(Value value, Value key) {
  if (value == key)
    return 0;
  auto sum = value.getDefiningOp<arith::AddIOp>();
  APInt literal;
  // Sums of such numbers do not wrap.
  if (sum && sum.getLhs() == key &&
      matchPattern(sum.getRhs(), m_ConstantInt(&literal)) &&
      literal.getSignificantBits() <= 41)
    return literal.getSExtValue();
  return std::nullopt;
}

/// Evaluates what depends on rows alone. A comparison of a row's value with the
/// key then is one of the key's number in the block with a bound that lies in
/// or next to the block, for which 32 bits are enough.
void ProgramOnLanes::beginProgram(Region &program, Value row, RowPart &part) {
  SmallVector<Value> arguments(program.getNumArguments() - 4);
  llvm::append_range(arguments, ValueRange{op.getB(), op.getH(), row});
  arguments.push_back({});
  vectorizeKnownPart(e, program, arguments, part.known);
  Value key = program.getArguments().back();
  for (auto comparison : program.getOps<arith::CmpIOp>()) {
    arith::CmpIPredicate predicate = comparison.getPredicate();
    if (predicate >= arith::CmpIPredicate::ult)
      continue;
    Value other = comparison.getRhs();
    std::optional<int64_t> shift = asKeyPlusConstant(comparison.getLhs(), key);
    if (!shift) {
      shift = asKeyPlusConstant(comparison.getRhs(), key);
      other = comparison.getLhs();
      predicate = swappedOperands(predicate);
    }
    Value lanes = shift ? part.known.lookupOrNull(other) : Value();
    if (!lanes || !isa<VectorType>(lanes.getType()))
      continue;
    Value base = add(op.getJ(), e.index(*shift));
    Value below = e.broadcast(arith::SubIOp::create(b, base, e.index(1)));
    Value beyond =
        e.broadcast(add(base, e.index(op.getScheduleAttr().getTile()[1])));
    lanes = arith::MaxSIOp::create(b, lanes, below);
    lanes = arith::MinSIOp::create(b, lanes, beyond);
    lanes = arith::SubIOp::create(b, lanes, e.broadcast(base));
    part.comparisons.push_back(
        {comparison, predicate,
         arith::IndexCastOp::create(b, e.vectorType(b.getI32Type()), lanes)});
  }
}

Value ProgramOnLanes::evaluate(Region &program, const RowPart &part,
                               Value value, Value j, int64_t v) {
  IRMapping known = part.known;
  loads.addTo(known, program, j, v);
  if (!part.comparisons.empty()) {
    Value number =
        e.broadcast(arith::IndexCastOp::create(b, b.getI32Type(), j));
    for (const KeyComparison &comparison : part.comparisons)
      known.map(arith::CmpIOp(comparison.op).getResult(),
                arith::CmpIOp::create(b, comparison.predicate, number,
                                      comparison.bound));
  }
  SmallVector<Value> arguments;
  if (value)
    arguments.push_back(value);
  for (Value position : program.getArguments().take_back(4).drop_back())
    arguments.push_back(known.lookup(position));
  arguments.push_back(add(op.getJ(), j));
  return vectorizeProgram(e, program, arguments, known);
}

Value ProgramOnLanes::score(Value score, Value j, int64_t v) {
  return evaluate(op.getScore(), scoreParts[v], score, j, v);
}

Value ProgramOnLanes::probability(Value weight, Value j, int64_t v) {
  if (!hasProbability())
    return weight;
  return keepZero(
      e, weight,
      evaluate(*op.getWeightProgram(), probabilityParts[v], weight, j, v));
}

Value ProgramOnLanes::visible(Value j, int64_t v) {
  return evaluate(op.getMask(), maskParts[v], {}, j, v);
}
