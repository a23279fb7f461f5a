//===- ExtentConstraints.cpp - Which extents of an op must agree ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lists that the verifiers check for known extents and the shape functions
// for extents known at run time.
//
//===----------------------------------------------------------------------===//

#include "OpChecks.h"
#include "attn/Dialect/Attn/IR/AttnInterfaces.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attn;

#include "attn/Dialect/Attn/IR/AttnInterfaces.cpp.inc"

bool attn::holds(ExtentRelation relation, int64_t lhs, int64_t rhs) {
  switch (relation) {
  case ExtentRelation::Equal:
    return lhs == rhs;
  case ExtentRelation::DivisibleBy:
    return rhs > 0 && lhs % rhs == 0;
  case ExtentRelation::OneOr:
    return lhs == 1 || lhs == rhs;
  case ExtentRelation::AtMost:
    return lhs <= rhs;
  }
  llvm_unreachable("unknown relation");
}

std::string attn::getViolationText(const ExtentConstraint &c) {
  std::string lhs = (c.what + " of " + c.lhsName + " is {0}").str();
  std::string rhs = (c.what + " of " + c.rhsName).str();
  switch (c.relation) {
  case ExtentRelation::Equal:
    return lhs + " but " + rhs + " is {1}";
  case ExtentRelation::DivisibleBy:
    return lhs + ", not a multiple of " + rhs + ", {1}";
  case ExtentRelation::OneOr:
    return lhs + ", neither 1 nor " + rhs + ", {1}";
  case ExtentRelation::AtMost:
    return lhs + ", more than " + rhs + ", {1}";
  }
  llvm_unreachable("unknown relation");
}

LogicalResult attn::verifyExtents(Operation *op) {
  SmallVector<ExtentConstraint> constraints;
  cast<ExtentConstraintsOpInterface>(op).getExtentConstraints(constraints);
  for (const ExtentConstraint &c : constraints) {
    auto lhs = cast<ShapedType>(c.lhs.getType());
    auto rhs = cast<ShapedType>(c.rhs.getType());
    if (lhs.isDynamicDim(c.lhsDim) || rhs.isDynamicDim(c.rhsDim))
      continue;
    int64_t l = lhs.getDimSize(c.lhsDim), r = rhs.getDimSize(c.rhsDim);
    if (!holds(c.relation, l, r))
      return op->emitOpError()
             << llvm::formatv(getViolationText(c).c_str(), l, r).str() << " ("
             << c.label << ")";
  }
  return success();
}

namespace {

using Constraints = SmallVectorImpl<ExtentConstraint>;

/// Right-aligned broadcast of `lhs` to `rhs`.
void addBroadcast(Constraints &constraints, StringRef label, Value lhs,
                  StringRef lhsName, Value rhs, StringRef rhsName) {
  static const StringLiteral names[4] = {"extent -4", "extent -3", "extent -2",
                                         "extent -1"};
  int64_t lhsRank = cast<ShapedType>(lhs.getType()).getRank();
  int64_t rhsRank = cast<ShapedType>(rhs.getType()).getRank();
  for (int64_t d = 0; d < lhsRank; ++d)
    constraints.push_back({label, ExtentRelation::OneOr, lhs, d, rhs,
                           rhsRank - lhsRank + d, names[4 - lhsRank + d],
                           lhsName, rhsName});
}

} // namespace

void RopeOp::getExtentConstraints(Constraints &constraints) {
  if (getCos()) {
    constraints.push_back({"C4", ExtentRelation::Equal, getCos(), 0, getSin(),
                           0, "position count", "cos", "sin"});
    constraints.push_back({"C4", ExtentRelation::Equal, getCos(), 1, getSin(),
                           1, "pair count", "cos", "sin"});
  }
  if (getPositionIds()) {
    constraints.push_back({"C5", ExtentRelation::Equal, getPositionIds(), 0,
                           getInput(), 0, "batch extent", "position_ids",
                           "input"});
    constraints.push_back({"C5", ExtentRelation::Equal, getPositionIds(), 1,
                           getInput(), 2, "sequence length", "position_ids",
                           "input"});
  }
}

