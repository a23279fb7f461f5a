//===- CompiledModule.h - Load and call a compiled object -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Links an object made by `generateCode` into this process and calls its entry
// functions with tensors. Everything a caller can get wrong (number, types,
// ranks and extents of the arguments, and whatever the module's shape function
// checks) is checked before generated code runs, and becomes one line of text.
//
// An object exports for each entry function `f`:
//   void __attn_packed_f(void **args)   added by `generateCode`
//   i64 __attn_shape_f(i64 *dims, i64 *resultDims, i64 *values)
//     `dims`: all extents of all arguments in order (a scalar integer or index
//     argument counts as one extent, its value; a scalar float as one extent
//     0); writes all result extents; returns 0, or the 1-based number of the
//     check that failed with the two values in values[0] and values[1].
// and the C string `__attn_module_info` (ModuleInfo.h).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXECUTIONENGINE_COMPILEDMODULE_H
#define ATTN_EXECUTIONENGINE_COMPILEDMODULE_H

#include "attn/ExecutionEngine/CPURuntime.h"
#include "attn/ExecutionEngine/ModuleInfo.h"
#include "attn/Support/HostTensor.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

namespace attn {

/// An input: a tensor, or the value of a scalar integer/index or float
/// argument. An integer is accepted for a float argument too.
using CallArgument = std::variant<TensorView, int64_t, double>;

/// How to run.
struct RunConfig {
  /// Threads that tasks run on; 0 means every usable core.
  unsigned threads = 1;
  /// Receives sentences about the run, such as an input that had to be copied.
  std::function<void(llvm::StringRef)> remark;
  /// Filled after the run when set.
  RunStatistics *statistics = nullptr;
};

/// A checked call: descriptors of all arguments, ready to be made many times.
/// It refers to the memory of the inputs and outputs that it was prepared with,
/// and to its module; both must outlive it. Inputs that had to be copied were
/// copied when it was prepared.
class PreparedCall {
public:
  PreparedCall(PreparedCall &&) = default;
  PreparedCall &operator=(PreparedCall &&) = default;

  /// Runs the function. Fails only when memory runs out.
  llvm::Error invoke(const RunConfig &config = {}) const;

private:
  friend class CompiledModule;
  PreparedCall() = default;

  /// The packed entry point.
  void (*entry)(void **) = nullptr;
  /// One memory block for each argument: a memref descriptor or a scalar value.
  std::vector<std::vector<int64_t>> storage;
  /// Addresses of the descriptors (the values the C interface takes).
  std::vector<void *> values;
  /// What `entry` gets: the addresses of the values.
  std::vector<void *> packed;
  /// Copies of inputs whose strides the function cannot take.
  std::vector<HostTensor> copies;
};

/// An object linked into this process.
class CompiledModule {
public:
  /// Links `object`. A symbol that the runtime does not provide, an object for
  /// another kind of machine or one that is no object is an error. Whether the
  /// CPU can execute it is the caller's question (`hostCanExecute`).
  static llvm::Expected<std::unique_ptr<CompiledModule>>
  load(llvm::StringRef object);

  ~CompiledModule();

  /// The entry functions.
  const ModuleInfo &info() const;

  /// Address of an exported symbol, or an error that names it.
  llvm::Expected<void *> lookup(llvm::StringRef symbol) const;

  /// Checks `inputs` and computes the shape of each result of `function`.
  llvm::Expected<std::vector<std::vector<int64_t>>>
  resultShapes(llvm::StringRef function,
               llvm::ArrayRef<CallArgument> inputs) const;

  /// Checks everything and makes a call that can be run repeatedly. `outputs`
  /// must be row-major without gaps, of the types of the results and the shapes
  /// of `resultShapes`, and must overlap neither the inputs nor each other.
  llvm::Expected<PreparedCall>
  prepare(llvm::StringRef function, llvm::ArrayRef<CallArgument> inputs,
          llvm::MutableArrayRef<TensorView> outputs,
          const std::function<void(llvm::StringRef)> &remark = {}) const;

  /// `prepare` and one `invoke`.
  llvm::Error run(llvm::StringRef function, llvm::ArrayRef<CallArgument> inputs,
                  llvm::MutableArrayRef<TensorView> outputs,
                  const RunConfig &config = {}) const;

private:
  struct Impl;
  explicit CompiledModule(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace attn

#endif // ATTN_EXECUTIONENGINE_COMPILEDMODULE_H
