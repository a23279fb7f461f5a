// Masks whose blocks are told apart one by one: what is visible is no range, or is
// read from a tensor by row, by key or by block. Fused on each instruction set, with
// few rows and with many, and each checked against the f64 twin.

// DEFINE: %{function} =
// DEFINE: %{more} =
// DEFINE: %{run} = attn-run %s --cache-dir=%t.cache --function=%{function} --check --require-fused --input=random --input=random --input=random %{more}
// DEFINE: %{many} = %{run} --dim=Sq=300 --dim=Skv=300
// DEFINE: %{see} = FileCheck %s
// DEFINE: %{all} = %{many} | %{see} && %{many} --target=x86-64 | %{see} && %{many} --target=%{v3} | %{see} && %{many} --target=%{v4} | %{see} && %{run} --dim=Sq=2 --dim=Skv=700 | %{see}
// RUN: rm -rf %t.cache

// CHECK: check result 0: passed
// CHECK-NOT: FAILED

!q = tensor<2x2x?x24xf32>
!s = tensor<2x2x?x?xf32>

// REDEFINE: %{function} = sinks_and_window
// RUN: %{all}
func.func @sinks_and_window(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                            %v: !q {attn.dims = ["", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s causal(bottom_right) visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %few = arith.constant 4 : index
    %width = arith.constant 37 : index
    %first = arith.cmpi slt, %j, %few : index
    %d = arith.subi %i, %j : index
    %near = arith.cmpi slt, %d, %width : index
    %x = arith.ori %first, %near : i1
    attn.yield %x : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// All but a band, in integers of 32 bits.
// REDEFINE: %{function} = outside
// RUN: %{all}
func.func @outside(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                   %v: !q {attn.dims = ["", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %width = arith.constant 100 : i32
    %row = arith.index_cast %i : index to i32
    %column = arith.index_cast %j : index to i32
    %d = arith.subi %row, %column : i32
    %a = math.absi %d : i32
    %near = arith.cmpi slt, %a, %width : i32
    %no = arith.constant true
    %x = arith.xori %near, %no : i1
    attn.yield %x : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// Windows for some heads.
// REDEFINE: %{function} = chosen
// RUN: %{all}
func.func @chosen(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                  %v: !q {attn.dims = ["", "", "Skv", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %one = arith.constant 1 : index
    %width = arith.constant 50 : index
    %d = arith.subi %i, %j : index
    %causal = arith.cmpi sle, %j, %i : index
    %near = arith.cmpi ult, %d, %width : index
    %isLocal = arith.cmpi eq, %h, %one : index
    %x = arith.select %isLocal, %near, %causal : i1
    attn.yield %x : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// A table of blocks, with a window and global blocks.
// REDEFINE: %{function} = table
// RUN: %tensors %t.table.npy i1 2x40x40 "(3 * a + 5 * b + 7 * c) %% 11 == 0"
// REDEFINE: %{more} = --input=%t.table.npy
// RUN: %{all}
func.func @table(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                 %v: !q {attn.dims = ["", "", "Skv", ""]}, %table: tensor<2x40x40xi1>) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %size = arith.constant 20 : index
    %row = arith.divui %i, %size : index
    %column = arith.divui %j, %size : index
    %listed = tensor.extract %table[%h, %row, %column] : tensor<2x40x40xi1>
    %same = arith.cmpi eq, %row, %column : index
    %global = arith.cmpi slt, %j, %size : index
    %x = arith.ori %listed, %same : i1
    %y = arith.ori %x, %global : i1
    attn.yield %y : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// The same from integers, by shifts, beyond the ends of the table.
// REDEFINE: %{function} = layout
// RUN: %tensors %t.layout.npy i8 9x9 "(5 * a + 3 * b) %% 7 - 3"
// REDEFINE: %{more} = --input=%t.layout.npy
// RUN: %{all}
func.func @layout(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                  %v: !q {attn.dims = ["", "", "Skv", ""]}, %table: tensor<9x9xi8>) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %five = arith.constant 5 : index
    %one = arith.constant 1 : i8
    %row = arith.shrsi %i, %five : index
    %column = arith.shrui %j, %five : index
    %listed = tensor.extract %table[%row, %column] : tensor<9x9xi8>
    %x = arith.cmpi sgt, %listed, %one : i8
    attn.yield %x : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// Padding as numbers to add: -inf hides, in f16 too.
// REDEFINE: %{function} = padding
// RUN: %tensors %t.padding.npy f16 2x1x1x700 "-inf if 100 * a < d %% 300 < 200 else d %% 5 / 2"
// REDEFINE: %{more} = --input=%t.padding.npy
// RUN: %{run} --dim=Sq=2 --dim=Skv=700 | %{see} && %{run} --dim=Sq=100 --dim=Skv=700 | %{see} && %{run} --dim=Sq=100 --dim=Skv=700 --target=x86-64 | %{see}
func.func @padding(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                   %v: !q {attn.dims = ["", "", "Skv", ""]}, %bias: tensor<2x1x1x?xf16> {attn.dims = ["", "", "", "Skv"]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.bias %s, %bias : !s, tensor<2x1x1x?xf16>
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}
