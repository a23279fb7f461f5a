//===- SelectSchedule.cpp - Chooses tiles and registers ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/MatrixProduct.h"
#include "attn/Codegen/Common/Passes.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Remarks.h"

namespace attn {
#define GEN_PASS_DEF_SELECTSCHEDULEPASS
#include "attn/Codegen/Common/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Register tile: `rows` broadcasts times `vectors` vectors of accumulators,
/// plus the vectors and one broadcast, must fit the register file:
/// rows * vectors + vectors + 1 <= registers.
std::array<int64_t, 2> chooseRegisters(TargetAttr target, Kernel kernel) {
  // Of 16 registers, 6 x 2 is the largest tile that does not spill.
  if (target.getNumRegisters() < 32)
    return {6, 2};
  // More rows mean fewer loads a multiply-add. Matrix products of few rows and
  // the four rows of a group like powers of two better.
  if (kernel == Kernel::QueriesInLanes)
    return {6, 4};
  return {4, 4};
}

/// Query rows that share a key head, when they are few and known: the heads of
/// one group times the query length. 0 when they are not.
int64_t countGroupRows(AttentionOp op) {
  auto query = cast<ShapedType>(op.getQuery().getType());
  auto key = cast<ShapedType>(op.getKey().getType());
  auto value = cast<ShapedType>(op.getValue().getType());
  if (query.isDynamicDim(1) || query.isDynamicDim(2) || key.isDynamicDim(1) ||
      value.isDynamicDim(1) || query.getDimSize(2) == 0)
    return 0;
  return query.getDimSize(1) / key.getDimSize(1) * query.getDimSize(2);
}

/// A decoding step: too few rows to fill vectors, and all of them read the same
/// keys, which come from memory once. Keys are split by length alone, so that
/// bits do not depend on the number of threads.
ScheduleAttr scheduleFewRows(AttentionOp op, TargetAttr target, int64_t rows) {
  std::array<int64_t, 2> registers =
      chooseRegisters(target, Kernel::FeaturesInLanes);
  // A block is prefetched while the one before it is computed: a third of L1
  // each for its keys and its values keeps memory busy and leaves nothing to be
  // evicted before it is read.
  FloatType scores = op.getScoreType();
  int64_t lanes = target.getLanes(scores), rowBytes = 0;
  for (Value operand : {op.getKey(), op.getValue()}) {
    auto type = cast<ShapedType>(operand.getType());
    int64_t bits = type.getElementTypeBitWidth();
    rowBytes = std::max(rowBytes, type.getDimSize(3) * bits / 8);
  }
  int64_t keys = target.getL1() / 3 / rowBytes / lanes * lanes;
  keys = std::clamp<int64_t>(keys, lanes, 256);
  return ScheduleAttr::get(
      target.getContext(), Kernel::FeaturesInLanes,
      {static_cast<int64_t>(llvm::PowerOf2Ceil(rows)), keys}, registers, lanes,
      /*split=*/2048);
}

/// Whether products of bf16 pairs can read the operands: they pack all keys and
/// values, which lie one after the other.
bool readsPairs(AttentionOp op) {
  return !op.getTable() &&
         llvm::all_of(ValueRange{op.getQuery(), op.getKey(), op.getValue()},
                      [](Value operand) {
                        return getElementTypeOrSelf(operand.getType()).isBF16();
                      });
}

/// bf16 by pairs. A register tile of AMX is 2 x 2 of the eight tiles, with two
/// for each side; of vectors, 8 x 2 accumulators of 32 registers. A task is one
/// group of rows, whose lines of Q and of the output then lie side by side: in
/// wider tiles they would share a part of the L1 sets. Keys stream from L2.
ScheduleAttr schedulePairs(TargetAttr target) {
  bool tiles = target.getBf16() == BF16Unit::Tiles;
  std::array<int64_t, 2> registers{tiles ? 2 : 8, 2};
  return ScheduleAttr::get(target.getContext(),
                           tiles ? Kernel::BF16Tiles : Kernel::BF16Vectors,
                           {32, 2048}, registers, target.getLanes(),
                           /*split=*/0);
}

/// Says that `kernel`, which `op` would have, does not compute additive scores.
void remarkNotAdditive(AttentionOp op, Kernel kernel) {
  remark::missed(
      op.getLoc(),
      remark::RemarkOpts::name("additive-scores")
          .category("attn")
          .function(op->getParentOfType<func::FuncOp>().getSymName()))
      << ("additive scores are computed by queries_in_lanes, not by " +
          stringifyKernel(kernel))
             .str();
}

/// Whether `op` multiplies two matrices, in any layout.
bool isFloatMatrixProduct(Operation *op) {
  auto product = dyn_cast<linalg::LinalgOp>(op);
  if (!product || !linalg::isaContractionOpInterface(product) ||
      !llvm::all_of(op->getOperandTypes(), [](Type type) {
        return isa<FloatType>(getElementTypeOrSelf(type));
      }))
    return false;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(product);
  return succeeded(dims) && !dims->m.empty() && !dims->n.empty();
}

/// Says that a matrix product has no kernel.
void remarkPlainLoops(func::FuncOp func, linalg::LinalgOp product) {
  std::string operands;
  llvm::raw_string_ostream(operands)
      << product.getDpsInputs()[0].getType() << " times "
      << product.getDpsInputs()[1].getType();
  remark::missed(product.getLoc(), remark::RemarkOpts::name("plain-loops")
                                       .category("attn")
                                       .function(func.getSymName()))
      << "a matrix product of " + operands +
             " runs as plain loops: kernels compute [..., M, K] times [K, N] "
             "or [N, K] in f32, for a static K";
}

/// Tiles of query rows in lanes, for `streams`, keys and perhaps values.
ScheduleAttr scheduleQueriesInLanes(KeyBlocksOpInterface op, TargetAttr target,
                                    ValueRange streams) {
  FloatType type = op.getScoreType();
  int64_t lanes = target.getLanes(type), bytes = type.getWidth() / 8;
  bool isAdditive = static_cast<bool>(op.getAdditive());
  std::array<int64_t, 2> registers =
      chooseRegisters(target, Kernel::QueriesInLanes);
  // A tanh for each pair and feature: more of them side by side win nothing.
  if (isAdditive)
    registers = {2, 2};
  int64_t rowBytes = 0;
  for (Value operand : streams)
    rowBytes += cast<ShapedType>(operand.getType()).getDimSize(3) * bytes;
  // 64 rows amortise each pass over the keys when those are in L2. They are not
  // where the length of an ordinary text fills it: twice the rows then halve
  // what comes from farther away, if queries and output leave room in L2. The
  // length itself is seldom known.
  constexpr int64_t kFewRows = 64, kOrdinaryLength = 2048;
  bool isFar = kOrdinaryLength * rowBytes >= target.getL2() &&
               2 * kFewRows * rowBytes <= target.getL2() / 2;
  int64_t wanted = isFar ? 2 * kFewRows : kFewRows;
  // The weights of a register tile take up to half of L1, next to the K and V
  // rows they meet; those of a block up to an eighth of L2, next to the tile's
  // queries and output.
  int64_t width = registers[1] * lanes;
  int64_t rows = std::max<int64_t>(width, wanted / width * width);
  int64_t weightBytes = width * bytes;
  int64_t keys = std::clamp<int64_t>(
      std::min(target.getL1() / 2 / weightBytes, target.getL2() / 8 / rowBytes),
      12, 96);
  keys = keys / registers[0] * registers[0];
  return ScheduleAttr::get(target.getContext(), Kernel::QueriesInLanes,
                           {rows, keys}, registers, lanes, /*split=*/0);
}

ScheduleAttr scheduleAttention(AttentionOp op, TargetAttr target) {
  int64_t groupRows = countGroupRows(op);
  std::optional<ScheduleAttr> better;
  if (groupRows > 0 &&
      groupRows <= std::min<int64_t>(8, target.getLanes(op.getScoreType())))
    better = scheduleFewRows(op, target, groupRows);
  else if (target.getBf16() != BF16Unit::None && readsPairs(op))
    better = schedulePairs(target);
  if (better && !op.getAdditive())
    return *better;
  if (better)
    remarkNotAdditive(op, better->getKernel());
  return scheduleQueriesInLanes(op, target, {op.getKey(), op.getValue()});
}

ScheduleAttr scheduleMatrixProduct(TargetAttr target) {
  std::array<int64_t, 2> registers = chooseRegisters(target, Kernel::Gemm);
  int64_t lanes = target.getLanes(), width = registers[1] * lanes;
  int64_t columns = std::max<int64_t>(width, 64 / width * width);
  return ScheduleAttr::get(target.getContext(), Kernel::Gemm,
                           {16 * registers[0], columns}, registers, lanes,
                           /*split=*/0);
}

/// Tokens are read in chunks. Where no row of the state has a decay of its own,
/// chunks become matrix products; few tokens, and updates that read the state
/// of each token, go through it one by one.
ScheduleAttr scheduleLinearAttention(LinearAttentionOp op, TargetAttr target) {
  int64_t lanes = target.getLanes();
  std::array<int64_t, 2> registers = target.getNumRegisters() < 32
                                         ? std::array<int64_t, 2>{4, 2}
                                         : std::array<int64_t, 2>{4, 4};
  auto key = cast<ShapedType>(op.getKey().getType());
  auto value = cast<ShapedType>(op.getValue().getType());
  int64_t width = registers[1] * lanes, tokens = key.getDimSize(2);
  bool isShort = !ShapedType::isDynamic(tokens) && tokens < lanes;
  bool chunked = !op.getBeta() && !op.hasRowDecay() && !isShort;
  // The state of a task stays in L2, next to a chunk of everything else.
  int64_t columns = llvm::alignTo(value.getDimSize(3), width);
  int64_t rowBytes = key.getDimSize(3) * static_cast<int64_t>(sizeof(float));
  columns = std::clamp<int64_t>(target.getL2() / 4 / rowBytes / width * width,
                                width, columns);
  int64_t chunk = chunked ? 32 : 16;
  if (isShort)
    chunk = std::max<int64_t>(tokens, 1);
  return ScheduleAttr::get(target.getContext(),
                           chunked ? Kernel::ChunkedState
                                   : Kernel::RecurrentState,
                           {chunk, columns}, registers, lanes, /*split=*/0);
}

LogicalResult verifySchedule(LinearAttentionOp op, TargetAttr target) {
  Kernel kernel = op.getSchedule()->getKernel();
  if (!isStateKernel(kernel))
    return op.emitOpError() << "has the schedule of " << stringifyKernel(kernel)
                            << ", expected one of linear attention";
  if (kernel == Kernel::ChunkedState && (op.getBeta() || op.hasRowDecay()))
    return op.emitOpError() << "has the schedule of " << stringifyKernel(kernel)
                            << ", which has no "
                            << (op.getBeta() ? "beta" : "decay of each row");
  return op.getSchedule()->verifyTarget(op, target,
                                        Float32Type::get(op.getContext()));
}

/// Whether `op` on `target` is what its schedule is for.
LogicalResult verifySchedule(AttentionOp op, TargetAttr target) {
  ScheduleAttr schedule = *op.getSchedule();
  Kernel kernel = schedule.getKernel();
  InFlightDiagnostic error = op.emitOpError() << "has the schedule of "
                                              << stringifyKernel(kernel);
  if (op.getAdditive() && kernel != Kernel::QueriesInLanes)
    return error << ", which has no additive scores";
  switch (kernel) {
  case Kernel::Gemm:
  case Kernel::RecurrentState:
  case Kernel::ChunkedState:
    return error << ", expected one of attention";
  case Kernel::QueriesInLanes:
    break;
  case Kernel::FeaturesInLanes:
    if (int64_t rows = countGroupRows(op);
        rows == 0 || rows > schedule.getTile()[0])
      return error << " for " << schedule.getTile()[0]
                   << " rows, but a group of heads has "
                   << (rows ? std::to_string(rows) : "an unknown number");
    break;
  case Kernel::BF16Vectors:
  case Kernel::BF16Tiles:
    if (op.getTable())
      return error << ", which reads no pages";
    if (!readsPairs(op))
      return error << ", which takes bf16, but operands of "
                   << getElementTypeOrSelf(op.getQuery().getType()) << ", "
                   << getElementTypeOrSelf(op.getKey().getType()) << " and "
                   << getElementTypeOrSelf(op.getValue().getType());
    break;
  }
  error.abandon();
  return schedule.verifyTarget(op, target, op.getScoreType());
}

/// Statistics of weights have one kernel.
LogicalResult verifySchedule(AttentionStatsOp op, TargetAttr target) {
  ScheduleAttr schedule = *op.getSchedule();
  if (schedule.getKernel() != Kernel::QueriesInLanes)
    return op.emitOpError()
           << "has the schedule of " << stringifyKernel(schedule.getKernel())
           << ", expected " << stringifyKernel(Kernel::QueriesInLanes);
  return schedule.verifyTarget(op, target, op.getScoreType());
}

/// Says what was chosen, or that somebody else had chosen before.
void remarkSchedule(func::FuncOp func, Operation *op, ScheduleAttr schedule,
                    TargetAttr target, bool given) {
  remark::analysis(op->getLoc(), remark::RemarkOpts::name("schedule")
                                     .category("attn")
                                     .function(func.getSymName()))
      << llvm::formatv(
             "schedule of {0}{1}: {2}, tile {3}x{4}, registers {5}x{6}, {7} "
             "lanes ({8})",
             op->getName().getStringRef(), given ? " (given)" : "",
             stringifyKernel(schedule.getKernel()), schedule.getTile()[0],
             schedule.getTile()[1], schedule.getRegisters()[0],
             schedule.getRegisters()[1], schedule.getLanes(),
             stringifyISA(target.getIsa()))
             .str();
}

class SelectSchedulePass
    : public attn::impl::SelectSchedulePassBase<SelectSchedulePass> {
  using SelectSchedulePassBase::SelectSchedulePassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    auto module = func->getParentOfType<ModuleOp>();
    auto target = module->getAttrOfType<TargetAttr>(kTargetAttrName);
    if (!target) {
      module.emitError() << "attn-select-schedule needs the module attribute '"
                         << kTargetAttrName << "'";
      return signalPassFailure();
    }
    ScheduleAttr given;
    if (!attention.empty()) {
      given = dyn_cast_or_null<ScheduleAttr>(
          parseAttribute(attention, &getContext()));
      if (!given || given.getKernel() == Kernel::Gemm ||
          isStateKernel(given.getKernel())) {
        module.emitError() << "expected a #attn.schedule<...> for attention, "
                              "got '"
                           << attention << "'";
        return signalPassFailure();
      }
    }
    WalkResult walk = func.walk([&](Operation *op) {
      if (auto fused = dyn_cast<AttentionOp>(op)) {
        bool isGiven = given || fused.getSchedule();
        if (!fused.getSchedule())
          fused.setScheduleAttr(given ? given
                                      : scheduleAttention(fused, target));
        if (failed(verifySchedule(fused, target)))
          return WalkResult::interrupt();
        remarkSchedule(func, op, *fused.getSchedule(), target, isGiven);
      } else if (auto stats = dyn_cast<AttentionStatsOp>(op)) {
        bool isGiven = stats.getSchedule().has_value();
        if (!isGiven)
          stats.setScheduleAttr(
              scheduleQueriesInLanes(stats, target, stats.getKey()));
        if (failed(verifySchedule(stats, target)))
          return WalkResult::interrupt();
        remarkSchedule(func, op, *stats.getSchedule(), target, isGiven);
      } else if (auto linear = dyn_cast<LinearAttentionOp>(op);
                 linear && linear.hasKernel()) {
        bool isGiven = static_cast<bool>(linear.getSchedule());
        if (!isGiven)
          linear.setScheduleAttr(scheduleLinearAttention(linear, target));
        if (failed(verifySchedule(linear, target)))
          return WalkResult::interrupt();
        remarkSchedule(func, op, *linear.getSchedule(), target, isGiven);
      } else if (succeeded(matchMatrixProduct(op))) {
        auto schedule = op->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
        bool isGiven = static_cast<bool>(schedule);
        if (!isGiven)
          schedule = scheduleMatrixProduct(target);
        if (failed(schedule.verifyTarget(op, target,
                                         Float32Type::get(&getContext()))))
          return WalkResult::interrupt();
        op->setAttr(kScheduleAttrName, schedule);
        remarkSchedule(func, op, schedule, target, isGiven);
      } else if (isFloatMatrixProduct(op)) {
        remarkPlainLoops(func, cast<linalg::LinalgOp>(op));
      }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
