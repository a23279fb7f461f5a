// Attention in f64 is fused, and as exact as f64 on each instruction set: masks,
// softcap, a bias and values of other types, decoding, and functions that are
// libm's.

// DEFINE: %{function} =
// DEFINE: %{more} =
// DEFINE: %{run} = attn-run %s --cache-dir=%t.cache --function=%{function} --check --require-fused --dim=Skv=70 --input=random --input=random --input=random %{more}
// DEFINE: %{passed} = FileCheck %s
// DEFINE: %{all} = %{run} | %{passed} && %{run} --target=x86-64-v2 | %{passed} && %{run} --target=%{v3} | %{passed} && %{run} --target=%{v4} | %{passed} && %{run} --disable-feature=avx512f | %{passed}
// RUN: rm -rf %t.cache

// The error of f64, not of f32.
// CHECK: check result 0: passed: max abs {{0|[0-9.]+e-1[5-9]}} (
// CHECK-NOT: FAILED

!q = tensor<2x4x?x40xf64>
!k = tensor<2x2x?x40xf64>
!s = tensor<2x4x?x?xf64>

// REDEFINE: %{function} = softcap
// REDEFINE: %{more} = --dim=Sq=37 --input=random
// RUN: %{all}
func.func @softcap(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !k {attn.dims = ["", "", "Skv", ""]},
                   %v: !k {attn.dims = ["", "", "Skv", ""]}, %bias: tensor<4x?x?xf32> {attn.dims = ["", "Sq", "Skv"]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.scale %s by 0.15811388300841897 : !s
  %u = attn.softcap %t at 2.0 : !s
  %w = attn.bias %u, %bias : !s, tensor<4x?x?xf32>
  %p = attn.masked_softmax %w causal(bottom_right) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// REDEFINE: %{function} = library
// REDEFINE: %{more} = --dim=Sq=37
// RUN: %{all}
func.func @library(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !k {attn.dims = ["", "", "Skv", ""]},
                   %v: !k {attn.dims = ["", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%score: f64, %b: index, %h: index, %i: index, %j: index):
    %0 = math.sin %score : f64
    %1 = math.erf %0 : f64
    %2 = math.exp %1 : f64
    %3 = math.log %2 : f64
    attn.yield %3 : f64
  }
  %p = attn.masked_softmax %t window[30, 5](top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// REDEFINE: %{function} = decode
// REDEFINE: %{more} =
// RUN: %{all}
func.func @decode(%q: tensor<2x4x1x40xf64>, %k: !k {attn.dims = ["", "", "Skv", ""]},
                  %v: !k {attn.dims = ["", "", "Skv", ""]}) -> tensor<2x4x1x40xf64> {
  %s = attn.qk %q, %k : tensor<2x4x1x40xf64>, !k -> tensor<2x4x1x?xf64>
  %t = attn.scale %s by 0.25 : tensor<2x4x1x?xf64>
  %p = attn.masked_softmax %t normalizer(sigmoid) : tensor<2x4x1x?xf64>
  %o = attn.weighted_sum %p, %v : tensor<2x4x1x?xf64>, !k -> tensor<2x4x1x40xf64>
  return %o : tensor<2x4x1x40xf64>
}

// A scale that f32 does not hold, which additive scores are multiplied by.
// REDEFINE: %{function} = additive
// REDEFINE: %{more} = --dim=Sq=37 --input=random
// RUN: %{all}
func.func @additive(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !k {attn.dims = ["", "", "Skv", ""]},
                    %v: !k {attn.dims = ["", "", "Skv", ""]}, %w: tensor<40xf64>) -> !q {
  %s = attn.additive_scores %q, %k, %w : !q, !k, tensor<40xf64> -> !s
  %t = attn.scale %s by 0.1 : !s
  %p = attn.masked_softmax %t causal(bottom_right) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}
