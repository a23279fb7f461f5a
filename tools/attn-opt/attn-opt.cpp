//===- attn-opt.cpp - Runs passes and phases on MLIR text -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/InitAll.h"
#include "attn/Pipelines/Pipelines.h"
#include "attn/Support/HostTarget.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace llvm;

static cl::OptionCategory category("Attn options");
static cl::opt<std::string>
    compileTo("attn-compile-to", cl::value_desc("phase"), cl::cat(category),
              cl::desc("Run the compiler up to a phase: input, fusion, "
                       "schedule, tiles, vector or llvm"));
static cl::opt<std::string> target("target", cl::value_desc("cpu"),
                                   cl::init("native"), cl::cat(category),
                                   cl::desc("CPU to compile for"));
static cl::list<std::string>
    disabledFeatures("disable-feature", cl::CommaSeparated, cl::cat(category),
                     cl::value_desc("feature,..."),
                     cl::desc("Features of the target to leave unused"));

/// Whether the command line has passes, by name or as --pass-pipeline.
static bool givesPasses(const mlir::MlirOptMainConfig &config) {
  cl::Option *pipeline = cl::getRegisteredOptions().lookup("pass-pipeline");
  if (pipeline && pipeline->getNumOccurrences())
    return true;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::PassManager passes(&context);
  return failed(config.setupPassPipeline(passes)) || passes.size() != 0;
}

/// MlirOptMain with the pipeline of the phases instead of one in text.
static mlir::LogicalResult compile(StringRef inputName, StringRef outputName,
                                   mlir::DialectRegistry &registry) {
  std::optional<attn::Phase> phase = attn::parsePhase(compileTo);
  if (!phase) {
    errs() << "error: unknown phase '" << compileTo << "', expected one of "
           << attn::listPhases() << "\n";
    return mlir::failure();
  }
  // A pipeline that fails to start prints the whole module.
  if (auto resolved = attn::resolveTarget(target, disabledFeatures);
      !resolved) {
    errs() << "error: " << toString(resolved.takeError()) << "\n";
    return mlir::failure();
  }
  attn::PipelineOptions options;
  options.target = target;
  options.disabledFeatures.assign(disabledFeatures.begin(),
                                  disabledFeatures.end());
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (givesPasses(config)) {
    errs() << "error: --attn-compile-to=" << compileTo
           << ": expected no passes with it\n";
    return mlir::failure();
  }
  config.setPassPipelineSetupFn([&](mlir::PassManager &pm) {
    attn::buildPipeline(pm, *phase, options);
    return mlir::success();
  });

  std::string error;
  auto input = mlir::openInputFile(inputName, &error);
  auto output = input ? mlir::openOutputFile(outputName, &error) : nullptr;
  if (!output) {
    errs() << "error: " << error << "\n";
    return mlir::failure();
  }
  if (failed(MlirOptMain(output->os(), std::move(input), registry, config)))
    return mlir::failure();
  output->keep();
  return mlir::success();
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  attn::registerAllDialects(registry);
  attn::registerAllPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "attention compiler driver\n", registry);
  if (compileTo.getNumOccurrences())
    return mlir::asMainReturnCode(compile(input, output, registry));
  const cl::Option &targetOption = target, &featuresOption = disabledFeatures;
  for (const cl::Option *option : {&targetOption, &featuresOption})
    if (option->getNumOccurrences()) {
      errs() << "error: --" << option->ArgStr
             << ": expected --attn-compile-to with it\n";
      return EXIT_FAILURE;
    }
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}
