//===- Options.h - The command line of attn-run -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The options register themselves when this is constructed, which must be after
// `removeLibraryOptions`.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_RUN_OPTIONS_H
#define ATTN_TOOLS_ATTN_RUN_OPTIONS_H

#include "common/CommonOptions.h"

#include "llvm/Support/CommandLine.h"

#include <string>

namespace attn {

struct Options : CommonOptions {
  Options()
      : CommonOptions("#attn.schedule<...> for attention that has none",
                      "Folder of compiled objects to use and to fill, and of "
                      "schedules that attn-bench --tune found") {}

  llvm::cl::opt<std::string> inputFile{
      llvm::cl::Positional, llvm::cl::desc("FILE.mlir|.mlirbc|.onnx"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> functionName{
      "function", llvm::cl::value_desc("name"), llvm::cl::cat(category),
      llvm::cl::desc(
          "Entry to run (default: the only public function, else main)")};
  llvm::cl::list<std::string> inputs{
      "input", llvm::cl::value_desc("[name=]spec"), llvm::cl::cat(category),
      llvm::cl::desc("Argument, in order or by name: x.npy, "
                     "w.safetensors:tensor, random[:seed=N][:SHAPE], "
                     "zeros[:SHAPE], ones[:SHAPE] or a number")};
  llvm::cl::list<std::string> dims{
      "dim", llvm::cl::value_desc("name=N"), llvm::cl::cat(category),
      llvm::cl::desc("Size of a named dimension of generated inputs")};
  llvm::cl::list<std::string> outputs{
      "output", llvm::cl::value_desc("path.npy"), llvm::cl::cat(category),
      llvm::cl::desc("File for a result, in order; the others are summarised")};
  llvm::cl::opt<bool> check{
      "check", llvm::cl::cat(category),
      llvm::cl::desc("Compare the results with the f64 twin")};
  llvm::cl::opt<bool> twin{
      "twin", llvm::cl::cat(category),
      llvm::cl::desc("Run the naive lowering instead of the fused one, in the "
                     "types of the model")};
  llvm::cl::opt<std::string> emit{
      "emit", llvm::cl::value_desc("phase|llvmir|asm|obj"),
      llvm::cl::cat(category),
      llvm::cl::desc("Stop there and print: input, fusion, schedule, tiles, "
                     "vector, llvm, llvmir, asm or obj")};
  llvm::cl::opt<std::string> emitTo{
      "o", llvm::cl::value_desc("file"), llvm::cl::init("-"),
      llvm::cl::cat(category), llvm::cl::desc("Where --emit prints")};
  llvm::cl::opt<bool> requireFused{
      "require-fused", llvm::cl::cat(category),
      llvm::cl::desc("Attention that is not fused is an error")};
  llvm::cl::opt<bool> explain{
      "explain", llvm::cl::cat(category),
      llvm::cl::desc("Print what the compiler did and why")};
  llvm::cl::opt<unsigned> repeat{
      "repeat", llvm::cl::value_desc("N"), llvm::cl::init(1),
      llvm::cl::cat(category),
      llvm::cl::desc("Timed runs; prints their times")};
  llvm::cl::opt<unsigned> warmup{
      "warmup", llvm::cl::value_desc("N"), llvm::cl::init(0),
      llvm::cl::cat(category),
      llvm::cl::desc("Runs before (default: 1 when runs are timed)")};
  llvm::cl::opt<std::string> benchJSON{
      "bench-json", llvm::cl::value_desc("path"), llvm::cl::cat(category),
      llvm::cl::desc("Write times, bytes and errors")};
};

} // namespace attn

#endif // ATTN_TOOLS_ATTN_RUN_OPTIONS_H
