//===- AttnFusedOps.td - The fused op and its tiles -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fusion leaves of the graph ops, and what tiling leaves of that. Included
// by AttnOps.td, which defines the classes.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNFUSEDOPS_TD
#define ATTN_DIALECT_ATTN_IR_ATTNFUSEDOPS_TD

def Attn_AttentionOp : Attn_DestinationOp<"attention",
    [AttrSizedOperandSegments, Attn_Reify, Attn_Extents, Attn_RegionNames,
     KeyBlocksOpInterface]> {
  let summary = "fused attention with a score program and a mask program";
  let description = [{
    For each query row: scores `dot(q, k) * scale`, mapped by the score region,
    softmax over the pairs for which the mask region yields true, weighted sum
    of the values. The first output is `[B, Hq, Sq, Dv]`; an optional second
    one, `[B, Hq, Sq]`, receives the natural log-sum-exp (-inf for a row without
    visible keys, whose output is 0). Scores, weights and sums are f32, f64 for
    f64 queries. An optional third one receives the remainder: what is left out
    of the log-sum-exp where it is rounded, 0 where it is infinite. For scores
    near -1e9, the logarithm of the sum is all remainder in f32.

    A score of -inf has weight 0. A row all of whose scores are -inf is like one
    without visible keys, whatever its values hold; in other rows a NaN or an
    infinity in the value of such a pair may reach the output.

    `offsets(b, h, i, j)` are added to the indices that the regions see, so
    that a tile keeps its absolute position. Values from outside are captured
    implicitly by the regions, which are free of side effects.

    `sink` has one logit for each head of `query`, which takes part in the
    maximum, the sum and the log-sum-exp as in `attn.masked_softmax`.

    The probability region maps the weights of visible pairs after the softmax;
    hidden ones stay 0. It changes neither the sum nor the log-sum-exp.

    `unnormalized` leaves out the softmax: the weights of visible pairs are what
    the score region yields.

    With `additive(%w)`, scores are `w . tanh(q + k)` as in
    `attn.additive_scores` instead of dot products, times `scale`.

    With `rotated half(%cos, %sin)`, or `interleaved`, rows of `query` are turned
    as by `attn.rotate` before anything else.

    With a block `table [B, M]`, `key` and `value` are pools of pages
    `[P, Hkv, T, D]`, read as by `attn.gather_pages`. Keys and values of 8-bit
    integers are multiplied by `key_scale` and `value_scale`, one number a row, as
    by `attn.dequantize`.

    - C1: `query`, `key`, `value` have rank 4 and float element types; `key` and
      `value` may be i8.
    - C2: head dims are static and positive; those of `query` and `key` are
      equal.
    - C3: batch extents are equal.
    - C4: the key head count is positive, equals the value head count, and
      divides the query head count.
    - C5: key and value lengths are equal.
    - C6: there are one to three outputs: `[B, Hq, Sq, Dv]` of `value`'s element
      type, of any float type for integers, and `[B, Hq, Sq]` of f32 or f64. With
      a third one, `[B, Hq, Sq]`, it and the second have the type of scores.
    - C7: `scale` is finite in the type that scores are accumulated in.
    - C8: `offsets` are none or four.
    - C9: the score region maps `(score, b, h, i, j)` to a score, the mask
      region `(b, h, i, j)` to `i1`, the probability region `(p, b, h, i, j)` to
      a weight.
    - C10: operands are all tensors or all memrefs; with tensors the results
      are the outputs' types, with memrefs there are none.
    - C11: `sink` is `[Hq]` of floats.
    - C12: `table` is `[B, M]` of i32 or i64; with it, key and value have static
      pages. Their pools may differ in size.
    - C13: `key_scale` and `value_scale` are given exactly for i8, and have the
      extents of `key` and `value` but for the last.
    - C14: with `unnormalized` there is one output, no sink and no probability
      region.
    - C15: `additive` is `[D]` or `[Hq, D]` of floats, where `D` is the head dim
      of `query`.
    - C16: `query_cos` and `query_sin` are given with `query_layout`, and are
      floats `[Sq, P]` or `[B, Sq, P]` of a static `P` that is at most half of
      the head dim of `query`.

    ```mlir
    %o = attn.attention ins(%q, %k, %v : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>)
                        outs(%init : tensor<?x8x?x64xf32>) scale 0.125
      mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %visible = arith.cmpi sle, %j, %i : index
        attn.yield %visible : i1
      } -> tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins AnyShaped:$query, AnyShaped:$key, AnyShaped:$value,
    Variadic<AnyShaped>:$inits, Variadic<Index>:$offsets,
    Optional<AnyShaped>:$sink, Optional<AnyShaped>:$table,
    Optional<AnyShaped>:$key_scale, Optional<AnyShaped>:$value_scale,
    Optional<AnyShaped>:$additive, Optional<AnyShaped>:$query_cos,
    Optional<AnyShaped>:$query_sin, F64Attr:$scale, UnitAttr:$unnormalized,
    OptionalAttr<Attn_RopeLayoutAttr>:$query_layout,
    OptionalAttr<Attn_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region MaxSizedRegion<1>:$score, MaxSizedRegion<1>:$mask,
    MaxSizedRegion<1>:$probability);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    `outs` `(` $inits `:` type($inits) `)` `scale` $scale
    (`offsets` `(` $offsets^ `)`)? (`sink` `(` $sink^ `:` type($sink) `)`)?
    (`table` `(` $table^ `:` type($table) `)`)?
    (`key_scale` `(` $key_scale^ `:` type($key_scale) `)`)?
    (`value_scale` `(` $value_scale^ `:` type($value_scale) `)`)?
    (`additive` `(` $additive^ `:` type($additive) `)`)?
    (`rotated` $query_layout^
      `(` $query_cos `,` $query_sin `:` type($query_cos) `,` type($query_sin) `)`)?
    (`unnormalized` $unnormalized^)?
    (`schedule` `(` $schedule^ `)`)? attr-dict
    (`score` $score^)? (`mask` $mask^)? (`probability` $probability^)?
    (`->` type($results)^)?
  }];
  let builders = [OpBuilder<(ins "mlir::TypeRange":$results,
    "mlir::Value":$query, "mlir::Value":$key, "mlir::Value":$value,
    "mlir::ValueRange":$inits, "mlir::ValueRange":$offsets, "mlir::Value":$sink,
    "mlir::Value":$table, "mlir::Value":$key_scale, "mlir::Value":$value_scale,
    "mlir::Value":$additive, "mlir::FloatAttr":$scale,
    "mlir::UnitAttr":$unnormalized, "ScheduleAttr":$schedule), [{
      build($_builder, $_state, results, query, key, value, inits, offsets, sink,
            table, key_scale, value_scale, additive, mlir::Value(),
            mlir::Value(), scale, unnormalized, RopeLayoutAttr(), schedule);
    }]>];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
    /// The output, the log-sum-exp or null, and its remainder or null.
    mlir::Value getOutput() { return getInits()[0]; }
    mlir::Value getLogSumExp() {
      return getInits().size() > 1 ? getInits()[1] : mlir::Value();
    }
    mlir::Value getRemainder() {
      return getInits().size() > 2 ? getInits()[2] : mlir::Value();
    }
    /// What scores, weights and sums are computed in.
    mlir::FloatType getScoreType();
    /// Verifies the block table and the scales of integers.
    llvm::LogicalResult verifyCache();
  }];
}

def Attn_RopeTablesOp : Attn_DestinationOp<"rope_tables",
    [AttrSizedOperandSegments, Attn_Reify, Attn_Extents]> {
  let summary = "cosines and sines that rows are turned by";
  let description = [{
    `cos[b, s, k]` and `sin[b, s, k]` are those of `position * frequencies[k]`,
    the angle in f64, or the elements `[position, k]` of `tables`. `position` is
    `offset + s` (offset 0 when absent) or `positions[b, s]`; in tables it is
    clamped to their rows, and without rows the results are 0. Results `[S, P]`
    are those of every batch element.

    - C1: there are either `frequencies`, `[P]` of f64, or `tables`, two of
      `[N, P]` of floats.
    - C2: `cos` and `sin` have rank 2 or 3, f32 or f64 elements, equal shapes and
      a static last extent.
    - C3: at most one of `offset` and `positions` is given.
    - C4: `positions` are i32 or i64, with the extents of `cos` but the last.
    - C5: operands are all tensors or all memrefs; with tensors the results
      are the outputs' types, with memrefs there are none.

    ```mlir
    %cos, %sin = attn.rope_tables frequencies(%f : tensor<32xf64>) offset(%past)
      outs(%c, %s : tensor<?x32xf32>, tensor<?x32xf32>) -> tensor<?x32xf32>, tensor<?x32xf32>
    ```
  }];
  let arguments = (ins Optional<AnyShaped>:$frequencies,
    Optional<AnyShaped>:$cos_table, Optional<AnyShaped>:$sin_table,
    Optional<Index>:$offset, Optional<AnyShaped>:$positions, AnyShaped:$cos,
    AnyShaped:$sin);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    (`frequencies` `(` $frequencies^ `:` type($frequencies) `)`)?
    (`tables` `(` $cos_table^ `,` $sin_table `:` type($cos_table) `,` type($sin_table) `)`)?
    (`offset` `(` $offset^ `)`)?
    (`positions` `(` $positions^ `:` type($positions) `)`)?
    `outs` `(` $cos `,` $sin `:` type($cos) `,` type($sin) `)` attr-dict
    (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable();
  }];
}

def Attn_RotateOp : Attn_DestinationOp<"rotate", [Attn_Reify, Attn_Extents]> {
  let summary = "turns pairs of features by given cosines and sines";
  let description = [{
    Pair `k < P` of row `s` is `(x, y)`, and becomes `(x cos - y sin,
    x sin + y cos)` with the elements `[s, k]` of `cos` and `sin`, `[b, s, k]` of
    rank 3; in f32 (f64 for f64), rounded once to the type of `dest`. Pairs are
    those of `attn.rope` of the rotary dim `2P`; the remaining features pass
    through. The tile form has rank 2, the rows of one head.

    - C1: `source` is `[B, H, S, D]` or `[S, D]` of floats, and `dest` has its
      extents and elements.
    - C2: `cos` and `sin` are floats of equal shapes, `[S, P]` or, for a `source`
      of rank 4, `[B, S, P]`.
    - C3: `P` and `D` are static, and `2P` is positive and at most `D`.
    - C4: operands are all tensors or all memrefs; with tensors the result is
      the type of `dest`, with memrefs there is none.

    ```mlir
    %r = attn.rotate ins(%x : tensor<?x8x?x64xf32>) by half(%cos, %sin : tensor<?x32xf32>, tensor<?x32xf32>)
      outs(%init : tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins AnyShaped:$source, AnyShaped:$cos, AnyShaped:$sin,
    AnyShaped:$dest, Attn_RopeLayoutAttr:$layout);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `ins` `(` $source `:` type($source) `)`
    `by` $layout `(` $cos `,` $sin `:` type($cos) `,` type($sin) `)`
    `outs` `(` $dest `:` type($dest) `)` attr-dict (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable() { return getDestMutable(); }
    /// Pairs of features that turn.
    int64_t getPairs() {
      auto type = llvm::cast<mlir::ShapedType>(getCos().getType());
      return type.getDimSize(type.getRank() - 1);
    }
  }];
}

def Attn_PackOp : Attn_DestinationOp<"pack"> {
  let summary = "copies a ragged tile into a full one, scaled";
  let description = [{
    `dest[r, d] = source[r, d] * factor` for rows and columns of `source`, 0
    for the rest of `dest`. The layout of `dest` is what the micro-kernel reads;
    that of `source` is the caller's. A `dest` of rank 3, `[C/L, R, L]`, holds
    panels of `L` columns: `dest[d / L, r, d mod L] = source[r, d]`. `L = 2` gives
    the pairs that bf16 products take. Integers are multiplied by `scales[r]`
    besides.

    - C1: `source` has rank 2, `dest` rank 2 or 3, and float element types;
      `source` may be i8.
    - C2: `dest` has static extents, no smaller than static ones of `source`. The
      first extent of a `dest` of rank 2 may be unknown: it is that of `source`.
    - C3: `scales` is given exactly for i8, has rank 1 and float elements.

    ```mlir
    attn.pack ins(%q : memref<?x64xf32>) outs(%t : memref<64x64xf32, strided<[1, 64]>>) factor 0.125
    ```
  }];
  let arguments = (ins AnyShaped:$source, AnyShaped:$dest,
    Optional<AnyShaped>:$scales, F64Attr:$factor);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `ins` `(` $source `:` type($source) `)` `outs` `(` $dest `:` type($dest) `)`
    (`scales` `(` $scales^ `:` type($scales) `)`)?
    `factor` $factor attr-dict (`->` type($result)^)?
  }];
  let builders = [OpBuilder<(ins "mlir::TypeRange":$results,
    "mlir::Value":$source, "mlir::Value":$dest, "mlir::FloatAttr":$factor), [{
      build($_builder, $_state, results, source, dest, mlir::Value(), factor);
    }]>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable() { return getDestMutable(); }
  }];
}

