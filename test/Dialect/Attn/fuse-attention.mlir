// The chain of qk, score ops, masked_softmax and weighted_sum becomes one op
// whose programs keep the order of the score ops and hold the mask as code.

// RUN: attn-opt %s --attn-fuse --canonicalize --cse --split-input-file | FileCheck %s

// The chain without anything between: scale 1, no programs.
// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[Q:.*]]: tensor<2x8x5x64xf32>, %[[K:.*]]: tensor<2x8x7x64xf32>, %[[V:.*]]: tensor<2x8x7x32xf32>)
// CHECK-NEXT: %[[INIT:.*]] = tensor.empty() : tensor<2x8x5x32xf32>
// CHECK-NEXT: %[[O:.*]] = attn.attention ins(%[[Q]], %[[K]], %[[V]] : {{.*}}) outs(%[[INIT]] : {{.*}}) scale 1.000000e+00 -> tensor<2x8x5x32xf32>
// CHECK-NEXT: return %[[O]]
func.func @plain(%q: tensor<2x8x5x64xf32>, %k: tensor<2x8x7x64xf32>, %v: tensor<2x8x7x32xf32>) -> tensor<2x8x5x32xf32> {
  %s = attn.qk %q, %k : tensor<2x8x5x64xf32>, tensor<2x8x7x64xf32> -> tensor<2x8x5x7xf32>
  %p = attn.masked_softmax %s : tensor<2x8x5x7xf32>
  %o = attn.weighted_sum %p, %v : tensor<2x8x5x7xf32>, tensor<2x8x7x32xf32> -> tensor<2x8x5x32xf32>
  return %o : tensor<2x8x5x32xf32>
}

// -----

// Scales that come first are the op's own, multiplied.
// CHECK-LABEL: func.func @scales_first
// CHECK: attn.attention
// CHECK-SAME: scale -2.500000e-01 ->
func.func @scales_first(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %t = attn.scale %s by 0.5 : tensor<1x1x?x?xf32>
  %u = attn.scale %t by -0.5 : tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %u : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// Scale, softcap, bias, score_map: the first is the op's own, the rest follow.
// CHECK-LABEL: func.func @scale_softcap_bias_map
// CHECK-DAG: %[[INV:.*]] = arith.constant 2.500000e-01 : f32
// CHECK-DAG: %[[CAP:.*]] = arith.constant 4.000000e+00 : f32
// CHECK: scale 1.250000e-01 score {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[X:.*]] = arith.mulf %[[S]], %[[INV]]
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[X]]
// CHECK-NEXT: %[[C:.*]] = arith.mulf %[[T]], %[[CAP]]
// CHECK-NEXT: %[[E:.*]] = tensor.extract %{{.*}}[%[[H]], %[[I]], %[[J]]] : tensor<8x?x?xf32>
// CHECK-NEXT: %[[A:.*]] = arith.addf %[[C]], %[[E]]
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[A]]
// CHECK-NEXT: attn.yield %[[N]] : f32
// CHECK: mask {
func.func @scale_softcap_bias_map(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %bias: tensor<8x?x?xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %t = attn.scale %s by 0.125 : tensor<?x8x?x?xf32>
  %u = attn.softcap %t at 4.0 : tensor<?x8x?x?xf32>
  %w = attn.bias %u, %bias : tensor<?x8x?x?xf32>, tensor<8x?x?xf32>
  %x = attn.score_map %w : tensor<?x8x?x?xf32> {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %n = arith.negf %score : f32
    attn.yield %n : f32
  }
  %p = attn.masked_softmax %x : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

// Bias, score_map, softcap, scale: nothing is moved, the scale comes last.
// CHECK-LABEL: func.func @bias_map_softcap_scale
// CHECK: scale 1.000000e+00 score {
// CHECK: tensor.extract
// CHECK-NEXT: arith.addf
// CHECK-NEXT: arith.negf
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: math.tanh
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: %[[T:.*]] = arith.mulf
// CHECK-NEXT: attn.yield %[[T]] : f32
func.func @bias_map_softcap_scale(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %bias: tensor<f32>) -> tensor<?x8x?x64xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %w = attn.bias %s, %bias : tensor<?x8x?x?xf32>, tensor<f32>
  %x = attn.score_map %w : tensor<?x8x?x?xf32> {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %n = arith.negf %score : f32
    attn.yield %n : f32
  }
  %u = attn.softcap %x at 4.0 : tensor<?x8x?x?xf32>
  %t = attn.scale %u by 0.125 : tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %t : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

// Grouped heads and cross-attention keep their shapes.
// CHECK-LABEL: func.func @grouped_cross
// CHECK: attn.attention ins({{.*}} : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x48xf32>)
// CHECK-SAME: -> tensor<?x8x?x48xf32>
func.func @grouped_cross(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %v: tensor<?x2x?x48xf32>) -> tensor<?x8x?x48xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<?x8x?x?xf32>, tensor<?x2x?x48xf32> -> tensor<?x8x?x48xf32>
  return %o : tensor<?x8x?x48xf32>
}

