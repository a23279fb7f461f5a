//===- MaskHarness.h - Checks the classes of a mask program -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bounds and the classes that the analyses emit are compared with the mask
// itself, pair by pair. A small evaluator runs both the mask and the emitted
// code.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_ANALYSIS_MASKHARNESS_H
#define ATTN_UNITTESTS_ANALYSIS_MASKHARNESS_H

#include "attn/Analysis/BlockVisibility.h"
#include "attn/Analysis/TileVisibility.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "attn/InitAll.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/TypeSwitch.h"

#include <gtest/gtest.h>

#include <random>

namespace attn::test {

using namespace mlir;

using Values = llvm::DenseMap<Value, int64_t>;

/// Emits random programs as text.
class ProgramGenerator {
public:
  explicit ProgramGenerator(unsigned seed) : random(seed) {}

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }

  std::string text;

protected:
  /// The name of the result of `op`.
  std::string define(const std::string &op) {
    std::string name = "%x" + std::to_string(count++);
    text += name + " = " + op + "\n";
    return name;
  }

private:
  std::mt19937 random;
  int count = 0;
};

/// The elements of a memref, row by row.
struct Array {
  std::vector<int64_t> elements;
  SmallVector<int64_t, 2> extents;
};
using Arrays = llvm::DenseMap<Value, Array>;

/// Evaluates integer code; narrow integers wrap.
class Evaluator {
public:
  /// Loads clamp their indices, as those of mask programs do, or else indices
  /// must be in bounds.
  Evaluator(const Arrays &arrays, bool clamps)
      : arrays(arrays), clamps(clamps) {}

  int64_t operator()(Value value, Values &known) {
    if (auto it = known.find(value); it != known.end())
      return it->second;
    int64_t result = wrap(compute(value, known), value.getType());
    known[value] = result;
    return result;
  }

private:
  static int64_t wrap(int64_t value, Type type) {
    if (type.isIndex() || type.isInteger(64))
      return value;
    if (type.isInteger(1))
      return value & 1;
    return llvm::SignExtend64(value, type.getIntOrFloatBitWidth());
  }

  int64_t compute(Value value, Values &known) {
    APInt literal;
    if (matchPattern(value, m_ConstantInt(&literal)))
      return literal.getBitWidth() == 1 ? literal.getZExtValue()
                                        : literal.getSExtValue();
    Operation *op = value.getDefiningOp();
    if (!op)
      llvm::report_fatal_error("unbound value");
    auto at = [&](unsigned n) { return (*this)(op->getOperand(n), known); };
    // Sums beyond 64 bits wrap as the hardware's do.
    auto u = [&](unsigned n) -> uint64_t {
      Type type = op->getOperand(n).getType();
      uint64_t bits = static_cast<uint64_t>(at(n));
      return type.isInteger() ? bits & llvm::maskTrailingOnes<uint64_t>(
                                           type.getIntOrFloatBitWidth())
                              : bits;
    };
    return llvm::TypeSwitch<Operation *, int64_t>(op)
        .Case([&](arith::AddIOp) { return u(0) + u(1); })
        .Case([&](arith::SubIOp) { return u(0) - u(1); })
        .Case([&](arith::MulIOp) { return u(0) * u(1); })
        .Case([&](arith::RemSIOp) { return at(0) % at(1); })
        .Case([&](arith::DivSIOp) { return at(0) / at(1); })
        .Case([&](arith::RemUIOp) { return u(0) % u(1); })
        .Case([&](arith::DivUIOp) { return u(0) / u(1); })
        .Case([&](arith::FloorDivSIOp) {
          return llvm::divideFloorSigned(at(0), at(1));
        })
        .Case([&](arith::CeilDivSIOp) {
          return llvm::divideCeilSigned(at(0), at(1));
        })
        .Case([&](arith::ShLIOp) { return u(0) << u(1); })
        .Case([&](arith::ShRSIOp) { return at(0) >> at(1); })
        .Case([&](arith::ShRUIOp) { return u(0) >> u(1); })
        .Case([&](arith::MinSIOp) { return std::min(at(0), at(1)); })
        .Case([&](arith::MaxSIOp) { return std::max(at(0), at(1)); })
        .Case([&](arith::MinUIOp) { return std::min(u(0), u(1)); })
        .Case([&](arith::MaxUIOp) { return std::max(u(0), u(1)); })
        .Case([&](arith::AndIOp) { return at(0) & at(1); })
        .Case([&](arith::OrIOp) { return at(0) | at(1); })
        .Case([&](arith::XOrIOp) { return at(0) ^ at(1); })
        .Case([&](arith::SelectOp) { return at(0) ? at(1) : at(2); })
        .Case<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(
            [&](auto) { return at(0); })
        .Case([&](arith::ExtUIOp) { return u(0); })
        .Case([&](math::AbsIOp) { return at(0) < 0 ? -u(0) : u(0); })
        .Case([&](arith::CmpIOp compare) {
          APInt x(64, at(0), true), y(64, at(1), true);
          return int64_t(
              arith::applyCmpPredicate(compare.getPredicate(), x, y));
        })
        .Case([&](memref::DimOp dim) {
          return arrays.find(dim.getSource())->second.extents[at(1)];
        })
        .Case([&](memref::LoadOp load) {
          const Array &array = arrays.find(load.getMemRef())->second;
          int64_t element = 0;
          for (auto [dim, extent] : llvm::enumerate(array.extents)) {
            int64_t index = at(1 + dim);
            int64_t inside = std::clamp<int64_t>(index, 0, extent - 1);
            if (index != inside && !clamps)
              llvm::report_fatal_error("a load is out of bounds");
            element = element * extent + inside;
          }
          return array.elements[element];
        })
        .Case([&](scf::ForOp loop) {
          return runLoop(loop, cast<OpResult>(value).getResultNumber(), known);
        })
        .Default([&](Operation *other) -> int64_t {
          llvm::report_fatal_error("no evaluation of " +
                                   other->getName().getStringRef());
        });
  }

