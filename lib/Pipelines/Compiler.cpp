//===- Compiler.cpp - From the bytes of a model to callable code ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Latency counts: one thread, one verification after parsing and one at the
// end, and nothing but the entry that was asked for.
//
//===----------------------------------------------------------------------===//

#include "attn/Pipelines/Compiler.h"
#include "attn/Dialect/Attn/IR/AttnOps.h"
#include "attn/InitAll.h"
#include "attn/Pipelines/Remarks.h"
#include "attn/Pipelines/Tuning.h"
#include "attn/Support/Error.h"
#include "attn/Support/HostTensor.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace attn;

char CompileFailure::ID = 0;

void CompileFailure::log(llvm::raw_ostream &stream) const {
  stream << diagnostics;
}

std::error_code CompileFailure::convertToErrorCode() const {
  return std::make_error_code(std::errc::invalid_argument);
}

namespace {

/// How deep brackets nest in the text of a model; 0 for bytecode.
size_t getNesting(StringRef text) {
  if (isBytecode(llvm::MemoryBufferRef(text, "")))
    return 0;
  size_t depth = 0, deepest = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i], next = i + 1 < text.size() ? text[i + 1] : 0;
    if (c == '/' && next == '/') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"') {
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
    } else if ((c == '-' && next == '>') ||
               ((c == '<' || c == '>') && next == '=')) {
      ++i; // `<=`, `>=`, `->`
    } else if (StringRef("([{<").contains(c)) {
      deepest = std::max(deepest, ++depth);
    } else if (StringRef(")]}>").contains(c) && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

/// The functions that can be called from outside; at least one.
llvm::Expected<SmallVector<func::FuncOp>> findEntries(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (func::FuncOp func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal())
      entries.push_back(func);
  if (entries.empty())
    return makeError("the module has no public function with a body");
  return entries;
}

/// The one of `entries` that `name` asks for; the empty name for the default.
llvm::Expected<func::FuncOp> findEntry(ArrayRef<func::FuncOp> entries,
                                       StringRef name) {
  if (name.empty() && entries.size() == 1)
    return entries.front();
  for (func::FuncOp func : entries)
    if (func.getName() == (name.empty() ? "main" : name))
      return func;
  auto names = llvm::map_range(
      entries, [](func::FuncOp func) { return quoteName(func.getName()); });
  std::string list = llvm::join(names, ", ");
  if (name.empty())
    return makeError(
        "the module has {0} public functions and no 'main', choose "
        "one with --function: {1}",
        entries.size(), list);
  return makeError("unknown function {0}, the module has: {1}", quoteName(name),
                   list);
}

/// Says which argument or result of `entry` callers cannot pass: they hold
/// tensors of the element types of HostTensor, and scalars as arguments.
LogicalResult verifySignature(func::FuncOp entry) {
  auto check = [&](StringRef what, unsigned index, Type type, bool isResult) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    std::string element;
    llvm::raw_string_ostream(element) << getElementTypeOrSelf(type);
    bool isScalar = !isResult && !isa<ShapedType>(type);
    if ((tensor || isScalar) &&
        (parseElementType(element) || (isScalar && type.isIndex())))
      return success();
    auto names = llvm::map_range(allElementTypes(), elementTypeName);
    return LogicalResult(entry.emitError()
                         << what << " " << index << " of the entry '"
                         << entry.getName() << "' must be a ranked tensor"
                         << (isResult ? "" : " or a scalar") << " of "
                         << llvm::join(names, ", ") << ", got " << type);
  };
  for (auto [index, type] : llvm::enumerate(entry.getArgumentTypes()))
    if (failed(check("argument", index, type, /*isResult=*/false)))
      return failure();
  for (auto [index, type] : llvm::enumerate(entry.getResultTypes()))
    if (failed(check("result", index, type, /*isResult=*/true)))
      return failure();
  return success();
}

