// Constraints of attn.attention, one test a label.

// RUN: attn-opt %s -split-input-file -verify-diagnostics

// attention C1: rank 4
func.func @c1_rank(%q: tensor<2x4x64xf32>, %k: tensor<1x2x4x64xf32>, %o: tensor<1x2x4x64xf32>) {
  // expected-error @+1 {{query must be a tensor or memref of rank 4, got 'tensor<2x4x64xf32>' (C1)}}
  %0 = attn.attention ins(%q, %k, %k : tensor<2x4x64xf32>, tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>)
      outs(%o : tensor<1x2x4x64xf32>) scale 1.0 -> tensor<1x2x4x64xf32>
  return
}

// -----

// attention C1: rank 0
func.func @c1_rank_0(%q: tensor<f32>, %k: tensor<1x2x4x64xf32>, %o: tensor<1x2x4x64xf32>) {
  // expected-error @+1 {{query must be a tensor or memref of rank 4, got 'tensor<f32>' (C1)}}
  %0 = attn.attention ins(%q, %k, %k : tensor<f32>, tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>)
      outs(%o : tensor<1x2x4x64xf32>) scale 1.0 -> tensor<1x2x4x64xf32>
  return
}

// -----

// attention C1: no unranked tensors
func.func @c1_unranked(%q: tensor<1x2x4x64xf32>, %k: tensor<*xf32>, %o: tensor<1x2x4x64xf32>) {
  // expected-error @+1 {{key must be a tensor or memref of rank 4, got 'tensor<*xf32>' (C1)}}
  %0 = attn.attention ins(%q, %k, %k : tensor<1x2x4x64xf32>, tensor<*xf32>, tensor<*xf32>)
      outs(%o : tensor<1x2x4x64xf32>) scale 1.0 -> tensor<1x2x4x64xf32>
  return
}

// -----

// attention C1: no vectors
func.func @c1_vector(%q: tensor<1x2x4x64xf32>, %v: vector<1x2x4x64xf32>, %o: tensor<1x2x4x64xf32>) {
  // expected-error @+1 {{value must be a tensor or memref of rank 4, got 'vector<1x2x4x64xf32>' (C1)}}
  %0 = attn.attention ins(%q, %q, %v : tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>, vector<1x2x4x64xf32>)
      outs(%o : tensor<1x2x4x64xf32>) scale 1.0 -> tensor<1x2x4x64xf32>
  return
}

// -----

// attention C1: float element types
func.func @c1_type(%q: tensor<1x2x4x64xi8>, %k: tensor<1x2x4x64xf32>, %o: tensor<1x2x4x64xf32>) {
  // expected-error @+1 {{query must have a float element type, got 'i8' (C1)}}
  %0 = attn.attention ins(%q, %k, %k : tensor<1x2x4x64xi8>, tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>)
      outs(%o : tensor<1x2x4x64xf32>) scale 1.0 -> tensor<1x2x4x64xf32>
  return
}

// -----

// attention C2: head dims are static
func.func @c2_dynamic(%q: tensor<1x2x4x?xf32>, %k: tensor<1x2x4x64xf32>, %o: tensor<1x2x4x64xf32>) {
  // expected-error @+1 {{head dim of query must be static and positive, got 'tensor<1x2x4x?xf32>' (C2)}}
  %0 = attn.attention ins(%q, %k, %k : tensor<1x2x4x?xf32>, tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>)
      outs(%o : tensor<1x2x4x64xf32>) scale 1.0 -> tensor<1x2x4x64xf32>
  return
}

// -----

// attention C2: head dims of query and key are equal
func.func @c2(%q: tensor<1x2x4x32xf32>, %k: tensor<1x2x4x64xf32>, %o: tensor<1x2x4x64xf32>) {
  // expected-error @+1 {{head dim of query is 32 but head dim of key is 64 (C2)}}
  %0 = attn.attention ins(%q, %k, %k : tensor<1x2x4x32xf32>, tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>)
      outs(%o : tensor<1x2x4x64xf32>) scale 1.0 -> tensor<1x2x4x64xf32>
  return
}

// -----

// attention C3: batch extents are equal
func.func @c3(%q: tensor<2x2x4x64xf32>, %k: tensor<1x2x4x64xf32>, %o: tensor<2x2x4x64xf32>) {
  // expected-error @+1 {{batch extent of query is 2 but batch extent of key is 1 (C3)}}
  %0 = attn.attention ins(%q, %k, %k : tensor<2x2x4x64xf32>, tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>)
      outs(%o : tensor<2x2x4x64xf32>) scale 1.0 -> tensor<2x2x4x64xf32>
  return
}

