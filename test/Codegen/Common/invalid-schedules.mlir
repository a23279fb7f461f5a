// What the phases cannot take is an error at the op, never a crash.

// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-tile

// expected-error @below {{schedule needs two tile sizes and two register tile sizes, got 1 and 2}}
#one_size = #attn.schedule<kernel = gemm, tile = [64], registers = [4, 4], lanes = 16>

// -----

// expected-error @below {{schedule size 0 is outside [1, 1048576]}}
#no_keys = #attn.schedule<kernel = queries_in_lanes, tile = [64, 0], registers = [4, 4], lanes = 16>

// -----

// expected-error @below {{schedule has 12 lanes, expected a power of two up to 64}}
#odd_lanes = #attn.schedule<kernel = queries_in_lanes, tile = [48, 8], registers = [4, 4], lanes = 12>

// -----

// expected-error @below {{schedule tile size 65 is not a multiple of registers times lanes, 64}}
#ragged = #attn.schedule<kernel = queries_in_lanes, tile = [65, 64], registers = [4, 4], lanes = 16>

// -----

// expected-error @below {{schedule has a register tile of 4096 vectors, expected at most 256}}
#huge = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [1024, 4], lanes = 16>

// -----

// expected-error @below {{schedule has a split of 2048 keys, expected none for queries_in_lanes}}
#split_rows = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16, split = 2048>

// -----

// expected-error @below {{schedule has a split of 1024 keys, expected none for bf16_tiles}}
#split_pairs = #attn.schedule<kernel = bf16_tiles, tile = [32, 64], registers = [2, 2], lanes = 16, split = 1024>

// -----

// expected-error @below {{schedule has a split of 64 keys, expected none for gemm}}
#split_product = #attn.schedule<kernel = gemm, tile = [64, 64], registers = [4, 4], lanes = 16, split = 64>

// -----

func.func @on_tensors(%q: tensor<1x1x?x8xf32>, %o: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  // expected-error @below {{must be on buffers to be tiled}}
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>) outs(%o : tensor<1x1x?x8xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) -> tensor<1x1x?x8xf32>
  return %r : tensor<1x1x?x8xf32>
}

// -----

func.func @no_schedule(%q: memref<1x1x?x8xf32>, %o: memref<1x1x?x8xf32>) {
  // expected-error @below {{has no schedule to be tiled by}}
  attn.attention ins(%q, %q, %q : memref<1x1x?x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?x8xf32>) outs(%o : memref<1x1x?x8xf32>) scale 1.0
  return
}

// -----

func.func @other_kernel(%q: memref<1x1x?x8xf32>, %o: memref<1x1x?x8xf32>) {
  // expected-error @below {{has the schedule of a matrix product}}
  attn.attention ins(%q, %q, %q : memref<1x1x?x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?x8xf32>) outs(%o : memref<1x1x?x8xf32>) scale 1.0 schedule(<kernel = gemm, tile = [1, 64], registers = [4, 4], lanes = 16>)
  return
}

// -----

func.func @quadruple_precision(%q: memref<1x1x?x8xf128>, %o: memref<1x1x?x8xf128>) {
  // expected-error @below {{has no kernel for the element type 'f128'}}
  attn.attention ins(%q, %q, %q : memref<1x1x?x8xf128>, memref<1x1x?x8xf128>, memref<1x1x?x8xf128>) outs(%o : memref<1x1x?x8xf128>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>)
  return
}

// -----

func.func @double_keys(%q: memref<1x1x?x8xf32>, %k: memref<1x1x?x8xf64>) {
  // expected-error @below {{computes in 'f32', but has operands of 'f64'}}
  attn.attention ins(%q, %k, %q : memref<1x1x?x8xf32>, memref<1x1x?x8xf64>, memref<1x1x?x8xf32>) outs(%q : memref<1x1x?x8xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>)
  return
}

// -----

