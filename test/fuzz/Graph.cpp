//===- Graph.cpp - A random attention graph -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphMaker.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace attn;
using namespace attn::fuzz;

int64_t Extent::in(const Sizes &sizes) const {
  switch (size) {
  case 'b':
    return sizes.b;
  case 'h':
    return sizes.h;
  case 'g':
    return sizes.g;
  case 'q':
    return sizes.q;
  case 'k':
    return sizes.k;
  case 'm':
    return sizes.m;
  case 'p':
    return sizes.p;
  case 'n':
    return sizes.n;
  case 'c':
    return sizes.c;
  default:
    return number;
  }
}

std::string attn::fuzz::tensorType(llvm::ArrayRef<Extent> shape,
                                   ElementType type) {
  std::string text = "tensor<";
  for (const Extent &extent : shape)
    text += extent.text() + "x";
  return text + elementTypeName(type).str() + ">";
}

std::string Argument::typeText() const {
  if (isScalar)
    return role == Role::Position || role == Role::CachePosition
               ? "index"
               : elementTypeName(type).str();
  return tensorType(shape, type);
}

constexpr char kSizes[] = "bhgqk";

Extent GraphMaker::extent(char size) {
  size_t index = llvm::StringRef(kSizes).find(size);
  return {size, Extent{size}.in(graph.fixed), dynamic[index]};
}

Argument &GraphMaker::add(const std::string &name, Role role, ElementType type,
                          std::vector<Extent> shape, bool isScalar) {
  Argument argument;
  argument.name = name;
  argument.role = role;
  argument.type = type;
  argument.shape = std::move(shape);
  argument.isScalar = isScalar;
  graph.arguments.push_back(argument);
  return graph.arguments.back();
}

//===----------------------------------------------------------------------===//
// Shapes and types
//===----------------------------------------------------------------------===//

void GraphMaker::chooseShapes() {
  for (bool &isDynamic : dynamic)
    isDynamic = random.chance(60);
  // Mostly static, as in models; both or none.
  dynamic[1] = dynamic[2] = random.chance(20);
  graph.fixed.b = random.of<int64_t>({1, 1, 2, 3});
  graph.fixed.g = random.of<int64_t>({1, 1, 2, 2, 3, 4});
  graph.fixed.h = graph.fixed.g * random.of<int64_t>({1, 1, 1, 2, 3, 4, 8});
  graph.fixed.q = random.of<int64_t>({1, 1, 2, 3, 4, 7, 8, 9, 16, 33, 65});
  if (random.chance(50))
    dynamic[3] = true;
  graph.fixed.k = random.of<int64_t>({0, 1, 5, 16, 31, 64, 65, 100, 129, 300});
  auto dim = [&] {
    return random.of<int64_t>({1,   2,   3,   4,   5,   7,   8,   12,
                               15,  16,  17,  24,  31,  32,  33,  40,
                               48,  63,  64,  64,  64,  65,  80,  96,
                               100, 127, 128, 128, 160, 192, 256, 288});
  };
  graph.headDim = dim();
  graph.valueDim = random.chance(60) ? graph.headDim : dim();
  for (int i = 0; i < 5; ++i)
    graph.isFixed[i] = !dynamic[i];
}

void GraphMaker::chooseTypes() {
  using T = ElementType;
  switch (random.pick(0, 9)) {
  case 0:
  case 1:
  case 2:
    graph.queryType = graph.keyType = graph.valueType = T::f32;
    break;
  case 3:
  case 4:
  case 5:
    graph.queryType = graph.keyType = graph.valueType = T::bf16;
    break;
  case 6:
    graph.queryType = graph.keyType = graph.valueType = T::f16;
    break;
  case 7: // caches are narrower than queries
    graph.queryType = smallFloat();
    graph.keyType = graph.valueType = smallFloat();
    break;
  case 8:
    graph.queryType = smallFloat();
    graph.keyType = smallFloat();
    graph.valueType = smallFloat();
    break;
  default:
    if (random.chance(70)) {
      graph.queryType = graph.keyType = graph.valueType = T::f32;
      break;
    }
    graph.queryType = graph.keyType = graph.valueType = T::f64;
    scoreType = T::f64;
  }
}

