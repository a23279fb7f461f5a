//===- CommonOptions.h - Options of every command that runs -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What means the same in attn-run and attn-bench, and what becomes of it. Each
// command's `Options` begin with these. They register themselves when they are
// constructed, which must be after `removeLibraryOptions`.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMMON_COMMONOPTIONS_H
#define ATTN_TOOLS_COMMON_COMMONOPTIONS_H

#include "attn/ExecutionEngine/ObjectCache.h"
#include "attn/Pipelines/Pipelines.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace attn {

struct CommonOptions {
  /// The help texts of --schedule and --cache-dir say what the command does.
  CommonOptions(llvm::StringRef scheduleHelp, llvm::StringRef cacheDirHelp)
      : schedule{"schedule", llvm::cl::value_desc("file|text"),
                 llvm::cl::cat(category), llvm::cl::desc(scheduleHelp)},
        cacheDir{"cache-dir", llvm::cl::value_desc("path"),
                 llvm::cl::cat(category), llvm::cl::desc(cacheDirHelp)} {}

  llvm::cl::OptionCategory category{"Attn options"};
  llvm::cl::opt<std::string> targetName{
      "target", llvm::cl::value_desc("cpu"), llvm::cl::init("native"),
      llvm::cl::cat(category), llvm::cl::desc("CPU to compile for")};
  llvm::cl::list<std::string> disabledFeatures{
      "disable-feature", llvm::cl::CommaSeparated,
      llvm::cl::value_desc("feature,..."), llvm::cl::cat(category),
      llvm::cl::desc("Features of the target to leave unused")};
  llvm::cl::opt<std::string> device{
      "device", llvm::cl::value_desc("cpu"), llvm::cl::init("cpu"),
      llvm::cl::cat(category), llvm::cl::desc("Where to run: cpu")};
  llvm::cl::opt<unsigned> threads{
      "threads", llvm::cl::value_desc("N"), llvm::cl::init(0),
      llvm::cl::cat(category), llvm::cl::desc("Threads (default: all cores)")};
  llvm::cl::opt<std::string> schedule;
  llvm::cl::opt<std::string> cacheDir;

  /// Whether the number of threads is one that can be, and the device one that
  /// this build can run on: else a DeviceError.
  llvm::Error verify() const;
  /// Target, features and schedule, which is text, or the text in the file of
  /// that name, checked to be a schedule for attention.
  llvm::Expected<PipelineOptions> makePipelineOptions() const;
  /// The cache, if a folder is given.
  llvm::Expected<std::optional<ObjectCache>> openCache() const;
};

} // namespace attn

#endif // ATTN_TOOLS_COMMON_COMMONOPTIONS_H
