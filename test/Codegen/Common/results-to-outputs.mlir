// Tensor results of public functions become trailing memref arguments.

// RUN: attn-opt %s --attn-results-to-outputs --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @mixed
// CHECK-SAME:    (%[[X:[^:]*]]: tensor<?x4xf32>, %[[N:[^:]*]]: index, %[[O:[^:]*]]: memref<?x4xf32> {attn.name = "y"}, %[[P:[^:]*]]: memref<?x4xf32>) -> index
// CHECK:         bufferization.materialize_in_destination %[[X]] in restrict writable %[[O]]
// CHECK:         bufferization.materialize_in_destination %[[X]] in restrict writable %[[P]]
// CHECK:         return %[[N]] : index
func.func @mixed(%x: tensor<?x4xf32>, %n: index) -> (tensor<?x4xf32> {attn.name = "y"}, index, tensor<?x4xf32>) {
  return %x, %n, %x : tensor<?x4xf32>, index, tensor<?x4xf32>
}

// CHECK-LABEL: func.func private @private(%{{.*}}: tensor<?xf32>) -> tensor<?xf32>
func.func private @private(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// expected-note @below {{its results become arguments}}
func.func @recursive(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{call of the entry function 'recursive' could not be inlined}}
  %y = func.call @recursive(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// expected-error @below {{result 0 of 'unranked' must be a ranked tensor of numbers, got 'tensor<*xf32>'}}
func.func @unranked(%x: tensor<*xf32>) -> tensor<*xf32> {
  return %x : tensor<*xf32>
}

// -----

// What two results are computed in is no output of both: each has its own.
// CHECK-LABEL: func.func @shared_init
// CHECK-DAG: %[[E0:.*]] = tensor.empty
// CHECK-DAG: %[[E1:.*]] = tensor.empty
// CHECK-DAG: %[[F0:.*]] = linalg.fill ins(%{{.*}}) outs(%[[E0]] : tensor<4x4xf32>)
// CHECK-DAG: %[[F1:.*]] = linalg.fill ins(%{{.*}}) outs(%[[E1]] : tensor<4x4xf32>)
// CHECK-DAG: linalg.matmul {{.*}} outs(%[[F0]] : tensor<4x4xf32>)
// CHECK-DAG: linalg.matmul {{.*}} outs(%[[F1]] : tensor<4x4xf32>)
func.func @shared_init(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = linalg.matmul ins(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %a, %b : tensor<4x4xf32>, tensor<4x4xf32>
}
