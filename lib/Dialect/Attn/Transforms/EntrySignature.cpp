//===- EntrySignature.cpp - What callers know of an entry -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntrySignature.h"
#include "RuntimeChecks.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace attn;

bool attn::isEntryScalar(Type type) {
  return type.isIndex() || isa<FloatType>(type) ||
         (type.isSignlessInteger() && type.getIntOrFloatBitWidth() <= 64);
}

FailureOr<SmallVector<EntryArgument>>
attn::getEntryArguments(func::FuncOp function) {
  SmallVector<EntryArgument> arguments;
  llvm::StringSet<> names;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor && !isEntryScalar(type))
      return mlir::emitError(function.getLoc())
             << "argument " << i
             << " of an entry must be a ranked tensor or a scalar, got "
             << type;
    EntryArgument argument{"arg" + std::to_string(i), type, {}};
    if (Attribute attribute = function.getArgAttr(i, "attn.name")) {
      auto name = dyn_cast<StringAttr>(attribute);
      if (!name || name.empty())
        return mlir::emitError(function.getLoc())
               << "attn.name of argument " << i
               << " must be a string that is not empty, got " << attribute;
      argument.name = withoutBraces(name);
    }
    if (!names.insert(argument.name).second)
      return mlir::emitError(function.getLoc())
             << "two arguments are called '" << argument.name
             << "', the second is " << i;
    int64_t rank = tensor ? tensor.getRank() : 0;
    argument.dims.assign(rank, "");
    if (Attribute attribute = function.getArgAttr(i, "attn.dims")) {
      auto dims = dyn_cast<ArrayAttr>(attribute);
      if (!dims || !llvm::all_of(dims, llvm::IsaPred<StringAttr>) ||
          static_cast<int64_t>(dims.size()) != rank)
        return mlir::emitError(function.getLoc())
               << "attn.dims of argument " << i << " must be an array of "
               << rank << " strings, got " << attribute;
      for (auto [dim, name] :
           llvm::zip(argument.dims, dims.getAsRange<StringAttr>()))
        dim = name.getValue();
    }
    arguments.push_back(std::move(argument));
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (!isa<RankedTensorType>(type) && !isEntryScalar(type))
      return mlir::emitError(function.getLoc())
             << "result " << i
             << " of an entry must be a ranked tensor or a scalar, got "
             << type;
  return arguments;
}

static std::string getElementTypeName(Type type) {
  std::string element;
  llvm::raw_string_ostream(element) << getElementTypeOrSelf(type);
  return element;
}

/// What `value` is but for its shape.
static Value skipReshapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
            op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The element type of the inputs of attention; f32 where they differ, as they
/// are then computed with.
static Type getInputElementType(ValueRange inputs) {
  Type first = getElementTypeOrSelf(inputs[0].getType());
  bool same = llvm::all_of(inputs, [&](Value input) {
    return getElementTypeOrSelf(input.getType()) == first;
  });
  return same ? first : Type(Float32Type::get(first.getContext()));
}

/// The type of the inputs of the attention whose log-sum-exp `value` is, or
/// null.
static Type getInputTypeOfLogSumExp(Value value) {
  value = skipReshapes(value);
  auto attention = value.getDefiningOp<AttentionOp>();
  if (!attention || value == attention->getResult(0))
    return {};
  return getInputElementType(
      {attention.getQuery(), attention.getKey(), attention.getValue()});
}

/// The same of the attention whose weights `value` has statistics of.
static Type getInputTypeOfStats(Value value) {
  Operation *op = skipReshapes(value).getDefiningOp();
  if (!isa_and_nonnull<WeightStatsOp, AttentionStatsOp>(op))
    return {};
  // Up the chain that makes weights of scores.
  while (op && isa<AttnDialect>(op->getDialect())) {
    if (isa<QKOp, AdditiveScoresOp, AttentionStatsOp>(op))
      return getInputElementType(op->getOperands().take_front(2));
    op = op->getOperand(0).getDefiningOp();
  }
  return {};
}

StatsSource attn::getStatsSource(Value result) {
  auto stats = skipReshapes(result).getDefiningOp<WeightStatsOp>();
  if (!stats)
    return {};
  Operation *op = stats.getWeights().getDefiningOp();
  while (isa_and_nonnull<ProbabilityMapOp, DropoutOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto softmax = dyn_cast_or_null<MaskedSoftmaxOp>(op);
  if (!softmax || softmax.getNormalizer() != Normalizer::Softmax)
    return {stats.getWeights(), Value()};
  return {stats.getWeights(), softmax.getScores()};
}

bool attn::isGatherOfProgram(tensor::ExtractOp extract) {
  if (!isa<FloatType>(extract.getType()) || extract.getIndices().empty())
    return false;
  Operation *op = extract->getParentOp();
  while (op && !isa_and_nonnull<AttnDialect>(op->getDialect()))
    op = op->getParentOp();
  return op;
}

static llvm::json::Object getTypeInfo(Type type) {
  llvm::json::Array shape;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    for (int64_t extent : tensor.getShape())
      shape.push_back(ShapedType::isDynamic(extent)
                          ? llvm::json::Value(nullptr)
                          : llvm::json::Value(extent));
  return llvm::json::Object{
      {"kind", isa<RankedTensorType>(type) ? "tensor" : "scalar"},
      {"type", getElementTypeName(type)},
      {"shape", std::move(shape)}};
}

llvm::json::Object attn::getEntryInfo(func::FuncOp function,
                                      ArrayRef<EntryArgument> arguments,
                                      ArrayRef<std::string> texts) {
  llvm::json::Array args, results, checks;
  for (const EntryArgument &argument : arguments) {
    llvm::json::Object info = getTypeInfo(argument.type);
    info["name"] = llvm::json::fixUTF8(argument.name);
    llvm::json::Array dims;
    for (StringRef dim : argument.dims)
      dims.push_back(llvm::json::fixUTF8(dim));
    info["dims"] = std::move(dims);
    args.push_back(std::move(info));
  }
  auto exit =
      dyn_cast<func::ReturnOp>(function.getBody().back().getTerminator());
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    llvm::json::Object info = getTypeInfo(type);
    if (exit && function.getBody().hasOneBlock()) {
      Value result = exit.getOperand(i);
      if (CacheUpdateOp update = CacheUpdateOp::getFirstOf(result))
        if (auto cache = dyn_cast<BlockArgument>(update.getCache()))
          info["updates"] = cache.getArgNumber();
      if (Type inputs = getInputTypeOfLogSumExp(result))
        info["logSumExpOf"] = getElementTypeName(inputs);
      if (Type inputs = getInputTypeOfStats(result))
        info["weightStatsOf"] = getElementTypeName(inputs);
      StatsSource source = getStatsSource(result);
      for (auto [key, value] :
           {std::pair("weights", source.weights), {"scores", source.scores}})
        if (auto it = llvm::find(exit.getOperands(), value);
            value && it != exit.getOperands().end())
          info[key] = std::distance(exit.getOperands().begin(), it);
    }
    results.push_back(std::move(info));
  }
  for (const std::string &text : texts)
    checks.push_back(llvm::json::fixUTF8(text));
  llvm::json::Object info{{"name", llvm::json::fixUTF8(function.getName())},
                          {"args", std::move(args)},
                          {"results", std::move(results)},
                          {"checks", std::move(checks)},
                          {"remarks", llvm::json::Array()}};
  bool gathers = false;
  function.walk([&](tensor::ExtractOp extract) {
    gathers |= isGatherOfProgram(extract);
  });
  if (gathers)
    info["gathers"] = true;
  return info;
}
