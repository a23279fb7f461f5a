// Sequences of any lengths packed into one row, fused on each instruction set: with
// the numbers of the mean over what is visible, and with random inputs against the
// f64 twin. Queries and keys are packed by bounds of their own; the last tokens
// belong to no sequence.

// DEFINE: %{function} =
// DEFINE: %{equal} =
// DEFINE: %{cu} = --input=%t.cuq.npy --input=%t.cuk.npy
// DEFINE: %{run} = attn-run %s --cache-dir=%t.cache --function=%{function} --require-fused --dim=Tq=50 --dim=Tk=90
// DEFINE: %{passed} = FileCheck %s
// DEFINE: %{random} = %{run} --check --input=random --input=random --input=random %{cu}
// DEFINE: %{known} = %{run} --input=zeros --input=zeros --input=%t.v.npy %{cu} --output=%t.o.npy
// DEFINE: %{compare} = %tensors --compare %t.o.npy 1x2x50x40 "%{equal}" 2e-5
// DEFINE: %{on} = %{known} --target=native && %{compare} && %{random} | %{passed}
// DEFINE: %{all} = %{on} && %{known} --target=x86-64 && %{compare} && %{random} --target=x86-64 | %{passed} && %{known} --target=%{v3} && %{compare} && %{random} --target=%{v3} | %{passed} && %{known} --target=%{v4} && %{compare} && %{random} --target=%{v4} | %{passed}
// RUN: rm -rf %t.cache
// RUN: %tensors %t.v.npy f32 1x2x90x40 "nan if c >= 80 else c + 100 * b"
// RUN: %tensors %t.cuq.npy i32 4 "[0, 7, 7, 48][a]"
// RUN: %tensors %t.cuk.npy i32 4 "[0, 30, 40, 80][a]"

// CHECK: check result 0: passed
// CHECK-NOT: FAILED

!q = tensor<1x2x?x40xf32>
!s = tensor<1x2x?x?xf32>
!i = tensor<1x?xi32>

// Every key of the own sequence.
// REDEFINE: %{function} = segments
// REDEFINE: %{equal} = 0 if c >= 48 else 100 * b + (14.5 if c < 7 else 59.5)
// RUN: %{all}
func.func @segments(%q: !q {attn.dims = ["", "", "Tq", ""]}, %k: !q {attn.dims = ["", "", "Tk", ""]},
                    %v: !q {attn.dims = ["", "", "Tk", ""]}, %cuq: tensor<?xi32>, %cuk: tensor<?xi32>) -> !q {
  %c2 = arith.constant 2 : index
  %tq = tensor.dim %q, %c2 : !q
  %tk = tensor.dim %k, %c2 : !q
  %qs = attn.sequence_ids %cuq length(%tq) : tensor<?xi32> -> !i
  %ks = attn.sequence_ids %cuk length(%tk) outside -2 : tensor<?xi32> -> !i
  %s = attn.qk %q, %k : !q, !q -> !s
  %p = attn.masked_softmax %s segments(%qs, %ks : !i, !i) : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}

// Bottom-right in each sequence: 7 queries end with 30 keys, and 41 with 40. The
// rows turn by their positions in the sequence.
// REDEFINE: %{function} = bottom_right
// REDEFINE: %{equal} = 0 if c >= 48 or c == 7 else 100 * b + ((c + 23) / 2 if c < 7 else 40 + (c - 8) / 2)
// RUN: %{all}
func.func @bottom_right(%q: !q {attn.dims = ["", "", "Tq", ""]}, %k: !q {attn.dims = ["", "", "Tk", ""]},
                        %v: !q {attn.dims = ["", "", "Tk", ""]}, %cuq: tensor<?xi32>, %cuk: tensor<?xi32>) -> !q {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %tq = tensor.dim %q, %c2 : !q
  %tk = tensor.dim %k, %c2 : !q
  %qs = attn.sequence_ids %cuq length(%tq) : tensor<?xi32> -> !i
  %ks = attn.sequence_ids %cuk length(%tk) outside -2 : tensor<?xi32> -> !i
  %qe = attn.sequence_positions %cuq length(%tq) from_end : tensor<?xi32> -> !i
  %ke = attn.sequence_positions %cuk length(%tk) from_end : tensor<?xi32> -> !i
  %rq = attn.rope %q half rotary_dim 40 positions(%qe : !i) : !q
  %rk = attn.rope %k half rotary_dim 40 positions(%ke : !i) : !q
  %s = attn.qk %rq, %rk : !q, !q -> !s
  %p = attn.masked_softmax %s segments(%qs, %ks : !i, !i) visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %qe[%c0, %i] : !i
    %y = tensor.extract %ke[%c0, %j] : !i
    %z = arith.cmpi sle, %y, %x : i32
    attn.yield %z : i1
  } : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}
