// Constraints of pack, online_attention and merge_partials, one test a label.

// RUN: attn-opt %s -split-input-file -verify-diagnostics

// pack C1: rank 2
func.func @pack_c1(%s: memref<4x4x64xf32>, %d: memref<64x64xf32>) {
  // expected-error @+1 {{source must be a tensor or memref of rank 2, got 'memref<4x4x64xf32>' (C1)}}
  attn.pack ins(%s : memref<4x4x64xf32>) outs(%d : memref<64x64xf32>) factor 1.0
  return
}

// -----

// pack C1: float element types
func.func @pack_c1_type(%s: memref<4x64xi32>, %d: memref<64x64xf32>) {
  // expected-error @+1 {{source must have a float element type or i8, got 'i32' (C1)}}
  attn.pack ins(%s : memref<4x64xi32>) outs(%d : memref<64x64xf32>) factor 1.0
  return
}

// -----

// pack C2: the destination is static
func.func @pack_c2(%s: memref<4x64xf32>, %d: memref<64x?xf32>) {
  // expected-error @+1 {{dest must have static extents, got 'memref<64x?xf32>' (C2)}}
  attn.pack ins(%s : memref<4x64xf32>) outs(%d : memref<64x?xf32>) factor 1.0
  return
}

// -----

// pack C2: the source fits
func.func @pack_c2_fit(%s: memref<?x65xf32>, %d: memref<64x64xf32>) {
  // expected-error @+1 {{extent 1 of source is 65, more than of dest, 64 (C2)}}
  attn.pack ins(%s : memref<?x65xf32>) outs(%d : memref<64x64xf32>) factor 1.0
  return
}

// -----

// pack C2: the source fits into panels
func.func @pack_c2_panels(%s: memref<?x65xbf16>, %d: memref<32x16x2xbf16>) {
  // expected-error @+1 {{extent 1 of source is 65, more than of dest, 64 (C2)}}
  attn.pack ins(%s : memref<?x65xbf16>) outs(%d : memref<32x16x2xbf16>) factor 1.0
  return
}

// -----

// online_attention C1: value is in panels when query is
func.func @online_c1_panels(%q: memref<4x32x2xbf16>, %k: memref<?x8xbf16>, %acc: memref<32x8xf32>, %m: memref<32xf32>, %i: index) {
  // expected-error @+1 {{value must be a tensor or memref of rank 3, got 'memref<?x8xbf16>' (C1)}}
  attn.online_attention ins(%q, %k, %k : memref<4x32x2xbf16>, memref<?x8xbf16>, memref<?x8xbf16>)
    outs(%acc, %m, %m : memref<32x8xf32>, memref<32xf32>, memref<32xf32>) at(%i, %i, %i, %i)
  return
}

// -----

// online_attention C2: pairs of features
func.func @online_c2_pairs(%q: memref<5x32x2xbf16>, %k: memref<?x8xbf16>, %v: memref<?x8x32xbf16>, %acc: memref<32x8xf32>, %m: memref<32xf32>, %i: index) {
  // expected-error @+1 {{query must hold pairs of the features of key, got}}
  attn.online_attention ins(%q, %k, %v : memref<5x32x2xbf16>, memref<?x8xbf16>, memref<?x8x32xbf16>)
    outs(%acc, %m, %m : memref<32x8xf32>, memref<32xf32>, memref<32xf32>) at(%i, %i, %i, %i)
  return
}

// -----

// online_attention C7: the scale is finite
func.func @online_c7(%q: memref<4x32x2xbf16>, %k: memref<?x8xbf16>, %v: memref<?x8x32xbf16>, %acc: memref<32x8xf32>, %m: memref<32xf32>, %i: index) {
  // expected-error @+1 {{(C7)}}
  attn.online_attention ins(%q, %k, %v : memref<4x32x2xbf16>, memref<?x8xbf16>, memref<?x8x32xbf16>)
    outs(%acc, %m, %m : memref<32x8xf32>, memref<32xf32>, memref<32xf32>) at(%i, %i, %i, %i) scale 1.0e300
  return
}

// -----

