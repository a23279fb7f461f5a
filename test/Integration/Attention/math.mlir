// Functions of math in programs, each fused on each instruction set and by the
// naive lowering, against closed forms: q and k are 0, so that the scores are what
// the program gives, and v counts keys and features.

// DEFINE: %{function} =
// DEFINE: %{equal} =
// DEFINE: %{run} = attn-run %s --cache-dir=%t.cache --function=%{function} --input=zeros --input=zeros --input=%t.v.npy --output=%t.o.npy
// DEFINE: %{fused} = %{run} --require-fused
// DEFINE: %{compare} = %tensors --compare %t.o.npy 1x2x19x8 "%{equal}" 4e-5
// DEFINE: %{all} = %{fused} && %{compare} && %{fused} --target=x86-64 && %{compare} && %{fused} --target=%{v3} && %{compare} && %{fused} --target=%{v4} && %{compare} && %{run} --twin && %{compare}
// RUN: rm -rf %t.cache
// RUN: %tensors %t.v.npy f32 1x2x40x8 "c + d"

!q = tensor<1x2x19x8xf32>
!k = tensor<1x2x40x8xf32>
!s = tensor<1x2x19x40xf32>

// Arguments whose last bit is not small against pi.
// REDEFINE: %{function} = sine
// REDEFINE: %{equal} = (lambda w: sum(j * x for j, x in enumerate(w)) / sum(w) + d)([math.exp(math.sin(100003 * j - 77777 * c) + math.cos(33554432 * j)) for j in range(40)])
// RUN: %{all}
func.func @sine(%q: !q, %k: !k, %v: !k) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %step = arith.constant 100003 : index
    %back = arith.constant 77777 : index
    %large = arith.constant 33554432 : index
    %x = arith.muli %j, %step : index
    %y = arith.muli %i, %back : index
    %d = arith.subi %x, %y : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %z = arith.muli %j, %large : index
    %zi = arith.index_cast %z : index to i32
    %zf = arith.sitofp %zi : i32 to f32
    %sine = math.sin %df : f32
    %cosine = math.cos %zf : f32
    %sum = arith.addf %sine, %cosine : f32
    attn.yield %sum : f32
  }
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// Powers of two from 2^-8 to 2^31: those beyond 2^28 are library calls.
// REDEFINE: %{function} = huge_sine
// REDEFINE: %{equal} = (lambda w: sum(j * x for j, x in enumerate(w)) / sum(w) + d)([math.exp(math.sin(2.0 ** (j - 8) + c * (j < 20))) for j in range(40)])
// RUN: %{all}
func.func @huge_sine(%q: !q, %k: !k, %v: !k) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %one = arith.constant 1 : i64
    %zero = arith.constant 0.0 : f32
    %small = arith.constant 0.00390625 : f32
    %few = arith.constant 20 : index
    %jl = arith.index_cast %j : index to i64
    %power = arith.shli %one, %jl : i64
    %pf = arith.sitofp %power : i64 to f32
    %x = arith.mulf %pf, %small : f32
    %ii = arith.index_cast %i : index to i32
    %if = arith.sitofp %ii : i32 to f32
    %isFew = arith.cmpi slt, %j, %few : index
    %row = arith.select %isFew, %if, %zero : f32
    %y = arith.addf %x, %row : f32
    %sine = math.sin %y : f32
    attn.yield %sine : f32
  }
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// A cast to fewer bits and back rounds, to even.
// REDEFINE: %{function} = rounded
// REDEFINE: %{equal} = (lambda w: sum(j * x for j, x in enumerate(w)) / sum(w) + d)([math.exp(round((j + c) / 4)) for j in range(40)])
// RUN: %{all}
func.func @rounded(%q: !q, %k: !k, %v: !k) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %one = arith.constant 1.0 : f32
    %small = arith.constant 0.001953125 : f32
    %large = arith.constant 128.0 : f32
    %d = arith.addi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %x = arith.mulf %df, %small : f32
    %y = arith.addf %x, %one : f32
    %narrow = arith.truncf %y : f32 to bf16
    %wide = arith.extf %narrow : bf16 to f32
    %z = arith.subf %wide, %one : f32
    %w = arith.mulf %z, %large : f32
    attn.yield %w : f32
  }
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// Powers of integers, and of floats with exponents that are constants or not.
// REDEFINE: %{function} = powers
// REDEFINE: %{equal} = (lambda w: sum(j * x for j, x in enumerate(w)) / sum(w) + d)([math.exp((j / 40) ** (c %% 4) + (j / 40) ** 3 + j ** 2 / 800) for j in range(40)])
// RUN: %{all}
func.func @powers(%q: !q, %k: !k, %v: !k) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2 : i32
    %three = arith.constant 3 : i32
    %four = arith.constant 4 : index
    %n = arith.constant 40.0 : f32
    %m = arith.constant 800.0 : f32
    %ji = arith.index_cast %j : index to i32
    %jf = arith.sitofp %ji : i32 to f32
    %x = arith.divf %jf, %n : f32
    %e = arith.remui %i, %four : index
    %ei = arith.index_cast %e : index to i32
    %y = math.fpowi %x, %ei : f32, i32
    %z = math.fpowi %x, %three : f32, i32
    %square = math.ipowi %ji, %two : i32
    %wf = arith.sitofp %square : i32 to f32
    %w = arith.divf %wf, %m : f32
    %yz = arith.addf %y, %z : f32
    %sum = arith.addf %yz, %w : f32
    attn.yield %sum : f32
  }
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}

// What is beyond f32 is infinite.
// REDEFINE: %{function} = overflow
// REDEFINE: %{equal} = (lambda w: sum(j * x for j, x in enumerate(w)) / sum(w) + d)([math.exp(8 * j + c >= 128) for j in range(40)])
// RUN: %{all}
func.func @overflow(%q: !q, %k: !k, %v: !k) -> !q {
  %s = attn.qk %q, %k : !q, !k -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %eight = arith.constant 8 : index
    %infinity = arith.constant 0x7F800000 : f32
    %x = arith.muli %j, %eight : index
    %y = arith.addi %x, %i : index
    %yi = arith.index_cast %y : index to i32
    %yf = arith.sitofp %yi : i32 to f32
    %power = math.exp2 %yf : f32
    %isBeyond = arith.cmpf oeq, %power, %infinity : f32
    %w = arith.uitofp %isBeyond : i1 to f32
    attn.yield %w : f32
  }
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %v : !s, !k -> !q
  return %o : !q
}
