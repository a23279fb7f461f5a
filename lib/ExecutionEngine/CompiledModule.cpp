//===- CompiledModule.cpp - Load a compiled object ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JITLink places the object in this process. What it refers to is compared with
// the runtime's list before linking, so that a missing name is one clear line
// and nothing of the process is reachable by accident.
//
//===----------------------------------------------------------------------===//

#include "attn/ExecutionEngine/CompiledModule.h"

#include "CompiledModuleImpl.h"
#include "attn/ExecutionEngine/CodeGenerator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace attn;
using namespace llvm;

namespace {

/// What the object itself says before it is linked.
struct ObjectSummary {
  /// Runtime symbols that it refers to.
  orc::SymbolMap imports;
  /// Size of the module description in bytes.
  uint64_t infoBytes = 0;
};

Expected<ObjectSummary> inspect(MemoryBufferRef buffer,
                                orc::ExecutionSession &session) {
  auto object = object::ObjectFile::createObjectFile(buffer);
  if (!object)
    return createStringError("not a compiled object: " +
                             toString(object.takeError()));
  Triple host(sys::getProcessTriple());
  if (!(*object)->isRelocatableObject() ||
      (*object)->getArch() != host.getArch() ||
      !isa<object::ELFObjectFileBase>(**object))
    return createStringError("not a relocatable object for " +
                             host.getArchName());

  StringMap<void *> provided;
  for (const RuntimeSymbol &symbol : runtimeSymbols())
    provided[symbol.name] = symbol.address;

  ObjectSummary summary;
  for (const object::ELFSymbolRef symbol :
       cast<object::ELFObjectFileBase>(**object).symbols()) {
    auto flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    auto name = symbol.getName();
    if (!name)
      return name.takeError();
    if (*name == kModuleInfoName)
      summary.infoBytes = symbol.getSize();
    // The linker makes the offset table itself.
    if (!(*flags & object::SymbolRef::SF_Undefined) || name->empty() ||
        *name == "_GLOBAL_OFFSET_TABLE_")
      continue;
    auto found = provided.find(*name);
    if (found == provided.end())
      return createStringError("unresolved symbol '" + *name +
                               "' in the compiled object");
    summary.imports[session.intern(*name)] = {
        orc::ExecutorAddr::fromPtr(found->second), JITSymbolFlags::Exported};
  }
  return summary;
}

} // namespace

CompiledModule::Impl::~Impl() {
  if (session)
    consumeError(session->endSession());
}

CompiledModule::CompiledModule(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}
CompiledModule::~CompiledModule() = default;

const ModuleInfo &CompiledModule::info() const { return impl->info; }

Expected<void *> CompiledModule::lookup(StringRef symbol) const {
  auto address = impl->session->lookup({impl->symbols}, symbol);
  if (address)
    return address->getAddress().toPtr<void *>();
  return createStringError("symbol '" + symbol + "' cannot be linked: " +
                           toString(address.takeError()));
}

Expected<const EntryPoint *> CompiledModule::Impl::find(StringRef name) const {
  for (const EntryPoint &entry : entries)
    if (entry.info->name == name)
      return &entry;
  SmallVector<StringRef> names;
  for (const EntryPoint &entry : entries)
    names.push_back(entry.info->name);
  return createStringError("unknown function '" + name +
                           "', the module has: " + llvm::join(names, ", "));
}

Expected<std::unique_ptr<CompiledModule>>
CompiledModule::load(StringRef object) {
  auto control = orc::SelfExecutorProcessControl::Create();
  if (!control)
    return control.takeError();
  auto impl = std::make_unique<Impl>();
  impl->session = std::make_unique<orc::ExecutionSession>(std::move(*control));
  // Every error comes back from a lookup too; do not print it a second time.
  impl->session->setErrorReporter(
      [](Error error) { consumeError(std::move(error)); });
  impl->linker = std::make_unique<orc::ObjectLinkingLayer>(*impl->session);
  impl->symbols = &impl->session->createBareJITDylib("attn");

  auto buffer = MemoryBuffer::getMemBufferCopy(object, "attn");
  auto summary = inspect(buffer->getMemBufferRef(), *impl->session);
  if (!summary)
    return summary.takeError();
  if (Error error =
          impl->symbols->define(orc::absoluteSymbols(summary->imports)))
    return error;
  if (Error error = impl->linker->add(*impl->symbols, std::move(buffer)))
    return error;

  std::unique_ptr<CompiledModule> module(new CompiledModule(std::move(impl)));
  auto text = module->lookup(kModuleInfoName);
  if (!text)
    return text.takeError();
  StringRef json(static_cast<const char *>(*text), summary->infoBytes);
  auto info = ModuleInfo::parse(json.take_until([](char c) { return !c; }));
  if (!info)
    return info.takeError();
  module->impl->info = std::move(*info);
  for (const FunctionInfo &function : module->impl->info.functions) {
    auto packed = module->lookup((kPackedPrefix + function.name).str());
    if (!packed)
      return packed.takeError();
    auto shape = module->lookup((kShapePrefix + function.name).str());
    if (!shape)
      return shape.takeError();
    module->impl->entries.push_back(
        {&function, reinterpret_cast<decltype(EntryPoint::packed)>(*packed),
         reinterpret_cast<decltype(EntryPoint::shape)>(*shape)});
  }
  return module;
}
