//===- CPURuntime.cpp - Threads and memory for generated CPU code ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tasks run on libomp's threads, which stay alive between calls. Memory is
// counted per run, so that a run can say what it needed, and is chained, so
// that a run that ends early leaves nothing behind.
//
//===----------------------------------------------------------------------===//

#include "attn/ExecutionEngine/CPURuntime.h"
#include "attn/Support/HostTarget.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <cstdlib>
#include <limits>
#include <mutex>

using namespace attn;
using namespace llvm;

namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kMinAlignment = 64;

struct Run;

/// Stands directly before each piece of memory handed to generated code.
struct Block {
  /// What malloc returned, and how much.
  void *base;
  uint64_t capacity;
  /// Size asked for.
  uint64_t size;
  /// Run that pays for it; null outside a run.
  Run *run;
  Block *previous;
  Block *next;
};
static_assert(sizeof(Block) <= kMinAlignment);

/// State of one call of `runOnThreads`.
struct Run {
  unsigned threads = 1;
  std::atomic<int64_t> currentBytes{0};
  std::atomic<int64_t> peakBytes{0};
  /// Guards the chain of live blocks.
  std::mutex mutex;
  Block *blocks = nullptr;
  /// Where to go when memory runs out, and the size that was asked for then.
  std::jmp_buf exit;
  uint64_t failedBytes = 0;

  void charge(int64_t bytes) {
    int64_t now = currentBytes.fetch_add(bytes) + bytes;
    int64_t peak = peakBytes.load();
    while (now > peak && !peakBytes.compare_exchange_weak(peak, now)) {
    }
  }
};

/// Scratch memory of one thread, kept for its next task.
struct Scratch {
  void *memory = nullptr;
  uint64_t size = 0;

  ~Scratch() { std::free(memory); }

  /// At least `bytes` bytes, page aligned; null when there is no memory.
  void *get(uint64_t bytes) {
    if (bytes <= size)
      return memory;
    std::free(memory);
    uint64_t rounded = alignTo(bytes, kPageBytes);
    memory =
        rounded < bytes ? nullptr : std::aligned_alloc(kPageBytes, rounded);
    size = memory ? rounded : 0;
    return memory;
  }
};

/// Large pieces of memory that a run gave back, kept for the next one: the
/// system would hand out new pages every time, at the price of a fault each. A
/// piece that several runs had no use for is released.
class SpareMemory {
public:
  ~SpareMemory() { release(); }

  /// `bytes` bytes or somewhat more, whose number `*capacity` becomes; null
  /// when there is no memory.
  void *take(uint64_t bytes, uint64_t *capacity) {
    *capacity = bytes;
    auto fits = [&](const Piece &piece) {
      return piece.bytes >= bytes && piece.bytes / 2 <= bytes;
    };
    auto found = find_if(pieces, fits);
    if (bytes < kSmallest || found == pieces.end()) {
      void *memory = std::malloc(bytes);
      if (memory || pieces.empty())
        return memory;
      release();
      return std::malloc(bytes);
    }
    void *memory = found->memory;
    *capacity = found->bytes;
    pieces.erase(found);
    return memory;
  }

  void give(void *memory, uint64_t bytes) {
    if (bytes < kSmallest)
      std::free(memory);
    else
      pieces.push_back({memory, bytes, /*idleRuns=*/0});
  }

  void endRun() {
    erase_if(pieces, [](Piece &piece) {
      bool isStale = ++piece.idleRuns > kIdleRuns;
      if (isStale)
        std::free(piece.memory);
      return isStale;
    });
  }

private:
  /// Below, malloc itself keeps memory.
  static constexpr uint64_t kSmallest = 128 * 1024;
  /// Models take turns on a thread.
  static constexpr unsigned kIdleRuns = 8;

  struct Piece {
    void *memory;
    uint64_t bytes;
    /// Runs that ended since it was used.
    unsigned idleRuns;
  };

  void release() {
    for (Piece &piece : pieces)
      std::free(piece.memory);
    pieces.clear();
  }

  SmallVector<Piece> pieces;
};

/// What a thread is doing.
struct ThreadState {
  /// The run this thread works for.
  Run *run = nullptr;
  /// This thread called `runOnThreads`, so it may jump back there.
  bool ownsRun = false;
  /// A task is being executed.
  bool inTask = false;
  Scratch scratch;
  SpareMemory spare;
};
thread_local ThreadState threadState;

/// Leaves the run. A thread of a team cannot: an OpenMP region has to be left
/// at its end, and the task that is being executed cannot go on without the
/// memory, so that the process ends here with a message. Generated tasks get
/// their memory as scratch, which `attnParallelFor` allocates before the first
/// of them and whose absence it reports from outside of the team; only a task
/// that itself allocates comes here.
[[noreturn]] void outOfMemory(uint64_t bytes) {
  ThreadState &state = threadState;
  if (!state.ownsRun)
    report_bad_alloc_error("out of memory in generated code");
  state.run->failedBytes = bytes;
  std::longjmp(state.run->exit, 1);
}

/// False when `body` was left because memory ran out. A function of its own, so
/// that nothing lives in registers across the jump.
bool callGuarded(Run &run, function_ref<void()> body) {
  if (setjmp(run.exit))
    return false;
  body();
  return true;
}

struct TaskRange {
  int64_t begin, end;
  explicit operator bool() const { return begin < end; }
};

