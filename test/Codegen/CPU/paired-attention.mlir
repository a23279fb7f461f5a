// Products of bf16 pairs by the unit of the target, in a loop that holds nothing
// but tiles: none is spilled, the unit is configured once a task.

// RUN: attn-opt %s --attn-compile-to=vector --target=sapphirerapids | FileCheck %s --check-prefix=TILES
// RUN: attn-opt %s --attn-compile-to=vector --target=znver4 | FileCheck %s --check-prefix=VECTORS
// RUN: attn-run %s --target=sapphirerapids --emit=asm | FileCheck %s --check-prefix=TILES-ASM
// RUN: attn-run %s --target=znver4 --emit=asm | FileCheck %s --check-prefix=VECTORS-ASM

// Pairs of queries, tiles of 16 rows of 32.
// TILES: vector.bitcast %{{.*}} : vector<32xbf16> to vector<16xi32>
// TILES: amx.tile_load {{.*}} into !amx.tile<16x32xbf16>
// TILES: amx.tile_mulf {{.*}} : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
// TILES: amx.tile_store {{.*}} !amx.tile<16x16xf32>
// TILES-NOT: x86vector.avx512.dot

// VECTORS: x86vector.avx512.dot {{.*}} : vector<32xbf16> -> vector<16xf32>
// VECTORS-NOT: amx.

// TILES-ASM-LABEL: pairs_task_2:
// TILES-ASM: ldtilecfg
// TILES-ASM-NOT: ldtilecfg
// TILES-ASM-NOT: tilestored %tmm{{[0-7]}}, {{.*}}(%rsp
// Keys and values do not push sums and weights out of the first cache.
// TILES-ASM: tileloaddt1
// TILES-ASM: tdpbf16ps
// TILES-ASM-NOT: ldtilecfg
// TILES-ASM-NOT: tilestored %tmm{{[0-7]}}, {{.*}}(%rsp
// TILES-ASM: tilerelease

// VECTORS-ASM-LABEL: pairs_task_2:
// VECTORS-ASM: vpbroadcastd{{.*}}(%r{{.*}}), %zmm
// VECTORS-ASM: vdpbf16ps{{.*}}%zmm
func.func @pairs(%q: tensor<?x4x?x64xbf16> {attn.name = "q"}, %k: tensor<?x2x?x64xbf16> {attn.name = "k"}) -> tensor<?x4x?x64xbf16> {
  %s = attn.qk %q, %k : tensor<?x4x?x64xbf16>, tensor<?x2x?x64xbf16> -> tensor<?x4x?x?xf32>
  %t = attn.scale %s by 0.125 : tensor<?x4x?x?xf32>
  %p = attn.masked_softmax %t : tensor<?x4x?x?xf32>
  %o = attn.weighted_sum %p, %k : tensor<?x4x?x?xf32>, tensor<?x2x?x64xbf16> -> tensor<?x4x?x64xbf16>
  return %o : tensor<?x4x?x64xbf16>
}
