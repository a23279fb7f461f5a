//===- GenerateShapeFunctions.cpp - Checks of run-time extents ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shape function of an entry starts as a copy of the entry. The extents
// that its checks and results need are asked for with `tensor.dim` and pushed
// through the ops to the arguments; then everything that works on tensors is
// dead, and what is left is integer arithmetic on the arguments' extents. A
// run-time mismatch is thus found before the first element is read, by code
// that cannot abort.
//
//===----------------------------------------------------------------------===//

#include "EntrySignature.h"
#include "ExtentArithmetic.h"
#include "RuntimeChecks.h"
#include "attn/Dialect/Attn/IR/AttnDialect.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace attn {
#define GEN_PASS_DEF_GENERATESHAPEFUNCTIONSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

constexpr StringLiteral kPrefix = "__attn_shape_";
constexpr StringLiteral kModuleInfo = "__attn_module_info";

//===----------------------------------------------------------------------===//
// The shape function
//===----------------------------------------------------------------------===//

class ShapeFunctionBuilder {
public:
  ShapeFunctionBuilder(func::FuncOp function, ArrayRef<EntryArgument> arguments)
      : function(function), arguments(arguments), builder(function) {}

  /// Adds the shape function after `function`; the texts of its checks.
  FailureOr<SmallVector<std::string>> build();

private:
  void cloneBody();
  void collectNamedDims();
  LogicalResult collectOpChecks();
  void replaceArguments();
  void guardDivisions();
  LogicalResult pruneChecks();
  void finish();

