//===- RuntimeChecks.cpp - Which extents an op needs checked --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeChecks.h"
#include "attn/Dialect/Attn/IR/AttnDialect.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

std::string attn::withoutBraces(StringRef text) {
  std::string result = text.str();
  llvm::replace(result, '{', '(');
  llvm::replace(result, '}', ')');
  return result;
}

namespace {

/// The largest run-time size that is multiplied with known ones, and with
/// other run-time sizes: the products stay below 2^63.
constexpr int64_t kMaxSize = (int64_t(1) << 31) - 1;
constexpr int64_t kMaxFactor = int64_t(1) << 24;

/// " ('q')" when `value` is an argument with `attn.name`, else nothing.
std::string getArgumentSuffix(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return "";
  auto function =
      dyn_cast_or_null<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function || !argument.getOwner()->isEntryBlock())
    return "";
  auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                    "attn.name");
  return name ? " ('" + withoutBraces(name) + "')" : "";
}

/// Appends checks of one op.
class Collector {
public:
  Collector(OpBuilder &builder, Operation *op,
            SmallVectorImpl<RuntimeCheck> &checks)
      : builder(builder), op(op), loc(op->getLoc()),
        name(op->getName().getStringRef().str()), checks(checks) {}

  void addExtentConstraints(ExtentConstraintsOpInterface constrained) {
    SmallVector<ExtentConstraint> constraints;
    constrained.getExtentConstraints(constraints);
    for (ExtentConstraint &c : constraints) {
      std::string lhsName = c.lhsName.str() + getArgumentSuffix(c.lhs);
      std::string rhsName = c.rhsName.str() + getArgumentSuffix(c.rhs);
      c.lhsName = lhsName;
      c.rhsName = rhsName;
      add(c.relation, extent(c.lhs, c.lhsDim), extent(c.rhs, c.rhsDim),
          getViolationText(c));
    }
  }

  /// Static extents of result types against those that follow from operands.
  void addInferredShape(ReifyRankedShapedTypeOpInterface shaped) {
    ReifiedRankedShapedTypeDims shapes;
    if (failed(shaped.reifyResultShapes(builder, shapes)))
      return;
    for (auto [result, shape] : llvm::zip(op->getResults(), shapes)) {
      auto type = cast<RankedTensorType>(result.getType());
      for (auto [d, inferred] : llvm::enumerate(shape))
        if (!type.isDynamicDim(d))
          add(ExtentRelation::Equal, inferred,
              builder.getIndexAttr(type.getDimSize(d)),
              "extent " + Twine(d) + " of the result of " + name +
                  " is {0} but its type says {1}");
    }
  }

