// Linear attention with sizes known at run time only: fused against the twin in
// f64, over lengths of none, one, and some tokens.

// REQUIRES: attn-run
// DEFINE: %{example} = %S/../../Examples/linear-attention.mlir
// DEFINE: %{inputs} = --input=random:seed=1 --input=random:seed=2 --input=random:seed=3 --input=-0.1 --input=random:seed=4
// RUN: attn-run %{example} %{inputs} --dim=B=2 --dim=S=100 --check --require-fused | FileCheck %s
// RUN: attn-run %{example} %{inputs} --dim=B=1 --dim=S=1 --check --target=x86-64-v3 | FileCheck %s
// RUN: attn-run %{example} %{inputs} --dim=B=0 --dim=S=5 --check | FileCheck %s
// CHECK: check result 0: passed
// CHECK: check result 1: passed

// No tokens: the state passes through.
// RUN: attn-run %{example} --input=zeros --input=zeros --input=zeros --input=zeros --input=ones --dim=B=1 --dim=S=0 | FileCheck %s --check-prefix=NONE
// NONE: result 0: f32 [1, 8, 0, 64]
// NONE: result 1: f32 [1, 2, 64, 64], min 1, max 1

// Extents are checked at entry, by the names of the operands.
// RUN: sed 's/, attn.dims = \[[^]]*\]//' %{example} > %t.mlir
// RUN: not attn-run %t.mlir --input=ones:1x8x5x64 --input=ones:1x2x5x64 --input=ones:1x2x6x64 --input=zeros:1x2x5 --input=zeros:1x2x64x64 2>&1 | FileCheck %s --check-prefix=VALUES
// VALUES: sequence length of query ('q') is 5 but sequence length of value ('v') is 6
// RUN: not attn-run %t.mlir --input=ones:1x8x5x64 --input=ones:1x2x5x64 --input=ones:1x2x5x64 --input=zeros:1x2x4 --input=zeros:1x2x64x64 2>&1 | FileCheck %s --check-prefix=DECAY
// DECAY: sequence length of decay ('decay') is 4 but sequence length of key ('k') is 5
// RUN: not attn-run %t.mlir --input=ones:1x8x5x64 --input=ones:1x2x5x64 --input=ones:1x2x5x64 --input=zeros:1x2x5 --input=zeros:3x2x64x64 2>&1 | FileCheck %s --check-prefix=STATE
// STATE: batch extent of initial ('past') is 3 but batch extent of key ('k') is 1
