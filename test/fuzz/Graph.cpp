//===- Graph.cpp - A random attention graph -------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "Programs.h"

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
  default:
    return number;
  }
}

static std::string tensorType(llvm::ArrayRef<Extent> shape,
                              const std::string &type) {
  std::string text = "tensor<";
  for (const Extent &extent : shape)
    text += extent.text() + "x";
  return text + type + ">";
}

std::string Argument::typeText() const {
  if (isScalar)
    return role == Role::Position ? "index" : elementTypeName(type).str();
  return tensorType(shape, elementTypeName(type).str());
}

namespace {

class GraphMaker {
public:
  GraphMaker(Graph &graph) : graph(graph), random(graph.seed) {}
  void make(const std::vector<std::string> &targets);

private:
  void chooseShapes();
  void chooseTypes();
  Extent extent(char size);
  /// An extent of `size`, or 1.
  Extent broadcast(char size) {
    return random.chance(30) ? Extent{0, 1, false} : extent(size);
  }
  std::vector<Extent> broadcastShape();
  const Argument &add(const std::string &name, Role role, ElementType type,
                      std::vector<Extent> shape, bool isScalar = false);
  void addOperand(const std::string &name, Role role, char heads, char rows,
                  int64_t dim, ElementType type);
  std::string scoresType() {
    return tensorType({extent('b'), extent('h'), extent('q'), extent('k')},
                      scoreType);
  }
  std::string outputType() {
    return tensorType(
        {extent('b'), extent('h'), extent('q'), {0, graph.valueDim, false}},
        elementTypeName(valueType).str());
  }
  ElementType intType() {
    return random.of({ElementType::i32, ElementType::i64});
  }
  ElementType smallFloat() {
    return random.of({ElementType::f32, ElementType::f16, ElementType::bf16});
  }
  std::string addSink();
  std::string position();
  std::string maskClauses();
  std::string program(const std::string &arguments, ProgramWriter &writer,
                      const std::string &result, const std::string &type);
  void makeScores();
  std::string products();
  std::string weightOps(std::string &weights);
  void makeChain();
  void makeFusedOp();
  void finish(const std::string &results, const std::string &types,
              const std::string &fullBody);

  Graph &graph;
  Random random;
  bool dynamic[5] = {};
  ElementType queryType = ElementType::f32, keyType = ElementType::f32,
              valueType = ElementType::f32;
  std::string scoreType = "f32";
  /// Ops before the scores, of the scores, and of scores that are 0 but for
  /// what hides pairs.
  std::string prologue, scoreOps, zeroOps;
  std::string scores = "%s0", zeros = "%z0";
};

} // namespace

constexpr char kSizes[] = "bhgqk";
constexpr char kIndices[] = "%b: index, %h: index, %i: index, %j: index";

Extent GraphMaker::extent(char size) {
  size_t index = llvm::StringRef(kSizes).find(size);
  return {size, Extent{size}.in(graph.fixed), dynamic[index]};
}

