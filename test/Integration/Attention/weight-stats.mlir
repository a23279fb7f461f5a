// Statistics of uniform weights in closed form, by the kernels of each target and
// by the naive lowering: six keys, of which a row sees all, and eight rows.

// RUN: split-file %s %t
// RUN: %tensors %t.table.npy i32 2x4 "(3 * a + 2 * b + 1) % 9"
// RUN: %tensors %t.lengths.npy i32 2 "59 if a else 17"
// RUN: attn-run %t/uniform.mlir --input=ones --input=ones --require-fused | FileCheck %s
// RUN: attn-run %t/uniform.mlir --input=ones --input=ones --require-fused --target=x86-64-v3 | FileCheck %s
// RUN: attn-run %t/uniform.mlir --input=ones --input=ones --require-fused --target=x86-64 | FileCheck %s
// RUN: attn-run %t/uniform.mlir --input=ones --input=ones --twin | FileCheck %s
// CHECK: result 0: f32 [1, 1, 6], min 1.33333, max 1.33333
// CHECK: result 1: f32 [1, 1, 8], min 0.166667, max 0.166667
// CHECK: result 2: f32 [1, 1, 8], min 1.79176, max 1.79176
// CHECK: result 3: f32 [1, 1, 8, 2], min 0.166667, max 0.166667
// CHECK: result 4: i32 [1, 1, 8, 2], min 0, max 1, mean 0.5

// The same beside the weighted sum, where a bias makes the scores so large that
// the log-sum-exp is rounded to it: a padded row is as uniform as any other.
// RUN: attn-run %t/padded.mlir --input=ones --input=ones --input=-1.0e9 --require-fused | FileCheck %s
// RUN: attn-run %t/padded.mlir --input=ones --input=ones --input=-3.4028234e38 --require-fused | FileCheck %s
// RUN: attn-run %t/padded.mlir --input=ones --input=ones --input=1.0e9 --require-fused --target=x86-64-v3 | FileCheck %s
// RUN: attn-run %t/padded.mlir --input=ones --input=ones --input=-3.4028234e38 --require-fused --target=x86-64 | FileCheck %s
// RUN: attn-run %t/padded.mlir --input=ones --input=ones --input=-1.0e9 --twin | FileCheck %s

// The log-sum-exp of bf16 is coarse, and so are weights that come from it; a row
// of one key has no entropy.
// RUN: attn-run %t/narrow.mlir --dim=S=37 --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --check --require-fused | FileCheck %s --check-prefix=NARROW
// RUN: attn-run %t/narrow.mlir --dim=S=1 --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --check --require-fused | FileCheck %s --check-prefix=NARROW
// NARROW-COUNT-4: : passed:
// NARROW-NOT: FAILED

// More places than keys, and hidden keys: 0 and -1 stand in the others.
// RUN: attn-run %t/places.mlir --input=ones --input=ones --require-fused | FileCheck %s --check-prefix=PLACES
// RUN: attn-run %t/places.mlir --input=ones --input=ones --twin | FileCheck %s --check-prefix=PLACES
// PLACES: result 0: f32 [1, 1, 2, 4]
// PLACES-NEXT: 1 0 0 0 0.5 0.5 0 0
// PLACES: result 1: i32 [1, 1, 2, 4]
// PLACES-NEXT: 0 -1 -1 -1 0 1 -1 -1

// Without a weighted sum before it, the keys are passed once for the log-sum-exp.
// RUN: attn-run %t/uniform.mlir --input=ones --input=ones --explain | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: uniform: weight statistics fused: attn.qk, attn.masked_softmax (no mask) and attn.weight_stats became one kernel
// EXPLAIN: uniform: no attention before attn.weight_stats gives the log-sum-exp of its weights: the keys are passed twice
// EXPLAIN: uniform: schedule of attn.attention_stats: queries_in_lanes

