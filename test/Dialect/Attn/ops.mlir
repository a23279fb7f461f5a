// Every op survives printing and parsing, in custom and in generic form.

// RUN: attn-opt %s --verify-roundtrip | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func.func @heads
// CHECK: attn.split_heads %{{.*}} {num_heads = 12 : i64} : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
// CHECK: attn.merge_heads %{{.*}} : tensor<?x12x?x32xf32> -> tensor<?x?x384xf32>
func.func @heads(%x: tensor<?x?x384xf32>) -> tensor<?x?x384xf32> {
  %split = attn.split_heads %x {num_heads = 12} : tensor<?x?x384xf32> -> tensor<?x12x?x32xf32>
  %merged = attn.merge_heads %split : tensor<?x12x?x32xf32> -> tensor<?x?x384xf32>
  return %merged : tensor<?x?x384xf32>
}

// CHECK-LABEL: func.func @rope
// CHECK: attn.rope %{{.*}} half rotary_dim 64 offset(%{{.*}}) : tensor<?x8x?x64xf32>
// CHECK: attn.rope %{{.*}} interleaved rotary_dim 32 base 5.000000e+05 positions(%{{.*}} : tensor<?x?xi64>) : tensor<?x8x?x64xf32>
// CHECK: attn.rope %{{.*}} half rotary_dim 64 tables(%{{.*}}, %{{.*}} : tensor<?x32xf32>, tensor<?x32xf32>) : tensor<?x8x?x64xf32>
func.func @rope(%x: tensor<?x8x?x64xf32>, %past: index, %ids: tensor<?x?xi64>,
                %table: tensor<?x32xf32>) -> tensor<?x8x?x64xf32> {
  %0 = attn.rope %x half rotary_dim 64 offset(%past) : tensor<?x8x?x64xf32>
  %1 = attn.rope %0 interleaved rotary_dim 32 base 5.0e5 positions(%ids : tensor<?x?xi64>) : tensor<?x8x?x64xf32>
  %2 = attn.rope %1 half rotary_dim 64 tables(%table, %table : tensor<?x32xf32>, tensor<?x32xf32>) : tensor<?x8x?x64xf32>
  return %2 : tensor<?x8x?x64xf32>
}

// CHECK-LABEL: func.func @scores
// CHECK: attn.qk %{{.*}}, %{{.*}} : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x?xf32>
// CHECK: attn.scale %{{.*}} by -1.250000e-01 : tensor<?x8x?x?xf32>
// CHECK: attn.softcap %{{.*}} at 5.000000e+01 : tensor<?x8x?x?xf32>
// CHECK: attn.bias %{{.*}}, %{{.*}} : tensor<?x8x?x?xf32>, tensor<8x1x?xf16>
// CHECK: attn.score_map %{{.*}} : tensor<?x8x?x?xf32> {
// CHECK-NEXT: ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
// CHECK: attn.yield %{{.*}} : f32
// CHECK: attn.weighted_sum %{{.*}}, %{{.*}} : tensor<?x8x?x?xf32>, tensor<?x2x?x32xf16> -> tensor<?x8x?x32xf16>
func.func @scores(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x2x?x64xf16>, %bias: tensor<8x1x?xf16>,
                  %v: tensor<?x2x?x32xf16>) -> tensor<?x8x?x32xf16> {
  %0 = attn.qk %q, %k : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x?xf32>
  %1 = attn.scale %0 by -0.125 : tensor<?x8x?x?xf32>
  %2 = attn.softcap %1 at 50.0 : tensor<?x8x?x?xf32>
  %3 = attn.bias %2, %bias : tensor<?x8x?x?xf32>, tensor<8x1x?xf16>
  %4 = attn.score_map %3 : tensor<?x8x?x?xf32> {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.addf %score, %score : f32
    attn.yield %x : f32
  }
  %5 = attn.masked_softmax %4 : tensor<?x8x?x?xf32>
  %6 = attn.weighted_sum %5, %v : tensor<?x8x?x?xf32>, tensor<?x2x?x32xf16> -> tensor<?x8x?x32xf16>
  return %6 : tensor<?x8x?x32xf16>
}

