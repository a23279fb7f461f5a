//===- TileVisibilityTest.cpp - Bounds of random masks ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs over known and unknown ops and random tiles, and programs
// whose bounds are exact.
//
//===----------------------------------------------------------------------===//

#include "MaskHarness.h"

using namespace mlir;
using namespace attn;
using namespace attn::test;

namespace {

using TileVisibility = MaskClasses;

class Generator : public ProgramGenerator {
public:
  using ProgramGenerator::ProgramGenerator;

  /// The name of an index.
  std::string integer(int depth) {
    switch (pick(0, depth > 0 ? 16 : 4)) {
    case 0:
      return "%i";
    case 1:
      return "%j";
    case 2:
      return pick(0, 1) ? "%b" : "%h";
    case 3:
      return define("arith.constant " +
                    std::to_string(pick(0, 15) ? pick(-20, 20) : extreme()) +
                    " : index");
    case 4:
      return pick(0, 1) ? "%n" : length();
    case 5:
    case 6:
      return binary("addi", depth);
    case 7:
    case 8:
      return binary("subi", depth);
    case 9:
      return binary(pick(0, 1) ? "minsi" : "maxsi", depth);
    case 10:
    case 11: {
      static const char *ops[] = {"divui", "divsi", "floordivsi",
                                  "remui", "remsi", "ceildivsi"};
      return define(std::string("arith.") + ops[pick(0, 5)] + " " +
                    integer(depth - 1) + ", " + divisor() + " : index");
    }
    case 12: {
      if (!pick(0, 3))
        return binary("muli", depth);
      std::string factor = define(
          "arith.constant " +
          std::to_string(pick(0, 9) ? pick(-4, 4) : extreme()) + " : index");
      return define("arith.muli " + integer(depth - 1) + ", " + factor +
                    " : index");
    }
    case 13: { // what the analysis does not know
      static const char *ops[] = {"minui", "maxui", "andi", "ori", "xori"};
      return binary(ops[pick(0, 4)], depth);
    }
    case 14: {
      static const char *ops[] = {"shli", "shrsi", "shrui"};
      std::string count =
          define("arith.constant " + std::to_string(pick(0, 63)) + " : index");
      return define(std::string("arith.") + ops[pick(0, 2)] + " " +
                    integer(depth - 1) + ", " + count + " : index");
    }
    case 15:
      if (pick(0, 1))
        return define("math.absi " + integer(depth - 1) + " : index");
      [[fallthrough]];
    default: { // a narrow sum, which may wrap
      std::string x = narrow(depth), y = narrow(depth);
      std::string sum = define("arith.addi " + x + ", " + y + " : i32");
      return define("arith.index_cast " + sum + " : i32 to index");
    }
    }
  }

  /// A number near a border of arithmetic.
  int64_t extreme() {
    static const int64_t borders[] = {INT64_MIN,        INT64_MAX,
                                      INT64_C(1) << 62, INT64_C(1) << 40,
                                      INT32_MAX,        INT32_MIN};
    int64_t border = borders[pick(0, 5)];
    return border > 0 ? border - pick(0, 2) : border + pick(0, 2);
  }

