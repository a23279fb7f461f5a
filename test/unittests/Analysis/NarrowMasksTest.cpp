//===- NarrowMasksTest.cpp - Classes of masks of narrow integers ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integers of 8, 16 and 32 bits wrap, shifts lose bits, negative integers are
// the largest unsigned ones, and tables clamp their indices: where any of that
// may happen, no class is wrong.
//
//===----------------------------------------------------------------------===//

#include "MaskHarness.h"

using namespace mlir;
using namespace attn;
using namespace attn::test;

namespace {

using NarrowMasks = MaskClasses;

class Generator : public ProgramGenerator {
public:
  using ProgramGenerator::ProgramGenerator;

  /// The name of an i1.
  std::string condition(int depth) {
    switch (pick(0, depth > 0 ? 9 : 3)) {
    case 0:
      return define("memref.load %table[" + index(1) + ", " + index(1) +
                    "] : memref<?x?xi1, strided<[?, ?]>>");
    case 4:
    case 5:
      return define("arith.andi " + condition(depth - 1) + ", " +
                    condition(depth - 1) + " : i1");
    case 6:
      return define("arith.ori " + condition(depth - 1) + ", " +
                    condition(depth - 1) + " : i1");
    case 7:
      return define("arith.xori " + condition(depth - 1) + ", " +
                    condition(depth - 1) + " : i1");
    case 8:
      return define("arith.select " + condition(depth - 1) + ", " +
                    condition(depth - 1) + ", " + condition(depth - 1) +
                    " : i1");
    default: {
      static const char *predicates[] = {"sle", "slt", "sge", "sgt", "eq",
                                         "ne",  "ule", "ult", "uge", "ugt"};
      unsigned bits = width();
      std::string x = integer(bits, 2), y = integer(bits, pick(0, 2));
      return define(std::string("arith.cmpi ") + predicates[pick(0, 9)] + ", " +
                    x + ", " + y + " : " + type(bits));
    }
    }
  }

private:
  static std::string type(unsigned bits) { return "i" + std::to_string(bits); }
  unsigned width() { return 8 << pick(0, 2); }

  /// The name of an index: a position, or narrow integers of it.
  std::string index(int depth) {
    switch (pick(0, 5)) {
    case 0:
    case 1:
      return "%i";
    case 2:
    case 3:
      return "%j";
    case 4:
      return pick(0, 1) ? "%n" : "%b";
    default: {
      unsigned bits = width();
      return define("arith.index_cast " + integer(bits, depth) + " : " +
                    type(bits) + " to index");
    }
    }
  }

