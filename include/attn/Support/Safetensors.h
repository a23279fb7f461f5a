//===- Safetensors.h - Tensors by name from .safetensors files --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format: eight bytes of little-endian header length, a JSON header that
// maps names to dtype, shape and data offsets, then the data. The file is
// mapped and tensors are copied out one by one, so a graph that needs one
// weight does not read a whole model. Everything in the header is checked when
// the file is opened.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_SAFETENSORS_H
#define ATTN_SUPPORT_SAFETENSORS_H

#include "attn/Support/HostTensor.h"

#include "llvm/Support/MemoryBuffer.h"

#include <string>

namespace attn {

/// An open file of named tensors.
class SafetensorsFile {
public:
  struct Entry {
    std::string name;
    /// As the file spells it: F32, BF16, ...
    std::string dtype;
    /// nullopt for a dtype of the format that HostTensor has no type for.
    std::optional<ElementType> type;
    llvm::SmallVector<int64_t> shape;
    /// Bytes, relative to the start of the data; begin <= end <= data size.
    uint64_t begin = 0, end = 0;
  };

  /// Maps and checks a file. Errors name the file, and the tensor if there is
  /// one. The data must be covered without gaps or overlaps, as the format
  /// demands.
  static llvm::Expected<SafetensorsFile> open(llvm::StringRef path);
  /// The same for bytes in memory; the buffer's identifier names the file.
  static llvm::Expected<SafetensorsFile>
  parse(std::unique_ptr<llvm::MemoryBuffer> buffer);

  /// Sorted by name.
  llvm::ArrayRef<Entry> entries() const { return tensors; }
  /// The entry of a tensor, or null.
  const Entry *find(llvm::StringRef name) const;
  /// A copy of one tensor's data; the error for an unknown name lists the
  /// nearest names.
  llvm::Expected<HostTensor> load(llvm::StringRef name) const;

private:
  SafetensorsFile() = default;

  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::vector<Entry> tensors;
  llvm::StringRef data;
};

} // namespace attn

#endif // ATTN_SUPPORT_SAFETENSORS_H
