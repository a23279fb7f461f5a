//===- StagedLoads.cpp - Tensors of pairs, by rows ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StagedLoads.h"
#include "ProgramVectorizer.h"
#include "attn/Analysis/ProgramSlice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn;

using Vectors = SmallVector<Value>;

/// Keys whose visibility to a row is one word.
static constexpr int64_t kWordKeys = 32;

//===----------------------------------------------------------------------===//
// Which loads
//===----------------------------------------------------------------------===//

/// The arguments `(b, h, i, j)` of a program, without the score.
static ValueRange getPosition(Region &program) {
  return program.getArguments().take_back(4);
}

/// Pairs of values that are equal, or being compared.
using EqualPairs = llvm::DenseSet<std::pair<Value, Value>>;

/// Whether `x` of one program and `y` of another, or the same, are equal.
static bool isSame(Value x, Region &ofX, Value y, Region &ofY,
                   EqualPairs &seen) {
  // One difference anywhere ends the comparison of all.
  if (x == y || !seen.insert({x, y}).second)
    return true;
  auto xArgument = dyn_cast<BlockArgument>(x),
       yArgument = dyn_cast<BlockArgument>(y);
  if (xArgument && yArgument) {
    auto numberFromLast = [](BlockArgument argument, Region &program) {
      return program.getNumArguments() - argument.getArgNumber();
    };
    return xArgument.getParentRegion() == &ofX &&
           yArgument.getParentRegion() == &ofY &&
           numberFromLast(xArgument, ofX) == numberFromLast(yArgument, ofY);
  }
  Operation *xOp = x.getDefiningOp(), *yOp = y.getDefiningOp();
  return xOp && yOp && xOp->getName() == yOp->getName() &&
         xOp->getNumOperands() == yOp->getNumOperands() &&
         xOp->getAttrDictionary() == yOp->getAttrDictionary() &&
         xOp->getResultTypes() == yOp->getResultTypes() &&
         xOp->getNumRegions() == 0 &&
         llvm::all_of(llvm::zip(xOp->getOperands(), yOp->getOperands()),
                      [&](auto pair) {
                        return isSame(std::get<0>(pair), ofX, std::get<1>(pair),
                                      ofY, seen);
                      });
}

/// Whether `load` runs along the keys of a row; `shift` is what is added to
/// `j`, or null.
static bool isAlongKeys(memref::LoadOp load, Region &program, Value &shift) {
  auto type = load.getMemRefType();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getRank() < 2 ||
      program.isAncestor(load.getMemRef().getParentRegion()) ||
      failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return false;
  Value row = getPosition(program)[2], key = getPosition(program)[3];
  // A score is neither.
  SmallVector<Value> keyed(program.getArguments().drop_back(4));
  keyed.push_back(key);
  ValueRange leading = load.getIndices().drop_back();
  if (llvm::any_of(
          leading,
          [&](Value index) { return dependsOn(index, program, keyed); }) ||
      llvm::none_of(
          leading, [&](Value index) { return dependsOn(index, program, row); }))
    return false;
  Value last = load.getIndices().back();
  if (last == key)
    return true;
  auto sum = last.getDefiningOp<arith::AddIOp>();
  if (!sum || (sum.getLhs() != key && sum.getRhs() != key))
    return false;
  shift = sum.getLhs() == key ? sum.getRhs() : sum.getLhs();
  keyed.push_back(row);
  return !dependsOn(shift, program, keyed);
}

bool StagedLoads::Load::isBoolean() const {
  return memref::LoadOp(ops.front()).getType().isInteger(1);
}

StagedLoads::StagedLoads(VectorEmitter &emitter, KeyBlockOpInterface op,
                         int64_t vectors, ScratchAllocator allocate)
    : e(emitter), b(emitter.builder()), op(op) {
  for (Region *program : {&op.getScore(), &op.getMask(), op.getWeightProgram()})
    if (Operation *culprit; program && !program->empty() &&
                            isVectorizableProgram(*program, &culprit))
      find(*program);
  // The schedule's block, rounded up to whole words and vectors.
  int64_t keys = llvm::alignTo(op.getScheduleAttr().getTile()[1], kWordKeys);
  int64_t rows = vectors * e.getLanes();
  for (auto [number, load] : llvm::enumerate(loads)) {
    if (load.isBoolean()) {
      load.staged =
          allocate("words", number, {keys / kWordKeys, rows}, b.getI32Type());
      continue;
    }
    load.rows = allocate("staged-rows", 0, {rows, keys}, e.getType());
    load.staged = allocate("staged", number, {keys, rows}, e.getType());
  }
}

