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

// Strides do not tell which dimensions of 1 are dropped, a cast names those of
// the others. Where there is one way alone, a view drops them.
// CHECK-LABEL: func.func @dropped
// CHECK:         memref.subview {{.*}} : memref<1x2x5x4xf32, strided<[?, ?, ?, 1], offset: ?>> to memref<1x2x1x4xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK:         %{{.*}}, %[[OFFSET:.*]], %{{.*}}:4, %[[STRIDES:.*]]:4 = memref.extract_strided_metadata
// CHECK:         memref.reinterpret_cast {{.*}} to offset: [%[[OFFSET]]], sizes: [1, 2, 4], strides: [%[[STRIDES]]#0, %[[STRIDES]]#1, 1] : {{.*}} to memref<1x2x4xf32, strided<[?, ?, 1], offset: ?>>
// CHECK:         memref.subview {{.*}} : memref<1x2x5x4xf32, strided<[?, ?, ?, 1], offset: ?>> to memref<2x4xf32, strided<[?, 1], offset: ?>>
func.func @dropped(%x: tensor<1x2x5x4xf32>, %t: index) -> (tensor<1x2x4xf32>, tensor<2x4xf32>) {
  %s = tensor.extract_slice %x[0, 0, %t, 0] [1, 2, 1, 4] [1, 1, 1, 1] : tensor<1x2x5x4xf32> to tensor<1x2x4xf32>
  %y = math.exp %s : tensor<1x2x4xf32>
  %u = tensor.extract_slice %x[0, 0, %t, 0] [1, 2, 1, 4] [1, 1, 1, 1] : tensor<1x2x5x4xf32> to tensor<2x4xf32>
  %z = math.exp %u : tensor<2x4xf32>
  return %y, %z : tensor<1x2x4xf32>, tensor<2x4xf32>
}

// Steps change the strides, so that none of them says what is dropped.
// CHECK-LABEL: func.func @steps
// CHECK:         memref.subview {{.*}} : memref<3x2xf32> to memref<1x1xf32,
// CHECK:         memref.reinterpret_cast {{.*}} to memref<1xf32,
func.func @steps(%x: tensor<3x2xf32>, %y: tensor<1xf32>, %n: index) -> tensor<3x2xf32> {
  %e = math.absf %x : tensor<3x2xf32>
  %r = tensor.insert_slice %y into %e[%n, %n] [1, 1] [2, 1] : tensor<1xf32> into tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