  /// The name of an integer of `bits` bits.
  std::string integer(unsigned bits, int depth) {
    std::string suffix = " : " + type(bits);
    auto constant = [&](int64_t value) {
      return define("arith.constant " + std::to_string(value) + suffix);
    };
    auto binary = [&](const std::string &op, const std::string &x,
                      const std::string &y) {
      return define("arith." + op + " " + x + ", " + y + suffix);
    };
    int64_t limit = (int64_t(1) << (bits - 1)) - 1;
    switch (pick(0, depth > 0 ? 16 : 4)) {
    case 0:
      return constant(pick(0, 2)   ? pick(-20, 20)
                      : pick(0, 1) ? limit - pick(0, 1)
                                   : -limit - pick(0, 1));
    case 4: {
      std::string byte =
          define("memref.load %bytes[" + index(0) + ", " + index(0) +
                 "] : memref<?x?xi8, strided<[?, ?]>>");
      return bits == 8
                 ? byte
                 : define("arith.extsi " + byte + " : i8 to " + type(bits));
    }
    case 5:
    case 6:
      return binary(pick(0, 1) ? "addi" : "subi", integer(bits, depth - 1),
                    integer(bits, depth - 1));
    case 7:
    case 8:
      return binary("subi", integer(bits, depth - 1), integer(bits, depth - 1));
    case 9:
      return binary("muli", integer(bits, depth - 1), constant(pick(-9, 9)));
    case 10: {
      static const char *ops[] = {"shli", "shrsi", "shrui"};
      return binary(ops[pick(0, 2)], integer(bits, depth - 1),
                    constant(pick(0, bits - 1)));
    }
    case 11: {
      static const char *ops[] = {"divui", "divsi", "floordivsi",
                                  "remui", "remsi", "ceildivsi"};
      return binary(ops[pick(0, 5)], integer(bits, depth - 1),
                    constant(pick(0, 5) ? pick(1, 9) : limit));
    }
    case 12: {
      static const char *ops[] = {"minsi", "maxsi", "minui", "maxui"};
      return binary(ops[pick(0, 3)], integer(bits, depth - 1),
                    integer(bits, depth - 1));
    }
    case 13:
      return define("math.absi " + integer(bits, depth - 1) + suffix);
    case 14: { // widened or narrowed
      unsigned other = width();
      std::string x = integer(other, depth - 1);
      if (other == bits)
        return x;
      return define(std::string("arith.") +
                    (other > bits ? "trunci"
                     : pick(0, 3) ? "extsi"
                                  : "extui") +
                    " " + x + " : " + type(other) + " to " + type(bits));
    }
    case 15: {
      std::string on = condition(0);
      return define("arith.select " + on + ", " + integer(bits, depth - 1) +
                    ", " + integer(bits, depth - 1) + suffix);
    }
    default:
      return define("arith.index_cast " + index(0) + " : index to " +
                    type(bits));
    }
  }
};

TEST_F(NarrowMasks, RandomProgramsAreNeverWrong) {
  const int64_t origins[] = {0, 0, 0, 90, 120, 250, 32760, 65530, 2147483640};
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Generator generate(seed);
    std::string result = generate.condition(3);
    // Rows and keys near where integers wrap.
    Tile tile;
    tile.batch = generate.pick(0, 2);
    tile.rowBegin = origins[generate.pick(0, 8)] + generate.pick(0, 12);
    tile.rowEnd = tile.rowBegin + generate.pick(1, 7);
    tile.keyOffset = generate.pick(0, 1) ? tile.rowBegin : 0;
    tile.keyOffset += generate.pick(-9, 9);
    tile.keyCount = generate.pick(1, 30);
    int64_t rows = generate.pick(1, 6), columns = generate.pick(1, 6);
    table = {{}, {rows, columns}};
    bytes = table;
    bool isFull = generate.pick(0, 1);
    for (int64_t n = rows * columns; n > 0; --n) {
      table.elements.push_back(isFull || generate.pick(0, 1));
      bytes.elements.push_back(generate.pick(0, 2) ? generate.pick(-3, 3)
                                                   : generate.pick(-128, 127));
    }
    Result bounds;
    run(generate.text, result, tile, generate.pick(-20, 300), {0}, bounds);
    if (HasFailure())
      return;
  }
  EXPECT_GT(decided, 300);
}

/// Where narrow integers wrap or shifts lose bits, every key is possible and
/// none is sure; where none does, what is known is used.
TEST_F(NarrowMasks, WrappingIsNotUsed) {
  struct Case {
    const char *name, *body;
    /// The first row for which the program wraps.
    int64_t first;
  };
  const std::string narrow = "%x = arith.index_cast %i : index to i8\n"
                             "%y = arith.index_cast %j : index to i8\n";
  const Case cases[] = {
      {"a position", "%v = arith.cmpi sge, %x, %y : i8\n", 128},
      {"a sum",
       "%c = arith.constant 100 : i8\n%s = arith.addi %x, %c : i8\n"
       "%v = arith.cmpi sge, %s, %y : i8\n",
       28},
      {"a difference",
       "%c = arith.constant -100 : i8\n%s = arith.subi %x, %c : i8\n"
       "%v = arith.cmpi sge, %s, %y : i8\n",
       28},
      {"a product",
       "%c = arith.constant 3 : i8\n%s = arith.muli %x, %c : i8\n"
       "%v = arith.cmpi sge, %s, %y : i8\n",
       43},
      {"a shift",
       "%c = arith.constant 2 : i8\n%s = arith.shli %x, %c : i8\n"
       "%v = arith.cmpi sge, %s, %y : i8\n",
       32},
      {"an unsigned order", "%v = arith.cmpi uge, %x, %y : i8\n", 128},
      {"a truncation",
       "%w = arith.index_cast %i : index to i32\n"
       "%t = arith.trunci %w : i32 to i8\n"
       "%v = arith.cmpi sge, %t, %y : i8\n",
       128}};
  for (const Case &c : cases)
    for (int64_t row : {c.first - 4, c.first, c.first + 200}) {
      SCOPED_TRACE(c.name + (", rows from " + std::to_string(row)));
      Tile tile;
      tile.rowBegin = row;
      tile.rowEnd = row + 4;
      tile.keyCount = 4;
      Result bounds;
      decided = 0;
      run(narrow + c.body, "%v", tile, 0, {0}, bounds);
      ASSERT_FALSE(HasFailure());
      EXPECT_FALSE(bounds.unknown);
      bool fits = row < c.first;
      EXPECT_EQ(bounds.upper, 4);
      EXPECT_EQ(bounds.fullUpper - bounds.fullLower, fits ? 4 : 0);
      EXPECT_EQ(decided, fits);
    }
}

