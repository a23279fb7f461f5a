// Two results that begin as equal tensors are computed each in its own, by the
// fast path and by the twin.

// RUN: attn-run %s --input=ones --input=ones --input=zeros | FileCheck %s
// RUN: attn-run %s --twin --input=ones --input=ones --input=zeros | FileCheck %s

// CHECK: result 0: {{.*}} min 2, max 2
// CHECK: result 1: {{.*}} min 0, max 0
func.func @two_scores(%q: tensor<1x1x2x2xf32>, %k: tensor<1x1x2x2xf32>, %l: tensor<1x1x2x2xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  %a = attn.qk %q, %k : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32> -> tensor<1x1x2x2xf32>
  %b = attn.qk %q, %l : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32> -> tensor<1x1x2x2xf32>
  return %a, %b : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}
