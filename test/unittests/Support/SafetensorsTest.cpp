//===- SafetensorsTest.cpp - Good and hostile safetensors -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"

#include "attn/Support/Safetensors.h"

#include <cstring>

using namespace attn;
using namespace attn::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

std::string file(llvm::StringRef header, llvm::StringRef data) {
  return littleEndian<uint64_t>(header.size()) + header.str() + data.str();
}

llvm::Expected<SafetensorsFile> parse(llvm::StringRef bytes) {
  return SafetensorsFile::parse(
      llvm::MemoryBuffer::getMemBufferCopy(bytes, "w.safetensors"));
}

std::string failure(llvm::StringRef bytes) {
  std::string text = errorText(parse(bytes));
  EXPECT_THAT(text, StartsWith("'w.safetensors': "));
  return text;
}

/// A file of `size` zero bytes of data with this header.
std::string failure(llvm::StringRef header, size_t size) {
  return failure(file(header, std::string(size, '\0')));
}

constexpr llvm::StringLiteral twoTensors =
    R"({"__metadata__": {"format": "pt"},
        "layer.0.weight": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]},
        "layer.0.mask": {"dtype": "BOOL", "shape": [3], "data_offsets": [8, 11]}}   )";

std::string twoTensorsFile() {
  const float values[] = {1.5f, -2.0f};
  std::string data(reinterpret_cast<const char *>(values), 8);
  data += std::string("\x00\x01\x07", 3);
  return file(twoTensors, data);
}

TEST(Safetensors, ListsAndLoads) {
  TemporaryFolder folder;
  SafetensorsFile weights = valueOf(
      SafetensorsFile::open(folder.write("w.safetensors", twoTensorsFile())));
  ASSERT_EQ(weights.entries().size(), 2u);
  EXPECT_EQ(weights.entries()[0].name, "layer.0.mask");
  EXPECT_EQ(weights.entries()[1].dtype, "F32");
  HostTensor weight = valueOf(weights.load("layer.0.weight"));
  EXPECT_EQ(weight.type(), ElementType::f32);
  EXPECT_THAT(weight.shape(), ElementsAre(2, 1));
  EXPECT_THAT(weight.toDoubles(), ElementsAre(1.5, -2));
  HostTensor mask = valueOf(weights.load("layer.0.mask"));
  EXPECT_EQ(mask.type(), ElementType::i1);
  EXPECT_EQ(std::memcmp(mask.data(), "\x00\x01\x01", 3), 0);
}

TEST(Safetensors, EmptyTensorsAndFiles) {
  EXPECT_TRUE(valueOf(parse(file("{}", ""))).entries().empty());
  SafetensorsFile weights = valueOf(parse(file(
      R"({"a": {"dtype": "F32", "shape": [0, 4], "data_offsets": [0, 0]},
          "b": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]},
          "c": {"dtype": "F16", "shape": [0], "data_offsets": [8, 8]}})",
      littleEndian<uint64_t>(5))));
  EXPECT_EQ(valueOf(weights.load("a")).numElements(), 0);
  EXPECT_EQ(valueOf(weights.load("b")).get(0), 5);
  EXPECT_THAT(valueOf(weights.load("c")).shape(), ElementsAre(0));
}

TEST(Safetensors, MissingNameListsCandidates) {
  SafetensorsFile weights = valueOf(parse(twoTensorsFile()));
  EXPECT_EQ(errorText(weights.load("layer.0.wieght")),
            "'w.safetensors' has no tensor 'layer.0.wieght', nearest are "
            "'layer.0.weight', 'layer.0.mask'");
  EXPECT_EQ(errorText(valueOf(parse(file("{}", ""))).load("x")),
            "'w.safetensors' has no tensor 'x'");
}

TEST(Safetensors, UnsupportedDtypeFailsOnLoadOnly) {
  SafetensorsFile weights = valueOf(parse(
      file(R"({"a": {"dtype": "U16", "shape": [1], "data_offsets": [0, 2]}})",
           "ab")));
  EXPECT_THAT(errorText(weights.load("a")),
              HasSubstr("tensor 'a' has dtype U16, which is not supported"));
}

TEST(Safetensors, RefusesLengths) {
  EXPECT_THAT(failure(""), HasSubstr("truncated: 0 bytes"));
  EXPECT_THAT(failure("1234567"), HasSubstr("truncated: 7 bytes"));
  EXPECT_THAT(failure(littleEndian<uint64_t>(3) + "{}"),
              HasSubstr("said to have 3 bytes, the file has 2 left"));
  EXPECT_THAT(failure(littleEndian<uint64_t>(~uint64_t(0)) + "{}"),
              HasSubstr("18446744073709551615 bytes"));
  EXPECT_THAT(failure(littleEndian<uint64_t>(uint64_t(1) << 63) + "{}"),
              HasSubstr("9223372036854775808 bytes"));
  // Every shorter version of a good file is refused.
  const std::string good = twoTensorsFile();
  for (size_t length = 0; length < good.size(); ++length)
    failure(llvm::StringRef(good).take_front(length));
  EXPECT_THAT(failure(good + "x"),
              HasSubstr("the tensors end at 11, the file has 12 bytes"));
}

