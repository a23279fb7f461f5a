// Constraints of the steps of rotary embeddings, one test a label.

// RUN: attn-opt %s -split-input-file -verify-diagnostics

// rope_tables C1: frequencies or tables
func.func @tables_c1(%t: tensor<8x32xf32>) {
  // expected-error @+1 {{takes either frequencies or two tables (C1)}}
  %0:2 = attn.rope_tables outs(%t, %t : tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>, tensor<8x32xf32>
  return
}

// -----

// rope_tables C1: frequencies are f64
func.func @tables_c1_f64(%f: tensor<32xf32>, %t: tensor<8x32xf32>) {
  // expected-error @+1 {{frequencies must be f64, got 'f32' (C1)}}
  %0:2 = attn.rope_tables frequencies(%f : tensor<32xf32>) outs(%t, %t : tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>, tensor<8x32xf32>
  return
}

// -----

// rope_tables C1: one for each pair
func.func @tables_c1_pairs(%f: tensor<16xf64>, %t: tensor<8x32xf32>) {
  // expected-error @+1 {{pair count of frequencies is 16 but pair count of cos is 32 (C1)}}
  %0:2 = attn.rope_tables frequencies(%f : tensor<16xf64>) outs(%t, %t : tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>, tensor<8x32xf32>
  return
}

// -----

// rope_tables C2: static pairs
func.func @tables_c2(%f: tensor<32xf64>, %t: tensor<8x?xf32>) {
  // expected-error @+1 {{last extent of cos must be static and positive, got 'tensor<8x?xf32>' (C2)}}
  %0:2 = attn.rope_tables frequencies(%f : tensor<32xf64>) outs(%t, %t : tensor<8x?xf32>, tensor<8x?xf32>) -> tensor<8x?xf32>, tensor<8x?xf32>
  return
}

// -----

// rope_tables C2: of f32 or f64
func.func @tables_c2_type(%f: tensor<32xf64>, %t: tensor<8x32xbf16>) {
  // expected-error @+1 {{cos and sin must both be f32 or f64, got 'bf16' and 'bf16' (C2)}}
  %0:2 = attn.rope_tables frequencies(%f : tensor<32xf64>) outs(%t, %t : tensor<8x32xbf16>, tensor<8x32xbf16>) -> tensor<8x32xbf16>, tensor<8x32xbf16>
  return
}

// -----

// rope_tables C3: one origin of positions
func.func @tables_c3(%f: tensor<32xf64>, %i: tensor<8xi64>, %n: index, %t: tensor<8x32xf32>) {
  // expected-error @+1 {{offset and positions exclude each other (C3)}}
  %0:2 = attn.rope_tables frequencies(%f : tensor<32xf64>) offset(%n) positions(%i : tensor<8xi64>) outs(%t, %t : tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>, tensor<8x32xf32>
  return
}

// -----

// rope_tables C4: positions of each row
func.func @tables_c4(%f: tensor<32xf64>, %i: tensor<2x8xi64>, %t: tensor<8x32xf32>) {
  // expected-error @+1 {{positions must be i32 or i64 of rank 1, got 'tensor<2x8xi64>' (C4)}}
  %0:2 = attn.rope_tables frequencies(%f : tensor<32xf64>) positions(%i : tensor<2x8xi64>) outs(%t, %t : tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>, tensor<8x32xf32>
  return
}

// -----

// rope_tables C4: as many
func.func @tables_c4_rows(%f: tensor<32xf64>, %i: tensor<9xi64>, %t: tensor<8x32xf32>) {
  // expected-error @+1 {{row count of cos is 8 but row count of positions is 9 (C4)}}
  %0:2 = attn.rope_tables frequencies(%f : tensor<32xf64>) positions(%i : tensor<9xi64>) outs(%t, %t : tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>, tensor<8x32xf32>
  return
}

// -----

// rope_tables C5: tensors or memrefs
func.func @tables_c5(%f: memref<32xf64>, %t: tensor<8x32xf32>) {
  // expected-error @+1 {{operands must be all tensors or all memrefs (C5)}}
  %0:2 = attn.rope_tables frequencies(%f : memref<32xf64>) outs(%t, %t : tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>, tensor<8x32xf32>
  return
}

// -----

// rotate C1: rank 4 or 2
func.func @rotate_c1(%x: tensor<2x8x64xf32>, %t: tensor<8x32xf32>) {
  // expected-error @+1 {{source must be a tensor or memref of rank 4, got 'tensor<2x8x64xf32>' (C1)}}
  %0 = attn.rotate ins(%x : tensor<2x8x64xf32>) by half(%t, %t : tensor<8x32xf32>, tensor<8x32xf32>) outs(%x : tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
  return
}

// -----

// rotate C1: one element type
func.func @rotate_c1_type(%x: tensor<8x64xbf16>, %y: tensor<8x64xf32>, %t: tensor<8x32xf32>) {
  // expected-error @+1 {{element type of source is 'bf16' but of dest is 'f32' (C1)}}
  %0 = attn.rotate ins(%x : tensor<8x64xbf16>) by half(%t, %t : tensor<8x32xf32>, tensor<8x32xf32>) outs(%y : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

// -----

// rotate C1: one shape
func.func @rotate_c1_shape(%x: tensor<8x64xf32>, %y: tensor<8x65xf32>, %t: tensor<8x32xf32>) {
  // expected-error @+1 {{head dim of source is 64 but head dim of dest is 65 (C1)}}
  %0 = attn.rotate ins(%x : tensor<8x64xf32>) by half(%t, %t : tensor<8x32xf32>, tensor<8x32xf32>) outs(%y : tensor<8x65xf32>) -> tensor<8x65xf32>
  return
}

// -----

// rotate C2: the rows of cos are those of the source
func.func @rotate_c2(%x: tensor<8x64xf32>, %t: tensor<9x32xf32>) {
  // expected-error @+1 {{row count of cos is 9 but row count of source is 8 (C2)}}
  %0 = attn.rotate ins(%x : tensor<8x64xf32>) by half(%t, %t : tensor<9x32xf32>, tensor<9x32xf32>) outs(%x : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

// -----

// rotate C2: rows of one head have no batch
func.func @rotate_c2_rank(%x: tensor<8x64xf32>, %t: tensor<1x8x32xf32>) {
  // expected-error @+1 {{rows of one head have cos and sin of rank 2, got 'tensor<1x8x32xf32>' (C2)}}
  %0 = attn.rotate ins(%x : tensor<8x64xf32>) by half(%t, %t : tensor<1x8x32xf32>, tensor<1x8x32xf32>) outs(%x : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}

// -----

// rotate C3: no more pairs than there are
func.func @rotate_c3(%x: tensor<8x62xf32>, %t: tensor<8x32xf32>) {
  // expected-error @+1 {{cos turns 32 pairs of features, but the head dim is 62 (C3)}}
  %0 = attn.rotate ins(%x : tensor<8x62xf32>) by half(%t, %t : tensor<8x32xf32>, tensor<8x32xf32>) outs(%x : tensor<8x62xf32>) -> tensor<8x62xf32>
  return
}

// -----

// rotate C3: a static head dim
func.func @rotate_c3_static(%x: tensor<8x?xf32>, %t: tensor<8x32xf32>) {
  // expected-error @+1 {{last extent of source must be static, got 'tensor<8x?xf32>' (C3)}}
  %0 = attn.rotate ins(%x : tensor<8x?xf32>) by half(%t, %t : tensor<8x32xf32>, tensor<8x32xf32>) outs(%x : tensor<8x?xf32>) -> tensor<8x?xf32>
  return
}

// -----

// rotate C4: no result on buffers
func.func @rotate_c4(%x: tensor<8x64xf32>, %t: memref<8x32xf32>) {
  // expected-error @+1 {{operands must be all tensors or all memrefs (C4)}}
  %0 = attn.rotate ins(%x : tensor<8x64xf32>) by half(%t, %t : memref<8x32xf32>, memref<8x32xf32>) outs(%x : tensor<8x64xf32>) -> tensor<8x64xf32>
  return
}
