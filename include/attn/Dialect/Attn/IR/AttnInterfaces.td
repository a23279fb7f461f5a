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

#endif // ATTN_DIALECT_ATTN_IR_ATTNINTERFACES_TD
