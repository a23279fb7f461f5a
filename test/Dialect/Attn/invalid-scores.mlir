// Constraints of the ops on scores, one test a label.

// RUN: attn-opt %s -split-input-file -verify-diagnostics

// qk C1: f64 goes with f64 only
func.func @qk_c1(%q: tensor<1x8x4x64xf64>, %k: tensor<1x8x4x64xf32>) {
  // expected-error @+1 {{element types of query and key must be equal or below f64, got 'f64' and 'f32' (C1)}}
  %0 = attn.qk %q, %k : tensor<1x8x4x64xf64>, tensor<1x8x4x64xf32> -> tensor<1x8x4x4xf64>
  return
}

// -----

// qk C2: head dims are static
func.func @qk_c2_dynamic(%q: tensor<1x8x4x64xf32>, %k: tensor<1x8x4x?xf32>) {
  // expected-error @+1 {{head dim of key must be static and positive, got 'tensor<1x8x4x?xf32>' (C2)}}
  %0 = attn.qk %q, %k : tensor<1x8x4x64xf32>, tensor<1x8x4x?xf32> -> tensor<1x8x4x4xf32>
  return
}

// -----

// qk C2: head dims are positive
func.func @qk_c2_zero(%q: tensor<1x8x4x0xf32>, %k: tensor<1x8x4x0xf32>) {
  // expected-error @+1 {{head dim of query must be static and positive, got 'tensor<1x8x4x0xf32>' (C2)}}
  %0 = attn.qk %q, %k : tensor<1x8x4x0xf32>, tensor<1x8x4x0xf32> -> tensor<1x8x4x4xf32>
  return
}

// -----

// qk C2: head dims are equal
func.func @qk_c2(%q: tensor<1x8x4x64xf32>, %k: tensor<1x8x4x32xf32>) {
  // expected-error @+1 {{head dim of query is 64 but head dim of key is 32 (C2)}}
  %0 = attn.qk %q, %k : tensor<1x8x4x64xf32>, tensor<1x8x4x32xf32> -> tensor<1x8x4x4xf32>
  return
}

// -----

// qk C3: batch extents are equal
func.func @qk_c3(%q: tensor<2x8x4x64xf32>, %k: tensor<3x8x4x64xf32>) {
  // expected-error @+1 {{batch extent of query is 2 but batch extent of key is 3 (C3)}}
  %0 = attn.qk %q, %k : tensor<2x8x4x64xf32>, tensor<3x8x4x64xf32> -> tensor<2x8x4x4xf32>
  return
}

// -----

// qk C4: key heads divide query heads
func.func @qk_c4(%q: tensor<1x8x4x64xf32>, %k: tensor<1x3x4x64xf32>) {
  // expected-error @+1 {{head count of query is 8, not a multiple of head count of key, 3 (C4)}}
  %0 = attn.qk %q, %k : tensor<1x8x4x64xf32>, tensor<1x3x4x64xf32> -> tensor<1x8x4x4xf32>
  return
}

// -----

// qk C4: there is a key head
func.func @qk_c4_zero(%q: tensor<1x8x4x64xf32>, %k: tensor<1x0x4x64xf32>) {
  // expected-error @+1 {{head count of query is 8, not a multiple of head count of key, 0 (C4)}}
  %0 = attn.qk %q, %k : tensor<1x8x4x64xf32>, tensor<1x0x4x64xf32> -> tensor<1x8x4x4xf32>
  return
}

// -----

// qk C5: the result is f32 for inputs below f64
func.func @qk_c5(%q: tensor<1x8x4x64xf16>, %k: tensor<1x8x4x64xf16>) {
  // expected-error @+2 {{inferred type(s) 'tensor<1x8x4x4xf32>' are incompatible with return type(s) of operation 'tensor<1x8x4x4xf64>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.qk %q, %k : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16> -> tensor<1x8x4x4xf64>
  return
}

// -----

