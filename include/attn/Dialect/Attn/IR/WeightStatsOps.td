//===- WeightStatsOps.td - What the weights of attention look like --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statistics of weights at the three levels of the dialect. Part of AttnOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_WEIGHTSTATSOPS_TD
#define ATTN_DIALECT_ATTN_IR_WEIGHTSTATSOPS_TD

def Attn_WeightStatsOp : Attn_Op<"weight_stats",
    [Pure, Attn_InferShape, Attn_Reify]> {
  let summary = "sums, maxima, entropies and largest of attention weights";
  let description = [{
    Statistics of weights `w [B, H, Sq, Skv]`, each a result if its keyword is
    there, in this order:

    - `column_sums`, `[B, H, Skv]`: `sum_i w[b, h, i, j]`, how much attention a
      key gets.
    - `row_max`, `[B, H, Sq]`: the largest weight of a row, at least 0.
    - `entropy`, `[B, H, Sq]`: `-sum_j w ln w` in nats, with `0 ln 0 = 0`.
    - `top_k K`, `[B, H, Sq, K]` twice: the largest weights of each row in falling
      order, and the numbers of their keys, i32. Of equal weights the lower key
      comes first. Places past the last weight above 0 hold weight 0 and key -1.

    A NaN counts as larger than every number. Fused with what makes the weights,
    no tensor of all weights exists.

    - C1: at least one result is asked for.
    - C2: `K` is positive.
    - C3: results have the extents above; numbers are of the element type of
      `weights`.

    ```mlir
    %sums, %top, %keys = attn.weight_stats %p column_sums top_k 8 : tensor<?x8x?x?xf32>
      -> tensor<?x8x?xf32>, tensor<?x8x?x8xf32>, tensor<?x8x?x8xi32>
    ```
  }];
  let arguments = (ins Attn_Scores:$weights, UnitAttr:$column_sums,
    UnitAttr:$row_max, UnitAttr:$entropy,
    OptionalAttr<I64Attr>:$top_k);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $weights (`column_sums` $column_sums^)? (`row_max` $row_max^)?
    (`entropy` $entropy^)? (`top_k` $top_k^)? attr-dict
    `:` type($weights) (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// A written result type may forget extents that are inferred.
    static bool isCompatibleReturnTypes(mlir::TypeRange inferred, mlir::TypeRange written);
  }];
}

def Attn_AttentionStatsOp : Attn_DestinationOp<"attention_stats",
    [AttrSizedOperandSegments, Attn_Reify, Attn_Extents, Attn_RegionNames,
     KeyBlocksOpInterface]> {
  let summary = "fused statistics of the weights of attention";
  let description = [{
    What `attn.weight_stats` says of the weights of an `attn.attention` with the
    same queries, keys, scale and programs. `log_sum_exp`, `[B, Hq, Sq]`, is that
    of the attention: the weight of a visible pair is `exp(score - lse)`, and 0 for
    a score of -inf. Sinks are part of it. With the `remainder` of the attention it
    is `exp((score - lse) - remainder)`, which is right for scores of any size.
    It is at most 1, whatever rounding does to the score.
    Without both, the weights of visible pairs are what the score region yields, as
    with `unnormalized`.

    Outputs, at least one: `column_sums [B, Hq, Skv]`, `row_max [B, Hq, Sq]`,
    `entropy [B, Hq, Sq]`, and `top_k` with weights and keys `[B, Hq, Sq, K]`. The
    other operands are those of `attn.attention`; keys are numbered as the regions
    see them.

    - C1: `query` and `key` have rank 4 and float element types; `key` may be i8.
    - C2: head dims are static, positive and equal.
    - C3: batch extents are equal.
    - C4: the key head count is positive and divides the query head count.
    - C5: there is at least one output.
    - C6: outputs are of f32 or f64, keys of i32, and have the extents above; `K`
      is static and positive.
    - C7: `scale` is finite in the type that scores are accumulated in.
    - C8: `offsets` are none or four.
    - C9: the score region maps `(score, b, h, i, j)` to a score, the mask region
      `(b, h, i, j)` to `i1`.
    - C10: operands are all tensors or all memrefs; with tensors the results are
      the outputs' types, with memrefs there are none.
    - C11: `log_sum_exp` is `[B, Hq, Sq]` of f32 or f64, and so is `remainder`,
      which is given with it.
    - C12: `table` is `[B, M]` of i32 or i64; with it, key has static pages.
    - C13: `key_scale` is given exactly for i8, and has the extents of `key` but
      for the last.
    - C14: `additive` is `[D]` or `[Hq, D]` of floats.

    ```mlir
    %sums = attn.attention_stats ins(%q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>) scale 0.125
      log_sum_exp(%lse : tensor<?x8x?xf32>) column_sums(%init : tensor<?x8x?xf32>) -> tensor<?x8x?xf32>
    ```
  }];
  let arguments = (ins AnyShaped:$query, AnyShaped:$key,
    Variadic<Index>:$offsets, Optional<AnyShaped>:$log_sum_exp,
    Optional<AnyShaped>:$remainder, Optional<AnyShaped>:$table, Optional<AnyShaped>:$key_scale,
    Optional<AnyShaped>:$additive, Optional<AnyShaped>:$column_sums,
    Optional<AnyShaped>:$row_max, Optional<AnyShaped>:$entropy,
    Optional<AnyShaped>:$top_weights, Optional<AnyShaped>:$top_keys,
    F64Attr:$scale, OptionalAttr<Attn_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region MaxSizedRegion<1>:$score, MaxSizedRegion<1>:$mask);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `:` type($query) `,` type($key) `)` `scale` $scale
    (`offsets` `(` $offsets^ `)`)?
    (`log_sum_exp` `(` $log_sum_exp^ `:` type($log_sum_exp) `)`)?
    (`remainder` `(` $remainder^ `:` type($remainder) `)`)?
    (`table` `(` $table^ `:` type($table) `)`)?
    (`key_scale` `(` $key_scale^ `:` type($key_scale) `)`)?
    (`additive` `(` $additive^ `:` type($additive) `)`)?
    (`column_sums` `(` $column_sums^ `:` type($column_sums) `)`)?
    (`row_max` `(` $row_max^ `:` type($row_max) `)`)?
    (`entropy` `(` $entropy^ `:` type($entropy) `)`)?
    (`top_k` `(` $top_weights^ `,` $top_keys `:` type($top_weights) `,` type($top_keys) `)`)?
    (`schedule` `(` $schedule^ `)`)? attr-dict
    (`score` $score^)? (`mask` $mask^)?
    (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable();
    /// What scores, weights and sums are computed in.
    mlir::FloatType getScoreType();
  }];
}

