//===- AttentionChain.cpp - The ops that attention consists of ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks back from each weighted sum, or from what is asked of weights, over
// programs on weights, the softmax and the score ops to the product of queries
// and keys.
//
//===----------------------------------------------------------------------===//

#include "AttentionChain.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attn;

std::pair<Cached, std::optional<Cached>>
attn::readCaches(const AttentionChain &chain) {
  Cached key(chain.key());
  if (!chain.value())
    return {key, std::nullopt};
  Cached value(chain.value());
  auto pageRows = [](const Cached &cached) {
    return cast<RankedTensorType>(cached.rows.getType()).getDimSize(2);
  };
  if (key.table != value.table ||
      (key.table && pageRows(key) != pageRows(value))) {
    key.keepPages();
    value.keepPages();
  }
  return {key, value};
}

static void remarkMissed(Operation *op, const Twine &reason) {
  remark::missed(op->getLoc(),
                 remark::RemarkOpts::name("attention-not-fused")
                     .category("attn")
                     .function(op->getParentOfType<func::FuncOp>().getName()))
      << remark::reason("{0}", reason.str());
}

/// Whether fused kernels can read elements of `type`, which they widen to the
/// type of scores.
static bool isKernelType(Type type, Type scoreType) {
  return isa<Float32Type, Float16Type, BFloat16Type>(type) ||
         (type.isF64() && scoreType.isF64());
}

/// The first op of a program that does not compute with scalars alone, or null.
static Operation *findUnfusible(Region &program) {
  Operation *culprit = nullptr;
  program.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (!type.isIntOrIndexOrFloat()) {
        culprit = op;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return culprit;
}

/// Whether all that reads `weights`, perhaps through ops on weights, are
/// statistics and at most one weighted sum, which `sums` counts.
static bool isReadByAttention(Value weights, unsigned &sums) {
  return llvm::all_of(weights.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<ProbabilityMapOp, DropoutOp>(user))
      return isReadByAttention(user->getResult(0), sums);
    if (isa<WeightedSumOp>(user))
      return use.getOperandNumber() == 0 && ++sums == 1;
    return isa<WeightStatsOp>(user);
  });
}