// Each clause alone, then all of them.
// CHECK-LABEL: func.func @masks
// CHECK: attn.masked_softmax %{{[^ ]*}} : tensor<?x8x?x?xf64>
// CHECK: attn.masked_softmax %{{.*}} causal(top_left) : tensor<?x8x?x?xf64>
// CHECK: attn.masked_softmax %{{.*}} causal(offset %{{.*}} : index) : tensor<?x8x?x?xf64>
// CHECK: attn.masked_softmax %{{.*}} window[2, -1](bottom_right) : tensor<?x8x?x?xf64>
// CHECK: attn.masked_softmax %{{.*}} window[0, 0](offset %{{.*}} : tensor<?xi32>) : tensor<?x8x?x?xf64>
// CHECK: attn.masked_softmax %{{.*}} causal(offset %{{.*}} : index, prefix = %{{.*}} : tensor<?xi32>) window[4, 0] : tensor<?x8x?x?xf64>
// CHECK: attn.masked_softmax %{{.*}} segments(%{{.*}}, %{{.*}} : tensor<?x?xi64>, tensor<?x?xi64>) : tensor<?x8x?x?xf64>
// CHECK: attn.masked_softmax %{{.*}} lengths(%{{.*}} : tensor<?xi32>) : tensor<?x8x?x?xf64>
// CHECK: attn.masked_softmax %{{.*}} mask(%{{.*}} : tensor<?x?xi1>) : tensor<?x8x?x?xf64>
// CHECK: attn.masked_softmax %{{.*}} sink(%{{.*}} : tensor<8xf16>) : tensor<?x8x?x?xf64>
// CHECK: attn.masked_softmax %{{.*}} causal(bottom_right) window[4, -1] lengths(%{{.*}} : tensor<?xi32>) mask(%{{.*}} : tensor<?x?xi1>) visible {
// CHECK-NEXT: ^bb0(%b: index, %h: index, %i: index, %j: index):
// CHECK: attn.yield %{{.*}} : i1
// CHECK: } : tensor<?x8x?x?xf64>
func.func @masks(%s: tensor<?x8x?x?xf64>, %past: index, %pasts: tensor<?xi32>,
                 %mask: tensor<?x?xi1>, %ids: tensor<?x?xi64>, %sink: tensor<8xf16>) -> tensor<?x8x?x?xf64> {
  %0 = attn.masked_softmax %s : tensor<?x8x?x?xf64>
  %1 = attn.masked_softmax %0 causal(top_left) : tensor<?x8x?x?xf64>
  %2 = attn.masked_softmax %1 causal(offset %past : index) : tensor<?x8x?x?xf64>
  %3 = attn.masked_softmax %2 window[2, -1](bottom_right) : tensor<?x8x?x?xf64>
  %4 = attn.masked_softmax %3 window[0, 0](offset %pasts : tensor<?xi32>) : tensor<?x8x?x?xf64>
  %prefix = attn.masked_softmax %4 causal(offset %past : index, prefix = %pasts : tensor<?xi32>) window[4, 0] : tensor<?x8x?x?xf64>
  %segments = attn.masked_softmax %prefix segments(%ids, %ids : tensor<?x?xi64>, tensor<?x?xi64>) : tensor<?x8x?x?xf64>
  %5 = attn.masked_softmax %segments lengths(%pasts : tensor<?xi32>) : tensor<?x8x?x?xf64>
  %6 = attn.masked_softmax %5 mask(%mask : tensor<?x?xi1>) : tensor<?x8x?x?xf64>
  %sunk = attn.masked_softmax %6 sink(%sink : tensor<8xf16>) : tensor<?x8x?x?xf64>
  %7 = attn.masked_softmax %sunk causal(bottom_right) window[4, -1] lengths(%pasts : tensor<?xi32>)
      mask(%mask : tensor<?x?xi1>) visible {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %near = arith.cmpi ne, %i, %j : index
    attn.yield %near : i1
  } : tensor<?x8x?x?xf64>
  return %7 : tensor<?x8x?x?xf64>
}

