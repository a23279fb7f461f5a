// Constraints of weight_stats, attention_stats and online_stats, one test a label.

// RUN: attn-opt %s -split-input-file -verify-diagnostics

// weight_stats C1: something is asked for
func.func @weight_c1(%p: tensor<2x4x8x16xf32>) {
  // expected-error @+1 {{must have column_sums, row_max, entropy or top_k (C1)}}
  attn.weight_stats %p : tensor<2x4x8x16xf32>
  return
}

// -----

// weight_stats C2: a positive number of places
func.func @weight_c2(%p: tensor<2x4x8x16xf32>) {
  // expected-error @+2 {{top_k must be positive, got 0 (C2)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = attn.weight_stats %p top_k 0 : tensor<2x4x8x16xf32> -> tensor<2x4x8x0xf32>, tensor<2x4x8x0xi32>
  return
}

// -----

// weight_stats C3: extents
func.func @weight_c3(%p: tensor<2x4x8x16xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<2x4x16xf32>' are incompatible with return type(s) of operation 'tensor<2x4x8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.weight_stats %p column_sums : tensor<2x4x8x16xf32> -> tensor<2x4x8xf32>
  return
}

// -----

// weight_stats C3: element types
func.func @weight_c3_type(%p: tensor<2x4x8x16xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<2x4x8x3xf32>', 'tensor<2x4x8x3xi32>' are incompatible with return type(s) of operation 'tensor<2x4x8x3xf32>', 'tensor<2x4x8x3xi64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = attn.weight_stats %p top_k 3 : tensor<2x4x8x16xf32> -> tensor<2x4x8x3xf32>, tensor<2x4x8x3xi64>
  return
}

// -----

