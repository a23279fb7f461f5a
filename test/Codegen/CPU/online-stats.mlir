// The statistics of a block: scores as those of attention, weights from the
// log-sum-exp, and what is said of them in the lanes of their rows.

// RUN: attn-opt %s --attn-cpu-lower-tiles --split-input-file --verify-diagnostics | FileCheck %s

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {

// Hidden pairs and padding have weight 0 by select, after the exponential.
// CHECK-LABEL: func.func @rows
// CHECK: %[[ROWS:.*]] = vector.create_mask
// CHECK: %[[LSE:.*]] = vector.maskedload {{.*}}, %[[ROWS]]
// CHECK: %[[REST:.*]] = vector.maskedload {{.*}}, %[[ROWS]]
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>)
// CHECK: vector.fma
// CHECK: %[[HIDDEN:.*]] = arith.cmpf oeq
// CHECK: %[[DISTANCE:.*]] = arith.subf %{{.*}}, %[[LSE]]
// CHECK: %[[EXACT:.*]] = arith.subf %[[DISTANCE]], %[[REST]]
// CHECK: %[[ABOVE:.*]] = arith.cmpf olt, %[[NONE:.*]], %[[EXACT]]
// CHECK: %[[LOG:.*]] = arith.select %[[ABOVE]], %[[NONE]], %[[EXACT]]
// CHECK: %[[EXP:.*]] = math.exp2
// CHECK: %[[W:.*]] = arith.select %[[HIDDEN]], %{{.*}}, %[[EXP]]
// CHECK: %[[WEIGHT:.*]] = arith.select %[[ROWS]], %[[W]],
// CHECK: arith.maximumf %{{.*}}, %[[WEIGHT]]
// CHECK: arith.mulf %[[WEIGHT]], %[[LOG]]
// CHECK-NOT: math.log
// CHECK-NOT: attn.
func.func @rows(%q: memref<16x8xf32, strided<[1, 16]>>, %k: memref<?x8xf32>, %l: memref<?xf32>, %r: memref<?xf32>, %m: memref<16xf32>, %e: memref<16xf32>, %i: index) {
  attn.online_stats ins(%q, %k : memref<16x8xf32, strided<[1, 16]>>, memref<?x8xf32>) at(%i, %i, %i, %i) rows(%i) log_sum_exp(%l : memref<?xf32>) remainder(%r : memref<?xf32>)
      row_max(%m : memref<16xf32>) entropy(%e : memref<16xf32>) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>)
  return
}

// Sums of columns are those of as many keys as a vector has lanes; a key enters
// the places of a row only where its weight is larger than the last.
// CHECK-LABEL: func.func @columns
// CHECK: scf.for
// CHECK: vector.store
// CHECK: scf.for {{.*}} step %c16
// CHECK: vector.shuffle
// CHECK: vector.maskedstore
// CHECK: scf.for
// CHECK: arith.cmpf ugt
// CHECK: scf.if
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xi32>, vector<16xi1>)
// CHECK-NOT: attn.
func.func @columns(%q: memref<16x8xf32, strided<[1, 16]>>, %k: memref<?x8xf32>, %c: memref<?xf32>, %w: memref<3x16xf32>, %x: memref<3x16xi32>, %i: index) {
  attn.online_stats ins(%q, %k : memref<16x8xf32, strided<[1, 16]>>, memref<?x8xf32>) at(%i, %i, %i, %i)
      column_sums(%c : memref<?xf32>) top_k(%w, %x : memref<3x16xf32>, memref<3x16xi32>) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @strided(%q: memref<16x8xf32, strided<[1, 16]>>, %k: memref<?x8xf32>, %c: memref<?xf32, strided<[2]>>, %i: index) {
  // expected-error @below {{column_sums, log_sum_exp and remainder must have unit stride to be lowered, got 'memref<?xf32, strided<[2]>>'}}
  attn.online_stats ins(%q, %k : memref<16x8xf32, strided<[1, 16]>>, memref<?x8xf32>) at(%i, %i, %i, %i)
      column_sums(%c : memref<?xf32, strided<[2]>>) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>)
  return
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @columns_first(%q: memref<16x8xf32>, %k: memref<?x8xf32>, %m: memref<16xf32>, %i: index) {
  // expected-error @below {{query tile must have unit row stride}}
  attn.online_stats ins(%q, %k : memref<16x8xf32>, memref<?x8xf32>) at(%i, %i, %i, %i)
      row_max(%m : memref<16xf32>) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>)
  return
}
}
