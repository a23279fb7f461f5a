//===- AttnInterfaces.td - Interfaces of attn ops -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One list of extent constraints per op serves the verifier (extents known at
// compile time) and the shape function (extents known at run time), so that the
// two cannot disagree.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNINTERFACES_TD
#define ATTN_DIALECT_ATTN_IR_ATTNINTERFACES_TD

include "mlir/IR/OpBase.td"

def ExtentConstraintsOpInterface : OpInterface<"ExtentConstraintsOpInterface"> {
  let cppNamespace = "::attn";
  let description = [{
    States which extents of the operands and results of an op must agree.
  }];
  let methods = [
    InterfaceMethod<
      "Appends the constraints between extents of this op's values.",
      "void", "getExtentConstraints",
      (ins "::llvm::SmallVectorImpl<::attn::ExtentConstraint> &":$constraints)>
  ];
}

class Attn_Get<string type, string name, string meaning>
    : InterfaceMethod<meaning, type, name>;

def KeyBlocksOpInterface : OpInterface<"KeyBlocksOpInterface"> {
  let cppNamespace = "::attn";
  let description = [{
    A fused op on queries and keys: its tasks walk the blocks of keys that the
    mask program leaves.
  }];
  let methods = [
    Attn_Get<"::mlir::Value", "getQuery", "`[B, Hq, Sq, D]`.">,
    Attn_Get<"::mlir::Value", "getKey", "`[B, Hkv, Skv, D]`, or pages.">,
    Attn_Get<"::mlir::OperandRange", "getOffsets", "None or four.">,
    Attn_Get<"::mlir::Value", "getTable", "The block table, or null.">,
    Attn_Get<"::mlir::Value", "getKeyScale", "Scales of integers, or null.">,
    Attn_Get<"::mlir::Value", "getAdditive", "The weight of additive scores, or null.">,
    Attn_Get<"::mlir::FloatAttr", "getScaleAttr", "The factor of the scores.">,
    Attn_Get<"::mlir::FloatType", "getScoreType", "What is computed in.">,
    Attn_Get<"::attn::ScheduleAttr", "getScheduleAttr", "The schedule, or null.">,
    Attn_Get<"::mlir::Region &", "getScore", "The score program.">,
    Attn_Get<"::mlir::Region &", "getMask", "The mask program.">
  ];
}

def KeyBlockOpInterface : OpInterface<"KeyBlockOpInterface"> {
  let cppNamespace = "::attn";
  let description = [{
    A tile op on a tile of queries and one block of keys, with the programs of
    the fused op.
  }];
  let methods = [
    Attn_Get<"::mlir::Value", "getQuery", "`[M, D]`, or panels.">,
    Attn_Get<"::mlir::Value", "getKey", "`[N, D]`.">,
    Attn_Get<"::mlir::Value", "getB", "The batch element.">,
    Attn_Get<"::mlir::Value", "getH", "The head.">,
    Attn_Get<"::mlir::Value", "getI", "The first row.">,
    Attn_Get<"::mlir::Value", "getJ", "The first key.">,
    Attn_Get<"::mlir::Value", "getRows", "Rows that are no padding; null for all.">,
    Attn_Get<"::mlir::Value", "getAdditive", "The weight of additive scores, or null.">,
    Attn_Get<"::mlir::FloatAttr", "getScaleAttr", "The factor of the scores, or null.">,
    Attn_Get<"bool", "getUnnormalized", "Whether scores are weights.">,
    Attn_Get<"::mlir::FloatType", "getScoreType", "What is computed in.">,
    Attn_Get<"::attn::ScheduleAttr", "getScheduleAttr", "The schedule, or null.">,
    Attn_Get<"::mlir::Region &", "getScore", "The score program.">,
    Attn_Get<"::mlir::Region &", "getMask", "The mask program.">,
    Attn_Get<"::mlir::Region *", "getWeightProgram", "The program on weights, or null.">
  ];
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNINTERFACES_TD
