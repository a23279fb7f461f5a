//===- MaterializeTasks.cpp - Bodies of parallel calls --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs on the LLVM dialect, where memrefs are plain values: the captures of a
// task go through a struct on the caller's stack, since the runtime's task
// functions take one context pointer.
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/CPU/Passes.h"
#include "attn/Dialect/Attn/IR/AttnDialect.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace attn {
#define GEN_PASS_DEF_MATERIALIZETASKSPASS
#include "attn/Codegen/CPU/Passes.h.inc"
} // namespace attn

using namespace mlir;

namespace {

class MaterializeTasksPass
    : public attn::impl::MaterializeTasksPassBase<MaterializeTasksPass> {
  void runOnOperation() override {
    for (auto func :
         llvm::make_early_inc_range(getOperation().getOps<LLVM::LLVMFuncOp>()))
      if (auto task = func->getAttrOfType<FlatSymbolRefAttr>("attn.task"))
        if (failed(materialize(func, task)))
          return signalPassFailure();
    // The translation to LLVM IR knows no attn attribute.
    getOperation()->removeAttr(attn::kTargetAttrName);
    for (auto func : getOperation().getOps<LLVM::LLVMFuncOp>())
      for (unsigned i = 0; i < func.getNumArguments(); ++i)
        for (NamedAttribute attribute :
             function_interface_impl::getArgAttrs(func, i))
          if (attribute.getName().strref().starts_with("attn."))
            func.removeArgAttr(i, attribute.getName());
  }

  LogicalResult materialize(LLVM::LLVMFuncOp parallel, FlatSymbolRefAttr name) {
    auto task = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name.getAttr());
    auto bytes = parallel->getAttrOfType<IntegerAttr>("attn.scratch_bytes");
    if (!task || !bytes)
      return parallel.emitOpError()
             << "refers to a missing task or scratch size";
    if (!parallel.isExternal() ||
        parallel.getFunctionType().getParams().empty())
      return parallel.emitOpError(
          "must be a declaration of (tasks, captures...) to run a task");
    ImplicitLocOpBuilder b(parallel.getLoc(), parallel);
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    Type i64 = b.getI64Type();
    Type none = LLVM::LLVMVoidType::get(&getContext());

    OpBuilder moduleBuilder(getOperation().getBodyRegion());
    FailureOr<LLVM::LLVMFuncOp> run =
        LLVM::lookupOrCreateFn(moduleBuilder, getOperation(), "attnParallelFor",
                               {i64, i64, pointer, pointer}, none);
    if (failed(run))
      return failure();

    SmallVector<Type> fields(
        llvm::drop_begin(parallel.getFunctionType().getParams()));
    auto context = LLVM::LLVMStructType::getLiteral(&getContext(), fields);

    // void invoke(void *context, int64_t task, void *scratch)
    auto invoke = LLVM::LLVMFuncOp::create(
        b, (task.getName() + "_invoke").str(),
        LLVM::LLVMFunctionType::get(none, {pointer, i64, pointer}),
        LLVM::Linkage::Internal);
    Block *entry = invoke.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    Value size = LLVM::ConstantOp::create(b, i64, bytes.getInt());
    Value zero = LLVM::ConstantOp::create(b, i64, 0);
    Value one = LLVM::ConstantOp::create(b, i64, 1);
    Value scratch = entry->getArgument(2);
    SmallVector<Value> operands{
        entry->getArgument(1), scratch, scratch, zero, size, one};
    for (auto [i, type] : llvm::enumerate(fields)) {
      Value field =
          LLVM::GEPOp::create(b, pointer, context, entry->getArgument(0),
                              ArrayRef<LLVM::GEPArg>{0, int32_t(i)});
      operands.push_back(LLVM::LoadOp::create(b, type, field));
    }
    LLVM::CallOp::create(b, task, operands);
    LLVM::ReturnOp::create(b, ValueRange());

    Block *body = parallel.addEntryBlock(b);
    b.setInsertionPointToStart(body);
    Value count = LLVM::ConstantOp::create(b, i64, 1);
    Value storage = LLVM::AllocaOp::create(b, pointer, context, count);
    for (auto [i, argument] :
         llvm::enumerate(body->getArguments().drop_front())) {
      Value field = LLVM::GEPOp::create(b, pointer, context, storage,
                                        ArrayRef<LLVM::GEPArg>{0, int32_t(i)});
      LLVM::StoreOp::create(b, argument, field);
    }
    Value scratchBytes = LLVM::ConstantOp::create(b, i64, bytes.getInt());
    Value function = LLVM::AddressOfOp::create(b, invoke);
    LLVM::CallOp::create(
        b, *run,
        ValueRange{body->getArgument(0), scratchBytes, function, storage});
    LLVM::ReturnOp::create(b, ValueRange());
    parallel.setLinkage(LLVM::Linkage::Internal);
    task.setLinkage(LLVM::Linkage::Internal);
    parallel->removeAttr("attn.task");
    parallel->removeAttr("attn.scratch_bytes");
    return success();
  }
};

} // namespace