// CHECK-LABEL: func.func @attention
// CHECK: attn.attention ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x32xf16>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<?x8x?x32xf16>, tensor<?x8x?xf32>) scale 1.250000e-01
// CHECK-SAME: offsets(%{{[^)]*}}) sink(%{{.*}} : tensor<?xf32>)
// CHECK-SAME: schedule(<kernel = queries_in_lanes, tile = [64, 128], registers = [4, 4], lanes = 16>)
// CHECK-SAME: score {
// CHECK-NEXT: ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
// CHECK: mask {
// CHECK-NEXT: ^bb0(%b: index, %h: index, %i: index, %j: index):
// CHECK: -> tensor<?x8x?x32xf16>, tensor<?x8x?xf32>
func.func @attention(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %v: tensor<?x2x?x32xf16>,
                     %o: tensor<?x8x?x32xf16>, %lse: tensor<?x8x?xf32>, %at: index, %sink: tensor<?xf32>)
    -> (tensor<?x8x?x32xf16>, tensor<?x8x?xf32>) {
  %0:2 = attn.attention ins(%q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>, tensor<?x2x?x32xf16>)
      outs(%o, %lse : tensor<?x8x?x32xf16>, tensor<?x8x?xf32>) scale 0.125
      offsets(%at, %at, %at, %at) sink(%sink : tensor<?xf32>)
      schedule(<kernel = queries_in_lanes, tile = [64, 128], registers = [4, 4], lanes = 16>)
  score {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %score : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %visible = arith.cmpi sle, %j, %i : index
    attn.yield %visible : i1
  } -> tensor<?x8x?x32xf16>, tensor<?x8x?xf32>
  return %0#0, %0#1 : tensor<?x8x?x32xf16>, tensor<?x8x?xf32>
}

// CHECK-LABEL: func.func @linear_attention
// CHECK: attn.linear_attention ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x32xbf16>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<?x8x?x32xbf16>, tensor<?x2x64x32xf32>) scale 1.250000e-01
// CHECK-SAME: decay(%{{.*}} : tensor<?x2x?x64xf32>) beta(%{{.*}} : tensor<?x2x?xf32>) initial(%{{.*}} : tensor<?x2x64x32xf16>)
// CHECK-SAME: schedule(<kernel = recurrent_state, tile = [16, 64], registers = [4, 4], lanes = 16>)
// CHECK-SAME: -> tensor<?x8x?x32xbf16>, tensor<?x2x64x32xf32>
// CHECK: attn.linear_attention ins({{.*}}) outs(%{{.*}} : tensor<?x8x?x32xbf16>) scale 1.000000e+00 -> tensor<?x8x?x32xbf16>
func.func @linear_attention(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x32xbf16>,
                            %o: tensor<?x8x?x32xbf16>, %final: tensor<?x2x64x32xf32>, %g: tensor<?x2x?x64xf32>,
                            %beta: tensor<?x2x?xf32>, %past: tensor<?x2x64x32xf16>)
    -> (tensor<?x8x?x32xbf16>, tensor<?x2x64x32xf32>, tensor<?x8x?x32xbf16>) {
  %0:2 = attn.linear_attention ins(%q, %k, %v : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x32xbf16>)
      outs(%o, %final : tensor<?x8x?x32xbf16>, tensor<?x2x64x32xf32>) scale 0.125
      decay(%g : tensor<?x2x?x64xf32>) beta(%beta : tensor<?x2x?xf32>) initial(%past : tensor<?x2x64x32xf16>)
      schedule(<kernel = recurrent_state, tile = [16, 64], registers = [4, 4], lanes = 16>)
      -> tensor<?x8x?x32xbf16>, tensor<?x2x64x32xf32>
  %1 = attn.linear_attention ins(%q, %k, %v : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x32xbf16>)
      outs(%o : tensor<?x8x?x32xbf16>) scale 1.0 -> tensor<?x8x?x32xbf16>
  return %0#0, %0#1, %1 : tensor<?x8x?x32xbf16>, tensor<?x2x64x32xf32>, tensor<?x8x?x32xbf16>
}

