//===- Scores.cpp - Masks, scores and weights of a random graph -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphMaker.h"

#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace attn;
using namespace attn::fuzz;

//===----------------------------------------------------------------------===//
// Masks and scores
//===----------------------------------------------------------------------===//

/// `%o : index` or `%o : tensor<?xi32>`.
std::string GraphMaker::position() {
  std::string name = unique("p");
  const Argument &argument =
      random.chance(50) ? add(name, Role::Position, ElementType::i64, {}, true)
                        : add(name, Role::Position, intType(), {extent('b')});
  return "%" + name + " : " + argument.typeText();
}

std::string GraphMaker::addSink() {
  std::string name = unique("sink");
  const Argument &sink = add(name, Role::Sink, smallFloat(), {extent('h')});
  return " sink(%" + name + " : " + sink.typeText() + ")";
}

std::string GraphMaker::program(const std::string &arguments,
                                ProgramWriter &writer,
                                const std::string &result, ElementType type) {
  return "{\n^bb0(" + arguments + "):\n" + writer.text + "  attn.yield " +
         result + " : " + elementTypeName(type).str() + "\n}";
}

/// `segments` on the numbers of sequences, and what is causal in each or not.
std::string GraphMaker::packedClauses() {
  std::string ids, types, ends[2];
  bool isCausal = random.chance(60), fromEnd = random.chance(50);
  // Tokens of no sequence see each other, or nothing.
  const char *outside[] = {"", random.of({"", " outside -2"})};
  for (int side : {0, 1}) {
    std::vector<Extent> rows = side ? rowsShape('g', 'k', graph.headDim)
                                    : rowsShape('h', 'q', graph.headDim);
    std::vector<std::string> length =
        dims(side ? key : firstQuery, rows,
             side ? graph.keyType : graph.queryType, {2});
    std::string cu = unique("cu");
    std::string bounds =
        add(cu, Role::Bounds, intType(), {{'c', 1, true}}).typeText();
    std::string type = tensorType({{0, 1, false}, rows[2]}, ElementType::i32);
    std::string name = unique("%seq");
    std::string from =
        " %" + cu + (length.empty() ? "" : " length(" + length[0] + ")");
    prologue += name + " = attn.sequence_ids" + from + outside[side] + " : " +
                bounds + " -> " + type + "\n";
    ids += (side ? ", " : "") + name;
    types += (side ? ", " : "") + type;
    if (!isCausal)
      continue;
    ends[side] = unique("%pos");
    prologue += ends[side] + " = attn.sequence_positions" + from +
                (fromEnd ? " from_end" : "") + " : " + bounds + " -> " + type +
                "\n";
  }
  std::string text = " segments(" + ids + " : " + types + ")";
  if (!isCausal)
    return text;
  auto [queries, keys] = llvm::StringRef(types).split(", ");
  return text + " visible {\n^bb0(" + kIndices +
         "):\n  %zero = arith.constant 0 : index\n  %at = tensor.extract " +
         ends[0] + "[%zero, %i] : " + queries.str() +
         "\n  %of = tensor.extract " + ends[1] + "[%zero, %j] : " + keys.str() +
         "\n  %past = arith.cmpi sle, %of, %at : i32\n" +
         "  attn.yield %past : i1\n}";
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
    std::string name = unique("lengths");
    const Argument &lengths =
        add(name, Role::Position, intType(), {extent('b')});
    text += " lengths(%" + name + " : " + lengths.typeText() + ")";
  }
  // Packed sequences lie in one element of a batch.
  bool isPacked = graph.isFixed[0] && graph.fixed.b == 1 && random.chance(25);
  if (isPacked) {
    text += packedClauses();
  } else if (random.chance(12)) {
    ElementType type = intType();
    std::string queries = unique("segq"), keys = unique("segk");
    std::string q =
        add(queries, Role::Segments, type, {extent('b'), extent('q')})
            .typeText();
    std::string k =
        add(keys, Role::Segments, type, {extent('b'), extent('k')}).typeText();
    text += " segments(%" + queries + ", %" + keys + " : " + q + ", " + k + ")";
  }
  if (random.chance(20)) {
    std::string name = unique("mask");
    const Argument &mask =
        add(name, Role::Bits, ElementType::i1, broadcastShape());
    text += " mask(%" + name + " : " + mask.typeText() + ")";
  }
  if (!isPacked && random.chance(35)) {
    ProgramWriter writer(random, graph, scoreType);
    std::string visible = writer.condition(3);
    text += " visible " + program(kIndices, writer, visible, ElementType::i1);
  }
  return text;
}

