// Programs may divide by anything: they are evaluated for hidden pairs too, and
// by the twin as by the kernels.

// RUN: attn-run %s --function=by_key --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --require-fused --check | FileCheck %s
// RUN: attn-run %s --function=by_number --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --input=0 --require-fused --check | FileCheck %s
// RUN: attn-run %s --function=by_number --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --input=-1 --require-fused --check | FileCheck %s
// RUN: attn-run %s --function=by_length --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --input=zeros --require-fused --check | FileCheck %s
// RUN: attn-run %s --function=by_index --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --require-fused --check | FileCheck %s
// CHECK: check result 0: passed

!q = tensor<2x2x5x8xf32>
!s = tensor<2x2x5x5xf32>

func.func @by_key(%q: !q, %k: !q, %v: !q) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %one = arith.constant 1 : index
    %quotient = arith.ceildivsi %i, %j : index
    %rest = arith.remsi %j, %i : index
    %few = arith.cmpi sle, %quotient, %one : index
    %none = arith.cmpi sle, %rest, %one : index
    %visible = arith.andi %few, %none : i1
    attn.yield %visible : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// Also in what skips tiles, and the lowest integer by -1.
func.func @by_number(%q: !q, %k: !q, %v: !q, %n: index) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2 : index
    %lowest = arith.constant -9223372036854775808 : index
    %quotient = arith.divsi %j, %n : index
    %large = arith.divsi %lowest, %n : index
    %few = arith.cmpi sle, %quotient, %two : index
    %below = arith.cmpi slt, %large, %j : index
    %visible = arith.andi %few, %below : i1
    attn.yield %visible : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// Divisions of another dialect.
func.func @by_index(%q: !q, %k: !q, %v: !q) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %one = index.constant 1
    %0 = index.rems %i, %j
    %1 = index.divu %i, %j
    %2 = index.ceildivs %j, %i
    %sum = index.add %0, %1
    %visible = index.cmp sge(%sum, %2)
    attn.yield %visible : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// Nothing is visible where the divisor is 0.
func.func @by_length(%q: !q, %k: !q, %v: !q, %n: tensor<2xi32>) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s lengths(%n : tensor<2xi32>) visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %length = tensor.extract %n[%b] : tensor<2xi32>
    %at = arith.index_cast %j : index to i32
    %rest = arith.remui %at, %length : i32
    %row = arith.index_cast %i : index to i32
    %visible = arith.cmpi ule, %rest, %row : i32
    attn.yield %visible : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}
