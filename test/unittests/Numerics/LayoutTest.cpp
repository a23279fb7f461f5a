//===- LayoutTest.cpp - Where the elements of operands lie ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strides change no bit: permuted, padded, of 0 and of 2, and so large that
// offsets do not fit 32 bits. Such operands lie in memory of which only the
// pages that hold an element exist.
//
//===----------------------------------------------------------------------===//

#include "AttentionGraph.h"

#include <deque>
#include <optional>

using namespace attn;
using namespace attn::test;

namespace {

/// Address space for elements `strides` apart, zero until written.
class SparseBuffer {
public:
  explicit SparseBuffer(size_t bytes)
      : bytes(bytes),
        base(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~SparseBuffer() {
    if (base != MAP_FAILED)
      munmap(base, bytes);
  }
  SparseBuffer(const SparseBuffer &) = delete;
  SparseBuffer &operator=(const SparseBuffer &) = delete;

  void *data() { return base == MAP_FAILED ? nullptr : base; }

private:
  size_t bytes;
  void *base;
};

size_t spanOf(ElementType type, const Shape &shape, const Shape &strides) {
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip_equal(shape, strides))
    last += (extent - 1) * stride;
  return (last + 1) * elementSize(type);
}

/// A strided tensor, and the same row-major. Elements that lie in one place are
/// all what the last of them is.
struct Strided {
  Strided(ElementType type, const Shape &shape, const Shape &strides,
          llvm::function_ref<double(int64_t)> value)
      : buffer(spanOf(type, shape, strides)) {
    view.type = type;
    view.data = buffer.data();
    view.shape.assign(shape.begin(), shape.end());
    view.strides.assign(strides.begin(), strides.end());
    if (!view.data)
      return;
    Shape indices(shape.size(), 0);
    for (int64_t n = 0; n < view.numElements(); ++n) {
      int64_t at = 0;
      for (auto [index, stride] : llvm::zip_equal(indices, strides))
        at += index * stride;
      double x = value(n);
      encodeElements(
          type, &x, static_cast<char *>(view.data) + at * elementSize(type), 1);
      for (size_t axis = shape.size(); axis-- > 0;) {
        if (++indices[axis] < shape[axis])
          break;
        indices[axis] = 0;
      }
    }
    dense.emplace(llvm::cantFail(HostTensor::copyOf(view)));
  }

  SparseBuffer buffer;
  TensorView view;
  std::optional<HostTensor> dense;
};

/// One way to lay out a tensor; `axis` is used by some.
enum class Kind { RowMajor, Padded, Permuted, Spaced, Zero, Far };

Shape stridesOf(Kind kind, size_t axis, const Shape &shape) {
  Shape strides(shape.size());
  llvm::SmallVector<size_t> order;
  for (size_t d = 0; d < shape.size(); ++d)
    order.push_back(d);
  if (kind == Kind::Permuted)
    std::reverse(order.begin(), order.end() - 1);
  int64_t stride = kind == Kind::Spaced ? 2 : 1;
  for (size_t d : llvm::reverse(order)) {
    // More than 2^31 elements, and not a multiple of a page.
    if (kind == Kind::Far && d == axis)
      stride = std::max(stride, (int64_t(1) << 31) + 24);
    if (kind == Kind::Zero && d == axis) {
      strides[d] = 0;
      continue;
    }
    strides[d] = stride;
    stride *= shape[d];
    if (kind == Kind::Padded)
      stride += 5;
  }
  return strides;
}

struct OperandShape {
  const char *name;
  ElementType type;
  Shape shape;
};

class Layouts : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_EXECUTABLE(GetParam()); }

  /// Each operand in each layout, with the others row-major.
  void check(ElementType type, const char *queryRows, int64_t rows,
             int64_t keys, Lowering lowering);
};

