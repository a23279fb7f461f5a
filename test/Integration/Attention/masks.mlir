// Every kind of mask, fused, against the f64 twin, on each instruction set. The
// lengths cross tile borders (64) and vector borders (4, 8, 16).

// DEFINE: %{function} =
// DEFINE: %{inputs} =
// DEFINE: %{run} = attn-run %s --check --require-fused --cache-dir=%t.cache --function=%{function} --input=random --input=random --input=random %{inputs}
// DEFINE: %{short} = --dim=B=2 --dim=Sq=7 --dim=Skv=5
// DEFINE: %{long} = --dim=B=2 --dim=Sq=67 --dim=Skv=131
// DEFINE: %{all} = %{run} %{short} | FileCheck %s && %{run} %{long} | FileCheck %s && %{run} --target=x86-64 %{short} | FileCheck %s && %{run} --target=x86-64 %{long} | FileCheck %s && %{run} --target=%{v3} %{short} | FileCheck %s && %{run} --target=%{v3} %{long} | FileCheck %s && %{run} --target=%{v4} %{short} | FileCheck %s && %{run} --target=%{v4} %{long} | FileCheck %s
// RUN: rm -rf %t.cache

// CHECK: check result 0: passed
// CHECK-NOT: FAILED

!q = tensor<?x2x?x24xf32>
!k = tensor<?x2x?x24xf32>
!s = tensor<?x2x?x?xf32>

// REDEFINE: %{function} = none
// RUN: %{all}
func.func @none(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                %v: !k {attn.dims = ["B", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// REDEFINE: %{function} = top_left
// RUN: %{all}
func.func @top_left(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                    %v: !k {attn.dims = ["B", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.scale %s by 0.2 : !s
  %p = attn.masked_softmax %t causal(top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// With fewer keys than queries the first rows are empty.
// REDEFINE: %{function} = bottom_right
// RUN: %{all}
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
// REDEFINE: %{inputs} = --input=3
// RUN: %{all}
// REDEFINE: %{inputs} = --input=-4
// RUN: %{all}
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
// REDEFINE: %{function} = offsets
// RUN: %tensors %t.offsets.npy i64 2 "3 - 4 * a"
// REDEFINE: %{inputs} = --input=%t.offsets.npy
// RUN: %{all}
func.func @offsets(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                   %v: !k {attn.dims = ["B", "", "Skv", ""]}, %past: tensor<?xi64> {attn.dims = ["B"]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s causal(offset %past : tensor<?xi64>) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// REDEFINE: %{function} = window
// REDEFINE: %{inputs} =
// RUN: %{all}
func.func @window(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                  %v: !k {attn.dims = ["B", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s window[5, 2](top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// A sliding window of a decoder: causal and 20 keys.
// REDEFINE: %{function} = sliding
// RUN: %{all}
func.func @sliding(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                   %v: !k {attn.dims = ["B", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s causal(bottom_right) window[19, 0] : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// A length of zero leaves a batch element without keys.
// REDEFINE: %{function} = lengths
// RUN: %tensors %t.lengths.npy i32 2 "3 * a"
// REDEFINE: %{inputs} = --input=%t.lengths.npy
// RUN: %{all}
func.func @lengths(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                   %v: !k {attn.dims = ["B", "", "Skv", ""]}, %n: tensor<?xi32> {attn.dims = ["B"]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s lengths(%n : tensor<?xi32>) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// REDEFINE: %{function} = mask
// REDEFINE: %{inputs} = --input=random
// RUN: %{all}
func.func @mask(%q: !q {attn.dims = ["B", "", "Sq", ""]}, %k: !k {attn.dims = ["B", "", "Skv", ""]},
                %v: !k {attn.dims = ["B", "", "Skv", ""]}, %m: tensor<?x1x?x?xi1> {attn.dims = ["B", "", "Sq", "Skv"]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s mask(%m : tensor<?x1x?x?xi1>) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// Blocks of 8, and every head sees other distances.
// REDEFINE: %{function} = region
// REDEFINE: %{inputs} =
// RUN: %{all}
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
// REDEFINE: %{function} = combined
// RUN: %tensors %t.three.npy i32 2 "5 - 2 * a"
// REDEFINE: %{inputs} = --input=%t.three.npy --input=random
// RUN: %{all}
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
