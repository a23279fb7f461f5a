//===- ObjectCache.h - Compiled objects on disk -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of compiled objects, one file each, named by the hash of everything
// that decides its contents. It is asked before the first pass runs, so that a
// hit costs reading and linking only. A file that is truncated, damaged,
// foreign or of another key is a miss. Any number of processes may share a
// folder: files appear by rename and never change.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXECUTIONENGINE_OBJECTCACHE_H
#define ATTN_EXECUTIONENGINE_OBJECTCACHE_H

#include "attn/Support/HostTarget.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace attn {

/// Identifies this build of the compiler: changes whenever the executable or
/// one of the shared libraries in the process is rebuilt.
std::string compilerBuildId();

/// Key (64 hexadecimal digits) of what compiling `input` (the bytes of the
/// model) with `options` for `target` by this build gives.
std::string objectKey(llvm::StringRef input,
                      llvm::ArrayRef<std::string> options,
                      const Target &target);

/// Key (64 hexadecimal digits) of the schedule that was tuned for `function` of
/// `input` on `target`; no name stands for the default entry. Any build of the
/// compiler may use it, and any number of threads: which schedule runs must not
/// depend on that, or bits would.
std::string scheduleKey(llvm::StringRef input, llvm::StringRef function,
                        const Target &target);

class ObjectCache {
public:
  /// Opens `directory`, making it when it does not exist.
  static llvm::Expected<ObjectCache> open(llvm::StringRef directory);

  /// The object stored under `key`, or null when there is none that is whole.
  std::unique_ptr<llvm::MemoryBuffer> lookup(llvm::StringRef key) const;

  /// Stores `object` under `key`. On an error nothing is left behind.
  llvm::Error store(llvm::StringRef key, llvm::StringRef object) const;

  /// Path of the file for `key`, whether it exists or not.
  std::string pathOf(llvm::StringRef key) const;

  /// Path of the file for the tuned schedule of `key`: text, as
  /// `--schedule=FILE` takes it.
  std::string schedulePathOf(llvm::StringRef key) const;

private:
  explicit ObjectCache(std::string directory)
      : directory(std::move(directory)) {}
  std::string directory;
};

} // namespace attn

#endif // ATTN_EXECUTIONENGINE_OBJECTCACHE_H
