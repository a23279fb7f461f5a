// Shape functions: what they check, and that they are integer code only.

// RUN: attn-opt %s --attn-generate-shape-functions -split-input-file | FileCheck %s

// An unfused chain: named extents first, then the ops in program order. The
// entry itself is left as it is.
// CHECK-LABEL: func.func @chain(
// CHECK: attn.qk
// CHECK-LABEL: func.func @__attn_shape_chain(
// CHECK-SAME: %[[DIMS:.*]]: memref<12xi64>, %[[RESULT:.*]]: memref<4xi64>, %[[VALUES:.*]]: memref<2xi64>) -> i64
// CHECK-SAME: attributes {llvm.bareptr}
// CHECK-NOT: tensor
// CHECK-NOT: attn.
// CHECK-DAG: %[[B:.*]] = memref.load %[[DIMS]][%c0]
// CHECK-DAG: %[[H:.*]] = memref.load %[[DIMS]][%c1]
// CHECK-DAG: %[[S:.*]] = memref.load %[[DIMS]][%c2]
// CHECK-DAG: memref.store %[[B]], %[[RESULT]][%c0]
// CHECK-DAG: memref.store %[[H]], %[[RESULT]][%c1]
// CHECK-DAG: memref.store %[[S]], %[[RESULT]][%c2]
// CHECK-DAG: memref.store %c32_i64, %[[RESULT]][%c3]
// CHECK: return %{{.*}} : i64
// CHECK: llvm.mlir.global external constant @__attn_module_info("{\22functions\22:[{\22args\22:
// CHECK-SAME: {\22dims\22:[\22B\22,\22\22,\22S\22,\22\22],\22kind\22:\22tensor\22,\22name\22:\22q\22,\22shape\22:[null,null,null,64],\22type\22:\22f32\22}
// CHECK-SAME: {\22dims\22:[\22\22,\22\22,\22\22,\22\22],\22kind\22:\22tensor\22,\22name\22:\22arg2\22,\22shape\22:[null,null,null,32],\22type\22:\22f32\22}
// CHECK-SAME: \22checks\22:[
// CHECK-SAME: \22dimension 'B' is {0} in argument 'q' but {1} in argument 'k'\22,
// CHECK-SAME: \22dimension 'S' is {0} in argument 'q' but {1} in argument 'k'\22,
// CHECK-SAME: \22head count of query ('q') is {0}, not a multiple of head count of key ('k'), {1}\22,
// CHECK-SAME: \22batch extent of weights is {0} but batch extent of value is {1}\22,
// CHECK-SAME: \22head count of weights is {0}, not a multiple of head count of value, {1}\22,
// CHECK-SAME: \22key length of weights is {0} but key length of value is {1}\22],
// CHECK-SAME: \22name\22:\22chain\22,\22remarks\22:[],\22results\22:[{\22kind\22:\22tensor\22,\22shape\22:[null,null,null,32],\22type\22:\22f32\22}]}]}\00")
func.func @chain(%q: tensor<?x?x?x64xf32> {attn.name = "q", attn.dims = ["B", "", "S", ""]},
                 %k: tensor<?x?x?x64xf32> {attn.name = "k", attn.dims = ["B", "", "S", ""]},
                 %v: tensor<?x?x?x32xf32>) -> tensor<?x?x?x32xf32> {
  %0 = attn.qk %q, %k : tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32> -> tensor<?x?x?x?xf32>
  %1 = attn.masked_softmax %0 causal(top_left) : tensor<?x?x?x?xf32>
  %2 = attn.weighted_sum %1, %v : tensor<?x?x?x?xf32>, tensor<?x?x?x32xf32> -> tensor<?x?x?x32xf32>
  return %2 : tensor<?x?x?x32xf32>
}

// -----

// linalg: extents of one loop agree. A repeated check is made once, and what
// holds by construction is not checked.
// CHECK-LABEL: func.func @__attn_shape_linear(
// CHECK-SAME: memref<4xi64>, %{{.*}}: memref<2xi64>, %{{.*}}: memref<2xi64>)
// CHECK: \22checks\22:[\22extent 1 of operand 0 ('x') of linalg.matmul is {0} but extent 0 of operand 1 ('w') is {1}\22]
func.func @linear(%x: tensor<?x?xf32> {attn.name = "x"}, %w: tensor<?x?xf32> {attn.name = "w"}) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %w, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x?xf32>, tensor<?x?xf32>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  %2 = arith.addf %0, %1 : tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}

// -----

