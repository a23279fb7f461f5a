// Who gets attention: beside the output of causal attention, the sum of the
// weights that each key gets, by which caches evict keys (H2O, arXiv:2306.14048),
// the entropy of each row, and the four keys that each row looks at most. No
// tensor of Sq x Skv exists on the way.

// RUN: attn-run %s --dim=B=2 --dim=S=150 --input=random:seed=1 --input=random:seed=2 \
// RUN:   --input=random:seed=3 --check --require-fused | FileCheck %s
// CHECK: result 0: f32 [2, 8, 150, 64]
// CHECK: result 1: f32 [2, 8, 150]
// CHECK: result 2: f32 [2, 8, 150]
// CHECK: result 3: f32 [2, 8, 150, 4], min 0, max 1,
// CHECK: result 4: i32 [2, 8, 150, 4], min -1, max
// CHECK-COUNT-5: passed

!q = tensor<?x8x?x64xf32>
!kv = tensor<?x2x?x64xf32>
!s = tensor<?x8x?x?xf32>
!row = tensor<?x8x?xf32>
!top = tensor<?x8x?x4xf32>
!keys = tensor<?x8x?x4xi32>

func.func @causal(%q: !q {attn.dims = ["B", "", "S", ""]}, %k: !kv {attn.dims = ["B", "", "S", ""]},
                  %v: !kv {attn.dims = ["B", "", "S", ""]}) -> (!q, !row, !row, !top, !keys) {
  %s = attn.qk %q, %k : !q, !kv -> !s
  %t = attn.scale %s by 0.125 : !s
  %p = attn.masked_softmax %t causal(top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !kv -> !q
  %sums, %entropy, %top, %keys = attn.weight_stats %p column_sums entropy top_k 4 : !s -> !row, !row, !top, !keys
  return %o, %sums, %entropy, %top, %keys : !q, !row, !row, !top, !keys
}