// -----

// 16-bit operands are fused: kernels widen them, scores are f32.
// CHECK-LABEL: func.func @half_types
// CHECK: attn.attention ins({{.*}} : tensor<1x1x?x8xf16>, tensor<1x1x?x8xbf16>, tensor<1x1x?x8xf16>)
// CHECK-SAME: -> tensor<1x1x?x8xf16>
func.func @half_types(%q: tensor<1x1x?x8xf16>, %k: tensor<1x1x?x8xbf16>, %v: tensor<1x1x?x8xf16>) -> tensor<1x1x?x8xf16> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf16>, tensor<1x1x?x8xbf16> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf16> -> tensor<1x1x?x8xf16>
  return %o : tensor<1x1x?x8xf16>
}

// -----

// causal(top_left) compares the absolute positions.
// CHECK-LABEL: func.func @causal_top_left
// CHECK: mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[VISIBLE:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT: attn.yield %[[VISIBLE]] : i1
func.func @causal_top_left(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s causal(top_left) : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// causal(bottom_right) adds the key count less the query count, known outside.
// CHECK-LABEL: func.func @causal_bottom_right
// CHECK-SAME: (%[[Q:.*]]: tensor<1x1x?x8xf32>, %[[K:.*]]: tensor<1x1x?x8xf32>)
// CHECK-DAG: %[[KEYS:.*]] = tensor.dim %[[K]], %{{.*}}
// CHECK-DAG: %[[QUERIES:.*]] = tensor.dim %[[Q]], %{{.*}}
// CHECK: %[[OFFSET:.*]] = arith.subi %[[KEYS]], %[[QUERIES]]
// CHECK: mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[D:.*]] = arith.addi %[[I]], %[[OFFSET]]
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[D]]
func.func @causal_bottom_right(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s causal(bottom_right) : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// One offset for all batch elements, cut where sums could overflow.
// CHECK-LABEL: func.func @causal_offset
// CHECK-SAME: %[[PAST:[^:]*]]: index)
// CHECK: mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[LOW:.*]] = arith.minsi %[[PAST]], %c1099511627776
// CHECK-NEXT: %[[CUT:.*]] = arith.maxsi %[[LOW]], %c-1099511627776
// CHECK-NEXT: %[[D:.*]] = arith.addi %[[I]], %[[CUT]]
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[D]]
func.func @causal_offset(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>, %past: index) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s causal(offset %past : index) : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// An offset a batch element is read by the element's index and sign-extended.
// CHECK-LABEL: func.func @causal_offset_per_batch
// CHECK-SAME: %[[PAST:[^:]*]]: tensor<?xi32>)
// CHECK: mask {
// CHECK-NEXT: ^bb0(%[[B:.*]]: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[E:.*]] = tensor.extract %[[PAST]][%[[B]]] : tensor<?xi32>
// CHECK-NEXT: %[[X:.*]] = arith.index_cast %[[E]] : i32 to index
// CHECK-NEXT: %[[D:.*]] = arith.addi %[[I]], %[[X]]
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[D]]
func.func @causal_offset_per_batch(%q: tensor<?x1x?x8xf32>, %k: tensor<?x1x?x8xf32>, %past: tensor<?xi32>) -> tensor<?x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32> -> tensor<?x1x?x?xf32>
  %p = attn.masked_softmax %s causal(offset %past : tensor<?xi32>) : tensor<?x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x1x?x?xf32>, tensor<?x1x?x8xf32> -> tensor<?x1x?x8xf32>
  return %o : tensor<?x1x?x8xf32>
}

