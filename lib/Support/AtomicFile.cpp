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

llvm::Error
attn::writeFileAtomically(llvm::StringRef path,
                          llvm::function_ref<void(llvm::raw_ostream &)> write) {
  namespace fs = llvm::sys::fs;
  if (path.empty())
    return cannotWrite(path, "the name is empty");
  llvm::SmallString<128> target(path);
  fs::file_status status;
  if (!fs::status(path, status)) {
    if (status.type() == fs::file_type::directory_file)
      return cannotWrite(path, "it is a directory");
    if (status.type() != fs::file_type::regular_file) {
      int fd;
      if (std::error_code error =
              fs::openFileForWrite(path, fd, fs::CD_OpenExisting))
        return cannotWrite(path, error.message());
      if (std::error_code error = writeTo(fd, /*closeAtEnd=*/true, write))
        return cannotWrite(path, error.message());
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
  if (llvm::Error error = temporary->keep(target))
    return cannotWrite(path, llvm::toString(std::move(error)));
  return llvm::Error::success();
}