/// The next tasks of a thread: neighbours, which share keys and values, many at
/// first and single ones at the end, where threads must finish together
/// (Polychronopoulos and Kuck, guided self-scheduling, 1987).
TaskRange takeTasks(std::atomic<int64_t> &next, int64_t tasks,
                    int64_t threads) {
  constexpr int64_t kSharesPerThread = 16;
  int64_t begin = next.load(std::memory_order_relaxed), end;
  do {
    int64_t left = tasks - begin;
    if (left <= 0)
      return {tasks, tasks};
    end = begin + std::max<int64_t>(1, left / (kSharesPerThread * threads));
  } while (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
  return {begin, end};
}

} // namespace

void attnParallelFor(int64_t tasks, int64_t scratchBytesPerThread,
                     void (*fn)(void *, int64_t, void *), void *context) {
  if (tasks <= 0)
    return;
  ThreadState &caller = threadState;
  Run *run = caller.run;
  uint64_t scratchBytes =
      static_cast<uint64_t>(std::max<int64_t>(scratchBytesPerThread, 1));

  // A task that calls again keeps its own scratch: the inner tasks get another.
  if (caller.inTask) {
    void *scratch = attnAlignedAllocate(kPageBytes, scratchBytes);
    for (int64_t task = 0; task < tasks; ++task)
      fn(context, task, scratch);
    attnFree(scratch);
    return;
  }

  int64_t threads = std::min<int64_t>(run ? run->threads : 1, tasks);
  int64_t charged = threads * static_cast<int64_t>(
                                  std::max<int64_t>(scratchBytesPerThread, 0));
  if (run)
    run->charge(charged);

  bool failed = false;
  if (threads == 1) {
    if (void *scratch = caller.scratch.get(scratchBytes)) {
      caller.inTask = true;
      for (int64_t task = 0; task < tasks; ++task)
        fn(context, task, scratch);
      caller.inTask = false;
    } else {
      failed = true;
    }
  } else {
    std::atomic<int64_t> nextTask{0};
    std::atomic<bool> noMemory{false};
#pragma omp parallel num_threads(static_cast<int>(threads))
    {
      ThreadState &state = threadState;
      Run *outerRun = state.run;
      bool outerOwns = state.ownsRun;
      state.run = run;
      // No thread of a team may jump out of it, the caller's neither.
      state.ownsRun = false;
      state.inTask = true;
      if (void *scratch = state.scratch.get(scratchBytes)) {
        while (TaskRange range = takeTasks(nextTask, tasks, threads))
          for (int64_t task = range.begin; task < range.end; ++task)
            fn(context, task, scratch);
      } else {
        noMemory = true;
      }
      state.inTask = false;
      state.ownsRun = outerOwns;
      state.run = outerRun;
    }
    failed = noMemory;
  }

  if (run)
    run->charge(-charged);
  if (failed)
    outOfMemory(scratchBytes);
}

int64_t attnThreadCount() {
  const Run *run = threadState.run;
  return run ? run->threads : 1;
}

void *attnAlignedAllocate(uint64_t alignment, uint64_t size) {
  alignment = std::max(alignment, kMinAlignment);
  // The header takes one unit of the alignment before the memory itself.
  uint64_t overhead = 2 * alignment;
  if (!isPowerOf2_64(alignment) || size > INT64_MAX - overhead)
    outOfMemory(size);
  uint64_t capacity;
  void *base = threadState.spare.take(size + overhead, &capacity);
  if (!base)
    outOfMemory(size);
  uint64_t start =
      alignTo(reinterpret_cast<uint64_t>(base) + sizeof(Block), alignment);
  Block *block = reinterpret_cast<Block *>(start) - 1;
  Run *run = threadState.run;
  *block = {base, capacity, size, run, nullptr, nullptr};
  if (run) {
    run->charge(static_cast<int64_t>(size));
    std::lock_guard<std::mutex> lock(run->mutex);
    block->next = run->blocks;
    if (block->next)
      block->next->previous = block;
    run->blocks = block;
  }
  return reinterpret_cast<void *>(start);
}

void *attnAllocate(uint64_t size) {
  return attnAlignedAllocate(kMinAlignment, size);
}

void attnFree(void *pointer) {
  if (!pointer)
    return;
  Block *block = static_cast<Block *>(pointer) - 1;
  if (Run *run = block->run) {
    run->charge(-static_cast<int64_t>(block->size));
    std::lock_guard<std::mutex> lock(run->mutex);
    if (block->previous)
      block->previous->next = block->next;
    else
      run->blocks = block->next;
    if (block->next)
      block->next->previous = block->previous;
  }
  threadState.spare.give(block->base, block->capacity);
}

Error attn::runOnThreads(unsigned threads, function_ref<void()> body,
                         RunStatistics *statistics) {
  ThreadState &state = threadState;
  if (state.run)
    return createStringError("a run cannot start inside another run");

  Run run;
  run.threads = threads ? threads : usableCores();
  state.run = &run;
  state.ownsRun = true;
  bool completed = callGuarded(run, body);
  state.run = nullptr;
  state.ownsRun = false;
  // The jump may have left from inside a task.
  state.inTask = false;

  RunStatistics used;
  used.peakBytes = run.peakBytes;
  while (Block *block = run.blocks) {
    run.blocks = block->next;
    used.leakedBytes += static_cast<int64_t>(block->size);
    std::free(block->base);
  }
  state.spare.endRun();
  if (statistics)
    *statistics = used;
  if (completed)
    return Error::success();
  return createStringError("out of memory: " + Twine(run.failedBytes) +
                           " bytes asked for, " + Twine(used.peakBytes) +
                           " bytes in use at the most");
}
