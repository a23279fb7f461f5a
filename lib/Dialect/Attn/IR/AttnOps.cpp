//===- AttnOps.cpp - Verifiers, folds and canonicalisations ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers check rank, element type, extents and attributes in that order and
// name both values; labels are those of the ops' descriptions.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "MaskSyntax.h"
#include "OpChecks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace attn;

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnOps.cpp.inc"

//===----------------------------------------------------------------------===//
// split_heads, merge_heads
//===----------------------------------------------------------------------===//

namespace {

/// split_heads(merge_heads(x)) is x when the heads are the same.
struct SplitOfMerge : OpRewritePattern<SplitHeadsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SplitHeadsOp op,
                                PatternRewriter &rewriter) const override {
    auto merge = op.getInput().getDefiningOp<MergeHeadsOp>();
    if (!merge || merge.getInput().getType() != op.getResult().getType())
      return rewriter.notifyMatchFailure(op, "input is no merge of such heads");
    rewriter.replaceOp(op, merge.getInput());
    return success();
  }
};

} // namespace

void SplitHeadsOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<SplitOfMerge>(context);
}

OpFoldResult MergeHeadsOp::fold(FoldAdaptor) {
  auto split = getInput().getDefiningOp<SplitHeadsOp>();
  if (split && split.getInput().getType() == getResult().getType())
    return split.getInput();
  return {};
}

//===----------------------------------------------------------------------===//
// rope
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  auto type = cast<RankedTensorType>(getInput().getType());
  if (failed(verifyHeadDim(*this, "input", getInput(), "C6")))
    return failure();
  int64_t rotary = getRotaryDim(), headDim = type.getDimSize(3);
  if (rotary < 2 || rotary % 2 || rotary > headDim)
    return emitOpError() << "rotary_dim must be even and in [2, " << headDim
                         << "], got " << rotary << " (C1)";
  if (failed(verifyFinite(*this, "base", getBaseAttr().getValue(), true, "C2")))
    return failure();
  if (getOffset() && getPositionIds())
    return emitOpError("offset and position_ids exclude each other (C3)");
  if (!getCos() != !getSin())
    return emitOpError("cos and sin must be given together (C4)");
  for (Value table : {getCos(), getSin()}) {
    if (!table)
      continue;
    int64_t pairs = cast<RankedTensorType>(table.getType()).getDimSize(1);
    if (!ShapedType::isDynamic(pairs) && pairs != rotary / 2)
      return emitOpError() << "cos and sin must have " << rotary / 2
                           << " columns, got " << pairs << " (C4)";
  }
  return verifyExtents(*this);
}

//===----------------------------------------------------------------------===//
// qk, weighted_sum
//===----------------------------------------------------------------------===//

LogicalResult QKOp::verify() {
  Type query = getElementTypeOrSelf(getQuery().getType());
  Type key = getElementTypeOrSelf(getKey().getType());
  if (query != key && (query.isF64() || key.isF64()))
    return emitOpError() << "element types of query and key must be equal or "
                            "below f64, got "
                         << query << " and " << key << " (C1)";
  if (failed(verifyHeadDim(*this, "query", getQuery(), "C2")) ||
      failed(verifyHeadDim(*this, "key", getKey(), "C2")))
    return failure();
  return verifyExtents(*this);
}

LogicalResult AdditiveScoresOp::verify() {
  Type query = getElementTypeOrSelf(getQuery().getType());
  Type key = getElementTypeOrSelf(getKey().getType());
  Type weight = getElementTypeOrSelf(getWeight().getType());
  if (query.isF64() != key.isF64() || query.isF64() != weight.isF64())
    return emitOpError() << "element types of query, key and weight must be "
                            "equal or below f64, got "
                         << query << ", " << key << " and " << weight
                         << " (C1)";
  if (failed(verifyHeadDim(*this, "query", getQuery(), "C2")) ||
      failed(verifyHeadDim(*this, "key", getKey(), "C2")))
    return failure();
  return verifyExtents(*this);
}

LogicalResult WeightedSumOp::verify() {
  if (failed(verifyHeadDim(*this, "value", getValue(), "C4")))
    return failure();
  return verifyExtents(*this);
}

//===----------------------------------------------------------------------===//
// scale, softcap, bias
//===----------------------------------------------------------------------===//

