func.func @attention(%q: tensor<?x2x?x4xf32> {attn.name = "q", attn.dims = ["B", "", "Sq", ""]},
                     %k: tensor<?x2x?x4xf32> {attn.name = "k", attn.dims = ["B", "", "Skv", ""]},
                     %v: tensor<?x2x?x4xf32> {attn.name = "v", attn.dims = ["B", "", "Skv", ""]},
                     %past: index {attn.name = "past"}) -> tensor<?x2x?x4xf32> {
  %s = attn.qk %q, %k : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32> -> tensor<?x2x?x?xf32>
  %p = attn.masked_softmax %s causal(offset %past : index) : tensor<?x2x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<?x2x?x?xf32>, tensor<?x2x?x4xf32> -> tensor<?x2x?x4xf32>
  return %o : tensor<?x2x?x4xf32>
}
