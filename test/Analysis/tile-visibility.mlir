// The bounds of the loop over blocks come from the mask program: one block of 64
// keys a step, static lengths, so that they fold to numbers.

// RUN: attn-opt %s --attn-tile --canonicalize --cse --split-input-file | FileCheck %s

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// A constant: no key, no block.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: attn.online_attention
// CHECK: attn.merge_partials
func.func @nothing(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.constant false
    attn.yield %x : i1
  }
  return
}

// -----

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// A condition on the key alone: 128 keys in two whole blocks, none with a mask.
// CHECK-LABEL: func.func @prefix_of_keys
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
func.func @prefix_of_keys(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %n = arith.constant 128 : index
    %x = arith.cmpi slt, %j, %n : index
    attn.yield %x : i1
  }
  return
}

// -----

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// Its negation, written as xor with true: the other eight blocks.
// CHECK-LABEL: func.func @suffix_of_keys
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c1
// CHECK: arith.select %{{.*}}, %c128, %c640
func.func @suffix_of_keys(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %n = arith.constant 128 : index
    %true = arith.constant true
    %x = arith.cmpi slt, %j, %n : index
    %y = arith.xori %x, %true : i1
    attn.yield %y : i1
  }
  return
}

// -----

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// An op that the analysis does not know: all ten blocks, each with the mask.
// CHECK-LABEL: func.func @unknown
// CHECK: scf.for %{{.*}} = %c0 to %c10 step %c1
// CHECK: attn.online_attention {{.*}} mask {
func.func @unknown(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2 : index
    %zero = arith.constant 0 : index
    %r = arith.remui %j, %two : index
    %x = arith.cmpi eq, %r, %zero : index
    attn.yield %x : i1
  }
  return
}

// -----

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// An unknown condition and a known one: the known one still bounds the loop.
// CHECK-LABEL: func.func @unknown_and_known
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK: attn.online_attention {{.*}} mask {
func.func @unknown_and_known(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2 : index
    %zero = arith.constant 0 : index
    %n = arith.constant 128 : index
    %r = arith.remui %j, %two : index
    %x = arith.cmpi eq, %r, %zero : index
    %y = arith.cmpi slt, %j, %n : index
    %z = arith.andi %x, %y : i1
    attn.yield %z : i1
  }
  return
}

// -----

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// Documents of 128 keys: the row's document is two whole blocks, and the
// analysis knows division.
// CHECK-LABEL: func.func @documents
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
func.func @documents(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %n = arith.constant 128 : index
    %row = arith.divui %i, %n : index
    %column = arith.divui %j, %n : index
    %x = arith.cmpi eq, %row, %column : index
    attn.yield %x : i1
  }
  return
}

// -----

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// Ids read by row and by key: blocks are told apart by the smallest and the
// largest id of their keys, found by whole vectors.
// CHECK-LABEL: func.func @segments
// CHECK-SAME: %[[IDS:[^:]*]]: memref<1x640xi32>)
// CHECK: vector.load %[[IDS]]
// CHECK: vector.reduction <minsi>
// CHECK: scf.for %{{.*}} = %c0 to %c640 step %c64
// CHECK: vector.load %[[IDS]]
// CHECK: scf.if
// CHECK: scf.if
// CHECK: attn.online_attention
// CHECK-NOT: mask
// CHECK: } else {
// CHECK: attn.online_attention {{.*}} mask {
func.func @segments(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>, %ids: memref<1x640xi32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %row = memref.load %ids[%b, %i] : memref<1x640xi32>
    %column = memref.load %ids[%b, %j] : memref<1x640xi32>
    %x = arith.cmpi eq, %row, %column : i32
    attn.yield %x : i1
  }
  return
}

// -----

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// A padding mask: any and all of a block's keys.
// CHECK-LABEL: func.func @padding
// CHECK-SAME: %[[PAD:[^:]*]]: memref<1x640xi1>)
// CHECK: scf.for %{{.*}} = %c0 to %c640 step %c64
// CHECK: %[[ANY:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %false, %{{.*}} = %true)
// CHECK: memref.load %[[PAD]]
// CHECK: scf.if %[[ANY]]#0
// CHECK: scf.if %[[ANY]]#1
func.func @padding(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>, %pad: memref<1x640xi1>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = memref.load %pad[%b, %j] : memref<1x640xi1>
    attn.yield %x : i1
  }
  return
}

