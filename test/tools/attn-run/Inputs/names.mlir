func.func @names(%query: tensor<2xf32>, %0: tensor<2xf32>, %arg7: f32, %x: f32 {attn.name = "y"}, %y: f32, %arg: f32, %a$b: f32) -> tensor<2xf32> {
  return %query : tensor<2xf32>
}
