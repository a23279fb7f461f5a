// A mask that is written as a program becomes the same loops and the same code as
// the keyword that means it, on vectors and on tiles of bf16: what is fast about
// the keywords is what the compiler finds in programs. Shape functions are left
// out, as keywords have constraints of their own.

// DEFINE: %{type} =
// DEFINE: %{target} =
// DEFINE: %{mask} =
// DEFINE: %{code} = sed -e '/^ *\/\//d' -e 's/TYPE/%{type}/' -e 's/MASK/%{mask}/' %s | attn-opt --attn-compile-to=vector --target=%{target} | sed -e '/func.func @__attn_shape/,/^  }/d' -e '/__attn_module_info/d'

// REDEFINE: %{type} = f32
// REDEFINE: %{target} = x86-64-v4

// REDEFINE: %{mask} = causal(top_left)
// RUN: %{code} > %t.causal
// RUN: FileCheck %s < %t.causal
// CHECK: vector.fma
// REDEFINE: %{mask} = visible { ^bb0(%%b: index, %%h: index, %%i: index, %%j: index): %%x = arith.cmpi sle, %%j, %%i : index attn.yield %%x : i1 }
// RUN: %{code} | diff %t.causal -
// REDEFINE: %{mask} = visible { ^bb0(%%b: index, %%h: index, %%i: index, %%j: index): %%x = arith.cmpi sge, %%i, %%j : index attn.yield %%x : i1 }
// RUN: %{code} | diff %t.causal -

// REDEFINE: %{mask} = causal(top_left) window[255, 0]
// RUN: %{code} > %t.window
// REDEFINE: %{mask} = visible { ^bb0(%%b: index, %%h: index, %%i: index, %%j: index): %%n = arith.constant 255 : index %%l = arith.subi %%i, %%n : index %%x = arith.cmpi sle, %%j, %%i : index %%y = arith.cmpi sge, %%j, %%l : index %%z = arith.andi %%x, %%y : i1 attn.yield %%z : i1 }
// RUN: %{code} | diff %t.window -

// REDEFINE: %{mask} = causal(top_left) segments(%%ids, %%ids : tensor<?x?xi32>, tensor<?x?xi32>)
// RUN: %{code} > %t.segments
// REDEFINE: %{mask} = causal(top_left) visible { ^bb0(%%b: index, %%h: index, %%i: index, %%j: index): %%x = tensor.extract %%ids[%%b, %%i] : tensor<?x?xi32> %%y = tensor.extract %%ids[%%b, %%j] : tensor<?x?xi32> %%z = arith.cmpi eq, %%x, %%y : i32 attn.yield %%z : i1 }
// RUN: %{code} | diff %t.segments -

// REDEFINE: %{type} = bf16
// REDEFINE: %{target} = sapphirerapids
// RUN: %{code} > %t.tiles
// RUN: FileCheck %s --check-prefix=TILES < %t.tiles
// TILES: amx.tile_mulf
// REDEFINE: %{mask} = causal(top_left) segments(%%ids, %%ids : tensor<?x?xi32>, tensor<?x?xi32>)
// RUN: %{code} | diff %t.tiles -

!q = tensor<?x8x?x64xTYPE>
!s = tensor<?x8x?x?xf32>

func.func @f(%q: !q, %k: !q, %v: !q, %ids: tensor<?x?xi32>) -> !q {
  %s = attn.qk %q, %k : !q, !q -> !s
  %t = attn.scale %s by 0.125 : !s
  %p = attn.masked_softmax %t MASK : !s
  %o = attn.weighted_sum %p, %v : !s, !q -> !q
  return %o : !q
}
