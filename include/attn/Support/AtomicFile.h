//===- AtomicFile.h - Files that appear whole or not at all -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results are written to a temporary name in the folder of the target and
// renamed, so that a crash or a full disk never leaves half a file. Several
// files that belong together are all written before the first is renamed.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_ATOMICFILE_H
#define ATTN_SUPPORT_ATOMICFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

#include <functional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace attn {

/// Files that appear together: `add` each, then `commit`. Without a commit, or
/// when anything cannot be written, the old files stay as they were. Only a
/// rename that fails behind a rename that did not can tear them apart.
class AtomicFiles {
public:
  using Writer = std::function<void(llvm::raw_ostream &)>;

  AtomicFiles() = default;
  AtomicFiles(const AtomicFiles &) = delete;
  AtomicFiles &operator=(const AtomicFiles &) = delete;
  ~AtomicFiles();

  /// Calls `write` on a stream whose output will be the file `path`. A symbolic
  /// link is followed. A device or pipe cannot be replaced: it is written in
  /// place, by `commit`, until when what `write` refers to must live. Errors
  /// name the path.
  llvm::Error add(llvm::StringRef path, Writer write);

  /// Writes to devices, then gives all files their names.
  llvm::Error commit();

private:
  struct Pending {
    /// As the caller spelled it.
    std::string path;
    /// What it resolves to.
    std::string target;
    llvm::sys::fs::TempFile file;
  };
  struct Device {
    std::string path;
    Writer write;
  };
  std::vector<Pending> pending;
  std::vector<Device> devices;
};

/// Calls `write` on a stream and gives its output the name `path`, like
/// AtomicFiles with one file. On error an old file stays as it was.
llvm::Error
writeFileAtomically(llvm::StringRef path,
                    llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace attn

#endif // ATTN_SUPPORT_ATOMICFILE_H
