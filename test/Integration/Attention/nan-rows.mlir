// With empty_row(nan), a row that sees nothing is NaN and no other: on each kernel
// and instruction set, and by the naive lowering.

// DEFINE: %{inputs} =
// DEFINE: %{prefix} =
// DEFINE: %{run} = attn-run %s --cache-dir=%t.cache %{inputs}
// DEFINE: %{fused} = %{run} --check --require-fused
// DEFINE: %{check} = FileCheck %s --check-prefixes=%{prefix},FUSED
// DEFINE: %{all} = %{fused} | %{check} && %{fused} --target=x86-64 | %{check} && %{fused} --target=%{v3} | %{check} && %{fused} --target=%{v4} | %{check} && %{fused} --disable-feature=avx512f | %{check} && %{run} --twin | FileCheck %s --check-prefix=%{prefix}
// RUN: rm -rf %t.cache

// Bottom right, 40 rows of 25 keys: 15 rows of 4 heads and 24 features see nothing.
// REDEFINE: %{prefix} = SQUARE
// REDEFINE: %{inputs} = --function=merged --dim=Sq=40 --dim=Skv=25 --input=random --input=random --input=random
// RUN: %{all}
// SQUARE: result 0: f32 [2, 40, 96], {{.*}}, 2880 NaN

// As many rows as keys: none.
// REDEFINE: %{prefix} = NONE
// REDEFINE: %{inputs} = --function=merged --dim=Sq=40 --dim=Skv=40 --input=random --input=random --input=random
// RUN: %{all}
// NONE: result 0: f32 [2, 40, 96], min {{[-0-9.]+}}, max {{[-0-9.]+}}, mean {{[-0-9.e]+$}}

// No keys: no weights that could be NaN, and a sum of nothing is 0.
// REDEFINE: %{prefix} = NOKEYS
// REDEFINE: %{inputs} = --function=merged --dim=Sq=3 --dim=Skv=0 --input=random --input=random --input=random
// RUN: %{all}
// NOKEYS: result 0: f32 [2, 3, 96], min 0, max 0, mean 0{{$}}

// Values that are NaN or infinite do not reach hidden rows, nor shown ones.
// RUN: %tensors %t.v.npy f32 2x2x25x24 "nan if c == 24 else 1"
// REDEFINE: %{prefix} = HIDDEN
// The first sequence has a length of 0, the second one of 24.
// RUN: %tensors %t.n.npy i32 2 "24 * a"
// REDEFINE: %{inputs} = --function=hidden --dim=Sq=9 --input=random --input=random --input=%t.v.npy --input=%t.n.npy
// RUN: %{all}
// HIDDEN: result 0: f32 [2, 4, 9, 24], min {{(1|0.9999)[0-9.]*}}, max {{(1|0.9999)[0-9.]*}}, mean {{(1|0.9999)[0-9.]*}}, 864 NaN

// The same of many keys.
// RUN: %tensors %t.long.npy f32 2x2x4000x24 "nan if c == 3999 else 1"
// RUN: %tensors %t.3999.npy i32 2 "3999 * a"
// REDEFINE: %{prefix} = DECODE
// REDEFINE: %{inputs} = --function=hidden --dim=Sq=1 --input=random --input=random --input=%t.long.npy --input=%t.3999.npy
// RUN: %{all}
// DECODE: result 0: f32 [2, 4, 1, 24], min {{(1|0.9999)[0-9.]*}}, max {{(1|0.9999)[0-9.]*}}, mean {{(1|0.9999)[0-9.]*}}, 96 NaN

// One row known as such, whose keys are split over tasks.
// REDEFINE: %{inputs} = --function=decode --input=random --input=random --input=%t.long.npy --input=%t.3999.npy
// RUN: %{all}

// A sink gives a row a sum, unless it is -inf.
// RUN: %tensors %t.sink.npy f32 4 "[0.5, -inf, 30, -30][a]"
// REDEFINE: %{prefix} = SINK
// REDEFINE: %{inputs} = --function=sink --dim=Sq=40 --dim=Skv=25 --input=random --input=random --input=random --input=%t.sink.npy
// RUN: %{all}
// SINK: result 0: f32 [2, 4, 40, 24], {{.*}}, 720 NaN

