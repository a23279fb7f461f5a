//===- AttnOps.td - Ops of the attn dialect -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ops share, and the files of the ops, one a topic.
//
// Every constraint has a label (C1, C2, ...) that is unique in its op and
// stands in the op's description, in the verifier, and in the name of its
// negative test.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNOPS_TD
#define ATTN_DIALECT_ATTN_IR_ATTNOPS_TD

include "attn/Dialect/Attn/IR/AttnDialect.td"
include "attn/Dialect/Attn/IR/AttnInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Attn_Op<string mnemonic, list<Trait> traits = []>
    : Op<Attn_Dialect, mnemonic, traits>;

def Attn_InferShape : DeclareOpInterfaceMethods<InferTypeOpInterface>;
def Attn_Reify : DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface,
    ["reifyResultShapes"]>;
def Attn_Extents : DeclareOpInterfaceMethods<ExtentConstraintsOpInterface>;
def Attn_RegionNames : DeclareOpInterfaceMethods<OpAsmOpInterface,
    ["getAsmBlockArgumentNames"]>;

def Attn_Tensor3 : TensorRankOf<[AnyFloat], [3]>;
def Attn_Tensor4 : TensorRankOf<[AnyFloat], [4]>;
def Attn_Scores : TensorRankOf<[F32, F64], [4]>;
def Attn_CacheTensor : TensorRankOf<[AnyFloat, I8], [3, 4]>;
def Attn_IntTensor : RankedTensorOf<[I32, I64, Index]>;
def Attn_Sink : TensorRankOf<[AnyFloat], [1]>;
def Attn_Offset : AnyTypeOf<[Index, TensorRankOf<[I32, I64, Index], [1]>]>;

class Attn_DestinationOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat([DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>], traits)>;

include "attn/Dialect/Attn/IR/AttnGraphOps.td"
include "attn/Dialect/Attn/IR/AttnCacheOps.td"
include "attn/Dialect/Attn/IR/AttnFusedOps.td"
include "attn/Dialect/Attn/IR/AttnStateOps.td"

def Attn_ThreadCountOp : Attn_Op<"thread_count", [Pure]> {
  let summary = "the threads of the current run";
  let description = [{
    How many threads tasks are for. Work may be divided by it; results must not
    depend on it.
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, ReturnLike, Terminator,
    ParentOneOf<["ScoreMapOp", "MaskedSoftmaxOp", "ProbabilityMapOp", "AttentionOp", "OnlineAttentionOp", "AttentionStatsOp", "OnlineStatsOp"]>]> {
  let summary = "ends a score, mask or probability region";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

include "attn/Dialect/Attn/IR/WeightStatsOps.td"

#endif // ATTN_DIALECT_ATTN_IR_ATTNOPS_TD
