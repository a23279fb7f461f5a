//===- HostTensor.h - Dense tensors in host memory --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensors that tools and tests hand to compiled code: an element type, a
// shape and 64-byte aligned row-major storage. Sizes come from files and
// command lines, so every product of extents is checked for overflow.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_HOSTTENSOR_H
#define ATTN_SUPPORT_HOSTTENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace attn {

/// Element types of host tensors. An `i1` is stored as one byte, 0 or 1.
enum class ElementType { f64, f32, f16, bf16, i64, i32, i8, u8, i1 };

/// All element types, in the order of the enum.
llvm::ArrayRef<ElementType> allElementTypes();

/// Bytes of one stored element.
int64_t elementSize(ElementType type);

/// The enum's spelling: `f32`, `bf16`, `i1`, ...
llvm::StringRef elementTypeName(ElementType type);

/// The inverse of elementTypeName; nullopt for any other text.
std::optional<ElementType> parseElementType(llvm::StringRef name);

/// True for f64, f32, f16 and bf16.
bool isFloat(ElementType type);

/// Marks a size that is only known at run time. The same value as
/// mlir::ShapedType::kDynamic, so that shapes pass between the two unchanged.
inline constexpr int64_t kDynamicSize = std::numeric_limits<int64_t>::min();

/// Tensors of higher rank are refused: no graph has them, hostile files do.
inline constexpr int64_t kMaxRank = 32;

/// IEEE binary16 or bfloat16 bits of `value`, rounded to nearest even in one
/// step from double; overflow is infinity, a NaN stays a (quiet) NaN.
uint16_t encodeF16(double value);
uint16_t encodeBF16(double value);

/// The exact value of binary16 or bfloat16 bits.
double decodeF16(uint16_t bits);
double decodeBF16(uint16_t bits);

/// `count` stored elements as doubles (exact but for i64 beyond 2^53).
void decodeElements(ElementType type, const void *from, double *to,
                    int64_t count);

/// `count` doubles to stored elements. Floats round to nearest even; integers
/// truncate towards zero and saturate, NaN is 0; i1 is `value != 0`.
void encodeElements(ElementType type, const double *from, void *to,
                    int64_t count);

/// The number of elements of `shape`. Error on a negative or dynamic size, a
/// rank beyond kMaxRank, or when the product of the non-zero extents times 8
/// (the widest element) does not fit int64.
llvm::Expected<int64_t> checkedElementCount(llvm::ArrayRef<int64_t> shape);

/// Strides, in elements, of a row-major tensor of a checked shape.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// A strided window on memory somebody else owns.
struct TensorView {
  ElementType type = ElementType::f32;
  /// Element [0, ..., 0].
  void *data = nullptr;
  llvm::SmallVector<int64_t> shape;
  /// In elements, one per dimension; 0 broadcasts.
  llvm::SmallVector<int64_t> strides;

  int64_t numElements() const;
  /// True when the elements lie in row-major order without gaps.
  bool isContiguous() const;
  /// The element at the given indices (one per dimension, not checked in
  /// release builds) as a double.
  double get(llvm::ArrayRef<int64_t> indices) const;
};

/// An owned dense row-major tensor. Move-only: copies are large and therefore
/// spelled out (`convertTo` the same type).
class HostTensor {
public:
  /// A zero-filled tensor; an error on a bad shape or when memory is short.
  static llvm::Expected<HostTensor> create(ElementType type,
                                           llvm::ArrayRef<int64_t> shape);
  /// A dense copy of a strided view.
  static llvm::Expected<HostTensor> copyOf(const TensorView &view);
  /// `values` (row-major, as many as the shape has) rounded to `type`.
  static llvm::Expected<HostTensor> fromDoubles(ElementType type,
                                                llvm::ArrayRef<int64_t> shape,
                                                llvm::ArrayRef<double> values);

  ElementType type() const { return elementType; }
  llvm::ArrayRef<int64_t> shape() const { return extents; }
  int64_t rank() const { return extents.size(); }
  int64_t numElements() const { return count; }
  int64_t sizeInBytes() const { return count * elementSize(elementType); }

  /// 64-byte aligned, never null.
  void *data() { return storage.get(); }
  const void *data() const { return storage.get(); }
  template <typename T> T *dataAs() { return reinterpret_cast<T *>(data()); }
  template <typename T> const T *dataAs() const {
    return reinterpret_cast<const T *>(data());
  }

  /// Element `index` of the row-major order, as decodeElements gives it.
  double get(int64_t index) const;
  /// Sets element `index` of the row-major order, as encodeElements does.
  void set(int64_t index, double value);

  /// All elements as doubles.
  std::vector<double> toDoubles() const;
  /// A copy with another element type. Integers convert to integers exactly,
  /// saturating; everything else goes through double.
  llvm::Expected<HostTensor> convertTo(ElementType newType) const;
  TensorView view();

private:
  struct Free {
    void operator()(char *memory) const { std::free(memory); }
  };
  HostTensor() = default;

  ElementType elementType = ElementType::f32;
  llvm::SmallVector<int64_t> extents;
  int64_t count = 0;
  std::unique_ptr<char, Free> storage;
};

} // namespace attn

#endif // ATTN_SUPPORT_HOSTTENSOR_H
