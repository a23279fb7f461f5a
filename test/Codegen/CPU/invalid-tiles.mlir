// What the CPU passes cannot take is an error at the op, never a crash.

// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-cpu-lower-tiles

// expected-error @below {{attn-cpu-lower-tiles needs the module attribute 'attn.target'}}
module {
  func.func @no_target() {
    return
  }
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @pack_on_tensors(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @below {{must be on buffers to be lowered}}
  %y = attn.pack ins(%x : tensor<8x8xf32>) outs(%x : tensor<8x8xf32>) factor 1.0 -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @other_lanes(%q: memref<16x8xf32, strided<[1, 16]>>, %k: memref<?x8xf32>, %max: memref<16xf32>, %i: index) {
  // expected-error @below {{has a schedule of 8 lanes, but vectors of avx512 have 16}}
  attn.online_attention ins(%q, %k, %k : memref<16x8xf32, strided<[1, 16]>>, memref<?x8xf32>, memref<?x8xf32>) outs(%q, %max, %max : memref<16x8xf32, strided<[1, 16]>>, memref<16xf32>, memref<16xf32>) at(%i, %i, %i, %i) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 8>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @lanes_of_f32(%q: memref<16x8xf64, strided<[1, 16]>>, %k: memref<?x8xf64>, %max: memref<16xf64>, %i: index) {
  // expected-error @below {{has a schedule of 16 lanes, but vectors of avx512 have 8 of 'f64'}}
  attn.online_attention ins(%q, %k, %k : memref<16x8xf64, strided<[1, 16]>>, memref<?x8xf64>, memref<?x8xf64>) outs(%q, %max, %max : memref<16x8xf64, strided<[1, 16]>>, memref<16xf64>, memref<16xf64>) at(%i, %i, %i, %i) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @state_of_f32(%q: memref<8x8xf64, strided<[1, 8]>>, %k: memref<?x8xf64>, %max: memref<8xf32>, %i: index) {
  // expected-error @below {{query and state tiles must be static and 'f64' to be lowered, got 'memref<8xf32>'}}
  attn.online_attention ins(%q, %k, %k : memref<8x8xf64, strided<[1, 8]>>, memref<?x8xf64>, memref<?x8xf64>) outs(%q, %max, %max : memref<8x8xf64, strided<[1, 8]>>, memref<8xf32>, memref<8xf32>) at(%i, %i, %i, %i) schedule(<kernel = queries_in_lanes, tile = [8, 4], registers = [2, 1], lanes = 8>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @partials_of_two_types(%acc: memref<1x8x8xf64>, %max: memref<1x8xf32>, %o: memref<?x8xf64>) {
  // expected-error @below {{partials must be all f32 or all f64 to be lowered, got 'memref<1x8xf32>'}}
  attn.merge_partials ins(%acc, %max, %max : memref<1x8x8xf64>, memref<1x8xf32>, memref<1x8xf32>) outs(%o : memref<?x8xf64>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @no_schedule(%q: memref<16x8xf32, strided<[1, 16]>>, %k: memref<?x8xf32>, %max: memref<16xf32>, %i: index) {
  // expected-error @below {{has no schedule to be lowered by}}
  attn.online_attention ins(%q, %k, %k : memref<16x8xf32, strided<[1, 16]>>, memref<?x8xf32>, memref<?x8xf32>) outs(%q, %max, %max : memref<16x8xf32, strided<[1, 16]>>, memref<16xf32>, memref<16xf32>) at(%i, %i, %i, %i)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @rows_not_contiguous(%q: memref<16x8xf32>, %k: memref<?x8xf32>, %max: memref<16xf32>, %i: index) {
  // expected-error @below {{query and acc tiles must have unit row stride}}
  attn.online_attention ins(%q, %k, %k : memref<16x8xf32>, memref<?x8xf32>, memref<?x8xf32>) outs(%q, %max, %max : memref<16x8xf32>, memref<16xf32>, memref<16xf32>) at(%i, %i, %i, %i) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "znver4", isa = avx512, l1 = 32768, l2 = 1048576, bf16 = vectors>} {
func.func @no_tiles(%q: memref<16x32x2xbf16>, %k: memref<?x32xbf16>, %v: memref<?x16x32xbf16>, %acc: memref<32x16xf32, strided<[1, 32]>>, %max: memref<32xf32>, %i: index) {
  // expected-error @below {{has the schedule of bf16_tiles, but the bf16 unit of znver4 is 'vectors'}}
  attn.online_attention ins(%q, %k, %v : memref<16x32x2xbf16>, memref<?x32xbf16>, memref<?x16x32xbf16>) outs(%acc, %max, %max : memref<32x16xf32, strided<[1, 32]>>, memref<32xf32>, memref<32xf32>) at(%i, %i, %i, %i) schedule(<kernel = bf16_tiles, tile = [32, 32], registers = [2, 2], lanes = 16>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "znver4", isa = avx512, l1 = 32768, l2 = 1048576, bf16 = vectors>} {
func.func @rows_for_pairs(%q: memref<32x32xf32>, %k: memref<?x32xf32>, %acc: memref<32x32xf32, strided<[1, 32]>>, %max: memref<32xf32>, %i: index) {
  // expected-error @below {{query must be static pairs of bf16 to be lowered by pairs, got}}
  attn.online_attention ins(%q, %k, %k : memref<32x32xf32>, memref<?x32xf32>, memref<?x32xf32>) outs(%acc, %max, %max : memref<32x32xf32, strided<[1, 32]>>, memref<32xf32>, memref<32xf32>) at(%i, %i, %i, %i) schedule(<kernel = bf16_vectors, tile = [32, 32], registers = [8, 2], lanes = 16>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "znver4", isa = avx512, l1 = 32768, l2 = 1048576, bf16 = vectors>} {
func.func @ragged_features(%q: memref<16x32x2xbf16>, %k: memref<?x32xbf16>, %v: memref<?x20x32xbf16>, %acc: memref<32x20xf32, strided<[1, 32]>>, %max: memref<32xf32>, %i: index) {
  // expected-error @below {{value must be panels of 16-row tiles of 32 bf16, got}}
  attn.online_attention ins(%q, %k, %v : memref<16x32x2xbf16>, memref<?x32xbf16>, memref<?x20x32xbf16>) outs(%acc, %max, %max : memref<32x20xf32, strided<[1, 32]>>, memref<32xf32>, memref<32xf32>) at(%i, %i, %i, %i) schedule(<kernel = bf16_vectors, tile = [32, 32], registers = [8, 2], lanes = 16>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @integers(%q: memref<16x8xf32, strided<[1, 16]>>, %k: memref<?x8xi8>, %s: memref<?xf32>, %max: memref<16xf32>, %i: index) {
  // expected-error @below {{has i8 operands and the schedule of queries_in_lanes, which reads floats}}
  attn.online_attention ins(%q, %k, %k : memref<16x8xf32, strided<[1, 16]>>, memref<?x8xi8>, memref<?x8xi8>) outs(%q, %max, %max : memref<16x8xf32, strided<[1, 16]>>, memref<16xf32>, memref<16xf32>) at(%i, %i, %i, %i) key_scale(%s : memref<?xf32>) value_scale(%s : memref<?xf32>) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @linear_attention_without_schedule(%q: memref<1x1x?x64xf32>) {
  // expected-error @below {{has no schedule to be lowered by}}
  attn.linear_attention ins(%q, %q, %q : memref<1x1x?x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>) outs(%q : memref<1x1x?x64xf32>) scale 1.0
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @linear_attention_of_heads(%q: memref<1x2x?x64xf32>) {
  // expected-error @below {{must have one batch element and one key head to be lowered, got 'memref<1x2x?x64xf32>'}}
  attn.linear_attention ins(%q, %q, %q : memref<1x2x?x64xf32>, memref<1x2x?x64xf32>, memref<1x2x?x64xf32>) outs(%q : memref<1x2x?x64xf32>) scale 1.0 schedule(<kernel = chunked_state, tile = [32, 64], registers = [4, 4], lanes = 16>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @linear_attention_of_columns(%q: memref<1x1x?x80xf32>) {
  // expected-error @below {{has a schedule of 64 columns, but values of 80}}
  attn.linear_attention ins(%q, %q, %q : memref<1x1x?x80xf32>, memref<1x1x?x80xf32>, memref<1x1x?x80xf32>) outs(%q : memref<1x1x?x80xf32>) scale 1.0 schedule(<kernel = chunked_state, tile = [32, 64], registers = [4, 4], lanes = 16>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @linear_attention_of_delta(%q: memref<1x1x?x64xf32>, %b: memref<1x1x?xf32>) {
  // expected-error @below {{has the schedule of chunked_state, which has no beta}}
  attn.linear_attention ins(%q, %q, %q : memref<1x1x?x64xf32>, memref<1x1x?x64xf32>, memref<1x1x?x64xf32>) outs(%q : memref<1x1x?x64xf32>) scale 1.0 beta(%b : memref<1x1x?xf32>) schedule(<kernel = chunked_state, tile = [32, 64], registers = [4, 4], lanes = 16>)
  return
}
}
