// The driver knows the attn dialect, and upstream dialects and passes.

// RUN: attn-opt --show-dialects | FileCheck %s --check-prefix=DIALECTS
// RUN: attn-opt %s --canonicalize | FileCheck %s
// RUN: not attn-opt %s --no-such-pass 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// DIALECTS: attn
// DIALECTS: linalg

// UNKNOWN: Unknown command line argument '--no-such-pass'

// CHECK-LABEL: func.func @identity
// CHECK-NEXT: return
func.func @identity(%scores: tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32> {
  %result = attn.scale %scores by 1.0 : tensor<?x8x?x?xf32>
  return %result : tensor<?x8x?x?xf32>
}
