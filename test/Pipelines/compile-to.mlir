// --attn-compile-to stops after a phase; a wrong name lists the right ones.

// RUN: attn-opt %s --attn-compile-to=input | FileCheck %s
// RUN: not attn-opt %s --attn-compile-to=tile 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not attn-opt %s.missing --attn-compile-to=input 2>&1 | FileCheck %s --check-prefix=MISSING

// Bad usage is one line: no phase, no CPU, what would do nothing.
// RUN: %exits 1 attn-opt %s --attn-compile-to= | FileCheck %s --check-prefix=EMPTY
// RUN: %exits 1 attn-opt %s --attn-compile-to=vector --target=foo | FileCheck %s --check-prefix=TARGET
// RUN: %exits 1 attn-opt %s --attn-compile-to=vector --disable-feature=foo | FileCheck %s --check-prefix=FEATURE
// RUN: %exits 1 attn-opt %s --attn-compile-to=tiles --canonicalize | FileCheck %s --check-prefix=PASSES
// RUN: %exits 1 attn-opt %s --attn-compile-to=tiles "--pass-pipeline=builtin.module(canonicalize)" | FileCheck %s --check-prefix=PASSES
// RUN: %exits 1 attn-opt %s --canonicalize --target=x86-64 | FileCheck %s --check-prefix=ALONE
// EMPTY: error: unknown phase '', expected one of input,
// TARGET: error: {{.*}}foo
// FEATURE: error: {{.*}}foo
// PASSES: error: --attn-compile-to=tiles: expected no passes with it
// ALONE: error: --target: expected --attn-compile-to with it

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
