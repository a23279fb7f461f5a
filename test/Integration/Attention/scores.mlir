// What happens to scores before the softmax, in any order, fused, against the
// f64 twin, on each instruction set.

// DEFINE: %{function} =
// DEFINE: %{inputs} =
// DEFINE: %{run} = attn-run %s --check --require-fused --cache-dir=%t.cache --function=%{function} --dim=Sq=37 --dim=Skv=70 --input=random --input=random --input=random %{inputs}
// DEFINE: %{all} = %{run} | FileCheck %s && %{run} --target=x86-64 | FileCheck %s && %{run} --target=%{v3} | FileCheck %s && %{run} --target=%{v4} | FileCheck %s
// RUN: rm -rf %t.cache

// CHECK: check result 0: passed
// CHECK-NOT: FAILED

!q = tensor<1x2x?x40xf32>
!s = tensor<1x2x?x?xf32>

// -inf hides its pair, all of a row leaves it empty; the least finite number
// does not.
// REDEFINE: %{function} = bias
// RUN: %tensors %t.bias.npy f32 2x37x70 "-inf if b % 5 == 3 or (b + c) % 3 == 0 else -3.4028234e38 if b % 5 == 2 else (c - b) / 16"
// REDEFINE: %{inputs} = --input=%t.bias.npy
// RUN: %{all}
func.func @bias(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                %v: !q {attn.dims = ["", "", "Skv", ""]}, %bias: tensor<2x?x?xf32> {attn.dims = ["", "Sq", "Skv"]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.scale %s by 0.15811388 : !s
  %u = attn.bias %t, %bias : !s, tensor<2x?x?xf32>
  %p = attn.masked_softmax %u : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// A bias of one row for each batch element, before the scale.
// REDEFINE: %{function} = padding
// REDEFINE: %{inputs} = --input=random
// RUN: %{all}
func.func @padding(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                   %v: !q {attn.dims = ["", "", "Skv", ""]}, %bias: tensor<1x1x1x?xf32> {attn.dims = ["", "", "", "Skv"]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.bias %s, %bias : !s, tensor<1x1x1x?xf32>
  %u = attn.scale %t by 0.15811388 : !s
  %p = attn.masked_softmax %u : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// REDEFINE: %{function} = softcap
// REDEFINE: %{inputs} =
// RUN: %{all}
func.func @softcap(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                   %v: !q {attn.dims = ["", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.scale %s by 0.5 : !s
  %u = attn.softcap %t at 2.0 : !s
  %p = attn.masked_softmax %u causal(bottom_right) : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// ALiBi: the slope depends on the head, the distance on row and key.
// REDEFINE: %{function} = alibi
// RUN: %{all}
func.func @alibi(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                 %v: !q {attn.dims = ["", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.scale %s by 0.15811388 : !s
  %u = attn.score_map %t : !s {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %hi = arith.index_cast %h : index to i32
    %hf = arith.sitofp %hi : i32 to f32
    %half = arith.constant 0.0625 : f32
    %slope = arith.mulf %hf, %half : f32
    %bias = arith.mulf %slope, %df : f32
    %x = arith.addf %score, %bias : f32
    attn.yield %x : f32
  }
  %p = attn.masked_softmax %u causal(top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// A scale of zero makes every key equal, a negative one turns the order.
// REDEFINE: %{function} = zero
// RUN: %{all}
func.func @zero(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                %v: !q {attn.dims = ["", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.scale %s by 0.0 : !s
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// REDEFINE: %{function} = negative
// RUN: %{all}
func.func @negative(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                    %v: !q {attn.dims = ["", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.scale %s by -0.5 : !s
  %p = attn.masked_softmax %t causal(top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}
