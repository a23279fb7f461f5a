//===- SelectSchedule.cpp - Chooses tiles and registers
//--------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/MatrixProduct.h"
#include "attn/Codegen/Common/Passes.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"

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
std::array<int64_t, 2> chooseRegisters(TargetAttr target) {
  // 4 x 4 of 32 registers leaves room for the exponential; 6 x 2 of 16 is the
  // largest tile that does not spill.
  if (target.getNumRegisters() >= 32)
    return {4, 4};
  return {6, 2};
}

ScheduleAttr scheduleAttention(TargetAttr target) {
  std::array<int64_t, 2> registers = chooseRegisters(target);
  int64_t lanes = target.getLanes();
  // 64 rows amortise each pass over the keys; 64 keys keep the weights of a
  // register tile in L1 next to the K and V rows they meet.
  int64_t width = registers[1] * lanes;
  int64_t rows = std::max<int64_t>(width, 64 / width * width);
  int64_t keys = 64 / registers[0] * registers[0];
  return ScheduleAttr::get(target.getContext(), Kernel::QueriesInLanes,
                           {rows, keys}, registers, lanes);
}

ScheduleAttr scheduleMatrixProduct(TargetAttr target) {
  std::array<int64_t, 2> registers = chooseRegisters(target);
  int64_t lanes = target.getLanes(), width = registers[1] * lanes;
  int64_t columns = std::max<int64_t>(width, 64 / width * width);
  return ScheduleAttr::get(target.getContext(), Kernel::Gemm,
                           {16 * registers[0], columns}, registers, lanes);
}

class SelectSchedulePass
    : public attn::impl::SelectSchedulePassBase<SelectSchedulePass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    auto module = func->getParentOfType<ModuleOp>();
    auto target = module->getAttrOfType<TargetAttr>(kTargetAttrName);
    if (!target) {
      module.emitError() << "attn-select-schedule needs the module attribute '"
                         << kTargetAttrName << "'";
      return signalPassFailure();
    }
    func.walk([&](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op)) {
        if (!attention.getSchedule())
          attention.setScheduleAttr(scheduleAttention(target));
      } else if (succeeded(matchMatrixProduct(op)) &&
                 !op->hasAttr(kScheduleAttrName)) {
        op->setAttr(kScheduleAttrName, scheduleMatrixProduct(target));
      }
    });
  }
};

} // namespace
