//===- HostTarget.h - The CPU that code is made for -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules and micro-kernels depend on what a CPU can do: vector width, number
// of vector registers, matrix units, cache sizes. This header resolves a name
// (`native`, a level such as `x86-64-v3`, or any CPU name of LLVM) together
// with a list of features to switch off into one plain description that every
// phase reads. It needs LLVM only, so that tools can use it before MLIR is
// loaded.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_HOSTTARGET_H
#define ATTN_SUPPORT_HOSTTARGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace attn {

/// What code generation may assume about a CPU.
struct Target {
  /// LLVM target triple, e.g. `x86_64-unknown-linux-gnu`.
  std::string triple;
  /// LLVM CPU name, e.g. `znver4`; never `native`.
  std::string cpu;
  /// LLVM feature string, sorted: every feature in force as `+name`, every
  /// feature that is known for the CPU but switched off as `-name`.
  std::string features;

  bool fma = false;
  bool avx2 = false;
  /// F, VL, BW and DQ together: kernels never ask for one without the others.
  bool avx512 = false;
  bool avx512bf16 = false;
  bool avx512fp16 = false;
  /// AMX tiles with bf16 products. Whether the operating system lets a process
  /// use them is asked at run time (`attnRequestAmxPermission`).
  bool amxbf16 = false;

  /// Width of the widest vector register used by kernels: 16, 32 or 64 bytes.
  unsigned vectorBytes = 16;
  /// Number of architectural vector registers: 16 or 32.
  unsigned vectorRegisters = 16;

  /// Cache sizes in bytes: of one core, one core, and one shared cache.
  /// Measured for `native`; fixed typical values for a CPU given by name, so
  /// that its schedules do not depend on the machine that compiles.
  int64_t l1dBytes = 32 * 1024;
  int64_t l2Bytes = 1024 * 1024;
  int64_t l3Bytes = 16 * 1024 * 1024;

  /// Physical cores that this process may use. It sets the default number of
  /// threads and nothing else: results have the same bits on any number.
  unsigned cores = 1;

  /// Whether feature `name` (LLVM's spelling) is in force.
  bool hasFeature(llvm::StringRef name) const;
};

/// Resolves `name` to a target: `native`, `x86-64`, `x86-64-v2` .. `x86-64-v4`,
/// or any 64-bit x86 CPU name of LLVM. Each of `disabledFeatures` (LLVM's
/// spelling; `avx512` stands for `avx512f` and `amx` for `amx-tile`) is
/// switched off together with everything that depends on it. An unknown name is
/// an error of one line that lists candidates.
llvm::Expected<Target>
resolveTarget(llvm::StringRef name,
              llvm::ArrayRef<std::string> disabledFeatures = {});

/// Physical cores that this process may use, at least 1.
unsigned usableCores();

/// Success when this machine can run code made for `target`, otherwise an error
/// that names the missing features.
llvm::Error hostCanExecute(const Target &target);

/// Asks Linux for the use of AMX tiles, once per process (arch_prctl
/// ARCH_REQ_XCOMP_PERM, feature 18). True when tiles may be used. Threads
/// created later inherit the permission, so it is asked before the first run.
bool requestAmxPermission();

} // namespace attn

#endif // ATTN_SUPPORT_HOSTTARGET_H
