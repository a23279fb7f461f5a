// Each graph op becomes loops of its own; what is hidden is selected away.

// RUN: attn-opt %s --split-input-file --attn-to-linalg --canonicalize --cse | FileCheck %s

// The key head is the query head divided by the size of its group.
// CHECK-LABEL: func.func @qk
// CHECK-DAG:     %[[GROUP:.*]] = arith.constant 4 : index
// CHECK:         linalg.generic {{.*}}"parallel", "parallel", "parallel", "parallel", "reduction"
// CHECK:           %[[HEAD:.*]] = linalg.index 1
// CHECK:           %[[KEY_HEAD:.*]] = arith.divui %[[HEAD]], %[[GROUP]]
// CHECK:           tensor.extract %arg1[%{{.*}}, %[[KEY_HEAD]], %{{.*}}, %{{.*}}]
// CHECK-NOT:     attn.
func.func @qk(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>) -> tensor<?x8x?x?xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  return %s : tensor<?x8x?x?xf32>
}

// -----

// Narrow inputs are multiplied and summed in f32.
// CHECK-LABEL: func.func @qk_f16
// CHECK:         linalg.fill {{.*}} -> tensor<?x8x?x?xf32>
// CHECK:         %[[K:.*]] = tensor.extract
// CHECK-DAG:     arith.extf %{{.*}} : f16 to f32
// CHECK-DAG:     arith.extf %[[K]] : f16 to f32
// CHECK:         arith.mulf {{.*}} : f32
func.func @qk_f16(%q: tensor<?x8x?x64xf16>, %k: tensor<?x8x?x64xf16>) -> tensor<?x8x?x?xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf16>, tensor<?x8x?x64xf16> -> tensor<?x8x?x?xf32>
  return %s : tensor<?x8x?x?xf32>
}

// -----

// A bias of -inf hides whatever the score is, NaN included.
// CHECK-LABEL: func.func @bias
// CHECK:         %[[HIDDEN:.*]] = arith.constant 0xFF800000 : f32
// CHECK:         %[[BIAS:.*]] = tensor.extract %arg1
// CHECK:         %[[SUM:.*]] = arith.addf
// CHECK:         %[[IS:.*]] = arith.cmpf oeq, %[[BIAS]], %[[HIDDEN]]
// CHECK:         arith.select %[[IS]], %[[HIDDEN]], %[[SUM]]
func.func @bias(%s: tensor<?x8x?x?xf32>, %b: tensor<8x?x?xf32>) -> tensor<?x8x?x?xf32> {
  %t = attn.bias %s, %b : tensor<?x8x?x?xf32>, tensor<8x?x?xf32>
  return %t : tensor<?x8x?x?xf32>
}

// -----

// The softcap turns a score of -inf into -cap: the softmax asks the bias again.
// CHECK-LABEL: func.func @bias_before_softcap
// CHECK:         math.tanh
// CHECK:         linalg.yield
// CHECK:         %[[BIAS:.*]] = tensor.extract %arg1
// CHECK:         %[[IS:.*]] = arith.cmpf oeq, %[[BIAS]]
// CHECK:         arith.select %[[IS]]
// CHECK:         arith.maximumf
func.func @bias_before_softcap(%s: tensor<?x8x?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x8x?x?xf32> {
  %t = attn.bias %s, %b : tensor<?x8x?x?xf32>, tensor<?x?xf32>
  %u = attn.softcap %t at 30.0 : tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %u : tensor<?x8x?x?xf32>
  return %p : tensor<?x8x?x?xf32>
}

// -----

// All clauses combine by and; the softmax then takes maximum, exponentials,
// sum and quotient in four nests.
// CHECK-LABEL: func.func @masked_softmax
// CHECK-SAME:    %[[S:.*]]: tensor<?x8x?x?xf32>, %[[N:.*]]: tensor<?xi32>, %[[M:.*]]: tensor<?x?xi1>
// CHECK:         linalg.generic
// CHECK:           %[[DIAGONAL:.*]] = arith.addi
// CHECK:           %[[CAUSAL:.*]] = arith.cmpi sle, %{{.*}}, %[[DIAGONAL]]
// CHECK:           %[[WINDOW:.*]] = arith.cmpi sge
// CHECK:           %[[BOTH:.*]] = arith.andi %[[CAUSAL]], %[[WINDOW]]
// CHECK:           %[[LENGTH:.*]] = tensor.extract %[[N]]
// CHECK:           arith.cmpi slt
// CHECK:           arith.andi %[[BOTH]]
// CHECK:           tensor.extract %[[M]]
// CHECK:           arith.andi
// CHECK:           arith.cmpi ne
// CHECK:           arith.andi
// CHECK:           arith.select
// CHECK:         linalg.generic
// CHECK:           arith.maximumf
// CHECK:         linalg.generic
// CHECK:           math.exp
// CHECK:           arith.select
// CHECK:         linalg.generic
// CHECK:           arith.addf
// CHECK:         linalg.generic
// CHECK:           arith.divf
// CHECK:           arith.select
func.func @masked_softmax(%s: tensor<?x8x?x?xf32>, %n: tensor<?xi32>, %m: tensor<?x?xi1>) -> tensor<?x8x?x?xf32> {
  %p = attn.masked_softmax %s causal(bottom_right) window[3, -1] lengths(%n : tensor<?xi32>) mask(%m : tensor<?x?xi1>)
    visible {
    ^bb0(%b: index, %h: index, %i: index, %j: index):
      %v = arith.cmpi ne, %i, %j : index
      attn.yield %v : i1
    } : tensor<?x8x?x?xf32>
  return %p : tensor<?x8x?x?xf32>
}

// -----

// Gather indices are clamped, and an empty table is not read at all.
// CHECK-LABEL: func.func @gather
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
// CHECK:         %[[I:.*]] = arith.subi
// CHECK:         %[[EXTENT:.*]] = tensor.dim %arg1
// CHECK:         %[[LAST:.*]] = arith.{{addi|subi}} %[[EXTENT]]
// CHECK:         %[[MIN:.*]] = arith.minsi %[[I]], %[[LAST]]
// CHECK:         %[[MAX:.*]] = arith.maxsi %[[MIN]], %[[ZERO]]
// CHECK:         %[[SOME:.*]] = arith.cmpi sgt, %[[EXTENT]], %[[ZERO]]
// CHECK:         scf.if %[[SOME]]
// CHECK:           tensor.extract %arg1[%[[MAX]]]
func.func @gather(%s: tensor<?x8x?x?xf32>, %table: tensor<?xf32>) -> tensor<?x8x?x?xf32> {
  %t = attn.score_map %s : tensor<?x8x?x?xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %d = arith.subi %i, %j : index
    %e = tensor.extract %table[%d] : tensor<?xf32>
    %y = arith.addf %x, %e : f32
    attn.yield %y : f32
  }
  return %t : tensor<?x8x?x?xf32>
}

