//===- MemRefCopy.cpp - Copies between strided buffers --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR lowers `memref.copy` to a call of `memrefCopy` unless both sides are
// contiguous.
//
//===----------------------------------------------------------------------===//

#include "RuntimeFunctions.h"

#include <algorithm>
#include <cstring>

namespace {

/// A strided memref descriptor of rank unknown to the compiler.
struct View {
  char *data;
  const int64_t *sizes;
  const int64_t *strides;

  View(const attnUnrankedMemRef &memref, int64_t elementBytes) {
    auto *words = static_cast<int64_t *>(memref.descriptor);
    char *aligned;
    std::memcpy(&aligned, words + 1, sizeof(aligned));
    data = aligned + words[2] * elementBytes;
    sizes = words + 3;
    strides = sizes + memref.rank;
  }
};

void copy(char *to, const int64_t *toStrides, const char *from,
          const int64_t *fromStrides, const int64_t *sizes, int64_t rank,
          int64_t elementBytes) {
  if (rank == 0) {
    std::memcpy(to, from, elementBytes);
    return;
  }
  if (rank == 1 && toStrides[0] == 1 && fromStrides[0] == 1) {
    std::memcpy(to, from, sizes[0] * elementBytes);
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i)
    copy(to + i * toStrides[0] * elementBytes, toStrides + 1,
         from + i * fromStrides[0] * elementBytes, fromStrides + 1, sizes + 1,
         rank - 1, elementBytes);
}

} // namespace

void attnMemRefCopy(int64_t elementBytes, const attnUnrankedMemRef *source,
                    const attnUnrankedMemRef *destination) {
  View from(*source, elementBytes), to(*destination, elementBytes);
  // An entry that updates a buffer in place copies it onto itself.
  if (from.data == to.data &&
      std::equal(from.strides, from.strides + source->rank, to.strides))
    return;
  for (int64_t i = 0; i < source->rank; ++i)
    if (from.sizes[i] == 0)
      return;
  copy(to.data, to.strides, from.data, from.strides, from.sizes, source->rank,
       elementBytes);
}
