//===- Error.h - One-line errors --------------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every error of the support libraries is one lower-case line that names the
// operand, file or tensor and both values. These helpers make such errors and
// keep names that come from outside (file contents, command lines) printable.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_ERROR_H
#define ATTN_SUPPORT_ERROR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

#include <string>

namespace attn {

/// An llvm::Error (code invalid_argument) whose text is the formatv-formatted
/// `format`.
template <typename... Ts>
llvm::Error makeError(const char *format, Ts &&...values) {
  return llvm::createStringError(
      std::make_error_code(std::errc::invalid_argument),
      llvm::Twine(llvm::formatv(format, std::forward<Ts>(values)...).str()));
}

/// `text` in single quotes with control and non-ASCII bytes escaped, cut after
/// 256 bytes (a path must stay readable): safe to put in a one-line message
/// whatever a file contains.
std::string quoteName(llvm::StringRef text);

/// A shape as the command line spells it: `2x8x64`; `scalar` for rank 0. A
/// dynamic size prints as `?`.
std::string formatShape(llvm::ArrayRef<int64_t> shape);

} // namespace attn

#endif // ATTN_SUPPORT_ERROR_H
