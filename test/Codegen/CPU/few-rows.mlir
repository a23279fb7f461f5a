// While a block is computed the next one (32 keys on) is prefetched in the order
// of memory: its keys by the loops over keys, its values by the softmax, a row
// for each vector of keys, and the rest by the loop over values.

// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=x86-64-v4},func.func(attn-cpu-lower-tiles),cse,canonicalize)' | FileCheck %s
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=x86-64-v4},func.func(attn-cpu-lower-tiles))' | FileCheck %s --check-prefix=PAIRS

// CHECK-LABEL: func.func @prefetch(
// CHECK-SAME: %[[Q:.*]]: memref<4x64xf32>, %[[K:.*]]: memref<?x64xf32>, %[[V:.*]]: memref<?x32xf32>
// CHECK-DAG: %[[C4:.*]] = arith.constant 4 : index
// CHECK-DAG: %[[C12:.*]] = arith.constant 12 : index
// CHECK-DAG: %[[LANES:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[BLOCK:.*]] = arith.constant 32 : index
// Four keys of four lines each: in step n of the columns, the lines of key n.
// CHECK: scf.for %[[J:[^ ]+]] =
// CHECK: scf.for %[[D:[^ ]+]] =
// CHECK: vector.load %[[K]][%[[J]], %[[D]]]
// CHECK-NEXT: %[[N:[^ ]+]] = arith.divui %[[D]], %[[LANES]]
// CHECK-NEXT: %[[INDEX:[^ ]+]] = arith.muli %[[N]], %[[C4]]
// CHECK-NEXT: %[[LINE:[^ ]+]] = arith.remui %[[INDEX]], %[[C4]]
// CHECK-NEXT: %[[ROW:[^ ]+]] = arith.divui %[[INDEX]], %[[C4]]
// CHECK-NEXT: %[[NEXT:[^ ]+]] = arith.addi %[[J]], %[[ROW]]
// CHECK-NEXT: %[[COLUMN:[^ ]+]] = arith.muli %[[LINE]], %[[LANES]]
// CHECK-NEXT: %[[ROW1:[^ ]+]] = arith.addi %[[NEXT]], %[[BLOCK]]
// CHECK-NEXT: memref.prefetch %[[K]][%[[ROW1]], %[[COLUMN]]], read, locality<2>, data
// CHECK-COUNT-3: memref.prefetch %[[K]]
// The last, ragged step.
// CHECK: scf.if
// CHECK-COUNT-4: memref.prefetch %[[K]]
// The softmax: row r and vector j of the weights.
// CHECK: scf.for %[[R:[^ ]+]] =
// CHECK: math.exp2
// CHECK: scf.for %[[J:[^ ]+]] =
// CHECK: math.exp2
// CHECK: %[[RN:[^ ]+]] = arith.muli %[[R]], %[[N:[^ ]+]]
// CHECK-NEXT: %[[INDEX:[^ ]+]] = arith.addi %[[RN]], %[[J]]
// CHECK-NEXT: %[[ROW:[^ ]+]] = arith.divui %[[INDEX]], %[[LANES]]
// CHECK-NEXT: %[[NEXT:[^ ]+]] = arith.addi %[[ROW]], %[[BLOCK]]
// CHECK-NEXT: memref.prefetch %[[V]][%[[NEXT]], %{{[^ ]+}}], read, locality<2>, data
// CHECK-NEXT: memref.prefetch %[[V]][%[[NEXT]], %[[LANES]]], read, locality<2>, data
// Values, two vectors of columns at once: 12 of 16 rows are left.
// CHECK: vector.load %[[V]][%[[J:[^,]+]],
// CHECK: vector.load %[[V]][%[[J]],
// CHECK-NEXT: %[[PART:[^ ]+]] = arith.muli %[[J]], %[[C12]]
// CHECK-NEXT: %[[ROW:[^ ]+]] = arith.divui %[[PART]], %[[LANES]]
// CHECK-NEXT: %[[SUM:[^ ]+]] = arith.addi %{{[^ ]+}}, %[[ROW]]
// CHECK-NEXT: %[[NEXT:[^ ]+]] = arith.addi %[[SUM]], %[[BLOCK]]
// CHECK-NEXT: memref.prefetch %[[V]][%[[NEXT]], %{{[^ ]+}}], read, locality<2>, data
// CHECK-NEXT: memref.prefetch %[[V]][%[[NEXT]], %[[LANES]]], read, locality<2>, data
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

