// Reads go to the nearest element, writes out of bounds go nowhere, and what is
// known to be in bounds stays as it is.

// RUN: attn-opt %s --attn-guard-indices --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @read
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[I:.*]]: index)
// CHECK: %[[LOW:.*]] = arith.maxsi %[[I]], %c0{{.*}}
// CHECK: %[[INDEX:.*]] = arith.minsi %[[LOW]], %{{.*}}
// CHECK: tensor.extract %[[X]][%{{.*}}, %[[INDEX]]]
// CHECK-NOT: scf.if
func.func @read(%x: tensor<4x8xf32>, %i: index) -> f32 {
  %c3 = arith.constant 3 : index
  %0 = tensor.extract %x[%c3, %i] : tensor<4x8xf32>
  return %0 : f32
}

// -----

// No element, no read.
// CHECK-LABEL: func.func @read_dynamic
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32>
// CHECK: %[[SIZE:.*]] = tensor.dim %[[X]]
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[SIZE]], %c0{{.*}}
// CHECK: scf.if %[[ANY]] -> (f32) {
// CHECK-NEXT: tensor.extract %[[X]]
// CHECK: } else {
// CHECK-NEXT: arith.constant 0.0
func.func @read_dynamic(%x: tensor<?xf32>, %i: index) -> f32 {
  %0 = tensor.extract %x[%i] : tensor<?xf32>
  return %0 : f32
}

// -----

// CHECK-LABEL: func.func @write
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[F:.*]]: f32, %[[I:.*]]: index)
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[I]], %c4{{.*}}
// CHECK: scf.if %[[IN]] -> (tensor<4xf32>) {
// CHECK-NEXT: %[[NEW:.*]] = tensor.insert %[[F]] into %[[X]][%[[I]]]
// CHECK-NEXT: scf.yield %[[NEW]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[X]]
func.func @write(%x: tensor<4xf32>, %f: f32, %i: index) -> tensor<4xf32> {
  %0 = tensor.insert %f into %x[%i] : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @known
// CHECK-NOT: arith.maxsi
// CHECK-NOT: scf.if
// CHECK: return
func.func @known(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %c3 = arith.constant 3 : index
  %0 = tensor.extract %s[] : tensor<f32>
  %1 = tensor.insert %0 into %x[%c3] : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @dim
// CHECK: %[[LOW:.*]] = arith.maxsi %{{.*}}, %c0{{.*}}
// CHECK: %[[INDEX:.*]] = arith.minsi %[[LOW]], %c1{{.*}}
// CHECK: tensor.dim %{{.*}}, %[[INDEX]]
func.func @dim(%x: tensor<?x?xf32>, %i: index) -> index {
  %0 = tensor.dim %x, %i : tensor<?x?xf32>
  return %0 : index
}

// -----

// The lowerings of attn.score_map clamp for themselves.
// CHECK-LABEL: func.func @program
// CHECK-NOT: arith.maxsi
// CHECK-NOT: scf.if
// CHECK: return
func.func @program(%x: tensor<?x?x?x?xf32>, %bias: tensor<?xf32>) -> tensor<?x?x?x?xf32> {
  %0 = attn.score_map %x : tensor<?x?x?x?xf32> {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %e = tensor.extract %bias[%j] : tensor<?xf32>
    %r = arith.addf %s, %e : f32
    attn.yield %r : f32
  }
  return %0 : tensor<?x?x?x?xf32>
}
