// Programs with integers that do not fit an index. The analyses of masks count in
// indices and must leave them to the program; there every pair is visible.

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

// Division, and conversions from and to floats of each type. All numbers are
// small, and exact.
// REDEFINE: %{function} = floats
// RUN: %{run} | %{see}
func.func @floats(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "S", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %c1 = arith.constant 1 : i128
    %c3 = arith.constant 3 : i128
    %j64 = arith.index_cast %j : index to i64
    %number = arith.sitofp %j64 : i64 to f32
    %signed = arith.fptosi %number : f32 to i128
    %unsigned = arith.fptoui %number : f32 to i128
    %i128 = arith.index_cast %i : index to i128
    %d = arith.addi %i128, %c1 : i128
    %less = arith.subi %signed, %d : i128
    %0 = arith.divsi %less, %d : i128
    %1 = arith.remsi %less, %c3 : i128
    %2 = arith.divui %unsigned, %d : i128
    %3 = arith.remui %unsigned, %d : i128
    %4 = arith.addi %0, %1 : i128
    %5 = arith.addi %2, %3 : i128
    %6 = arith.sitofp %4 : i128 to f32
    %7 = arith.uitofp %5 : i128 to f32
    %8 = arith.subf %6, %7 : f32
    %y = arith.addf %x, %8 : f32
    attn.yield %y : f32
  }
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %k : !s, !q -> !q
  return %o : !q
}

// REDEFINE: %{function} = doubles
// RUN: %{run} | %{see}
func.func @doubles(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "S", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %c1 = arith.constant 1 : i128
    %c3 = arith.constant 3 : i128
    %j64 = arith.index_cast %j : index to i64
    %number = arith.sitofp %j64 : i64 to f64
    %signed = arith.fptosi %number : f64 to i128
    %unsigned = arith.fptoui %number : f64 to i128
    %i128 = arith.index_cast %i : index to i128
    %d = arith.addi %i128, %c1 : i128
    %less = arith.subi %signed, %d : i128
    %0 = arith.divsi %less, %d : i128
    %1 = arith.remsi %less, %c3 : i128
    %2 = arith.divui %unsigned, %d : i128
    %3 = arith.remui %unsigned, %d : i128
    %4 = arith.addi %0, %1 : i128
    %5 = arith.addi %2, %3 : i128
    %6 = arith.sitofp %4 : i128 to f64
    %7 = arith.uitofp %5 : i128 to f64
    %8 = arith.subf %6, %7 : f64
    %9 = arith.truncf %8 : f64 to f32
    %y = arith.addf %x, %9 : f32
    attn.yield %y : f32
  }
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %k : !s, !q -> !q
  return %o : !q
}

// Numbers of which LLVM knows that they are small.
// REDEFINE: %{function} = small_halves
// RUN: %{run} | %{see}
func.func @small_halves(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "S", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %j128 = arith.index_cast %j : index to i128
    %i128 = arith.index_cast %i : index to i128
    %0 = arith.divui %j128, %i128 : i128
    %1 = arith.uitofp %0 : i128 to f16
    %2 = arith.sitofp %0 : i128 to f32
    %3 = arith.truncf %2 : f32 to f16
    %4 = arith.addf %1, %3 : f16
    %5 = arith.extf %4 : f16 to f32
    %y = arith.addf %x, %5 : f32
    attn.yield %y : f32
  }
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %k : !s, !q -> !q
  return %o : !q
}

// REDEFINE: %{function} = halves
// RUN: %{run} | %{see}
func.func @halves(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "S", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %c1 = arith.constant 1 : i128
    %c3 = arith.constant 3 : i128
    %j64 = arith.index_cast %j : index to i64
    %number = arith.sitofp %j64 : i64 to f16
    %signed = arith.fptosi %number : f16 to i128
    %unsigned = arith.fptoui %number : f16 to i128
    %i128 = arith.index_cast %i : index to i128
    %d = arith.addi %i128, %c1 : i128
    %less = arith.subi %signed, %d : i128
    %0 = arith.divsi %less, %d : i128
    %1 = arith.remsi %less, %c3 : i128
    %2 = arith.divui %unsigned, %d : i128
    %3 = arith.remui %unsigned, %d : i128
    %4 = arith.addi %0, %1 : i128
    %5 = arith.addi %2, %3 : i128
    %6 = arith.sitofp %4 : i128 to f16
    %7 = arith.uitofp %5 : i128 to f16
    %8 = arith.subf %6, %7 : f16
    %9 = arith.extf %8 : f16 to f32
    %y = arith.addf %x, %9 : f32
    attn.yield %y : f32
  }
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %k : !s, !q -> !q
  return %o : !q
}

// REDEFINE: %{function} = bfloats
// RUN: %{run} | %{see}
func.func @bfloats(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "S", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %c1 = arith.constant 1 : i128
    %c3 = arith.constant 3 : i128
    %j64 = arith.index_cast %j : index to i64
    %number = arith.sitofp %j64 : i64 to bf16
    %signed = arith.fptosi %number : bf16 to i128
    %unsigned = arith.fptoui %number : bf16 to i128
    %i128 = arith.index_cast %i : index to i128
    %d = arith.addi %i128, %c1 : i128
    %less = arith.subi %signed, %d : i128
    %0 = arith.divsi %less, %d : i128
    %1 = arith.remsi %less, %c3 : i128
    %2 = arith.divui %unsigned, %d : i128
    %3 = arith.remui %unsigned, %d : i128
    %4 = arith.addi %0, %1 : i128
    %5 = arith.addi %2, %3 : i128
    %6 = arith.sitofp %4 : i128 to bf16
    %7 = arith.uitofp %5 : i128 to bf16
    %8 = arith.subf %6, %7 : bf16
    %9 = arith.extf %8 : bf16 to f32
    %y = arith.addf %x, %9 : f32
    attn.yield %y : f32
  }
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %k : !s, !q -> !q
  return %o : !q
}