  /// Extents that the indexing maps tie to one loop agree; other accesses stay
  /// inside of their operand.
  void addIndexingMaps(linalg::LinalgOp linalgOp) {
    SmallVector<OpFoldResult> loops(linalgOp.getNumLoops());
    SmallVector<std::string> texts(linalgOp.getNumLoops());
    auto describe = [&](OpOperand &operand, int64_t d) {
      return "extent " + std::to_string(d) + " of operand " +
             std::to_string(operand.getOperandNumber()) +
             getArgumentSuffix(operand.get());
    };
    auto forEach = [&](function_ref<void(OpOperand &, int64_t, AffineExpr)> f) {
      for (OpOperand &operand : op->getOpOperands())
        if (isa<RankedTensorType>(operand.get().getType()))
          for (auto [d, expr] : llvm::enumerate(
                   linalgOp.getMatchingIndexingMap(&operand).getResults()))
            f(operand, d, expr);
    };
    forEach([&](OpOperand &operand, int64_t d, AffineExpr expr) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        return;
      OpFoldResult &first = loops[dim.getPosition()];
      if (!first) {
        first = extent(operand.get(), d);
        texts[dim.getPosition()] = describe(operand, d);
        return;
      }
      add(ExtentRelation::Equal, first, extent(operand.get(), d),
          texts[dim.getPosition()] + " of " + name + " is {0} but " +
              describe(operand, d) + " is {1}");
    });
    if (llvm::any_of(loops, [](OpFoldResult loop) { return !loop; }))
      return;
    // The largest index of a sliding window is reached at the last iterations.
    AffineExpr one = builder.getAffineConstantExpr(1);
    SmallVector<AffineExpr> last;
    for (int64_t i = 0; i < linalgOp.getNumLoops(); ++i)
      last.push_back(builder.getAffineDimExpr(i) - one);
    forEach([&](OpOperand &operand, int64_t d, AffineExpr expr) {
      if (isa<AffineDimExpr>(expr))
        return;
      OpFoldResult reach = affine::makeComposedFoldedAffineApply(
          builder, loc, expr.replaceDims(last) + one, loops);
      add(ExtentRelation::AtMost, reach, extent(operand.get(), d),
          name + " reaches {0} elements of a dimension but " +
              describe(operand, d) + " is {1}");
    });
  }

  void addElementwise() {
    Value first;
    for (OpOperand &operand : op->getOpOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      if (!type)
        continue;
      if (!first) {
        first = operand.get();
        continue;
      }
      for (int64_t d = 0; d < type.getRank(); ++d)
        add(ExtentRelation::Equal, extent(first, d), extent(operand.get(), d),
            "extent " + Twine(d) + " of the first operand of " + name +
                getArgumentSuffix(first) + " is {0} but of operand " +
                Twine(operand.getOperandNumber()) +
                getArgumentSuffix(operand.get()) + " is {1}");
    }
  }

  void addCast(tensor::CastOp cast) {
    auto source = dyn_cast<RankedTensorType>(cast.getSource().getType());
    auto dest = dyn_cast<RankedTensorType>(cast.getType());
    if (!source || !dest)
      return;
    for (int64_t d = 0; d < dest.getRank(); ++d)
      if (source.isDynamicDim(d) && !dest.isDynamicDim(d))
        add(ExtentRelation::Equal, extent(cast.getSource(), d),
            builder.getIndexAttr(dest.getDimSize(d)),
            "extent " + Twine(d) + " of the operand" +
                getArgumentSuffix(cast.getSource()) +
                " of tensor.cast is {0} but the result type says {1}");
  }

  void addExpand(tensor::ExpandShapeOp expand) {
    SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
    addSizes(sizes);
    for (auto [d, group] : llvm::enumerate(expand.getReassociationIndices())) {
      // A product that wraps around must not look right.
      int64_t unknown = llvm::count_if(
          group, [&](int64_t i) { return isa<Value>(sizes[i]); });
      for (int64_t i : group)
        if (isa<Value>(sizes[i]))
          add(ExtentRelation::AtMost, sizes[i],
              builder.getIndexAttr(unknown > 1 ? kMaxFactor : kMaxSize),
              "size " + Twine(i) + " of " + name + " is {0}, more than {1}",
              /*isLimit=*/true);
      add(ExtentRelation::Equal, extent(expand.getSrc(), d),
          multiply(
              llvm::map_to_vector(group, [&](int64_t i) { return sizes[i]; })),
          "extent " + Twine(d) + " of the operand" +
              getArgumentSuffix(expand.getSrc()) +
              " of tensor.expand_shape is {0} but its parts make {1}");
    }
  }

  /// Whether a loop of known bounds walks over an extent that is known as well:
  /// its slices need no check.
  static bool staysInside(OpFoldResult offset, OpFoldResult size,
                          OpFoldResult available) {
    auto position = dyn_cast_if_present<BlockArgument>(dyn_cast<Value>(offset));
    auto loop = position
                    ? dyn_cast<scf::ForOp>(position.getOwner()->getParentOp())
                    : scf::ForOp();
    if (!loop || loop.getInductionVar() != position)
      return false;
    std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
    std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
    std::optional<int64_t> length = getConstantIntValue(size);
    std::optional<int64_t> extent = getConstantIntValue(available);
    // The last offset is at most upper - 1.
    return lower && upper && length && extent && *lower >= 0 && *upper >= 0 &&
           *length >= 0 && *upper <= *extent && *length - 1 <= *extent - *upper;
  }

  /// A slice lies inside of `whole`. Written with differences, so that no sum
  /// of run-time values can overflow.
  void addSlice(Value whole, OffsetSizeAndStrideOpInterface slice) {
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
    SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
    SmallVector<OpFoldResult> strides = slice.getMixedStrides();
    addSizes(sizes);
    AffineExpr extentExpr, offset;
    bindDims(builder.getContext(), extentExpr, offset);
    std::string suffix = getArgumentSuffix(whole);
    for (size_t d = 0; d < sizes.size(); ++d) {
      OpFoldResult available = extent(whole, d);
      if (isConstantIntValue(strides[d], 1) &&
          staysInside(offsets[d], sizes[d], available))
        continue;
      add(ExtentRelation::AtMost, builder.getIndexAttr(0), offsets[d],
          "offset " + Twine(d) + " of " + name + " is {1}, less than {0}");
      add(ExtentRelation::AtMost, offsets[d], available,
          "offset " + Twine(d) + " of " + name +
              " is {0}, more than the extent" + suffix + ", {1}");
      OpFoldResult left = affine::makeComposedFoldedAffineApply(
          builder, loc, extentExpr - offset, {available, offsets[d]});
      add(ExtentRelation::AtMost, sizes[d], left,
          "size " + Twine(d) + " of " + name +
              " is {0}, more than is left of the extent" + suffix + ", {1}");
      if (isConstantIntValue(strides[d], 1))
        continue;
      add(ExtentRelation::AtMost, builder.getIndexAttr(1), strides[d],
          "stride " + Twine(d) + " of " + name + " is {1}, less than {0}");
      add(ExtentRelation::AtMost, strides[d], builder.getIndexAttr(kMaxSize),
          "stride " + Twine(d) + " of " + name + " is {0}, more than {1}",
          /*isLimit=*/true);
      OpFoldResult span = multiply({sizes[d], strides[d]});
      AffineExpr spanExpr = extentExpr, strideExpr = offset;
      OpFoldResult reach = affine::makeComposedFoldedAffineApply(
          builder, loc, spanExpr - strideExpr + 1, {span, strides[d]});
      add(ExtentRelation::AtMost, reach, left,
          "dimension " + Twine(d) + " of " + name +
              " spans {0}, more than is left of the extent" + suffix + ", {1}");
    }
  }

  /// Padding adds elements; it does not take any away.
  void addPad(tensor::PadOp pad) {
    auto addSide = [&](StringRef side, ArrayRef<OpFoldResult> widths) {
      for (auto [d, width] : llvm::enumerate(widths)) {
        std::string what =
            (side + " padding " + Twine(d) + " of " + name + " is ").str();
        add(ExtentRelation::AtMost, builder.getIndexAttr(0), width,
            what + "{1}, less than {0}");
        add(ExtentRelation::AtMost, width, builder.getIndexAttr(kMaxSize),
            what + "{0}, more than {1}", /*isLimit=*/true);
      }
    };
    addSide("low", pad.getMixedLowPad());
    addSide("high", pad.getMixedHighPad());
  }

  /// Indices of one element. Those that are data are guarded where they are
  /// used, and so are all of them in code that may not be reached.
  void addIndices(Value tensor, ValueRange indices) {
    if (!isa<func::FuncOp>(op->getParentOp()) || !extentsFollow(tensor))
      return;
    for (auto [d, index] : llvm::enumerate(indices)) {
      if (!followsFromArguments(index))
        continue;
      add(ExtentRelation::AtMost, builder.getIndexAttr(0), index,
          "index " + Twine(d) + " of " + name + " is {1}, less than {0}");
      AffineExpr size = builder.getAffineDimExpr(0);
      OpFoldResult last = affine::makeComposedFoldedAffineApply(
          builder, loc, size - 1, {extent(tensor, d)});
      add(ExtentRelation::AtMost, index, last,
          "index " + Twine(d) + " of " + name +
              " is {0}, more than the last one" + getArgumentSuffix(tensor) +
              ", {1}");
    }
  }

  /// A dimension that is chosen by arguments exists.
  void addDim(tensor::DimOp dim) {
    auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
    if (!isa<func::FuncOp>(op->getParentOp()) || !type ||
        dim.getConstantIndex() || !followsFromArguments(dim.getIndex()))
      return;
    add(ExtentRelation::AtMost, builder.getIndexAttr(0), dim.getIndex(),
        "index of tensor.dim is {1}, less than {0}");
    add(ExtentRelation::AtMost, dim.getIndex(),
        builder.getIndexAttr(type.getRank() - 1),
        "index of tensor.dim is {0}, more than the last dimension, {1}");
  }

  /// Numbers of pages are clamped to the pool, which must have one if there is
  /// a number.
  void addPages(Value pages, Value table) {
    Value numbers = builder.createOrFold<arith::MinSIOp>(
        loc, getValueOrCreateConstantIndexOp(builder, loc, extent(table, 0)),
        getValueOrCreateConstantIndexOp(builder, loc, extent(table, 1)));
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    OpFoldResult needed = getAsOpFoldResult(
        builder.createOrFold<arith::MinSIOp>(loc, numbers, one));
    add(ExtentRelation::AtMost, needed, extent(pages, 0),
        "page count of " + name + getArgumentSuffix(pages) +
            " is {1}, less than {0}");
  }

  /// Sums of columns have one for each row of the pages of `table`.
  void addPagedSums(Value sums, Value pages, Value table) {
    AffineExpr count = builder.getAffineDimExpr(0);
    int64_t rows = cast<ShapedType>(pages.getType()).getDimSize(2);
    add(ExtentRelation::Equal, extent(sums, 2),
        affine::makeComposedFoldedAffineApply(builder, loc, count * rows,
                                              extent(table, 1)),
        "key length of column_sums of " + name + getArgumentSuffix(sums) +
            " is {0} but that of its pages is {1}");
  }

  /// Rows of an update by one known position lie in the cache.
  void addCacheUpdate(CacheUpdateOp update) {
    Value at = update.getAt();
    if (!at.getType().isIndex() || !isa<func::FuncOp>(op->getParentOp()) ||
        !followsFromArguments(at))
      return;
    add(ExtentRelation::AtMost, builder.getIndexAttr(0), at,
        "position of " + name + " is {1}, less than {0}");
    if (update.getRolling())
      return;
    AffineExpr rows, count;
    bindDims(builder.getContext(), rows, count);
    OpFoldResult last = affine::makeComposedFoldedAffineApply(
        builder, loc, rows - count,
        {extent(update.getCache(), 2), extent(update.getUpdate(), 2)});
    add(ExtentRelation::AtMost, at, last,
        "position of " + name + " is {0}, more than there is room for" +
            getArgumentSuffix(update.getCache()) + ", {1}");
  }

  /// A size that is an operand, if it is given, is not negative.
  void addSize(Value size) {
    if (size)
      add(ExtentRelation::AtMost, builder.getIndexAttr(0), size,
          "size of the result of " + name + " is {1}, less than {0}");
  }

  /// Run-time sizes are not negative.
  void addSizes(ArrayRef<OpFoldResult> sizes) {
    for (auto [d, size] : llvm::enumerate(sizes))
      if (isa<Value>(size))
        add(ExtentRelation::AtMost, builder.getIndexAttr(0), size,
            "size " + Twine(d) + " of " + name + " is {1}, less than {0}");
  }