// A window that slides over an operand stays inside of it.
// CHECK-LABEL: func.func @__attn_shape_convolution(
// CHECK: \22checks\22:[\22linalg.conv_1d reaches {0} elements of a dimension but extent 0 of operand 0 is {1}\22]
func.func @convolution(%x: tensor<?xf32>, %k: tensor<?xf32>, %o: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.conv_1d ins(%x, %k : tensor<?xf32>, tensor<?xf32>) outs(%o : tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// Reshapes, casts and result types that say more than their operands.
// CHECK-LABEL: func.func @__attn_shape_reshapes(
// CHECK: \22checks\22:[\22size 1 of tensor.expand_shape is {1}, less than {0}\22,
// CHECK-SAME: \22size 1 of tensor.expand_shape is {0}, more than {1}\22,
// CHECK-SAME: \22extent 1 of the operand ('x') of tensor.expand_shape is {0} but its parts make {1}\22,
// CHECK-SAME: \22extent 0 of the operand ('x') of tensor.cast is {0} but the result type says {1}\22]
func.func @reshapes(%x: tensor<?x?xf32> {attn.name = "x"}, %n: i32)
    -> (tensor<?x?x4xf32>, tensor<?xf32>, tensor<8x?xf32>) {
  %c0 = arith.constant 0 : index
  %size = arith.index_cast %n : i32 to index
  %d = tensor.dim %x, %c0 : tensor<?x?xf32>
  %e = tensor.expand_shape %x [[0], [1, 2]] output_shape [%d, %size, 4] : tensor<?x?xf32> into tensor<?x?x4xf32>
  %c = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %s = tensor.cast %x : tensor<?x?xf32> to tensor<8x?xf32>
  return %e, %c, %s : tensor<?x?x4xf32>, tensor<?xf32>, tensor<8x?xf32>
}

// -----

// CHECK-LABEL: func.func @__attn_shape_written_type(
// CHECK: \22checks\22:[\22batch extent of query is {0} but batch extent of key is {1}\22,
// CHECK-SAME: \22extent 2 of the result of attn.qk is {0} but its type says {1}\22]
func.func @written_type(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>) -> tensor<?x8x5x?xf32> {
  %0 = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32> -> tensor<?x8x5x?xf32>
  return %0 : tensor<?x8x5x?xf32>
}

// -----

// Slices lie inside of their tensor; an offset that is known to be 0 needs no
// check.
// CHECK-LABEL: func.func @__attn_shape_slice(
// CHECK: \22checks\22:[\22offset 0 of tensor.extract_slice is {1}, less than {0}\22,
// CHECK-SAME: \22offset 0 of tensor.extract_slice is {0}, more than the extent ('x'), {1}\22,
// CHECK-SAME: \22size 0 of tensor.extract_slice is {0}, more than is left of the extent ('x'), {1}\22,
// CHECK-SAME: \22size 1 of tensor.extract_slice is {0}, more than is left of the extent ('x'), {1}\22]
func.func @slice(%x: tensor<?x?xf32> {attn.name = "x"}, %n: index) -> tensor<2x3xf32> {
  %0 = tensor.extract_slice %x[%n, 0] [2, 3] [1, 1] : tensor<?x?xf32> to tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// A result of the entry's own arithmetic is not negative, and its divisions
// cannot trap in the shape function.
// CHECK-LABEL: func.func @__attn_shape_arithmetic(
// CHECK: %[[DIVISOR:.*]] = arith.maxsi %{{.*}}, %c1
// CHECK: arith.divsi %{{.*}}, %[[DIVISOR]]
// CHECK: \22checks\22:[\22divisor of arith.divsi is {1}, less than {0}\22,\22size 0 of tensor.empty is {1}, less than {0}\22]
func.func @arithmetic(%m: index, %n: index) -> tensor<?xf32> {
  %d = arith.divsi %m, %n : index
  %0 = tensor.empty(%d) : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// Nothing to check, nothing to return; private functions are no entries; a
// float scalar has a place in the extents.
// CHECK-NOT: @__attn_shape_hidden
// CHECK-LABEL: func.func @__attn_shape_nothing(
// CHECK-SAME: memref<2xi64>, %{{.*}}: memref<0xi64>, %{{.*}}: memref<2xi64>)
// CHECK: \22args\22:[{\22dims\22:[],\22kind\22:\22scalar\22,\22name\22:\22arg0\22,\22shape\22:[],\22type\22:\22f32\22}
// CHECK-SAME: \22checks\22:[],\22name\22:\22nothing\22,\22remarks\22:[],\22results\22:[{\22kind\22:\22scalar\22,\22shape\22:[],\22type\22:\22f32\22}]
func.func private @hidden(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
func.func @nothing(%f: f32, %i: i1) -> f32 {
  return %f : f32
}

// -----

// Braces in names do not become placeholders.
// CHECK: \22dimension 'S(0)' is {0} in argument '(1)' but {1} in argument 'k'\22
func.func @braces(%q: tensor<?xf32> {attn.name = "{1}", attn.dims = ["S{0}"]},
                  %k: tensor<?xf32> {attn.name = "k", attn.dims = ["S{0}"]}) {
  return
}

// -----

// Sizes of tables are operands: they are not negative.
// CHECK-LABEL: func.func @__attn_shape_tables(
// CHECK: \22checks\22:[
// CHECK-SAME: \22size of the result of attn.sequence_ids is {1}, less than {0}\22
// CHECK-SAME: \22size of the result of attn.sequence_positions is {1}, less than {0}\22
// CHECK-SAME: \22size of the result of attn.sinusoidal is {1}, less than {0}\22
func.func @tables(%cu: tensor<?xi32>, %n: index, %m: index, %l: index) -> (tensor<1x?xi32>, tensor<1x?xi32>, tensor<?x4xf32>) {
  %0 = attn.sequence_ids %cu length(%n) : tensor<?xi32> -> tensor<1x?xi32>
  %1 = attn.sequence_positions %cu length(%m) : tensor<?xi32> -> tensor<1x?xi32>
  %2 = attn.sinusoidal rows(%l) : tensor<?x4xf32>
  return %0, %1, %2 : tensor<1x?xi32>, tensor<1x?xi32>, tensor<?x4xf32>
}
