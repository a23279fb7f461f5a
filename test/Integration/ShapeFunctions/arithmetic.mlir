// Extents that the entry computes from a scalar argument, hostile ones too: a
// divisor of 0 does not trap, and a product that wraps around is no match.

// RUN: attn-opt %s --attn-generate-shape-functions | sed -e '/^module/d' -e '/^}$/d' > %t.mlir
// RUN: cat %S/Inputs/arithmetic-main.mlir >> %t.mlir
// RUN: attn-opt %t.mlir --symbol-privatize=exclude=main,__attn_shape_arithmetic --symbol-dce \
// RUN:   --convert-vector-to-scf --convert-vector-to-llvm --convert-scf-to-cf \
// RUN:   --convert-to-llvm --reconcile-unrealized-casts \
// RUN:   | mlir-runner -e main --entry-point-result=void --shared-libs=%runner_libs | FileCheck %s

// 8 columns are 2 x 4, and 5 rows over 2 are 2.
// CHECK: 0
// CHECK-NEXT: ( 5, 2, 4, 2 )
// 3 x 4 are 12 columns.
// CHECK-NEXT: 4
// CHECK-NEXT: ( 8, 12 )
// The divisor is 0, -1, then the lowest integer.
// CHECK-NEXT: 1
// CHECK-NEXT: ( 1, 0 )
// CHECK-NEXT: 1
// CHECK-NEXT: ( 1, -1 )
// CHECK-NEXT: 1
// CHECK-NEXT: ( 1, -9223372036854775808 )
// 2^62 x 4 wraps around to the 0 columns that there are.
// CHECK-NEXT: 3
// CHECK-NEXT: ( 4611686018427387904, 2147483647 )
func.func @arithmetic(%x: tensor<?x?xf32>, %n: i64) -> (tensor<?x?x4xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %size = arith.index_cast %n : i64 to index
  %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
  %0 = tensor.expand_shape %x [[0], [1, 2]] output_shape [%rows, %size, 4] : tensor<?x?xf32> into tensor<?x?x4xf32>
  %quotient = arith.divsi %rows, %size : index
  %1 = tensor.empty(%quotient) : tensor<?xf32>
  return %0, %1 : tensor<?x?x4xf32>, tensor<?xf32>
}