// qk C5: the result is [B, Hq, Sq, Skv]
func.func @qk_c5_shape(%q: tensor<1x8x4x64xf16>, %k: tensor<1x8x5x64xf16>) {
  // expected-error @+2 {{inferred type(s) 'tensor<1x8x4x5xf32>' are incompatible with return type(s) of operation 'tensor<1x8x5x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.qk %q, %k : tensor<1x8x4x64xf16>, tensor<1x8x5x64xf16> -> tensor<1x8x5x4xf32>
  return
}

// -----

// qk: operands are tensors
func.func @qk_vector(%q: vector<1x8x4x64xf16>, %k: tensor<1x8x5x64xf16>) {
  // expected-error @+1 {{invalid kind of type specified: expected builtin.tensor, but found 'vector<1x8x4x64xf16>'}}
  %0 = attn.qk %q, %k : vector<1x8x4x64xf16>, tensor<1x8x5x64xf16> -> tensor<1x8x5x4xf32>
  return
}

// -----

// scale C1: the factor is finite
func.func @scale_c1(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{factor must be finite in 'f32', got nan (C1)}}
  %0 = attn.scale %s by 0x7FF8000000000000 : tensor<1x8x4x4xf32>
  return
}

// -----

// softcap C1: the cap is positive
func.func @softcap_c1(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{cap must be positive and finite in 'f32', got 0.000000e+00 (C1)}}
  %0 = attn.softcap %s at 0.0 : tensor<1x8x4x4xf32>
  return
}

// -----

// scale C1, in the type of the scores
func.func @scale_c1_type(%s: tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32> {
  // expected-error @+1 {{factor must be finite in 'f32', got 1.000000e+39 (C1)}}
  %0 = attn.scale %s by 1.0e39 : tensor<1x8x4x4xf32>
  return %0 : tensor<1x8x4x4xf32>
}

// -----

// softcap C1: so must be the inverse of the cap
func.func @softcap_c1_inverse(%s: tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32> {
  // expected-error @+1 {{1 / cap must be positive and finite in 'f32', got 1.000000e+39 (C1)}}
  %0 = attn.softcap %s at 1.0e-39 : tensor<1x8x4x4xf32>
  return %0 : tensor<1x8x4x4xf32>
}

// -----

// bias C1: rank 0 to 4
func.func @bias_c1(%s: tensor<1x8x4x4xf32>, %bias: tensor<1x1x8x4x4xf32>) {
  // expected-error @+1 {{bias must have rank 0 to 4, got 5 (C1)}}
  %0 = attn.bias %s, %bias : tensor<1x8x4x4xf32>, tensor<1x1x8x4x4xf32>
  return
}

// -----

// bias C2: extents broadcast
func.func @bias_c2(%s: tensor<1x8x4x4xf32>, %bias: tensor<2x4xf32>) {
  // expected-error @+1 {{extent -2 of bias is 2, neither 1 nor extent -2 of scores, 4 (C2)}}
  %0 = attn.bias %s, %bias : tensor<1x8x4x4xf32>, tensor<2x4xf32>
  return
}

// -----

// score_map C1: the region's arguments
func.func @score_map_c1(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{score region must have arguments ('f32', 'index', 'index', 'index', 'index'), got ('f32', 'index') (C1-C3)}}
  %0 = attn.score_map %s : tensor<1x8x4x4xf32> {
  ^bb0(%score: f32, %b: index):
    attn.yield %score : f32
  }
  return
}

// -----

// score_map C2: the yielded value
func.func @score_map_c2(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{score region must yield one 'f32', got ('index') (C1-C3)}}
  %0 = attn.score_map %s : tensor<1x8x4x4xf32> {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %j : index
  }
  return
}

// -----

// score_map C2: an implicit terminator yields nothing
func.func @score_map_c2_nothing(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{score region must yield one 'f32', got () (C1-C3)}}
  %0 = attn.score_map %s : tensor<1x8x4x4xf32> {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
  }
  return
}

// -----

