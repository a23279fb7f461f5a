//===- CompileText.h - Text to callable code, for tests ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same calls as attn-run's, without its files and options.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNITTESTS_COMMON_COMPILETEXT_H
#define ATTN_TEST_UNITTESTS_COMMON_COMPILETEXT_H

#include "attn/Pipelines/Compiler.h"

#include <gtest/gtest.h>

namespace attn::test {

/// The one public function of `text` by a lowering for `targetName`, with
/// `schedule` for attention if that is not empty; null after an error, which
/// fails the test.
inline std::unique_ptr<CompiledModule>
compile(const std::string &text, const std::string &targetName = "native",
        Lowering lowering = Lowering::Fused, const std::string &schedule = "") {
  llvm::Expected<Target> target = resolveTarget(targetName);
  if (!target) {
    ADD_FAILURE() << llvm::toString(target.takeError());
    return nullptr;
  }
  CompileRequest request;
  request.input = text;
  request.lowering = lowering;
  request.target = *target;
  request.pipeline.target = targetName;
  request.pipeline.schedule = schedule;
  llvm::Expected<Compilation> compilation = compileToMemory(request);
  if (!compilation) {
    ADD_FAILURE() << llvm::toString(compilation.takeError()) << text;
    return nullptr;
  }
  return std::move(compilation->module);
}

} // namespace attn::test

#endif // ATTN_TEST_UNITTESTS_COMMON_COMPILETEXT_H
