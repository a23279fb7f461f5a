// Constraints of attn.linear_attention, one test a label.

// RUN: attn-opt %s -split-input-file -verify-diagnostics

// linear_attention C1: rank 4
func.func @c1(%q: tensor<4x?x16xf32>, %k: tensor<1x2x?x16xf32>, %o: tensor<1x4x?x16xf32>) {
  // expected-error @+1 {{query must be a tensor or memref of rank 4, got 'tensor<4x?x16xf32>' (C1)}}
  %0 = attn.linear_attention ins(%q, %k, %k : tensor<4x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%o : tensor<1x4x?x16xf32>) scale 1.0 -> tensor<1x4x?x16xf32>
  return
}

// -----

// linear_attention C1: equal element types, or all below f64
func.func @c1_type(%q: tensor<1x2x?x16xf32>, %k: tensor<1x2x?x16xf64>, %o: tensor<1x2x?x16xf32>) {
  // expected-error @+1 {{element type of query is 'f32' but of key is 'f64' (C1)}}
  %0 = attn.linear_attention ins(%q, %k, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf64>, tensor<1x2x?x16xf32>) outs(%o : tensor<1x2x?x16xf32>) scale 1.0 -> tensor<1x2x?x16xf32>
  return
}

// -----

// linear_attention C2: static head dims
func.func @c2(%q: tensor<1x2x?x?xf32>) {
  // expected-error @+1 {{head dim of query must be static and positive, got 'tensor<1x2x?x?xf32>' (C2)}}
  %0 = attn.linear_attention ins(%q, %q, %q : tensor<1x2x?x?xf32>, tensor<1x2x?x?xf32>, tensor<1x2x?x?xf32>) outs(%q : tensor<1x2x?x?xf32>) scale 1.0 -> tensor<1x2x?x?xf32>
  return
}

// -----

// linear_attention C2: values on tensors too
func.func @c2_value(%q: tensor<1x2x?x16xf32>, %v: tensor<1x2x?x?xf32>) {
  // expected-error @+1 {{head dim of value must be static and positive, got 'tensor<1x2x?x?xf32>' (C2)}}
  %0 = attn.linear_attention ins(%q, %q, %v : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x?xf32>) outs(%v : tensor<1x2x?x?xf32>) scale 1.0 -> tensor<1x2x?x?xf32>
  return
}

// -----

// linear_attention C2: equal head dims
func.func @c2_equal(%q: tensor<1x2x?x16xf32>, %k: tensor<1x2x?x8xf32>) {
  // expected-error @+1 {{head dim of query is 16 but head dim of key is 8 (C2)}}
  %0 = attn.linear_attention ins(%q, %k, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x16xf32>) outs(%q : tensor<1x2x?x16xf32>) scale 1.0 -> tensor<1x2x?x16xf32>
  return
}

// -----

// linear_attention C3: equal batch extents
func.func @c3(%q: tensor<1x2x?x16xf32>, %k: tensor<3x2x?x16xf32>) {
  // expected-error @+1 {{batch extent of query is 1 but batch extent of key is 3 (C3)}}
  %0 = attn.linear_attention ins(%q, %k, %k : tensor<1x2x?x16xf32>, tensor<3x2x?x16xf32>, tensor<3x2x?x16xf32>) outs(%q : tensor<1x2x?x16xf32>) scale 1.0 -> tensor<1x2x?x16xf32>
  return
}

// -----

// linear_attention C4: static head counts
func.func @c4(%q: tensor<1x?x?x16xf32>, %k: tensor<1x2x?x16xf32>) {
  // expected-error @+1 {{head count of query must be static and positive, got 'tensor<1x?x?x16xf32>' (C4)}}
  %0 = attn.linear_attention ins(%q, %k, %k : tensor<1x?x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%q : tensor<1x?x?x16xf32>) scale 1.0 -> tensor<1x?x?x16xf32>
  return
}

// -----

// linear_attention C4: positive head counts
func.func @c4_positive(%q: tensor<1x2x?x16xf32>, %k: tensor<1x0x?x16xf32>) {
  // expected-error @+1 {{head count of key must be static and positive, got 'tensor<1x0x?x16xf32>' (C4)}}
  %0 = attn.linear_attention ins(%q, %k, %k : tensor<1x2x?x16xf32>, tensor<1x0x?x16xf32>, tensor<1x0x?x16xf32>) outs(%q : tensor<1x2x?x16xf32>) scale 1.0 -> tensor<1x2x?x16xf32>
  return
}

// -----

// linear_attention C4: groups of heads
func.func @c4_group(%q: tensor<1x3x?x16xf32>, %k: tensor<1x2x?x16xf32>) {
  // expected-error @+1 {{head count of query is 3, not a multiple of head count of key, 2 (C4)}}
  %0 = attn.linear_attention ins(%q, %k, %k : tensor<1x3x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%q : tensor<1x3x?x16xf32>) scale 1.0 -> tensor<1x3x?x16xf32>
  return
}

// -----