/// Names the arguments of `entry` that have no `attn.name` as the text does, so
/// that messages speak of what the user wrote. Numbers are no names, those of
/// the form `argK` stand for a position already, and `$` is in no name that can
/// be typed. Bytecode has no such names.
void nameArguments(func::FuncOp entry, const AsmParserState &text) {
  const AsmParserState::BlockDefinition *block =
      text.getBlockDef(&entry.getBody().front());
  if (!block || block->arguments.size() != entry.getNumArguments())
    return;
  llvm::StringSet<> given;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (auto name = entry.getArgAttrOfType<StringAttr>(i, kNameAttrName))
      given.insert(name.getValue());
  for (auto [i, argument] : llvm::enumerate(block->arguments)) {
    SMRange range = argument.loc;
    if (!range.isValid())
      continue;
    StringRef name(range.Start.getPointer(),
                   range.End.getPointer() - range.Start.getPointer());
    if (!name.consume_front("%"))
      continue;
    StringRef number = name;
    bool isPosition = number.consume_front("arg") ? !number.empty() : true;
    isPosition &= llvm::all_of(number, llvm::isDigit);
    if (!isPosition && !name.contains('$') &&
        !entry.getArgAttr(i, kNameAttrName) && given.insert(name).second)
      entry.setArgAttr(i, kNameAttrName,
                       StringAttr::get(entry.getContext(), name));
  }
}

/// One run of the compiler on one model.
class Session {
public:
  explicit Session(const CompileRequest &request)
      : request(request),
        context(makeRegistry(), MLIRContext::Threading::DISABLED),
        stream(diagnostics), handler(sources, &context, stream) {
    context.printOpOnDiagnostic(false);
    collectRemarks(context, remarks);
  }

  /// Parses the model, and makes every function but the requested one private
  /// unless all are kept.
  llvm::Error parse(bool keepAll);
  /// Runs passes and verifies what they leave.
  llvm::Error run(llvm::function_ref<void(OpPassManager &)> populate);
  /// Gives the arguments of entries the names of the text.
  void nameArguments();
  /// Puts the remarks into the module's description of itself. A given schedule
  /// is called tuned if it comes from the cache.
  llvm::Error storeRemarks(bool tuned);

  ModuleOp getModule() { return *module; }
  std::string takeDiagnostics() {
    stream.flush();
    return std::move(diagnostics);
  }

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerAllDialects(registry);
    registerAllTranslations(registry);
    return registry;
  }
  llvm::Error fail() {
    std::string text = takeDiagnostics();
    if (text.empty())
      text = request.inputName + ": error: compilation failed without a "
                                 "message\n";
    return llvm::make_error<CompileFailure>(std::move(text));
  }

  const CompileRequest &request;
  std::vector<CompilerRemark> remarks;
  MLIRContext context;
  llvm::SourceMgr sources;
  std::string diagnostics;
  llvm::raw_string_ostream stream;
  SourceMgrDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
  /// Where the text defines what; nothing of bytecode.
  AsmParserState text;
};

llvm::Error Session::parse(bool keepAll) {
  // The parser and whatever walks the module recurse.
  constexpr size_t kDeepest = 256;
  if (size_t depth = getNesting(request.input); depth > kDeepest)
    return makeError("brackets of the text nest {0} levels deep, expected at "
                     "most {1}",
                     depth, kDeepest);
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(request.input, request.inputName),
      llvm::SMLoc());
  ParserConfig config(&context);
  if (isBytecode(*sources.getMemoryBuffer(sources.getMainFileID()))) {
    module = parseSourceFile<ModuleOp>(sources, config);
  } else {
    Block block;
    if (succeeded(parseAsmSourceFile(sources, &block, config, &text)))
      module = mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
          &block, &context,
          FileLineColLoc::get(&context, request.inputName, 0, 0));
  }
  if (!module)
    return fail();
  auto entries = findEntries(*module);
  if (!entries)
    return entries.takeError();
  if (keepAll) {
    for (func::FuncOp func : *entries)
      if (failed(verifySignature(func)))
        return fail();
    return llvm::Error::success();
  }
  llvm::Expected<func::FuncOp> entry = findEntry(*entries, request.function);
  if (!entry)
    return entry.takeError();
  if (failed(verifySignature(*entry)))
    return fail();
  for (func::FuncOp func : module->getOps<func::FuncOp>())
    if (func != *entry)
      func.setPrivate();
  return llvm::Error::success();
}

