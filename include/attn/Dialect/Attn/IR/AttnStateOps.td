//===- AttnStateOps.td - Ops with a recurrent state -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention whose past is one matrix a head. Included by AttnOps.td, which
// defines the classes.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNSTATEOPS_TD
#define ATTN_DIALECT_ATTN_IR_ATTNSTATEOPS_TD

def Attn_LinearAttentionOp : Attn_DestinationOp<"linear_attention",
    [AttrSizedOperandSegments, Attn_Reify, Attn_Extents]> {
  let summary = "linear attention: a state of fixed size in place of keys";
  let description = [{
    Each key head has a state `S [Dk, Dv]`, zeros or `initial` at first. Tokens
    `t` come one after the other (Katharopoulos et al., arXiv:2006.16236):

    ```text
    S   = exp(decay_t) S                 with decay; row d by decay[t, d]
    u   = v_t                            without beta
    u   = beta_t (v_t - S^T k_t)         with beta
    S   = S + k_t u^T
    o_t = scale S^T q_t                  for each query head of the group
    ```

    The first output receives `o`, an optional second one the state after the
    last token. Sums are in f32 (f64 for f64), and so is the state between tokens.
    A `decay` is the logarithm of a gate: 0 keeps everything, `-inf` forgets
    everything; positive ones grow. One number a token and head is `[B, Hkv, S]`,
    one for each row of the state `[B, Hkv, S, Dk]`. With `beta` the update is
    the delta rule (Yang et al., arXiv:2406.06484).

    A result depends on tokens up to its own alone, NaN included. An infinity in
    a value makes its column of the state and of results from then on infinite or
    NaN, which depends on the kernel. An op of no tokens passes the state on.

    - C1: `query`, `key` and `value` have rank 4 and float element types, equal
      ones or all below f64.
    - C2: head dims are positive and static, but for that of `value` on memrefs,
      which may be a slice of columns; those of `query` and `key` are equal.
    - C3: batch extents are equal.
    - C4: head counts are static and positive; that of `key` equals that of
      `value` and divides that of `query`.
    - C5: sequence lengths are equal.
    - C6: `decay` is `[B, Hkv, S]` or `[B, Hkv, S, Dk]` of floats.
    - C7: `beta` is `[B, Hkv, S]` of floats.
    - C8: `initial` is `[B, Hkv, Dk, Dv]` of floats.
    - C9: there are one or two outputs: `[B, Hq, S, Dv]` of `value`'s element
      type, and `[B, Hkv, Dk, Dv]` of floats.
    - C10: `scale` is finite in the type that is summed in.
    - C11: operands are all tensors or all memrefs; with tensors the results
      are the outputs' types, with memrefs there are none.

    ```mlir
    %o, %s = attn.linear_attention ins(%q, %k, %v : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>)
                                   outs(%init, %final : tensor<?x8x?x64xf32>, tensor<?x2x64x64xf32>) scale 0.125
      decay(%g : tensor<?x2x?xf32>) initial(%past : tensor<?x2x64x64xf32>)
      -> tensor<?x8x?x64xf32>, tensor<?x2x64x64xf32>
    ```
  }];
  let arguments = (ins AnyShaped:$query, AnyShaped:$key, AnyShaped:$value,
    Variadic<AnyShaped>:$inits, Optional<AnyShaped>:$decay,
    Optional<AnyShaped>:$beta, Optional<AnyShaped>:$initial, F64Attr:$scale,
    OptionalAttr<Attn_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    `outs` `(` $inits `:` type($inits) `)` `scale` $scale
    (`decay` `(` $decay^ `:` type($decay) `)`)?
    (`beta` `(` $beta^ `:` type($beta) `)`)?
    (`initial` `(` $initial^ `:` type($initial) `)`)?
    (`schedule` `(` $schedule^ `)`)? attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
    /// The output, and the state after the last token or null.
    mlir::Value getOutput() { return getInits()[0]; }
    mlir::Value getFinal() {
      return getInits().size() > 1 ? getInits()[1] : mlir::Value();
    }
    /// Whether each row of the state has a decay of its own.
    bool hasRowDecay();
    /// Whether kernels read the types of the operands: f32, f16 and bf16.
    bool hasKernel();
  }];
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNSTATEOPS_TD
