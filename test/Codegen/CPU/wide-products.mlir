// Products of 32-bit lanes whose upper halves are asked for: those of even lanes
// and those of odd ones, as products of 64-bit lanes.

// RUN: attn-opt %s --attn-cpu-lower-tiles | FileCheck %s

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
// CHECK-LABEL: func.func @random
// CHECK: %[[X:.*]] = vector.bitcast %{{.*}} : vector<16xi32> to vector<8xi64>
// CHECK: %[[LOW:.*]] = arith.andi %[[X]], %{{.*}} : vector<8xi64>
// CHECK: %[[EVEN:.*]] = arith.muli %[[LOW]], %{{.*}} : vector<8xi64>
// CHECK: %[[UPPER:.*]] = arith.shrui %[[X]], %{{.*}} : vector<8xi64>
// CHECK: %[[ODD:.*]] = arith.muli %[[UPPER]], %{{.*}} : vector<8xi64>
// CHECK-NOT: mului_extended
// CHECK: return
func.func @random(%q: memref<64x8xf32, strided<[1, 64]>>, %k: memref<?x8xf32>, %acc: memref<64x8xf32, strided<[1, 64]>>, %max: memref<64xf32>, %sum: memref<64xf32>, %at: index) {
  attn.online_attention ins(%q, %k, %k : memref<64x8xf32, strided<[1, 64]>>, memref<?x8xf32>, memref<?x8xf32>) outs(%acc, %max, %sum : memref<64x8xf32, strided<[1, 64]>>, memref<64xf32>, memref<64xf32>) at(%at, %at, %at, %at) schedule(<kernel = queries_in_lanes, tile = [64, 60], registers = [2, 1], lanes = 16>) probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.index_cast %i : index to i32
    %m = arith.constant 12345 : i32
    %low, %high = arith.mului_extended %x, %m : i32
    %c = arith.cmpi uge, %low, %high : i32
    %zero = arith.constant 0.0 : f32
    %y = arith.select %c, %p, %zero : f32
    attn.yield %y : f32
  }
  return
}
}
