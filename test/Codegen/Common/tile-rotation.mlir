// Tables and rotated tensors are made in chunks of rows; queries turn in a
// scratch of the task, which packs them from there.

// RUN: attn-opt %s --attn-tile --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @tables
// CHECK: scf.forall (%[[CHUNK:.*]]) in (%{{.*}})
// CHECK: %[[FIRST:.*]] = arith.muli %[[CHUNK]], %c64
// CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[FIRST]] : index
// CHECK: attn.rope_tables frequencies(%{{.*}} : memref<4xf64>) offset(%[[AT]]) outs(%{{.*}}, %{{.*}} : memref<?x4xf32, strided<[4, 1], offset: ?>>
// CHECK: scf.forall (%[[B:.*]], %{{.*}}) in (%{{.*}}, %{{.*}})
// CHECK: %[[IDS:.*]] = memref.subview %{{.*}}[%[[B]], %{{.*}}]
// CHECK: attn.rope_tables frequencies({{.*}}) positions(%[[IDS]] : memref<?xi32, strided<[1], offset: ?>>)
func.func @tables(%f: memref<4xf64>, %n: index, %i: memref<?x?xi32>, %t: memref<?x4xf32>, %b: memref<?x?x4xf32>) {
  attn.rope_tables frequencies(%f : memref<4xf64>) offset(%n) outs(%t, %t : memref<?x4xf32>, memref<?x4xf32>)
  attn.rope_tables frequencies(%f : memref<4xf64>) positions(%i : memref<?x?xi32>) outs(%b, %b : memref<?x?x4xf32>, memref<?x?x4xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @rotate
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %{{.*}}) in (%{{.*}}, 2, %{{.*}})
// CHECK-DAG: %[[X:.*]] = memref.subview %{{.*}}[%[[B]], %[[H]], %[[ROW:.*]], 0]
// CHECK-DAG: %[[Y:.*]] = memref.subview %{{.*}}[%[[B]], %[[H]], %[[ROW]], 0]
// CHECK-DAG: %[[C:.*]] = memref.subview %{{.*}}[%[[B]], %[[ROW]], 0]
// CHECK: attn.rotate ins(%[[X]] : {{.*}}) by half(%[[C]], %{{.*}} : {{.*}}) outs(%[[Y]] : {{.*}})
func.func @rotate(%x: memref<?x2x?x16xbf16, strided<[?, ?, ?, 1], offset: ?>>, %y: memref<?x2x?x16xbf16>, %c: memref<?x?x4xf32>, %s: memref<?x?x4xf32>) {
  attn.rotate ins(%x : memref<?x2x?x16xbf16, strided<[?, ?, ?, 1], offset: ?>>) by half(%c, %s : memref<?x?x4xf32>, memref<?x?x4xf32>) outs(%y : memref<?x2x?x16xbf16>)
  return
}

// -----

// The rows of a tile turn once, in the type of the query.
// CHECK-LABEL: func.func @queries
// CHECK: scf.forall
// CHECK: %[[S:.*]] = memref.alloc() : memref<64x16xf16>
// CHECK: %[[R:.*]] = memref.subview %[[S]][0, 0] [%{{.*}}, 16] [1, 1]
// CHECK: attn.rotate ins(%{{.*}} : memref<?x16xf16{{.*}}>) by interleaved(%{{.*}}, %{{.*}} : memref<?x8xf32{{.*}}>, memref<?x8xf32{{.*}}>) outs(%[[R]] : {{.*}})
// CHECK: attn.pack ins(%[[R]] : {{.*}}) outs(%{{.*}}) factor 5.000000e-01
// CHECK: scf.for
// CHECK-NOT: attn.rotate
// CHECK: return
func.func @queries(%q: memref<?x4x?x16xf16>, %k: memref<?x4x?x16xf32>, %o: memref<?x4x?x16xf32>, %c: memref<?x8xf32>) {
  attn.attention ins(%q, %k, %k : memref<?x4x?x16xf16>, memref<?x4x?x16xf32>, memref<?x4x?x16xf32>) outs(%o : memref<?x4x?x16xf32>) scale 0.5
      rotated interleaved(%c, %c : memref<?x8xf32>, memref<?x8xf32>)
      schedule(<kernel = queries_in_lanes, tile = [64, 60], registers = [6, 4], lanes = 16>)
  return
}

// -----

// Pairs and few rows, one scratch a head.
// CHECK-LABEL: func.func @pairs
// CHECK: attn.rotate {{.*}} by half{{.*}} outs(%[[R:.*]] : memref<?x32xbf16, strided<[32, 1]>>)
// CHECK: attn.pack ins(%[[R]] : {{.*}}) outs(%{{.*}} : memref<16x32x2xbf16>)
func.func @pairs(%q: memref<?x4x?x32xbf16>, %k: memref<?x4x?x32xbf16>, %o: memref<?x4x?x32xbf16>, %c: memref<?x16xf32>) {
  attn.attention ins(%q, %k, %k : memref<?x4x?x32xbf16>, memref<?x4x?x32xbf16>, memref<?x4x?x32xbf16>) outs(%o : memref<?x4x?x32xbf16>) scale 0.5
      rotated half(%c, %c : memref<?x16xf32>, memref<?x16xf32>)
      schedule(<kernel = bf16_tiles, tile = [32, 2048], registers = [2, 2], lanes = 16>)
  return
}

// CHECK-LABEL: func.func @few
// CHECK-COUNT-2: attn.rotate {{.*}} by half{{.*}} outs(%{{.*}} : memref<1x32xbf16, strided<[32, 1]>>)
// CHECK-NOT: attn.rotate
func.func @few(%q: memref<?x4x1x32xbf16>, %k: memref<?x2x?x32xbf16>, %o: memref<?x4x1x32xbf16>, %c: memref<1x16xf32>) {
  attn.attention ins(%q, %k, %k : memref<?x4x1x32xbf16>, memref<?x2x?x32xbf16>, memref<?x2x?x32xbf16>) outs(%o : memref<?x4x1x32xbf16>) scale 0.5
      rotated half(%c, %c : memref<1x16xf32>, memref<1x16xf32>)
      schedule(<kernel = features_in_lanes, tile = [2, 128], registers = [4, 4], lanes = 16, split = 2048>)
  return
}
