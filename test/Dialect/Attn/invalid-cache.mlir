// Constraints of the cache ops, one test a label.

// RUN: attn-opt %s -split-input-file -verify-diagnostics

// cache_update C1: one rank
func.func @cache_update_c1(%c: tensor<2x2x8x4xf32>, %u: tensor<2x2x1xf32>, %at: index) {
  // expected-error @+1 {{cache has rank 4 but update has rank 3 (C1)}}
  %0 = attn.cache_update %c, %u at(%at : index) : tensor<2x2x8x4xf32>, tensor<2x2x1xf32>
  return
}

// -----

// cache_update C1: one element type
func.func @cache_update_c1_type(%c: tensor<2x2x8x4xi8>, %u: tensor<2x2x1x4xf32>, %at: index) {
  // expected-error @+1 {{element type of cache is 'i8' but of update is 'f32' (C1)}}
  %0 = attn.cache_update %c, %u at(%at : index) : tensor<2x2x8x4xi8>, tensor<2x2x1x4xf32>
  return
}

// -----

// cache_update C2: equal extents
func.func @cache_update_c2(%c: tensor<2x2x8x4xf32>, %u: tensor<2x3x1x4xf32>, %at: index) {
  // expected-error @+1 {{head count of update is 3 but head count of cache is 2 (C2)}}
  %0 = attn.cache_update %c, %u at(%at : index) : tensor<2x2x8x4xf32>, tensor<2x3x1x4xf32>
  return
}

// -----

// cache_update C3: no more rows than the cache has
func.func @cache_update_c3(%c: tensor<2x2x8x4xf32>, %u: tensor<2x2x9x4xf32>, %at: index) {
  // expected-error @+1 {{row count of update is 9, more than row count of cache, 8 (C3)}}
  %0 = attn.cache_update %c, %u at(%at : index) rolling : tensor<2x2x8x4xf32>, tensor<2x2x9x4xf32>
  return
}

// -----

// cache_update C4: a position for each batch element
func.func @cache_update_c4(%c: tensor<2x2x8x4xf32>, %u: tensor<2x2x1x4xf32>, %at: tensor<3xi32>) {
  // expected-error @+1 {{batch extent of at is 3 but batch extent of cache is 2 (C4)}}
  %0 = attn.cache_update %c, %u at(%at : tensor<3xi32>) : tensor<2x2x8x4xf32>, tensor<2x2x1x4xf32>
  return
}

// -----

// gather_pages C1: static pages
func.func @gather_pages_c1(%p: tensor<?x2x?x4xf32>, %t: tensor<?x?xi32>) {
  // expected-error @+2 {{extents 1 to 3 of pages must be static and positive, got 'tensor<?x2x?x4xf32>' (C1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.gather_pages %p, %t : tensor<?x2x?x4xf32>, tensor<?x?xi32> -> tensor<?x2x?x4xf32>
  return
}

// -----

// gather_pages C2: the shape of the result
func.func @gather_pages_c2(%p: tensor<?x2x16x4xf32>, %t: tensor<?x3xi32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<?x2x48x4xf32>' are incompatible with return type(s) of operation 'tensor<?x2x47x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.gather_pages %p, %t : tensor<?x2x16x4xf32>, tensor<?x3xi32> -> tensor<?x2x47x4xf32>
  return
}

// -----

// gather_pages C2: more rows than there are numbers
func.func @gather_pages_c2_huge(%p: tensor<?x2x16x4xf32>, %t: tensor<?x4611686018427387904xi32>) {
  // expected-error @+2 {{page count times page size is too large, got 'tensor<?x4611686018427387904xi32>' of 'tensor<?x2x16x4xf32>' (C2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.gather_pages %p, %t : tensor<?x2x16x4xf32>, tensor<?x4611686018427387904xi32> -> tensor<?x2x?x4xf32>
  return
}

// -----

