//===- NpyTest.cpp - Good, damaged and hostile .npy files -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"

#include "attn/Support/Npy.h"

#include "llvm/Support/MemoryBuffer.h"

#include <cstring>

using namespace attn;
using namespace attn::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

std::string npy(llvm::StringRef header, llvm::StringRef data, int major = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  file += major == 1 ? littleEndian<uint16_t>(header.size())
                     : littleEndian<uint32_t>(header.size());
  return file + header.str() + data.str();
}

std::string dict(llvm::StringRef descr, llvm::StringRef shape,
                 llvm::StringRef fortran = "False") {
  return ("{'descr': '" + descr + "', 'fortran_order': " + fortran +
          ", 'shape': " + shape + ", }\n")
      .str();
}

std::string failure(llvm::StringRef bytes) {
  std::string text = errorText(parseNpy(bytes, "x.npy"));
  EXPECT_THAT(text, StartsWith("'x.npy': "));
  return text;
}

std::string zeros(size_t count) { return std::string(count, '\0'); }

TEST(Npy, ReadsEveryVersion) {
  const float values[] = {1.5f, -2.0f, 3.0f};
  const std::string data(reinterpret_cast<const char *>(values), 12);
  for (int major : {1, 2, 3}) {
    HostTensor tensor =
        valueOf(parseNpy(npy(dict("<f4", "(3,)"), data, major), "x.npy"));
    EXPECT_EQ(tensor.type(), ElementType::f32);
    EXPECT_THAT(tensor.shape(), ElementsAre(3));
    EXPECT_THAT(tensor.toDoubles(), ElementsAre(1.5, -2, 3));
  }
}

TEST(Npy, ReadsEveryDtype) {
  const std::pair<const char *, ElementType> dtypes[] = {
      {"<f8", ElementType::f64},  {"<f4", ElementType::f32},
      {"<f2", ElementType::f16},  {"<V2", ElementType::bf16},
      {"|V2", ElementType::bf16}, {"<i8", ElementType::i64},
      {"<i4", ElementType::i32},  {"|i1", ElementType::i8},
      {"|u1", ElementType::u8},   {"|b1", ElementType::i1}};
  for (auto [descr, type] : dtypes) {
    HostTensor tensor = valueOf(parseNpy(
        npy(dict(descr, "(2, 1)"), zeros(2 * elementSize(type))), "x.npy"));
    EXPECT_EQ(tensor.type(), type) << descr;
  }
}

TEST(Npy, ReadsOtherSpellings) {
  // Keys in any order, double quotes, no last comma, no spaces or line end.
  EXPECT_THAT(valueOf(parseNpy(npy("{\"shape\":(1,2),\"fortran_order\":False,"
                                   "\"descr\":\"|u1\"}",
                                   "\x03\x04"),
                               "x.npy"))
                  .toDoubles(),
              ElementsAre(3, 4));
  EXPECT_EQ(valueOf(parseNpy(npy(dict("|u1", "()"), "\x07"), "x.npy")).get(0),
            7);
  EXPECT_EQ(
      valueOf(parseNpy(npy(dict("|u1", "(2, 0)"), ""), "x.npy")).numElements(),
      0);
  // Order means nothing for one dimension.
  EXPECT_EQ(valueOf(parseNpy(npy(dict("|u1", "(1,)", "True"), "\x07"), "x.npy"))
                .get(0),
            7);
  // Any non-zero byte is true, and is stored as 1.
  HostTensor bits = valueOf(parseNpy(
      npy(dict("|b1", "(3,)"), llvm::StringRef("\x00\x01\x02", 3)), "x.npy"));
  EXPECT_EQ(std::memcmp(bits.data(), "\x00\x01\x01", 3), 0);
}

