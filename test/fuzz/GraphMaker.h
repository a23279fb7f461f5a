//===- GraphMaker.h - Writes a random attention graph -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graph.cpp has shapes, types and the function; Operands.cpp what queries, keys
// and values come from; Scores.cpp what is between them and the output;
// LinearAttention.cpp attention without scores.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_FUZZ_GRAPHMAKER_H
#define ATTN_TEST_FUZZ_GRAPHMAKER_H

#include "Graph.h"
#include "Programs.h"

namespace attn::fuzz {

/// The arguments of a program on pairs.
inline constexpr char kIndices[] = "%b: index, %h: index, %i: index, %j: index";

class GraphMaker {
public:
  GraphMaker(Graph &graph)
      : graph(graph), random(graph.seed),
        hasNaNRows(Random(~graph.seed).chance(10)) {}
  void make(const std::vector<std::string> &targets);

private:
  //===--- Graph.cpp ------------------------------------------------------===//

  void chooseShapes();
  void chooseTypes();
  Extent extent(char size);
  /// An extent of `size`, or 1.
  Extent broadcast(char size) {
    return random.chance(30) ? Extent{0, 1, false} : extent(size);
  }
  std::vector<Extent> broadcastShape();
  Argument &add(const std::string &name, Role role, ElementType type,
                std::vector<Extent> shape, bool isScalar = false);
  std::string unique(const std::string &root) {
    return root + std::to_string(names++);
  }
  ElementType intType() {
    return random.of({ElementType::i32, ElementType::i64});
  }
  ElementType smallFloat() {
    return random.of({ElementType::f32, ElementType::f16, ElementType::bf16});
  }
  std::vector<Extent> rowsShape(char heads, char rows, int64_t dim) {
    return {extent('b'), extent(heads), extent(rows), {0, dim, false}};
  }
  std::string queriesType() {
    return tensorType(rowsShape('h', 'q', graph.headDim), graph.queryType);
  }
  std::string keysType() {
    return tensorType(rowsShape('g', 'k', graph.headDim), graph.keyType);
  }
  std::string valuesType() {
    return tensorType(rowsShape('g', 'k', graph.valueDim), graph.valueType);
  }
  std::string scoresType() {
    return tensorType({extent('b'), extent('h'), extent('q'), extent('k')},
                      scoreType);
  }
  std::string outputType() {
    return tensorType(rowsShape('h', 'q', graph.valueDim), graph.valueType);
  }
  /// Writes ops that give extents `axes` of `value`, of `shape`, where they are
  /// dynamic; returns their names.
  std::vector<std::string> dims(const std::string &value,
                                const std::vector<Extent> &shape,
                                ElementType type, const std::vector<int> &axes);
  void makeChains();
  void makeFusedOp();
  void finish(std::string results, std::string types, const std::string &body);
  /// One more result.
  void addResult(ResultKind kind, const std::string &name,
                 const std::string &type, size_t cache = 0);

  //===--- Operands.cpp ---------------------------------------------------===//

  /// The names of [B, H, S, D].
  std::string addRows(const std::string &name, Role role, char heads, char rows,
                      int64_t dim, ElementType type);
  std::string split(const std::string &name, Role role, char heads, char rows,
                    int64_t dim, ElementType type);
  std::string transpose(const std::string &name, Role role, char heads,
                        char rows, int64_t dim, ElementType type);
  std::string slice(const std::string &name, Role role, char heads, char rows,
                    int64_t dim, ElementType type);
  std::string project(const std::string &name, Role role, char heads, char rows,
                      int64_t dim, ElementType type);
  std::string rotate(const std::string &value, char heads, char rows,
                     ElementType type);
  void chooseStorage();
  std::pair<std::string, std::string>
  addNewRows(const std::string &name, Role role, ElementType type,
             const std::vector<Extent> &shape);
  /// What is stored, as the argument or with new rows in it.
  std::string addStored(const std::string &name, Role role, ElementType type,
                        int64_t dim);
  /// Keys or values out of a cache.
  std::string addCached(const std::string &name, Role role, int64_t dim,
                        ElementType type);
  void addOperands();

  //===--- Scores.cpp -----------------------------------------------------===//

  std::string addSink();
  std::string position();
  std::string packedClauses();
  std::string maskClauses();
  std::string program(const std::string &arguments, ProgramWriter &writer,
                      const std::string &result, ElementType type);
  std::string products(const std::string &queries);
  void makeScores();
  std::string weightOps(std::string &weights);
  std::string normalizer();
  std::string statistics(const std::string &weights, bool mayBeNegative);

  //===--- LinearAttention.cpp --------------------------------------------===//

  void makeLinearAttention();

  Graph &graph;
  Random random;
  /// By a number of its own: everything else of known seeds stays as it is.
  bool hasNaNRows;
  int names = 0;
  bool dynamic[5] = {};
  ElementType scoreType = ElementType::f32;
  /// Queries, keys and values, and the queries of the first chain.
  std::string query, key, value, firstQuery;
  /// Ops before the scores, of the scores, and of scores that are 0 but for
  /// what hides pairs.
  std::string prologue, scoreOps, zeroOps;
  std::string scores, zeros;
  /// How keys and values are stored: rows of a cache that is written to, pages,
  /// 8-bit integers.
  bool isCached = false, isUpdated = false, returnsCaches = false;
  bool isInteger = false, quantizes = false;
  std::string cachePosition, newScales, table, tableType;
  /// More results, each with a comma before it, and the weights.
  std::string moreResults, moreTypes, shownWeights;
};

} // namespace attn::fuzz

#endif // ATTN_TEST_FUZZ_GRAPHMAKER_H
