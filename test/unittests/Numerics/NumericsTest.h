//===- NumericsTest.h - The targets that numerics run on --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNITTESTS_NUMERICS_NUMERICSTEST_H
#define ATTN_TEST_UNITTESTS_NUMERICS_NUMERICSTEST_H

#include "../Common/CompileText.h"
#include "../Common/Operand.h"
#include "attn/Reference/Reference.h"
#include "attn/Reference/Tolerance.h"
#include "attn/Support/HostTarget.h"

#include <gtest/gtest.h>

namespace attn::test {

/// The targets that tests run on: what the host is, and each narrower level.
inline constexpr const char *kTargets[] = {"native", "x86-64-v4", "x86-64-v3",
                                           "x86-64"};

/// Whether ATTN_GRID=all asks for every combination instead of a spread.
inline bool runAll() {
  const char *grid = getenv("ATTN_GRID");
  return grid && llvm::StringRef(grid) == "all";
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
