//===- AtomicFile.h - Files that appear whole or not at all -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results are written to a temporary name in the folder of the target and
// renamed, so that a crash or a full disk never leaves half a file.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_ATOMICFILE_H
#define ATTN_SUPPORT_ATOMICFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace attn {

/// Calls `write` on a stream and gives its output the name `path`. A symbolic
/// link is followed; a device or pipe is written in place (it cannot be
/// replaced). Errors name the path; on error an old file stays as it was.
llvm::Error
writeFileAtomically(llvm::StringRef path,
                    llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace attn

#endif // ATTN_SUPPORT_ATOMICFILE_H
