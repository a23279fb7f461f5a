// Mask programs with integers that do not fit an index: the analyses of masks
// count in indices and must leave them to the program. Every pair is visible.

// DEFINE: %{function} =
// DEFINE: %{run} = attn-run %s --function=%{function} --check --require-fused --dim=S=70 --input=random --input=random
// DEFINE: %{see} = FileCheck %s
// CHECK: check result 0: passed

!q = tensor<1x1x?x8xf32>
!s = tensor<1x1x?x?xf32>

// A constant, beside ids for which blocks of keys are told apart.
// REDEFINE: %{function} = literal
// RUN: %{run} --input=ones | %{see}
func.func @literal(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "S", ""]}, %ids: tensor<1x?xi64> {attn.dims = ["", "S"]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %id = tensor.extract %ids[%b, %j] : tensor<1x?xi64>
    %wide = arith.extsi %id : i64 to i128
    %limit = arith.constant 36893488147419103232 : i128
    %x = arith.cmpi slt, %wide, %limit : i128
    attn.yield %x : i1
  } : !s
  %o = attn.weighted_sum %p, %k : !s, !q -> !q
  return %o : !q
}

// A value from outside, alone and beside ids.
// REDEFINE: %{function} = captured
// RUN: %{run} --input=1 | %{see}
func.func @captured(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "S", ""]}, %n: i64) -> !q {
  %c64 = arith.constant 64 : i128
  %n128 = arith.extsi %n : i64 to i128
  %limit = arith.shli %n128, %c64 : i128
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %key = arith.index_cast %j : index to i64
    %wide = arith.extsi %key : i64 to i128
    %x = arith.cmpi slt, %wide, %limit : i128
    attn.yield %x : i1
  } : !s
  %o = attn.weighted_sum %p, %k : !s, !q -> !q
  return %o : !q
}

// REDEFINE: %{function} = captured_beside_ids
// RUN: %{run} --input=1 --input=ones | %{see}
func.func @captured_beside_ids(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "S", ""]}, %n: i64, %ids: tensor<1x?xi64> {attn.dims = ["", "S"]}) -> !q {
  %c64 = arith.constant 64 : i128
  %n128 = arith.extsi %n : i64 to i128
  %limit = arith.shli %n128, %c64 : i128
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %id = tensor.extract %ids[%b, %j] : tensor<1x?xi64>
    %wide = arith.extsi %id : i64 to i128
    %x = arith.cmpi slt, %wide, %limit : i128
    attn.yield %x : i1
  } : !s
  %o = attn.weighted_sum %p, %k : !s, !q -> !q
  return %o : !q
}
