//===- Npy.h - NumPy .npy files ---------------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the .npy format (NumPy enhancement proposal 1, versions 1.0,
// 2.0 and 3.0). Files come from outside: the header, a Python dict literal, is
// parsed strictly and the file must be exactly as long as its shape says.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_NPY_H
#define ATTN_SUPPORT_NPY_H

#include "attn/Support/HostTensor.h"

namespace attn {

/// Reads a tensor. The dtypes are `<f8 <f4 <f2 <i8 <i4 |i1 |u1 |b1`, and `<V2`
/// or `|V2` for bf16, as NumPy writes arrays of a bfloat16 extension type.
/// Fortran order is refused above rank 1, big-endian data always; bool bytes
/// other than 0 become 1. Errors name the file.
llvm::Expected<HostTensor> readNpy(llvm::StringRef path);

/// The same from bytes in memory; `name` stands for the file in errors.
llvm::Expected<HostTensor> parseNpy(llvm::StringRef bytes,
                                    llvm::StringRef name);

/// Writes a tensor as version 1.0. The data starts at a multiple of 64 bytes.
void writeNpy(llvm::raw_ostream &out, const HostTensor &tensor);

/// The same to a file, under a temporary name that is changed at the end.
llvm::Error writeNpy(llvm::StringRef path, const HostTensor &tensor);

} // namespace attn

#endif // ATTN_SUPPORT_NPY_H
