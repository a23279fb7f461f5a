//===- HostTensor.cpp - Dense tensors in host memory ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Support/HostTensor.h"

#include "attn/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <type_traits>

using namespace attn;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

namespace {
struct ElementTypeInfo {
  ElementType type;
  llvm::StringLiteral name;
  int64_t size;
};
} // namespace

static constexpr ElementTypeInfo infos[] = {
    {ElementType::f64, "f64", 8}, {ElementType::f32, "f32", 4},
    {ElementType::f16, "f16", 2}, {ElementType::bf16, "bf16", 2},
    {ElementType::i64, "i64", 8}, {ElementType::i32, "i32", 4},
    {ElementType::i8, "i8", 1},   {ElementType::u8, "u8", 1},
    {ElementType::i1, "i1", 1},
};

llvm::ArrayRef<ElementType> attn::allElementTypes() {
  static constexpr ElementType types[] = {
      ElementType::f64,  ElementType::f32, ElementType::f16,
      ElementType::bf16, ElementType::i64, ElementType::i32,
      ElementType::i8,   ElementType::u8,  ElementType::i1};
  return types;
}

int64_t attn::elementSize(ElementType type) {
  return infos[static_cast<int>(type)].size;
}

llvm::StringRef attn::elementTypeName(ElementType type) {
  return infos[static_cast<int>(type)].name;
}

std::optional<ElementType> attn::parseElementType(llvm::StringRef name) {
  for (const ElementTypeInfo &info : infos)
    if (info.name == name)
      return info.type;
  return std::nullopt;
}

bool attn::isFloat(ElementType type) {
  return type == ElementType::f64 || type == ElementType::f32 ||
         type == ElementType::f16 || type == ElementType::bf16;
}

//===----------------------------------------------------------------------===//
// 16-bit floats
//===----------------------------------------------------------------------===//

/// Rounds a double once to a 16-bit float with `mantissaBits` stored bits and
/// exponents from `minExponent`. Going through f32 first would round twice.
static uint16_t encode16(double value, int mantissaBits, int minExponent) {
  const uint64_t bits = llvm::bit_cast<uint64_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 63) << 15);
  const uint64_t mantissa = bits & ((uint64_t(1) << 52) - 1);
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  const uint16_t infinity =
      static_cast<uint16_t>(((1 << (15 - mantissaBits)) - 1) << mantissaBits);
  if (biased == 0x7ff) {
    if (mantissa == 0)
      return sign | infinity;
    return sign | infinity | static_cast<uint16_t>(1 << (mantissaBits - 1));
  }
  // A subnormal double lies far below half the smallest 16-bit float.
  if (biased == 0)
    return sign;
  const int exponent = biased - 1023;
  const uint64_t significand = mantissa | (uint64_t(1) << 52);
  const int shift = 52 - mantissaBits + std::max(0, minExponent - exponent);
  if (shift > 53)
    return sign;
  if (exponent > 1 - minExponent)
    return sign | infinity;
  uint64_t kept = significand >> shift;
  const uint64_t rest = significand & ((uint64_t(1) << shift) - 1);
  const uint64_t half = uint64_t(1) << (shift - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  // `kept` holds the implicit bit of a normal number; adding it to the exponent
  // below lets a carry move into the exponent, and up to infinity.
  const uint64_t base = exponent >= minExponent
                            ? uint64_t(exponent - minExponent) << mantissaBits
                            : 0;
  const uint64_t magnitude = base + kept;
  return sign | static_cast<uint16_t>(std::min<uint64_t>(magnitude, infinity));
}

uint16_t attn::encodeF16(double value) { return encode16(value, 10, -14); }
uint16_t attn::encodeBF16(double value) { return encode16(value, 7, -126); }

double attn::decodeF16(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  double magnitude;
  if (exponent == 0x1f)
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, -24);
  else
    magnitude = llvm::bit_cast<double>((uint64_t(exponent - 15 + 1023) << 52) |
                                       (uint64_t(mantissa) << 42));
  return std::copysign(magnitude, bits & 0x8000 ? -1.0 : 1.0);
}