void StagedLoads::find(Region &program) {
  for (auto load : program.getOps<memref::LoadOp>()) {
    Type type = load.getType();
    // Narrow numbers are widened when they are staged.
    bool isNarrow = isa<Float16Type, BFloat16Type, Float32Type>(type) &&
                    type != e.getType();
    if (!type.isInteger(1) && type != e.getType() && !isNarrow)
      continue;
    if (isNarrow && !llvm::all_of(load->getUsers(), [&](Operation *user) {
          auto extension = dyn_cast<arith::ExtFOp>(user);
          return extension && extension.getType() == e.getType();
        }))
      continue;
    Value shift;
    if (!isAlongKeys(load, program, shift))
      continue;
    auto equal = llvm::find_if(loads, [&](Load &other) {
      memref::LoadOp first = other.ops.front();
      EqualPairs seen;
      return isSame(first.getResult(), *first->getParentRegion(),
                    load.getResult(), program, seen);
    });
    if (equal != loads.end()) {
      equal->ops.push_back(load);
      continue;
    }
    Load next;
    next.ops.push_back(load);
    next.shift = shift;
    loads.push_back(next);
  }
}

//===----------------------------------------------------------------------===//
// Staging
//===----------------------------------------------------------------------===//

Value StagedLoads::add(Value x, Value y) {
  return arith::AddIOp::create(b, x, y);
}

/// Whether the program is false wherever `value` is.
static bool isConjunct(Value value) {
  llvm::SetVector<Value> conjuncts;
  conjuncts.insert(value);
  for (size_t i = 0; i < conjuncts.size(); ++i)
    for (Operation *user : Value(conjuncts[i]).getUsers()) {
      if (isa<YieldOp>(user) && isa<KeyBlockOpInterface>(user->getParentOp()))
        return true;
      if (isa<arith::AndIOp>(user))
        conjuncts.insert(user->getResult(0));
    }
  return false;
}

Value StagedLoads::stage(Value firstRow, Value lastRow, int64_t vectors,
                         Value keyBegin, Value keyEnd) {
  Value visible;
  for (const Load &load : loads) {
    Value none = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
    Value any = emitLoop(
        b, e.index(0), e.index(vectors * e.getLanes()), 1, ValueRange(none),
        [&](Value r, ValueRange carried) -> Vectors {
          Value row = arith::MinSIOp::create(b, add(firstRow, r), lastRow);
          Value words = stageRow(load, row, r, keyBegin, keyEnd);
          return {words ? arith::OrIOp::create(b, carried[0], words).getResult()
                        : carried[0]};
        })[0];
    if (!load.isBoolean()) {
      transposeRows(load, vectors, keyBegin, keyEnd);
      continue;
    }
    if (llvm::none_of(load.ops, [](memref::LoadOp use) {
          return isConjunct(use.getResult());
        }))
      continue;
    Value sees = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, any, none);
    visible = visible ? arith::AndIOp::create(b, visible, sees) : sees;
  }
  return visible;
}

/// Stages one row as row `r` of the group. Returns the union of its words, or
/// null for numbers.
Value StagedLoads::stageRow(const Load &load, Value row, Value r,
                            Value keyBegin, Value keyEnd) {
  memref::LoadOp first = load.ops.front();
  Region &program = *first->getParentRegion();
  IRMapping known;
  SmallVector<Value> arguments(program.getNumArguments() - 4);
  llvm::append_range(arguments, ValueRange{op.getB(), op.getH(), row});
  arguments.push_back({});
  vectorizeKnownPart(e, program, arguments, known);
  SmallVector<Value> leading;
  for (auto [dim, index] : llvm::enumerate(first.getIndices().drop_back()))
    leading.push_back(
        clampIndex(e, known.lookupOrDefault(index), first.getMemRef(), dim));
  Value column = op.getJ();
  if (load.shift)
    column = add(column, known.lookupOrDefault(load.shift));
  if (load.isBoolean())
    return stageWords(load, leading, column, r, keyBegin, keyEnd);
  stageNumbers(load, leading, column, r, keyBegin, keyEnd);
  return {};
}

