// Numbers that no code is generated for are refused, in programs and around them,
// where they first appear.

// RUN: attn-opt %s --attn-verify-types --split-input-file --verify-diagnostics

func.func @supported(%s: tensor<1x1x4x6xf32>) -> tensor<1x1x4x6xf32> {
  %m = attn.score_map %s : tensor<1x1x4x6xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %0 = arith.truncf %x : f32 to bf16
    %1 = arith.fptosi %0 : bf16 to i128
    %2 = arith.trunci %1 : i128 to i1
    %3 = arith.uitofp %2 : i1 to f64
    %4 = arith.truncf %3 : f64 to f16
    %5 = vector.broadcast %4 : f16 to vector<4xf16>
    %6 = vector.reduction <add>, %5 : vector<4xf16> into f16
    %7 = arith.extf %6 : f16 to f32
    attn.yield %7 : f32
  }
  return %m : tensor<1x1x4x6xf32>
}

// -----

func.func @narrow_float(%s: tensor<1x1x4x6xf32>) -> tensor<1x1x4x6xf32> {
  %m = attn.score_map %s : tensor<1x1x4x6xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{'arith.truncf' op computes with 'f8E4M3FN', expected index, signless integers of 1 to 128 bits, f16, bf16, f32 or f64}}
    %0 = arith.truncf %x : f32 to f8E4M3FN
    %1 = arith.extf %0 : f8E4M3FN to f32
    attn.yield %1 : f32
  }
  return %m : tensor<1x1x4x6xf32>
}

// -----

func.func @wide_float(%p: tensor<1x1x4x6xf64>) -> tensor<1x1x4x6xf64> {
  %m = attn.probability_map %p : tensor<1x1x4x6xf64> {
  ^bb0(%x: f64, %b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{'arith.extf' op computes with 'f128'}}
    %0 = arith.extf %x : f64 to f128
    %1 = arith.truncf %0 : f128 to f64
    attn.yield %1 : f64
  }
  return %m : tensor<1x1x4x6xf64>
}

// -----

func.func @wide_integer(%s: tensor<1x1x4x6xf32>) -> tensor<1x1x4x6xf32> {
  %p = attn.masked_softmax %s visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{'arith.index_cast' op computes with 'i129'}}
    %0 = arith.index_cast %i : index to i129
    %1 = arith.index_cast %j : index to i129
    %2 = arith.cmpi sle, %1, %0 : i129
    attn.yield %2 : i1
  } : tensor<1x1x4x6xf32>
  return %p : tensor<1x1x4x6xf32>
}

// -----

// Captured, and read from a tensor.
func.func @complex(%z: tensor<6xcomplex<f32>>, %s: tensor<1x1x4x6xf32>) -> tensor<1x1x4x6xf32> {
  %m = attn.score_map %s : tensor<1x1x4x6xf32> {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{'tensor.extract' op computes with 'tensor<6xcomplex<f32>>'}}
    %0 = tensor.extract %z[%j] : tensor<6xcomplex<f32>>
    %1 = complex.re %0 : complex<f32>
    attn.yield %1 : f32
  }
  return %m : tensor<1x1x4x6xf32>
}

// -----

func.func @outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'arith.truncf' op computes with 'tensor<4xtf32>'}}
  %0 = arith.truncf %x : tensor<4xf32> to tensor<4xtf32>
  %1 = arith.extf %0 : tensor<4xtf32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @signed(%x: index) -> index {
  // expected-error @below {{'builtin.unrealized_conversion_cast' op computes with 'si32'}}
  %0 = builtin.unrealized_conversion_cast %x : index to si32
  %1 = builtin.unrealized_conversion_cast %0 : si32 to index
  return %1 : index
}
