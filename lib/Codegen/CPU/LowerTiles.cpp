//===- LowerTiles.cpp - Tile ops to micro-kernels -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairedAttention.h"
#include "TileLowering.h"
#include "VectorEmitter.h"
#include "attn/Codegen/CPU/Passes.h"

namespace attn {
#define GEN_PASS_DEF_LOWERTILESPASS
#include "attn/Codegen/CPU/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Fills a scratch tile, whose innermost extent is whole vectors, by vectors.
LogicalResult lowerFill(RewriterBase &rewriter, linalg::FillOp op,
                        TargetAttr target) {
  auto type = dyn_cast<MemRefType>(op.getOutputs()[0].getType());
  if (!type)
    return failure();
  int64_t bits = type.getElementTypeBitWidth();
  if (bits != 64 && bits != 32 && bits != 16)
    return failure();
  int64_t lanes = target.getLanes() * 32 / bits;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!type.hasStaticShape() || type.getRank() == 0 ||
      failed(type.getStridesAndOffset(strides, offset)) ||
      strides.back() != 1 || type.getShape().back() % lanes)
    return failure();
  rewriter.setInsertionPoint(op);
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  VectorEmitter e(b, target.getIsa(), target.getLanes());
  Value vector = vector::BroadcastOp::create(
      b, VectorType::get({lanes}, type.getElementType()), op.getInputs()[0]);
  SmallVector<Value> indices;
  std::function<void(int64_t)> fillFrom = [&](int64_t dim) {
    bool innermost = dim + 1 == type.getRank();
    emitLoop(
        b, e.index(0), e.index(type.getDimSize(dim)), innermost ? lanes : 1, {},
        [&](Value i, ValueRange) -> SmallVector<Value> {
          indices.push_back(i);
          if (innermost)
            vector::StoreOp::create(b, vector, op.getOutputs()[0], indices);
          else
            fillFrom(dim + 1);
          indices.pop_back();
          return {};
        });
  };
  fillFrom(0);
  rewriter.eraseOp(op);
  return success();
}

