// A schedule written by hand is left alone.

// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=x86-64-v4},func.func(attn-select-schedule))' | FileCheck %s

// CHECK-LABEL: func.func @by_hand
// CHECK: attn.attention {{.*}} schedule(<kernel = queries_in_lanes, tile = [128, 7], registers = [3, 1], lanes = 16>)
// CHECK: linalg.matmul {attn.schedule = #attn.schedule<kernel = gemm, tile = [5, 32], registers = [2, 2], lanes = 16>}
func.func @by_hand(%q: tensor<?x8x?x64xf32>, %init: tensor<?x8x?x64xf32>, %a: tensor<32x32xf32>, %c: tensor<32x32xf32>) -> (tensor<?x8x?x64xf32>, tensor<32x32xf32>) {
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%init : tensor<?x8x?x64xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [128, 7], registers = [3, 1], lanes = 16>) -> tensor<?x8x?x64xf32>
  %d = linalg.matmul {attn.schedule = #attn.schedule<kernel = gemm, tile = [5, 32], registers = [2, 2], lanes = 16>} ins(%a, %a : tensor<32x32xf32>, tensor<32x32xf32>) outs(%c : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %o, %d : tensor<?x8x?x64xf32>, tensor<32x32xf32>
}
