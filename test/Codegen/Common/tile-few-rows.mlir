// A decoding step: one task packs the rows of all heads of a group and sees one
// part of the keys; a second loop merges the parts of each head in order.

// RUN: attn-opt %s --attn-tile | FileCheck %s

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {

// CHECK-LABEL: func.func @decode
// CHECK-DAG: memref.alloc(%{{.*}}, %{{.*}}) : memref<?x2x?x4x32xf32>
// CHECK-DAG: memref.alloc(%{{.*}}, %{{.*}}) : memref<?x2x?x4xf32>
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (%{{.*}}, 2, %{{.*}})
// CHECK-COUNT-3: attn.pack ins(%{{.*}} : memref<1x24xf32, strided<[?, 1], offset: ?>>) outs(%{{.*}} : memref<1x24xf32, strided<[32, 1]
// CHECK-NOT: attn.pack
// CHECK: attn.online_attention
// CHECK-SAME: memref<4x20xf32, strided<[32, 1], offset: ?>>, memref<4xf32, strided<[1], offset: ?>>
// CHECK-SAME: rows(%{{.*}}) head_rows 1
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 6)
// CHECK: attn.merge_partials ins(%{{.*}} : memref<?x1x20xf32{{.*}}>, memref<?x1xf32{{.*}}>, memref<?x1xf32{{.*}}>)
func.func @decode(%q: memref<?x6x1x24xf32, strided<[?, ?, ?, 1], offset: ?>>, %k: memref<?x2x?x24xf32>, %v: memref<?x2x?x20xf32>, %o: memref<?x6x1x20xf32>) {
  attn.attention ins(%q, %k, %v : memref<?x6x1x24xf32, strided<[?, ?, ?, 1], offset: ?>>, memref<?x2x?x24xf32>, memref<?x2x?x20xf32>)
      outs(%o : memref<?x6x1x20xf32>) scale 1.0
      schedule(<kernel = features_in_lanes, tile = [4, 128], registers = [4, 4], lanes = 16, split = 2048>)
  return
}

// bf16 queries of bf16 keys stay as they are, and scores are scaled.
// CHECK-LABEL: func.func @exact
// CHECK: %[[Q:.*]] = memref.alloc() : memref<4x32xbf16>
// CHECK: linalg.fill ins(%{{.*}} : bf16) outs(%[[Q]] : memref<4x32xbf16>)
// CHECK: attn.pack {{.*}} factor 1.0
// CHECK: attn.online_attention ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<4x24xbf16, strided<[32, 1]>>
// CHECK-SAME: scale 1.250000e-01 head_rows 1
func.func @exact(%q: memref<?x8x1x24xbf16>, %k: memref<?x2x?x24xbf16>, %v: memref<?x2x?x20xbf16>, %o: memref<?x8x1x20xbf16>) {
  attn.attention ins(%q, %k, %v : memref<?x8x1x24xbf16>, memref<?x2x?x24xbf16>, memref<?x2x?x20xbf16>)
      outs(%o : memref<?x8x1x20xbf16>) scale 0.125
      schedule(<kernel = features_in_lanes, tile = [4, 128], registers = [4, 4], lanes = 16, split = 2048>)
  return
}

// With f32 keys nothing is gained: the scale is in the query.
// CHECK-LABEL: func.func @wide_keys
// CHECK: attn.pack {{.*}} outs(%{{.*}} : memref<1x24xf32, {{.*}}) factor 1.250000e-01
// CHECK-NOT: scale
func.func @wide_keys(%q: memref<?x8x1x24xbf16>, %k: memref<?x2x?x24xf32>, %v: memref<?x2x?x20xf32>, %o: memref<?x8x1x20xf32>) {
  attn.attention ins(%q, %k, %v : memref<?x8x1x24xbf16>, memref<?x2x?x24xf32>, memref<?x2x?x20xf32>)
      outs(%o : memref<?x8x1x20xf32>) scale 0.125
      schedule(<kernel = features_in_lanes, tile = [4, 128], registers = [4, 4], lanes = 16, split = 2048>)
  return
}

}
