// attn.attention_stats becomes a parallel loop whose tasks walk blocks of keys as
// those of attention do.

// RUN: attn-opt %s --attn-tile --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// Statistics of rows: a task is a tile, and what it says is copied to its rows.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: (%[[Q:.*]]: memref<?x8x?x64xf32>, %[[K:.*]]: memref<?x2x?x64xf32>, %[[L:.*]]: memref<?x8x?xf32>, %[[R:.*]]: memref<?x8x?xf32>, %[[W:.*]]: memref<?x8x?x3xf32>, %[[I:.*]]: memref<?x8x?x3xi32>)
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %{{.*}}) in (%{{.*}}, 8, %{{.*}}) {
// CHECK: %[[SUMS:.*]] = memref.subview %[[L]][%[[B]], %[[H]], %[[FIRST:.*]]] [1, 1, %[[ROWS:.*]]] [1, 1, 1]
// CHECK: %[[REST:.*]] = memref.subview %[[R]][%[[B]], %[[H]], %[[FIRST]]] [1, 1, %[[ROWS]]] [1, 1, 1]
// CHECK: attn.pack {{.*}} factor 1.250000e-01
// CHECK: %[[WEIGHTS:.*]] = memref.alloc() : memref<3x64xf32>
// CHECK: linalg.fill {{.*}} outs(%[[WEIGHTS]]
// CHECK: %[[KEYS:.*]] = memref.alloc() : memref<3x64xi32>
// CHECK: linalg.fill ins(%c-1_i32 : i32) outs(%[[KEYS]]
// CHECK: attn.online_stats ins({{.*}}) at(%[[B]], %[[H]], %[[FIRST]], %{{.*}}) rows(%[[ROWS]]) log_sum_exp(%[[SUMS]] : {{.*}}) remainder(%[[REST]] : {{.*}}) top_k(%[[WEIGHTS]], %[[KEYS]]
// CHECK-NOT: mask
// CHECK: attn.online_stats
// CHECK-SAME: mask {
// CHECK: linalg.copy ins({{.*}} : memref<?x3xf32
// CHECK: linalg.copy ins({{.*}} : memref<?x3xi32
func.func @rows(%q: memref<?x8x?x64xf32>, %k: memref<?x2x?x64xf32>, %l: memref<?x8x?xf32>, %r: memref<?x8x?xf32>, %w: memref<?x8x?x3xf32>, %x: memref<?x8x?x3xi32>) {
  attn.attention_stats ins(%q, %k : memref<?x8x?x64xf32>, memref<?x2x?x64xf32>) scale 0.125 log_sum_exp(%l : memref<?x8x?xf32>) remainder(%r : memref<?x8x?xf32>)
      top_k(%w, %x : memref<?x8x?x3xf32>, memref<?x8x?x3xi32>) schedule(<kernel = queries_in_lanes, tile = [64, 60], registers = [6, 2], lanes = 8>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %v = arith.cmpi sle, %j, %i : index
    attn.yield %v : i1
  }
  return
}

// -----

// Sums of columns: a task has every n-th tile, n at most 8, and a row of partial
// sums, which another loop adds in order.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[C:[a-z0-9]+]]: memref<?x8x?xf32>)
// CHECK: %[[PARTS:.*]] = arith.minsi %[[TILES:.*]], %c8
// CHECK: %[[N:.*]] = arith.maxsi %[[PARTS]], %c1
// CHECK: %[[PARTIAL:.*]] = memref.alloc(%{{.*}}, %[[N]], %{{.*}}) : memref<?x8x?x?xf32>
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[PART:.*]]) in (%{{.*}}, 8, %[[N]]) {
// CHECK: %[[OWN:.*]] = memref.subview %[[PARTIAL]][
// CHECK: linalg.fill {{.*}} outs(%[[OWN]]
// CHECK: scf.for %{{.*}} = %[[PART]] to %[[TILES]] step %[[N]]
// CHECK: %[[BLOCK:.*]] = memref.subview %[[OWN]]
// CHECK: attn.online_stats {{.*}} column_sums(%[[BLOCK]]
// CHECK-SAME: score {
// CHECK: scf.forall
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]
func.func @columns(%q: memref<?x8x?x64xf32>, %k: memref<?x2x?x64xf32>, %c: memref<?x8x?xf32>) {
  attn.attention_stats ins(%q, %k : memref<?x8x?x64xf32>, memref<?x2x?x64xf32>) scale 0.125 column_sums(%c : memref<?x8x?xf32>)
      schedule(<kernel = queries_in_lanes, tile = [64, 60], registers = [6, 2], lanes = 8>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %s : f32
  }
  return
}

// -----

func.func @no_schedule(%q: memref<1x1x8x8xf32>, %r: memref<1x1x8xf32>) {
  // expected-error @below {{has no schedule to be tiled by}}
  attn.attention_stats ins(%q, %q : memref<1x1x8x8xf32>, memref<1x1x8x8xf32>) scale 0.125 row_max(%r : memref<1x1x8xf32>)
  return
}

// -----

func.func @other_kernel(%q: memref<1x1x8x8xf32>, %r: memref<1x1x8xf32>) {
  // expected-error @below {{has the schedule of features_in_lanes, which has no statistics}}
  attn.attention_stats ins(%q, %q : memref<1x1x8x8xf32>, memref<1x1x8x8xf32>) scale 0.125 row_max(%r : memref<1x1x8xf32>)
      schedule(<kernel = features_in_lanes, tile = [8, 64], registers = [4, 4], lanes = 16, split = 2048>)
  return
}

// -----

func.func @wider_sums(%q: memref<1x1x8x8xf32>, %l: memref<1x1x8xf64>, %r: memref<1x1x8xf32>) {
  // expected-error @below {{computes in 'f32', but has operands of 'f64'}}
  attn.attention_stats ins(%q, %q : memref<1x1x8x8xf32>, memref<1x1x8x8xf32>) scale 0.125 log_sum_exp(%l : memref<1x1x8xf64>) row_max(%r : memref<1x1x8xf32>)
      schedule(<kernel = queries_in_lanes, tile = [64, 60], registers = [6, 2], lanes = 8>)
  return
}

// -----

// One key, known: the view of its sum drops the batch and the head, and keeps
// the unit stride of keys.
// CHECK-LABEL: func.func @one
// CHECK: memref.subview %{{.*}} : memref<2x2x1xf32, strided<[?, ?, 1], offset: ?>> to memref<1xf32, strided<[1], offset: ?>>
func.func @one(%q: memref<2x2x5x8xf32>, %k: memref<2x2x1x8xf32>, %c: memref<2x2x1xf32, strided<[?, ?, 1], offset: ?>>) {
  attn.attention_stats ins(%q, %k : memref<2x2x5x8xf32>, memref<2x2x1x8xf32>) scale 0.125
      column_sums(%c : memref<2x2x1xf32, strided<[?, ?, 1], offset: ?>>)
      schedule(<kernel = queries_in_lanes, tile = [64, 60], registers = [6, 2], lanes = 8>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %s : f32
  }
  return
}
