//===- Inputs.cpp - Arguments of a call from the command line -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"

#include "attn/Support/Error.h"
#include "attn/Support/InputSpec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace attn;
using namespace llvm;

namespace {

/// The size of a named dimension, and what said so.
struct NamedSize {
  int64_t size = 0;
  std::string source;
};

class InputMaker {
public:
  explicit InputMaker(const FunctionInfo &function) : function(function) {}

  Error assign(ArrayRef<std::string> texts);
  Error readDims(ArrayRef<std::string> texts);
  Expected<std::vector<InputValue>> make();

private:
  Error bind(StringRef dim, int64_t size, std::string source);
  Error bindShape(const ValueInfo &argument, ArrayRef<int64_t> shape);
  /// Whether the SPEC itself knows every size.
  static bool knowsShape(const InputSpec &spec) {
    return spec.kind == InputSpec::Kind::Npy ||
           spec.kind == InputSpec::Kind::Safetensors || spec.shape.has_value();
  }
  Expected<SmallVector<int64_t>> shapeOf(const ValueInfo &argument) const;
  Error makeTensor(size_t index, InputValue &value);
  Error makeScalar(size_t index, InputValue &value);

  const FunctionInfo &function;
  std::vector<std::optional<InputSpec>> specs;
  StringMap<NamedSize> sizes;
};

std::string nameOf(const ValueInfo &argument) {
  return quoteName(argument.name);
}

/// `f32 [B, 12, S, 64]`.
std::string typeOf(const ValueInfo &argument) {
  if (argument.isScalar)
    return argument.type;
  std::vector<std::string> extents;
  for (auto [axis, size] : enumerate(argument.shape)) {
    bool named = axis < argument.dims.size() && !argument.dims[axis].empty();
    extents.push_back(size != kDynamicSize ? std::to_string(size)
                      : named              ? argument.dims[axis]
                                           : "?");
  }
  return argument.type + " [" + join(extents, ", ") + "]";
}

Error InputMaker::assign(ArrayRef<std::string> texts) {
  specs.resize(function.args.size());
  SmallVector<InputSpec> positional;
  for (StringRef text : texts) {
    auto spec = parseInputSpec(text);
    if (!spec)
      return spec.takeError();
    if (spec->name.empty()) {
      positional.push_back(std::move(*spec));
      continue;
    }
    auto it = find_if(function.args, [&](const ValueInfo &argument) {
      return argument.name == spec->name;
    });
    if (it == function.args.end())
      return makeError(
          "input {0}: function {1} has no argument '{2}', it has: {3}",
          quoteName(text), quoteName(function.name), spec->name,
          join(map_range(function.args, nameOf), ", "));
    std::optional<InputSpec> &slot = specs[it - function.args.begin()];
    if (slot)
      return makeError("argument {0} is given twice: {1} and {2}", nameOf(*it),
                       quoteName(slot->text), quoteName(text));
    slot = std::move(*spec);
  }
  // Those without a name take the arguments that are left, in order.
  auto next = specs.begin();
  for (InputSpec &spec : positional) {
    next = std::find(next, specs.end(), std::nullopt);
    if (next == specs.end())
      return makeError("too many inputs: function {0} takes {1}, got {2}",
                       quoteName(function.name), function.args.size(),
                       texts.size());
    *next = std::move(spec);
  }
  for (auto [argument, spec] : zip_equal(function.args, specs))
    if (!spec)
      return makeError("argument {0} ({1}) has no input: give --input={2}=SPEC",
                       nameOf(argument), typeOf(argument), argument.name);
  return Error::success();
}

Error InputMaker::bind(StringRef dim, int64_t size, std::string source) {
  auto known = sizes.find(dim);
  if (known == sizes.end()) {
    sizes[dim] = {size, std::move(source)};
    return Error::success();
  }
  if (known->second.size == size)
    return Error::success();
  return makeError("dimension {0} is {1} in {2} but {3} in {4}", quoteName(dim),
                   known->second.size, known->second.source, size, source);
}

Error InputMaker::readDims(ArrayRef<std::string> texts) {
  SmallVector<StringRef> known;
  for (const ValueInfo &argument : function.args)
    for (StringRef dim : argument.dims)
      if (!dim.empty() && !is_contained(known, dim))
        known.push_back(dim);
  for (StringRef text : texts) {
    auto [name, value] = text.split('=');
    int64_t size;
    if (name.empty() || value.empty() || !all_of(value, isDigit) ||
        value.getAsInteger(10, size))
      return makeError("--dim={0}: expected NAME=N with a size N from 0",
                       quoteName(text));
    if (!is_contained(known, name))
      return makeError("--dim={0}: function {1} has no dimension {2}, it has: "
                       "{3}",
                       quoteName(text), quoteName(function.name),
                       quoteName(name),
                       known.empty() ? "none" : join(known, ", "));
    if (Error error = bind(name, size, "--dim=" + text.str()))
      return error;
  }
  return Error::success();
}

Error InputMaker::bindShape(const ValueInfo &argument,
                            ArrayRef<int64_t> shape) {
  if (argument.dims.size() != shape.size())
    return Error::success();
  for (auto [dim, size] : zip_equal(argument.dims, shape))
    if (!dim.empty())
      if (Error error = bind(dim, size, "argument " + nameOf(argument)))
        return error;
  return Error::success();
}

Expected<SmallVector<int64_t>>
InputMaker::shapeOf(const ValueInfo &argument) const {
  SmallVector<int64_t> shape(argument.shape.begin(), argument.shape.end());
  for (auto [axis, size] : enumerate(shape)) {
    if (size != kDynamicSize)
      continue;
    StringRef dim = axis < argument.dims.size() ? StringRef(argument.dims[axis])
                                                : StringRef();
    if (dim.empty())
      return makeError(
          "argument {0} ({1}): size of dimension {2} is not known: "
          "write the shape into the input, such as random:2x8x64",
          nameOf(argument), typeOf(argument), axis);
    auto it = sizes.find(dim);
    if (it == sizes.end())
      return makeError(
          "argument {0} ({1}): size of dimension {2} is not known: "
          "give --dim={3}=N",
          nameOf(argument), typeOf(argument), quoteName(dim), dim);
    size = it->second.size;
  }
  return shape;
}

Error InputMaker::makeTensor(size_t index, InputValue &value) {
  const ValueInfo &argument = function.args[index];
  SmallVector<int64_t> shape(argument.shape.begin(), argument.shape.end());
  if (!knowsShape(*specs[index])) {
    auto known = shapeOf(argument);
    if (!known)
      return known.takeError();
    shape = std::move(*known);
  }
  auto type = parseElementType(argument.type);
  if (!type)
    return makeError("argument {0}: inputs of type {1} cannot be made",
                     nameOf(argument), argument.type);
  auto tensor = materialise(*specs[index], *type, shape, /*defaultSeed=*/index);
  if (!tensor)
    return makeError("argument {0}: {1}", nameOf(argument),
                     toString(tensor.takeError()));
  if (Error error = bindShape(argument, tensor->shape()))
    return error;
  value.tensor = std::move(*tensor);
  return Error::success();
}

Error InputMaker::makeScalar(size_t index, InputValue &value) {
  const ValueInfo &argument = function.args[index];
  const InputSpec &spec = *specs[index];
  if (spec.kind != InputSpec::Kind::Number)
    return makeError("argument {0}: expected a number ({1}), got {2}",
                     nameOf(argument), argument.type, quoteName(spec.text));
  auto type = parseElementType(argument.type);
  value.real = spec.number;
  if (type && isFloat(*type))
    return Error::success();
  std::optional<int64_t> integer = spec.asInteger();
  if (!integer)
    return makeError("argument {0}: expected an integer ({1}), got {2}",
                     nameOf(argument), argument.type, quoteName(spec.text));
  value.isInteger = true;
  value.integer = *integer;
  return Error::success();
}

Expected<std::vector<InputValue>> InputMaker::make() {
  std::vector<InputValue> values(function.args.size());
  // What knows its own shape comes first: it binds dimensions for the rest.
  for (bool knowing : {true, false})
    for (size_t i = 0; i < values.size(); ++i) {
      if (function.args[i].isScalar || knowsShape(*specs[i]) != knowing)
        continue;
      if (Error error = makeTensor(i, values[i]))
        return error;
    }
  for (size_t i = 0; i < values.size(); ++i)
    if (function.args[i].isScalar)
      if (Error error = makeScalar(i, values[i]))
        return error;
  return values;
}

} // namespace

