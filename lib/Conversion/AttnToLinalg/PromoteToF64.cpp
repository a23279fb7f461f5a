//===- PromoteToF64.cpp - Computes a module in f64 throughout ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The f64 twin is the module itself with wider types, so that it checks the
// very program that the fast path compiles, constants included.
//
//===----------------------------------------------------------------------===//

#include "attn/Conversion/AttnToLinalg/Passes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace attn {
#define GEN_PASS_DEF_PROMOTETOF64PASS
#include "attn/Conversion/AttnToLinalg/Passes.h.inc"
} // namespace attn

namespace {

bool isNarrow(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type>(type);
}

APFloat widen(APFloat value) {
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value;
}

/// The f64 constant with the values of `attr`, or null if its data is missing.
Attribute widen(DenseResourceElementsAttr attr, ShapedType type) {
  AsmResourceBlob *blob = attr.getRawHandle().getBlob();
  if (!blob)
    return {};
  auto narrow = cast<FloatType>(attr.getElementType());
  unsigned bytes = narrow.getWidth() / 8;
  ArrayRef<char> data = blob->getData();
  int64_t count = attr.getType().getNumElements();
  if (static_cast<int64_t>(data.size()) != count * bytes)
    return {};
  SmallVector<double> values;
  values.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    memcpy(&bits, data.data() + i * bytes, bytes);
    values.push_back(widen(APFloat(narrow.getFloatSemantics(),
                                   APInt(narrow.getWidth(), bits)))
                         .convertToDouble());
  }
  return DenseElementsAttr::get(type, ArrayRef<double>(values));
}

struct PromoteToF64Pass : attn::impl::PromoteToF64PassBase<PromoteToF64Pass> {
  void runOnOperation() override;
};

void PromoteToF64Pass::runOnOperation() {
  Type f64 = Float64Type::get(&getContext());
  AttrTypeReplacer replacer;
  auto widenShape = [&](ShapedType type) { return type.clone(f64); };

  replacer.addReplacement([&](FloatType type) -> std::optional<Type> {
    return isNarrow(type) ? f64 : std::optional<Type>();
  });
  replacer.addReplacement([&](FloatAttr attr) -> std::optional<Attribute> {
    if (!isNarrow(attr.getType()))
      return std::nullopt;
    return FloatAttr::get(f64, widen(attr.getValue()));
  });
  using Stop = std::optional<std::pair<Attribute, WalkResult>>;
  replacer.addReplacement([&](DenseFPElementsAttr attr) -> Stop {
    if (!isNarrow(attr.getElementType()))
      return std::nullopt;
    Attribute wide = attr.mapValues(f64, [](const APFloat &value) {
      return widen(value).bitcastToAPInt();
    });
    return std::pair(wide, WalkResult::skip());
  });
  bool missingData = false;
  replacer.addReplacement([&](DenseResourceElementsAttr attr) -> Stop {
    if (!isNarrow(attr.getElementType()))
      return std::nullopt;
    Attribute wide = widen(attr, widenShape(attr.getType()));
    missingData |= !wide;
    return std::pair(wide ? wide : Attribute(attr), WalkResult::skip());
  });
  // Raw arrays of floats: their type cannot change apart from their bytes.
  replacer.addReplacement([&](DenseArrayAttr attr) -> Stop {
    return std::pair(Attribute(attr), WalkResult::skip());
  });

  ModuleOp module = getOperation();
  WalkResult walk = module.walk([&](Operation *op) {
    if (isa<arith::BitcastOp>(op) &&
        llvm::any_of(
            llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()),
                               llvm::to_vector(op->getResultTypes())),
            [](Type type) { return isNarrow(getElementTypeOrSelf(type)); })) {
      op->emitOpError("depends on the width of a float and cannot be computed "
                      "in f64");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return signalPassFailure();

  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  if (missingData) {
    module.emitError("a dense_resource constant has no data, or not as much "
                     "as its type asks for");
    return signalPassFailure();
  }
  module.walk([](Operation *op) {
    if (isa<arith::ExtFOp, arith::TruncFOp>(op) &&
        op->getOperand(0).getType() == op->getResult(0).getType()) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
    }
  });
}

} // namespace
