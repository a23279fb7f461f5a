//===- Positions.cpp - Positions of tokens and their tables in f64 --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Detail.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace attn;
using namespace attn::reference;

namespace {
/// Checked options of one rope, with the angle of every pair and row.
struct Rotation {
  const RopeOptions &options;
  int64_t batch, rows, dim;

  llvm::Error check() const;
  llvm::Expected<int64_t> position(int64_t b, int64_t s) const;
  /// Cosine and sine of pair k.
  std::pair<double, double> turn(int64_t b, int64_t s, int64_t position,
                                 int64_t k) const;
};
} // namespace

llvm::Error Rotation::check() const {
  if (const std::optional<Tensor64> &ids = options.positionIds) {
    const bool fits =
        llvm::ArrayRef(ids->shape) == llvm::ArrayRef<int64_t>{rows} ||
        llvm::ArrayRef(ids->shape) == llvm::ArrayRef<int64_t>{batch, rows};
    if (!fits)
      return makeError("rope position ids: expected shape {0} or {1}x{0}, got "
                       "{2}",
                       rows, batch, formatShape(ids->shape));
  }
  if (options.cosTable.has_value() != options.sinTable.has_value())
    return makeError("rope: the cosine and the sine table go together");
  if (!options.cosTable)
    return llvm::Error::success();
  const Tensor64 &table = *options.cosTable;
  if (table.shape != options.sinTable->shape)
    return makeError("rope sine table: expected shape {0}, got {1}",
                     formatShape(table.shape),
                     formatShape(options.sinTable->shape));
  const int64_t pairs = dim / 2;
  if (table.rank() == 2)
    return checkSize("rope table columns", pairs, table.shape[1]);
  if (llvm::ArrayRef(table.shape) !=
      llvm::ArrayRef<int64_t>{batch, rows, pairs})
    return makeError("rope tables: expected shape Px{0} or {1}x{2}x{0}, got "
                     "{3}",
                     pairs, batch, rows, formatShape(table.shape));
  return llvm::Error::success();
}

llvm::Expected<int64_t> Rotation::position(int64_t b, int64_t s) const {
  int64_t position = options.offset + s;
  if (const std::optional<Tensor64> &ids = options.positionIds) {
    const double id = ids->rank() == 1 ? ids->at({s}) : ids->at({b, s});
    if (id != std::floor(id) || std::abs(id) > 0x1p53)
      return makeError("rope position id {0} is not an integer", id);
    position = static_cast<int64_t>(id);
  }
  if (options.cosTable && options.cosTable->rank() == 2 &&
      (position < 0 || position >= options.cosTable->shape[0]))
    return makeError("rope position {0} is outside the tables of {1} positions",
                     position, options.cosTable->shape[0]);
  return position;
}

std::pair<double, double> Rotation::turn(int64_t b, int64_t s, int64_t position,
                                         int64_t k) const {
  if (!options.cosTable) {
    const double angle =
        position * std::pow(options.base, -2.0 * k / static_cast<double>(dim));
    return {std::cos(angle), std::sin(angle)};
  }
  if (options.cosTable->rank() == 2)
    return {options.cosTable->at({position, k}),
            options.sinTable->at({position, k})};
  return {options.cosTable->at({b, s, k}), options.sinTable->at({b, s, k})};
}

llvm::Expected<Tensor64> reference::rope(const Tensor64 &x,
                                         const RopeOptions &options) {
  if (llvm::Error error = checkRank("rope input", x, 4))
    return error;
  const int64_t dim = options.rotaryDim == 0 ? x.shape[3] : options.rotaryDim;
  if (dim <= 0 || dim % 2 != 0 || dim > x.shape[3])
    return makeError("rope: the rotary dim must be even, positive and at most "
                     "the head dim {0}, got {1}",
                     x.shape[3], dim);
  const Rotation rotation{options, x.shape[0], x.shape[2], dim};
  if (llvm::Error error = rotation.check())
    return error;
  Tensor64 y = x;
  for (int64_t b = 0; b < x.shape[0]; ++b)
    for (int64_t s = 0; s < x.shape[2]; ++s) {
      llvm::Expected<int64_t> position = rotation.position(b, s);
      if (!position)
        return position.takeError();
      for (int64_t k = 0; k < dim / 2; ++k) {
        const auto [cosine, sine] = rotation.turn(b, s, *position, k);
        const bool isHalf = options.layout == RopeLayout::Half;
        const int64_t first = isHalf ? k : 2 * k;
        const int64_t second = isHalf ? k + dim / 2 : 2 * k + 1;
        for (int64_t h = 0; h < x.shape[1]; ++h) {
          const double u = x.at({b, h, s, first});
          const double w = x.at({b, h, s, second});
          y.at({b, h, s, first}) = u * cosine - w * sine;
          y.at({b, h, s, second}) = u * sine + w * cosine;
        }
      }
    }
  return y;
}

Tensor64 reference::sinusoidal(int64_t s, int64_t d, int64_t offset) {
  Tensor64 table({s, d});
  for (int64_t row = 0; row < s; ++row)
    for (int64_t column = 0; column < d; ++column) {
      const double exponent = static_cast<double>(column / 2 * 2) / d;
      const double angle = (offset + row) / std::pow(10000.0, exponent);
      table.at({row, column}) =
          column % 2 == 0 ? std::sin(angle) : std::cos(angle);
    }
  return table;
}

/// Calls `found` with each token of [0, tokens) that a sequence has, its
/// number, begin and end.
static llvm::Error forEachToken(
    llvm::ArrayRef<int64_t> cu, int64_t tokens,
    llvm::function_ref<void(int64_t, int64_t, int64_t, int64_t)> found) {
  for (size_t n = 0; n + 1 < cu.size(); ++n) {
    if (cu[n] > cu[n + 1])
      return makeError("cu: decreases from {0} to {1}", cu[n], cu[n + 1]);
    for (int64_t t = cu[n]; t < cu[n + 1]; ++t)
      if (t >= 0 && t < tokens)
        found(t, static_cast<int64_t>(n), cu[n], cu[n + 1]);
  }
  return llvm::Error::success();
}

llvm::Expected<Tensor64> reference::sequenceIds(llvm::ArrayRef<int64_t> cu,
                                                int64_t tokens,
                                                int64_t outside) {
  Tensor64 ids({1, tokens});
  llvm::fill(ids.data, static_cast<double>(outside));
  if (llvm::Error error =
          forEachToken(cu, tokens, [&](int64_t t, int64_t n, int64_t, int64_t) {
            ids.data[t] = static_cast<double>(n);
          }))
    return error;
  return ids;
}

llvm::Expected<Tensor64>
reference::sequencePositions(llvm::ArrayRef<int64_t> cu, int64_t tokens,
                             bool fromEnd) {
  Tensor64 positions({1, tokens});
  if (llvm::Error error = forEachToken(
          cu, tokens, [&](int64_t t, int64_t, int64_t begin, int64_t end) {
            positions.data[t] =
                static_cast<double>(t - (fromEnd ? end : begin));
          }))
    return error;
  return positions;
}

std::vector<double> reference::alibiSlopes(int64_t numHeads) {
  std::vector<double> slopes;
  if (numHeads <= 0)
    return slopes;
  const int64_t power = int64_t(1) << llvm::Log2_64(numHeads);
  for (int64_t k = 1; k <= power; ++k)
    slopes.push_back(std::exp2(-8.0 * k / power));
  for (int64_t k = 1; k <= numHeads - power; ++k)
    slopes.push_back(std::exp2(-8.0 * (2 * k - 1) / (2 * power)));
  return slopes;
}