LogicalResult ScaleOp::verify() {
  return verifyFinite(
      *this, "factor", getFactor(), /*positive=*/false, "C1",
      cast<FloatType>(getElementTypeOrSelf(getScores().getType())));
}

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().isExactlyValue(1.0) ? getScores() : Value();
}

namespace {

/// scale(scale(x, a), b) is scale(x, a * b) when the product neither overflows
/// nor vanishes.
struct ScaleOfScale : OpRewritePattern<ScaleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScaleOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getScores().getDefiningOp<ScaleOp>();
    if (!inner || !inner->hasOneUse())
      return rewriter.notifyMatchFailure(op, "scores come from no own scale");
    double a = inner.getFactor().convertToDouble();
    double b = op.getFactor().convertToDouble();
    double factor = a * b;
    if (!std::isfinite(factor) || (factor == 0.0 && a != 0.0 && b != 0.0))
      return rewriter.notifyMatchFailure(op, "product of factors overflows");
    rewriter.replaceOpWithNewOp<ScaleOp>(op, op.getType(), inner.getScores(),
                                         rewriter.getF64FloatAttr(factor));
    return success();
  }
};

} // namespace

void ScaleOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<ScaleOfScale>(context);
}

LogicalResult SoftcapOp::verify() {
  auto type = cast<FloatType>(getElementTypeOrSelf(getScores().getType()));
  APFloat inverse(1.0 / getCap().convertToDouble());
  if (failed(
          verifyFinite(*this, "cap", getCap(), /*positive=*/true, "C1", type)))
    return failure();
  return verifyFinite(*this, "1 / cap", inverse, /*positive=*/true, "C1", type);
}

LogicalResult BiasOp::verify() {
  int64_t rank = cast<RankedTensorType>(getBias().getType()).getRank();
  if (rank > 4)
    return emitOpError() << "bias must have rank 0 to 4, got " << rank
                         << " (C1)";
  return verifyExtents(*this);
}

//===----------------------------------------------------------------------===//
// score_map
//===----------------------------------------------------------------------===//

LogicalResult ScoreMapOp::verifyRegions() {
  Builder builder(getContext());
  Type element = getElementTypeOrSelf(getScores().getType());
  SmallVector<Type> arguments(5, builder.getIndexType());
  arguments[0] = element;
  return verifyProgram(*this, getScore(), "score", arguments, element, "C1-C3");
}

void ScoreMapOp::getAsmBlockArgumentNames(Region &region,
                                          OpAsmSetValueNameFn setName) {
  nameProgramArguments(region, setName);
}

//===----------------------------------------------------------------------===//
// masked_softmax
//===----------------------------------------------------------------------===//

LogicalResult MaskedSoftmaxOp::verify() {
  if (getMask()) {
    auto mask = cast<RankedTensorType>(getMask().getType());
    if (!mask.getElementType().isInteger(1))
      return emitOpError() << "mask must have element type i1, got "
                           << mask.getElementType() << " (C5)";
    if (mask.getRank() > 4)
      return emitOpError() << "mask must have rank 0 to 4, got "
                           << mask.getRank() << " (C5)";
  }
  bool aligned = getCausal() || getWindow();
  if (getAlignment().has_value() != aligned)
    return emitOpError() << (aligned ? "causal or window needs an alignment"
                                     : "alignment without causal or window")
                         << " (C1)";
  bool offset = getAlignment() == Alignment::Offset;
  if (offset != static_cast<bool>(getOffset()))
    return emitOpError() << (offset ? "alignment offset needs an offset operand"
                                    : "offset operand without alignment offset")
                         << " (C2)";
  if (getWindow()) {
    ArrayRef<int64_t> window = *getWindow();
    if (window.size() != 2)
      return emitOpError() << "window must hold two values, got "
                           << window.size() << " (C3)";
    for (int64_t side : window)
      if (side < -1)
        return emitOpError()
               << "window side must be at least -1, got " << side << " (C3)";
  }
  if (getPrefix() && !getCausal())
    return emitOpError() << "prefix without causal (C7)";
  if (getSink() && getNormalizer() != Normalizer::Softmax)
    return emitOpError() << "sink with normalizer "
                         << stringifyNormalizer(getNormalizer()) << " (C10)";
  if (getEmptyRow() != EmptyRow::Zero && getNormalizer() != Normalizer::Softmax)
    return emitOpError() << "empty_row(" << stringifyEmptyRow(getEmptyRow())
                         << ") with normalizer "
                         << stringifyNormalizer(getNormalizer()) << " (C11)";
  Value querySegments = getQuerySegments(), keySegments = getKeySegments();
  if (static_cast<bool>(querySegments) != static_cast<bool>(keySegments))
    return emitOpError() << (querySegments
                                 ? "query segments without key segments"
                                 : "key segments without query segments")
                         << " (C8)";
  if (querySegments) {
    Type query = getElementTypeOrSelf(querySegments.getType());
    Type key = getElementTypeOrSelf(keySegments.getType());
    if (query != key)
      return emitOpError() << "element type of query segments is " << query
                           << " but of key segments is " << key << " (C8)";
  }
  return verifyExtents(*this);
}

