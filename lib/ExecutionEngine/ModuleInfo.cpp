//===- ModuleInfo.cpp - Description of the entry functions ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the JSON text that travels inside a compiled module.
//
//===----------------------------------------------------------------------===//

#include "attn/ExecutionEngine/ModuleInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace llvm;

namespace {

Error malformed(const Twine &what) {
  return createStringError("module description: " + what);
}

/// `object[key]` as a list of strings; a missing key is an empty list.
Error readStrings(const json::Object &object, StringRef key,
                  std::vector<std::string> &strings) {
  const json::Value *value = object.get(key);
  if (!value)
    return Error::success();
  const json::Array *array = value->getAsArray();
  if (!array)
    return malformed("'" + key + "' is not a list");
  for (const json::Value &entry : *array) {
    auto text = entry.getAsString();
    if (!text)
      return malformed("'" + key + "' holds something else than strings");
    strings.push_back(text->str());
  }
  return Error::success();
}

Error readValue(const json::Value &json, bool isResult, ValueInfo &value) {
  const json::Object *object = json.getAsObject();
  if (!object)
    return malformed("an argument or result is not an object");
  auto name = object->getString("name");
  if (!name && !isResult)
    return malformed("an argument has no name");
  value.name = name.value_or("").str();
  StringRef kind = object->getString("kind").value_or("tensor");
  if (kind != "tensor" && (isResult || kind != "scalar"))
    return malformed("kind '" + kind + "' is unknown");
  value.isScalar = kind == "scalar";
  auto type = object->getString("type");
  if (!type ||
      !(parseElementType(*type) || (value.isScalar && *type == "index")))
    return malformed("type '" + type.value_or("") + "' is unknown");
  value.type = type->str();
  value.contiguous = object->getBoolean("contiguous").value_or(false);
  for (auto [key, what, number] :
       {std::tuple("updates", "an argument", &value.updates),
        {"weights", "a result", &value.weights},
        {"scores", "a result", &value.scores}})
    if (const json::Value *given = object->get(key)) {
      auto index = given->getAsInteger();
      if (!isResult || !index || *index < 0)
        return malformed("'" + Twine(key) + "' is no number of " + what);
      *number = *index;
    }
  for (auto [key, type] : {std::pair("logSumExpOf", &value.logSumExpOf),
                           {"weightStatsOf", &value.weightStatsOf}})
    if (auto inputs = object->getString(key)) {
      if (!isResult || !parseElementType(*inputs))
        return malformed("'" + Twine(key) + "' is no element type of a result");
      *type = inputs->str();
    }
  if (value.isScalar)
    return Error::success();

  const json::Array *shape = object->getArray("shape");
  if (!shape || shape->size() > static_cast<size_t>(kMaxRank))
    return malformed("a tensor has no shape of a rank up to " +
                     Twine(kMaxRank));
  for (const json::Value &extent : *shape) {
    auto size = extent.getAsInteger();
    if (extent.getAsNull())
      size = kDynamicSize;
    else if (!size || *size < 0)
      return malformed("an extent is neither null nor a number");
    value.shape.push_back(*size);
  }
  if (Error error = readStrings(*object, "dims", value.dims))
    return error;
  if (!value.dims.empty() && value.dims.size() != value.shape.size())
    return malformed("'dims' and 'shape' differ in length");
  return Error::success();
}

Error readFunction(const json::Value &json, FunctionInfo &function) {
  const json::Object *object = json.getAsObject();
  if (!object || !object->getString("name"))
    return malformed("a function has no name");
  function.name = object->getString("name")->str();
  auto readValues = [&](StringRef key, bool isResult,
                        std::vector<ValueInfo> &values) -> Error {
    const json::Array *array = object->getArray(key);
    if (!array)
      return malformed("'" + key + "' is not a list");
    for (const json::Value &entry : *array)
      if (Error error = readValue(entry, isResult, values.emplace_back()))
        return error;
    return Error::success();
  };
  if (Error error = readValues("args", false, function.args))
    return error;
  if (Error error = readValues("results", true, function.results))
    return error;
  function.gathers = object->getBoolean("gathers").value_or(false);
  if (Error error = readStrings(*object, "checks", function.checks))
    return error;
  return readStrings(*object, "remarks", function.remarks);
}

json::Object write(const ValueInfo &value, bool isResult) {
  json::Object object;
  if (!isResult) {
    object["name"] = value.name;
    object["kind"] = value.isScalar ? "scalar" : "tensor";
  }
  object["type"] = value.type;
  if (value.isScalar)
    return object;
  json::Array shape;
  for (int64_t extent : value.shape)
    shape.push_back(extent == kDynamicSize ? json::Value(nullptr)
                                           : json::Value(extent));
  object["shape"] = std::move(shape);
  if (!value.dims.empty())
    object["dims"] = json::Array(value.dims);
  if (value.contiguous)
    object["contiguous"] = true;
  for (auto [key, number] : {std::pair("updates", value.updates),
                             {"weights", value.weights},
                             {"scores", value.scores}})
    if (number >= 0)
      object[key] = number;
  if (!value.logSumExpOf.empty())
    object["logSumExpOf"] = value.logSumExpOf;
  if (!value.weightStatsOf.empty())
    object["weightStatsOf"] = value.weightStatsOf;
  return object;
}

} // namespace

const FunctionInfo *ModuleInfo::find(StringRef name) const {
  auto it = llvm::find_if(functions, [&](const FunctionInfo &function) {
    return function.name == name;
  });
  return it == functions.end() ? nullptr : &*it;
}

Expected<ModuleInfo> ModuleInfo::parse(StringRef text) {
  Expected<json::Value> json = json::parse(text);
  if (!json)
    return malformed(toString(json.takeError()));
  const json::Object *object = json->getAsObject();
  const json::Array *functions =
      object ? object->getArray("functions") : nullptr;
  if (!functions)
    return malformed("'functions' is not a list");
  ModuleInfo info;
  for (const json::Value &entry : *functions)
    if (Error error = readFunction(entry, info.functions.emplace_back()))
      return error;
  return info;
}

std::string ModuleInfo::str() const {
  json::Array list;
  for (const FunctionInfo &function : functions) {
    json::Array args, results;
    for (const ValueInfo &value : function.args)
      args.push_back(write(value, /*isResult=*/false));
    for (const ValueInfo &value : function.results)
      results.push_back(write(value, /*isResult=*/true));
    json::Object object{{"name", function.name},
                        {"args", std::move(args)},
                        {"results", std::move(results)},
                        {"checks", json::Array(function.checks)},
                        {"remarks", json::Array(function.remarks)}};
    if (function.gathers)
      object["gathers"] = true;
    list.push_back(std::move(object));
  }
  std::string text;
  raw_string_ostream stream(text);
  stream << json::Value(json::Object{{"functions", std::move(list)}});
  return text;
}
