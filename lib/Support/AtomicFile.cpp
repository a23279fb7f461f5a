//===- AtomicFile.cpp - Files that appear whole or not at all ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Support/AtomicFile.h"

#include "attn/Support/Error.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;

static llvm::Error cannotWrite(llvm::StringRef path, llvm::StringRef why) {
  return makeError("cannot write {0}: {1}", quoteName(path), why);
}

/// Runs `write` on an open file. A stream that is destroyed with an unread
/// error aborts the process, so the error is always taken out here.
static std::error_code
writeTo(int fd, bool closeAtEnd,
        llvm::function_ref<void(llvm::raw_ostream &)> write) {
  llvm::raw_fd_ostream os(fd, closeAtEnd);
  write(os);
  os.flush();
  const std::error_code error = os.error();
  os.clear_error();
  return error;
}

AtomicFiles::~AtomicFiles() {
  for (Pending &one : pending)
    llvm::consumeError(one.file.discard());
}

llvm::Error AtomicFiles::add(llvm::StringRef path, Writer write) {
  namespace fs = llvm::sys::fs;
  if (path.empty())
    return cannotWrite(path, "the name is empty");
  llvm::SmallString<128> target(path);
  fs::file_status status;
  if (!fs::status(path, status)) {
    if (status.type() == fs::file_type::directory_file)
      return cannotWrite(path, "it is a directory");
    if (status.type() != fs::file_type::regular_file) {
      devices.push_back({path.str(), std::move(write)});
      return llvm::Error::success();
    }
    // Replace what a link points to, not the link.
    if (std::error_code error = fs::real_path(path, target))
      return cannotWrite(path, error.message());
  }
  llvm::Expected<fs::TempFile> temporary =
      fs::TempFile::create(target + ".tmp-%%%%%%%%");
  if (!temporary)
    return cannotWrite(path, llvm::toString(temporary.takeError()));
  if (std::error_code error =
          writeTo(temporary->FD, /*closeAtEnd=*/false, write)) {
    llvm::consumeError(temporary->discard());
    return cannotWrite(path, error.message());
  }
  pending.push_back({path.str(), target.str().str(), std::move(*temporary)});
  return llvm::Error::success();
}

llvm::Error AtomicFiles::commit() {
  namespace fs = llvm::sys::fs;
  for (const Device &device : devices) {
    int fd;
    if (std::error_code error =
            fs::openFileForWrite(device.path, fd, fs::CD_OpenExisting))
      return cannotWrite(device.path, error.message());
    if (std::error_code error = writeTo(fd, /*closeAtEnd=*/true, device.write))
      return cannotWrite(device.path, error.message());
  }
  devices.clear();
  while (!pending.empty()) {
    Pending &one = pending.front();
    if (llvm::Error error = one.file.keep(one.target))
      return cannotWrite(one.path, llvm::toString(std::move(error)));
    pending.erase(pending.begin());
  }
  return llvm::Error::success();
}

llvm::Error
attn::writeFileAtomically(llvm::StringRef path,
                          llvm::function_ref<void(llvm::raw_ostream &)> write) {
  AtomicFiles files;
  if (llvm::Error error = files.add(path, write))
    return error;
  return files.commit();
}