// -----

// Both ends of a window are inclusive; a bidirectional window has two compares.
// CHECK-LABEL: func.func @window
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : index
// CHECK: mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[LEFT:.*]] = arith.subi %[[I]], %[[TWO]]
// CHECK-NEXT: %[[X:.*]] = arith.cmpi sge, %[[J]], %[[LEFT]]
// CHECK-NEXT: %[[RIGHT:.*]] = arith.addi %[[I]], %[[THREE]]
// CHECK-NEXT: %[[Y:.*]] = arith.cmpi sle, %[[J]], %[[RIGHT]]
// CHECK-NEXT: %[[Z:.*]] = arith.andi %[[X]], %[[Y]]
// CHECK-NEXT: attn.yield %[[Z]]
func.func @window(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s window[2, 3](top_left) : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// A window without ends hides nothing.
// CHECK-LABEL: func.func @window_unbounded
// CHECK: mask {
// CHECK: attn.yield %true
func.func @window_unbounded(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s window[-1, -1](top_left) : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// Lengths of type index need no cast.
// CHECK-LABEL: func.func @lengths_index
// CHECK-SAME: %[[N:[^:]*]]: tensor<?xindex>)
// CHECK: ^bb0(%[[B:.*]]: index, %{{.*}}: index, %{{.*}}: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[E:.*]] = tensor.extract %[[N]][%[[B]]] : tensor<?xindex>
// CHECK-NEXT: arith.cmpi slt, %[[J]], %[[E]]
func.func @lengths_index(%q: tensor<?x1x?x8xf32>, %k: tensor<?x1x?x8xf32>, %n: tensor<?xindex>) -> tensor<?x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32> -> tensor<?x1x?x?xf32>
  %p = attn.masked_softmax %s lengths(%n : tensor<?xindex>) : tensor<?x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x1x?x?xf32>, tensor<?x1x?x8xf32> -> tensor<?x1x?x8xf32>
  return %o : tensor<?x1x?x8xf32>
}

// -----

// 64-bit lengths are cast.
// CHECK-LABEL: func.func @lengths_i64
// CHECK: %[[E:.*]] = tensor.extract %{{.*}} : tensor<?xi64>
// CHECK-NEXT: %[[X:.*]] = arith.index_cast %[[E]] : i64 to index
// CHECK-NEXT: arith.cmpi slt, %{{.*}}, %[[X]]
func.func @lengths_i64(%q: tensor<?x1x?x8xf32>, %k: tensor<?x1x?x8xf32>, %n: tensor<?xi64>) -> tensor<?x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32> -> tensor<?x1x?x?xf32>
  %p = attn.masked_softmax %s lengths(%n : tensor<?xi64>) : tensor<?x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x1x?x?xf32>, tensor<?x1x?x8xf32> -> tensor<?x1x?x8xf32>
  return %o : tensor<?x1x?x8xf32>
}

// -----

// Broadcast extents of 1 read element 0, missing leading extents are skipped.
// CHECK-LABEL: func.func @mask_tensor_broadcast
// CHECK-SAME: %[[M:[^:]*]]: tensor<2x1x1x?xi1>)
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: ^bb0(%[[B:.*]]: index, %{{.*}}: index, %{{.*}}: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[E:.*]] = tensor.extract %[[M]][%[[B]], %[[ZERO]], %[[ZERO]], %[[J]]]
// CHECK-NEXT: attn.yield %[[E]]
func.func @mask_tensor_broadcast(%q: tensor<2x4x?x8xf32>, %k: tensor<2x4x?x8xf32>, %m: tensor<2x1x1x?xi1>) -> tensor<2x4x?x8xf32> {
  %s = attn.qk %q, %k : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32> -> tensor<2x4x?x?xf32>
  %p = attn.masked_softmax %s mask(%m : tensor<2x1x1x?xi1>) : tensor<2x4x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<2x4x?x?xf32>, tensor<2x4x?x8xf32> -> tensor<2x4x?x8xf32>
  return %o : tensor<2x4x?x8xf32>
}

