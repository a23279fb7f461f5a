//===- PeakLoops.cpp - Loops that keep one unit of a CPU busy -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each loop exists once per instruction set, chosen at run time, whatever the
// compiler's own target is. Twelve chains of multiply-adds cover a latency of
// up to six cycles on two units, and fit the 16 registers of AVX2 with their
// two factors. The chains converge (x -> x/2 + 1), so that neither infinities
// nor denormals slow them down.
//
//===----------------------------------------------------------------------===//

#include "PeakLoops.h"

using namespace attn;

#if defined(__x86_64__)

#include <cpuid.h>
#include <cstring>
#include <immintrin.h>

#define ATTN_TARGET(features) __attribute__((target(features)))
#define ATTN_CHAINS(STEP)                                                      \
  STEP(0)                                                                      \
  STEP(1)                                                                      \
  STEP(2)                                                                      \
  STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8) STEP(9) STEP(10) STEP(11)
static constexpr int64_t kChains = 12;

//===----------------------------------------------------------------------===//
// f32
//===----------------------------------------------------------------------===//

ATTN_TARGET("avx512f") static float f32AVX512(int64_t iterations) {
  const __m512 half = _mm512_set1_ps(0.5f), one = _mm512_set1_ps(1.0f);
  __m512 total = _mm512_setzero_ps();
#define START(n) __m512 x##n = _mm512_set1_ps(n + 3);
#define STEP(n) x##n = _mm512_fmadd_ps(x##n, half, one);
#define ADD(n) total = _mm512_add_ps(total, x##n);
  ATTN_CHAINS(START)
  for (int64_t i = 0; i < iterations; ++i) {
    ATTN_CHAINS(STEP)
  }
  ATTN_CHAINS(ADD)
#undef START
#undef STEP
#undef ADD
  float lanes[16];
  _mm512_storeu_ps(lanes, total);
  return lanes[0] + lanes[15];
}

ATTN_TARGET("avx2,fma") static float f32AVX2(int64_t iterations) {
  const __m256 half = _mm256_set1_ps(0.5f), one = _mm256_set1_ps(1.0f);
  __m256 total = _mm256_setzero_ps();
#define START(n) __m256 x##n = _mm256_set1_ps(n + 3);
#define STEP(n) x##n = _mm256_fmadd_ps(x##n, half, one);
#define ADD(n) total = _mm256_add_ps(total, x##n);
  ATTN_CHAINS(START)
  for (int64_t i = 0; i < iterations; ++i) {
    ATTN_CHAINS(STEP)
  }
  ATTN_CHAINS(ADD)
#undef START
#undef STEP
#undef ADD
  float lanes[8];
  _mm256_storeu_ps(lanes, total);
  return lanes[0] + lanes[7];
}

static float f32SSE(int64_t iterations) {
  const __m128 half = _mm_set1_ps(0.5f), one = _mm_set1_ps(1.0f);
  __m128 total = _mm_setzero_ps();
#define START(n) __m128 x##n = _mm_set1_ps(n + 3);
#define STEP(n) x##n = _mm_add_ps(_mm_mul_ps(x##n, half), one);
#define ADD(n) total = _mm_add_ps(total, x##n);
  ATTN_CHAINS(START)
  for (int64_t i = 0; i < iterations; ++i) {
    ATTN_CHAINS(STEP)
  }
  ATTN_CHAINS(ADD)
#undef START
#undef STEP
#undef ADD
  float lanes[4];
  _mm_storeu_ps(lanes, total);
  return lanes[0] + lanes[3];
}

ComputeLoop attn::f32Loop() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f"))
    return {"avx512 fma", kChains * 16 * 2, f32AVX512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {"avx2 fma", kChains * 8 * 2, f32AVX2};
  return {"sse mul and add", kChains * 4 * 2, f32SSE};
}

//===----------------------------------------------------------------------===//
// bf16
//===----------------------------------------------------------------------===//

ATTN_TARGET("avx512f,avx512bf16") static float bf16AVX512(int64_t iterations) {
  // 2^-64 in both halves: sums of their products stay finite for ever.
  const __m512bh factor = (__m512bh)_mm512_set1_epi32(0x1f801f80);
  __m512 total = _mm512_setzero_ps();
#define START(n) __m512 x##n = _mm512_set1_ps(n + 3);
#define STEP(n) x##n = _mm512_dpbf16_ps(x##n, factor, factor);
#define ADD(n) total = _mm512_add_ps(total, x##n);
  ATTN_CHAINS(START)
  for (int64_t i = 0; i < iterations; ++i) {
    ATTN_CHAINS(STEP)
  }
  ATTN_CHAINS(ADD)
#undef START
#undef STEP
#undef ADD
  float lanes[16];
  _mm512_storeu_ps(lanes, total);
  return lanes[0] + lanes[15];
}