void Session::nameArguments() {
  for (func::FuncOp entry : module->getOps<func::FuncOp>())
    if (entry.isPublic() && !entry.isExternal())
      ::nameArguments(entry, text);
}

llvm::Error Session::run(llvm::function_ref<void(OpPassManager &)> populate) {
  PassManager pm(&context);
  pm.enableVerifier(false);
  populate(pm);
  if (failed(pm.run(*module)) || failed(verify(*module)))
    return fail();
  return llvm::Error::success();
}

llvm::Error Session::storeRemarks(bool tuned) {
  auto global = module->lookupSymbol<LLVM::GlobalOp>(kModuleInfoName);
  auto text = global ? dyn_cast_or_null<StringAttr>(global.getValueOrNull())
                     : StringAttr();
  if (!text)
    return makeError("the compiled module has no description");
  llvm::Expected<ModuleInfo> info =
      ModuleInfo::parse(text.getValue().rtrim('\0'));
  if (!info)
    return info.takeError();
  auto spell = [&](StringRef text) {
    constexpr llvm::StringLiteral kSchedule = "schedule of attn.attention ";
    if (tuned && text.consume_front((kSchedule + "(given)").str()))
      return (kSchedule + "(tuned)" + text).str();
    return text.str();
  };
  for (FunctionInfo &function : info->functions)
    for (const CompilerRemark &remark : remarks)
      if (remark.function == function.name)
        function.remarks.push_back(spell(remark.text));
  std::string json = info->str();
  json.push_back('\0');
  global.setValueAttr(StringAttr::get(&context, json));
  global.setGlobalType(
      LLVM::LLVMArrayType::get(IntegerType::get(&context, 8), json.size()));
  return llvm::Error::success();
}

void populate(OpPassManager &pm, const CompileRequest &request) {
  if (request.lowering == Lowering::Fused)
    return buildPipeline(pm, Phase::LLVM, request.pipeline);
  PipelineOptions options = request.pipeline;
  options.f64 = request.lowering == Lowering::TwinF64;
  populateInputPipeline(pm, options);
  populateTwinPipeline(pm);
}

llvm::Expected<std::string> generate(const CompileRequest &request,
                                     CodeKind kind, bool keepAll,
                                     std::string &diagnostics,
                                     bool tuned = false) {
  Session session(request);
  if (llvm::Error error = session.parse(keepAll))
    return error;
  session.nameArguments();
  if (llvm::Error error =
          session.run([&](OpPassManager &pm) { populate(pm, request); }))
    return error;
  if (llvm::Error error = session.storeRemarks(tuned))
    return error;
  auto code =
      generateCode(session.getModule(), request.target, request.codegen, kind);
  if (!code) {
    std::string text = llvm::toString(code.takeError());
    return llvm::make_error<CompileFailure>(session.takeDiagnostics() +
                                            request.inputName +
                                            ": error: " + text + "\n");
  }
  diagnostics = session.takeDiagnostics();
  return code;
}

/// What decides the object beside input and target.
std::vector<std::string> keyOptions(const CompileRequest &request, bool tuned) {
  constexpr const char *lowerings[] = {"fused", "twin", "twin f64"};
  return {lowerings[static_cast<int>(request.lowering)],
          request.function,
          request.pipeline.schedule,
          tuned ? "tuned" : "given",
          request.pipeline.returnWeights ? "weights" : "",
          request.pipeline.poisonClamps ? "poisoned" : "",
          request.codegen.str()};
}

