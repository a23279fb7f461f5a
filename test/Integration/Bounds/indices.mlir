// Indices that come from outside never leave their tensor. What follows from
// scalar arguments is refused before the run; what is data reads the nearest
// element, or writes nothing. The fast path and the twins agree.

// DEFINE: %{inputs} =
// DEFINE: %{run} = attn-run %s --check %{inputs}
// DEFINE: %{bad} = %exits 1 attn-run %s %{inputs}
// RUN: %tensors %t.x.npy f32 4 "n + 1"

// Scalars: the first and the last element, then ones beyond them.
// REDEFINE: %{inputs} = --function=extract --input=%t.x.npy --input=0
// RUN: %{run} | FileCheck %s --check-prefix=FIRST
// FIRST: result 0: f32 [1], min 1, max 1
// FIRST: check result 0: passed
// REDEFINE: %{inputs} = --function=extract --input=%t.x.npy --input=3
// RUN: %{run} | FileCheck %s --check-prefix=LAST
// LAST: result 0: f32 [1], min 4, max 4
// LAST: check result 0: passed
// REDEFINE: %{inputs} = --function=extract --input=%t.x.npy --input=4
// RUN: %{bad} | FileCheck %s --check-prefix=BEYOND
// BEYOND: error: index 0 of tensor.extract is 4, more than the last one ('x'), 3
// REDEFINE: %{inputs} = --function=extract --input=%t.x.npy --input=4503599627370496
// RUN: %{bad} | FileCheck %s --check-prefix=HUGE
// HUGE: error: index 0 of tensor.extract is 4503599627370496, more than the last one ('x'), 3
// REDEFINE: %{inputs} = --function=extract --input=%t.x.npy --input=-1
// RUN: %{bad} | FileCheck %s --check-prefix=BEFORE
// BEFORE: error: index 0 of tensor.extract is -1, less than 0
// REDEFINE: %{inputs} = --function=extract --input=zeros:0 --input=0
// RUN: %{bad} | FileCheck %s --check-prefix=NONE
// NONE: error: index 0 of tensor.extract is 0, more than the last one ('x'), -1

// REDEFINE: %{inputs} = --function=insert --input=%t.x.npy --input=3
// RUN: %{run} --output=%t.insert.npy | FileCheck %s --check-prefix=PASSED
// RUN: %tensors --compare %t.insert.npy 4 "[2, 4, 6, 7][a]" 0
// PASSED: check result 0: passed: max abs 0 
// REDEFINE: %{inputs} = --function=insert --input=%t.x.npy --input=-3
// RUN: %{bad} | FileCheck %s --check-prefix=WBEFORE
// WBEFORE: error: index 0 of tensor.insert is -3, less than 0
// REDEFINE: %{inputs} = --function=insert --input=%t.x.npy --input=500000
// RUN: %{bad} | FileCheck %s --check-prefix=WBEYOND
// WBEYOND: error: index 0 of tensor.insert is 500000, more than the last one, 3

// An index computed from arguments and extents.
// REDEFINE: %{inputs} = --function=from_end --input=%t.x.npy --input=1
// RUN: %{run} | FileCheck %s --check-prefix=LAST
// REDEFINE: %{inputs} = --function=from_end --input=%t.x.npy --input=5
// RUN: %{bad} | FileCheck %s --check-prefix=BEFORE

// Padding.
// REDEFINE: %{inputs} = --function=pad --input=%t.x.npy --input=2 --input=1
// RUN: %{run} --output=%t.pad.npy | FileCheck %s --check-prefix=PASSED
// RUN: %tensors --compare %t.pad.npy 7 "[0, 0, 1, 2, 3, 4, 0][a]" 0
// REDEFINE: %{inputs} = --function=pad --input=%t.x.npy --input=-2 --input=5
// RUN: %{bad} | FileCheck %s --check-prefix=LOW
// LOW: error: low padding 0 of tensor.pad is -2, less than 0
// REDEFINE: %{inputs} = --function=pad --input=%t.x.npy --input=5 --input=-2
// RUN: %{bad} | FileCheck %s --check-prefix=HIGH
// HIGH: error: high padding 0 of tensor.pad is -2, less than 0
// REDEFINE: %{inputs} = --function=pad --input=%t.x.npy --input=4503599627370496 --input=0
// RUN: %{bad} | FileCheck %s --check-prefix=WIDE
// WIDE: error: low padding 0 of tensor.pad is 4503599627370496, more than 2147483647

// Sizes of generated tensors.
// REDEFINE: %{inputs} = --function=sizes --input=-1 --input=4
// RUN: %{bad} | FileCheck %s --check-prefix=GENERATE
// GENERATE: error: size 0 of tensor.generate is -1, less than 0
// REDEFINE: %{inputs} = --function=sizes --input=4 --input=-1
// RUN: %{bad} | FileCheck %s --check-prefix=SPLAT
// SPLAT: error: size 0 of tensor.splat is -1, less than 0

