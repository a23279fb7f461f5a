// x + y, and y twice; the second function is for --function.
func.func @add(%x: tensor<?x3xf32> {attn.name = "x", attn.dims = ["N", ""]},
               %y: tensor<?x3xf32> {attn.name = "y", attn.dims = ["N", ""]})
    -> (tensor<?x3xf32>, tensor<?x3xf32>) {
  %s = arith.addf %x, %y : tensor<?x3xf32>
  %t = arith.addf %y, %y : tensor<?x3xf32>
  return %s, %t : tensor<?x3xf32>, tensor<?x3xf32>
}
func.func @square(%x: tensor<?xf32> {attn.name = "x"}) -> tensor<?xf32> {
  %s = arith.mulf %x, %x : tensor<?xf32>
  return %s : tensor<?xf32>
}
