//===- InputSpec.cpp - Where a tool's input tensor comes from ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Support/InputSpec.h"

#include "attn/Support/Error.h"
#include "attn/Support/Npy.h"
#include "attn/Support/Safetensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <cmath>

using namespace attn;

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

llvm::Expected<llvm::SmallVector<int64_t>>
attn::parseShape(llvm::StringRef text) {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, 'x');
  for (llvm::StringRef part : parts) {
    if (part.starts_with("-") && llvm::all_of(part.drop_front(), llvm::isDigit))
      return makeError("size {0} in shape {1} is negative", part,
                       quoteName(text));
    if (part.empty() || !llvm::all_of(part, llvm::isDigit))
      return makeError("size {0} in shape {1} is not an unsigned integer",
                       quoteName(part), quoteName(text));
    int64_t size;
    if (part.getAsInteger(10, size))
      return makeError("size {0} in shape {1} does not fit 64 bits",
                       quoteName(part), quoteName(text));
    shape.push_back(size);
  }
  llvm::Expected<int64_t> count = checkedElementCount(shape);
  if (!count)
    return count.takeError();
  return shape;
}

static bool isArgumentName(llvm::StringRef text) {
  return !text.empty() && (llvm::isAlpha(text[0]) || text[0] == '_') &&
         llvm::all_of(text, [](char c) {
           return llvm::isAlnum(c) || c == '_' || c == '.' || c == '-';
         });
}

/// The parts behind `random`, `zeros` or `ones`, each at most once.
static llvm::Error parseGenerator(llvm::ArrayRef<llvm::StringRef> parts,
                                  InputSpec &spec) {
  for (llvm::StringRef part : parts) {
    if (spec.kind == InputSpec::Kind::Random && part.consume_front("seed=")) {
      uint64_t seed;
      if (part.empty() || !llvm::all_of(part, llvm::isDigit) ||
          part.getAsInteger(10, seed))
        return makeError("seed {0} is not an unsigned 64-bit integer",
                         quoteName(part));
      if (spec.seed)
        return makeError("the seed is given twice");
      spec.seed = seed;
      continue;
    }
    if (spec.shape)
      return makeError("unexpected {0} behind the shape", quoteName(part));
    llvm::Expected<llvm::SmallVector<int64_t>> shape = parseShape(part);
    if (!shape)
      return shape.takeError();
    spec.shape = std::move(*shape);
  }
  return llvm::Error::success();
}

static llvm::Error parseInto(llvm::StringRef text, InputSpec &spec) {
  if (auto [name, rest] = text.split('=');
      name.size() != text.size() && isArgumentName(name)) {
    spec.name = name.str();
    text = rest;
  }
  if (text.empty())
    return makeError("it is empty");

  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ':');
  const auto generator =
      llvm::StringSwitch<std::optional<InputSpec::Kind>>(parts.front())
          .Case("random", InputSpec::Kind::Random)
          .Case("zeros", InputSpec::Kind::Zeros)
          .Case("ones", InputSpec::Kind::Ones)
          .Default(std::nullopt);
  if (generator) {
    spec.kind = *generator;
    return parseGenerator(llvm::ArrayRef(parts).drop_front(), spec);
  }

  constexpr llvm::StringLiteral extension = ".safetensors";
  if (const size_t at = text.find((extension + ":").str());
      at != llvm::StringRef::npos) {
    spec.kind = InputSpec::Kind::Safetensors;
    spec.path = text.take_front(at + extension.size()).str();
    spec.tensorName = text.drop_front(at + extension.size() + 1).str();
    if (spec.tensorName.empty())
      return makeError("the tensor name is missing");
    return llvm::Error::success();
  }
  if (text.ends_with(extension))
    return makeError("the tensor name is missing, expected FILE.safetensors:"
                     "NAME");
  if (text.ends_with(".npy")) {
    spec.kind = InputSpec::Kind::Npy;
    spec.path = text.str();
    return llvm::Error::success();
  }

  if (!text.getAsDouble(spec.number, /*AllowInexact=*/true)) {
    if (std::isinf(spec.number) &&
        !text.ltrim("+-").starts_with_insensitive("i"))
      return makeError("the number does not fit f64");
    spec.kind = InputSpec::Kind::Number;
    text.consume_front("+");
    if (int64_t integer; !text.getAsInteger(10, integer))
      spec.integer = integer;
    return llvm::Error::success();
  }
  return makeError("expected x.npy, w.safetensors:name, random[:seed=N][:SHAPE]"
                   ", zeros[:SHAPE], ones[:SHAPE] or a number");
}

std::optional<int64_t> InputSpec::asInteger() const {
  if (integer)
    return integer;
  if (number != std::nearbyint(number) || std::abs(number) >= 0x1p53)
    return std::nullopt;
  return static_cast<int64_t>(number);
}

