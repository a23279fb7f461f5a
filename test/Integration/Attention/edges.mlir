// Sizes of zero, rows without keys, hidden NaNs, ragged lengths: the promises of
// the dialect at its edges, fused on each instruction set and by the naive
// lowering, against the same lines.

// DEFINE: %{inputs} =
// DEFINE: %{prefix} = CHECK
// DEFINE: %{run} = attn-run %s --cache-dir=%t.cache %{inputs}
// DEFINE: %{fused} = %{run} --check --require-fused
// DEFINE: %{check} = FileCheck %s --check-prefixes=%{prefix},FUSED
// DEFINE: %{all} = %{fused} | %{check} && %{fused} --target=x86-64 | %{check} && %{fused} --target=%{v3} | %{check} && %{fused} --target=%{v4} | %{check} && %{run} --twin | FileCheck %s --check-prefix=%{prefix}
// RUN: rm -rf %t.cache

// No keys: every row is empty, and an empty row is 0.
// REDEFINE: %{prefix} = NOKEYS
// REDEFINE: %{inputs} = --function=lengths --dim=B=1 --dim=Sq=3 --dim=Skv=0 --input=random --input=random --input=random --input=ones
// RUN: %{all}
// NOKEYS: result 0: f32 [1, 2, 3, 8], min 0, max 0, mean 0

// No queries, no batch: an empty result.
// REDEFINE: %{prefix} = EMPTY
// REDEFINE: %{inputs} = --function=lengths --dim=B=1 --dim=Sq=0 --dim=Skv=4 --input=random --input=random --input=random --input=ones
// RUN: %{all}
// REDEFINE: %{inputs} = --function=lengths --dim=B=0 --dim=Sq=3 --dim=Skv=4 --input=random --input=random --input=random --input=ones
// RUN: %{all}
// EMPTY: result 0: f32 [{{[01]}}, 2, {{[03]}}, 8], empty

// Hidden keys and values are absent, whatever they hold: of 70 keys the last 20
// are NaN, infinite or huge.
// RUN: %tensors %t.bad.npy f32 1x2x70x8 "((n * 37) %% 64 - 32) / 32 if c < 50 else nan if n %% 3 == 0 else inf if n %% 3 == 1 else -3e38"
// RUN: %tensors %t.one.npy f32 1x2x9x8 "d == 0"
// REDEFINE: %{prefix} = HIDDEN
// REDEFINE: %{inputs} = --function=lengths --input=%t.one.npy --input=%t.bad.npy --input=%t.bad.npy --input=50
// RUN: %{all}
// Keys and values are the same numbers; q is 1 in the first feature.
// HIDDEN: result 0: f32 [1, 2, 9, 8], min -0.13281{{[0-9]*}}, max 0.28015{{[0-9]*}}, mean 0.02159{{[0-9]*}}
// HIDDEN-NOT: NaN

// A NaN in one query row stays in its row.
// RUN: %tensors %t.nan.npy f32 1x2x9x8 "nan if (b, c, d) == (1, 4, 2) else d == 0"
// RUN: %tensors %t.k20.npy f32 1x2x20x8 "(c & 1) * (d == 0) * math.log(2)"
// RUN: %tensors %t.v20.npy f32 1x2x20x8 "1 + c + 3 * b + d / 32"
// REDEFINE: %{prefix} = ROW
// REDEFINE: %{inputs} = --function=lengths --input=%t.nan.npy --input=%t.k20.npy --input=%t.v20.npy --input=20
// RUN: %{all}
// ROW: result 0: f32 [1, 2, 9, 8], min 10.6667, max 13.8854, mean 12.1878, 8 NaN

// Scores far beyond what exp can take: the largest, of key 14, takes all.
// RUN: %tensors %t.k33.npy f32 1x2x33x8 "c * 7 %% 33 / 33 * (d == 0)"
// RUN: %tensors %t.v33.npy f32 1x2x33x8 "1 + c + 3 * b + d / 32"
// REDEFINE: %{prefix} = HUGE
// REDEFINE: %{inputs} = --function=lengths --dim=Sq=5 --input=3000 --input=%t.k33.npy --input=%t.v33.npy --input=33
// RUN: %{all}
// HUGE: result 0: f32 [1, 2, 5, 8], min 15, max 18.218{{[0-9]*}}, mean 16.6094
// HUGE-NOT: NaN

// The weights of scores 2.0, 1.0, 0.5 are 0.63, 0.23, 0.14: the values are the
// unit vectors, so that the result shows the weights.
// RUN: %tensors %t.q.npy f32 1x1x1x1 "1"
// RUN: %tensors %t.k.npy f32 1x1x3x1 "[2.0, 1.0, 0.5][c]"
// RUN: %tensors %t.v.npy f32 1x1x3x3 "c == d"
// REDEFINE: %{prefix} = WEIGHTS
// REDEFINE: %{inputs} = --function=weights --input=%t.q.npy --input=%t.k.npy --input=%t.v.npy
// RUN: %{all}
// WEIGHTS: result 0: f32 [1, 1, 1, 3]
// WEIGHTS-NEXT: 0.6285{{[0-9]*}} 0.2312{{[0-9]*}} 0.1402{{[0-9]*}}

func.func @lengths(%q: tensor<?x2x?x8xf32> {attn.dims = ["B", "", "Sq", ""]}, %k: tensor<?x2x?x8xf32> {attn.dims = ["B", "", "Skv", ""]},
                   %v: tensor<?x2x?x8xf32> {attn.dims = ["B", "", "Skv", ""]}, %n: tensor<?xi32> {attn.dims = ["B"]}) -> tensor<?x2x?x8xf32> {
  %s = attn.qk %q, %k : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x?xf32>
  %p = attn.masked_softmax %s lengths(%n : tensor<?xi32>) : tensor<?x2x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<?x2x?x?xf32>, tensor<?x2x?x8xf32> -> tensor<?x2x?x8xf32>
  return %o : tensor<?x2x?x8xf32>
}

func.func @weights(%q: tensor<?x?x?x1xf32>, %k: tensor<?x?x?x1xf32>, %v: tensor<?x?x?x3xf32>) -> tensor<?x?x?x3xf32> {
  %s = attn.qk %q, %k : tensor<?x?x?x1xf32>, tensor<?x?x?x1xf32> -> tensor<?x?x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x?x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<?x?x?x?xf32>, tensor<?x?x?x3xf32> -> tensor<?x?x?x3xf32>
  return %o : tensor<?x?x?x3xf32>
}

// Behind all other lines, because it is printed last.
// FUSED: check result 0: passed
// FUSED-NOT: FAILED
