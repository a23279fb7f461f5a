// Casts in programs have a form on lanes, wherever the narrow floats come from:
// per key in decoding, per distance in prefill.

// RUN: attn-opt %s --attn-compile-to=vector --target=x86-64-v4 | FileCheck %s
// RUN: attn-opt %s --attn-compile-to=vector --target=x86-64-v3 | FileCheck %s

// CHECK-LABEL: func.func private @decode_task_0
// CHECK: arith.extf {{.*}} : vector<{{16|8}}xf16> to vector<{{16|8}}xf32>
func.func @decode(%q: tensor<1x4x1x64xf32>, %k: tensor<1x4x?x64xf32>, %bias: tensor<4x1x?xf16>) -> tensor<1x4x1x64xf32> {
  %s = attn.qk %q, %k : tensor<1x4x1x64xf32>, tensor<1x4x?x64xf32> -> tensor<1x4x1x?xf32>
  %t = attn.bias %s, %bias : tensor<1x4x1x?xf32>, tensor<4x1x?xf16>
  %p = attn.masked_softmax %t : tensor<1x4x1x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x4x1x?xf32>, tensor<1x4x?x64xf32> -> tensor<1x4x1x64xf32>
  return %o : tensor<1x4x1x64xf32>
}

// CHECK-LABEL: func.func private @by_distance_task_0
// CHECK: arith.extf {{.*}} : vector<{{16|8}}xbf16> to vector<{{16|8}}xf32>
func.func @by_distance(%q: tensor<1x4x?x64xf32>, %k: tensor<1x4x?x64xf32>, %bias: tensor<4x?xbf16>) -> tensor<1x4x?x64xf32> {
  %s = attn.qk %q, %k : tensor<1x4x?x64xf32>, tensor<1x4x?x64xf32> -> tensor<1x4x?x?xf32>
  %t = attn.score_map %s : tensor<1x4x?x?xf32> {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %d = arith.subi %i, %j : index
    %x = tensor.extract %bias[%h, %d] : tensor<4x?xbf16>
    %y = arith.extf %x : bf16 to f32
    %z = arith.addf %score, %y : f32
    attn.yield %z : f32
  }
  %p = attn.masked_softmax %t : tensor<1x4x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x4x?x?xf32>, tensor<1x4x?x64xf32> -> tensor<1x4x?x64xf32>
  return %o : tensor<1x4x?x64xf32>
}
