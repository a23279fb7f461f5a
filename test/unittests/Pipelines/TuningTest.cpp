//===- TuningTest.cpp - Schedules that were found by trying ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Pipelines/Tuning.h"

#include "../Support/TestFiles.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attn;
using namespace llvm;
using testing::UnorderedElementsAre;

/// The neighbours of a schedule, without what they have in common.
static std::vector<std::string> neighbours(const std::string &kernel,
                                           const std::string &sizes,
                                           const std::string &end,
                                           unsigned registers = 32) {
  Target target;
  target.vectorRegisters = registers;
  std::string begin = "#attn.schedule<kernel = " + kernel + ", tile = ";
  std::vector<std::string> list;
  for (StringRef text :
       cantFail(neighbourSchedules(begin + sizes + end, target))) {
    EXPECT_TRUE(text.consume_front(begin)) << text.str();
    list.push_back(text.str());
  }
  return list;
}

TEST(Tuning, NeighboursFitRegistersAndTiles) {
  // 8 vectors of 16 do not divide 64 rows, 12 x 4 sums do not fit, and 32 rows
  // are no multiple of 4 vectors.
  EXPECT_THAT(
      neighbours("queries_in_lanes", "[64, 60], registers = [6, 4]",
                 ", lanes = 16>"),
      UnorderedElementsAre("[64, 30], registers = [6, 4], lanes = 16>",
                           "[64, 120], registers = [6, 4], lanes = 16>",
                           "[128, 30], registers = [6, 4], lanes = 16>",
                           "[128, 60], registers = [6, 4], lanes = 16>",
                           "[128, 120], registers = [6, 4], lanes = 16>",
                           "[64, 60], registers = [3, 2], lanes = 16>",
                           "[64, 60], registers = [3, 4], lanes = 16>",
                           "[64, 60], registers = [6, 2], lanes = 16>",
                           "[64, 60], registers = [12, 2], lanes = 16>"));
}

TEST(Tuning, DecodingKeepsItsRows) {
  EXPECT_THAT(neighbours("features_in_lanes", "[4, 16], registers = [1, 1]",
                         ", lanes = 4, split = 2048>", /*registers=*/3),
              UnorderedElementsAre(
                  "[4, 8], registers = [1, 1], lanes = 4, split = 2048>",
                  "[4, 32], registers = [1, 1], lanes = 4, split = 2048>",
                  "[4, 16], registers = [1, 1], lanes = 4, split = 1024>",
                  "[4, 16], registers = [1, 1], lanes = 4, split = 4096>"));
}

TEST(Tuning, TilesOfAmx) {
  // 4 x 2 sums and their sides are more than eight tiles; pairs come by 32.
  EXPECT_THAT(
      neighbours("bf16_tiles", "[32, 32], registers = [2, 2]", ", lanes = 16>"),
      UnorderedElementsAre("[32, 64], registers = [2, 2], lanes = 16>",
                           "[64, 32], registers = [2, 2], lanes = 16>",
                           "[64, 64], registers = [2, 2], lanes = 16>",
                           "[32, 32], registers = [1, 1], lanes = 16>",
                           "[32, 32], registers = [1, 2], lanes = 16>",
                           "[32, 32], registers = [2, 1], lanes = 16>"));
}

TEST(Tuning, RefusesWhatIsNoSchedule) {
  EXPECT_EQ(toString(neighbourSchedules("fast", Target()).takeError()),
            "schedule 'fast' is not a #attn.schedule<...> for attention: "
            "expected attribute value");
}

// The key of what is kept tells functions, inputs and targets apart.
TEST(Tuning, EachFunctionHasItsOwnSchedule) {
  test::TemporaryFolder folder;
  ObjectCache cache = cantFail(ObjectCache::open(folder.path("cache")));
  CompileRequest request;
  request.input = "two functions";
  request.function = "encode";
  request.cache = &cache;
  constexpr StringLiteral kSchedule =
      "#attn.schedule<kernel = queries_in_lanes, tile = [64, 60], registers = "
      "[6, 4], lanes = 16>";
  cantFail(storeTunedSchedule(request, kSchedule));
  EXPECT_EQ(cantFail(readTunedSchedule(request)), kSchedule);

  for (const char *other : {"decode", ""}) {
    CompileRequest otherFunction = request;
    otherFunction.function = other;
    EXPECT_EQ(cantFail(readTunedSchedule(otherFunction)), "") << other;
  }
  CompileRequest otherInput = request;
  otherInput.input = "two functions ";
  EXPECT_EQ(cantFail(readTunedSchedule(otherInput)), "");
  CompileRequest otherTarget = request;
  otherTarget.target.cpu = "znver4";
  EXPECT_EQ(cantFail(readTunedSchedule(otherTarget)), "");
}
