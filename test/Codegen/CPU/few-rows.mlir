// While the keys of a block are read, its values are prefetched, and while those
// are read, the keys of the next block (32 keys on); where one has columns that
// the other has not, those of the next block are prefetched by itself.

// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=x86-64-v4},func.func(attn-cpu-lower-tiles),cse,canonicalize)' | FileCheck %s
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=x86-64-v4},func.func(attn-cpu-lower-tiles))' | FileCheck %s --check-prefix=PAIRS

// CHECK-LABEL: func.func @prefetch(
// CHECK-SAME: %[[Q:.*]]: memref<4x64xf32>, %[[K:.*]]: memref<?x64xf32>, %[[V:.*]]: memref<?x32xf32>
// CHECK-DAG: %[[BLOCK:.*]] = arith.constant 32 : index
// Keys of the first 32 columns, then of the last 32.
// CHECK: scf.for %[[J:[^ ]+]] =
// CHECK: scf.for %[[D:[^ ]+]] = %{{[^ ]+}} to %[[BLOCK]]
// CHECK: vector.load %[[K]][%[[J]], %[[D]]]
// CHECK-NEXT: memref.prefetch %[[V]][%[[J]], %[[D]]], read, locality<2>, data
// CHECK: scf.for %[[D:[^ ]+]] = %[[BLOCK]] to
// CHECK: vector.load %[[K]][%[[J]], %[[D]]]
// CHECK-NEXT: %[[NEXT:[^ ]+]] = arith.addi %[[J]], %[[BLOCK]]
// CHECK-NEXT: memref.prefetch %[[K]][%[[NEXT]], %[[D]]], read, locality<2>, data
// Values, two vectors of columns at once.
// CHECK: vector.load %[[V]][%[[J:[^,]+]],
// CHECK: vector.load %[[V]][%[[J]],
// CHECK-NEXT: %[[NEXT:[^ ]+]] = arith.addi %[[J]], %[[BLOCK]]
// CHECK-COUNT-2: memref.prefetch %[[K]][%[[NEXT]], %{{[^ ]+}}], read, locality<2>, data
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @prefetch(%q: memref<4x64xf32>, %k: memref<?x64xf32>, %v: memref<?x32xf32>, %acc: memref<4x32xf32>, %max: memref<4xf32>, %sum: memref<4xf32>, %i: index) {
  attn.online_attention ins(%q, %k, %v : memref<4x64xf32>, memref<?x64xf32>, memref<?x32xf32>) outs(%acc, %max, %sum : memref<4x32xf32>, memref<4xf32>, memref<4xf32>) at (%i, %i, %i, %i) schedule(<kernel = features_in_lanes, tile = [4, 32], registers = [4, 4], lanes = 16>)
  return
}

// bf16: a line of 32 elements is two vectors by one instruction each, the query
// in the same order; a line has one prefetch.
// PAIRS-LABEL: func.func @pairs
// PAIRS: vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// PAIRS: vector.load %{{.*}} : memref<?x64xbf16>, vector<32xbf16>
// PAIRS: arith.shli
// PAIRS: arith.andi
// PAIRS-NOT: arith.extf
// PAIRS-COUNT-1: memref.prefetch
// PAIRS: vector.load
func.func @pairs(%q: memref<4x64xf32>, %k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %acc: memref<4x64xf32>, %max: memref<4xf32>, %sum: memref<4xf32>, %i: index) {
  attn.online_attention ins(%q, %k, %v : memref<4x64xf32>, memref<?x64xbf16>, memref<?x64xbf16>) outs(%acc, %max, %sum : memref<4x64xf32>, memref<4xf32>, memref<4xf32>) at (%i, %i, %i, %i) schedule(<kernel = features_in_lanes, tile = [4, 32], registers = [4, 4], lanes = 16>)
  return
}
