//===- CPURuntimeTest.cpp - Threads, memory and conversions ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime as generated code sees it.
//
//===----------------------------------------------------------------------===//

#include "attn/ExecutionEngine/CPURuntime.h"

#include "../../../lib/ExecutionEngine/RuntimeFunctions.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/bit.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <link.h>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

using namespace attn;

// Only called by AddressSanitizer: a failed malloc is what some tests ask for.
extern "C" const char *__asan_default_options() {
  return "allocator_may_return_null=1";
}

namespace {

std::string textOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

struct Visits {
  explicit Visits(int64_t tasks) : counts(tasks) {}
  std::vector<std::atomic<int>> counts;
  std::atomic<int> badScratch{0};
  std::mutex mutex;
  std::set<void *> scratches;
  std::set<std::thread::id> threads;
};

constexpr int64_t kScratchBytes = 5000;

void visit(void *context, int64_t task, void *scratch) {
  auto &visits = *static_cast<Visits *>(context);
  ++visits.counts[task];
  if (reinterpret_cast<uintptr_t>(scratch) % 4096)
    ++visits.badScratch;
  // Two tasks on one scratch at the same time would see each other's bytes.
  auto *bytes = static_cast<volatile unsigned char *>(scratch);
  auto mark = static_cast<unsigned char>(task);
  for (int64_t i = 0; i < kScratchBytes; ++i)
    bytes[i] = mark;
  // Uneven work: every seventh task is far dearer than the others.
  volatile double sink = 0;
  for (int i = 0; i < (task % 7 == 0 ? 200000 : 100); ++i)
    sink = sink + std::sqrt(double(i));
  for (int64_t i = 0; i < kScratchBytes; ++i)
    if (bytes[i] != mark)
      ++visits.badScratch;
  std::lock_guard<std::mutex> lock(visits.mutex);
  visits.scratches.insert(scratch);
  visits.threads.insert(std::this_thread::get_id());
}

TEST(ParallelFor, RunsEachTaskOnceOnAnyNumberOfThreads) {
  for (unsigned threads : {1u, 2u, 4u})
    for (int64_t tasks : {0, 1, 2, 3, 5, 64, 301}) {
      Visits visits(tasks);
      RunStatistics statistics;
      EXPECT_EQ(
          textOf(runOnThreads(
              threads,
              [&] { attnParallelFor(tasks, kScratchBytes, visit, &visits); },
              &statistics)),
          "");
      for (int64_t task = 0; task < tasks; ++task)
        EXPECT_EQ(visits.counts[task], 1)
            << threads << " threads, task " << task;
      EXPECT_EQ(visits.badScratch, 0);
      EXPECT_LE(visits.threads.size(), size_t(threads));
      EXPECT_EQ(visits.threads.size(), visits.scratches.size());
      EXPECT_EQ(statistics.peakBytes,
                std::min<int64_t>(threads, tasks) * kScratchBytes);
      EXPECT_EQ(statistics.leakedBytes, 0);
    }
}

TEST(ParallelFor, UsesAsManyThreadsAsAsked) {
  // Four tasks that wait for each other only end when four threads run them.
  std::atomic<int> arrived{0};
  auto wait = [](void *context, int64_t, void *) {
    auto &arrived = *static_cast<std::atomic<int> *>(context);
    ++arrived;
    while (arrived < 4)
      std::this_thread::yield();
  };
  EXPECT_EQ(
      textOf(runOnThreads(4, [&] { attnParallelFor(4, 0, wait, &arrived); })),
      "");
  EXPECT_EQ(arrived, 4);
}

TEST(ParallelFor, CountsTheThreadsOfTheRun) {
  EXPECT_EQ(attnThreadCount(), 1);
  int64_t outside = 0;
  std::atomic<int64_t> inside{0};
  auto count = [](void *context, int64_t, void *) {
    *static_cast<std::atomic<int64_t> *>(context) += attnThreadCount();
  };
  EXPECT_EQ(textOf(runOnThreads(3,
                                [&] {
                                  outside = attnThreadCount();
                                  attnParallelFor(5, 0, count, &inside);
                                })),
            "");
  EXPECT_EQ(outside, 3);
  EXPECT_EQ(inside, 5 * 3);
  EXPECT_EQ(attnThreadCount(), 1);
}

TEST(ParallelFor, OneThreadRunsInlineAndInOrder) {
  struct Context {
    std::thread::id caller = std::this_thread::get_id();
    std::vector<int64_t> order;
    bool inlineOnly = true;
  } context;
  auto note = [](void *pointer, int64_t task, void *) {
    auto &context = *static_cast<Context *>(pointer);
    context.inlineOnly &= context.caller == std::this_thread::get_id();
    context.order.push_back(task);
  };
  // Outside a run there is one thread.
  attnParallelFor(4, 0, note, &context);
  EXPECT_THAT(context.order, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(
      textOf(runOnThreads(8, [&] { attnParallelFor(1, 0, note, &context); })),
      "");
  EXPECT_TRUE(context.inlineOnly);
}

TEST(ParallelFor, KeepsScratchBetweenCalls) {
  std::vector<void *> seen;
  auto note = [](void *context, int64_t, void *scratch) {
    static_cast<std::vector<void *> *>(context)->push_back(scratch);
  };
  attnParallelFor(1, 1 << 20, note, &seen);
  attnParallelFor(1, 1 << 16, note, &seen);
  EXPECT_EQ(seen[0], seen[1]);
}

TEST(ParallelFor, InnerLoopsHaveTheirOwnScratch) {
  struct Context {
    void *outer = nullptr;
    int inner = 0;
    bool distinct = true;
  } context;
  auto inner = [](void *pointer, int64_t, void *scratch) {
    auto &context = *static_cast<Context *>(pointer);
    context.distinct &= scratch != context.outer;
    ++context.inner;
  };
  static void (*innerFunction)(void *, int64_t, void *) = inner;
  auto outer = [](void *pointer, int64_t, void *scratch) {
    static_cast<Context *>(pointer)->outer = scratch;
    attnParallelFor(3, 128, innerFunction, pointer);
  };
  EXPECT_EQ(textOf(runOnThreads(
                1, [&] { attnParallelFor(2, 128, outer, &context); })),
            "");
  EXPECT_EQ(context.inner, 6);
  EXPECT_TRUE(context.distinct);
}

TEST(Memory, IsAlignedAndCounted) {
  RunStatistics statistics;
  bool aligned = true;
  EXPECT_EQ(textOf(runOnThreads(
                1,
                [&] {
                  void *a = attnAllocate(1000);
                  void *b = attnAlignedAllocate(4096, 500);
                  void *c = attnAlignedAllocate(8, 0);
                  aligned = reinterpret_cast<uintptr_t>(a) % 64 == 0 &&
                            reinterpret_cast<uintptr_t>(b) % 4096 == 0 &&
                            reinterpret_cast<uintptr_t>(c) % 64 == 0;
                  memset(a, 1, 1000);
                  memset(b, 1, 500);
                  attnFree(a);
                  attnFree(c);
                  attnFree(attnAllocate(900));
                  attnFree(b);
                  attnFree(nullptr);
                },
                &statistics)),
            "");
  EXPECT_TRUE(aligned);
  EXPECT_EQ(statistics.peakBytes, 1500);
  EXPECT_EQ(statistics.leakedBytes, 0);
}

TEST(Memory, IsReleasedAtTheEndOfARun) {
  RunStatistics statistics;
  EXPECT_EQ(textOf(runOnThreads(1, [] { attnAllocate(77); }, &statistics)), "");
  EXPECT_EQ(statistics.leakedBytes, 77);
}

TEST(Memory, ExhaustionEndsTheRunOnly) {
  for (uint64_t size : {uint64_t(1) << 60, ~uint64_t(0)}) {
    bool reached = false;
    RunStatistics statistics;
    std::string text = textOf(runOnThreads(
        2,
        [&] {
          attnAllocate(300);
          attnAllocate(size);
          reached = true;
        },
        &statistics));
    EXPECT_THAT(text,
                testing::HasSubstr("out of memory: " + std::to_string(size) +
                                   " bytes asked for"));
    EXPECT_FALSE(reached);
    EXPECT_EQ(statistics.leakedBytes, 300);
  }
  // Scratch that no thread can have.
  auto task = [](void *, int64_t, void *) {};
  for (unsigned threads : {1u, 2u})
    EXPECT_THAT(textOf(runOnThreads(threads,
                                    [&] {
                                      attnParallelFor(4, int64_t(1) << 60, task,
                                                      nullptr);
                                    })),
                testing::HasSubstr("out of memory"));
  // The next run is not affected.
  Visits visits(9);
  EXPECT_EQ(textOf(runOnThreads(
                2, [&] { attnParallelFor(9, kScratchBytes, visit, &visits); })),
            "");
  for (auto &count : visits.counts)
    EXPECT_EQ(count, 1);
}

TEST(Runs, DoNotNest) {
  std::string inner;
  EXPECT_EQ(
      textOf(runOnThreads(1, [&] { inner = textOf(runOnThreads(1, [] {})); })),
      "");
  EXPECT_THAT(inner, testing::HasSubstr("inside another run"));
}

TEST(Process, HoldsOneOpenMPRuntime) {
  std::vector<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *context) {
        static_cast<std::vector<std::string> *>(context)->push_back(
            info->dlpi_name);
        return 0;
      },
      &names);
  EXPECT_THAT(names, testing::Contains(testing::HasSubstr("libomp")));
  EXPECT_THAT(names,
              testing::Not(testing::Contains(testing::HasSubstr("libgomp"))));
}