// linear_attention C5: equal lengths
func.func @c5(%q: tensor<1x2x7x16xf32>, %k: tensor<1x2x8x16xf32>) {
  // expected-error @+1 {{sequence length of query is 7 but sequence length of value is 8 (C5)}}
  %0 = attn.linear_attention ins(%q, %q, %k : tensor<1x2x7x16xf32>, tensor<1x2x7x16xf32>, tensor<1x2x8x16xf32>) outs(%q : tensor<1x2x7x16xf32>) scale 1.0 -> tensor<1x2x7x16xf32>
  return
}

// -----

// linear_attention C6: a decay of rank 3 or 4
func.func @c6(%q: tensor<1x2x?x16xf32>, %g: tensor<1x2xf32>) {
  // expected-error @+1 {{decay must be a tensor or memref of rank 3, got 'tensor<1x2xf32>' (C6)}}
  %0 = attn.linear_attention ins(%q, %q, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%q : tensor<1x2x?x16xf32>) scale 1.0 decay(%g : tensor<1x2xf32>) -> tensor<1x2x?x16xf32>
  return
}

// -----

// linear_attention C6: a decay for each row of the state
func.func @c6_rows(%q: tensor<1x2x?x16xf32>, %g: tensor<1x2x?x1xf32>) {
  // expected-error @+1 {{head dim of decay is 1 but head dim of key is 16 (C6)}}
  %0 = attn.linear_attention ins(%q, %q, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%q : tensor<1x2x?x16xf32>) scale 1.0 decay(%g : tensor<1x2x?x1xf32>) -> tensor<1x2x?x16xf32>
  return
}

// -----

// linear_attention C7: a beta for each key head
func.func @c7(%q: tensor<1x4x?x16xf32>, %k: tensor<1x2x?x16xf32>, %b: tensor<1x4x?xf32>) {
  // expected-error @+1 {{head count of beta is 4 but head count of key is 2 (C7)}}
  %0 = attn.linear_attention ins(%q, %k, %k : tensor<1x4x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%q : tensor<1x4x?x16xf32>) scale 1.0 beta(%b : tensor<1x4x?xf32>) -> tensor<1x4x?x16xf32>
  return
}

// -----

// linear_attention C8: the extents of a state
func.func @c8(%q: tensor<1x2x?x16xf32>, %s: tensor<1x2x8x16xf32>) {
  // expected-error @+1 {{head dim of initial is 8 but head dim of key is 16 (C8)}}
  %0 = attn.linear_attention ins(%q, %q, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%q : tensor<1x2x?x16xf32>) scale 1.0 initial(%s : tensor<1x2x8x16xf32>) -> tensor<1x2x?x16xf32>
  return
}

// -----

// linear_attention C9: one or two outputs
func.func @c9(%q: tensor<1x2x?x16xf32>) {
  // expected-error @+1 {{must have one or two outputs, got 3 (C9)}}
  %0:3 = attn.linear_attention ins(%q, %q, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%q, %q, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) scale 1.0 -> tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>
  return
}

// -----

// linear_attention C9: the element type of values
func.func @c9_type(%q: tensor<1x2x?x16xf32>, %o: tensor<1x2x?x16xf16>) {
  // expected-error @+1 {{element type of output is 'f16' but of value is 'f32' (C9)}}
  %0 = attn.linear_attention ins(%q, %q, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%o : tensor<1x2x?x16xf16>) scale 1.0 -> tensor<1x2x?x16xf16>
  return
}

// -----

// linear_attention C9: the extents of the final state
func.func @c9_state(%q: tensor<1x4x?x16xf32>, %k: tensor<1x2x?x16xf32>, %s: tensor<1x4x16x16xf32>) {
  // expected-error @+1 {{head count of final state is 4 but head count of key is 2 (C9)}}
  %0:2 = attn.linear_attention ins(%q, %k, %k : tensor<1x4x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%q, %s : tensor<1x4x?x16xf32>, tensor<1x4x16x16xf32>) scale 1.0 -> tensor<1x4x?x16xf32>, tensor<1x4x16x16xf32>
  return
}

// -----

// linear_attention C10: a finite scale
func.func @c10(%q: tensor<1x2x?x16xf32>) {
  // expected-error @+1 {{scale must be finite in 'f32', got}}
  %0 = attn.linear_attention ins(%q, %q, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%q : tensor<1x2x?x16xf32>) scale 1.0e39 -> tensor<1x2x?x16xf32>
  return
}

// -----

// linear_attention C11: all tensors or all memrefs
func.func @c11(%q: tensor<1x2x?x16xf32>, %o: memref<1x2x?x16xf32>) {
  // expected-error @+1 {{operands must be all tensors or all memrefs (C11)}}
  attn.linear_attention ins(%q, %q, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%o : memref<1x2x?x16xf32>) scale 1.0
  return
}

// -----

// linear_attention C11: results are the outputs
func.func @c11_results(%q: tensor<1x2x?x16xf32>) {
  // expected-error @+1 {{result types must be those of the outputs (C11)}}
  attn.linear_attention ins(%q, %q, %q : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) outs(%q : tensor<1x2x?x16xf32>) scale 1.0
  return
}