// -----

// An element of a bias that is exactly -inf hides its pair; widening keeps that.
// CHECK-LABEL: func.func @bias_hides
// CHECK-SAME: %[[BIAS:[^:]*]]: tensor<?x?xf16>)
// CHECK: %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK: score {
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[E:.*]] = tensor.extract %[[BIAS]][%[[I]], %[[J]]]
// CHECK-NEXT: %[[W:.*]] = arith.extf %[[E]] : f16 to f32
// CHECK-NEXT: %[[V:.*]] = arith.cmpf une, %[[W]], %[[INF]]
// CHECK-NEXT: attn.yield %[[V]]
func.func @bias_hides(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>, %bias: tensor<?x?xf16>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %t = attn.bias %s, %bias : tensor<1x1x?x?xf32>, tensor<?x?xf16>
  %p = attn.masked_softmax %t : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// A prefix opens its keys to every row; a wide one is cut as offsets are.
// CHECK-LABEL: func.func @prefix
// CHECK-SAME: %[[P:[^:]*]]: tensor<?xi64>)
// CHECK: ^bb0(%[[B:.*]]: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[PAST:.*]] = arith.cmpi sle, %[[J]], %[[I]]
// CHECK-NEXT: %[[E:.*]] = tensor.extract %[[P]][%[[B]]]
// CHECK-NEXT: %[[X:.*]] = arith.index_cast %[[E]]
// CHECK-NEXT: %[[LOW:.*]] = arith.minsi %[[X]]
// CHECK-NEXT: %[[CUT:.*]] = arith.maxsi %[[LOW]]
// CHECK-NEXT: %[[IN:.*]] = arith.cmpi slt, %[[J]], %[[CUT]]
// CHECK-NEXT: %[[EITHER:.*]] = arith.ori %[[IN]], %[[PAST]]
// CHECK-NEXT: attn.yield %[[EITHER]]
func.func @prefix(%q: tensor<?x1x?x8xf32>, %k: tensor<?x1x?x8xf32>, %n: tensor<?xi64>) -> tensor<?x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32> -> tensor<?x1x?x?xf32>
  %p = attn.masked_softmax %s causal(top_left, prefix = %n : tensor<?xi64>) : tensor<?x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x1x?x?xf32>, tensor<?x1x?x8xf32> -> tensor<?x1x?x8xf32>
  return %o : tensor<?x1x?x8xf32>
}

// -----

// Segments are compared pair by pair, in their own type.
// CHECK-LABEL: func.func @segments
// CHECK-SAME: %[[A:[^:]*]]: tensor<?x?xi32>, %[[C:[^:]*]]: tensor<?x?xi32>)
// CHECK: ^bb0(%[[B:.*]]: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[X:.*]] = tensor.extract %[[A]][%[[B]], %[[I]]]
// CHECK-NEXT: %[[Y:.*]] = tensor.extract %[[C]][%[[B]], %[[J]]]
// CHECK-NEXT: %[[SAME:.*]] = arith.cmpi eq, %[[X]], %[[Y]] : i32
// CHECK-NEXT: attn.yield %[[SAME]]
func.func @segments(%q: tensor<?x1x?x8xf32>, %k: tensor<?x1x?x8xf32>, %a: tensor<?x?xi32>, %c: tensor<?x?xi32>) -> tensor<?x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<?x1x?x8xf32>, tensor<?x1x?x8xf32> -> tensor<?x1x?x?xf32>
  %p = attn.masked_softmax %s segments(%a, %c : tensor<?x?xi32>, tensor<?x?xi32>) : tensor<?x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x1x?x?xf32>, tensor<?x1x?x8xf32> -> tensor<?x1x?x8xf32>
  return %o : tensor<?x1x?x8xf32>
}

