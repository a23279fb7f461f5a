// Tile ops become loops over vectors of the target, with the register tile of
// the schedule unrolled.

// RUN: attn-opt %s --attn-cpu-lower-tiles | FileCheck %s

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {

// 2 keys times 1 vector of query rows: broadcasts of K meet vectors of Q, and
// accumulators start at minus the maximum.
// CHECK-LABEL: func.func @block
// CHECK: scf.for
// CHECK: %[[MAX:.*]] = vector.load
// CHECK: arith.cmpf oeq, %[[MAX]]
// CHECK: %[[START:.*]] = arith.negf %[[MAX]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[START]], %{{.*}} = %[[START]]) -> (vector<16xf32>, vector<16xf32>)
// CHECK: vector.load
// CHECK-COUNT-2: vector.fma
// CHECK: math.exp2
// CHECK-NOT: attn.
func.func @block(%q: memref<16x8xf32, strided<[1, 16]>>, %k: memref<?x8xf32>, %v: memref<?x8xf32>, %acc: memref<16x8xf32, strided<[1, 16]>>, %max: memref<16xf32>, %sum: memref<16xf32>, %i: index) {
  attn.online_attention ins(%q, %k, %v : memref<16x8xf32, strided<[1, 16]>>, memref<?x8xf32>, memref<?x8xf32>) outs(%acc, %max, %sum : memref<16x8xf32, strided<[1, 16]>>, memref<16xf32>, memref<16xf32>) at(%i, %i, %i, %i) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>)
  return
}

// One loop takes whole and ragged groups of keys: past the end it reads the last
// key again, whose weight counts 0 times. Values are prefetched with their keys,
// by the first group of rows, some lines every 16 features.
// CHECK-LABEL: func.func @ragged
// CHECK-SAME: %[[K:[^ ]+]]: memref<?x8xf32>, %[[V:[^ ]+]]: memref<?x32xf32>
// CHECK: %[[COUNT:.*]] = memref.dim %[[K]]
// CHECK: scf.for %[[J:[^ ]+]] = %{{[^ ]+}} to %[[COUNT]]
// CHECK: %[[LAST:.*]] = arith.subi %[[COUNT]],
// CHECK: %[[SECOND:.*]] = arith.minsi %{{.*}}, %[[LAST]]
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK: %[[LINES:.*]] = arith.constant 4 : index
// CHECK: %[[FETCHED:.*]] = arith.select %[[FIRST]], %[[LINES]]
// CHECK: scf.for %[[D:[^ ]+]] = {{.*}} step %c16
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[FETCHED]]
// CHECK: scf.for %{{.*}} to %[[END]]
// CHECK: %[[ROW:.*]] = arith.divui
// CHECK-NEXT: %[[KEY:.*]] = arith.addi %[[J]], %[[ROW]]
// CHECK: memref.prefetch %[[V]][%[[KEY]],
// CHECK: scf.for %{{[^ ]+}} = %[[D]] to
// CHECK: memref.load %[[K]][%[[SECOND]],
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}}, %[[COUNT]]
// CHECK: %[[ONE:.*]] = arith.select %[[EXISTS]]
// CHECK: %[[FACTOR:.*]] = vector.broadcast %[[ONE]]
// CHECK: %[[WEIGHT:.*]] = math.exp2
// CHECK: vector.fma %[[WEIGHT]], %[[FACTOR]],
func.func @ragged(%q: memref<16x8xf32, strided<[1, 16]>>, %k: memref<?x8xf32>, %v: memref<?x32xf32>, %acc: memref<16x32xf32, strided<[1, 16]>>, %max: memref<16xf32>, %sum: memref<16xf32>, %i: index) {
  attn.online_attention ins(%q, %k, %v : memref<16x8xf32, strided<[1, 16]>>, memref<?x8xf32>, memref<?x32xf32>) outs(%acc, %max, %sum : memref<16x32xf32, strided<[1, 16]>>, memref<16xf32>, memref<16xf32>) at(%i, %i, %i, %i) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>)
  return
}

// Hidden lanes are -inf by a select, after the score program; a block of values
// that holds NaN or infinity is summed pair by pair.
// CHECK-LABEL: func.func @masked_block
// The test comes once, and each row's bound once; keys are then compared on 32
// bits.
// CHECK: arith.cmpf uno
// CHECK: arith.minsi {{.*}} : vector<16xindex>
// CHECK: %[[BOUND:.*]] = arith.index_cast %{{.*}} : vector<16xindex> to vector<16xi32>
// CHECK: arith.negf %{{.*}} : vector<16xf32>
// CHECK: %[[VISIBLE:.*]] = arith.cmpi sle, %{{.*}}, %[[BOUND]] : vector<16xi32>
// CHECK: arith.select %[[VISIBLE]], %{{.*}}, %{{.*}} : vector<16xi1>, vector<16xf32>
func.func @masked_block(%q: memref<16x8xf32, strided<[1, 16]>>, %k: memref<?x8xf32>, %v: memref<?x8xf32>, %acc: memref<16x8xf32, strided<[1, 16]>>, %max: memref<16xf32>, %sum: memref<16xf32>, %n: index) {
  attn.online_attention ins(%q, %k, %v : memref<16x8xf32, strided<[1, 16]>>, memref<?x8xf32>, memref<?x8xf32>) outs(%acc, %max, %sum : memref<16x8xf32, strided<[1, 16]>>, memref<16xf32>, memref<16xf32>) at(%n, %n, %n, %n) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.negf %s : f32
    attn.yield %x : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.cmpi sle, %j, %i : index
    attn.yield %x : i1
  }
  return
}