void GraphMaker::makeScores() {
  std::string type = scoresType();
  auto define = [&](const std::string &op, const std::string &rest) {
    std::string next = unique("%s");
    scoreOps += next + " = " + op + " " + scores + rest + "\n";
    scores = next;
  };
  auto scale = [&] {
    double factor = random.chance(70)
                        ? 1.0 / std::sqrt(static_cast<double>(graph.headDim))
                        : random.of({1.0, 0.0, -0.25, 0.03125, 2.0});
    define("attn.scale", llvm::formatv(" by {0:f8} : {1}", factor, type));
    graph.chain().scale *= factor;
    graph.chain().offset *= std::abs(factor);
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
          scoreType == ElementType::f64 ? scoreType : smallFloat();
      std::string name = unique("bias");
      std::string bias =
          add(name, Role::Bias, biasType, broadcastShape()).typeText();
      std::string rest = ", %" + name + " : " + type + ", " + bias;
      define("attn.bias", rest);
      std::string next = unique("%z");
      zeroOps += next + " = attn.bias " + zeros + rest + "\n";
      zeros = next;
      graph.chain().offset += 16;
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
                 program("%score: " + elementTypeName(scoreType).str() + ", " +
                             kIndices,
                         writer, score, scoreType));
    }
    }
}

/// ` = attn.qk ...` or the additive form.
std::string GraphMaker::products(const std::string &queries) {
  std::string op = " = attn.qk " + query + ", " + key,
              types = " : " + queries + ", " + keysType();
  if (scoreType != ElementType::f64 && random.chance(8)) {
    std::vector<Extent> shape{{0, graph.headDim, false}};
    if (random.chance(50))
      shape.insert(shape.begin(), extent('h'));
    std::string name = unique("additive");
    op = " = attn.additive_scores " + query + ", " + key + ", %" + name;
    types += ", " + add(name, Role::Reals, smallFloat(), shape).typeText();
    // tanh is at most 1, whatever the queries and keys are.
    graph.chain().gain = 0.0;
    graph.chain().offset = 4.0 * graph.headDim;
  }
  return op + types + " -> " + scoresType() + "\n";
}

std::string GraphMaker::normalizer() {
  if (random.chance(8)) {
    graph.chain().isSum = true;
    return " normalizer(sigmoid)";
  }
  return random.chance(15) ? addSink() : "";
}

/// An op on the weights whose results the function returns. Without entropies
/// where weights may be negative: they are NaN, unless f32 rounds the weights
/// to 0.
std::string GraphMaker::statistics(const std::string &weights,
                                   bool mayBeNegative) {
  std::vector<Extent> ofColumns{extent('b'), extent('h'), extent('k')},
      ofRows{extent('b'), extent('h'), extent('q')}, places = ofRows;
  std::string names, types, clauses, columns = tensorType(ofColumns, scoreType),
                                     rows = tensorType(ofRows, scoreType);
  auto addOne = [&](ResultKind kind, const std::string &type) {
    std::string name = unique("%stat");
    const char *comma = names.empty() ? "" : ", ";
    names += comma + name;
    types += comma + type;
    addResult(kind, name, type);
  };
  if (random.chance(50)) {
    clauses += " column_sums";
    addOne(ResultKind::Sums, columns);
  }
  if (random.chance(40)) {
    clauses += " row_max";
    addOne(ResultKind::Maxima, rows);
  }
  if (random.chance(40) && !mayBeNegative) {
    clauses += " entropy";
    addOne(ResultKind::Sums, rows);
  }
  if (names.empty() || random.chance(40)) {
    int64_t count = random.of<int64_t>({1, 2, 3, 8, 20});
    clauses += " top_k " + std::to_string(count);
    places.push_back({0, count, false});
    addOne(ResultKind::Maxima, tensorType(places, scoreType));
    addOne(ResultKind::Keys, tensorType(places, ElementType::i32));
    shownWeights = weights;
  }
  return names + " = attn.weight_stats " + weights + clauses + " : " +
         scoresType() + " -> " + types + "\n";
}

/// What weights pass through on their way to the sum.
std::string GraphMaker::weightOps(std::string &weights) {
  std::string text, type = scoresType();
  for (int64_t ops = random.of<int64_t>({0, 0, 0, 0, 0, 0, 1, 2}); ops; --ops) {
    std::string next = unique("%w");
    graph.dropsPairs = true;
    graph.chain().largestWeight *= 2.0;
    if (random.chance(40)) {
      std::string seed = unique("seed");
      add(seed, Role::Seed, ElementType::i64, {}, true);
      text += next + " = attn.dropout " + weights + " rate " +
              random.of({"0.5", "0.125", "0.0"}) + " seed(%" + seed +
              ") : " + type + "\n";
    } else {
      ProgramWriter writer(random, graph, scoreType);
      std::string weight = writer.weight();
      text +=
          next + " = attn.probability_map " + weights + " : " + type + " " +
          program("%p: " + elementTypeName(scoreType).str() + ", " + kIndices,
                  writer, weight, scoreType) +
          "\n";
    }
    weights = next;
  }
  return text;
}
