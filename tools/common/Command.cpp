//===- Command.cpp - What the commands that run code share ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/Command.h"

#include "attn/Pipelines/Compiler.h"
#include "attn/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>

using namespace attn;
using namespace llvm;

char DeviceError::ID = 0;

void DeviceError::log(raw_ostream &stream) const { stream << text; }

std::error_code DeviceError::convertToErrorCode() const {
  return std::make_error_code(std::errc::no_such_device);
}

int attn::reportError(Error error) {
  int code = BadInput;
  handleAllErrors(
      std::move(error),
      [&](const CompileFailure &failure) {
        errs() << failure.message();
        code = CompileError;
      },
      [&](const DeviceError &missing) {
        errs() << "error: " << missing.message() << "\n";
        code = NoDevice;
      },
      [&](const ErrorInfoBase &other) {
        // An option whose value does not parse was reported by LLVM already.
        if (std::string text = other.message(); !text.empty())
          errs() << "error: " << text << "\n";
      });
  return code;
}

void attn::removeLibraryOptions() {
  SmallVector<cl::Option *> foreign;
  for (auto &entry : cl::getRegisteredOptions())
    foreign.push_back(entry.second);
  for (cl::Option *option : foreign)
    option->removeArgument();
}

Error attn::parseCommandLine(int argc, char **argv, StringRef overview) {
  std::string errors;
  raw_string_ostream stream(errors);
  if (cl::ParseCommandLineOptions(argc, argv, overview, &stream))
    return Error::success();
  // What follows the first line are guesses and repetitions.
  StringRef line = StringRef(errors).split('\n').first;
  line.consume_front(sys::path::filename(argv[0]));
  line.consume_front(": ");
  return makeError("{0}", line);
}

Error attn::finishOutput() {
  std::error_code code;
  errno = 0;
  // An earlier flush may have failed: only the flag remembers it.
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    code = std::error_code(errno ? errno : EIO, std::generic_category());
  outs().flush();
  if (outs().has_error()) {
    code = outs().error();
    // Otherwise the stream's destructor aborts the process.
    outs().clear_error();
  }
  if (!code)
    return Error::success();
  return makeError("cannot write to stdout: {0}", code.message());
}

/// Whether two paths name one file, which need not exist.
static bool isSameFile(StringRef a, StringRef b) {
  if (sys::fs::equivalent(a, b))
    return true;
  SmallString<128> absolute[] = {a, b};
  for (SmallString<128> &path : absolute) {
    // The folder exists and may be reached through links.
    SmallString<128> folder = sys::path::parent_path(path);
    SmallString<128> real;
    if (sys::fs::real_path(folder.empty() ? "." : folder.str(), real))
      return false;
    sys::path::append(real, sys::path::filename(path));
    path = real;
  }
  return absolute[0] == absolute[1];
}

Error attn::checkWritable(ArrayRef<StringRef> paths) {
  for (auto [index, path] : enumerate(paths)) {
    if (path.empty())
      continue;
    for (StringRef other : paths.take_front(index))
      if (!other.empty() && isSameFile(other, path))
        return makeError("{0} and {1} are one file, expected another for each "
                         "output",
                         quoteName(other), quoteName(path));
    StringRef folder = sys::path::parent_path(path);
    if (folder.empty())
      folder = ".";
    if (std::error_code code =
            sys::fs::access(folder, sys::fs::AccessMode::Write))
      return makeError("cannot write {0}: {1}", quoteName(path),
                       code.message());
    if (sys::fs::is_directory(path))
      return makeError("cannot write {0}: it is a folder", quoteName(path));
  }
  return Error::success();
}