TEST(Npy, RefusesDtypesAndOrder) {
  EXPECT_THAT(failure(npy(dict(">f4", "(1,)"), zeros(4))),
              HasSubstr("'>f4' is big-endian"));
  EXPECT_THAT(failure(npy(dict("<c8", "(1,)"), zeros(8))),
              HasSubstr("'<c8' is not supported, expected one of <f8"));
  EXPECT_THAT(failure(npy(dict("|O", "(1,)"), zeros(8))), HasSubstr("'|O'"));
  EXPECT_THAT(failure(npy(dict("<f4", "(2, 2)", "True"), zeros(16))),
              HasSubstr("Fortran order"));
  EXPECT_THAT(failure(npy("{'descr': [('a', '<f4')], 'fortran_order': False, "
                          "'shape': (1,)}",
                          zeros(4))),
              HasSubstr("structured dtypes"));
}

TEST(Npy, RefusesLengths) {
  EXPECT_THAT(failure(npy(dict("<f4", "(2, 3)"), zeros(23))),
              HasSubstr("truncated: shape 2x3 of f32 needs 24 bytes of data, "
                        "the file has 23"));
  EXPECT_THAT(failure(npy(dict("<f4", "(2, 3)"), zeros(25))),
              HasSubstr("trailing bytes"));
  const std::string good = npy(dict("<f4", "(2, 3)"), zeros(24));
  for (size_t length = 0; length < good.size(); ++length)
    failure(llvm::StringRef(good).take_front(length));
}

TEST(Npy, RefusesShapes) {
  const auto shape = [](llvm::StringRef text) {
    return failure(npy(dict("<f4", text), zeros(4)));
  };
  EXPECT_THAT(shape("(-1,)"), HasSubstr("size -1 is negative"));
  EXPECT_THAT(shape("(9223372036854775808,)"), HasSubstr("does not fit"));
  EXPECT_THAT(shape("(4294967296, 4294967296)"),
              HasSubstr("too many elements"));
  EXPECT_THAT(shape("(0, 4294967296, 4294967296)"),
              HasSubstr("too many elements"));
  // Fits 64 bits, yet no such file exists: refused before memory is asked for.
  EXPECT_THAT(shape("(1000000000000,)"), HasSubstr("truncated"));
  EXPECT_THAT(shape("(1)"), HasSubstr("expected ','"));
  EXPECT_THAT(shape("1"), HasSubstr("expected a tuple"));
  EXPECT_THAT(shape("(1.0,)"), HasSubstr("expected ','"));
  EXPECT_THAT(shape("(nan,)"), HasSubstr("expected an integer"));
  EXPECT_THAT(shape("(1,"), HasSubstr("expected an integer"));
  EXPECT_THAT(shape("(1,,)"), HasSubstr("expected an integer"));
  std::string many = "(";
  for (int n = 0; n < 40; ++n)
    many += "1, ";
  EXPECT_THAT(shape(many + ")"), HasSubstr("more than 32 dimensions"));
}

TEST(Npy, RefusesHeaders) {
  EXPECT_THAT(failure("PK\x03\x04"), HasSubstr("not a npy file"));
  EXPECT_THAT(failure(""), HasSubstr("not a npy file"));
  EXPECT_THAT(failure(npy(dict("<f4", "(1,)"), zeros(4), 4)),
              HasSubstr("version 4.0"));
  std::string huge = "\x93NUMPY\x02";
  huge += '\0';
  EXPECT_THAT(failure(huge + "\xff\xff\xff\xff{}"),
              HasSubstr("4294967295 bytes, the file has 2 left"));
  const auto header = [](llvm::StringRef text) {
    return failure(npy(text, zeros(4)));
  };
  EXPECT_THAT(header(""), HasSubstr("expected '{'"));
  EXPECT_THAT(header("{"), HasSubstr("expected a string"));
  EXPECT_THAT(header("{'descr"), HasSubstr("not closed"));
  EXPECT_THAT(header("{'descr': '<f4'"), HasSubstr("expected ',' or '}'"));
  EXPECT_THAT(header("{'descr' '<f4'}"), HasSubstr("expected ':'"));
  EXPECT_THAT(header("{'descr': '<f4'}"), HasSubstr("'fortran_order' is miss"));
  EXPECT_THAT(header("{'descr': '<f4', 'fortran_order': False}"),
              HasSubstr("'shape' is missing"));
  EXPECT_THAT(header("{'descr': '<f4', 'descr': '<f4'}"),
              HasSubstr("'descr' occurs twice"));
  EXPECT_THAT(header("{'evil': 1}"), HasSubstr("unknown key 'evil'"));
  EXPECT_THAT(header("{'\n\x01': 1}"), HasSubstr("line ends"));
  EXPECT_THAT(header("{'de\\x73cr': '<f4'}"), HasSubstr("escapes"));
  EXPECT_THAT(header("{'fortran_order': 0}"), HasSubstr("True or False"));
  EXPECT_THAT(header(dict("<f4", "(1,)") + "; import os"),
              HasSubstr("unexpected text after the dict"));
}

