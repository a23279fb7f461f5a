//===- BufferizableOpInterfaceImpl.cpp - attn ops on buffers --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Destination-style ops write into their destinations. Head splits and merges
// are views: the layouts of memrefs hold what the ops mean, so nothing is
// copied.
//
//===----------------------------------------------------------------------===//

#include "attn/Codegen/Common/BufferizableOpInterfaceImpl.h"
#include "CacheUpdate.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace attn;

namespace {

template <typename OpTy>
struct DestinationModel
    : DstBufferizableOpInterfaceExternalModel<DestinationModel<OpTy>, OpTy> {
  /// Outputs are written whole, never read.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<TensorType>(operand.get().getType())) {
        operands.push_back(operand.get());
        continue;
      }
      FailureOr<Value> buffer =
          getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      operands.push_back(*buffer);
    }
    OperationState clone(op->getLoc(), op->getName());
    clone.addOperands(operands);
    clone.propertiesAttr = op->getPropertiesAsAttribute();
    clone.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
    for (Region &region : op->getRegions())
      clone.addRegion()->takeBody(region);
    rewriter.create(clone);
    SmallVector<Value> outputs;
    for (OpOperand &init : cast<OpTy>(op).getDpsInitsMutable())
      outputs.push_back(operands[init.getOperandNumber()]);
    replaceOpWithBufferizedValues(rewriter, op, outputs);
    return success();
  }
};

/// New rows are written into the buffer of the cache: a copy of it, if others
/// read the old one. A task copies the rows of one head.
struct CacheUpdateModel
    : BufferizableOpInterface::ExternalModel<CacheUpdateModel, CacheUpdateOp> {
  static bool isCache(Operation *op, OpOperand &operand) {
    return operand.get() == cast<CacheUpdateOp>(op).getCache() &&
           operand.getOperandNumber() == 0;
  }
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return true;
  }
  bool bufferizesToMemoryWrite(Operation *op, OpOperand &operand,
                               const AnalysisState &) const {
    return isCache(op, operand);
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &operand,
                                      const AnalysisState &) const {
    if (!isCache(op, operand))
      return {};
    return {{op->getResult(0), BufferRelation::Equivalent}};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto update = cast<CacheUpdateOp>(op);
    CacheBuffers buffers{update.getCache(), update.getUpdate(), update.getAt(),
                         update.getCos(), update.getSin()};
    for (Value *value : {&buffers.cache, &buffers.update, &buffers.at,
                         &buffers.cos, &buffers.sin}) {
      if (!*value || !isa<TensorType>(value->getType()))
        continue;
      FailureOr<Value> buffer = getBuffer(rewriter, *value, options, state);
      if (failed(buffer))
        return failure();
      *value = *buffer;
    }
    ImplicitLocOpBuilder b(op->getLoc(), rewriter);
    emitCacheUpdate(b, update, buffers);
    replaceOpWithBufferizedValues(rewriter, op, buffers.cache);
    return success();
  }
};

/// A pure view of the first operand.
template <typename Model, typename OpTy>
struct ViewModel : BufferizableOpInterface::ExternalModel<Model, OpTy> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &,
                              const AnalysisState &) const {
    return false;
  }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &,
                               const AnalysisState &) const {
    return false;
  }
  AliasingValueList getAliasingValues(Operation *op, OpOperand &,
                                      const AnalysisState &) const {
    return {{op->getResult(0), BufferRelation::Equivalent}};
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    FailureOr<Value> buffer =
        getBuffer(rewriter, op->getOperand(0), options, state);
    if (failed(buffer))
      return failure();
    Value view = Model::view(rewriter, cast<OpTy>(op), *buffer);
    replaceOpWithBufferizedValues(rewriter, op, view);
    return success();
  }
  FailureOr<BufferLikeType>
  getBufferType(Operation *op, Value value, const BufferizationOptions &options,
                const BufferizationState &state,
                SmallVector<Value> &invocationStack) const {
    FailureOr<BufferLikeType> source = bufferization::getBufferType(
        op->getOperand(0), options, state, invocationStack);
    if (failed(source))
      return failure();
    MemRefType type =
        Model::viewType(cast<OpTy>(op), cast<MemRefType>(Type(*source)));
    return cast<BufferLikeType>(Type(type));
  }
};

/// `type` with dimensions 1 and 2 swapped.
MemRefType swapMiddle(MemRefType type) {
  SmallVector<int64_t> strides, shape(type.getShape());
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  std::swap(strides[1], strides[2]);
  std::swap(shape[1], shape[2]);
  return MemRefType::get(
      shape, type.getElementType(),
      StridedLayoutAttr::get(type.getContext(), offset, strides));
}

Value swapMiddle(RewriterBase &rewriter, Location loc, Value memref) {
  return memref::TransposeOp::create(
      rewriter, loc, memref,
      AffineMapAttr::get(AffineMap::getPermutationMap(
          ArrayRef<unsigned>{0, 2, 1, 3}, rewriter.getContext())));
}

