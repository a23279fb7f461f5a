//===- Compiler.h - From the bytes of a model to callable code --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `attn-run` and other front ends need of the compiler in three calls:
// code that can be called, the text of a phase, or the text or bytes of the
// generated code. Compiled objects come from a cache when there is one; it is
// asked before MLIR is touched.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PIPELINES_COMPILER_H
#define ATTN_PIPELINES_COMPILER_H

#include "attn/ExecutionEngine/CodeGenerator.h"
#include "attn/ExecutionEngine/CompiledModule.h"
#include "attn/ExecutionEngine/ObjectCache.h"
#include "attn/Pipelines/Pipelines.h"
#include "attn/Support/HostTarget.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace attn {

/// Which of the compiler's lowerings.
enum class Lowering {
  /// The fast one.
  Fused,
  /// The naive one that checks it, in the types of the model.
  Twin,
  /// The same in f64: every f16, bf16 and f32 of the model becomes f64.
  TwinF64
};

/// What to compile.
struct CompileRequest {
  /// Text or bytecode of the model. The text ends in a null byte that does not
  /// count.
  llvm::StringRef input;
  /// Stands for the input in messages.
  std::string inputName = "<input>";
  /// The entry to compile; everything that it does not need is left out. Empty:
  /// the only public function, or the one called `main`.
  std::string function;
  Lowering lowering = Lowering::Fused;
  /// Resolved from `pipeline.target` and `pipeline.disabledFeatures`.
  Target target;
  PipelineOptions pipeline;
  CodegenOptions codegen;
  /// Where to look for and to put objects, or null. A schedule that was tuned
  /// for this input, function and target is looked for there too, unless
  /// `pipeline` has one.
  const ObjectCache *cache = nullptr;
};

/// The error of a model that does not parse or compile. Its text is MLIR's
/// diagnostics, complete with locations. Every other error of the functions
/// below is about the request: one line.
class CompileFailure : public llvm::ErrorInfo<CompileFailure> {
public:
  static char ID;
  explicit CompileFailure(std::string diagnostics)
      : diagnostics(std::move(diagnostics)) {}
  void log(llvm::raw_ostream &stream) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string diagnostics;
};

/// Success when `text` is empty or a `#attn.schedule<...>` for attention,
/// otherwise one line with what is wrong.
llvm::Error checkSchedule(llvm::StringRef text);

/// The schedule that the compiler chooses for the first fused attention of the
/// entry, as text.
llvm::Expected<std::string> chooseSchedule(const CompileRequest &request);

/// Code in this process.
struct Compilation {
  std::unique_ptr<CompiledModule> module;
  /// The one entry of the module, with the compiler's remarks as sentences.
  const FunctionInfo *function = nullptr;
  /// It came from the cache.
  bool cached = false;
  /// Warnings of a compilation that succeeded; from the cache only that a tuned
  /// schedule is ignored.
  std::string diagnostics;
};

/// Remarks about attention that stays in memory begin with this.
inline constexpr llvm::StringLiteral kNotFusedPrefix = "not fused: ";

/// Compiles, or finds in the cache, and links.
llvm::Expected<Compilation> compileToMemory(const CompileRequest &request);

/// The module after `phase` of the fused lowering, as text. Without a function
/// in the request, all functions.
llvm::Expected<std::string> compileToPhase(const CompileRequest &request,
                                           Phase phase);

/// LLVM IR, assembly or an object. Without a function in the request, all
/// functions.
llvm::Expected<std::string> compileToCode(const CompileRequest &request,
                                          CodeKind kind);

} // namespace attn

#endif // ATTN_PIPELINES_COMPILER_H
