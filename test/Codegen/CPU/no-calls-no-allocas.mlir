// The fast path calls nothing but its own runtime, allocates nothing in a task,
// and promises nothing about NaN and infinities, whatever the mask and the score
// program are. Sine and cosine of arguments beyond 2^28 alone are library calls.

// What a task runs is one function and all of its loops: it holds no allocation
// at all. The parallel call's context is the one alloca, in a function without
// loops.

// RUN: attn-opt %s --attn-compile-to=vector --target=x86-64-v4 | FileCheck %s --check-prefix=VECTOR
// RUN: attn-opt %s --attn-compile-to=vector --target=x86-64-v3 | FileCheck %s --check-prefix=VECTOR
// RUN: attn-opt %s --attn-compile-to=vector --target=x86-64 | FileCheck %s --check-prefixes=VECTOR,NO-FMA
// RUN: attn-opt %s --attn-compile-to=llvm --target=x86-64-v4 | %python %S/Inputs/check_llvm.py
// RUN: attn-opt %s --attn-compile-to=llvm --target=x86-64-v3 | %python %S/Inputs/check_llvm.py
// RUN: attn-opt %s --attn-compile-to=llvm --target=x86-64 | %python %S/Inputs/check_llvm.py --no-fma

// VECTOR-NOT: math.{{exp|exp2|tanh|log|pow|erf}}
// VECTOR-NOT: memref.alloca
// VECTOR-NOT: fastmath<{{.*(fast|nnan|ninf)}}
// NO-FMA-NOT: math.fma
// NO-FMA-NOT: vector.fma