CallArgument InputValue::argument() {
  if (tensor)
    return tensor->view();
  if (isInteger)
    return integer;
  return real;
}

Expected<std::vector<InputValue>> attn::makeInputs(const FunctionInfo &function,
                                                   ArrayRef<std::string> specs,
                                                   ArrayRef<std::string> dims) {
  InputMaker maker(function);
  if (Error error = maker.assign(specs))
    return error;
  if (Error error = maker.readDims(dims))
    return error;
  return maker.make();
}

Expected<std::vector<InputValue>>
attn::promoteInputs(const std::vector<InputValue> &inputs) {
  std::vector<InputValue> result;
  for (const InputValue &input : inputs) {
    InputValue &copy = result.emplace_back();
    copy.integer = input.integer;
    copy.real = input.real;
    copy.isInteger = input.isInteger;
    if (!input.tensor)
      continue;
    ElementType type = input.tensor->type();
    auto tensor =
        input.tensor->convertTo(isFloat(type) ? ElementType::f64 : type);
    if (!tensor)
      return tensor.takeError();
    copy.tensor = std::move(*tensor);
  }
  return result;
}

Expected<std::vector<HostTensor>>
attn::makeOutputs(const CompiledModule &module, const FunctionInfo &function,
                  ArrayRef<CallArgument> inputs) {
  auto shapes = module.resultShapes(function.name, inputs);
  if (!shapes)
    return shapes.takeError();
  std::vector<HostTensor> outputs;
  for (auto [index, shape] : enumerate(*shapes)) {
    auto type = parseElementType(function.results[index].type);
    if (!type)
      return makeError("result {0}: type {1} cannot be held", index,
                       function.results[index].type);
    auto tensor = HostTensor::create(*type, shape);
    if (!tensor)
      return makeError("result {0}: {1}", index, toString(tensor.takeError()));
    outputs.push_back(std::move(*tensor));
  }
  return outputs;
}
