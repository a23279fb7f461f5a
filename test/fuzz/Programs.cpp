//===- Programs.cpp - Random mask and score programs ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "llvm/ADT/StringRef.h"

using namespace attn;
using namespace attn::fuzz;

/// Names are unique in the graph, whatever region they stand in.
std::string ProgramWriter::define(const std::string &op) {
  std::string name = "%x" + std::to_string(count++);
  text += "  " + name + " = " + op + "\n";
  return name;
}

std::string ProgramWriter::constant(const std::string &value,
                                    const std::string &type) {
  return define("arith.constant " + value + (type == "i1" ? "" : " : " + type));
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

/// An element of a tensor of rank 1 to 3 at indices that may lie outside.
std::string ProgramWriter::gather(Role role, ElementType type,
                                  std::string &elementType) {
  const Argument *found = nullptr;
  for (const Argument &argument : graph.arguments)
    if (argument.role == role && argument.type == type && !argument.isScalar &&
        argument.name[0] == 't' && random.chance(50))
      found = &argument;
  if (!found) {
    Argument argument;
    argument.name = "t" + std::to_string(graph.arguments.size());
    argument.role = role;
    argument.type = type;
    for (int64_t rank = random.pick(1, random.chance(30) ? 3 : 2); rank; --rank)
      argument.shape.push_back({0, random.pick(1, 9), random.chance(60)});
    graph.arguments.push_back(argument);
    found = &graph.arguments.back();
  }
  // Programs grow the list of arguments while they are written.
  Argument argument = *found;
  std::string indices;
  for (size_t axis = 0; axis < argument.shape.size(); ++axis)
    indices += (axis ? ", " : "") + integer(1);
  elementType = elementTypeName(type).str();
  return define("tensor.extract %" + argument.name + "[" + indices +
                "] : " + argument.typeText());
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

std::string ProgramWriter::leaf() {
  switch (random.pick(0, 11)) {
  case 0:
    return "%b";
  case 1:
    return "%h";
  case 2:
  case 3:
  case 4:
    return "%i";
  case 5:
  case 6:
  case 7:
    return "%j";
  case 8: { // an index from outside
    for (const Argument &argument : graph.arguments)
      if (argument.isScalar && argument.role == Role::Position &&
          random.chance(70))
        return "%" + argument.name;
    Argument argument;
    argument.name = "n" + std::to_string(graph.arguments.size());
    argument.role = Role::Position;
    argument.type = ElementType::i64;
    argument.isScalar = true;
    graph.arguments.push_back(argument);
    return "%" + argument.name;
  }
  case 9:
    if (random.chance(20))
      return constant(random.of({"9223372036854775807", "-9223372036854775808",
                                 "1099511627776", "4611686018427387904",
                                 "2147483647", "-2147483648"}),
                      "index");
    [[fallthrough]];
  default:
    return constant(std::to_string(random.pick(-9, 40)), "index");
  }
}

std::string ProgramWriter::integers(const std::string &op, int depth) {
  std::string x = integer(depth), y = integer(depth);
  return binary(op, "index", x, y);
}

std::string ProgramWriter::integer(int depth) {
  if (depth == 0)
    return leaf();
  switch (random.pick(0, 15)) {
  case 0:
  case 1:
    return integers("arith.addi", depth - 1);
  case 2:
  case 3:
    return integers("arith.subi", depth - 1);
  case 4:
    return integers(
        random.of({"arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui"}),
        depth - 1);
  case 5: {
    if (random.chance(30))
      return integers("arith.muli", depth - 1);
    std::string x = integer(depth - 1);
    return binary("arith.muli", "index", x,
                  constant(std::to_string(random.pick(-4, 4)), "index"));
  }
  case 6:
  case 7: {
    std::string x = integer(depth - 1);
    std::string divisor = constant(std::to_string(random.pick(1, 17)), "index");
    if (random.chance(30)) {
      std::string y = integer(0);
      divisor = binary("arith.maxsi", "index", y, divisor);
    }
    return binary(random.of({"arith.divsi", "arith.divui", "arith.floordivsi",
                             "arith.remsi", "arith.remui", "arith.ceildivsi"}),
                  "index", x, divisor);
  }
  case 8: {
    std::string c = condition(depth - 1);
    std::string x = integer(depth - 1), y = integer(depth - 1);
    return define("arith.select " + c + ", " + x + ", " + y + " : index");
  }
  case 9: {
    std::string type;
    std::string x = gather(
        Role::Integers, random.of({ElementType::i32, ElementType::i64}), type);
    return define("arith.index_cast " + x + " : " + type + " to index");
  }
  case 10: { // 32 bits, which may wrap
    std::string x =
        define("arith.index_cast " + integer(depth - 1) + " : index to i32");
    std::string y =
        define("arith.index_cast " + integer(depth - 1) + " : index to i32");
    std::string z = binary(random.of({"arith.addi", "arith.subi", "arith.muli",
                                      "arith.xori", "arith.andi"}),
                           "i32", x, y);
    return define(random.of({"arith.index_cast ", "arith.index_castui "}) + z +
                  " : i32 to index");
  }
  case 11: // what no analysis of ranges is about
    switch (random.pick(0, 3)) {
    case 0:
    case 1: {
      std::string x = integer(depth - 1);
      return binary(random.of({"arith.shli", "arith.shrsi", "arith.shrui"}),
                    "index", x,
                    constant(std::to_string(random.pick(0, 5)), "index"));
    }
    case 2:
      return integers(random.of({"arith.xori", "arith.andi", "arith.ori"}),
                      depth - 1);
    default: {
      std::string x =
          define("arith.index_cast " + integer(depth - 1) + " : index to i64");
      std::string y =
          define(random.of({"math.absi ", "math.ctpop "}) + x + " : i64");
      return define("arith.index_cast " + y + " : i64 to index");
    }
    }
  default:
    return leaf();
  }
}

std::string ProgramWriter::conditions(const std::string &op, int depth) {
  std::string x = condition(depth), y = condition(depth);
  return binary(op, "i1", x, y);
}

std::string ProgramWriter::condition(int depth) {
  switch (random.pick(depth > 0 ? 0 : 8, 19)) {
  case 0:
  case 1:
    return conditions("arith.andi", depth - 1);
  case 2:
  case 3:
    return conditions("arith.ori", depth - 1);
  case 4:
    if (random.chance(30))
      return conditions("arith.xori", depth - 1);
    {
      std::string x = condition(depth - 1);
      return binary("arith.xori", "i1", x, constant("true", "i1"));
    }
  case 5: {
    std::string c = condition(depth - 1), x = condition(depth - 1);
    std::string y = condition(depth - 1);
    return define("arith.select " + c + ", " + x + ", " + y + " : i1");
  }
  case 6: { // a branch
    std::string c = condition(0);
    std::string outer = std::move(text);
    text.clear();
    std::string yes = condition(depth - 1);
    std::string yesText = std::move(text);
    text.clear();
    std::string no = condition(depth - 1);
    std::string noText = std::move(text);
    text = std::move(outer);
    return define("scf.if " + c + " -> i1 {\n" + yesText + "  scf.yield " +
                  yes + " : i1\n} else {\n" + noText + "  scf.yield " + no +
                  " : i1\n}");
  }
  case 7: {
    std::string type;
    return gather(Role::Bits, ElementType::i1, type);
  }
  case 8: { // floats that hold integers
    std::string x = define("arith.index_cast " + leaf() + " : index to i32");
    std::string y = define("arith.sitofp " + x + " : i32 to f32");
    std::string bound =
        constant(std::to_string(random.pick(-3, 40)) + ".5", "f32");
    return define(std::string("arith.cmpf ") +
                  random.of({"olt", "oge", "ult", "one"}) + ", " + y + ", " +
                  bound + " : f32");
  }
  case 9:
    if (random.chance(30))
      return constant(random.of({"true", "false"}), "i1");
    [[fallthrough]];
  default: {
    std::string predicate =
        random.chance(75) ? random.of({"sle", "slt", "sge", "sgt"})
                          : random.of({"eq", "ne", "ule", "ult", "uge", "ugt"});
    return integers("arith.cmpi " + predicate + ",", 1);
  }
  }
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// `factor` times the integer, cut at 64.
std::string ProgramWriter::smallReal(const std::string &integer,
                                     double factor) {
  std::string low =
      binary("arith.maxsi", "index", integer, constant("-64", "index"));
  std::string cut =
      binary("arith.minsi", "index", low, constant("64", "index"));
  std::string narrow = define("arith.index_cast " + cut + " : index to i32");
  std::string x = define("arith.sitofp " + narrow + " : i32 to " + scoreType);
  return binary("arith.mulf", scoreType, x, number(factor));
}

/// At most 4 in magnitude.
std::string ProgramWriter::real(int depth) {
  switch (random.pick(0, depth > 0 ? 5 : 3)) {
  case 0:
    return number(random.pick(-16, 16) / 8.0);
  case 1:
    return smallReal(integer(1), random.pick(-4, 4) / 64.0);
  case 2: {
    std::string type;
    std::string x = gather(
        Role::Reals,
        random.of({ElementType::f32, ElementType::f16, ElementType::bf16}),
        type);
    if (type == scoreType)
      return x;
    return define("arith.extf " + x + " : " + type + " to " + scoreType);
  }
  case 3: {
    std::string distance = define("arith.subi %j, %i : index");
    return smallReal(distance, random.pick(-4, 4) / 64.0);
  }
  case 4:
    return unary(random.of({"math.sin", "math.cos", "math.tanh", "math.exp2"}),
                 unary("math.tanh", real(depth - 1)));
  default: {
    std::string c = condition(1);
    std::string x = real(depth - 1), y = real(depth - 1);
    return define("arith.select " + c + ", " + x + ", " + y + " : " +
                  scoreType);
  }
  }
}

std::string ProgramWriter::step(const std::string &x) {
  switch (random.pick(0, 14)) {
  case 0:
  case 1:
    graph.chain().offset += 4;
    return binary("arith.addf", scoreType, x, real(1));
  case 2:
    graph.chain().gain *= 1.5;
    graph.chain().offset *= 1.5;
    return binary("arith.mulf", scoreType, x,
                  number(random.of({0.5, -0.5, 0.75, 1.0, 1.5, -1.0})));
  case 3: {
    std::string cap = number(random.of({0.5, 2.0, 8.0}));
    std::string t = unary("math.tanh", binary("arith.divf", scoreType, x, cap));
    return binary("arith.mulf", scoreType, t, cap);
  }
  case 4: {
    graph.chain().offset += 4;
    std::string c = condition(1), y = real(1);
    return define("arith.select " + c + ", " + x + ", " + y + " : " +
                  scoreType);
  }
  case 5: { // a branch
    graph.chain().offset += 4;
    std::string c = condition(1), y = real(0);
    return define("scf.if " + c + " -> " + scoreType + " {\n  %y" +
                  std::to_string(count) + " = arith.addf " + x + ", " + y +
                  " : " + scoreType + "\n  scf.yield %y" +
                  std::to_string(count) + " : " + scoreType +
                  "\n} else {\n  scf.yield " + x + " : " + scoreType + "\n}");
  }
  case 6:
    graph.chain().offset += 4;
    return binary(random.of({"arith.maximumf", "arith.minimumf"}), scoreType, x,
                  real(1));
  case 7:
    return unary(random.of({"arith.negf", "math.absf"}), x);
  case 8:
    graph.chain().offset += 1;
    return unary(random.of({"math.erf", "math.atan", "math.tanh"}), x);
  case 9: { // sine of what is small: the reduction of large arguments is coarse
    graph.chain().offset += 8;
    std::string t = unary("math.tanh", x);
    return unary(random.of({"math.sin", "math.cos", "math.exp", "math.exp2",
                            "math.expm1"}),
                 t);
  }
  case 10: {
    graph.chain().offset += 1;
    std::string square = binary("arith.mulf", scoreType, x, x);
    std::string sum = binary("arith.addf", scoreType, square, number(1));
    return random.chance(50)
               ? unary("math.sqrt", sum)
               : binary("arith.mulf", scoreType, x, unary("math.rsqrt", sum));
  }
  case 11: {
    graph.chain().offset += 4;
    std::string c = number(random.of({0.5, 1.0, -0.75}));
    std::string y = real(1);
    return define("math.fma " + x + ", " + c + ", " + y + " : " + scoreType);
  }
  case 12: { // as many users hide pairs
    graph.dropsPairs = true;
    std::string c = condition(2);
    std::string bits = scoreType == "f64" ? "0xFFF0000000000000" : "0xFF800000";
    std::string hidden = constant(bits, scoreType);
    return define("arith.select " + c + ", " + x + ", " + hidden + " : " +
                  scoreType);
  }
  case 13: { // log(1 + |x|)
    std::string magnitude = unary("math.absf", x);
    return random.chance(50) ? unary("math.log1p", magnitude)
                             : unary("math.log", binary("arith.addf", scoreType,
                                                        magnitude, number(1)));
  }
  default: // what follows no longer knows the score
    graph.chain().offset += 4;
    return real(2);
  }
}

std::string ProgramWriter::score(int steps) {
  std::string x = "%score";
  for (; steps > 0; --steps)
    x = step(x);
  return x;
}

/// At most twice the weight.
std::string ProgramWriter::weight() {
  if (random.chance(30))
    return binary("arith.mulf", scoreType, "%p", "%p");
  std::string c = condition(2);
  std::string x = number(random.of({0.0, 0.5, 1.0, 2.0, -1.0}));
  std::string y = number(random.of({0.0, 0.5, 1.0, 1.5}));
  std::string factor =
      define("arith.select " + c + ", " + x + ", " + y + " : " + scoreType);
  return binary("arith.mulf", scoreType, "%p", factor);
}