def Attn_OnlineStatsOp : Attn_DestinationOp<"online_stats",
    [Attn_Extents, Attn_RegionNames, AttrSizedOperandSegments,
     KeyBlockOpInterface]> {
  let summary = "statistics of the weights of one block of keys for one tile of queries";
  let description = [{
    Adds what the weights of queries `[M, D]` on keys `[N, D]` say to
    `column_sums [N]`, `row_max [M]`, `entropy [M]`, and `top_weights` and
    `top_keys`, both `[K, M]`. A fresh state is 0 everywhere, and -1 for the keys.
    Blocks come in the order of their keys.

    Weights are as in `attn.attention_stats`, with `log_sum_exp [M]` and `remainder
    [M]`, and positions and rows as in `attn.online_attention`: rows past `rows`
    count nowhere.

    - C1: shaped operands have rank 2, but `column_sums`, `row_max`, `entropy`,
      `log_sum_exp` and `remainder`, of rank 1, and float element types, `top_keys`
      i32.
    - C2: `query` and `key` have equal, static second extents.
    - C3: extents of the state are those above; `K` is static and positive.
    - C4: there is at least one output.
    - C5: regions are as in `attn.attention_stats`.
    - C6: `log_sum_exp` is `[R]`, `R <= M`, and so is `remainder`, which is given
      with it.
    - C7: `scale` is finite in the type that scores are accumulated in.
    - C8: `additive` is `[D]` of floats.
  }];
  let arguments = (ins AnyShaped:$query, AnyShaped:$key,
    Index:$b, Index:$h, Index:$i, Index:$j, Optional<Index>:$rows,
    Optional<AnyShaped>:$log_sum_exp, Optional<AnyShaped>:$remainder,
    Optional<AnyShaped>:$additive, Optional<AnyShaped>:$column_sums,
    Optional<AnyShaped>:$row_max, Optional<AnyShaped>:$entropy,
    Optional<AnyShaped>:$top_weights, Optional<AnyShaped>:$top_keys,
    OptionalAttr<F64Attr>:$scale,
    OptionalAttr<Attn_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region MaxSizedRegion<1>:$score, MaxSizedRegion<1>:$mask);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `:` type($query) `,` type($key) `)`
    `at` `(` $b `,` $h `,` $i `,` $j `)` (`rows` `(` $rows^ `)`)?
    (`scale` $scale^)?
    (`log_sum_exp` `(` $log_sum_exp^ `:` type($log_sum_exp) `)`)?
    (`remainder` `(` $remainder^ `:` type($remainder) `)`)?
    (`additive` `(` $additive^ `:` type($additive) `)`)?
    (`column_sums` `(` $column_sums^ `:` type($column_sums) `)`)?
    (`row_max` `(` $row_max^ `:` type($row_max) `)`)?
    (`entropy` `(` $entropy^ `:` type($entropy) `)`)?
    (`top_k` `(` $top_weights^ `,` $top_keys `:` type($top_weights) `,` type($top_keys) `)`)?
    (`schedule` `(` $schedule^ `)`)? attr-dict
    (`score` $score^)? (`mask` $mask^)?
    (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable();
    /// What scores, weights and sums are computed in.
    mlir::FloatType getScoreType();
    /// Whether scores are weights: there is nothing to normalise them by.
    bool getUnnormalized() { return !getLogSumExp(); }
    /// Weights are mapped by the score program.
    mlir::Region *getWeightProgram() { return nullptr; }
  }];
}

#endif // ATTN_DIALECT_ATTN_IR_WEIGHTSTATSOPS_TD