// Scores of -inf alone, in bf16, f64 and additive.
// REDEFINE: %{prefix} = BF16
// REDEFINE: %{inputs} = --function=bf16 --input=random --input=random --input=random
// RUN: %{all}
// BF16: result 0: bf16 [1, 2, 70, 32], {{.*}}, 192 NaN
// REDEFINE: %{prefix} = F64
// REDEFINE: %{inputs} = --function=f64 --input=random --input=random --input=random
// RUN: %{all}
// F64: result 0: f64 [1, 2, 70, 32], {{.*}}, 192 NaN
// REDEFINE: %{prefix} = ADDITIVE
// REDEFINE: %{inputs} = --function=additive --input=random --input=random --input=random --input=random
// RUN: %{all}
// ADDITIVE: result 0: f32 [1, 2, 70, 32], {{.*}}, 192 NaN

// A program on weights makes hidden pairs 0: no row is NaN.
// REDEFINE: %{prefix} = MAPPED
// REDEFINE: %{inputs} = --function=mapped --dim=Sq=40 --dim=Skv=25 --input=random --input=random --input=random
// RUN: %{all}
// MAPPED: result 0: f32 [2, 4, 40, 24], min {{[-0-9.]+}}, max {{[-0-9.]+}}, mean {{[-0-9.e]+$}}

// A cache in pages, whose keys are not gathered for their number.
// RUN: %tensors %t.table.npy i32 2x3 "3 - n %% 4"
// REDEFINE: %{prefix} = PAGED
// REDEFINE: %{inputs} = --function=paged --input=random --input=random --input=random --input=%t.table.npy --input=%t.pages.npy
// RUN: %tensors %t.pages.npy i32 2 "20 - 20 * a"
// RUN: %{all}
// PAGED: result 0: f32 [2, 4, 1, 24], {{.*}}, 96 NaN

!q = tensor<2x4x?x24xf32>
!k = tensor<2x2x?x24xf32>
!s = tensor<2x4x?x?xf32>

func.func @merged(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !k {attn.dims = ["", "", "Skv", ""]},
                  %v: !k {attn.dims = ["", "", "Skv", ""]}) -> tensor<2x?x96xf32> {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.scale %s by 0.2 : !s
  %p = attn.masked_softmax %t causal(bottom_right) empty_row(nan) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  %m = attn.merge_heads %o : !q -> tensor<2x?x96xf32>
  return %m : tensor<2x?x96xf32>
}

func.func @hidden(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !k {attn.dims = ["", "", "Skv", ""]},
                  %v: !k {attn.dims = ["", "", "Skv", ""]}, %n: tensor<2xi32>) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.scale %s by 0.2 : !s
  %p = attn.masked_softmax %t lengths(%n : tensor<2xi32>) empty_row(nan) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

func.func @decode(%q: tensor<2x4x1x24xf32>, %k: !k {attn.dims = ["", "", "Skv", ""]},
                  %v: !k {attn.dims = ["", "", "Skv", ""]}, %n: tensor<2xi32>) -> tensor<2x4x1x24xf32> {
  %s = attn.qk %q, %k : tensor<2x4x1x24xf32>, !k -> tensor<2x4x1x?xf32>
  %t = attn.scale %s by 0.2 : tensor<2x4x1x?xf32>
  %p = attn.masked_softmax %t lengths(%n : tensor<2xi32>) empty_row(nan) : tensor<2x4x1x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<2x4x1x?xf32>, !k -> tensor<2x4x1x24xf32>
  return %o : tensor<2x4x1x24xf32>
}

func.func @sink(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !k {attn.dims = ["", "", "Skv", ""]},
                %v: !k {attn.dims = ["", "", "Skv", ""]}, %sink: tensor<4xf32>) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s causal(bottom_right) sink(%sink : tensor<4xf32>) empty_row(nan) : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

