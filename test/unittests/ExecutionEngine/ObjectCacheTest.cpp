//===- ObjectCacheTest.cpp - Hits, misses and damage ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever lies in the folder, a lookup gives the stored bytes or nothing.
//
//===----------------------------------------------------------------------===//

#include "attn/ExecutionEngine/ObjectCache.h"

#include "../Support/TestFiles.h"

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

using namespace attn;
using attn::test::TemporaryFolder;

namespace {

const Target kTarget = [] {
  Target target;
  target.triple = "x86_64-unknown-linux-gnu";
  target.cpu = "x86-64-v3";
  target.features = "+avx2";
  return target;
}();

ObjectCache openCache(llvm::StringRef path) {
  auto cache = ObjectCache::open(path);
  EXPECT_TRUE(bool(cache));
  return std::move(*cache);
}

std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void write(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(ObjectCache, KeysDependOnEverything) {
  const std::string base = objectKey("input", {"a", "b"}, kTarget);
  EXPECT_EQ(base.size(), 64u);
  EXPECT_EQ(base, objectKey("input", {"a", "b"}, kTarget));
  EXPECT_NE(base, objectKey("inpu", {"ta", "b"}, kTarget));
  EXPECT_NE(base, objectKey("input", {"ab"}, kTarget));
  EXPECT_NE(base, objectKey("input", {"b", "a"}, kTarget));
  Target other = kTarget;
  other.features = "-avx2";
  EXPECT_NE(base, objectKey("input", {"a", "b"}, other));
  other = kTarget;
  other.cpu = "znver4";
  EXPECT_NE(base, objectKey("input", {"a", "b"}, other));
  other = kTarget;
  other.l2Bytes *= 2;
  EXPECT_NE(base, objectKey("input", {"a", "b"}, other));
  EXPECT_EQ(compilerBuildId().size(), 64u);
}

TEST(ObjectCache, FindsWhatWasStored) {
  TemporaryFolder folder;
  // The folder is made on demand, with its parents.
  ObjectCache cache = openCache(folder.path("a/b"));
  const std::string key = objectKey("input", {}, kTarget);
  EXPECT_EQ(cache.lookup(key), nullptr);
  const std::string object("\0binary\xff object", 15);
  EXPECT_EQ(llvm::toString(cache.store(key, object)), "");
  auto found = cache.lookup(key);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->getBuffer(), object);
  EXPECT_EQ(cache.lookup(objectKey("other", {}, kTarget)), nullptr);
  // An empty object is an object.
  EXPECT_EQ(llvm::toString(cache.store(key, "")), "");
  found = cache.lookup(key);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->getBuffer(), "");
}

TEST(ObjectCache, DamagedFilesAreMisses) {
  TemporaryFolder folder;
  ObjectCache cache = openCache(folder.path("cache"));
  const std::string key = objectKey("input", {}, kTarget);
  const std::string other = objectKey("other", {}, kTarget);
  ASSERT_FALSE(bool(cache.store(key, "an object of some bytes")));
  const std::string path = cache.pathOf(key);
  const std::string whole = read(path);
  ASSERT_NE(cache.lookup(key), nullptr);

  for (size_t length = 0; length < whole.size(); ++length) {
    write(path, whole.substr(0, length));
    EXPECT_EQ(cache.lookup(key), nullptr) << "cut to " << length;
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    write(path, damaged);
    EXPECT_EQ(cache.lookup(key), nullptr) << "damaged at " << at;
  }
  write(path, whole + "x");
  EXPECT_EQ(cache.lookup(key), nullptr);
  write(path, "not one of ours");
  EXPECT_EQ(cache.lookup(key), nullptr);
  // A whole file under the name of another key.
  write(cache.pathOf(other), whole);
  EXPECT_EQ(cache.lookup(other), nullptr);
  // Storing again repairs it.
  ASSERT_FALSE(bool(cache.store(key, "an object of some bytes")));
  EXPECT_NE(cache.lookup(key), nullptr);
}

TEST(ObjectCache, ErrorsNameTheFolder) {
  TemporaryFolder folder;
  std::string file = folder.write("file", "");
  auto cache = ObjectCache::open(file);
  ASSERT_FALSE(bool(cache));
  EXPECT_THAT(llvm::toString(cache.takeError()), testing::HasSubstr(file));
}

TEST(ObjectCache, WritersAndReadersMayMeet) {
  TemporaryFolder folder;
  ObjectCache cache = openCache(folder.path("cache"));
  const std::string key = objectKey("input", {}, kTarget);
  const std::string object(100000, 'o');
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n) {
        if (llvm::Error error = cache.store(key, object)) {
          llvm::consumeError(std::move(error));
          ++wrong;
        }
        auto found = cache.lookup(key);
        if (!found || found->getBuffer() != object)
          ++wrong;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  // No temporary files are left.
  size_t files = 0;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(folder.path("cache"), code), end;
       it != end && !code; it.increment(code))
    ++files;
  EXPECT_EQ(files, 1u);
}

} // namespace
