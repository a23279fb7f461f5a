//===- FuseAttention.cpp - The chain becomes attn.attention -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of the score ops is kept: they become the score program one after
// the other, and ops on weights the probability program. Keywords and tensors
// that hide pairs become the mask program. A sigmoid needs no other pair: it
// and what comes after it end the score program, whose results then are the
// weights.
//
// Statistics of weights take the log-sum-exp of the attention that has the same
// weights. Where there is none that comes before them, they have one of their
// own.
//
//===----------------------------------------------------------------------===//

#include "AttentionChain.h"
#include "InlineProgram.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "attn/Dialect/Attn/IR/DropoutProgram.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

namespace attn {
#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

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
  return convertScalarToDtype(b, b.getLoc(), value, type,
                              /*isUnsignedCast=*/false);
}

Value toIndex(ImplicitLocOpBuilder &b, Value value) {
  if (value.getType().isIndex())
    return value;
  return arith::IndexCastOp::create(b, b.getIndexType(), value);
}

class Fusion {
public:
  Fusion(RewriterBase &rewriter, const AttentionChain &chain)
      : rewriter(rewriter), b(chain.root->getLoc(), rewriter), chain(chain),
        softmax(chain.softmax) {
    b.setInsertionPoint(chain.root);
    scoreType = getElementTypeOrSelf(chain.product->getResult(0).getType());
    // Scales that come first are the op's own. Kernels multiply the queries by
    // it, which neither overflows nor underflows for factors near 1; others
    // stay in the score program, after the product.
    program = chain.scoreOps;
    while (!program.empty() && isa<ScaleOp>(program.front())) {
      double next =
          scale * cast<ScaleOp>(program.front()).getFactor().convertToDouble();
      if (next != 0 && !(std::abs(next) >= 0x1p-24 && std::abs(next) <= 0x1p4))
        break;
      scale = next;
      program = program.drop_front();
    }
  }

  /// The weighted sum as one op; returns its log-sum-exp if it is to have one.
  LogSumExp fuseAttention(bool withLogSumExp) {
    emitCaptures();
    SmallVector<Value> inits{emitOutput()};
    if (withLogSumExp)
      appendLogSumExp(inits);
    else if (chain.hasNaNRows())
      inits.push_back(emitEmpty(getRowSizes(), scoreType));
    auto [key, value] = readCaches(chain);
    auto attention = AttentionOp::create(
        b, TypeRange(ValueRange(inits)), chain.query(), key.rows, value->rows,
        inits, ValueRange(), softmax.getSink(), key.table, key.scale,
        value->scale, chain.additive(), b.getF64FloatAttr(scale),
        chain.hasSigmoid() ? b.getUnitAttr() : UnitAttr(), ScheduleAttr());
    if (chain.hasSigmoid())
      emitScoreProgram(attention.getScore(),
                       [&](Value score, ValueRange position) {
                         return emitSigmoidWeight(score, position);
                       });
    else
      emitScoreProgram(attention.getScore());
    if (!chain.weightOps.empty() && !chain.hasSigmoid())
      emitProbabilityProgram(attention.getProbability());
    emitMaskProgram(attention.getMask());
    Value output = attention.getResult(0);
    if (chain.hasNaNRows())
      output = emitNaNRows(output, attention.getResult(1));
    rewriter.replaceOp(chain.root, output);
    return withLogSumExp ? getLogSumExp(attention) : LogSumExp();
  }

  /// The log-sum-exp of the weights, with one feature of the keys for values:
  /// kernels have no form without a weighted sum.
  LogSumExp emitLogSumExp() {
    emitCaptures();
    Cached key = readCaches(chain).first;
    SmallVector<OpFoldResult> begins(4, b.getIndexAttr(0)),
        ones(4, b.getIndexAttr(1)),
        column = tensor::getMixedSizes(b, b.getLoc(), key.rows);
    column[3] = b.getIndexAttr(1);
    Value value =
        tensor::ExtractSliceOp::create(b, key.rows, begins, column, ones);
    Type element = getElementTypeOrSelf(value.getType());
    SmallVector<OpFoldResult> output = getRowSizes();
    output.push_back(b.getIndexAttr(1));
    SmallVector<Value> inits{
        emitEmpty(output, element.isInteger() ? scoreType : element)};
    appendLogSumExp(inits);
    auto attention = AttentionOp::create(
        b, TypeRange(ValueRange(inits)), chain.query(), key.rows, value, inits,
        ValueRange(), softmax.getSink(), key.table, key.scale, key.scale,
        chain.additive(), b.getF64FloatAttr(scale), UnitAttr(), ScheduleAttr());
    emitScoreProgram(attention.getScore());
    emitMaskProgram(attention.getMask());
    return getLogSumExp(attention);
  }