func.func @unmasked(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

func.func @causal_softcap(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %t = attn.softcap %s at 30.0 : tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %t causal(bottom_right) : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

func.func @window_lengths(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %n: tensor<?xi32>) -> tensor<?x8x?x64xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s window[7, 3](top_left) lengths(%n : tensor<?xi32>) : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

func.func @mask_and_bias(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %m: tensor<?x?xi1>, %bias: tensor<8x?x?xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %t = attn.bias %s, %bias : tensor<?x8x?x?xf32>, tensor<8x?x?xf32>
  %p = attn.masked_softmax %t mask(%m : tensor<?x?xi1>) : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// Angles, and tables by numbers that the caller gives.
func.func @rope(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %i: tensor<?x?xi64>, %t: tensor<?x9xf32>, %n: index) -> tensor<?x8x?x64xf32> {
  %rq = attn.rope %q half rotary_dim 20 offset(%n) : tensor<?x8x?x64xf32>
  %rk = attn.rope %k interleaved rotary_dim 18 positions(%i : tensor<?x?xi64>) tables(%t, %t : tensor<?x9xf32>, tensor<?x9xf32>) : tensor<?x2x?x64xf32>
  %s = attn.qk %rq, %rk : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// exp, log, sine, cosine and error function of a score.
func.func @math_of_scores(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>) -> tensor<?x8x?x64xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %t = attn.score_map %s : tensor<?x8x?x?xf32> {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %0 = math.exp %score : f32
    %1 = math.log %0 : f32
    %2 = math.sin %1 : f32
    %3 = math.cos %2 : f32
    %4 = math.erf %3 : f32
    attn.yield %4 : f32
  }
  %p = attn.masked_softmax %t : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}

// The same in f64, with a bias of another type.
func.func @double(%q: tensor<?x8x?x64xf64>, %k: tensor<?x2x?x64xf64>, %m: tensor<?x?xi1>, %bias: tensor<8x?x?xf32>) -> tensor<?x8x?x64xf64> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf64>, tensor<?x2x?x64xf64> -> tensor<?x8x?x?xf64>
  %t = attn.softcap %s at 30.0 : tensor<?x8x?x?xf64>
  %u = attn.bias %t, %bias : tensor<?x8x?x?xf64>, tensor<8x?x?xf32>
  %v = attn.score_map %u : tensor<?x8x?x?xf64> {
  ^bb0(%score: f64, %b: index, %h: index, %i: index, %j: index):
    %0 = math.exp %score : f64
    %1 = math.log %0 : f64
    attn.yield %1 : f64
  }
  %p = attn.masked_softmax %v causal(bottom_right) mask(%m : tensor<?x?xi1>) : tensor<?x8x?x?xf64>
  %o = attn.weighted_sum %p, %k : tensor<?x8x?x?xf64>, tensor<?x2x?x64xf64> -> tensor<?x8x?x64xf64>
  return %o : tensor<?x8x?x64xf64>
}

// And a decoding step.
func.func @double_decode(%q: tensor<?x8x1x64xf64>, %k: tensor<?x4x?x64xf64>) -> tensor<?x8x1x64xf64> {
  %s = attn.qk %q, %k : tensor<?x8x1x64xf64>, tensor<?x4x?x64xf64> -> tensor<?x8x1x?xf64>
  %p = attn.masked_softmax %s : tensor<?x8x1x?xf64>
  %o = attn.weighted_sum %p, %k : tensor<?x8x1x?xf64>, tensor<?x4x?x64xf64> -> tensor<?x8x1x64xf64>
  return %o : tensor<?x8x1x64xf64>
}

#bsk = affine_map<(b, s, n, k) -> (b, s, k)>
#nk = affine_map<(b, s, n, k) -> (n, k)>
#bsn = affine_map<(b, s, n, k) -> (b, s, n)>

// A projection before the heads are split, and one after they are merged.
func.func @projections(%x: tensor<?x?x96xf32>, %w: tensor<96x96xf32>) -> tensor<?x?x96xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %b = tensor.dim %x, %c0 : tensor<?x?x96xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?x96xf32>
  %e = tensor.empty(%b, %n) : tensor<?x?x96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x96xf32>) -> tensor<?x?x96xf32>
  %y = linalg.generic {indexing_maps = [#bsk, #nk, #bsn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<?x?x96xf32>, tensor<96x96xf32>) outs(%f : tensor<?x?x96xf32>) {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.mulf %0, %1 : f32
    %4 = arith.addf %2, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<?x?x96xf32>
  %h = attn.split_heads %y {num_heads = 3} : tensor<?x?x96xf32> -> tensor<?x3x?x32xf32>
  %s = attn.qk %h, %h : tensor<?x3x?x32xf32>, tensor<?x3x?x32xf32> -> tensor<?x3x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x3x?x?xf32>
  %o = attn.weighted_sum %p, %h : tensor<?x3x?x?xf32>, tensor<?x3x?x32xf32> -> tensor<?x3x?x32xf32>
  %m = attn.merge_heads %o : tensor<?x3x?x32xf32> -> tensor<?x?x96xf32>
  %r = linalg.generic {indexing_maps = [#bsk, #nk, #bsn], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%m, %w : tensor<?x?x96xf32>, tensor<96x96xf32>) outs(%f : tensor<?x?x96xf32>) {
  ^bb0(%0: f32, %1: f32, %2: f32):
    %3 = arith.mulf %0, %1 : f32
    %4 = arith.addf %2, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<?x?x96xf32>
  return %r : tensor<?x?x96xf32>
}

// Statistics of weights, whose logarithm is written out where it is not known.
func.func @stats(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>)
    -> (tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?x3xf32>, tensor<?x8x?x3xi32>) {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s causal(top_left) : tensor<?x8x?x?xf32>
  %c, %m, %e, %w, %i = attn.weight_stats %p column_sums row_max entropy top_k 3 : tensor<?x8x?x?xf32>
    -> tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?x3xf32>, tensor<?x8x?x3xi32>
  return %c, %m, %e, %w, %i
    : tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?x3xf32>, tensor<?x8x?x3xi32>
}

func.func @sigmoid_stats(%q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>) -> tensor<?x8x?xf32> {
  %s = attn.qk %q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s normalizer(sigmoid) : tensor<?x8x?x?xf32>
  %e = attn.weight_stats %p entropy : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
  return %e : tensor<?x8x?xf32>
}

// Linear attention in both of its forms.
func.func @linear_attention(%q: tensor<?x4x?x40xf32>, %k: tensor<?x2x?x40xf32>, %v: tensor<?x2x?x8xf32>, %g: tensor<?x2x?xf32>, %s: tensor<?x2x40x8xf32>) -> (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x2x40x8xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x4x?x40xf32>
  %n = tensor.dim %q, %c2 : tensor<?x4x?x40xf32>
  %o = tensor.empty(%b, %n) : tensor<?x4x?x8xf32>
  %f = tensor.empty(%b) : tensor<?x2x40x8xf32>
  %0 = attn.linear_attention ins(%q, %k, %v : tensor<?x4x?x40xf32>, tensor<?x2x?x40xf32>, tensor<?x2x?x8xf32>) outs(%o : tensor<?x4x?x8xf32>) scale 0.125 decay(%g : tensor<?x2x?xf32>) -> tensor<?x4x?x8xf32>
  %1:2 = attn.linear_attention ins(%q, %k, %v : tensor<?x4x?x40xf32>, tensor<?x2x?x40xf32>, tensor<?x2x?x8xf32>) outs(%o, %f : tensor<?x4x?x8xf32>, tensor<?x2x40x8xf32>) scale 0.125 decay(%k : tensor<?x2x?x40xf32>) beta(%g : tensor<?x2x?xf32>) initial(%s : tensor<?x2x40x8xf32>) -> tensor<?x4x?x8xf32>, tensor<?x2x40x8xf32>
  return %0, %1#0, %1#1 : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x2x40x8xf32>
}