// -----

// A weight of 0 keeps its value out of the sum.
// CHECK-LABEL: func.func @weighted_sum
// CHECK:         ^bb0(%[[W:.*]]: f32, %[[SUM:.*]]: f32):
// CHECK:           %[[PRODUCT:.*]] = arith.mulf
// CHECK:           %[[ABSENT:.*]] = arith.cmpf oeq, %[[W]]
// CHECK:           %[[NEXT:.*]] = arith.addf %[[SUM]], %[[PRODUCT]]
// CHECK:           arith.select %[[ABSENT]], %[[SUM]], %[[NEXT]]
func.func @weighted_sum(%p: tensor<?x8x?x?xf32>, %v: tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %o = attn.weighted_sum %p, %v : tensor<?x8x?x?xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// -----

// CHECK-LABEL: func.func @heads
// CHECK:         tensor.expand_shape %arg0 {{\[\[}}0], [1], [2, 3]]
// CHECK:         %[[SPLIT:.*]] = linalg.transpose {{.*}} permutation = [0, 2, 1, 3]
// CHECK-LABEL: func.func @merge
// CHECK:         %[[BACK:.*]] = linalg.transpose ins(%arg0 {{.*}} permutation = [0, 2, 1, 3]
// CHECK:         tensor.collapse_shape %[[BACK]] {{\[\[}}0], [1], [2, 3]]
func.func @heads(%x: tensor<?x?x384xf32>) -> tensor<?x12x?x32xf32> {
  %h = attn.split_heads %x {num_heads = 12} : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
  return %h : tensor<?x12x?x32xf32>
}

func.func @merge(%h: tensor<?x12x?x32xf32>) -> tensor<?x?x384xf32> {
  %y = attn.merge_heads %h : tensor<?x12x?x32xf32> -> tensor<?x?x384xf32>
  return %y : tensor<?x?x384xf32>
}

// -----

// Angles are computed in f64, once for all heads, and then rounded.
// CHECK-LABEL: func.func @rope
// CHECK:         math.powf {{.*}} : f64
// CHECK:         %[[COS:.*]] = math.cos {{.*}} : f64
// CHECK:         arith.truncf %[[COS]] : f64 to f32
// CHECK:         math.sin {{.*}} : f64
// CHECK:         } -> tensor<?x32xf32>
// CHECK:         arith.subf
// CHECK:         arith.addf
// CHECK:         arith.select
func.func @rope(%x: tensor<?x8x?x64xf32>, %past: index) -> tensor<?x8x?x64xf32> {
  %r = attn.rope %x half rotary_dim 64 offset(%past) : tensor<?x8x?x64xf32>
  return %r : tensor<?x8x?x64xf32>
}

// -----

// Each statistic is a loop over all weights; a place is looked for among all keys,
// behind those before it.
// CHECK-LABEL: func.func @weight_stats
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction", "parallel"]
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK:         arith.maximumf
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK:         math.log
// CHECK:         linalg.generic
// CHECK:         scf.for
// CHECK:         scf.for
// CHECK:         arith.cmpf ugt
// CHECK:         -> tensor<?x8x?x4xf32>
// CHECK:         -> tensor<?x8x?x4xi32>
func.func @weight_stats(%p: tensor<?x8x?x?xf32>)
    -> (tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xi32>) {
  %c, %m, %e, %w, %i = attn.weight_stats %p column_sums row_max entropy top_k 4 : tensor<?x8x?x?xf32>
    -> tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xi32>
  return %c, %m, %e, %w, %i
    : tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xi32>
}
