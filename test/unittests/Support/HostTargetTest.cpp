//===- HostTargetTest.cpp - Names, features and caches of targets ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The expected vector widths of the levels are those of the x86-64 psABI.
//
//===----------------------------------------------------------------------===//

#include "attn/Support/HostTarget.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <gmock/gmock.h>

using namespace attn;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

Target resolve(llvm::StringRef name, std::vector<std::string> disabled = {}) {
  auto target = resolveTarget(name, disabled);
  if (!target) {
    ADD_FAILURE() << llvm::toString(target.takeError());
    return {};
  }
  return *target;
}

std::string errorOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

TEST(HostTarget, LevelsHaveTheWidthsOfTheABI) {
  struct {
    const char *name;
    unsigned bytes, registers;
    bool fma, avx2, avx512;
  } levels[] = {{"x86-64", 16, 16, false, false, false},
                {"x86-64-v2", 16, 16, false, false, false},
                {"x86-64-v3", 32, 16, true, true, false},
                {"x86-64-v4", 64, 32, true, true, true}};
  for (const auto &level : levels) {
    Target target = resolve(level.name);
    EXPECT_EQ(target.cpu, level.name);
    EXPECT_EQ(target.vectorBytes, level.bytes) << level.name;
    EXPECT_EQ(target.vectorRegisters, level.registers) << level.name;
    EXPECT_EQ(target.fma, level.fma) << level.name;
    EXPECT_EQ(target.avx2, level.avx2) << level.name;
    EXPECT_EQ(target.avx512, level.avx512) << level.name;
    EXPECT_FALSE(target.avx512bf16) << level.name;
  }
}

TEST(HostTarget, ServerProcessorsHaveTheirMatrixUnits) {
  Target intel = resolve("sapphirerapids");
  EXPECT_TRUE(intel.amxbf16 && intel.avx512bf16 && intel.avx512fp16);
  Target amd = resolve("znver5");
  EXPECT_TRUE(amd.avx512bf16);
  EXPECT_FALSE(amd.amxbf16 || amd.avx512fp16);
}

TEST(HostTarget, NamedTargetsDoNotDependOnTheHost) {
  Target target = resolve("znver4");
  EXPECT_EQ(target.l1dBytes, Target().l1dBytes);
  EXPECT_EQ(target.l2Bytes, Target().l2Bytes);
  EXPECT_EQ(target.l3Bytes, Target().l3Bytes);
}

TEST(HostTarget, DisablingAFeatureDropsWhatDependsOnIt) {
  Target target = resolve("sapphirerapids", {"avx512f"});
  EXPECT_FALSE(target.avx512 || target.avx512bf16 || target.avx512fp16);
  EXPECT_TRUE(target.avx2 && target.amxbf16);
  EXPECT_EQ(target.vectorBytes, 32u);
  EXPECT_EQ(target.vectorRegisters, 16u);
  EXPECT_TRUE(target.hasFeature("avx2"));
  EXPECT_FALSE(target.hasFeature("avx512vnni"));
  EXPECT_THAT(target.features,
              AllOf(HasSubstr("-avx512f"), HasSubstr("-avx512bf16"),
                    Not(HasSubstr("+avx512"))));

  target = resolve("sapphirerapids", {"avx2"});
  EXPECT_FALSE(target.avx2 || target.avx512);
  EXPECT_EQ(target.vectorBytes, 16u);

  target = resolve("sapphirerapids", {"amx-bf16"});
  EXPECT_FALSE(target.amxbf16);
  EXPECT_TRUE(target.avx512bf16);

  target = resolve("sapphirerapids", {"amx", "avx512bf16"});
  EXPECT_FALSE(target.amxbf16 || target.avx512bf16);
  EXPECT_TRUE(target.avx512);
}

TEST(HostTarget, UnknownNamesGiveOneLineWithCandidates) {
  auto target = resolveTarget("x86-64-v5");
  ASSERT_FALSE(bool(target));
  std::string text = errorOf(target.takeError());
  EXPECT_THAT(text, AllOf(HasSubstr("unknown target 'x86-64-v5'"),
                          HasSubstr("x86-64-v4"), Not(HasSubstr("\n"))));

  target = resolveTarget("x86-64-v4", {"avx512bf17"});
  ASSERT_FALSE(bool(target));
  text = errorOf(target.takeError());
  EXPECT_THAT(text, AllOf(HasSubstr("unknown feature 'avx512bf17'"),
                          HasSubstr("avx512bf16"), Not(HasSubstr("\n"))));
}

TEST(HostTarget, TheHostRunsItsOwnCode) {
  Target native = resolve("native");
  EXPECT_EQ(native.cpu, llvm::sys::getHostCPUName());
  EXPECT_GE(native.cores, 1u);
  EXPECT_EQ(native.cores, usableCores());
  EXPECT_GE(native.l1dBytes, 8 * 1024);
  EXPECT_GE(native.l2Bytes, native.l1dBytes);
  EXPECT_EQ(errorOf(hostCanExecute(native)), "");
  EXPECT_EQ(errorOf(hostCanExecute(resolve("x86-64"))), "");
}

TEST(HostTarget, MissingFeaturesAreNamed) {
  // Only Bulldozer and its kin ever had XOP.
  if (llvm::sys::getHostCPUFeatures().lookup("xop"))
    GTEST_SKIP() << "this host has XOP";
  Target target = resolve("bdver2");
  EXPECT_THAT(errorOf(hostCanExecute(target)),
              AllOf(HasSubstr("target 'bdver2'"), HasSubstr("it lacks"),
                    HasSubstr("xop"), Not(HasSubstr("\n"))));
}

TEST(HostTarget, OtherArchitecturesAreRefused) {
  Target target = resolve("native");
  target.triple = "riscv64-unknown-linux-gnu";
  EXPECT_THAT(errorOf(hostCanExecute(target)), HasSubstr("riscv64"));
}

TEST(HostTarget, AmxNeedsPermission) {
  EXPECT_EQ(requestAmxPermission(), requestAmxPermission());
  llvm::Expected<Target> native = resolveTarget("native");
  ASSERT_TRUE(static_cast<bool>(native));
  EXPECT_FALSE(native->amxbf16 && !requestAmxPermission());
}

} // namespace