/// Where a run that allocates `bytes` bytes and frees them gets them.
void *addressOf(uint64_t bytes) {
  void *memory = nullptr;
  llvm::Error error = runOnThreads(1, [&] {
    memory = attnAllocate(bytes);
    memset(memory, 1, bytes);
    attnFree(memory);
  });
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  return memory;
}

TEST(Memory, LargeBuffersAreKeptForTheNextRuns) {
  constexpr uint64_t large = 8 << 20;
  void *first = addressOf(large);
  // Models of other sizes in between do not take it, a smaller one may.
  for (int run = 0; run < 3; ++run)
    EXPECT_NE(addressOf(large / 4), first);
  EXPECT_EQ(addressOf(large - 1000), first);
  EXPECT_EQ(addressOf(large), first);
  // Two at once are two.
  llvm::Error error = runOnThreads(1, [&] {
    void *one = attnAllocate(large), *two = attnAllocate(large);
    EXPECT_NE(one, two);
    attnFree(one);
    attnFree(two);
  });
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
}

uint16_t lowBits(float raw) {
  return static_cast<uint16_t>(llvm::bit_cast<uint32_t>(raw));
}

/// Rounds by LLVM's software floats.
uint16_t expectedBits(double value, const llvm::fltSemantics &semantics) {
  llvm::APFloat number(value);
  bool lost;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
  return static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
}