/// Six tiles of sums cover the latency; two hold the factors. All are 16 rows
/// of 64 bytes: 16 x 16 sums of 32 products each.
ATTN_TARGET("amx-tile,amx-bf16") static float bf16AMX(int64_t iterations) {
  struct alignas(64) {
    uint8_t palette = 1, startRow = 0, reserved[14] = {};
    uint16_t rowBytes[16] = {};
    uint8_t rows[16] = {};
  } config;
  for (int tile = 0; tile < 8; ++tile) {
    config.rowBytes[tile] = 64;
    config.rows[tile] = 16;
  }
  alignas(64) uint16_t factors[16 * 32];
  for (uint16_t &factor : factors)
    factor = 0x1f80;
  alignas(64) float sums[16 * 16];
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_loadd(6, factors, 64);
  _tile_loadd(7, factors, 64);
  for (int64_t i = 0; i < iterations; ++i) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  float total = 0.0f;
#define ADD(n)                                                                 \
  _tile_stored(n, sums, 64);                                                   \
  total += sums[0] + sums[255];
  ADD(0)
  ADD(1)
  ADD(2)
  ADD(3)
  ADD(4)
  ADD(5)
#undef ADD
  _tile_release();
  return total;
}

/// Bits of CPUID leaf 7: compilers spell their names differently.
static bool hasLeaf7(unsigned subleaf, unsigned registerIndex, unsigned bit) {
  unsigned values[4] = {};
  if (!__get_cpuid_count(7, subleaf, &values[0], &values[1], &values[2],
                         &values[3]))
    return false;
  return values[registerIndex] >> bit & 1;
}

ComputeLoop attn::bf16Loop(bool amxAllowed) {
  __builtin_cpu_init();
  // EDX bits 22 (AMX-BF16) and 24 (AMX-TILE).
  if (amxAllowed && hasLeaf7(0, 3, 22) && hasLeaf7(0, 3, 24))
    return {"amx bf16", 6 * 16 * 16 * 32 * 2, bf16AMX};
  // Subleaf 1, EAX bit 5; AVX512F says that the system saves the registers.
  if (__builtin_cpu_supports("avx512f") && hasLeaf7(1, 0, 5))
    return {"avx512 bf16", kChains * 32 * 2, bf16AVX512};
  return {"", 0, nullptr};
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

ATTN_TARGET("avx512f")
static uint64_t readAVX512(const void *memory, int64_t vectors) {
  const __m512i *at = static_cast<const __m512i *>(memory);
  __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
  for (int64_t n = 0; n < vectors; ++n, at += 4) {
    a = _mm512_add_epi64(a, _mm512_load_si512(at));
    b = _mm512_add_epi64(b, _mm512_load_si512(at + 1));
    c = _mm512_add_epi64(c, _mm512_load_si512(at + 2));
    d = _mm512_add_epi64(d, _mm512_load_si512(at + 3));
  }
  a = _mm512_add_epi64(_mm512_add_epi64(a, b), _mm512_add_epi64(c, d));
  uint64_t lanes[8], sum = 0;
  std::memcpy(lanes, &a, sizeof(lanes));
  for (uint64_t lane : lanes)
    sum += lane;
  return sum;
}

ATTN_TARGET("avx2")
static uint64_t readAVX2(const void *memory, int64_t vectors) {
  const __m256i *at = static_cast<const __m256i *>(memory);
  __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
  for (int64_t n = 0; n < 2 * vectors; ++n, at += 4) {
    a = _mm256_add_epi64(a, _mm256_load_si256(at));
    b = _mm256_add_epi64(b, _mm256_load_si256(at + 1));
    c = _mm256_add_epi64(c, _mm256_load_si256(at + 2));
    d = _mm256_add_epi64(d, _mm256_load_si256(at + 3));
  }
  a = _mm256_add_epi64(_mm256_add_epi64(a, b), _mm256_add_epi64(c, d));
  uint64_t lanes[4];
  std::memcpy(lanes, &a, sizeof(lanes));
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

static uint64_t readSSE(const void *memory, int64_t vectors) {
  const __m128i *at = static_cast<const __m128i *>(memory);
  __m128i a = _mm_setzero_si128(), b = a, c = a, d = a;
  for (int64_t n = 0; n < 4 * vectors; ++n, at += 4) {
    a = _mm_add_epi64(a, _mm_load_si128(at));
    b = _mm_add_epi64(b, _mm_load_si128(at + 1));
    c = _mm_add_epi64(c, _mm_load_si128(at + 2));
    d = _mm_add_epi64(d, _mm_load_si128(at + 3));
  }
  a = _mm_add_epi64(_mm_add_epi64(a, b), _mm_add_epi64(c, d));
  uint64_t lanes[2];
  std::memcpy(lanes, &a, sizeof(lanes));
  return lanes[0] + lanes[1];
}

ReadLoop attn::readLoop() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f"))
    return readAVX512;
  if (__builtin_cpu_supports("avx2"))
    return readAVX2;
  return readSSE;
}

#else
#error "the peak loops are written for x86-64"
#endif