// -----

// attention C4: the key head count equals the value head count
func.func @c4_value(%q: tensor<1x4x4x64xf32>, %k: tensor<1x2x4x64xf32>, %v: tensor<1x4x4x64xf32>) {
  // expected-error @+1 {{head count of key is 2 but head count of value is 4 (C4)}}
  %0 = attn.attention ins(%q, %k, %v : tensor<1x4x4x64xf32>, tensor<1x2x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%q : tensor<1x4x4x64xf32>) scale 1.0 -> tensor<1x4x4x64xf32>
  return
}

// -----

// attention C4: the key head count divides the query head count
func.func @c4(%q: tensor<1x4x4x64xf32>, %k: tensor<1x3x4x64xf32>) {
  // expected-error @+1 {{head count of query is 4, not a multiple of head count of key, 3 (C4)}}
  %0 = attn.attention ins(%q, %k, %k : tensor<1x4x4x64xf32>, tensor<1x3x4x64xf32>, tensor<1x3x4x64xf32>)
      outs(%q : tensor<1x4x4x64xf32>) scale 1.0 -> tensor<1x4x4x64xf32>
  return
}

// -----

// attention C4: the key head count is positive
func.func @c4_zero(%q: tensor<1x4x4x64xf32>, %k: tensor<1x0x4x64xf32>) {
  // expected-error @+1 {{head count of query is 4, not a multiple of head count of key, 0 (C4)}}
  %0 = attn.attention ins(%q, %k, %k : tensor<1x4x4x64xf32>, tensor<1x0x4x64xf32>, tensor<1x0x4x64xf32>)
      outs(%q : tensor<1x4x4x64xf32>) scale 1.0 -> tensor<1x4x4x64xf32>
  return
}

// -----

// attention C5: key and value lengths are equal
func.func @c5(%q: tensor<1x4x4x64xf32>, %k: tensor<1x4x5x64xf32>, %v: tensor<1x4x6x64xf32>) {
  // expected-error @+1 {{sequence length of key is 5 but sequence length of value is 6 (C5)}}
  %0 = attn.attention ins(%q, %k, %v : tensor<1x4x4x64xf32>, tensor<1x4x5x64xf32>, tensor<1x4x6x64xf32>)
      outs(%q : tensor<1x4x4x64xf32>) scale 1.0 -> tensor<1x4x4x64xf32>
  return
}

// -----

// attention C6: no more than three outputs
func.func @c6_count(%q: tensor<1x4x4x64xf32>) {
  // expected-error @+1 {{must have one to three outputs, got 4 (C6)}}
  %0:4 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%q, %q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>) scale 1.0
      -> tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>
  return
}

// -----

// attention C6: rank of the remainder
func.func @c6_remainder_rank(%q: tensor<1x4x4x64xf32>, %l: tensor<1x4x4xf32>) {
  // expected-error @+1 {{remainder must be a tensor or memref of rank 3, got 'tensor<1x4x4x64xf32>' (C6)}}
  %0:3 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%q, %l, %q : tensor<1x4x4x64xf32>, tensor<1x4x4xf32>, tensor<1x4x4x64xf32>) scale 1.0
      -> tensor<1x4x4x64xf32>, tensor<1x4x4xf32>, tensor<1x4x4x64xf32>
  return
}

// -----

// attention C6: extents of the remainder
func.func @c6_remainder(%q: tensor<1x4x4x64xf32>, %l: tensor<1x4x4xf32>, %r: tensor<1x4x5xf32>) {
  // expected-error @+1 {{sequence length of remainder is 5 but sequence length of query is 4 (C6)}}
  %0:3 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%q, %l, %r : tensor<1x4x4x64xf32>, tensor<1x4x4xf32>, tensor<1x4x5xf32>) scale 1.0
      -> tensor<1x4x4x64xf32>, tensor<1x4x4xf32>, tensor<1x4x5xf32>
  return
}

// -----

// attention C6: element type of the remainder
func.func @c6_remainder_type(%q: tensor<1x4x4x64xf32>, %l: tensor<1x4x4xf32>, %r: tensor<1x4x4xf64>) {
  // expected-error @+1 {{remainder must have element type 'f32' where there is a remainder, got 'f64' (C6)}}
  %0:3 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%q, %l, %r : tensor<1x4x4x64xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf64>) scale 1.0
      -> tensor<1x4x4x64xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf64>
  return
}

