//===- LinearAttention.cpp - A random graph of linear attention -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphMaker.h"

#include "llvm/ADT/StringExtras.h"

using namespace attn;
using namespace attn::fuzz;

/// Every update rule; queries, keys and values have as many rows.
void GraphMaker::makeLinearAttention() {
  graph.isLinear = true;
  // Head counts are static.
  dynamic[1] = dynamic[2] = false;
  graph.isFixed[1] = graph.isFixed[2] = true;
  bool isDouble = graph.queryType == ElementType::f64;
  // There is no kernel for f64.
  graph.mustFuse = !isDouble;
  ElementType type = isDouble ? ElementType::f64 : smallFloat();
  graph.queryType = graph.keyType = graph.valueType = type;
  auto rows = [&](char heads, int64_t dim) {
    return tensorType(rowsShape(heads, 'q', dim), type);
  };
  query = addRows("q", Role::Feature, 'h', 'q', graph.headDim, type);
  key = addRows("k", Role::Feature, 'g', 'q', graph.headDim, type);
  value = addRows("v", Role::Feature, 'g', 'q', graph.valueDim, type);
  std::string o = rows('h', graph.valueDim);
  std::string clauses = " scale " + std::string(random.of({"0.25", "1.0"}));
  std::vector<Extent> tokens{extent('b'), extent('g'), extent('q')};
  if (random.chance(65)) {
    std::vector<Extent> shape = tokens;
    if (random.chance(50))
      shape.push_back({0, graph.headDim, false});
    clauses +=
        " decay(%decay : " + add("decay", Role::Decay, type, shape).typeText() +
        ")";
  }
  if (random.chance(50))
    clauses +=
        " beta(%beta : " + add("beta", Role::Beta, type, tokens).typeText() +
        ")";
  std::vector<Extent> state{extent('b'),
                            extent('g'),
                            {0, graph.headDim, false},
                            {0, graph.valueDim, false}};
  ElementType stateType = isDouble ? type : smallFloat();
  std::string s = tensorType(state, stateType);
  if (random.chance(50))
    clauses += " initial(%state : " +
               add("state", Role::Feature, stateType, state).typeText() + ")";

  std::vector<Extent> shape = rowsShape('h', 'q', graph.headDim);
  auto sizes = [&](const std::vector<int> &axes) {
    return llvm::join(dims(query, shape, type, axes), ", ");
  };
  bool hasState = random.chance(60);
  std::string body =
      "%o0 = tensor.empty(" + sizes({0, 1, 2}) + ") : " + o + "\n";
  if (hasState)
    body += "%s0 = tensor.empty(" + sizes({0}) + ") : " + s + "\n";
  std::string types = o + (hasState ? ", " + s : "");
  body += std::string("%o") + (hasState ? ":2" : "") +
          " = attn.linear_attention ins(" + query + ", " + key + ", " + value +
          " : " + rows('h', graph.headDim) + ", " + rows('g', graph.headDim) +
          ", " + rows('g', graph.valueDim) + ") outs(%o0" +
          (hasState ? ", %s0" : "") + " : " + types + ")" + clauses + " -> " +
          types + "\n";
  if (hasState)
    addResult(ResultKind::Output, "%o#1", s);
  finish(hasState ? "%o#0" : "%o", o, body);
}
