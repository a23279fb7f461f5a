// Each target gets tiles of its registers and lanes.

// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=x86-64-v4},func.func(attn-select-schedule))' | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=x86-64-v3},func.func(attn-select-schedule))' | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=x86-64},func.func(attn-select-schedule))' | FileCheck %s --check-prefixes=CHECK,PORTABLE
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=x86-64-v4 disable-feature=avx512f},func.func(attn-select-schedule))' | FileCheck %s --check-prefixes=CHECK,AVX2-ISA

// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=sapphirerapids},func.func(attn-select-schedule))' | FileCheck %s --check-prefix=TILES
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=sapphirerapids disable-feature=amx},func.func(attn-select-schedule))' | FileCheck %s --check-prefix=VECTORS
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=znver4},func.func(attn-select-schedule))' | FileCheck %s --check-prefix=VECTORS

// TILES: attn.target = #attn.target<{{.*}}, bf16 = tiles>
// VECTORS: attn.target = #attn.target<{{.*}}, bf16 = vectors>
// The weights of a block take up to half of L1, which is 32 KiB here.

// AVX512: attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512
// AVX2: attn.target = #attn.target<cpu = "x86-64-v3", isa = avx2
// PORTABLE: attn.target = #attn.target<cpu = "x86-64", isa = portable
// AVX2-ISA: attn.target = #attn.target<cpu = "x86-64-v4", isa = avx2

// CHECK-LABEL: func.func @attention
// 2048 keys and values of 64 fill an L2 of 1 MiB: twice the rows.
// AVX512: attn.attention {{.*}} schedule(<kernel = queries_in_lanes, tile = [128, 60], registers = [6, 4], lanes = 16>)
// AVX2: attn.attention {{.*}} schedule(<kernel = queries_in_lanes, tile = [128, 96], registers = [6, 2], lanes = 8>)
// AVX2-ISA: attn.attention {{.*}} schedule(<kernel = queries_in_lanes, tile = [128, 96], registers = [6, 2], lanes = 8>)
// PORTABLE: attn.attention {{.*}} schedule(<kernel = queries_in_lanes, tile = [128, 96], registers = [6, 2], lanes = 4>)
func.func @attention(%q: tensor<?x8x?x64xf32>, %init: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%init : tensor<?x8x?x64xf32>) scale 1.0 -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// 2048 shorter keys are in L2, and more rows would not spare anything.
// CHECK-LABEL: func.func @short_rows
// AVX512: tile = [64, 60]
// AVX2: tile = [64, 96]
func.func @short_rows(%q: tensor<?x8x?x32xf32>, %init: tensor<?x8x?x32xf32>) -> tensor<?x8x?x32xf32> {
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x32xf32>, tensor<?x8x?x32xf32>, tensor<?x8x?x32xf32>) outs(%init : tensor<?x8x?x32xf32>) scale 1.0 -> tensor<?x8x?x32xf32>
  return %o : tensor<?x8x?x32xf32>
}

// 128 queries and outputs of these would take more than half of L2.
// CHECK-LABEL: func.func @long_rows
// AVX512: tile = [64, 30]
func.func @long_rows(%q: tensor<?x8x?x576xf32>, %v: tensor<?x8x?x512xf32>, %init: tensor<?x8x?x512xf32>) -> tensor<?x8x?x512xf32> {
  %o = attn.attention ins(%q, %q, %v : tensor<?x8x?x576xf32>, tensor<?x8x?x576xf32>, tensor<?x8x?x512xf32>) outs(%init : tensor<?x8x?x512xf32>) scale 1.0 -> tensor<?x8x?x512xf32>
  return %o : tensor<?x8x?x512xf32>
}

// The few rows of a decoding step: all heads of a group, with features in lanes.
// A block of keys is a third of L1: 32 KiB / 3 / (64 * 4 bytes) in whole vectors.
// CHECK-LABEL: func.func @decode
// AVX512: attn.attention {{.*}} schedule(<kernel = features_in_lanes, tile = [4, 32], registers = [4, 4], lanes = 16, split = 2048>)
// AVX2: attn.attention {{.*}} schedule(<kernel = features_in_lanes, tile = [4, 40], registers = [6, 2], lanes = 8, split = 2048>)
// PORTABLE: attn.attention {{.*}} schedule(<kernel = features_in_lanes, tile = [4, 40], registers = [6, 2], lanes = 4, split = 2048>)
func.func @decode(%q: tensor<?x6x1x64xf32>, %k: tensor<?x2x?x64xf32>, %init: tensor<?x6x1x64xf32>) -> tensor<?x6x1x64xf32> {
  %o = attn.attention ins(%q, %k, %k : tensor<?x6x1x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) outs(%init : tensor<?x6x1x64xf32>) scale 1.0 -> tensor<?x6x1x64xf32>
  return %o : tensor<?x6x1x64xf32>
}

