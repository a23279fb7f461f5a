//===- CommonOptions.cpp - Options of every command that runs -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/CommonOptions.h"
#include "common/Command.h"

#include "attn/Pipelines/Compiler.h"
#include "attn/Support/Error.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace attn;
using namespace llvm;

static Error checkDevice(StringRef device) {
  if (device == "cpu")
    return Error::success();
  if (device == "cuda" || device == "gpu-emulator")
    return make_error<DeviceError>(
        ("device '" + device + "' is not available in this build").str());
  return makeError("unknown device {0}, expected cpu, cuda or gpu-emulator",
                   quoteName(device));
}

Error CommonOptions::verify() const {
  if (Error error = checkDevice(device))
    return error;
  // More would only be asked for by mistake.
  constexpr unsigned kMaxThreads = 1024;
  if (threads <= kMaxThreads)
    return Error::success();
  return makeError("--threads={0}: expected at most {1}", unsigned(threads),
                   kMaxThreads);
}

static Expected<std::string> readSchedule(StringRef textOrFile) {
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

Expected<PipelineOptions> CommonOptions::makePipelineOptions() const {
  PipelineOptions options;
  options.target = targetName;
  options.disabledFeatures.assign(disabledFeatures.begin(),
                                  disabledFeatures.end());
  auto text = readSchedule(schedule);
  if (!text)
    return text.takeError();
  options.schedule = std::move(*text);
  return options;
}

Expected<std::optional<ObjectCache>> CommonOptions::openCache() const {
  if (cacheDir.empty())
    return std::nullopt;
  auto cache = ObjectCache::open(cacheDir);
  if (!cache)
    return cache.takeError();
  return std::move(*cache);
}