TEST(Npy, WritesAndReadsBack) {
  TemporaryFolder folder;
  const llvm::SmallVector<int64_t> shapes[] = {{}, {4}, {2, 1, 3}, {0, 5}};
  for (ElementType type : allElementTypes())
    for (const llvm::SmallVector<int64_t> &shape : shapes) {
      HostTensor tensor = valueOf(HostTensor::create(type, shape));
      for (int64_t n = 0; n < tensor.numElements(); ++n)
        tensor.set(n, n * 1.5);
      const std::string path = folder.path("t.npy");
      llvm::cantFail(writeNpy(path, tensor));
      auto buffer = llvm::MemoryBuffer::getFile(path);
      const size_t dataAt = (*buffer)->getBufferSize() - tensor.sizeInBytes();
      EXPECT_EQ(dataAt % 64, 0u);
      EXPECT_EQ((*buffer)->getBuffer()[dataAt - 1], '\n');
      HostTensor back = valueOf(readNpy(path));
      EXPECT_EQ(back.type(), type);
      EXPECT_EQ(back.shape(), tensor.shape());
      EXPECT_EQ(back.toDoubles(), tensor.toDoubles());
    }
  // Nothing but the result lies in the folder.
  EXPECT_EQ(folder.numFiles(), 1u);
}

// The bytes NumPy 1.26 writes for numpy.save("x.npy", float32 [1, 2]).
TEST(Npy, HeaderIsNumPys) {
  TemporaryFolder folder;
  HostTensor tensor =
      valueOf(HostTensor::fromDoubles(ElementType::f32, {2}, {1, 2}));
  llvm::cantFail(writeNpy(folder.path("x.npy"), tensor));
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  expected.resize(127, ' ');
  expected += '\n';
  expected += std::string("\x00\x00\x80\x3f\x00\x00\x00\x40", 8);
  auto buffer = llvm::MemoryBuffer::getFile(folder.path("x.npy"));
  EXPECT_EQ((*buffer)->getBuffer().str(), expected);
}

TEST(Npy, FileErrors) {
  TemporaryFolder folder;
  EXPECT_THAT(errorText(readNpy(folder.path("none.npy"))),
              HasSubstr("cannot read"));
  EXPECT_THAT(errorText(readNpy(folder.path("."))), HasSubstr("cannot read"));
  HostTensor tensor = valueOf(HostTensor::create(ElementType::f32, {2}));
  EXPECT_THAT(errorText(writeNpy(folder.path("no/such/x.npy"), tensor)),
              HasSubstr("cannot write"));
  EXPECT_THAT(errorText(writeNpy(folder.path("."), tensor)),
              HasSubstr("it is a directory"));
  EXPECT_THAT(errorText(writeNpy("", tensor)), HasSubstr("name is empty"));
  // A full disk: the device refuses the bytes and is not replaced by a file.
  EXPECT_THAT(errorText(writeNpy("/dev/full", tensor)),
              HasSubstr("cannot write '/dev/full'"));
  llvm::sys::fs::file_status status;
  ASSERT_FALSE(llvm::sys::fs::status("/dev/full", status));
  EXPECT_EQ(status.type(), llvm::sys::fs::file_type::character_file);
  EXPECT_EQ(folder.numFiles(), 0u);
}

} // namespace
