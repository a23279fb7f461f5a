//===- Passes.td - Passes on attention graphs -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_TD
#define ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyTypesPass : Pass<"attn-verify-types"> {
  let summary = "refuses numbers that no code is generated for";
  let description = [{
    Programs, and the functions around them, compute with index, signless integers
    of 1 to 128 bits, f16, bf16, f32 and f64, and with vectors and tensors of
    them. An op that takes or gives any other number, such as complex or 8-bit
    floats, is an error.
  }];
}

def NameDroppedDimsPass : Pass<"attn-name-dropped-dims"> {
  let summary = "lets slices say which dimensions they drop";
  let description = [{
    A slice that drops some of its dimensions of 1, or one with steps, becomes a
    slice of all of them and a reshape. Other slices have one way alone.
  }];
  let dependentDialects = ["mlir::tensor::TensorDialect"];
}

def ReturnWeightsPass : Pass<"attn-return-weights", "mlir::func::FuncOp"> {
  let summary = "returns the weights behind statistics of them";
  let description = [{
    A public function that returns results of `attn.weight_stats` returns the
    weights, and the scores of their softmax, after its own results. Checks need
    them: which of two keys has the larger weight is not exact, and how exact
    weights are depends on the size of the scores.
  }];
}

def PoisonClampsPass : Pass<"attn-poison-clamps"> {
  let summary = "lets programs read NaN where they read out of bounds";
  let description = [{
    Instead of the nearest element, for reads of floats by programs of attn ops.
    For checks: the results of hidden pairs reach nobody, so that a NaN is one of
    a visible pair.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::tensor::TensorDialect"];
}

def FuseAttentionPass : Pass<"attn-fuse", "mlir::func::FuncOp"> {
  let summary = "fuses qk ... masked_softmax ... weighted_sum into attn.attention";
  let description = [{
    Matches backwards from each `attn.weighted_sum` over programs on weights,
    `masked_softmax` and any order of `scale`, `softcap`, `bias` and `score_map`
    to `attn.qk`. A chain whose inner values have other uses is left alone, with
    a remark. Keywords and tensors of the mask become code of the mask region.

    Weights may be read by `attn.weight_stats` besides, or by it alone. That
    becomes `attn.attention_stats` with the log-sum-exp of the attention before it,
    or with one of its own, which a remark says.

    With `empty_row(nan)`, a `linalg.generic` puts NaN where the log-sum-exp is
    -inf. Its cost is a pass over the output.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect",
                           "mlir::math::MathDialect", "mlir::tensor::TensorDialect"];
}

def DecomposeProbabilityPass
    : Pass<"attn-decompose-probability", "mlir::func::FuncOp"> {
  let summary = "attention in two passes where weights must be normalised first";
  let description = [{
    A homogeneous program on weights, such as a product with something that does
    not depend on the weight, may run before the division by the sum. For any
    other one `attn.attention` becomes two: the first gives the log-sum-exp, the
    second, `unnormalized`, computes each weight from it and maps it. A remark
    names the op of the program that is why.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect",
                           "mlir::math::MathDialect", "mlir::tensor::TensorDialect"];
}

def FuseRopePass : Pass<"attn-fuse-rope", "mlir::func::FuncOp"> {
  let summary = "rotates queries where they are packed, new rows on their way";
  let description = [{
    Each `attn.rope` below f64 becomes `attn.rope_tables`, which heads, layers,
    queries and keys share, and what turns features by them. If its result is
    nothing but the query of attention, that is the attention itself, which
    rotates the rows of a tile when it packs them; if it is nothing but the new
    rows of a cache, they are rotated on their way there. Otherwise it is an
    `attn.rotate`, a pass of its own. A remark says which and why.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect",
                           "mlir::tensor::TensorDialect"];
}

def GenerateShapeFunctionsPass
    : Pass<"attn-generate-shape-functions", "mlir::ModuleOp"> {
  let summary = "adds the function that checks run-time extents of an entry";
  let description = [{
    For each public `func.func @f` with a body adds

    ```mlir
    func.func @__attn_shape_f(%dims: memref<Nxi64>, %result_dims: memref<Mxi64>,
                              %values: memref<2xi64>) -> i64 attributes {llvm.bareptr}
    ```

    whose machine signature is `int64_t (const int64_t *, int64_t *, int64_t *)`.
    `dims` holds the extents of all arguments in order; an integer scalar adds
    its value, a float scalar a 0. The function writes the extents
    of all results to `result_dims` and returns 0, or it writes the two values
    of the first failed check to `values` and returns the check's number, from
    1; then the extents mean nothing.

    The texts of the checks (with `{0}` and `{1}` where the values go) and the
    signatures stand as JSON in the zero-terminated constant
    `__attn_module_info`.

    Runs on tensors, before anything is fused. An extent that depends on the
    contents of a tensor is an error.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
                           "mlir::func::FuncDialect", "mlir::LLVM::LLVMDialect",
                           "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
                           "mlir::tensor::TensorDialect"];
}

def GuardIndicesPass : Pass<"attn-guard-indices"> {
  let summary = "keeps `tensor.extract`, `insert` and `dim` in bounds";
  let description = [{
    An index that is not known to be in bounds is clamped when it reads, and
    writes nothing when it is out of bounds; an element of an empty tensor reads
    as 0. The index of `tensor.dim` is clamped to the rank. Programs in regions of attn ops are left to the lowerings of those.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::scf::SCFDialect",
                           "mlir::tensor::TensorDialect"];
}

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_PASSES_TD
