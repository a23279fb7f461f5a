//===- HostTensorTest.cpp - Element types, rounding and storage -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"

#include "attn/Support/Error.h"
#include "attn/Support/HostTensor.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <limits>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// A request that is too large is to return null, as it does without ASan.
extern "C" const char *__asan_default_options() {
  return "allocator_may_return_null=1";
}
#endif
#endif

using namespace attn;
using namespace attn::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

uint16_t oracle(double value, const llvm::fltSemantics &semantics) {
  llvm::APFloat number(value);
  bool lossy;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lossy);
  return static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
}

TEST(ElementType, NamesRoundTrip) {
  for (ElementType type : allElementTypes())
    EXPECT_EQ(parseElementType(elementTypeName(type)), type);
  EXPECT_EQ(elementTypeName(ElementType::bf16), "bf16");
  EXPECT_EQ(parseElementType("f8"), std::nullopt);
  EXPECT_EQ(elementSize(ElementType::i1), 1);
  EXPECT_EQ(elementSize(ElementType::bf16), 2);
}

// Bits of known roundings: half way to even, overflow, underflow, signed zero.
TEST(Rounding, KnownBits) {
  const double values[] = {
      0.4999,        65519.0, 65520.0, 6e-08, 2.9802322387695312e-08,
      1.00146484375, -0.0};
  const uint16_t f16[] = {0x3800, 0x7bff, 0x7c00, 0x0001,
                          0x0000, 0x3c02, 0x8000};
  const uint16_t bf16[] = {0x3f00, 0x4780, 0x4780, 0x3381,
                           0x3300, 0x3f80, 0x8000};
  for (size_t n = 0; n < std::size(values); ++n) {
    EXPECT_EQ(encodeF16(values[n]), f16[n]) << values[n];
    EXPECT_EQ(encodeBF16(values[n]), bf16[n]) << values[n];
  }
  EXPECT_EQ(encodeF16(-inf), 0xfc00);
  EXPECT_EQ(encodeBF16(inf), 0x7f80);
  EXPECT_TRUE(std::isnan(decodeF16(encodeF16(std::nan("")))));
  EXPECT_TRUE(std::isnan(decodeBF16(encodeBF16(std::nan("")))));
  // 1 + 2^-11 + 2^-40 lies above the middle of two f16 values; through f32 it
  // would become the middle and round down.
  EXPECT_EQ(encodeF16(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
}

// Every 16-bit pattern decodes and encodes to itself, and the values half way
// between neighbours, and just beside them, round as APFloat rounds them.
TEST(Rounding, AgreesWithAPFloat) {
  const auto check = [](auto encode, auto decode,
                        const llvm::fltSemantics &semantics) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      const double value = decode(static_cast<uint16_t>(bits));
      if (std::isnan(value))
        continue;
      ASSERT_EQ(encode(value), bits);
      const double next = decode(static_cast<uint16_t>(bits + 1));
      if (!std::isfinite(value) || !std::isfinite(next))
        continue;
      const double middle = value + (next - value) / 2;
      for (double probe :
           {middle, std::nextafter(middle, inf), std::nextafter(middle, -inf)})
        ASSERT_EQ(encode(probe), oracle(probe, semantics)) << probe;
    }
    for (double probe : {1e300, -1e300, 5e-324, -1e-310, 3.3961775292304957e38,
                         3.3953e38, 1e-45, 1e-41})
      EXPECT_EQ(encode(probe), oracle(probe, semantics)) << probe;
  };
  check(encodeF16, decodeF16, llvm::APFloat::IEEEhalf());
  check(encodeBF16, decodeBF16, llvm::APFloat::BFloat());
}