  /// The name of an i1.
  std::string condition(int depth) {
    switch (pick(0, depth > 0 ? 10 : 4)) {
    case 0:
      return define(pick(0, 1) ? "arith.constant true"
                               : "arith.constant false");
    case 5:
    case 6:
      return define("arith.andi " + condition(depth - 1) + ", " +
                    condition(depth - 1) + " : i1");
    case 7:
      return define("arith.ori " + condition(depth - 1) + ", " +
                    condition(depth - 1) + " : i1");
    case 8: {
      std::string other =
          pick(0, 3) ? define("arith.constant true") : condition(depth - 1);
      return define("arith.xori " + condition(depth - 1) + ", " + other +
                    " : i1");
    }
    case 9:
      return define("arith.select " + condition(depth - 1) + ", " +
                    condition(depth - 1) + ", " + condition(depth - 1) +
                    " : i1");
    case 10:
      return define(std::string("arith.cmpi ") + (pick(0, 1) ? "eq" : "ne") +
                    ", " + condition(depth - 1) + ", " + condition(depth - 1) +
                    " : i1");
    default: {
      static const char *predicates[] = {"sle", "slt", "sge", "sgt", "eq",
                                         "ne",  "ule", "ult", "uge", "ugt"};
      // Mostly those that bound keys.
      const char *predicate = predicates[pick(0, pick(0, 3) ? 4 : 9)];
      return define(std::string("arith.cmpi ") + predicate + ", " + integer(2) +
                    ", " + integer(2) + " : index");
    }
    }
  }

private:
  std::string binary(const std::string &op, int depth) {
    std::string x = integer(depth - 1), y = integer(depth - 1);
    return define("arith." + op + " " + x + ", " + y + " : index");
  }
  std::string load() {
    return define("memref.load %lengths[" + integer(0) +
                  "] : memref<?xi32, strided<[?]>>");
  }
  /// A constant, or what comes at run time and is positive.
  std::string divisor() {
    std::string positive =
        define("arith.constant " + std::to_string(pick(1, 9)) + " : index");
    return pick(0, 3) ? positive
                      : define("arith.maxsi " + length() + ", " + positive +
                               " : index");
  }
  /// An i32.
  std::string narrow(int depth) {
    if (pick(0, 1))
      return load();
    return define("arith.index_cast " + integer(depth - 1) + " : index to i32");
  }
  std::string length() {
    return define("arith.index_cast " + load() + " : i32 to index");
  }
};

TEST_F(TileVisibility, RandomProgramsAreNeverWrong) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Generator generate(seed);
    std::string result = generate.condition(3);
    Tile tile;
    tile.batch = generate.pick(0, 2);
    tile.head = generate.pick(0, 3);
    tile.rowBegin = generate.pick(0, 30);
    tile.rowEnd = tile.rowBegin + generate.pick(1, 7);
    tile.keyOffset = generate.pick(0, 2) ? 0 : generate.pick(-5, 40);
    tile.keyCount = generate.pick(0, 40);
    std::vector<int64_t> lengths;
    for (int64_t n = generate.pick(1, 4); n > 0; --n)
      lengths.push_back(generate.pick(0, 5)   ? generate.pick(-10, 40)
                        : generate.pick(0, 1) ? INT32_MAX
                                              : INT32_MIN);
    Result bounds;
    int64_t n =
        generate.pick(0, 7) ? generate.pick(-20, 40) : generate.extreme();
    run(generate.text, result, tile, n, lengths, bounds);
    if (HasFailure())
      return;
  }
  EXPECT_GT(decided, 300);
}

/// Ids by row and by key: blocks of one document are full, those of others
/// empty.
TEST_F(TileVisibility, SegmentsAreToldApart) {
  const std::string body =
      "%x = memref.load %lengths[%i] : memref<?xi32, strided<[?]>>\n"
      "%y = memref.load %lengths[%j] : memref<?xi32, strided<[?]>>\n"
      "%v = arith.cmpi eq, %x, %y : i32\n";
  std::vector<int64_t> ids{3, 3, 3, 3, 5, 5, 5, 5, -1, -1};
  auto classOf = [&](int64_t row, int64_t rows, int64_t key, int64_t keys) {
    Tile tile;
    tile.rowBegin = row;
    tile.rowEnd = row + rows;
    tile.keyOffset = key;
    tile.keyCount = keys;
    Result bounds;
    decided = 0;
    run(body, "%v", tile, 0, ids, bounds);
    return decided;
  };
  EXPECT_EQ(classOf(0, 4, 0, 4), 1);
  EXPECT_EQ(classOf(0, 4, 4, 4), 1);
  EXPECT_EQ(classOf(4, 2, 6, 2), 1);
  EXPECT_EQ(classOf(2, 4, 0, 4), 0);
  EXPECT_EQ(classOf(0, 4, 2, 4), 0);
  EXPECT_EQ(classOf(0, 4, 8, 9), 1);
}

