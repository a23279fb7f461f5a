//===- Inputs.h - Arguments of a call from the command line -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each argument of the function gets its `--input`, by name or by position.
// Sizes that the function leaves open come from files, from shapes in the SPEC,
// and from `--dim`, in this order; a named dimension is one size everywhere.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_RUN_INPUTS_H
#define ATTN_TOOLS_ATTN_RUN_INPUTS_H

#include "attn/ExecutionEngine/CompiledModule.h"
#include "attn/Support/HostTensor.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace attn {

/// One argument: a tensor, or the value of a scalar.
struct InputValue {
  std::optional<HostTensor> tensor;
  int64_t integer = 0;
  double real = 0.0;
  bool isInteger = false;

  CallArgument argument();
};

/// Makes the arguments of `function`. `specs` are the texts of `--input`,
/// `dims` those of `--dim`. Errors name the argument and what is missing or
/// wrong.
llvm::Expected<std::vector<InputValue>>
makeInputs(const FunctionInfo &function, llvm::ArrayRef<std::string> specs,
           llvm::ArrayRef<std::string> dims);

/// The same values for the f64 twin: floats become f64.
llvm::Expected<std::vector<InputValue>>
promoteInputs(const std::vector<InputValue> &inputs);

/// Zero-filled results of the shapes that the module computes for `inputs`.
llvm::Expected<std::vector<HostTensor>>
makeOutputs(const CompiledModule &module, const FunctionInfo &function,
            llvm::ArrayRef<CallArgument> inputs);

} // namespace attn

#endif // ATTN_TOOLS_ATTN_RUN_INPUTS_H