/// Shifts by the width or more say nothing.
TEST_F(NarrowMasks, ShiftsBeyondTheWidthAreUnknown) {
  for (const char *op : {"shli", "shrsi", "shrui"})
    for (int64_t shift : {8, 9, 20, 127, -1}) {
      SCOPED_TRACE(op + (" by " + std::to_string(shift)));
      auto module = parseSourceString<ModuleOp>(
          "func.func @f(%q: memref<1x1x?x8xf32>) {\n"
          "  attn.attention ins(%q, %q, %q : memref<1x1x?x8xf32>, "
          "memref<1x1x?x8xf32>, memref<1x1x?x8xf32>) "
          "outs(%q : memref<1x1x?x8xf32>) scale 1.0 mask {\n"
          "  ^bb0(%b: index, %h: index, %i: index, %j: index):\n"
          "    %x = arith.index_cast %j : index to i8\n"
          "    %c = arith.constant " +
              std::to_string(shift) + " : i8\n    %y = arith." + op +
              " %x, %c : i8\n    %z = arith.constant 0 : i8\n"
              "    %v = arith.cmpi eq, %y, %z : i8\n"
              "    attn.yield %v : i1\n  }\n  return\n}\n",
          &context);
      ASSERT_TRUE(module);
      auto func = *module->getOps<func::FuncOp>().begin();
      auto attention = *func.getOps<AttentionOp>().begin();
      ImplicitLocOpBuilder b(attention.getLoc(), attention);
      Value zero = arith::ConstantIndexOp::create(b, 0);
      Value end = arith::ConstantIndexOp::create(b, 8);
      EXPECT_TRUE(emitTileBounds(b, attention.getMask(), zero, zero, zero, zero,
                                 end, zero, end)
                      .unknown);
      BlockVisibility classes(b, attention.getMask(), zero, zero, zero, zero,
                              end);
      classes.classify(zero, end);
      EXPECT_TRUE(classes.unknown);
    }
}

/// A negative integer is a large unsigned one, on either side.
TEST_F(NarrowMasks, NegativeIntegersAreLargeUnsignedOnes) {
  for (const char *type : {"i8", "i16", "i32"})
    for (const char *predicate : {"ult", "ule", "ugt", "uge"})
      for (bool swaps : {false, true})
        for (int64_t bound : {-128, -3, -1, 0, 1, 5, 127})
          for (int64_t row : {0, 4, 30}) {
            std::string t = type;
            std::string body =
                "%x = arith.index_cast %i : index to " + t +
                "\n%y = arith.index_cast %j : index to " + t +
                "\n%d = arith.subi %x, %y : " + t + "\n%c = arith.constant " +
                std::to_string(bound) + " : " + t + "\n%v = arith.cmpi " +
                predicate + (swaps ? ", %c, %d : " : ", %d, %c : ") + t + "\n";
            Tile tile;
            tile.rowBegin = row;
            tile.rowEnd = row + 3;
            tile.keyCount = 40;
            Result bounds;
            run(body, "%v", tile, 0, {0}, bounds);
            if (HasFailure())
              return;
          }
}

