// Head counts and head dims, fused on each instruction set and by the naive
// lowering, against the same numbers, and with random inputs against the f64
// twin.
//
// The numbers: q is 1 and k is 0 or log 2 in their first feature and 0 in the
// others, so that keys weigh 1 and 2 in turn, and v counts keys and heads. The
// means over the visible keys were taken in f64 by another program.

// DEFINE: %{function} =
// DEFINE: %{inputs} =
// DEFINE: %{more} =
// DEFINE: %{run} = attn-run %s --cache-dir=%t.cache --function=%{function}
// DEFINE: %{random} = %{run} --check --require-fused --dim=B=2 --dim=Sq=19 --dim=Skv=70 --input=random --input=random --input=random %{more}
// DEFINE: %{fused} = %{run} --require-fused %{inputs}
// DEFINE: %{see} = FileCheck %s --check-prefix=%{function}-result
// DEFINE: %{both} = %{fused} | %{see} && %{fused} --target=x86-64 | %{see} && %{fused} --target=%{v3} | %{see} && %{fused} --target=%{v4} | %{see} && %{run} --twin %{inputs} | %{see}
// DEFINE: %{passed} = FileCheck %s
// DEFINE: %{all} = %{both} && %{random} | %{passed} && %{random} --target=x86-64 | %{passed} && %{random} --target=%{v3} | %{passed} && %{random} --target=%{v4} | %{passed}
// RUN: rm -rf %t.cache

// CHECK: check result 0: passed
// CHECK-NOT: FAILED

!s = tensor<?x6x?x?xf32>

// Six query heads on three key/value heads.
// REDEFINE: %{function} = grouped
// RUN: %tensors %t.q.npy f32 2x6x19x16 "d == 0"
// RUN: %tensors %t.k.npy f32 2x3x70x16 "(c & 1) * (d == 0) * math.log(2)"
// RUN: %tensors %t.v.npy f32 2x3x70x16 "1 + c + 3 * b + d / 32"
// REDEFINE: %{inputs} = --input=%t.q.npy --input=%t.k.npy --input=%t.v.npy
// RUN: %{all}
// grouped-result: result 0: f32 [2, 6, 19, 16], min 26.666{{[0-9]*}}, max 42.135{{[0-9]*}}, mean 34.3221
func.func @grouped(%q: tensor<?x6x?x16xf32> {attn.dims = ["B", "", "Sq", ""]},
                   %k: tensor<?x3x?x16xf32> {attn.dims = ["B", "", "Skv", ""]},
                   %v: tensor<?x3x?x16xf32> {attn.dims = ["B", "", "Skv", ""]}) -> tensor<?x6x?x16xf32> {
  %s = attn.qk %q, %k : tensor<?x6x?x16xf32>, tensor<?x3x?x16xf32> -> !s
  %p = attn.masked_softmax %s causal(bottom_right) : !s
  %o = attn.weighted_sum %p, %v : !s, tensor<?x3x?x16xf32> -> tensor<?x6x?x16xf32>
  return %o : tensor<?x6x?x16xf32>
}

// One key/value head for all; value features other than key features, both odd.
// REDEFINE: %{function} = shared
// RUN: %tensors %t.q.npy f32 2x6x19x5 "d == 0"
// RUN: %tensors %t.k.npy f32 2x1x70x5 "(c & 1) * (d == 0) * math.log(2)"
// RUN: %tensors %t.v.npy f32 2x1x70x33 "1 + c + 3 * b + d / 32"
// RUN: %{all}
// shared-result: result 0: f32 [2, 6, 19, 33], min 35.666{{[0-9]*}}, max 36.666{{[0-9]*}}, mean 36.166{{[0-9]*}}
func.func @shared(%q: tensor<?x6x?x5xf32> {attn.dims = ["B", "", "Sq", ""]},
                  %k: tensor<?x1x?x5xf32> {attn.dims = ["B", "", "Skv", ""]},
                  %v: tensor<?x1x?x33xf32> {attn.dims = ["B", "", "Skv", ""]}) -> tensor<?x6x?x33xf32> {
  %s = attn.qk %q, %k : tensor<?x6x?x5xf32>, tensor<?x1x?x5xf32> -> !s
  %p = attn.masked_softmax %s : !s
  %o = attn.weighted_sum %p, %v : !s, tensor<?x1x?x33xf32> -> tensor<?x6x?x33xf32>
  return %o : tensor<?x6x?x33xf32>
}

