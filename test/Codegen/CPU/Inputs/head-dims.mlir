func.func @f(%q: tensor<?x8x?xDxf32>, %k: tensor<?x2x?xDxf32>, %v: tensor<?x2x?xDVxf32>) -> tensor<?x8x?xDVxf32> {
  %s = attn.qk %q, %k : tensor<?x8x?xDxf32>, tensor<?x2x?xDxf32> -> tensor<?x8x?x?xf32>
  %p = attn.masked_softmax %s causal(top_left) : tensor<?x8x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<?x8x?x?xf32>, tensor<?x2x?xDVxf32> -> tensor<?x8x?xDVxf32>
  return %o : tensor<?x8x?xDVxf32>
}
