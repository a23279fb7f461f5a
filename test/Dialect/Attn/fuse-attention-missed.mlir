// A chain that cannot be fused is left as it is, with a remark that says why.

// RUN: attn-opt %s --attn-fuse --split-input-file --remarks-filter-missed=attn \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: attn-opt %s --attn-fuse --split-input-file | FileCheck %s --implicit-check-not=attn.attention

// CHECK-LABEL: func.func @weights_used_twice
// REMARK: Function=weights_used_twice | Reason="the attention weights have other uses, so they must exist in memory"
func.func @weights_used_twice(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> (tensor<1x1x?x8xf32>, tensor<1x1x?x?xf32>) {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o, %p : tensor<1x1x?x8xf32>, tensor<1x1x?x?xf32>
}

// -----

// CHECK-LABEL: func.func @scores_used_twice
// REMARK: Function=scores_used_twice | Reason="the scores have other uses, so they must exist in memory"
func.func @scores_used_twice(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> (tensor<1x1x?x8xf32>, tensor<1x1x?x?xf32>) {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %t = attn.scale %s by 0.5 : tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %t : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o, %s : tensor<1x1x?x8xf32>, tensor<1x1x?x?xf32>
}

// -----

// CHECK-LABEL: func.func @weights_are_an_argument
// REMARK: Function=weights_are_an_argument | Reason="the weights do not come from attn.masked_softmax"
func.func @weights_are_an_argument(%p: tensor<1x1x?x?xf32>, %v: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %o = attn.weighted_sum %p, %v : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @weights_are_mapped
// REMARK: Function=weights_are_mapped | Reason="the weights pass through 'attn.score_map', which gives hidden pairs weights too; attn.probability_map does not"
func.func @weights_are_mapped(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s : tensor<1x1x?x?xf32>
  %m = attn.score_map %p : tensor<1x1x?x?xf32> {
  ^bb0(%w: f32, %b: index, %h: index, %i: index, %j: index):
    %n = math.cos %w : f32
    attn.yield %n : f32
  }
  %o = attn.weighted_sum %m, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @scores_are_an_argument
// REMARK: Function=scores_are_an_argument | Reason="the scores are an argument, not a product of attn.qk"
func.func @scores_are_an_argument(%s: tensor<1x1x?x?xf32>, %v: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %t = attn.scale %s by 0.5 : tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %t : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @foreign_op_between
// REMARK: Function=foreign_op_between | Reason="the scores pass through 'math.absf', which is no score op"
func.func @foreign_op_between(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %t = math.absf %s : tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %t : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @other_head_counts
// REMARK: Function=other_head_counts | Reason="key and value have different head counts"
func.func @other_head_counts(%q: tensor<1x4x?x8xf32>, %k: tensor<1x2x?x8xf32>, %v: tensor<1x4x?x8xf32>) -> tensor<1x4x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x4x?x8xf32>, tensor<1x2x?x8xf32> -> tensor<1x4x?x?xf32>
  %p = attn.masked_softmax %s : tensor<1x4x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<1x4x?x?xf32>, tensor<1x4x?x8xf32> -> tensor<1x4x?x8xf32>
  return %o : tensor<1x4x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @double_values
// REMARK: Function=double_values | Reason="fused kernels compute in f32 where scores are f32, not in f64"
func.func @double_values(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>, %v: tensor<1x1x?x8xf64>) -> tensor<1x1x?x8xf64> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf64> -> tensor<1x1x?x8xf64>
  return %o : tensor<1x1x?x8xf64>
}

// -----

// CHECK-LABEL: func.func @quadruple_values
// REMARK: Function=quadruple_values | Reason="fused kernels compute in f32 or f64, not in f128"
func.func @quadruple_values(%q: tensor<1x1x?x8xf64>, %k: tensor<1x1x?x8xf64>, %v: tensor<1x1x?x8xf128>) -> tensor<1x1x?x8xf128> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf64>, tensor<1x1x?x8xf64> -> tensor<1x1x?x?xf64>
  %p = attn.masked_softmax %s : tensor<1x1x?x?xf64>
  %o = attn.weighted_sum %p, %v : tensor<1x1x?x?xf64>, tensor<1x1x?x8xf128> -> tensor<1x1x?x8xf128>
  return %o : tensor<1x1x?x8xf128>
}

// -----

// A program may branch, but not hold tensors, not even inside a branch.
// CHECK-LABEL: func.func @tensor_in_score_map
// REMARK: Function=tensor_in_score_map | Reason="the score program uses 'tensor.from_elements', which is no scalar op"
func.func @tensor_in_score_map(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %t = attn.score_map %s : tensor<1x1x?x?xf32> {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %c = arith.cmpi slt, %i, %j : index
    %x = scf.if %c -> f32 {
      scf.yield %score : f32
    } else {
      %n = arith.negf %score : f32
      %u = tensor.from_elements %n, %score : tensor<2xf32>
      %y = tensor.extract %u[%b] : tensor<2xf32>
      scf.yield %y : f32
    }
    attn.yield %x : f32
  }
  %p = attn.masked_softmax %t : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @tensor_in_mask_program
// REMARK: Function=tensor_in_mask_program | Reason="the mask program uses 'tensor.from_elements', which is no scalar op"
func.func @tensor_in_mask_program(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %k : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %t = tensor.from_elements %i, %j : tensor<2xindex>
    %x = tensor.extract %t[%b] : tensor<2xindex>
    %c = arith.cmpi slt, %x, %j : index
    attn.yield %c : i1
  } : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @mapped_weights_used_twice
// REMARK: Function=mapped_weights_used_twice | Reason="the attention weights have other uses, so they must exist in memory"
func.func @mapped_weights_used_twice(%q: tensor<1x1x?x8xf32>) -> (tensor<1x1x?x8xf32>, tensor<1x1x?x?xf32>) {
  %s = attn.qk %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s : tensor<1x1x?x?xf32>
  %w = attn.probability_map %p : tensor<1x1x?x?xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %x : f32
  }
  %o = attn.weighted_sum %w, %q : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o, %w : tensor<1x1x?x8xf32>, tensor<1x1x?x?xf32>
}

// -----

// CHECK-LABEL: func.func @tensors_in_weight_program
// REMARK: Function=tensors_in_weight_program | Reason="the program on weights uses 'tensor.empty', which is no scalar op"
func.func @tensors_in_weight_program(%q: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s : tensor<1x1x?x?xf32>
  %w = attn.probability_map %p : tensor<1x1x?x?xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %e = tensor.empty() : tensor<2xf32>
    %t = tensor.insert %x into %e[%j] : tensor<2xf32>
    %y = tensor.extract %t[%j] : tensor<2xf32>
    attn.yield %y : f32
  }
  %o = attn.weighted_sum %w, %q : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// Rows of NaN reach what else reads the weights, which kernels do not carry.
// CHECK-LABEL: func.func @nan_rows_dropped
// REMARK: Function=nan_rows_dropped | Reason="'attn.dropout' reads rows of NaN, which empty_row(nan) asks for; fused, they are made in the output of a weighted sum alone"
func.func @nan_rows_dropped(%q: tensor<1x1x?x8xf32>, %seed: i64) -> tensor<1x1x?x8xf32> {
  %s = attn.qk %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s empty_row(nan) : tensor<1x1x?x?xf32>
  %w = attn.dropout %p rate 0.5 seed(%seed) : tensor<1x1x?x?xf32>
  %o = attn.weighted_sum %w, %q : tensor<1x1x?x?xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @nan_rows_measured
// REMARK: Function=nan_rows_measured | Reason="'attn.weight_stats' reads rows of NaN, which empty_row(nan) asks for; fused, they are made in the output of a weighted sum alone"
func.func @nan_rows_measured(%q: tensor<1x1x?x8xf32>) -> tensor<1x1x?xf32> {
  %s = attn.qk %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x?xf32>
  %p = attn.masked_softmax %s empty_row(nan) : tensor<1x1x?x?xf32>
  %m = attn.weight_stats %p row_max : tensor<1x1x?x?xf32> -> tensor<1x1x?xf32>
  return %m : tensor<1x1x?xf32>
}
