// What keeps an entry from having a shape function.

// RUN: attn-opt %s --attn-generate-shape-functions -split-input-file -verify-diagnostics

func.func @contents(%sizes: tensor<i32>) -> tensor<?xf32> {
  // expected-error @+1 {{extents in 'contents' depend on 'tensor.extract', which does not follow from the extents of the arguments}}
  %size = tensor.extract %sizes[] : tensor<i32>
  %n = arith.index_cast %size : i32 to index
  %0 = tensor.empty(%n) : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// expected-error @+1 {{extents in 'float_size' depend on the float argument 'f'}}
func.func @float_size(%f: f32 {attn.name = "f"}) -> tensor<?xf32> {
  %size = arith.fptosi %f : f32 to i32
  %n = arith.index_cast %size : i32 to index
  %0 = tensor.empty(%n) : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func private @callee(%x: tensor<?xf32>) -> tensor<?xf32>
func.func @call(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{extent 0 of a result of 'func.call' cannot be computed from the extents of the arguments of 'call'}}
  %0 = func.call @callee(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @out_of_bounds(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c5 = arith.constant 5 : index
  // expected-error @+1 {{extent 5 of an argument or block argument cannot be computed from the extents of the arguments of 'out_of_bounds'}}
  %n = tensor.dim %x, %c5 : tensor<?xf32>
  %0 = tensor.empty(%n) : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @branch(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>, %c: i1) {
  scf.if %c {
    // expected-error @+1 {{'attn.qk' has run-time extents inside of 'scf.if', which cannot be checked}}
    %0 = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x?x?xf32>
  }
  return
}

// -----

// A mismatch that every call would meet is found now.
func.func @never(%x: tensor<3x4xf32>) -> tensor<?x5xf32> {
  %0 = tensor.cast %x : tensor<3x4xf32> to tensor<?x?xf32>
  // expected-error @+1 {{extent 1 of the operand of tensor.cast is 4 but the result type says 5}}
  %1 = tensor.cast %0 : tensor<?x?xf32> to tensor<?x5xf32>
  return %1 : tensor<?x5xf32>
}

// -----

// expected-error @+1 {{dimension 'S' is 3 in argument 'arg0' but 4 in argument 'arg1'}}
func.func @named(%x: tensor<3xf32> {attn.dims = ["S"]}, %y: tensor<4xf32> {attn.dims = ["S"]}) {
  return
}

// -----

// expected-error @+1 {{an entry must have one block, 'blocks' has 2}}
func.func @blocks(%c: i1) {
  cf.br ^bb1
^bb1:
  return
}

// -----

// expected-error @+1 {{argument 0 of an entry must be a ranked tensor or a scalar, got 'tensor<*xf32>'}}
func.func @unranked(%x: tensor<*xf32>) {
  return
}

// -----

// expected-error @+1 {{argument 1 of an entry must be a ranked tensor or a scalar, got 'memref<3xf32>'}}
func.func @memref(%x: f32, %y: memref<3xf32>) {
  return
}

// -----

// expected-error @+1 {{argument 0 of an entry must be a ranked tensor or a scalar, got 'i128'}}
func.func @wide(%x: i128) {
  return
}

// -----

// expected-error @+1 {{result 0 of an entry must be a ranked tensor or a scalar, got 'vector<4xf32>'}}
func.func @vector() -> vector<4xf32> {
  %0 = arith.constant dense<0.0> : vector<4xf32>
  return %0 : vector<4xf32>
}

// -----

// expected-error @+1 {{attn.dims of argument 0 must be an array of 1 strings, got ["A", "B"]}}
func.func @dims(%x: tensor<?xf32> {attn.dims = ["A", "B"]}) {
  return
}

// -----

// expected-error @+1 {{attn.name of argument 0 must be a string that is not empty, got ""}}
func.func @name(%x: tensor<?xf32> {attn.name = ""}) {
  return
}

// -----

// expected-error @+1 {{two arguments are called 'arg1', the second is 1}}
func.func @names(%x: tensor<?xf32> {attn.name = "arg1"}, %y: i32) {
  return
}

// -----

func.func private @__attn_shape_taken()
// expected-error @+1 {{'__attn_shape_taken' is defined already}}
func.func @taken() {
  return
}

// -----

// expected-error @+1 {{'__attn_module_info' is defined already}}
module {
  func.func private @__attn_module_info()
}

// -----

// A slice that is chosen by data inside of a loop nest.
func.func @slice_of_data(%ids: tensor<4xindex>, %table: tensor<9xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%ids : tensor<4xindex>) outs(%init : tensor<4xf32>) {
  ^bb0(%id: index, %unused: f32):
    // expected-error @+1 {{'tensor.extract_slice' has run-time extents inside of 'linalg.generic', which cannot be checked}}
    %s = tensor.extract_slice %table[%id] [1] [1] : tensor<9xf32> to tensor<1xf32>
    %e = tensor.extract %s[%c0] : tensor<1xf32>
    linalg.yield %e : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What every call would read or cut off out of bounds is found now.
func.func @never_there(%x: tensor<3xf32>) -> f32 {
  %c3 = arith.constant 3 : index
  // expected-error @+1 {{index 0 of tensor.extract is 3, more than the last one, 2}}
  %0 = tensor.extract %x[%c3] : tensor<3xf32>
  return %0 : f32
}

// -----

func.func @cuts(%x: tensor<?xf32>) -> tensor<?xf32> {
  %f = arith.constant 0.0 : f32
  // expected-error @+1 {{low padding 0 of tensor.pad is -1, less than 0}}
  %0 = tensor.pad %x low[-1] high[0] {
  ^bb0(%i: index):
    tensor.yield %f : f32
  } : tensor<?xf32> to tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// A loop that walks one slice too far.
func.func @loop_beyond(%x: tensor<5x4xf32>, %init: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %0 = scf.for %i = %c0 to %c6 step %c1 iter_args(%sum = %init) -> tensor<1x4xf32> {
    // expected-error @+1 {{'tensor.extract_slice' has run-time extents inside of 'scf.for', which cannot be checked}}
    %s = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<5x4xf32> to tensor<1x4xf32>
    %1 = arith.addf %sum, %s : tensor<1x4xf32>
    scf.yield %1 : tensor<1x4xf32>
  }
  return %0 : tensor<1x4xf32>
}
