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
