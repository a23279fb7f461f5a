// The attentions of Luong et al. (arXiv:1508.04025) of a decoder's states on the
// states of an encoder, which are keys and values. Neither has a scale. *dot* is
// `q . k`; *general* is `q W k`, where `W` is folded into the queries: a product of
// matrices that costs `Tq * 48 * 64` in place of `Tq * Tk * 48 * 64`, and lets the
// two have different numbers of features. (*concat* is `attn.additive_scores`.)

// RUN: %tensors %t.lengths.npy i32 2 "130 if a else 77"
// RUN: attn-run %s --function=dot --dim=B=2 --dim=Tq=21 --dim=Tk=130 --input=random:seed=1 \
// RUN:   --input=random:seed=2 --input=%t.lengths.npy --check --require-fused | FileCheck %s
// RUN: attn-run %s --function=general --dim=B=2 --dim=Tq=21 --dim=Tk=130 --input=random:seed=1 \
// RUN:   --input=random:seed=2 --input=%t.lengths.npy --input=random:seed=3 --check --require-fused | FileCheck %s
// RUN: attn-opt %s --attn-compile-to=schedule | FileCheck %s --check-prefix=SCHEDULE
// CHECK: result 0: f32 [2, 21, 64]
// CHECK: check result 0: passed

// The product with `W` is tiled like any projection, the rest is one op.
// SCHEDULE-LABEL: func.func @general
// SCHEDULE: linalg.contract {{.*}}attn.schedule = #attn.schedule<kernel = gemm
// SCHEDULE: attn.attention ins({{.*}}) scale 1.000000e+00
// SCHEDULE-NOT: attn.masked_softmax

!decoder = tensor<?x?x48xf32>
!encoder = tensor<?x?x64xf32>
!heads = tensor<?x1x?x64xf32>
!s = tensor<?x1x?x?xf32>

func.func @dot(%q: !encoder {attn.dims = ["B", "Tq", ""]}, %k: !encoder {attn.dims = ["B", "Tk", ""]},
               %lengths: tensor<?xi32> {attn.dims = ["B"]}) -> !encoder {
  %o = call @attend(%q, %k, %lengths) : (!encoder, !encoder, tensor<?xi32>) -> !encoder
  return %o : !encoder
}

func.func @general(%q: !decoder {attn.dims = ["B", "Tq", ""]}, %k: !encoder {attn.dims = ["B", "Tk", ""]},
                   %lengths: tensor<?xi32> {attn.dims = ["B"]}, %w: tensor<48x64xf32>) -> !encoder {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %q, %c0 : !decoder
  %length = tensor.dim %q, %c1 : !decoder
  %empty = tensor.empty(%batch, %length) : !encoder
  %start = linalg.fill ins(%zero : f32) outs(%empty : !encoder) -> !encoder
  %qw = linalg.contract
      indexing_maps = [affine_map<(b, t, n, k) -> (b, t, k)>,
                       affine_map<(b, t, n, k) -> (k, n)>,
                       affine_map<(b, t, n, k) -> (b, t, n)>]
      ins(%q, %w : !decoder, tensor<48x64xf32>) outs(%start : !encoder) -> !encoder
  %o = call @attend(%qw, %k, %lengths) : (!encoder, !encoder, tensor<?xi32>) -> !encoder
  return %o : !encoder
}

/// One head; keys from `lengths[b]` on are padding.
func.func private @attend(%x: !encoder, %states: !encoder, %lengths: tensor<?xi32>) -> !encoder {
  %q = attn.split_heads %x {num_heads = 1} : !encoder -> !heads
  %k = attn.split_heads %states {num_heads = 1} : !encoder -> !heads
  %s = attn.qk %q, %k : !heads, !heads -> !s
  %p = attn.masked_softmax %s lengths(%lengths : tensor<?xi32>) : !s
  %o = attn.weighted_sum %p, %k : !s, !heads -> !heads
  %merged = attn.merge_heads %o : !heads -> !encoder
  return %merged : !encoder
}
