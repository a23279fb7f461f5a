// Weights behind statistics, and the scores of their softmax, are returned after
// what the function returns, once, and described as what they are.

// RUN: attn-opt %s --attn-return-weights --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-return-weights --attn-generate-shape-functions --split-input-file | FileCheck %s --check-prefix=INFO

!s = tensor<1x2x4x6xf32>
!row = tensor<1x2x4xf32>

// CHECK-LABEL: func.func @mapped
// CHECK-SAME: (%[[S:.*]]: tensor<1x2x4x6xf32>{{.*}}) -> (tensor<8xf32>, tensor<1x2x4xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4x6xf32>)
// CHECK: %[[P:.*]] = attn.probability_map
// CHECK: return %{{.*}}, %{{.*}}, %[[P]], %[[S]] :
// INFO: \22scores\22:3,\22shape\22:[8],\22type\22:\22f32\22,\22weights\22:2
// INFO-SAME: \22scores\22:3,\22shape\22:[1,2,4],\22type\22:\22f32\22,\22weights\22:2
func.func @mapped(%s: !s) -> (tensor<8xf32>, !row) {
  %p = attn.masked_softmax %s : !s
  %w = attn.probability_map %p : !s {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %0 = arith.mulf %x, %x : f32
    attn.yield %0 : f32
  }
  %m, %e = attn.weight_stats %w row_max entropy : !s -> !row, !row
  %flat = tensor.collapse_shape %m [[0, 1, 2]] : !row into tensor<8xf32>
  return %flat, %e : tensor<8xf32>, !row
}

// -----

// Weights of a sigmoid have no log-sum-exp; those that are a result already are
// not returned again.
// CHECK-LABEL: func.func @sigmoid
// CHECK-SAME: -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>) {
// INFO-NOT: scores
// INFO: \22weights\22:0
func.func @sigmoid(%s: tensor<1x2x4x6xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>) {
  %p = attn.masked_softmax %s normalizer(sigmoid) : tensor<1x2x4x6xf32>
  %m = attn.weight_stats %p row_max : tensor<1x2x4x6xf32> -> tensor<1x2x4xf32>
  return %p, %m : tensor<1x2x4x6xf32>, tensor<1x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @no_statistics
// CHECK-SAME: -> tensor<1x2x4x6xf32> {
func.func @no_statistics(%s: tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf32> {
  %p = attn.masked_softmax %s : tensor<1x2x4x6xf32>
  return %p : tensor<1x2x4x6xf32>
}