void Layouts::check(ElementType type, const char *queryRows, int64_t rows,
                    int64_t keys, Lowering lowering) {
  constexpr int64_t batch = 2, heads = 4, keyHeads = 2, dim = 24;
  AttentionGraph graph;
  graph.heads = heads;
  graph.keyHeads = keyHeads;
  graph.headDim = graph.valueDim = dim;
  graph.queryType = graph.type = type;
  graph.queryRows = queryRows;
  graph.scale = "0.25";
  std::string s = graph.scoresType();
  std::string pairs = s.substr(0, s.size() - strlen("f32>"));
  graph.extra = ", %m: " + pairs + "i1>, %bias: " + pairs +
                "f32>, %table: tensor<?x?xf32>, %n: tensor<?xi32>, "
                "%sink: tensor<4xf32>";
  graph.scoreOps = "%a = attn.bias %u, %bias : " + s + ", " + pairs +
                   "f32>\n%t = attn.score_map %a : " + s +
                   " {\n^bb0(%x: f32, %b: index, %h: index, %i: index, "
                   "%j: index):\n%y = tensor.extract %table[%h, %j] : "
                   "tensor<?x?xf32>\n%z = arith.addf %x, %y : f32\n"
                   "attn.yield %z : f32\n}\n";
  graph.clause = "lengths(%n : tensor<?xi32>) mask(%m : " + pairs +
                 "i1>) sink(%sink : tensor<4xf32>)";
  SCOPED_TRACE(graph.text());
  auto module = compile(graph.text(), GetParam(), lowering);
  ASSERT_TRUE(module);
  const OperandShape shapes[] = {
      {"q", type, {batch, heads, rows, dim}},
      {"k", type, {batch, keyHeads, keys, dim}},
      {"v", type, {batch, keyHeads, keys, dim}},
      {"mask", ElementType::i1, {batch, heads, rows, keys}},
      {"bias", ElementType::f32, {batch, heads, rows, keys}},
      {"table", ElementType::f32, {heads, keys}},
      {"lengths", ElementType::i32, {batch}},
      {"sink", ElementType::f32, {heads}}};
  auto valueOf = [&](size_t operand) -> std::function<double(int64_t)> {
    if (shapes[operand].type == ElementType::i1)
      return [](int64_t n) { return n % 5 != 1; };
    if (shapes[operand].type == ElementType::i32)
      return [=](int64_t n) { return keys - 3 * n; };
    return pattern(static_cast<int64_t>(operand));
  };
  Shape result{batch, heads, rows, dim};
  for (size_t varied = 0; varied < std::size(shapes); ++varied)
    for (Kind kind :
         {Kind::Padded, Kind::Permuted, Kind::Spaced, Kind::Zero, Kind::Far})
      for (size_t axis = 0; axis < shapes[varied].shape.size(); ++axis) {
        bool usesAxis = kind == Kind::Zero || kind == Kind::Far;
        if (axis && !usesAxis)
          continue;
        // The other axes would leave the address space.
        if (kind == Kind::Far && axis &&
            axis + 1 == shapes[varied].shape.size())
          continue;
        SCOPED_TRACE(std::string(shapes[varied].name) + ", layout " +
                     std::to_string(static_cast<int>(kind)) + ", axis " +
                     std::to_string(axis));
        std::deque<Strided> operands;
        std::vector<CallArgument> strided, dense;
        for (size_t n = 0; n < std::size(shapes); ++n) {
          const Shape &shape = shapes[n].shape;
          Kind layout = n == varied ? kind : Kind::RowMajor;
          operands.emplace_back(shapes[n].type, shape,
                                stridesOf(layout, axis, shape), valueOf(n));
          if (!operands.back().view.data)
            GTEST_SKIP() << "no address space for "
                         << spanOf(shapes[n].type, shape,
                                   stridesOf(layout, axis, shape))
                         << " bytes";
          strided.push_back(operands.back().view);
          dense.push_back(operands.back().dense->view());
        }
        HostTensor expected = run(*module, dense, type, result);
        for (unsigned threads : {1u, 3u}) {
          HostTensor got = run(*module, strided, type, result, threads);
          ASSERT_EQ(memcmp(got.data(), expected.data(), got.sizeInBytes()), 0);
        }
      }
}

TEST_P(Layouts, ChangeNoBit) {
  for (ElementType type :
       {ElementType::f32, ElementType::bf16, ElementType::f16}) {
    check(type, "?", 35, 70, Lowering::Fused);
    check(type, "1", 1, 600, Lowering::Fused);
    if (HasFatalFailure() || IsSkipped())
      return;
  }
}