// A bf16 query comes into that order as the keys do, and scores are scaled
// afterwards.
// PAIRS-LABEL: func.func @exact
// PAIRS: vector.load %{{.*}} : memref<4x64xbf16>, vector<32xbf16>
// PAIRS: arith.shli
// PAIRS: arith.andi
// PAIRS-NOT: vector.shuffle
// PAIRS: vector.load %{{.*}} : memref<?x64xbf16>, vector<32xbf16>
// PAIRS-NOT: arith.mulf
// PAIRS: %[[S:.*]] = vector.load %{{.*}} : memref<4x48xf32>, vector<16xf32>
// PAIRS-NEXT: %[[SCALE:.*]] = arith.constant dense<1.250000e-01>
// PAIRS-NEXT: arith.mulf %[[S]], %[[SCALE]]
func.func @exact(%q: memref<4x64xbf16>, %k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %acc: memref<4x64xf32>, %max: memref<4xf32>, %sum: memref<4xf32>, %i: index) {
  attn.online_attention ins(%q, %k, %v : memref<4x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>) outs(%acc, %max, %sum : memref<4x64xf32>, memref<4xf32>, memref<4xf32>) at (%i, %i, %i, %i) scale 0.125 schedule(<kernel = features_in_lanes, tile = [4, 32], registers = [4, 4], lanes = 16>)
  return
}

// A bf16 query of f32 keys is widened in order.
// PAIRS-LABEL: func.func @wide_keys
// PAIRS: vector.load %{{.*}} : memref<4x64xbf16>, vector<16xbf16>
// PAIRS: arith.extf
// PAIRS: vector.load %{{.*}} : memref<?x64xf32>, vector<16xf32>
func.func @wide_keys(%q: memref<4x64xbf16>, %k: memref<?x64xf32>, %v: memref<?x64xf32>, %acc: memref<4x64xf32>, %max: memref<4xf32>, %sum: memref<4xf32>, %i: index) {
  attn.online_attention ins(%q, %k, %v : memref<4x64xbf16>, memref<?x64xf32>, memref<?x64xf32>) outs(%acc, %max, %sum : memref<4x64xf32>, memref<4xf32>, memref<4xf32>) at (%i, %i, %i, %i) scale 0.125 schedule(<kernel = features_in_lanes, tile = [4, 32], registers = [4, 4], lanes = 16>)
  return
}

// f64: no pairs, whatever the values are.
// PAIRS-LABEL: func.func @double
// PAIRS-NOT: vector<32xbf16>
// PAIRS: vector.load %{{.*}} : memref<?x64xf64>, vector<8xf64>
// PAIRS: math.exp2 %{{.*}} : vector<8xf64>
// PAIRS: arith.extf %{{.*}} : vector<8xbf16> to vector<8xf64>
func.func @double(%q: memref<4x64xf64>, %k: memref<?x64xf64>, %v: memref<?x64xbf16>, %acc: memref<4x64xf64>, %max: memref<4xf64>, %sum: memref<4xf64>, %i: index) {
  attn.online_attention ins(%q, %k, %v : memref<4x64xf64>, memref<?x64xf64>, memref<?x64xbf16>) outs(%acc, %max, %sum : memref<4x64xf64>, memref<4xf64>, memref<4xf64>) at (%i, %i, %i, %i) schedule(<kernel = features_in_lanes, tile = [4, 16], registers = [4, 4], lanes = 8>)
  return
}

// Integers: scores times the scales of keys, weights times those of values, and
// the rows that come next where they are. Hidden scales may be anything.
// CHECK-LABEL: func.func @integers(
// CHECK-SAME: %{{.*}}: memref<4x64xf32>, %[[K:.*]]: memref<?x64xi8>, %[[KS:.*]]: memref<?xf32>, %[[VS:.*]]: memref<?xf32>, %[[SOON:.*]]: memref<?x64xi8>,
// CHECK: vector.load %[[K]]{{.*}} : memref<?x64xi8>, vector<16xi8>
// CHECK: arith.sitofp
// CHECK: memref.prefetch %[[SOON]]
// CHECK: %[[FACTOR:.*]] = vector.maskedload %[[KS]]
// CHECK: arith.mulf %{{.*}}, %[[FACTOR]]
// CHECK: %[[WEIGHTS:.*]] = math.exp2
// CHECK: math.exp2
// CHECK: %[[FACTOR:.*]] = vector.maskedload %[[VS]]
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[FACTOR]]
// CHECK: %[[SEEN:.*]] = arith.cmpf une
// CHECK: arith.select %[[SEEN]], %[[SCALED]],
// CHECK-NOT: arith.cmpf uno
// CHECK: return
func.func @integers(%q: memref<4x64xf32>, %k: memref<?x64xi8>, %ks: memref<?xf32>, %vs: memref<?xf32>, %soon: memref<?x64xi8>, %max: memref<4xf32>, %i: index) {
  attn.online_attention ins(%q, %k, %k : memref<4x64xf32>, memref<?x64xi8>, memref<?x64xi8>) outs(%q, %max, %max : memref<4x64xf32>, memref<4xf32>, memref<4xf32>) at (%i, %i, %i, %i) upcoming(%soon, %soon : memref<?x64xi8>, memref<?x64xi8>) key_scale(%ks : memref<?xf32>) value_scale(%vs : memref<?xf32>) schedule(<kernel = features_in_lanes, tile = [4, 128], registers = [4, 4], lanes = 16>) mask {
  ^bb0(%b: index, %h: index, %row: index, %j: index):
    %visible = arith.cmpi sle, %j, %row : index
    attn.yield %visible : i1
  }
  return
}