// Weights that come from elsewhere are read as they are.
// RUN: attn-run %t/given.mlir --input=ones --check --explain | FileCheck %s --check-prefix=GIVEN
// RUN: not attn-run %t/given.mlir --input=ones --require-fused 2>&1 | FileCheck %s --check-prefix=REQUIRED
// GIVEN: given: not fused: the weights do not come from attn.masked_softmax
// GIVEN: given: not fused: attn.weight_stats is not fused: its scores take O(Sq*Skv) memory
// GIVEN: result 0: f32 [1, 2, 4], min 3, max 3
// GIVEN: check result 0: passed
// REQUIRED: the weights do not come from attn.masked_softmax

// Sums of columns have one for each row of the pages.
// RUN: not attn-run %t/pages.mlir --input=ones:1x1x5x8 --input=ones:9x1x4x8 --input=zeros:1x3 \
// RUN:   --input=zeros:1x1x11 2>&1 | FileCheck %s --check-prefix=PAGES
// RUN: attn-run %t/pages.mlir --input=ones:1x1x5x8 --input=ones:9x1x4x8 --input=zeros:1x3 \
// RUN:   --input=zeros:1x1x12 --check | FileCheck %s --check-prefix=PAGED
// PAGES: error: key length of column_sums of attn.attention_stats ('init') is 11 but that of its pages is 12
// PAGED: result 0: f32 [1, 1, 12], min 5, max 5
// PAGED: check result 0: passed

// Keys of 8-bit integers in pages, and additive scores, without a weighted sum and
// with one; a bias hides pairs.
// RUN: attn-run %t/cached.mlir --input=random:seed=1:2x4x3x32 --input=random:seed=2:9x2x16x32 --input=%t.table.npy \
// RUN:   --input=%t.lengths.npy --check --require-fused | FileCheck %s --check-prefix=CACHED
// CACHED: result 0: f32 [2, 4, 64], min 0
// CACHED-COUNT-3: passed
// RUN: attn-run %t/additive.mlir --input=random:seed=1:2x4x37x24 --input=random:seed=2:2x2x70x24 --input=random:seed=3 \
// RUN:   --check --require-fused | FileCheck %s --check-prefix=ADDITIVE
// RUN: attn-run %t/additive.mlir --input=random:seed=1:2x4x37x24 --input=random:seed=2:2x2x70x24 --input=random:seed=3 \
// RUN:   --check --require-fused --target=x86-64-v3 | FileCheck %s --check-prefix=ADDITIVE
// ADDITIVE-COUNT-4: passed

// In f64, with and without a program on the weights.
// RUN: attn-run %t/double.mlir --input=random:seed=1:2x4x37x24 --input=random:seed=2:2x2x70x24 --check --require-fused | FileCheck %s --check-prefix=DOUBLE
// RUN: attn-run %t/double.mlir --input=random:seed=1:2x4x37x24 --input=random:seed=2:2x2x70x24 --check --require-fused --target=x86-64-v3 | FileCheck %s --check-prefix=DOUBLE
// RUN: attn-run %t/double.mlir --input=random:seed=1:2x4x37x24 --input=random:seed=2:2x2x70x24 --check --require-fused --target=x86-64 | FileCheck %s --check-prefix=DOUBLE
// DOUBLE: result 0: f64
// DOUBLE-COUNT-6: passed

// A log-sum-exp of 1026 is rounded by more than weights are; its remainder makes
// up for that. The bound is that of the scores, below a thousandth.
// RUN: attn-run %t/large.mlir --input=ones --input=ones --check --require-fused | FileCheck %s --check-prefix=LARGE
// LARGE: check result 0: passed: max abs {{.*}}e-0{{[6-9]}} (allowed 0.00029
// LARGE-COUNT-4: passed

// Each row of keys has the same features in another order. In f64 no key is before
// another but by its number; sums of f32 tell them apart.
// RUN: %tensors %t.ties.npy f32 1x1x64x32 "0.1 * ((2 * c + 1) * d % 32)"
// RUN: attn-run %t/ties.mlir --input=ones --input=%t.ties.npy --check --require-fused | FileCheck %s --check-prefix=TIES
// RUN: attn-run %t/ties.mlir --input=ones --input=%t.ties.npy --check --require-fused --target=x86-64 | FileCheck %s --check-prefix=TIES
// TIES: check result 0: passed
// TIES: check result 1: passed: max abs {{.*}} (allowed {{[0-9.]+}}e-05)

