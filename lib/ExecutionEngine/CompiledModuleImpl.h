//===- CompiledModuleImpl.h - State of a linked object ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared by loading (CompiledModule.cpp) and calling (PreparedCall.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_EXECUTIONENGINE_COMPILEDMODULEIMPL_H
#define ATTN_LIB_EXECUTIONENGINE_COMPILEDMODULEIMPL_H

#include "attn/ExecutionEngine/CompiledModule.h"

#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"

namespace attn {

/// The addresses of one entry function.
struct EntryPoint {
  const FunctionInfo *info = nullptr;
  void (*packed)(void **args) = nullptr;
  int64_t (*shape)(int64_t *dims, int64_t *resultDims,
                   int64_t *values) = nullptr;
};

struct CompiledModule::Impl {
  std::unique_ptr<llvm::orc::ExecutionSession> session;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> linker;
  llvm::orc::JITDylib *symbols = nullptr;
  ModuleInfo info;
  /// In the order of `info.functions`.
  std::vector<EntryPoint> entries;

  ~Impl();

  /// The entry called `name`, or an error that lists those there are.
  llvm::Expected<const EntryPoint *> find(llvm::StringRef name) const;
};

} // namespace attn

#endif // ATTN_LIB_EXECUTIONENGINE_COMPILEDMODULEIMPL_H