TEST(Conversions, RoundOnceToNearestEven) {
  std::mt19937_64 random(1);
  std::vector<double> values = {0.0, -0.0, 1.0, 65504.0, 65519.99, 65520.0,
                                1e-8, -5.96e-8, 2.98e-8, 1e39, 3.4e38, 1e-45,
                                INFINITY, -INFINITY,
                                // Would round twice by way of f32.
                                1.00048828125 + 1e-12, 1.00390625 + 1e-12};
  for (int i = 0; i < 20000; ++i)
    values.push_back(std::ldexp(double(int64_t(random())) / (1ll << 62),
                                int(random() % 60) - 36));
  for (double value : values) {
    auto narrow = static_cast<float>(value);
    EXPECT_EQ(lowBits(attnTruncF64ToF16(value)),
              expectedBits(value, llvm::APFloat::IEEEhalf()))
        << value;
    EXPECT_EQ(lowBits(attnTruncF32ToF16(narrow)),
              expectedBits(narrow, llvm::APFloat::IEEEhalf()))
        << value;
    EXPECT_EQ(lowBits(attnTruncF64ToBF16(value)),
              expectedBits(value, llvm::APFloat::BFloat()))
        << value;
    EXPECT_EQ(lowBits(attnTruncF32ToBF16(narrow)),
              expectedBits(narrow, llvm::APFloat::BFloat()))
        << value;
    EXPECT_EQ(attnTruncF32ToF16Bits(narrow),
              lowBits(attnTruncF32ToF16(narrow)));
  }
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    llvm::APFloat half(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits));
    llvm::APFloat brain(llvm::APFloat::BFloat(), llvm::APInt(16, bits));
    auto raw = llvm::bit_cast<float>(bits | 0xabcd0000u);
    if (half.isNaN()) {
      EXPECT_TRUE(std::isnan(attnExtendF16ToF32(raw)));
    } else {
      EXPECT_EQ(attnExtendF16ToF32(raw), half.convertToFloat());
      EXPECT_EQ(attnExtendF16ToF64(raw), half.convertToDouble());
      EXPECT_EQ(attnExtendF16BitsToF32(uint16_t(bits)), half.convertToFloat());
    }
    if (brain.isNaN())
      EXPECT_TRUE(std::isnan(attnExtendBF16ToF32(raw)));
    else
      EXPECT_EQ(attnExtendBF16ToF32(raw), brain.convertToFloat());
  }
  EXPECT_TRUE(std::isnan(attnExtendF16ToF32(attnTruncF32ToF16(NAN))));
  EXPECT_TRUE(std::isnan(attnExtendBF16ToF32(attnTruncF32ToBF16(NAN))));
}

