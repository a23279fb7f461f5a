//===- Tuning.cpp - Schedules that were found by trying -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Pipelines/Tuning.h"
#include "attn/Dialect/Attn/IR/AttnDialect.h"
#include "attn/Support/AtomicFile.h"
#include "attn/Support/Error.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace attn;

namespace {

/// The numbers of a schedule that are varied.
struct Sizes {
  int64_t rows, keys, registerRows, vectors, split;
};

/// `value` halved, as it is, and doubled; 0 and 1 have no half.
SmallVector<int64_t> scaled(int64_t value) {
  if (value == 0)
    return {0};
  if (value == 1)
    return {1, 2};
  return {value / 2, value, 2 * value};
}

/// Tiles vary together, for they share the caches; so do the two sides of the
/// register tile, which share the registers.
std::vector<Sizes> neighbours(const Sizes &from, bool fixedRows) {
  std::vector<Sizes> list;
  for (int64_t rows :
       fixedRows ? SmallVector<int64_t>{from.rows} : scaled(from.rows))
    for (int64_t keys : scaled(from.keys))
      list.push_back({rows, keys, from.registerRows, from.vectors, from.split});
  for (int64_t registerRows : scaled(from.registerRows))
    for (int64_t vectors : scaled(from.vectors))
      list.push_back({from.rows, from.keys, registerRows, vectors, from.split});
  for (int64_t split : scaled(from.split))
    list.push_back(
        {from.rows, from.keys, from.registerRows, from.vectors, split});
  return list;
}

} // namespace

llvm::Expected<std::vector<std::string>>
attn::neighbourSchedules(StringRef schedule, const Target &target) {
  if (llvm::Error error = checkSchedule(schedule))
    return error;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<AttnDialect>();
  // A neighbour that the verifier refuses is left out in silence.
  ScopedDiagnosticHandler handler(&context,
                                  [](Diagnostic &) { return success(); });
  auto from = cast<ScheduleAttr>(parseAttribute(schedule, &context));
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(&context)); };
  Sizes sizes{from.getTile()[0], from.getTile()[1], from.getRegisters()[0],
              from.getRegisters()[1], from.getSplit()};
  std::vector<std::string> list;
  // The rows of a decoding step are those that there are.
  bool fixedRows = from.getKernel() == Kernel::FeaturesInLanes;
  for (const Sizes &next : neighbours(sizes, fixedRows)) {
    // Accumulators, a vector for each column of them and a broadcast. Tiles of
    // AMX are counted by the verifier.
    int64_t registers = next.registerRows * next.vectors + next.vectors + 1;
    if (registers > target.vectorRegisters)
      continue;
    auto attribute = ScheduleAttr::getChecked(
        emitError, &context, from.getKernel(),
        ArrayRef<int64_t>{next.rows, next.keys},
        ArrayRef<int64_t>{next.registerRows, next.vectors}, from.getLanes(),
        next.split);
    if (!attribute || attribute == from)
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << attribute;
    if (!llvm::is_contained(list, text))
      list.push_back(std::move(text));
  }
  return list;
}

std::string attn::tunedSchedulePath(const CompileRequest &request) {
  return request.cache->schedulePathOf(
      scheduleKey(request.input, request.function, request.target));
}

llvm::Expected<std::string>
attn::readTunedSchedule(const CompileRequest &request) {
  // A schedule is a line of text: what is longer is something else.
  constexpr uint64_t kMaxBytes = 4096;
  std::string path = tunedSchedulePath(request);
  uint64_t size = 0;
  if (std::error_code code = llvm::sys::fs::file_size(path, size)) {
    if (code == std::errc::no_such_file_or_directory)
      return "";
    return makeError("cannot read it: {0}", code.message());
  }
  if (!llvm::sys::fs::is_regular_file(path))
    return makeError("it is no file");
  if (size > kMaxBytes)
    return makeError("it has {0} bytes, expected at most {1}", size, kMaxBytes);
  auto file = llvm::MemoryBuffer::getFileSlice(path, size, /*Offset=*/0,
                                               /*IsVolatile=*/true);
  if (!file)
    return makeError("cannot read it: {0}", file.getError().message());
  std::string text = (*file)->getBuffer().trim().str();
  if (text.empty() || llvm::errorToBool(checkSchedule(text)))
    return makeError("it holds no #attn.schedule<...> for attention");
  return text;
}

llvm::Error attn::checkTunedSchedule(const CompileRequest &request) {
  CompileRequest plain = request;
  plain.pipeline.schedule.clear();
  llvm::Expected<std::string> chosen = chooseSchedule(plain);
  if (!chosen)
    return chosen.takeError();
  auto list = neighbourSchedules(*chosen, request.target);
  if (!list)
    return list.takeError();
  if (llvm::is_contained(*list, request.pipeline.schedule))
    return llvm::Error::success();
  return makeError("it holds {0}, which is no neighbour of {1}",
                   quoteName(request.pipeline.schedule), quoteName(*chosen));
}

llvm::Error attn::storeTunedSchedule(const CompileRequest &request,
                                     StringRef schedule) {
  std::string path = tunedSchedulePath(request);
  if (!schedule.empty())
    return writeFileAtomically(
        path, [&](llvm::raw_ostream &stream) { stream << schedule << '\n'; });
  if (std::error_code code = llvm::sys::fs::remove(path))
    return makeError("cannot remove {0}: {1}", quoteName(path), code.message());
  return llvm::Error::success();
}
