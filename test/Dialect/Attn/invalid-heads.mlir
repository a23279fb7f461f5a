// Constraints of split_heads, merge_heads and rope, one test a label.

// RUN: attn-opt %s -split-input-file -verify-diagnostics

// split_heads C1: num_heads divides the last extent
func.func @split_heads_c1(%x: tensor<?x?x384xf32>) {
  // expected-error @+2 {{num_heads 7 does not divide the last extent of input, 'tensor<?x?x384xf32>' (C1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.split_heads %x {num_heads = 7} : tensor<?x?x384xf32> -> tensor<?x7x?x54xf32>
  return
}

// -----

// split_heads C1: num_heads is positive
func.func @split_heads_c1_zero(%x: tensor<?x?x384xf32>) {
  // expected-error @+2 {{num_heads 0 does not divide the last extent of input, 'tensor<?x?x384xf32>' (C1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.split_heads %x {num_heads = 0} : tensor<?x?x384xf32> -> tensor<?x0x?x0xf32>
  return
}

// -----

// split_heads C1: the last extent is not 0
func.func @split_heads_c1_empty(%x: tensor<?x?x0xf32>) {
  // expected-error @+2 {{num_heads 1 does not divide the last extent of input, 'tensor<?x?x0xf32>' (C1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.split_heads %x {num_heads = 1} : tensor<?x?x0xf32> -> tensor<?x1x?x0xf32>
  return
}

// -----

// split_heads C1: more heads than features
func.func @split_heads_c1_huge(%x: tensor<?x?x384xf32>) {
  // expected-error @+2 {{num_heads 9223372036854775807 does not divide the last extent of input, 'tensor<?x?x384xf32>' (C1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.split_heads %x {num_heads = 9223372036854775807} : tensor<?x?x384xf32> -> tensor<?x?x?x?xf32>
  return
}

// -----

// split_heads C1: the last extent is static
func.func @split_heads_c1_dynamic(%x: tensor<?x?x?xf32>) {
  // expected-error @+2 {{num_heads 2 does not divide the last extent of input, 'tensor<?x?x?xf32>' (C1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.split_heads %x {num_heads = 2} : tensor<?x?x?xf32> -> tensor<?x2x?x?xf32>
  return
}

// -----

// split_heads C2: the result is [B, num_heads, S, last / num_heads]
func.func @split_heads_c2(%x: tensor<?x?x384xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<?x12x?x32xf32>' are incompatible with return type(s) of operation 'tensor<?x12x?x64xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.split_heads %x {num_heads = 12} : tensor<?x?x384xf32> -> tensor<?x12x?x64xf32>
  return
}

// -----

// merge_heads C1: the head count is static
func.func @merge_heads_c1(%x: tensor<?x?x?x32xf32>) {
  // expected-error @+2 {{head count and head dim must be static, got 'tensor<?x?x?x32xf32>' (C1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.merge_heads %x : tensor<?x?x?x32xf32> -> tensor<?x?x384xf32>
  return
}

// -----

// merge_heads C1: the product of the extents fits an extent
func.func @merge_heads_c1_huge(%x: tensor<?x4611686018427387904x?x4xf32>) {
  // expected-error @+2 {{head count times head dim is too large, got 'tensor<?x4611686018427387904x?x4xf32>' (C1)}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.merge_heads %x : tensor<?x4611686018427387904x?x4xf32> -> tensor<?x?x?xf32>
  return
}

// -----

// merge_heads C2: the result is [B, S, H*D]
func.func @merge_heads_c2(%x: tensor<?x12x?x32xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<?x?x384xf32>' are incompatible with return type(s) of operation 'tensor<?x?x383xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.merge_heads %x : tensor<?x12x?x32xf32> -> tensor<?x?x383xf32>
  return
}

// -----

// merge_heads: rank
func.func @merge_heads_rank(%x: tensor<f32>) {
  // expected-error @+1 {{operand #0 must be 4D tensor of floating-point values, but got 'tensor<f32>'}}
  %0 = attn.merge_heads %x : tensor<f32> -> tensor<?x?x383xf32>
  return
}

// -----

// split_heads: rank
func.func @split_heads_unranked(%x: tensor<*xf32>) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.tensor, but found 'tensor<*xf32>'}}
  %0 = attn.split_heads %x {num_heads = 1} : tensor<*xf32> -> tensor<?x?x?x?xf32>
  return
}

// -----

// rope C1: rotary_dim is even
func.func @rope_c1_odd(%x: tensor<?x8x?x64xf32>) {
  // expected-error @+1 {{rotary_dim must be even and in [2, 64], got 3 (C1)}}
  %0 = attn.rope %x half rotary_dim 3 : tensor<?x8x?x64xf32>
  return
}

// -----

// rope C1: rotary_dim is at least 2
func.func @rope_c1_zero(%x: tensor<?x8x?x64xf32>) {
  // expected-error @+1 {{rotary_dim must be even and in [2, 64], got 0 (C1)}}
  %0 = attn.rope %x half rotary_dim 0 : tensor<?x8x?x64xf32>
  return
}