LogicalResult MaskedSoftmaxOp::verifyRegions() {
  Builder builder(getContext());
  SmallVector<Type> arguments(4, builder.getIndexType());
  return verifyProgram(*this, getVisible(), "visible", arguments,
                       builder.getI1Type(), "C6");
}

void MaskedSoftmaxOp::getAsmBlockArgumentNames(Region &region,
                                               OpAsmSetValueNameFn setName) {
  nameProgramArguments(region, setName);
}

//===----------------------------------------------------------------------===//
// probability_map
//===----------------------------------------------------------------------===//

LogicalResult ProbabilityMapOp::verifyRegions() {
  Builder builder(getContext());
  Type element = getElementTypeOrSelf(getWeights().getType());
  SmallVector<Type> arguments(5, builder.getIndexType());
  arguments[0] = element;
  return verifyProgram(*this, getProbability(), "probability", arguments,
                       element, "C1-C3");
}

void ProbabilityMapOp::getAsmBlockArgumentNames(Region &region,
                                                OpAsmSetValueNameFn setName) {
  nameProgramArguments(region, setName, "p");
}

//===----------------------------------------------------------------------===//
// dropout
//===----------------------------------------------------------------------===//

LogicalResult DropoutOp::verify() {
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate <= 1))
    return emitOpError() << "rate must be in [0, 1], got " << rate << " (C1)";
  return success();
}

OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return getRate().isZero() ? getWeights() : Value();
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

/// A remainder says nothing of a log-sum-exp that was rounded once more.
static LogicalResult verifyRemainder(Operation *op, Value lse, Value remainder,
                                     Type type, StringRef label) {
  for (auto [name, value] :
       {std::pair("log-sum-exp", lse), {"remainder", remainder}})
    if (Type element = getElementTypeOrSelf(value.getType()); element != type)
      return op->emitOpError() << name << " must have element type " << type
                               << " where there is a remainder, got " << element
                               << " (" << label << ")";
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyShaped(*this, "query", getQuery(), 4, "C1")) ||
      failed(verifyShaped(*this, "key", getKey(), 4, "C1", true)) ||
      failed(verifyShaped(*this, "value", getValue(), 4, "C1", true)) ||
      failed(verifyCache()))
    return failure();
  if (getInits().empty() || getInits().size() > 3)
    return emitOpError() << "must have one to three outputs, got "
                         << getInits().size() << " (C6)";
  if (failed(verifyShaped(*this, "output", getOutput(), 4, "C6")))
    return failure();
  if (Value lse = getLogSumExp()) {
    if (failed(verifyShaped(*this, "log-sum-exp", lse, 3, "C6")))
      return failure();
    Type type = getElementTypeOrSelf(lse.getType());
    if (!type.isF32() && !type.isF64())
      return emitOpError() << "log-sum-exp must have element type f32 or f64, "
                              "got "
                           << type << " (C6)";
  }
  if (Value remainder = getRemainder())
    if (failed(verifyShaped(*this, "remainder", remainder, 3, "C6")) ||
        failed(verifyRemainder(*this, getLogSumExp(), remainder, getScoreType(),
                               "C6")))
      return failure();
  Type value = getElementTypeOrSelf(getValue().getType());
  Type output = getElementTypeOrSelf(getOutput().getType());
  if (value != output && !value.isInteger())
    return emitOpError() << "element type of output is " << output
                         << " but of value is " << value << " (C6)";
  if (getSink() && failed(verifyShaped(*this, "sink", getSink(), 1, "C11")))
    return failure();
  if (Value weight = getAdditive()) {
    auto type = dyn_cast<ShapedType>(weight.getType());
    int64_t rank = type && type.hasRank() && type.getRank() == 2 ? 2 : 1;
    if (failed(verifyShaped(*this, "additive", weight, rank, "C15")))
      return failure();
  }
  if (failed(verifyHeadDim(*this, "query", getQuery(), "C2")) ||
      failed(verifyHeadDim(*this, "key", getKey(), "C2")) ||
      failed(verifyHeadDim(*this, "value", getValue(), "C2")) ||
      failed(verifyRotation(*this, getQueryCos(), "query_cos", getQuerySin(),
                            "query_sin", getQueryLayoutAttr(), getQuery(),
                            "C16")) ||
      failed(verifyExtents(*this)))
    return failure();
  if (failed(verifyFinite(*this, "scale", getScale(), false, "C7",
                          getScoreType())))
    return failure();
  if (!getOffsets().empty() && getOffsets().size() != 4)
    return emitOpError() << "offsets must be none or four, got "
                         << getOffsets().size() << " (C8)";
  if (getUnnormalized() && getLogSumExp())
    return emitOpError("unnormalized weights have no log-sum-exp (C14)");
  if (getUnnormalized() && getSink())
    return emitOpError("unnormalized weights have no sink (C14)");
  return verifyDestination(*this, "C10");
}