/// The first keys and a window: what lies between is no part of a range, but
/// blocks of it are found to be empty.
TEST_F(TileVisibility, GapsAreToldApart) {
  const std::string body = "%two = arith.constant 2 : index\n"
                           "%x = arith.cmpi slt, %j, %two : index\n"
                           "%d = arith.subi %i, %j : index\n"
                           "%y = arith.cmpi slt, %d, %n : index\n"
                           "%v = arith.ori %x, %y : i1\n";
  auto classOf = [&](int64_t key, int64_t keys) {
    Tile tile;
    tile.rowBegin = 30;
    tile.rowEnd = 34;
    tile.keyOffset = key;
    tile.keyCount = keys;
    Result bounds;
    decided = 0;
    run(body, "%v", tile, 7, {0}, bounds);
    EXPECT_TRUE(bounds.hasGap);
    EXPECT_FALSE(bounds.unknown);
    return decided;
  };
  EXPECT_EQ(classOf(0, 2), 1);
  EXPECT_EQ(classOf(0, 3), 0);
  EXPECT_EQ(classOf(2, 22), 1);
  EXPECT_EQ(classOf(20, 8), 0);
  EXPECT_EQ(classOf(27, 4), 1);
}

/// For programs that the analysis knows: no range is wider than it must be.
struct Exact {
  const char *name, *body;
  /// The keys that row i sees, as [first, last].
  int64_t (*first)(int64_t i), (*last)(int64_t i);
};

constexpr int64_t kN = 7, kLength = 23;

