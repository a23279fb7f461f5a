// All floats become f64: signatures, constants, regions; casts go away.

// RUN: attn-opt %s --attn-promote-to-f64 --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-NOT:   f32
// CHECK-NOT:   f16
// CHECK-LABEL: func.func @types
// CHECK-SAME:    (%arg0: tensor<?x2xf64> {attn.name = "x"}, %arg1: f64) -> (tensor<?x2xf64>, f64)
// CHECK:         arith.constant dense<[1.500000e+00, -2.000000e+00]> : tensor<2xf64>
// CHECK:         arith.constant dense<0xFFF0000000000000> : tensor<2xf64>
// CHECK:         arith.constant dense<[1.000000e+00, 0xFFF0000000000000]> : tensor<2xf64>
// CHECK-NOT:     arith.extf
// CHECK:         arith.addf %arg0, %arg0
func.func @types(%x: tensor<?x2xf16> {attn.name = "x"}, %s: f32) -> (tensor<?x2xf32>, f32) {
  %c = arith.constant dense<[1.5, -2.0]> : tensor<2xbf16>
  %d = arith.constant dense<0xFF800000> : tensor<2xf32>
  %r = arith.constant dense_resource<blob> : tensor<2xf32>
  %y = arith.extf %x : tensor<?x2xf16> to tensor<?x2xf32>
  %z = arith.addf %y, %y : tensor<?x2xf32>
  return %z, %s : tensor<?x2xf32>, f32
}
{-# dialect_resources: { builtin: { blob: "0x040000000000803F000080FF" } } #-}

// -----

// CHECK-LABEL: func.func @region
// CHECK:         attn.score_map %arg0 : tensor<?x8x?x?xf64>
// CHECK:         ^bb0(%{{.*}}: f64, %{{.*}}: index
// CHECK:         attn.yield %{{.*}} : f64
func.func @region(%s: tensor<?x8x?x?xf32>) -> tensor<?x8x?x?xf32> {
  %t = attn.score_map %s : tensor<?x8x?x?xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2.0 : f32
    %y = arith.mulf %x, %two : f32
    attn.yield %y : f32
  }
  return %t : tensor<?x8x?x?xf32>
}

// -----

func.func @bitcast(%x: f32) -> i32 {
  // expected-error @below {{depends on the width of a float and cannot be computed in f64}}
  %y = arith.bitcast %x : f32 to i32
  return %y : i32
}
