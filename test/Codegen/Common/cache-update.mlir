// An updated cache that is returned is the buffer of the result: a copy of the old
// rows there, which is none where the caller gives one buffer, and the new rows.

// RUN: attn-opt %s --attn-bufferize-pipeline --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @returned
// CHECK-SAME: %[[CACHE:[^:]*]]: memref<1x2x?x4xf32, {{.*}}>, %[[NEW:[^:]*]]: memref<1x2x?x4xf32, {{.*}}>, %[[AT:[^:]*]]: index, %[[OUT:[^:]*]]: memref<1x2x?x4xf32>
// CHECK-NOT: memref.alloc
// CHECK: memref.copy %[[CACHE]], %[[OUT]]
// CHECK: scf.forall
// CHECK: memref.subview %[[NEW]]
// CHECK: memref.subview %[[OUT]]
// CHECK: memref.copy
// CHECK-NOT: copy
func.func @returned(%cache: tensor<1x2x?x4xf32>, %new: tensor<1x2x?x4xf32>, %at: index) -> tensor<1x2x?x4xf32> {
  %0 = attn.cache_update %cache, %new at(%at : index) : tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>
  return %0 : tensor<1x2x?x4xf32>
}

// -----

// Whoever reads the old rows gets them.
// CHECK-LABEL: func.func @read_elsewhere
// CHECK: memref.alloc
func.func @read_elsewhere(%cache: tensor<1x2x8x4xf32>, %new: tensor<1x2x1x4xf32>, %at: index) -> (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) {
  %0 = attn.cache_update %cache, %new at(%at : index) : tensor<1x2x8x4xf32>, tensor<1x2x1x4xf32>
  %1 = arith.addf %0, %cache : tensor<1x2x8x4xf32>
  return %0, %1 : tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>
}

// -----

// Rows that turn are written to where they belong.
// CHECK-LABEL: func.func @rotated
// CHECK-SAME: %[[CACHE:[^:]*]]: memref<1x2x?x4xf32, {{.*}}>, %[[NEW:[^:]*]]: memref<1x2x?x4xf32, {{.*}}>, %[[AT:[^:]*]]: index, %[[T:[^:]*]]: memref<?x2xf32, {{.*}}>, %[[OUT:[^:]*]]: memref<1x2x?x4xf32>
// CHECK-NOT: memref.alloc
// CHECK: scf.forall
// CHECK: %[[FROM:.*]] = memref.subview %[[NEW]]
// CHECK: %[[TO:.*]] = memref.subview %[[OUT]]
// CHECK: %[[COS:.*]] = memref.subview %[[T]]
// CHECK: attn.rotate ins(%[[FROM]] : {{.*}}) by half(%[[COS]], %{{.*}} : {{.*}}) outs(%[[TO]] : {{.*}})
func.func @rotated(%cache: tensor<1x2x?x4xf32>, %new: tensor<1x2x?x4xf32>, %at: index, %t: tensor<?x2xf32>) -> tensor<1x2x?x4xf32> {
  %0 = attn.cache_update %cache, %new at(%at : index) rotated half(%t, %t : tensor<?x2xf32>, tensor<?x2xf32>) : tensor<1x2x?x4xf32>, tensor<1x2x?x4xf32>
  return %0 : tensor<1x2x?x4xf32>
}
