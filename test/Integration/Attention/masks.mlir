// Every kind of mask, fused on each instruction set and by the naive lowering,
// against the same numbers, and with random inputs against the f64 twin. The
// lengths cross tile borders (64) and vector borders (4, 8, 16).
//
// The numbers: q is 1 and k is 0 or log 2 in their first feature and 0 in the
// others, so that keys weigh 1 and 2 in turn, and v counts keys and heads. The
// means over the visible keys were taken in f64 by another program.

// DEFINE: %{case} =
// DEFINE: %{function} = %{case}
// DEFINE: %{inputs} =
// DEFINE: %{mask} =
// DEFINE: %{mask-short} =
// DEFINE: %{mask-long} =
// DEFINE: %{run} = attn-run %s --cache-dir=%t.cache --function=%{function}
// DEFINE: %{short} = %{run} --input=%t.q7.npy --input=%t.k5.npy --input=%t.v5.npy %{inputs} %{mask-short}
// DEFINE: %{long} = %{run} --input=%t.q67.npy --input=%t.k131.npy --input=%t.v131.npy %{inputs} %{mask-long}
// DEFINE: %{random} = %{run} --check --require-fused --dim=B=2 --dim=Sq=67 --dim=Skv=131 --input=random --input=random --input=random %{inputs} %{mask}
// DEFINE: %{see-short} = FileCheck %s --check-prefix=%{case}-short
// DEFINE: %{see-long} = FileCheck %s --check-prefix=%{case}-long
// DEFINE: %{fused} = %{short} --require-fused | %{see-short} && %{short} --require-fused --target=x86-64 | %{see-short} && %{short} --require-fused --target=%{v3} | %{see-short} && %{short} --require-fused --target=%{v4} | %{see-short} && %{long} --require-fused | %{see-long}
// DEFINE: %{twin} = %{short} --twin | %{see-short} && %{long} --twin | %{see-long}
// DEFINE: %{see} = FileCheck %s
// DEFINE: %{tiles} = %{random} | %{see} && %{random} --target=x86-64 | %{see} && %{random} --target=%{v3} | %{see} && %{random} --target=%{v4} | %{see}
// DEFINE: %{all} = %{fused} && %{twin} && %{tiles}
// RUN: rm -rf %t.cache
// RUN: %tensors %t.q7.npy f32 2x2x7x24 "d == 0" && %tensors %t.q67.npy f32 2x2x67x24 "d == 0"
// RUN: %tensors %t.k5.npy f32 2x2x5x24 "(c & 1) * (d == 0) * math.log(2)" && %tensors %t.k131.npy f32 2x2x131x24 "(c & 1) * (d == 0) * math.log(2)"
// RUN: %tensors %t.v5.npy f32 2x2x5x24 "1 + c + 3 * b + d / 32" && %tensors %t.v131.npy f32 2x2x131x24 "1 + c + 3 * b + d / 32"

// CHECK: check result 0: passed
// CHECK-NOT: FAILED

!q = tensor<?x2x?x24xf32>
!k = tensor<?x2x?x24xf32>
!s = tensor<?x2x?x?xf32>

