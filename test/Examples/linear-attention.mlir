// Linear attention with a gate for each token and head, and a state that comes
// from the tokens before and is passed on: prompts and decoding steps alike.

// RUN: attn-run %s --dim=B=1 --dim=S=150 --input=random:seed=1 --input=random:seed=2 \
// RUN:   --input=random:seed=3 --input=-0.05 --input=zeros --check | FileCheck %s
// CHECK: result 0: f32 [1, 8, 150, 64]
// CHECK: result 1: f32 [1, 2, 64, 64]
// CHECK-COUNT-2: passed

func.func @gated(%q: tensor<?x8x?x64xf32> {attn.name = "q", attn.dims = ["B", "", "S", ""]},
                 %k: tensor<?x2x?x64xf32> {attn.name = "k", attn.dims = ["B", "", "S", ""]},
                 %v: tensor<?x2x?x64xf32> {attn.name = "v", attn.dims = ["B", "", "S", ""]},
                 %decay: tensor<?x2x?xf32> {attn.name = "decay", attn.dims = ["B", "", "S"]},
                 %past: tensor<?x2x64x64xf32> {attn.name = "past", attn.dims = ["B", "", "", ""]})
    -> (tensor<?x8x?x64xf32>, tensor<?x2x64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x8x?x64xf32>
  %tokens = tensor.dim %q, %c2 : tensor<?x8x?x64xf32>
  %init = tensor.empty(%batch, %tokens) : tensor<?x8x?x64xf32>
  %final = tensor.empty(%batch) : tensor<?x2x64x64xf32>
  %o, %state = attn.linear_attention
      ins(%q, %k, %v : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>)
      outs(%init, %final : tensor<?x8x?x64xf32>, tensor<?x2x64x64xf32>) scale 0.125
      decay(%decay : tensor<?x2x?xf32>) initial(%past : tensor<?x2x64x64xf32>)
      -> tensor<?x8x?x64xf32>, tensor<?x2x64x64xf32>
  return %o, %state : tensor<?x8x?x64xf32>, tensor<?x2x64x64xf32>
}