private:
  /// Whether the shape function can compute the extents of `tensor`: those of
  /// results of control flow have to be run for.
  static bool extentsFollow(Value tensor) {
    if (cast<RankedTensorType>(tensor.getType()).hasStaticShape())
      return true;
    llvm::SetVector<Value> slice;
    slice.insert(tensor);
    for (size_t i = 0; i < slice.size(); ++i) {
      Operation *producer = slice[i].getDefiningOp();
      if (!producer)
        continue;
      if (isa_and_nonnull<scf::SCFDialect>(producer->getDialect()))
        return false;
      slice.insert(producer->operand_begin(), producer->operand_end());
    }
    return true;
  }

  /// Whether `index` is arithmetic on integer arguments and extents.
  static bool followsFromArguments(Value index) {
    llvm::SetVector<Value> slice;
    slice.insert(index);
    for (size_t i = 0; i < slice.size(); ++i) {
      if (!slice[i].getType().isIntOrIndex())
        return false;
      Operation *producer = slice[i].getDefiningOp();
      if (!producer)
        continue;
      if (auto dim = dyn_cast<tensor::DimOp>(producer)) {
        if (!isa<RankedTensorType>(dim.getSource().getType()) ||
            !dim.getConstantIndex() || !extentsFollow(dim.getSource()))
          return false;
        continue;
      }
      if (!isa_and_nonnull<arith::ArithDialect>(producer->getDialect()))
        return false;
      slice.insert(producer->operand_begin(), producer->operand_end());
    }
    return true;
  }

  OpFoldResult extent(Value value, int64_t d) {
    return tensor::getMixedSize(builder, loc, value, d);
  }

  OpFoldResult multiply(ArrayRef<OpFoldResult> factors) {
    int64_t constant = 1;
    Value product;
    for (OpFoldResult factor : factors) {
      if (std::optional<int64_t> known = getConstantIntValue(factor)) {
        constant *= *known;
        continue;
      }
      Value value = cast<Value>(factor);
      product =
          product
              ? arith::MulIOp::create(builder, loc, product, value).getResult()
              : value;
    }
    OpFoldResult known = builder.getIndexAttr(constant);
    if (!product)
      return known;
    if (constant == 1)
      return product;
    return arith::MulIOp::create(
               builder, loc, product,
               getValueOrCreateConstantIndexOp(builder, loc, known))
        .getResult();
  }

  void add(ExtentRelation relation, OpFoldResult lhs, OpFoldResult rhs,
           const Twine &text, bool isLimit = false) {
    if (getConstantIntValue(lhs) && getConstantIntValue(rhs) &&
        holds(relation, *getConstantIntValue(lhs), *getConstantIntValue(rhs)))
      return;
    checks.push_back({relation,
                      getValueOrCreateConstantIndexOp(builder, loc, lhs),
                      getValueOrCreateConstantIndexOp(builder, loc, rhs),
                      text.str(), loc, isLimit});
  }

  OpBuilder &builder;
  Operation *op;
  Location loc;
  std::string name;
  SmallVectorImpl<RuntimeCheck> &checks;
};

} // namespace

