// What the loop over blocks is not bounded by has a remark, which names the op
// that the analysis does not know: never a constant or a value from outside, but
// what takes it.

// RUN: attn-opt %s --attn-tile -o %t --remark-policy=all --remarks-filter-missed=attn \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s

// A constant so large that sums with it could overflow.
// CHECK: Function=large_constant | Remark="'arith.subi' in the mask program is not analysed
func.func @large_constant(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 2000000000000 : index
    %s = arith.subi %c, %j : index
    %x = arith.cmpi sle, %i, %s : index
    attn.yield %x : i1
  }
  return
}

// The same, compared.
// CHECK: Function=compared_constant | Remark="'arith.cmpi' in the mask program is not analysed
func.func @compared_constant(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 2000000000000 : index
    %x = arith.cmpi slt, %j, %c : index
    attn.yield %x : i1
  }
  return
}

// The op is named, not the comparison that it ends in.
// CHECK: Function=unknown_op | Remark="'arith.remui' in the mask program is not analysed
func.func @unknown_op(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 2 : index
    %r = arith.remui %j, %j : index
    %x = arith.cmpi slt, %r, %c : index
    attn.yield %x : i1
  }
  return
}

// Conditions are known, but not as integers.
// CHECK: Function=condition_as_integer | Remark="'arith.extsi' in the mask program is not analysed
func.func @condition_as_integer(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 0 : index
    %a = arith.cmpi slt, %j, %i : index
    %w = arith.extsi %a : i1 to i64
    %y = arith.index_cast %w : i64 to index
    %x = arith.cmpi slt, %y, %c : index
    attn.yield %x : i1
  }
  return
}

// A condition that is captured, in an order with another.
// CHECK: Function=condition_from_outside | Remark="'arith.cmpi' in the mask program is not analysed
func.func @condition_from_outside(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>, %on: i1) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant true
    %x = arith.cmpi ult, %on, %c : i1
    attn.yield %x : i1
  }
  return
}

// Block by block, where ids are read: the row's own condition as an integer.
// CHECK: Function=condition_from_a_row | Remark="'arith.extsi' in the mask program is not analysed
func.func @condition_from_a_row(%q: memref<1x1x64x8xf32>, %k: memref<1x1x640x8xf32>, %o: memref<1x1x64x8xf32>, %ids: memref<1x640xi32>) {
  attn.attention ins(%q, %k, %k : memref<1x1x64x8xf32>, memref<1x1x640x8xf32>, memref<1x1x640x8xf32>) outs(%o : memref<1x1x64x8xf32>) scale 1.0 schedule(<kernel = queries_in_lanes, tile = [64, 64], registers = [4, 4], lanes = 16>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c = arith.constant 0 : i32
    %id = memref.load %ids[%b, %j] : memref<1x640xi32>
    %a = arith.cmpi slt, %h, %i : index
    %w = arith.extsi %a : i1 to i32
    %x = arith.cmpi eq, %id, %w : i32
    attn.yield %x : i1
  }
  return
}