// The default is not printed.
// CHECK-LABEL: func.func @empty_rows
// CHECK: attn.masked_softmax %{{.*}} causal(bottom_right) empty_row(nan) : tensor<?x8x?x?xf32>
// CHECK: attn.masked_softmax %{{.*}} causal(bottom_right) : tensor<?x8x?x?xf32>
func.func @empty_rows(%s: tensor<?x8x?x?xf32>) -> (tensor<?x8x?x?xf32>, tensor<?x8x?x?xf32>) {
  %a = attn.masked_softmax %s causal(bottom_right) empty_row(nan) : tensor<?x8x?x?xf32>
  %b = attn.masked_softmax %s empty_row(zero) causal(bottom_right) : tensor<?x8x?x?xf32>
  return %a, %b : tensor<?x8x?x?xf32>, tensor<?x8x?x?xf32>
}

// CHECK-LABEL: func.func @weights
// CHECK: attn.masked_softmax %{{.*}} causal(top_left) normalizer(sigmoid) : tensor<?x8x?x?xf32>
// CHECK: attn.probability_map %{{.*}} : tensor<?x8x?x?xf32> {
// CHECK-NEXT: ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
// CHECK: attn.attention {{.*}} scale 1.000000e+00 probability {
// CHECK-NEXT: ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
// CHECK: attn.attention {{.*}} scale 1.000000e+00 -> tensor<?x8x?x8xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>
// CHECK: attn.attention {{.*}} scale 1.000000e+00 unnormalized -> tensor<?x8x?x8xf32>
// CHECK: attn.dropout %{{.*}} rate 1.000000e-01 seed(%{{.*}}) : tensor<?x8x?x?xf32>
func.func @weights(%s: tensor<?x8x?x?xf32>, %q: tensor<?x8x?x8xf32>, %m: tensor<?x8x?xf32>, %seed: i64) -> (tensor<?x8x?x?xf32>, tensor<?x8x?x8xf32>) {
  %a = attn.masked_softmax %s causal(top_left) normalizer(sigmoid) : tensor<?x8x?x?xf32>
  %w = attn.probability_map %a : tensor<?x8x?x?xf32> {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %p : f32
  }
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>)
      outs(%q : tensor<?x8x?x8xf32>) scale 1.0 probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %p : f32
  } -> tensor<?x8x?x8xf32>
  %l:3 = attn.attention ins(%q, %q, %q : tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>)
      outs(%q, %m, %m : tensor<?x8x?x8xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>) scale 1.0 -> tensor<?x8x?x8xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>
  %u = attn.attention ins(%o, %q, %q : tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>, tensor<?x8x?x8xf32>)
      outs(%q : tensor<?x8x?x8xf32>) scale 1.0 unnormalized -> tensor<?x8x?x8xf32>
  %d = attn.dropout %w rate 0.1 seed(%seed) : tensor<?x8x?x?xf32>
  return %d, %u : tensor<?x8x?x?xf32>, tensor<?x8x?x8xf32>
}

// CHECK-LABEL: func.func @additive
// CHECK: attn.additive_scores %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8x?x16xf16>, tensor<?x2x?x16xf16>, tensor<8x16xf32> -> tensor<?x8x?x?xf32>
// CHECK: attn.attention {{.*}} scale 1.000000e+00 additive(%{{.*}} : tensor<8x16xf32>) -> tensor<?x8x?x16xf16>
func.func @additive(%q: tensor<?x8x?x16xf16>, %k: tensor<?x2x?x16xf16>, %w: tensor<8x16xf32>) -> (tensor<?x8x?x?xf32>, tensor<?x8x?x16xf16>) {
  %s = attn.additive_scores %q, %k, %w : tensor<?x8x?x16xf16>, tensor<?x2x?x16xf16>, tensor<8x16xf32> -> tensor<?x8x?x?xf32>
  %o = attn.attention ins(%q, %k, %k : tensor<?x8x?x16xf16>, tensor<?x2x?x16xf16>, tensor<?x2x?x16xf16>)
      outs(%q : tensor<?x8x?x16xf16>) scale 1.0 additive(%w : tensor<8x16xf32>) -> tensor<?x8x?x16xf16>
  return %s, %o : tensor<?x8x?x?xf32>, tensor<?x8x?x16xf16>
}

