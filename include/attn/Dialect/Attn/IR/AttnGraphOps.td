//===- AttnGraphOps.td - Heads, positions and scores ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chain of ops that attention is written as, on tensors. Included by
// AttnOps.td, which defines the classes.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNGRAPHOPS_TD
#define ATTN_DIALECT_ATTN_IR_ATTNGRAPHOPS_TD

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

def Attn_SplitHeadsOp : Attn_Op<"split_heads",
    [Pure, Attn_InferShape, Attn_Reify]> {
  let summary = "`[B, S, H*D]` to `[B, H, S, D]`";
  let description = [{
    Reshapes `[B, S, H*D]` to `[B, S, H, D]` and *then* swaps axes 1 and 2.

    - C1: `num_heads` is positive and divides the last extent of `input`,
      which is static.
    - C2: `result` is `[B, num_heads, S, last / num_heads]`.

    ```mlir
    %q = attn.split_heads %x {num_heads = 12} : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor3:$input, I64Attr:$num_heads);
  let results = (outs Attn_Tensor4:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// A written result type may forget extents that are inferred.
    static bool isCompatibleReturnTypes(mlir::TypeRange inferred, mlir::TypeRange written);
  }];
}

def Attn_MergeHeadsOp : Attn_Op<"merge_heads",
    [Pure, Attn_InferShape, Attn_Reify]> {
  let summary = "`[B, H, S, D]` to `[B, S, H*D]`";
  let description = [{
    The inverse of `attn.split_heads`: swaps axes 1 and 2, then joins the last
    two.

    - C1: extents 1 and 3 of `input` are static.
    - C2: `result` is `[B, S, H*D]`.

    ```mlir
    %y = attn.merge_heads %o : tensor<?x12x?x32xf32> -> tensor<?x?x384xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4:$input);
  let results = (outs Attn_Tensor3:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// A written result type may forget extents that are inferred.
    static bool isCompatibleReturnTypes(mlir::TypeRange inferred, mlir::TypeRange written);
  }];
}

