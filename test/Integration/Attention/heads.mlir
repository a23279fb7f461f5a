// Head counts and head dims, fused, against the f64 twin, on each instruction
// set.

// DEFINE: %{three} = --input=random --input=random --input=random
// DEFINE: %{function} =
// DEFINE: %{inputs} =
// DEFINE: %{run} = attn-run %s --check --require-fused --cache-dir=%t.cache --function=%{function} --dim=B=2 --dim=Sq=19 --dim=Skv=70 %{inputs}
// DEFINE: %{all} = %{run} | FileCheck %s && %{run} --target=x86-64 | FileCheck %s && %{run} --target=%{v3} | FileCheck %s && %{run} --target=%{v4} | FileCheck %s
// RUN: rm -rf %t.cache

// CHECK: check result 0: passed
// CHECK-NOT: FAILED

!s = tensor<?x6x?x?xf32>

// Six query heads on three key/value heads.
// REDEFINE: %{function} = grouped
// REDEFINE: %{inputs} = %{three}
// RUN: %{all}
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
// RUN: %{all}
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
// RUN: %{all}
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
// REDEFINE: %{inputs} = --dim=Hq=6 --dim=Hkv=2 %{three}
// RUN: %{all}
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
// REDEFINE: %{inputs} = --input=random --input=random --input=w0=random --input=w1=random --input=w2=random --input=w3=random
// RUN: %{all}
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
