// What a task of linear attention becomes: vectors of columns of the state.

// RUN: attn-opt %s --attn-cpu-lower-tiles --canonicalize --cse --split-input-file | FileCheck %s

// Token by token: rows of the state are loaded, multiplied by their gate,
// updated, and stored, eight at a time meeting two sums each.
// CHECK-LABEL: func.func @tokens
// CHECK-DAG: memref.alloc() : memref<1x16x16xf32>
// CHECK-NOT: attn.linear_attention
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %{{.*}} step %c4 {
// CHECK: scf.for %[[T:[^ ]*]] = %c0 to %{{[^ ]*}} step %c1 {
// CHECK: memref.load %{{.*}} : memref<16xf32>
// CHECK-NEXT: vector.broadcast
// CHECK-NEXT: arith.subf
// CHECK-NEXT: arith.mulf
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK: %[[ROW:[^ ]*]] = vector.load
// CHECK: %[[KEPT:[^ ]*]] = arith.mulf %[[ROW]]
// CHECK: %[[NEW:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[KEPT]]
// CHECK: vector.fma %{{.*}}, %[[NEW]], %{{.*}}
// CHECK: vector.store %[[NEW]]
module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @tokens(%q: memref<1x1x?x16xf32>, %k: memref<1x1x?x16xf32>, %v: memref<1x1x?x16xf32>, %o: memref<1x1x?x16xf32>, %b: memref<1x1x?xf32>) {
  attn.linear_attention ins(%q, %k, %v : memref<1x1x?x16xf32>, memref<1x1x?x16xf32>, memref<1x1x?x16xf32>) outs(%o : memref<1x1x?x16xf32>) scale 1.0 decay(%k : memref<1x1x?x16xf32>) beta(%b : memref<1x1x?xf32>) schedule(<kernel = recurrent_state, tile = [4, 16], registers = [1, 1], lanes = 16>)
  return
}
}

// -----

// In chunks: decays between tokens by sums of their logarithms, then scores,
// outputs, and one update of the state by outer products of a register tile.
// CHECK-LABEL: func.func @chunks
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c16 {
// CHECK: arith.addf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: math.exp2
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>) {
// CHECK-NOT: attn.linear_attention
module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @chunks(%q: memref<1x1x?x16xf32>, %g: memref<1x1x?xf32>, %o: memref<1x1x?x16xf32>) {
  attn.linear_attention ins(%q, %q, %q : memref<1x1x?x16xf32>, memref<1x1x?x16xf32>, memref<1x1x?x16xf32>) outs(%o : memref<1x1x?x16xf32>) scale 1.0 decay(%g : memref<1x1x?xf32>) schedule(<kernel = chunked_state, tile = [16, 16], registers = [2, 1], lanes = 16>)
  return
}
}

// -----

// Rows of results that are no vectors in memory are put together in scratch.
// CHECK-LABEL: func.func @spread_output
// CHECK-DAG: %[[BUFFER:.*]] = memref.alloc() : memref<16xf32>
// CHECK: vector.store %{{.*}}, %[[BUFFER]][%c0]
// CHECK: scf.for
// CHECK: %[[X:.*]] = memref.load %[[BUFFER]]
// CHECK: %[[Y:.*]] = arith.truncf %[[X]]
// CHECK: memref.store %[[Y]], %arg1
module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
func.func @spread_output(%q: memref<1x1x?x16xbf16>, %o: memref<1x1x?x16xbf16, strided<[512, 512, 32, 2]>>) {
  attn.linear_attention ins(%q, %q, %q : memref<1x1x?x16xbf16>, memref<1x1x?x16xbf16>, memref<1x1x?x16xbf16>) outs(%o : memref<1x1x?x16xbf16, strided<[512, 512, 32, 2]>>) scale 1.0 schedule(<kernel = recurrent_state, tile = [4, 16], registers = [1, 1], lanes = 16>)
  return
}
}
