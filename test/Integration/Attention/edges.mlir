// Sizes of zero, rows without keys, hidden NaNs, ragged lengths: the promises of
// the dialect at its edges, on each instruction set.

// DEFINE: %{inputs} =
// DEFINE: %{prefix} = CHECK
// DEFINE: %{run} = attn-run %s --check --require-fused --cache-dir=%t.cache %{inputs}
// DEFINE: %{check} = FileCheck %s --check-prefix=%{prefix}
// DEFINE: %{all} = %{run} | %{check} && %{run} --target=x86-64 | %{check} && %{run} --target=%{v3} | %{check} && %{run} --target=%{v4} | %{check}
// RUN: rm -rf %t.cache

// No keys: every row is empty, and an empty row is 0.
// REDEFINE: %{prefix} = NOKEYS
// REDEFINE: %{inputs} = --function=lengths --dim=B=1 --dim=Sq=3 --dim=Skv=0 --input=random --input=random --input=random --input=ones
// RUN: %{all}
// NOKEYS: result 0: f32 [1, 2, 3, 8], min 0, max 0, mean 0
// NOKEYS: check result 0: passed: max abs 0 

// No queries, no batch: an empty result.
// REDEFINE: %{prefix} = EMPTY
// REDEFINE: %{inputs} = --function=lengths --dim=B=1 --dim=Sq=0 --dim=Skv=4 --input=random --input=random --input=random --input=ones
// RUN: %{all}
// REDEFINE: %{inputs} = --function=lengths --dim=B=0 --dim=Sq=3 --dim=Skv=4 --input=random --input=random --input=random --input=ones
// RUN: %{all}
// EMPTY: result 0: f32 [{{[01]}}, 2, {{[03]}}, 8], empty
// EMPTY: check result 0: passed

// Hidden keys and values are absent, whatever they hold: of 70 keys the last 20
// are NaN, infinite or huge.
// RUN: %tensors %t.bad.npy f32 1x2x70x8 "((n * 37) %% 64 - 32) / 32 if c < 50 else nan if n %% 3 == 0 else inf if n %% 3 == 1 else -3e38"
// REDEFINE: %{prefix} = HIDDEN
// REDEFINE: %{inputs} = --function=lengths --dim=Sq=9 --input=random --input=%t.bad.npy --input=%t.bad.npy --input=50
// RUN: %{all}
// HIDDEN: result 0: f32 [1, 2, 9, 8], min -{{0\.[0-9]+}}, max {{0\.[0-9]+}}, mean
// HIDDEN-NOT: NaN
// HIDDEN: check result 0: passed

// A NaN in one query row stays in its row.
// RUN: %tensors %t.nan.npy f32 1x2x9x8 "nan if (b, c, d) == (1, 4, 2) else n / 144"
// REDEFINE: %{prefix} = ROW
// REDEFINE: %{inputs} = --function=lengths --dim=Skv=20 --input=%t.nan.npy --input=random --input=random --input=20
// RUN: %{all}
// ROW: result 0: f32 [1, 2, 9, 8], min {{.*}}, 8 NaN
// ROW: check result 0: passed

// Scores far beyond what exp can take.
// REDEFINE: %{prefix} = HUGE
// REDEFINE: %{inputs} = --function=lengths --dim=B=1 --dim=Sq=5 --dim=Skv=33 --input=3000 --input=random --input=random --input=33
// RUN: %{all}
// HUGE: result 0: f32 [1, 2, 5, 8], min
// HUGE-NOT: NaN
// HUGE: check result 0: passed

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
// WEIGHTS: check result 0: passed

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