// -----

// All clauses together combine by and: causal, window, lengths, mask, bias,
// region.
// CHECK-LABEL: func.func @all_clauses
// CHECK: mask {
// CHECK: arith.cmpi sle
// CHECK: arith.cmpi sge
// CHECK: arith.andi
// CHECK: arith.cmpi slt
// CHECK: arith.andi
// CHECK: tensor.extract %{{.*}} : tensor<?x?xi1>
// CHECK: arith.andi
// CHECK: arith.cmpf une
// CHECK: arith.andi
// CHECK: arith.cmpi ne
// CHECK: %[[ALL:.*]] = arith.andi
// CHECK-NEXT: attn.yield %[[ALL]]
func.func @all_clauses(%q: tensor<?x2x?x8xf32>, %k: tensor<?x2x?x8xf32>, %n: tensor<?xi32>, %m: tensor<?x?xi1>, %bias: tensor<?x?xf32>) -> tensor<?x2x?x8xf32> {
  %s = attn.qk %q, %k : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x?xf32>
  %t = attn.bias %s, %bias : tensor<?x2x?x?xf32>, tensor<?x?xf32>
  %p = attn.masked_softmax %t causal(top_left) window[4, -1] lengths(%n : tensor<?xi32>) mask(%m : tensor<?x?xi1>) visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %other = arith.cmpi ne, %i, %j : index
    attn.yield %other : i1
  } : tensor<?x2x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %o : tensor<?x2x?x8xf32>
}

// -----

// A result whose heads are merged is written in the merged layout.
// CHECK-LABEL: func.func @merged_layout
// CHECK: %[[MERGED:.*]] = tensor.empty(%{{.*}}, %{{.*}}) : tensor<?x?x256xf32>
// CHECK: %[[INIT:.*]] = attn.split_heads %[[MERGED]] {num_heads = 8 : i64}
// CHECK: %[[O:.*]] = attn.attention {{.*}} outs(%[[INIT]] :
// CHECK: attn.merge_heads %[[O]]
func.func @merged_layout(%q: tensor<?x8x?x32xf32>, %k: tensor<?x8x?x32xf32>) -> tensor<?x?x256xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x32xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x32xf32>
  %y = attn.merge_heads %o : tensor<?x8x?x32xf32> -> tensor<?x?x256xf32>
  return %y : tensor<?x?x256xf32>
}

// -----

// A result with another user than the merge keeps its own layout.
// CHECK-LABEL: func.func @merged_and_used
// CHECK-NOT: attn.split_heads
// CHECK: tensor.empty(%{{.*}}, %{{.*}}) : tensor<?x8x?x32xf32>
func.func @merged_and_used(%q: tensor<?x8x?x32xf32>, %k: tensor<?x8x?x32xf32>) -> (tensor<?x?x256xf32>, tensor<?x8x?x32xf32>) {
  %s = attn.qk %q, %k : tensor<?x8x?x32xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x32xf32>
  %y = attn.merge_heads %o : tensor<?x8x?x32xf32> -> tensor<?x?x256xf32>
  return %y, %o : tensor<?x?x256xf32>, tensor<?x8x?x32xf32>
}

// -----

// Two chains in one function, the second over the result of the first.
// CHECK-LABEL: func.func @two_layers
// CHECK: %[[O:.*]] = attn.attention
// CHECK: attn.attention ins(%[[O]],
// CHECK-NOT: attn.qk
func.func @two_layers(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  %s2 = attn.qk %o, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p2 = attn.masked_softmax %s2 : tensor<1x1x?x?xf32>
  %o2 = attn.weighted_sum %p2, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o2 : tensor<1x1x?x8xf32>
}

// -----