// Head dims of one.
// REDEFINE: %{function} = thin
// RUN: %tensors %t.q.npy f32 2x6x19x1 "d == 0"
// RUN: %tensors %t.k.npy f32 2x6x70x1 "(c & 1) * (d == 0) * math.log(2)"
// RUN: %tensors %t.v.npy f32 2x6x70x1 "1 + c + 3 * b + d / 32"
// RUN: %{all}
// thin-result: result 0: f32 [2, 6, 19, 1], min {{0[.]99999|1|1[.]00001}}, max 25, mean 13.07{{[0-9]*}}
func.func @thin(%q: tensor<?x6x?x1xf32> {attn.dims = ["B", "", "Sq", ""]},
                %k: tensor<?x6x?x1xf32> {attn.dims = ["B", "", "Skv", ""]},
                %v: tensor<?x6x?x1xf32> {attn.dims = ["B", "", "Skv", ""]}) -> tensor<?x6x?x1xf32> {
  %s = attn.qk %q, %k : tensor<?x6x?x1xf32>, tensor<?x6x?x1xf32> -> !s
  %p = attn.masked_softmax %s causal(top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, tensor<?x6x?x1xf32> -> tensor<?x6x?x1xf32>
  return %o : tensor<?x6x?x1xf32>
}

// Head counts known at run time only: 6 on 2.
// REDEFINE: %{function} = dynamic
// RUN: %tensors %t.q.npy f32 2x6x19x16 "d == 0"
// RUN: %tensors %t.k.npy f32 2x2x70x16 "(c & 1) * (d == 0) * math.log(2)"
// RUN: %tensors %t.v.npy f32 2x2x70x16 "1 + c + 3 * b + d / 32"
// REDEFINE: %{more} = --dim=Hq=6 --dim=Hkv=2
// RUN: %{all}
// dynamic-result: result 0: f32 [2, 6, 19, 16], min 35.666{{[0-9]*}}, max 39.135{{[0-9]*}}, mean 37.401{{[0-9]*}}
func.func @dynamic(%q: tensor<?x?x?x16xf32> {attn.dims = ["B", "Hq", "Sq", ""]},
                   %k: tensor<?x?x?x16xf32> {attn.dims = ["B", "Hkv", "Skv", ""]},
                   %v: tensor<?x?x?x16xf32> {attn.dims = ["B", "Hkv", "Skv", ""]}) -> tensor<?x?x?x16xf32> {
  %s = attn.qk %q, %k : tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32> -> tensor<?x?x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x?x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<?x?x?x?xf32>, tensor<?x?x?x16xf32> -> tensor<?x?x?x16xf32>
  return %o : tensor<?x?x?x16xf32>
}

// Cross attention of a model: three projections, split and merged heads, and the
// projection of the result. Nothing but the heads' layout moves.
// REDEFINE: %{function} = cross
// The first feature of x is 1, those of y are 0 or 1 and the number of the key.
// RUN: %tensors %t.x.npy f32 2x19x24 "c == 0" && %tensors %t.y.npy f32 2x70x24 "[b & 1, b, 0][min(c, 2)]"
// RUN: %tensors %t.w0.npy f32 24x48 "(a == 0) * (b %% 8 == 0)" && %tensors %t.w1.npy f32 24x48 "(a == 0) * (b %% 8 == 0) * 100 * math.log(2)"
// RUN: %tensors %t.w2.npy f32 24x48 "(a == 1) * (1 + b / 64)" && %tensors %t.w3.npy f32 48x24 "a %% 24 == b"
// REDEFINE: %{inputs} = --input=%t.x.npy --input=%t.y.npy --input=w0=%t.w0.npy --input=w1=%t.w1.npy --input=w2=%t.w2.npy --input=w3=%t.w3.npy
// REDEFINE: %{more} = --input=random --input=random --input=random
// RUN: %{all}
// cross-result: result 0: f32 [2, 19, 24], min 82.333{{[0-9]*}}, max 107.25, mean 94.791{{[0-9]*}}
func.func @cross(%x: tensor<?x?x24xf32> {attn.dims = ["B", "Sq", ""]}, %y: tensor<?x?x24xf32> {attn.dims = ["B", "Skv", ""]},
                 %wq: tensor<24x48xf32> {attn.name = "w0"}, %wk: tensor<24x48xf32> {attn.name = "w1"},
                 %wv: tensor<24x48xf32> {attn.name = "w2"}, %wo: tensor<48x24xf32> {attn.name = "w3"}) -> tensor<?x?x24xf32> {
  %xq = func.call @project(%x, %wq) : (tensor<?x?x24xf32>, tensor<24x48xf32>) -> tensor<?x?x48xf32>
  %yk = func.call @project(%y, %wk) : (tensor<?x?x24xf32>, tensor<24x48xf32>) -> tensor<?x?x48xf32>
  %yv = func.call @project(%y, %wv) : (tensor<?x?x24xf32>, tensor<24x48xf32>) -> tensor<?x?x48xf32>
  %q = attn.split_heads %xq {num_heads = 6} : tensor<?x?x48xf32> -> tensor<?x6x?x8xf32>
  %k = attn.split_heads %yk {num_heads = 6} : tensor<?x?x48xf32> -> tensor<?x6x?x8xf32>
  %v = attn.split_heads %yv {num_heads = 6} : tensor<?x?x48xf32> -> tensor<?x6x?x8xf32>
  %s = attn.qk %q, %k : tensor<?x6x?x8xf32>, tensor<?x6x?x8xf32> -> !s
  %t = attn.scale %s by 0.01 : !s
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %v : !s, tensor<?x6x?x8xf32> -> tensor<?x6x?x8xf32>
  %m = attn.merge_heads %o : tensor<?x6x?x8xf32> -> tensor<?x?x48xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %b = tensor.dim %x, %c0 : tensor<?x?x24xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?x24xf32>
  %e = tensor.empty(%b, %n) : tensor<?x?x24xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x24xf32>) -> tensor<?x?x24xf32>
  %r = linalg.generic {
    indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>,
                     affine_map<(b, m, n, k) -> (b, m, n)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%m, %wo : tensor<?x?x48xf32>, tensor<48x24xf32>) outs(%f : tensor<?x?x24xf32>) {
  ^bb0(%a: f32, %w: f32, %acc: f32):
    %prod = arith.mulf %a, %w : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<?x?x24xf32>
  return %r : tensor<?x?x24xf32>
}
func.func private @project(%x: tensor<?x?x24xf32>, %w: tensor<24x48xf32>) -> tensor<?x?x48xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %b = tensor.dim %x, %c0 : tensor<?x?x24xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?x24xf32>
  %e = tensor.empty(%b, %n) : tensor<?x?x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x48xf32>) -> tensor<?x?x48xf32>
  %r = linalg.generic {
    indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>,
                     affine_map<(b, m, n, k) -> (b, m, n)>],
    iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<?x?x24xf32>, tensor<24x48xf32>) outs(%f : tensor<?x?x48xf32>) {
  ^bb0(%a: f32, %ww: f32, %acc: f32):
    %prod = arith.mulf %a, %ww : f32
    %sum = arith.addf %acc, %prod : f32
    linalg.yield %sum : f32
  } -> tensor<?x?x48xf32>
  return %r : tensor<?x?x48xf32>
}
