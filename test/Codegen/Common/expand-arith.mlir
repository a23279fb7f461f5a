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

// Divisions do not trap.
// CHECK-LABEL: func.func @divide
// CHECK-SAME:    (%[[X:.*]]: i32, %[[Y:.*]]: i32)
// CHECK-DAG:     %[[ZERO:.*]] = arith.cmpi eq, %[[Y]], %c0_i32
// CHECK-DAG:     %[[MINUS:.*]] = arith.cmpi eq, %[[Y]], %c-1_i32
// CHECK-DAG:     %[[LOWEST:.*]] = arith.cmpi eq, %[[X]], %c-2147483648_i32
// CHECK:         %[[BOTH:.*]] = arith.andi %[[MINUS]], %[[LOWEST]]
// CHECK:         %[[TRAPS:.*]] = arith.ori %[[ZERO]], %[[BOTH]]
// CHECK:         %[[SAFE:.*]] = arith.select %[[TRAPS]], %c1_i32{{.*}}, %[[Y]]
// CHECK:         arith.divsi %[[X]], %[[SAFE]]
func.func @divide(%x: i32, %y: i32) -> i32 {
  %r = arith.divsi %x, %y : i32
  return %r : i32
}

// CHECK-LABEL: func.func @remainder
// CHECK-SAME:    (%[[X:.*]]: vector<4xi8>, %[[Y:.*]]: vector<4xi8>)
// CHECK:         %[[ZERO:.*]] = arith.cmpi eq, %[[Y]], %{{.*}} : vector<4xi8>
// CHECK-NOT:     arith.cmpi
// CHECK:         %[[SAFE:.*]] = arith.select %[[ZERO]], %{{.*}}, %[[Y]]
// CHECK:         arith.remui %[[X]], %[[SAFE]]
func.func @remainder(%x: vector<4xi8>, %y: vector<4xi8>) -> vector<4xi8> {
  %r = arith.remui %x, %y : vector<4xi8>
  return %r : vector<4xi8>
}

// CHECK-LABEL: func.func @by_seven
// CHECK-NOT:     arith.select
// CHECK:         arith.divsi
func.func @by_seven(%x: index) -> index {
  %c7 = arith.constant 7 : index
  %r = arith.divsi %x, %c7 : index
  return %r : index
}

// Integers beyond 64 bits come from f16 and go there by i32, where those that f16
// does not have are 2^17, which it does not have either; others have
// instructions.
// CHECK-LABEL: func.func @wide
// CHECK: %[[X:.*]] = arith.fptoui %{{.*}} : vector<4xf16> to vector<4xi32>
// CHECK: %[[Y:.*]] = arith.extui %[[X]] : vector<4xi32> to vector<4xi128>
// CHECK: %[[MIN:.*]] = arith.minsi %[[Y]], %cst_0 : vector<4xi128>
// CHECK: %[[MAX:.*]] = arith.maxsi %[[MIN]], %cst : vector<4xi128>
// CHECK: %[[Z:.*]] = arith.trunci %[[MAX]] : vector<4xi128> to vector<4xi32>
// CHECK: arith.sitofp %[[Z]] : vector<4xi32> to vector<4xf16>
// CHECK: arith.fptosi %{{.*}} : vector<4xf16> to vector<4xi64>
func.func @wide(%x: vector<4xf16>) -> (vector<4xf16>, vector<4xi64>) {
  %0 = arith.fptoui %x : vector<4xf16> to vector<4xi128>
  %1 = arith.sitofp %0 : vector<4xi128> to vector<4xf16>
  %2 = arith.fptosi %x : vector<4xf16> to vector<4xi64>
  return %1, %2 : vector<4xf16>, vector<4xi64>
}

// LLVM would make one conversion of the two.
// CHECK-LABEL: func.func @in_two_steps
// CHECK: %[[MIN:.*]] = arith.minui %{{.*}}, %c131072_i100 : i100
// CHECK: %[[X:.*]] = arith.trunci %[[MIN]] : i100 to i32
// CHECK: %[[Y:.*]] = arith.uitofp %[[X]] : i32 to f16
// CHECK: return %[[Y]]
func.func @in_two_steps(%x: i100) -> f16 {
  %0 = arith.uitofp %x : i100 to f32
  %1 = arith.truncf %0 : f32 to f16
  return %1 : f16
}