class LowerTilesPass : public attn::impl::LowerTilesPassBase<LowerTilesPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    auto module = func->getParentOfType<ModuleOp>();
    auto target = module->getAttrOfType<TargetAttr>(kTargetAttrName);
    if (!target) {
      module.emitError() << "attn-cpu-lower-tiles needs the module attribute '"
                         << kTargetAttrName << "'";
      return signalPassFailure();
    }
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> ops;
    func.walk([&](Operation *op) {
      if (isa<PackOp, RotateOp, RopeTablesOp, OnlineAttentionOp, OnlineStatsOp,
              MergePartialsOp, LinearAttentionOp, linalg::FillOp>(op) ||
          (isa<linalg::MatmulOp>(op) && op->hasAttr(kScheduleAttrName)))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(lower(rewriter, op, target)))
        return signalPassFailure();
  }

  LogicalResult lower(IRRewriter &rewriter, Operation *op, TargetAttr target) {
    if (!isa<linalg::FillOp>(op) &&
        llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>))
      return op->emitOpError("must be on buffers to be lowered");
    ScheduleAttr schedule = op->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
    FloatType type = rewriter.getF32Type();
    if (auto block = dyn_cast<KeyBlockOpInterface>(op)) {
      schedule = block.getScheduleAttr();
      type = block.getScoreType();
      if (!schedule)
        return op->emitOpError("has no schedule to be lowered by");
    }
    auto linear = dyn_cast<LinearAttentionOp>(op);
    if (linear)
      schedule = linear.getSchedule().value_or(ScheduleAttr());
    if (schedule && failed(schedule.verifyTarget(op, target, type)))
      return failure();
    if (auto pack = dyn_cast<PackOp>(op))
      return lowerPack(rewriter, pack, target);
    if (linear)
      return lowerLinearAttention(rewriter, linear, target);
    if (auto rotate = dyn_cast<RotateOp>(op))
      return lowerRotate(rewriter, rotate, target);
    if (auto tables = dyn_cast<RopeTablesOp>(op))
      return lowerRopeTables(rewriter, tables, target);
    if (auto merge = dyn_cast<MergePartialsOp>(op))
      return lowerMergePartials(rewriter, merge, target);
    if (auto product = dyn_cast<linalg::MatmulOp>(op))
      return lowerMatrixTile(rewriter, product, target);
    auto allocate = [&](StringRef purpose, int64_t number,
                        ArrayRef<int64_t> shape, Type element) {
      return getScratch(rewriter, cast<KeyBlockOpInterface>(op), purpose, shape,
                        element, number);
    };
    if (auto block = dyn_cast<OnlineStatsOp>(op))
      return lowerOnlineStats(
          rewriter, block, target,
          getScratch(rewriter, block, "weights",
                     {schedule.getTile()[1] +
                          std::max<int64_t>(schedule.getLanes(), 8),
                      schedule.getRegisters()[1] * schedule.getLanes()}),
          allocate);
    if (auto block = dyn_cast<OnlineAttentionOp>(op)) {
      if (schedule.getKernel() == Kernel::FeaturesInLanes)
        return lowerFewRows(rewriter, block, target,
                            getFewRowsScratch(rewriter, block, target));
      if (block.getKeyScale() || block.getValueScale())
        return block.emitOpError("has i8 operands and the schedule of ")
               << stringifyKernel(schedule.getKernel())
               << ", which reads floats";
      if (isPairedKernel(schedule.getKernel()))
        return lowerPairedAttention(rewriter, block, target,
                                    getPairedScratch(rewriter, block, target),
                                    allocate);
      return lowerOnlineAttention(
          rewriter, block, target,
          // A register tile may go beyond the last key.
          getScratch(rewriter, block, "weights",
                     {schedule.getTile()[1] +
                          std::max<int64_t>(schedule.getRegisters()[0], 8),
                      schedule.getRegisters()[1] * schedule.getLanes()}),
          allocate);
    }
    // A fill that is no scratch tile stays for the loops of linalg.
    (void)lowerFill(rewriter, cast<linalg::FillOp>(op), target);
    return success();
  }

  FewRowsScratch getFewRowsScratch(IRRewriter &rewriter, OnlineAttentionOp op,
                                   TargetAttr target) {
    ScheduleAttr schedule = *op.getSchedule();
    auto queryType = cast<MemRefType>(op.getQuery().getType());
    auto keyType = cast<MemRefType>(op.getKey().getType());
    int64_t rows = queryType.getDimSize(0), columns = queryType.getDimSize(1);
    int64_t lanes = schedule.getLanes();
    // The softmax reads and the last step writes whole vectors.
    int64_t keys = schedule.getTile()[1] + lanes;
    FewRowsScratch result;
    if (hasScoreTiles(op, target)) {
      Type bf16 = rewriter.getBF16Type();
      result.query = getScratch(rewriter, op, "query pairs",
                                {columns / 2, 2 * rows}, bf16);
      result.scores = getScratch(rewriter, op, "scores", {keys, rows});
      result.lastKeys =
          getScratch(rewriter, op, "last keys", {lanes, columns}, bf16);
    } else if (queryType.getElementType() != op.getScoreType() ||
               (keyType.getElementType().isBF16() &&
                op.getScoreType().isF32())) {
      int64_t stored = llvm::alignTo(columns, lanes);
      result.query = getScratch(rewriter, op, "query", {rows, stored});
    }
    result.weights = getScratch(rewriter, op, "weights", {rows, keys});
    result.visible = getScratch(rewriter, op, "visible", {rows, keys});
    result.factors = getScratch(rewriter, op, "factors", {rows});
    return result;
  }

  PairedScratch getPairedScratch(IRRewriter &rewriter, OnlineAttentionOp op,
                                 TargetAttr target) {
    ScheduleAttr schedule = *op.getSchedule();
    int64_t keys = 2 * kPairedPanel,
            rows = schedule.getRegisters()[1] * schedule.getLanes();
    return {getScratch(rewriter, op, "scores", {keys, rows}),
            getScratch(rewriter, op, "weights",
                       {PairedAttentionLowering::getPanelsInSpan(op) * keys / 2,
                        2 * rows},
                       rewriter.getBF16Type()),
            getScratch(rewriter, op, "start", {1, rows}),
            getZeros(rewriter, op, target)};
  }

  /// A panel of values, filled with zeros when the task begins; null for
  /// kernels that are no pipeline.
  Value getZeros(IRRewriter &rewriter, OnlineAttentionOp op,
                 TargetAttr target) {
    if (!PairedAttentionLowering::alternates(op))
      return {};
    auto type = cast<MemRefType>(op.getValue().getType());
    Value zeros =
        getScratch(rewriter, op, "zeros", {1, type.getDimSize(1), kPairedPanel},
                   rewriter.getBF16Type());
    if (zeros.use_empty()) {
      rewriter.setInsertionPointAfterValue(zeros);
      Value none = arith::ConstantOp::create(
          rewriter, op.getLoc(), rewriter.getZeroAttr(rewriter.getBF16Type()));
      auto fill = linalg::FillOp::create(rewriter, op.getLoc(),
                                         ValueRange(none), ValueRange(zeros));
      (void)lowerFill(rewriter, fill, target);
    }
    return zeros;
  }

  /// A scratch of the task that `op` is in, of the type that scores are
  /// computed in if not said otherwise, shared by all its blocks.
  Value getScratch(IRRewriter &rewriter, KeyBlockOpInterface op,
                   StringRef purpose, ArrayRef<int64_t> shape,
                   Type element = {}, int64_t number = 0) {
    auto type =
        MemRefType::get(shape, element ? element : Type(op.getScoreType()));
    Block *task;
    if (auto forall = op->getParentOfType<scf::ForallOp>())
      task = forall.getBody();
    else
      task = &op->getParentOfType<func::FuncOp>().front();
    Value &memory = scratch[{task, type, purpose, number}];
    if (!memory) {
      rewriter.setInsertionPointToStart(task);
      memory = memref::AllocOp::create(rewriter, op->getLoc(), type);
    }
    return memory;
  }

  llvm::DenseMap<std::tuple<Block *, Type, StringRef, int64_t>, Value> scratch;
};

} // namespace
