// The first self-attention block of all-MiniLM-L6-v2: 12 heads of 32 features.
// Weights are arguments in the layout of the model's safetensors file; batch
// and sequence length are known at run time only. tools/dev/quickstart runs it.

// RUN: attn-opt %s --attn-compile-to=fusion | FileCheck %s --check-prefix=FUSION
// RUN: attn-opt %s --attn-compile-to=tiles | FileCheck %s --check-prefix=TILES
// RUN: attn-opt %s --attn-compile-to=llvm -o /dev/null

// One fused op takes the place of the chain, and the weights are kept nowhere.
// FUSION-LABEL: func.func @attention_block
// FUSION-NOT: attn.qk
// FUSION: attn.attention
// FUSION-SAME: tensor<?x12x?x32xf32>
// FUSION-NOT: attn.masked_softmax
// The result that asks for the weights is not fused away.
// FUSION-LABEL: func.func @attention_weights
// FUSION: attn.masked_softmax

// TILES-LABEL: func.func @attention_block
// TILES-NOT: memref<?x12x?x?xf32>
// TILES: scf.forall
// TILES: attn.online_attention
// TILES-NOT: memref<?x12x?x?xf32>
// TILES-LABEL: func.func @attention_weights

/// A linear layer as frameworks store it: `y[b, s, n] = bias[n] + sum_k x[b, s, k] * w[n, k]`.
func.func private @linear(%x: tensor<?x?x384xf32>, %w: tensor<384x384xf32>, %bias: tensor<384xf32>)
    -> tensor<?x?x384xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %x, %c0 : tensor<?x?x384xf32>
  %length = tensor.dim %x, %c1 : tensor<?x?x384xf32>
  %empty = tensor.empty(%batch, %length) : tensor<?x?x384xf32>
  %start = linalg.broadcast ins(%bias : tensor<384xf32>) outs(%empty : tensor<?x?x384xf32>) dimensions = [0, 1]
  %y = linalg.contract
      indexing_maps = [affine_map<(b, s, n, k) -> (b, s, k)>,
                       affine_map<(b, s, n, k) -> (n, k)>,
                       affine_map<(b, s, n, k) -> (b, s, n)>]
      ins(%x, %w : tensor<?x?x384xf32>, tensor<384x384xf32>)
      outs(%start : tensor<?x?x384xf32>) -> tensor<?x?x384xf32>
  return %y : tensor<?x?x384xf32>
}

/// Hidden states in, hidden states out: what `BertAttention` computes before
/// its residual connection. Keys from `lengths[b]` on are padding.
func.func @attention_block(
    %hidden: tensor<?x?x384xf32> {attn.name = "hidden", attn.dims = ["B", "S", ""]},
    %lengths: tensor<?xi32> {attn.name = "lengths", attn.dims = ["B"]},
    %wq: tensor<384x384xf32> {attn.name = "wq"}, %bq: tensor<384xf32> {attn.name = "bq"},
    %wk: tensor<384x384xf32> {attn.name = "wk"}, %bk: tensor<384xf32> {attn.name = "bk"},
    %wv: tensor<384x384xf32> {attn.name = "wv"}, %bv: tensor<384xf32> {attn.name = "bv"},
    %wo: tensor<384x384xf32> {attn.name = "wo"}, %bo: tensor<384xf32> {attn.name = "bo"})
    -> tensor<?x?x384xf32> {
  %xq = call @linear(%hidden, %wq, %bq) : (tensor<?x?x384xf32>, tensor<384x384xf32>, tensor<384xf32>) -> tensor<?x?x384xf32>
  %xk = call @linear(%hidden, %wk, %bk) : (tensor<?x?x384xf32>, tensor<384x384xf32>, tensor<384xf32>) -> tensor<?x?x384xf32>
  %xv = call @linear(%hidden, %wv, %bv) : (tensor<?x?x384xf32>, tensor<384x384xf32>, tensor<384xf32>) -> tensor<?x?x384xf32>
  %q = attn.split_heads %xq {num_heads = 12} : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
  %k = attn.split_heads %xk {num_heads = 12} : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
  %v = attn.split_heads %xv {num_heads = 12} : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
  %s = attn.qk %q, %k : tensor<?x12x?x32xf32>, tensor<?x12x?x32xf32> -> tensor<?x12x?x?xf32>
  // 1 / sqrt(32)
  %t = attn.scale %s by 0.17677669529663687 : tensor<?x12x?x?xf32>
  %p = attn.masked_softmax %t lengths(%lengths : tensor<?xi32>) : tensor<?x12x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<?x12x?x?xf32>, tensor<?x12x?x32xf32> -> tensor<?x12x?x32xf32>
  %merged = attn.merge_heads %o : tensor<?x12x?x32xf32> -> tensor<?x?x384xf32>
  %y = call @linear(%merged, %wo, %bo) : (tensor<?x?x384xf32>, tensor<384x384xf32>, tensor<384xf32>) -> tensor<?x?x384xf32>
  return %y : tensor<?x?x384xf32>
}

/// The attention weights `[B, S, S]` of head 6, to look at: row i holds how
/// much token i takes from every token j.
func.func @attention_weights(
    %hidden: tensor<?x?x384xf32> {attn.name = "hidden", attn.dims = ["B", "S", ""]},
    %lengths: tensor<?xi32> {attn.name = "lengths", attn.dims = ["B"]},
    %wq: tensor<384x384xf32> {attn.name = "wq"}, %bq: tensor<384xf32> {attn.name = "bq"},
    %wk: tensor<384x384xf32> {attn.name = "wk"}, %bk: tensor<384xf32> {attn.name = "bk"})
    -> tensor<?x?x?xf32> {
  %xq = call @linear(%hidden, %wq, %bq) : (tensor<?x?x384xf32>, tensor<384x384xf32>, tensor<384xf32>) -> tensor<?x?x384xf32>
  %xk = call @linear(%hidden, %wk, %bk) : (tensor<?x?x384xf32>, tensor<384x384xf32>, tensor<384xf32>) -> tensor<?x?x384xf32>
  %q = attn.split_heads %xq {num_heads = 12} : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
  %k = attn.split_heads %xk {num_heads = 12} : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
  %s = attn.qk %q, %k : tensor<?x12x?x32xf32>, tensor<?x12x?x32xf32> -> tensor<?x12x?x?xf32>
  %t = attn.scale %s by 0.17677669529663687 : tensor<?x12x?x?xf32>
  %p = attn.masked_softmax %t lengths(%lengths : tensor<?xi32>) : tensor<?x12x?x?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %hidden, %c0 : tensor<?x?x384xf32>
  %length = tensor.dim %hidden, %c1 : tensor<?x?x384xf32>
  %head = tensor.extract_slice %p[0, 6, 0, 0] [%batch, 1, %length, %length] [1, 1, 1, 1]
      : tensor<?x12x?x?xf32> to tensor<?x?x?xf32>
  return %head : tensor<?x?x?xf32>
}
