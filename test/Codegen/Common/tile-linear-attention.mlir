// attn.linear_attention becomes a parallel loop over (batch, key head, columns of
// the state), in which it is applied to slices.

// RUN: attn-opt %s --attn-tile --canonicalize --cse --split-input-file | FileCheck %s

// One block of columns: queries of the whole group, one key head.
// CHECK-LABEL: func.func @one_block
// CHECK-SAME: (%[[Q:[^:]*]]: memref<?x8x?x16xf32>, %[[K:[^:]*]]: memref<?x2x?x16xf32>, %[[V:[^:]*]]: memref<?x2x?x48xf32>, %[[O:[^:]*]]: memref<?x8x?x48xf32>, %[[S:[^:]*]]: memref<?x2x16x48xf32>, %[[G:[^:]*]]: memref<?x2x?xf32>)
// CHECK-NOT: attn.thread_count
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]]) in (%{{.*}}, 2) {
// CHECK-DAG: %[[FIRST:.*]] = arith.muli %[[H]], %c4
// CHECK-DAG: memref.subview %[[Q]][%[[B]], %[[FIRST]], 0, 0] [1, 4, %{{.*}}, 16]
// CHECK-DAG: memref.subview %[[K]][%[[B]], %[[H]], 0, 0] [1, 1, %{{.*}}, 16]
// CHECK-DAG: memref.subview %[[V]][%[[B]], %[[H]], 0, 0] [1, 1, %{{.*}}, 48]
// CHECK-DAG: memref.subview %[[O]][%[[B]], %[[FIRST]], 0, 0] [1, 4, %{{.*}}, 48]
// CHECK-DAG: memref.subview %[[S]][%[[B]], %[[H]], 0, 0] [1, 1, 16, 48]
// CHECK-DAG: memref.subview %[[G]][%[[B]], %[[H]], 0] [1, 1, %{{.*}}]
// CHECK: attn.linear_attention ins({{.*}}) outs({{.*}}) scale 1.000000e+00 decay({{.*}}) schedule(
func.func @one_block(%q: memref<?x8x?x16xf32>, %k: memref<?x2x?x16xf32>, %v: memref<?x2x?x48xf32>, %o: memref<?x8x?x48xf32>, %s: memref<?x2x16x48xf32>, %g: memref<?x2x?xf32>) {
  attn.linear_attention ins(%q, %k, %v : memref<?x8x?x16xf32>, memref<?x2x?x16xf32>, memref<?x2x?x48xf32>) outs(%o, %s : memref<?x8x?x48xf32>, memref<?x2x16x48xf32>) scale 1.0 decay(%g : memref<?x2x?xf32>) schedule(<kernel = chunked_state, tile = [32, 64], registers = [4, 4], lanes = 16>)
  return
}

// -----

// Where threads would have no task, a task has the columns of a register tile.
// CHECK-LABEL: func.func @few_heads
// CHECK: %[[THREADS:.*]] = attn.thread_count
// CHECK: %[[FEW:.*]] = arith.cmpi slt, %{{.*}}, %[[THREADS]]
// CHECK: %[[SIZE:.*]] = arith.select %[[FEW]], %c32, %c128
// CHECK: %[[BLOCKS:.*]] = arith.divui %{{.*}}, %[[SIZE]]
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[N:.*]]) in (%{{.*}}, 2, %[[BLOCKS]]) {
// CHECK: %[[FROM:.*]] = arith.muli %[[N]], %[[SIZE]]
// CHECK: %[[LEFT:.*]] = arith.subi %c200, %[[FROM]]
// CHECK: %[[COUNT:.*]] = arith.minsi %[[SIZE]], %[[LEFT]]
// CHECK: memref.subview %{{.*}}[%{{.*}}, %{{.*}}, 0, %[[FROM]]] [1, 1, %{{.*}}, %[[COUNT]]]
func.func @few_heads(%q: memref<?x2x?x16xf32>, %v: memref<?x2x?x200xf32>, %o: memref<?x2x?x200xf32>) {
  attn.linear_attention ins(%q, %q, %v : memref<?x2x?x16xf32>, memref<?x2x?x16xf32>, memref<?x2x?x200xf32>) outs(%o : memref<?x2x?x200xf32>) scale 1.0 schedule(<kernel = recurrent_state, tile = [16, 128], registers = [4, 2], lanes = 16>)
  return
}
