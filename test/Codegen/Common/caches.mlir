// Caches of keys and values on buffers.

// RUN: attn-opt %s --attn-tile --canonicalize --cse --split-input-file | FileCheck %s

// Pages are copied into a block, one after the other; a number that is no page
// reads the last one.
// CHECK-LABEL: func.func @pages
// CHECK-SAME: %[[K:[^:]*]]: memref<?x2x16x64xf32>, %[[T:[^:]*]]: memref<?x?xi32>
// CHECK: %[[BLOCKS:.*]] = memref.dim %[[T]], %c1
// CHECK: %[[KEYS:.*]] = arith.muli %[[BLOCKS]], %c16
// CHECK: scf.forall (%[[B:.*]], %{{.*}}, %{{.*}}) in
// CHECK: %[[SCRATCH:.*]] = memref.alloc() : memref<64x64xf32>
// CHECK: scf.for %[[J:.*]] = %c0 to %[[KEYS]]
// CHECK: scf.for %[[NUMBER:.*]] = %{{.*}} to %{{.*}} step %c1 {
// CHECK: %[[RAW:.*]] = memref.load %[[T]][%[[B]], %[[NUMBER]]]
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c1
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[RAW]]
// CHECK: %[[CUT:.*]] = arith.minsi %[[INDEX]], %[[LAST]]
// CHECK: %[[PAGE:.*]] = arith.maxsi %[[CUT]], %c0
// CHECK: memref.subview %[[K]][%[[PAGE]], %{{.*}}, %{{.*}}, 0] [1, 1, %{{.*}}, 64]
// CHECK: attn.pack ins(%{{.*}} : memref<?x64xf32, {{.*}}>) outs(%{{.*}} : memref<?x64xf32, {{.*}}>) factor 1.000000e+00
// CHECK: attn.online_attention
func.func @pages(%k: memref<?x2x16x64xf32>, %t: memref<?x?xi32>, %q: memref<?x8x?x64xf32>, %o: memref<?x8x?x64xf32>) {
  attn.attention ins(%q, %k, %k : memref<?x8x?x64xf32>, memref<?x2x16x64xf32>, memref<?x2x16x64xf32>) outs(%o : memref<?x8x?x64xf32>) scale 0.125 table(%t : memref<?x?xi32>) schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 2], lanes = 16>)
  return
}

// -----

// Integers become floats block by block.
// CHECK-LABEL: func.func @integers
// CHECK: %[[SCRATCH:.*]] = memref.alloc() : memref<64x64xf32>
// CHECK: attn.pack ins(%{{.*}} : memref<?x64xi8, {{.*}}>) outs(%[[SCRATCH]] : memref<64x64xf32>) scales(%{{.*}} : memref<?xf32, {{.*}}>) factor 1.000000e+00
// CHECK: attn.online_attention {{.*}} memref<?x64xf32, strided<[64, 1]>>
func.func @integers(%k: memref<?x2x?x64xi8>, %s: memref<?x2x?xf32>, %q: memref<?x8x?x64xf32>, %o: memref<?x8x?x64xf32>) {
  attn.attention ins(%q, %k, %k : memref<?x8x?x64xf32>, memref<?x2x?x64xi8>, memref<?x2x?x64xi8>) outs(%o : memref<?x8x?x64xf32>) scale 0.125 key_scale(%s : memref<?x2x?xf32>) value_scale(%s : memref<?x2x?xf32>) schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 2], lanes = 16>)
  return
}

// -----

// A few rows read pages and integers where they are: each page is a block, and
// the page after it is brought near.
// CHECK-LABEL: func.func @few_rows
// CHECK-SAME: %[[K:[^:]*]]: memref<?x2x16x64xi8>, %[[S:[^:]*]]: memref<?x2x16xf32>, %[[T:[^:]*]]: memref<?x?xi32>
// CHECK: scf.forall (%[[B:.*]], %{{.*}}, %{{.*}}) in
// CHECK-NOT: memref.alloc() : memref<256x64xf32>
// CHECK: scf.for %[[PAGE:.*]] = %{{.*}} to %{{.*}} step %c1 {
// CHECK: memref.load %[[T]][%[[B]], %[[PAGE]]]
// CHECK: %[[KEYS:.*]] = memref.subview %[[K]]
// CHECK: %[[SCALES:.*]] = memref.subview %[[S]]
// CHECK: %[[NEXT:.*]] = arith.minsi
// CHECK: memref.load %[[T]][%[[B]], %[[NEXT]]]
// CHECK: %[[SOON:.*]] = memref.subview %[[K]]
// CHECK-NOT: attn.pack
// CHECK: attn.online_attention ins(%{{.*}}, %[[KEYS]], %{{.*}} : {{.*}}xi8, {{.*}}xi8, {{.*}} upcoming(%[[SOON]], %{{.*}} :{{.*}} key_scale(%[[SCALES]] : memref<?xf32, {{.*}} value_scale(
func.func @few_rows(%k: memref<?x2x16x64xi8>, %s: memref<?x2x16xf32>, %t: memref<?x?xi32>, %q: memref<?x8x1x64xf32>, %o: memref<?x8x1x64xf32>) {
  attn.attention ins(%q, %k, %k : memref<?x8x1x64xf32>, memref<?x2x16x64xi8>, memref<?x2x16x64xi8>) outs(%o : memref<?x8x1x64xf32>) scale 0.125 table(%t : memref<?x?xi32>) key_scale(%s : memref<?x2x16xf32>) value_scale(%s : memref<?x2x16xf32>) schedule(<kernel = features_in_lanes, tile = [4, 256], registers = [4, 4], lanes = 16, split = 2048>)
  return
}

// -----

// Pages of fewer rows than a vector has lanes are copied.
// CHECK-LABEL: func.func @short_pages
// CHECK: %[[SCRATCH:.*]] = memref.alloc() : memref<256x64xf32>
// CHECK: attn.pack
// CHECK-NOT: upcoming
func.func @short_pages(%k: memref<?x2x8x64xf32>, %t: memref<?x?xi32>, %q: memref<?x8x1x64xf32>, %o: memref<?x8x1x64xf32>) {
  attn.attention ins(%q, %k, %k : memref<?x8x1x64xf32>, memref<?x2x8x64xf32>, memref<?x2x8x64xf32>) outs(%o : memref<?x8x1x64xf32>) scale 0.125 table(%t : memref<?x?xi32>) schedule(<kernel = features_in_lanes, tile = [4, 256], registers = [4, 4], lanes = 16, split = 2048>)
  return
}