/// Emits `whole()` if columns [first, first + count) of the last dimension of
/// `memref` exist, else `parts()`; returns what they return.
static Value ifInBounds(VectorEmitter &e, Value memref, Value first,
                        int64_t count, TypeRange types,
                        function_ref<Vectors()> whole,
                        function_ref<Vectors()> parts) {
  ImplicitLocOpBuilder &b = e.builder();
  auto rank = cast<MemRefType>(memref.getType()).getRank();
  Value extent = memref::DimOp::create(b, memref, rank - 1);
  Value fits = arith::AndIOp::create(
      b, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, first, e.index(0)),
      arith::CmpIOp::create(b, arith::CmpIPredicate::sle, first,
                            arith::SubIOp::create(b, extent, e.index(count))));
  auto either = scf::IfOp::create(b, types, fits, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  for (auto [block, body] :
       {std::pair(either.thenBlock(), whole), {either.elseBlock(), parts}}) {
    if (types.empty())
      b.setInsertionPoint(block->getTerminator());
    else
      b.setInsertionPointToStart(block);
    Vectors results = body();
    if (!types.empty())
      scf::YieldOp::create(b, results);
  }
  return types.empty() ? Value() : either.getResult(0);
}

Value StagedLoads::stageWords(const Load &load, ValueRange leading, Value first,
                              Value r, Value keyBegin, Value keyEnd) {
  Value memref = memref::LoadOp(load.ops.front()).getMemRef();
  Type word = b.getI32Type();
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  // Booleans are bytes, which memref and vector types do not say.
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
  Value address = add(memref::ExtractAlignedPointerAsIndexOp::create(b, memref),
                      metadata.getOffset());
  for (auto [index, stride] : llvm::zip(leading, metadata.getStrides()))
    address = add(address, arith::MulIOp::create(b, index, stride));
  Value size = e.index(kWordKeys);
  Value wordBegin = arith::DivUIOp::create(b, keyBegin, size);
  Value wordEnd =
      arith::DivUIOp::create(b, add(keyEnd, e.index(kWordKeys - 1)), size);
  return emitLoop(
      b, wordBegin, wordEnd, 1, ValueRange(constant(0)),
      [&](Value w, ValueRange carried) -> Vectors {
        Value column = add(first, arith::MulIOp::create(b, w, size));
        auto whole = [&]() -> Vectors {
          Value pointer = LLVM::IntToPtrOp::create(
              b, LLVM::LLVMPointerType::get(b.getContext()),
              arith::IndexCastOp::create(b, b.getI64Type(),
                                         add(address, column)),
              LLVM::DereferenceableAttr());
          auto bytesType = VectorType::get({kWordKeys}, b.getI8Type());
          Value bytes =
              LLVM::LoadOp::create(b, bytesType, pointer, /*alignment=*/1);
          Value none = arith::ConstantOp::create(b, b.getZeroAttr(bytesType));
          Value bits =
              arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bytes, none);
          bits = vector::BitCastOp::create(b, VectorType::get({1}, word), bits);
          return {vector::ExtractOp::create(b, bits, ArrayRef<int64_t>{0})};
        };
        auto parts = [&]() -> Vectors {
          Value rest = arith::SubIOp::create(b, keyEnd,
                                             arith::MulIOp::create(b, w, size));
          return emitLoop(
              b, e.index(0), arith::MinSIOp::create(b, rest, size), 1,
              ValueRange(constant(0)),
              [&](Value t, ValueRange bits) -> Vectors {
                SmallVector<Value> indices(leading);
                indices.push_back(
                    clampIndex(e, add(column, t), memref, leading.size()));
                Value bit = arith::ExtUIOp::create(
                    b, word, memref::LoadOp::create(b, memref, indices));
                Value shift = arith::IndexCastOp::create(b, word, t);
                return {arith::OrIOp::create(
                    b, bits[0], arith::ShLIOp::create(b, bit, shift))};
              });
        };
        Value bits =
            ifInBounds(e, memref, column, kWordKeys, word, whole, parts);
        memref::StoreOp::create(b, bits, load.staged, ValueRange{w, r});
        return {arith::OrIOp::create(b, carried[0], bits)};
      })[0];
}

