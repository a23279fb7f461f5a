// Programs read NaN where they read floats out of bounds; functions are left
// alone, and so are integers.

// RUN: attn-opt %s --attn-poison-clamps | FileCheck %s

!s = tensor<1x2x?x?xf32>

// CHECK-LABEL: func.func @f
// CHECK-SAME:    %[[T:[^:]*]]: tensor<?x4xf32>, %[[N:[^:]*]]: tensor<3xi32>
// CHECK:         tensor.extract
// CHECK-NOT:     arith.select
// CHECK:         attn.score_map
// CHECK:           tensor.extract %[[N]]
// CHECK:           %[[X:.*]] = tensor.extract %[[T]][%[[I:.*]], %[[J:.*]]]
// CHECK-DAG:       %[[ROWS:.*]] = tensor.dim %[[T]], %c0
// CHECK-DAG:       %[[A:.*]] = arith.cmpi ult, %[[I]], %[[ROWS]]
// CHECK-DAG:       %[[COLUMNS:.*]] = tensor.dim %[[T]], %c1
// CHECK-DAG:       %[[B:.*]] = arith.cmpi ult, %[[J]], %[[COLUMNS]]
// CHECK:           %[[BOTH:.*]] = arith.andi %[[A]], %[[B]]
// CHECK:           %[[READ:.*]] = arith.select %[[BOTH]], %[[X]], %cst
// CHECK:           arith.addf %{{.*}}, %[[READ]]
func.func @f(%s: !s, %t: tensor<?x4xf32>, %n: tensor<3xi32>, %at: index) -> (!s, f32) {
  %outside = tensor.extract %t[%at, %at] : tensor<?x4xf32>
  %u = attn.score_map %s : !s {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %k = tensor.extract %n[%h] : tensor<3xi32>
    %row = arith.index_cast %k : i32 to index
    %y = tensor.extract %t[%row, %j] : tensor<?x4xf32>
    %z = arith.addf %x, %y : f32
    attn.yield %z : f32
  }
  return %u, %outside : !s, f32
}
