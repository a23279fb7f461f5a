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

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

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

Error attn::checkThreads(unsigned threads) {
  // More would only be asked for by mistake.
  constexpr unsigned kMaxThreads = 1024;
  if (threads <= kMaxThreads)
    return Error::success();
  return makeError("--threads={0}: expected at most {1}", threads, kMaxThreads);
}

Error attn::checkWritable(ArrayRef<StringRef> paths) {
  for (StringRef path : paths) {
    if (path.empty())
      continue;
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

Error attn::checkDevice(StringRef device) {
  if (device == "cpu")
    return Error::success();
  if (device == "cuda" || device == "gpu-emulator")
    return make_error<DeviceError>(
        ("device '" + device + "' is not available in this build").str());
  return makeError("unknown device {0}, expected cpu, cuda or gpu-emulator",
                   quoteName(device));
}

Expected<std::string> attn::readSchedule(StringRef textOrFile) {
  std::string text = textOrFile.trim().str();
  if (!text.empty() && text.front() != '#') {
    auto file = MemoryBuffer::getFile(text, /*IsText=*/true);
    if (!file)
      return makeError("--schedule={0}: expected #attn.schedule<...> or a file "
                       "with it: {1}",
                       quoteName(text), file.getError().message());
    text = (*file)->getBuffer().trim().str();
  }
  if (Error error = checkSchedule(text))
    return error;
  return text;
}