// The longer row of keys and values counts, in bytes.
// CHECK-LABEL: func.func @decode_narrow
// AVX512: attn.attention {{.*}} schedule(<kernel = features_in_lanes, tile = [4, 80], registers = [4, 4], lanes = 16, split = 2048>)
func.func @decode_narrow(%q: tensor<?x6x1x32xbf16>, %k: tensor<?x2x?x32xbf16>, %v: tensor<?x2x?x64xbf16>, %init: tensor<?x6x1x64xbf16>) -> tensor<?x6x1x64xbf16> {
  %o = attn.attention ins(%q, %k, %v : tensor<?x6x1x32xbf16>, tensor<?x2x?x32xbf16>, tensor<?x2x?x64xbf16>) outs(%init : tensor<?x6x1x64xbf16>) scale 1.0 -> tensor<?x6x1x64xbf16>
  return %o : tensor<?x6x1x64xbf16>
}

// All of q, k and v in bf16: products of pairs, where the target has them.
// CHECK-LABEL: func.func @bf16
// AVX512: kernel = queries_in_lanes
// TILES-LABEL: func.func @bf16
// TILES: attn.attention {{.*}} schedule(<kernel = bf16_tiles, tile = [32, 2048], registers = [2, 2], lanes = 16>)
// VECTORS-LABEL: func.func @bf16
// VECTORS: attn.attention {{.*}} schedule(<kernel = bf16_vectors, tile = [32, 2048], registers = [8, 2], lanes = 16>)
func.func @bf16(%q: tensor<?x8x?x64xbf16>, %init: tensor<?x8x?x64xbf16>) -> tensor<?x8x?x64xbf16> {
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) outs(%init : tensor<?x8x?x64xbf16>) scale 1.0 -> tensor<?x8x?x64xbf16>
  return %o : tensor<?x8x?x64xbf16>
}

// f64: half of the lanes, and twice the bytes of a row.
// CHECK-LABEL: func.func @double
// AVX512: attn.attention {{.*}} schedule(<kernel = queries_in_lanes, tile = [128, 60], registers = [6, 4], lanes = 8>)
// AVX2: attn.attention {{.*}} schedule(<kernel = queries_in_lanes, tile = [128, 96], registers = [6, 2], lanes = 4>)
// PORTABLE: attn.attention {{.*}} schedule(<kernel = queries_in_lanes, tile = [128, 96], registers = [6, 2], lanes = 2>)
func.func @double(%q: tensor<?x8x?x64xf64>, %init: tensor<?x8x?x64xf64>) -> tensor<?x8x?x64xf64> {
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf64>, tensor<?x8x?x64xf64>, tensor<?x8x?x64xf64>) outs(%init : tensor<?x8x?x64xf64>) scale 1.0 -> tensor<?x8x?x64xf64>
  return %o : tensor<?x8x?x64xf64>
}

// Three heads of one row are more than two lanes.
// CHECK-LABEL: func.func @decode_double
// AVX512: attn.attention {{.*}} schedule(<kernel = features_in_lanes, tile = [4, 16], registers = [4, 4], lanes = 8, split = 2048>)
// AVX2: attn.attention {{.*}} schedule(<kernel = features_in_lanes, tile = [4, 20], registers = [6, 2], lanes = 4, split = 2048>)
// PORTABLE: kernel = queries_in_lanes
func.func @decode_double(%q: tensor<?x6x1x64xf64>, %k: tensor<?x2x?x64xf64>, %init: tensor<?x6x1x64xf64>) -> tensor<?x6x1x64xf64> {
  %o = attn.attention ins(%q, %k, %k : tensor<?x6x1x64xf64>, tensor<?x2x?x64xf64>, tensor<?x2x?x64xf64>) outs(%init : tensor<?x6x1x64xf64>) scale 1.0 -> tensor<?x6x1x64xf64>
  return %o : tensor<?x6x1x64xf64>
}

// One that is wider is widened with all others.
// CHECK-LABEL: func.func @mixed
// TILES-LABEL: func.func @mixed
// TILES: kernel = queries_in_lanes
// VECTORS-LABEL: func.func @mixed
// VECTORS: kernel = queries_in_lanes
func.func @mixed(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xbf16>, %init: tensor<?x8x?x64xbf16>) -> tensor<?x8x?x64xbf16> {
  %o = attn.attention ins(%q, %k, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) outs(%init : tensor<?x8x?x64xbf16>) scale 1.0 -> tensor<?x8x?x64xbf16>
  return %o : tensor<?x8x?x64xbf16>
}