  Value loadExtent(int64_t position) {
    Value index = arith::ConstantIndexOp::create(builder, loc, position);
    return memref::LoadOp::create(builder, loc, dims, index);
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value cmp(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
  }
  Value emitHolds(const RuntimeCheck &check);
  /// Makes the values of checks and results operands of the terminator, which
  /// keeps them up to date while patterns replace them.
  void anchor();
  void readAnchor();

  func::FuncOp function;
  ArrayRef<EntryArgument> arguments;
  OpBuilder builder;
  func::FuncOp shape;
  Location loc = UnknownLoc::get(function.getContext());
  SmallVector<RuntimeCheck> checks;
  SmallVector<Value> resultExtents;
  Value dims;
};

void ShapeFunctionBuilder::cloneBody() {
  loc = function.getLoc();
  builder.setInsertionPointAfter(function);
  shape =
      func::FuncOp::create(builder, loc, (kPrefix + function.getName()).str(),
                           function.getFunctionType());
  IRMapping mapping;
  function.getBody().cloneInto(&shape.getBody(), mapping);
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (auto name = function.getArgAttr(i, "attn.name"))
      shape.setArgAttr(i, "attn.name", name);
  builder.setInsertionPoint(shape.front().getTerminator());
}

void ShapeFunctionBuilder::collectNamedDims() {
  struct Dim {
    size_t argument;
    OpFoldResult extent;
  };
  llvm::StringMap<Dim> known;
  for (auto [i, argument] : llvm::enumerate(arguments))
    for (auto [d, name] : llvm::enumerate(argument.dims)) {
      if (name.empty())
        continue;
      OpFoldResult extent =
          tensor::getMixedSize(builder, loc, shape.getArgument(i), d);
      auto [it, inserted] = known.try_emplace(name, Dim{i, extent});
      if (inserted)
        continue;
      const Dim &first = it->second;
      std::string text = "dimension '" + withoutBraces(name) +
                         "' is {0} in argument '" +
                         arguments[first.argument].name +
                         "' but {1} in argument '" + argument.name + "'";
      if (isEqualConstantIntOrValue(first.extent, extent))
        continue;
      checks.push_back(
          {ExtentRelation::Equal,
           getValueOrCreateConstantIndexOp(builder, loc, first.extent),
           getValueOrCreateConstantIndexOp(builder, loc, extent), text, loc});
    }
}

LogicalResult ShapeFunctionBuilder::collectOpChecks() {
  for (Operation &op :
       llvm::make_early_inc_range(shape.front().without_terminator())) {
    // Ops that an earlier check added are extents already.
    collectChecks(builder, &op, checks);
    if (isa_and_nonnull<AttnDialect>(op.getDialect()))
      continue;
    // A check inside of control flow would have to know whether it is reached.
    WalkResult walk = op.walk([&](Operation *nested) {
      if (nested == &op)
        return WalkResult::advance();
      SmallVector<RuntimeCheck> inner;
      OpBuilder innerBuilder(nested->getContext());
      innerBuilder.setInsertionPointAfter(nested);
      if (nested->hasTrait<OpTrait::IsTerminator>())
        return WalkResult::advance();
      collectChecks(innerBuilder, nested, inner);
      if (inner.empty())
        return WalkResult::advance();
      mlir::emitError(nested->getLoc())
          << "'" << nested->getName() << "' has run-time extents inside of '"
          << op.getName() << "', which cannot be checked";
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

void ShapeFunctionBuilder::anchor() {
  SmallVector<Value> values;
  for (const RuntimeCheck &check : checks)
    llvm::append_values(values, check.lhs, check.rhs);
  llvm::append_range(values, resultExtents);
  shape.front().getTerminator()->setOperands(values);
}

void ShapeFunctionBuilder::readAnchor() {
  OperandRange values = shape.front().getTerminator()->getOperands();
  for (RuntimeCheck &check : checks) {
    check.lhs = values[0];
    check.rhs = values[1];
    values = values.drop_front(2);
  }
  resultExtents.assign(values.begin(), values.end());
}

void ShapeFunctionBuilder::replaceArguments() {
  Block &body = shape.front();
  Type i64 = builder.getI64Type();
  int64_t count = 0;
  for (const EntryArgument &argument : arguments)
    count += isEntryScalar(argument.type) ? 1 : argument.dims.size();
  for (int64_t size : {count, static_cast<int64_t>(resultExtents.size()),
                       static_cast<int64_t>(2)})
    body.addArgument(MemRefType::get({size}, i64), loc);
  dims = body.getArgument(arguments.size());

  builder.setInsertionPointToStart(&body);
  int64_t position = 0;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    BlockArgument value = body.getArgument(i);
    auto tensor = dyn_cast<RankedTensorType>(argument.type);
    if (!tensor) {
      int64_t at = position++;
      if (isa<FloatType>(argument.type) || value.use_empty())
        continue;
      Value loaded = loadExtent(at);
      if (argument.type.isIndex())
        loaded =
            arith::IndexCastOp::create(builder, loc, argument.type, loaded);
      else if (argument.type != i64)
        loaded = arith::TruncIOp::create(builder, loc, argument.type, loaded);
      value.replaceAllUsesWith(loaded);
      continue;
    }
    SmallVector<Value> extents(tensor.getRank());
    for (Operation *user : llvm::make_early_inc_range(value.getUsers())) {
      auto dim = dyn_cast<tensor::DimOp>(user);
      std::optional<int64_t> d =
          dim ? dim.getConstantIndex() : std::optional<int64_t>();
      if (!d || *d < 0 || *d >= tensor.getRank())
        continue;
      if (!extents[*d])
        extents[*d] = arith::IndexCastOp::create(
            builder, loc, builder.getIndexType(), loadExtent(position + *d));
      dim.replaceAllUsesWith(extents[*d]);
      dim.erase();
    }
    position += tensor.getRank();
  }
  builder.setInsertionPoint(body.getTerminator());
}

/// A run-time divisor of the entry's own arithmetic must not trap here: it is
/// checked, and divisions go by a positive value whatever it is.
void ShapeFunctionBuilder::guardDivisions() {
  readAnchor();
  SmallVector<RuntimeCheck> guards;
  shape.front().walk([&](Operation *op) {
    if (!isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
             arith::CeilDivSIOp, arith::CeilDivUIOp, arith::FloorDivSIOp>(op))
      return;
    Value divisor = op->getOperand(1);
    APInt known;
    if (matchPattern(divisor, m_ConstantInt(&known)) &&
        known.isStrictlyPositive())
      return;
    OpBuilder local(op);
    Value one = arith::ConstantOp::create(
        local, op->getLoc(), local.getIntegerAttr(divisor.getType(), 1));
    op->setOperand(1,
                   arith::MaxSIOp::create(local, op->getLoc(), divisor, one));
    if (op->getBlock() != &shape.front())
      return;
    Value value = divisor;
    if (!value.getType().isIndex())
      value = arith::IndexCastOp::create(local, op->getLoc(),
                                         local.getIndexType(), value);
    guards.push_back({ExtentRelation::AtMost,
                      arith::ConstantIndexOp::create(local, op->getLoc(), 1),
                      value,
                      "divisor of " + op->getName().getStringRef().str() +
                          " is {1}, less than {0}",
                      op->getLoc()});
  });
  llvm::append_range(guards, checks);
  checks = std::move(guards);
  anchor();
}

/// Whether `value` is an extent of an argument, as `dims` gives it.
bool isArgumentExtent(Value value, Value dims,
                      ArrayRef<EntryArgument> arguments) {
  auto cast = value.getDefiningOp<arith::IndexCastOp>();
  auto load = cast ? cast.getIn().getDefiningOp<memref::LoadOp>() : nullptr;
  APInt index;
  if (!load || load.getMemRef() != dims ||
      !matchPattern(load.getIndices()[0], m_ConstantInt(&index)))
    return false;
  int64_t position = 0;
  for (const EntryArgument &argument : arguments) {
    position += isEntryScalar(argument.type) ? 1 : argument.dims.size();
    if (index.getSExtValue() < position)
      return isa<RankedTensorType>(argument.type);
  }
  return false;
}

/// Whether `value` is at least 0 because extents of arguments are.
bool isNonNegative(Value value, Value dims, ArrayRef<EntryArgument> arguments) {
  APInt known;
  if (matchPattern(value, m_ConstantInt(&known)))
    return !known.isNegative();
  if (isArgumentExtent(value, dims, arguments))
    return true;
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<arith::AddIOp, arith::MulIOp, arith::MaxSIOp,
                         arith::MinSIOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isNonNegative(operand, dims, arguments);
         });
}

/// Drops checks that hold by construction and repeated ones; a check that can
/// never hold is an error now.
LogicalResult ShapeFunctionBuilder::pruneChecks() {
  SmallVector<RuntimeCheck> kept;
  llvm::SetVector<std::tuple<int, Value, Value>> seen;
  for (RuntimeCheck &check : checks) {
    std::optional<int64_t> lhs = getConstantIntValue(check.lhs);
    std::optional<int64_t> rhs = getConstantIntValue(check.rhs);
    if (lhs && rhs) {
      if (holds(check.relation, *lhs, *rhs))
        continue;
      return mlir::emitError(check.loc)
             << llvm::formatv(check.text.c_str(), *lhs, *rhs).str();
    }
    if (check.lhs == check.rhs && check.relation != ExtentRelation::DivisibleBy)
      continue;
    if (check.relation == ExtentRelation::AtMost && lhs && *lhs <= 0 &&
        isNonNegative(check.rhs, dims, arguments))
      continue;
    if (check.isLimit && isArgumentExtent(check.lhs, dims, arguments))
      continue;
    if (seen.insert({static_cast<int>(check.relation), check.lhs, check.rhs}))
      kept.push_back(std::move(check));
  }
  checks = std::move(kept);
  return success();
}

Value ShapeFunctionBuilder::emitHolds(const RuntimeCheck &check) {
  using arith::CmpIPredicate;
  switch (check.relation) {
  case ExtentRelation::Equal:
    return cmp(CmpIPredicate::eq, check.lhs, check.rhs);
  case ExtentRelation::AtMost:
    return cmp(CmpIPredicate::sle, check.lhs, check.rhs);
  case ExtentRelation::OneOr:
    return arith::OrIOp::create(builder, loc,
                                cmp(CmpIPredicate::eq, check.lhs, constant(1)),
                                cmp(CmpIPredicate::eq, check.lhs, check.rhs));
  case ExtentRelation::DivisibleBy: {
    // The remainder is computed whatever the divisor is.
    Value one = constant(1);
    Value divisor = arith::MaxSIOp::create(builder, loc, check.rhs, one);
    Value rest = arith::RemSIOp::create(builder, loc, check.lhs, divisor);
    return arith::AndIOp::create(builder, loc,
                                 cmp(CmpIPredicate::sge, check.rhs, one),
                                 cmp(CmpIPredicate::eq, rest, constant(0)));
  }
  }
  llvm_unreachable("unknown relation");
}

/// Straight-line code: the last check is looked at first, so that the first
/// one that fails has the last word.
void ShapeFunctionBuilder::finish() {
  Block &body = shape.front();
  Operation *terminator = body.getTerminator();
  builder.setInsertionPoint(terminator);
  Type i64 = builder.getI64Type();
  Value code = constant(0), lhs = constant(0), rhs = constant(0);
  for (size_t i = checks.size(); i-- > 0;) {
    const RuntimeCheck &check = checks[i];
    Value ok = emitHolds(check);
    auto select = [&](Value passed, Value failed) -> Value {
      return arith::SelectOp::create(builder, loc, ok, passed, failed);
    };
    code = select(code, constant(i + 1));
    lhs = select(lhs, check.lhs);
    rhs = select(rhs, check.rhs);
  }
  auto store = [&](Value value, Value buffer, int64_t position) {
    Value stored = arith::IndexCastOp::create(builder, loc, i64, value);
    memref::StoreOp::create(builder, loc, stored, buffer, constant(position));
  };
  Value results = body.getArgument(arguments.size() + 1);
  Value values = body.getArgument(arguments.size() + 2);
  for (auto [i, extent] : llvm::enumerate(resultExtents))
    store(extent, results, i);
  store(lhs, values, 0);
  store(rhs, values, 1);
  terminator->setOperands(
      {arith::IndexCastOp::create(builder, loc, i64, code).getResult()});

  body.eraseArguments(0, arguments.size());
  shape.setAllArgAttrs(ArrayRef<DictionaryAttr>());
  shape.setFunctionType(
      builder.getFunctionType(body.getArgumentTypes(), {i64}));
  shape->setAttr("llvm.bareptr", builder.getUnitAttr());
  lowerToArith(shape);
}

FailureOr<SmallVector<std::string>> ShapeFunctionBuilder::build() {
  cloneBody();
  // Anything that fails leaves no half-made function behind.
  auto fail = [&]() {
    shape.erase();
    return failure();
  };
  collectNamedDims();
  if (failed(collectOpChecks()))
    return fail();
  Value zero = constant(0);
  for (OpOperand &result : shape.front().getTerminator()->getOpOperands())
    if (auto type = dyn_cast<RankedTensorType>(result.get().getType()))
      for (int64_t d = 0; d < type.getRank(); ++d) {
        Value extent = getValueOrCreateConstantIndexOp(
            builder, loc, tensor::getMixedSize(builder, loc, result.get(), d));
        resultExtents.push_back(extent);
        checks.push_back({ExtentRelation::AtMost, zero, extent,
                          "extent " + std::to_string(d) + " of result " +
                              std::to_string(result.getOperandNumber()) +
                              " is {1}, less than {0}",
                          loc});
      }
  anchor();
  resolveDims(shape);
  lowerToArith(shape);
  replaceArguments();
  eraseUnneeded(shape);
  for (auto [value, argument] :
       llvm::zip(shape.front().getArguments(), arguments))
    if (isa<FloatType>(argument.type) && !value.use_empty()) {
      mlir::emitError(function.getLoc())
          << "extents in '" << function.getName()
          << "' depend on the float argument '" << argument.name << "'";
      return fail();
    }
  if (failed(verifyOnlyExtents(shape, function)))
    return fail();
  guardDivisions();
  lowerToArith(shape);
  readAnchor();
  if (failed(pruneChecks()))
    return fail();
  finish();
  return llvm::map_to_vector(
      checks, [](const RuntimeCheck &check) { return check.text; });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct GenerateShapeFunctionsPass
    : attn::impl::GenerateShapeFunctionsPassBase<GenerateShapeFunctionsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::json::Array functions;
    for (func::FuncOp function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!function.isPublic() || function.isExternal())
        continue;
      FailureOr<llvm::json::Object> info = runOnFunction(module, function);
      if (failed(info))
        return signalPassFailure();
      functions.push_back(std::move(*info));
    }
    if (module.lookupSymbol(kModuleInfo)) {
      mlir::emitError(module.getLoc())
          << "'" << kModuleInfo << "' is defined already";
      return signalPassFailure();
    }
    std::string text =
        llvm::formatv("{0}", llvm::json::Value(llvm::json::Object{
                                 {"functions", std::move(functions)}}));
    text.push_back('\0');
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), text.size());
    LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/true,
                           LLVM::Linkage::External, kModuleInfo,
                           builder.getStringAttr(text));
  }

  FailureOr<llvm::json::Object> runOnFunction(ModuleOp module,
                                              func::FuncOp function) {
    std::string name = (kPrefix + function.getName()).str();
    if (module.lookupSymbol(name))
      return mlir::emitError(function.getLoc())
             << "'" << name << "' is defined already";
    if (!function.getBody().hasOneBlock())
      return mlir::emitError(function.getLoc())
             << "an entry must have one block, '" << function.getName()
             << "' has " << function.getBody().getBlocks().size();
    FailureOr<SmallVector<EntryArgument>> arguments =
        getEntryArguments(function);
    if (failed(arguments))
      return failure();
    FailureOr<SmallVector<std::string>> texts =
        ShapeFunctionBuilder(function, *arguments).build();
    if (failed(texts))
      return failure();
    return getEntryInfo(function, *arguments, *texts);
  }
};

} // namespace
