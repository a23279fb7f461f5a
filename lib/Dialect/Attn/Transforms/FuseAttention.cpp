//===- FuseAttention.cpp - The chain becomes attn.attention -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks back from each weighted sum over programs on weights, the softmax and
// the score ops to the product of queries and keys. The order of the score ops
// is kept: they become the score program one after the other, and ops on
// weights the probability program. Keywords and tensors that hide pairs become
// the mask program. A sigmoid needs no other pair: it and what comes after it
// end the score program, whose results then are the weights.
//
//===----------------------------------------------------------------------===//

#include "InlineProgram.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "attn/Dialect/Attn/IR/DropoutProgram.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace attn {
#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Keys or values as they lie in a cache: pages of a block table, integers with
/// scales.
struct Cached {
  explicit Cached(Value operand) : whole(operand) {
    if (auto pages = operand.getDefiningOp<GatherPagesOp>()) {
      table = pages.getTable();
      operand = pages.getPages();
    }
    readIntegers(operand);
  }

  /// Leaves the gathering of pages to its op: the scales of integers in pages
  /// lie in pages too.
  void keepPages() {
    table = scale = {};
    readIntegers(whole);
  }

  Value whole, rows, table, scale;

private:
  void readIntegers(Value operand) {
    rows = operand;
    if (auto integers = operand.getDefiningOp<DequantizeOp>()) {
      scale = integers.getScale();
      rows = integers.getInput();
    }
  }
};

/// `qk` or `additive_scores`, score ops in order, `masked_softmax`, ops on
/// weights in order, `weighted_sum`.
struct Chain {
  Operation *product = nullptr;
  SmallVector<Operation *> scoreOps;
  MaskedSoftmaxOp softmax;
  SmallVector<Operation *> weightOps;
  WeightedSumOp weightedSum;

  Value query() const { return product->getOperand(0); }
  Value key() const { return product->getOperand(1); }
  /// The weight of additive scores, or null.
  Value additive() const {
    return isa<AdditiveScoresOp>(product) ? product->getOperand(2) : Value();
  }
  bool hasSigmoid() { return softmax.getNormalizer() == Normalizer::Sigmoid; }
};

