// A dividend of the key and a number far beyond every key: no key that its
// quotient lets through may be left out.

// RUN: attn-run %s --dim=S=33 --dim=T=145 --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --require-fused --check | FileCheck %s
// CHECK: check result 0: passed

!q = tensor<1x2x?x64xf32>
!s = tensor<1x2x?x?xf32>
func.func @f(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "T", ""]}, %v: !q {attn.dims = ["", "", "T", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %large = arith.constant 549755813888 : index
    %factor = arith.constant 65536 : index
    %half = arith.constant 32768 : index
    %two = arith.constant 2 : index
    %ten = arith.constant 10 : index
    %unit = arith.maxsi %large, %i : index
    %shift = arith.muli %unit, %factor : index
    %dividend = arith.addi %j, %shift : index
    %quotient = arith.divui %dividend, %two : index
    %middle = arith.muli %unit, %half : index
    %limit = arith.addi %middle, %ten : index
    %visible = arith.cmpi sle, %quotient, %limit : index
    attn.yield %visible : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}