TEST(HostTensor, CreateIsZeroedAndAligned) {
  for (ElementType type : allElementTypes()) {
    HostTensor tensor = valueOf(HostTensor::create(type, {3, 5}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
    EXPECT_EQ(tensor.numElements(), 15);
    EXPECT_EQ(tensor.sizeInBytes(), 15 * elementSize(type));
    EXPECT_EQ(tensor.toDoubles(), std::vector<double>(15, 0.0));
  }
  EXPECT_EQ(valueOf(HostTensor::create(ElementType::f32, {})).numElements(), 1);
  HostTensor empty = valueOf(HostTensor::create(ElementType::f32, {2, 0, 7}));
  EXPECT_EQ(empty.numElements(), 0);
  EXPECT_NE(empty.data(), nullptr);
}

TEST(HostTensor, BadShapes) {
  const auto create = [](llvm::ArrayRef<int64_t> shape) {
    return errorText(HostTensor::create(ElementType::f32, shape));
  };
  EXPECT_THAT(create({2, -3}), HasSubstr("size -3 of dimension 1 is negative"));
  EXPECT_THAT(create({2, kDynamicSize}), HasSubstr("2x? is not known"));
  EXPECT_THAT(create({int64_t(1) << 32, int64_t(1) << 32}),
              HasSubstr("too many elements"));
  EXPECT_THAT(create({int64_t(1) << 61}), HasSubstr("too many elements"));
  // A zero does not excuse an overflow: strides would overflow all the same.
  EXPECT_THAT(create({0, int64_t(1) << 40, int64_t(1) << 40}),
              HasSubstr("too many elements"));
  EXPECT_THAT(create(llvm::SmallVector<int64_t>(33, 1)), HasSubstr("rank 33"));
  EXPECT_THAT(create({int64_t(1) << 59}), HasSubstr("no memory for"));
}

TEST(HostTensor, SetSaturatesAndTruncates) {
  const auto stored = [](ElementType type, double value) {
    HostTensor tensor = valueOf(HostTensor::create(type, {1}));
    tensor.set(0, value);
    return tensor.get(0);
  };
  EXPECT_EQ(stored(ElementType::i8, 200), 127);
  EXPECT_EQ(stored(ElementType::i8, -1e30), -128);
  EXPECT_EQ(stored(ElementType::u8, -1), 0);
  EXPECT_EQ(stored(ElementType::u8, 255.9), 255);
  EXPECT_EQ(stored(ElementType::i32, -2.9), -2);
  EXPECT_EQ(stored(ElementType::i64, inf), 0x1p63);
  EXPECT_EQ(stored(ElementType::i32, std::nan("")), 0);
  EXPECT_EQ(stored(ElementType::i1, 0.25), 1);
  EXPECT_EQ(stored(ElementType::f32, 1e300), inf);
  EXPECT_EQ(stored(ElementType::f16, 65520), inf);
}

TEST(HostTensor, ConvertTo) {
  HostTensor integers = valueOf(HostTensor::create(ElementType::i64, {2}));
  integers.dataAs<int64_t>()[0] = (int64_t(1) << 53) + 1;
  integers.dataAs<int64_t>()[1] = -300;
  HostTensor same = valueOf(integers.convertTo(ElementType::i64));
  EXPECT_EQ(same.dataAs<int64_t>()[0], (int64_t(1) << 53) + 1);
  HostTensor narrow = valueOf(integers.convertTo(ElementType::i8));
  EXPECT_THAT(narrow.toDoubles(), ElementsAre(127, -128));
  HostTensor bits = valueOf(integers.convertTo(ElementType::i1));
  EXPECT_THAT(bits.toDoubles(), ElementsAre(1, 1));

  // More elements than one conversion block.
  std::vector<double> values;
  for (int n = 0; n < 1000; ++n)
    values.push_back(n / 8.0 - 60);
  HostTensor floats =
      valueOf(HostTensor::fromDoubles(ElementType::f32, {10, 100}, values));
  EXPECT_EQ(valueOf(floats.convertTo(ElementType::f16)).toDoubles(), values);
  EXPECT_THAT(errorText(HostTensor::fromDoubles(ElementType::f32, {3}, {1.0})),
              HasSubstr("shape 3 has 3 elements, 1 values were given"));
}

TEST(TensorView, StridedCopy) {
  HostTensor tensor = valueOf(
      HostTensor::fromDoubles(ElementType::bf16, {2, 3}, {1, 2, 3, 4, 5, 6}));
  TensorView transposed = tensor.view();
  EXPECT_TRUE(transposed.isContiguous());
  std::swap(transposed.shape[0], transposed.shape[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  EXPECT_FALSE(transposed.isContiguous());
  EXPECT_EQ(transposed.get({2, 0}), 3);
  EXPECT_THAT(valueOf(HostTensor::copyOf(transposed)).toDoubles(),
              ElementsAre(1, 4, 2, 5, 3, 6));
  TensorView broadcast = tensor.view();
  broadcast.strides[0] = 0;
  EXPECT_THAT(valueOf(HostTensor::copyOf(broadcast)).toDoubles(),
              ElementsAre(1, 2, 3, 1, 2, 3));
}

TEST(Format, ShapesAndNames) {
  EXPECT_EQ(formatShape({2, 8, 64}), "2x8x64");
  EXPECT_EQ(formatShape({kDynamicSize, 4}), "?x4");
  EXPECT_EQ(formatShape({}), "scalar");
  EXPECT_EQ(quoteName("a\nb"), "'a\\0Ab'");
  EXPECT_EQ(quoteName(std::string(300, 'x')),
            "'" + std::string(256, 'x') + "...'");
}

} // namespace