// -----

// attention C6: element type of the log-sum-exp of a remainder
func.func @c6_remainder_lse(%q: tensor<1x4x4x64xf64>, %l: tensor<1x4x4xf32>, %r: tensor<1x4x4xf64>) {
  // expected-error @+1 {{log-sum-exp must have element type 'f64' where there is a remainder, got 'f32' (C6)}}
  %0:3 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf64>, tensor<1x4x4x64xf64>, tensor<1x4x4x64xf64>)
      outs(%q, %l, %r : tensor<1x4x4x64xf64>, tensor<1x4x4xf32>, tensor<1x4x4xf64>) scale 1.0
      -> tensor<1x4x4x64xf64>, tensor<1x4x4xf32>, tensor<1x4x4xf64>
  return
}

// -----

// attention C6: at least one output
func.func @c6_none(%q: tensor<1x4x4x64xf32>) {
  // expected-error @+1 {{must have one to three outputs, got 0 (C6)}}
  "attn.attention"(%q, %q, %q) <{scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> ({}, {}, {})
      : (tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>) -> ()
  return
}

// -----

// attention C6: element type of the output
func.func @c6_type(%q: tensor<1x4x4x64xf32>, %o: tensor<1x4x4x64xf16>) {
  // expected-error @+1 {{element type of output is 'f16' but of value is 'f32' (C6)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%o : tensor<1x4x4x64xf16>) scale 1.0 -> tensor<1x4x4x64xf16>
  return
}

// -----

// attention C6: element type of the log-sum-exp
func.func @c6_lse_type(%q: tensor<1x4x4x64xf32>, %lse: tensor<1x4x4xf16>) {
  // expected-error @+1 {{log-sum-exp must have element type f32 or f64, got 'f16' (C6)}}
  %0:2 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%q, %lse : tensor<1x4x4x64xf32>, tensor<1x4x4xf16>) scale 1.0 -> tensor<1x4x4x64xf32>, tensor<1x4x4xf16>
  return
}

// -----

// attention C6: rank of the log-sum-exp
func.func @c6_lse_rank(%q: tensor<1x4x4x64xf32>) {
  // expected-error @+1 {{log-sum-exp must be a tensor or memref of rank 3, got 'tensor<1x4x4x64xf32>' (C6)}}
  %0:2 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>) scale 1.0 -> tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>
  return
}

// -----

// attention C6: extents of the output
func.func @c6(%q: tensor<1x4x4x64xf32>, %o: tensor<1x4x5x64xf32>) {
  // expected-error @+1 {{sequence length of output is 5 but sequence length of query is 4 (C6)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%o : tensor<1x4x5x64xf32>) scale 1.0 -> tensor<1x4x5x64xf32>
  return
}

// -----

// attention C6: the output's last extent is that of the value
func.func @c6_head_dim(%q: tensor<1x4x4x64xf32>, %o: tensor<1x4x4x32xf32>) {
  // expected-error @+1 {{head dim of output is 32 but head dim of value is 64 (C6)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%o : tensor<1x4x4x32xf32>) scale 1.0 -> tensor<1x4x4x32xf32>
  return
}

// -----

// attention C6: extents of the log-sum-exp
func.func @c6_lse(%q: tensor<1x4x4x64xf32>, %lse: tensor<1x3x4xf32>) {
  // expected-error @+1 {{head count of log-sum-exp is 3 but head count of query is 4 (C6)}}
  %0:2 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%q, %lse : tensor<1x4x4x64xf32>, tensor<1x3x4xf32>) scale 1.0 -> tensor<1x4x4x64xf32>, tensor<1x3x4xf32>
  return
}

// -----

// attention C7: the scale is finite
func.func @c7(%q: tensor<1x4x4x64xf32>) {
  // expected-error @+1 {{scale must be finite in 'f32', got INF (C7)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%q : tensor<1x4x4x64xf32>) scale 0x7FF0000000000000 -> tensor<1x4x4x64xf32>
  return
}

// -----

// attention C8: offsets are none or four
func.func @c8(%q: tensor<1x4x4x64xf32>, %i: index) {
  // expected-error @+1 {{offsets must be none or four, got 3 (C8)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>, tensor<1x4x4x64xf32>)
      outs(%q : tensor<1x4x4x64xf32>) scale 1.0 offsets(%i, %i, %i) -> tensor<1x4x4x64xf32>
  return
}

// -----

