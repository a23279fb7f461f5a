// Additive scores have one kernel, whatever dot products would have; a remark
// says so.

// RUN: attn-opt %s --pass-pipeline='builtin.module(attn-set-target{cpu=sapphirerapids},func.func(attn-select-schedule))' \
// RUN:   --remarks-filter-missed=attn --remark-format=emitRemark 2>&1 | FileCheck %s

// CHECK: remark: {{.*}}Function=few_rows {{.*}}additive scores are computed by queries_in_lanes, not by features_in_lanes
// CHECK: remark: {{.*}}Function=pairs {{.*}}additive scores are computed by queries_in_lanes, not by bf16_tiles
// CHECK-LABEL: func.func @few_rows
// CHECK: schedule(<kernel = queries_in_lanes, tile = [{{.*}}], registers = [2, 2], lanes = 16>)
func.func @few_rows(%q: tensor<?x8x1x64xf32>, %k: tensor<?x8x?x64xf32>, %w: tensor<64xf32>) -> tensor<?x8x1x64xf32> {
  %o = attn.attention ins(%q, %k, %k : tensor<?x8x1x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%q : tensor<?x8x1x64xf32>) scale 1.0 additive(%w : tensor<64xf32>) -> tensor<?x8x1x64xf32>
  return %o : tensor<?x8x1x64xf32>
}

// CHECK-LABEL: func.func @pairs
// CHECK: schedule(<kernel = queries_in_lanes,
func.func @pairs(%q: tensor<?x8x?x64xbf16>, %w: tensor<64xf32>) -> tensor<?x8x?x64xbf16> {
  %o = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) outs(%q : tensor<?x8x?x64xbf16>) scale 1.0 additive(%w : tensor<64xf32>) -> tensor<?x8x?x64xbf16>
  return %o : tensor<?x8x?x64xbf16>
}
