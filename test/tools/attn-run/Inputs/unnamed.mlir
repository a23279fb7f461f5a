func.func @f(%q: tensor<?x2x?x4xf32>, %k: tensor<?x2x?x4xf32>, %v: tensor<?x2x?x4xf32>) -> tensor<?x2x?x4xf32> {
  %s = attn.qk %q, %k : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32> -> tensor<?x2x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x2x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<?x2x?x?xf32>, tensor<?x2x?x4xf32> -> tensor<?x2x?x4xf32>
  return %o : tensor<?x2x?x4xf32>
}
