//===- AttentionOps.cpp - Attention of ONNX ---------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows the function body of the operator (operator sets 23 to 25), with
// sums, softmax and masks as the dialect has them: in f32 for narrower types,
// and hidden pairs absent instead of far below. `qk_matmul_output` is a matrix
// of all scores, so whoever reads it has attention that does not fuse.
//
//===----------------------------------------------------------------------===//

#include "ImportFunctions.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include <cmath>

using namespace mlir;
using namespace attn;

namespace {

enum Input { Q, K, V, Mask, PastKey, PastValue, NonpadLengths };
enum Output { Y, PresentKey, PresentValue, QKOutput };

/// What `qk_matmul_output` is.
enum class QKMode { Scaled = 0, Capped = 1, Masked = 2, Weights = 3 };

class AttentionImporter {
public:
  explicit AttentionImporter(Node &node) : node(node), build(node.build) {}

  LogicalResult run();

private:
  LogicalResult readAttributes();
  LogicalResult checkInputs();
  LogicalResult checkHeads();
  LogicalResult readMask();
  void readOffset();
  Value concat(Value past, Value added);
  /// Keys that the mask leaves out at its end are hidden. Its last extent is
  /// static.
  Value padMask(Value mask);
  /// `scores` with -inf where a pair is hidden.
  Value hidePairs(Value scores);

  Node &node;
  TensorLoops &build;

  // Attributes.
  std::optional<int64_t> queryHeads, keyHeads, softmaxPrecision;
  std::optional<double> scale;
  double softcap = 0.0;
  bool isCausal = false;
  int64_t left = -1, right = -1;
  int64_t mode = 0;

