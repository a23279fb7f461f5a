// Slices with steps that drop dimensions.

// RUN: attn-run %s --function=insert --input=ones --input=zeros --input=1 --check | FileCheck %s --check-prefix=INSERT
// RUN: attn-run %s --function=insert --input=ones --input=zeros --input=1 --twin | FileCheck %s --check-prefix=INSERT
// INSERT: 1 1 1 0 1 1

// RUN: %tensors %t.x.npy f32 1x4x6 "n"
// RUN: attn-run %s --function=extract --input=%t.x.npy --input=1 --check | FileCheck %s --check-prefix=EXTRACT
// EXTRACT: 6 8 10
// EXTRACT: check result 0: passed

func.func @insert(%x: tensor<3x2xf32>, %y: tensor<1xf32>, %n: index) -> tensor<3x2xf32> {
  %e = math.absf %x : tensor<3x2xf32>
  %r = tensor.insert_slice %y into %e[%n, %n] [1, 1] [2, 1] : tensor<1xf32> into tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

func.func @extract(%x: tensor<1x4x6xf32>, %n: index) -> tensor<1x3xf32> {
  %s = tensor.extract_slice %x[0, %n, 0] [1, 1, 3] [1, 2, 2] : tensor<1x4x6xf32> to tensor<1x3xf32>
  %r = math.absf %s : tensor<1x3xf32>
  return %r : tensor<1x3xf32>
}