// A sink is an operand of the fused op; it hides nothing.
// CHECK-LABEL: func.func @sink
// CHECK: attn.attention {{.*}} scale 1.000000e+00 sink(%{{.*}} : tensor<8xbf16>) -> tensor<1x8x?x8xf32>
func.func @sink(%q: tensor<1x8x?x8xf32>, %sink: tensor<8xbf16>) -> tensor<1x8x?x8xf32> {
  %s = attn.qk %q, %q : tensor<1x8x?x8xf32>, tensor<1x8x?x8xf32> -> tensor<1x8x?x?xf32>
  %p = attn.masked_softmax %s sink(%sink : tensor<8xbf16>) : tensor<1x8x?x?xf32>
  %o = attn.weighted_sum %p, %q : tensor<1x8x?x?xf32>, tensor<1x8x?x8xf32> -> tensor<1x8x?x8xf32>
  return %o : tensor<1x8x?x8xf32>
}

// -----

// Programs on weights follow the softmax, in order.
// CHECK-LABEL: func.func @probability
// CHECK: attn.attention {{.*}} scale 1.000000e+00 probability {
// CHECK-NEXT: ^bb0(%[[P:.*]]: f32, %{{.*}}: index, %[[H:.*]]: index, %{{.*}}: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[G:.*]] = tensor.extract %{{.*}}[%[[H]], %[[J]]] : tensor<8x?xf32>
// CHECK-NEXT: %[[X:.*]] = arith.mulf %[[P]], %[[G]]
// CHECK-NEXT: %[[Y:.*]] = arith.negf %[[X]]
// CHECK-NEXT: attn.yield %[[Y]] : f32
func.func @probability(%q: tensor<1x8x?x8xf32>, %gate: tensor<8x?xf32>) -> tensor<1x8x?x8xf32> {
  %s = attn.qk %q, %q : tensor<1x8x?x8xf32>, tensor<1x8x?x8xf32> -> tensor<1x8x?x?xf32>
  %p = attn.masked_softmax %s : tensor<1x8x?x?xf32>
  %v = attn.probability_map %p : tensor<1x8x?x?xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %g = tensor.extract %gate[%h, %j] : tensor<8x?xf32>
    %y = arith.mulf %x, %g : f32
    attn.yield %y : f32
  }
  %w = attn.probability_map %v : tensor<1x8x?x?xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %y = arith.negf %x : f32
    attn.yield %y : f32
  }
  %o = attn.weighted_sum %w, %q : tensor<1x8x?x?xf32>, tensor<1x8x?x8xf32> -> tensor<1x8x?x8xf32>
  return %o : tensor<1x8x?x8xf32>
}

// -----

// A sigmoid ends the score program: its results are the weights. What follows
// it does too, and leaves scores of -inf at 0.
// CHECK-LABEL: func.func @sigmoid
// CHECK: attn.attention {{.*}} scale 5.000000e-01 unnormalized score {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32,
// CHECK-NEXT: %[[T:.*]] = arith.mulf %[[S]], %{{.*}} : f32
// CHECK-NEXT: %[[E:.*]] = math.exp2 %[[T]] : f32
// CHECK-NEXT: %[[D:.*]] = arith.addf %[[E]], %{{.*}} : f32
// CHECK-NEXT: %[[W:.*]] = arith.divf %{{.*}}, %[[D]] : f32
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[W]] : f32
// CHECK-NEXT: %[[HIDDEN:.*]] = arith.cmpf oeq, %[[S]], %{{.*}} : f32
// CHECK-NEXT: %[[R:.*]] = arith.select %[[HIDDEN]], %{{.*}}, %[[N]] : f32
// CHECK-NEXT: attn.yield %[[R]] : f32
// CHECK: mask {
func.func @sigmoid(%q: tensor<1x8x?x8xf32>) -> tensor<1x8x?x8xf32> {
  %s = attn.qk %q, %q : tensor<1x8x?x8xf32>, tensor<1x8x?x8xf32> -> tensor<1x8x?x?xf32>
  %t = attn.scale %s by 0.5 : tensor<1x8x?x?xf32>
  %p = attn.masked_softmax %t causal(top_left) normalizer(sigmoid) : tensor<1x8x?x?xf32>
  %w = attn.probability_map %p : tensor<1x8x?x?xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %y = arith.negf %x : f32
    attn.yield %y : f32
  }
  %o = attn.weighted_sum %w, %q : tensor<1x8x?x?xf32>, tensor<1x8x?x8xf32> -> tensor<1x8x?x8xf32>
  return %o : tensor<1x8x?x8xf32>
}

