//===- LinearAttention.h - Lowering of linear attention ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One task goes through the tokens of one key head. They are read in chunks,
// widened to f32 once; columns of values and of the state lie in panels of one
// register tile each.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CODEGEN_CPU_LINEARATTENTION_H
#define ATTN_LIB_CODEGEN_CPU_LINEARATTENTION_H

#include "TileLowering.h"

namespace attn {

class LinearAttentionLowering {
public:
  LinearAttentionLowering(mlir::RewriterBase &rewriter,
                          mlir::ImplicitLocOpBuilder &b, LinearAttentionOp op,
                          TargetAttr target);

  mlir::LogicalResult run();

private:
  using Vectors = llvm::SmallVector<mlir::Value>;

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value add(mlir::Value x, int64_t y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value min(mlir::Value x, mlir::Value y);
  mlir::Value loadScalar(mlir::Value memref, mlir::ValueRange indices);
  /// An f32 scratch of the task.
  mlir::Value allocate(llvm::ArrayRef<int64_t> shape);

  // Between memory and scratch (LowerLinearAttention.cpp)

  /// `memref[leading..., row : row + rows, column : column + columns]`.
  mlir::Value view(mlir::Value memref, mlir::ValueRange leading,
                   mlir::Value row, mlir::Value rows, mlir::OpFoldResult column,
                   mlir::OpFoldResult columns);
  /// All columns.
  mlir::Value viewRows(mlir::Value memref, mlir::ValueRange leading,
                       mlir::Value row, mlir::Value rows);
  mlir::LogicalResult pack(mlir::Value source, mlir::Value dest,
                           double factor = 1.0);
  /// Rows [row, row + rows) of one head into the first rows of each panel of
  /// `panels`. Columns past the end are 0.
  mlir::LogicalResult packPanels(mlir::Value source, mlir::Value row,
                                 mlir::Value rows, mlir::Value panels);
  mlir::LogicalResult loadState();
  void storeState();
  mlir::LogicalResult loadChunk();
  /// Asks for the rows of the next chunk, which may be past the end.
  void prefetchNextChunk(mlir::Value memref, mlir::Value head);
  mlir::LogicalResult loadQueries(mlir::Value head, mlir::Value dest);
  /// One number a token, into a scratch whose rest is 0.
  void loadTokens(mlir::Value source, mlir::Value dest);
  /// Stores a register row of panel `panel` into `memref[0, head, row]`.
  void storeColumns(mlir::ValueRange values, mlir::Value memref,
                    mlir::Value head, mlir::Value row, mlir::Value panel);
  /// e^x as a factor of many steps needs it: rounded about once, and 1 for 0.
  mlir::Value gate(mlir::Value x);

  // Token by token (RecurrentState.cpp)

  mlir::LogicalResult emitRecurrence();
  void emitToken(mlir::Value panel, mlir::Value t);
  /// Sums of vectors over the rows of a state, in several accumulators each so
  /// that they do not wait for one another.
  Vectors sumRows(llvm::function_ref<void(mlir::Value row,
                                          llvm::MutableArrayRef<mlir::Value>)>
                      addRow);
  Vectors loadPanel(mlir::Value panels, mlir::Value panel, mlir::Value row);
  void storePanel(mlir::ValueRange values, mlir::Value panels,
                  mlir::Value panel, mlir::Value row);

  // Chunk by chunk (ChunkedState.cpp)

  mlir::LogicalResult emitChunk();
  void emitDecays();
  void scaleKeys();
  void emitScores();
  void emitOutputs(mlir::Value head);
  void emitStateUpdate();

  mlir::RewriterBase &rewriter;
  mlir::ImplicitLocOpBuilder &b;
  LinearAttentionOp op;
  TargetAttr target;
  VectorEmitter e;
  bool isChunked;
  /// Tokens of a chunk, rows of a state, the same in whole vectors, query
  /// heads, register rows, and vectors and columns of a panel.
  int64_t chunk, depth, paddedDepth, group, registerRows, vectors, width;
  mlir::Value zero, tokens, columns, panelCount;

  /// Scratch: `state [panels, depth, width]`, `values [panels, chunk, width]`,
  /// `queries [heads, chunk, paddedDepth]`, scaled, `keys` and, with a decay of
  /// each row, `gates` and `gatedKeys`, `[chunk, paddedDepth]`; one number a
  /// token in `gates` and `betas`.
  mlir::Value state, values, queries, keys, gates, gatedKeys, betas;
  /// Of chunks: keys transposed `[paddedDepth, chunk]`; `scores` and `decays`
  /// `[chunk, chunk]`, what is left at token i of token j; and what is left at
  /// token i of the state before the chunk.
  mlir::Value keysT, scores, decays, starts;
  /// Where one row is put together that is no row of vectors in memory.
  mlir::Value rowBuffer;
  /// The current chunk: its first token and its number of tokens.
  mlir::Value first, count;
};

} // namespace attn

#endif // ATTN_LIB_CODEGEN_CPU_LINEARATTENTION_H