  /// The statistics as one op; weights of a sigmoid need no log-sum-exp.
  void fuseStats(const LogSumExp &logSumExp) {
    emitCaptures();
    auto stats = cast<WeightStatsOp>(chain.root);
    SmallVector<OpFoldResult> rows = getRowSizes();
    Value columnSums, rowMax, entropy, topWeights, topKeys;
    if (stats.getColumnSums()) {
      OpFoldResult keys = tensor::getMixedSize(b, b.getLoc(), chain.key(), 2);
      columnSums = emitEmpty({rows[0], rows[1], keys}, scoreType);
    }
    if (stats.getRowMax())
      rowMax = emitEmpty(rows, scoreType);
    if (stats.getEntropy())
      entropy = emitEmpty(rows, scoreType);
    if (std::optional<uint64_t> places = stats.getTopK()) {
      rows.push_back(b.getIndexAttr(static_cast<int64_t>(*places)));
      topWeights = emitEmpty(rows, scoreType);
      topKeys = emitEmpty(rows, b.getI32Type());
    }
    SmallVector<Type> types;
    for (Value init : {columnSums, rowMax, entropy, topWeights, topKeys})
      if (init)
        types.push_back(init.getType());
    Cached key = readCaches(chain).first;
    bool isSoftmaxAlone = logSumExp && chain.weightOps.empty();
    auto fused = AttentionStatsOp::create(
        b, types, chain.query(), key.rows, ValueRange(),
        isSoftmaxAlone ? logSumExp.rounded : Value(),
        isSoftmaxAlone ? logSumExp.remainder : Value(), key.table, key.scale,
        chain.additive(), columnSums, rowMax, entropy, topWeights, topKeys,
        b.getF64FloatAttr(scale), ScheduleAttr());
    if (isSoftmaxAlone)
      emitScoreProgram(fused.getScore());
    else
      emitScoreProgram(fused.getScore(), [&](Value score, ValueRange position) {
        return logSumExp ? emitSoftmaxWeight(score, logSumExp, position)
                         : emitSigmoidWeight(score, position);
      });
    emitMaskProgram(fused.getMask());
    SmallVector<Value> results(fused.getResults());
    for (auto [result, old] : llvm::zip_equal(results, stats.getResults()))
      if (result.getType() != old.getType())
        result = tensor::CastOp::create(b, old.getType(), result);
    rewriter.replaceOp(stats, results);
  }

private:
  void appendLogSumExp(SmallVectorImpl<Value> &inits) {
    for (int part = 0; part < 2; ++part)
      inits.push_back(emitEmpty(getRowSizes(), scoreType));
  }
  static LogSumExp getLogSumExp(AttentionOp attention) {
    return {attention.getResult(1), attention.getResult(2)};
  }

  /// `[B, Hq, Sq]`.
  SmallVector<OpFoldResult> getRowSizes() {
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(b, b.getLoc(), chain.query());
    sizes.pop_back();
    return sizes;
  }

  Value emitEmpty(ArrayRef<OpFoldResult> sizes, Type element) {
    return tensor::EmptyOp::create(b, sizes, element);
  }

  /// Values outside the regions that the mask program reads.
  void emitCaptures() {
    if (softmax.getAlignment() == Alignment::BottomRight) {
      Value keys = tensor::DimOp::create(b, chain.key(), 2);
      Value queries = tensor::DimOp::create(b, chain.query(), 2);
      bottomRight = arith::SubIOp::create(b, keys, queries);
    }
  }

  /// The destination `[B, Hq, Sq, Dv]`. When the only user merges the heads, it
  /// is a view of the merged layout, so that the merge costs nothing.
  Value emitOutput() {
    auto type = cast<RankedTensorType>(chain.root->getResult(0).getType());
    SmallVector<OpFoldResult> sizes = getRowSizes();
    sizes.push_back(tensor::getMixedSize(b, b.getLoc(), chain.value(), 3));
    Operation *user =
        chain.root->hasOneUse() ? *chain.root->user_begin() : nullptr;
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

  /// `output` with NaN where the log-sum-exp is -inf: kernels write 0 there.
  /// Without keys there are no weights that could be NaN.
  Value emitNaNRows(Value output, Value logSumExp) {
    auto type = cast<RankedTensorType>(output.getType());
    Value keys = tensor::DimOp::create(b, chain.key(), 2);
    Value isKey = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, keys,
                                        arith::ConstantIndexOp::create(b, 0));
    AffineMap whole = b.getMultiDimIdentityMap(4);
    SmallVector<utils::IteratorType> parallel(4, utils::IteratorType::parallel);
    return linalg::GenericOp::create(
               b, TypeRange(type), logSumExp, output,
               ArrayRef<AffineMap>{whole.dropResult(3), whole}, parallel,
               [&](OpBuilder &builder, Location loc, ValueRange arguments) {
                 ImplicitLocOpBuilder inner(loc, builder);
                 Type element = type.getElementType();
                 Value isEmpty = arith::CmpFOp::create(
                     inner, arith::CmpFPredicate::OEQ, arguments[0],
                     constant(inner, -INFINITY, scoreType));
                 isEmpty = arith::AndIOp::create(inner, isEmpty, isKey);
                 Value x = arith::SelectOp::create(
                     inner, isEmpty, constant(inner, NAN, element),
                     arguments[1]);
                 linalg::YieldOp::create(inner, x);
               })
        .getResult(0);
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

  /// The score ops, and `finish`, which makes weights of scores; nothing where
  /// there are none.
  void
  emitScoreProgram(Region &region,
                   function_ref<Value(Value, ValueRange)> finish = nullptr) {
    if (program.empty() && !finish)
      return;
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
    if (finish)
      score = finish(score, position);
    YieldOp::create(b, ValueRange(score));
  }

  Value constant(double value) { return constant(b, value, scoreType); }
  static Value constant(ImplicitLocOpBuilder &b, double value, Type type) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
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
    return emitSelectVisible(b, score, emitWeightOps(weight, position));
  }

