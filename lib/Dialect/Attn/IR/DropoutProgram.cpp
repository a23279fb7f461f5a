//===- DropoutProgram.cpp - Which pairs a dropout keeps -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox is a block cipher in all but strength: ten rounds of multiplications
// and exclusive ors turn a counter into random words, any of them alone. The
// wide counter of a whole position would double the work of a pair, so that the
// head is mixed in once, through the key and the counter of a narrower one.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/DropoutProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <array>
#include <cmath>

using namespace mlir;

namespace {

/// Philox on i32 values (Salmon et al., SC 2011).
class Philox {
public:
  explicit Philox(ImplicitLocOpBuilder &b) : b(b) {}

  std::array<Value, 4> words(std::array<Value, 4> counter,
                             std::array<Value, 2> key) {
    for (int round = 0; round < kRounds; ++round) {
      auto first = multiply(counter[0], 0xD2511F53);
      auto second = multiply(counter[2], 0xCD9E8D57);
      counter = {
          exclusiveOr(exclusiveOr(second.high, counter[1]), key[0]), second.low,
          exclusiveOr(exclusiveOr(first.high, counter[3]), key[1]), first.low};
      key = {bump(key[0], kGolden), bump(key[1], 0xBB67AE85)};
    }
    return counter;
  }

  std::array<Value, 2> words(std::array<Value, 2> counter, Value key) {
    for (int round = 0; round < kRounds; ++round) {
      auto product = multiply(counter[0], 0xD256D193);
      // The counter last: it may be the only one that varies from lane to lane.
      counter = {exclusiveOr(product.high, exclusiveOr(key, counter[1])),
                 product.low};
      key = bump(key, kGolden);
    }
    return counter;
  }

  Value exclusiveOr(Value x, Value y) { return arith::XOrIOp::create(b, x, y); }
  Value constant(uint32_t value) {
    return arith::ConstantOp::create(
        b, b.getIntegerAttr(b.getI32Type(),
                            APInt(32, static_cast<uint64_t>(value))));
  }

private:
  static constexpr int kRounds = 10;
  static constexpr uint32_t kGolden = 0x9E3779B9;

  struct Product {
    Value low, high;
  };
  Product multiply(Value x, uint32_t factor) {
    auto product = arith::MulUIExtendedOp::create(b, x, constant(factor));
    return {product.getLow(), product.getHigh()};
  }
  Value bump(Value key, uint32_t step) {
    return arith::AddIOp::create(b, key, constant(step));
  }

  ImplicitLocOpBuilder &b;
};

} // namespace

Value attn::emitIsKept(OpBuilder &builder, Location loc, double rate,
                       Value seed, ValueRange position) {
  ImplicitLocOpBuilder b(loc, builder);
  // Left out are words below it.
  double bound = std::nearbyint(std::ldexp(rate, 32));
  if (bound <= 0 || bound >= 0x1p32)
    return arith::ConstantOp::create(b, b.getBoolAttr(bound <= 0));
  Philox philox(b);
  Type i32 = b.getI32Type();
  auto truncate = [&](Value index) -> Value {
    return arith::IndexCastOp::create(b, i32, index);
  };
  Value upper = arith::ShRUIOp::create(
      b, seed, arith::ConstantOp::create(b, b.getI64IntegerAttr(32)));
  Value seedLow = arith::TruncIOp::create(b, i32, seed);
  Value seedHigh = arith::TruncIOp::create(b, i32, upper);
  Value none = philox.constant(0);
  std::array<Value, 4> counter{truncate(position[0]), truncate(position[1]),
                               none, none};
  std::array<Value, 4> head =
      philox.words(counter, std::array<Value, 2>{seedLow, seedHigh});
  Value i = philox.exclusiveOr(truncate(position[2]), head[1]);
  Value j = philox.exclusiveOr(truncate(position[3]), head[2]);
  Value word = philox.words(std::array<Value, 2>{i, j}, head[0])[0];
  return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, word,
                               philox.constant(static_cast<uint32_t>(bound)));
}