LogicalResult AttentionOp::verifyRegions() {
  if (getUnnormalized() && !getProbability().empty())
    return emitOpError("unnormalized weights have no probability region (C14)");
  return verifyPrograms(*this, getScore(), getMask(), &getProbability(),
                        getScoreType(), "C9");
}

FloatType AttentionOp::getScoreType() { return getScoreTypeOf(getQuery()); }

void AttentionOp::getAsmBlockArgumentNames(Region &region,
                                           OpAsmSetValueNameFn setName) {
  nameProgramArguments(region, setName,
                       &region == &getProbability() ? "p" : "score");
}

void AttentionOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationEffects(*this, effects);
}

//===----------------------------------------------------------------------===//
// pack
//===----------------------------------------------------------------------===//

LogicalResult PackOp::verify() {
  bool panels = isInPanels(getDest());
  if (failed(verifyShaped(*this, "source", getSource(), 2, "C1", true)) ||
      failed(verifyShaped(*this, "dest", getDest(), panels ? 3 : 2, "C1")))
    return failure();
  auto source = cast<ShapedType>(getSource().getType());
  auto dest = cast<ShapedType>(getDest().getType());
  for (int64_t d = panels ? 0 : 1; d < dest.getRank(); ++d)
    if (dest.isDynamicDim(d))
      return emitOpError() << "dest must have static extents, got " << dest
                           << " (C2)";
  SmallVector<int64_t> extents(dest.getShape());
  if (panels)
    extents = {extents[1], extents[0] * extents[2]};
  for (int64_t d : {0, 1})
    if (!source.isDynamicDim(d) && !ShapedType::isDynamic(extents[d]) &&
        source.getDimSize(d) > extents[d])
      return emitOpError() << "extent " << d << " of source is "
                           << source.getDimSize(d) << ", more than of dest, "
                           << extents[d] << " (C2)";
  bool isInteger = source.getElementType().isInteger();
  if (isInteger != static_cast<bool>(getScales()))
    return emitOpError() << (isInteger ? "source of i8 needs scales"
                                       : "source of floats has no scales")
                         << " (C3)";
  if (getScales() &&
      failed(verifyShaped(*this, "scales", getScales(), 1, "C3")))
    return failure();
  return verifyDestination(*this, "C1");
}

void PackOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationEffects(*this, effects);
}

//===----------------------------------------------------------------------===//
// online_attention
//===----------------------------------------------------------------------===//

MutableOperandRange OnlineAttentionOp::getDpsInitsMutable() {
  return MutableOperandRange(*this, getAccMutable().getOperandNumber(), 3);
}

