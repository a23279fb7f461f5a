// How positions come into attention, each fused on each instruction set: against
// numbers of closed forms, and with random inputs against the f64 twin.

// DEFINE: %{function} =
// DEFINE: %{more} =
// DEFINE: %{run} = attn-run %s --cache-dir=%t.cache --function=%{function} --require-fused
// DEFINE: %{random} = %{run} --check --input=random --input=random --input=random %{more}
// DEFINE: %{passed} = FileCheck %s
// DEFINE: %{checked} = %{random} | %{passed} && %{random} --target=x86-64 | %{passed} && %{random} --target=%{v3} | %{passed} && %{random} --target=%{v4} | %{passed}
// DEFINE: %{equal} =
// DEFINE: %{known} = %{run} --input=zeros --input=zeros --input=%t.v.npy %{more} --output=%t.o.npy
// DEFINE: %{compare} = %tensors --compare %t.o.npy 1x6x9x8 "%{equal}" 2e-5
// DEFINE: %{closed} = %{known} && %{compare} && %{known} --target=x86-64 && %{compare} && %{known} --target=%{v3} && %{compare} && %{known} --target=%{v4} && %{compare}
// RUN: rm -rf %t.cache
// RUN: %tensors %t.v.npy f32 1x6x40x8 "c + d"

// CHECK: check result 0: passed
// CHECK-NOT: FAILED

!q = tensor<1x6x?x8xf32>
!s = tensor<1x6x?x?xf32>

// ALiBi for any number of heads: 2^(-8 (h + 1) / P) for the largest power of two P
// in it, then every second slope of the next set. The query counts from the past.
// REDEFINE: %{function} = alibi
// REDEFINE: %{more} = --dim=Sq=9 --dim=Skv=40
// REDEFINE: %{equal} = (lambda w: sum(j * x for j, x in enumerate(w)) / sum(w) + d)([math.exp([1/4, 1/16, 1/64, 1/256, 1/2, 1/8][b] * (j - c - 31)) for j in range(c + 32)])
// RUN: %{closed}
// RUN: %{checked}
func.func @alibi(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                 %v: !q {attn.dims = ["", "", "Skv", ""]}) -> !q {
  %c2 = arith.constant 2 : index
  %sq = tensor.dim %q, %c2 : !q
  %skv = tensor.dim %k, %c2 : !q
  %past = arith.subi %skv, %sq : index
  %slopes = tensor.generate {
  ^bb0(%h: index):
    %p = arith.constant 4 : index
    %first = arith.constant -2.0 : f32
    %second = arith.constant 7.0 : f32
    %isFirst = arith.cmpi slt, %h, %p : index
    %start = arith.select %isFirst, %first, %second : f32
    %hi = arith.index_cast %h : index to i32
    %hf = arith.sitofp %hi : i32 to f32
    %step = arith.mulf %hf, %first : f32
    %e = arith.addf %step, %start : f32
    %slope = math.exp2 %e : f32
    tensor.yield %slope : f32
  } : tensor<6xf32>
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %row = arith.addi %i, %past : index
    %d = arith.subi %j, %row : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %slope = tensor.extract %slopes[%h] : tensor<6xf32>
    %bias = arith.mulf %slope, %df : f32
    %x = arith.addf %score, %bias : f32
    attn.yield %x : f32
  }
  %p = attn.masked_softmax %t causal(bottom_right) : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// A learned table of relative positions, one column a head: distances beyond its