llvm::Expected<InputSpec> attn::parseInputSpec(llvm::StringRef text) {
  InputSpec spec;
  spec.text = text.str();
  if (llvm::Error error = parseInto(text, spec))
    return makeError("input {0}: {1}", quoteName(text),
                     llvm::toString(std::move(error)));
  return spec;
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

static uint64_t splitmix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint64_t attn::randomBits(uint64_t seed, uint64_t index) {
  return splitmix(splitmix(seed) + (index + 1) * 0x9E3779B97F4A7C15u);
}

/// Elements 2 * pair and 2 * pair + 1 of the sequence.
static std::pair<double, double> randomNormalPair(uint64_t seed,
                                                  uint64_t pair) {
  const auto unit = [](uint64_t bits) {
    return static_cast<double>((bits >> 11) + 1) * 0x1p-53;
  };
  constexpr double tau = 6.283185307179586476925286766559;
  const double radius =
      std::sqrt(-2 * std::log(unit(randomBits(seed, 2 * pair))));
  const double angle = tau * unit(randomBits(seed, 2 * pair + 1));
  const auto rounded = [](double value) {
    return std::nearbyint(value * 0x1p20) * 0x1p-20;
  };
  return {rounded(radius * std::cos(angle)), rounded(radius * std::sin(angle))};
}

double attn::randomNormal(uint64_t seed, uint64_t index) {
  const auto [even, odd] = randomNormalPair(seed, index / 2);
  return index % 2 ? odd : even;
}

static void fillRandom(HostTensor &tensor, uint64_t seed) {
  const int64_t count = tensor.numElements();
  if (isFloat(tensor.type())) {
    for (int64_t n = 0; n < count; n += 2) {
      const auto [even, odd] = randomNormalPair(seed, n / 2);
      tensor.set(n, even);
      if (n + 1 < count)
        tensor.set(n + 1, odd);
    }
    return;
  }
  const int shift = tensor.type() == ElementType::i1 ? 63 : 61;
  for (int64_t n = 0; n < count; ++n)
    tensor.set(n, static_cast<double>(randomBits(seed, n) >> shift));
}

//===----------------------------------------------------------------------===//
// Materialising
//===----------------------------------------------------------------------===//

static bool matches(llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<int64_t> expected) {
  return shape.size() == expected.size() &&
         llvm::all_of(llvm::zip(shape, expected), [](auto pair) {
           auto [size, wanted] = pair;
           return wanted == kDynamicSize || size == wanted;
         });
}

static llvm::Expected<HostTensor> readFile(const InputSpec &spec) {
  if (spec.kind == InputSpec::Kind::Npy)
    return readNpy(spec.path);
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(spec.path);
  if (!file)
    return file.takeError();
  return file->load(spec.tensorName);
}

/// Fills with a number that must survive the conversion: integers exactly,
/// floats without turning infinite.
static llvm::Error fillNumber(HostTensor &tensor, const InputSpec &spec) {
  const ElementType type = tensor.type();
  const double number = spec.number;
  if (tensor.numElements() == 0)
    return llvm::Error::success();
  const std::optional<int64_t> integer = spec.asInteger();
  if (type == ElementType::i64 && integer) {
    int64_t *data = tensor.dataAs<int64_t>();
    std::fill(data, data + tensor.numElements(), *integer);
    return llvm::Error::success();
  }
  if (type == ElementType::i64 && std::abs(number) >= 0x1p53 &&
      std::abs(number) < 0x1p63)
    return makeError("an integer from 2^53 is expected in digits only");
  tensor.set(0, number);
  const double stored = tensor.get(0);
  const bool lost = isFloat(type)
                        ? std::isfinite(number) && !std::isfinite(stored)
                        : stored != number || !integer;
  if (lost)
    return makeError("{0} cannot be held by element type {1}", number,
                     elementTypeName(type));
  for (int64_t n = 1; n < tensor.numElements(); ++n)
    tensor.set(n, number);
  return llvm::Error::success();
}

static llvm::Expected<HostTensor> make(const InputSpec &spec, ElementType type,
                                       llvm::ArrayRef<int64_t> shape,
                                       uint64_t defaultSeed) {
  if (spec.kind == InputSpec::Kind::Npy ||
      spec.kind == InputSpec::Kind::Safetensors) {
    llvm::Expected<HostTensor> tensor = readFile(spec);
    if (!tensor)
      return tensor;
    if (tensor->type() != type)
      return makeError("expected element type {0}, got {1}",
                       elementTypeName(type), elementTypeName(tensor->type()));
    if (tensor->rank() != static_cast<int64_t>(shape.size()))
      return makeError("expected rank {0}, got {1}", shape.size(),
                       tensor->rank());
    if (!matches(tensor->shape(), shape))
      return makeError("expected shape {0}, got {1}", formatShape(shape),
                       formatShape(tensor->shape()));
    return tensor;
  }
  if (spec.shape) {
    if (spec.shape->size() != shape.size())
      return makeError("expected rank {0}, got {1}", shape.size(),
                       spec.shape->size());
    if (!matches(*spec.shape, shape))
      return makeError("expected shape {0}, got {1}", formatShape(shape),
                       formatShape(*spec.shape));
    shape = *spec.shape;
  }
  llvm::Expected<HostTensor> tensor = HostTensor::create(type, shape);
  if (!tensor)
    return tensor;
  switch (spec.kind) {
  case InputSpec::Kind::Random:
    fillRandom(*tensor, spec.seed.value_or(defaultSeed));
    break;
  case InputSpec::Kind::Number:
    if (llvm::Error error = fillNumber(*tensor, spec))
      return error;
    break;
  case InputSpec::Kind::Ones:
    for (int64_t n = 0; n < tensor->numElements(); ++n)
      tensor->set(n, 1.0);
    break;
  default:
    break;
  }
  return tensor;
}

llvm::Expected<HostTensor> attn::materialise(const InputSpec &spec,
                                             ElementType type,
                                             llvm::ArrayRef<int64_t> shape,
                                             uint64_t defaultSeed) {
  llvm::Expected<HostTensor> tensor = make(spec, type, shape, defaultSeed);
  if (!tensor)
    return makeError("input {0}: {1}", quoteName(spec.text),
                     llvm::toString(tensor.takeError()));
  return tensor;
}
