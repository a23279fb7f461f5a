//===- Pipelines.cpp - The compiler on one page -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per phase, one line per pass, and after the passes a comment
// that names the dialects which are left.
//
//===----------------------------------------------------------------------===//

#include "attn/Pipelines/Pipelines.h"
#include "attn/Codegen/CPU/Passes.h"
#include "attn/Codegen/Common/Passes.h"
#include "attn/Conversion/AttnToLinalg/Passes.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attn;

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

llvm::StringRef attn::stringifyPhase(Phase phase) {
  switch (phase) {
  case Phase::Input:
    return "input";
  case Phase::Fusion:
    return "fusion";
  case Phase::Schedule:
    return "schedule";
  case Phase::Tiles:
    return "tiles";
  case Phase::Vector:
    return "vector";
  case Phase::LLVM:
    return "llvm";
  }
  llvm_unreachable("unknown phase");
}

std::optional<Phase> attn::parsePhase(llvm::StringRef name) {
  for (Phase phase : kPhases)
    if (stringifyPhase(phase) == name)
      return phase;
  return std::nullopt;
}

std::string attn::listPhases() {
  return llvm::join(llvm::map_range(kPhases, stringifyPhase), ", ");
}

void attn::buildPipeline(OpPassManager &pm, Phase to,
                         const PipelineOptions &options) {
  constexpr std::pair<Phase, void (*)(OpPassManager &, const PipelineOptions &)>
      steps[] = {{Phase::Input, populateInputPipeline},
                 {Phase::Fusion, populateFusionPipeline},
                 {Phase::Schedule, populateSchedulePipeline},
                 {Phase::Tiles, populateTilesPipeline},
                 {Phase::Vector, populateVectorPipeline},
                 {Phase::LLVM, populateLLVMPipeline}};
  for (auto [phase, populate] : steps)
    if (phase <= to)
      populate(pm, options);
}

//===----------------------------------------------------------------------===//
// The fast path
//===----------------------------------------------------------------------===//

void attn::populateInputPipeline(OpPassManager &pm,
                                 const PipelineOptions &options) {
  // Before anything is folded.
  pm.addPass(createNameDroppedDimsPass());
  pm.addPass(createInlinerPass());
  pm.addPass(createSymbolDCEPass());
  pm.addPass(createVerifyTypesPass());
  if (options.returnWeights)
    pm.addNestedPass<func::FuncOp>(createReturnWeightsPass());
  if (options.poisonClamps)
    pm.addPass(createPoisonClampsPass());
  // The description of the entries speaks of the promoted types.
  if (options.f64)
    pm.addPass(createPromoteToF64Pass());
  // Powers of constant exponents are products.
  pm.addPass(math::createMathExpandOpsPass({/*ops=*/{"fpowi"}}));
  pm.addPass(createGenerateShapeFunctionsPass());
  pm.addPass(createGuardIndicesPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // attn, linalg, tensor, arith, math, scf, func
}

void attn::populateFusionPipeline(OpPassManager &pm, const PipelineOptions &) {
  pm.addNestedPass<func::FuncOp>(createFuseAttentionPass());
  pm.addNestedPass<func::FuncOp>(createDecomposeProbabilityPass());
  pm.addNestedPass<func::FuncOp>(createFuseRopePass());
  pm.addPass(createCSEPass());
  // attn.attention, rope_tables, rotate, linalg, tensor, arith, math, scf, func
}

void attn::populateSchedulePipeline(OpPassManager &pm,
                                    const PipelineOptions &options) {
  SetTargetPassOptions target;
  target.cpu = options.target;
  target.disabledFeatures.assign(options.disabledFeatures.begin(),
                                 options.disabledFeatures.end());
  pm.addPass(createSetTargetPass(target));
  SelectSchedulePassOptions schedule;
  schedule.attention = options.schedule;
  pm.addNestedPass<func::FuncOp>(createSelectSchedulePass(schedule));
  // the same, with attributes
}

void attn::populateTilesPipeline(OpPassManager &pm, const PipelineOptions &) {
  AttnToLinalgPassOptions leftovers;
  leftovers.keep = {"attention",   "attention_stats", "linear_attention",
                    "split_heads", "merge_heads",     "cache_update",
                    "rope_tables", "rotate"};
  pm.addNestedPass<func::FuncOp>(createAttnToLinalgPass(leftovers));
  pm.addPass(createNameDroppedDimsPass());
  // fused attn ops, linalg, tensor, arith, math, scf, func
  populateBufferizePipeline(pm);
  // fused attn ops, linalg, memref, arith, math, scf, func
  pm.addNestedPass<func::FuncOp>(createTileAttentionPass());
  pm.addPass(createCSEPass());
  // attn tile ops, linalg, memref, scf, arith, math, func
}

void attn::populateVectorPipeline(OpPassManager &pm, const PipelineOptions &) {
  pm.addNestedPass<func::FuncOp>(createLowerTilesPass());
  pm.addPass(createOutlineTasksPass());
  // Only now: ownership analysis knows no op with two regions.
  populateDeallocationPipeline(pm);
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createExpandMathPass());
  pm.addPass(createExpandTileLoadsPass());
  pm.addPass(createCSEPass());
  // vector, amx, x86vector, memref, scf, arith, math, func
}