void attn::addQueryAndKey(Constraints &constraints, Value query, Value key) {
  constraints.push_back({"C2", ExtentRelation::Equal, query, 3, key, 3,
                         "head dim", "query", "key"});
  constraints.push_back({"C3", ExtentRelation::Equal, query, 0, key, 0,
                         "batch extent", "query", "key"});
  constraints.push_back({"C4", ExtentRelation::DivisibleBy, query, 1, key, 1,
                         "head count", "query", "key"});
}

void QKOp::getExtentConstraints(Constraints &constraints) {
  addQueryAndKey(constraints, getQuery(), getKey());
}

void attn::addAdditiveWeight(Constraints &constraints, StringRef label,
                             Value weight, StringRef name, Value query) {
  int64_t rank = cast<ShapedType>(weight.getType()).getRank();
  if (rank == 2)
    constraints.push_back({label, ExtentRelation::Equal, weight, 0, query, 1,
                           "head count", name, "query"});
  constraints.push_back({label, ExtentRelation::Equal, weight, rank - 1, query,
                         3, "head dim", name, "query"});
}

void AdditiveScoresOp::getExtentConstraints(Constraints &constraints) {
  addQueryAndKey(constraints, getQuery(), getKey());
  addAdditiveWeight(constraints, "C6", getWeight(), "weight", getQuery());
}

void BiasOp::getExtentConstraints(Constraints &constraints) {
  addBroadcast(constraints, "C2", getBias(), "bias", getScores(), "scores");
}

void MaskedSoftmaxOp::getExtentConstraints(Constraints &constraints) {
  if (getOffset() && isa<ShapedType>(getOffset().getType()))
    constraints.push_back({"C2", ExtentRelation::Equal, getOffset(), 0,
                           getScores(), 0, "batch extent", "offset", "scores"});
  if (getLengths())
    constraints.push_back({"C4", ExtentRelation::Equal, getLengths(), 0,
                           getScores(), 0, "batch extent", "lengths",
                           "scores"});
  if (getMask())
    addBroadcast(constraints, "C5", getMask(), "mask", getScores(), "scores");
  if (getPrefix() && isa<ShapedType>(getPrefix().getType()))
    constraints.push_back({"C7", ExtentRelation::Equal, getPrefix(), 0,
                           getScores(), 0, "batch extent", "prefix", "scores"});
  auto addSegments = [&](Value segments, int64_t dim, StringRef name) {
    if (!segments)
      return;
    constraints.push_back({"C8", ExtentRelation::Equal, segments, 0,
                           getScores(), 0, "batch extent", name, "scores"});
    constraints.push_back({"C8", ExtentRelation::Equal, segments, 1,
                           getScores(), dim, "sequence length", name,
                           "scores"});
  };
  addSegments(getQuerySegments(), 2, "query segments");
  addSegments(getKeySegments(), 3, "key segments");
  if (getSink())
    constraints.push_back({"C9", ExtentRelation::Equal, getSink(), 0,
                           getScores(), 1, "head count", "sink", "scores"});
}

void WeightedSumOp::getExtentConstraints(Constraints &constraints) {
  constraints.push_back({"C1", ExtentRelation::Equal, getWeights(), 0,
                         getValue(), 0, "batch extent", "weights", "value"});
  constraints.push_back({"C2", ExtentRelation::DivisibleBy, getWeights(), 1,
                         getValue(), 1, "head count", "weights", "value"});
  constraints.push_back({"C3", ExtentRelation::Equal, getWeights(), 3,
                         getValue(), 2, "key length", "weights", "value"});
}

