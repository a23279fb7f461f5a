//===- AttnDialect.td - The attn dialect, its enums and attributes --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values are builtin ranked tensors; the dialect has no types of its own. The
// attributes are data that one phase leaves for the next: the schedule of a
// heavy op and the target of the module.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNDIALECT_TD
#define ATTN_DIALECT_ATTN_IR_ATTNDIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let summary = "attention graphs, from the textbook chain to the fused tile";
  let description = [{
    The dialect holds attention at three levels:

    - *graph ops* (`split_heads`, `qk`, `scale`, `softcap`, `bias`,
      `score_map`, `masked_softmax`, `weighted_sum`, `merge_heads`, `rope`):
      what a model says;
    - the *fused op* `attention`, which carries the score and the mask as
      programs (regions);
    - *tile ops* (`pack`, `online_attention`, `merge_partials`): what one task
      does with one tile of query rows.

    Values are builtin ranked tensors `[B, H, S, D]`; every extent but the head
    dims may be dynamic.
  }];
  let cppNamespace = "::attn";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

/// Where key column 0 lies against query row 0. Always written, never guessed.
def Attn_Alignment : I32EnumAttr<"Alignment", "how query rows and key columns are aligned", [
    I32EnumAttrCase<"TopLeft", 0, "top_left">,
    I32EnumAttrCase<"BottomRight", 1, "bottom_right">,
    I32EnumAttrCase<"Offset", 2, "offset">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}
def Attn_AlignmentAttr : EnumAttr<Attn_Dialect, Attn_Alignment, "alignment">;

/// What makes weights of scores.
def Attn_Normalizer : I32EnumAttr<"Normalizer", "what makes weights of the scores of a row", [
    I32EnumAttrCase<"Softmax", 0, "softmax">,
    I32EnumAttrCase<"Sigmoid", 1, "sigmoid">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}
def Attn_NormalizerAttr : EnumAttr<Attn_Dialect, Attn_Normalizer, "normalizer">;

/// The weights of a row that sees nothing.
def Attn_EmptyRow : I32EnumAttr<"EmptyRow", "the weights of a row without a visible key", [
    I32EnumAttrCase<"Zero", 0, "zero">,
    I32EnumAttrCase<"NaN", 1, "nan">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}
def Attn_EmptyRowAttr : EnumAttr<Attn_Dialect, Attn_EmptyRow, "empty_row">;

def Attn_RopeLayout : I32EnumAttr<"RopeLayout", "which features form a rotated pair", [
    I32EnumAttrCase<"Interleaved", 0, "interleaved">,
    I32EnumAttrCase<"Half", 1, "half">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}
def Attn_RopeLayoutAttr : EnumAttr<Attn_Dialect, Attn_RopeLayout, "rope_layout">;

def Attn_Kernel : I32EnumAttr<"Kernel", "the family of micro-kernels that an op is lowered to", [
    I32EnumAttrCase<"QueriesInLanes", 0, "queries_in_lanes">,
    I32EnumAttrCase<"Gemm", 1, "gemm">,
    I32EnumAttrCase<"FeaturesInLanes", 2, "features_in_lanes">,
    I32EnumAttrCase<"BF16Vectors", 3, "bf16_vectors">,
    I32EnumAttrCase<"BF16Tiles", 4, "bf16_tiles">,
    I32EnumAttrCase<"RecurrentState", 5, "recurrent_state">,
    I32EnumAttrCase<"ChunkedState", 6, "chunked_state">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}
def Attn_KernelAttr : EnumAttr<Attn_Dialect, Attn_Kernel, "kernel">;

/// Vector instruction sets that code generation distinguishes.
def Attn_ISA : I32EnumAttr<"ISA", "vector instruction set", [
    I32EnumAttrCase<"Portable", 0, "portable">,
    I32EnumAttrCase<"AVX2", 1, "avx2">,
    I32EnumAttrCase<"AVX512", 2, "avx512">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}
def Attn_ISAAttr : EnumAttr<Attn_Dialect, Attn_ISA, "isa">;

