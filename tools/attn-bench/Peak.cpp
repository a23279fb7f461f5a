//===- Peak.cpp - What this machine can do at best ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Peak.h"
#include "common/Command.h"

#include "attn/ExecutionEngine/CPURuntime.h"
#include "attn/Support/Error.h"
#include "attn/Support/HostTarget.h"
#include "attn/Support/HostTensor.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

using namespace attn;
using namespace llvm;

using Clock = std::chrono::steady_clock;

/// Length of a window, and of the windows that --peak measures together.
static constexpr double kWindowNs = 2e6;
static constexpr double kTotalNs = 60e6;

/// Results go here, so that no loop can be left out.
static std::atomic<uint64_t> sink;

//===----------------------------------------------------------------------===//
// All threads at once
//===----------------------------------------------------------------------===//

namespace {

/// Work for a team, on the threads that kernels run on: other threads would
/// have to share the cores with those, which spin for a while after each run.
class Team {
public:
  Team(unsigned threads, function_ref<void(unsigned)> work)
      : work(work), starts(threads), ends(threads) {}

  Expected<WindowTimes> run() {
    Error error = runOnThreads(starts.size(), [&] {
      attnParallelFor(
          starts.size(), 0,
          [](void *context, int64_t task, void *) {
            static_cast<Team *>(context)->runOne(static_cast<size_t>(task));
          },
          this);
    });
    if (error)
      return Expected<WindowTimes>(std::move(error));
    WindowTimes times;
    for (auto [start, end] : zip_equal(starts, ends))
      times.own.push_back(std::max<double>(1.0, end - start));
    times.all = std::max<double>(
        1.0, *std::max_element(ends.begin(), ends.end()) -
                 *std::min_element(starts.begin(), starts.end()));
    return times;
  }

private:
  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               Clock::now().time_since_epoch())
        .count();
  }

  /// Waits for the others: then no thread gets a second task, and all work at
  /// the same time. A runtime that grants fewer threads must not hang us.
  void runOne(size_t thread) {
    ++arrived;
    int64_t limit = now() + 1000000000;
    while (arrived.load() < starts.size() && now() < limit)
      std::this_thread::yield();
    starts[thread] = now();
    work(static_cast<unsigned>(thread));
    ends[thread] = now();
  }

  function_ref<void(unsigned)> work;
  std::atomic<size_t> arrived{0};
  std::vector<int64_t> starts, ends;
};

} // namespace

//===----------------------------------------------------------------------===//
// The meter
//===----------------------------------------------------------------------===//

PeakMeter::PeakMeter(unsigned threads)
    : threads(threads), f32Compute(f32Loop()),
      bf16Compute(bf16Loop(requestAmxPermission())), reader(readLoop()) {
  f32Peak.unit = f32Compute.unit;
  bf16Peak.unit = bf16Compute.unit;
}

Error PeakMeter::measure(Peak &peak, function_ref<void(unsigned, int64_t)> work,
                         function_ref<void(const WindowTimes &)> enter) {
  auto window = [&](int64_t rounds) {
    return Team(threads, [&](unsigned thread) { work(thread, rounds); }).run();
  };
  // Doubles until a window is long enough even for the fastest of three: a
  // window in which another process had the core says nothing.
  for (int64_t rounds = 1; !peak.rounds; rounds *= 2) {
    double fastest = std::numeric_limits<double>::infinity();
    for (int n = 0; n < 3; ++n) {
      auto times = window(rounds);
      if (!times)
        return times.takeError();
      fastest = std::min(
          fastest, *std::min_element(times->own.begin(), times->own.end()));
      if (fastest < kWindowNs / 2)
        break;
    }
    if (fastest >= kWindowNs / 2)
      peak.rounds = rounds;
  }
  auto times = window(peak.rounds);
  if (!times)
    return times.takeError();
  enter(*times);
  return Error::success();
}