// A value block whose columns are not contiguous is tested element by element.
// CHECK-LABEL: func.func @strided_values
// CHECK-NOT: attn.
// CHECK: arith.cmpf uno, %{{.*}} : vector<16xf32>
func.func @strided_values(%q: memref<16x8xf32, strided<[1, 16]>>, %k: memref<?x8xf32>, %v: memref<?x32xf32, strided<[64, 2]>>, %acc: memref<16x32xf32, strided<[1, 16]>>, %max: memref<16xf32>, %sum: memref<16xf32>, %n: index) {
  attn.online_attention ins(%q, %k, %v : memref<16x8xf32, strided<[1, 16]>>, memref<?x8xf32>, memref<?x32xf32, strided<[64, 2]>>) outs(%acc, %max, %sum : memref<16x32xf32, strided<[1, 16]>>, memref<16xf32>, memref<16xf32>) at(%n, %n, %n, %n) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.cmpi sle, %j, %i : index
    attn.yield %x : i1
  }
  return
}

// A boolean for each pair is read by row: 32 keys become one word, which keys
// are tested against.
// CHECK-LABEL: func.func @boolean_tensor
// CHECK: %[[WORDS:.*]] = memref.alloc() : memref<1x16xi32>
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<32xi8>
// CHECK: memref.store %{{.*}}, %[[WORDS]]
// CHECK: vector.load %[[WORDS]]
// CHECK: arith.cmpi ne, %{{.*}} : vector<16xi32>
// CHECK-NOT: vector.insert
func.func @boolean_tensor(%q: memref<16x8xf32, strided<[1, 16]>>, %k: memref<?x8xf32>, %acc: memref<16x8xf32, strided<[1, 16]>>, %max: memref<16xf32>, %sum: memref<16xf32>, %n: index, %m: memref<?x?xi1>) {
  attn.online_attention ins(%q, %k, %k : memref<16x8xf32, strided<[1, 16]>>, memref<?x8xf32>, memref<?x8xf32>) outs(%acc, %max, %sum : memref<16x8xf32, strided<[1, 16]>>, memref<16xf32>, memref<16xf32>) at(%n, %n, %n, %n) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = memref.load %m[%i, %j] : memref<?x?xi1>
    attn.yield %x : i1
  }
  return
}

// A number for each pair is transposed; both programs read the same copy.
// CHECK-LABEL: func.func @bias_tensor
// CHECK: memref.alloc() : memref<32x16xf32>
// CHECK-NOT: memref.alloc() : memref<32x16xf32>
// CHECK: vector.shuffle
// CHECK-NOT: vector.insert
func.func @bias_tensor(%q: memref<16x8xf32, strided<[1, 16]>>, %k: memref<?x8xf32>, %acc: memref<16x8xf32, strided<[1, 16]>>, %max: memref<16xf32>, %sum: memref<16xf32>, %n: index, %m: memref<?x?xf16>) {
  attn.online_attention ins(%q, %k, %k : memref<16x8xf32, strided<[1, 16]>>, memref<?x8xf32>, memref<?x8xf32>) outs(%acc, %max, %sum : memref<16x8xf32, strided<[1, 16]>>, memref<16xf32>, memref<16xf32>) at(%n, %n, %n, %n) schedule(<kernel = queries_in_lanes, tile = [16, 4], registers = [2, 1], lanes = 16>) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %x = memref.load %m[%i, %j] : memref<?x?xf16>
    %y = arith.extf %x : f16 to f32
    %z = arith.addf %s, %y : f32
    attn.yield %z : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = memref.load %m[%i, %j] : memref<?x?xf16>
    %y = arith.extf %x : f16 to f32
    %none = arith.constant 0xFF800000 : f32
    %z = arith.cmpf une, %y, %none : f32
    attn.yield %z : i1
  }
  return
}