void AttentionOp::getExtentConstraints(Constraints &constraints) {
  Value q = getQuery(), k = getKey(), v = getValue();
  auto equal = [&](StringRef label, Value a, int64_t da, Value b, int64_t db,
                   StringRef what, StringRef an, StringRef bn) {
    constraints.push_back(
        {label, ExtentRelation::Equal, a, da, b, db, what, an, bn});
  };
  equal("C2", q, 3, k, 3, "head dim", "query", "key");
  if (Value table = getTable()) {
    equal("C12", q, 0, table, 0, "batch extent", "query", "table");
  } else {
    equal("C3", q, 0, k, 0, "batch extent", "query", "key");
    equal("C3", q, 0, v, 0, "batch extent", "query", "value");
  }
  static constexpr StringLiteral scaled[] = {"extent 0", "extent 1",
                                             "extent 2"};
  for (auto [d, name] : llvm::enumerate(scaled)) {
    auto dim = static_cast<int64_t>(d);
    if (Value scale = getKeyScale())
      equal("C13", scale, dim, k, dim, name, "key_scale", "key");
    if (Value scale = getValueScale())
      equal("C13", scale, dim, v, dim, name, "value_scale", "value");
  }
  equal("C4", k, 1, v, 1, "head count", "key", "value");
  constraints.push_back({"C4", ExtentRelation::DivisibleBy, q, 1, k, 1,
                         "head count", "query", "key"});
  equal("C5", k, 2, v, 2, "sequence length", "key", "value");
  static constexpr StringLiteral names[] = {"output", "log-sum-exp",
                                            "remainder"};
  for (auto [o, name] : llvm::zip(getInits(), names)) {
    equal("C6", o, 0, q, 0, "batch extent", name, "query");
    equal("C6", o, 1, q, 1, "head count", name, "query");
    equal("C6", o, 2, q, 2, "sequence length", name, "query");
  }
  equal("C6", getOutput(), 3, v, 3, "head dim", "output", "value");
  if (getSink())
    equal("C11", getSink(), 0, q, 1, "head count", "sink", "query");
  if (getAdditive())
    addAdditiveWeight(constraints, "C15", getAdditive(), "additive", q);
  addRotationConstraints(constraints, "C16", getQueryCos(), "query_cos",
                         getQuerySin(), "query_sin", q, "query");
}

void OnlineAttentionOp::getExtentConstraints(Constraints &constraints) {
  auto equal = [&](StringRef label, Value a, int64_t da, Value b, int64_t db,
                   StringRef what, StringRef an, StringRef bn) {
    constraints.push_back(
        {label, ExtentRelation::Equal, a, da, b, db, what, an, bn});
  };
  // In panels, rows are the middle extent of the query, and the keys of the
  // value are padded.
  int64_t rows = isPaired() ? 1 : 0;
  if (!isPaired()) {
    equal("C2", getQuery(), 1, getKey(), 1, "head dim", "query", "key");
    equal("C3", getKey(), 0, getValue(), 0, "key count", "key", "value");
  }
  if (getAdditive() && !isPaired())
    equal("C9", getAdditive(), 0, getQuery(), 1, "head dim", "additive",
          "query");
  if (Value scale = getKeyScale())
    equal("C10", scale, 0, getKey(), 0, "key count", "key_scale", "key");
  if (Value scale = getValueScale())
    equal("C10", scale, 0, getValue(), 0, "key count", "value_scale", "value");
  equal("C4", getAcc(), 0, getQuery(), rows, "row count", "acc", "query");
  equal("C4", getAcc(), 1, getValue(), 1, "head dim", "acc", "value");
  equal("C4", getMax(), 0, getQuery(), rows, "row count", "max", "query");
  equal("C4", getSum(), 0, getQuery(), rows, "row count", "sum", "query");
}

void MergePartialsOp::getExtentConstraints(Constraints &constraints) {
  auto equal = [&](StringRef label, Value a, int64_t da, Value b, int64_t db,
                   StringRef what, StringRef an, StringRef bn) {
    constraints.push_back(
        {label, ExtentRelation::Equal, a, da, b, db, what, an, bn});
  };
  auto statistics = [&](Value s, StringRef name) {
    equal("C2", s, 0, getAcc(), 0, "partial count", name, "acc");
    equal("C2", s, 1, getAcc(), 1, "row count", name, "acc");
  };
  statistics(getMax(), "max");
  statistics(getSum(), "sum");
  equal("C3", getOutput(), 1, getAcc(), 2, "head dim", "output", "acc");
  constraints.push_back({"C3", ExtentRelation::AtMost, getOutput(), 0, getAcc(),
                         1, "row count", "output", "acc"});
  if (getLogSumExp())
    equal("C3", getLogSumExp(), 0, getOutput(), 0, "row count", "log-sum-exp",
          "output");
  if (getRemainder())
    equal("C3", getRemainder(), 0, getOutput(), 0, "row count", "remainder",
          "output");
}
