//===- AttnDialect.cpp - The attn dialect, its enums and attributes -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/AttnDialect.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

#include "attn/Dialect/Attn/IR/AttnDialect.cpp.inc"
#include "attn/Dialect/Attn/IR/AttnEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "attn/Dialect/Attn/IR/AttnAttrs.cpp.inc"

namespace {

/// Every op may move to another function, and another op into its regions.
struct AttnInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};

} // namespace

void AttnDialect::initialize() {
  addInterfaces<AttnInlinerInterface>();
  addOperations<
#define GET_OP_LIST
#include "attn/Dialect/Attn/IR/AttnOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "attn/Dialect/Attn/IR/AttnAttrs.cpp.inc"
      >();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   Kernel kernel, ArrayRef<int64_t> tile,
                                   ArrayRef<int64_t> registers, int64_t lanes,
                                   int64_t split) {
  if (tile.size() != 2 || registers.size() != 2)
    return emitError() << "schedule needs two tile sizes and two register tile "
                          "sizes, got "
                       << tile.size() << " and " << registers.size();
  for (int64_t size : llvm::concat<const int64_t>(tile, registers))
    if (size < 1 || size > 1 << 20)
      return emitError() << "schedule size " << size
                         << " is outside [1, 1048576]";
  // The register tile is unrolled.
  if (registers[0] * registers[1] > 256)
    return emitError() << "schedule has a register tile of "
                       << registers[0] * registers[1]
                       << " vectors, expected at most 256";
  if (lanes < 1 || lanes > 64 || (lanes & (lanes - 1)))
    return emitError() << "schedule has " << lanes
                       << " lanes, expected a power of two up to 64";
  if (split < 0 || split > int64_t(1) << 30)
    return emitError() << "schedule has a split of " << split
                       << " keys, expected [0, 2^30]";
  if (kernel == Kernel::FeaturesInLanes) {
    // Rows times keys of a step fill one vector of sums.
    if (tile[0] > lanes || (tile[0] & (tile[0] - 1)))
      return emitError() << "schedule has tiles of " << tile[0]
                         << " rows, expected a power of two up to " << lanes
                         << " lanes";
    return success();
  }
  if (split)
    return emitError() << "schedule has a split of " << split
                       << " keys, expected none for "
                       << stringifyKernel(kernel);
  if (isPairedKernel(kernel)) {
    for (int64_t size : tile)
      if (size % kPairedPanel)
        return emitError() << "schedule has a tile size of " << size
                           << ", expected a multiple of " << kPairedPanel
                           << " for bf16 pairs";
    if (lanes != 16)
      return emitError() << "schedule has " << lanes
                         << " lanes, expected 16 for bf16 pairs";
  }
  if (kernel == Kernel::BF16Vectors && 16 % registers[0])
    return emitError() << "schedule has register tiles of " << registers[0]
                       << " rows, expected a divisor of 16 for "
                       << stringifyKernel(kernel);
  if (kernel == Kernel::BF16Tiles) {
    int64_t tiles = registers[0] * registers[1] + registers[0] + registers[1];
    if (tiles > 8)
      return emitError() << "schedule needs " << tiles
                         << " AMX tiles, there are 8";
  }
  if (kernel == Kernel::ChunkedState && tile[0] % lanes)
    return emitError() << "schedule has chunks of " << tile[0]
                       << " tokens, expected a multiple of " << lanes
                       << " lanes";
  int64_t vectors = registers[1] * lanes;
  int64_t across =
      kernel == Kernel::Gemm || isStateKernel(kernel) ? tile[1] : tile[0];
  if (across % vectors)
    return emitError() << "schedule tile size " << across
                       << " is not a multiple of registers times lanes, "
                       << vectors;
  return success();
}

LogicalResult ScheduleAttr::verifyTarget(Operation *op, TargetAttr target,
                                         FloatType type) const {
  if (int64_t lanes = target.getLanes(type); getLanes() != lanes) {
    InFlightDiagnostic error = op->emitOpError("has a schedule of ")
                               << getLanes() << " lanes, but vectors of "
                               << stringifyISA(target.getIsa()) << " have "
                               << lanes;
    if (!type.isF32())
      error << " of " << type;
    return error;
  }
  BF16Unit unit = target.getBf16();
  bool hasUnit = getKernel() == Kernel::BF16Tiles ? unit == BF16Unit::Tiles
                                                  : unit != BF16Unit::None;
  if (isPairedKernel(getKernel()) && !hasUnit)
    return op->emitOpError("has the schedule of ")
           << stringifyKernel(getKernel()) << ", but the bf16 unit of "
           << target.getCpu() << " is '" << stringifyBF16Unit(unit) << "'";
  return success();
}

int64_t TargetAttr::getLanes() const {
  switch (getIsa()) {
  case ISA::AVX512:
    return 16;
  case ISA::AVX2:
    return 8;
  case ISA::Portable:
    return 4;
  }
  llvm_unreachable("unknown instruction set");
}

int64_t TargetAttr::getLanes(FloatType type) const {
  return getLanes() * 32 / type.getWidth();
}

int64_t TargetAttr::getNumRegisters() const {
  return getIsa() == ISA::AVX512 ? 32 : 16;
}