// quantize C1: a static head dim
func.func @quantize_c1(%x: tensor<1x2x3x?xf32>) {
  // expected-error @+1 {{head dim of input must be static and positive, got 'tensor<1x2x3x?xf32>' (C1)}}
  %0, %1 = attn.quantize %x : tensor<1x2x3x?xf32>
  return
}

// -----

// dequantize C1: a scale for each row
func.func @dequantize_c1(%x: tensor<1x2x3x4xi8>, %s: tensor<1x2x4xf32>) {
  // expected-error @+1 {{row count of scale is 4 but row count of input is 3 (C1)}}
  %0 = attn.dequantize %x, %s : tensor<1x2x3x4xi8>, tensor<1x2x4xf32> -> tensor<1x2x3x4xf32>
  return
}

// -----

// dequantize C2: the shape of the result
func.func @dequantize_c2(%x: tensor<1x2x3x4xi8>, %s: tensor<1x2x3xf32>) {
  // expected-error @+1 {{result must have the shape of input, got 'tensor<1x2x3x5xf32>' and 'tensor<1x2x3x4xi8>' (C2)}}
  %0 = attn.dequantize %x, %s : tensor<1x2x3x4xi8>, tensor<1x2x3xf32> -> tensor<1x2x3x5xf32>
  return
}

// -----

// attention C12: the type of the table
func.func @attention_c12_type(%q: memref<1x2x3x4xf32>, %k: memref<9x2x16x4xf32>, %t: memref<1x5xf32>) {
  // expected-error @+1 {{table must have rank 2 and be of i32 or i64, got 'memref<1x5xf32>' (C12)}}
  attn.attention ins(%q, %k, %k : memref<1x2x3x4xf32>, memref<9x2x16x4xf32>, memref<9x2x16x4xf32>) outs(%q : memref<1x2x3x4xf32>) scale 1.0 table(%t : memref<1x5xf32>)
  return
}

// -----

// attention C12: static pages
func.func @attention_c12_pages(%q: memref<1x2x3x4xf32>, %k: memref<9x2x?x4xf32>, %t: memref<1x5xi32>) {
  // expected-error @+1 {{extents 1 and 2 of the pages of key must be static and positive, got 'memref<9x2x?x4xf32>' (C12)}}
  attn.attention ins(%q, %k, %k : memref<1x2x3x4xf32>, memref<9x2x?x4xf32>, memref<9x2x?x4xf32>) outs(%q : memref<1x2x3x4xf32>) scale 1.0 table(%t : memref<1x5xi32>)
  return
}

// -----

// attention C12: a row of the table for each batch element
func.func @attention_c12_batch(%q: memref<1x2x3x4xf32>, %k: memref<9x2x16x4xf32>, %t: memref<2x5xi32>) {
  // expected-error @+1 {{batch extent of query is 1 but batch extent of table is 2 (C12)}}
  attn.attention ins(%q, %k, %k : memref<1x2x3x4xf32>, memref<9x2x16x4xf32>, memref<9x2x16x4xf32>) outs(%q : memref<1x2x3x4xf32>) scale 1.0 table(%t : memref<2x5xi32>)
  return
}

// -----

// attention C13: integers need scales
func.func @attention_c13_missing(%q: memref<1x2x3x4xf32>, %k: memref<1x2x5x4xi8>, %v: memref<1x2x5x4xf32>) {
  // expected-error @+1 {{key of i8 needs key_scale (C13)}}
  attn.attention ins(%q, %k, %v : memref<1x2x3x4xf32>, memref<1x2x5x4xi8>, memref<1x2x5x4xf32>) outs(%q : memref<1x2x3x4xf32>) scale 1.0
  return
}

// -----

// attention C13: floats have none
func.func @attention_c13_floats(%q: memref<1x2x3x4xf32>, %k: memref<1x2x5x4xf32>, %s: memref<1x2x5xf32>) {
  // expected-error @+1 {{value has no value_scale: it is of floats (C13)}}
  attn.attention ins(%q, %k, %k : memref<1x2x3x4xf32>, memref<1x2x5x4xf32>, memref<1x2x5x4xf32>) outs(%q : memref<1x2x3x4xf32>) scale 1.0 value_scale(%s : memref<1x2x5xf32>)
  return
}