const Exact kExact[] = {
    {"causal", "%v = arith.cmpi sle, %j, %i : index\n",
     [](int64_t) -> int64_t { return 0; }, [](int64_t i) { return i; }},
    {"causal with an offset",
     "%d = arith.addi %i, %n : index\n%v = arith.cmpi sle, %j, %d : index\n",
     [](int64_t) -> int64_t { return 0; }, [](int64_t i) { return i + kN; }},
    {"documents",
     "%r = arith.divui %i, %n : index\n%c = arith.divui %j, %n : index\n"
     "%v = arith.cmpi eq, %r, %c : index\n",
     [](int64_t i) { return i / kN * kN; },
     [](int64_t i) { return i / kN * kN + kN - 1; }},
    {"a disjunction of ranges that meet",
     "%f = arith.constant 80 : index\n%l = arith.subi %i, %f : index\n"
     "%g = arith.constant 75 : index\n%m = arith.subi %i, %g : index\n"
     "%u = arith.addi %i, %n : index\n"
     "%x0 = arith.cmpi sge, %j, %l : index\n"
     "%x1 = arith.cmpi sle, %j, %i : index\n"
     "%x = arith.andi %x0, %x1 : i1\n"
     "%y0 = arith.cmpi sge, %j, %m : index\n"
     "%y1 = arith.cmpi sle, %j, %u : index\n"
     "%y = arith.andi %y0, %y1 : i1\n%v = arith.ori %x, %y : i1\n",
     [](int64_t i) { return i - 80; }, [](int64_t i) { return i + kN; }},
    {"twice the key",
     "%two = arith.constant 2 : index\n%d = arith.muli %j, %two : index\n"
     "%v = arith.cmpi sle, %d, %i : index\n",
     [](int64_t) -> int64_t { return 0; }, [](int64_t i) { return i / 2; }},
    {"window",
     "%l = arith.subi %i, %n : index\n%x = arith.cmpi sge, %j, %l : index\n"
     "%y = arith.cmpi sle, %j, %i : index\n%v = arith.andi %x, %y : i1\n",
     [](int64_t i) { return i - kN; }, [](int64_t i) { return i; }},
    {"lengths",
     "%e = memref.load %lengths[%b] : memref<?xi32, strided<[?]>>\n"
     "%l = arith.index_cast %e : i32 to index\n"
     "%v = arith.cmpi slt, %j, %l : index\n",
     [](int64_t) -> int64_t { return 0; },
     [](int64_t) -> int64_t { return kLength - 1; }},
    {"prefix or causal",
     "%x = arith.cmpi slt, %j, %n : index\n%y = arith.cmpi sle, %j, %i : "
     "index\n"
     "%v = arith.ori %x, %y : i1\n",
     [](int64_t) -> int64_t { return 0; },
     [](int64_t i) { return std::max(i, kN - 1); }},
    {"not later",
     "%t = arith.constant true\n%x = arith.cmpi sgt, %j, %i : index\n"
     "%v = arith.xori %x, %t : i1\n",
     [](int64_t) -> int64_t { return 0; }, [](int64_t i) { return i; }},
    {"distance as a maximum",
     "%x = arith.subi %i, %j : index\n%y = arith.subi %j, %i : index\n"
     "%m = arith.maxsi %x, %y : index\n%v = arith.cmpi sle, %m, %n : index\n",
     [](int64_t i) { return i - kN; }, [](int64_t i) { return i + kN; }},
    {"absolute distance",
     "%x = arith.subi %i, %j : index\n%m = math.absi %x : index\n"
     "%v = arith.cmpi slt, %m, %n : index\n",
     [](int64_t i) { return i - kN + 1; },
     [](int64_t i) { return i + kN - 1; }},
    {"unsigned distance",
     "%x = arith.subi %i, %j : index\n%v = arith.cmpi ule, %x, %n : index\n",
     [](int64_t i) { return i - kN; }, [](int64_t i) { return i; }},
    {"shifted documents",
     "%two = arith.constant 2 : index\n%x = arith.addi %i, %two : index\n"
     "%y = arith.addi %j, %two : index\n%r = arith.divui %x, %n : index\n"
     "%c = arith.divsi %y, %n : index\n%v = arith.cmpi eq, %r, %c : index\n",
     [](int64_t i) { return (i + 2) / kN * kN - 2; },
     [](int64_t i) { return (i + 2) / kN * kN + kN - 3; }},
    {"documents by shifts",
     "%two = arith.constant 2 : index\n%r = arith.shrui %i, %two : index\n"
     "%c = arith.shrsi %j, %two : index\n%v = arith.cmpi eq, %r, %c : index\n",
     [](int64_t i) { return i / 4 * 4; },
     [](int64_t i) { return i / 4 * 4 + 3; }},
    {"window of narrow integers",
     "%x = arith.index_cast %i : index to i32\n"
     "%y = arith.index_cast %j : index to i32\n"
     "%d = arith.subi %x, %y : i32\n%s = arith.constant 7 : i32\n"
     "%l = arith.cmpi sle, %d, %s : i32\n%c = arith.cmpi sle, %y, %x : i32\n"
     "%v = arith.andi %l, %c : i1\n",
     [](int64_t i) { return i - kN; }, [](int64_t i) { return i; }},
    {"window by a choice",
     "%l = arith.subi %i, %n : index\n%x = arith.cmpi sge, %j, %l : index\n"
     "%y = arith.cmpi sle, %j, %i : index\n%f = arith.constant false\n"
     "%v = arith.select %y, %x, %f : i1\n",
     [](int64_t i) { return i - kN; }, [](int64_t i) { return i; }},
    {"diagonal", "%v = arith.cmpi eq, %j, %i : index\n",
     [](int64_t i) { return i; }, [](int64_t i) { return i; }}};

