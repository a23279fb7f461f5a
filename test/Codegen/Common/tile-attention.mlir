// attn.attention becomes a parallel loop over (batch, head, query tile) with a
// loop over blocks of keys, bounded by the mask.

// RUN: attn-opt %s --attn-tile --canonicalize --cse --split-input-file | FileCheck %s

// Without a mask, one loop over all keys; late tiles come first; the last tile
// and the last block are cut.
// CHECK-LABEL: func.func @unmasked
// CHECK-SAME: (%[[Q:.*]]: memref<?x8x?x64xf32>, %[[K:.*]]: memref<?x2x?x64xf32>, %[[V:.*]]: memref<?x2x?x32xf32>, %[[O:.*]]: memref<?x8x?x32xf32>)
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %{{.*}}) in (%{{.*}}, 8, %{{.*}}) {
// CHECK: %[[ROWS:.*]] = arith.minsi
// CHECK: %[[GROUP:.*]] = arith.divui %[[H]], %c4
// CHECK: %[[QUERY:.*]] = memref.subview %[[Q]][%[[B]], %[[H]], %[[FIRST:.*]], 0] [1, 1, %[[ROWS]], 64]
// Rows of the scratch are an odd number of vectors apart.
// CHECK: memref.alloc() : memref<64x72xf32>
// CHECK: %[[TILE:.*]] = memref.transpose {{.*}} to memref<64x64xf32, strided<[1, 72]>>
// CHECK: attn.pack ins(%[[QUERY]] : {{.*}}) outs(%[[TILE]] : {{.*}}) factor 1.250000e-01
// The next task's queries and this one's results come towards the core.
// CHECK: memref.prefetch %[[Q]][%[[B]], %[[H]], %{{.*}}, %{{.*}}], read
// CHECK: memref.prefetch %[[O]][%[[B]], %[[H]], %{{.*}}, %{{.*}}], write
// As few blocks of at most 60 keys as there can be, all of about one size, which
// is a multiple of 6.
// CHECK: %[[BLOCKS:.*]] = arith.divui %{{.*}}, %c60
// CHECK: arith.maxsi %[[BLOCKS]], %c1
// CHECK: %[[GROUPS:.*]] = arith.divui %{{.*}}, %c6
// CHECK: %[[KEYS:.*]] = arith.muli %[[GROUPS]], %c6
// CHECK: %[[STEP:.*]] = arith.maxsi %[[KEYS]], %c6
// CHECK: scf.for %[[J:.*]] = %c0 to %[[N:.*]] step %[[STEP]] {
// CHECK: %[[COUNT:.*]] = arith.minsi
// CHECK: memref.subview %[[K]][%[[B]], %[[GROUP]], %[[J]], 0] [1, 1, %[[COUNT]], 64]
// CHECK: memref.subview %[[V]][%[[B]], %[[GROUP]], %[[J]], 0] [1, 1, %[[COUNT]], 32]
// CHECK: attn.online_attention {{.*}} at(%[[B]], %[[H]], %[[FIRST]], %[[J]]) rows(%[[ROWS]]) schedule(
// CHECK-NOT: mask
// CHECK: attn.merge_partials
// CHECK-NOT: attn.attention
func.func @unmasked(%q: memref<?x8x?x64xf32>, %k: memref<?x2x?x64xf32>, %v: memref<?x2x?x32xf32>, %o: memref<?x8x?x32xf32>) {
  attn.attention ins(%q, %k, %v : memref<?x8x?x64xf32>, memref<?x2x?x64xf32>, memref<?x2x?x32xf32>) outs(%o : memref<?x8x?x32xf32>) scale 0.125 schedule(<kernel = queries_in_lanes, tile = [64, 60], registers = [6, 2], lanes = 8>)
  return
}

// -----

// A mask gives two kinds of blocks: without and with its program.
// CHECK-LABEL: func.func @causal
// CHECK: scf.forall
// CHECK: scf.for
// CHECK: scf.if
// CHECK: attn.online_attention
// CHECK-NOT: mask
// CHECK: } else {
// CHECK: attn.online_attention {{.*}} mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[I]]
func.func @causal(%q: memref<?x8x?x64xf32>, %o: memref<?x8x?x64xf32>) {
  attn.attention ins(%q, %q, %q : memref<?x8x?x64xf32>, memref<?x8x?x64xf32>, memref<?x8x?x64xf32>) outs(%o : memref<?x8x?x64xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.cmpi sle, %j, %i : index
    attn.yield %x : i1
  }
  return
}

// -----

// Both kinds of blocks run the score program.
// CHECK-LABEL: func.func @score_in_all_blocks
// CHECK: attn.online_attention {{.*}} score {
// CHECK: arith.negf
// CHECK: } else {
// CHECK: attn.online_attention {{.*}} score {
// CHECK: arith.negf
// CHECK: mask {
func.func @score_in_all_blocks(%q: memref<?x8x?x64xf32>, %o: memref<?x8x?x64xf32>) {
  attn.attention ins(%q, %q, %q : memref<?x8x?x64xf32>, memref<?x8x?x64xf32>, memref<?x8x?x64xf32>) outs(%o : memref<?x8x?x64xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %n = arith.negf %s : f32
    attn.yield %n : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.cmpi sle, %j, %i : index
    attn.yield %x : i1
  }
  return
}

// -----

// Programs see the offsets of the op added to the place of the tile.
// CHECK-LABEL: func.func @offsets
// CHECK-SAME: %[[A:[^:]*]]: index)
// CHECK: %[[B:.*]] = arith.addi %{{.*}}, %[[A]]
// CHECK-NEXT: %[[H:.*]] = arith.addi %{{.*}}, %[[A]]
// CHECK-NEXT: %[[I:.*]] = arith.addi %{{.*}}, %[[A]]
// CHECK: scf.for %[[KEY:.*]] =
// CHECK: %[[J:.*]] = arith.addi %[[A]], %[[KEY]]
// CHECK: attn.online_attention {{.*}} at(%[[B]], %[[H]], %[[I]], %[[J]])
func.func @offsets(%q: memref<?x8x?x64xf32>, %o: memref<?x8x?x64xf32>, %a: index) {
  attn.attention ins(%q, %q, %q : memref<?x8x?x64xf32>, memref<?x8x?x64xf32>, memref<?x8x?x64xf32>) outs(%o : memref<?x8x?x64xf32>) scale 1.0 offsets(%a, %a, %a, %a) schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>)
  return
}

