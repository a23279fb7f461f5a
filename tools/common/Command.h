//===- Command.h - What the commands that run code share --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exit codes, the command line, and how errors are printed: bad usage or input
// in one line, compile errors as MLIR's diagnostics.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_COMMON_COMMAND_H
#define ATTN_TOOLS_COMMON_COMMAND_H

#include "attn/Support/Error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace attn {

enum ExitCode {
  Done = 0,
  BadInput = 1,
  CompileError = 2,
  CheckFailed = 3,
  NoDevice = 77
};

/// The error of a device that this machine does not have.
class DeviceError : public llvm::ErrorInfo<DeviceError> {
public:
  static char ID;
  explicit DeviceError(std::string text) : text(std::move(text)) {}
  void log(llvm::raw_ostream &stream) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string text;
};

/// Prints `error` to stderr and gives its exit code.
int reportError(llvm::Error error);

/// Options that the libraries registered are no part of a command line: takes
/// them away. Comes before the command's own options are made, because LLVM has
/// a `threads` too, and two options of one name abort the process.
void removeLibraryOptions();

/// Parses the command line into the options that exist. An error is one line;
/// it is empty when an option has printed its own.
llvm::Error parseCommandLine(int argc, char **argv, llvm::StringRef overview);

/// Prints to stdout. What does not arrive there is for finishOutput to find:
/// fmt::print would throw.
template <typename... Args>
void printOut(fmt::format_string<Args...> format, Args &&...args) {
  std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

/// Whether everything that was printed to stdout, by `printOut` and by outs(),
/// has arrived: a full disk must not look like success.
llvm::Error finishOutput();

/// Whether the files (empty: none) can be made: what would fail after an hour
/// of work, or after the first of two results was written, fails now. So does a
/// file that is named twice.
llvm::Error checkWritable(llvm::ArrayRef<llvm::StringRef> paths);

/// An error that names the first of `others` that is given: next to `option`
/// it would do nothing.
template <typename... Others>
llvm::Error refuseWith(llvm::StringRef option, const Others &...others) {
  llvm::StringRef name;
  auto look = [&](const llvm::cl::Option &other) {
    if (name.empty() && other.getNumOccurrences())
      name = other.ArgStr;
  };
  (look(others), ...);
  if (name.empty())
    return llvm::Error::success();
  return makeError("{0}: expected no --{1} with it", option, name);
}

} // namespace attn

#endif // ATTN_TOOLS_COMMON_COMMAND_H