/// A choice between two ranges by a condition that nothing is known of may show
/// what either does.
TEST_F(NarrowMasks, UnknownConditionsChooseEither) {
  const std::string body = "%one = arith.constant 1 : index\n"
                           "%o = arith.andi %i, %one : index\n"
                           "%u = arith.cmpi eq, %o, %one : index\n"
                           "%ten = arith.constant 10 : index\n"
                           "%twenty = arith.constant 20 : index\n"
                           "%x = arith.cmpi slt, %j, %ten : index\n"
                           "%y = arith.cmpi slt, %j, %twenty : index\n"
                           "%v = arith.select %u, %x, %y : i1\n";
  Tile tile;
  tile.rowEnd = 4;
  tile.keyCount = 30;
  Result bounds;
  run(body, "%v", tile, 0, {0}, bounds);
  EXPECT_EQ(bounds.lower, 0);
  EXPECT_EQ(bounds.upper, 20);
  EXPECT_TRUE(bounds.unknown);
}

/// Three ranges with gaps between: each block is one of them, or of a gap.
TEST_F(NarrowMasks, ManyRangesAreToldApart) {
  std::string body = "%c4 = arith.constant 4 : index\n"
                     "%c12 = arith.constant 12 : index\n"
                     "%c16 = arith.constant 16 : index\n"
                     "%c30 = arith.constant 30 : index\n"
                     "%a = arith.cmpi slt, %j, %c4 : index\n"
                     "%b0 = arith.cmpi sge, %j, %c12 : index\n"
                     "%b1 = arith.cmpi slt, %j, %c16 : index\n"
                     "%m = arith.andi %b0, %b1 : i1\n"
                     "%e = arith.cmpi sge, %j, %c30 : index\n"
                     "%w = arith.ori %a, %m : i1\n"
                     "%v = arith.ori %w, %e : i1\n";
  auto classOf = [&](int64_t key, int64_t keys) {
    Tile tile;
    tile.keyOffset = key;
    tile.keyCount = keys;
    Result bounds;
    decided = 0;
    run(body, "%v", tile, 0, {0}, bounds);
    EXPECT_TRUE(bounds.hasGap);
    return decided;
  };
  for (auto [begin, end] : {std::pair<int64_t, int64_t>{0, 4},
                            {4, 12},
                            {12, 16},
                            {16, 30},
                            {30, 40}}) {
    EXPECT_EQ(classOf(begin, end - begin), 1) << begin;
    if (begin)
      EXPECT_EQ(classOf(begin - 1, 2), 0) << begin;
  }
}

/// Elements of a table of blocks that is too small stand for all that lies
/// beyond.
TEST_F(NarrowMasks, TablesClampTheirIndices) {
  const std::string body =
      "%offset = arith.constant 80 : index\n"
      "%size = arith.constant 8 : index\n"
      "%r = arith.subi %i, %offset : index\n"
      "%x = arith.floordivsi %r, %size : index\n"
      "%y = arith.floordivsi %j, %size : index\n"
      "%v = memref.load %table[%x, %y] : memref<?x?xi1, strided<[?, ?]>>\n";
  table = {{1, 0, 1, 0, 1, 0}, {2, 3}};
  auto classOf = [&](int64_t row, int64_t key) {
    Tile tile;
    tile.rowBegin = row;
    tile.rowEnd = row + 8;
    tile.keyOffset = key;
    tile.keyCount = 8;
    Result bounds;
    decided = 0;
    run(body, "%v", tile, 0, {0}, bounds);
    return decided;
  };
  for (int64_t row : {0, 64, 80, 88, 96, 400})
    for (int64_t key : {-16, 0, 8, 16, 24, 400}) {
      EXPECT_EQ(classOf(row, key), 1) << row << " " << key;
      // A block of two columns, which differ where both are of the table.
      EXPECT_EQ(classOf(row, key + 4), key < 0 || key >= 16)
          << row << " " << key;
    }
}

} // namespace