TEST(Conversions, IntegerPowers) {
  EXPECT_EQ(attnPowiF64(3.0, 5), 243.0);
  EXPECT_EQ(attnPowiF32(2.0f, -3), 0.125f);
  EXPECT_EQ(attnPowiF64(7.0, 0), 1.0);
  EXPECT_EQ(attnPowiF64(1.0, INT32_MIN), 1.0);
}

TEST(MemRefCopy, CopiesBetweenAnyStrides) {
  // The transpose of [[1, 2, 3], [4, 5, 6]] and back.
  float from[6] = {1, 2, 3, 4, 5, 6}, to[6] = {};
  int64_t source[7] = {0, 0, 0, 3, 2, 1, 3}, target[7] = {0, 0, 0, 3, 2, 2, 1};
  auto *data = from;
  memcpy(&source[1], &data, sizeof(data));
  data = to;
  memcpy(&target[1], &data, sizeof(data));
  attnUnrankedMemRef sourceView{2, source}, targetView{2, target};
  attnMemRefCopy(sizeof(float), &sourceView, &targetView);
  EXPECT_THAT(to, testing::ElementsAre(1, 4, 2, 5, 3, 6));
  // Nothing to copy.
  source[4] = target[4] = 0;
  from[0] = 9;
  attnMemRefCopy(sizeof(float), &sourceView, &targetView);
  EXPECT_EQ(to[0], 1);
}

TEST(Symbols, AreUnique) {
  std::set<std::string> names;
  for (const RuntimeSymbol &symbol : runtimeSymbols()) {
    EXPECT_TRUE(names.insert(symbol.name).second) << symbol.name;
    EXPECT_NE(symbol.address, nullptr) << symbol.name;
  }
}

} // namespace
