// Sizes of a group that are unknown in the plural come from the op, strides
// from the source; groups with one unknown size are left to upstream.

// RUN: attn-opt %s --attn-expand-reshapes | FileCheck %s

// CHECK-LABEL: func.func @strided
// CHECK-SAME: (%[[X:.*]]: memref<?x8xf32, strided<[?, 1], offset: ?>>, %[[B:.*]]: index, %[[S:.*]]: index)
// CHECK: %[[BASE:.*]], %[[OFFSET:.*]], %{{.*}}:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[X]]
// CHECK: %[[OUTER:.*]] = arith.muli %[[STRIDES]]#0, %[[S]]
// CHECK: memref.reinterpret_cast %[[BASE]] to offset: [%[[OFFSET]]], sizes: [%[[B]], %[[S]], 8], strides: [%[[OUTER]], %[[STRIDES]]#0, 1]
// CHECK-SAME: to memref<?x?x8xf32, strided<[?, ?, 1], offset: ?>>
func.func @strided(%x: memref<?x8xf32, strided<[?, 1], offset: ?>>, %b: index, %s: index) -> memref<?x?x8xf32, strided<[?, ?, 1], offset: ?>> {
  %0 = memref.expand_shape %x [[0, 1], [2]] output_shape [%b, %s, 8]
      : memref<?x8xf32, strided<[?, 1], offset: ?>> into memref<?x?x8xf32, strided<[?, ?, 1], offset: ?>>
  return %0 : memref<?x?x8xf32, strided<[?, ?, 1], offset: ?>>
}

// CHECK-LABEL: func.func @contiguous
// CHECK-SAME: (%{{.*}}: memref<?xf32>, %[[B:.*]]: index, %[[S:.*]]: index)
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%[[B]], %[[S]], 8], strides: [%{{.*}}, 8, 1]
// CHECK-SAME: to memref<?x?x8xf32>
func.func @contiguous(%x: memref<?xf32>, %b: index, %s: index) -> memref<?x?x8xf32> {
  %0 = memref.expand_shape %x [[0, 1, 2]] output_shape [%b, %s, 8] : memref<?xf32> into memref<?x?x8xf32>
  return %0 : memref<?x?x8xf32>
}

// CHECK-LABEL: func.func @upstream
// CHECK-NOT: reinterpret_cast
// CHECK: memref.expand_shape
func.func @upstream(%x: memref<?x?xf32>, %b: index, %s: index) -> memref<?x4x?x2xf32> {
  %0 = memref.expand_shape %x [[0, 1], [2, 3]] output_shape [%b, 4, %s, 2] : memref<?x?xf32> into memref<?x4x?x2xf32>
  return %0 : memref<?x4x?x2xf32>
}