/// Keys and values of `chain`. Pages are those of one block table and one size.
std::pair<Cached, Cached> readCaches(const Chain &chain) {
  WeightedSumOp sum = chain.weightedSum;
  Cached key(chain.key()), value(sum.getValue());
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

void remarkMissed(WeightedSumOp op, const Twine &reason) {
  remark::missed(op.getLoc(),
                 remark::RemarkOpts::name("attention-not-fused")
                     .category("attn")
                     .function(op->getParentOfType<func::FuncOp>().getName()))
      << remark::reason("{0}", reason.str());
}

/// Whether fused kernels can read elements of `type`, which they widen to the
/// type of scores.
bool isKernelType(Type type, Type scoreType) {
  return isa<Float32Type, Float16Type, BFloat16Type>(type) ||
         (type.isF64() && scoreType.isF64());
}

/// The first op of a program that does not compute with scalars alone, or null.
Operation *findUnfusible(Region &program) {
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

/// Says what became one kernel, in the order of evaluation.
void remarkPassed(const Chain &chain) {
  std::string ops;
  auto [key, value] = readCaches(chain);
  if (key.table)
    ops += "attn.gather_pages, ";
  if (key.scale || value.scale)
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
         ")";
  for (Operation *op : chain.weightOps)
    ops += ", " + op->getName().getStringRef().str();
  ops += " and attn.weighted_sum";
  WeightedSumOp op = chain.weightedSum;
  remark::passed(op.getLoc(),
                 remark::RemarkOpts::name("attention-fused")
                     .category("attn")
                     .function(op->getParentOfType<func::FuncOp>().getName()))
      << ("attention fused: " + ops + " became one kernel");
}

/// Matches the chain that ends in `op`; explains in a remark why there is none.
FailureOr<Chain> matchChain(WeightedSumOp op) {
  auto missed = [&](const Twine &reason) {
    remarkMissed(op, reason);
    return failure();
  };
  Chain chain;
  chain.weightedSum = op;
  Value weights = op.getWeights();
  while (!chain.softmax) {
    Operation *producer = weights.getDefiningOp();
    if (!isa_and_nonnull<MaskedSoftmaxOp, ProbabilityMapOp, DropoutOp>(
            producer))
      return missed("the weights do not come from attn.masked_softmax");
    if (!producer->hasOneUse())
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
  auto value = cast<RankedTensorType>(op.getValue().getType());
  if (!key.isDynamicDim(1) && !value.isDynamicDim(1) &&
      key.getDimSize(1) != value.getDimSize(1))
    return missed("key and value have different head counts");
  if (Operation *culprit = findUnfusible(chain.softmax.getVisible()))
    return missed("the mask program uses '" +
                  culprit->getName().getStringRef() +
                  "', which is no scalar op");
  Value operands[] = {chain.query(), chain.key(), op.getValue(),
                      chain.softmax.getScores()};
  Type scoreType = getElementTypeOrSelf(operands[3].getType());
  for (Value operand : operands) {
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

/// `tensor.extract tensor[indices]`, right-aligned to (b, h, i, j). An extent
/// of 1 reads element 0 whatever the index: gather indices are clamped.
Value extractBroadcast(ImplicitLocOpBuilder &b, Value tensor,
                       ValueRange position) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> indices;
  for (int64_t d = 0; d < type.getRank(); ++d)
    indices.push_back(type.getDimSize(d) == 1
                          ? arith::ConstantIndexOp::create(b, 0)
                          : position[4 - type.getRank() + d]);
  return tensor::ExtractOp::create(b, tensor, indices);
}

Value toFloat(ImplicitLocOpBuilder &b, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return arith::ExtFOp::create(b, type, value);
  return arith::TruncFOp::create(b, type, value);
}

Value toIndex(ImplicitLocOpBuilder &b, Value value) {
  if (value.getType().isIndex())
    return value;
  return arith::IndexCastOp::create(b, b.getIndexType(), value);
}

class Fusion {
public:
  Fusion(RewriterBase &rewriter, Chain &chain)
      : rewriter(rewriter), b(chain.weightedSum.getLoc(), rewriter),
        chain(chain) {}

  void run() {
    b.setInsertionPoint(chain.weightedSum);
    scoreType = getElementTypeOrSelf(chain.product->getResult(0).getType());

    // Scales that come first are the op's own. Kernels multiply the queries by
    // it, which neither overflows nor underflows for factors near 1; others
    // stay in the score program, after the product.
    double scale = 1.0;
    ArrayRef<Operation *> program = chain.scoreOps;
    while (!program.empty() && isa<ScaleOp>(program.front())) {
      double next =
          scale * cast<ScaleOp>(program.front()).getFactor().convertToDouble();
      if (next != 0 && !(std::abs(next) >= 0x1p-24 && std::abs(next) <= 0x1p4))
        break;
      scale = next;
      program = program.drop_front();
    }

    emitCaptures();
    Value init = emitInit();
    auto [key, value] = readCaches(chain);
    auto attention = AttentionOp::create(
        b, TypeRange(init.getType()), chain.query(), key.rows, value.rows, init,
        ValueRange(), chain.softmax.getSink(), key.table, key.scale,
        value.scale, chain.additive(), b.getF64FloatAttr(scale),
        chain.hasSigmoid() ? b.getUnitAttr() : UnitAttr(), ScheduleAttr());
    if (!program.empty() || chain.hasSigmoid())
      emitScoreProgram(attention.getScore(), program);
    if (!chain.weightOps.empty() && !chain.hasSigmoid())
      emitProbabilityProgram(attention.getProbability());
    if (hidesPairs(program))
      emitMaskProgram(attention.getMask(), program);

    rewriter.replaceOp(chain.weightedSum, attention.getResults());
    for (Operation *op : llvm::reverse(chain.weightOps))
      rewriter.eraseOp(op);
    rewriter.eraseOp(chain.softmax);
    for (Operation *op : llvm::reverse(chain.scoreOps))
      rewriter.eraseOp(op);
    rewriter.eraseOp(chain.product);
  }

private:
  /// Values outside the regions that the mask program reads.
  void emitCaptures() {
    if (chain.softmax.getAlignment() == Alignment::BottomRight) {
      Value keys = tensor::DimOp::create(b, chain.key(), 2);
      Value queries = tensor::DimOp::create(b, chain.query(), 2);
      bottomRight = arith::SubIOp::create(b, keys, queries);
    }
  }

  /// The destination `[B, Hq, Sq, Dv]`. When the only user merges the heads, it
  /// is a view of the merged layout, so that the merge costs nothing.
  Value emitInit() {
    auto type = cast<RankedTensorType>(chain.weightedSum.getResult().getType());
    auto size = [&](Value value, int64_t d) -> OpFoldResult {
      return tensor::getMixedSize(b, b.getLoc(), value, d);
    };
    Value query = chain.query();
    SmallVector<OpFoldResult> sizes{size(query, 0), size(query, 1),
                                    size(query, 2),
                                    size(chain.weightedSum.getValue(), 3)};
    Operation *user = chain.weightedSum->hasOneUse()
                          ? *chain.weightedSum->user_begin()
                          : nullptr;
    if (isa_and_nonnull<MergeHeadsOp>(user) && !type.isDynamicDim(1)) {
      int64_t heads = type.getDimSize(1);
      Value merged = tensor::EmptyOp::create(
          b,
          ArrayRef<OpFoldResult>{sizes[0], sizes[2],
                                 b.getIndexAttr(heads * type.getDimSize(3))},
          type.getElementType());
      Value split = SplitHeadsOp::create(b, merged, heads);
      if (split.getType() != type)
        split = tensor::CastOp::create(b, type, split);
      return split;
    }
    Value empty = tensor::EmptyOp::create(b, sizes, type.getElementType());
    if (empty.getType() != type)
      empty = tensor::CastOp::create(b, type, empty);
    return empty;
  }

  Block *createBlock(Region &region, ArrayRef<Type> types) {
    SmallVector<Location> locations(types.size(), b.getLoc());
    return rewriter.createBlock(&region, {}, types, locations);
  }

  /// The block of a region `(value, b, h, i, j)`, at whose start `b` is then.
  Block *createValueBlock(Region &region) {
    SmallVector<Type> types(5, b.getIndexType());
    types[0] = scoreType;
    Block *block = createBlock(region, types);
    b.setInsertionPointToStart(block);
    return block;
  }

  void emitScoreProgram(Region &region, ArrayRef<Operation *> program) {
    OpBuilder::InsertionGuard guard(b);
    Block *block = createValueBlock(region);
    Value score = block->getArgument(0);
    ValueRange position = block->getArguments().drop_front();
    for (Operation *op : program) {
      if (auto scale = dyn_cast<ScaleOp>(op)) {
        score = arith::MulFOp::create(
            b, score, constant(scale.getFactor().convertToDouble()));
      } else if (auto softcap = dyn_cast<SoftcapOp>(op)) {
        double cap = softcap.getCap().convertToDouble();
        Value inner = arith::MulFOp::create(b, score, constant(1.0 / cap));
        score = arith::MulFOp::create(b, math::TanhOp::create(b, inner),
                                      constant(cap));
      } else if (auto bias = dyn_cast<BiasOp>(op)) {
        Value value = extractBroadcast(b, bias.getBias(), position);
        score = arith::AddFOp::create(b, score, toFloat(b, value, scoreType));
      } else {
        SmallVector<Value> arguments{score};
        llvm::append_range(arguments, position);
        score = inlineProgram(b, cast<ScoreMapOp>(op).getScore(), arguments);
      }
    }
    if (chain.hasSigmoid())
      score = emitSigmoidWeight(score, position);
    YieldOp::create(b, ValueRange(score));
  }

  Value constant(double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(scoreType, value));
  }

  /// 1 / (1 + 2^(-s log2(e))) and what follows it. A score of -inf hides.
  Value emitSigmoidWeight(Value score, ValueRange position) {
    Value one = constant(1.0);
    Value exponent =
        arith::MulFOp::create(b, score, constant(-llvm::numbers::log2e));
    Value sum =
        arith::AddFOp::create(b, one, math::Exp2Op::create(b, exponent));
    Value weight = arith::DivFOp::create(b, one, sum);
    if (chain.weightOps.empty())
      return weight;
    Value isHidden = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, score,
                                           constant(-INFINITY));
    weight = emitWeightOps(weight, position);
    return arith::SelectOp::create(b, isHidden, constant(0.0), weight);
  }

  Value emitWeightOps(Value weight, ValueRange position) {
    for (Operation *op : chain.weightOps) {
      if (auto dropout = dyn_cast<DropoutOp>(op)) {
        weight = emitDropout(dropout, weight, position);
        continue;
      }
      SmallVector<Value> arguments{weight};
      llvm::append_range(arguments, position);
      weight = inlineProgram(b, cast<ProbabilityMapOp>(op).getProbability(),
                             arguments);
    }
    return weight;
  }

  Value emitDropout(DropoutOp op, Value weight, ValueRange position) {
    double rate = op.getRate().convertToDouble();
    Value isKept = emitIsKept(b, b.getLoc(), rate, op.getSeed(), position);
    // Nothing is kept of rate 1, which has no inverse.
    double factor = rate < 1 ? 1 / (1 - rate) : 1;
    Value scaled = arith::MulFOp::create(b, weight, constant(factor));
    return arith::SelectOp::create(b, isKept, scaled, constant(0.0));
  }

  void emitProbabilityProgram(Region &region) {
    OpBuilder::InsertionGuard guard(b);
    Block *block = createValueBlock(region);
    Value weight = emitWeightOps(block->getArgument(0),
                                 block->getArguments().drop_front());
    YieldOp::create(b, ValueRange(weight));
  }

  bool hidesPairs(ArrayRef<Operation *> program) {
    MaskedSoftmaxOp softmax = chain.softmax;
    return softmax.getAlignment() || softmax.getLengths() ||
           softmax.getQuerySegments() || softmax.getMask() ||
           !softmax.getVisible().empty() ||
           llvm::any_of(program, llvm::IsaPred<BiasOp>);
  }

  void emitMaskProgram(Region &region, ArrayRef<Operation *> program) {
    OpBuilder::InsertionGuard guard(b);
    Block *block = createBlock(region, SmallVector<Type>(4, b.getIndexType()));
    b.setInsertionPointToStart(block);
    Value batch = block->getArgument(0), i = block->getArgument(2),
          j = block->getArgument(3);
    MaskedSoftmaxOp softmax = chain.softmax;

    Value visible;
    auto require = [&](Value condition) {
      visible =
          visible ? arith::AndIOp::create(b, visible, condition) : condition;
    };
    auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) {
      require(arith::CmpIOp::create(b, predicate, x, y));
    };

    if (softmax.getAlignment()) {
      // Offsets and distances beyond every length are cut, so that their sums
      // do not overflow.
      constexpr int64_t farAway = int64_t(1) << 40;
      auto limit = [&](int64_t sign) -> Value {
        return arith::ConstantIndexOp::create(b, sign * farAway);
      };
      // One index, or that of the batch element.
      auto cutPosition = [&](Value position) {
        if (isa<RankedTensorType>(position.getType()))
          position = tensor::ExtractOp::create(b, position, ValueRange(batch));
        bool wide = !position.getType().isInteger(32);
        position = toIndex(b, position);
        if (wide) {
          position = arith::MinSIOp::create(b, position, limit(1));
          position = arith::MaxSIOp::create(b, position, limit(-1));
        }
        return position;
      };
      // The last key of the diagonal: i + offset.
      Value diagonal = i;
      if (bottomRight)
        diagonal = arith::AddIOp::create(b, i, bottomRight);
      if (Value offset = softmax.getOffset()) {
        diagonal = arith::AddIOp::create(b, i, cutPosition(offset));
      }
      if (softmax.getCausal()) {
        Value past =
            arith::CmpIOp::create(b, arith::CmpIPredicate::sle, j, diagonal);
        if (Value prefix = softmax.getPrefix()) {
          Value inPrefix = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                                 j, cutPosition(prefix));
          past = arith::OrIOp::create(b, inPrefix, past);
        }
        require(past);
      }
      if (softmax.getWindow()) {
        ArrayRef<int64_t> window = *softmax.getWindow();
        auto bound = [&](int64_t side) -> Value {
          return arith::ConstantIndexOp::create(
              b, std::min(window[side], farAway));
        };
        if (window[0] >= 0)
          compare(arith::CmpIPredicate::sge, j,
                  arith::SubIOp::create(b, diagonal, bound(0)));
        if (window[1] >= 0)
          compare(arith::CmpIPredicate::sle, j,
                  arith::AddIOp::create(b, diagonal, bound(1)));
      }
    }
    if (Value lengths = softmax.getLengths())
      compare(
          arith::CmpIPredicate::slt, j,
          toIndex(b, tensor::ExtractOp::create(b, lengths, ValueRange(batch))));
    if (Value segments = softmax.getQuerySegments())
      compare(arith::CmpIPredicate::eq,
              tensor::ExtractOp::create(b, segments, ValueRange{batch, i}),
              tensor::ExtractOp::create(b, softmax.getKeySegments(),
                                        ValueRange{batch, j}));
    if (Value mask = softmax.getMask())
      require(extractBroadcast(b, mask, block->getArguments()));
    // A bias that is exactly -inf hides its pair, NaN scores included.
    for (Operation *op : program)
      if (auto bias = dyn_cast<BiasOp>(op)) {
        Value value =
            extractBroadcast(b, bias.getBias(), block->getArguments());
        // Exact for narrow types, and then the score program's number too.
        if (value.getType().getIntOrFloatBitWidth() <
            scoreType.getIntOrFloatBitWidth())
          value = toFloat(b, value, scoreType);
        auto type = cast<FloatType>(value.getType());
        Value hidden = arith::ConstantOp::create(
            b, b.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics(),
                                                    /*Negative=*/true)));
        require(
            arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, value, hidden));
      }
    if (!softmax.getVisible().empty())
      require(inlineProgram(b, softmax.getVisible(), block->getArguments()));
    if (!visible) // window[-1, -1] alone
      visible = arith::ConstantOp::create(b, b.getBoolAttr(true));
    YieldOp::create(b, ValueRange(visible));
  }

  RewriterBase &rewriter;
  ImplicitLocOpBuilder b;
  Chain &chain;
  Type scoreType;
  Value bottomRight;
};

