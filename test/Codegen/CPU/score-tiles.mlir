// With AMX, the scores of four or more bf16 rows against bf16 keys are products of
// tiles: four tiles of keys at once, then one, then a copy of what is left of a
// tile. The query is pairs with rows as columns, scores leave as rows.

// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=sapphirerapids},func.func(attn-cpu-lower-tiles),cse,canonicalize)' | FileCheck %s
// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=x86-64-v4},func.func(attn-cpu-lower-tiles),cse,canonicalize)' | FileCheck %s --check-prefix=VECTORS

// VECTORS-NOT: amx.

// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: %[[Q:[^:]*]]: memref<4x64xbf16>, %[[K:[^:]*]]: memref<?x64xbf16>
// CHECK-DAG: %[[LAST:.*]] = memref.alloc() : memref<16x64xbf16>
// CHECK-DAG: %[[SCORES:.*]] = memref.alloc() : memref<48x4xf32>
// CHECK-DAG: %[[PAIRS:.*]] = memref.alloc() : memref<32x8xbf16>
// CHECK: scf.for
// CHECK-COUNT-4: vector.load %[[Q]]
// CHECK-COUNT-8: vector.shuffle
// CHECK: scf.for %[[I:[^ ]+]] =
// CHECK-COUNT-4: amx.tile_zero : !amx.tile<16x4xf32>
// CHECK: scf.for %[[D:[^ ]+]] =
// CHECK: amx.tile_load %[[PAIRS]]{{.*}} into !amx.tile<16x8xbf16>
// CHECK: amx.tile_load %[[K]][%{{.*}}, %[[D]]] {{.*}}into !amx.tile<16x32xbf16>
// CHECK: amx.tile_mulf
// CHECK-COUNT-16: memref.prefetch %[[K]]
// CHECK: amx.tile_load
// CHECK-COUNT-4: amx.tile_store %[[SCORES]]
// CHECK: scf.for
// CHECK-COUNT-1: amx.tile_zero
// CHECK: amx.tile_store %[[SCORES]]
// CHECK: scf.if
// CHECK: vector.store %{{.*}}, %[[LAST]]
// CHECK: amx.tile_load %[[LAST]]
// CHECK: amx.tile_store %[[SCORES]]
// CHECK: scf.for
// CHECK-COUNT-8: vector.shuffle
// CHECK-COUNT-4: vector.store
// Scores are scaled.
// CHECK: arith.mulf %{{.*}}, %cst{{.*}} : vector<16xf32>
func.func @tiles(%q: memref<4x64xbf16>, %k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %acc: memref<4x64xf32>, %max: memref<4xf32>, %sum: memref<4xf32>, %i: index) {
  attn.online_attention ins(%q, %k, %v : memref<4x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>) outs(%acc, %max, %sum : memref<4x64xf32>, memref<4xf32>, memref<4xf32>) at (%i, %i, %i, %i) scale 0.125 schedule(<kernel = features_in_lanes, tile = [4, 32], registers = [4, 4], lanes = 16>)
  return
}

// For two rows vectors take no longer.
// CHECK-LABEL: func.func @two_rows(
// CHECK-NOT: amx.
func.func @two_rows(%q: memref<2x64xbf16>, %k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %acc: memref<2x64xf32>, %max: memref<2xf32>, %sum: memref<2xf32>, %i: index) {
  attn.online_attention ins(%q, %k, %v : memref<2x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>) outs(%acc, %max, %sum : memref<2x64xf32>, memref<2xf32>, memref<2xf32>) at (%i, %i, %i, %i) scale 0.125 schedule(<kernel = features_in_lanes, tile = [2, 32], registers = [4, 4], lanes = 16>)
  return
}

// An f32 query would be rounded.
// CHECK-LABEL: func.func @wide_query(
// CHECK-NOT: amx.
func.func @wide_query(%q: memref<4x64xf32>, %k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %acc: memref<4x64xf32>, %max: memref<4xf32>, %sum: memref<4xf32>, %i: index) {
  attn.online_attention ins(%q, %k, %v : memref<4x64xf32>, memref<?x64xbf16>, memref<?x64xbf16>) outs(%acc, %max, %sum : memref<4x64xf32>, memref<4xf32>, memref<4xf32>) at (%i, %i, %i, %i) schedule(<kernel = features_in_lanes, tile = [4, 32], registers = [4, 4], lanes = 16>)
  return
}

// 48 features are no whole tiles.
// CHECK-LABEL: func.func @ragged_features(
// CHECK-NOT: amx.
func.func @ragged_features(%q: memref<4x48xbf16, strided<[64, 1]>>, %k: memref<?x48xbf16>, %v: memref<?x64xbf16>, %acc: memref<4x64xf32>, %max: memref<4xf32>, %sum: memref<4xf32>, %i: index) {
  attn.online_attention ins(%q, %k, %v : memref<4x48xbf16, strided<[64, 1]>>, memref<?x48xbf16>, memref<?x64xbf16>) outs(%acc, %max, %sum : memref<4x64xf32>, memref<4xf32>, memref<4xf32>) at (%i, %i, %i, %i) scale 0.125 schedule(<kernel = features_in_lanes, tile = [4, 32], registers = [4, 4], lanes = 16>)
  return
}
