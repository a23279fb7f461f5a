// The recurrence is a loop over the tokens with one state a key head.

// RUN: attn-opt %s --attn-to-linalg --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-to-linalg=keep=linear_attention --split-input-file \
// RUN:   --remark-policy=all --remarks-filter-missed=attn --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=KEEP

// CHECK-LABEL: func.func @gated_delta
// CHECK: %[[Q:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2], [3], [4]] {{.*}} into tensor<?x2x2x?x8xbf16>
// CHECK: scf.for %[[T:.*]] = %{{.*}} to %{{.*}} -> (tensor<?x2x8x4xf32>, tensor<?x2x2x?x4xbf16>) {
// CHECK: tensor.extract_slice %{{.*}}[0, 0, %[[T]], 0] {{.*}} to tensor<?x2x8xbf16>
// The gates, what the state has for the key, the update, and what queries read.
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: arith.mulf
// CHECK: linalg.generic
// CHECK: arith.subf
// CHECK: linalg.generic
// CHECK: tensor.insert_slice
// CHECK: scf.yield
// CHECK: tensor.collapse_shape
// KEEP: attn.linear_attention is not fused: there is no kernel for its types
// KEEP-LABEL: func.func @gated_delta
// KEEP: attn.linear_attention
// KEEP-NOT: scf.for
func.func @gated_delta(%q: tensor<?x4x?x8xbf16>, %k: tensor<?x2x?x8xbf16>, %v: tensor<?x2x?x4xbf16>,
                       %o: tensor<?x4x?x4xbf16>, %s: tensor<?x2x8x4xf32>, %g: tensor<?x2x?xbf16>, %b: tensor<?x2x?xbf16>)
    -> (tensor<?x4x?x4xbf16>, tensor<?x2x8x4xf32>) {
  %0:2 = attn.linear_attention ins(%q, %k, %v : tensor<?x4x?x8xbf16>, tensor<?x2x?x8xbf16>, tensor<?x2x?x4xbf16>)
      outs(%o, %s : tensor<?x4x?x4xbf16>, tensor<?x2x8x4xf32>) scale 0.5
      decay(%g : tensor<?x2x?xbf16>) beta(%b : tensor<?x2x?xbf16>) initial(%s : tensor<?x2x8x4xf32>)
      -> tensor<?x4x?x4xbf16>, tensor<?x2x8x4xf32>
  return %0#0, %0#1 : tensor<?x4x?x4xbf16>, tensor<?x2x8x4xf32>
}

// -----

// There is no kernel for f64: kept or not, it is lowered.
// CHECK-LABEL: func.func @f64
// CHECK: scf.for
// CHECK-NOT: math.exp
// KEEP-LABEL: func.func @f64
// KEEP: scf.for
func.func @f64(%q: tensor<?x2x?x8xf64>) -> tensor<?x2x?x8xf64> {
  %0 = attn.linear_attention ins(%q, %q, %q : tensor<?x2x?x8xf64>, tensor<?x2x?x8xf64>, tensor<?x2x?x8xf64>) outs(%q : tensor<?x2x?x8xf64>) scale 0.5 -> tensor<?x2x?x8xf64>
  return %0 : tensor<?x2x?x8xf64>
}