class FuseAttentionPass
    : public attn::impl::FuseAttentionPassBase<FuseAttentionPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<WeightedSumOp> roots;
    getOperation().walk([&](WeightedSumOp op) { roots.push_back(op); });
    for (WeightedSumOp root : roots) {
      FailureOr<Chain> chain = matchChain(root);
      if (failed(chain))
        continue;
      remarkPassed(*chain);
      Fusion(rewriter, *chain).run();
    }
    // Users first.
    SmallVector<Operation *> caches;
    getOperation().walk([&](Operation *op) {
      if (isa<GatherPagesOp, DequantizeOp>(op))
        caches.push_back(op);
    });
    for (Operation *op : llvm::reverse(caches))
      eraseIfOnlyMeasured(rewriter, op);
  }

  /// Whole keys and values of a cache that only their lengths are asked of need
  /// not exist.
  static void eraseIfOnlyMeasured(RewriterBase &rewriter, Operation *op) {
    if (!llvm::all_of(op->getUsers(), [](Operation *user) {
          auto dim = dyn_cast<tensor::DimOp>(user);
          return dim && dim.getConstantIndex();
        }))
      return;
    rewriter.setInsertionPoint(op);
    ReifiedRankedShapedTypeDims shapes;
    if (failed(cast<ReifyRankedShapedTypeOpInterface>(op).reifyResultShapes(
            rewriter, shapes)))
      return;
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      int64_t d = *cast<tensor::DimOp>(user).getConstantIndex();
      if (d < 0 || d >= static_cast<int64_t>(shapes[0].size()))
        return;
      rewriter.replaceOp(user, getValueOrCreateConstantIndexOp(
                                   rewriter, op->getLoc(), shapes[0][d]));
    }
    rewriter.eraseOp(op);
  }
};

} // namespace