// online_attention C8: rows that are brought near are whole lines
func.func @online_c8(%q: memref<4x32x2xbf16>, %k: memref<?x8xbf16>, %v: memref<?x8x32xbf16>, %acc: memref<32x8xf32>, %m: memref<32xf32>, %rows: memref<32x?xf32>, %i: index) {
  // expected-error @+1 {{head dim of upcoming must be static and positive, got 'memref<32x?xf32>' (C8)}}
  attn.online_attention ins(%q, %k, %v : memref<4x32x2xbf16>, memref<?x8xbf16>, memref<?x8x32xbf16>)
    outs(%acc, %m, %m : memref<32x8xf32>, memref<32xf32>, memref<32xf32>) at(%i, %i, %i, %i) upcoming(%rows : memref<32x?xf32>)
  return
}

// -----

// online_attention C10: integers need scales
func.func @online_c10_key(%q: memref<4x64xf32>, %k: memref<?x64xi8>, %v: memref<?x64xf32>, %m: memref<4xf32>, %i: index) {
  // expected-error @+1 {{key of i8 needs key_scale (C10)}}
  attn.online_attention ins(%q, %k, %v : memref<4x64xf32>, memref<?x64xi8>, memref<?x64xf32>)
    outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>) at(%i, %i, %i, %i)
  return
}

// -----

// online_attention C10: floats have no scales
func.func @online_c10_value(%q: memref<4x64xf32>, %v: memref<?x64xf32>, %m: memref<4xf32>, %i: index) {
  // expected-error @+1 {{value has no value_scale: it is of floats (C10)}}
  attn.online_attention ins(%q, %v, %v : memref<4x64xf32>, memref<?x64xf32>, memref<?x64xf32>)
    outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>) at(%i, %i, %i, %i) value_scale(%m : memref<4xf32>)
  return
}

// -----

// online_attention C10: one number a row
func.func @online_c10_rank(%q: memref<4x64xf32>, %k: memref<8x64xi8>, %v: memref<8x64xf32>, %m: memref<4xf32>, %s: memref<8x1xf32>, %i: index) {
  // expected-error @+1 {{key_scale must have rank 1 and be of floats, got 'memref<8x1xf32>' (C10)}}
  attn.online_attention ins(%q, %k, %v : memref<4x64xf32>, memref<8x64xi8>, memref<8x64xf32>)
    outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>) at(%i, %i, %i, %i) key_scale(%s : memref<8x1xf32>)
  return
}

// -----

// online_attention C10: as many numbers as rows
func.func @online_c10_count(%q: memref<4x64xf32>, %k: memref<8x64xi8>, %v: memref<8x64xf32>, %m: memref<4xf32>, %i: index) {
  // expected-error @+1 {{key count of key_scale is 4 but key count of key is 8 (C10)}}
  attn.online_attention ins(%q, %k, %v : memref<4x64xf32>, memref<8x64xi8>, memref<8x64xf32>)
    outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>) at(%i, %i, %i, %i) key_scale(%m : memref<4xf32>)
  return
}

// -----

// online_attention C1: ranks
func.func @online_c1(%q: memref<8x64xf32>, %acc: memref<8x64xf32>, %i: index) {
  // expected-error @+1 {{max must be a tensor or memref of rank 1, got 'memref<8x64xf32>' (C1)}}
  attn.online_attention ins(%q, %q, %q : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>)
      outs(%acc, %acc, %acc : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>) at(%i, %i, %i, %i)
  return
}

// -----

// online_attention C2: second extents are static
func.func @online_c2(%q: memref<8x?xf32>, %k: memref<8x64xf32>, %m: memref<8xf32>, %i: index) {
  // expected-error @+1 {{head dim of query must be static and positive, got 'memref<8x?xf32>' (C2)}}
  attn.online_attention ins(%q, %k, %k : memref<8x?xf32>, memref<8x64xf32>, memref<8x64xf32>)
      outs(%k, %m, %m : memref<8x64xf32>, memref<8xf32>, memref<8xf32>) at(%i, %i, %i, %i)
  return
}

// -----

