// Tile ops on buffers belong to a later phase.

// RUN: attn-opt %s --attn-to-linalg --verify-diagnostics

func.func @memref(%x: memref<?x4xf32>, %o: memref<8x4xf32>) {
  // expected-error @below {{is lowered to linalg on tensors, got 'memref<?x4xf32>'}}
  attn.pack ins(%x : memref<?x4xf32>) outs(%o : memref<8x4xf32>) factor 2.0
  return
}