// Rows that are too many, or whose number is not known, are tiles of rows.
// CHECK-LABEL: func.func @too_many_rows
// CHECK: kernel = queries_in_lanes
func.func @too_many_rows(%q: tensor<?x6x3x64xf32>, %k: tensor<?x2x?x64xf32>, %init: tensor<?x6x3x64xf32>) -> tensor<?x6x3x64xf32> {
  %o = attn.attention ins(%q, %k, %k : tensor<?x6x3x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>) outs(%init : tensor<?x6x3x64xf32>) scale 1.0 -> tensor<?x6x3x64xf32>
  return %o : tensor<?x6x3x64xf32>
}

// CHECK-LABEL: func.func @matrix_product
// AVX512: linalg.matmul {attn.schedule = #attn.schedule<kernel = gemm, tile = [64, 64], registers = [4, 4], lanes = 16>}
// AVX2: linalg.matmul {attn.schedule = #attn.schedule<kernel = gemm, tile = [96, 64], registers = [6, 2], lanes = 8>}
// PORTABLE: linalg.matmul {attn.schedule = #attn.schedule<kernel = gemm, tile = [96, 64], registers = [6, 2], lanes = 4>}
func.func @matrix_product(%a: tensor<?x32xf32>, %b: tensor<32x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %d = linalg.matmul ins(%a, %b : tensor<?x32xf32>, tensor<32x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %d : tensor<?x?xf32>
}

// Statistics of weights have one kernel, for bf16 and a few rows too.
// CHECK-LABEL: func.func @statistics
// AVX512: attn.attention_stats {{.*}} schedule(<kernel = queries_in_lanes, tile = [64, 60], registers = [6, 4], lanes = 16>)
// AVX2: attn.attention_stats {{.*}} schedule(<kernel = queries_in_lanes, tile = [64, 96], registers = [6, 2], lanes = 8>)
// TILES: attn.attention_stats {{.*}} schedule(<kernel = queries_in_lanes,
// VECTORS: attn.attention_stats {{.*}} schedule(<kernel = queries_in_lanes,
func.func @statistics(%q: tensor<?x8x1x64xbf16>, %r: tensor<?x8x1xf32>) -> tensor<?x8x1xf32> {
  %m = attn.attention_stats ins(%q, %q : tensor<?x8x1x64xbf16>, tensor<?x8x1x64xbf16>) scale 1.0 row_max(%r : tensor<?x8x1xf32>) -> tensor<?x8x1xf32>
  return %m : tensor<?x8x1xf32>
}

// Linear attention: products of chunks where the state has one decay a token and
// tokens are not known to be few, else token by token.
// CHECK-LABEL: func.func @linear_attention
// AVX512: attn.linear_attention {{.*}} decay({{.*}} : tensor<?x8x?xf32>) schedule(<kernel = chunked_state, tile = [32, 64], registers = [4, 4], lanes = 16>)
// AVX2: attn.linear_attention {{.*}} decay({{.*}} : tensor<?x8x?xf32>) schedule(<kernel = chunked_state, tile = [32, 64], registers = [4, 2], lanes = 8>)
// PORTABLE: attn.linear_attention {{.*}} decay({{.*}} : tensor<?x8x?xf32>) schedule(<kernel = chunked_state, tile = [32, 64], registers = [4, 2], lanes = 4>)
// AVX512: attn.linear_attention {{.*}} decay({{.*}} : tensor<?x8x?x64xf32>) schedule(<kernel = recurrent_state, tile = [16, 64]
// AVX512: attn.linear_attention {{.*}} beta({{.*}}) schedule(<kernel = recurrent_state, tile = [16, 64]
func.func @linear_attention(%q: tensor<?x8x?x64xf32>, %g: tensor<?x8x?xf32>, %r: tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) {
  %0 = attn.linear_attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x?x64xf32>) scale 1.0 decay(%g : tensor<?x8x?xf32>) -> tensor<?x8x?x64xf32>
  %1 = attn.linear_attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x?x64xf32>) scale 1.0 decay(%r : tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  %2 = attn.linear_attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x?x64xf32>) scale 1.0 beta(%g : tensor<?x8x?xf32>) -> tensor<?x8x?x64xf32>
  return %0, %1, %2 : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>
}

// A decoding step; columns of a large state.
// CHECK-LABEL: func.func @linear_attention_step
// AVX512: attn.linear_attention {{.*}} schedule(<kernel = recurrent_state, tile = [1, 512], registers = [4, 4], lanes = 16>)
func.func @linear_attention_step(%q: tensor<?x8x1x128xf32>, %v: tensor<?x8x1x1024xf32>) -> tensor<?x8x1x1024xf32> {
  %0 = attn.linear_attention ins(%q, %q, %v : tensor<?x8x1x128xf32>, tensor<?x8x1x128xf32>, tensor<?x8x1x1024xf32>) outs(%v : tensor<?x8x1x1024xf32>) scale 1.0 -> tensor<?x8x1x1024xf32>
  return %0 : tensor<?x8x1x1024xf32>
}