void attn::collectChecks(OpBuilder &builder, Operation *op,
                         SmallVectorImpl<RuntimeCheck> &checks) {
  Collector collector(builder, op, checks);
  if (auto constrained = dyn_cast<ExtentConstraintsOpInterface>(op))
    collector.addExtentConstraints(constrained);
  if (isa_and_nonnull<AttnDialect>(op->getDialect())) {
    if (auto shaped = dyn_cast<ReifyRankedShapedTypeOpInterface>(op))
      collector.addInferredShape(shaped);
    if (auto pages = dyn_cast<GatherPagesOp>(op))
      collector.addPages(pages.getPages(), pages.getTable());
    if (auto attention = dyn_cast<AttentionOp>(op);
        attention && attention.getTable())
      for (Value pages : {attention.getKey(), attention.getValue()})
        collector.addPages(pages, attention.getTable());
    if (auto stats = dyn_cast<AttentionStatsOp>(op);
        stats && stats.getTable()) {
      collector.addPages(stats.getKey(), stats.getTable());
      if (Value sums = stats.getColumnSums())
        collector.addPagedSums(sums, stats.getKey(), stats.getTable());
    }
    if (auto update = dyn_cast<CacheUpdateOp>(op))
      collector.addCacheUpdate(update);
    TypeSwitch<Operation *>(op)
        .Case([&](SinusoidalOp table) { collector.addSize(table.getRows()); })
        .Case<SequenceIdsOp, SequencePositionsOp>(
            [&](auto sequences) { collector.addSize(sequences.getLength()); });
    return;
  }
  if (op->hasTrait<OpTrait::Elementwise>())
    return collector.addElementwise();
  TypeSwitch<Operation *>(op)
      .Case([&](linalg::LinalgOp linalgOp) {
        collector.addIndexingMaps(linalgOp);
      })
      .Case([&](tensor::CastOp cast) { collector.addCast(cast); })
      .Case([&](tensor::ExpandShapeOp expand) { collector.addExpand(expand); })
      .Case([&](tensor::EmptyOp empty) {
        collector.addSizes(empty.getMixedSizes());
      })
      .Case([&](tensor::GenerateOp generate) {
        collector.addSizes(
            llvm::to_vector_of<OpFoldResult>(generate.getDynamicExtents()));
      })
      .Case([&](tensor::SplatOp splat) {
        collector.addSizes(
            llvm::to_vector_of<OpFoldResult>(splat.getDynamicSizes()));
      })
      .Case([&](tensor::DimOp dim) { collector.addDim(dim); })
      .Case([&](tensor::PadOp pad) { collector.addPad(pad); })
      .Case([&](tensor::ExtractOp extract) {
        collector.addIndices(extract.getTensor(), extract.getIndices());
      })
      .Case([&](tensor::InsertOp insert) {
        collector.addIndices(insert.getDest(), insert.getIndices());
      })
      .Case([&](tensor::ExtractSliceOp slice) {
        collector.addSlice(slice.getSource(), slice);
      })
      .Case([&](tensor::InsertSliceOp slice) {
        collector.addSlice(slice.getDest(), slice);
      });
}
