//===- ExpandMath.cpp - Math functions in plain arithmetic ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A math function on a vector would become one library call a lane.
//
//===----------------------------------------------------------------------===//

#include "ExpandMathF64.h"
#include "VectorEmitter.h"
#include "attn/Codegen/CPU/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "attn/Codegen/CPU/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// math.exp2 of one register of f32 or f64, by the target's instructions.
struct ExpandExp2 : OpRewritePattern<math::Exp2Op> {
  ExpandExp2(MLIRContext *context, TargetAttr target)
      : OpRewritePattern(context, /*benefit=*/2), target(target) {}

  LogicalResult matchAndRewrite(math::Exp2Op op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getRank() != 1 ||
        !isa<Float32Type, Float64Type>(type.getElementType()))
      return rewriter.notifyMatchFailure(op, "not one vector of f32 or f64");
    auto element = cast<FloatType>(type.getElementType());
    int64_t lanes = target.getLanes(element);
    if (type.getDimSize(0) != lanes)
      return rewriter.notifyMatchFailure(op, "not one register");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    VectorEmitter emitter(b, target.getIsa(), lanes, element);
    bool coarse =
        bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
    rewriter.replaceOp(op, emitter.expandedExp2(op.getOperand(), coarse));
    return success();
  }

  TargetAttr target;
};

/// math.fma where there is no such instruction: a library call a lane.
struct SplitFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    Value product =
        arith::MulFOp::create(rewriter, op.getLoc(), op.getA(), op.getB());
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, product, op.getC());
    return success();
  }
};

/// Sine and cosine of one vector of f32, to 2 ulp of 1. The multiple of pi /
/// 2 is taken away in f64: in f32 that alone would be off by a part in 2^24 of
/// the argument. Beyond 2^28, where f64 is no longer enough, each lane is a
/// library call.
template <typename OpT> struct ExpandSine : OpRewritePattern<OpT> {
  ExpandSine(MLIRContext *context, TargetAttr target)
      : OpRewritePattern<OpT>(context), target(target) {}

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getRank() != 1 || !type.getElementType().isF32())
      return rewriter.notifyMatchFailure(op, "not one vector of f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    VectorEmitter emitter(b, target.getIsa(), type.getDimSize(0));
    Value x = op.getOperand();
    Value isHuge = arith::CmpFOp::create(b, arith::CmpFPredicate::UGT,
                                         math::AbsFOp::create(b, x),
                                         emitter.splat(0x1p28f));
    auto either =
        scf::IfOp::create(b, type, emitter.anyLane(isHuge), /*withElse=*/true);
    b.setInsertionPointToStart(either.thenBlock());
    Value called = emitLoop(
        b, emitter.index(0), emitter.index(type.getDimSize(0)), 1,
        ValueRange(x),
        [&](Value lane, ValueRange carried) -> SmallVector<Value> {
          Value scalar =
              vector::ExtractOp::create(b, carried[0], OpFoldResult(lane));
          return {vector::InsertOp::create(b, OpT::create(b, scalar),
                                           carried[0], OpFoldResult(lane))};
        })[0];
    scf::YieldOp::create(b, called);
    b.setInsertionPointToStart(either.elseBlock());
    scf::YieldOp::create(b, expand(emitter, x));
    rewriter.replaceOp(op, either);
    return success();
  }

  static Value expand(VectorEmitter &emitter, Value x) {
    ImplicitLocOpBuilder &b = emitter.builder();
    VectorType wide = emitter.vectorType(b.getF64Type());
    VectorType words = emitter.vectorType(b.getI32Type());
    VectorType wideWords = emitter.vectorType(b.getI64Type());
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(wide, ArrayRef<double>(value)));
    };
    auto word = [&](int32_t value) -> Value {
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(words, ArrayRef<int32_t>(value)));
    };
    auto polynomial = [&](Value z, ArrayRef<float> coefficients) {
      Value p = emitter.splat(coefficients.back());
      for (float coefficient : llvm::reverse(coefficients.drop_back()))
        p = emitter.fma(p, z, emitter.splat(coefficient));
      return p;
    };

    // Adding 1.5 * 2^52 rounds to an integer that stands in the low bits. The
    // first part of pi / 2 has 25 bits, so that its products are exact.
    Value d = arith::ExtFOp::create(b, wide, x), magic = number(0x1.8p52);
    Value shifted = arith::AddFOp::create(
        b, arith::MulFOp::create(b, d, number(0x1.45f306dc9c883p-1)), magic);
    Value n = arith::SubFOp::create(b, shifted, magic);
    for (double part : {0x1.921fb5p0, 0x1.110b4611a6263p-26})
      d = arith::SubFOp::create(b, d,
                                arith::MulFOp::create(b, n, number(part)));
    Value quadrant = arith::TruncIOp::create(
        b, words, arith::BitcastOp::create(b, wideWords, shifted));
    if (std::is_same_v<OpT, math::CosOp>)
      quadrant = arith::AddIOp::create(b, quadrant, word(1));

    // On [-pi / 4, pi / 4]: the polynomials of Cephes (Moshier).
    Value r = arith::TruncFOp::create(b, emitter.vectorType(), d);
    Value z = arith::MulFOp::create(b, r, r);
    Value rz = arith::MulFOp::create(b, r, z);
    Value sine = emitter.fma(
        rz,
        polynomial(z, {-1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f}),
        r);
    Value cosine =
        polynomial(z, {1.0f, -0.5f, 4.166664568298827e-2f,
                       -1.388731625493765e-3f, 2.443315711809948e-5f});
    auto bit = [&](int32_t value) -> Value {
      return arith::AndIOp::create(b, quadrant, word(value));
    };
    Value isCosine =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit(1), word(0));
    Value result = arith::SelectOp::create(b, isCosine, cosine, sine);
    Value sign = arith::ShLIOp::create(b, bit(2), word(30));
    return arith::BitcastOp::create(
        b, emitter.vectorType(),
        arith::XOrIOp::create(b, arith::BitcastOp::create(b, words, result),
                              sign));
  }

  TargetAttr target;
};

