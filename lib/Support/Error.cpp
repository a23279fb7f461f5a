//===- Error.cpp - One-line errors ------------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Support/Error.h"

#include "attn/Support/HostTensor.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;

std::string attn::quoteName(llvm::StringRef text) {
  constexpr size_t longest = 256;
  std::string result = "'";
  llvm::raw_string_ostream os(result);
  llvm::printEscapedString(text.take_front(longest), os);
  os << (text.size() > longest ? "...'" : "'");
  return result;
}

std::string attn::formatShape(llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::interleave(
      shape, os,
      [&](int64_t size) {
        if (size == kDynamicSize)
          os << '?';
        else
          os << size;
      },
      "x");
  return result;
}
