// A schedule written by hand that does not fit its op or the target is an error,
// before anything is tiled by it.

// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(attn-set-target{cpu=znver4},func.func(attn-select-schedule))'

func.func @wrong_kernel(%q: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  // expected-error @below {{has the schedule of gemm, expected one of attention}}
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x?x64xf32>) scale 1.0 schedule(<kernel = gemm, tile = [64, 64], registers = [4, 4], lanes = 16>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

func.func @unknown_rows(%q: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  // expected-error @below {{has the schedule of features_in_lanes for 4 rows, but a group of heads has an unknown number}}
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x?x64xf32>) scale 1.0 schedule(<kernel = features_in_lanes, tile = [4, 64], registers = [4, 4], lanes = 16, split = 2048>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

func.func @many_rows(%q: tensor<?x8x1x64xf32>, %k: tensor<?x1x?x64xf32>) -> tensor<?x8x1x64xf32> {
  // expected-error @below {{has the schedule of features_in_lanes for 4 rows, but a group of heads has 8}}
  %o = attn.attention ins(%q, %k, %k : tensor<?x8x1x64xf32>, tensor<?x1x?x64xf32>, tensor<?x1x?x64xf32>) outs(%q : tensor<?x8x1x64xf32>) scale 1.0 schedule(<kernel = features_in_lanes, tile = [4, 64], registers = [4, 4], lanes = 16>) -> tensor<?x8x1x64xf32>
  return %o : tensor<?x8x1x64xf32>
}

// -----

func.func @pairs_of_f32(%q: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  // expected-error @below {{has the schedule of bf16_vectors, which takes bf16, but operands of 'f32', 'f32' and 'f32'}}
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x?x64xf32>) scale 1.0 schedule(<kernel = bf16_vectors, tile = [32, 64], registers = [8, 2], lanes = 16>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

func.func @no_tiles(%q: tensor<?x8x?x64xbf16>) -> tensor<?x8x?x64xbf16> {
  // expected-error @below {{has the schedule of bf16_tiles, but the bf16 unit of znver4 is 'vectors'}}
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) outs(%q : tensor<?x8x?x64xbf16>) scale 1.0 schedule(<kernel = bf16_tiles, tile = [32, 64], registers = [2, 2], lanes = 16>) -> tensor<?x8x?x64xbf16>
  return %o : tensor<?x8x?x64xbf16>
}

// -----

func.func @other_lanes(%q: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  // expected-error @below {{has a schedule of 8 lanes, but vectors of avx512 have 16}}
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x?x64xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 8>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

func.func @product_other_lanes(%a: tensor<32x32xf32>) -> tensor<32x32xf32> {
  // expected-error @below {{has a schedule of 8 lanes, but vectors of avx512 have 16}}
  %d = linalg.matmul {attn.schedule = #attn.schedule<kernel = gemm, tile = [64, 64], registers = [4, 4], lanes = 8>} ins(%a, %a : tensor<32x32xf32>, tensor<32x32xf32>) outs(%a : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %d : tensor<32x32xf32>
}

// -----

func.func @split(%q: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  // expected-error @below {{schedule has a split of 2048 keys, expected none for queries_in_lanes}}
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x?x64xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16, split = 2048>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

func.func @additive(%q: tensor<?x8x?x64xbf16>, %w: tensor<64xf32>) -> tensor<?x8x?x64xbf16> {
  // expected-error @below {{has the schedule of bf16_vectors, which has no additive scores}}
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) outs(%q : tensor<?x8x?x64xbf16>) scale 1.0 additive(%w : tensor<64xf32>) schedule(<kernel = bf16_vectors, tile = [32, 2048], registers = [8, 2], lanes = 16>) -> tensor<?x8x?x64xbf16>
  return %o : tensor<?x8x?x64xbf16>
}

// -----

func.func @statistics(%q: tensor<?x8x?x64xbf16>, %r: tensor<?x8x?xf32>) -> tensor<?x8x?xf32> {
  // expected-error @below {{has the schedule of bf16_vectors, expected queries_in_lanes}}
  %m = attn.attention_stats ins(%q, %q : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) scale 1.0 row_max(%r : tensor<?x8x?xf32>) schedule(<kernel = bf16_vectors, tile = [32, 2048], registers = [8, 2], lanes = 16>) -> tensor<?x8x?xf32>
  return %m : tensor<?x8x?xf32>
}

// -----

func.func @state_of_attention(%q: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  // expected-error @below {{has the schedule of chunked_state, expected one of attention}}
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x?x64xf32>) scale 1.0 schedule(<kernel = chunked_state, tile = [32, 64], registers = [4, 4], lanes = 16>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

func.func @keys_of_states(%q: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  // expected-error @below {{has the schedule of queries_in_lanes, expected one of linear attention}}
  %o = attn.linear_attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x?x64xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

func.func @chunks_of_delta(%q: tensor<?x8x?x64xf32>, %b: tensor<?x8x?xf32>) -> tensor<?x8x?x64xf32> {
  // expected-error @below {{has the schedule of chunked_state, which has no beta}}
  %o = attn.linear_attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x?x64xf32>) scale 1.0 beta(%b : tensor<?x8x?xf32>) schedule(<kernel = chunked_state, tile = [32, 64], registers = [4, 4], lanes = 16>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

func.func @chunks_of_rows(%q: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  // expected-error @below {{has the schedule of chunked_state, which has no decay of each row}}
  %o = attn.linear_attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x?x64xf32>) scale 1.0 decay(%q : tensor<?x8x?x64xf32>) schedule(<kernel = chunked_state, tile = [32, 64], registers = [4, 4], lanes = 16>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}
