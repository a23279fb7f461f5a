// Rows turn by vectors of pairs. The last vector overlaps the one before where
// pairs are not whole vectors, and fewer pairs are one narrower vector.

// RUN: attn-opt %s --attn-cpu-lower-tiles | FileCheck %s

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {

// 20 pairs are 16 and the last 16. What does not turn is copied.
// CHECK-LABEL: func.func @half
// CHECK-SAME: %[[X:[^:]*]]: memref<?x48xf32>, %[[Y:[^:]*]]: memref<?x48xf32>, %[[C:[^:]*]]: memref<?x20xf32>, %[[S:[^:]*]]: memref<?x20xf32>
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %c16 step
// CHECK: %[[PARTNER:.*]] = arith.addi %[[K]], %c20
// CHECK: %[[A:.*]] = vector.load %[[X]][%[[ROW]], %[[K]]] : memref<?x48xf32>, vector<16xf32>
// CHECK: %[[B:.*]] = vector.load %[[X]][%[[ROW]], %[[PARTNER]]]
// CHECK: %[[COS:.*]] = vector.load %[[C]][%[[ROW]], %[[K]]]
// CHECK: %[[SIN:.*]] = vector.load %[[S]][%[[ROW]], %[[K]]]
// CHECK: %[[ACROSS:.*]] = arith.mulf %[[B]], %[[SIN]]
// CHECK: %[[ALONG:.*]] = arith.mulf %[[B]], %[[COS]]
// CHECK: %[[MINUS:.*]] = arith.negf %[[ACROSS]]
// CHECK: %[[FIRST:.*]] = vector.fma %[[A]], %[[COS]], %[[MINUS]]
// CHECK: %[[SECOND:.*]] = vector.fma %[[A]], %[[SIN]], %[[ALONG]]
// CHECK: vector.store %[[FIRST]], %[[Y]][%[[ROW]], %[[K]]]
// CHECK: vector.store %[[SECOND]], %[[Y]][%[[ROW]], %[[PARTNER]]]
// CHECK: }
// CHECK: %[[LAST:.*]] = arith.constant 4 : index
// CHECK: vector.load %[[X]][%[[ROW]], %[[LAST]]] : memref<?x48xf32>, vector<16xf32>
// CHECK: vector.load %[[X]][%[[ROW]], %{{.*}}] : memref<?x48xf32>, vector<8xf32>
// CHECK: vector.store %{{.*}} : memref<?x48xf32>, vector<8xf32>
// CHECK-NOT: attn.
func.func @half(%x: memref<?x48xf32>, %y: memref<?x48xf32>, %c: memref<?x20xf32>, %s: memref<?x20xf32>) {
  attn.rotate ins(%x : memref<?x48xf32>) by half(%c, %s : memref<?x20xf32>, memref<?x20xf32>) outs(%y : memref<?x48xf32>)
  return
}

// Neighbours are taken apart and put together, in f32, and rounded once.
// CHECK-LABEL: func.func @interleaved
// CHECK: vector.load {{.*}} vector<4xbf16>
// CHECK: vector.load {{.*}} vector<4xbf16>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 2, 4, 6] : vector<4xf32>, vector<4xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [1, 3, 5, 7]
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 4, 1, 5]
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [2, 6, 3, 7]
// CHECK-COUNT-2: arith.truncf {{.*}} : vector<4xf32> to vector<4xbf16>
func.func @interleaved(%x: memref<?x8xbf16>, %y: memref<?x8xbf16>, %c: memref<?x4xf32>, %s: memref<?x4xf32>) {
  attn.rotate ins(%x : memref<?x8xbf16>) by interleaved(%c, %s : memref<?x4xf32>, memref<?x4xf32>) outs(%y : memref<?x8xbf16>)
  return
}

// Rows whose features are not neighbours turn one pair at a time.
// CHECK-LABEL: func.func @strided
// CHECK: memref.load
// CHECK-NOT: vector.load
// CHECK: memref.store
func.func @strided(%x: memref<?x8xf32, strided<[1, ?]>>, %y: memref<?x8xf32>, %c: memref<?x4xf32>, %s: memref<?x4xf32>) {
  attn.rotate ins(%x : memref<?x8xf32, strided<[1, ?]>>) by half(%c, %s : memref<?x4xf32>, memref<?x4xf32>) outs(%y : memref<?x8xf32>)
  return
}

// Angles are f64, in vectors, without a library call; numbers become f32.
// CHECK-LABEL: func.func @angles
// CHECK: arith.sitofp %{{.*}} : i64 to f64
// CHECK: vector.load %{{.*}} : memref<32xf64>, vector<8xf64>
// CHECK: arith.mulf {{.*}} : vector<8xf64>
// CHECK: math.fma {{.*}} : vector<8xf64>
// CHECK-NOT: math.{{sin|cos|powf}}
// CHECK-COUNT-2: arith.truncf {{.*}} : vector<8xf64> to vector<8xf32>
func.func @angles(%f: memref<32xf64>, %n: index, %c: memref<?x32xf32>, %s: memref<?x32xf32>) {
  attn.rope_tables frequencies(%f : memref<32xf64>) offset(%n) outs(%c, %s : memref<?x32xf32>, memref<?x32xf32>)
  return
}

// Rows of given tables, no further than there are. No rows give zeros.
// CHECK-LABEL: func.func @gathers
// CHECK-SAME: %[[T:[^:]*]]: memref<?x32xbf16>
// CHECK: %[[ROWS:.*]] = memref.dim %[[T]], %c0
// CHECK: arith.cmpi sle
// CHECK: scf.if
// CHECK: } else {
// CHECK: %[[ID:.*]] = memref.load %{{.*}} : memref<?xi32>
// CHECK: arith.index_cast %[[ID]] : i32 to index
// CHECK: arith.minsi
// CHECK: %[[AT:.*]] = arith.maxsi
// CHECK: vector.load %[[T]][%[[AT]], %{{.*}}] : memref<?x32xbf16>, vector<16xbf16>
// CHECK: arith.extf
func.func @gathers(%t: memref<?x32xbf16>, %i: memref<?xi32>, %c: memref<?x32xf32>, %s: memref<?x32xf32>) {
  attn.rope_tables tables(%t, %t : memref<?x32xbf16>, memref<?x32xbf16>) positions(%i : memref<?xi32>) outs(%c, %s : memref<?x32xf32>, memref<?x32xf32>)
  return
}

}
