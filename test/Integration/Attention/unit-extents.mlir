// Extents that are known to be 1: a head, one query, one key, one feature, pages
// of one row. Views drop the dimensions that a task stands at, not these.

// DEFINE: %{target} =
// DEFINE: %{run} = attn-run %t.mlir --cache-dir=%t.cache %{target} --check --input=random:seed=1 --input=random:seed=2
// DEFINE: %{passed} = FileCheck %s
// DEFINE: %{all} = %{run} --function=graph --require-fused --input=random:seed=3 --input=random:seed=4 | %{passed} && %{run} --function=program --require-fused --input=random:seed=3 --input=random:seed=4 | %{passed} && %{run} --function=additive --require-fused --input=random:seed=3 --input=random:seed=4 | %{passed} && %{run} --function=pages --require-fused --input=zeros | %{passed} && %{run} --function=linear --input=random:seed=3 | %{passed}
// RUN: rm -rf %t.cache
// CHECK-NOT: FAILED
// CHECK: check result 0: passed
// CHECK-NOT: FAILED

// RUN: sed 's/SQ/5/g; s/SKV/1/g; s/HQ/2/g; s/HKV/2/g; s/DV/8/g; s/D/8/g; s/xT>/xf32>/' %s > %t.mlir
// RUN: %{all}
// RUN: sed 's/SQ/1/g; s/SKV/9/g; s/HQ/2/g; s/HKV/1/g; s/DV/8/g; s/D/8/g; s/xT>/xbf16>/' %s > %t.mlir
// RUN: %{all}
// RUN: sed 's/SQ/5/g; s/SKV/9/g; s/HQ/1/g; s/HKV/1/g; s/DV/1/g; s/D/1/g; s/xT>/xf32>/' %s > %t.mlir
// RUN: %{all}
// RUN: sed 's/SQ/1/g; s/SKV/1/g; s/HQ/1/g; s/HKV/1/g; s/DV/1/g; s/D/1/g; s/xT>/xbf16>/' %s > %t.mlir
// RUN: %{all}
// RUN: sed 's/SQ/1/g; s/SKV/1/g; s/HQ/2/g; s/HKV/2/g; s/DV/1/g; s/D/8/g; s/xT>/xf32>/' %s > %t.mlir
// RUN: %{all}
// REDEFINE: %{target} = --target=%{v3}
// RUN: %{all}
// REDEFINE: %{target} = --target=x86-64
// RUN: %{all}

!q = tensor<2xHQxSQxDxT>
!k = tensor<2xHKVxSKVxDxT>
!v = tensor<2xHKVxSKVxDVxT>
!o = tensor<2xHQxSQxDVxT>
!s = tensor<2xHQxSQxSKVxf32>
!l = tensor<2xHQxSQxf32>
!c = tensor<2xHQxSKVxf32>
!w = tensor<2xHQxSQx2xf32>
func.func @graph(%q: !q, %k: !k, %v: !v, %sink: tensor<HQxf32>) -> (!o, !c, !l, !l, !w) {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s sink(%sink : tensor<HQxf32>) : !s
  %o = attn.weighted_sum %p, %v : !s, !v -> !o
  %c, %m, %e, %w, %i = attn.weight_stats %p column_sums row_max entropy top_k 2 : !s
    -> !c, !l, !l, !w, tensor<2xHQxSQx2xi32>
  return %o, %c, %m, %e, %w : !o, !c, !l, !l, !w
}

// A log-sum-exp, and a program on weights that asks for two passes.
func.func @program(%q: !q, %k: !k, %v: !v, %g: tensor<HQxSKVxf32>) -> (!o, !l) {
  %e = tensor.empty() : !o
  %f = tensor.empty() : !l
  %r:2 = attn.attention ins(%q, %k, %v : !q, !k, !v) outs(%e, %f : !o, !l) scale 0.5 score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %a = tensor.extract %g[%h, %j] : tensor<HQxSKVxf32>
    %y = arith.addf %x, %a : f32
    attn.yield %y : f32
  } probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.mulf %p, %p : f32
    attn.yield %x : f32
  } -> !o, !l
  return %r#0, %r#1 : !o, !l
}

func.func @additive(%q: !q, %k: !k, %v: !v, %w: tensor<HQxDxf32>) -> (!o, !c) {
  %s = attn.additive_scores %q, %k, %w : !q, !k, tensor<HQxDxf32> -> !s
  %p = attn.masked_softmax %s : !s
  %o = attn.weighted_sum %p, %v : !s, !v -> !o
  %c = attn.weight_stats %p column_sums : !s -> !c
  return %o, %c : !o, !c
}

!pool = tensor<3xHKVx1xDxT>
func.func @pages(%q: !q, %pool: !pool, %table: tensor<2xSKVxi32>) -> (!q, !c, !l) {
  %k8, %scale = attn.quantize %pool : !pool
  %pages = attn.dequantize %k8, %scale : tensor<3xHKVx1xDxi8>, tensor<3xHKVx1xf32> -> !pool
  %k = attn.gather_pages %pages, %table : !pool, tensor<2xSKVxi32> -> !k
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s : !s
  %o = attn.weighted_sum %p, %k : !s, !k -> !q
  %c, %m = attn.weight_stats %p column_sums row_max : !s -> !c, !l
  return %o, %c, %m : !q, !c, !l
}

!kl = tensor<2xHKVxSQxDxT>
!vl = tensor<2xHKVxSQxDVxT>
func.func @linear(%q: !q, %k: !kl, %v: !vl) -> !o {
  %e = tensor.empty() : !o
  %o = attn.linear_attention ins(%q, %k, %v : !q, !kl, !vl) outs(%e : !o) scale 0.5 -> !o
  return %o : !o
}