// ends read its ends, as gathers are clamped.
// REDEFINE: %{function} = learned
// RUN: %tensors %t.table.npy f32 17x6 "(a - 8) * (b + 1) / 8"
// REDEFINE: %{more} = --dim=Sq=9 --dim=Skv=40 --input=%t.table.npy
// REDEFINE: %{equal} = (lambda w: sum(j * x for j, x in enumerate(w)) / sum(w) + d)([math.exp(max(-8, min(8, j - c)) * (b + 1) / 8) for j in range(40)])
// RUN: %{closed}
// RUN: %{checked}
func.func @learned(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
                   %v: !q {attn.dims = ["", "", "Skv", ""]}, %table: tensor<17x6xf32>) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %middle = arith.constant 8 : index
    %d = arith.subi %j, %i : index
    %at = arith.addi %d, %middle : index
    %bias = tensor.extract %table[%at, %h] : tensor<17x6xf32>
    %x = arith.addf %score, %bias : f32
    attn.yield %x : f32
  }
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// T5: near distances have a bucket each, others share one from each threshold on;
// both ways, so that later keys have the other half of 32 buckets. The thresholds
// are the least integers from 8 * 16^(k / 8) on.
// REDEFINE: %{function} = t5
// RUN: %tensors %t.t5.npy f32 32x6 "(a * (b + 3)) %% 11 / 4"
// REDEFINE: %{more} = --dim=Sq=9 --dim=Skv=40 --input=%t.t5.npy
// REDEFINE: %{equal} = (lambda w: sum(j * x for j, x in enumerate(w)) / sum(w) + d)([math.exp(((min(8, abs(j - c)) + sum(abs(j - c) >= t for t in (12, 16, 23, 32, 46, 64, 91)) + 16 * (j > c)) * (b + 3)) %% 11 / 4) for j in range(40)])
// RUN: %{closed}
// RUN: %{checked}
func.func @t5(%q: !q {attn.dims = ["", "", "Sq", ""]}, %k: !q {attn.dims = ["", "", "Skv", ""]},
              %v: !q {attn.dims = ["", "", "Skv", ""]}, %table: tensor<32x6xf32>) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.score_map %s : !s {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %zero = arith.constant 0 : i32
    %dx = arith.subi %j, %i : index
    %d = arith.index_cast %dx : index to i32
    %back = arith.subi %zero, %d : i32
    %a = arith.maxsi %d, %back : i32
    %exact = arith.constant 8 : i32
    %t0 = arith.constant 12 : i32
    %t1 = arith.constant 16 : i32
    %t2 = arith.constant 23 : i32
    %t3 = arith.constant 32 : i32
    %t4 = arith.constant 46 : i32
    %t5 = arith.constant 64 : i32
    %t6 = arith.constant 91 : i32
    %p0 = arith.cmpi sge, %a, %t0 : i32
    %p1 = arith.cmpi sge, %a, %t1 : i32
    %p2 = arith.cmpi sge, %a, %t2 : i32
    %p3 = arith.cmpi sge, %a, %t3 : i32
    %p4 = arith.cmpi sge, %a, %t4 : i32
    %p5 = arith.cmpi sge, %a, %t5 : i32
    %p6 = arith.cmpi sge, %a, %t6 : i32
    %e0 = arith.extui %p0 : i1 to i32
    %e1 = arith.extui %p1 : i1 to i32
    %e2 = arith.extui %p2 : i1 to i32
    %e3 = arith.extui %p3 : i1 to i32
    %e4 = arith.extui %p4 : i1 to i32
    %e5 = arith.extui %p5 : i1 to i32
    %e6 = arith.extui %p6 : i1 to i32
    %near = arith.minsi %a, %exact : i32
    %s0 = arith.addi %near, %e0 : i32
    %s1 = arith.addi %s0, %e1 : i32
    %s2 = arith.addi %s1, %e2 : i32
    %s3 = arith.addi %s2, %e3 : i32
    %s4 = arith.addi %s3, %e4 : i32
    %s5 = arith.addi %s4, %e5 : i32
    %s6 = arith.addi %s5, %e6 : i32
    %half = arith.constant 16 : i32
    %isLater = arith.cmpi sgt, %d, %zero : i32
    %later = arith.select %isLater, %half, %zero : i32
    %sum = arith.addi %s6, %later : i32
    %bucket = arith.index_cast %sum : i32 to index
    %bias = tensor.extract %table[%bucket, %h] : tensor<32x6xf32>
    %x = arith.addf %score, %bias : f32
    attn.yield %x : f32
  }
  %p = attn.masked_softmax %t : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// A rotary embedding of some features, with a base of its own, on a cache: new rows
// count from the past, and the cache holds keys that are turned already.
// REDEFINE: %{function} = cached
// REDEFINE: %{more} = --input=random --input=random --input=11 --dim=S=3 --dim=N=40
// RUN: %{checked}
func.func @cached(%q: !q {attn.dims = ["", "", "S", ""]}, %k: !q {attn.dims = ["", "", "S", ""]},
                  %v: !q {attn.dims = ["", "", "S", ""]}, %keys: !q {attn.dims = ["", "", "N", ""]},
                  %values: !q {attn.dims = ["", "", "N", ""]}, %past: index) -> (!q, !q, !q) {
  %rq = attn.rope %q half rotary_dim 6 base 5.0e5 offset(%past) : !q
  %rk = attn.rope %k half rotary_dim 6 base 5.0e5 offset(%past) : !q
  %ks = attn.cache_update %keys, %rk at(%past : index) : !q, !q
  %vs = attn.cache_update %values, %v at(%past : index) : !q, !q
  %s = attn.qk %rq, %ks : !q, !q -> !s
  %p = attn.masked_softmax %s causal(offset %past : index) : !s
  %o = attn.weighted_sum %p, %vs : !s, !q -> !q
  return %o, %ks, %vs : !q, !q, !q
}

// New rows turn on their way into a rolling cache, whose end some of them go over,
// by numbers of their own.
// REDEFINE: %{function} = rolling
// REDEFINE: %{more} = --input=random --input=random --dim=S=7 --dim=N=10
// RUN: %{checked}
func.func @rolling(%k: !q {attn.dims = ["", "", "S", ""]}, %keys: !q {attn.dims = ["", "", "N", ""]},
                   %ids: tensor<1x?xi32> {attn.dims = ["", "S"]}, %cos: tensor<9x3xf32>, %sin: tensor<9x3xf32>) -> (!q, !q) {
  %past = arith.constant 28 : index
  %rk = attn.rope %k interleaved rotary_dim 6 positions(%ids : tensor<1x?xi32>) tables(%cos, %sin : tensor<9x3xf32>, tensor<9x3xf32>) : !q
  %a = attn.cache_update %keys, %rk at(%past : index) rolling : !q, !q
  %rl = attn.rope %k half rotary_dim 4 offset(%past) : !q
  %b = attn.cache_update %keys, %rl at(%past : index) rolling : !q, !q
  return %a, %b : !q, !q
}
