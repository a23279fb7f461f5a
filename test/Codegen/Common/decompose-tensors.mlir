// Elementwise ops on tensors, concatenations and ops that stand for several reach
// bufferisation as ops that have one.

// RUN: attn-opt %s --attn-decompose-tensors | FileCheck %s

// CHECK-LABEL: func.func @elementwise
// CHECK: linalg.generic
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
func.func @elementwise(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %r = arith.addf %x, %y : tensor<?xf32>
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func.func @concat
// CHECK-NOT: tensor.concat
// CHECK: tensor.insert_slice %{{.*}}[0] [2] [1] : tensor<2xf32> into tensor<5xf32>
// CHECK: tensor.insert_slice %{{.*}}[2] [3] [1] : tensor<3xf32> into tensor<5xf32>
func.func @concat(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %r = tensor.concat dim(0) %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// Scalars are left alone.
// CHECK-LABEL: func.func @scalar
// CHECK-NOT: linalg
// CHECK: arith.addf
func.func @scalar(%x: f32) -> f32 {
  %r = arith.addf %x, %x : f32
  return %r : f32
}

// An op that stands for several.
// CHECK-LABEL: func.func @softmax
// CHECK-NOT: linalg.softmax
// CHECK: math.exp
// CHECK: arith.divf
func.func @softmax(%x: tensor<?x8xf32>, %init: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %r = linalg.softmax dimension(1) ins(%x : tensor<?x8xf32>) outs(%init : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