// online_attention C2: second extents are equal
func.func @online_c2_equal(%q: memref<8x32xf32>, %k: memref<8x64xf32>, %m: memref<8xf32>, %i: index) {
  // expected-error @+1 {{head dim of query is 32 but head dim of key is 64 (C2)}}
  attn.online_attention ins(%q, %k, %k : memref<8x32xf32>, memref<8x64xf32>, memref<8x64xf32>)
      outs(%k, %m, %m : memref<8x64xf32>, memref<8xf32>, memref<8xf32>) at(%i, %i, %i, %i)
  return
}

// -----

// online_attention C3: key and value lengths
func.func @online_c3(%q: memref<8x64xf32>, %k: memref<9x64xf32>, %m: memref<8xf32>, %i: index) {
  // expected-error @+1 {{key count of key is 9 but key count of value is 8 (C3)}}
  attn.online_attention ins(%q, %k, %q : memref<8x64xf32>, memref<9x64xf32>, memref<8x64xf32>)
      outs(%q, %m, %m : memref<8x64xf32>, memref<8xf32>, memref<8xf32>) at(%i, %i, %i, %i)
  return
}

// -----

// online_attention C4: the accumulator is [M, Dv]
func.func @online_c4_acc(%q: memref<8x64xf32>, %acc: memref<8x32xf32>, %m: memref<8xf32>, %i: index) {
  // expected-error @+1 {{head dim of acc is 32 but head dim of value is 64 (C4)}}
  attn.online_attention ins(%q, %q, %q : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>)
      outs(%acc, %m, %m : memref<8x32xf32>, memref<8xf32>, memref<8xf32>) at(%i, %i, %i, %i)
  return
}

// -----

// online_attention C4: the sum is [M]
func.func @online_c4_sum(%q: memref<8x64xf32>, %m: memref<8xf32>, %l: memref<9xf32>, %i: index) {
  // expected-error @+1 {{row count of sum is 9 but row count of query is 8 (C4)}}
  attn.online_attention ins(%q, %q, %q : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>)
      outs(%q, %m, %l : memref<8x64xf32>, memref<8xf32>, memref<9xf32>) at(%i, %i, %i, %i)
  return
}

// -----

// online_attention C5: regions as in attention
func.func @online_c5(%q: memref<8x64xf32>, %m: memref<8xf32>, %i: index) {
  // expected-error @+1 {{mask region must have arguments ('index', 'index', 'index', 'index'), got () (C5)}}
  attn.online_attention ins(%q, %q, %q : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>)
      outs(%q, %m, %m : memref<8x64xf32>, memref<8xf32>, memref<8xf32>) at(%i, %i, %i, %i) mask {
    %true = arith.constant true
    attn.yield %true : i1
  }
  return
}

// -----

// online_attention C6: head_rows is positive
func.func @online_c6(%q: memref<8x64xf32>, %m: memref<8xf32>, %i: index) {
  // expected-error @+1 {{head_rows must be positive, got 0 (C6)}}
  attn.online_attention ins(%q, %q, %q : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>)
      outs(%q, %m, %m : memref<8x64xf32>, memref<8xf32>, memref<8xf32>) at(%i, %i, %i, %i) head_rows 0
  return
}

// -----

// merge_partials C1: ranks
func.func @merge_c1(%a: memref<2x8x64xf32>, %m: memref<2x8xf32>, %o: memref<8xf32>) {
  // expected-error @+1 {{output must be a tensor or memref of rank 2, got 'memref<8xf32>' (C1)}}
  attn.merge_partials ins(%a, %m, %m : memref<2x8x64xf32>, memref<2x8xf32>, memref<2x8xf32>)
      outs(%o : memref<8xf32>)
  return
}

// -----

// merge_partials C1: one to three outputs
func.func @merge_c1_outputs(%a: memref<2x8x64xf32>, %m: memref<2x8xf32>) {
  // expected-error @+1 {{must have one to three outputs, got 0 (C1)}}
  "attn.merge_partials"(%a, %m, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}> : (memref<2x8x64xf32>, memref<2x8xf32>, memref<2x8xf32>) -> ()
  return
}

// -----

