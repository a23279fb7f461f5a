//===- CPURuntime.h - What generated CPU code calls -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code needs four things from its host: a parallel loop, memory,
// copies between strided buffers, and the conversions to and from 16-bit floats
// that LLVM leaves to a runtime library. They are plain C functions, registered
// by address with every loaded module, together with a short list of libc and
// libm functions. Nothing else of the process is visible to generated code.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXECUTIONENGINE_CPURUNTIME_H
#define ATTN_EXECUTIONENGINE_CPURUNTIME_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <cstdint>

extern "C" {

/// Calls `fn(context, task, scratch)` once for each task in [0, tasks), on the
/// threads of the current run (one outside a run). Tasks are handed out in
/// ascending order from one atomic counter, so the dearest should come first.
/// `scratch` points at `scratchBytesPerThread` bytes, page aligned, owned by
/// the calling thread until the task ends. Nobody initialises it: it holds
/// whatever an earlier task left there, and a result must not depend on that.
/// One thread or one task runs inline, and so does a call from inside a task.
void attnParallelFor(int64_t tasks, int64_t scratchBytesPerThread,
                     void (*fn)(void *context, int64_t task, void *scratch),
                     void *context);

/// The threads of the current run, one outside a run.
int64_t attnThreadCount();

/// Allocation functions that `finalize-memref-to-llvm` calls when asked for
/// generic functions. Memory is at least 64-byte aligned. Exhaustion ends the
/// current run with an error.
void *attnAllocate(uint64_t size);
void *attnAlignedAllocate(uint64_t alignment, uint64_t size);
void attnFree(void *pointer);
}

namespace attn {

/// What one run used.
struct RunStatistics {
  /// Largest sum of live buffers and per-thread scratch at any time, in bytes.
  int64_t peakBytes = 0;
  /// Bytes still allocated at the end: not 0 means generated code leaks.
  int64_t leakedBytes = 0;
};

/// Calls `body` as a run of `threads` threads (0: all usable cores) on the
/// calling thread. `attnParallelFor` and the allocation functions inside `body`
/// belong to this run. Runs do not nest. Running out of memory leaves `body` at
/// once (without unwinding it: it must own nothing), frees the memory of the
/// run and returns an error that names the size asked for. Large buffers that
/// generated code freed are kept for the calling thread's next runs, and
/// released when several had no use for them.
llvm::Error runOnThreads(unsigned threads, llvm::function_ref<void()> body,
                         RunStatistics *statistics = nullptr);

/// A function or object that generated code may refer to.
struct RuntimeSymbol {
  const char *name;
  void *address;
};

/// Everything generated code may refer to: the functions above under the names
/// that MLIR and LLVM emit, float conversions, `memcpy` and its relatives,
/// libm.
llvm::ArrayRef<RuntimeSymbol> runtimeSymbols();

} // namespace attn

#endif // ATTN_EXECUTIONENGINE_CPURUNTIME_H