const Argument &GraphMaker::add(const std::string &name, Role role,
                                ElementType type, std::vector<Extent> shape,
                                bool isScalar) {
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
    queryType = keyType = valueType = T::f32;
    break;
  case 3:
  case 4:
  case 5:
    queryType = keyType = valueType = T::bf16;
    break;
  case 6:
    queryType = keyType = valueType = T::f16;
    break;
  case 7: // caches are narrower than queries
    queryType = smallFloat();
    keyType = valueType = smallFloat();
    break;
  case 8:
    queryType = smallFloat();
    keyType = smallFloat();
    valueType = smallFloat();
    break;
  default:
    if (random.chance(70)) {
      queryType = keyType = valueType = T::f32;
      break;
    }
    queryType = keyType = valueType = T::f64;
    scoreType = "f64";
    graph.mustFuse = false;
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
// Masks and scores
//===----------------------------------------------------------------------===//

/// `%o : index` or `%o : tensor<?xi32>`.
std::string GraphMaker::position() {
  std::string name = "p" + std::to_string(graph.arguments.size());
  const Argument &argument =
      random.chance(50) ? add(name, Role::Position, ElementType::i64, {}, true)
                        : add(name, Role::Position, intType(), {extent('b')});
  return "%" + name + " : " + argument.typeText();
}

std::string GraphMaker::addSink() {
  const Argument &sink = add("sink", Role::Sink, smallFloat(), {extent('h')});
  return " sink(%sink : " + sink.typeText() + ")";
}

std::string GraphMaker::program(const std::string &arguments,
                                ProgramWriter &writer,
                                const std::string &result,
                                const std::string &type) {
  return "{\n^bb0(" + arguments + "):\n" + writer.text + "  attn.yield " +
         result + " : " + type + "\n}";
}

std::string GraphMaker::maskClauses() {
  std::string text;
  auto alignment = [&]() -> std::string {
    switch (random.pick(0, 2)) {
    case 0:
      return "top_left";
    case 1:
      return "bottom_right";
    default:
      return "offset " + position();
    }
  };
  auto side = [&] {
    return std::to_string(random.of<int64_t>({-1, 0, 1, 2, 7, 30, 100}));
  };
  bool causal = random.chance(40);
  if (causal) {
    text += " causal(" + alignment();
    if (random.chance(25))
      text += ", prefix = " + position();
    text += ")";
  }
  if (random.chance(25)) {
    std::string left = side();
    text += " window[" + left + ", " + side() + "]";
    if (!causal)
      text += "(" + alignment() + ")";
  }
  if (random.chance(25)) {
    const Argument &lengths =
        add("lengths", Role::Position, intType(), {extent('b')});
    text += " lengths(%lengths : " + lengths.typeText() + ")";
  }
  if (random.chance(12)) {
    ElementType type = intType();
    std::string q =
        add("segq", Role::Segments, type, {extent('b'), extent('q')})
            .typeText();
    std::string k =
        add("segk", Role::Segments, type, {extent('b'), extent('k')})
            .typeText();
    text += " segments(%segq, %segk : " + q + ", " + k + ")";
  }
  if (random.chance(20)) {
    const Argument &mask =
        add("mask", Role::Bits, ElementType::i1, broadcastShape());
    text += " mask(%mask : " + mask.typeText() + ")";
  }
  if (random.chance(35)) {
    ProgramWriter writer(random, graph, scoreType);
    std::string visible = writer.condition(3);
    text += " visible " + program(kIndices, writer, visible, "i1");
  }
  return text;
}

void GraphMaker::makeScores() {
  std::string type = scoresType();
  int count = 0;
  auto define = [&](const std::string &op, const std::string &rest) {
    std::string next = "%s" + std::to_string(++count);
    scoreOps += next + " = " + op + " " + scores + rest + "\n";
    scores = next;
  };
  auto scale = [&] {
    double factor = random.chance(70)
                        ? 1.0 / std::sqrt(static_cast<double>(graph.headDim))
                        : random.of({1.0, 0.0, -0.25, 0.03125, 2.0});
    define("attn.scale", llvm::formatv(" by {0:f8} : {1}", factor, type));
    graph.scale *= factor;
    graph.offset *= std::abs(factor);
  };
  if (random.chance(90))
    scale();
  for (int64_t ops = random.of<int64_t>({0, 0, 0, 1, 1, 2, 3}); ops; --ops)
    switch (random.pick(0, 5)) {
    case 0: {
      const char *cap = random.of({"0.5", "5.0", "30.0"});
      define("attn.softcap", std::string(" at ") + cap + " : " + type);
      break;
    }
    case 1:
    case 2: {
      ElementType biasType =
          scoreType == "f64" ? ElementType::f64 : smallFloat();
      std::string name = "bias" + std::to_string(count);
      std::string bias =
          add(name, Role::Bias, biasType, broadcastShape()).typeText();
      std::string rest = ", %" + name + " : " + type + ", " + bias;
      define("attn.bias", rest);
      std::string next = "%z" + std::to_string(count);
      zeroOps += next + " = attn.bias " + zeros + rest + "\n";
      zeros = next;
      graph.offset += 16;
      break;
    }
    case 3:
      scale();
      break;
    default: {
      ProgramWriter writer(random, graph, scoreType);
      std::string score = writer.score(random.pick(1, 4));
      define("attn.score_map",
             " : " + type + " " +
                 program("%score: " + scoreType + ", " + kIndices, writer,
                         score, scoreType));
    }
    }
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// [B, H, S, D], or [B, S, H * D] and an op that splits it.
void GraphMaker::addOperand(const std::string &name, Role role, char heads,
                            char rows, int64_t dim, ElementType type) {
  Extent count = extent(heads);
  std::string typeName = elementTypeName(type).str();
  std::vector<Extent> shape{extent('b'), count, extent(rows), {0, dim, false}};
  if (count.isDynamic || !random.chance(15)) {
    add(name, role, type, shape);
    return;
  }
  const Argument &argument =
      add("packed_" + name, role, type,
          {extent('b'), extent(rows), {0, count.number * dim, false}});
  graph.arguments.back().splitHeads = count.number;
  prologue += "%" + name + " = attn.split_heads %packed_" + name +
              " {num_heads = " + std::to_string(count.number) +
              "} : " + argument.typeText() + " -> " +
              tensorType(shape, typeName) + "\n";
}

void GraphMaker::finish(const std::string &results, const std::string &types,
                        const std::string &body) {
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
  graph.textWithWeights =
      write(body + zeroOps, ", %weights", ", " + scoresType());
}

/// ` = attn.qk ...` or the additive form.
std::string GraphMaker::products() {
  auto operand = [&](char heads, char rows, ElementType type) {
    return tensorType(
        {extent('b'), extent(heads), extent(rows), {0, graph.headDim, false}},
        elementTypeName(type).str());
  };
  std::string q = operand('h', 'q', queryType), k = operand('g', 'k', keyType);
  std::string op = " = attn.qk %q, %k", types = " : " + q + ", " + k;
  if (scoreType != "f64" && random.chance(8)) {
    std::vector<Extent> shape{{0, graph.headDim, false}};
    if (random.chance(50))
      shape.insert(shape.begin(), extent('h'));
    op = " = attn.additive_scores %q, %k, %weight";
    types += ", " + add("weight", Role::Reals, smallFloat(), shape).typeText();
    // tanh is at most 1, whatever the queries and keys are.
    graph.gain = 0.0;
    graph.offset = 4.0 * graph.headDim;
  }
  return op + types + " -> " + scoresType() + "\n";
}

/// What weights pass through on their way to the sum.
std::string GraphMaker::weightOps(std::string &weights) {
  std::string text, type = scoresType();
  for (int64_t ops = random.of<int64_t>({0, 0, 0, 0, 0, 0, 1, 2}); ops; --ops) {
    std::string next = weights + "w";
    graph.dropsPairs = true;
    graph.largestWeight *= 2.0;
    if (random.chance(40)) {
      std::string seed = "seed" + std::to_string(graph.arguments.size());
      add(seed, Role::Seed, ElementType::i64, {}, true);
      text += next + " = attn.dropout " + weights + " rate " +
              random.of({"0.5", "0.125", "0.0"}) + " seed(%" + seed +
              ") : " + type + "\n";
    } else {
      ProgramWriter writer(random, graph, scoreType);
      std::string weight = writer.weight();
      text += next + " = attn.probability_map " + weights + " : " + type + " " +
              program("%p: " + scoreType + ", " + kIndices, writer, weight,
                      scoreType) +
              "\n";
    }
    weights = next;
  }
  return text;
}

void GraphMaker::makeChain() {
  std::string s = scoresType(), o = outputType();
  auto operand = [&](char heads, char rows, int64_t dim, ElementType type) {
    return tensorType(
        {extent('b'), extent(heads), extent(rows), {0, dim, false}},
        elementTypeName(type).str());
  };
  std::string v = operand('g', 'k', graph.valueDim, valueType);
  std::string qk = products();
  makeScores();
  std::string clauses = maskClauses(), normalizer;
  if (random.chance(8)) {
    normalizer = " normalizer(sigmoid)";
    graph.isSum = true;
  } else if (random.chance(15)) {
    normalizer = addSink();
  }
  std::string weights = "%w0", more = weightOps(weights);
  std::string body = "%s0" + qk + scoreOps + "%w0 = attn.masked_softmax " +
                     scores + clauses + normalizer + " : " + s + "\n" + more +
                     "%o = attn.weighted_sum " + weights + ", %v : " + s +
                     ", " + v + " -> " + o + "\n";
  zeroOps = "%zs" + qk + "%z0 = attn.scale %zs by 0.0 : " + s + "\n" + zeroOps +
            "%weights = attn.masked_softmax " + zeros + clauses + " : " + s +
            "\n";
  if (!extent('h').isDynamic && random.chance(15)) {
    std::string merged = tensorType(
        {extent('b'), extent('q'), {0, graph.fixed.h * graph.valueDim, false}},
        elementTypeName(valueType).str());
    finish("%y", merged,
           body + "%y = attn.merge_heads %o : " + o + " -> " + merged + "\n");
    return;
  }
  finish("%o", o, body);
}

/// attn.attention as fusion would make it, with the log-sum-exp.
void GraphMaker::makeFusedOp() {
  graph.hasLse = true;
  std::string o = outputType(), s = scoresType();
  std::string lse =
      tensorType({extent('b'), extent('h'), extent('q')}, scoreType);
  auto operand = [&](char heads, char rows, int64_t dim, ElementType type) {
    return tensorType(
        {extent('b'), extent(heads), extent(rows), {0, dim, false}},
        elementTypeName(type).str());
  };
  std::string q = operand('h', 'q', graph.headDim, queryType);
  std::string k = operand('g', 'k', graph.headDim, keyType);
  std::string v = operand('g', 'k', graph.valueDim, valueType);
  std::string dims, values;
  for (auto [axis, size] : {std::pair{0, 'b'}, {1, 'h'}, {2, 'q'}})
    if (extent(size).isDynamic) {
      std::string n = std::to_string(axis);
      dims += "%c" + n + " = arith.constant " + n + " : index\n%d" + n +
              " = tensor.dim %q, %c" + n + " : " + q + "\n";
      values += (values.empty() ? "%d" : ", %d") + n;
    }
  graph.scale = 1.0 / std::sqrt(static_cast<double>(graph.headDim));
  std::string regions, mask;
  std::string sink = random.chance(25) ? addSink() : "";
  if (random.chance(50)) {
    ProgramWriter writer(random, graph, scoreType);
    std::string score = writer.score(random.pick(1, 3));
    regions += " score " + program("%score: " + scoreType + ", " + kIndices,
                                   writer, score, scoreType);
  }
  if (random.chance(70)) {
    ProgramWriter writer(random, graph, scoreType);
    std::string visible = writer.condition(3);
    mask = program(kIndices, writer, visible, "i1");
    regions += " mask " + mask;
  }
  std::string body = dims + "%eo = tensor.empty(" + values + ") : " + o +
                     "\n%el = tensor.empty(" + values + ") : " + lse +
                     "\n%o:2 = attn.attention ins(%q, %k, %v : " + q + ", " +
                     k + ", " + v + ") outs(%eo, %el : " + o + ", " + lse +
                     ") scale " + llvm::formatv("{0:f8}", graph.scale).str() +
                     sink + regions + " -> " + o + ", " + lse + "\n";
  zeroOps = "%zs = attn.qk %q, %k : " + q + ", " + k + " -> " + s +
            "\n%z0 = attn.scale %zs by 0.0 : " + s +
            "\n%weights = attn.masked_softmax %z0" +
            (mask.empty() ? "" : " visible " + mask) + " : " + s + "\n";
  finish("%o#0, %o#1", o + ", " + lse, body);
}

void GraphMaker::make(const std::vector<std::string> &targets) {
  graph.target = targets[random.pick(0, targets.size() - 1)];
  graph.hasSchedule = random.chance(25);
  chooseShapes();
  chooseTypes();
  addOperand("q", Role::Query, 'h', 'q', graph.headDim, queryType);
  addOperand("k", Role::Key, 'g', 'k', graph.headDim, keyType);
  addOperand("v", Role::Value, 'g', 'k', graph.valueDim, valueType);
  // The fused op has no kernel for f64.
  if (scoreType != "f64" && random.chance(20))
    makeFusedOp();
  else
    makeChain();
}

Graph attn::fuzz::makeGraph(uint64_t seed,
                            const std::vector<std::string> &targets) {
  Graph graph;
  graph.seed = seed;
  GraphMaker(graph).make(targets);
  return graph;
}
