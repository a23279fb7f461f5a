//===- AttnCacheOps.td - Caches of keys and values ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where keys and values of earlier tokens come from: buffers, pages, integers.
// Included by AttnOps.td, which defines the classes.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNCACHEOPS_TD
#define ATTN_DIALECT_ATTN_IR_ATTNCACHEOPS_TD

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

#endif // ATTN_DIALECT_ATTN_IR_ATTNCACHEOPS_TD
