// bf16 attention by products of pairs packs keys and values once for all tiles of
// queries; a block starts at a whole panel.

// RUN: attn-opt %s --attn-tile --canonicalize --cse --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @unmasked
// CHECK-SAME: (%[[Q:.*]]: memref<?x8x?x40xbf16>, %[[K:.*]]: memref<?x2x?x40xbf16>, %[[V:.*]]: memref<?x2x?x20xbf16>, %{{.*}}: memref<?x8x?x20xbf16>)
// Keys as rows of whole pairs of panels, padded to chunks.
// CHECK: %[[KEYS:.*]] = memref.alloc({{.*}}) : memref<?x2x?x64xbf16>
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (%{{.*}}, 2, %{{.*}}) {
// CHECK: attn.pack ins(%{{.*}} : memref<?x40xbf16, {{.*}}>) outs(%{{.*}} : memref<512x64xbf16, {{.*}}>) factor 1.000000e+00
// Values transposed, in panels of 32 keys.
// CHECK: %[[VALUES:.*]] = memref.alloc({{.*}}) : memref<?x2x?x32x32xbf16>
// Tasks are tiles, with values packed before them, or with enough heads for all
// threads they are heads, which pack their own.
// CHECK: %[[COPIES:.*]] = arith.select %[[OWN:.*]], %c0, %[[BATCHES:.*]] : index
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (%[[COPIES]], 2, %{{.*}}) {
// CHECK: memref.transpose
// CHECK: attn.pack ins(%{{.*}} : memref<20x?xbf16, {{.*}}>) outs(%{{.*}} : memref<16x32x32xbf16, {{.*}}>) factor 1.000000e+00
// CHECK: %[[HEADS:.*]] = arith.select %[[OWN]], %c2, %c8 : index
// CHECK: %[[TILES:.*]] = arith.select %[[OWN]], %c1, %{{.*}} : index
// CHECK: scf.forall (%[[B:.*]], %[[TASK:.*]], %{{.*}}) in (%[[BATCHES]], %[[HEADS]], %[[TILES]]) {
// CHECK: %[[CHUNKS:.*]] = arith.select %[[OWN]], %{{.*}}, %c0 : index
// CHECK: scf.for %[[CHUNK:.*]] = %c0 to %[[CHUNKS]] step %c1 {
// CHECK: memref.subview %[[VALUES]][%[[B]], %[[TASK]], %{{.*}}, 0, 0] [1, 1, 16, 32, 32]
// CHECK: attn.pack ins(%{{.*}} : memref<20x?xbf16, {{.*}}>) outs(%{{.*}} : memref<16x32x32xbf16, {{.*}}>) factor 1.000000e+00
// Queries in pairs, unscaled.
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[TILE:.*]] = memref.alloc() : memref<32x32x2xbf16>
// CHECK: attn.pack ins(%{{.*}}) outs(%[[TILE]] : memref<32x32x2xbf16>) factor 1.000000e+00
// CHECK: scf.for %[[J:.*]] = %c0 to %{{.*}} step %c64 {
// CHECK: %[[COUNT:.*]] = arith.minsi
// CHECK: memref.subview %[[KEYS]][%[[B]], %{{.*}}, %[[J]], 0] [1, 1, %[[COUNT]], 64]
// CHECK: %[[PANEL:.*]] = arith.divui %[[J]], %c32
// CHECK: memref.subview %[[VALUES]][%[[B]], %{{.*}}, %[[PANEL]], 0, 0] [1, 1, %{{.*}}, 32, 32]
// The queries of the next task and the results of this one come near in the first block.
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[J]], %c0
// CHECK: %[[ROWS:.*]] = arith.select %[[FIRST]], %{{.*}}, %c0
// CHECK: %[[NEXT:.*]] = memref.subview %{{.*}}[0, 0] [%[[ROWS]], 40]
// CHECK: %[[RESULT:.*]] = memref.subview %{{.*}}[0, 0] [%{{.*}}, 20]
// CHECK: attn.online_attention ins(%[[TILE]], {{.*}} scale 1.250000e-01 upcoming(%[[NEXT]], %[[RESULT]] : {{.*}}) schedule(<kernel = bf16_tiles
// The output has fewer features than the tile.
// CHECK: memref.reinterpret_cast {{.*}} sizes: [1, 32, 20], strides: [1, 1, 32]
// CHECK: attn.merge_partials
func.func @unmasked(%q: memref<?x8x?x40xbf16>, %k: memref<?x2x?x40xbf16>, %v: memref<?x2x?x20xbf16>, %o: memref<?x8x?x20xbf16>) {
  attn.attention ins(%q, %k, %v : memref<?x8x?x40xbf16>, memref<?x2x?x40xbf16>, memref<?x2x?x20xbf16>) outs(%o : memref<?x8x?x20xbf16>) scale 0.125 schedule(<kernel = bf16_tiles, tile = [32, 64], registers = [2, 2], lanes = 16>)
  return
}

// -----