// -----

// Empty rows of NaN are put where the log-sum-exp is -inf, if there are keys.
// CHECK-LABEL: func.func @nan_rows
// CHECK: %[[KEYS:.*]] = tensor.dim %{{.*}}, %c2 : tensor<1x8x?x8xbf16>
// CHECK: %[[A:.*]]:2 = attn.attention {{.*}} mask {
// CHECK: } -> tensor<1x8x?x8xbf16>, tensor<1x8x?xf32>
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %[[KEYS]], %c0 : index
// CHECK: %[[O:.*]] = linalg.generic {{.*}} ins(%[[A]]#1 : tensor<1x8x?xf32>) outs(%[[A]]#0 : tensor<1x8x?x8xbf16>)
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %{{.*}} : f32
// CHECK: %[[ROW:.*]] = arith.andi %[[EMPTY]], %[[SOME]] : i1
// CHECK: arith.select %[[ROW]], %{{.*}}, %{{.*}} : bf16
// CHECK: return %[[O]]
func.func @nan_rows(%q: tensor<1x8x?x8xbf16>, %k: tensor<1x8x?x8xbf16>) -> tensor<1x8x?x8xbf16> {
  %s = attn.qk %q, %k : tensor<1x8x?x8xbf16>, tensor<1x8x?x8xbf16> -> tensor<1x8x?x?xf32>
  %p = attn.masked_softmax %s causal(bottom_right) empty_row(nan) : tensor<1x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x8x?x?xf32>, tensor<1x8x?x8xbf16> -> tensor<1x8x?x8xbf16>
  return %o : tensor<1x8x?x8xbf16>
}

// -----

// A program on weights makes hidden pairs 0, so that no row is NaN.
// CHECK-LABEL: func.func @nan_rows_mapped
// CHECK: attn.attention {{.*}} mask {
// CHECK: } probability {
// CHECK: } -> tensor<1x8x?x8xf32>
// CHECK-NEXT: return
func.func @nan_rows_mapped(%q: tensor<1x8x?x8xf32>) -> tensor<1x8x?x8xf32> {
  %s = attn.qk %q, %q : tensor<1x8x?x8xf32>, tensor<1x8x?x8xf32> -> tensor<1x8x?x?xf32>
  %p = attn.masked_softmax %s window[1, 1](bottom_right) empty_row(nan) : tensor<1x8x?x?xf32>
  %w = attn.probability_map %p : tensor<1x8x?x?xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %y = arith.negf %x : f32
    attn.yield %y : f32
  }
  %o = attn.weighted_sum %w, %q : tensor<1x8x?x?xf32>, tensor<1x8x?x8xf32> -> tensor<1x8x?x8xf32>
  return %o : tensor<1x8x?x8xf32>
}

// -----

// A dropout is a program on weights: a random word for the pair, a comparison,
// and a product with something that does not depend on the weight.
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[SEED:[^:]*]]: i64
// CHECK: attn.attention {{.*}} probability {
// CHECK-NEXT: ^bb0(%[[P:.*]]: f32, %{{.*}}: index
// CHECK: arith.trunci %[[SEED]] : i64 to i32
// CHECK-COUNT-29: arith.mului_extended
// CHECK-NOT: arith.mului_extended
// CHECK: %[[KEPT:.*]] = arith.cmpi uge, %{{.*}}, %{{.*}} : i32
// CHECK: %[[SCALED:.*]] = arith.mulf %[[P]], %{{.*}} : f32
// CHECK: %[[R:.*]] = arith.select %[[KEPT]], %[[SCALED]], %{{.*}} : f32
// CHECK: attn.yield %[[R]] : f32
func.func @dropout(%q: tensor<1x8x?x8xf32>, %seed: i64) -> tensor<1x8x?x8xf32> {
  %s = attn.qk %q, %q : tensor<1x8x?x8xf32>, tensor<1x8x?x8xf32> -> tensor<1x8x?x?xf32>
  %p = attn.masked_softmax %s : tensor<1x8x?x?xf32>
  %w = attn.dropout %p rate 0.25 seed(%seed) : tensor<1x8x?x?xf32>
  %o = attn.weighted_sum %w, %q : tensor<1x8x?x?xf32>, tensor<1x8x?x8xf32> -> tensor<1x8x?x8xf32>
  return %o : tensor<1x8x?x8xf32>
}

