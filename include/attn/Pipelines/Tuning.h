//===- Tuning.h - Schedules that were found by trying -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which schedules are worth trying next to the chosen one, and the file in the
// cache folder that keeps the one that won: the text of the attribute, which
// `--schedule=FILE` takes as well.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PIPELINES_TUNING_H
#define ATTN_PIPELINES_TUNING_H

#include "attn/Pipelines/Compiler.h"

#include <string>
#include <vector>

namespace attn {

/// The neighbours of `schedule` (text of a `#attn.schedule<...>`): the same
/// kernel with tile rows, keys, the register tile or the split halved or
/// doubled, as far as the attribute's verifier and the registers of `target`
/// allow.
llvm::Expected<std::vector<std::string>>
neighbourSchedules(llvm::StringRef schedule, const Target &target);

/// Where the tuned schedule of the request's input, function and target is kept
/// in its cache, which must not be null.
std::string tunedSchedulePath(const CompileRequest &request);

/// What is kept there; empty when there is no file. An error says what is wrong
/// with the file.
llvm::Expected<std::string> readTunedSchedule(const CompileRequest &request);

/// Whether the schedule of the request is one that tuning could have found: a
/// neighbour of the one that the compiler chooses without it. So a file that is
/// foreign or old can neither change the kernel nor its types.
llvm::Error checkTunedSchedule(const CompileRequest &request);

/// Keeps `schedule` there; empty removes what is there.
llvm::Error storeTunedSchedule(const CompileRequest &request,
                               llvm::StringRef schedule);

} // namespace attn

#endif // ATTN_PIPELINES_TUNING_H
