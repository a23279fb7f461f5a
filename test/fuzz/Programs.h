//===- Programs.h - Random mask and score programs --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mask programs compute with integers, and with floats that hold them exactly.
// Score programs are continuous in the score, whose rounding therefore moves a
// result by little: comparisons are those of indices and captures.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_FUZZ_PROGRAMS_H
#define ATTN_TEST_FUZZ_PROGRAMS_H

#include "Graph.h"

namespace attn::fuzz {

/// Writes the ops of one region whose arguments are called %b, %h, %i, %j, and
/// %score or %p. New captures become arguments of the graph.
class ProgramWriter {
public:
  ProgramWriter(Random &random, Graph &graph, ElementType scoreType)
      : random(random), graph(graph),
        scoreType(elementTypeName(scoreType).str()) {}

  /// The names of an index, an i1, a float, a new score and a new weight.
  std::string integer(int depth);
  std::string condition(int depth);
  std::string real(int depth);
  std::string score(int steps);
  std::string weight();

  std::string text;

private:
  std::string define(const std::string &op);
  std::string constant(const std::string &value, const std::string &type);
  std::string number(double value) {
    return constant(std::to_string(value), scoreType);
  }
  std::string binary(const std::string &op, const std::string &type,
                     const std::string &x, const std::string &y) {
    return define(op + " " + x + ", " + y + " : " + type);
  }
  std::string unary(const std::string &op, const std::string &x) {
    return define(op + " " + x + " : " + scoreType);
  }
  std::string integers(const std::string &op, int depth);
  std::string conditions(const std::string &op, int depth);
  std::string leaf();
  std::string gather(Role role, ElementType type, std::string &elementType);
  std::string smallReal(const std::string &integer, double factor);
  std::string step(const std::string &x);

  Random &random;
  Graph &graph;
  std::string scoreType;
  int count = 0;
};

} // namespace attn::fuzz

#endif // ATTN_TEST_FUZZ_PROGRAMS_H
