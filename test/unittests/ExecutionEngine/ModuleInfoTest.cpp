//===- ModuleInfoTest.cpp - The description inside a module ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text comes out of object files, so malformed text is an error, not a
// crash.
//
//===----------------------------------------------------------------------===//

#include "attn/ExecutionEngine/ModuleInfo.h"

#include <gmock/gmock.h>

using namespace attn;

namespace {

constexpr const char *kText =
    R"({"functions":[{"args":[{"dims":["B","H","S",""],"kind":"tensor",)"
    R"("name":"q","shape":[null,12,null,64],"type":"f32"},)"
    R"({"kind":"scalar","name":"n","type":"index"}],)"
    R"("checks":["extent {0} and {1}"],"name":"f","remarks":["why"],)"
    R"("results":[{"shape":[null],"type":"bf16","updates":0},)"
    R"({"logSumExpOf":"bf16","shape":[null],"type":"f32"},)"
    R"({"scores":1,"shape":[null],"type":"f32","weightStatsOf":"f16",)"
    R"("weights":0}]}]})";

TEST(ModuleInfo, ReadsAndWritesTheSameText) {
  auto info = ModuleInfo::parse(kText);
  ASSERT_TRUE(bool(info)) << llvm::toString(info.takeError());
  ASSERT_EQ(info->functions.size(), 1u);
  const FunctionInfo *function = info->find("f");
  ASSERT_NE(function, nullptr);
  EXPECT_EQ(info->find("g"), nullptr);
  ASSERT_EQ(function->args.size(), 2u);
  EXPECT_EQ(function->args[0].name, "q");
  EXPECT_THAT(function->args[0].shape,
              testing::ElementsAre(kDynamicSize, 12, kDynamicSize, 64));
  EXPECT_THAT(function->args[0].dims, testing::ElementsAre("B", "H", "S", ""));
  EXPECT_FALSE(function->args[0].contiguous);
  EXPECT_TRUE(function->args[1].isScalar);
  EXPECT_EQ(function->results[0].type, "bf16");
  EXPECT_EQ(function->results[0].updates, 0);
  EXPECT_EQ(function->results[0].logSumExpOf, "");
  EXPECT_EQ(function->results[1].logSumExpOf, "bf16");
  EXPECT_EQ(function->results[1].weightStatsOf, "");
  EXPECT_EQ(function->results[1].weights, -1);
  EXPECT_EQ(function->results[1].scores, -1);
  EXPECT_EQ(function->results[2].weightStatsOf, "f16");
  EXPECT_EQ(function->results[2].weights, 0);
  EXPECT_EQ(function->results[2].scores, 1);
  EXPECT_THAT(function->checks, testing::ElementsAre("extent {0} and {1}"));
  EXPECT_THAT(function->remarks, testing::ElementsAre("why"));
  EXPECT_EQ(info->str(), kText);
}

TEST(ModuleInfo, RefusesMalformedText) {
  auto with = [](const std::string &arg) {
    return R"({"functions":[{"name":"f","args":[)" + arg +
           R"(],"results":[]}]})";
  };
  const std::string texts[] = {
      "",
      "[]",
      "{}",
      R"({"functions":[3]})",
      R"({"functions":[{"name":"f","args":[]}]})",
      with("7"),
      with(R"({"kind":"tensor","type":"f32","shape":[1]})"),
      with(R"({"name":"q","kind":"memref","type":"f32","shape":[1]})"),
      with(R"({"name":"q","kind":"tensor","type":"f31","shape":[1]})"),
      with(R"({"name":"q","kind":"tensor","type":"index","shape":[1]})"),
      with(R"({"name":"q","kind":"tensor","type":"f32"})"),
      with(R"({"name":"q","kind":"tensor","type":"f32","shape":[-2]})"),
      with(R"({"name":"q","kind":"tensor","type":"f32","shape":["a"]})"),
      with(R"({"name":"q","kind":"tensor","type":"f32","shape":[1],)"
           R"("dims":["a","b"]})"),
      with(R"({"name":"q","kind":"tensor","type":"f32","shape":[1],)"
           R"("dims":[1]})"),
      with(R"({"name":"q","kind":"tensor","type":"f32","shape":[1],)"
           R"("updates":0})"),
      with(R"({"name":"q","kind":"tensor","type":"f32","shape":[1],)"
           R"("logSumExpOf":"f32"})"),
      with(R"({"name":"q","kind":"tensor","type":"f32","shape":[1],)"
           R"("weightStatsOf":"f32"})"),
      with(R"({"name":"q","kind":"tensor","type":"f32","shape":[1],)"
           R"("weights":0})"),
  };
  for (const std::string &text : texts) {
    auto info = ModuleInfo::parse(text);
    ASSERT_FALSE(bool(info)) << text;
    EXPECT_THAT(llvm::toString(info.takeError()),
                testing::StartsWith("module description: "));
  }
}

} // namespace