  /// The weight of a softmax whose log-sum-exp is known, and what follows it.
  Value emitSoftmaxWeight(Value score, const LogSumExp &logSumExp,
                          ValueRange position) {
    Value weight =
        emitSoftmaxWeightOf(b, score, logSumExp, position.drop_back());
    return emitSelectVisible(b, score, emitWeightOps(weight, position));
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

  bool hidesPairs() {
    return softmax.getAlignment() || softmax.getLengths() ||
           softmax.getQuerySegments() || softmax.getMask() ||
           !softmax.getVisible().empty() ||
           llvm::any_of(program, llvm::IsaPred<BiasOp>);
  }

  /// The clauses of the mask; nothing where there are none.
  void emitMaskProgram(Region &region) {
    if (!hidesPairs())
      return;
    OpBuilder::InsertionGuard guard(b);
    Block *block = createBlock(region, SmallVector<Type>(4, b.getIndexType()));
    b.setInsertionPointToStart(block);
    Value batch = block->getArgument(0), i = block->getArgument(2),
          j = block->getArgument(3);

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
  const AttentionChain &chain;
  MaskedSoftmaxOp softmax;
  Type scoreType;
  double scale = 1.0;
  /// The score ops that are not part of the scale.
  ArrayRef<Operation *> program;
  Value bottomRight;
};

class FuseAttentionPass
    : public attn::impl::FuseAttentionPassBase<FuseAttentionPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionChain> sums, stats;
    getOperation().walk([&](Operation *op) {
      if (!isa<WeightedSumOp, WeightStatsOp>(op))
        return;
      FailureOr<AttentionChain> chain = matchAttentionChain(op);
      if (failed(chain))
        return;
      remarkFused(*chain);
      (chain->value() ? sums : stats).push_back(*chain);
    });
    llvm::DenseMap<Operation *, LogSumExp> logSumExps;
    for (const AttentionChain &chain : sums) {
      bool isShared = !chain.hasSigmoid() &&
                      llvm::any_of(stats, [&](const AttentionChain &other) {
                        return other.softmax == chain.softmax;
                      });
      logSumExps[chain.softmax] =
          Fusion(rewriter, chain).fuseAttention(isShared);
    }
    for (const AttentionChain &chain : stats) {
      LogSumExp &known = logSumExps[chain.softmax];
      if (!chain.hasSigmoid() && !comesBefore(known.rounded, chain.root)) {
        remarkTwoPasses(chain.root);
        known = Fusion(rewriter, chain).emitLogSumExp();
      }
      Fusion(rewriter, chain).fuseStats(known);
    }
    llvm::SetVector<Operation *> fused;
    for (const AttentionChain &chain :
         llvm::concat<AttentionChain>(sums, stats)) {
      fused.insert(chain.product);
      fused.insert_range(chain.scoreOps);
      fused.insert(chain.softmax);
      fused.insert_range(chain.weightOps);
    }
    // What a chain that did not fuse reads stays.
    for (Operation *op : llvm::reverse(fused))
      if (op->use_empty())
        rewriter.eraseOp(op);
    eraseMeasuredCaches(getOperation(), rewriter);
  }

  /// Whether `stats` may read `logSumExp`; moves it behind where nothing that
  /// reads its results stands in between.
  static bool comesBefore(Value logSumExp, Operation *stats) {
    if (!logSumExp)
      return false;
    Operation *attention = logSumExp.getDefiningOp();
    Block *block = stats->getBlock();
    if (DominanceInfo().dominates(logSumExp, stats))
      return true;
    if (attention->getBlock() != block ||
        !llvm::all_of(stats->getUsers(), [&](Operation *user) {
          return attention->isBeforeInBlock(
              block->findAncestorOpInBlock(*user));
        }))
      return false;
    stats->moveAfter(attention);
    return true;
  }

  static void remarkTwoPasses(Operation *stats) {
    auto func = stats->getParentOfType<func::FuncOp>();
    remark::missed(stats->getLoc(), remark::RemarkOpts::name("two-passes")
                                        .category("attn")
                                        .function(func.getName()))
        << "no attention before attn.weight_stats gives the log-sum-exp of its "
           "weights: the keys are passed twice";
  }

  static void eraseMeasuredCaches(func::FuncOp root, RewriterBase &rewriter) {
    // Users first.
    SmallVector<Operation *> caches;
    root.walk([&](Operation *op) {
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
