// Heads are split and merged by views: nothing is copied, and nothing but what
// no caller gave is allocated.

// RUN: attn-opt %s --attn-fuse --canonicalize --attn-results-to-outputs \
// RUN:   --eliminate-empty-tensors --attn-bufferize --canonicalize --cse | FileCheck %s

// The fused op writes the heads where the caller wants them merged.
// CHECK-LABEL: func.func @split_and_merge
// CHECK-SAME: (%[[X:.*]]: memref<?x?x256xf32, {{.*}}>, %[[OUT:.*]]: memref<?x?x256xf32>)
// CHECK-NOT: memref.alloc
// CHECK-NOT: copy
// CHECK: %[[HEADS:.*]] = memref.expand_shape %[[OUT]]
// CHECK: %[[SWAPPED:.*]] = memref.transpose %[[HEADS]]
// CHECK-NOT: copy
// CHECK: attn.attention {{.*}} outs(%[[SWAPPED]] :
// CHECK-NOT: copy
// CHECK: return
func.func @split_and_merge(%x: tensor<?x?x256xf32>) -> tensor<?x?x256xf32> {
  %q = attn.split_heads %x {num_heads = 8} : tensor<?x?x256xf32> -> tensor<?x8x?x32xf32>
  %s = attn.qk %q, %q : tensor<?x8x?x32xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %q : tensor<?x8x?x?xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x32xf32>
  %y = attn.merge_heads %o : tensor<?x8x?x32xf32> -> tensor<?x?x256xf32>
  return %y : tensor<?x?x256xf32>
}

// So it does where rows are made NaN after it.
// CHECK-LABEL: func.func @merge_nan_rows
// CHECK-SAME: %[[OUT:[^:,]*]]: memref<?x?x256xf32>)
// CHECK: %[[HEADS:.*]] = memref.expand_shape %[[OUT]]
// CHECK: %[[SWAPPED:.*]] = memref.transpose %[[HEADS]]
// CHECK: %[[LSE:.*]] = memref.alloc({{.*}}) {{.*}}: memref<?x8x?xf32>
// CHECK-NOT: memref.alloc
// CHECK-NOT: copy
// CHECK: attn.attention {{.*}} outs(%[[SWAPPED]], %[[LSE]] :
// CHECK: linalg.generic {{.*}} ins(%[[LSE]] : {{.*}}) outs(%[[SWAPPED]] :
// CHECK-NOT: copy
// CHECK: return
func.func @merge_nan_rows(%q: tensor<?x8x?x32xf32>, %k: tensor<?x8x?x32xf32>) -> tensor<?x?x256xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x32xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s causal(bottom_right) empty_row(nan) : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x32xf32>
  %y = attn.merge_heads %o : tensor<?x8x?x32xf32> -> tensor<?x?x256xf32>
  return %y : tensor<?x?x256xf32>
}

// A projection reads the merged heads from the buffer that they were written to.
// CHECK-LABEL: func.func @merge_and_project
// CHECK: %[[MERGED:.*]] = memref.alloc
// CHECK-NOT: memref.alloc
// CHECK-NOT: copy
// CHECK: attn.attention
// CHECK-NOT: memref.alloc
// CHECK-NOT: copy
// CHECK: linalg.generic {{.*}} ins(%[[MERGED]], %{{.*}} :
func.func @merge_and_project(%x: tensor<?x8x?x32xf32>, %w: tensor<256x16xf32>) -> tensor<?x?x16xf32> {
  %s = attn.qk %x, %x : tensor<?x8x?x32xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %x : tensor<?x8x?x?xf32>, tensor<?x8x?x32xf32> -> tensor<?x8x?x32xf32>
  %m = attn.merge_heads %o : tensor<?x8x?x32xf32> -> tensor<?x?x256xf32>
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %x, %c0 : tensor<?x8x?x32xf32>
  %n = tensor.dim %x, %c2 : tensor<?x8x?x32xf32>
  %y = tensor.empty(%b, %n) : tensor<?x?x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%y : tensor<?x?x16xf32>) -> tensor<?x?x16xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, s, n, k) -> (b, s, k)>, affine_map<(b, s, n, k) -> (k, n)>, affine_map<(b, s, n, k) -> (b, s, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%m, %w : tensor<?x?x256xf32>, tensor<256x16xf32>) outs(%f : tensor<?x?x16xf32>) {
  ^bb0(%a: f32, %e: f32, %c: f32):
    %t = arith.mulf %a, %e : f32
    %u = arith.addf %t, %c : f32
    linalg.yield %u : f32
  } -> tensor<?x?x16xf32>
  return %r : tensor<?x?x16xf32>
}

// Heads in another layout are copied once to be merged.
// CHECK-LABEL: func.func @merge_of_an_argument
// CHECK: linalg.copy
// CHECK-NOT: linalg.generic
func.func @merge_of_an_argument(%x: tensor<?x8x?x32xf32>) -> tensor<?x?x256xf32> {
  %m = attn.merge_heads %x : tensor<?x8x?x32xf32> -> tensor<?x?x256xf32>
  return %m : tensor<?x?x256xf32>
}