// CHECK-LABEL: func.func @tiles
// CHECK: attn.pack ins(%{{.*}} : memref<?x64xf16>) outs(%{{.*}} : memref<64x64xf32, strided<[1, 64]>>) factor 1.250000e-01
// CHECK: attn.online_attention ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<64x64xf32>, memref<?x64xf32>, memref<?x32xf32>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}}, %{{.*}} : memref<64x32xf32>, memref<64xf32>, memref<64xf32>)
// CHECK-SAME: at(%{{[^)]*}}) rows(%{{.*}}) upcoming(%{{.*}}, %{{.*}} : memref<64x64xf32>, memref<?x32xf32>) mask {
// CHECK: attn.merge_partials ins(%{{.*}}, %{{.*}}, %{{.*}} : memref<?x64x32xf32>, memref<?x64xf32>, memref<?x64xf32>)
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : memref<?x32xf16>, memref<?xf32>) sink(%{{.*}} : f32)
func.func @tiles(%source: memref<?x64xf16>, %tile: memref<64x64xf32, strided<[1, 64]>>,
                 %q: memref<64x64xf32>, %k: memref<?x64xf32>, %v: memref<?x32xf32>,
                 %acc: memref<64x32xf32>, %stat: memref<64xf32>, %at: index,
                 %accs: memref<?x64x32xf32>, %stats: memref<?x64xf32>,
                 %o: memref<?x32xf16>, %lse: memref<?xf32>, %sink: f32) {
  attn.pack ins(%source : memref<?x64xf16>) outs(%tile : memref<64x64xf32, strided<[1, 64]>>) factor 0.125
  attn.online_attention ins(%q, %k, %v : memref<64x64xf32>, memref<?x64xf32>, memref<?x32xf32>)
      outs(%acc, %stat, %stat : memref<64x32xf32>, memref<64xf32>, memref<64xf32>)
      at(%at, %at, %at, %at) rows(%at) upcoming(%q, %v : memref<64x64xf32>, memref<?x32xf32>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %visible = arith.cmpi sle, %j, %i : index
    attn.yield %visible : i1
  }
  attn.merge_partials ins(%accs, %stats, %stats : memref<?x64x32xf32>, memref<?x64xf32>, memref<?x64xf32>)
      outs(%o, %lse : memref<?x32xf16>, memref<?xf32>) sink(%sink : f32)
  attn.merge_partials ins(%accs, %stats, %stats : memref<?x64x32xf32>, memref<?x64xf32>, memref<?x64xf32>)
      outs(%o, %lse, %lse : memref<?x32xf16>, memref<?xf32>, memref<?xf32>)
  return
}

// CHECK-LABEL: func.func @tiles_of_integers
// CHECK: attn.online_attention {{.*}} key_scale(%{{.*}} : memref<?xf32>) value_scale(%{{.*}} : memref<?xf16>) unnormalized
func.func @tiles_of_integers(%q: memref<4x64xf32>, %k: memref<?x64xi8>, %max: memref<4xf32>, %ks: memref<?xf32>, %vs: memref<?xf16>, %at: index) {
  attn.online_attention ins(%q, %k, %k : memref<4x64xf32>, memref<?x64xi8>, memref<?x64xi8>)
      outs(%q, %max, %max : memref<4x64xf32>, memref<4xf32>, memref<4xf32>)
      at(%at, %at, %at, %at) key_scale(%ks : memref<?xf32>) value_scale(%vs : memref<?xf16>) unnormalized
  return
}

