// Causal attention with grouped heads: 8 query heads read 2 key and value
// heads. The README runs this file; so does test/docs/readme.test.

!q = tensor<?x8x?x64xf32>
!kv = tensor<?x2x?x64xf32>
!scores = tensor<?x8x?x?xf32>

func.func @causal(%q: !q {attn.dims = ["B", "", "S", ""]}, %k: !kv {attn.dims = ["B", "", "S", ""]},
                  %v: !kv {attn.dims = ["B", "", "S", ""]}) -> !q {
  %s = attn.qk %q, %k : !q, !kv -> !scores
  %t = attn.scale %s by 0.125 : !scores
  %p = attn.masked_softmax %t causal(top_left) : !scores
  %o = attn.weighted_sum %p, %v : !scores, !kv -> !q
  return %o : !q
}