// Keys that lie as whole panels of rows are not copied: then there are no tasks to
// copy them.
// CHECK-LABEL: func.func @keys_in_place
// CHECK-SAME: %[[K:[^:]*]]: memref<1x2x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %[[STRIDES:.*]]:4 = memref.extract_strided_metadata %[[K]]
// CHECK: %[[START:.*]] = memref.extract_aligned_pointer_as_index %[[K]]
// CHECK: arith.addi %[[START]]
// CHECK: arith.divui %{{.*}}, %c64
// CHECK: arith.divui %[[STRIDES]]#0, %c32
// CHECK: arith.divui %[[STRIDES]]#1, %c32
// CHECK: %[[ADJACENT:.*]] = arith.cmpi eq, %[[STRIDES]]#2, %c64
// CHECK: %[[IN_PLACE:.*]] = arith.andi %{{.*}}, %[[ADJACENT]]
// CHECK: %[[COPIES:.*]] = arith.select %[[IN_PLACE]], %c0, %c1
// CHECK: %[[PACKED:.*]] = memref.alloc(%[[COPIES]], {{.*}}) : memref<?x2x?x64xbf16>
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (%[[COPIES]], 2, %{{.*}}) {
// CHECK-DAG: %[[GIVEN:.*]] = memref.cast %[[K]]
// CHECK-DAG: %[[OWN:.*]] = memref.cast %[[PACKED]]
// CHECK: arith.select %[[IN_PLACE]], %[[GIVEN]], %[[OWN]] : memref<{{.*}}, strided<[?, ?, 64, 1], offset: ?>>
func.func @keys_in_place(%k: memref<1x2x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, %v: memref<1x2x?x64xbf16>, %q: memref<1x8x?x64xbf16>, %o: memref<1x8x?x64xbf16>) {
  attn.attention ins(%q, %k, %v : memref<1x8x?x64xbf16>, memref<1x2x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, memref<1x2x?x64xbf16>) outs(%o : memref<1x8x?x64xbf16>) scale 0.125 schedule(<kernel = bf16_tiles, tile = [32, 64], registers = [2, 2], lanes = 16>)
  return
}

// -----

// Rows that are known to be apart are always copied.
// CHECK-LABEL: func.func @keys_apart
// CHECK-NOT: memref.extract_strided_metadata
// CHECK: memref.alloc() : memref<1x2x512x64xbf16>
// CHECK: attn.online_attention
func.func @keys_apart(%k: memref<1x2x64x64xbf16, strided<[16384, 8192, 128, 1], offset: 64>>, %v: memref<1x2x64x64xbf16>, %q: memref<1x8x?x64xbf16>, %o: memref<1x8x?x64xbf16>) {
  attn.attention ins(%q, %k, %v : memref<1x8x?x64xbf16>, memref<1x2x64x64xbf16, strided<[16384, 8192, 128, 1], offset: 64>>, memref<1x2x64x64xbf16>) outs(%o : memref<1x8x?x64xbf16>) scale 0.125 schedule(<kernel = bf16_tiles, tile = [32, 64], registers = [2, 2], lanes = 16>)
  return
}

// -----

// Documents are told apart block by block, by shorter blocks than others.
// CHECK-LABEL: func.func @documents
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c256 {
// CHECK: attn.online_attention
func.func @documents(%k: memref<1x2x?x64xbf16>, %q: memref<1x8x?x64xbf16>, %o: memref<1x8x?x64xbf16>, %document: memref<?xi32>) {
  attn.attention ins(%q, %k, %k : memref<1x8x?x64xbf16>, memref<1x2x?x64xbf16>, memref<1x2x?x64xbf16>) outs(%o : memref<1x8x?x64xbf16>) scale 0.125 schedule(<kernel = bf16_tiles, tile = [32, 2048], registers = [2, 2], lanes = 16>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %row = memref.load %document[%i] : memref<?xi32>
    %column = memref.load %document[%j] : memref<?xi32>
    %visible = arith.cmpi eq, %row, %column : i32
    attn.yield %visible : i1
  }
  return
}

// -----

// Narrow floats in another kernel are widened, a block at a time.
// CHECK-LABEL: func.func @widened
// CHECK: scf.forall
// CHECK-DAG: %[[KEYS:.*]] = memref.alloc() : memref<64x48xf32>
// CHECK-DAG: %[[VALUES:.*]] = memref.alloc() : memref<64x32xf32>
// CHECK: scf.for
// CHECK: attn.pack ins({{.*}} : memref<?x40xf16, {{.*}}>) outs(%[[KEYS]] : memref<64x48xf32>) factor 1.000000e+00
// CHECK: attn.pack ins({{.*}} : memref<?x20xf16, {{.*}}>) outs(%[[VALUES]] : memref<64x32xf32>) factor 1.000000e+00
// CHECK: attn.online_attention {{.*}} memref<?x40xf32, strided<[48, 1]>>, memref<?x20xf32, strided<[32, 1]>>
func.func @widened(%q: memref<?x8x?x40xf16>, %k: memref<?x2x?x40xf16>, %v: memref<?x2x?x20xf16>, %o: memref<?x8x?x20xf16>) {
  attn.attention ins(%q, %k, %v : memref<?x8x?x40xf16>, memref<?x2x?x40xf16>, memref<?x2x?x20xf16>) outs(%o : memref<?x8x?x20xf16>) scale 0.125 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 2], lanes = 16>)
  return
}
