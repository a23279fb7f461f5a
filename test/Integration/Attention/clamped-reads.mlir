// A program that reads out of bounds gets the nearest element. The check says so
// where a visible pair did, and does not where only hidden pairs did.

// RUN: attn-run %s --function=visible --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --input=random:seed=4 --check | FileCheck %s --check-prefix=VISIBLE
// RUN: attn-run %s --function=branch --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --input=random:seed=4 --check | FileCheck %s --check-prefix=VISIBLE
// RUN: attn-run %s --function=hidden --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --input=random:seed=4 --check | FileCheck %s --check-prefix=HIDDEN
// RUN: attn-run %s --function=swallowed --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --input=random:seed=4 --check | FileCheck %s --check-prefix=SWALLOWED
// VISIBLE: check result 0: passed{{.*}}, a program read out of bounds for a visible pair
// HIDDEN: check result 0: passed
// HIDDEN-NOT: out of bounds

// The truth is that of the nearest element, whatever a NaN would do.
// SWALLOWED: check result 0: passed: max abs {{.*}}e-07 (allowed {{.*}}e-06)

!q = tensor<1x2x5x8xf32>
!s = tensor<1x2x5x5xf32>

func.func @visible(%q: !q, %k: !q, %v: !q, %t: tensor<3xf32>) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %u = attn.score_map %s : !s {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %y = tensor.extract %t[%j] : tensor<3xf32>
    %z = arith.addf %x, %y : f32
    attn.yield %z : f32
  }
  %p = attn.masked_softmax %u : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

func.func @hidden(%q: !q, %k: !q, %v: !q, %t: tensor<5xf32>) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %u = attn.score_map %s : !s {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %distance = arith.subi %i, %j : index
    %y = tensor.extract %t[%distance] : tensor<5xf32>
    %z = arith.addf %x, %y : f32
    attn.yield %z : f32
  }
  %p = attn.masked_softmax %u causal(top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

func.func @swallowed(%q: !q, %k: !q, %v: !q, %t: tensor<3xf32>) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %u = attn.score_map %s : !s {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %y = tensor.extract %t[%j] : tensor<3xf32>
    %z = arith.maxnumf %x, %y : f32
    attn.yield %z : f32
  }
  %p = attn.masked_softmax %u visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %half = arith.constant 0.5 : f32
    %y = tensor.extract %t[%j] : tensor<3xf32>
    %visible = arith.cmpf ult, %y, %half : f32
    attn.yield %visible : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// The read stands in a branch of the program.
func.func @branch(%q: !q, %k: !q, %v: !q, %t: tensor<3xf32>) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %u = attn.score_map %s : !s {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %is_past = arith.cmpi sle, %j, %i : index
    %z = scf.if %is_past -> f32 {
      %y = tensor.extract %t[%j] : tensor<3xf32>
      %sum = arith.addf %x, %y : f32
      scf.yield %sum : f32
    } else {
      scf.yield %x : f32
    }
    attn.yield %z : f32
  }
  %p = attn.masked_softmax %u : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}