  int64_t runLoop(scf::ForOp loop, unsigned result, Values &known) {
    std::vector<int64_t> carried;
    for (Value init : loop.getInitArgs())
      carried.push_back((*this)(init, known));
    int64_t upper = (*this)(loop.getUpperBound(), known);
    int64_t step = (*this)(loop.getStep(), known);
    for (int64_t i = (*this)(loop.getLowerBound(), known); i < upper;
         i += step) {
      Values inside = known;
      inside[loop.getInductionVar()] = i;
      for (auto [argument, value] :
           llvm::zip(loop.getRegionIterArgs(), carried))
        inside[argument] = value;
      for (auto [value, next] : llvm::zip(carried, loop.getYieldedValues()))
        value = (*this)(next, inside);
    }
    return carried[result];
  }

  const Arrays &arrays;
  bool clamps;
};

struct Tile {
  int64_t batch = 0, head = 0, rowBegin = 0, rowEnd = 1, keyOffset = 0,
          keyCount = 0;
};

struct Result {
  int64_t lower, fullLower, fullUpper, upper;
  bool unknown, hasGap;
};

class MaskClasses : public testing::Test {
protected:
  MaskClasses() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Parses a mask program that yields `result`, emits its bounds for `tile`
  /// and the classes of blocks of it, and checks them against the program. `n`,
  /// `lengths` and, of any extents, `table` and `bytes` are its captures.
  void run(const std::string &body, const std::string &result, const Tile &tile,
           int64_t n, const std::vector<int64_t> &lengths, Result &bounds) {
    std::string text = R"(
      func.func @f(%q: memref<1x1x?x8xf32>, %n: index, %lengths: memref<?xi32, strided<[?]>>,
                   %table: memref<?x?xi1, strided<[?, ?]>>, %bytes: memref<?x?xi8, strided<[?, ?]>>) {
        attn.attention ins(%q, %q, %q : memref<1x1x?x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?x8xf32>)
          outs(%q : memref<1x1x?x8xf32>) scale 1.0 mask {
        ^bb0(%b: index, %h: index, %i: index, %j: index):
)" + body + "attn.yield " +
                       result + R"( : i1
        }
        return
      })";
    SCOPED_TRACE(text);
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    auto func = *module->getOps<func::FuncOp>().begin();
    auto attention = *func.getOps<AttentionOp>().begin();
    ImplicitLocOpBuilder b(attention.getLoc(), attention);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, value);
    };
    TileBounds emitted = emitTileBounds(
        b, attention.getMask(), constant(tile.batch), constant(tile.head),
        constant(tile.head), constant(tile.rowBegin), constant(tile.rowEnd),
        constant(tile.keyOffset), constant(tile.keyCount));
    BlockVisibility classes(b, attention.getMask(), constant(tile.batch),
                            constant(tile.head), constant(tile.head),
                            constant(tile.rowBegin), constant(tile.rowEnd));
    // The block of all keys, and parts of it.
    struct KeyBlock {
      int64_t begin, end;
      Truth truth;
      bool possible = true, sure = false;
    };
    SmallVector<KeyBlock> blocks{{0, tile.keyCount, {}},
                                 {0, tile.keyCount / 3, {}},
                                 {tile.keyCount / 3, tile.keyCount / 2, {}},
                                 {tile.keyCount / 2, tile.keyCount, {}}};
    llvm::erase_if(blocks, [](auto &x) { return x.begin == x.end; });
    for (KeyBlock &x : blocks)
      x.truth = classes.classify(constant(tile.keyOffset + x.begin),
                                 constant(tile.keyOffset + x.end - 1));

    Arrays arrays;
    arrays[func.getArgument(2)] = {lengths, {int64_t(lengths.size())}};
    arrays[func.getArgument(3)] = table;
    arrays[func.getArgument(4)] = bytes;
    Evaluator evaluate(arrays, /*clamps=*/false);
    Evaluator evaluateMask(arrays, /*clamps=*/true);
    Values outside{{func.getArgument(1), n}};
    bounds = {evaluate(emitted.lower, outside),
              evaluate(emitted.fullLower, outside),
              evaluate(emitted.fullUpper, outside),
              evaluate(emitted.upper, outside),
              emitted.unknown != nullptr,
              emitted.hasGap};
    EXPECT_LE(0, bounds.lower);
    EXPECT_LE(bounds.lower, bounds.fullLower);
    EXPECT_LE(bounds.fullLower, bounds.fullUpper);
    EXPECT_LE(bounds.fullUpper, bounds.upper);
    EXPECT_LE(bounds.upper, tile.keyCount);

    for (KeyBlock &x : blocks) {
      x.possible = evaluate(x.truth.possible, outside);
      x.sure = evaluate(x.truth.sure, outside);
    }
    decided += tile.keyCount && (!blocks[0].possible || blocks[0].sure);

    seenByAny.assign(tile.keyCount, false);
    seenByAll.assign(tile.keyCount, true);
    Block &block = attention.getMask().front();
    Value yielded = block.getTerminator()->getOperand(0);
    for (int64_t i = tile.rowBegin; i < tile.rowEnd; ++i)
      for (int64_t key = 0; key < tile.keyCount; ++key) {
        Values known{{func.getArgument(1), n},
                     {block.getArgument(0), tile.batch},
                     {block.getArgument(1), tile.head},
                     {block.getArgument(2), i},
                     {block.getArgument(3), key + tile.keyOffset}};
        bool visible = evaluateMask(yielded, known);
        seenByAny[key] = seenByAny[key] || visible;
        seenByAll[key] = seenByAll[key] && visible;
        for (const KeyBlock &x : blocks) {
          if (key < x.begin || key >= x.end)
            continue;
          ASSERT_TRUE(x.possible || !visible)
              << "row " << i << ", key " << key << " is in a skipped block";
          ASSERT_TRUE(!x.sure || visible)
              << "row " << i << ", key " << key << " is in a full block";
        }
        if (key < bounds.lower || key >= bounds.upper) {
          ASSERT_FALSE(visible)
              << "row " << i << ", key " << key << " is visible but skipped";
        } else if (key >= bounds.fullLower && key < bounds.fullUpper) {
          ASSERT_TRUE(visible) << "row " << i << ", key " << key
                               << " is hidden but in the full range";
        }
      }
  }

  MLIRContext context;
  Array table{{1}, {1, 1}}, bytes{{0}, {1, 1}};
  /// Blocks that were found empty or full.
  int64_t decided = 0;
  /// Of the last run: for each key, whether any row and whether all rows see
  /// it.
  std::vector<bool> seenByAny, seenByAll;
};

} // namespace attn::test

#endif // ATTN_UNITTESTS_ANALYSIS_MASKHARNESS_H
