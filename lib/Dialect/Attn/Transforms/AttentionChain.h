//===- AttentionChain.h - The ops that attention consists of ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_ATTENTIONCHAIN_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_ATTENTIONCHAIN_H

#include "attn/Dialect/Attn/IR/AttnOps.h"

namespace attn {

/// Keys or values as they lie in a cache: pages of a block table, integers with
/// scales.
struct Cached {
  explicit Cached(mlir::Value operand) : whole(operand) {
    if (auto pages = operand.getDefiningOp<GatherPagesOp>()) {
      table = pages.getTable();
      operand = pages.getPages();
    }
    readIntegers(operand);
  }

  /// Leaves the gathering of pages to its op: the scales of integers in pages
  /// lie in pages too.
  void keepPages() {
    table = scale = {};
    readIntegers(whole);
  }

  mlir::Value whole, rows, table, scale;

private:
  void readIntegers(mlir::Value operand) {
    rows = operand;
    if (auto integers = operand.getDefiningOp<DequantizeOp>()) {
      scale = integers.getScale();
      rows = integers.getInput();
    }
  }
};

/// `qk` or `additive_scores`, score ops in order, `masked_softmax`, ops on
/// weights in order, and `weighted_sum` or `weight_stats`.
struct AttentionChain {
  mlir::Operation *product = nullptr;
  llvm::SmallVector<mlir::Operation *> scoreOps;
  MaskedSoftmaxOp softmax;
  llvm::SmallVector<mlir::Operation *> weightOps;
  mlir::Operation *root = nullptr;

  mlir::Value query() const { return product->getOperand(0); }
  mlir::Value key() const { return product->getOperand(1); }
  /// The values of a weighted sum, or null.
  mlir::Value value() const {
    auto sum = llvm::dyn_cast<WeightedSumOp>(root);
    return sum ? mlir::Value(sum.getValue()) : mlir::Value();
  }
  /// The weight of additive scores, or null.
  mlir::Value additive() const {
    return llvm::isa<AdditiveScoresOp>(product) ? product->getOperand(2)
                                                : mlir::Value();
  }
  /// Whether rows that see nothing are NaN. Programs on weights make their
  /// hidden pairs 0.
  bool hasNaNRows() const {
    return MaskedSoftmaxOp(softmax).getEmptyRow() == EmptyRow::NaN &&
           llvm::none_of(weightOps, llvm::IsaPred<ProbabilityMapOp>);
  }
  bool hasSigmoid() const {
    return MaskedSoftmaxOp(softmax).getNormalizer() == Normalizer::Sigmoid;
  }
};

/// Keys, and values if the chain has any. Pages of both are those of one block
/// table and one size.
std::pair<Cached, std::optional<Cached>>
readCaches(const AttentionChain &chain);

/// Matches the chain that ends in `root`, a `weighted_sum` or a `weight_stats`;
/// explains in a remark why there is none.
llvm::FailureOr<AttentionChain> matchAttentionChain(mlir::Operation *root);

/// Says what became one kernel, in the order of evaluation.
void remarkFused(const AttentionChain &chain);

} // namespace attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_ATTENTIONCHAIN_H
