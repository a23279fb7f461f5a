//===- GuardedBuffer.h - Memory between unreadable pages --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AddressSanitizer does not see generated code; the memory management unit
// does. A buffer lies flush against an unreadable page at its end or at its
// start.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNITTESTS_COMMON_GUARDEDBUFFER_H
#define ATTN_TEST_UNITTESTS_COMMON_GUARDEDBUFFER_H

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace attn::test {

class GuardedBuffer {
public:
  /// `flushEnd` lays the last byte before the unreadable page behind; otherwise
  /// the first byte follows the unreadable page in front.
  GuardedBuffer(size_t bytes, bool flushEnd) {
    size_t page = sysconf(_SC_PAGESIZE);
    size_t inner = (bytes + page - 1) / page * page;
    total = inner + 2 * page;
    base = static_cast<char *>(
        mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base == MAP_FAILED)
      abort();
    if (inner && mprotect(base + page, inner, PROT_READ | PROT_WRITE))
      abort();
    start = base + page + (flushEnd ? inner - bytes : 0);
    // What is not written by the kernel is NaN.
    memset(base + page, 0xff, inner);
  }
  ~GuardedBuffer() { munmap(base, total); }
  GuardedBuffer(const GuardedBuffer &) = delete;
  GuardedBuffer &operator=(const GuardedBuffer &) = delete;

  void *data() { return start; }

private:
  char *base, *start;
  size_t total;
};

} // namespace attn::test

#endif // ATTN_TEST_UNITTESTS_COMMON_GUARDEDBUFFER_H
