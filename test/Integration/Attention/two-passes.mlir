// Whatever operand attention has, a program on weights that needs two passes over
// the keys leaves it to both.

// DEFINE: %{function} =
// DEFINE: %{inputs} =
// DEFINE: %{run} = attn-run %s --cache-dir=%t.cache --function=%{function} --check --require-fused --input=random:seed=1 %{inputs} | FileCheck %s
// RUN: rm -rf %t.cache
// RUN: %tensors %t.table.npy i32 2x4 "(3 * a + 2 * b + 1) % 9"
// CHECK-NOT: FAILED
// CHECK: check result {{[01]}}: passed
// CHECK-NOT: FAILED

!q = tensor<2x4x5x16xf32>
!k = tensor<2x2x64x16xf32>
!l = tensor<2x4x5xf32>

// REDEFINE: %{function} = half
// REDEFINE: %{inputs} = --input=random:seed=2 --input=random:seed=3 --input=random:seed=4 --input=random:seed=5 --input=random:seed=6
// RUN: %{run}
func.func @half(%q: !q, %k: !k, %v: !k, %c: tensor<5x6xf32>, %s: tensor<5x6xf32>, %sink: tensor<4xf32>) -> (!q, !l) {
  %e = tensor.empty() : !q
  %f = tensor.empty() : !l
  %r:2 = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%e, %f : !q, !l) scale 0.5 sink(%sink : tensor<4xf32>)
    rotated half(%c, %s : tensor<5x6xf32>, tensor<5x6xf32>) probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.mulf %p, %p : f32
    attn.yield %x : f32
  } -> !q, !l
  return %r#0, %r#1 : !q, !l
}

// Angles of each element of the batch, and a tile that is not the first.
// REDEFINE: %{function} = interleaved
// REDEFINE: %{inputs} = --input=random:seed=2 --input=random:seed=3 --input=random:seed=4 --input=random:seed=5 --input=3
// RUN: %{run}
func.func @interleaved(%q: !q, %k: !k, %v: !k, %c: tensor<2x5x8xf32>, %s: tensor<2x5x8xf32>, %at: index) -> !q {
  %e = tensor.empty() : !q
  %r = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%e : !q) scale 0.5 offsets(%at, %at, %at, %at)
    rotated interleaved(%c, %s : tensor<2x5x8xf32>, tensor<2x5x8xf32>) score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %d = arith.subi %i, %j : index
    %n = arith.index_cast %d : index to i64
    %m = arith.sitofp %n : i64 to f32
    %c1 = arith.constant 0.0625 : f32
    %o = arith.mulf %m, %c1 : f32
    %y = arith.addf %x, %o : f32
    attn.yield %y : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c7 = arith.constant 7 : index
    %l = arith.addi %i, %c7 : index
    %x = arith.cmpi sle, %j, %l : index
    attn.yield %x : i1
  } probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.mulf %p, %p : f32
    attn.yield %x : f32
  } -> !q
  return %r : !q
}

// REDEFINE: %{function} = additive
// REDEFINE: %{inputs} = --input=random:seed=2 --input=random:seed=3 --input=random:seed=4
// RUN: %{run}
func.func @additive(%q: !q, %k: !k, %v: !k, %w: tensor<4x16xf32>) -> !q {
  %e = tensor.empty() : !q
  %r = attn.attention ins(%q, %k, %v : !q, !k, !k) outs(%e : !q) scale 0.5 additive(%w : tensor<4x16xf32>) probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.mulf %p, %p : f32
    attn.yield %x : f32
  } -> !q
  return %r : !q
}

// Pages of 8-bit integers, whose scales the first pass has for one column.
!p = tensor<9x2x16x16xi8>
!n = tensor<9x2x16xf32>
// REDEFINE: %{function} = pages
// REDEFINE: %{inputs} = --input=random:seed=2 --input=random:seed=3 --input=random:seed=4 --input=random:seed=5 --input=%t.table.npy --input=random:seed=6 --input=random:seed=7
// RUN: %{run}
func.func @pages(%q: !q, %k: !p, %v: !p, %ks: !n, %vs: !n, %t: tensor<2x4xi32>, %c: tensor<5x8xf32>, %s: tensor<5x8xf32>) -> !q {
  %e = tensor.empty() : !q
  %r = attn.attention ins(%q, %k, %v : !q, !p, !p) outs(%e : !q) scale 0.03125 table(%t : tensor<2x4xi32>)
    key_scale(%ks : !n) value_scale(%vs : !n) rotated half(%c, %s : tensor<5x8xf32>, tensor<5x8xf32>) probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.mulf %p, %p : f32
    attn.yield %x : f32
  } -> !q
  return %r : !q
}
