//===- AtomicFileTest.cpp - Files appear whole, together, or not at all ---===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Support/AtomicFile.h"

#include "TestFiles.h"

#include "llvm/Support/MemoryBuffer.h"

#include <gmock/gmock.h>

using namespace attn;
using namespace attn::test;

namespace {

AtomicFiles::Writer text(std::string bytes) {
  return [bytes](llvm::raw_ostream &stream) { stream << bytes; };
}

std::string read(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : "(none)";
}

TEST(AtomicFiles, AppearAtTheCommit) {
  TemporaryFolder folder;
  std::string a = folder.write("a", "old"), b = folder.path("b");
  AtomicFiles files;
  ASSERT_EQ(llvm::toString(files.add(a, text("new a"))), "");
  ASSERT_EQ(llvm::toString(files.add(b, text("new b"))), "");
  EXPECT_EQ(read(a), "old");
  EXPECT_EQ(read(b), "(none)");
  ASSERT_EQ(llvm::toString(files.commit()), "");
  EXPECT_EQ(read(a), "new a");
  EXPECT_EQ(read(b), "new b");
  EXPECT_EQ(folder.numFiles(), 2u);
}

TEST(AtomicFiles, LeaveNothingWithoutACommit) {
  TemporaryFolder folder;
  std::string a = folder.write("a", "old");
  {
    AtomicFiles files;
    ASSERT_EQ(llvm::toString(files.add(a, text("new"))), "");
    ASSERT_EQ(llvm::toString(files.add(folder.path("b"), text("new"))), "");
    EXPECT_EQ(errorText(files.add(folder.path("none/c"), text("new"))),
              "cannot write '" + folder.path("none/c") +
                  "': No such file or directory");
  }
  EXPECT_EQ(read(a), "old");
  EXPECT_EQ(folder.numFiles(), 1u);
}

TEST(AtomicFiles, AFullDeviceLeavesTheFiles) {
  if (!llvm::sys::fs::exists("/dev/full"))
    GTEST_SKIP() << "this system has no /dev/full";
  TemporaryFolder folder;
  std::string a = folder.write("a", "old");
  {
    AtomicFiles files;
    ASSERT_EQ(llvm::toString(files.add(a, text("new"))), "");
    ASSERT_EQ(llvm::toString(files.add("/dev/full", text("new"))), "");
    EXPECT_EQ(errorText(files.commit()),
              "cannot write '/dev/full': No space left on device");
  }
  EXPECT_EQ(read(a), "old");
  EXPECT_EQ(folder.numFiles(), 1u);
}

} // namespace