// A dimension that an argument chooses.
// REDEFINE: %{inputs} = --function=dim --input=ones:2x3 --input=1
// RUN: %{run} | FileCheck %s --check-prefix=DIM
// DIM: result 0: i64 [1], min 3, max 3
// DIM: check result 0: passed
// REDEFINE: %{inputs} = --function=dim --input=ones:2x3 --input=1000000000
// RUN: %{bad} | FileCheck %s --check-prefix=RANK
// RANK: error: index of tensor.dim is 1000000000, more than the last dimension, 1
// REDEFINE: %{inputs} = --function=dim --input=ones:2x3 --input=-1
// RUN: %{bad} | FileCheck %s --check-prefix=NODIM
// NODIM: error: index of tensor.dim is -1, less than 0

// One that data chooses is the nearest.
// REDEFINE: %{inputs} = --function=dim_of_data --input=ones:2x3 --input=%t.far.npy
// RUN: %tensors %t.far.npy i64 1 "500000"
// RUN: %{run} | FileCheck %s --check-prefix=DIM

// Buffers whose numbers of bytes wrap around: to 0, in one and two extents, and
// to a few.
// REDEFINE: %{inputs} = --function=buffer --input=2 --input=3
// RUN: %{run} | FileCheck %s --check-prefix=BUFFER
// BUFFER: result 0: f32 [1], min 1, max 1
// BUFFER: check result 0: passed
// REDEFINE: %{inputs} = --function=buffer --input=4503599627370496 --input=1024
// RUN: %{bad} | FileCheck %s --check-prefix=MEMORY
// REDEFINE: %{inputs} = --function=buffer --input=2147483648 --input=2147483648
// RUN: %{bad} | FileCheck %s --check-prefix=MEMORY
// REDEFINE: %{inputs} = --function=buffer --input=4294967297 --input=4294967297
// RUN: %{bad} | FileCheck %s --check-prefix=MEMORY
// MEMORY: error: out of memory: 9223372036854775{{[0-9]+}} bytes asked for

// Token ids: the lowest and the highest integer read the first and last row.
// RUN: %tensors %t.ids.npy i64 6 "[1, -1, 2, 3, -2**63, 2**63 - 1][a]"
// RUN: %tensors %t.table.npy f32 3x4 "10 * a + b"
// REDEFINE: %{inputs} = --function=embedding --input=%t.ids.npy --input=%t.table.npy
// RUN: %{run} --output=%t.rows.npy | FileCheck %s --check-prefix=PASSED
// RUN: %tensors --compare %t.rows.npy 6x4 "10 * [1, 0, 2, 2, 0, 2][a] + b" 0

// A table without rows.
// REDEFINE: %{inputs} = --function=embedding --input=%t.ids.npy --input=zeros:0x4
// RUN: %{run} --output=%t.rows.npy | FileCheck %s --check-prefix=PASSED
// RUN: %tensors --compare %t.rows.npy 6x4 "0" 0

// Counts, by an index of data in a loop; foreign ids count nowhere.
// REDEFINE: %{inputs} = --function=histogram --input=%t.ids.npy
// RUN: %{run} --output=%t.counts.npy | FileCheck %s --check-prefix=PASSED
// RUN: %tensors --compare %t.counts.npy 4 "[0, 1, 1, 1][a]" 0

// The place of one element is data, in a tensor of any size.
// RUN: %tensors %t.one.npy i64 1 "1"
// RUN: %tensors %t.far.npy i64 1 "500000"
// RUN: %tensors %t.neg.npy i64 1 "-3"
// REDEFINE: %{inputs} = --function=scatter --input=%t.x.npy --input=%t.one.npy
// RUN: %{run} --output=%t.y.npy | FileCheck %s --check-prefix=PASSED
// RUN: %tensors --compare %t.y.npy 4 "[2, 7, 6, 8][a]" 0
// REDEFINE: %{inputs} = --function=scatter --input=%t.x.npy --input=%t.far.npy
// RUN: %{run} --output=%t.y.npy | FileCheck %s --check-prefix=PASSED
// RUN: %tensors --compare %t.y.npy 4 "2 * a + 2" 0
// REDEFINE: %{inputs} = --function=scatter --input=%t.x.npy --input=%t.neg.npy
// RUN: %{run} --output=%t.y.npy | FileCheck %s --check-prefix=PASSED
// RUN: %tensors --compare %t.y.npy 4 "2 * a + 2" 0
// REDEFINE: %{inputs} = --function=scatter --input=zeros:0 --input=%t.one.npy
// RUN: %{run} | FileCheck %s --check-prefix=EMPTY
// EMPTY: result 0: f32 [0], empty

// A loop over the rows of a tensor, whose slices are inside by its bounds.
// REDEFINE: %{inputs} = --function=rows --input=ones
// RUN: %{run} | FileCheck %s --check-prefix=ROWS
// ROWS: result 0: f32 [1, 4], min 5, max 5, mean 5
// ROWS: check result 0: passed