// merge_partials C2: partial and row counts agree
func.func @merge_c2(%a: memref<2x8x64xf32>, %m: memref<2x8xf32>, %s: memref<3x8xf32>, %o: memref<8x64xf32>) {
  // expected-error @+1 {{partial count of sum is 3 but partial count of acc is 2 (C2)}}
  attn.merge_partials ins(%a, %m, %s : memref<2x8x64xf32>, memref<2x8xf32>, memref<3x8xf32>)
      outs(%o : memref<8x64xf32>)
  return
}

// -----

// merge_partials C2: row counts agree
func.func @merge_c2_rows(%a: memref<2x8x64xf32>, %m: memref<2x9xf32>, %s: memref<2x8xf32>, %o: memref<8x64xf32>) {
  // expected-error @+1 {{row count of max is 9 but row count of acc is 8 (C2)}}
  attn.merge_partials ins(%a, %m, %s : memref<2x8x64xf32>, memref<2x9xf32>, memref<2x8xf32>)
      outs(%o : memref<8x64xf32>)
  return
}

// -----

// merge_partials C3: the output's second extent is Dv
func.func @merge_c3(%a: memref<2x8x64xf32>, %m: memref<2x8xf32>, %o: memref<8x32xf32>) {
  // expected-error @+1 {{head dim of output is 32 but head dim of acc is 64 (C3)}}
  attn.merge_partials ins(%a, %m, %m : memref<2x8x64xf32>, memref<2x8xf32>, memref<2x8xf32>)
      outs(%o : memref<8x32xf32>)
  return
}

// -----

// merge_partials C3: no more rows than the partials have
func.func @merge_c3_rows(%a: memref<2x8x64xf32>, %m: memref<2x8xf32>, %o: memref<9x64xf32>) {
  // expected-error @+1 {{row count of output is 9, more than row count of acc, 8 (C3)}}
  attn.merge_partials ins(%a, %m, %m : memref<2x8x64xf32>, memref<2x8xf32>, memref<2x8xf32>)
      outs(%o : memref<9x64xf32>)
  return
}

// -----

// merge_partials C3: the outputs' first extents agree
func.func @merge_c3_lse(%a: memref<2x8x64xf32>, %m: memref<2x8xf32>, %o: memref<6x64xf32>, %lse: memref<7xf32>) {
  // expected-error @+1 {{row count of log-sum-exp is 7 but row count of output is 6 (C3)}}
  attn.merge_partials ins(%a, %m, %m : memref<2x8x64xf32>, memref<2x8xf32>, memref<2x8xf32>)
      outs(%o, %lse : memref<6x64xf32>, memref<7xf32>)
  return
}

// -----