// REDEFINE: %{case} = none
// RUN: %{all}
// none-short: result 0: f32 [2, 2, 7, 24], min 3, max 6.7187{{[0-9]*}}, mean 4.8593{{[0-9]*}}
// none-long: result 0: f32 [2, 2, 67, 24], min {{65[.]9999|66|66[.]0001}}, max 69.718{{[0-9]*}}, mean 67.859{{[0-9]*}}
func.func @none(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                %v: !k {attn.dims = ["B", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// REDEFINE: %{case} = top_left
// RUN: %{all}
// top_left-short: result 0: f32 [2, 2, 7, 24], min {{0[.]99999|1|1[.]00001}}, max 6.7187{{[0-9]*}}, mean 4.1549{{[0-9]*}}
// top_left-long: result 0: f32 [2, 2, 67, 24], min {{0[.]99999|1|1[.]00001}}, max 37.718{{[0-9]*}}, mean 19.3764
func.func @top_left(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                    %v: !k {attn.dims = ["B", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.scale %s by 0.2 : !s
  %p = attn.masked_softmax %t causal(top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// With fewer keys than queries the first rows are empty.
// REDEFINE: %{case} = bottom_right
// RUN: %{all}
// bottom_right-short: result 0: f32 [2, 2, 7, 24], min 0, max 6.7187{{[0-9]*}}, mean 2.7665{{[0-9]*}}
// bottom_right-long: result 0: f32 [2, 2, 67, 24], min 33, max 69.718{{[0-9]*}}, mean 51.376{{[0-9]*}}
func.func @bottom_right(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                        %v: !k {attn.dims = ["B", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.scale %s by 0.2 : !s
  %p = attn.masked_softmax %t causal(bottom_right) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// A negative offset leaves the first rows empty, a large one hides nothing.
// REDEFINE: %{function} = offset
// REDEFINE: %{case} = offset-ahead
// REDEFINE: %{inputs} = --input=3
// RUN: %{all}
// offset-ahead-short: result 0: f32 [2, 2, 7, 24], min 2.5346, max 6.7187{{[0-9]*}}, mean 4.7928{{[0-9]*}}
// offset-ahead-long: result 0: f32 [2, 2, 67, 24], min 2.5346, max 39.253{{[0-9]*}}, mean 20.87{{[0-9]*}}
// REDEFINE: %{case} = offset-behind
// REDEFINE: %{inputs} = --input=-4
// RUN: %{all}
// offset-behind-short: result 0: f32 [2, 2, 7, 24], min 0, max 5.7187{{[0-9]*}}, mean 1.4446{{[0-9]*}}
// offset-behind-long: result 0: f32 [2, 2, 67, 24], min 0, max 35.718{{[0-9]*}}, mean 17.2793
func.func @offset(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                  %v: !k {attn.dims = ["B", "", "Skv", ""]}, %past: index) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.scale %s by 0.2 : !s
  %p = attn.masked_softmax %t causal(offset %past : index) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// One offset for each batch element: no offset in the first, an empty first row
// in the second.
// REDEFINE: %{function} = %{case}
// REDEFINE: %{case} = offsets
// RUN: %tensors %t.offsets.npy i64 2 "3 - 4 * a"
// REDEFINE: %{inputs} = --input=%t.offsets.npy
// RUN: %{all}
// offsets-short: result 0: f32 [2, 2, 7, 24], min 0, max 6.7187{{[0-9]*}}, mean 4.1551{{[0-9]*}}
// offsets-long: result 0: f32 [2, 2, 67, 24], min 0, max 39.385{{[0-9]*}}, mean 19.9251
func.func @offsets(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                   %v: !k {attn.dims = ["B", "", "Skv", ""]}, %past: tensor<?xi64> {attn.dims = ["B"]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s causal(offset %past : tensor<?xi64>) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// REDEFINE: %{case} = window
// REDEFINE: %{inputs} =
// RUN: %{all}
// window-short: result 0: f32 [2, 2, 7, 24], min 2, max 7.0520{{[0-9]*}}, mean 4.7165{{[0-9]*}}
// window-long: result 0: f32 [2, 2, 67, 24], min 2, max 69.052{{[0-9]*}}, mean 34.4763
func.func @window(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                  %v: !k {attn.dims = ["B", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s window[5, 2](top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// A sliding window of a decoder: causal and 20 keys.
// REDEFINE: %{case} = sliding
// RUN: %{all}
// sliding-short: result 0: f32 [2, 2, 7, 24], min 0, max 6.7187{{[0-9]*}}, mean 2.8043{{[0-9]*}}
// sliding-long: result 0: f32 [2, 2, 67, 24], min 55.333{{[0-9]*}}, max 125.052, mean 90.35{{[0-9]*}}
func.func @sliding(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                   %v: !k {attn.dims = ["B", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s causal(bottom_right) window[19, 0] : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// A length of zero leaves a batch element without keys.
// REDEFINE: %{case} = lengths
// RUN: %tensors %t.lengths.npy i32 2 "3 * a"
// REDEFINE: %{inputs} = --input=%t.lengths.npy
// RUN: %{all}
// lengths-short: result 0: f32 [2, 2, 7, 24], min 0, max 5.7187{{[0-9]*}}, mean 1.92969
// lengths-long: result 0: f32 [2, 2, 67, 24], min 0, max 5.7187{{[0-9]*}}, mean 1.92969
func.func @lengths(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                   %v: !k {attn.dims = ["B", "", "Skv", ""]}, %n: tensor<?xi32> {attn.dims = ["B"]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s lengths(%n : tensor<?xi32>) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// REDEFINE: %{case} = mask
// RUN: %tensors %t.mask7.npy i1 2x1x7x5 "(a + c + d) %% 4 < 2" && %tensors %t.mask67.npy i1 2x1x67x131 "(a + c + d) %% 4 < 2"
// REDEFINE: %{inputs} =
// REDEFINE: %{mask} = --input=random
// REDEFINE: %{mask-short} = --input=%t.mask7.npy
// REDEFINE: %{mask-long} = --input=%t.mask67.npy
// RUN: %{all}
// mask-short: result 0: f32 [2, 2, 7, 24], min 2.3333{{[0-9]*}}, max 7.3854{{[0-9]*}}, mean 4.9427{{[0-9]*}}
// mask-long: result 0: f32 [2, 2, 67, 24], min 65.659{{[0-9]*}}, max 70.05{{[0-9]*}}, mean 67.859{{[0-9]*}}
func.func @mask(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                %v: !k {attn.dims = ["B", "", "Skv", ""]}, %m: tensor<?x1x?x?xi1> {attn.dims = ["B", "", "Sq", "Skv"]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s mask(%m : tensor<?x1x?x?xi1>) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// Blocks of 8, and every head sees other distances.
// REDEFINE: %{case} = region
// REDEFINE: %{mask} =
// REDEFINE: %{mask-short} =
// REDEFINE: %{mask-long} =
// RUN: %{all}
// region-short: result 0: f32 [2, 2, 7, 24], min 3, max 6.7187{{[0-9]*}}, mean 4.8593{{[0-9]*}}
// region-long: result 0: f32 [2, 2, 67, 24], min 62.405{{[0-9]*}}, max 70.043{{[0-9]*}}, mean 65.679{{[0-9]*}}
func.func @region(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                  %v: !k {attn.dims = ["B", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %eight = arith.constant 8 : index
    %one = arith.constant 1 : index
    %bi = arith.divui %i, %eight : index
    %bj = arith.divui %j, %eight : index
    %same = arith.cmpi eq, %bi, %bj : index
    %parity = arith.addi %j, %h : index
    %bit = arith.andi %parity, %one : index
    %odd = arith.cmpi eq, %bit, %one : index
    %x = arith.ori %same, %odd : i1
    attn.yield %x : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// All at once.
// REDEFINE: %{case} = combined
// RUN: %tensors %t.three.npy i32 2 "5 - 2 * a"
// RUN: %tensors %t.pairs7.npy i1 7x5 "(a + 2 * b) %% 3 != 0" && %tensors %t.pairs67.npy i1 67x131 "(a + 2 * b) %% 3 != 0"
// REDEFINE: %{inputs} = --input=%t.three.npy
// REDEFINE: %{mask} = --input=random
// REDEFINE: %{mask-short} = --input=%t.pairs7.npy
// REDEFINE: %{mask-long} = --input=%t.pairs67.npy
// RUN: %{all}
// combined-short: result 0: f32 [2, 2, 7, 24], min 0, max 6.7187{{[0-9]*}}, mean 3.3794{{[0-9]*}}
// combined-long: result 0: f32 [2, 2, 67, 24], min 0, max 8.7187{{[0-9]*}}, mean 2.8082{{[0-9]*}}
func.func @combined(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                    %v: !k {attn.dims = ["B", "", "Skv", ""]}, %n: tensor<?xi32> {attn.dims = ["B"]},
                    %m: tensor<?x?xi1> {attn.dims = ["Sq", "Skv"]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s causal(top_left) window[40, -1] lengths(%n : tensor<?xi32>) mask(%m : tensor<?x?xi1>) visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.cmpi ne, %i, %j : index
    attn.yield %x : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}