  // Values. All have rank 4.
  Value query, key, value;
  Value bias, mask;
  /// Where row 0 lies among the keys: null for 0, an index, or `[B]`.
  Value offset;
};

/// Whether the tensor holds numbers that scores can be computed from.
bool isComputeFloat(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

LogicalResult AttentionImporter::readAttributes() {
  queryHeads = node.getInt("q_num_heads");
  keyHeads = node.getInt("kv_num_heads");
  softmaxPrecision = node.getInt("softmax_precision");
  scale = node.getFloat("scale");
  softcap = node.getFloat("softcap", 0.0);
  isCausal = node.getFlag("is_causal");
  mode = node.getInt("qk_matmul_output_mode", 0);
  if (node.getOpset() >= 25) {
    left = node.getInt("left_window_size", -1);
    right = node.getInt("right_window_size", -1);
  }
  if (failed(node.checkAttributes()))
    return failure();
  if (softcap < 0)
    return node.error() << "softcap must not be negative, got " << softcap;
  if (mode < 0 || mode > 3)
    return node.error() << "qk_matmul_output_mode must be from 0 to 3, got "
                        << mode;
  if (left < -1 || right < -1)
    return node.error() << "window sizes must be at least -1, got " << left
                        << " and " << right;
  // Every precision that can be asked for is met by f32, or f64 for f64.
  constexpr int32_t kPrecisions[] = {
      onnx::TensorProto::FLOAT, onnx::TensorProto::FLOAT16,
      onnx::TensorProto::DOUBLE, onnx::TensorProto::BFLOAT16};
  if (softmaxPrecision && !llvm::is_contained(kPrecisions, *softmaxPrecision))
    return node.error() << "softmax_precision must be 1, 10, 11 or 16, got "
                        << *softmaxPrecision;
  return success();
}

LogicalResult AttentionImporter::checkInputs() {
  for (unsigned i : {Q, K, V})
    if (failed(node.expectRank(i, {3, 4})) || failed(node.expectFloat(i)))
      return failure();
  int64_t rank = node.type(Q).getRank();
  for (unsigned i : {K, V})
    if (failed(node.expectRank(i, rank)))
      return failure();
  if (node.type(Q).getElementType() != node.type(K).getElementType())
    return node.error() << "Q and K must have one element type, got "
                        << stringifyType(node.type(Q)) << " and "
                        << stringifyType(node.type(K));
  if (rank == 3 && !(queryHeads && keyHeads))
    return node.error() << "inputs of rank 3 need q_num_heads and kv_num_heads";
  if (rank == 4 && (queryHeads || keyHeads) && node.getOpset() >= 25)
    return node.error()
           << "inputs of rank 4 must have no q_num_heads or kv_num_heads";
  for (unsigned i : {K, V})
    if (failed(node.expectEqual(Q, 0, i, 0)))
      return failure();

  if (!node.input(PastKey) != !node.input(PastValue))
    return node.error() << "past_key and past_value must be given together";
  if (node.input(PastKey) && node.input(NonpadLengths))
    return node.error()
           << "nonpad_kv_seqlen must not be given with past_key and past_value";
  for (auto [past, added] : {std::pair(PastKey, K), std::pair(PastValue, V)}) {
    if (!node.input(past))
      continue;
    if (failed(node.expectRank(past, 4)))
      return failure();
    if (node.type(past).getElementType() != node.type(added).getElementType())
      return node.error() << node.inputName(past) << " and "
                          << node.inputName(added)
                          << " must have one element type, got "
                          << stringifyType(node.type(past)) << " and "
                          << stringifyType(node.type(added));
  }
  if (Value lengths = node.input(NonpadLengths)) {
    if (failed(node.expectRank(NonpadLengths, 1)) ||
        failed(node.expectEqual(NonpadLengths, 0, Q, 0)))
      return failure();
    if (!getElementTypeOrSelf(lengths.getType()).isInteger(64))
      return node.error() << "nonpad_kv_seqlen must have i64 elements, got "
                          << stringifyType(lengths.getType());
  }
  return success();
}

/// Extents that the dialect's ops insist on, by the names of this operator.
LogicalResult AttentionImporter::checkHeads() {
  auto shape = [](Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getShape();
  };
  auto known = [](int64_t size) { return !ShapedType::isDynamic(size); };
  for (auto [name, tensor] :
       {std::pair("Q", query), std::pair("K", key), std::pair("V", value)}) {
    if (!known(shape(tensor)[3]) || shape(tensor)[3] <= 0)
      return node.error() << "the head size of " << name
                          << " must be a known positive number, got "
                          << stringifyType(tensor.getType());
  }
  if (shape(query)[3] != shape(key)[3])
    return node.error() << "head sizes of Q and K must be equal, got "
                        << shape(query)[3] << " and " << shape(key)[3];
  int64_t hq = shape(query)[1], hk = shape(key)[1], hv = shape(value)[1];
  if (known(hk) && known(hv) && hk != hv)
    return node.error() << "K and V must have equal numbers of heads, got "
                        << hk << " and " << hv;
  if (known(hk) && hk <= 0)
    return node.error() << "the number of heads of K must be positive, got "
                        << hk;
  if (known(hq) && known(hk) && hq % hk != 0)
    return node.error() << "the number of heads of Q must be a multiple of "
                        << "that of K, got " << hq << " and " << hk;
  int64_t sk = shape(key)[2], sv = shape(value)[2];
  if (known(sk) && known(sv) && sk != sv)
    return node.error() << "sequence lengths of K and V must be equal, got "
                        << sk << " and " << sv;
  return success();
}

Value AttentionImporter::concat(Value past, Value added) {
  return tensor::ConcatOp::create(build.builder, build.loc, /*dim=*/2,
                                  ValueRange{past, added});
}

Value AttentionImporter::padMask(Value mask) {
  auto type = cast<RankedTensorType>(mask.getType());
  int64_t last = type.getRank() - 1, width = type.getDimSize(last);
  int64_t keys = cast<RankedTensorType>(key.getType()).getDimSize(2);
  SmallVector<OpFoldResult> low(type.getRank(), build.builder.getIndexAttr(0));
  SmallVector<OpFoldResult> high = low;
  if (ShapedType::isDynamic(keys))
    high[last] = build.sub(build.dim(key, 2), build.index(width));
  else
    high[last] = build.builder.getIndexAttr(keys - width);
  SmallVector<int64_t> shape(type.getShape());
  shape[last] = keys;
  Type element = type.getElementType();
  Value hidden =
      element.isInteger(1)
          ? arith::ConstantIntOp::create(build.builder, build.loc, 0, 1)
                .getResult()
          : build.constant(element, -std::numeric_limits<double>::infinity());
  return tensor::PadOp::create(build.builder, build.loc,
                               RankedTensorType::get(shape, element), mask, low,
                               high, hidden, /*nofold=*/false);
}

LogicalResult AttentionImporter::readMask() {
  Value input = node.input(Mask);
  if (!input)
    return success();
  auto type = node.type(Mask);
  Type element = type.getElementType();
  if (!element.isInteger(1) && !isComputeFloat(element))
    return node.error() << "attn_mask must have boolean or float elements, got "
                        << stringifyType(type);
  if (type.getRank() < 1 || type.getRank() > 4)
    return node.error() << "rank of attn_mask must be from 1 to 4, got "
                        << stringifyType(type);
  auto queryType = cast<RankedTensorType>(query.getType());
  int64_t keys = cast<RankedTensorType>(key.getType()).getDimSize(2);
  int64_t width = type.getShape().back();
  // An extent of 1 is padded as well, not broadcast.
  if (!ShapedType::isDynamic(width) &&
      (ShapedType::isDynamic(keys) || width < keys))
    input = padMask(input);
  // Right-aligned to the scores.
  int64_t scores[] = {queryType.getDimSize(0), queryType.getDimSize(1),
                      queryType.getDimSize(2), keys};
  auto shape = cast<RankedTensorType>(input.getType()).getShape();
  for (auto [d, size] : llvm::enumerate(shape)) {
    int64_t full = scores[4 - shape.size() + d];
    if (!ShapedType::isDynamic(size) && !ShapedType::isDynamic(full) &&
        size != 1 && size != full)
      return node.error() << "dimension " << d << " of attn_mask must be 1 or "
                          << full << ", got " << size;
  }
  (element.isInteger(1) ? mask : bias) = input;
  return success();
}

void AttentionImporter::readOffset() {
  if (!isCausal && left < 0 && right < 0)
    return;
  if (Value past = node.input(PastKey)) {
    offset = build.dim(past, 2);
  } else if (Value lengths = node.input(NonpadLengths)) {
    Value queries = build.dim(query, 2);
    Type i64 = build.builder.getI64Type();
    offset = build.map(build.sizes(lengths), i64, lengths, [&](LoopBody &b) {
      Value rows = arith::IndexCastOp::create(b.builder, b.loc, i64, queries);
      return arith::SubIOp::create(b.builder, b.loc, b.inputs[0], rows)
          .getResult();
    });
  }
}

Value AttentionImporter::hidePairs(Value scores) {
  if (!isCausal && left < 0 && right < 0 && !node.input(NonpadLengths) && !mask)
    return scores;
  Type type = getElementTypeOrSelf(scores.getType());
  return build.map(
      build.sizes(scores), type, scores, [&](LoopBody &b) -> Value {
        Value batch = b.loop(0), i = b.loop(2), j = b.loop(3);
        Value visible = arith::ConstantIntOp::create(b.builder, b.loc, 1, 1);
        auto require = [&](arith::CmpIPredicate predicate, Value x, Value y) {
          visible = b.logicalAnd(visible, b.compare(predicate, x, y));
        };
        Value row = i;
        if (offset) {
          bool isTensor = isa<RankedTensorType>(offset.getType());
          Value shift = isTensor ? b.toIndex(b.load(offset, batch)) : offset;
          row = b.add(row, shift);
        }
        if (isCausal)
          require(arith::CmpIPredicate::sle, j, row);
        if (left >= 0)
          require(arith::CmpIPredicate::sge, j, b.sub(row, b.index(left)));
        if (right >= 0)
          require(arith::CmpIPredicate::sle, b.sub(j, b.index(right)), row);
        if (Value lengths = node.input(NonpadLengths))
          require(arith::CmpIPredicate::slt, j,
                  b.toIndex(b.load(lengths, batch)));
        if (mask)
          visible = b.logicalAnd(
              visible, b.loadBroadcast(mask, {batch, b.loop(1), i, j}));
        return b.select(
            visible, b.inputs[0],
            b.constant(type, -std::numeric_limits<double>::infinity()));
      });
}

LogicalResult AttentionImporter::run() {
  if (failed(readAttributes()) || failed(checkInputs()))
    return failure();
  query = node.input(Q);
  key = node.input(K);
  value = node.input(V);
  bool isPacked = node.type(Q).getRank() == 3;
  if (isPacked) {
    query = splitHeads(node, Q, *queryHeads);
    key = query ? splitHeads(node, K, *keyHeads) : Value();
    value = key ? splitHeads(node, V, *keyHeads) : Value();
    if (!value)
      return failure();
  }
  for (auto [past, added] :
       {std::pair(PastKey, &key), std::pair(PastValue, &value)}) {
    if (!node.input(past))
      continue;
    auto pastType = node.type(past);
    auto addedType = cast<RankedTensorType>(added->getType());
    for (int64_t d : {0, 1, 3})
      if (!pastType.isDynamicDim(d) && !addedType.isDynamicDim(d) &&
          pastType.getDimSize(d) != addedType.getDimSize(d))
        return node.error()
               << "dimension " << d << " of " << node.inputName(past)
               << " must be " << addedType.getDimSize(d) << ", got "
               << pastType.getDimSize(d);
    *added = concat(node.input(past), *added);
  }
  if (failed(checkHeads()) || failed(readMask()))
    return failure();
  readOffset();

  OpBuilder &builder = build.builder;
  Location loc = build.loc;
  auto output = [&](QKMode which, Value scores) {
    if (static_cast<int64_t>(which) != mode || !node.wants(QKOutput))
      return success();
    return node.setOutput(
        QKOutput, build.castElements(scores, node.type(Q).getElementType()));
  };
  int64_t size = cast<RankedTensorType>(query.getType()).getDimSize(3);
  Value scores = QKOp::create(builder, loc, query, key);
  scores = ScaleOp::create(
      builder, loc, scores,
      builder.getF64FloatAttr(scale.value_or(1.0 / std::sqrt(double(size)))));
  if (failed(output(QKMode::Scaled, scores)))
    return failure();
  if (softcap > 0)
    scores = SoftcapOp::create(builder, loc, scores,
                               builder.getF64FloatAttr(softcap));
  if (failed(output(QKMode::Capped, scores)))
    return failure();
  if (bias)
    scores = BiasOp::create(builder, loc, scores, bias);
  if (static_cast<QKMode>(mode) == QKMode::Masked && node.wants(QKOutput) &&
      failed(output(QKMode::Masked, hidePairs(scores))))
    return failure();

  AlignmentAttr alignment;
  if (isCausal || left >= 0 || right >= 0)
    alignment = AlignmentAttr::get(
        builder.getContext(), offset ? Alignment::Offset : Alignment::TopLeft);
  DenseI64ArrayAttr window;
  if (left >= 0 || right >= 0)
    window = builder.getDenseI64ArrayAttr({left, right});
  Value weights = MaskedSoftmaxOp::create(
      builder, loc, scores.getType(), scores, offset, /*prefix=*/Value(),
      node.input(NonpadLengths), /*query_segments=*/Value(),
      /*key_segments=*/Value(), mask, /*sink=*/Value(), isCausal, alignment,
      window);
  if (failed(output(QKMode::Weights, weights)))
    return failure();

  // V may have a type of its own; what is computed has that of Q.
  Type type = node.type(Q).getElementType();
  Value summed = value;
  if (type.isF64())
    summed = build.castElements(value, type);
  Value result = WeightedSumOp::create(builder, loc, weights, summed);
  result = build.castElements(result, type);
  if (isPacked)
    result = MergeHeadsOp::create(builder, loc, result);
  if (failed(node.setOutput(Y, result)) ||
      failed(node.setOutput(PresentKey, key)) ||
      failed(node.setOutput(PresentValue, value)))
    return failure();
  return success();
}

} // namespace

LogicalResult attn::importAttention(Node &node) {
  return AttentionImporter(node).run();
}
