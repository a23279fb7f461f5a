//===- Operands.cpp - What queries, keys and values come from -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphMaker.h"

#include "attn/Reference/Tolerance.h"

#include "llvm/ADT/StringExtras.h"

using namespace attn;
using namespace attn::fuzz;

std::vector<std::string> GraphMaker::dims(const std::string &value,
                                          const std::vector<Extent> &shape,
                                          ElementType type,
                                          const std::vector<int> &axes) {
  std::vector<std::string> result;
  for (int axis : axes) {
    if (!shape[axis].isDynamic)
      continue;
    std::string constant = unique("%c"), dim = unique("%d");
    prologue += constant + " = arith.constant " + std::to_string(axis) +
                " : index\n" + dim + " = tensor.dim " + value + ", " +
                constant + " : " + tensorType(shape, type) + "\n";
    result.push_back(dim);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// [B, S, H * D] and an op that splits it.
std::string GraphMaker::split(const std::string &name, Role role, char heads,
                              char rows, int64_t dim, ElementType type) {
  int64_t count = extent(heads).number;
  Argument &argument =
      add("packed_" + name, role, type,
          {extent('b'), extent(rows), {0, count * dim, false}});
  argument.layout = Layout::Split;
  argument.heads = count;
  prologue += "%" + name + " = attn.split_heads %packed_" + name +
              " {num_heads = " + std::to_string(count) +
              "} : " + argument.typeText() + " -> " +
              tensorType(rowsShape(heads, rows, dim), type) + "\n";
  return "%" + name;
}

std::string GraphMaker::transpose(const std::string &name, Role role,
                                  char heads, char rows, int64_t dim,
                                  ElementType type) {
  std::string from = "swapped_" + name;
  Argument &argument =
      add(from, role, type,
          {extent('b'), extent(rows), extent(heads), {0, dim, false}});
  argument.layout = Layout::Transposed;
  std::string fromType = argument.typeText();
  std::string to = tensorType(rowsShape(heads, rows, dim), type);
  std::string sizes =
      llvm::join(dims("%" + from, argument.shape, type, {0, 2, 1}), ", ");
  std::string empty = unique("%e");
  prologue += empty + " = tensor.empty(" + sizes + ") : " + to + "\n%" + name +
              " = linalg.transpose ins(%" + from + " : " + fromType +
              ") outs(" + empty + " : " + to + ") permutation = [0, 2, 1, 3]\n";
  return "%" + name;
}

/// Some columns of a wider tensor.
std::string GraphMaker::slice(const std::string &name, Role role, char heads,
                              char rows, int64_t dim, ElementType type) {
  std::string from = "wide_" + name;
  int64_t first = random.pick(0, 20), width = first + dim + random.pick(0, 20);
  std::vector<Extent> shape = rowsShape(heads, rows, width);
  Argument &argument = add(from, role, type, shape);
  argument.layout = Layout::Sliced;
  argument.firstColumn = first;
  argument.columns = dim;
  std::string fromType = argument.typeText(), sizes;
  for (int axis : {0, 1, 2}) {
    std::vector<std::string> known = dims("%" + from, shape, type, {axis});
    sizes += (known.empty() ? shape[axis].text() : known[0]) + ", ";
  }
  prologue += "%" + name + " = tensor.extract_slice %" + from + "[0, 0, 0, " +
              std::to_string(first) + "] [" + sizes + std::to_string(dim) +
              "] [1, 1, 1, 1] : " + fromType + " to " +
              tensorType(rowsShape(heads, rows, dim), type) + "\n";
  return "%" + name;
}

/// [B, S, M] times [M, H * D], and an op that splits it.
std::string GraphMaker::project(const std::string &name, Role role, char heads,
                                char rows, int64_t dim, ElementType type) {
  int64_t count = extent(heads).number, width = random.pick(1, 40);
  std::vector<Extent> inputs{extent('b'), extent(rows), {0, width, false}};
  std::vector<Extent> outputs{
      extent('b'), extent(rows), {0, count * dim, false}};
  std::string from = "hidden_" + name, matrix = "weight_" + name;
  add(from, role, type, inputs).layout = Layout::Projected;
  std::string weight = add(matrix, Role::Weights, type,
                           {{0, width, false}, {0, count * dim, false}})
                           .typeText();
  std::string sizes = llvm::join(dims("%" + from, inputs, type, {0, 1}), ", ");
  std::string empty = unique("%e"), zero = unique("%c"), start = unique("%e");
  std::string product = unique("%prod"), to = tensorType(outputs, type);
  std::string element = elementTypeName(type).str();
  prologue +=
      empty + " = tensor.empty(" + sizes + ") : " + to + "\n" + zero +
      " = arith.constant 0.0 : " + element + "\n" + start +
      " = linalg.fill ins(" + zero + " : " + element + ") outs(" + empty +
      " : " + to + ") -> " + to + "\n" + product +
      " = linalg.contract indexing_maps = [affine_map<(b, s, n, m) -> (b, s, "
      "m)>, affine_map<(b, s, n, m) -> (m, n)>, affine_map<(b, s, n, m) -> (b, "
      "s, n)>] ins(%" +
      from + ", %" + matrix + " : " + tensorType(inputs, type) + ", " + weight +
      ") outs(" + start + " : " + to + ") -> " + to + "\n%" + name +
      " = attn.split_heads " + product +
      " {num_heads = " + std::to_string(count) + "} : " + to + " -> " +
      tensorType(rowsShape(heads, rows, dim), type) + "\n";
  double rounding = 2.0 * static_cast<double>(width) * unitRoundoff(type);
  (role == Role::Value ? graph.valueRounding : graph.productRounding) +=
      rounding;
  return "%" + name;
}

std::string GraphMaker::addRows(const std::string &name, Role role, char heads,
                                char rows, int64_t dim, ElementType type) {
  bool isKnown = !extent(heads).isDynamic;
  int choice = random.pick(0, 99);
  if (choice < 15 && isKnown)
    return split(name, role, heads, rows, dim, type);
  if (choice < 23)
    return transpose(name, role, heads, rows, dim, type);
  // MLIR refuses slices of what is known to be empty.
  bool isEmpty = !extent(rows).isDynamic && extent(rows).number == 0;
  if (choice < 31 && !isEmpty)
    return slice(name, role, heads, rows, dim, type);
  if (choice < 38 && isKnown && elementSize(type) >= 4)
    return project(name, role, heads, rows, dim, type);
  add(name, role, type, rowsShape(heads, rows, dim));
  return "%" + name;
}

std::string GraphMaker::rotate(const std::string &value, char heads, char rows,
                               ElementType type) {
  std::string result = unique("%r");
  int64_t turned = 2 * random.pick(1, graph.headDim / 2);
  if (random.chance(50))
    turned = graph.headDim / 2 * 2;
  std::string text = result + " = attn.rope " + value + " " +
                     random.of({"half", "interleaved"}) + " rotary_dim " +
                     std::to_string(turned);
  graph.productGain *= 1.5;
  if (random.chance(30))
    text += " base 5.0e5";
  if (random.chance(40)) {
    std::string name = unique("p");
    add(name, Role::Position, ElementType::i64, {}, true);
    text += " offset(%" + name + ")";
  } else if (random.chance(50)) {
    std::string name = unique("ids");
    text += " positions(%" + name + " : " +
            add(name, Role::Position, intType(), {extent('b'), extent(rows)})
                .typeText() +
            ")";
  }
  if (random.chance(25)) {
    // Both tables have the same extents.
    std::vector<Extent> shape{{0, random.pick(1, 9), false},
                              {0, turned / 2, false}};
    std::string cosines = unique("cos"), sines = unique("sin");
    std::string tables =
        add(cosines, Role::Reals, ElementType::f32, shape).typeText();
    add(sines, Role::Reals, ElementType::f32, shape);
    text += " tables(%" + cosines + ", %" + sines + " : " + tables + ", " +
            tables + ")";
    graph.productGain *= 8.0;
  }
  prologue += text + " : " +
              tensorType(rowsShape(heads, rows, graph.headDim), type) + "\n";
  graph.productRounding +=
      4 * unitRoundoff(type == ElementType::f64 ? type : ElementType::f32) +
      (elementSize(type) == 2 ? unitRoundoff(type) : 0.0);
  return result;
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

/// One way for keys and values, with one table and one position.
void GraphMaker::chooseStorage() {
  isCached = random.chance(30);
  if (!isCached)
    return;
  isInteger = scoreType != ElementType::f64 && random.chance(35);
  bool isPaged = !extent('g').isDynamic && random.chance(45);
  if (isPaged) {
    graph.pageRows = random.of<int64_t>({1, 4, 16, 16, 32, 64});
    graph.fixed.k = graph.fixed.k / graph.pageRows * graph.pageRows;
    graph.fixed.m = graph.fixed.k / graph.pageRows;
    return;
  }
  isUpdated = random.chance(70);
  if (!isUpdated)
    return;
  graph.isRolling = random.chance(30);
  returnsCaches = random.chance(40);
  quantizes = random.chance(50);
}

/// The name and type of rows for a cache: arguments, or floats that become
/// 8-bit integers here, whose scales are kept for the cache of scales.
std::pair<std::string, std::string>
GraphMaker::addNewRows(const std::string &name, Role role, ElementType type,
                       const std::vector<Extent> &shape) {
  if (role == Role::Scale && !newScales.empty())
    return {newScales, tensorType(shape, type)};
  bool isQuantized = type == ElementType::i8 && quantizes;
  Argument &rows = add("new_" + name, isQuantized ? Role::Quantizable : role,
                       isQuantized ? ElementType::f32 : type, shape);
  rows.layout = Layout::Other;
  if (!isQuantized)
    return {"%new_" + name, rows.typeText()};
  std::string integers = unique("%i");
  newScales = unique("%i");
  prologue += integers + ", " + newScales + " = attn.quantize %new_" + name +
              " : " + rows.typeText() + "\n";
  return {integers, tensorType(shape, type)};
}

std::string GraphMaker::addStored(const std::string &name, Role role,
                                  ElementType type, int64_t dim) {
  auto shapeOf = [&](Extent rows) {
    std::vector<Extent> shape{extent('b'), extent('g'), rows};
    if (role != Role::Scale)
      shape.push_back({0, dim, false});
    return shape;
  };
  std::vector<Extent> shape = shapeOf(extent('k'));
  if (graph.pageRows) {
    shape = shapeOf({0, graph.pageRows, false});
    shape[0] = {'p', 1, true};
  }
  size_t cache = graph.arguments.size();
  Argument &argument = add(name, role, type, shape);
  if (graph.pageRows)
    argument.layout = Layout::Pages;
  // Who reads a cache that is returned reads what is hidden as well.
  if (returnsCaches)
    argument.layout = Layout::Other;
  if (!isUpdated)
    return "%" + name;
  std::string cacheType = argument.typeText();
  auto [fresh, updateType] =
      addNewRows(name, role, type, shapeOf({'n', 1, true}));
  if (cachePosition.empty()) {
    std::string at = unique("at");
    cachePosition =
        random.chance(50)
            ? "%" + at + " : " +
                  add(at, Role::CachePosition, ElementType::i64, {}, true)
                      .typeText()
            : "%" + at + " : " +
                  add(at, Role::Position, intType(), {extent('b')}).typeText();
  }
  std::string result = unique("%u");
  prologue += result + " = attn.cache_update %" + name + ", " + fresh + " at(" +
              cachePosition + ")" + (graph.isRolling ? " rolling" : "") +
              " : " + cacheType + ", " + updateType + "\n";
  if (returnsCaches)
    addResult(ResultKind::Cache, result, cacheType, cache);
  return result;
}

std::string GraphMaker::addCached(const std::string &name, Role role,
                                  int64_t dim, ElementType type) {
  std::string rows =
      addStored(name, role, isInteger ? ElementType::i8 : type, dim);
  std::vector<Extent> shape = rowsShape('g', 'k', dim);
  if (graph.pageRows) {
    shape[0] = {'p', 1, true};
    shape[2] = {0, graph.pageRows, false};
  }
  std::string type8 = tensorType(shape, ElementType::i8);
  std::string whole = tensorType(shape, type);
  std::string scaleType =
      tensorType(llvm::ArrayRef(shape).drop_back(), ElementType::f32);
  if (isInteger) {
    std::string scales =
        addStored("scale_" + name, Role::Scale, ElementType::f32, dim);
    newScales.clear();
    std::string result = unique("%f");
    prologue += result + " = attn.dequantize " + rows + ", " + scales + " : " +
                type8 + ", " + scaleType + " -> " + whole + "\n";
    double rounding = elementSize(type) == 2 ? unitRoundoff(type) : 0.0;
    (role == Role::Value ? graph.valueRounding : graph.productRounding) +=
        rounding;
    rows = result;
  }
  if (!graph.pageRows)
    return rows;
  if (table.empty()) {
    table = unique("table");
    tableType = add(table, Role::Table, intType(),
                    {extent('b'), {'m', graph.fixed.m, dynamic[4]}})
                    .typeText();
  }
  std::string result = unique("%g");
  prologue += result + " = attn.gather_pages " + rows + ", %" + table + " : " +
              whole + ", " + tableType + " -> " +
              tensorType(rowsShape('g', 'k', dim), type) + "\n";
  return result;
}

void GraphMaker::addOperands() {
  chooseStorage();
  query = addRows("q", Role::Query, 'h', 'q', graph.headDim, graph.queryType);
  if (isCached) {
    key = addCached("k", Role::Key, graph.headDim, graph.keyType);
    value = addCached("v", Role::Value, graph.valueDim, graph.valueType);
  } else {
    key = addRows("k", Role::Key, 'g', 'k', graph.headDim, graph.keyType);
    value =
        addRows("v", Role::Value, 'g', 'k', graph.valueDim, graph.valueType);
  }
  if (graph.headDim >= 2 && random.chance(12))
    query = rotate(query, 'h', 'q', graph.queryType);
  if (graph.headDim >= 2 && random.chance(10))
    key = rotate(key, 'g', 'k', graph.keyType);
  firstQuery = query;
}