FailureOr<AttentionChain> attn::matchAttentionChain(Operation *op) {
  auto missed = [&](const Twine &reason) {
    remarkMissed(op, reason);
    return failure();
  };
  AttentionChain chain;
  chain.root = op;
  Value weights = op->getOperand(0);
  while (!chain.softmax) {
    Operation *producer = weights.getDefiningOp();
    // As prob_mod of ONNX: a hidden pair's new weight may be any number, and
    // then all pairs count.
    if (isa_and_nonnull<ScoreMapOp>(producer))
      return missed("the weights pass through 'attn.score_map', which gives "
                    "hidden pairs weights too; attn.probability_map does not");
    if (!isa_and_nonnull<MaskedSoftmaxOp, ProbabilityMapOp, DropoutOp>(
            producer))
      return missed("the weights do not come from attn.masked_softmax");
    unsigned sums = 0;
    if (!isReadByAttention(producer->getResult(0), sums))
      return missed("the attention weights have other uses, so they must exist "
                    "in memory");
    if ((chain.softmax = dyn_cast<MaskedSoftmaxOp>(producer)))
      break;
    if (auto map = dyn_cast<ProbabilityMapOp>(producer))
      if (Operation *culprit = findUnfusible(map.getProbability()))
        return missed("the program on weights uses '" +
                      culprit->getName().getStringRef() +
                      "', which is no scalar op");
    chain.weightOps.push_back(producer);
    weights = producer->getOperand(0);
  }
  if (chain.hasNaNRows() && (!chain.weightOps.empty() || !chain.value())) {
    Operation *reader = chain.weightOps.empty() ? op : chain.weightOps.back();
    return missed("'" + reader->getName().getStringRef() +
                  "' reads rows of NaN, which empty_row(nan) asks for; fused, "
                  "they are made in the output of a weighted sum alone");
  }
  std::reverse(chain.weightOps.begin(), chain.weightOps.end());
  Value scores = chain.softmax.getScores();
  while (true) {
    Operation *producer = scores.getDefiningOp();
    if (!producer)
      return missed("the scores are an argument, not a product of attn.qk");
    if (!producer->hasOneUse())
      return missed("the scores have other uses, so they must exist in memory");
    if (isa<QKOp, AdditiveScoresOp>(producer)) {
      chain.product = producer;
      break;
    }
    if (!isa<ScaleOp, SoftcapOp, BiasOp, ScoreMapOp>(producer))
      return missed("the scores pass through '" +
                    producer->getName().getStringRef() +
                    "', which is no score op");
    if (auto map = dyn_cast<ScoreMapOp>(producer))
      if (Operation *culprit = findUnfusible(map.getScore()))
        return missed("the score program uses '" +
                      culprit->getName().getStringRef() +
                      "', which is no scalar op");
    chain.scoreOps.push_back(producer);
    scores = producer->getOperand(0);
  }
  std::reverse(chain.scoreOps.begin(), chain.scoreOps.end());
  auto key = cast<RankedTensorType>(chain.key().getType());
  if (Value values = chain.value()) {
    auto value = cast<RankedTensorType>(values.getType());
    if (!key.isDynamicDim(1) && !value.isDynamicDim(1) &&
        key.getDimSize(1) != value.getDimSize(1))
      return missed("key and value have different head counts");
  }
  if (Operation *culprit = findUnfusible(chain.softmax.getVisible()))
    return missed("the mask program uses '" +
                  culprit->getName().getStringRef() +
                  "', which is no scalar op");
  Value operands[] = {chain.query(), chain.key(), chain.softmax.getScores(),
                      chain.value()};
  Type scoreType = getElementTypeOrSelf(operands[2].getType());
  for (Value operand : operands) {
    if (!operand)
      continue;
    Type element = getElementTypeOrSelf(operand.getType());
    if (isKernelType(element, scoreType))
      continue;
    std::string name;
    llvm::raw_string_ostream(name) << element;
    return missed(
        "fused kernels compute in " +
        Twine(element.isF64() ? "f32 where scores are f32" : "f32 or f64") +
        ", not in " + name);
  }
  return chain;
}

void attn::remarkFused(const AttentionChain &chain) {
  std::string ops;
  auto [key, value] = readCaches(chain);
  if (key.table)
    ops += "attn.gather_pages, ";
  if (key.scale || (value && value->scale))
    ops += "attn.dequantize, ";
  ops += chain.product->getName().getStringRef();
  for (Operation *op : chain.scoreOps)
    ops += ", " + op->getName().getStringRef().str();
  MaskedSoftmaxOp softmax = chain.softmax;
  SmallVector<StringRef> masks;
  if (softmax.getCausal())
    masks.push_back("causal");
  if (softmax.getWindow())
    masks.push_back("window");
  if (softmax.getPrefix())
    masks.push_back("prefix");
  if (softmax.getLengths())
    masks.push_back("lengths");
  if (softmax.getQuerySegments())
    masks.push_back("segments");
  if (softmax.getMask())
    masks.push_back("a mask tensor");
  if (!softmax.getVisible().empty())
    masks.push_back("a mask program");
  ops += ", attn.masked_softmax (" +
         (masks.empty() ? "no mask" : llvm::join(masks, ", ")) +
         (softmax.getSink() ? ", a sink" : "") +
         (softmax.getNormalizer() == Normalizer::Sigmoid ? ", sigmoid" : "") +
         (chain.hasNaNRows() ? ", empty rows NaN" : "") + ")";
  for (Operation *op : chain.weightOps)
    ops += ", " + op->getName().getStringRef().str();
  Operation *op = chain.root;
  ops += " and " + op->getName().getStringRef().str();
  StringRef what = chain.value() ? "attention" : "weight statistics";
  remark::passed(op->getLoc(),
                 remark::RemarkOpts::name("attention-fused")
                     .category("attn")
                     .function(op->getParentOfType<func::FuncOp>().getName()))
      << (what + " fused: " + ops + " became one kernel").str();
}