func.func @bf16(%q: tensor<1x2x70x32xbf16>, %k: tensor<1x2x70x32xbf16>, %v: tensor<1x2x70x32xbf16>) -> tensor<1x2x70x32xbf16> {
  %s = attn.qk %q, %k : tensor<1x2x70x32xbf16>, tensor<1x2x70x32xbf16> -> tensor<1x2x70x70xf32>
  %t = attn.score_map %s : tensor<1x2x70x70xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %c67 = arith.constant 67 : index
    %none = arith.constant 0xFF800000 : f32
    %hidden = arith.cmpi uge, %i, %c67 : index
    %y = arith.select %hidden, %none, %x : f32
    attn.yield %y : f32
  }
  %p = attn.masked_softmax %t empty_row(nan) : tensor<1x2x70x70xf32>
  %o = attn.weighted_sum %p, %v : tensor<1x2x70x70xf32>, tensor<1x2x70x32xbf16> -> tensor<1x2x70x32xbf16>
  return %o : tensor<1x2x70x32xbf16>
}

func.func @f64(%q: tensor<1x2x70x32xf64>, %k: tensor<1x2x70x32xf64>, %v: tensor<1x2x70x32xf64>) -> tensor<1x2x70x32xf64> {
  %s = attn.qk %q, %k : tensor<1x2x70x32xf64>, tensor<1x2x70x32xf64> -> tensor<1x2x70x70xf64>
  %t = attn.score_map %s : tensor<1x2x70x70xf64> {
  ^bb0(%x: f64, %b: index, %h: index, %i: index, %j: index):
    %c67 = arith.constant 67 : index
    %none = arith.constant 0xFFF0000000000000 : f64
    %hidden = arith.cmpi uge, %i, %c67 : index
    %y = arith.select %hidden, %none, %x : f64
    attn.yield %y : f64
  }
  %p = attn.masked_softmax %t empty_row(nan) : tensor<1x2x70x70xf64>
  %o = attn.weighted_sum %p, %v : tensor<1x2x70x70xf64>, tensor<1x2x70x32xf64> -> tensor<1x2x70x32xf64>
  return %o : tensor<1x2x70x32xf64>
}

func.func @additive(%q: tensor<1x2x70x8xf32>, %k: tensor<1x2x70x8xf32>, %w: tensor<8xf32>, %v: tensor<1x2x70x32xf32>) -> tensor<1x2x70x32xf32> {
  %s = attn.additive_scores %q, %k, %w : tensor<1x2x70x8xf32>, tensor<1x2x70x8xf32>, tensor<8xf32> -> tensor<1x2x70x70xf32>
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c3 = arith.constant 3 : index
    %visible = arith.cmpi uge, %i, %c3 : index
    attn.yield %visible : i1
  } empty_row(nan) : tensor<1x2x70x70xf32>
  %o = attn.weighted_sum %p, %v : tensor<1x2x70x70xf32>, tensor<1x2x70x32xf32> -> tensor<1x2x70x32xf32>
  return %o : tensor<1x2x70x32xf32>
}

func.func @mapped(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !k {attn.dims = ["", "", "Skv", ""]},
                  %v: !k {attn.dims = ["", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s causal(bottom_right) empty_row(nan) : !s
  %w = attn.probability_map %p : !s {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %y = arith.negf %x : f32
    attn.yield %y : f32
  }
  %o = attn.weighted_sum %w, %v : !s, !k -> !q
  return %o : !q
}

func.func @paged(%q: tensor<2x4x1x24xf32>, %keys: tensor<4x2x8x24xf32>, %values: tensor<4x2x8x24xf32>,
                 %table: tensor<2x3xi32>, %n: tensor<2xi32>) -> tensor<2x4x1x24xf32> {
  %k = attn.gather_pages %keys, %table : tensor<4x2x8x24xf32>, tensor<2x3xi32> -> tensor<2x2x24x24xf32>
  %v = attn.gather_pages %values, %table : tensor<4x2x8x24xf32>, tensor<2x3xi32> -> tensor<2x2x24x24xf32>
  %s = attn.qk %q, %k : tensor<2x4x1x24xf32>, tensor<2x2x24x24xf32> -> tensor<2x4x1x24xf32>
  %t = attn.scale %s by 0.2 : tensor<2x4x1x24xf32>
  %p = attn.masked_softmax %t lengths(%n : tensor<2xi32>) empty_row(nan) : tensor<2x4x1x24xf32>
  %o = attn.weighted_sum %p, %v : tensor<2x4x1x24xf32>, tensor<2x2x24x24xf32> -> tensor<2x4x1x24xf32>
  return %o : tensor<2x4x1x24xf32>
}

// Behind all other lines, because it is printed last.
// FUSED: check result 0: passed
// FUSED-NOT: FAILED
