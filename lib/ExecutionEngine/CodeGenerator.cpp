//===- CodeGenerator.cpp - LLVM dialect to IR, assembly, object -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compile time is part of the product: a kernel is one to a few functions of
// straight vector code, so the pipeline leaves out what kernels do not need,
// and nothing but the entry points stays external.
//
//===----------------------------------------------------------------------===//

#include "attn/ExecutionEngine/CodeGenerator.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <mutex>

using namespace attn;
using namespace llvm;

namespace {

/// Adds `void __attn_packed_f(void **args)` for the C interface `function` of
/// f.
void addPackedEntry(Function &function) {
  LLVMContext &context = function.getContext();
  Type *pointer = PointerType::getUnqual(context);
  StringRef name = function.getName().drop_front(kCInterfacePrefix.size());
  auto *packed = Function::Create(
      FunctionType::get(Type::getVoidTy(context), {pointer}, false),
      Function::ExternalLinkage, kPackedPrefix + name, function.getParent());
  IRBuilder<> builder(BasicBlock::Create(context, "entry", packed));
  SmallVector<Value *> values;
  for (Argument &argument : function.args()) {
    Value *slot = builder.CreateConstGEP1_64(pointer, packed->getArg(0),
                                             argument.getArgNo());
    Value *address = builder.CreateLoad(pointer, slot);
    values.push_back(builder.CreateLoad(argument.getType(), address));
  }
  builder.CreateCall(&function, values);
  builder.CreateRetVoid();
}

bool isExported(StringRef name) {
  return name.starts_with(kPackedPrefix) || name.starts_with(kShapePrefix) ||
         name == kModuleInfoName;
}

OptimizationLevel middleEndLevel(unsigned level) {
  switch (level) {
  case 0:
    return OptimizationLevel::O0;
  case 1:
    return OptimizationLevel::O1;
  case 2:
    return OptimizationLevel::O2;
  default:
    return OptimizationLevel::O3;
  }
}

CodeGenOptLevel codeGeneratorLevel(unsigned level) {
  switch (level) {
  case 0:
    return CodeGenOptLevel::None;
  case 1:
    return CodeGenOptLevel::Less;
  case 2:
    return CodeGenOptLevel::Default;
  default:
    return CodeGenOptLevel::Aggressive;
  }
}

} // namespace

std::string CodegenOptions::str() const {
  return ("O" + Twine(optLevel) + (vectorize ? " vectorize" : "") +
          (unroll ? " unroll" : ""))
      .str();
}

Expected<std::unique_ptr<TargetMachine>>
attn::createTargetMachine(const Target &target, const CodegenOptions &options) {
  // Registering targets writes to LLVM's own registry: once per process.
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
  Triple triple(target.triple);
  std::string text;
  const llvm::Target *backend = TargetRegistry::lookupTarget(triple, text);
  if (!backend)
    return createStringError("no code generator for '" + target.triple + "'");
  TargetOptions targetOptions;
  // a*b+c is fused where the IR says so (`fma`, `fastmath<contract>`), as the
  // accuracy of both lowerings is stated for exactly the operations they write.
  targetOptions.AllowFPOpFusion = FPOpFusion::Standard;
  std::unique_ptr<TargetMachine> machine(backend->createTargetMachine(
      triple, target.cpu, target.features, targetOptions, Reloc::PIC_,
      CodeModel::Small, codeGeneratorLevel(options.optLevel), /*JIT=*/true));
  if (!machine)
    return createStringError("cannot make a code generator for '" +
                             target.triple + "'");
  return machine;
}

Expected<std::unique_ptr<Module>>
attn::translateToLLVMIR(mlir::ModuleOp module, LLVMContext &context,
                        const Target &target, TargetMachine &machine) {
  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
  std::unique_ptr<Module> result = mlir::translateModuleToLLVMIR(
      module, context, module.getName().value_or("attn"));
  if (!result)
    return createStringError("the module cannot be translated to LLVM IR");
  result->setDataLayout(machine.createDataLayout());
  result->setTargetTriple(machine.getTargetTriple());

  SmallVector<Function *> entries;
  for (Function &function : *result)
    if (!function.isDeclaration() &&
        function.getName().starts_with(kCInterfacePrefix))
      entries.push_back(&function);
  for (Function *function : entries) {
    if (!function->getReturnType()->isVoidTy())
      return createStringError("entry function '" + function->getName() +
                               "' returns a value: results must be passed as "
                               "arguments");
    addPackedEntry(*function);
  }

  std::string vectorBits = std::to_string(target.vectorBytes * 8);
  for (Function &function : *result) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", target.features);
    function.addFnAttr("prefer-vector-width", vectorBits);
    // Nothing unwinds through generated code: no unwind tables.
    function.addFnAttr(Attribute::NoUnwind);
    if (!isExported(function.getName()) && !function.hasLocalLinkage())
      function.setLinkage(GlobalValue::InternalLinkage);
  }
  for (GlobalVariable &global : result->globals()) {
    if (global.isDeclaration())
      continue;
    if (isExported(global.getName())) {
      // MLIR spells constants `internal` by default; this one must be found.
      global.setLinkage(GlobalValue::ExternalLinkage);
      continue;
    }
    if (!global.hasLocalLinkage() && !global.hasAppendingLinkage())
      global.setLinkage(GlobalValue::InternalLinkage);
  }
  return result;
}

void attn::optimizeModule(Module &module, TargetMachine &machine,
                          const CodegenOptions &options) {
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = options.vectorize;
  tuning.SLPVectorization = options.vectorize;
  tuning.LoopInterleaving = options.vectorize;
  tuning.LoopUnrolling = options.unroll;

  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  OptimizationLevel level = middleEndLevel(options.optLevel);
  ModulePassManager passes = level == OptimizationLevel::O0
                                 ? builder.buildO0DefaultPipeline(level)
                                 : builder.buildPerModuleDefaultPipeline(level);
  passes.run(module, modules);
}

Expected<std::string> attn::emitCode(Module &module, TargetMachine &machine,
                                     CodeKind kind) {
  if (kind == CodeKind::LLVMIR) {
    std::string text;
    raw_string_ostream stream(text);
    module.print(stream, nullptr);
    return text;
  }
  SmallString<0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                  kind == CodeKind::Assembly
                                      ? CodeGenFileType::AssemblyFile
                                      : CodeGenFileType::ObjectFile))
    return createStringError("the code generator for '" +
                             machine.getTargetTriple().str() +
                             "' cannot write files");
  passes.run(module);
  return std::string(bytes);
}

Expected<std::string> attn::generateCode(mlir::ModuleOp module,
                                         const Target &target,
                                         const CodegenOptions &options,
                                         CodeKind kind) {
  auto machine = createTargetMachine(target, options);
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  auto ir = translateToLLVMIR(module, context, target, **machine);
  if (!ir)
    return ir.takeError();
  optimizeModule(**ir, **machine, options);
  return emitCode(**ir, **machine, kind);
}
