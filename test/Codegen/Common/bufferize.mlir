// The calling convention: strided inputs with a unit innermost stride, results
// written where the caller wants them, nothing leaked, inputs left alone.

// RUN: attn-opt %s --attn-bufferize-pipeline | FileCheck %s

// The result of the last op is computed in place: no allocation, no copy.
// CHECK-LABEL: func.func @in_place
// CHECK-SAME:    (%[[X:[^:]*]]: memref<?x4xf32, strided<[?, 1], offset: ?>>, %[[O:[^:]*]]: memref<?x4xf32>)
// CHECK-SAME:    attributes {llvm.emit_c_interface}
// CHECK-NOT:     alloc
// CHECK:         linalg.generic {{.*}} ins(%[[X]] {{.*}} outs(%[[O]]
// CHECK-NOT:     copy
// CHECK:         return
func.func @in_place(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = math.exp %x : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// An argument and a constant are copied; so is an input that is written to.
// CHECK-LABEL: func.func @copies
// CHECK-SAME:    (%[[X:[^:]*]]: memref<?xf32, strided<[1], offset: ?>>, %{{[^:]*}}: index, %[[O0:[^:]*]]: memref<?xf32>, %[[O1:[^:]*]]: memref<2xf32>, %[[O2:[^:]*]]: memref<?xf32>)
// CHECK-DAG:     %[[C:.*]] = memref.get_global
// CHECK-DAG:     %[[TMP:.*]] = memref.alloc
// CHECK:         memref.store %{{.*}}, %[[TMP]]
// CHECK-DAG:     linalg.copy ins(%[[X]] {{.*}} outs(%[[O0]]
// CHECK-DAG:     memref.copy %[[C]], %[[O1]]
// CHECK-DAG:     memref.copy %[[TMP]], %[[O2]]
// CHECK:         memref.dealloc %[[TMP]]
func.func @copies(%x: tensor<?xf32>, %i: index) -> (tensor<?xf32>, tensor<2xf32>, tensor<?xf32>) {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %seven = arith.constant 7.0 : f32
  %y = tensor.insert %seven into %x[%i] : tensor<?xf32>
  return %x, %c, %y : tensor<?xf32>, tensor<2xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @concat
// CHECK-SAME:    %[[O:[^:]*]]: memref<?x4xf32>)
// CHECK-NOT:     alloc
// CHECK:         memref.subview %[[O]]
// CHECK:         memref.subview %[[O]]
func.func @concat(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %z = tensor.concat dim(0) %x, %y : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %z : tensor<?x4xf32>
}

// Functions on bare pointers have their interface already.
// CHECK-LABEL: func.func @bare
// CHECK-NOT:     llvm.emit_c_interface
// CHECK:         return
func.func @bare(%x: memref<3xi64>) -> i64 attributes {llvm.bareptr} {
  %c0 = arith.constant 0 : index
  %y = memref.load %x[%c0] : memref<3xi64>
  return %y : i64
}
