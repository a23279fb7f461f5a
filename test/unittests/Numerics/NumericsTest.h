//===- NumericsTest.h - Compile text, run it on guarded memory --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNITTESTS_NUMERICS_NUMERICSTEST_H
#define ATTN_TEST_UNITTESTS_NUMERICS_NUMERICSTEST_H

#include "GuardedBuffer.h"
#include "attn/ExecutionEngine/CodeGenerator.h"
#include "attn/ExecutionEngine/CompiledModule.h"
#include "attn/InitAll.h"
#include "attn/Pipelines/Pipelines.h"
#include "attn/Reference/Reference.h"
#include "attn/Reference/Tolerance.h"
#include "attn/Support/HostTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

namespace attn::test {

/// The targets that tests run on: what the host is, and each narrower level.
inline constexpr const char *kTargets[] = {"native", "x86-64-v4", "x86-64-v3",
                                           "x86-64"};

/// `text` through the whole fast path for `targetName`; null after an error,
/// which is printed.
inline std::unique_ptr<CompiledModule> compile(const std::string &text,
                                               const std::string &targetName) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  registerAllTranslations(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return nullptr;
  mlir::PassManager pm(&context);
  PipelineOptions options;
  options.target = targetName;
  buildPipeline(pm, Phase::LLVM, options);
  if (failed(pm.run(*module)))
    return nullptr;
  llvm::Expected<Target> target = resolveTarget(targetName);
  if (!target)
    return nullptr;
  auto object = generateCode(*module, *target, {}, CodeKind::Object);
  if (!object) {
    llvm::errs() << llvm::toString(object.takeError()) << "\n";
    return nullptr;
  }
  auto compiled = CompiledModule::load(*object);
  if (!compiled) {
    llvm::errs() << llvm::toString(compiled.takeError()) << "\n";
    return nullptr;
  }
  return std::move(*compiled);
}

/// A tensor whose memory is guarded, and its value in f64.
struct Operand {
  Operand(ElementType type, llvm::ArrayRef<int64_t> shape, bool flushEnd,
          llvm::function_ref<double(int64_t)> value)
      : host(llvm::cantFail(HostTensor::create(type, shape))),
        guarded(host.sizeInBytes(), flushEnd) {
    for (int64_t n = 0; n < host.numElements(); ++n)
      host.set(n, value(n));
    if (host.sizeInBytes())
      memcpy(guarded.data(), host.data(), host.sizeInBytes());
    view = host.view();
    view.data = guarded.data();
  }
  /// What the kernel wrote, back in `host`.
  const HostTensor &fetch() {
    if (host.sizeInBytes())
      memcpy(host.data(), guarded.data(), host.sizeInBytes());
    return host;
  }

  HostTensor host;
  GuardedBuffer guarded;
  TensorView view;
};

/// Deterministic values in [-1.5, 1.5], exact in f32.
inline double patternAt(int64_t seed, int64_t n) {
  uint64_t i = n;
  return (static_cast<double>(
              (3 * i * i + 37 * i + 13 * (i / 97) + 29 * seed + 11) % 97) -
          48) /
         32;
}

/// Makes each of `kTargets` a parameter name.
inline std::string
targetTestName(const testing::TestParamInfo<const char *> &info) {
  std::string name = info.param;
  llvm::replace(name, '-', '_');
  return name;
}

/// Skips the test when the host cannot execute `targetName`.
#define SKIP_UNLESS_EXECUTABLE(targetName)                                     \
  do {                                                                         \
    llvm::Expected<Target> target = resolveTarget(targetName);                 \
    ASSERT_TRUE(static_cast<bool>(target));                                    \
    if (llvm::Error error = hostCanExecute(*target))                           \
      GTEST_SKIP() << llvm::toString(std::move(error));                        \
  } while (false)

} // namespace attn::test

#endif // ATTN_TEST_UNITTESTS_NUMERICS_NUMERICSTEST_H
