// A shape function runs: result extents, or the number of the first failed
// check and its two values. Its machine signature is three plain pointers.

// RUN: attn-opt %s --attn-generate-shape-functions | sed -e '/^module/d' -e '/^}$/d' > %t.mlir
// RUN: cat %S/Inputs/chain-main.mlir >> %t.mlir
// RUN: attn-opt %t.mlir --symbol-privatize=exclude=main,__attn_shape_chain --symbol-dce \
// RUN:   --convert-vector-to-scf --convert-vector-to-llvm --convert-scf-to-cf \
// RUN:   --convert-to-llvm --reconcile-unrealized-casts -o %t.llvm.mlir
// RUN: FileCheck %s --check-prefix=LLVM --input-file=%t.llvm.mlir
// RUN: mlir-runner %t.llvm.mlir -e main --entry-point-result=void --shared-libs=%runner_libs | FileCheck %s

// LLVM: llvm.func @__attn_shape_chain(%{{[^,]*}}: !llvm.ptr, %{{[^,]*}}: !llvm.ptr, %{{[^,]*}}: !llvm.ptr) -> i64

// All extents agree; head counts are 8, 4 and 2.
// CHECK: 0
// CHECK-NEXT: ( 2, 8, 5, 32 )
// No batch element, no query and no key.
// CHECK-NEXT: 0
// CHECK-NEXT: ( 0, 8, 0, 32 )
// The batch extents of q and k; the later mismatch of v is not looked at.
// CHECK-NEXT: 1
// CHECK-NEXT: ( 2, 3 )
// Three key heads for eight query heads, then none.
// CHECK-NEXT: 3
// CHECK-NEXT: ( 8, 3 )
// CHECK-NEXT: 3
// CHECK-NEXT: ( 8, 0 )
// As many keys as values.
// CHECK-NEXT: 6
// CHECK-NEXT: ( 5, 6 )
func.func @chain(%q: tensor<?x?x?x64xf32> {attn.name = "q", attn.dims = ["B", "", "S", ""]},
                 %k: tensor<?x?x?x64xf32> {attn.name = "k", attn.dims = ["B", "", "S", ""]},
                 %v: tensor<?x?x?x32xf32> {attn.name = "v"}) -> tensor<?x?x?x32xf32> {
  %0 = attn.qk %q, %k : tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32> -> tensor<?x?x?x?xf32>
  %1 = attn.masked_softmax %0 causal(top_left) : tensor<?x?x?x?xf32>
  %2 = attn.weighted_sum %1, %v : tensor<?x?x?x?xf32>, tensor<?x?x?x32xf32> -> tensor<?x?x?x32xf32>
  return %2 : tensor<?x?x?x32xf32>
}