const SmallVector<ReassociationIndices> kHeads = {{0}, {1}, {2, 3}};

struct SplitHeadsModel : ViewModel<SplitHeadsModel, SplitHeadsOp> {
  static MemRefType expandedType(SplitHeadsOp op, MemRefType source) {
    int64_t heads = op.getNumHeads();
    SmallVector<int64_t> shape{source.getDimSize(0), source.getDimSize(1),
                               heads, source.getDimSize(2) / heads};
    return *memref::ExpandShapeOp::computeExpandedType(source, shape, kHeads);
  }
  static MemRefType viewType(SplitHeadsOp op, MemRefType source) {
    return swapMiddle(expandedType(op, source));
  }
  static Value view(RewriterBase &rewriter, SplitHeadsOp op, Value memref) {
    Location loc = op.getLoc();
    MemRefType type = expandedType(op, cast<MemRefType>(memref.getType()));
    SmallVector<OpFoldResult> sizes =
        memref::getMixedSizes(rewriter, loc, memref);
    SmallVector<OpFoldResult> shape{sizes[0], sizes[1],
                                    rewriter.getIndexAttr(type.getDimSize(2)),
                                    rewriter.getIndexAttr(type.getDimSize(3))};
    Value expanded = memref::ExpandShapeOp::create(rewriter, loc, type, memref,
                                                   kHeads, shape);
    return swapMiddle(rewriter, loc, expanded);
  }
};

/// A view when the swapped layout collapses, as that of the fused op's output
/// does, which fusion lays out for its merge; else a copy.
struct MergeHeadsModel : ViewModel<MergeHeadsModel, MergeHeadsOp> {
  static bool isView(MemRefType source) {
    return memref::CollapseShapeOp::isGuaranteedCollapsible(swapMiddle(source),
                                                            kHeads);
  }
  static MemRefType viewType(MergeHeadsOp op, MemRefType source) {
    if (isView(source))
      return memref::CollapseShapeOp::computeCollapsedType(swapMiddle(source),
                                                           kHeads);
    return MemRefType::get({source.getDimSize(0), source.getDimSize(2),
                            source.getDimSize(1) * source.getDimSize(3)},
                           source.getElementType());
  }
  static Value view(RewriterBase &rewriter, MergeHeadsOp op, Value memref) {
    Location loc = op.getLoc();
    auto source = cast<MemRefType>(memref.getType());
    // Of heads that were split from a buffer, the merge is that buffer.
    if (auto transpose = memref.getDefiningOp<memref::TransposeOp>())
      if (auto expand =
              transpose.getIn().getDefiningOp<memref::ExpandShapeOp>())
        if (isView(source) &&
            swapMiddle(source).getShape() ==
                cast<MemRefType>(expand.getType()).getShape() &&
            llvm::equal(expand.getReassociationIndices(), kHeads) &&
            transpose.getPermutation() ==
                AffineMap::getPermutationMap(ArrayRef<unsigned>{0, 2, 1, 3},
                                             rewriter.getContext())) {
          MemRefType type = viewType(op, source);
          if (expand.getSrc().getType() == type)
            return expand.getSrc();
          if (memref::CastOp::areCastCompatible(expand.getSrc().getType(),
                                                type))
            return memref::CastOp::create(rewriter, loc, type, expand.getSrc());
        }
    Value swapped = swapMiddle(rewriter, loc, memref);
    if (isView(source))
      return memref::CollapseShapeOp::create(rewriter, loc, swapped, kHeads);
    SmallVector<Value> sizes;
    MemRefType type = viewType(op, source);
    for (int64_t d : {0, 1})
      if (type.isDynamicDim(d))
        sizes.push_back(memref::DimOp::create(rewriter, loc, swapped, d));
    Value merged = memref::AllocOp::create(rewriter, loc, type, sizes);
    MemRefType swappedType = cast<MemRefType>(swapped.getType());
    Value dest = memref::ExpandShapeOp::create(
        rewriter, loc,
        MemRefType::get(swappedType.getShape(), source.getElementType()),
        merged, kHeads, memref::getMixedSizes(rewriter, loc, swapped));
    linalg::CopyOp::create(rewriter, loc, swapped, dest);
    return merged;
  }
};

} // namespace

void attn::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, AttnDialect *) {
    AttentionOp::attachInterface<DestinationModel<AttentionOp>>(*context);
    AttentionStatsOp::attachInterface<DestinationModel<AttentionStatsOp>>(
        *context);
    LinearAttentionOp::attachInterface<DestinationModel<LinearAttentionOp>>(
        *context);
    RotateOp::attachInterface<DestinationModel<RotateOp>>(*context);
    RopeTablesOp::attachInterface<DestinationModel<RopeTablesOp>>(*context);
    SplitHeadsOp::attachInterface<SplitHeadsModel>(*context);
    MergeHeadsOp::attachInterface<MergeHeadsModel>(*context);
    CacheUpdateOp::attachInterface<CacheUpdateModel>(*context);
  });
}