def Attn_OnlineAttentionOp : Attn_DestinationOp<"online_attention",
    [Attn_Extents, Attn_RegionNames, AttrSizedOperandSegments,
     KeyBlockOpInterface]> {
  let summary = "one block of keys for one tile of queries, with running statistics";
  let description = [{
    Folds keys `[N, D]` and values `[N, Dv]` into the state of the query tile
    `[M, D]`: the unnormalised output `acc [M, Dv]`, the running maximum
    `max [M]` and the running sum `sum [M]` (Milakov and Gimelshein,
    arXiv:1805.02867; Dao et al., arXiv:2205.14135). A fresh state is
    `acc = 0`, `max = -inf`, `sum = 0`.

    Scores are `dot(q, k)` times `scale`; without it, as they come: the scale is
    already in `query`.
    `at(b, h, i, j)` is the position of the tile's first pair, so the regions see `(b, h, i + row, j + column)`. Rows
    from `rows` on, when it is given, are padding: their state is undefined.
    With `head_rows`, the tile holds that many rows of each of several heads: row
    `r` is at `(b, h + r / head_rows, i + r mod head_rows)`.

    For products of bf16 pairs, `query` is `[D/2, M, 2]` and `value` is
    `[P, Dv, L]`, panels of `L` keys, both as `attn.pack` leaves them; `key`
    then has `N` rows in a buffer of whole panels.

    Keys and values of i8 are multiplied by `key_scale` and `value_scale`, one
    number a row.

    `upcoming` are rows that the task needs soon: they move towards the core
    while the block is computed. For rows of dot products with features in
    lanes they are the keys and the values of the next block, which without
    them follow in memory.

    The probability region maps weights `exp(score - max)` before they multiply
    values, not where they are summed: it is homogeneous, `f(c p) = c f(p)` for
    positive `c`, so that it may come before the division by the sum. A weight
    of 0 stays 0. `unnormalized` adds `w v` to `acc` with the scores as weights,
    and does not touch `max` and `sum`. `additive` is as in `attn.attention`, for
    one head.

    - C1: all shaped operands have rank 2, but `max` and `sum`, of rank 1, and
      `query` and `value` in panels, of rank 3.
    - C2: `query` and `key` have equal, static second extents.
    - C3: `key` and `value` have equal first extents.
    - C4: `acc` is `[M, Dv]`, `max` and `sum` are `[M]`.
    - C5: regions are as in `attn.attention`; there is no probability region
      with `unnormalized`.
    - C6: `head_rows` is positive.
    - C7: `scale` is finite in the type that scores are accumulated in.
    - C8: `upcoming` have rank 2 and a static second extent.
    - C9: `additive` is `[D]` of floats, for a `query` of rank 2.
    - C10: `key_scale` and `value_scale` are given exactly for i8, `[N]` of
      floats.
  }];
  let arguments = (ins AnyShaped:$query, AnyShaped:$key, AnyShaped:$value,
    AnyShaped:$acc, AnyShaped:$max, AnyShaped:$sum,
    Index:$b, Index:$h, Index:$i, Index:$j, Optional<Index>:$rows,
    Variadic<AnyMemRef>:$upcoming, Optional<AnyShaped>:$additive,
    Optional<AnyShaped>:$key_scale, Optional<AnyShaped>:$value_scale,
    OptionalAttr<F64Attr>:$scale, OptionalAttr<I64Attr>:$head_rows,
    UnitAttr:$unnormalized, OptionalAttr<Attn_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region MaxSizedRegion<1>:$score, MaxSizedRegion<1>:$mask,
    MaxSizedRegion<1>:$probability);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    `outs` `(` $acc `,` $max `,` $sum `:` type($acc) `,` type($max) `,` type($sum) `)`
    `at` `(` $b `,` $h `,` $i `,` $j `)` (`rows` `(` $rows^ `)`)?
    (`scale` $scale^)? (`head_rows` $head_rows^)?
    (`upcoming` `(` $upcoming^ `:` type($upcoming) `)`)?
    (`additive` `(` $additive^ `:` type($additive) `)`)?
    (`key_scale` `(` $key_scale^ `:` type($key_scale) `)`)?
    (`value_scale` `(` $value_scale^ `:` type($value_scale) `)`)?
    (`unnormalized` $unnormalized^)?
    (`schedule` `(` $schedule^ `)`)? attr-dict
    (`score` $score^)? (`mask` $mask^)? (`probability` $probability^)?
    (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable();
    /// What scores, weights and sums are computed in.
    mlir::FloatType getScoreType();
    /// The program on weights, or null.
    mlir::Region *getWeightProgram() {
      return getProbability().empty() ? nullptr : &getProbability();
    }
    /// Whether `query` and `value` are in panels.
    bool isPaired() {
      return llvm::cast<mlir::ShapedType>(getQuery().getType()).getRank() == 3;
    }
    /// Checks C10.
    mlir::LogicalResult verifyCache();
  }];
}

