// Folds and canonicalisations, and for each one that must not fire.

// RUN: attn-opt %s --canonicalize | FileCheck %s

// Splitting what was merged from such heads gives the heads back.
// CHECK-LABEL: func.func @split_of_merge
// CHECK-SAME: (%[[X:.*]]: tensor<?x12x?x32xf32>)
// CHECK-NEXT: return %[[X]]
func.func @split_of_merge(%x: tensor<?x12x?x32xf32>) -> tensor<?x12x?x32xf32> {
  %0 = attn.merge_heads %x : tensor<?x12x?x32xf32> -> tensor<?x?x384xf32>
  %1 = attn.split_heads %0 {num_heads = 12} : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
  return %1 : tensor<?x12x?x32xf32>
}

// Other heads are other values.
// CHECK-LABEL: func.func @split_of_merge_other_heads
// CHECK: attn.merge_heads
// CHECK: attn.split_heads
func.func @split_of_merge_other_heads(%x: tensor<?x12x?x32xf32>) -> tensor<?x6x?x64xf32> {
  %0 = attn.merge_heads %x : tensor<?x12x?x32xf32> -> tensor<?x?x384xf32>
  %1 = attn.split_heads %0 {num_heads = 6} : tensor<?x?x384xf32> -> tensor<?x6x?x64xf32>
  return %1 : tensor<?x6x?x64xf32>
}

// Types that forget their heads do not hide them.
// CHECK-LABEL: func.func @split_of_merge_forgotten_heads
// CHECK: attn.merge_heads
// CHECK: attn.split_heads
func.func @split_of_merge_forgotten_heads(%x: tensor<?x12x?x32xf32>) -> tensor<?x?x?x?xf32> {
  %0 = attn.merge_heads %x : tensor<?x12x?x32xf32> -> tensor<?x?x384xf32>
  %1 = attn.split_heads %0 {num_heads = 6} : tensor<?x?x384xf32> -> tensor<?x?x?x?xf32>
  return %1 : tensor<?x?x?x?xf32>
}

// CHECK-LABEL: func.func @merge_of_split
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x384xf32>)
// CHECK-NEXT: return %[[X]]
func.func @merge_of_split(%x: tensor<?x?x384xf32>) -> tensor<?x?x384xf32> {
  %0 = attn.split_heads %x {num_heads = 12} : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
  %1 = attn.merge_heads %0 : tensor<?x12x?x32xf32> -> tensor<?x?x384xf32>
  return %1 : tensor<?x?x384xf32>
}

// CHECK-LABEL: func.func @scale_by_one
// CHECK-SAME: (%[[X:.*]]: tensor<?x8x?x?xf32>)
// CHECK-NEXT: return %[[X]]
func.func @scale_by_one(%x: tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32> {
  %0 = attn.scale %x by 1.0 : tensor<?x8x?x?xf32>
  return %0 : tensor<?x8x?x?xf32>
}

// A factor of 0 makes zeros of finite scores only.
// CHECK-LABEL: func.func @scale_by_zero
// CHECK: attn.scale %{{.*}} by 0.000000e+00
func.func @scale_by_zero(%x: tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32> {
  %0 = attn.scale %x by 0.0 : tensor<?x8x?x?xf32>
  return %0 : tensor<?x8x?x?xf32>
}

// CHECK-LABEL: func.func @scale_of_scale
// CHECK-NEXT: attn.scale %{{.*}} by -1.250000e-01
// CHECK-NEXT: return
func.func @scale_of_scale(%x: tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32> {
  %0 = attn.scale %x by 0.25 : tensor<?x8x?x?xf32>
  %1 = attn.scale %0 by -0.5 : tensor<?x8x?x?xf32>
  return %1 : tensor<?x8x?x?xf32>
}

// Scores that something else reads are kept.
// CHECK-LABEL: func.func @scale_of_shared_scale
// CHECK: attn.scale %{{.*}} by 2.500000e-01
// CHECK: attn.scale %{{.*}} by 5.000000e-01
func.func @scale_of_shared_scale(%x: tensor<?x8x?x?xf32>) -> (tensor<?x8x?x?xf32>, tensor<?x8x?x?xf32>) {
  %0 = attn.scale %x by 0.25 : tensor<?x8x?x?xf32>
  %1 = attn.scale %0 by 0.5 : tensor<?x8x?x?xf32>
  return %0, %1 : tensor<?x8x?x?xf32>, tensor<?x8x?x?xf32>
}

// The product of the factors is not finite: both stay.
// CHECK-LABEL: func.func @scale_of_scale_overflow
// CHECK: attn.scale %{{.*}} by 1.000000e+300
// CHECK: attn.scale %{{.*}} by 1.000000e+300
func.func @scale_of_scale_overflow(%x: tensor<?x8x?x?xf64>) -> tensor<?x8x?x?xf64> {
  %0 = attn.scale %x by 1.0e300 : tensor<?x8x?x?xf64>
  %1 = attn.scale %0 by 1.0e300 : tensor<?x8x?x?xf64>
  return %1 : tensor<?x8x?x?xf64>
}

// Ops on tensors have no side effects: unused ones go, whatever their regions.
// CHECK-LABEL: func.func @unused
// CHECK-NEXT: return
func.func @unused(%s: tensor<1x8x4x4xf32>, %q: tensor<1x8x4x64xf32>) {
  %0 = attn.score_map %s : tensor<1x8x4x4xf32> {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.addf %score, %score : f32
    attn.yield %x : f32
  }
  %1 = attn.masked_softmax %0 causal(top_left) : tensor<1x8x4x4xf32>
  %2 = attn.attention ins(%q, %q, %q : tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>, tensor<1x8x4x64xf32>)
      outs(%q : tensor<1x8x4x64xf32>) scale 0.125 -> tensor<1x8x4x64xf32>
  return
}

// The same op on memrefs writes its output.
// CHECK-LABEL: func.func @unused_on_memrefs
// CHECK: attn.attention
func.func @unused_on_memrefs(%q: memref<1x8x4x64xf32>) {
  attn.attention ins(%q, %q, %q : memref<1x8x4x64xf32>, memref<1x8x4x64xf32>, memref<1x8x4x64xf32>)
      outs(%q : memref<1x8x4x64xf32>) scale 0.125
  return
}

// A dropout that leaves out nothing.
// CHECK-LABEL: func.func @dropout_of_nothing
// CHECK-SAME: %[[P:[^:]*]]: tensor<?x8x?x?xf32>
// CHECK-NEXT: return %[[P]]
func.func @dropout_of_nothing(%p: tensor<?x8x?x?xf32>, %seed: i64) -> tensor<?x8x?x?xf32> {
  %w = attn.dropout %p rate 0.0 seed(%seed) : tensor<?x8x?x?xf32>
  return %w : tensor<?x8x?x?xf32>
}