Error PeakMeter::compute(Peak &peak, const ComputeLoop &loop) {
  auto work = [&](unsigned, int64_t rounds) {
    float result = loop.run(rounds);
    uint32_t bits;
    std::memcpy(&bits, &result, sizeof(bits));
    sink += bits;
  };
  // Threads share no unit, so each counts with its own best window: on a
  // machine with neighbours hardly any window is good for all.
  return measure(peak, work, [&](const WindowTimes &times) {
    peak.threadBest.resize(threads);
    peak.best = 0.0;
    for (auto [best, time] : zip_equal(peak.threadBest, times.own)) {
      best =
          std::max(best, static_cast<double>(loop.flops) * peak.rounds / time);
      peak.best += best;
    }
  });
}

PeakMeter::Peak PeakMeter::f64() const {
  Peak peak = f32Peak;
  peak.best /= 2;
  for (double &best : peak.threadBest)
    best /= 2;
  return peak;
}

Error PeakMeter::measureF32() { return compute(f32Peak, f32Compute); }

Error PeakMeter::measureBF16() {
  if (bf16Compute.run)
    if (Error error = compute(bf16Peak, bf16Compute))
      return error;
  return measureF32();
}

Error PeakMeter::measureRead(ArrayRef<ArrayRef<char>> buffers) {
  // Pieces of kReadBytes; what is left at the ends is not read and not counted.
  int64_t pieces = 0;
  for (ArrayRef<char> buffer : buffers)
    pieces += buffer.size() / kReadBytes;
  if (pieces < threads)
    return Error::success();
  auto work = [&](unsigned thread, int64_t rounds) {
    uint64_t sum = 0;
    for (int64_t round = 0; round < rounds; ++round)
      for (ArrayRef<char> buffer : buffers) {
        int64_t all = buffer.size() / kReadBytes;
        int64_t begin = all * thread / threads;
        int64_t end = all * (thread + 1) / threads;
        sum += reader(buffer.data() + begin * kReadBytes, end - begin);
      }
    sink += sum;
  };
  // Threads share the memory, so only what all of them do together counts.
  return measure(readPeak, work, [&](const WindowTimes &times) {
    readPeak.best =
        std::max(readPeak.best, static_cast<double>(pieces) * kReadBytes *
                                    readPeak.rounds / times.all);
  });
}

//===----------------------------------------------------------------------===//
// --peak
//===----------------------------------------------------------------------===//

/// Windows for about kTotalNs, and at least twenty.
static Error repeatWindows(function_ref<Error()> window) {
  Clock::time_point start = Clock::now();
  for (int n = 0; n < 20 || Clock::now() - start <
                                std::chrono::nanoseconds(int64_t(kTotalNs));
       ++n)
    if (Error error = window())
      return error;
  return Error::success();
}

Error attn::printPeak(unsigned threads, uint64_t bytes, int64_t cacheBytes) {
  constexpr int64_t kLeastBuffer = 128 << 20;
  if (!bytes)
    bytes = std::max<int64_t>(kLeastBuffer, 4 * cacheBytes);
  if (bytes < threads * static_cast<uint64_t>(kReadBytes))
    return makeError("--peak-bytes={0}: expected at least {1}, {2} for each "
                     "thread",
                     bytes, threads * kReadBytes, kReadBytes);
  if (bytes > INT64_MAX / 16)
    return makeError("--peak-bytes={0}: expected at most {1}", bytes,
                     INT64_MAX / 16);
  PeakMeter meter(threads);
  if (Error error = repeatWindows([&] { return meter.measureF32(); }))
    return error;
  if (Error error = repeatWindows([&] { return meter.measureBF16(); }))
    return error;

  auto buffer =
      HostTensor::create(ElementType::u8, {static_cast<int64_t>(bytes)});
  if (!buffer)
    return buffer.takeError();
  ArrayRef<char> memory(buffer->dataAs<char>(), bytes);
  if (Error error = repeatWindows([&] { return meter.measureRead(memory); }))
    return error;

  printOut("f32 {:.1f} GFLOP/s\n", meter.f32().best);
  printOut("bf16 {:.1f} GFLOP/s\n", meter.bf16().best);
  printOut("read {:.1f} GB/s\n", meter.read().best);
  std::fflush(stdout);
  fmt::print(stderr, "units: f32 by {}, bf16 by {}, {} thread{}\n",
             meter.f32().unit, meter.bf16().unit, threads,
             threads == 1 ? "" : "s");
  return Error::success();
}
