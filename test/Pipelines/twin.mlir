// The twin ends in the LLVM dialect; its memory comes through the hooks.

// RUN: attn-opt %s --attn-twin | FileCheck %s
// RUN: attn-opt %s --attn-twin=f64=true | FileCheck %s --check-prefix=F64

// CHECK-DAG:   llvm.func @_mlir_memref_to_llvm_alloc(i64) -> !llvm.ptr
// CHECK-DAG:   llvm.func @_mlir_memref_to_llvm_free(!llvm.ptr)
// CHECK-LABEL: llvm.func @causal
// CHECK-NOT:   llvm.func @helper
// CHECK:       llvm.func @_mlir_ciface_causal(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK-NOT:   builtin.unrealized_conversion_cast
// CHECK-NOT:   @helper

// F64:     llvm.func @causal
// F64-NOT: f32
// F64:     llvm.func @_mlir_ciface_causal
func.func @causal(%q: tensor<?x8x?x32xf32>, %k: tensor<?x2x?x32xf32>, %v: tensor<?x2x?x32xf32>) -> tensor<?x8x?x32xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x32xf32>, tensor<?x2x?x32xf32> -> tensor<?x8x?x?xf32>
  %t = func.call @helper(%s) : (tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %t causal(top_left) : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<?x8x?x?xf32>, tensor<?x2x?x32xf32> -> tensor<?x8x?x32xf32>
  return %o : tensor<?x8x?x32xf32>
}

func.func private @helper(%s: tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32> {
  %t = attn.scale %s by 0.17677669529663687 : tensor<?x8x?x?xf32>
  %u = attn.softcap %t at 30.0 : tensor<?x8x?x?xf32>
  return %u : tensor<?x8x?x?xf32>
}