TEST_F(TileVisibility, KnownMasksAreExact) {
  for (const Exact &exact : kExact)
    for (int64_t rowBegin : {0, 3, 12, 25, 60})
      for (int64_t rows : {1, 2, 8})
        for (int64_t keys : {0, 1, 5, 16, 40}) {
          SCOPED_TRACE(exact.name +
                       (", rows from " + std::to_string(rowBegin)) + ", " +
                       std::to_string(rows) + " rows, " + std::to_string(keys) +
                       " keys");
          Tile tile;
          tile.rowBegin = rowBegin;
          tile.rowEnd = rowBegin + rows;
          tile.keyCount = keys;
          Result bounds;
          run(exact.body, "%v", tile, kN, {kLength}, bounds);
          EXPECT_FALSE(bounds.unknown);
          // The union and the intersection of what the rows see.
          int64_t low = keys, high = 0, fullLow = 0, fullHigh = keys;
          for (int64_t i = tile.rowBegin; i < tile.rowEnd; ++i) {
            int64_t first = std::max<int64_t>(exact.first(i), 0);
            int64_t end = std::min(exact.last(i) + 1, keys);
            if (first < end) {
              low = std::min(low, first);
              high = std::max(high, end);
            }
            fullLow = std::max(fullLow, first);
            fullHigh = std::min(fullHigh, end);
          }
          if (low < high) {
            EXPECT_EQ(bounds.lower, low);
            EXPECT_EQ(bounds.upper, high);
          } else {
            EXPECT_EQ(bounds.lower, bounds.upper);
          }
          if (fullLow < fullHigh) {
            EXPECT_EQ(bounds.fullLower, fullLow);
            EXPECT_EQ(bounds.fullUpper, fullHigh);
          } else {
            EXPECT_EQ(bounds.fullLower, bounds.fullUpper);
          }
          if (HasFailure())
            return;
        }
}

/// The programs that the named masks become, with all that they read from
/// outside at and beyond its borders. What a row sees is a range, so the keys
/// that any row sees and those that all rows see are known from the pairs.
TEST_F(TileVisibility, NamedMasksAreExact) {
  const std::string load =
      "%e = memref.load %lengths[%b] : memref<?xi32, strided<[?]>>\n"
      "%l = arith.index_cast %e : i32 to index\n";
  const std::string offset = "%d = arith.addi %i, %n : index\n";
  const std::string causal = "%c = arith.cmpi sle, %j, %d : index\n";
  const std::string window =
      "%two = arith.constant 2 : index\n%five = arith.constant 5 : index\n"
      "%w0 = arith.subi %d, %two : index\n%w1 = arith.cmpi sge, %j, %w0 : "
      "index\n"
      "%w2 = arith.addi %d, %five : index\n%w3 = arith.cmpi sle, %j, %w2 : "
      "index\n"
      "%w = arith.andi %w1, %w3 : i1\n";
  const std::string lengths = load + "%s = arith.cmpi slt, %j, %l : index\n";
  const std::pair<const char *, std::string> masks[] = {
      {"causal", offset + causal + "%v = arith.andi %c, %c : i1\n"},
      {"causal, one offset a batch element",
       load + "%d = arith.addi %i, %l : index\n" + causal +
           "%v = arith.andi %c, %c : i1\n"},
      {"causal with a prefix",
       lengths + offset + causal + "%v = arith.ori %s, %c : i1\n"},
      {"window", offset + window + "%v = arith.andi %w, %w : i1\n"},
      {"lengths", lengths + "%v = arith.andi %s, %s : i1\n"},
      {"causal, window and lengths",
       offset + causal + window + lengths +
           "%x = arith.andi %c, %w : i1\n%v = arith.andi %x, %s : i1\n"}};
  for (const auto &[name, body] : masks)
    for (int64_t n : {-200, -13, -1, 0, 4, 100})
      for (int64_t length : {-3, 0, 1, 17, 1000})
        for (int64_t rowBegin : {0, 5, 30})
          for (int64_t rows : {1, 6})
            for (int64_t keyOffset : {0, 16}) {
              SCOPED_TRACE(std::string(name) + ", n " + std::to_string(n) +
                           ", length " + std::to_string(length) + ", " +
                           std::to_string(rows) + " rows from " +
                           std::to_string(rowBegin) + ", keys from " +
                           std::to_string(keyOffset));
              Tile tile;
              tile.rowBegin = rowBegin;
              tile.rowEnd = rowBegin + rows;
              tile.keyOffset = keyOffset;
              tile.keyCount = 24;
              Result bounds;
              run(body, "%v", tile, n, {length}, bounds);
              ASSERT_FALSE(HasFailure());
              EXPECT_FALSE(bounds.unknown);
              for (int64_t key = 0; key < tile.keyCount; ++key) {
                EXPECT_EQ(key >= bounds.lower && key < bounds.upper,
                          seenByAny[key])
                    << "key " << key;
                EXPECT_EQ(key >= bounds.fullLower && key < bounds.fullUpper,
                          seenByAll[key])
                    << "key " << key;
              }
              if (HasFailure())
                return;
            }
}

