//===- CodeGenerator.h - LLVM dialect to IR, assembly, object --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last step of the compiler: a module in the LLVM dialect becomes LLVM IR
// with the target's attributes, is optimised by a lean pipeline, and is written
// as text or as a relocatable object that `CompiledModule::load` links.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXECUTIONENGINE_CODEGENERATOR_H
#define ATTN_EXECUTIONENGINE_CODEGENERATOR_H

#include "attn/Support/HostTarget.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm
namespace mlir {
class ModuleOp;
} // namespace mlir

namespace attn {

/// How hard LLVM works. Kernels arrive vectorised and unrolled, so LLVM's own
/// vectorisers and unrollers only cost compile time by default.
struct CodegenOptions {
  /// 0 to 3, of LLVM's middle end and code generator.
  unsigned optLevel = 2;
  /// Run LLVM's loop and SLP vectorisers.
  bool vectorize = false;
  /// Let LLVM unroll loops.
  bool unroll = false;

  /// One line for cache keys; equal for equal options.
  std::string str() const;
};

/// What `generateCode` writes.
enum class CodeKind { LLVMIR, Assembly, Object };

/// Prefixes of the names that a compiled module exports for entry function `f`.
inline constexpr llvm::StringLiteral kCInterfacePrefix = "_mlir_ciface_";
inline constexpr llvm::StringLiteral kPackedPrefix = "__attn_packed_";
inline constexpr llvm::StringLiteral kShapePrefix = "__attn_shape_";
/// Name of the C string that describes the entry functions (see ModuleInfo.h).
inline constexpr llvm::StringLiteral kModuleInfoName = "__attn_module_info";

/// Makes a machine for position independent code in the small code model.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(const Target &target, const CodegenOptions &options = {});

/// Translates `module` (LLVM dialect only) into `context`, adds for each
/// function `_mlir_ciface_f` a function `void __attn_packed_f(void **args)`
/// that loads every argument value from where `args[i]` points, makes
/// everything that a compiled module does not export internal, and sets the
/// target's attributes on each function.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateToLLVMIR(mlir::ModuleOp module, llvm::LLVMContext &context,
                  const Target &target, llvm::TargetMachine &machine);

/// Runs LLVM's middle end.
void optimizeModule(llvm::Module &module, llvm::TargetMachine &machine,
                    const CodegenOptions &options);

/// Writes `module` as assembly text or object bytes.
llvm::Expected<std::string>
emitCode(llvm::Module &module, llvm::TargetMachine &machine, CodeKind kind);

/// All of the above: from the LLVM dialect to optimised IR text, assembly text
/// or object bytes.
llvm::Expected<std::string> generateCode(mlir::ModuleOp module,
                                         const Target &target,
                                         const CodegenOptions &options,
                                         CodeKind kind);

} // namespace attn

#endif // ATTN_EXECUTIONENGINE_CODEGENERATOR_H
