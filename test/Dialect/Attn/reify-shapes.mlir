// Extents of results in terms of the operands.

// RUN: attn-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @split_heads
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x384xf32>)
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG: %[[S:.*]] = tensor.dim %[[X]], %c1
// CHECK: return %[[B]], %c12, %[[S]], %c32
func.func @split_heads(%x: tensor<?x?x384xf32>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %0 = attn.split_heads %x {num_heads = 12} : tensor<?x?x384xf32> -> tensor<?x?x?x?xf32>
  %b = tensor.dim %0, %c0 : tensor<?x?x?x?xf32>
  %h = tensor.dim %0, %c1 : tensor<?x?x?x?xf32>
  %s = tensor.dim %0, %c2 : tensor<?x?x?x?xf32>
  %d = tensor.dim %0, %c3 : tensor<?x?x?x?xf32>
  return %b, %h, %s, %d : index, index, index, index
}

// CHECK-LABEL: func.func @merge_heads
// CHECK-SAME: (%[[X:.*]]: tensor<?x12x?x32xf32>)
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[X]], %c0
// CHECK-DAG: %[[S:.*]] = tensor.dim %[[X]], %c2
// CHECK: return %[[B]], %[[S]], %c384
func.func @merge_heads(%x: tensor<?x12x?x32xf32>) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %0 = attn.merge_heads %x : tensor<?x12x?x32xf32> -> tensor<?x?x?xf32>
  %b = tensor.dim %0, %c0 : tensor<?x?x?xf32>
  %s = tensor.dim %0, %c1 : tensor<?x?x?xf32>
  %d = tensor.dim %0, %c2 : tensor<?x?x?xf32>
  return %b, %s, %d : index, index, index
}

// The whole chain: [B, Hq, Sq] from the query, Skv from the key, D from the value.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[Q:.*]]: tensor<?x?x?x64xf32>, %[[K:.*]]: tensor<?x?x?x64xf32>, %[[V:.*]]: tensor<?x?x?x32xf32>
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[Q]], %c0
// CHECK-DAG: %[[H:.*]] = tensor.dim %[[Q]], %c1
// CHECK-DAG: %[[SQ:.*]] = tensor.dim %[[Q]], %c2
// CHECK-DAG: %[[SKV:.*]] = tensor.dim %[[K]], %c2
// CHECK: return %[[B]], %[[H]], %[[SQ]], %[[SKV]], %c32
func.func @chain(%q: tensor<?x?x?x64xf32>, %k: tensor<?x?x?x64xf32>, %v: tensor<?x?x?x32xf32>,
                 %bias: tensor<f32>) -> (index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %r = attn.rope %q half rotary_dim 64 : tensor<?x?x?x64xf32>
  %0 = attn.qk %r, %k : tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32> -> tensor<?x?x?x?xf32>
  %1 = attn.scale %0 by 0.5 : tensor<?x?x?x?xf32>
  %2 = attn.softcap %1 at 0.5 : tensor<?x?x?x?xf32>
  %3 = attn.bias %2, %bias : tensor<?x?x?x?xf32>, tensor<f32>
  %4 = attn.score_map %3 : tensor<?x?x?x?xf32> {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %score : f32
  }
  %5 = attn.masked_softmax %4 : tensor<?x?x?x?xf32>
  %6 = attn.weighted_sum %5, %v : tensor<?x?x?x?xf32>, tensor<?x?x?x32xf32> -> tensor<?x?x?x?xf32>
  %b = tensor.dim %6, %c0 : tensor<?x?x?x?xf32>
  %h = tensor.dim %6, %c1 : tensor<?x?x?x?xf32>
  %sq = tensor.dim %6, %c2 : tensor<?x?x?x?xf32>
  %skv = tensor.dim %5, %c3 : tensor<?x?x?x?xf32>
  %d = tensor.dim %6, %c3 : tensor<?x?x?x?xf32>
  return %b, %h, %sq, %skv, %d : index, index, index, index, index
}