// -----

// rope C1: rotary_dim is at most the head dim
func.func @rope_c1_large(%x: tensor<?x8x?x64xf32>) {
  // expected-error @+1 {{rotary_dim must be even and in [2, 64], got 66 (C1)}}
  %0 = attn.rope %x half rotary_dim 66 : tensor<?x8x?x64xf32>
  return
}

// -----

// rope C2: base is positive
func.func @rope_c2(%x: tensor<?x8x?x64xf32>) {
  // expected-error @+1 {{base must be positive and finite, got -1.000000e+00 (C2)}}
  %0 = attn.rope %x half rotary_dim 64 base -1.0 : tensor<?x8x?x64xf32>
  return
}

// -----

// rope C2: base is finite
func.func @rope_c2_infinite(%x: tensor<?x8x?x64xf32>) {
  // expected-error @+1 {{base must be positive and finite, got INF (C2)}}
  %0 = attn.rope %x half rotary_dim 64 base 0x7FF0000000000000 : tensor<?x8x?x64xf32>
  return
}

// -----

// rope C3: offset and position_ids exclude each other
func.func @rope_c3(%x: tensor<?x8x?x64xf32>, %past: index, %ids: tensor<?x?xi64>) {
  // expected-error @+1 {{offset and position_ids exclude each other (C3)}}
  %0 = attn.rope %x half rotary_dim 64 offset(%past) positions(%ids : tensor<?x?xi64>) : tensor<?x8x?x64xf32>
  return
}

// -----

// rope C4: cos without sin
func.func @rope_c4_alone(%x: tensor<?x8x?x64xf32>, %cos: tensor<?x32xf32>) {
  // expected-error @+1 {{cos and sin must be given together (C4)}}
  %0 = "attn.rope"(%x, %cos) <{layout = #attn<rope_layout half>, rotary_dim = 64 : i64, base = 1.0e4 : f64,
      operandSegmentSizes = array<i32: 1, 0, 0, 1, 0>}> : (tensor<?x8x?x64xf32>, tensor<?x32xf32>) -> tensor<?x8x?x64xf32>
  return
}

// -----

// rope C4: the tables have rotary_dim / 2 columns
func.func @rope_c4_columns(%x: tensor<?x8x?x64xf32>, %table: tensor<?x64xf32>) {
  // expected-error @+1 {{cos and sin must have 32 columns, got 64 (C4)}}
  %0 = attn.rope %x half rotary_dim 64 tables(%table, %table : tensor<?x64xf32>, tensor<?x64xf32>) : tensor<?x8x?x64xf32>
  return
}

// -----

// rope C4: sin alone has a known and wrong number of columns
func.func @rope_c4_sin_columns(%x: tensor<?x8x?x64xf32>, %cos: tensor<?x?xf32>, %sin: tensor<?x64xf32>) {
  // expected-error @+1 {{cos and sin must have 32 columns, got 64 (C4)}}
  %0 = attn.rope %x half rotary_dim 64 tables(%cos, %sin : tensor<?x?xf32>, tensor<?x64xf32>) : tensor<?x8x?x64xf32>
  return
}

// -----

// rope C4: the tables have equal shapes
func.func @rope_c4_rows(%x: tensor<?x8x?x64xf32>, %cos: tensor<10x32xf32>, %sin: tensor<11x32xf32>) {
  // expected-error @+1 {{position count of cos is 10 but position count of sin is 11 (C4)}}
  %0 = attn.rope %x half rotary_dim 64 tables(%cos, %sin : tensor<10x32xf32>, tensor<11x32xf32>) : tensor<?x8x?x64xf32>
  return
}

// -----

// rope C5: position_ids is [B, S]
func.func @rope_c5(%x: tensor<2x8x5x64xf32>, %ids: tensor<3x5xi64>) {
  // expected-error @+1 {{batch extent of position_ids is 3 but batch extent of input is 2 (C5)}}
  %0 = attn.rope %x half rotary_dim 64 positions(%ids : tensor<3x5xi64>) : tensor<2x8x5x64xf32>
  return
}

// -----

// rope C5: position_ids is [B, S]
func.func @rope_c5_length(%x: tensor<2x8x5x64xf32>, %ids: tensor<2x4xi64>) {
  // expected-error @+1 {{sequence length of position_ids is 4 but sequence length of input is 5 (C5)}}
  %0 = attn.rope %x half rotary_dim 64 positions(%ids : tensor<2x4xi64>) : tensor<2x8x5x64xf32>
  return
}

// -----

// rope C6: the head dim is static
func.func @rope_c6(%x: tensor<?x8x?x?xf32>) {
  // expected-error @+1 {{head dim of input must be static and positive, got 'tensor<?x8x?x?xf32>' (C6)}}
  %0 = attn.rope %x half rotary_dim 64 : tensor<?x8x?x?xf32>
  return
}
