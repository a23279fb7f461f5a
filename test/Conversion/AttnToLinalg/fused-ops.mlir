// The fused op and the tile ops, on tensors.

// RUN: attn-opt %s --split-input-file --attn-to-linalg --canonicalize --cse | FileCheck %s

// Offsets move the indices that the programs see; a pair is absent from the
// weighted sum when its score is -inf, not when its weight is 0.
// CHECK-LABEL: func.func @attention
// CHECK-SAME:    %[[Q:.*]]: tensor<?x8x?x64xf32>, %[[K:.*]]: tensor<?x2x?x64xf32>, %[[V:.*]]: tensor<?x2x?x64xf32>, {{.*}}%[[OFFSET:.*]]: index
// CHECK-DAG:     %[[HIDDEN:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[SCALE:.*]] = arith.constant 1.250000e-01 : f32
// CHECK:         tensor.extract %[[K]]
// CHECK:         arith.mulf %{{.*}}, %[[SCALE]]
// CHECK:         %[[I:.*]] = linalg.index 2
// CHECK:         %[[ROW:.*]] = arith.addi %[[I]], %[[OFFSET]]
// CHECK:         %[[VISIBLE:.*]] = arith.cmpi sle, %{{.*}}, %[[ROW]]
// CHECK:         arith.select %[[VISIBLE]], %{{.*}}, %[[HIDDEN]]
// CHECK:         tensor.extract %[[V]]
// CHECK:         %[[ABSENT:.*]] = arith.cmpf oeq, %{{.*}}, %[[HIDDEN]]
// CHECK:         arith.select %[[ABSENT]]
// CHECK:         math.log
// CHECK:         arith.select %{{.*}}, %[[HIDDEN]]
// CHECK-NOT:     attn.
func.func @attention(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %v: tensor<?x2x?x64xf32>,
                     %o: tensor<?x8x?x64xf32>, %l: tensor<?x8x?xf32>, %offset: index)
    -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %c0 = arith.constant 0 : index
  %r:2 = attn.attention ins(%q, %k, %v : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>)
      outs(%o, %l : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) scale 0.125 offsets(%c0, %c0, %offset, %c0)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %visible = arith.cmpi sle, %j, %i : index
      attn.yield %visible : i1
    } -> tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
  return %r#0, %r#1 : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// The state decays by the growth of the maximum.
// CHECK-LABEL: func.func @online
// CHECK:         arith.maximumf
// CHECK:         math.exp %
// CHECK-NOT:     attn.
func.func @online(%q: tensor<16x64xf32>, %k: tensor<?x64xf32>, %v: tensor<?x32xf32>,
                  %acc: tensor<16x32xf32>, %max: tensor<16xf32>, %sum: tensor<16xf32>, %j: index)
    -> (tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>) {
  %r:3 = attn.online_attention ins(%q, %k, %v : tensor<16x64xf32>, tensor<?x64xf32>, tensor<?x32xf32>)
      outs(%acc, %max, %sum : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>) at(%j, %j, %j, %j)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>
  return %r#0, %r#1, %r#2 : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

// Integers become floats first.
// CHECK-LABEL: func.func @online_integers
// CHECK:         arith.sitofp
// CHECK:         arith.mulf
// CHECK:         arith.sitofp
// CHECK-NOT:     attn.
func.func @online_integers(%q: tensor<16x64xf32>, %k: tensor<?x64xi8>, %v: tensor<?x32xi8>, %s: tensor<?xf32>,
                  %acc: tensor<16x32xf32>, %max: tensor<16xf32>, %j: index) -> tensor<16x32xf32> {
  %r:3 = attn.online_attention ins(%q, %k, %v : tensor<16x64xf32>, tensor<?x64xi8>, tensor<?x32xi8>)
      outs(%acc, %max, %max : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>) at(%j, %j, %j, %j)
      key_scale(%s : tensor<?xf32>) value_scale(%s : tensor<?xf32>)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>
  return %r#0 : tensor<16x32xf32>
}

// -----

// Partials of sum 0 are skipped; the log-sum-exp is natural.
// CHECK-LABEL: func.func @merge
// CHECK:         arith.maximumf
// CHECK:         arith.cmpf oeq
// CHECK:         math.exp %
// CHECK:         arith.divf
// CHECK:         math.log %
// CHECK-NOT:     attn.
func.func @merge(%acc: tensor<?x16x32xf32>, %max: tensor<?x16xf32>, %sum: tensor<?x16xf32>,
                 %o: tensor<?x32xf32>, %l: tensor<?xf32>) -> (tensor<?x32xf32>, tensor<?xf32>) {
  %r:2 = attn.merge_partials ins(%acc, %max, %sum : tensor<?x16x32xf32>, tensor<?x16xf32>, tensor<?x16xf32>)
      outs(%o, %l : tensor<?x32xf32>, tensor<?xf32>) -> tensor<?x32xf32>, tensor<?xf32>
  return %r#0, %r#1 : tensor<?x32xf32>, tensor<?xf32>
}

// -----

// The padding is written without reading the source.
// CHECK-LABEL: func.func @pack
// CHECK:         scf.if
// CHECK:           tensor.extract %arg0
// CHECK:           arith.mulf
// CHECK:         } else {
func.func @pack(%x: tensor<?x?xf32>, %o: tensor<16x64xf32>) -> tensor<16x64xf32> {
  %r = attn.pack ins(%x : tensor<?x?xf32>) outs(%o : tensor<16x64xf32>) factor 0.5 -> tensor<16x64xf32>
  return %r : tensor<16x64xf32>
}
