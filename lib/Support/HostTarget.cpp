//===- HostTarget.cpp - Description of the CPU that code is made for ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CPU names, their features and the dependences between features come from
// LLVM's target parser; nothing about a particular CPU is written down here.
//
//===----------------------------------------------------------------------===//

#include "attn/Support/HostTarget.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Threading.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"

#include <algorithm>
#include <thread>

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace attn;
using namespace llvm;

namespace {

/// The host's features in the spelling of the target parser. A process that
/// does not get tile registers has no AMX.
StringMap<bool> hostFeatures() {
  StringMap<bool> features;
  for (const auto &entry : sys::getHostCPUFeatures())
    features[entry.getKey()] = entry.getValue();
  if (features.lookup("amx-tile") && !requestAmxPermission()) {
    features["amx-tile"] = false;
    X86::updateImpliedFeatures("amx-tile", /*Enabled=*/false, features);
  }
  return features;
}

/// Every feature name that a user may switch off.
StringSet<> knownFeatures() {
  StringSet<> names;
  SmallVector<StringRef> cpus, features;
  X86::fillValidCPUArchList(cpus, /*Only64Bit=*/true);
  for (StringRef cpu : cpus) {
    features.clear();
    X86::getFeaturesForCPU(cpu, features);
    for (StringRef feature : features)
      names.insert(feature);
  }
  for (const auto &entry : sys::getHostCPUFeatures())
    names.insert(entry.getKey());
  return names;
}

/// Up to `limit` of `names` that are closest to `wanted`, best first.
std::string closest(StringRef wanted, ArrayRef<StringRef> names,
                    unsigned limit) {
  SmallVector<std::pair<unsigned, StringRef>> ranked;
  for (StringRef name : names)
    ranked.push_back({wanted.edit_distance(name), name});
  llvm::sort(ranked);
  SmallVector<StringRef> best;
  for (const auto &entry : ArrayRef(ranked).take_front(limit))
    best.push_back(entry.second);
  return llvm::join(best, ", ");
}

/// Size of the host's data cache of `level` in bytes, or 0 when unknown.
int64_t hostCacheBytes(unsigned level) {
#ifdef __linux__
  // The kernel knows how many cores share a cache; sysconf, which reads the CPU
  // itself, can be off by the number of virtual machines on a host.
  for (unsigned index = 0; index < 8; ++index) {
    std::string base = "/sys/devices/system/cpu/cpu0/cache/index" +
                       std::to_string(index) + "/";
    auto read = [&](const char *file) -> std::string {
      auto buffer = MemoryBuffer::getFileAsStream(base + file);
      return buffer ? (*buffer)->getBuffer().trim().str() : std::string();
    };
    if (read("level") != std::to_string(level) || read("type") == "Instruction")
      continue;
    std::string text = read("size");
    StringRef size = text;
    int64_t unit = size.consume_back("K")   ? 1024
                   : size.consume_back("M") ? 1024 * 1024
                                            : 1;
    int64_t value;
    if (!size.getAsInteger(10, value) && value > 0)
      return value * unit;
  }
  const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                       _SC_LEVEL3_CACHE_SIZE};
  long bytes = sysconf(names[level - 1]);
  if (bytes > 0)
    return bytes;
#endif
  return 0;
}

/// Reads the fields that kernels ask for out of the feature map.
void describe(Target &target, const StringMap<bool> &features) {
  SmallVector<StringRef> names;
  for (const auto &entry : features)
    names.push_back(entry.getKey());
  llvm::sort(names);
  SmallVector<std::string> spelled;
  for (StringRef name : names)
    spelled.push_back((features.lookup(name) ? "+" : "-") + name.str());
  target.features = llvm::join(spelled, ",");

  auto has = [&](StringRef name) { return features.lookup(name); };
  target.fma = has("fma");
  target.avx2 = has("avx2");
  target.avx512 = has("avx512f") && has("avx512vl") && has("avx512bw") &&
                  has("avx512dq") && target.fma;
  target.avx512bf16 = target.avx512 && has("avx512bf16");
  target.avx512fp16 = target.avx512 && has("avx512fp16");
  target.amxbf16 = has("amx-tile") && has("amx-bf16");
  target.vectorBytes = target.avx512 ? 64 : target.avx2 ? 32 : 16;
  target.vectorRegisters = target.avx512 ? 32 : 16;
}