// -----

// attention C13: one scale a row
func.func @attention_c13_extent(%q: memref<1x2x3x4xf32>, %k: memref<1x2x5x4xi8>, %v: memref<1x2x5x4xf32>, %s: memref<1x2x6xf32>) {
  // expected-error @+1 {{extent 2 of key_scale is 6 but extent 2 of key is 5 (C13)}}
  attn.attention ins(%q, %k, %v : memref<1x2x3x4xf32>, memref<1x2x5x4xi8>, memref<1x2x5x4xf32>) outs(%q : memref<1x2x3x4xf32>) scale 1.0 key_scale(%s : memref<1x2x6xf32>)
  return
}

// -----

// attention C13: the type of the scales
func.func @attention_c13_type(%q: memref<1x2x3x4xf32>, %k: memref<1x2x5x4xi8>, %v: memref<1x2x5x4xf32>, %s: memref<1x2x5xi8>) {
  // expected-error @+1 {{key_scale must have rank 3 and be of floats, got 'memref<1x2x5xi8>' (C13)}}
  attn.attention ins(%q, %k, %v : memref<1x2x3x4xf32>, memref<1x2x5x4xi8>, memref<1x2x5x4xf32>) outs(%q : memref<1x2x3x4xf32>) scale 1.0 key_scale(%s : memref<1x2x5xi8>)
  return
}

// -----

// pack C3: integers need scales
func.func @pack_c3(%s: memref<?x8xi8>, %d: memref<16x8xf32>) {
  // expected-error @+1 {{source of i8 needs scales (C3)}}
  attn.pack ins(%s : memref<?x8xi8>) outs(%d : memref<16x8xf32>) factor 1.0
  return
}

// -----

// pack C3: floats have none
func.func @pack_c3_floats(%s: memref<?x8xf32>, %d: memref<16x8xf32>, %x: memref<?xf32>) {
  // expected-error @+1 {{source of floats has no scales (C3)}}
  attn.pack ins(%s : memref<?x8xf32>) outs(%d : memref<16x8xf32>) scales(%x : memref<?xf32>) factor 1.0
  return
}

// -----

// cache_update C5: of the rows of the update
func.func @update_c5(%c: tensor<2x3x9x8xf32>, %u: tensor<2x3x4x8xf32>, %at: index, %t: tensor<9x4xf32>) {
  // expected-error @+1 {{row count of cos is 9 but row count of update is 4 (C5)}}
  %0 = attn.cache_update %c, %u at(%at : index) rotated half(%t, %t : tensor<9x4xf32>, tensor<9x4xf32>) : tensor<2x3x9x8xf32>, tensor<2x3x4x8xf32>
  return
}

// -----

// cache_update C5: features, which scales have none of
func.func @update_c5_rank(%c: tensor<2x3x9xf32>, %u: tensor<2x3x4xf32>, %at: index, %t: tensor<4x4xf32>) {
  // expected-error @+1 {{what turns must be a tensor or memref of rank 4, got 'tensor<2x3x4xf32>' (C5)}}
  %0 = attn.cache_update %c, %u at(%at : index) rotated half(%t, %t : tensor<4x4xf32>, tensor<4x4xf32>) : tensor<2x3x9xf32>, tensor<2x3x4xf32>
  return
}

// -----

// cache_update C5: that are floats
func.func @update_c5_integers(%c: tensor<2x3x9x8xi8>, %u: tensor<2x3x4x8xi8>, %at: index, %t: tensor<4x4xf32>) {
  // expected-error @+1 {{what turns must have a float element type, got 'i8' (C5)}}
  %0 = attn.cache_update %c, %u at(%at : index) rotated half(%t, %t : tensor<4x4xf32>, tensor<4x4xf32>) : tensor<2x3x9x8xi8>, tensor<2x3x4x8xi8>
  return
}
