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
#include "llvm/Support/MemoryBuffer.h"
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
        errs() << "error: " << other.message() << "\n";
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