void attn::populateLLVMPipeline(OpPassManager &pm, const PipelineOptions &) {
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(memref::createExpandOpsPass());
  pm.addPass(createExpandReshapesPass());
  pm.addPass(createGuardAllocationsPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createExpandArithPass());
  pm.addPass(createSCFToControlFlowPass());
  // vector, amx, x86vector, memref, cf, arith, math, index, ub, func
  ConvertVectorToLLVMPassOptions vectors;
  vectors.x86Vector = true;
  pm.addPass(createConvertVectorToLLVMPass(vectors));
  // Powers of integers; those of floats with an exponent of 32 bits or less
  // have a library call.
  pm.addPass(createConvertMathToFuncs({/*minWidthOfFPowIExponent=*/33}));
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  // The hooks let the caller count, align and fail allocations.
  FinalizeMemRefToLLVMConversionPassOptions memory;
  memory.useGenericFunctions = true;
  pm.addPass(createFinalizeMemRefToLLVMConversionPass(memory));
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createMaterializeTasksPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // llvm
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void attn::populateBufferizePipeline(OpPassManager &pm) {
  pm.addPass(createDecomposeTensorsPass());
  pm.addPass(createResultsToOutputsPass());
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  pm.addPass(createBufferizePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // memref instead of tensor and bufferization
}

void attn::populateDeallocationPipeline(OpPassManager &pm) {
  bufferization::buildBufferDeallocationPipeline(pm);
  pm.addPass(createConvertBufferizationToMemRefPass());
  // the same, each memref.alloc with its memref.dealloc
}

//===----------------------------------------------------------------------===//
// The twin
//===----------------------------------------------------------------------===//

void attn::populateTwinPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createAttnToLinalgPass());
  pm.addPass(createNameDroppedDimsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // linalg, tensor, arith, math, scf, func
  populateBufferizePipeline(pm);
  populateDeallocationPipeline(pm);
  // linalg, memref, arith, math, scf, func
  populateLLVMPipeline(pm, PipelineOptions());
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {

struct TwinOptions : PassPipelineOptions<TwinOptions> {
  Option<bool> f64{*this, "f64", llvm::cl::desc("compute in f64 throughout"),
                   llvm::cl::init(false)};
};

} // namespace

void attn::registerPipelines() {
  PassPipelineRegistration<TwinOptions>(
      "attn-twin", "the naive path that checks the fast one, to LLVM",
      [](OpPassManager &pm, const TwinOptions &options) {
        PipelineOptions input;
        input.f64 = options.f64;
        populateInputPipeline(pm, input);
        populateTwinPipeline(pm);
      });
  PassPipelineRegistration<>("attn-bufferize-pipeline",
                             "tensors to memrefs, results to arguments",
                             [](OpPassManager &pm) {
                               populateBufferizePipeline(pm);
                               populateDeallocationPipeline(pm);
                             });
  PassPipelineRegistration<>(
      "attn-lower-to-llvm", "the tail of the fast path and of the twin",
      [](OpPassManager &pm) { populateLLVMPipeline(pm, PipelineOptions()); });
}