/// Features that LLVM never uses unless a program asks for the instruction by
/// name. A host without them still runs the code, and virtual machines hide
/// many of them.
bool isNeverImplicit(StringRef feature) {
  static const char *const names[] = {"64bit",       "x87",
                                      "cldemote",    "clflushopt",
                                      "clwb",        "clzero",
                                      "enqcmd",      "fsgsbase",
                                      "hreset",      "invpcid",
                                      "kl",          "widekl",
                                      "lwp",         "movdir64b",
                                      "movdiri",     "mwaitx",
                                      "pconfig",     "pku",
                                      "prefetchi",   "prfchw",
                                      "ptwrite",     "rdpid",
                                      "rdpru",       "rdrnd",
                                      "rdseed",      "rtm",
                                      "serialize",   "sgx",
                                      "shstk",       "tsxldtrk",
                                      "uintr",       "usermsr",
                                      "waitpkg",     "wbnoinvd",
                                      "xsave",       "xsavec",
                                      "xsaveopt",    "xsaves",
                                      "cmpccxadd",   "raoint",
                                      "vzeroupper",  "sha",
                                      "sha512",      "sm3",
                                      "sm4",         "avx512vp2intersect",
                                      "amx-int8",    "amx-fp16",
                                      "amx-complex", "amx-avx512",
                                      "amx-tf32",    "amx-fp8",
                                      "amx-movrs"};
  return llvm::is_contained(names, feature);
}

} // namespace

bool attn::requestAmxPermission() {
#if defined(__linux__) && defined(__x86_64__) && defined(SYS_arch_prctl)
  static const bool granted = [] {
    constexpr long kRequestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;              // XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  }();
  return granted;
#else
  return false;
#endif
}

unsigned attn::usableCores() {
  int cores = get_physical_cores();
  if (cores <= 0)
    cores = static_cast<int>(std::thread::hardware_concurrency());
  return static_cast<unsigned>(std::max(cores, 1));
}

bool Target::hasFeature(StringRef name) const {
  SmallVector<StringRef> parts;
  StringRef(features).split(parts, ',');
  return llvm::any_of(parts, [&](StringRef part) {
    return part.consume_front("+") && part == name;
  });
}

Expected<Target> attn::resolveTarget(StringRef name,
                                     ArrayRef<std::string> disabledFeatures) {
  Target target;
  target.cores = usableCores();
  StringMap<bool> features;

  if (name == "native") {
    target.triple = sys::getProcessTriple();
    target.cpu = sys::getHostCPUName().str();
    features = hostFeatures();
    if (int64_t bytes = hostCacheBytes(1))
      target.l1dBytes = bytes;
    if (int64_t bytes = hostCacheBytes(2))
      target.l2Bytes = bytes;
    if (int64_t bytes = hostCacheBytes(3))
      target.l3Bytes = bytes;
  } else {
    if (X86::parseArchX86(name, /*Only64Bit=*/true) == X86::CK_None) {
      SmallVector<StringRef> names;
      X86::fillValidCPUArchList(names, /*Only64Bit=*/true);
      names.push_back("native");
      return createStringError("unknown target '" + name +
                               "', closest are: " + closest(name, names, 5));
    }
    Triple host(sys::getProcessTriple());
    target.triple = host.getArch() == Triple::x86_64
                        ? host.str()
                        : "x86_64-unknown-linux-gnu";
    target.cpu = name.str();
    SmallVector<StringRef> enabled;
    X86::getFeaturesForCPU(name, enabled);
    for (StringRef feature : enabled) {
      features[feature] = true;
      // Some CPUs list only the features that imply the others.
      X86::updateImpliedFeatures(feature, /*Enabled=*/true, features);
    }
  }

  StringSet<> known;
  for (StringRef given : disabledFeatures) {
    StringRef feature = given == "avx512" ? StringRef("avx512f")
                        : given == "amx"  ? StringRef("amx-tile")
                                          : given;
    if (known.empty())
      known = knownFeatures();
    if (!known.contains(feature)) {
      SmallVector<StringRef> names;
      for (const auto &entry : known)
        names.push_back(entry.getKey());
      return createStringError(
          "unknown feature '" + given +
          "' to disable, closest are: " + closest(given, names, 5));
    }
    features[feature] = false;
    X86::updateImpliedFeatures(feature, /*Enabled=*/false, features);
  }

  describe(target, features);
  return target;
}

Error attn::hostCanExecute(const Target &target) {
  Triple host(sys::getProcessTriple());
  Triple wanted(target.triple);
  if (host.getArch() != wanted.getArch())
    return createStringError("this host is " + host.getArchName() +
                             " and cannot run code for target '" + target.cpu +
                             "' (" + wanted.getArchName() + ")");

  StringMap<bool> available = hostFeatures();
  SmallVector<StringRef> parts, missing;
  StringRef(target.features).split(parts, ',');
  for (StringRef part : parts) {
    if (!part.consume_front("+") || isNeverImplicit(part))
      continue;
    auto it = available.find(part);
    // A feature that LLVM cannot detect on a host says nothing about the host.
    if (it != available.end() && !it->second)
      missing.push_back(part);
  }
  if (missing.empty())
    return Error::success();
  return createStringError("this host (" + sys::getHostCPUName() +
                           ") cannot run code for target '" + target.cpu +
                           "': it lacks " + llvm::join(missing, ", "));
}
