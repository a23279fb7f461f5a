// What happens to scores before the softmax, in any order, fused on each
// instruction set and by the naive lowering, against the same numbers, and with
// random inputs against the f64 twin.
//
// The numbers: q is 1 and k is 0 or log 2 in their first feature and 0 in the
// others, so that keys weigh 1 and 2 in turn, and v counts keys and heads. The
// means over the visible keys were taken in f64 by another program.

// DEFINE: %{function} =
// DEFINE: %{three} = --input=%t.q.npy --input=%t.k.npy --input=%t.v.npy
// DEFINE: %{inputs} =
// DEFINE: %{more} =
// DEFINE: %{run} = attn-run %s --cache-dir=%t.cache --function=%{function}
// DEFINE: %{random} = %{run} --check --require-fused --dim=Sq=37 --dim=Skv=70 --input=random --input=random --input=random %{more}
// DEFINE: %{fused} = %{run} --require-fused %{inputs}
// DEFINE: %{see} = FileCheck %s --check-prefix=%{function}-result
// DEFINE: %{both} = %{fused} | %{see} && %{fused} --target=x86-64 | %{see} && %{fused} --target=%{v3} | %{see} && %{fused} --target=%{v4} | %{see} && %{run} --twin %{inputs} | %{see}
// DEFINE: %{passed} = FileCheck %s
// DEFINE: %{all} = %{both} && %{random} | %{passed} && %{random} --target=x86-64 | %{passed} && %{random} --target=%{v3} | %{passed} && %{random} --target=%{v4} | %{passed}
// RUN: rm -rf %t.cache
// RUN: %tensors %t.q.npy f32 1x2x37x40 "d == 0"
// RUN: %tensors %t.k.npy f32 1x2x70x40 "(c & 1) * (d == 0) * math.log(2)"
// RUN: %tensors %t.v.npy f32 1x2x70x40 "1 + c + 3 * b + d / 32"

// CHECK: check result 0: passed
// CHECK-NOT: FAILED

!q = tensor<1x2x?x40xf32>
!s = tensor<1x2x?x?xf32>

// -inf hides its pair, all of a row leaves it empty; the least finite number
// does not.
// REDEFINE: %{function} = bias
// RUN: %tensors %t.bias.npy f32 2x37x70 "-inf if b % 5 == 3 or (b + c) % 3 == 0 else -3.4028234e38 if b % 5 == 2 else (c - b) / 16"
// REDEFINE: %{inputs} = %{three} --input=%t.bias.npy
// REDEFINE: %{more} = --input=%t.bias.npy
// RUN: %{all}
// bias-result: result 0: f32 [1, 2, 37, 40], min 0, max 60.067{{[0-9]*}}, mean 42.861{{[0-9]*}}
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
// RUN: %tensors %t.padding.npy f32 1x1x1x70 "d %% 4 / 2"
// REDEFINE: %{inputs} = %{three} --input=%t.padding.npy
// REDEFINE: %{more} = --input=random
// RUN: %{all}
// padding-result: result 0: f32 [1, 2, 37, 40], min 35.547{{[0-9]*}}, max 39.765{{[0-9]*}}, mean 37.6564
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
// REDEFINE: %{inputs} = %{three}
// REDEFINE: %{more} =
// RUN: %{all}
// softcap-result: result 0: f32 [1, 2, 37, 40], min 17.58{{[0-9]*}}, max 39.8037, mean 28.653
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
// alibi-result: result 0: f32 [1, 2, 37, 40], min {{0[.]99999|1|1[.]00001}}, max 29.761{{[0-9]*}}, mean 13.2923
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
// zero-result: result 0: f32 [1, 2, 37, 40], min 35.5, max 39.718{{[0-9]*}}, mean 37.609{{[0-9]*}}
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
// negative-result: result 0: f32 [1, 2, 37, 40], min {{0[.]99999|1|1[.]00001}}, max 23.218{{[0-9]*}}, mean 12.067{{[0-9]*}}
func.func @negative(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                    %v: !q {attn.dims = ["", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.scale %s by -0.5 : !s
  %p = attn.masked_softmax %t causal(top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}