// score_map C3: no side effects
func.func @score_map_c3(%s: tensor<1x8x4x4xf32>, %log: memref<f32>) {
  // expected-error @+1 {{score region must be free of side effects, but contains 'memref.store' (C1-C3)}}
  %0 = attn.score_map %s : tensor<1x8x4x4xf32> {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    memref.store %score, %log[] : memref<f32>
    attn.yield %score : f32
  }
  return
}

// -----

// score_map: the region has one block
func.func @score_map_blocks(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{expects region #0 to have 0 or 1 blocks}}
  %0 = attn.score_map %s : tensor<1x8x4x4xf32> {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    cf.br ^bb1
  ^bb1:
    attn.yield %score : f32
  }
  return
}

// -----

// score_map: the region is not empty
func.func @score_map_empty(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{'attn.score_map' op region #0 ('score') failed to verify constraint: region with 1 blocks}}
  %0 = "attn.score_map"(%s) ({}) : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C1: causal without alignment
func.func @masked_softmax_c1(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{causal or window needs an alignment (C1)}}
  %0 = "attn.masked_softmax"(%s) <{causal, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}> ({})
      : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C1: alignment without causal or window
func.func @masked_softmax_c1_alone(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{alignment without causal or window (C1)}}
  %0 = "attn.masked_softmax"(%s) <{alignment = #attn<alignment top_left>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}> ({})
      : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C2: alignment offset without its operand
func.func @masked_softmax_c2(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{alignment offset needs an offset operand (C2)}}
  %0 = "attn.masked_softmax"(%s) <{causal, alignment = #attn<alignment offset>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}> ({})
      : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C2: an offset without alignment offset
func.func @masked_softmax_c2_alone(%s: tensor<1x8x4x4xf32>, %past: index) {
  // expected-error @+1 {{offset operand without alignment offset (C2)}}
  %0 = "attn.masked_softmax"(%s, %past) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>}> ({})
      : (tensor<1x8x4x4xf32>, index) -> tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C2: one offset a batch element
func.func @masked_softmax_c2_extent(%s: tensor<2x8x4x4xf32>, %pasts: tensor<3xi64>) {
  // expected-error @+1 {{batch extent of offset is 3 but batch extent of scores is 2 (C2)}}
  %0 = attn.masked_softmax %s causal(offset %pasts : tensor<3xi64>) : tensor<2x8x4x4xf32>
  return
}

// -----

// masked_softmax C3: two values
func.func @masked_softmax_c3(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{window must hold two values, got 3 (C3)}}
  %0 = attn.masked_softmax %s window[1, 2, 3](top_left) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C3: no less than -1
func.func @masked_softmax_c3_negative(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{window side must be at least -1, got -2 (C3)}}
  %0 = attn.masked_softmax %s window[0, -2](top_left) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C4: one length a batch element
func.func @masked_softmax_c4(%s: tensor<2x8x4x4xf32>, %lengths: tensor<8xi32>) {
  // expected-error @+1 {{batch extent of lengths is 8 but batch extent of scores is 2 (C4)}}
  %0 = attn.masked_softmax %s lengths(%lengths : tensor<8xi32>) : tensor<2x8x4x4xf32>
  return
}

// -----

// masked_softmax C5: element type
func.func @masked_softmax_c5_type(%s: tensor<2x8x4x4xf32>, %mask: tensor<4x4xi8>) {
  // expected-error @+1 {{mask must have element type i1, got 'i8' (C5)}}
  %0 = attn.masked_softmax %s mask(%mask : tensor<4x4xi8>) : tensor<2x8x4x4xf32>
  return
}

// -----

// masked_softmax C5: rank
func.func @masked_softmax_c5_rank(%s: tensor<2x8x4x4xf32>, %mask: tensor<1x1x1x1x1xi1>) {
  // expected-error @+1 {{mask must have rank 0 to 4, got 5 (C5)}}
  %0 = attn.masked_softmax %s mask(%mask : tensor<1x1x1x1x1xi1>) : tensor<2x8x4x4xf32>
  return
}

// -----

// masked_softmax C5: extents broadcast
func.func @masked_softmax_c5(%s: tensor<2x8x4x4xf32>, %mask: tensor<2x1x4x5xi1>) {
  // expected-error @+1 {{extent -1 of mask is 5, neither 1 nor extent -1 of scores, 4 (C5)}}
  %0 = attn.masked_softmax %s mask(%mask : tensor<2x1x4x5xi1>) : tensor<2x8x4x4xf32>
  return
}

// -----

// masked_softmax C6: the region's arguments
func.func @masked_softmax_c6(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{visible region must have arguments ('index', 'index', 'index', 'index'), got ('i1') (C6)}}
  %0 = attn.masked_softmax %s visible {
  ^bb0(%b: i1):
    attn.yield %b : i1
  } : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C6: the yielded value
func.func @masked_softmax_c6_yield(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{visible region must yield one 'i1', got ('index') (C6)}}
  %0 = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    attn.yield %j : index
  } : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C6: no side effects, in nested regions either
func.func @masked_softmax_c6_effects(%s: tensor<1x8x4x4xf32>, %log: memref<index>, %if: i1) {
  // expected-error @+1 {{visible region must be free of side effects, but contains 'memref.store' (C6)}}
  %0 = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    scf.if %if {
      memref.store %j, %log[] : memref<index>
    }
    attn.yield %if : i1
  } : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C6: a block ends with attn.yield
func.func @masked_softmax_c6_terminator(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{visible region must yield one 'i1', got () (C6)}}
  %0 = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    "llvm.unreachable"() : () -> ()
  } : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax syntax: a clause is given once
func.func @masked_softmax_twice(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{clause 'causal' is given twice}}
  %0 = attn.masked_softmax %s causal(top_left) causal(top_left) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax syntax: the alignment is always written
func.func @masked_softmax_alignment(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{unknown alignment 'left', expected top_left, bottom_right or offset}}
  %0 = attn.masked_softmax %s causal(left) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax syntax: causal gives the alignment of a window
func.func @masked_softmax_order(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{'causal' comes before 'window' and gives the alignment}}
  %0 = attn.masked_softmax %s window[1, 1](top_left) causal(top_left) : tensor<1x8x4x4xf32>
  return
}

// -----

// weighted_sum C1: batch extents are equal
func.func @weighted_sum_c1(%p: tensor<2x8x4x5xf32>, %v: tensor<3x8x5x64xf32>) {
  // expected-error @+1 {{batch extent of weights is 2 but batch extent of value is 3 (C1)}}
  %0 = attn.weighted_sum %p, %v : tensor<2x8x4x5xf32>, tensor<3x8x5x64xf32> -> tensor<2x8x4x64xf32>
  return
}

// -----

// weighted_sum C2: value heads divide the weights' heads
func.func @weighted_sum_c2(%p: tensor<2x8x4x5xf32>, %v: tensor<2x5x5x64xf32>) {
  // expected-error @+1 {{head count of weights is 8, not a multiple of head count of value, 5 (C2)}}
  %0 = attn.weighted_sum %p, %v : tensor<2x8x4x5xf32>, tensor<2x5x5x64xf32> -> tensor<2x8x4x64xf32>
  return
}

// -----

// weighted_sum C3: key extents are equal
func.func @weighted_sum_c3(%p: tensor<2x8x4x5xf32>, %v: tensor<2x8x6x64xf32>) {
  // expected-error @+1 {{key length of weights is 5 but key length of value is 6 (C3)}}
  %0 = attn.weighted_sum %p, %v : tensor<2x8x4x5xf32>, tensor<2x8x6x64xf32> -> tensor<2x8x4x64xf32>
  return
}

// -----

// weighted_sum C4: the head dim is static and positive
func.func @weighted_sum_c4(%p: tensor<2x8x4x5xf32>, %v: tensor<2x8x5x?xf32>) {
  // expected-error @+1 {{head dim of value must be static and positive, got 'tensor<2x8x5x?xf32>' (C4)}}
  %0 = attn.weighted_sum %p, %v : tensor<2x8x4x5xf32>, tensor<2x8x5x?xf32> -> tensor<2x8x4x64xf32>
  return
}

// -----

// weighted_sum C5: the result has the value's element type
func.func @weighted_sum_c5(%p: tensor<2x8x4x5xf32>, %v: tensor<2x8x5x64xf16>) {
  // expected-error @+2 {{inferred type(s) 'tensor<2x8x4x64xf16>' are incompatible with return type(s) of operation 'tensor<2x8x4x64xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.weighted_sum %p, %v : tensor<2x8x4x5xf32>, tensor<2x8x5x64xf16> -> tensor<2x8x4x64xf32>
  return
}

// -----

// yield: stands in a program only
func.func @yield() {
  // expected-error @+1 {{expects parent op to be one of 'attn.score_map, attn.masked_softmax, attn.probability_map, attn.attention, attn.online_attention, attn.attention_stats, attn.online_stats'}}
  attn.yield
}

// -----

// masked_softmax C7: a prefix belongs to causal
func.func @masked_softmax_c7_causal(%s: tensor<1x8x4x4xf32>, %prefix: index) {
  // expected-error @+1 {{prefix without causal (C7)}}
  %0 = "attn.masked_softmax"(%s, %prefix) <{operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0, 0>}> ({})
    : (tensor<1x8x4x4xf32>, index) -> tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C7: one prefix a batch element
func.func @masked_softmax_c7_batch(%s: tensor<2x8x4x4xf32>, %prefix: tensor<3xi32>) {
  // expected-error @+1 {{batch extent of prefix is 3 but batch extent of scores is 2 (C7)}}
  %0 = attn.masked_softmax %s causal(top_left, prefix = %prefix : tensor<3xi32>) : tensor<2x8x4x4xf32>
  return
}

// -----

// masked_softmax C8: both segments
func.func @masked_softmax_c8_both(%s: tensor<1x8x4x4xf32>, %ids: tensor<1x4xi32>) {
  // expected-error @+1 {{query segments without key segments (C8)}}
  %0 = "attn.masked_softmax"(%s, %ids) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 1, 0, 0, 0>}> ({})
    : (tensor<1x8x4x4xf32>, tensor<1x4xi32>) -> tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C8: equal element types
func.func @masked_softmax_c8_type(%s: tensor<1x8x4x4xf32>, %a: tensor<1x4xi32>, %b: tensor<1x4xi64>) {
  // expected-error @+1 {{element type of query segments is 'i32' but of key segments is 'i64' (C8)}}
  %0 = attn.masked_softmax %s segments(%a, %b : tensor<1x4xi32>, tensor<1x4xi64>) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C8: one segment a key
func.func @masked_softmax_c8_length(%s: tensor<1x8x4x4xf32>, %a: tensor<1x4xi32>, %b: tensor<1x5xi32>) {
  // expected-error @+1 {{sequence length of key segments is 5 but sequence length of scores is 4 (C8)}}
  %0 = attn.masked_softmax %s segments(%a, %b : tensor<1x4xi32>, tensor<1x5xi32>) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C9: one sink a head
func.func @masked_softmax_c9(%s: tensor<1x8x4x4xf32>, %sink: tensor<4xf32>) {
  // expected-error @+1 {{head count of sink is 4 but head count of scores is 8 (C9)}}
  %0 = attn.masked_softmax %s sink(%sink : tensor<4xf32>) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C9: floats
func.func @masked_softmax_c9_type(%s: tensor<1x8x4x4xf32>, %sink: tensor<8xi32>) {
  // expected-error @+1 {{operand #1 must be 1D tensor of floating-point values, but got 'tensor<8xi32>'}}
  %0 = attn.masked_softmax %s sink(%sink : tensor<8xi32>) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax: a clause is given once
func.func @masked_softmax_two_sinks(%s: tensor<1x8x4x4xf32>, %sink: tensor<8xf32>) {
  // expected-error @+1 {{clause 'sink' is given twice}}
  %0 = attn.masked_softmax %s sink(%sink : tensor<8xf32>) sink(%sink : tensor<8xf32>) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax: what stands after an alignment
func.func @masked_softmax_prefix_keyword(%s: tensor<1x8x4x4xf32>, %p: index) {
  // expected-error @+1 {{expected 'prefix'}}
  %0 = attn.masked_softmax %s causal(top_left, postfix = %p : index) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C10: no sink beside sigmoids
func.func @masked_softmax_c10(%s: tensor<1x8x4x4xf32>, %sink: tensor<8xf32>) {
  // expected-error @+1 {{sink with normalizer sigmoid (C10)}}
  %0 = attn.masked_softmax %s sink(%sink : tensor<8xf32>) normalizer(sigmoid) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax: what normalizers there are
func.func @masked_softmax_normalizer(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{unknown normalizer 'tanh', expected softmax or sigmoid}}
  %0 = attn.masked_softmax %s normalizer(tanh) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax C11: no rows of NaN beside sigmoids
func.func @masked_softmax_c11(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{empty_row(nan) with normalizer sigmoid (C11)}}
  %0 = attn.masked_softmax %s normalizer(sigmoid) empty_row(nan) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax: what empty rows there are
func.func @masked_softmax_empty_row(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{unknown empty_row 'one', expected zero or nan}}
  %0 = attn.masked_softmax %s empty_row(one) : tensor<1x8x4x4xf32>
  return
}

// -----

// masked_softmax: empty rows are said once
func.func @masked_softmax_empty_row_twice(%s: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{clause 'empty_row' is given twice}}
  %0 = attn.masked_softmax %s empty_row(nan) empty_row(zero) : tensor<1x8x4x4xf32>
  return
}

// -----

// probability_map C1: arguments
func.func @probability_map_c1(%p: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{probability region must have arguments ('f32', 'index', 'index', 'index', 'index'), got ('f64', 'index', 'index', 'index', 'index') (C1-C3)}}
  %0 = attn.probability_map %p : tensor<1x8x4x4xf32> {
  ^bb0(%x: f64, %b: index, %h: index, %i: index, %j: index):
    %y = arith.constant 0.0 : f32
    attn.yield %y : f32
  }
  return
}

// -----

// probability_map C2: the yielded value
func.func @probability_map_c2(%p: tensor<1x8x4x4xf32>) {
  // expected-error @+1 {{probability region must yield one 'f32', got ('index') (C1-C3)}}
  %0 = attn.probability_map %p : tensor<1x8x4x4xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %j : index
  }
  return
}

// -----

// probability_map C3: no side effects
func.func @probability_map_c3(%p: tensor<1x8x4x4xf32>, %m: memref<f32>) {
  // expected-error @+1 {{probability region must be free of side effects, but contains 'memref.store' (C1-C3)}}
  %0 = attn.probability_map %p : tensor<1x8x4x4xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    memref.store %x, %m[] : memref<f32>
    attn.yield %x : f32
  }
  return
}

// -----

// dropout C1: a share
func.func @dropout_c1(%p: tensor<1x8x4x4xf32>, %seed: i64) {
  // expected-error @+1 {{rate must be in [0, 1], got 1.5}}
  %0 = attn.dropout %p rate 1.5 seed(%seed) : tensor<1x8x4x4xf32>
  return
}

// -----

// dropout C1: a number
func.func @dropout_c1_nan(%p: tensor<1x8x4x4xf32>, %seed: i64) {
  // expected-error @+1 {{rate must be in [0, 1], got nan (C1)}}
  %0 = attn.dropout %p rate 0x7FF8000000000000 seed(%seed) : tensor<1x8x4x4xf32>
  return
}

// -----

// additive_scores C1: types
func.func @additive_c1(%q: tensor<1x8x4x64xf32>, %k: tensor<1x2x5x64xf32>, %w: tensor<64xf64>) {
  // expected-error @+1 {{element types of query, key and weight must be equal or below f64, got 'f32', 'f32' and 'f64' (C1)}}
  %0 = attn.additive_scores %q, %k, %w : tensor<1x8x4x64xf32>, tensor<1x2x5x64xf32>, tensor<64xf64> -> tensor<1x8x4x5xf32>
  return
}

// -----

// additive_scores C2: equal head dims
func.func @additive_c2(%q: tensor<1x8x4x64xf32>, %k: tensor<1x2x5x32xf32>, %w: tensor<64xf32>) {
  // expected-error @+1 {{head dim of query is 64 but head dim of key is 32 (C2)}}
  %0 = attn.additive_scores %q, %k, %w : tensor<1x8x4x64xf32>, tensor<1x2x5x32xf32>, tensor<64xf32> -> tensor<1x8x4x5xf32>
  return
}

// -----

// additive_scores C2: static head dims
func.func @additive_c2_dynamic(%q: tensor<1x8x4x?xf32>, %k: tensor<1x2x5x?xf32>, %w: tensor<?xf32>) {
  // expected-error @+1 {{head dim of query must be static and positive, got 'tensor<1x8x4x?xf32>' (C2)}}
  %0 = attn.additive_scores %q, %k, %w : tensor<1x8x4x?xf32>, tensor<1x2x5x?xf32>, tensor<?xf32> -> tensor<1x8x4x5xf32>
  return
}

// -----

// additive_scores C3: batch extents
func.func @additive_c3(%q: tensor<1x8x4x64xf32>, %k: tensor<2x2x5x64xf32>, %w: tensor<64xf32>) {
  // expected-error @+1 {{batch extent of query is 1 but batch extent of key is 2 (C3)}}
  %0 = attn.additive_scores %q, %k, %w : tensor<1x8x4x64xf32>, tensor<2x2x5x64xf32>, tensor<64xf32> -> tensor<1x8x4x5xf32>
  return
}

// -----

// additive_scores C4: head counts
func.func @additive_c4(%q: tensor<1x8x4x64xf32>, %k: tensor<1x3x5x64xf32>, %w: tensor<64xf32>) {
  // expected-error @+1 {{head count of query is 8, not a multiple of head count of key, 3 (C4)}}
  %0 = attn.additive_scores %q, %k, %w : tensor<1x8x4x64xf32>, tensor<1x3x5x64xf32>, tensor<64xf32> -> tensor<1x8x4x5xf32>
  return
}

// -----

// additive_scores C5: the shape of scores
func.func @additive_c5(%q: tensor<1x8x4x64xf32>, %k: tensor<1x2x5x64xf32>, %w: tensor<64xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<1x8x4x5xf32>' are incompatible with return type(s) of operation 'tensor<1x8x5x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = attn.additive_scores %q, %k, %w : tensor<1x8x4x64xf32>, tensor<1x2x5x64xf32>, tensor<64xf32> -> tensor<1x8x5x4xf32>
  return
}

// -----

// additive_scores C6: a weight a head
func.func @additive_c6(%q: tensor<1x8x4x64xf32>, %k: tensor<1x2x5x64xf32>, %w: tensor<2x64xf32>) {
  // expected-error @+1 {{head count of weight is 2 but head count of query is 8 (C6)}}
  %0 = attn.additive_scores %q, %k, %w : tensor<1x8x4x64xf32>, tensor<1x2x5x64xf32>, tensor<2x64xf32> -> tensor<1x8x4x5xf32>
  return
}

// -----

// additive_scores C6: a weight a feature
func.func @additive_c6_dim(%q: tensor<1x8x4x64xf32>, %k: tensor<1x2x5x64xf32>, %w: tensor<8x32xf32>) {
  // expected-error @+1 {{head dim of weight is 32 but head dim of query is 64 (C6)}}
  %0 = attn.additive_scores %q, %k, %w : tensor<1x8x4x64xf32>, tensor<1x2x5x64xf32>, tensor<8x32xf32> -> tensor<1x8x4x5xf32>
  return
}
