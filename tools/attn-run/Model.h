//===- Model.h - The file that a command compiles ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_RUN_MODEL_H
#define ATTN_TOOLS_ATTN_RUN_MODEL_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace attn {

/// Text or bytecode of the model in `path`, `-` for stdin. A file that ends in
/// `.onnx` is imported; what is wrong with it is a CompileFailure. External
/// data is part of the bytecode, so that the bytes decide what is computed.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readModel(llvm::StringRef path);

} // namespace attn

#endif // ATTN_TOOLS_ATTN_RUN_MODEL_H