TEST_P(Layouts, ChangeNoBitOfTheTwin) {
  check(ElementType::f32, "?", 5, 9, Lowering::Twin);
  check(ElementType::bf16, "1", 1, 9, Lowering::Twin);
}

/// A result is row-major, so it is large for a reason: the cache that is
/// updated in place, of more than 2^32 elements. A window keeps attention to
/// its end.
TEST_P(Layouts, CachesBeyond32Bits) {
  constexpr int64_t keys = (int64_t(1) << 26) + 40, dim = 64;
  for (int64_t rows : {1, 20}) {
    std::string r = std::to_string(rows);
    std::string cache = "tensor<1x1x?x64xbf16>";
    std::string fresh = "tensor<1x1x" + r + "x64xbf16>";
    std::string s = "tensor<1x1x" + r + "x?xf32>";
    auto module = compile(
        "func.func @f(%q: " + fresh + ", %c: " + cache + ", %new: " + fresh +
            ", %at: index) -> (" + fresh + ", " + cache +
            ") {\n%k = attn.cache_update %c, %new at(%at : index) : " + cache +
            ", " + fresh + "\n%s = attn.qk %q, %k : " + fresh + ", " + cache +
            " -> " + s + "\n%t = attn.scale %s by 0.125 : " + s +
            "\n%p = attn.masked_softmax %t causal(offset %at : index) "
            "window[30, 0] : " +
            s + "\n%o = attn.weighted_sum %p, %k : " + s + ", " + cache +
            " -> " + fresh + "\nreturn %o, %k : " + fresh + ", " + cache +
            "\n}\n",
        GetParam());
    ASSERT_TRUE(module);
    constexpr ElementType bf16 = ElementType::bf16;
    SparseBuffer memory(keys * dim * elementSize(bf16));
    if (!memory.data())
      GTEST_SKIP() << "no address space for " << keys * dim << " elements";
    TensorView view;
    view.type = bf16;
    view.data = memory.data();
    view.shape = {1, 1, keys, dim};
    view.strides = rowMajorStrides(view.shape);
    int64_t at = keys - rows;
    // The window of the first row begins 30 rows before the new ones.
    for (int64_t n = (at - 30) * dim; n < at * dim; ++n) {
      double x = patternAt(1, n);
      encodeElements(bf16, &x, static_cast<char *>(view.data) + 2 * n, 1);
    }
    Operand q(bf16, {1, 1, rows, dim}, true, pattern(0));
    Operand fresher(bf16, {1, 1, rows, dim}, true, pattern(2));
    Operand o(bf16, {1, 1, rows, dim}, true, [](int64_t) { return NAN; });
    TensorView results[] = {o.view, view};
    llvm::Error error =
        module->run("f", {q.view, view, fresher.view, at}, results);
    ASSERT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
    // The same on the end alone.
    int64_t count = 30 + rows;
    Operand kept(bf16, {1, 1, count, dim}, true, [&](int64_t n) {
      double x;
      decodeElements(bf16,
                     static_cast<char *>(view.data) + 2 * ((at - 30) * dim + n),
                     &x, 1);
      double expected = n < 30 * dim ? patternAt(1, (at - 30) * dim + n)
                                     : patternAt(2, n - 30 * dim);
      EXPECT_EQ(x, expected) << n;
      return x;
    });
    reference::AttentionOptions options;
    options.scale = 0.125;
    options.mask = [=](int64_t, int64_t, int64_t i, int64_t j) {
      return j <= i + 30 && j >= i;
    };
    expectAttention(o.fetch(), q, kept, kept, options,
                    2 * attentionBound(bf16, 1.5));
  }
}