def Attn_RopeOp : Attn_Op<"rope",
    [Pure, AttrSizedOperandSegments, AllTypesMatch<["input", "result"]>,
     Attn_Reify, Attn_Extents]> {
  let summary = "rotary position embedding";
  let description = [{
    Rotates the first `rotary_dim` features of each head (Su et al., RoFormer,
    arXiv:2104.09864). Pair `k` of row `s` turns by `position * base^(-2k/R)`,
    `R = rotary_dim`; with `cos` and `sin` tables, by the tables' row
    `position`. `position` is `offset + s` (offset 0 when absent), or
    `position_ids[b, s]`. Pairs are `(2k, 2k+1)` for `interleaved` and
    `(k, k + R/2)` for `half`. The remaining features pass through.

    - C1: `rotary_dim` is even, at least 2, and at most the head dim.
    - C2: `base` is positive and finite.
    - C3: at most one of `offset` and `position_ids` is given.
    - C4: `cos` and `sin` are both given or both absent, and have equal shapes
      `[positions, rotary_dim / 2]`.
    - C5: `position_ids` is `[B, S]`.
    - C6: the head dim is static.

    ```mlir
    %r = attn.rope %x half rotary_dim 64 base 1.0e4 offset(%past) : tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4:$input, Optional<Index>:$offset,
    Optional<TensorRankOf<[I32, I64], [2]>>:$position_ids,
    Optional<TensorRankOf<[AnyFloat], [2]>>:$cos,
    Optional<TensorRankOf<[AnyFloat], [2]>>:$sin,
    Attn_RopeLayoutAttr:$layout, I64Attr:$rotary_dim,
    DefaultValuedAttr<F64Attr, "1.0e4">:$base);
  let results = (outs Attn_Tensor4:$result);
  let assemblyFormat = [{
    $input $layout `rotary_dim` $rotary_dim (`base` $base^)?
    (`offset` `(` $offset^ `)`)?
    (`positions` `(` $position_ids^ `:` type($position_ids) `)`)?
    (`tables` `(` $cos^ `,` $sin `:` type($cos) `,` type($sin) `)`)?
    attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

def Attn_SinusoidalOp : Attn_Op<"sinusoidal",
    [Pure, AttrSizedOperandSegments, Attn_Reify]> {
  let summary = "sinusoidal position table";
  let description = [{
    `result[s, 2k] = sin(p / 10000^(2k/d))` and `result[s, 2k+1] =
    cos(p / 10000^(2k/d))` for `d` columns and position `p = offset + s`, offset 0
    when absent (Vaswani et al., arXiv:1706.03762). An odd `d` drops the last
    cosine.

    - C1: `rows` is given exactly when the first extent of `result` is unknown.
    - C2: the second extent of `result` is static and positive.

    ```mlir
    %t = attn.sinusoidal rows(%n) offset(%past) : tensor<?x512xf32>
    ```
  }];
  let arguments = (ins Optional<Index>:$rows, Optional<Index>:$offset);
  let results = (outs TensorRankOf<[AnyFloat], [2]>:$result);
  let assemblyFormat = [{
    (`rows` `(` $rows^ `)`)? (`offset` `(` $offset^ `)`)? attr-dict
    `:` type($result)
  }];
  let hasVerifier = 1;
}

class Attn_SequenceOp<string mnemonic>
    : Attn_Op<mnemonic, [Pure, Attn_Reify]> {
  let results = (outs TensorRankOf<[I32, I64], [2]>:$result);
  let hasVerifier = 1;
}

def Attn_SequenceIdsOp : Attn_SequenceOp<"sequence_ids"> {
  let summary = "which of the packed sequences each token belongs to";
  let description = [{
    `N` sequences lie one after the other in one row of `T` tokens, and sequence
    `n` has the tokens `cu[n] <= t < cu[n + 1]` of `cu [N + 1]`, which never
    decreases. `result[0, t]` is `n`, and `outside` (-1 when not given) for tokens
    that belong to none. Such numbers are what `segments` of
    `attn.masked_softmax` takes: with different ones outside for queries and keys,
    tokens of no sequence see and are seen by nothing.

    - C1: `length` is given exactly when the second extent of `result` is unknown.
    - C2: the first extent of `result` is 1.
    - C3: `outside` is negative, and fits the elements of `result`.

    ```mlir
    %ids = attn.sequence_ids %cu length(%t) outside -2 : tensor<?xi32> -> tensor<1x?xi32>
    ```
  }];
  let arguments = (ins TensorRankOf<[I32, I64], [1]>:$cu,
    Optional<Index>:$length, DefaultValuedAttr<I64Attr, "-1">:$outside);
  let assemblyFormat = [{
    $cu (`length` `(` $length^ `)`)? (`outside` $outside^)? attr-dict
    `:` type($cu) `->` type($result)
  }];
}

def Attn_SequencePositionsOp : Attn_SequenceOp<"sequence_positions"> {
  let summary = "the position of each token in its packed sequence";
  let description = [{
    `result[0, t] = t - cu[n]` for a token of sequence `n`, counted as by
    `attn.sequence_ids`, and 0 for tokens that belong to none. With `from_end` it
    is `t - cu[n + 1]`, from the negated length up to -1: queries and keys of
    sequences that end together are causal where `k <= q` in these numbers,
    whatever their lengths.

    - C1: `length` is given exactly when the second extent of `result` is unknown.
    - C2: the first extent of `result` is 1.

    ```mlir
    %p = attn.sequence_positions %cu length(%t) : tensor<?xi32> -> tensor<1x?xi32>
    ```
  }];
  let arguments = (ins TensorRankOf<[I32, I64], [1]>:$cu,
    Optional<Index>:$length, UnitAttr:$from_end);
  let assemblyFormat = [{
    $cu (`length` `(` $length^ `)`)? (`from_end` $from_end^)? attr-dict
    `:` type($cu) `->` type($result)
  }];
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

def Attn_QKOp : Attn_Op<"qk", [Pure, Attn_InferShape, Attn_Reify, Attn_Extents]> {
  let summary = "scores `Q K^T`";
  let description = [{
    `result[b, h, i, j] = sum_d query[b, h, i, d] * key[b, h / (Hq / Hkv), j, d]`,
    accumulated in f32 (f64 for f64 inputs). Heads of one group are neighbours.

    - C1: `query` and `key` have equal element types or both are below f64.
    - C2: head dims are static, positive and equal.
    - C3: batch extents are equal.
    - C4: the key head count is positive and divides the query head count.
    - C5: `result` is `[B, Hq, Sq, Skv]` of f32, or f64 for f64 inputs.

    ```mlir
    %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4:$query, Attn_Tensor4:$key);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = [{
    $query `,` $key attr-dict `:` type($query) `,` type($key) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// A written result type may forget extents that are inferred.
    static bool isCompatibleReturnTypes(mlir::TypeRange inferred, mlir::TypeRange written);
  }];
}

def Attn_AdditiveScoresOp : Attn_Op<"additive_scores",
    [Pure, Attn_InferShape, Attn_Reify, Attn_Extents]> {
  let summary = "scores `w . tanh(q + k)`";
  let description = [{
    `result[b, h, i, j] = sum_a weight[h, a] * tanh(query[b, h, i, a] + key[b, h / (Hq / Hkv), j, a])`
    on projected queries and keys (Bahdanau et al., arXiv:1409.0473), accumulated
    in f32 (f64 for f64 inputs). A `weight` of rank 1 is that of every head.

    - C1: `query`, `key` and `weight` have equal element types or all are below
      f64.
    - C2: head dims of `query` and `key` are static, positive and equal.
    - C3: batch extents are equal.
    - C4: the key head count is positive and divides the query head count.
    - C5: `result` is `[B, Hq, Sq, Skv]` of f32, or f64 for f64 inputs.
    - C6: `weight` is `[A]` or `[Hq, A]`, where `A` is the head dim.

    ```mlir
    %s = attn.additive_scores %q, %k, %w : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<64xf32> -> tensor<?x8x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4:$query, Attn_Tensor4:$key,
    TensorRankOf<[AnyFloat], [1, 2]>:$weight);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $weight attr-dict
    `:` type($query) `,` type($key) `,` type($weight) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// A written result type may forget extents that are inferred.
    static bool isCompatibleReturnTypes(mlir::TypeRange inferred, mlir::TypeRange written);
  }];
}

class Attn_ScoreOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat([Attn_Reify,
        AllTypesMatch<["scores", "result"]>], traits)>;

def Attn_ScaleOp : Attn_ScoreOp<"scale", [Pure]> {
  let summary = "scores times a constant";
  let description = [{
    `result = scores * factor`. 0 and negative factors are honoured as given.

    - C1: `factor` is finite in the type of the scores.

    ```mlir
    %t = attn.scale %s by 0.125 : tensor<?x8x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Scores:$scores, F64Attr:$factor);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = "$scores `by` $factor attr-dict `:` type($scores)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let hasVerifier = 1;
}

def Attn_SoftcapOp : Attn_ScoreOp<"softcap", [Pure]> {
  let summary = "`cap * tanh(scores / cap)`";
  let description = [{
    Bounds the scores smoothly. Comes before the mask.

    - C1: `cap` and its inverse are positive and finite in the type of the
      scores.

    ```mlir
    %t = attn.softcap %s at 50.0 : tensor<?x8x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Scores:$scores, F64Attr:$cap);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = "$scores `at` $cap attr-dict `:` type($scores)";
  let hasVerifier = 1;
}

def Attn_BiasOp : Attn_ScoreOp<"bias", [Pure, Attn_Extents]> {
  let summary = "scores plus a broadcast tensor; `-inf` hides";
  let description = [{
    `result = scores + bias`, in the type of the scores. `bias` is broadcast
    right-aligned to `[B, Hq, Sq, Skv]`: rank 2 is `[Sq, Skv]`, rank 3 is
    `[Hq, Sq, Skv]`. An element that is exactly `-inf` hides its pair; every
    finite value, even the lowest, is only a bias.

    - C1: `bias` has rank 0 to 4.
    - C2: each extent of `bias` is 1 or equals the extent of `scores`.

    ```mlir
    %t = attn.bias %s, %b : tensor<?x8x?x?xf32>, tensor<8x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Scores:$scores, RankedTensorOf<[AnyFloat]>:$bias);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = [{
    $scores `,` $bias attr-dict `:` type($scores) `,` type($bias)
  }];
  let hasVerifier = 1;
}

def Attn_ScoreMapOp : Attn_ScoreOp<"score_map",
    [RecursiveMemoryEffects, RecursivelySpeculatable, Attn_RegionNames,
     SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "an elementwise program on scores";
  let description = [{
    Applies the region `(score, b, h, i, j) -> score` to every pair. Values
    from outside are captured implicitly. Gather indices are clamped to the
    operand's extent.

    - C1: the region has the arguments `(score, b, h, i, j)`: the element type
      of `scores`, then four `index`.
    - C2: the region yields one value of the element type of `scores`.
    - C3: the region is free of side effects.

    ```mlir
    %t = attn.score_map %s : tensor<?x8x?x?xf32> {
    ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
      %two = arith.constant 2.0 : f32
      %x = arith.mulf %score, %two : f32
      attn.yield %x : f32
    }
    ```
  }];
  let arguments = (ins Attn_Scores:$scores);
  let results = (outs Attn_Scores:$result);
  let regions = (region SizedRegion<1>:$score);
  let assemblyFormat = "$scores `:` type($scores) attr-dict-with-keyword $score";
  let hasRegionVerifier = 1;
}

def Attn_MaskedSoftmaxOp : Attn_ScoreOp<"masked_softmax",
    [RecursiveMemoryEffects, RecursivelySpeculatable, AttrSizedOperandSegments,
     Attn_Extents, Attn_RegionNames]> {
  let summary = "softmax over the visible keys";
  let description = [{
    `result[b, h, i, j] = exp(s - max) / sum` over visible `j`, 0 elsewhere. A
    row without a visible key is all zeros, and so is one all of whose visible
    scores are -inf. Clauses combine by *and*:

    - `causal(top_left | bottom_right | offset %o)`: `j <= i + offset`; the
      offset is 0, `Skv - Sq`, or the operand (one `index`, or one a batch
      element); it may be negative. With `, prefix = %p` in the parentheses:
      `j < p[b] || j <= i + offset`.
    - `window[left, right]`: `i + offset - left <= j <= i + offset + right`,
      both inclusive, -1 is unbounded. Shares the alignment of `causal`;
      without it, states its own: `window[2, 2](bottom_right)`.
    - `lengths(%n)`: `j < n[b]`.
    - `segments(%q, %k)`: `q[b, i] == k[b, j]`, for documents packed into one
      sequence.
    - `mask(%m)`: an `i1` tensor, true is visible, broadcast right-aligned.
    - `visible { (b, h, i, j) -> i1 }`: a program.

    With `sink(%s)`, one logit a head takes part in each row's maximum and sum
    without a key of its own (Xiao et al., arXiv:2309.17453): the weights are
    `exp(s - max) / (sum + exp(sink[h] - max))`. A sink of -inf is none, one of
    +inf takes all weight, a NaN spoils the rows of its head that see a key. It
    is used as it comes: no scale, no score op.

    With `normalizer(sigmoid)` the weights of visible pairs are
    `1 / (1 + exp(-s))`, each by itself: there is no maximum and no sum
    (Ramapuram et al., arXiv:2409.04431).

    With `empty_row(nan)` a row that would be all zeros is all NaN, which is
    0 / 0, what a softmax without a guard gives. A row that takes part of its
    sum from a sink is none. `attn.probability_map` makes its hidden pairs 0
    again. Default is `zero`.

    Constraints:

    - C1: an alignment is given exactly when `causal` or `window` is.
    - C2: the offset operand is given exactly when the alignment is `offset`;
      a tensor of offsets has extent `B`.
    - C3: `window` holds two values, each at least -1.
    - C4: `lengths` has shape `[B]`.
    - C5: `mask` has element type `i1`, rank 0 to 4, and each extent is 1 or
      equals the extent of `scores`.
    - C6: the region has four `index` arguments, yields one `i1`, and is free
      of side effects.
    - C7: `prefix` is given only with `causal`; a tensor of prefixes has extent
      `B`.
    - C8: query and key segments are both given or both absent, have equal
      element types, and are `[B, Sq]` and `[B, Skv]`.
    - C9: `sink` is `[Hq]` of floats.
    - C10: with `normalizer(sigmoid)` there is no sink.
    - C11: with `normalizer(sigmoid)` there is no `empty_row(nan)`.

    ```mlir
    %p = attn.masked_softmax %s causal(bottom_right) lengths(%n : tensor<?xi32>) : tensor<?x8x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Scores:$scores,
    Optional<Attn_Offset>:$offset, Optional<Attn_Offset>:$prefix,
    Optional<TensorRankOf<[I32, I64, Index], [1]>>:$lengths,
    Optional<TensorRankOf<[I32, I64, Index], [2]>>:$query_segments,
    Optional<TensorRankOf<[I32, I64, Index], [2]>>:$key_segments,
    Optional<AnyRankedTensor>:$mask, Optional<Attn_Sink>:$sink,
    UnitAttr:$causal,
    OptionalAttr<Attn_AlignmentAttr>:$alignment,
    OptionalAttr<DenseI64ArrayAttr>:$window,
    DefaultValuedAttr<Attn_NormalizerAttr, "::attn::Normalizer::Softmax">:$normalizer,
    DefaultValuedAttr<Attn_EmptyRowAttr, "::attn::EmptyRow::Zero">:$empty_row);
  let results = (outs Attn_Scores:$result);
  let regions = (region MaxSizedRegion<1>:$visible);
  let assemblyFormat = [{
    $scores custom<MaskClauses>($offset, type($offset), $prefix, type($prefix),
      $lengths, type($lengths), $query_segments, type($query_segments),
      $key_segments, type($key_segments), $mask, type($mask), $sink,
      type($sink), $causal, $alignment, $window, $normalizer, $empty_row, $visible)
    attr-dict `:` type($scores)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Attn_ProbabilityMapOp : Attn_Op<"probability_map",
    [AllTypesMatch<["weights", "result"]>, Attn_Reify,
     RecursiveMemoryEffects, RecursivelySpeculatable, Attn_RegionNames,
     SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "an elementwise program on weights";
  let description = [{
    Applies the region `(p, b, h, i, j) -> p` to the weights of all visible
    pairs. Pairs that the `attn.masked_softmax` hides which the weights come
    from, through other ops on weights, keep weight 0 whatever the program says;
    weights that come from elsewhere have no hidden pairs. Values from outside
    are captured implicitly. Gather indices are clamped to the operand's extent.

    - C1: the region has the arguments `(p, b, h, i, j)`: the element type of
      `weights`, then four `index`.
    - C2: the region yields one value of the element type of `weights`.
    - C3: the region is free of side effects.

    ```mlir
    %w = attn.probability_map %p : tensor<?x8x?x?xf32> {
    ^bb0(%p0: f32, %b: index, %h: index, %i: index, %j: index):
      %x = arith.mulf %p0, %p0 : f32
      attn.yield %x : f32
    }
    ```
  }];
  let arguments = (ins Attn_Scores:$weights);
  let results = (outs Attn_Scores:$result);
  let regions = (region SizedRegion<1>:$probability);
  let assemblyFormat = "$weights `:` type($weights) attr-dict-with-keyword $probability";
  let hasRegionVerifier = 1;
}

def Attn_DropoutOp : Attn_Op<"dropout",
    [Pure, AllTypesMatch<["weights", "result"]>, Attn_Reify]> {
  let summary = "leaves out weights at random";
  let description = [{
    Each weight becomes 0 with probability `rate`; the others are divided by
    `1 - rate` (Srivastava et al., JMLR 15, 2014). Rate 1 gives 0, rate 0 the
    weights as they are.

    What is left out depends on `seed` and on the pair's `(b, h, i, j)` alone,
    never on how an op is tiled or split. The generator is Philox (Salmon et al.,
    SC 2011): a word of `philox2x32-10` with counter `(i ^ x, j ^ y)` and key
    `k`, where `k`, `x` and `y` are the first words of `philox4x32-10` with
    counter `(b, h, 0, 0)` and key `seed`, low word first. A pair is kept if the
    first word is at least `rate * 2^32`, rounded.

    - C1: `rate` is in [0, 1].

    ```mlir
    %w = attn.dropout %p rate 0.1 seed(%seed) : tensor<?x8x?x?xf32>
    ```
  }];
  let arguments = (ins Attn_Scores:$weights, F64Attr:$rate, I64:$seed);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = [{
    $weights `rate` $rate `seed` `(` $seed `)` attr-dict `:` type($weights)
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Attn_WeightedSumOp : Attn_Op<"weighted_sum",
    [Pure, Attn_InferShape, Attn_Reify, Attn_Extents]> {
  let summary = "`P V`";
  let description = [{
    `result[b, h, i, d] = sum_j weights[b, h, i, j] * value[b, h / (Hq / Hkv), j, d]`
    over the keys whose weight is not 0: a hidden value never reaches the
    result, NaN included. Accumulated in f32 (f64 for f64).

    - C1: batch extents are equal.
    - C2: the value head count is positive and divides the weights' head count.
    - C3: the key extents are equal.
    - C4: the head dim of `value` is static and positive.
    - C5: `result` is `[B, Hq, Sq, Dv]` of `value`'s element type.

    ```mlir
    %o = attn.weighted_sum %p, %v : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins Attn_Scores:$weights, Attn_Tensor4:$value);
  let results = (outs Attn_Tensor4:$result);
  let assemblyFormat = [{
    $weights `,` $value attr-dict `:` type($weights) `,` type($value) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// A written result type may forget extents that are inferred.
    static bool isCompatibleReturnTypes(mlir::TypeRange inferred, mlir::TypeRange written);
  }];
}

#endif // ATTN_DIALECT_ATTN_IR_ATTNGRAPHOPS_TD
