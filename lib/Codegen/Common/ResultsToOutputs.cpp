//===- ResultsToOutputs.cpp - Results become arguments ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function that returns a buffer would have to hand over its ownership, and
// bufferisation would compute into a fresh allocation and copy. With the
// destination known while values are still tensors, neither happens.
//
//===----------------------------------------------------------------------===//

#include "CacheUpdate.h"
#include "attn/Codegen/Common/Passes.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace attn;

namespace attn {
#define GEN_PASS_DEF_RESULTSTOOUTPUTSPASS
#include "attn/Codegen/Common/Passes.h.inc"
} // namespace attn

namespace {

struct ResultsToOutputsPass
    : attn::impl::ResultsToOutputsPassBase<ResultsToOutputsPass> {
  void runOnOperation() override {
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (func.isPublic() && !func.isExternal() && failed(convert(func)))
        return signalPassFailure();
  }

private:
  LogicalResult convert(func::FuncOp func);
};

/// Merged heads are computed in a split view of an empty tensor, where a
/// linalg.generic may then change them. When the merged heads are the result,
/// that tensor is the output itself: upstream's elimination of empty tensors
/// does not see through the change of shape.
void redirectHeads(Value result, Value output) {
  auto merge = result.getDefiningOp<MergeHeadsOp>();
  if (!merge || !result.hasOneUse())
    return;
  auto getTied = [](Value value) -> Value {
    auto op = value.getDefiningOp<DestinationStyleOpInterface>();
    return value.hasOneUse() ? op.getTiedOpOperand(cast<OpResult>(value))->get()
                             : Value();
  };
  Value heads = merge.getInput();
  if (heads.getDefiningOp<linalg::GenericOp>())
    heads = getTied(heads);
  if (!heads ||
      !isa_and_nonnull<AttentionOp, LinearAttentionOp>(heads.getDefiningOp()))
    return;
  Value destination = getTied(heads);
  if (!destination)
    return;
  auto split = destination.getDefiningOp<SplitHeadsOp>();
  auto empty = split ? split.getInput().getDefiningOp<tensor::EmptyOp>()
                     : tensor::EmptyOp();
  if (!empty || !empty->hasOneUse() || !split->hasOneUse() ||
      empty.getType() != merge.getType())
    return;
  OpBuilder builder(empty);
  Value whole = bufferization::ToTensorOp::create(
      builder, empty.getLoc(), empty.getType(), output, /*restrict=*/true,
      /*writable=*/true);
  empty.replaceAllUsesWith(whole);
  empty->erase();
}

/// Gives each user an empty or filled tensor of its own. One that two results
/// are computed in would become the first one's output, which is overwritten
/// before the second result is copied out of it.
void separateInits(func::FuncOp func) {
  SmallVector<Operation *> inits;
  func.walk([&](Operation *op) {
    if (isa<tensor::EmptyOp>(op) ||
        (isa<linalg::FillOp>(op) && op->getNumResults() == 1))
      inits.push_back(op);
  });
  // Users first, so that a fill that is copied copies its empty tensor.
  for (Operation *init : llvm::reverse(inits))
    for (OpOperand &use :
         llvm::make_early_inc_range(llvm::drop_begin(init->getUses()))) {
      OpBuilder builder(init);
      use.set(builder.clone(*init)->getResult(0));
    }
}

LogicalResult ResultsToOutputsPass::convert(func::FuncOp func) {
  separateInits(func);
  FunctionType type = func.getFunctionType();
  if (llvm::none_of(type.getResults(), llvm::IsaPred<TensorType>))
    return success();
  if (std::optional<SymbolTable::UseRange> uses =
          SymbolTable::getSymbolUses(func, getOperation()))
    for (SymbolTable::SymbolUse use : *uses)
      if (isa<CallOpInterface>(use.getUser())) {
        InFlightDiagnostic diag = use.getUser()->emitError()
                                  << "call of the entry function '"
                                  << func.getSymName()
                                  << "' could not be inlined";
        diag.attachNote(func.getLoc()) << "its results become arguments";
        return diag;
      }

  // One argument per tensor result, in order.
  SmallVector<int64_t> outputOf(type.getNumResults(), -1);
  BitVector dropped(type.getNumResults());
  for (auto [i, result] : llvm::enumerate(type.getResults())) {
    if (!isa<TensorType>(result))
      continue;
    auto tensor = dyn_cast<RankedTensorType>(result);
    if (!tensor || !MemRefType::isValidElementType(tensor.getElementType()))
      return func.emitError()
             << "result " << i << " of '" << func.getSymName()
             << "' must be a ranked tensor of numbers, got " << result;
    outputOf[i] = func.getNumArguments();
    auto buffer = MemRefType::get(tensor.getShape(), tensor.getElementType());
    if (failed(func.insertArgument(func.getNumArguments(), buffer,
                                   func.getResultAttrDict(i), func.getLoc())))
      return failure();
    dropped.set(i);
  }

  WalkResult walk = func.walk([&](func::ReturnOp op) {
    OpBuilder builder(op);
    SmallVector<Value> kept;
    for (auto [i, value] : llvm::enumerate(op.getOperands())) {
      if (outputOf[i] < 0) {
        kept.push_back(value);
        continue;
      }
      redirectHeads(value, func.getArgument(outputOf[i]));
      redirectCache(value, func.getArgument(outputOf[i]));
      bufferization::MaterializeInDestinationOp::create(
          builder, op.getLoc(), Type(), value, func.getArgument(outputOf[i]),
          /*restrict=*/true, /*writable=*/true);
    }
    op.getOperandsMutable().assign(kept);
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted() || failed(func.eraseResults(dropped)));
}

} // namespace
