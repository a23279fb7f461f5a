// Rotations of every type are right: kernels turn in f32, plain loops the rest.

// RUN: split-file %s %t
// RUN: attn-run %t/angles.mlir --function=f32 --input=random --input=random:seed=2 --input=random:seed=3 --check | FileCheck %s
// RUN: attn-run %t/angles.mlir --function=f64 --input=random --input=random:seed=2 --input=random:seed=3 --check | FileCheck %s
// RUN: attn-run %t/angles.mlir --function=bf16 --input=random --input=random:seed=2 --input=random:seed=3 --check | FileCheck %s
// RUN: attn-run %t/angles.mlir --function=rows --input=random --input=random:seed=2 --input=random:seed=3 --check | FileCheck %s
// RUN: attn-run %t/angles.mlir --function=tables --input=random --check | FileCheck %s
// CHECK: check result 0: passed
// CHECK-NOT: FAILED

// Numbers that stand for no position turn by some angle, and do not stretch.
// RUN: %tensors %t/i.npy i64 1x4 "[-2**63, 2**63 - 1, 2**60, -2**60][b]"
// RUN: attn-run %t/far.mlir --input=ones --input=%t/i.npy | FileCheck %s --check-prefix=FAR
// RUN: attn-run %t/far.mlir --input=ones --input=%t/i.npy --target=x86-64 | FileCheck %s --check-prefix=FAR
// FAR: result 0: f32 [1, 2, 4, 8], min {{-?[01](\.[0-9]+)?}}, max {{-?[01](\.[0-9]+)?}},

//--- angles.mlir
func.func @f32(%x: tensor<2x3x70x14xf32>, %c: tensor<70x3xf32>, %s: tensor<70x3xf32>) -> tensor<2x3x70x14xf32> {
  %r = attn.rotate ins(%x : tensor<2x3x70x14xf32>) by half(%c, %s : tensor<70x3xf32>, tensor<70x3xf32>) outs(%x : tensor<2x3x70x14xf32>) -> tensor<2x3x70x14xf32>
  return %r : tensor<2x3x70x14xf32>
}
func.func @f64(%x: tensor<2x3x70x14xf32>, %c: tensor<70x3xf64>, %s: tensor<70x3xf64>) -> tensor<2x3x70x14xf32> {
  %r = attn.rotate ins(%x : tensor<2x3x70x14xf32>) by interleaved(%c, %s : tensor<70x3xf64>, tensor<70x3xf64>) outs(%x : tensor<2x3x70x14xf32>) -> tensor<2x3x70x14xf32>
  return %r : tensor<2x3x70x14xf32>
}
func.func @bf16(%x: tensor<2x3x70x14xf32>, %c: tensor<70x3xbf16>, %s: tensor<70x3xbf16>) -> tensor<2x3x70x14xf32> {
  %r = attn.rotate ins(%x : tensor<2x3x70x14xf32>) by interleaved(%c, %s : tensor<70x3xbf16>, tensor<70x3xbf16>) outs(%x : tensor<2x3x70x14xf32>) -> tensor<2x3x70x14xf32>
  return %r : tensor<2x3x70x14xf32>
}
func.func @rows(%x: tensor<2x3x70x14xf64>, %c: tensor<70x3xf32>, %s: tensor<70x3xf32>) -> tensor<2x3x70x14xf64> {
  %r = attn.rotate ins(%x : tensor<2x3x70x14xf64>) by half(%c, %s : tensor<70x3xf32>, tensor<70x3xf32>) outs(%x : tensor<2x3x70x14xf64>) -> tensor<2x3x70x14xf64>
  return %r : tensor<2x3x70x14xf64>
}
func.func @tables(%f: tensor<3xf64>) -> (tensor<70x3xf64>, tensor<70x3xf64>) {
  %e = tensor.empty() : tensor<70x3xf64>
  %c, %s = attn.rope_tables frequencies(%f : tensor<3xf64>) outs(%e, %e : tensor<70x3xf64>, tensor<70x3xf64>) -> tensor<70x3xf64>, tensor<70x3xf64>
  return %c, %s : tensor<70x3xf64>, tensor<70x3xf64>
}
//--- far.mlir
func.func @far(%x: tensor<1x2x4x8xf32>, %i: tensor<1x4xi64>) -> tensor<1x2x4x8xf32> {
  %r = attn.rope %x half rotary_dim 8 positions(%i : tensor<1x4xi64>) : tensor<1x2x4x8xf32>
  return %r : tensor<1x2x4x8xf32>
}