/// What multiplies pairs of bf16 into f32: nothing, AVX512-BF16, or AMX.
def Attn_BF16Unit : I32EnumAttr<"BF16Unit", "unit that multiplies pairs of bf16", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Vectors", 1, "vectors">,
    I32EnumAttrCase<"Tiles", 2, "tiles">]> {
  let cppNamespace = "::attn";
  let genSpecializedAttr = 0;
}
def Attn_BF16UnitAttr : EnumAttr<Attn_Dialect, Attn_BF16Unit, "bf16_unit">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class Attn_Attr<string name, string mnemonic_> : AttrDef<Attn_Dialect, name> {
  let mnemonic = mnemonic_;
}

def Attn_ScheduleAttr : Attn_Attr<"Schedule", "schedule"> {
  let summary = "how one heavy op is cut into tiles and registers";
  let description = [{
    Chosen by `attn-select-schedule` and read by every later pass; it may be
    written by hand, and then is left alone.

    - `kernel`: the micro-kernel family: `queries_in_lanes` for tiles of query
      rows, `bf16_vectors` and `bf16_tiles` for the same tiles in bf16, multiplied
      pair by pair (AVX512-BF16, AMX), `features_in_lanes` for the few rows of a
      decoding step, `gemm` for matrix products; `recurrent_state` and
      `chunked_state` for linear attention token by token and by products of
      chunks of tokens;
    - `tile`: `[rows, columns]` of one task: query rows and keys of one block
      for attention, rows and columns of the result for a matrix product, tokens
      that are read at once and columns of the state for linear attention;
    - `registers`: `[rows, vectors]` of the register tile: `rows` broadcast
      scalars times `vectors` vectors of accumulators; in AMX tiles of 16 x 16
      for `bf16_tiles`;
    - `split`: keys of one task of `features_in_lanes`, or 0 when a task sees all
      keys, as it always does with other kernels; partial results are merged in
      the order of the keys;
    - `lanes`: elements of one vector, of the type that scores are computed in.
  }];
  let parameters = (ins
    EnumParameter<Attn_Kernel>:$kernel,
    ArrayRefParameter<"int64_t">:$tile,
    ArrayRefParameter<"int64_t">:$registers,
    "int64_t":$lanes,
    DefaultValuedParameter<"int64_t", "0">:$split);
  let assemblyFormat = [{
    `<` `kernel` `=` $kernel `,` `tile` `=` `[` $tile `]` `,`
    `registers` `=` `[` $registers `]` `,` `lanes` `=` $lanes
    (`,` `split` `=` $split^)? `>`
  }];
  let extraClassDeclaration = [{
    /// Whether `target` has the vectors of `type`, which `op` computes in, and
    /// the unit that the schedule is for; if not, an error at `op`, which has
    /// the schedule.
    ::llvm::LogicalResult verifyTarget(::mlir::Operation *op,
                                       TargetAttr target,
                                       ::mlir::FloatType type) const;
  }];
  let genVerifyDecl = 1;
}

def Attn_TargetAttr : Attn_Attr<"Target", "target"> {
  let summary = "what code generation knows of the machine";
  let description = [{
    Stands on the module as `attn.target`. Cache sizes are bytes of one core's
    data caches. `cpu` is LLVM's name. `bf16` is the unit that multiplies pairs
    of bf16, when there is one.
  }];
  let parameters = (ins
    StringRefParameter<"LLVM name of the CPU">:$cpu,
    EnumParameter<Attn_ISA>:$isa,
    "int64_t":$l1, "int64_t":$l2,
    DefaultValuedParameter<"::attn::BF16Unit", "::attn::BF16Unit::None">:$bf16);
  let assemblyFormat = [{
    `<` `cpu` `=` $cpu `,` `isa` `=` $isa `,` `l1` `=` $l1 `,` `l2` `=` $l2
    (`,` `bf16` `=` $bf16^)? `>`
  }];
  let extraClassDeclaration = [{
    /// f32 elements of one vector register.
    int64_t getLanes() const;
    /// Elements of `type` of one.
    int64_t getLanes(::mlir::FloatType type) const;
    /// Number of architectural vector registers.
    int64_t getNumRegisters() const;
  }];
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNDIALECT_TD
