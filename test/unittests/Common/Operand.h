//===- Operand.h - Tensors of tests, in guarded memory ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNITTESTS_COMMON_OPERAND_H
#define ATTN_TEST_UNITTESTS_COMMON_OPERAND_H

#include "GuardedBuffer.h"
#include "attn/Support/HostTensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace attn::test {

/// A tensor whose memory is guarded, and its value in f64.
struct Operand {
  Operand(ElementType type, llvm::ArrayRef<int64_t> shape, bool flushEnd,
          llvm::function_ref<double(int64_t)> value)
      : host(llvm::cantFail(HostTensor::create(type, shape))),
        guarded(host.sizeInBytes(), flushEnd) {
    for (int64_t n = 0; n < host.numElements(); ++n)
      host.set(n, value(n));
    if (host.sizeInBytes())
      memcpy(guarded.data(), host.data(), host.sizeInBytes());
    view = host.view();
    view.data = guarded.data();
  }
  /// What the kernel wrote, back in `host`.
  const HostTensor &fetch() {
    if (host.sizeInBytes())
      memcpy(host.data(), guarded.data(), host.sizeInBytes());
    return host;
  }

  HostTensor host;
  GuardedBuffer guarded;
  TensorView view;
};

/// Deterministic values in [-1.5, 1.5], exact in every float type.
inline double patternAt(int64_t seed, int64_t n) {
  uint64_t i = n;
  return (static_cast<double>(
              (3 * i * i + 37 * i + 13 * (i / 97) + 29 * seed + 11) % 97) -
          48) /
         32;
}

} // namespace attn::test

#endif // ATTN_TEST_UNITTESTS_COMMON_OPERAND_H
