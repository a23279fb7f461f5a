//===- Pipelines.h - The compiler, phase by phase ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per phase. Each takes the module the phase before it left, and
// states what comes out. `attn-opt --attn-compile-to=PHASE` and
// `attn-run --emit=PHASE` stop after any of them.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PIPELINES_PIPELINES_H
#define ATTN_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// Where a compilation stops, in order.
enum class Phase { Input, Fusion, Schedule, Tiles, Vector, LLVM };

/// All phases, in order.
inline constexpr Phase kPhases[] = {Phase::Input,    Phase::Fusion,
                                    Phase::Schedule, Phase::Tiles,
                                    Phase::Vector,   Phase::LLVM};

/// "input", "fusion", "schedule", "tiles", "vector", "llvm".
llvm::StringRef stringifyPhase(Phase phase);
/// The phase of that name, or nothing.
std::optional<Phase> parsePhase(llvm::StringRef name);
/// "input, fusion, ..." for messages.
std::string listPhases();

/// What the phases need to know. Plain data: tools fill it from their options.
struct PipelineOptions {
  /// CPU to compile for: LLVM's name, or "native".
  std::string target = "native";
  /// Features of the target to leave unused, LLVM's names.
  std::vector<std::string> disabledFeatures;
  /// A `#attn.schedule<...>` for each attention that has none; empty: the
  /// compiler chooses.
  std::string schedule;
  /// Compute in f64 throughout. Only the twin has kernels for that.
  bool f64 = false;
  /// Return the weights behind statistics too, and their scores.
  bool returnWeights = false;
  /// Let programs read NaN where they read out of bounds.
  bool poisonClamps = false;
};

/// The whole fast path up to and including phase `to`.
void buildPipeline(mlir::OpPassManager &pm, Phase to,
                   const PipelineOptions &options);

// In: what the user or an importer wrote. Private functions may be called.
// Out: attn graph ops, linalg, tensor, arith, math; calls are inlined, each
// entry has its shape function, and the module its description.
void populateInputPipeline(mlir::OpPassManager &pm,
                           const PipelineOptions &options);

// In: input. Out: one attn.attention per chain; what did not fuse stays.
void populateFusionPipeline(mlir::OpPassManager &pm,
                            const PipelineOptions &options);

// In: fusion. Out: `attn.target` on the module, #attn.schedule on heavy ops.
void populateSchedulePipeline(mlir::OpPassManager &pm,
                              const PipelineOptions &options);

// In: schedule. Out: no tensors; parallel loops over tiles on memrefs.
void populateTilesPipeline(mlir::OpPassManager &pm,
                           const PipelineOptions &options);

// In: tiles. Out: no attn and no linalg ops; vector, scf, memref, arith.
void populateVectorPipeline(mlir::OpPassManager &pm,
                            const PipelineOptions &options);

// In: vector, or any mix of linalg on memrefs, affine, scf, cf, memref, vector,
// arith, math, index, ub, func. Out: the LLVM dialect only. Memory comes from
// `_mlir_memref_to_llvm_alloc(i64) -> ptr` and
// `_mlir_memref_to_llvm_free(ptr)`.
void populateLLVMPipeline(mlir::OpPassManager &pm,
                          const PipelineOptions &options);

/// The twin: the naive path that checks the fast one, in the types that the
/// input phase left.
// In: input. Out: the LLVM dialect only; scalar loops.
void populateTwinPipeline(mlir::OpPassManager &pm);

/// A step of the tiles phase and of the twin.
// In: tensors; every op has a bufferisation. Out: memrefs; results of public
// functions are trailing arguments.
void populateBufferizePipeline(mlir::OpPassManager &pm);

/// A step of the vector phase and of the twin.
// In: memrefs that nothing frees. Out: each allocation is freed.
void populateDeallocationPipeline(mlir::OpPassManager &pm);

/// Registers `attn-twin{f64=...}`, `attn-bufferize-pipeline` and
/// `attn-lower-to-llvm`.
void registerPipelines();

} // namespace attn

#endif // ATTN_PIPELINES_PIPELINES_H