void StagedLoads::stageNumbers(const Load &load, ValueRange leading,
                               Value first, Value r, Value keyBegin,
                               Value keyEnd) {
  Value memref = memref::LoadOp(load.ops.front()).getMemRef();
  int64_t lanes = e.getLanes();
  Value begin = arith::SubIOp::create(
      b, keyBegin, arith::RemUIOp::create(b, keyBegin, e.index(lanes)));
  emitLoop(b, begin, keyEnd, lanes, {}, [&](Value j, ValueRange) -> Vectors {
    Value column = add(first, j);
    auto whole = [&]() -> Vectors {
      SmallVector<Value> indices(leading);
      indices.push_back(column);
      e.store(e.loadWidened(memref, indices), load.rows, {r, j});
      return {};
    };
    auto parts = [&]() -> Vectors {
      Value rest = arith::SubIOp::create(b, keyEnd, j);
      emitLoop(b, e.index(0), arith::MinSIOp::create(b, rest, e.index(lanes)),
               1, {}, [&](Value t, ValueRange) -> Vectors {
                 SmallVector<Value> indices(leading);
                 indices.push_back(
                     clampIndex(e, add(column, t), memref, leading.size()));
                 Value value = memref::LoadOp::create(b, memref, indices);
                 memref::StoreOp::create(b, e.convert(value), load.rows,
                                         ValueRange{r, add(j, t)});
                 return {};
               });
      return {};
    };
    ifInBounds(e, memref, column, lanes, {}, whole, parts);
    return {};
  });
}

void StagedLoads::transposeRows(const Load &load, int64_t vectors,
                                Value keyBegin, Value keyEnd) {
  int64_t lanes = e.getLanes();
  Value begin = arith::SubIOp::create(
      b, keyBegin, arith::RemUIOp::create(b, keyBegin, e.index(lanes)));
  emitLoop(b, begin, keyEnd, lanes, {}, [&](Value j, ValueRange) -> Vectors {
    return emitLoop(
        b, e.index(0), e.index(vectors * lanes), lanes, {},
        [&](Value r, ValueRange) -> Vectors {
          Vectors rows;
          for (int64_t lane = 0; lane < lanes; ++lane)
            rows.push_back(e.load(load.rows, {add(r, e.index(lane)), j}));
          for (auto [lane, column] : llvm::enumerate(e.transpose(rows)))
            e.store(column, load.staged, {add(j, e.index(lane)), r});
          return {};
        });
  });
}

//===----------------------------------------------------------------------===//
// Use
//===----------------------------------------------------------------------===//

void StagedLoads::addTo(IRMapping &known, Region &program, Value j, int64_t v) {
  for (const Load &load : loads)
    for (memref::LoadOp use : load.ops) {
      if (use->getParentRegion() != &program)
        continue;
      Value row = e.index(v * e.getLanes()), value;
      if (load.isBoolean()) {
        VectorType type = e.vectorType(b.getI32Type());
        Value size = e.index(kWordKeys);
        Value words = vector::LoadOp::create(
            b, type, load.staged,
            ValueRange{arith::DivUIOp::create(b, j, size), row});
        Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
        Value bit = arith::ShLIOp::create(
            b, one,
            arith::IndexCastOp::create(b, b.getI32Type(),
                                       arith::RemUIOp::create(b, j, size)));
        value = arith::CmpIOp::create(
            b, arith::CmpIPredicate::ne,
            arith::AndIOp::create(b, words, e.broadcast(bit)),
            arith::ConstantOp::create(b, b.getZeroAttr(type)));
      } else {
        value = e.load(load.staged, {j, row});
        if (use.getType() != e.getType())
          for (Operation *user : use->getUsers())
            known.map(user->getResult(0), value);
      }
      known.map(use.getResult(), value);
    }
}