func.func @extract(%x: tensor<?xf32> {attn.name = "x"}, %i: index) -> tensor<1xf32> {
  %0 = tensor.extract %x[%i] : tensor<?xf32>
  %1 = tensor.from_elements %0 : tensor<1xf32>
  return %1 : tensor<1xf32>
}

func.func @insert(%x: tensor<4xf32>, %i: index) -> tensor<4xf32> {
  %f = arith.constant 7.0 : f32
  %0 = arith.addf %x, %x : tensor<4xf32>
  %1 = tensor.insert %f into %0[%i] : tensor<4xf32>
  return %1 : tensor<4xf32>
}

func.func @from_end(%x: tensor<?xf32>, %back: i64) -> tensor<1xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %b = arith.index_cast %back : i64 to index
  %i = arith.subi %n, %b : index
  %0 = tensor.extract %x[%i] : tensor<?xf32>
  %1 = tensor.from_elements %0 : tensor<1xf32>
  return %1 : tensor<1xf32>
}

func.func @pad(%x: tensor<?xf32>, %low: index, %high: index) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.pad %x low[%low] high[%high] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}

func.func @sizes(%n: index, %m: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %f = arith.constant 7.0 : f32
  %0 = tensor.generate %n {
  ^bb0(%i: index):
    tensor.yield %f : f32
  } : tensor<?xf32>
  %1 = tensor.splat %f[%m] : tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}

func.func @embedding(%ids: tensor<?xi64>, %table: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %ids, %c0 : tensor<?xi64>
  %init = tensor.empty(%n) : tensor<?x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<?xi64>) outs(%init : tensor<?x4xf32>) {
  ^bb0(%id: i64, %unused: f32):
    %row = arith.index_cast %id : i64 to index
    %column = linalg.index 1 : index
    %e = tensor.extract %table[%row, %column] : tensor<?x4xf32>
    linalg.yield %e : f32
  } -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

func.func @histogram(%ids: tensor<?xi64>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %ids, %c0 : tensor<?xi64>
  %init = tensor.splat %zero : tensor<4xf32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%counts = %init) -> tensor<4xf32> {
    %id = tensor.extract %ids[%i] : tensor<?xi64>
    %bin = arith.index_cast %id : i64 to index
    %count = tensor.extract %counts[%bin] : tensor<4xf32>
    %more = arith.addf %count, %one : f32
    %next = tensor.insert %more into %counts[%bin] : tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

func.func @scatter(%x: tensor<?xf32>, %place: tensor<1xi64>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %f = arith.constant 7.0 : f32
  %0 = arith.addf %x, %x : tensor<?xf32>
  %id = tensor.extract %place[%c0] : tensor<1xi64>
  %i = arith.index_cast %id : i64 to index
  %1 = tensor.insert %f into %0[%i] : tensor<?xf32>
  return %1 : tensor<?xf32>
}

func.func @dim(%x: tensor<?x?xf32>, %d: index) -> tensor<1xi64> {
  %n = tensor.dim %x, %d : tensor<?x?xf32>
  %0 = arith.index_cast %n : index to i64
  %1 = tensor.from_elements %0 : tensor<1xi64>
  return %1 : tensor<1xi64>
}

func.func @dim_of_data(%x: tensor<?x?xf32>, %which: tensor<1xi64>) -> tensor<1xi64> {
  %c0 = arith.constant 0 : index
  %w = tensor.extract %which[%c0] : tensor<1xi64>
  %d = arith.index_cast %w : i64 to index
  %n = tensor.dim %x, %d : tensor<?x?xf32>
  %0 = arith.index_cast %n : index to i64
  %1 = tensor.from_elements %0 : tensor<1xi64>
  return %1 : tensor<1xi64>
}

func.func @buffer(%n: index, %m: index) -> tensor<1xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %init = tensor.empty(%n, %m) : tensor<?x?xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%init : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = math.exp %0 : tensor<?x?xf32>
  %2 = tensor.extract %1[%c0, %c0] : tensor<?x?xf32>
  %3 = tensor.from_elements %2 : tensor<1xf32>
  return %3 : tensor<1xf32>
}

func.func @rows(%x: tensor<5x4xf32>) -> tensor<1x4xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %init = tensor.empty() : tensor<1x4xf32>
  %none = linalg.fill ins(%zero : f32) outs(%init : tensor<1x4xf32>) -> tensor<1x4xf32>
  %0 = scf.for %i = %c0 to %c5 step %c1 iter_args(%sum = %none) -> tensor<1x4xf32> {
    %s = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<1x4xf32>
    %1 = linalg.add ins(%sum, %s : tensor<1x4xf32>, tensor<1x4xf32>) outs(%sum : tensor<1x4xf32>) -> tensor<1x4xf32>
    scf.yield %1 : tensor<1x4xf32>
  }
  return %0 : tensor<1x4xf32>
}
