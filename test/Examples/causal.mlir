// Causal attention with grouped heads: 8 query heads read 2 heads of keys and
// values. Batch and length are known at run time only. The README runs it.

// RUN: attn-run %s --dim=B=2 --dim=S=150 --input=random:seed=1 --input=random:seed=2 \
// RUN:   --input=random:seed=3 --check --require-fused | FileCheck %s
// CHECK: result 0: f32 [2, 8, 150, 64]
// CHECK: check result 0: passed

!q = tensor<?x8x?x64xf32>
!kv = tensor<?x2x?x64xf32>
!s = tensor<?x8x?x?xf32>

func.func @causal(%q: !q {attn.dims = ["B", "", "S", ""]}, %k: !kv {attn.dims = ["B", "", "S", ""]},
                  %v: !kv {attn.dims = ["B", "", "S", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !kv -> !s
  %t = attn.scale %s by 0.125 : !s
  %p = attn.masked_softmax %t causal(top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !kv -> !q
  return %o : !q
}
