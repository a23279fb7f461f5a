// --attn-compile-to stops after a phase; a wrong name lists the right ones.

// RUN: attn-opt %s --attn-compile-to=input | FileCheck %s
// RUN: not attn-opt %s --attn-compile-to=tile 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not attn-opt %s.missing --attn-compile-to=input 2>&1 | FileCheck %s --check-prefix=MISSING

// UNKNOWN: error: unknown phase 'tile', expected one of input, fusion, schedule, tiles, vector, llvm
// MISSING: error: cannot open input file

// CHECK-LABEL: func.func @entry
// CHECK-NEXT:    attn.scale %arg0 by 5.000000e-01
// CHECK-NEXT:    return
// CHECK-NOT:   @helper
func.func @entry(%s: tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32> {
  %t = func.call @helper(%s) : (tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32>
  return %t : tensor<?x8x?x?xf32>
}

func.func private @helper(%s: tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32> {
  %t = attn.scale %s by 0.5 : tensor<?x8x?x?xf32>
  return %t : tensor<?x8x?x?xf32>
}
