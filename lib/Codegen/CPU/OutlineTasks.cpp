//===- OutlineTasks.cpp - scf.forall to task functions --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/CPU/Passes.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

namespace attn {
#define GEN_PASS_DEF_OUTLINETASKSPASS
#include "attn/Codegen/CPU/Passes.h.inc"
} // namespace attn

using namespace mlir;

namespace {

/// Alignment of scratch slices: a cache line.
constexpr int64_t kScratchAlignment = 64;

class OutlineTasksPass
    : public attn::impl::OutlineTasksPassBase<OutlineTasksPass> {
  void runOnOperation() override {
    SmallVector<scf::ForallOp> loops;
    getOperation().walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
      loops.push_back(loop);
      return WalkResult::skip();
    });
    llvm::StringMap<unsigned> counts;
    symbols.emplace(getOperation());
    for (scf::ForallOp loop : loops) {
      auto func = loop->getParentOfType<func::FuncOp>();
      if (!func || func->getParentOp() != getOperation()) {
        loop.emitOpError("must be in a function of the module to become a task "
                         "function");
        return signalPassFailure();
      }
      if (!loop.getOutputs().empty() || !loop.isNormalized()) {
        loop.emitOpError("must be on buffers, from 0 in steps of 1, to become "
                         "a task function");
        return signalPassFailure();
      }
      outline(func, loop, counts[func.getName()]++);
    }
    getOperation().walk([&](attn::ThreadCountOp op) { callThreadCount(op); });
  }

  /// Asks the runtime for the threads of the run.
  void callThreadCount(attn::ThreadCountOp op) {
    constexpr StringLiteral name = "attnThreadCount";
    ImplicitLocOpBuilder b(op.getLoc(), op);
    Type i64 = b.getI64Type();
    if (!symbols->lookup(name)) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(getOperation().getBody());
      auto function =
          func::FuncOp::create(b, name, b.getFunctionType({}, {i64}));
      function.setPrivate();
      symbols->insert(function);
    }
    Value count = func::CallOp::create(b, name, TypeRange(i64)).getResult(0);
    op.replaceAllUsesWith(
        arith::IndexCastOp::create(b, b.getIndexType(), count).getResult());
    op.erase();
  }

  void outline(func::FuncOp func, scf::ForallOp loop, unsigned number) {
    ImplicitLocOpBuilder b(loop.getLoc(), &getContext());
    Type index = b.getIndexType();
    auto scratchType = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());

    // Constants are made again in the task; everything else is passed.
    llvm::SetVector<Value> used, captures;
    getUsedValuesDefinedAbove(loop.getRegion(), used);
    b.setInsertionPoint(loop);
    SmallVector<Value> bounds = getValueOrCreateConstantIndexOp(
        b, b.getLoc(), loop.getMixedUpperBound());
    used.insert(bounds.begin(), bounds.end());
    SmallVector<Operation *> constants;
    for (Value value : used) {
      if (matchPattern(value, m_Constant()))
        constants.push_back(value.getDefiningOp());
      else
        captures.insert(value);
    }

    SmallVector<Type> taskTypes{index, scratchType}, callTypes{index};
    for (Value capture : captures) {
      taskTypes.push_back(capture.getType());
      callTypes.push_back(capture.getType());
    }
    std::string suffix = "_" + std::to_string(number);
    b.setInsertionPoint(func);
    auto task =
        func::FuncOp::create(b, (func.getName() + "_task" + suffix).str(),
                             b.getFunctionType(taskTypes, {}));
    task.setPrivate();
    symbols->insert(task);
    auto parallel =
        func::FuncOp::create(b, (func.getName() + "_parallel" + suffix).str(),
                             b.getFunctionType(callTypes, {}));
    parallel.setPrivate();
    symbols->insert(parallel);

    // The body of the task.
    Block *entry = task.addEntryBlock();
    b.setInsertionPointToStart(entry);
    IRMapping mapping;
    for (Operation *constant : constants)
      b.clone(*constant, mapping);
    for (auto [capture, argument] :
         llvm::zip(captures, entry->getArguments().drop_front(2)))
      mapping.map(capture, argument);
    // The last loop variable runs fastest.
    Value rest = entry->getArgument(0);
    for (int64_t d = loop.getRank() - 1; d >= 0; --d) {
      Value bound = mapping.lookup(bounds[d]);
      Value variable =
          d == 0 ? rest : arith::RemUIOp::create(b, rest, bound).getResult();
      if (d > 0)
        rest = arith::DivUIOp::create(b, rest, bound);
      mapping.map(loop.getInductionVar(d), variable);
    }
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, mapping);
    func::ReturnOp::create(b);
    int64_t scratchBytes = useScratch(task, entry->getArgument(1));

    parallel->setAttr("attn.task", FlatSymbolRefAttr::get(task));
    parallel->setAttr("attn.scratch_bytes", b.getI64IntegerAttr(scratchBytes));

    b.setInsertionPoint(loop);
    Value tasks = bounds.front();
    for (Value bound : llvm::drop_begin(bounds))
      tasks = arith::MulIOp::create(b, tasks, bound);
    SmallVector<Value> operands{tasks};
    llvm::append_range(operands, captures);
    func::CallOp::create(b, parallel, operands);
    loop.erase();
  }

  /// Names new functions apart from those of the user.
  std::optional<SymbolTable> symbols;

  /// Replaces static allocations in the task by slices of its scratch; returns
  /// the bytes they take.
  int64_t useScratch(func::FuncOp task, Value scratch) {
    int64_t bytes = 0;
    SmallVector<memref::AllocOp> allocations;
    task.walk([&](memref::AllocOp op) {
      if (op.getType().hasStaticShape() &&
          op.getType().getLayout().isIdentity())
        allocations.push_back(op);
    });
    for (memref::AllocOp op : allocations) {
      ImplicitLocOpBuilder b(op.getLoc(), op);
      Value offset = arith::ConstantIndexOp::create(b, bytes);
      Value view = memref::ViewOp::create(b, op.getType(), scratch, offset,
                                          ValueRange());
      int64_t size = op.getType().getNumElements() *
                     llvm::divideCeil(op.getType().getElementTypeBitWidth(), 8);
      bytes += llvm::alignTo(size, kScratchAlignment);
      for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
        if (isa<memref::DeallocOp>(user))
          user->erase();
      op.replaceAllUsesWith(view);
      op.erase();
    }
    return bytes;
  }
};

} // namespace
