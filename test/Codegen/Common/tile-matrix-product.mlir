// A scheduled matrix product packs B once into panels; each task then computes
// one tile of C.

// RUN: attn-opt %s --attn-tile --canonicalize --cse --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[A:.*]]: memref<?x32xf32>, %[[B:.*]]: memref<32x?xf32>, %[[C:.*]]: memref<?x?xf32>)
// CHECK: %[[PANELS:.*]] = memref.alloc(%[[COUNT:.*]]) : memref<?x32x64xf32>
// CHECK: scf.forall (%[[P:.*]]) in (%[[COUNT]]) {
// CHECK: attn.pack
// CHECK: scf.forall (%[[I:.*]], %[[J:.*]]) in (%{{.*}}, %[[COUNT]]) {
// CHECK: linalg.matmul {attn.schedule = #attn.schedule<{{.*}}>} ins(%{{.*}}, %{{.*}} : memref<?x32xf32, {{.*}}>, memref<32x?xf32, strided<[64, 1], offset: ?>>)
func.func @plain(%a: memref<?x32xf32>, %b: memref<32x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul {attn.schedule = #attn.schedule<kernel = gemm, tile = [64, 64], registers = [4, 4], lanes = 16>} ins(%a, %b : memref<?x32xf32>, memref<32x?xf32>) outs(%c : memref<?x?xf32>)
  return
}

// -----

#abk = affine_map<(b, s, n, k) -> (b, s, k)>
#nk = affine_map<(b, s, n, k) -> (n, k)>
#bsn = affine_map<(b, s, n, k) -> (b, s, n)>

// [N, K] is packed into the same panels; leading dimensions are tasks.
// CHECK-LABEL: func.func @leading_dims_transposed
// CHECK: attn.pack ins(%{{.*}} : memref<?x32xf32, {{.*}}>) outs(%{{.*}} : memref<64x32xf32, strided<[1, 64], offset: ?>>)
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in
// CHECK: linalg.matmul
func.func @leading_dims_transposed(%a: memref<?x?x32xf32>, %b: memref<100x32xf32>, %c: memref<?x?x100xf32>) {
  linalg.generic {indexing_maps = [#abk, #nk, #bsn], iterator_types = ["parallel", "parallel", "parallel", "reduction"], attn.schedule = #attn.schedule<kernel = gemm, tile = [64, 64], registers = [4, 4], lanes = 16>} ins(%a, %b : memref<?x?x32xf32>, memref<100x32xf32>) outs(%c : memref<?x?x100xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %p, %z : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// Vectors are stored along rows: a result that lies otherwise is left alone.
// CHECK-LABEL: func.func @strided_result
// CHECK-NOT: scf.forall
// CHECK: linalg.matmul ins
func.func @strided_result(%a: memref<32x32xf32>, %c: memref<32x32xf32, strided<[64, 2]>>) {
  linalg.matmul {attn.schedule = #attn.schedule<kernel = gemm, tile = [64, 64], registers = [4, 4], lanes = 16>} ins(%a, %a : memref<32x32xf32>, memref<32x32xf32>) outs(%c : memref<32x32xf32, strided<[64, 2]>>)
  return
}
