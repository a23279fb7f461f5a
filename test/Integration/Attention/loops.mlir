// Layers in a loop: what an iteration computes is carried to the next one, and
// any number of iterations is right, none among them.

// RUN: attn-run %s --input=random:seed=1 --input=random:seed=2 --input=0 --require-fused --check | FileCheck %s
// RUN: attn-run %s --input=random:seed=1 --input=random:seed=2 --input=1 --require-fused --check | FileCheck %s
// RUN: attn-run %s --input=random:seed=1 --input=random:seed=2 --input=5 --threads=2 --require-fused --check | FileCheck %s
// CHECK: check result 0: passed
// CHECK: check result 1: passed

!x = tensor<2x3x21x16xf32>
!s = tensor<2x3x21x21xf32>
func.func @f(%x: !x, %sum: tensor<2x3x21x16xf32>, %layers: index) -> (!x, !x) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r:2 = scf.for %layer = %zero to %layers step %one iter_args(%y = %x, %total = %sum) -> (!x, !x) {
    %s = attn.qk %y, %y : !x, !x -> !s
    %t = attn.scale %s by 0.25 : !s
    %p = attn.masked_softmax %t causal(top_left) : !s
    %o = attn.weighted_sum %p, %y : !s, !x -> !x
    %next = arith.addf %total, %o : !x
    scf.yield %o, %next : !x, !x
  }
  return %r#0, %r#1 : !x, !x
}
