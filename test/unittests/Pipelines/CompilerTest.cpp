//===- CompilerTest.cpp - What becomes of cached objects --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cache saves time and nothing else: whatever is in it, and whether it can be
// written or not, a model compiles.
//
//===----------------------------------------------------------------------===//

#include "attn/Pipelines/Compiler.h"

#include "../Support/TestFiles.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gmock/gmock.h>

using namespace attn;
using namespace attn::test;
using testing::HasSubstr;

namespace {

constexpr llvm::StringLiteral kTwice = R"(
func.func @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
})";

class CompilerCache : public testing::Test {
protected:
  CompilerCache() {
    request.input = kTwice;
    request.inputName = "twice.mlir";
    request.target = valueOf(resolveTarget("native"));
    request.cache = &cache;
  }

  /// Compiles and runs, by hand of the cache.
  Compilation compile() {
    Compilation result = valueOf(compileToMemory(request));
    HostTensor x = valueOf(HostTensor::create(ElementType::f32, {3}));
    HostTensor y = valueOf(HostTensor::create(ElementType::f32, {3}));
    for (int64_t i = 0; i < 3; ++i)
      x.set(i, i + 1);
    TensorView out = y.view();
    EXPECT_EQ(llvm::toString(
                  result.module->run(result.function->name, {x.view()}, out)),
              "");
    EXPECT_EQ(y.get(2), 6);
    return result;
  }

  /// The key of the one object in the cache.
  std::string onlyKey() {
    std::error_code error;
    llvm::sys::fs::directory_iterator it(folder.path("cache"), error), end;
    EXPECT_FALSE(error);
    EXPECT_NE(it, end);
    return llvm::sys::path::stem(it->path()).str();
  }

  TemporaryFolder folder;
  ObjectCache cache = valueOf(ObjectCache::open(folder.path("cache")));
  CompileRequest request;
};

TEST_F(CompilerCache, FindsWhatItStored) {
  EXPECT_FALSE(compile().cached);
  EXPECT_TRUE(compile().cached);
}

TEST_F(CompilerCache, ReplacesWhatDoesNotLink) {
  compile();
  std::string key = onlyKey();
  // Whole files with the right checksum, but no objects of a model.
  for (llvm::StringRef bytes : {"not an object", ""}) {
    ASSERT_EQ(llvm::toString(cache.store(key, bytes)), "");
    Compilation again = compile();
    EXPECT_FALSE(again.cached);
    EXPECT_EQ(again.diagnostics, "");
    EXPECT_TRUE(compile().cached);
  }
}

TEST_F(CompilerCache, RunsWithoutRoomInTheCache) {
  compile();
  // A folder in the object's place: neither read nor replaced.
  std::string path = cache.pathOf(onlyKey());
  ASSERT_FALSE(llvm::sys::fs::remove(path));
  ASSERT_FALSE(llvm::sys::fs::create_directory(path));
  for (int i = 0; i < 2; ++i) {
    Compilation result = compile();
    EXPECT_FALSE(result.cached);
    EXPECT_EQ(result.diagnostics,
              "twice.mlir: warning: the compiled object is not cached: cannot "
              "write '" +
                  path + "': it is a directory\n");
  }
}

TEST_F(CompilerCache, RunsWhenTheFolderIsGone) {
  llvm::sys::fs::remove_directories(folder.path("cache"));
  Compilation result = compile();
  EXPECT_FALSE(result.cached);
  EXPECT_THAT(result.diagnostics,
              HasSubstr("warning: the compiled object is not cached"));
}

} // namespace