//--- uniform.mlir
!t = tensor<1x1x8x4xf32>
!s = tensor<1x1x8x6xf32>
func.func @uniform(%q: !t, %k: tensor<1x1x6x4xf32>)
    -> (tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xi32>) {
  %s = attn.qk %q, %k : !t, tensor<1x1x6x4xf32> -> !s
  %p = attn.masked_softmax %s : !s
  %c, %m, %e, %w, %i = attn.weight_stats %p column_sums row_max entropy top_k 2 : !s
    -> tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xi32>
  return %c, %m, %e, %w, %i
    : tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xi32>
}

//--- large.mlir
!t = tensor<1x1x8x4xf32>
!s = tensor<1x1x8x6xf32>
func.func @large(%q: !t, %k: tensor<1x1x6x4xf32>)
    -> (tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xi32>) {
  %s = attn.qk %q, %k : !t, tensor<1x1x6x4xf32> -> !s
  %t = attn.scale %s by 256.0 : !s
  %p = attn.masked_softmax %t : !s
  %c, %m, %e, %w, %i = attn.weight_stats %p column_sums row_max entropy top_k 2 : !s
    -> tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xi32>
  return %c, %m, %e, %w, %i
    : tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xi32>
}

//--- ties.mlir
!t = tensor<1x1x8x32xf32>
!k = tensor<1x1x64x32xf32>
!s = tensor<1x1x8x64xf32>
func.func @ties(%q: !t, %k: !k) -> (tensor<1x1x8x5xf32>, tensor<1x1x8x5xi32>) {
  %s = attn.qk %q, %k : !t, !k -> !s
  %p = attn.masked_softmax %s : !s
  %w, %i = attn.weight_stats %p top_k 5 : !s -> tensor<1x1x8x5xf32>, tensor<1x1x8x5xi32>
  return %w, %i : tensor<1x1x8x5xf32>, tensor<1x1x8x5xi32>
}

//--- padded.mlir
!t = tensor<1x1x8x4xf32>
!k = tensor<1x1x6x4xf32>
!s = tensor<1x1x8x6xf32>
func.func @padded(%q: !t, %k: !k, %bias: tensor<8x1xf32>)
    -> (tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xi32>, !t) {
  %s = attn.qk %q, %k : !t, !k -> !s
  %b = attn.bias %s, %bias : !s, tensor<8x1xf32>
  %p = attn.masked_softmax %b : !s
  %o = attn.weighted_sum %p, %k : !s, !k -> !t
  %c, %m, %e, %w, %i = attn.weight_stats %p column_sums row_max entropy top_k 2 : !s
    -> tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xi32>
  return %c, %m, %e, %w, %i, %o
    : tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>, tensor<1x1x8x2xf32>, tensor<1x1x8x2xi32>, !t
}

//--- places.mlir
!t = tensor<1x1x2x4xf32>
!s = tensor<1x1x2x2xf32>
func.func @places(%q: !t, %k: !t) -> (tensor<1x1x2x4xf32>, tensor<1x1x2x4xi32>) {
  %s = attn.qk %q, %k : !t, !t -> !s
  %p = attn.masked_softmax %s causal(top_left) : !s
  %w, %i = attn.weight_stats %p top_k 4 : !s -> tensor<1x1x2x4xf32>, tensor<1x1x2x4xi32>
  return %w, %i : tensor<1x1x2x4xf32>, tensor<1x1x2x4xi32>
}

//--- given.mlir
func.func @given(%p: tensor<1x2x3x4xf32>) -> tensor<1x2x4xf32> {
  %c = attn.weight_stats %p column_sums : tensor<1x2x3x4xf32> -> tensor<1x2x4xf32>
  return %c : tensor<1x2x4xf32>
}

