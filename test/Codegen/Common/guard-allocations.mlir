// The sizes of a buffer are replaced when their product does not fit.

// RUN: attn-opt %s --attn-guard-allocations | FileCheck %s

// CHECK-LABEL: func.func @two
// CHECK-SAME: (%[[N:.*]]: index, %[[M:.*]]: index)
// CHECK: %[[LOW:.*]], %[[HIGH:.*]] = arith.mului_extended %c32_i64, %{{.*}} : i64
// CHECK: arith.cmpi eq, %[[HIGH]], %c0_i64
// CHECK: arith.mului_extended %[[LOW]], %{{.*}} : i64
// CHECK: arith.cmpi sge
// CHECK: %[[FITS:.*]] = arith.andi
// CHECK: %[[FIRST:.*]] = arith.select %[[FITS]], %[[N]], %c288230376151711743{{.*}}
// CHECK: %[[SECOND:.*]] = arith.select %[[FITS]], %[[M]], %c1{{.*}}
// CHECK: memref.alloc(%[[FIRST]], %[[SECOND]]) {alignment = 64 : i64} : memref<?x8x?xf32>
func.func @two(%n: index, %m: index) -> memref<?x8x?xf32> {
  %0 = memref.alloc(%n, %m) {alignment = 64 : i64} : memref<?x8x?xf32>
  return %0 : memref<?x8x?xf32>
}

// CHECK-LABEL: func.func @known
// CHECK-NEXT: memref.alloc() : memref<4xf32>
func.func @known() -> memref<4xf32> {
  %0 = memref.alloc() : memref<4xf32>
  return %0 : memref<4xf32>
}