// -----

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// The first keys and a window are no range: what lies between is told apart block
// by block.
// CHECK-LABEL: func.func @gap
// CHECK: scf.for %{{.*}} = %c0 to %c640 step %c64
// CHECK: arith.ori
// CHECK: scf.if
// CHECK: scf.if
// CHECK: attn.online_attention
// CHECK-NOT: mask {
// CHECK: attn.online_attention {{.*}} mask {
func.func @gap(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %few = arith.constant 4 : index
    %width = arith.constant 100 : index
    %first = arith.cmpi slt, %j, %few : index
    %d = arith.subi %i, %j : index
    %near = arith.cmpi slt, %d, %width : index
    %x = arith.ori %first, %near : i1
    attn.yield %x : i1
  }
  return
}

// -----

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// An additive mask of one row is compared with -inf for a whole block.
// CHECK-LABEL: func.func @additive
// CHECK-SAME: %[[BIAS:[^:]*]]: memref<1x640xf16>)
// CHECK: scf.for %{{.*}} = %c0 to %c640 step %c64
// CHECK: %[[ANY:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %false, %{{.*}} = %true)
// CHECK: memref.load %[[BIAS]]
// CHECK: arith.extf
// CHECK: arith.cmpf une
// CHECK: scf.if %[[ANY]]#0
// CHECK: scf.if %[[ANY]]#1
func.func @additive(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>, %bias: memref<1x640xf16>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %infinity = arith.constant 0xFF800000 : f32
    %y = memref.load %bias[%b, %j] : memref<1x640xf16>
    %z = arith.extf %y : f16 to f32
    %x = arith.cmpf une, %z, %infinity : f32
    attn.yield %x : i1
  }
  return
}

// -----

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// A table of blocks of 32 rows and keys has four elements for a block of 64 of
// each; a mask with an element for each pair has too many.
// CHECK-LABEL: func.func @table
// CHECK-SAME: %[[TABLE:[^:]*]]: memref<2x20xi1>)
// CHECK: scf.for %{{.*}} = %c0 to %c640 step %c64
// CHECK: scf.for
// CHECK: %{{.*}}:2 = scf.for
// CHECK: memref.load %[[TABLE]]
// CHECK: scf.if
// CHECK-LABEL: func.func @pairs
// CHECK: scf.for %{{.*}} = %c0 to %c640 step %c64
// CHECK-NOT: scf.if
// CHECK: attn.online_attention {{.*}} mask {
func.func @table(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>, %table: memref<2x20xi1>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %size = arith.constant 32 : index
    %row = arith.divui %i, %size : index
    %column = arith.divui %j, %size : index
    %x = memref.load %table[%row, %column] : memref<2x20xi1>
    attn.yield %x : i1
  }
  return
}
func.func @pairs(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>, %pairs: memref<64x640xi1>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = memref.load %pairs[%i, %j] : memref<64x640xi1>
    attn.yield %x : i1
  }
  return
}

// -----

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// A length read from memory is read once a tile, not once a key.
// CHECK-LABEL: func.func @lengths
// CHECK-SAME: %[[N:[^:]*]]: memref<1xi32>)
// CHECK: memref.load %[[N]]
// CHECK: scf.for
// CHECK: attn.online_attention
// CHECK: attn.online_attention {{.*}} mask {
func.func @lengths(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>, %n: memref<1xi32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %e = memref.load %n[%b] : memref<1xi32>
    %x = arith.index_cast %e : i32 to index
    %y = arith.cmpi slt, %j, %x : index
    attn.yield %y : i1
  }
  return
}

// -----

#s = #attn.schedule<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>

// An offset from outside as fusion writes it, cut at the largest values that are
// analysed: the loop ends at the diagonal, and blocks before it
// have no mask.
// CHECK-LABEL: func.func @cut_offset
// CHECK: scf.for
// CHECK: attn.online_attention
// CHECK-NOT: mask {
// CHECK: attn.online_attention {{.*}} mask {
func.func @cut_offset(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>, %offset: index) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(#s) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %far = arith.constant 1099511627776 : index
    %near = arith.constant -1099511627776 : index
    %below = arith.minsi %offset, %far : index
    %cut = arith.maxsi %below, %near : index
    %diagonal = arith.addi %i, %cut : index
    %x = arith.cmpi sle, %j, %diagonal : index
    attn.yield %x : i1
  }
  return
}