// -----

// Additive scores: the weight is an operand, the scale that follows the op's.
// CHECK-LABEL: func.func @additive
// CHECK: attn.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : {{.*}}) outs({{.*}}) scale 5.000000e-01 additive(%{{.*}} : tensor<8xf32>) score {
// CHECK: math.tanh
// CHECK: mask {
func.func @additive(%q: tensor<1x8x?x8xf32>, %w: tensor<8xf32>) -> tensor<1x8x?x8xf32> {
  %s = attn.additive_scores %q, %q, %w : tensor<1x8x?x8xf32>, tensor<1x8x?x8xf32>, tensor<8xf32> -> tensor<1x8x?x?xf32>
  %t = attn.scale %s by 0.5 : tensor<1x8x?x?xf32>
  %u = attn.softcap %t at 4.0 : tensor<1x8x?x?xf32>
  %p = attn.masked_softmax %u causal(top_left) : tensor<1x8x?x?xf32>
  %o = attn.weighted_sum %p, %q : tensor<1x8x?x?xf32>, tensor<1x8x?x8xf32> -> tensor<1x8x?x8xf32>
  return %o : tensor<1x8x?x8xf32>
}

// -----

// Nobody but the mask asks for whole keys, and only for their number.
// CHECK-LABEL: func.func @pages
// CHECK-SAME: %[[TABLE:[^:]*]]: tensor<?x?xi32>
// CHECK-NOT: attn.gather_pages
// CHECK: %[[COUNT:.*]] = tensor.dim %[[TABLE]], %c1
// CHECK: arith.muli %[[COUNT]], %c16
// CHECK: attn.attention {{.*}} table(%[[TABLE]] : tensor<?x?xi32>)
// CHECK-NOT: attn.gather_pages
func.func @pages(%table: tensor<?x?xi32>, %q: tensor<?x8x?x64xf32>, %pages: tensor<?x8x16x64xf32>) -> tensor<?x8x?x64xf32> {
  %k = attn.gather_pages %pages, %table : tensor<?x8x16x64xf32>, tensor<?x?xi32> -> tensor<?x8x?x64xf32>
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s causal(bottom_right) : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

// Scores of f64: programs are f64, and what they read is widened, once for both.
// CHECK-LABEL: func.func @double
// CHECK: attn.attention ins(%{{.*}} : tensor<1x1x?x8xf64>, tensor<1x1x?x8xf64>, tensor<1x1x?x8xf32>)
// CHECK-SAME: scale 2.500000e-01 score {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f64,
// CHECK-NEXT: %[[E:.*]] = tensor.extract %{{.*}} : tensor<?x?xf32>
// CHECK-NEXT: %[[X:.*]] = arith.extf %[[E]] : f32 to f64
// CHECK-NEXT: arith.addf %[[S]], %[[X]] : f64
// CHECK: mask {
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK-NEXT: arith.cmpf une, %{{.*}} : f64
// CHECK: -> tensor<1x1x?x8xf32>
func.func @double(%q: tensor<1x1x?x8xf64>, %k: tensor<1x1x?x8xf64>, %v: tensor<1x1x?x8xf32>, %bias: tensor<?x?xf32>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf64>, tensor<1x1x?x8xf64> -> tensor<1x1x?x?xf64>
  %t = attn.scale %s by 0.25 : tensor<1x1x?x?xf64>
  %u = attn.bias %t, %bias : tensor<1x1x?x?xf64>, tensor<?x?xf32>
  %p = attn.masked_softmax %u : tensor<1x1x?x?xf64>
  %o = attn.weighted_sum %p, %v : tensor<1x1x?x?xf64>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}