//--- pages.mlir
func.func @pages(%q: tensor<?x1x?x8xf32>, %k: tensor<?x1x4x8xf32>, %table: tensor<?x?xi32>,
                 %init: tensor<?x1x?xf32>) -> tensor<?x1x?xf32> {
  %c = attn.attention_stats ins(%q, %k : tensor<?x1x?x8xf32>, tensor<?x1x4x8xf32>) scale 1.0
      table(%table : tensor<?x?xi32>) column_sums(%init : tensor<?x1x?xf32>) score {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %one = arith.constant 1.0 : f32
    attn.yield %one : f32
  } -> tensor<?x1x?xf32>
  return %c : tensor<?x1x?xf32>
}

//--- cached.mlir
!q = tensor<?x4x?x32xf32>
!pool = tensor<?x2x16x32xf32>
!k = tensor<?x2x?x32xf32>
!s = tensor<?x4x?x?xf32>
!row = tensor<?x4x?xf32>
func.func @cached(%q: !q, %pool: !pool, %table: tensor<?x?xi32>, %lengths: tensor<?xi32>)
    -> (!row, tensor<?x4x?x2xf32>, tensor<?x4x?x2xi32>) {
  %k8, %scale = attn.quantize %pool : !pool
  %pages = attn.dequantize %k8, %scale : tensor<?x2x16x32xi8>, tensor<?x2x16xf32> -> !pool
  %k = attn.gather_pages %pages, %table : !pool, tensor<?x?xi32> -> !k
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.scale %s by 0.25 : !s
  %p = attn.masked_softmax %t lengths(%lengths : tensor<?xi32>) : !s
  %c, %w, %i = attn.weight_stats %p column_sums top_k 2 : !s -> !row, tensor<?x4x?x2xf32>, tensor<?x4x?x2xi32>
  return %c, %w, %i : !row, tensor<?x4x?x2xf32>, tensor<?x4x?x2xi32>
}

//--- additive.mlir
!q = tensor<?x4x?x24xf32>
!k = tensor<?x2x?x24xf32>
!s = tensor<?x4x?x?xf32>
!row = tensor<?x4x?xf32>
func.func @additive(%q: !q, %k: !k, %w: tensor<4x24xf32>) -> (!q, !row, !row, !row) {
  %s = attn.additive_scores %q, %k, %w : !q, !k, tensor<4x24xf32> -> !s
  %p = attn.masked_softmax %s causal(bottom_right) : !s
  %o = attn.weighted_sum %p, %k : !s, !k -> !q
  %c, %m, %e = attn.weight_stats %p column_sums row_max entropy : !s -> !row, !row, !row
  return %o, %c, %m, %e : !q, !row, !row, !row
}

//--- double.mlir
!q = tensor<?x4x?x24xf64>
!k = tensor<?x2x?x24xf64>
!s = tensor<?x4x?x?xf64>
!row = tensor<?x4x?xf64>
!top = tensor<?x4x?x3xf64>
!keys = tensor<?x4x?x3xi32>
func.func @double(%q: !q, %k: !k) -> (!row, !row, !row, !top, !keys, !row) {
  %s = attn.qk %q, %k : !q, !k -> !s
  %p = attn.masked_softmax %s causal(bottom_right) : !s
  %c, %m, %e, %w, %i = attn.weight_stats %p column_sums row_max entropy top_k 3 : !s -> !row, !row, !row, !top, !keys
  %x = attn.probability_map %p : !s {
  ^bb0(%p0: f64, %b: index, %h: index, %r: index, %j: index):
    %y = arith.mulf %p0, %p0 : f64
    attn.yield %y : f64
  }
  %f = attn.weight_stats %x entropy : !s -> !row
  return %c, %m, %e, %w, %i, %f : !row, !row, !row, !top, !keys, !row
}

//--- narrow.mlir
!q = tensor<1x4x?x40xbf16>
!s = tensor<1x4x?x?xf32>
!r = tensor<1x4x?xf32>
func.func @narrow(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "S", ""]},
                  %v: !q {attn.dims = ["", "", "S", ""]}) -> (!q, !r, !r, !r) {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.scale %s by 0.158 : !s
  %p = attn.masked_softmax %t causal(top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  %c, %m, %e = attn.weight_stats %p column_sums row_max entropy : !s -> !r, !r, !r
  return %o, %c, %m, %e : !q, !r, !r, !r
}