// -----

// The log-sum-exp is the second output of the merge.
// CHECK-LABEL: func.func @log_sum_exp
// CHECK-SAME: %[[L:[^:]*]]: memref<?x8x?xf32>)
// CHECK: %[[ROWS:.*]] = memref.subview %[[L]]
// CHECK: attn.merge_partials {{.*}} outs(%{{.*}}, %[[ROWS]] :
func.func @log_sum_exp(%q: memref<?x8x?x64xf32>, %o: memref<?x8x?x64xf32>, %l: memref<?x8x?xf32>) {
  attn.attention ins(%q, %q, %q : memref<?x8x?x64xf32>, memref<?x8x?x64xf32>, memref<?x8x?x64xf32>) outs(%o, %l : memref<?x8x?x64xf32>, memref<?x8x?xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>)
  return
}

// -----

// Head counts that are known at run time are divided for keys and for values.
// CHECK-LABEL: func.func @dynamic_heads
// CHECK-DAG: %[[KEYS:.*]] = arith.divui %[[HEADS:.*]], %{{.*}} : index
// CHECK-DAG: %[[VALUES:.*]] = arith.divui %[[HEADS]], %{{.*}} : index
// CHECK: scf.forall (%{{.*}}, %[[H:.*]], %{{.*}}) in
// CHECK-DAG: arith.divui %[[H]], %[[KEYS]]
// CHECK-DAG: arith.divui %[[H]], %[[VALUES]]
func.func @dynamic_heads(%q: memref<?x?x?x64xf32>, %k: memref<?x?x?x64xf32>, %v: memref<?x?x?x64xf32>, %o: memref<?x?x?x64xf32>) {
  attn.attention ins(%q, %k, %v : memref<?x?x?x64xf32>, memref<?x?x?x64xf32>, memref<?x?x?x64xf32>) outs(%o : memref<?x?x?x64xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>)
  return
}

