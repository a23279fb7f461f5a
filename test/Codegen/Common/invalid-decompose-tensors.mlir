// RUN: attn-opt %s --attn-decompose-tensors --verify-diagnostics

func.func @integers(%x: tensor<5x8xi32>, %init: tensor<5x8xi32>) -> tensor<5x8xi32> {
  // expected-error @below {{'linalg.softmax' op has no code for 'tensor<5x8xi32>'}}
  %r = linalg.softmax dimension(1) ins(%x : tensor<5x8xi32>) outs(%init : tensor<5x8xi32>) -> tensor<5x8xi32>
  return %r : tensor<5x8xi32>
}