/// Compiles, or finds in the cache, and links. `tuned`: the schedule of the
/// request comes from the cache.
llvm::Expected<Compilation> compileOrLoad(const CompileRequest &request,
                                          bool tuned) {
  Compilation result;
  std::string key;
  auto link = [&](StringRef object) -> llvm::Error {
    auto module = CompiledModule::load(object);
    if (!module)
      return module.takeError();
    if ((*module)->info().functions.size() != 1)
      return makeError("the compiled object has {0} entries, expected 1",
                       (*module)->info().functions.size());
    result.module = std::move(*module);
    result.function = &result.module->info().functions.front();
    return llvm::Error::success();
  };

  if (request.cache) {
    key = objectKey(request.input, keyOptions(request, tuned), request.target);
    // An object that does not link is as good as none, and is replaced.
    if (auto object = request.cache->lookup(key)) {
      llvm::Error error = link(object->getBuffer());
      if (!error) {
        result.cached = true;
        return result;
      }
      llvm::consumeError(std::move(error));
    }
  }
  // What is in the cache was checked before it was compiled.
  if (tuned)
    if (llvm::Error error = checkTunedSchedule(request))
      return error;
  llvm::Expected<std::string> object = generate(
      request, CodeKind::Object, /*keepAll=*/false, result.diagnostics, tuned);
  if (!object)
    return object.takeError();
  if (llvm::Error error = link(*object))
    return llvm::make_error<CompileFailure>(
        request.inputName + ": error: " + llvm::toString(std::move(error)) +
        "\n");
  // A full disk costs the next run its time, not this one its result.
  if (request.cache)
    if (llvm::Error error = request.cache->store(key, *object))
      result.diagnostics += request.inputName +
                            ": warning: the compiled object is not cached: " +
                            llvm::toString(std::move(error)) + "\n";
  return result;
}

} // namespace

llvm::Error attn::checkSchedule(StringRef text) {
  if (text.empty())
    return llvm::Error::success();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<AttnDialect>();
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = ": " + diagnostic.str();
    return success();
  });
  auto schedule =
      dyn_cast_or_null<ScheduleAttr>(parseAttribute(text, &context));
  if (schedule && schedule.getKernel() != Kernel::Gemm)
    return llvm::Error::success();
  return makeError("schedule {0} is not a #attn.schedule<...> for attention{1}",
                   quoteName(text), message);
}

llvm::Expected<Compilation>
attn::compileToMemory(const CompileRequest &request) {
  if (!request.cache || !request.pipeline.schedule.empty() ||
      request.lowering != Lowering::Fused)
    return compileOrLoad(request, /*tuned=*/false);
  llvm::Expected<std::string> schedule = readTunedSchedule(request);
  if (schedule && schedule->empty())
    return compileOrLoad(request, /*tuned=*/false);
  // What is in the folder may help, and must not be able to hurt.
  std::string reason;
  if (schedule) {
    CompileRequest withSchedule = request;
    withSchedule.pipeline.schedule = *schedule;
    auto result = compileOrLoad(withSchedule, /*tuned=*/true);
    if (result)
      return result;
    reason = llvm::toString(result.takeError());
  } else {
    reason = llvm::toString(schedule.takeError());
  }
  auto result = compileOrLoad(request, /*tuned=*/false);
  if (result)
    result->diagnostics +=
        request.inputName + ": warning: the tuned schedule in " +
        quoteName(tunedSchedulePath(request)) +
        " is ignored: " + StringRef(reason).split('\n').first.str() + "\n";
  return result;
}

llvm::Expected<std::string>
attn::chooseSchedule(const CompileRequest &request) {
  Session session(request);
  if (llvm::Error error = session.parse(/*keepAll=*/false))
    return error;
  if (llvm::Error error = session.run([&](OpPassManager &pm) {
        buildPipeline(pm, Phase::Schedule, request.pipeline);
      }))
    return error;
  ScheduleAttr schedule;
  session.getModule().walk([&](AttentionOp op) {
    schedule = *op.getSchedule();
    return WalkResult::interrupt();
  });
  if (!schedule)
    return makeError("{0}: expected fused attention, there is none",
                     request.inputName);
  std::string text;
  llvm::raw_string_ostream(text) << schedule;
  return text;
}

llvm::Expected<std::string> attn::compileToPhase(const CompileRequest &request,
                                                 Phase phase) {
  Session session(request);
  if (llvm::Error error = session.parse(request.function.empty()))
    return error;
  if (llvm::Error error = session.run([&](OpPassManager &pm) {
        buildPipeline(pm, phase, request.pipeline);
      }))
    return error;
  std::string text;
  llvm::raw_string_ostream stream(text);
  session.getModule().print(stream);
  stream << '\n';
  return text;
}

llvm::Expected<std::string> attn::compileToCode(const CompileRequest &request,
                                                CodeKind kind) {
  std::string diagnostics;
  return generate(request, kind, request.function.empty(), diagnostics);
}