// A tile is a multiple of the register tile.
// expected-error @+1 {{schedule tile size 100 is not a multiple of registers times lanes, 64}}
func.func private @schedule() attributes {s = #attn.schedule<kernel = gemm, tile = [64, 100], registers = [4, 4], lanes = 16>}

// -----

// expected-error @+1 {{schedule has 12 lanes, expected a power of two up to 64}}
func.func private @schedule() attributes {s = #attn.schedule<kernel = gemm, tile = [64, 100], registers = [4, 4], lanes = 12>}

// -----

// expected-error @+1 {{schedule needs two tile sizes and two register tile sizes, got 3 and 2}}
func.func private @schedule() attributes {s = #attn.schedule<kernel = gemm, tile = [64, 64, 64], registers = [4, 4], lanes = 16>}

// -----

// expected-error @+1 {{schedule size 0 is outside [1, 1048576]}}
func.func private @schedule() attributes {s = #attn.schedule<kernel = gemm, tile = [64, 64], registers = [4, 0], lanes = 16>}

// -----

// online_attention C5: scores that are weights need no other program
func.func @online_c5_probability(%q: memref<8x64xf32>, %m: memref<8xf32>, %c: index) {
  // expected-error @+1 {{unnormalized weights have no probability region (C5)}}
  attn.online_attention ins(%q, %q, %q : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>)
      outs(%q, %m, %m : memref<8x64xf32>, memref<8xf32>, memref<8xf32>) at(%c, %c, %c, %c) unnormalized probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %p : f32
  }
  return
}

// -----

// merge_partials C1: rank of the remainder
func.func @merge_c1_remainder(%a: memref<2x8x64xf32>, %m: memref<2x8xf32>, %o: memref<8x64xf32>, %l: memref<8xf32>) {
  // expected-error @+1 {{remainder must be a tensor or memref of rank 1, got 'memref<8x64xf32>' (C1)}}
  attn.merge_partials ins(%a, %m, %m : memref<2x8x64xf32>, memref<2x8xf32>, memref<2x8xf32>)
      outs(%o, %l, %o : memref<8x64xf32>, memref<8xf32>, memref<8x64xf32>)
  return
}

// -----

// merge_partials C3: extent of the remainder
func.func @merge_c3_remainder(%a: memref<2x8x64xf32>, %m: memref<2x8xf32>, %o: memref<6x64xf32>, %l: memref<6xf32>, %r: memref<7xf32>) {
  // expected-error @+1 {{row count of remainder is 7 but row count of output is 6 (C3)}}
  attn.merge_partials ins(%a, %m, %m : memref<2x8x64xf32>, memref<2x8xf32>, memref<2x8xf32>)
      outs(%o, %l, %r : memref<6x64xf32>, memref<6xf32>, memref<7xf32>)
  return
}

// -----

// merge_partials C5: element types where there is a remainder
func.func @merge_c5(%a: memref<2x8x64xf64>, %m: memref<2x8xf64>, %o: memref<8x64xf32>, %l: memref<8xf32>, %r: memref<8xf64>) {
  // expected-error @+1 {{log-sum-exp must have element type 'f64' where there is a remainder, got 'f32' (C5)}}
  attn.merge_partials ins(%a, %m, %m : memref<2x8x64xf64>, memref<2x8xf64>, memref<2x8xf64>)
      outs(%o, %l, %r : memref<8x64xf32>, memref<8xf32>, memref<8xf64>)
  return
}

// -----

// merge_partials C4: sums have no log-sum-exp
func.func @merge_c4_lse(%a: memref<2x8x64xf32>, %m: memref<2x8xf32>, %o: memref<8x64xf32>, %lse: memref<8xf32>) {
  // expected-error @+1 {{unnormalized partials have no log-sum-exp (C4)}}
  attn.merge_partials ins(%a, %m, %m : memref<2x8x64xf32>, memref<2x8xf32>, memref<2x8xf32>)
      outs(%o, %lse : memref<8x64xf32>, memref<8xf32>) unnormalized
  return
}

// -----

// merge_partials C4: sums have no sink
func.func @merge_c4_sink(%a: memref<2x8x64xf32>, %m: memref<2x8xf32>, %o: memref<8x64xf32>, %sink: f32) {
  // expected-error @+1 {{unnormalized partials have no sink (C4)}}
  attn.merge_partials ins(%a, %m, %m : memref<2x8x64xf32>, memref<2x8xf32>, memref<2x8xf32>)
      outs(%o : memref<8x64xf32>) sink(%sink : f32) unnormalized
  return
}

// -----

// online_attention C9: a weight for each feature
func.func @online_c9(%q: memref<8x64xf32>, %m: memref<8xf32>, %w: memref<32xf32>, %c: index) {
  // expected-error @+1 {{head dim of additive is 32 but head dim of query is 64 (C9)}}
  attn.online_attention ins(%q, %q, %q : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>)
      outs(%q, %m, %m : memref<8x64xf32>, memref<8xf32>, memref<8xf32>) at(%c, %c, %c, %c) additive(%w : memref<32xf32>)
  return
}

// -----

// online_attention C9: for one head
func.func @online_c9_rank(%q: memref<8x64xf32>, %m: memref<8xf32>, %w: memref<2x64xf32>, %c: index) {
  // expected-error @+1 {{additive must be a tensor or memref of rank 1, got 'memref<2x64xf32>' (C9)}}
  attn.online_attention ins(%q, %q, %q : memref<8x64xf32>, memref<8x64xf32>, memref<8x64xf32>)
      outs(%q, %m, %m : memref<8x64xf32>, memref<8xf32>, memref<8xf32>) at(%c, %c, %c, %c) additive(%w : memref<2x64xf32>)
  return
}
