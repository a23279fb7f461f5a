//===- AttnOps.td - Ops of the attn dialect -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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
    DefaultValuedAttr<Attn_NormalizerAttr, "::attn::Normalizer::Softmax">:$normalizer);
  let results = (outs Attn_Scores:$result);
  let regions = (region MaxSizedRegion<1>:$visible);
  let assemblyFormat = [{
    $scores custom<MaskClauses>($offset, type($offset), $prefix, type($prefix),
      $lengths, type($lengths), $query_segments, type($query_segments),
      $key_segments, type($key_segments), $mask, type($mask), $sink,
      type($sink), $causal, $alignment, $window, $normalizer, $visible)
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

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

def Attn_CacheUpdateOp : Attn_Op<"cache_update",
    [Pure, AttrSizedOperandSegments, AllTypesMatch<["cache", "result"]>,
     Attn_Reify, Attn_Extents]> {
  let summary = "writes new keys, values or scales into a cache";
  let description = [{
    `result[b, h, at(b) + s, ...] = update[b, h, s, ...]` for the rows `s` of
    `update`, and `cache` elsewhere. `at` is one `index`, or one position a batch
    element. Rows that fall outside of the cache are dropped; one `index` that
    drops any is an error at entry, if it follows from the arguments.

    A `rolling` cache of `N` rows holds the last `N` positions: row `at(b) + s`
    goes to slot `(at(b) + s) mod N`. Rows of negative positions are dropped.

    An entry that returns the updated cache writes new rows alone when the caller
    gives the buffer of the cache for the result too.

    With `rotated half(%cos, %sin)`, or `interleaved`, rows of `update` are turned
    on their way, as by `attn.rotate`.

    - C1: `cache` and `update` have one rank, 3 or 4, and one element type.
    - C2: extents of `cache` and `update` are equal but for the third.
    - C3: `update` has at most as many rows as `cache`.
    - C4: a tensor of positions has extent `B`.
    - C5: `cos` and `sin` are given with `layout`, for float rows of rank 4, and
      are `[S, P]` or `[B, S, P]` for the `S` rows of `update` and a static `P`
      that is at most half of its last extent.

    ```mlir
    %c = attn.cache_update %cache, %k at(%past : index) : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins Attn_CacheTensor:$cache, Attn_CacheTensor:$update,
    Attn_Offset:$at, Optional<TensorRankOf<[AnyFloat], [2, 3]>>:$cos,
    Optional<TensorRankOf<[AnyFloat], [2, 3]>>:$sin, UnitAttr:$rolling,
    OptionalAttr<Attn_RopeLayoutAttr>:$layout);
  let results = (outs Attn_CacheTensor:$result);
  let extraClassDeclaration = [{
    /// The update that `result` begins with: the first of those that make it,
    /// each the only user of the one before. Null if `result` is none, or if
    /// somebody else reads the old cache.
    static CacheUpdateOp getFirstOf(mlir::Value result);
  }];
  let assemblyFormat = [{
    $cache `,` $update `at` `(` $at `:` type($at) `)` (`rolling` $rolling^)?
    (`rotated` $layout^ `(` $cos `,` $sin `:` type($cos) `,` type($sin) `)`)?
    attr-dict `:` type($cache) `,` type($update)
  }];
  let hasVerifier = 1;
}

def Attn_GatherPagesOp : Attn_Op<"gather_pages",
    [Pure, Attn_InferShape, Attn_Reify]> {
  let summary = "keys or values from the pages of a block table";
  let description = [{
    `result[b, h, m * T + t, d] = pages[table[b, m], h, t, d]` for a pool of pages
    `[P, Hkv, T, D]` and a table `[B, M]` (Kwon et al., arXiv:2309.06180). Numbers
    of pages are clamped to the pool, so that entries past a sequence's end may
    hold anything. Fused attention reads the pages where they are.

    - C1: extents 1 to 3 of `pages` are static and positive.
    - C2: `result` is `[B, Hkv, M * T, D]`.

    ```mlir
    %k = attn.gather_pages %pages, %table : tensor<?x8x16x64xf32>, tensor<?x?xi32> -> tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins TensorRankOf<[AnyFloat, I8], [4]>:$pages,
    TensorRankOf<[I32, I64], [2]>:$table);
  let results = (outs TensorRankOf<[AnyFloat, I8], [4]>:$result);
  let assemblyFormat = [{
    $pages `,` $table attr-dict `:` type($pages) `,` type($table) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// A written result type may forget extents that are inferred.
    static bool isCompatibleReturnTypes(mlir::TypeRange inferred, mlir::TypeRange written);
  }];
}

def Attn_QuantizeOp : Attn_Op<"quantize",
    [Pure, Attn_InferShape, Attn_Reify]> {
  let summary = "8-bit integers with one scale a token and head";
  let description = [{
    `scale[b, h, s] = max_d |input[b, h, s, d]| / 127` and
    `result = round(input / scale)`, ties to even; 0 where the scale is 0. Scales
    are f32, f64 for f64.

    - C1: the head dim is static and positive.

    ```mlir
    %x8, %scale = attn.quantize %x : tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins Attn_Tensor4:$input);
  let results = (outs TensorRankOf<[I8], [4]>:$result,
    TensorRankOf<[F32, F64], [3]>:$scale);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Attn_DequantizeOp : Attn_Op<"dequantize",
    [Pure, Attn_Reify, Attn_Extents]> {
  let summary = "8-bit integers times a scale a token and head";
  let description = [{
    `result[b, h, s, d] = input[b, h, s, d] * scale[b, h, s]`, in f32 (f64 for
    f64 results), rounded once to the type of the result. Fused attention reads
    the integers.

    - C1: extents of `input` and `scale` are equal.
    - C2: `result` has the shape of `input`.

    ```mlir
    %k = attn.dequantize %k8, %scale : tensor<?x8x?x64xi8>, tensor<?x8x?xf32> -> tensor<?x8x?x64xf32>
    ```
  }];
  let arguments = (ins TensorRankOf<[I8], [4]>:$input,
    TensorRankOf<[AnyFloat], [3]>:$scale);
  let results = (outs Attn_Tensor4:$result);
  let assemblyFormat = [{
    $input `,` $scale attr-dict `:` type($input) `,` type($scale) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The fused op and its tiles
//===----------------------------------------------------------------------===//

class Attn_DestinationOp<string mnemonic, list<Trait> traits = []>
    : Attn_Op<mnemonic, !listconcat([DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>], traits)>;

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
    f64 queries.

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
    - C6: there are one or two outputs: `[B, Hq, Sq, Dv]` of `value`'s element
      type, of any float type for integers, and `[B, Hq, Sq]` of f32 or f64.
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
    /// The output, and the log-sum-exp or null.
    mlir::Value getOutput() { return getInits()[0]; }
    mlir::Value getLogSumExp() {
      return getInits().size() > 1 ? getInits()[1] : mlir::Value();
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
    `[R, Dv]` and, when given, the log-sum-exp `[R]`, `R <= M`: rows past `R`
    are padding. Partials with sum 0 are skipped, whatever `acc` holds; a row
    without any gives 0 and -inf. The order of the merge is the order of the partials.

    `sink` is the logit that takes part in every row's maximum and sum besides:
    the log-sum-exp of a row without partials is the sink.

    `unnormalized` adds up `acc` as it is; `max` and `sum` are not read.

    - C1: ranks are 3, 2, 2, then 2 and 1 for the outputs.
    - C2: the `P` and `M` extents agree.
    - C3: the outputs' second extent is `Dv`, and their first extents agree.
    - C4: with `unnormalized` there is one output and no sink.
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
  }];
}

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