func.func @product_on_tensors(%a: tensor<32x32xf32>) -> tensor<32x32xf32> {
  // expected-error @below {{must be on buffers to be tiled}}
  %d = linalg.matmul {attn.schedule = #attn.schedule<kernel = gemm, tile = [64, 64], registers = [4, 4], lanes = 16>} ins(%a, %a : tensor<32x32xf32>, tensor<32x32xf32>) outs(%a : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %d : tensor<32x32xf32>
}

// -----

func.func @product_other_kernel(%a: memref<32x32xf32>, %d: memref<32x32xf32>) {
  // expected-error @below {{has the schedule of attention}}
  linalg.matmul {attn.schedule = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>} ins(%a, %a : memref<32x32xf32>, memref<32x32xf32>) outs(%d : memref<32x32xf32>)
  return
}

// -----

// expected-error @below {{schedule has a tile size of 40, expected a multiple of 32 for bf16 pairs}}
#ragged_panel = #attn.schedule<kernel = bf16_tiles, tile = [32, 40], registers = [2, 2], lanes = 16>

// -----

// expected-error @below {{schedule has 8 lanes, expected 16 for bf16 pairs}}
#narrow_pairs = #attn.schedule<kernel = bf16_vectors, tile = [32, 64], registers = [2, 2], lanes = 8>

// -----

// expected-error @below {{schedule has register tiles of 6 rows, expected a divisor of 16 for bf16_vectors}}
#ragged_rows = #attn.schedule<kernel = bf16_vectors, tile = [32, 64], registers = [6, 2], lanes = 16>

// -----

// expected-error @below {{schedule needs 14 AMX tiles, there are 8}}
#many_tiles = #attn.schedule<kernel = bf16_tiles, tile = [64, 64], registers = [2, 4], lanes = 16>

// -----

func.func @pairs_of_f32(%q: memref<1x1x?x8xf32>) {
  // expected-error @below {{has the schedule of bf16_tiles, which takes bf16, but operands of 'f32'}}
  attn.attention ins(%q, %q, %q : memref<1x1x?x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?x8xf32>) outs(%q : memref<1x1x?x8xf32>) scale 1.0 schedule(<kernel = bf16_tiles, tile = [32, 32], registers = [2, 2], lanes = 16>)
  return
}

// -----

func.func @normalised_weights(%q: memref<1x1x?x8xf32>, %o: memref<1x1x?x8xf32>) {
  // expected-error @below {{has a program on weights that needs normalised ones, which attn-decompose-probability makes}}
  attn.attention ins(%q, %q, %q : memref<1x1x?x8xf32>, memref<1x1x?x8xf32>, memref<1x1x?x8xf32>) outs(%o : memref<1x1x?x8xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.mulf %p, %p : f32
    attn.yield %x : f32
  }
  return
}

// -----

func.func @additive_pairs(%q: memref<1x1x?x32xbf16>, %o: memref<1x1x?x32xbf16>, %w: memref<32xbf16>) {
  // expected-error @below {{has additive scores and the schedule of bf16_tiles, which has dot products}}
  attn.attention ins(%q, %q, %q : memref<1x1x?x32xbf16>, memref<1x1x?x32xbf16>, memref<1x1x?x32xbf16>) outs(%o : memref<1x1x?x32xbf16>) scale 1.0 additive(%w : memref<32xbf16>) schedule(<kernel = bf16_tiles, tile = [32, 2048], registers = [2, 2], lanes = 16>)
  return
}

// -----

// expected-error @below {{schedule has chunks of 24 tokens, expected a multiple of 16 lanes}}
#ragged_chunk = #attn.schedule<kernel = chunked_state, tile = [24, 64], registers = [4, 4], lanes = 16>

// -----

func.func @linear_attention_without_schedule(%q: memref<?x8x?x64xf32>) {
  // expected-error @below {{has no schedule to be tiled by}}
  attn.linear_attention ins(%q, %q, %q : memref<?x8x?x64xf32>, memref<?x8x?x64xf32>, memref<?x8x?x64xf32>) outs(%q : memref<?x8x?x64xf32>) scale 1.0
  return
}

// -----

func.func @linear_attention_f64(%q: memref<?x8x?x64xf64>) {
  // expected-error @below {{has no kernel for the element type 'f64'}}
  attn.linear_attention ins(%q, %q, %q : memref<?x8x?x64xf64>, memref<?x8x?x64xf64>, memref<?x8x?x64xf64>) outs(%q : memref<?x8x?x64xf64>) scale 1.0 schedule(<kernel = chunked_state, tile = [32, 64], registers = [4, 4], lanes = 16>)
  return
}