// CHECK-LABEL: func.func @tiles_on_tensors
// CHECK: attn.pack {{.*}} -> tensor<64x64xf32>
// CHECK: attn.online_attention {{.*}} score {
// CHECK: -> tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>
// CHECK: attn.merge_partials {{.*}} -> tensor<?x32xf16>
func.func @tiles_on_tensors(%source: tensor<?x64xf16>, %tile: tensor<64x64xf32>,
                            %k: tensor<?x64xf32>, %v: tensor<?x32xf32>,
                            %acc: tensor<64x32xf32>, %stat: tensor<64xf32>, %at: index,
                            %accs: tensor<?x64x32xf32>, %stats: tensor<?x64xf32>,
                            %o: tensor<?x32xf16>) -> (tensor<64x32xf32>, tensor<?x32xf16>) {
  %q = attn.pack ins(%source : tensor<?x64xf16>) outs(%tile : tensor<64x64xf32>) factor 1.0 -> tensor<64x64xf32>
  %state:3 = attn.online_attention ins(%q, %k, %v : tensor<64x64xf32>, tensor<?x64xf32>, tensor<?x32xf32>)
      outs(%acc, %stat, %stat : tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>)
      at(%at, %at, %at, %at) score {
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %score : f32
  } -> tensor<64x32xf32>, tensor<64xf32>, tensor<64xf32>
  %result = attn.merge_partials ins(%accs, %stats, %stats : tensor<?x64x32xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
      outs(%o : tensor<?x32xf16>) -> tensor<?x32xf16>
  return %state#0, %result : tensor<64x32xf32>, tensor<?x32xf16>
}

// CHECK-LABEL: func.func @caches
// CHECK: attn.cache_update {{.*}} at(%{{.*}} : index) :
// CHECK: attn.cache_update {{.*}} at(%{{.*}} : tensor<?xi32>) rolling :
// CHECK: attn.quantize %{{.*}} : tensor<?x2x16x4xf32>
// CHECK: attn.dequantize {{.*}} -> tensor<?x2x16x4xf32>
// CHECK: attn.gather_pages {{.*}} -> tensor<?x2x?x4xf32>
// CHECK: attn.attention {{.*}} table(%{{.*}} : tensor<?x?xi32>) key_scale(%{{.*}} : tensor<?x2x16xf32>) value_scale(
func.func @caches(%c: tensor<?x2x?x4xf32>, %u: tensor<?x2x?x4xf32>, %at: index, %ats: tensor<?xi32>,
                  %s: tensor<?x2x?xf32>, %p: tensor<?x2x16x4xf32>, %t: tensor<?x?xi32>) -> tensor<?x2x?x4xf32> {
  %0 = attn.cache_update %c, %u at(%at : index) : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>
  %1 = attn.cache_update %s, %s at(%ats : tensor<?xi32>) rolling : tensor<?x2x?xf32>, tensor<?x2x?xf32>
  %8, %scale = attn.quantize %p : tensor<?x2x16x4xf32>
  %d = attn.dequantize %8, %scale : tensor<?x2x16x4xi8>, tensor<?x2x16xf32> -> tensor<?x2x16x4xf32>
  %k = attn.gather_pages %d, %t : tensor<?x2x16x4xf32>, tensor<?x?xi32> -> tensor<?x2x?x4xf32>
  %o = attn.attention ins(%k, %8, %8 : tensor<?x2x?x4xf32>, tensor<?x2x16x4xi8>, tensor<?x2x16x4xi8>) outs(%c : tensor<?x2x?x4xf32>)
      scale 1.0 table(%t : tensor<?x?xi32>) key_scale(%scale : tensor<?x2x16xf32>) value_scale(%scale : tensor<?x2x16xf32>) -> tensor<?x2x?x4xf32>
  return %o : tensor<?x2x?x4xf32>
}

// CHECK-LABEL: func.func @positions
// CHECK: attn.sinusoidal : tensor<3x5xf32>
// CHECK: attn.sinusoidal rows(%{{.*}}) offset(%{{.*}}) : tensor<?x6xf16>
// CHECK: attn.sequence_ids %{{.*}} : tensor<?xi32> -> tensor<1x12xi32>
// CHECK: attn.sequence_ids %{{.*}} length(%{{.*}}) outside -2 : tensor<?xi64> -> tensor<1x?xi32>
// CHECK: attn.sequence_positions %{{.*}} length(%{{.*}}) : tensor<?xi32> -> tensor<1x?xi64>
// CHECK: attn.sequence_positions %{{.*}} from_end : tensor<?xi64> -> tensor<1x12xi32>
func.func @positions(%n: index, %past: index, %cu: tensor<?xi32>, %cu64: tensor<?xi64>)
    -> (tensor<3x5xf32>, tensor<?x6xf16>, tensor<1x12xi32>, tensor<1x?xi32>, tensor<1x?xi64>, tensor<1x12xi32>) {
  %0 = attn.sinusoidal : tensor<3x5xf32>
  %1 = attn.sinusoidal rows(%n) offset(%past) : tensor<?x6xf16>
  %2 = attn.sequence_ids %cu : tensor<?xi32> -> tensor<1x12xi32>
  %3 = attn.sequence_ids %cu64 length(%n) outside -2 : tensor<?xi64> -> tensor<1x?xi32>
  %4 = attn.sequence_positions %cu length(%n) : tensor<?xi32> -> tensor<1x?xi64>
  %5 = attn.sequence_positions %cu64 from_end : tensor<?xi64> -> tensor<1x12xi32>
  return %0, %1, %2, %3, %4, %5 : tensor<3x5xf32>, tensor<?x6xf16>, tensor<1x12xi32>, tensor<1x?xi32>, tensor<1x?xi64>, tensor<1x12xi32>
}

// CHECK-LABEL: func.func @weight_stats
// CHECK: attn.weight_stats %{{.*}} column_sums : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
// CHECK: attn.weight_stats %{{.*}} column_sums row_max entropy top_k 4 : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xi32>
// CHECK: attn.attention_stats ins(%{{.*}}, %{{.*}} : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>) scale 1.250000e-01 offsets(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) log_sum_exp(%{{.*}} : tensor<?x8x?xf32>) remainder(%{{.*}} : tensor<?x8x?xf32>) column_sums(%{{.*}} : tensor<?x8x?xf32>) row_max(%{{.*}} : tensor<?x8x?xf32>) entropy(%{{.*}} : tensor<?x8x?xf32>) top_k(%{{.*}}, %{{.*}} : tensor<?x8x?x4xf32>, tensor<?x8x?x4xi32>) mask {
// CHECK: } -> tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xi32>
// CHECK: attn.attention_stats ins({{.*}}) scale 1.000000e+00 row_max(%{{.*}} : tensor<?x8x?xf32>) score {
func.func @weight_stats(%p: tensor<?x8x?x?xf32>, %q: tensor<?x8x?x64xf32>, %k: tensor<?x2x?x64xf32>, %at: index)
    -> (tensor<?x8x?xf32>, tensor<?x8x?x4xi32>, tensor<?x8x?xf32>) {
  %sums = attn.weight_stats %p column_sums : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
  %c, %m, %e, %w, %i = attn.weight_stats %p column_sums row_max entropy top_k 4 : tensor<?x8x?x?xf32>
    -> tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xi32>
  %0:5 = attn.attention_stats ins(%q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>) scale 0.125 offsets(%at, %at, %at, %at)
      log_sum_exp(%m : tensor<?x8x?xf32>) remainder(%m : tensor<?x8x?xf32>) column_sums(%c : tensor<?x8x?xf32>) row_max(%m : tensor<?x8x?xf32>)
      entropy(%e : tensor<?x8x?xf32>) top_k(%w, %i : tensor<?x8x?x4xf32>, tensor<?x8x?x4xi32>) mask {
  ^bb0(%b: index, %h: index, %x: index, %j: index):
    %v = arith.cmpi sle, %j, %x : index
    attn.yield %v : i1
  } -> tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>, tensor<?x8x?x4xf32>, tensor<?x8x?x4xi32>
  %1 = attn.attention_stats ins(%q, %k : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>) scale 1.0
      row_max(%m : tensor<?x8x?xf32>) score {
  ^bb0(%score: f32, %b: index, %h: index, %x: index, %j: index):
    attn.yield %score : f32
  } -> tensor<?x8x?xf32>
  return %sums, %0#4, %1 : tensor<?x8x?xf32>, tensor<?x8x?x4xi32>, tensor<?x8x?xf32>
}

// CHECK-LABEL: func.func @online_stats
// CHECK: attn.online_stats ins({{.*}}) at(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) rows(%{{.*}}) scale 5.000000e-01 log_sum_exp(%{{.*}} : memref<?xf32>) remainder(%{{.*}} : memref<?xf32>) column_sums(%{{.*}} : memref<?xf32>) top_k(%{{.*}}, %{{.*}} : memref<2x64xf32>, memref<2x64xi32>)
func.func @online_stats(%q: memref<64x8xf32>, %k: memref<?x8xf32>, %l: memref<?xf32>, %c: memref<?xf32>,
                        %w: memref<2x64xf32>, %i: memref<2x64xi32>, %at: index) {
  attn.online_stats ins(%q, %k : memref<64x8xf32>, memref<?x8xf32>) at(%at, %at, %at, %at) rows(%at) scale 0.5
      log_sum_exp(%l : memref<?xf32>) remainder(%l : memref<?xf32>) column_sums(%c : memref<?xf32>) top_k(%w, %i : memref<2x64xf32>, memref<2x64xi32>)
  return
}

// CHECK-LABEL: func.func @rotation
// CHECK: attn.rope_tables frequencies(%{{.*}} : tensor<4xf64>) outs(
// CHECK: attn.rope_tables frequencies(%{{.*}} : tensor<4xf64>) positions(%{{.*}} : tensor<?x?xi32>) outs(
// CHECK: attn.rope_tables tables(%{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<?x4xf32>) offset(%{{.*}}) outs(
// CHECK: attn.rotate ins(%{{.*}} : tensor<?x2x?x9xf16>) by half(%{{.*}}, %{{.*}} : tensor<?x?x4xf32>, tensor<?x?x4xf32>) outs(%{{.*}} : tensor<?x2x?x9xf16>) -> tensor<?x2x?x9xf16>
// CHECK: attn.rotate {{.*}} by interleaved(
// CHECK: attn.cache_update %{{.*}}, %{{.*}} at(%{{.*}} : index) rolling rotated half(%{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<?x4xf32>) :
// CHECK: attn.attention {{.*}} rotated interleaved(%{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x2x?x9xf16>
func.func @rotation(%f: tensor<4xf64>, %i: tensor<?x?xi32>, %n: index, %t: tensor<?x4xf32>, %b: tensor<?x?x4xf32>, %x: tensor<?x2x?x9xf16>) -> tensor<?x2x?x9xf16> {
  %0:2 = attn.rope_tables frequencies(%f : tensor<4xf64>) outs(%t, %t : tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>, tensor<?x4xf32>
  %1:2 = attn.rope_tables frequencies(%f : tensor<4xf64>) positions(%i : tensor<?x?xi32>) outs(%b, %b : tensor<?x?x4xf32>, tensor<?x?x4xf32>) -> tensor<?x?x4xf32>, tensor<?x?x4xf32>
  %2:2 = attn.rope_tables tables(%t, %t : tensor<?x4xf32>, tensor<?x4xf32>) offset(%n) outs(%t, %t : tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>, tensor<?x4xf32>
  %3 = attn.rotate ins(%x : tensor<?x2x?x9xf16>) by half(%1#0, %1#1 : tensor<?x?x4xf32>, tensor<?x?x4xf32>) outs(%x : tensor<?x2x?x9xf16>) -> tensor<?x2x?x9xf16>
  %4 = attn.rotate ins(%3 : tensor<?x2x?x9xf16>) by interleaved(%0#0, %0#1 : tensor<?x4xf32>, tensor<?x4xf32>) outs(%x : tensor<?x2x?x9xf16>) -> tensor<?x2x?x9xf16>
  %u = attn.cache_update %4, %x at(%n : index) rolling rotated half(%t, %t : tensor<?x4xf32>, tensor<?x4xf32>) : tensor<?x2x?x9xf16>, tensor<?x2x?x9xf16>
  %5 = attn.attention ins(%4, %u, %4 : tensor<?x2x?x9xf16>, tensor<?x2x?x9xf16>, tensor<?x2x?x9xf16>) outs(%x : tensor<?x2x?x9xf16>)
      scale 1.0 rotated interleaved(%2#0, %2#1 : tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x2x?x9xf16>
  return %5 : tensor<?x2x?x9xf16>
}

// CHECK-LABEL: func.func @threads
// CHECK: attn.thread_count
func.func @threads() -> index {
  %n = attn.thread_count
  return %n : index
}

// CHECK: module attributes {attn.target = #attn.target<cpu = "znver4", isa = avx512, l1 = 32768, l2 = 1048576>}
module attributes {attn.target = #attn.target<cpu = "znver4", isa = avx512, l1 = 32768, l2 = 1048576>} {
}