TEST(Safetensors, RefusesOffsets) {
  const auto one = [](llvm::StringRef shape, llvm::StringRef offsets) {
    return failure(R"({"a": {"dtype": "F32", "shape": )" + shape.str() +
                       R"(, "data_offsets": )" + offsets.str() + "}}",
                   8);
  };
  EXPECT_THAT(one("[2]", "[8, 0]"), HasSubstr("begins at 8, behind its end 0"));
  EXPECT_THAT(one("[4]", "[0, 16]"),
              HasSubstr("tensor 'a': data ends at 16, the file has 8 bytes"));
  EXPECT_THAT(one("[2]", "[-8, 0]"), HasSubstr("data offset -8 is negative"));
  EXPECT_THAT(one("[2]", "[0, 18446744073709551615]"), HasSubstr("data ends"));
  EXPECT_THAT(one("[2]", "[0, 1e30]"), HasSubstr("not an integer that fits"));
  EXPECT_THAT(one("[2]", "[0, 8.5]"), HasSubstr("not an integer"));
  EXPECT_THAT(one("[2]", "[0, \"8\"]"), HasSubstr("not an integer"));
  EXPECT_THAT(one("[2]", "[0]"), HasSubstr("not a list of two"));
  EXPECT_THAT(one("[2]", "[0, 8, 8]"), HasSubstr("not a list of two"));
  EXPECT_THAT(one("[3]", "[0, 8]"),
              HasSubstr("shape 3 of F32 needs 12 bytes, the offsets give 8"));
  EXPECT_THAT(one("[1]", "[4, 8]"), HasSubstr("begins at 4, expected 0"));
  EXPECT_THAT(one("[-2]", "[0, 8]"), HasSubstr("size -2 is negative"));
  EXPECT_THAT(one("[4294967296, 4294967296]", "[0, 8]"),
              HasSubstr("too many elements"));
  EXPECT_THAT(one("[18446744073709551615]", "[0, 8]"), HasSubstr("too large"));
  EXPECT_THAT(one("2", "[0, 8]"), HasSubstr("'shape' is missing or not a li"));
}

TEST(Safetensors, RefusesOverlap) {
  EXPECT_THAT(
      failure(R"({"a": {"dtype": "I8", "shape": [6], "data_offsets": [0, 6]},
                  "b": {"dtype": "I8", "shape": [6], "data_offsets": [4, 10]}})",
              10),
      HasSubstr("tensors 'a' and 'b' overlap: the first ends at 6, the second "
                "begins at 4"));
  EXPECT_THAT(
      failure(R"({"a": {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]},
                  "b": {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]}})",
              4),
      HasSubstr("overlap"));
}

TEST(Safetensors, RefusesHeaders) {
  EXPECT_THAT(failure("", 0), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(failure("[]", 0), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(failure("{", 0), HasSubstr("header: "));
  EXPECT_THAT(failure("{\"a", 0), HasSubstr("a string is not closed"));
  EXPECT_THAT(failure("{\"a\": 1}", 0),
              HasSubstr("tensor 'a': expected an ob"));
  EXPECT_THAT(failure("{\"a\": {}}", 0), HasSubstr("'dtype' is missing"));
  EXPECT_THAT(failure("{} {}", 0), HasSubstr("header: "));
  EXPECT_THAT(failure("{\"\xff\": {}}", 0), HasSubstr("header: "));
  EXPECT_THAT(failure("{\"__metadata__\": {\"a\": 1}}", 0),
              HasSubstr("'__metadata__' is not a map of strings"));
  EXPECT_THAT(
      failure(R"({"a": {"dtype": "F31", "shape": [], "data_offsets": [0, 4]}})",
              4),
      HasSubstr("tensor 'a': unknown dtype 'F31'"));
  EXPECT_THAT(
      failure(R"({"a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4],
                        "evil": 1}})",
              4),
      HasSubstr("unknown key 'evil'"));
  // The parser would keep the last of two equal keys.
  EXPECT_THAT(
      failure(R"({"a": {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]},
                  "a" : {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]}})",
              4),
      HasSubstr("tensor 'a' occurs twice"));
  // Nesting that would exhaust a recursive parser's stack.
  EXPECT_THAT(failure("{\"a\":" + std::string(2'000'000, '['), 0),
              HasSubstr("nested deeper than 8 levels"));
}

TEST(Safetensors, FileErrors) {
  TemporaryFolder folder;
  EXPECT_THAT(errorText(SafetensorsFile::open(folder.path("none"))),
              HasSubstr("cannot read"));
  EXPECT_THAT(errorText(SafetensorsFile::open(folder.path("."))),
              HasSubstr("cannot read"));
}

} // namespace