// The rows left after whole register tiles have one vector and only the form with
// the true maximum.
// CHECK-LABEL: func.func @rows_left
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[WIDE:.*]] step
// CHECK: math.exp2
// CHECK: scf.for %{{.*}} = %[[WIDE]] to
// CHECK-NEXT: %[[MAX:.*]] = vector.load
// CHECK-NOT: scf.if {{.*}} -> (i1)
// CHECK: return
func.func @rows_left(%q: memref<32x8xf32, strided<[1, 32]>>, %k: memref<?x8xf32>, %acc: memref<32x8xf32, strided<[1, 32]>>, %max: memref<32xf32>, %sum: memref<32xf32>, %i: index, %rows: index) {
  attn.online_attention ins(%q, %k, %k : memref<32x8xf32, strided<[1, 32]>>, memref<?x8xf32>, memref<?x8xf32>) outs(%acc, %max, %sum : memref<32x8xf32, strided<[1, 32]>>, memref<32xf32>, memref<32xf32>) at(%i, %i, %i, %i) rows(%rows) schedule(<kernel = queries_in_lanes, tile = [32, 4], registers = [2, 2], lanes = 16>)
  return
}

// Rows past the end are not written; a mask is only needed for the columns that
// are left.
// CHECK-LABEL: func.func @merge
// CHECK-SAME: %[[O:[^ ]+]]: memref<?x20xf32>
// CHECK: %[[ROWS:.*]] = memref.dim %[[O]]
// CHECK: vector.shuffle
// CHECK: arith.cmpi slt, %[[R:.*]], %[[ROWS]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: vector.store %{{.*}}, %[[O]][%[[R]], %{{.*}}] : memref<?x20xf32>, vector<16xf32>
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK-NOT: vector.create_mask
// CHECK: vector.maskedstore %[[O]][%{{.*}}, %{{.*}}], %[[MASK]]
// CHECK-NOT: vector.create_mask
// CHECK: return
func.func @merge(%acc: memref<1x16x20xf32, strided<[1, 1, 16]>>, %max: memref<1x16xf32>, %sum: memref<1x16xf32>, %o: memref<?x20xf32>) {
  attn.merge_partials ins(%acc, %max, %sum : memref<1x16x20xf32, strided<[1, 1, 16]>>, memref<1x16xf32>, memref<1x16xf32>) outs(%o : memref<?x20xf32>)
  return
}

// f64: vectors of half as many rows, state and scratch of f64. Values of f32 are
// widened where they are read.
// CHECK-LABEL: func.func @double
// CHECK: memref.alloc() : memref<12x8xf64>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf64>, vector<8xf64>)
// CHECK: %[[EXPONENT:.*]] = arith.constant dense<1.4426950408889634> : vector<8xf64>
// CHECK: arith.mulf %{{.*}}, %[[EXPONENT]]
// CHECK: math.exp2 %{{.*}} : vector<8xf64>
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK-NOT: vector<{{[0-9]+}}xf32>
// CHECK: return
func.func @double(%q: memref<8x8xf64, strided<[1, 8]>>, %k: memref<?x8xf64>, %v: memref<?x8xf32>, %acc: memref<8x8xf64, strided<[1, 8]>>, %max: memref<8xf64>, %sum: memref<8xf64>, %i: index) {
  attn.online_attention ins(%q, %k, %v : memref<8x8xf64, strided<[1, 8]>>, memref<?x8xf64>, memref<?x8xf32>) outs(%acc, %max, %sum : memref<8x8xf64, strided<[1, 8]>>, memref<8xf64>, memref<8xf64>) at(%i, %i, %i, %i) schedule(<kernel = queries_in_lanes, tile = [8, 4], registers = [2, 1], lanes = 8>)
  return
}

// CHECK-LABEL: func.func @double_ends
// CHECK: vector.load %{{.*}} : memref<?x8xf64>, vector<8xf64>
// CHECK-COUNT-24: vector.shuffle {{.*}} : vector<8xf64>, vector<8xf64>
// CHECK: %[[LOG:.*]] = math.log %{{.*}} : vector<8xf64>
// CHECK: arith.addf %[[MAX:.*]], %[[LOG]]
// CHECK: %[[LSE:.*]] = arith.select
// CHECK: %[[GAP:.*]] = arith.subf %[[MAX]], %[[LSE]]
// CHECK: %[[REST:.*]] = arith.addf %[[GAP]], %[[LOG]]
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[REST]]
func.func @double_ends(%x: memref<?x8xf64>, %q: memref<8x8xf64, strided<[1, 8]>>, %acc: memref<1x8x8xf64, strided<[64, 1, 8]>>, %max: memref<1x8xf64>, %sum: memref<1x8xf64>, %o: memref<?x8xf64>, %lse: memref<?xf64>, %rest: memref<?xf64>) {
  attn.pack ins(%x : memref<?x8xf64>) outs(%q : memref<8x8xf64, strided<[1, 8]>>) factor 0.125
  attn.merge_partials ins(%acc, %max, %sum : memref<1x8x8xf64, strided<[64, 1, 8]>>, memref<1x8xf64>, memref<1x8xf64>) outs(%o, %lse, %rest : memref<?x8xf64>, memref<?xf64>, memref<?xf64>)
  return
}
}