double attn::decodeBF16(uint16_t bits) {
  return llvm::bit_cast<float>(uint32_t(bits) << 16);
}

//===----------------------------------------------------------------------===//
// Blocks of elements
//===----------------------------------------------------------------------===//

template <typename T>
static void decodeBlock(const void *from, double *to, int64_t count) {
  const char *bytes = static_cast<const char *>(from);
  for (int64_t n = 0; n < count; ++n) {
    T value;
    std::memcpy(&value, bytes + n * sizeof(T), sizeof(T));
    to[n] = static_cast<double>(value);
  }
}

template <double (*decode)(uint16_t)>
static void decodeBlock16(const void *from, double *to, int64_t count) {
  const char *bytes = static_cast<const char *>(from);
  for (int64_t n = 0; n < count; ++n) {
    uint16_t value;
    std::memcpy(&value, bytes + n * 2, 2);
    to[n] = decode(value);
  }
}

template <typename T> static T saturate(double value) {
  if (std::isnan(value))
    return 0;
  // 2^digits is exact in double, and one more than the largest T.
  const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (value >= limit)
    return std::numeric_limits<T>::max();
  const double lowest = std::is_signed_v<T> ? -limit : 0.0;
  if (value <= lowest)
    return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

template <typename T>
static void encodeBlock(const double *from, void *to, int64_t count) {
  char *bytes = static_cast<char *>(to);
  for (int64_t n = 0; n < count; ++n) {
    T value;
    if constexpr (std::is_floating_point_v<T>)
      value = static_cast<T>(from[n]);
    else
      value = saturate<T>(from[n]);
    std::memcpy(bytes + n * sizeof(T), &value, sizeof(T));
  }
}

template <uint16_t (*encode)(double)>
static void encodeBlock16(const double *from, void *to, int64_t count) {
  char *bytes = static_cast<char *>(to);
  for (int64_t n = 0; n < count; ++n) {
    const uint16_t value = encode(from[n]);
    std::memcpy(bytes + n * 2, &value, 2);
  }
}

void attn::decodeElements(ElementType type, const void *from, double *to,
                          int64_t count) {
  switch (type) {
  case ElementType::f64:
    return decodeBlock<double>(from, to, count);
  case ElementType::f32:
    return decodeBlock<float>(from, to, count);
  case ElementType::f16:
    return decodeBlock16<decodeF16>(from, to, count);
  case ElementType::bf16:
    return decodeBlock16<decodeBF16>(from, to, count);
  case ElementType::i64:
    return decodeBlock<int64_t>(from, to, count);
  case ElementType::i32:
    return decodeBlock<int32_t>(from, to, count);
  case ElementType::i8:
    return decodeBlock<int8_t>(from, to, count);
  case ElementType::u8:
    return decodeBlock<uint8_t>(from, to, count);
  case ElementType::i1:
    for (int64_t n = 0; n < count; ++n)
      to[n] = static_cast<const char *>(from)[n] != 0;
    return;
  }
}

void attn::encodeElements(ElementType type, const double *from, void *to,
                          int64_t count) {
  switch (type) {
  case ElementType::f64:
    return encodeBlock<double>(from, to, count);
  case ElementType::f32:
    return encodeBlock<float>(from, to, count);
  case ElementType::f16:
    return encodeBlock16<encodeF16>(from, to, count);
  case ElementType::bf16:
    return encodeBlock16<encodeBF16>(from, to, count);
  case ElementType::i64:
    return encodeBlock<int64_t>(from, to, count);
  case ElementType::i32:
    return encodeBlock<int32_t>(from, to, count);
  case ElementType::i8:
    return encodeBlock<int8_t>(from, to, count);
  case ElementType::u8:
    return encodeBlock<uint8_t>(from, to, count);
  case ElementType::i1:
    for (int64_t n = 0; n < count; ++n)
      static_cast<char *>(to)[n] = from[n] != 0.0;
    return;
  }
}

/// An integer element, exactly: double would lose i64 values beyond 2^53.
static int64_t loadInteger(ElementType type, const char *from) {
  switch (type) {
  case ElementType::i64: {
    int64_t value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  case ElementType::i32: {
    int32_t value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  case ElementType::i8:
    return static_cast<int8_t>(*from);
  case ElementType::u8:
    return static_cast<uint8_t>(*from);
  default:
    return *from != 0;
  }
}

static void storeInteger(ElementType type, int64_t value, char *to) {
  const auto clamped = [&](auto limits) {
    return std::clamp<int64_t>(value, decltype(limits)::min(),
                               decltype(limits)::max());
  };
  switch (type) {
  case ElementType::i64:
    std::memcpy(to, &value, sizeof(value));
    return;
  case ElementType::i32: {
    const int32_t narrow =
        static_cast<int32_t>(clamped(std::numeric_limits<int32_t>()));
    std::memcpy(to, &narrow, sizeof(narrow));
    return;
  }
  case ElementType::i8:
    *to = static_cast<char>(clamped(std::numeric_limits<int8_t>()));
    return;
  case ElementType::u8:
    *to = static_cast<char>(clamped(std::numeric_limits<uint8_t>()));
    return;
  default:
    *to = value != 0;
  }
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

llvm::Expected<int64_t>
attn::checkedElementCount(llvm::ArrayRef<int64_t> shape) {
  if (static_cast<int64_t>(shape.size()) > kMaxRank)
    return makeError("rank {0} is too high: at most {1} dimensions are allowed",
                     shape.size(), kMaxRank);
  // Zero extents are left out of the product that is checked, so that strides
  // of an empty tensor cannot overflow either.
  int64_t product = 1;
  bool empty = false;
  for (auto [index, size] : llvm::enumerate(shape)) {
    if (size == kDynamicSize)
      return makeError("size of dimension {0} of shape {1} is not known", index,
                       formatShape(shape));
    if (size < 0)
      return makeError("size {0} of dimension {1} is negative", size, index);
    if (size == 0)
      empty = true;
    else if (llvm::MulOverflow(product, size, product))
      return makeError("shape {0} has too many elements", formatShape(shape));
  }
  int64_t bytes;
  if (llvm::MulOverflow<int64_t>(product, 8, bytes))
    return makeError("shape {0} has too many elements", formatShape(shape));
  return empty ? 0 : product;
}

llvm::SmallVector<int64_t>
attn::rowMajorStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t n = shape.size(); n-- > 1;)
    strides[n - 1] = strides[n] * std::max<int64_t>(shape[n], 1);
  return strides;
}

int64_t TensorView::numElements() const {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

bool TensorView::isContiguous() const {
  int64_t expected = 1;
  for (size_t n = shape.size(); n-- > 0;) {
    if (shape[n] == 0)
      return true;
    if (shape[n] != 1 && strides[n] != expected)
      return false;
    expected *= shape[n];
  }
  return true;
}

double TensorView::get(llvm::ArrayRef<int64_t> indices) const {
  assert(indices.size() == shape.size() && "one index per dimension");
  int64_t offset = 0;
  for (auto [index, stride] : llvm::zip_equal(indices, strides))
    offset += index * stride;
  double value;
  decodeElements(type,
                 static_cast<const char *>(data) + offset * elementSize(type),
                 &value, 1);
  return value;
}

//===----------------------------------------------------------------------===//
// HostTensor
//===----------------------------------------------------------------------===//

llvm::Expected<HostTensor> HostTensor::create(ElementType type,
                                              llvm::ArrayRef<int64_t> shape) {
  llvm::Expected<int64_t> count = checkedElementCount(shape);
  if (!count)
    return count.takeError();
  constexpr size_t alignment = 64;
  const size_t bytes =
      llvm::alignTo(std::max<size_t>(*count * elementSize(type), 1), alignment);
  HostTensor tensor;
  tensor.storage.reset(
      static_cast<char *>(std::aligned_alloc(alignment, bytes)));
  if (!tensor.storage)
    return llvm::createStringError(
        std::make_error_code(std::errc::not_enough_memory),
        llvm::formatv("no memory for {0} bytes of a {1} tensor of shape {2}",
                      bytes, elementTypeName(type), formatShape(shape))
            .str());
  std::memset(tensor.storage.get(), 0, bytes);
  tensor.elementType = type;
  tensor.extents.assign(shape.begin(), shape.end());
  tensor.count = *count;
  return tensor;
}

llvm::Expected<HostTensor> HostTensor::copyOf(const TensorView &view) {
  llvm::Expected<HostTensor> tensor = create(view.type, view.shape);
  if (!tensor || tensor->numElements() == 0)
    return tensor;
  const int64_t size = elementSize(view.type);
  char *to = tensor->dataAs<char>();
  if (view.isContiguous()) {
    std::memcpy(to, view.data, tensor->sizeInBytes());
    return tensor;
  }
  // An odometer over the indices; `offset` follows it in elements.
  llvm::SmallVector<int64_t> index(view.shape.size(), 0);
  int64_t offset = 0;
  for (int64_t n = 0, end = tensor->numElements(); n < end; ++n) {
    std::memcpy(to + n * size,
                static_cast<const char *>(view.data) + offset * size, size);
    for (size_t d = index.size(); d-- > 0;) {
      if (view.shape[d] == 1) // its stride may hold anything
        continue;
      offset += view.strides[d];
      if (++index[d] < view.shape[d])
        break;
      offset -= view.shape[d] * view.strides[d];
      index[d] = 0;
    }
  }
  return tensor;
}

llvm::Expected<HostTensor>
HostTensor::fromDoubles(ElementType type, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<double> values) {
  llvm::Expected<HostTensor> tensor = create(type, shape);
  if (!tensor)
    return tensor;
  if (static_cast<int64_t>(values.size()) != tensor->numElements())
    return makeError("shape {0} has {1} elements, {2} values were given",
                     formatShape(shape), tensor->numElements(), values.size());
  encodeElements(type, values.data(), tensor->data(), values.size());
  return tensor;
}

double HostTensor::get(int64_t index) const {
  assert(index >= 0 && index < count && "element index out of range");
  double value;
  decodeElements(elementType, dataAs<char>() + index * elementSize(elementType),
                 &value, 1);
  return value;
}

void HostTensor::set(int64_t index, double value) {
  assert(index >= 0 && index < count && "element index out of range");
  encodeElements(elementType, &value,
                 dataAs<char>() + index * elementSize(elementType), 1);
}

std::vector<double> HostTensor::toDoubles() const {
  std::vector<double> values(count);
  decodeElements(elementType, data(), values.data(), count);
  return values;
}

llvm::Expected<HostTensor> HostTensor::convertTo(ElementType newType) const {
  llvm::Expected<HostTensor> result = create(newType, extents);
  if (!result)
    return result;
  const int64_t fromSize = elementSize(elementType);
  const int64_t toSize = elementSize(newType);
  const char *from = dataAs<char>();
  char *to = result->dataAs<char>();
  if (newType == elementType) {
    std::memcpy(to, from, sizeInBytes());
    return result;
  }
  if (!isFloat(elementType) && !isFloat(newType)) {
    for (int64_t n = 0; n < count; ++n)
      storeInteger(newType, loadInteger(elementType, from + n * fromSize),
                   to + n * toSize);
    return result;
  }
  constexpr int64_t blockSize = 256;
  double block[blockSize];
  for (int64_t n = 0; n < count; n += blockSize) {
    const int64_t size = std::min(blockSize, count - n);
    decodeElements(elementType, from + n * fromSize, block, size);
    encodeElements(newType, block, to + n * toSize, size);
  }
  return result;
}

TensorView HostTensor::view() {
  return {elementType, data(), extents, rowMajorStrides(extents)};
}