/// A condition on rows only, as for padded queries, decides for all keys.
TEST_F(TileVisibility, RowConditionsSkipTiles) {
  const char *body = "%v = arith.cmpi slt, %i, %n : index\n";
  for (auto [begin, end, lower, full] :
       {std::tuple<int64_t, int64_t, int64_t, int64_t>{0, 7, 40, 40},
        {7, 9, 0, 0},
        {5, 9, 40, 0}}) {
    Tile tile;
    tile.rowBegin = begin;
    tile.rowEnd = end;
    tile.keyCount = 40;
    Result bounds;
    run(body, "%v", tile, kN, {0}, bounds);
    EXPECT_EQ(bounds.upper - bounds.lower, lower);
    EXPECT_EQ(bounds.fullUpper - bounds.fullLower, full);
  }
}

/// A sum of narrow integers wraps: where it does, it bounds nothing.
TEST_F(TileVisibility, NarrowSumsAreAssumedToFit) {
  for (auto [length, full] :
       {std::pair<int64_t, int64_t>{INT32_MAX, 0}, {INT32_MAX - 1, 8}}) {
    Tile tile;
    tile.rowEnd = 2;
    tile.keyCount = 8;
    Result bounds;
    run("%c = arith.constant 1 : i32\n"
        "%e = memref.load %lengths[%b] : memref<?xi32, strided<[?]>>\n"
        "%s = arith.addi %e, %c : i32\n"
        "%l = arith.index_cast %s : i32 to index\n"
        "%v = arith.cmpi slt, %j, %l : index\n",
        "%v", tile, 0, {length}, bounds);
    EXPECT_FALSE(bounds.unknown);
    EXPECT_EQ(bounds.upper - bounds.lower, 8);
    EXPECT_EQ(bounds.fullUpper - bounds.fullLower, full);
  }
}

/// A sum, a product or a shift that 64 bits may not hold bounds nothing.
TEST_F(TileVisibility, WideArithmeticIsUnknown) {
  const std::string huge = "%c = arith.constant 4611686018427387904 : index\n";
  for (const std::string &sum :
       {huge + "%s = arith.addi %j, %c : index\n",
        huge + "%s = arith.subi %j, %c : index\n",
        huge + "%s = arith.muli %j, %c : index\n",
        std::string("%s = arith.muli %j, %n : index\n"),
        std::string("%c = arith.constant 60 : index\n"
                    "%s = arith.shli %j, %c : index\n")}) {
    SCOPED_TRACE(sum);
    Tile tile;
    tile.rowEnd = 2;
    tile.keyCount = 8;
    Result bounds;
    run(sum + "%v = arith.cmpi sle, %s, %i : index\n", "%v", tile, INT64_MAX,
        {0}, bounds);
    EXPECT_TRUE(bounds.unknown);
    EXPECT_EQ(bounds.fullLower, bounds.fullUpper);
  }
}

} // namespace
