// Slices that drop some of their dimensions of 1 name them by a reshape.

// RUN: attn-opt %s --attn-name-dropped-dims | FileCheck %s

// CHECK-LABEL: func.func @extract
// CHECK-SAME:    (%[[X:.*]]: tensor<1x2x5x4xf32>, %[[N:.*]]: index)
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[X]][0, 0, %[[N]], 0] [1, 2, 1, 4] [1, 1, 1, 1] : tensor<1x2x5x4xf32> to tensor<1x2x1x4xf32>
// CHECK:         tensor.collapse_shape %[[S]] {{\[\[}}0], [1, 2], [3]] : tensor<1x2x1x4xf32> into tensor<1x2x4xf32>
func.func @extract(%x: tensor<1x2x5x4xf32>, %n: index) -> tensor<1x2x4xf32> {
  %s = tensor.extract_slice %x[0, 0, %n, 0] [1, 2, 1, 4] [1, 1, 1, 1] : tensor<1x2x5x4xf32> to tensor<1x2x4xf32>
  return %s : tensor<1x2x4xf32>
}

// The first ones go with what is kept behind them.
// CHECK-LABEL: func.func @leading
// CHECK:         tensor.collapse_shape %{{.*}} {{\[\[}}0, 1, 2], [3, 4]] : tensor<1x1x?x1x1xf32> into tensor<?x1xf32>
func.func @leading(%x: tensor<1x3x?x5x4xf32>, %n: index) -> tensor<?x1xf32> {
  %s = tensor.extract_slice %x[0, %n, 0, %n, %n] [1, 1, %n, 1, 1] [1, 1, 1, 1, 1] : tensor<1x3x?x5x4xf32> to tensor<?x1xf32>
  return %s : tensor<?x1xf32>
}

// There is one way alone to drop all of them.
// CHECK-LABEL: func.func @all
// CHECK-NEXT:    tensor.extract_slice {{.*}} to tensor<2x4xf32>
// CHECK-NEXT:    return
func.func @all(%x: tensor<1x2x5x4xf32>, %n: index) -> tensor<2x4xf32> {
  %s = tensor.extract_slice %x[0, 0, %n, 0] [1, 2, 1, 4] [1, 1, 1, 1] : tensor<1x2x5x4xf32> to tensor<2x4xf32>
  return %s : tensor<2x4xf32>
}

// Upstream compares strides, which steps change.
// CHECK-LABEL: func.func @steps
// CHECK:         tensor.extract_slice {{.*}} to tensor<1x3xf32>
// CHECK:         tensor.collapse_shape {{.*}} {{\[\[}}0, 1]] : tensor<1x3xf32> into tensor<3xf32>
func.func @steps(%x: tensor<4x6xf32>, %n: index) -> tensor<3xf32> {
  %s = tensor.extract_slice %x[%n, 0] [1, 3] [2, 2] : tensor<4x6xf32> to tensor<3xf32>
  return %s : tensor<3xf32>
}

// CHECK-LABEL: func.func @insert
// CHECK-SAME:    (%[[X:[^:]*]]: tensor<1x?x5x4xf32>, %[[Y:[^:]*]]: tensor<1x?x4xf32>, %[[N:.*]]: index)
// CHECK:         %[[W:.*]] = tensor.expand_shape %[[Y]] {{\[\[}}0], [1, 2], [3]] output_shape [1, %[[N]], 1, 4] : tensor<1x?x4xf32> into tensor<1x?x1x4xf32>
// CHECK:         tensor.insert_slice %[[W]] into %[[X]][0, 0, %[[N]], 0] [1, %[[N]], 1, 4] [1, 1, 1, 1] : tensor<1x?x1x4xf32> into tensor<1x?x5x4xf32>
func.func @insert(%x: tensor<1x?x5x4xf32>, %y: tensor<1x?x4xf32>, %n: index) -> tensor<1x?x5x4xf32> {
  %s = tensor.insert_slice %y into %x[0, 0, %n, 0] [1, %n, 1, 4] [1, 1, 1, 1] : tensor<1x?x4xf32> into tensor<1x?x5x4xf32>
  return %s : tensor<1x?x5x4xf32>
}