def Attn_MergePartialsOp : Attn_DestinationOp<"merge_partials",
    [Attn_Extents, AttrSizedOperandSegments]> {
  let summary = "merges partial states of split keys and normalises";
  let description = [{
    Partials are `(max [P, M], sum [P, M], acc [P, M, Dv])`; the outputs are
    `[R, Dv]` and, when given, the log-sum-exp `[R]` and its remainder `[R]`, as
    in `attn.attention`, `R <= M`: rows past `R` are padding. Partials with sum 0
    are skipped, whatever `acc` holds; a row without any gives 0 and -inf. The
    order of the merge is the order of the partials.

    `sink` is the logit that takes part in every row's maximum and sum besides:
    the log-sum-exp of a row without partials is the sink.

    `unnormalized` adds up `acc` as it is; `max` and `sum` are not read.

    - C1: ranks are 3, 2, 2, then 2, 1 and 1 for the outputs.
    - C2: the `P` and `M` extents agree.
    - C3: the outputs' second extent is `Dv`, and their first extents agree.
    - C4: with `unnormalized` there is one output and no sink.
    - C5: with a remainder, it and the log-sum-exp have the element type of
      `sum`.
  }];
  let arguments = (ins AnyShaped:$acc, AnyShaped:$max, AnyShaped:$sum,
    Variadic<AnyShaped>:$inits, Optional<AnyFloat>:$sink,
    UnitAttr:$unnormalized);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ins` `(` $acc `,` $max `,` $sum `:` type($acc) `,` type($max) `,` type($sum) `)`
    `outs` `(` $inits `:` type($inits) `)` (`sink` `(` $sink^ `:` type($sink) `)`)?
    (`unnormalized` $unnormalized^)? attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); }
    mlir::Value getOutput() { return getInits()[0]; }
    mlir::Value getLogSumExp() {
      return getInits().size() > 1 ? getInits()[1] : mlir::Value();
    }
    mlir::Value getRemainder() {
      return getInits().size() > 2 ? getInits()[2] : mlir::Value();
    }
  }];
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNFUSEDOPS_TD