/// A slice that drops dimensions of 1, by an offset that folds to a constant or
/// of a tensor whose strides are known at run time: which of the dimensions
/// were dropped is in the shapes alone.
TEST_P(Layouts, SlicesDropDimensions) {
  struct Slice {
    Shape source, sizes;
    std::vector<int> kept;
  };
  const Slice kSlices[] = {
      {{1, 2, 5, 4}, {1, 2, 1, 4}, {0, 1, 3}},
      {{1, 2, 5, 4}, {1, 2, 1, 4}, {1, 3}},
      {{3, 1, 5, 4}, {3, 1, 1, 4}, {0, 2, 3}},
      {{1, 3, 1, 5, 2}, {1, 3, 1, 1, 2}, {0, 1, 4}},
      {{1, 3, 1, 5, 2}, {1, 3, 1, 1, 2}, {1, 3, 4}},
      {{2, 2, 5, 1}, {1, 2, 1, 1}, {1, 3}},
      {{2, 2, 5, 1}, {1, 2, 1, 1}, {1}},
      {{2, 2, 5, 1}, {1, 1, 1, 1}, {}},
  };
  for (const Slice &slice : kSlices)
    for (bool isDynamic : {false, true})
      for (auto [lowering, folds] : {std::pair(Lowering::Fused, false),
                                     {Lowering::Fused, true},
                                     {Lowering::Twin, false},
                                     {Lowering::Twin, true}}) {
        size_t rank = slice.source.size();
        auto extent = [&](int64_t size) {
          return isDynamic && size != 1 ? "?" : std::to_string(size);
        };
        std::string from, to, offsets, sizes, ones, dims;
        for (size_t d = 0; d < rank; ++d) {
          const char *comma = d ? ", " : "";
          from += extent(slice.source[d]) + "x";
          // Unknown offsets in what is cut.
          bool isCut = slice.sizes[d] != slice.source[d];
          offsets += comma + std::string(!isCut ? "0" : folds ? "%c" : "%at");
          std::string name = extent(slice.sizes[d]);
          if (name == "?") {
            name = "%d" + std::to_string(d);
            dims += "%c" + std::to_string(d) + " = arith.constant " +
                    std::to_string(d) + " : index\n" + name +
                    " = tensor.dim %x, %c" + std::to_string(d) + " : T\n";
          }
          sizes += comma + name;
          ones += std::string(comma) + "1";
        }
        for (int d : slice.kept)
          to += extent(slice.sizes[d]) + "x";
        from = "tensor<" + from + "f32>";
        to = "tensor<" + to + "f32>";
        for (size_t at; (at = dims.find("T\n")) != std::string::npos;)
          dims.replace(at, 1, from);
        std::string text = "func.func @f(%x: " + from + ", %at: index) -> " +
                           to + " {\n%c = arith.constant 1 : index\n" + dims +
                           "%s = tensor.extract_slice %x[" + offsets + "] [" +
                           sizes + "] [" + ones + "] : " + from + " to " + to +
                           "\n%y = arith.addf %s, %s : " + to +
                           "\nreturn %y : " + to + "\n}\n";
        SCOPED_TRACE(text);
        auto module = compile(text, GetParam(), lowering);
        ASSERT_TRUE(module);
        Shape strides(rank);
        int64_t stride = 1;
        for (size_t d = rank; d-- > 0;) {
          strides[d] = stride;
          stride = stride * slice.source[d] + 3;
        }
        Strided x(ElementType::f32, slice.source, strides,
                  [](int64_t n) { return n; });
        Shape shape;
        for (int d : slice.kept)
          shape.push_back(slice.sizes[d]);
        Operand y(ElementType::f32, shape, true, [](int64_t) { return NAN; });
        llvm::Error error =
            module->run("f", {x.view, int64_t(1)}, {y.view}, {});
        ASSERT_FALSE(static_cast<bool>(error))
            << llvm::toString(std::move(error));
        // Row-major in the sizes, dropped dimensions among them.
        std::vector<double> got = y.fetch().toDoubles();
        for (size_t n = 0; n < got.size(); ++n) {
          int64_t at = 0, step = 1, rest = static_cast<int64_t>(n);
          for (size_t d = rank; d-- > 0;) {
            int64_t first = slice.sizes[d] != slice.source[d];
            at += (rest % slice.sizes[d] + first) * step;
            rest /= slice.sizes[d];
            step *= slice.source[d];
          }
          EXPECT_EQ(got[n], 2.0 * at) << n;
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Targets, Layouts, testing::ValuesIn(kTargets),
                         targetTestName);

} // namespace