/// What MLIR has good polynomials for. Its sine and cosine lose the bits of
/// large arguments, on scalars too.
bool hasPolynomial(StringRef name) {
  return llvm::is_contained(
      {math::AtanOp::getOperationName(), math::Atan2Op::getOperationName(),
       math::TanhOp::getOperationName(), math::LogOp::getOperationName(),
       math::Log2Op::getOperationName(), math::Log1pOp::getOperationName(),
       math::ErfOp::getOperationName(), math::ErfcOp::getOperationName(),
       math::AsinOp::getOperationName(), math::AcosOp::getOperationName(),
       math::ExpOp::getOperationName(), math::ExpM1Op::getOperationName(),
       math::CbrtOp::getOperationName()},
      name);
}

/// What is computed in f32 when it is on f16 or bf16.
bool isWidened(StringRef name) {
  return hasPolynomial(name) || name == math::SinOp::getOperationName() ||
         name == math::CosOp::getOperationName();
}

/// Whether a vector of `op` is a library call an element. So is `fmod`.
bool isLibraryCall(Operation *op) {
  if (isa<arith::RemFOp>(op))
    return isa<VectorType>(op->getResult(0).getType());
  if (!isa<math::MathDialect>(op->getDialect()) ||
      !isa<VectorType>(op->getResult(0).getType()))
    return false;
  // Counts of bits and classes of numbers are instructions.
  if (getElementTypeOrSelf(op->getResult(0).getType()).isInteger())
    return isa<math::IPowIOp>(op);
  return !isa<math::FmaOp, math::AbsFOp, math::SqrtOp, math::CopySignOp,
              math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp>(
      op);
}

/// What is left on vectors and is no instruction is slow, which the user of a
/// score program wants to know, once for each op of it.
void remarkLibraryCalls(ModuleOp module) {
  DenseSet<std::pair<OperationName, Location>> seen;
  module.walk([&](Operation *op) {
    if (!isLibraryCall(op) ||
        !seen.insert({op->getName(), op->getLoc()}).second)
      return;
    auto func = op->getParentOfType<func::FuncOp>();
    // The task of an entry speaks for the entry.
    StringRef name = func ? func.getName().split("_task_").first : StringRef();
    remark::missed(op->getLoc(), remark::RemarkOpts::name("library-call")
                                     .category("attn")
                                     .function(name))
        << (op->getName().getStringRef().str() +
            " is one library call for each pair of query and key");
  });
}

class ExpandMathPass : public attn::impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = module->getAttrOfType<TargetAttr>(kTargetAttrName);
    if (!target) {
      module.emitError() << "attn-cpu-expand-math needs the module attribute '"
                         << kTargetAttrName << "'";
      return signalPassFailure();
    }
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExp2, ExpandSine<math::SinOp>, ExpandSine<math::CosOp>>(
        &getContext(), target);
    populateExpandF64Patterns(patterns, target.getIsa());
    populateMathF32ExpansionPatterns(patterns, isWidened);
    populateMathPolynomialApproximationPatterns(patterns, hasPolynomial);
    // An expansion may use another function, as log1p does log.
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (int round = 0; round < 3; ++round)
      walkAndApplyPatterns(module, frozen);
    if (target.getIsa() == ISA::Portable) {
      RewritePatternSet split(&getContext());
      split.add<SplitFma>(&getContext());
      walkAndApplyPatterns(module, std::move(split));
    }
    remarkLibraryCalls(module);
  }
};

} // namespace