// attention C9: scores of f16 inputs are f32
func.func @c9_score(%q: tensor<1x4x4x64xf16>) {
  // expected-error @+1 {{score region must have arguments ('f32', 'index', 'index', 'index', 'index'), got ('f16', 'index', 'index', 'index', 'index') (C9)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>)
      outs(%q : tensor<1x4x4x64xf16>) scale 1.0 score {
  ^bb0(%s: f16, %b: index, %h: index, %i: index, %j: index):
    attn.yield %s : f16
  } -> tensor<1x4x4x64xf16>
  return
}

// -----

// attention C9: the mask region yields i1
func.func @c9_mask(%q: tensor<1x4x4x64xf16>) {
  // expected-error @+1 {{mask region must yield one 'i1', got ('index', 'index') (C9)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>)
      outs(%q : tensor<1x4x4x64xf16>) scale 1.0 mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    attn.yield %i, %j : index, index
  } -> tensor<1x4x4x64xf16>
  return
}

// -----

// attention C9: no calls of unknown effect
func.func private @unknown(index) -> i1
func.func @c9_effects(%q: tensor<1x4x4x64xf16>) {
  // expected-error @+1 {{mask region must be free of side effects, but contains 'func.call' (C9)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>)
      outs(%q : tensor<1x4x4x64xf16>) scale 1.0 mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = func.call @unknown(%i) : (index) -> i1
    attn.yield %x : i1
  } -> tensor<1x4x4x64xf16>
  return
}

// -----

// attention C9: a region has one block
func.func @c9_blocks(%q: tensor<1x4x4x64xf16>, %c: i1) {
  // expected-error @+1 {{region #1 ('mask') failed to verify constraint: region with at most 1 blocks}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>)
      outs(%q : tensor<1x4x4x64xf16>) scale 1.0 mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    cf.br ^bb1
  ^bb1:
    attn.yield %c : i1
  } -> tensor<1x4x4x64xf16>
  return
}

// -----

// attention C10: tensors or memrefs
func.func @c10_mixed(%q: tensor<1x4x4x64xf16>, %o: memref<1x4x4x64xf16>) {
  // expected-error @+1 {{operands must be all tensors or all memrefs (C10)}}
  attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>)
      outs(%o : memref<1x4x4x64xf16>) scale 1.0
  return
}

// -----

// attention C10: memrefs have no results
func.func @c10_results(%q: memref<1x4x4x64xf16>) {
  // expected-error @+1 {{has memref outputs and 1 results, expected none (C10)}}
  %0 = attn.attention ins(%q, %q, %q : memref<1x4x4x64xf16>, memref<1x4x4x64xf16>, memref<1x4x4x64xf16>)
      outs(%q : memref<1x4x4x64xf16>) scale 1.0 -> tensor<1x4x4x64xf16>
  return
}

// -----

// attention C10: results have the outputs' types
func.func @c10_types(%q: tensor<1x4x4x64xf16>) {
  // expected-error @+1 {{result types must be those of the outputs (C10)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>)
      outs(%q : tensor<1x4x4x64xf16>) scale 1.0 -> tensor<?x4x4x64xf16>
  return
}

// -----

// attention C10: results are not left out
func.func @c10_no_results(%q: tensor<1x4x4x64xf16>) {
  // expected-error @+1 {{result types must be those of the outputs (C10)}}
  attn.attention ins(%q, %q, %q : tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>, tensor<1x4x4x64xf16>)
      outs(%q : tensor<1x4x4x64xf16>) scale 1.0
  return
}

// -----

