// Which linalg ops are matrix products: those that get a schedule.

// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=x86-64-v4},func.func(attn-select-schedule))' | FileCheck %s
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=x86-64-v4},func.func(attn-select-schedule))' \
// RUN:   --remark-policy=all --remarks-filter-missed=attn --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// Contractions that get none are reported.
// REMARK-NOT: [Missed]
// REMARK: [Missed] plain-loops {{.*}}Function=batched_rhs
// REMARK-NOT: [Missed]
// REMARK: [Missed] plain-loops {{.*}}Function=transposed_lhs
// REMARK-NOT: [Missed]
// REMARK: [Missed] plain-loops {{.*}}Function=double_precision | Remark="a matrix product of tensor<?x32xf64> times tensor<32x48xf64> runs as plain loops
// REMARK-NOT: [Missed]
// REMARK: [Missed] plain-loops {{.*}}Function=dynamic_depth {{.*}}tensor<?x?xf32> times tensor<?x48xf32>
// REMARK-NOT: [Missed]

#abk = affine_map<(b, s, n, k) -> (b, s, k)>
#nk = affine_map<(b, s, n, k) -> (n, k)>
#bkn = affine_map<(b, s, n, k) -> (b, k, n)>
#bsn = affine_map<(b, s, n, k) -> (b, s, n)>
#mk = affine_map<(m, n, k) -> (m, k)>
#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// The weight of a linear layer: B is [N, K], and A has leading dimensions.
// CHECK-LABEL: func.func @leading_dims_transposed
// CHECK: linalg.generic {{.*}} attrs = {attn.schedule = #attn.schedule<kernel = gemm
func.func @leading_dims_transposed(%a: tensor<?x?x32xf32>, %b: tensor<48x32xf32>, %c: tensor<?x?x48xf32>) -> tensor<?x?x48xf32> {
  %d = linalg.generic {indexing_maps = [#abk, #nk, #bsn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<?x?x32xf32>, tensor<48x32xf32>) outs(%c : tensor<?x?x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %z : f32
    linalg.yield %s : f32
  } -> tensor<?x?x48xf32>
  return %d : tensor<?x?x48xf32>
}

// The factors and the summands may stand in any order.
// CHECK-LABEL: func.func @other_order
// CHECK: attn.schedule
func.func @other_order(%a: tensor<?x32xf32>, %b: tensor<32x48xf32>, %c: tensor<?x48xf32>) -> tensor<?x48xf32> {
  %d = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<?x32xf32>, tensor<32x48xf32>) outs(%c : tensor<?x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %y, %x : f32
    %s = arith.addf %z, %p : f32
    linalg.yield %s : f32
  } -> tensor<?x48xf32>
  return %d : tensor<?x48xf32>
}

// A matrix B a batch element is no one matrix.
// CHECK-LABEL: func.func @batched_rhs
// CHECK-NOT: attn.schedule
func.func @batched_rhs(%a: tensor<?x?x32xf32>, %b: tensor<?x32x48xf32>, %c: tensor<?x?x48xf32>) -> tensor<?x?x48xf32> {
  %d = linalg.generic {indexing_maps = [#abk, #bkn, #bsn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<?x?x32xf32>, tensor<?x32x48xf32>) outs(%c : tensor<?x?x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %z : f32
    linalg.yield %s : f32
  } -> tensor<?x?x48xf32>
  return %d : tensor<?x?x48xf32>
}

// CHECK-LABEL: func.func @transposed_lhs
// CHECK-NOT: attn.schedule
func.func @transposed_lhs(%a: tensor<32x?xf32>, %b: tensor<32x48xf32>, %c: tensor<?x48xf32>) -> tensor<?x48xf32> {
  %d = linalg.generic {indexing_maps = [#km, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<32x?xf32>, tensor<32x48xf32>) outs(%c : tensor<?x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %z : f32
    linalg.yield %s : f32
  } -> tensor<?x48xf32>
  return %d : tensor<?x48xf32>
}

// CHECK-LABEL: func.func @maximum_of_products
// CHECK-NOT: attn.schedule
func.func @maximum_of_products(%a: tensor<?x32xf32>, %b: tensor<32x48xf32>, %c: tensor<?x48xf32>) -> tensor<?x48xf32> {
  %d = linalg.generic {indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<?x32xf32>, tensor<32x48xf32>) outs(%c : tensor<?x48xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.maximumf %p, %z : f32
    linalg.yield %s : f32
  } -> tensor<?x48xf32>
  return %d : tensor<?x48xf32>
}

// Kernels compute in f32.
// CHECK-LABEL: func.func @double_precision
// CHECK-NOT: attn.schedule
func.func @double_precision(%a: tensor<?x32xf64>, %b: tensor<32x48xf64>, %c: tensor<?x48xf64>) -> tensor<?x48xf64> {
  %d = linalg.matmul ins(%a, %b : tensor<?x32xf64>, tensor<32x48xf64>) outs(%c : tensor<?x48xf64>) -> tensor<?x48xf64>
  return %d : tensor<?x48xf64>
}

// Panels of B need its depth.
// CHECK-LABEL: func.func @dynamic_depth
// CHECK-NOT: attn.schedule
func.func @dynamic_depth(%a: tensor<?x?xf32>, %b: tensor<?x48xf32>, %c: tensor<?x48xf32>) -> tensor<?x48xf32> {
  %d = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x48xf32>) outs(%c : tensor<?x48xf32>) -> tensor<?x48xf32>
  return %d : tensor<?x48xf32>
}

// Products of vectors are none of matrices, and get neither.
// CHECK-LABEL: func.func @dot
// CHECK-NOT: attn.schedule
func.func @dot(%a: tensor<32xf32>, %b: tensor<32xf32>, %c: tensor<f32>) -> tensor<f32> {
  %d = linalg.dot ins(%a, %b : tensor<32xf32>, tensor<32xf32>) outs(%c : tensor<f32>) -> tensor<f32>
  return %d : tensor<f32>
}
