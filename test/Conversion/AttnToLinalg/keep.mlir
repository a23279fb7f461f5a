// On the fast path only what did not fuse is lowered, with a remark.

// RUN: attn-opt %s --attn-to-linalg=keep=split_heads,merge_heads \
// RUN:   --remark-policy=all --remarks-filter-missed=attn --remark-format=emitRemark 2>&1 | FileCheck %s
// RUN: attn-opt %s --attn-to-linalg \
// RUN:   --remark-policy=all --remarks-filter-missed=attn --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=TWIN

// CHECK-DAG:   Function=unfused{{.*}}attn.qk is not fused: its scores take O(Sq*Skv) memory
// CHECK-DAG:   Function=unfused{{.*}}attn.masked_softmax is not fused
// CHECK-NOT:   attn.rope is not fused
// CHECK-LABEL: func.func @unfused
// CHECK:       attn.split_heads
// CHECK-NOT:   attn.rope
// CHECK-NOT:   attn.qk

// TWIN-NOT: is not fused
// TWIN-NOT: attn.split_heads
func.func @unfused(%x: tensor<?x?x64xf32>) -> tensor<?x8x?x?xf32> {
  %q = attn.split_heads %x {num_heads = 8} : tensor<?x?x64xf32> -> tensor<?x8x?x8xf32>
  %r = attn.rope %q half rotary_dim 8 : tensor<?x8x?x8xf32>
  %s = attn.qk %r, %r : tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s causal(top_left) : tensor<?x8x?x?xf32>
  return %p : tensor<?x8x?x?xf32>
}
