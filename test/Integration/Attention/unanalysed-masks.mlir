// Mask programs with an op that the analysis of masks does not know: the right
// answer, from the fused kernel, and a remark that says what it costs.

// DEFINE: %{function} =
// DEFINE: %{run} = attn-run %s --function=%{function} --check --require-fused --explain --dim=S=300 --input=random:seed=1 --input=random:seed=2
// CHECK-DAG: check result 0: passed

!q = tensor<1x2x?x16xf32>
!s = tensor<1x2x?x?xf32>

// Floats that hold no integers.
// REDEFINE: %{function} = sine
// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=CHECK,SINE
// SINE-DAG: 'arith.cmpf' in the mask program is not analysed: the mask is evaluated pair by pair where it matters
func.func @sine(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "S", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.scale %s by 0.25 : !s
  %p = attn.masked_softmax %t causal(top_left) visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %d = arith.subi %i, %j : index
    %n = arith.index_cast %d : index to i32
    %x = arith.sitofp %n : i32 to f32
    %y = math.sin %x : f32
    %limit = arith.constant -0.3 : f32
    %v = arith.cmpf oge, %y, %limit : f32
    attn.yield %v : i1
  } : !s
  %o = attn.weighted_sum %p, %k : !s, !q -> !q
  return %o : !q
}

// Bits of integers, which are instructions and no library calls.
// REDEFINE: %{function} = zeros
// RUN: %{run} 2>&1 | FileCheck %s --check-prefixes=CHECK,ZEROS --implicit-check-not='library call'
// ZEROS-DAG: 'math.ctlz' in the mask program is not analysed: the mask is evaluated pair by pair where it matters
func.func @zeros(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "S", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.scale %s by 0.25 : !s
  %p = attn.masked_softmax %t visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %d = arith.xori %i, %j : index
    %n = arith.index_cast %d : index to i32
    %z = math.ctlz %n : i32
    %limit = arith.constant 26 : i32
    %v = arith.cmpi sge, %z, %limit : i32
    attn.yield %v : i1
  } : !s
  %o = attn.weighted_sum %p, %k : !s, !q -> !q
  return %o : !q
}