LogicalResult OnlineAttentionOp::verify() {
  int64_t rank = isInPanels(getQuery()) ? 3 : 2;
  if (failed(verifyShaped(*this, "query", getQuery(), rank, "C1")) ||
      failed(verifyShaped(*this, "key", getKey(), 2, "C1", true)) ||
      failed(verifyShaped(*this, "value", getValue(), rank, "C1", true)) ||
      failed(verifyShaped(*this, "acc", getAcc(), 2, "C1")) ||
      failed(verifyShaped(*this, "max", getMax(), 1, "C1")) ||
      failed(verifyShaped(*this, "sum", getSum(), 1, "C1")) ||
      (rank == 2 && failed(verifyHeadDim(*this, "query", getQuery(), "C2"))) ||
      failed(verifyHeadDim(*this, "key", getKey(), "C2")) ||
      (getAdditive() &&
       failed(verifyShaped(*this, "additive", getAdditive(), 1, "C9"))) ||
      failed(verifyCache()) || failed(verifyExtents(*this)))
    return failure();
  if (getHeadRows() && *getHeadRows() < 1)
    return emitOpError() << "head_rows must be positive, got " << *getHeadRows()
                         << " (C6)";
  if (getScale() && failed(verifyFinite(*this, "scale", *getScale(), false,
                                        "C7", getScoreType())))
    return failure();
  if (getAdditive() && isPaired())
    return emitOpError("additive scores take a query of rank 2 (C9)");
  for (Value rows : getUpcoming())
    if (failed(verifyShaped(*this, "upcoming", rows, 2, "C8", true)) ||
        failed(verifyHeadDim(*this, "upcoming", rows, "C8")))
      return failure();
  if (isPaired()) {
    auto query = cast<ShapedType>(getQuery().getType());
    auto key = cast<ShapedType>(getKey().getType());
    if (query.getDimSize(2) != 2 || query.isDynamicDim(0) ||
        2 * query.getDimSize(0) != key.getDimSize(1))
      return emitOpError() << "query must hold pairs of the features of key, "
                              "got "
                           << query << " and " << key << " (C2)";
  }
  return verifyDestination(*this, "C1");
}

LogicalResult OnlineAttentionOp::verifyRegions() {
  if (getUnnormalized() && !getProbability().empty())
    return emitOpError("unnormalized weights have no probability region (C5)");
  return verifyPrograms(*this, getScore(), getMask(), &getProbability(),
                        getScoreType(), "C5");
}

FloatType OnlineAttentionOp::getScoreType() {
  return getScoreTypeOf(getQuery());
}

void OnlineAttentionOp::getAsmBlockArgumentNames(Region &region,
                                                 OpAsmSetValueNameFn setName) {
  nameProgramArguments(region, setName,
                       &region == &getProbability() ? "p" : "score");
}

void OnlineAttentionOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationEffects(*this, effects);
}

//===----------------------------------------------------------------------===//
// merge_partials
//===----------------------------------------------------------------------===//

LogicalResult MergePartialsOp::verify() {
  if (getInits().empty() || getInits().size() > 3)
    return emitOpError() << "must have one to three outputs, got "
                         << getInits().size() << " (C1)";
  if (failed(verifyShaped(*this, "acc", getAcc(), 3, "C1")) ||
      failed(verifyShaped(*this, "max", getMax(), 2, "C1")) ||
      failed(verifyShaped(*this, "sum", getSum(), 2, "C1")) ||
      failed(verifyShaped(*this, "output", getOutput(), 2, "C1")))
    return failure();
  if (Value lse = getLogSumExp())
    if (failed(verifyShaped(*this, "log-sum-exp", lse, 1, "C1")))
      return failure();
  if (Value remainder = getRemainder())
    if (failed(verifyShaped(*this, "remainder", remainder, 1, "C1")) ||
        failed(verifyRemainder(*this, getLogSumExp(), remainder,
                               getElementTypeOrSelf(getSum().getType()), "C5")))
      return failure();
  if (failed(verifyExtents(*this)))
    return failure();
  if (getUnnormalized() && (getLogSumExp() || getSink()))
    return emitOpError() << "unnormalized partials have no "
                         << (getSink() ? "sink" : "log-sum-exp") << " (C4)";
  return verifyDestination(*this, "C1");
}

void MergePartialsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationEffects(*this, effects);
}
