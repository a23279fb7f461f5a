//===- TestFiles.h - Temporary folders and expected errors ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the tests of file formats share.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_SUPPORT_TESTFILES_H
#define ATTN_UNITTESTS_SUPPORT_TESTFILES_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace attn::test {

/// A folder that goes away with the test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("attn-unit", root));
  }
  ~TemporaryFolder() { llvm::sys::fs::remove_directories(root); }

  std::string path(llvm::StringRef name) const {
    llvm::SmallString<128> full(root);
    llvm::sys::path::append(full, name);
    return full.str().str();
  }

  std::string write(llvm::StringRef name, llvm::StringRef bytes) const {
    std::error_code error;
    llvm::raw_fd_ostream os(path(name), error);
    EXPECT_FALSE(error);
    os << bytes;
    return path(name);
  }

  size_t numFiles() const {
    size_t count = 0;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(root, error), end;
         it != end && !error; it.increment(error))
      ++count;
    return count;
  }

private:
  llvm::SmallString<128> root;
};

/// The error's text; a success or a text of several lines fails the test.
template <typename T> std::string errorText(llvm::Expected<T> value) {
  if (value) {
    ADD_FAILURE() << "expected an error";
    return "";
  }
  std::string text = llvm::toString(value.takeError());
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\n")));
  return text;
}

inline std::string errorText(llvm::Error error) {
  EXPECT_TRUE(static_cast<bool>(error)) << "expected an error";
  return llvm::toString(std::move(error));
}

/// The value; an error fails the test with its text and ends the process, for
/// nothing that follows would have a meaning.
template <typename T> T valueOf(llvm::Expected<T> value) {
  if (!value) {
    llvm::errs() << llvm::toString(value.takeError()) << '\n';
    std::exit(1);
  }
  return std::move(*value);
}

/// The bytes of an integer, little-endian.
template <typename T> std::string littleEndian(T value) {
  std::string bytes;
  for (size_t n = 0; n < sizeof(T); ++n)
    bytes.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * n)));
  return bytes;
}

} // namespace attn::test

#endif // ATTN_UNITTESTS_SUPPORT_TESTFILES_H