// -----

// The sink of a head enters where its rows are merged, and nowhere else.
// CHECK-LABEL: func.func @sink
// CHECK-SAME: %[[SINK:[^:]*]]: memref<8xf16>
// CHECK: scf.forall (%{{.*}}, %[[H:.*]], %{{.*}}) in
// CHECK: %[[LOGIT:.*]] = memref.load %[[SINK]][%[[H]]] : memref<8xf16>
// CHECK: attn.merge_partials {{.*}} sink(%[[LOGIT]] : f16)
func.func @sink(%q: memref<?x8x?x64xf32>, %o: memref<?x8x?x64xf32>, %sink: memref<8xf16>) {
  attn.attention ins(%q, %q, %q : memref<?x8x?x64xf32>, memref<?x8x?x64xf32>, memref<?x8x?x64xf32>) outs(%o : memref<?x8x?x64xf32>) scale 1.0 sink(%sink : memref<8xf16>) schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>)
  return
}

// -----

// Scores that are weights: blocks and the merge know, and no program but the
// score's is left. A homogeneous program on weights goes into each block.
// CHECK-LABEL: func.func @weights
// CHECK: attn.online_attention {{.*}} unnormalized schedule({{.*}}) score {
// CHECK: attn.merge_partials {{.*}} unnormalized
// CHECK: attn.online_attention {{.*}} schedule({{.*}}) probability {
// CHECK: attn.merge_partials
// CHECK-NOT: unnormalized
func.func @weights(%q: memref<?x8x?x64xf32>, %o: memref<?x8x?x64xf32>, %c: f32) {
  attn.attention ins(%q, %q, %q : memref<?x8x?x64xf32>, memref<?x8x?x64xf32>, memref<?x8x?x64xf32>) outs(%o : memref<?x8x?x64xf32>) scale 1.0 unnormalized schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.mulf %s, %s : f32
    attn.yield %x : f32
  }
  attn.attention ins(%q, %q, %q : memref<?x8x?x64xf32>, memref<?x8x?x64xf32>, memref<?x8x?x64xf32>) outs(%o : memref<?x8x?x64xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.mulf %p, %c : f32
    attn.yield %x : f32
  }
  return
}

// -----

// The weight of a head's additive scores goes to each block; queries are packed
// as they are.
// CHECK-LABEL: func.func @additive
// CHECK-SAME: %[[W:[^:]*]]: memref<8x64xf16>
// CHECK: scf.forall (%{{.*}}, %[[H:.*]], %{{.*}}) in
// CHECK: %[[OWN:.*]] = memref.subview %[[W]][%[[H]], 0] [1, 64] [1, 1] : memref<8x64xf16> to memref<64xf16
// CHECK: attn.pack {{.*}} factor 1.000000e+00
// CHECK: attn.online_attention {{.*}} scale 5.000000e-01 additive(%[[OWN]] : memref<64xf16
func.func @additive(%q: memref<?x8x?x64xf32>, %o: memref<?x8x?x64xf32>, %w: memref<8x64xf16>) {
  attn.attention ins(%q, %q, %q : memref<?x8x?x64xf32>, memref<?x8x?x64xf32>, memref<?x8x?x64xf32>) outs(%o : memref<?x8x?x64xf32>) scale 0.5 additive(%w : memref<8x64xf16>) schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [2, 2], lanes = 16>)
  return
}
