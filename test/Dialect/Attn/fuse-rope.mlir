// Rotary embeddings of queries become part of attention, others a pass of their
// own; the tables are those of all that turn by the same positions.

// RUN: attn-opt %s --attn-fuse --attn-fuse-rope --cse --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-fuse --attn-fuse-rope --split-input-file --remarks-filter=attn --remark-policy=all \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

!q = tensor<1x8x16x64xf32>
!k = tensor<1x2x16x64xf32>
!s = tensor<1x8x16x16xf32>

// One pair of tables for queries and keys. Frequencies are base^(-2k/R).
// CHECK-LABEL: func.func @prefill
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x8x16x64xf32>, %[[K:[^:]*]]: tensor<1x2x16x64xf32>
// CHECK: %[[F:.*]] = arith.constant dense<[1.000000e+00, 1.000000e-01]> : tensor<2xf64>
// CHECK: %[[T:.*]]:2 = attn.rope_tables frequencies(%[[F]] : tensor<2xf64>) outs(%{{.*}}, %{{.*}} : tensor<16x2xf32>, tensor<16x2xf32>)
// CHECK-NOT: attn.rope_tables
// CHECK: %[[R:.*]] = attn.rotate ins(%[[K]] : tensor<1x2x16x64xf32>) by half(%[[T]]#0, %[[T]]#1 : {{.*}}) outs(%{{.*}} : tensor<1x2x16x64xf32>)
// CHECK-NOT: attn.rotate
// CHECK: attn.attention ins(%[[Q]], %[[R]], %{{.*}} : {{.*}}) outs({{.*}}) scale 1.250000e-01 rotated half(%[[T]]#0, %[[T]]#1 : tensor<16x2xf32>, tensor<16x2xf32>) mask {
// REMARK-DAG: rope | {{.*}}Function=prefill {{.*}}attn.rope is part of how attention packs its queries
// REMARK-DAG: rope | {{.*}}Function=prefill {{.*}}attn.rope is a pass of its own: keys turn once for all tiles of queries
func.func @prefill(%q: !q, %k: !k, %v: !k) -> !q {
  %rq = attn.rope %q half rotary_dim 4 base 100.0 : !q
  %rk = attn.rope %k half rotary_dim 4 base 100.0 : !k
  %s = attn.qk %rq, %rk : !q, !k -> !s
  %c = attn.scale %s by 0.125 : !s
  %p = attn.masked_softmax %c causal(top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// -----

!q = tensor<?x8x?x64xbf16>
!k = tensor<?x2x?x64xbf16>
!s = tensor<?x8x?x?xf32>

// Position ids give each batch element tables of its own, which are as long as
// they are.
// CHECK-LABEL: func.func @ids
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x8x?x64xbf16>, %[[K:[^:]*]]: tensor<?x2x?x64xbf16>, %[[I:[^:]*]]: tensor<?x?xi64>
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[I]], %c0
// CHECK-DAG: %[[N:.*]] = tensor.dim %[[I]], %c1
// CHECK: %[[E:.*]] = tensor.empty(%[[B]], %[[N]]) : tensor<?x?x32xf32>
// CHECK: %[[T:.*]]:2 = attn.rope_tables frequencies({{.*}}) positions(%[[I]] : tensor<?x?xi64>) outs(%[[E]], %[[E]] : {{.*}}) -> tensor<?x?x32xf32>, tensor<?x?x32xf32>
// CHECK: attn.attention ins(%[[Q]], %[[K]], %{{.*}}) {{.*}} rotated interleaved(%[[T]]#0, %[[T]]#1 : tensor<?x?x32xf32>, tensor<?x?x32xf32>)
func.func @ids(%q: !q, %k: !k, %i: tensor<?x?xi64>) -> !q {
  %rq = attn.rope %q interleaved rotary_dim 64 positions(%i : tensor<?x?xi64>) : !q
  %s = attn.qk %rq, %k : !q, !k -> !s
  %p = attn.masked_softmax %s causal(bottom_right) : !s
  %o = attn.weighted_sum %p, %k : !s, !k -> !q
  return %o : !q
}

// -----

!q = tensor<1x8x1x64xf32>
!k = tensor<1x2x1x64xf32>
!c = tensor<1x2x?x64xf32>
!t = tensor<?x32xf16>
!s = tensor<1x8x1x?xf32>

// Keys turn on their way into a cache, by given tables.
// CHECK-LABEL: func.func @cached
// CHECK: %[[T:.*]]:2 = attn.rope_tables tables(%{{.*}}, %{{.*}} : tensor<?x32xf16>, tensor<?x32xf16>) offset(%{{.*}}) outs({{.*}}) -> tensor<1x32xf32>, tensor<1x32xf32>
// CHECK-NOT: attn.rotate
// CHECK: attn.cache_update %{{.*}}, %{{.*}} at(%{{.*}} : index) rotated half(%[[T]]#0, %[[T]]#1 : tensor<1x32xf32>, tensor<1x32xf32>)
// CHECK: attn.attention {{.*}} rotated half(%[[T]]#0, %[[T]]#1
// REMARK-DAG: rope | {{.*}}Function=cached {{.*}}attn.rope is part of how the cache takes new rows
func.func @cached(%q: !q, %k: !k, %cache: !c, %n: index, %cos: !t, %sin: !t) -> (!q, !c) {
  %rq = attn.rope %q half rotary_dim 64 offset(%n) tables(%cos, %sin : !t, !t) : !q
  %rk = attn.rope %k half rotary_dim 64 offset(%n) tables(%cos, %sin : !t, !t) : !k
  %u = attn.cache_update %cache, %rk at(%n : index) : !c, !k
  %s = attn.qk %rq, %u : !q, !c -> !s
  %p = attn.masked_softmax %s causal(offset %n : index) : !s
  %o = attn.weighted_sum %p, %u : !s, !c -> !q
  return %o, %u : !q, !c
}

// -----

!t = tensor<1x8x16x64xf32>
!s = tensor<1x8x16x16xf32>

// A query that is a result too, or the key too, exists as a whole.
// CHECK-LABEL: func.func @shared
// REMARK-DAG: rope | {{.*}}Function=shared {{.*}}attn.rope is a pass of its own: its result has users other than the queries of attention or one cache
// REMARK-DAG: rope | {{.*}}Function=shared {{.*}}attn.rope is a pass of its own: keys turn once for all tiles of queries
// CHECK-COUNT-2: attn.rotate
// CHECK-NOT: rotated
// CHECK: return
func.func @shared(%x: !t, %y: !t) -> (!t, !t, !t) {
  %r = attn.rope %x half rotary_dim 64 : !t
  %s = attn.qk %r, %y : !t, !t -> !s
  %p = attn.masked_softmax %s : !s
  %o = attn.weighted_sum %p, %y : !s, !t -> !t
  %r2 = attn.rope %y interleaved rotary_dim 64 : !t
  %s2 = attn.qk %r2, %r2 : !t, !t -> !s
  %p2 = attn.masked_softmax %s2 : !s
  %o2 = attn.weighted_sum %p2, %y : !s, !t -> !t
  return %o, %o2, %r : !t, !t, !t
}

// -----

!t = tensor<1x8x16x64xf32>
!s = tensor<1x8x16x16xf32>

// Each attention of one query rotates it.
// CHECK-LABEL: func.func @twice
// CHECK-NOT: attn.rotate
// CHECK: attn.attention {{.*}} rotated half
// CHECK: attn.attention {{.*}} rotated half
func.func @twice(%x: !t, %y: !t) -> (!t, !t) {
  %r = attn.rope %x half rotary_dim 64 : !t
  %s = attn.qk %r, %y : !t, !t -> !s
  %p = attn.masked_softmax %s : !s
  %o = attn.weighted_sum %p, %y : !s, !t -> !t
  %s2 = attn.qk %r, %y : !t, !t -> !s
  %p2 = attn.masked_softmax %s2 causal(top_left) : !s
  %o2 = attn.weighted_sum %p2, %y : !s, !t -> !t
  return %o, %o2 : !t, !t
}

// -----

// f64 is left to the loops.
// CHECK-LABEL: func.func @wide
// CHECK: attn.rope
func.func @wide(%x: tensor<1x8x16x64xf64>) -> tensor<1x8x16x64xf64> {
  %r = attn.rope %x half rotary_dim 64 : tensor<1x8x16x64xf64>
  return %r : tensor<1x8x16x64xf64>
}
