// Arithmetic without an instruction is expanded; what has one stays.

// RUN: attn-opt %s --attn-expand-arith | FileCheck %s

// CHECK-LABEL: func.func @floor
// CHECK-NOT: floordivsi
// CHECK: arith.divsi
func.func @floor(%x: index, %y: index) -> index {
  %r = arith.floordivsi %x, %y : index
  return %r : index
}

// Rounding to bf16 would call a runtime that is not there.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: arith.truncf
// CHECK: arith.bitcast %{{.*}} : i16 to bf16
func.func @narrow(%x: f32) -> bf16 {
  %r = arith.truncf %x : f32 to bf16
  return %r : bf16
}

// CHECK-LABEL: func.func @maximum
// CHECK: arith.maximumf
func.func @maximum(%x: f32, %y: f32) -> f32 {
  %r = arith.maximumf %x, %y : f32
  return %r : f32
}