/// Rank 0 to 4, right-aligned to the scores.
std::vector<Extent> GraphMaker::broadcastShape() {
  std::vector<Extent> shape;
  for (int64_t rank = random.of<int64_t>({0, 1, 2, 2, 3, 4, 4}); rank; --rank)
    shape.push_back(broadcast("bhqk"[4 - rank]));
  return shape;
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

void GraphMaker::finish(std::string results, std::string types,
                        const std::string &body) {
  results += moreResults;
  types += moreTypes;
  std::string signature;
  for (const Argument &argument : graph.arguments)
    signature += (signature.empty() ? "%" : ", %") + argument.name + ": " +
                 argument.typeText();
  auto write = [&](const std::string &ops, const std::string &more,
                   const std::string &moreTypes) {
    return "func.func @f(" + signature + ") -> (" + types + moreTypes +
           ") {\n" + prologue + ops + "return " + results + more + " : " +
           types + moreTypes + "\n}\n";
  };
  graph.text = write(body, "", "");
  if (graph.isLinear) {
    graph.textWithWeights = graph.text;
    return;
  }
  graph.showsWeights = !shownWeights.empty();
  if (graph.showsWeights)
    shownWeights = ", " + shownWeights;
  std::string shownType = graph.showsWeights ? ", " + scoresType() : "";
  graph.textWithWeights = write(body + zeroOps, shownWeights + ", " + zeros,
                                shownType + ", " + scoresType());
}

void GraphMaker::addResult(ResultKind kind, const std::string &name,
                           const std::string &type, size_t cache) {
  graph.results.push_back({kind, cache});
  moreResults += ", " + name;
  moreTypes += ", " + type;
}

/// One attention, or two of which the second one's queries are the first one's
/// output.
void GraphMaker::makeChains() {
  bool isTwo = graph.headDim == graph.valueDim && random.chance(15);
  std::string s = scoresType(), o = outputType(), body, weightsOfZeros;
  for (int turn = 0; turn < 1 + isTwo; ++turn) {
    if (turn) {
      graph.chains.emplace_back();
      // A NaN may vanish in between.
      graph.dropsPairs = true;
    }
    scores = unique("%s");
    std::string qk = products(turn ? o : queriesType()), first = scores;
    std::string zero = unique("%z");
    zeros = unique("%z");
    zeroOps +=
        zero + qk + zeros + " = attn.scale " + zero + " by 0.0 : " + s + "\n";
    scoreOps.clear();
    makeScores();
    std::string clauses = maskClauses(), normal = normalizer();
    std::string weights = unique("%w"), start = weights;
    std::string more = weightOps(weights), output = unique("%o");
    bool isLast = turn == isTwo;
    if (isLast && random.chance(20))
      more += statistics(weights,
                         more.find("probability_map") != std::string::npos);
    // What a dropout leaves of a row that a NaN has spoiled is not said.
    if (hasNaNRows && isLast && more.empty() && !graph.chain().isSum)
      normal += " empty_row(nan)";
    body += first + qk + scoreOps + start + " = attn.masked_softmax " + scores +
            clauses + normal + " : " + s + "\n" + more + output +
            " = attn.weighted_sum " + weights + ", " + value + " : " + s +
            ", " + valuesType() + " -> " + o + "\n";
    std::string visible = unique("%w");
    zeroOps += visible + " = attn.masked_softmax " + zeros + clauses + " : " +
               s + "\n";
    if (!weightsOfZeros.empty()) {
      std::string sum = unique("%w");
      zeroOps += sum + " = arith.addf " + weightsOfZeros + ", " + visible +
                 " : " + s + "\n";
      visible = sum;
    }
    weightsOfZeros = visible;
    query = output;
  }
  zeros = weightsOfZeros;
  // One schedule is that of both, and not every kernel has additive scores.
  for (const Chain &chain : graph.chains)
    graph.hasSchedule &= !isTwo || chain.gain != 0.0;
  if (extent('h').isDynamic || !random.chance(15))
    return finish(query, o, body);
  std::string merged = tensorType(
      {extent('b'), extent('q'), {0, graph.fixed.h * graph.valueDim, false}},
      graph.valueType);
  finish("%y", merged,
         body + "%y = attn.merge_heads " + query + " : " + o + " -> " + merged +
             "\n");
}

/// attn.attention as fusion would make it, with the log-sum-exp.
void GraphMaker::makeFusedOp() {
  std::string o = outputType(), s = scoresType();
  std::string lse =
      tensorType({extent('b'), extent('h'), extent('q')}, scoreType);
  std::string q = queriesType(), k = keysType(), v = valuesType();
  std::string sizes = llvm::join(dims(query, rowsShape('h', 'q', graph.headDim),
                                      graph.queryType, {0, 1, 2}),
                                 ", ");
  graph.chain().scale = 1.0 / std::sqrt(static_cast<double>(graph.headDim));
  std::string regions, mask;
  std::string sink = random.chance(25) ? addSink() : "";
  if (random.chance(50)) {
    ProgramWriter writer(random, graph, scoreType);
    std::string score = writer.score(random.pick(1, 3));
    regions +=
        " score " +
        program("%score: " + elementTypeName(scoreType).str() + ", " + kIndices,
                writer, score, scoreType);
  }
  if (random.chance(70)) {
    ProgramWriter writer(random, graph, scoreType);
    std::string visible = writer.condition(3);
    mask = program(kIndices, writer, visible, ElementType::i1);
    regions += " mask " + mask;
  }
  std::string body = "%eo = tensor.empty(" + sizes + ") : " + o +
                     "\n%el = tensor.empty(" + sizes + ") : " + lse +
                     "\n%o:2 = attn.attention ins(" + query + ", " + key +
                     ", " + value + " : " + q + ", " + k + ", " + v +
                     ") outs(%eo, %el : " + o + ", " + lse + ") scale " +
                     llvm::formatv("{0:f8}", graph.chain().scale).str() + sink +
                     regions + " -> " + o + ", " + lse + "\n";
  zeroOps = "%zs = attn.qk " + query + ", " + key + " : " + q + ", " + k +
            " -> " + s + "\n%z0 = attn.scale %zs by 0.0 : " + s +
            "\n%weights = attn.masked_softmax %z0" +
            (mask.empty() ? "" : " visible " + mask) + " : " + s + "\n";
  zeros = "%weights";
  moreResults = ", %o#1" + moreResults;
  moreTypes = ", " + lse + moreTypes;
  graph.results.insert(graph.results.begin() + 1, {ResultKind::LogSumExp});
  finish("%o#0", o, body);
}

void GraphMaker::make(const std::vector<std::string> &targets) {
  graph.target = targets[random.pick(0, targets.size() - 1)];
  graph.hasSchedule = random.chance(25);
  chooseShapes();
  chooseTypes();
  if (random.chance(6))
    return makeLinearAttention();
  addOperands();
  if (random.chance(20))
    makeFusedOp();
  else
    makeChains();
}

Graph attn::fuzz::makeGraph(uint64_t seed,
                            const std::vector<std::string> &targets) {
  Graph graph;
  graph.seed = seed;
  GraphMaker(graph).make(targets);
  return graph;
}