// attention C11: one sink a query head
func.func @c11(%q: tensor<1x8x4x64xf32>, %k: tensor<1x2x4x64xf32>, %sink: tensor<2xf32>) {
  // expected-error @+1 {{head count of sink is 2 but head count of query is 8 (C11)}}
  %0 = attn.attention ins(%q, %k, %k : tensor<1x8x4x64xf32>, tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>)
      outs(%q : tensor<1x8x4x64xf32>) scale 1.0 sink(%sink : tensor<2xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

// attention C11: rank 1
func.func @c11_rank(%q: tensor<1x8x4x64xf32>, %sink: tensor<1x8xf32>) {
  // expected-error @+1 {{sink must be a tensor or memref of rank 1, got 'tensor<1x8xf32>' (C11)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
      outs(%q : tensor<1x8x4x64xf32>) scale 1.0 sink(%sink : tensor<1x8xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

// attention C11: floats
func.func @c11_type(%q: tensor<1x8x4x64xf32>, %sink: tensor<8xi32>) {
  // expected-error @+1 {{sink must have a float element type, got 'i32' (C11)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
      outs(%q : tensor<1x8x4x64xf32>) scale 1.0 sink(%sink : tensor<8xi32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

// attention C14: no log-sum-exp without a sum
func.func @c14_lse(%q: tensor<1x8x4x64xf32>, %lse: tensor<1x8x4xf32>) {
  // expected-error @+1 {{unnormalized weights have no log-sum-exp (C14)}}
  %0:2 = attn.attention ins(%q, %q, %q : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
      outs(%q, %lse : tensor<1x8x4x64xf32>, tensor<1x8x4xf32>) scale 1.0 unnormalized -> tensor<1x8x4x64xf32>, tensor<1x8x4xf32>
  return
}

// -----

// attention C14: no sink without a sum
func.func @c14_sink(%q: tensor<1x8x4x64xf32>, %sink: tensor<8xf32>) {
  // expected-error @+1 {{unnormalized weights have no sink (C14)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
      outs(%q : tensor<1x8x4x64xf32>) scale 1.0 sink(%sink : tensor<8xf32>) unnormalized -> tensor<1x8x4x64xf32>
  return
}

// -----

// attention C14: the score region is the program on weights
func.func @c14_probability(%q: tensor<1x8x4x64xf32>) {
  // expected-error @+1 {{unnormalized weights have no probability region (C14)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
      outs(%q : tensor<1x8x4x64xf32>) scale 1.0 unnormalized probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %p : f32
  } -> tensor<1x8x4x64xf32>
  return
}

// -----

// attention C9: the probability region yields a weight
func.func @c9_probability(%q: tensor<1x8x4x64xf32>) {
  // expected-error @+1 {{probability region must yield one 'f32', got ('index') (C9)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
      outs(%q : tensor<1x8x4x64xf32>) scale 1.0 probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %j : index
  } -> tensor<1x8x4x64xf32>
  return
}

// -----

// attention C15: a weight for each feature
func.func @c15(%q: tensor<1x8x4x64xf32>, %w: tensor<32xf32>) {
  // expected-error @+1 {{head dim of additive is 32 but head dim of query is 64 (C15)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
      outs(%q : tensor<1x8x4x64xf32>) scale 1.0 additive(%w : tensor<32xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

// attention C15: for one head or each
func.func @c15_heads(%q: tensor<1x8x4x64xf32>, %w: tensor<2x64xf32>) {
  // expected-error @+1 {{head count of additive is 2 but head count of query is 8 (C15)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
      outs(%q : tensor<1x8x4x64xf32>) scale 1.0 additive(%w : tensor<2x64xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

// attention C15: rank 1 or 2
func.func @c15_rank(%q: tensor<1x8x4x64xf32>, %w: tensor<f32>) {
  // expected-error @+1 {{additive must be a tensor or memref of rank 1, got 'tensor<f32>' (C15)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
      outs(%q : tensor<1x8x4x64xf32>) scale 1.0 additive(%w : tensor<f32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

// attention C16: cosines, sines and a layout
func.func @c16(%q: tensor<1x8x4x64xf32>, %t: tensor<4x32xf32>) {
  // expected-error @+1 {{query_cos, query_sin and a layout are given together (C16)}}
  %0 = "attn.attention"(%q, %q, %q, %q, %t, %t) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1>, scale = 1.0 : f64}> ({}, {}, {})
      : (tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

// attention C16: of the rows of the query
func.func @c16_rows(%q: tensor<1x8x4x64xf32>, %t: tensor<1x5x32xf32>) {
  // expected-error @+1 {{row count of query_cos is 5 but row count of query is 4 (C16)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
      outs(%q : tensor<1x8x4x64xf32>) scale 1.0 rotated half(%t, %t : tensor<1x5x32xf32>, tensor<1x5x32xf32>) -> tensor<1x8x4x64xf32>
  return
}

// -----

// attention C16: no more pairs than there are
func.func @c16_pairs(%q: tensor<1x8x4x64xf32>, %t: tensor<4x33xf32>) {
  // expected-error @+1 {{query_cos turns 33 pairs of features, but the head dim is 64 (C16)}}
  %0 = attn.attention ins(%q, %q, %q : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
      outs(%q : tensor<1x8x4x64xf32>) scale 1.0 rotated half(%t, %t : tensor<4x33xf32>, tensor<4x33xf32>) -> tensor<1x8x4x64xf32>
  return
}