// The fused op has the shapes of its outputs.
// CHECK-LABEL: func.func @attention
// CHECK-SAME: %[[O:[^:]*]]: tensor<?x8x?x64xf32>, %[[LSE:[^:]*]]: tensor<?x8x?xf32>)
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[O]], %c0
// CHECK-DAG: %[[S:.*]] = tensor.dim %[[LSE]], %c2
// CHECK: return %[[B]], %[[S]]
func.func @attention(%q: tensor<?x8x?x64xf32>, %o: tensor<?x8x?x64xf32>, %lse: tensor<?x8x?xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %0:2 = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>)
      outs(%o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) scale 0.125 -> tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
  %b = tensor.dim %0#0, %c0 : tensor<?x8x?x64xf32>
  %s = tensor.dim %0#1, %c2 : tensor<?x8x?xf32>
  return %b, %s : index, index
}

// Tables that are made of a size.
// CHECK-LABEL: func.func @tables
// CHECK-SAME: (%[[CU:.*]]: tensor<?xi32>, %[[N:.*]]: index)
// CHECK: return %[[N]], %c5, %c1, %[[N]], %c1, %c12
func.func @tables(%cu: tensor<?xi32>, %n: index) -> (index, index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = attn.sinusoidal rows(%n) : tensor<?x5xf32>
  %1 = attn.sequence_ids %cu length(%n) : tensor<?xi32> -> tensor<1x?xi32>
  %2 = attn.sequence_positions %cu : tensor<?xi32> -> tensor<1x12xi32>
  %a = tensor.dim %0, %c0 : tensor<?x5xf32>
  %b = tensor.dim %0, %c1 : tensor<?x5xf32>
  %c = tensor.dim %1, %c0 : tensor<1x?xi32>
  %d = tensor.dim %1, %c1 : tensor<1x?xi32>
  %e = tensor.dim %2, %c0 : tensor<1x12xi32>
  %f = tensor.dim %2, %c1 : tensor<1x12xi32>
  return %a, %b, %c, %d, %e, %f : index, index, index, index, index, index
}

// Statistics have the extents of the weights' rows or columns.
// CHECK-LABEL: func.func @weight_stats
// CHECK-SAME: (%[[P:.*]]: tensor<?x8x?x?xf32>)
// CHECK: %[[KEYS:.*]] = tensor.dim %[[P]], %c3
// CHECK: %[[ROWS:.*]] = tensor.dim %[[P]], %c2
// CHECK: %[[PLACES:.*]] = tensor.dim %[[P]], %c2
// CHECK: return %[[KEYS]], %[[ROWS]], %c4, %[[PLACES]]
func.func @weight_stats(%p: tensor<?x8x?x?xf32>) -> (index, index, index, index) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c, %m, %w, %i = attn.weight_stats %p column_sums row_max top_k 4 : tensor<?x8x?x?xf32>
    -> tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xi32>
  %a = tensor.dim %c, %c2 : tensor<?x8x?xf32>
  %b = tensor.dim %m, %c2 : tensor<?x8x?xf32>
  %d = tensor.dim %w, %c3 : tensor<?x8x?x4xf32>
  %e = tensor.dim %i, %c2 : tensor<?x8x?x4xi32>
  return %a, %b, %d, %e : index, index, index, index
}

// CHECK-LABEL: func.func @linear_attention
// CHECK-SAME: %[[O:[^ ]*]]: tensor<?x4x?x16xf32>, %[[S:[^ ]*]]: tensor<?x2x16x16xf32>)
// CHECK-DAG: %[[T:.*]] = tensor.dim %[[O]], %c2
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[S]], %c0
// CHECK: return %[[T]], %[[B]]
func.func @linear_attention(%q: tensor<?x4x?x16xf32>, %k: tensor<?x2x?x16xf32>, %o: tensor<?x4x?x16xf32>, %s: tensor<?x2x16x16xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %0:2 = attn.linear_attention ins(%q, %k, %k : tensor<?x4x?x16xf32>, tensor<?x2x?x16xf32>, tensor<?x2x?x16xf32>) outs(%o, %s : tensor<?x4x?x16xf32>, tensor<?x2x16x16xf32>) scale 1.0 -> tensor<?x4x?x16xf32>, tensor<?x2x16x16xf32>
  %t = tensor.dim %0#0, %c2 : tensor<?x4x?x16xf32>
  %b = tensor.dim %0#1, %c0 : tensor<?x2x16x16xf32>
  return %t, %b : index, index
}
