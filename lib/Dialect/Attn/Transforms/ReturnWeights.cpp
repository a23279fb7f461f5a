//===- ReturnWeights.cpp - What statistics of weights are made from -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the twin, whose weights exist in memory anyway.
//
//===----------------------------------------------------------------------===//

#include "EntrySignature.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace attn {
#define GEN_PASS_DEF_RETURNWEIGHTSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct ReturnWeightsPass
    : attn::impl::ReturnWeightsPassBase<ReturnWeightsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!function.isPublic() || function.isExternal() ||
        !function.getBody().hasOneBlock())
      return;
    auto exit = cast<func::ReturnOp>(function.front().getTerminator());
    llvm::SetVector<Value> sources;
    for (Value result : exit.getOperands()) {
      StatsSource source = getStatsSource(result);
      for (Value value : {source.weights, source.scores})
        if (value && !llvm::is_contained(exit.getOperands(), value))
          sources.insert(value);
    }
    TypeRange types(ValueRange(sources.getArrayRef()));
    SmallVector<unsigned> positions(types.size(), function.getNumResults());
    SmallVector<DictionaryAttr> attributes(types.size());
    if (failed(function.insertResults(positions, types, attributes)))
      return signalPassFailure();
    exit.getOperandsMutable().append(sources.getArrayRef());
  }
};

} // namespace
