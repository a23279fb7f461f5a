// One extent is split into several parts that are known at run time only: the
// fast path and the twins, in row-major and in strided memory.

// DEFINE: %{inputs} =
// DEFINE: %{out} = %t.out.npy
// DEFINE: %{run} = attn-run %s --check %{inputs} --output=%{out}
// RUN: %tensors %t.x.npy f32 6x4 "n"

// The elements keep their row-major order.
// REDEFINE: %{inputs} = --function=middle --input=%t.x.npy --input=2 --input=3
// RUN: %{run} | FileCheck %s
// RUN: %tensors --compare %t.out.npy 2x3x4 "n" 0
// REDEFINE: %{inputs} = --function=middle --input=%t.x.npy --input=6 --input=1
// RUN: %{run} | FileCheck %s
// RUN: %tensors --compare %t.out.npy 6x1x4 "n" 0

// Three unknown parts and a known one.
// REDEFINE: %{inputs} = --function=four --input=%t.x.npy --input=2 --input=1 --input=3
// RUN: %{run} | FileCheck %s
// RUN: %tensors --compare %t.out.npy 2x1x2x3x2 "n + 1" 0

// Two groups at once, and one that upstream can do beside one that it cannot.
// REDEFINE: %{inputs} = --function=both --input=%t.x.npy --input=3 --input=2 --input=1 --input=4
// RUN: %{run} | FileCheck %s
// RUN: %tensors --compare %t.out.npy 3x2x1x4 "n" 0
// REDEFINE: %{inputs} = --function=mixed --input=%t.x.npy --input=3 --input=2 --input=2
// RUN: %{run} | FileCheck %s
// RUN: %tensors --compare %t.out.npy 3x2x2x2 "n" 0

// A slice of every second row and of columns 1 and 2: its rows are 8 elements
// apart.
// REDEFINE: %{inputs} = --function=strided --input=%t.x.npy --input=3 --input=1
// RUN: %{run} | FileCheck %s
// RUN: %tensors --compare %t.out.npy 3x1x2 "8 * a + c + 1" 0

// No elements.
// REDEFINE: %{inputs} = --function=middle --input=zeros:0x4 --input=0 --input=3
// RUN: %{run} | FileCheck %s
// RUN: %tensors --print %t.out.npy | FileCheck %s --check-prefix=EMPTY

// CHECK: check result 0: passed: max abs 0 
// EMPTY: (0, 3, 4)

// Parts that do not make the whole, and a product that wraps around.
// REDEFINE: %{inputs} = --function=middle --input=%t.x.npy --input=2 --input=4
// RUN: %exits 1 %{run} | FileCheck %s --check-prefix=PARTS
// PARTS: error: extent 0 of the operand ('x') of tensor.expand_shape is 6 but its parts make 8
// REDEFINE: %{inputs} = --function=middle --input=%t.x.npy --input=4294967296 --input=4294967296
// RUN: %exits 1 %{run} | FileCheck %s --check-prefix=WRAPS
// WRAPS: error: size 0 of tensor.expand_shape is 4294967296, more than 16777216

func.func @middle(%x: tensor<?x4xf32>, %b: index, %s: index) -> tensor<?x?x4xf32> {
  %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [%b, %s, 4] : tensor<?x4xf32> into tensor<?x?x4xf32>
  return %0 : tensor<?x?x4xf32>
}

func.func @four(%x: tensor<?x4xf32>, %a: index, %b: index, %c: index) -> tensor<?x?x2x?x2xf32> {
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>
  %c0 = arith.constant 0 : index
  %n = tensor.dim %0, %c0 : tensor<?xf32>
  %init = tensor.empty(%n) : tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (0)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      ins(%0, %one : tensor<?xf32>, tensor<1xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%e: f32, %o: f32, %unused: f32):
    %sum = arith.addf %e, %o : f32
    linalg.yield %sum : f32
  } -> tensor<?xf32>
  %2 = tensor.expand_shape %1 [[0, 1, 2, 3, 4]] output_shape [%a, %b, 2, %c, 2] : tensor<?xf32> into tensor<?x?x2x?x2xf32>
  return %2 : tensor<?x?x2x?x2xf32>
}

func.func @both(%x: tensor<?x?xf32>, %a: index, %b: index, %c: index, %d: index) -> tensor<?x?x?x?xf32> {
  %0 = tensor.expand_shape %x [[0, 1], [2, 3]] output_shape [%a, %b, %c, %d] : tensor<?x?xf32> into tensor<?x?x?x?xf32>
  return %0 : tensor<?x?x?x?xf32>
}

func.func @mixed(%x: tensor<?x?xf32>, %a: index, %b: index, %c: index) -> tensor<?x?x?x2xf32> {
  %0 = tensor.expand_shape %x [[0, 1], [2, 3]] output_shape [%a, %b, %c, 2] : tensor<?x?xf32> into tensor<?x?x?x2xf32>
  return %0 : tensor<?x?x?x2xf32>
}

func.func @strided(%x: tensor<?x4xf32>, %a: index, %b: index) -> tensor<?x?x2xf32> {
  %rows = arith.muli %a, %b : index
  %0 = tensor.extract_slice %x[0, 1] [%rows, 2] [2, 1] : tensor<?x4xf32> to tensor<?x2xf32>
  %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [%a, %b, 2] : tensor<?x2xf32> into tensor<?x?x2xf32>
  return %1 : tensor<?x?x2xf32>
}
