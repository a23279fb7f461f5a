// Statistics of weights are fused with what makes the weights, beside the
// attention that reads them.

// RUN: attn-opt %s --attn-fuse --canonicalize --cse --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-fuse --split-input-file --remarks-filter=attn \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// With a weighted sum of the weights, its log-sum-exp in two parts.
// REMARK: Function=both{{.*}}attention fused: attn.qk, attn.masked_softmax (causal) and attn.weighted_sum became one kernel
// REMARK: Function=both{{.*}}weight statistics fused: attn.qk, attn.masked_softmax (causal) and attn.weight_stats became one kernel
// CHECK-LABEL: func.func @both
// CHECK-SAME: (%[[Q:[a-z0-9]+]]: tensor<?x8x?x64xf32>, %[[K:[a-z0-9]+]]: tensor<?x2x?x64xf32>
// CHECK: %[[O:.*]]:3 = attn.attention ins(%[[Q]], %[[K]], {{.*}} mask {
// CHECK: } -> tensor<?x8x?x64xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>
// CHECK: %[[C:.*]] = attn.attention_stats ins(%[[Q]], %[[K]] : {{.*}}) scale 1.000000e+00 log_sum_exp(%[[O]]#1 : tensor<?x8x?xf32>) remainder(%[[O]]#2 : tensor<?x8x?xf32>) column_sums(%{{.*}}) mask {
// CHECK-NOT: attn.attention
// CHECK: return %[[O]]#0, %[[C]]
func.func @both(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %v: tensor<?x2x?x64xf32>)
    -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s causal(top_left) : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  %c = attn.weight_stats %p column_sums : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
  return %o, %c : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// The statistics stand first, and nothing reads them before the weighted sum.
// CHECK-LABEL: func.func @stats_first
// CHECK: %[[O:.*]]:3 = attn.attention ins
// CHECK: attn.attention_stats {{.*}} log_sum_exp(%[[O]]#1 : {{.*}}) remainder(%[[O]]#2 :
// CHECK-NOT: attn.attention
// CHECK: return
func.func @stats_first(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>)
    -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x8x?x?xf32>
  %c = attn.weight_stats %p column_sums : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  return %o, %c : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// The weighted sum needs the statistics: they have a log-sum-exp of their own,
// of an attention with one feature.
// REMARK: Function=sum_of_stats{{.*}}the keys are passed twice
// CHECK-LABEL: func.func @sum_of_stats
// CHECK: %[[COLUMN:.*]] = tensor.extract_slice %{{.*}}[0, 0, 0, 0]
// CHECK: %[[L:.*]]:3 = attn.attention ins(%{{.*}}, %{{.*}}, %[[COLUMN]]
// CHECK: %[[C:.*]] = attn.attention_stats {{.*}} log_sum_exp(%[[L]]#1 : {{.*}}) remainder(%[[L]]#2 :
// CHECK: %[[V:.*]] = tensor.insert_slice %[[C]]
// CHECK: attn.attention ins(%{{.*}}, %{{.*}}, %[[V]]
// CHECK: return
func.func @sum_of_stats(%q: tensor<2x8x5x64xf32>, %k: tensor<2x8x7x64xf32>, %v: tensor<2x8x7x1xf32>)
    -> tensor<2x8x5x1xf32> {
  %s = attn.qk %q, %k : tensor<2x8x5x64xf32>, tensor<2x8x7x64xf32> -> tensor<2x8x5x7xf32>
  %p = attn.masked_softmax %s : tensor<2x8x5x7xf32>
  %c = attn.weight_stats %p column_sums : tensor<2x8x5x7xf32> -> tensor<2x8x7xf32>
  %w = tensor.insert_slice %c into %v[0, 0, 0, 0] [2, 8, 7, 1] [1, 1, 1, 1] : tensor<2x8x7xf32> into tensor<2x8x7x1xf32>
  %o = attn.weighted_sum %p, %w : tensor<2x8x5x7xf32>, tensor<2x8x7x1xf32> -> tensor<2x8x5x1xf32>
  return %o : tensor<2x8x5x1xf32>
}

// -----

// Statistics of weights before and after a dropout, which the weighted sum reads:
// mapped weights are the score program's.
// CHECK-LABEL: func.func @mapped
// CHECK: %[[O:.*]]:3 = attn.attention ins
// CHECK-SAME: probability {
// CHECK: attn.attention_stats {{.*}} log_sum_exp(%[[O]]#1 : {{.*}}) remainder(%[[O]]#2 : {{.*}}) row_max(
// CHECK-NOT: score {
// CHECK: attn.attention_stats
// CHECK-NOT: log_sum_exp
// CHECK-SAME: entropy({{.*}}) score {
// CHECK: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %{{.*}}: index):
// CHECK: %[[L:.*]] = tensor.extract %[[O]]#1[%[[B]], %[[H]], %[[I]]]
// CHECK: %[[D:.*]] = arith.subf %[[S]], %[[L]]
// CHECK: %[[REST:.*]] = tensor.extract %[[O]]#2[%[[B]], %[[H]], %[[I]]]
// CHECK: arith.subf %[[D]], %[[REST]]
// CHECK: math.exp2
// CHECK: return
func.func @mapped(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %seed: i64)
    -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>) {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x8x?x?xf32>
  %d = attn.dropout %p rate 0.5 seed(%seed) : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %d, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  %m = attn.weight_stats %p row_max : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
  %e = attn.weight_stats %d entropy : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
  return %o, %m, %e : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>
}

// -----

// A sigmoid has no log-sum-exp.
// CHECK-LABEL: func.func @sigmoid
// CHECK-NOT: attn.attention ins
// CHECK: attn.attention_stats ins({{.*}}) scale 1.000000e+00 row_max(%{{.*}}) score {
// CHECK: arith.divf
// CHECK: return
func.func @sigmoid(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>) -> tensor<?x8x?xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s normalizer(sigmoid) : tensor<?x8x?x?xf32>
  %m = attn.weight_stats %p row_max : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
  return %m : tensor<?x8x?xf32>
}

// -----

// Somebody else reads the weights.
// REMARK: Function=read_elsewhere{{.*}}the attention weights have other uses, so they must exist in memory
// CHECK-LABEL: func.func @read_elsewhere
// CHECK: attn.masked_softmax
// CHECK: attn.weight_stats
func.func @read_elsewhere(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>)
    -> (tensor<?x8x?xf32>, tensor<?x8x?x?xf32>) {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x8x?x?xf32>
  %m = attn.weight_stats %p row_max : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
  return %m, %p : tensor<?x8x?xf32>, tensor<?x8x?x?xf32>
}
