//===- CachesTest.cpp - Caches of the twin against the reference ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TwinTest.h"

using namespace attn;
using namespace attn::test;

namespace {

using Caches = TwinTest;

TEST_P(Caches, Update) {
  std::string c = headsType(5), s = "tensor<?x?x?xf32>";
  auto module = compileTwin(
      "func.func @f(%c: " + c + ", %u: " + c +
      ", %at: index, %ats: " + "tensor<?xi32>, %s: " + s + ", %v: " + s +
      ") -> (" + c + ", " + c + ", " + c + ", " + s + ") {\n" +
      "%0 = attn.cache_update %c, %u at(%at : index) : " + c + ", " + c +
      "\n%1 = attn.cache_update %c, %u at(%ats : tensor<?xi32>) : " + c + ", " +
      c +
      "\n%2 = attn.cache_update %c, %u at(%ats : tensor<?xi32>) rolling : " +
      c + ", " + c +
      "\n%3 = attn.cache_update %s, %v at(%at : index) rolling : " + s + ", " +
      s + "\nreturn %0, %1, %2, %3 : " + c + ", " + c + ", " + c + ", " + s +
      "\n}\n");
  ASSERT_TRUE(module);
  for (auto [rows, count, at] : {std::tuple<int64_t, int64_t, int64_t>{7, 3, 0},
                                 {7, 3, 4},
                                 {7, 7, 0},
                                 {7, 0, 2},
                                 {1, 1, 0},
                                 {9, 4, 5}}) {
    SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(count) +
                 " at " + std::to_string(at));
    TwinCall call = this->call();
    Tensor64 cache = call.floats({4, 2, rows, 5});
    Tensor64 update = call.floats({4, 2, count, 5});
    call.index(at);
    // Inside, before, after, and far around.
    const int64_t ats[] = {at, -1, rows - 1, 3 * rows + 2};
    call.add(ElementType::i32, {4}, [&](int64_t n) { return ats[n]; });
    Tensor64 scales = call.floats({4, 2, rows}),
             fresh = call.floats({4, 2, count});
    const int64_t same[] = {at, at, at, at};
    auto expected = [&](auto &&...arguments) {
      return llvm::cantFail(reference::cacheUpdate(arguments...));
    };
    call.expect(*module, {expected(cache, update, same, false),
                          expected(cache, update, ats, false),
                          expected(cache, update, ats, true),
                          expected(scales, fresh, same, true)});
  }
}

TEST_P(Caches, Pages) {
  std::string p = "tensor<?x3x4x5xf32>", k = "tensor<?x3x?x5xf32>";
  auto module =
      compileTwin("func.func @f(%p: " + p + ", %t: tensor<?x?xi64>) -> " + k +
                  " {\n%0 = attn.gather_pages %p, %t : " + p +
                  ", tensor<?x?xi64> -> " + k + "\nreturn %0 : " + k + "\n}\n");
  ASSERT_TRUE(module);
  for (auto [batch, count] :
       {std::pair<int64_t, int64_t>{2, 3}, {1, 0}, {0, 2}}) {
    TwinCall call = this->call();
    Tensor64 pages = call.floats({7, 3, 4, 5});
    // Numbers before the first page and after the last are clamped.
    Tensor64 table = call.add(ElementType::i64, {batch, count},
                              [](int64_t n) { return 4 * n - 3; });
    call.expect(*module,
                {llvm::cantFail(reference::gatherPages(pages, table))});
  }
}

/// Dequantised, the integers are within half a step of what was quantised; the
/// scales are those of the reference.
TEST_P(Caches, Integers) {
  std::string x = headsType(13), s = "tensor<?x?x?xf32>";
  std::string q = "tensor<?x?x?x13xi8>";
  auto module =
      compileTwin("func.func @f(%x: " + x + ") -> (" + x + ", " + s +
                  ") {\n%q, %s = attn.quantize %x : " + x +
                  "\n%0 = attn.dequantize %q, %s : " + q + ", " + s + " -> " +
                  x + "\nreturn %0, %s : " + x + ", " + s + "\n}\n");
  ASSERT_TRUE(module);
  for (auto [batch, rows, keys] : kExtents) {
    TwinCall call = this->call();
    // One row of zeros; magnitudes far apart.
    Tensor64 x64 = call.floats({batch, 2, rows, 13}, [](int64_t n) {
      int64_t row = n / 13;
      return row % 5 == 3 ? 0.0
                          : patternAt(1, n) * std::pow(2.0, row % 7 * 4 - 12);
    });
    auto expected = llvm::cantFail(reference::quantize(x64));
    std::vector<Tensor64> got =
        call.run(*module, {x64.shape, expected.scale.shape});
    ASSERT_EQ(got.size(), 2u);
    call.expectNear(got[1], expected.scale);
    for (int64_t n = 0; n < x64.numElements(); ++n) {
      double step = expected.scale.data[n / 13];
      EXPECT_LE(std::abs(got[0].data[n] - x64.data[n]), 0.501 * step) << n;
    }
  }
}

INSTANTIATE_TWIN_TESTS(Caches);

} // namespace
