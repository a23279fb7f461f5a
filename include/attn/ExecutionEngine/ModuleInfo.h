//===- ModuleInfo.h - Description of the entry functions --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled module carries one C string, `__attn_module_info`, that describes
// its entry functions as JSON, so that an object from the cache can be called
// and checked without the source it came from:
//
//   {"functions": [{"name": "f",
//      "args":    [{"name": "q", "kind": "tensor", "type": "f32",
//                   "shape": [null, 12, null, 64], "dims": ["B", "H", "S", ""],
//                   "contiguous": false},
//                  {"name": "pos", "kind": "scalar", "type": "index"}],
//      "results": [{"type": "f32", "shape": [null, null, 384], "updates": 0,
//                   "logSumExpOf": "bf16"}],
//      "checks":  ["text with {0} and {1}"],
//      "remarks": ["..."]}]}
//
// `null` is an extent known at run time only. `dims`, `contiguous`, `updates`,
// `logSumExpOf` and `weightStatsOf` may be missing: `contiguous` is for
// functions that ignore an argument's strides, `updates` is the argument whose
// buffer a result may share, `logSumExpOf` and `weightStatsOf` the type of the
// inputs of the attention that a result is the log-sum-exp of, or statistics of
// the weights of. Statistics whose weights, or the scores of these, are results
// too have their numbers as `weights` and `scores`. A function whose programs
// read floats at indices has `gathers`, true.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXECUTIONENGINE_MODULEINFO_H
#define ATTN_EXECUTIONENGINE_MODULEINFO_H

#include "attn/Support/HostTensor.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace attn {

/// One argument or result of an entry function.
struct ValueInfo {
  std::string name;
  bool isScalar = false;
  /// `f32`, `bf16`, `i64`, ... and `index` for scalars.
  std::string type;
  /// Extents of a tensor; `kDynamicSize` where not static.
  std::vector<int64_t> shape;
  /// Names of the dimensions: empty, or one entry for each extent, "" without
  /// name.
  std::vector<std::string> dims;
  /// The function ignores strides: a strided tensor is copied before the call.
  bool contiguous = false;
  /// Of a result: the argument that it updates, whose buffer it may be, or -1.
  int64_t updates = -1;
  /// Of a result that is a log-sum-exp: the element type of the attention's
  /// inputs, else empty.
  std::string logSumExpOf;
  /// The same of a result that is statistics of its weights.
  std::string weightStatsOf;
  /// Of a result that is statistics of weights: the results that are these
  /// weights and the scores of their softmax, or -1.
  int64_t weights = -1, scores = -1;
};

/// One entry function.
struct FunctionInfo {
  std::string name;
  std::vector<ValueInfo> args;
  std::vector<ValueInfo> results;
  /// Whether a program of it reads floats at indices that it computes.
  bool gathers = false;
  /// Texts of the shape checks; {0} and {1} stand for the two values that
  /// differ.
  std::vector<std::string> checks;
  /// What the compiler had to say about this function.
  std::vector<std::string> remarks;
};

/// The entry functions of a module, in their order in the source.
struct ModuleInfo {
  std::vector<FunctionInfo> functions;

  /// The function called `name`, or null.
  const FunctionInfo *find(llvm::StringRef name) const;

  /// Reads the JSON text above. An error names what is wrong with it.
  static llvm::Expected<ModuleInfo> parse(llvm::StringRef json);
  /// Writes the JSON text above.
  std::string str() const;
};

} // namespace attn

#endif // ATTN_EXECUTIONENGINE_MODULEINFO_H