// attention_stats C1: rank 4
func.func @stats_c1(%q: tensor<4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{query must be a tensor or memref of rank 4, got 'tensor<4x8x64xf32>' (C1)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C1: float element types
func.func @stats_c1_type(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xi32>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{key must have a float element type or i8, got 'i32' (C1)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xi32>) scale 1.0 row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C2: head dims are equal
func.func @stats_c2(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x32xf32>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{head dim of query is 64 but head dim of key is 32 (C2)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x32xf32>) scale 1.0 row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C2: head dims are static
func.func @stats_c2_static(%q: tensor<2x4x8x?xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{head dim of query must be static and positive, got 'tensor<2x4x8x?xf32>' (C2)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x?xf32>, tensor<2x2x16x64xf32>) scale 1.0 row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C3: batch extents are equal
func.func @stats_c3(%q: tensor<2x4x8x64xf32>, %k: tensor<3x2x16x64xf32>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{batch extent of query is 2 but batch extent of key is 3 (C3)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<3x2x16x64xf32>) scale 1.0 row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C4: groups of heads
func.func @stats_c4(%q: tensor<2x4x8x64xf32>, %k: tensor<2x3x16x64xf32>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{head count of query is 4, not a multiple of head count of key, 3 (C4)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x3x16x64xf32>) scale 1.0 row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C5: an output
func.func @stats_c5(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>) {
  // expected-error @+1 {{must have column_sums, row_max, entropy or top_k (C5)}}
  attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0
  return
}

// -----

// attention_stats C6: extents of rows
func.func @stats_c6_rows(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x16xf32>) {
  // expected-error @+1 {{sequence length of row_max is 16 but sequence length of query is 8 (C6)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 row_max(%r : tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  return
}

// -----

// attention_stats C6: extents of columns
func.func @stats_c6_columns(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{key length of column_sums is 8 but key length of key is 16 (C6)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 column_sums(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C6: f32 or f64
func.func @stats_c6_type(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xbf16>) {
  // expected-error @+1 {{entropy must have element type f32 or f64, got 'bf16' (C6)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 entropy(%r : tensor<2x4x8xbf16>) -> tensor<2x4x8xbf16>
  return
}

// -----

// attention_stats C6: keys of i32
func.func @stats_c6_keys(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %w: tensor<2x4x8x3xf32>, %i: tensor<2x4x8x3xi64>) {
  // expected-error @+1 {{top_k keys must have rank 4 and be of i32, got 'tensor<2x4x8x3xi64>' (C6)}}
  %0:2 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 top_k(%w, %i : tensor<2x4x8x3xf32>, tensor<2x4x8x3xi64>) -> tensor<2x4x8x3xf32>, tensor<2x4x8x3xi64>
  return
}

// -----

// attention_stats C6: as many keys as weights
func.func @stats_c6_places(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %w: tensor<2x4x8x3xf32>, %i: tensor<2x4x8x4xi32>) {
  // expected-error @+1 {{number of places of top_k keys is 4 but number of places of top_k weights is 3 (C6)}}
  %0:2 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 top_k(%w, %i : tensor<2x4x8x3xf32>, tensor<2x4x8x4xi32>) -> tensor<2x4x8x3xf32>, tensor<2x4x8x4xi32>
  return
}

// -----

// attention_stats C6: a static number of places
func.func @stats_c6_dynamic(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %w: tensor<2x4x8x?xf32>, %i: tensor<2x4x8x3xi32>) {
  // expected-error @+1 {{number of places of top_k must be static and positive, got 'tensor<2x4x8x?xf32>' (C6)}}
  %0:2 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 top_k(%w, %i : tensor<2x4x8x?xf32>, tensor<2x4x8x3xi32>) -> tensor<2x4x8x?xf32>, tensor<2x4x8x3xi32>
  return
}

// -----

// attention_stats C7: a finite scale
func.func @stats_c7(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{scale must be finite in 'f32', got}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0e300 row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C8: four offsets
func.func @stats_c8(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>, %x: index) {
  // expected-error @+1 {{offsets must be none or four, got 1 (C8)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 offsets(%x) row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C9: signatures of the regions
func.func @stats_c9(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{score region must yield one 'f32', got ('index') (C9)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 row_max(%r : tensor<2x4x8xf32>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %b : index
  } -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C10: all tensors or all memrefs
func.func @stats_c10(%q: tensor<2x4x8x64xf32>, %k: memref<2x2x16x64xf32>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{operands must be all tensors or all memrefs (C10)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, memref<2x2x16x64xf32>) scale 1.0 row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C10: types of the results
func.func @stats_c10_types(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{result types must be those of the outputs (C10)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x?xf32>
  return
}

// -----

// attention_stats C11: extents of the log-sum-exp
func.func @stats_c11(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>, %l: tensor<2x2x8xf32>) {
  // expected-error @+1 {{head count of log_sum_exp is 2 but head count of query is 4 (C11)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 log_sum_exp(%l : tensor<2x2x8xf32>) row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C11: extents of the remainder
func.func @stats_c11_remainder(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>, %l: tensor<2x4x7xf32>) {
  // expected-error @+1 {{sequence length of remainder is 7 but sequence length of query is 8 (C11)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 log_sum_exp(%r : tensor<2x4x8xf32>) remainder(%l : tensor<2x4x7xf32>) row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C11: a remainder of something
func.func @stats_c11_alone(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{remainder must come with log_sum_exp (C11)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 remainder(%r : tensor<2x4x8xf32>) row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C11: f32 or f64
func.func @stats_c11_type(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>, %l: tensor<2x4x8xf16>) {
  // expected-error @+1 {{log_sum_exp must have element type f32 or f64, got 'f16' (C11)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 log_sum_exp(%l : tensor<2x4x8xf16>) row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C12: a table of integers
func.func @stats_c12(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>, %t: tensor<2x3xf32>) {
  // expected-error @+1 {{table must have rank 2 and be of i32 or i64, got 'tensor<2x3xf32>' (C12)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 table(%t : tensor<2x3xf32>) row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C12: static pages
func.func @stats_c12_pages(%q: tensor<2x4x8x64xf32>, %k: tensor<9x2x?x64xf32>, %r: tensor<2x4x8xf32>, %t: tensor<2x3xi32>) {
  // expected-error @+1 {{extents 1 and 2 of the pages of key must be static and positive, got 'tensor<9x2x?x64xf32>' (C12)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<9x2x?x64xf32>) scale 1.0 table(%t : tensor<2x3xi32>) row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C12: a row of the table for each element of the batch
func.func @stats_c12_batch(%q: tensor<2x4x8x64xf32>, %k: tensor<9x2x16x64xf32>, %r: tensor<2x4x8xf32>, %t: tensor<3x3xi32>) {
  // expected-error @+1 {{batch extent of query is 2 but batch extent of table is 3 (C12)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<9x2x16x64xf32>) scale 1.0 table(%t : tensor<3x3xi32>) row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C13: integers have scales
func.func @stats_c13(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xi8>, %r: tensor<2x4x8xf32>) {
  // expected-error @+1 {{key of i8 needs key_scale (C13)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xi8>) scale 1.0 row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C13: one scale a row
func.func @stats_c13_extent(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xi8>, %r: tensor<2x4x8xf32>, %x: tensor<2x2x15xf32>) {
  // expected-error @+1 {{extent 2 of key_scale is 15 but extent 2 of key is 16 (C13)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xi8>) scale 1.0 key_scale(%x : tensor<2x2x15xf32>) row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// attention_stats C14: the weight of additive scores
func.func @stats_c14(%q: tensor<2x4x8x64xf32>, %k: tensor<2x2x16x64xf32>, %r: tensor<2x4x8xf32>, %x: tensor<63xf32>) {
  // expected-error @+1 {{head dim of additive is 63 but head dim of query is 64 (C14)}}
  %0 = attn.attention_stats ins(%q, %k : tensor<2x4x8x64xf32>, tensor<2x2x16x64xf32>) scale 1.0 additive(%x : tensor<63xf32>) row_max(%r : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

// online_stats C1: ranks
func.func @tile_c1(%q: memref<64x8xf32>, %k: memref<1x4x8xf32>, %r: memref<64xf32>, %at: index) {
  // expected-error @+1 {{key must be a tensor or memref of rank 2, got 'memref<1x4x8xf32>' (C1)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<1x4x8xf32>) at(%at, %at, %at, %at) row_max(%r : memref<64xf32>)
  return
}

// -----

// online_stats C1: ranks of the state
func.func @tile_c1_state(%q: memref<64x8xf32>, %k: memref<?x8xf32>, %r: memref<64x1xf32>, %at: index) {
  // expected-error @+1 {{row_max must be a tensor or memref of rank 1, got 'memref<64x1xf32>' (C1)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x8xf32>) at(%at, %at, %at, %at) row_max(%r : memref<64x1xf32>)
  return
}

// -----

// online_stats C2: depths
func.func @tile_c2(%q: memref<64x8xf32>, %k: memref<?x9xf32>, %r: memref<64xf32>, %at: index) {
  // expected-error @+1 {{head dim of query is 8 but head dim of key is 9 (C2)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x9xf32>) at(%at, %at, %at, %at) row_max(%r : memref<64xf32>)
  return
}

// -----

// online_stats C3: rows of the state
func.func @tile_c3(%q: memref<64x8xf32>, %k: memref<?x8xf32>, %r: memref<32xf32>, %at: index) {
  // expected-error @+1 {{row count of row_max is 32 but row count of query is 64 (C3)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x8xf32>) at(%at, %at, %at, %at) row_max(%r : memref<32xf32>)
  return
}

// -----

// online_stats C3: keys of the sums
func.func @tile_c3_keys(%q: memref<64x8xf32>, %k: memref<4x8xf32>, %r: memref<5xf32>, %at: index) {
  // expected-error @+1 {{key count of column_sums is 5 but key count of key is 4 (C3)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<4x8xf32>) at(%at, %at, %at, %at) column_sums(%r : memref<5xf32>)
  return
}

// -----

// online_stats C3: places come first
func.func @tile_c3_places(%q: memref<64x8xf32>, %k: memref<?x8xf32>, %r: memref<?x64xf32>, %at: index, %i: memref<3x64xi32>) {
  // expected-error @+1 {{number of places of top_k must be static and positive, got 'memref<?x64xf32>' (C3)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x8xf32>) at(%at, %at, %at, %at) top_k(%r, %i : memref<?x64xf32>, memref<3x64xi32>)
  return
}

// -----

// online_stats C4: an output
func.func @tile_c4(%q: memref<64x8xf32>, %k: memref<?x8xf32>, %r: memref<64xf32>, %at: index) {
  // expected-error @+1 {{must have column_sums, row_max, entropy or top_k (C4)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x8xf32>) at(%at, %at, %at, %at) 
  return
}

// -----

// online_stats C5: signatures of the regions
func.func @tile_c5(%q: memref<64x8xf32>, %k: memref<?x8xf32>, %r: memref<64xf32>, %at: index) {
  // expected-error @+1 {{mask region must yield one 'i1', got ('index') (C5)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x8xf32>) at(%at, %at, %at, %at) row_max(%r : memref<64xf32>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    attn.yield %b : index
  }
  return
}

// -----

// online_stats C1: rank of the remainder
func.func @tile_c1_remainder(%q: memref<64x8xf32>, %k: memref<?x8xf32>, %r: memref<64xf32>, %at: index) {
  // expected-error @+1 {{remainder must be a tensor or memref of rank 1, got 'memref<64x8xf32>' (C1)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x8xf32>) at(%at, %at, %at, %at) log_sum_exp(%r : memref<64xf32>) remainder(%q : memref<64x8xf32>) row_max(%r : memref<64xf32>)
  return
}

// -----

// online_stats C6: as many remainders as sums
func.func @tile_c6_remainder(%q: memref<64x8xf32>, %k: memref<?x8xf32>, %r: memref<64xf32>, %at: index, %l: memref<60xf32>) {
  // expected-error @+1 {{row count of remainder is 64 but row count of log_sum_exp is 60 (C6)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x8xf32>) at(%at, %at, %at, %at) log_sum_exp(%l : memref<60xf32>) remainder(%r : memref<64xf32>) row_max(%r : memref<64xf32>)
  return
}

// -----

// online_stats C6: a remainder of something
func.func @tile_c6_alone(%q: memref<64x8xf32>, %k: memref<?x8xf32>, %r: memref<64xf32>, %at: index) {
  // expected-error @+1 {{remainder must come with log_sum_exp (C6)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x8xf32>) at(%at, %at, %at, %at) remainder(%r : memref<64xf32>) row_max(%r : memref<64xf32>)
  return
}

// -----

// online_stats C6: no more sums than rows
func.func @tile_c6(%q: memref<64x8xf32>, %k: memref<?x8xf32>, %r: memref<64xf32>, %at: index, %l: memref<65xf32>) {
  // expected-error @+1 {{row count of log_sum_exp is 65, more than row count of query, 64 (C6)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x8xf32>) at(%at, %at, %at, %at) log_sum_exp(%l : memref<65xf32>) row_max(%r : memref<64xf32>)
  return
}

// -----

// online_stats C7: a finite scale
func.func @tile_c7(%q: memref<64x8xf32>, %k: memref<?x8xf32>, %r: memref<64xf32>, %at: index) {
  // expected-error @+1 {{scale must be finite in 'f32', got}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x8xf32>) at(%at, %at, %at, %at) scale 1.0e300 row_max(%r : memref<64xf32>)
  return
}

// -----

// online_stats C8: the weight of additive scores
func.func @tile_c8(%q: memref<64x8xf32>, %k: memref<?x8xf32>, %r: memref<64xf32>, %at: index, %l: memref<9xf32>) {
  // expected-error @+1 {{head dim of additive is 9 but head dim of query is 8 (C8)}}
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x8xf32>) at(%at, %at, %at, %at) additive(%l : memref<9xf32>) row_max(%r : memref<64xf32>)
  return
}
