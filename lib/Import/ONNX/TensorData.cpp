//===- TensorData.cpp - Contents of ONNX tensors ----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are compared in number with the shape before anything is allocated.
// A file outside of the model's folder is never opened, whatever way the path
// takes to it.
//
//===----------------------------------------------------------------------===//

#include "TensorData.h"
#include "Node.h"
#include "attn/Support/Error.h"
#include "attn/Support/HostTensor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace attn;

static_assert(llvm::endianness::native == llvm::endianness::little,
              "tensor data is little-endian and is copied as it is");

namespace {

/// The file of an external tensor, and the bytes of it that are meant.
struct ExternalData {
  std::unique_ptr<llvm::MemoryBuffer> file;
  StringRef bytes;
};

/// Bytes of one element in files.
int64_t storedSize(Type type) {
  return std::max(1u, type.getIntOrFloatBitWidth() / 8);
}

llvm::Expected<uint64_t> parseNumber(StringRef key, StringRef text) {
  uint64_t value;
  if (text.empty() || !llvm::all_of(text, llvm::isDigit) ||
      text.getAsInteger(10, value))
    return makeError("external data: {0} must be a number, got {1}", key,
                     quoteName(text));
  return value;
}

llvm::Expected<ExternalData> openExternal(const onnx::TensorProto &tensor,
                                          StringRef folder) {
  if (folder.empty())
    return makeError("external data needs a model that is a file in a folder");
  StringRef location;
  std::optional<uint64_t> offset, length;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef key = entry.key();
    if (key == "location") {
      location = entry.value();
      continue;
    }
    // "checksum" is for tools that download.
    if (key != "offset" && key != "length")
      continue;
    llvm::Expected<uint64_t> number = parseNumber(key, entry.value());
    if (!number)
      return number.takeError();
    (key == "offset" ? offset : length) = *number;
  }
  if (location.empty())
    return makeError("external data: the location is missing");
  if (location.contains('\0') || llvm::sys::path::is_absolute(location) ||
      llvm::is_contained(llvm::make_range(llvm::sys::path::begin(location),
                                          llvm::sys::path::end(location)),
                         ".."))
    return makeError("external data: location {0} must be a path below the "
                     "model's folder",
                     quoteName(location));

  // Links are followed first, so that they cannot lead out of the folder.
  SmallString<128> path = folder, realFolder, realPath;
  llvm::sys::path::append(path, location);
  std::error_code code = llvm::sys::fs::real_path(folder, realFolder);
  if (!code)
    code = llvm::sys::fs::real_path(path, realPath);
  if (code)
    return makeError("external data: cannot read {0}: {1}", quoteName(location),
                     code.message());
  StringRef below = realPath;
  bool isBelow = below.consume_front(realFolder) &&
                 (realFolder.ends_with("/") || below.starts_with("/"));
  if (!isBelow)
    return makeError("external data: location {0} must be a path below the "
                     "model's folder, it leads to {1}",
                     quoteName(location), quoteName(realPath));
  llvm::sys::fs::file_status status;
  code = llvm::sys::fs::status(realPath, status);
  if (code || status.type() != llvm::sys::fs::file_type::regular_file)
    return makeError("external data: {0} must be a regular file",
                     quoteName(location));
  auto file = llvm::MemoryBuffer::getFile(realPath, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return makeError("external data: cannot read {0}: {1}", quoteName(location),
                     file.getError().message());
  uint64_t size = (*file)->getBufferSize(), begin = offset.value_or(0);
  if (begin > size || length.value_or(0) > size - begin)
    return makeError("external data: offset {0} and length {1} must be inside "
                     "of {2}, which has {3} bytes",
                     begin, length.value_or(0), quoteName(location), size);
  ExternalData result;
  result.bytes =
      (*file)->getBuffer().substr(begin, length.value_or(size - begin));
  result.file = std::move(*file);
  return result;
}

llvm::Error checkCount(StringRef field, uint64_t got, uint64_t expected) {
  if (got == expected)
    return llvm::Error::success();
  return makeError("{0}: expected {1} elements, got {2}", field, expected, got);
}

/// Elements of a typed field as stored bytes of `T`.
template <typename T, typename Field>
llvm::Expected<std::vector<char>> pack(StringRef name, const Field &field,
                                       int64_t count) {
  if (llvm::Error error = checkCount(name, field.size(), count))
    return error;
  std::vector<char> bytes(count * sizeof(T));
  char *at = bytes.data();
  for (auto element : field) {
    // Narrow integers and the bits of narrow floats lie in wider fields.
    T value = static_cast<T>(element);
    std::memcpy(at, &value, sizeof(T));
    at += sizeof(T);
  }
  return bytes;
}

llvm::Expected<std::vector<char>> readField(const onnx::TensorProto &tensor,
                                            int64_t count) {
  switch (tensor.data_type()) {
  case onnx::TensorProto::FLOAT:
    return pack<float>("float_data", tensor.float_data(), count);
  case onnx::TensorProto::DOUBLE:
    return pack<double>("double_data", tensor.double_data(), count);
  case onnx::TensorProto::INT64:
    return pack<int64_t>("int64_data", tensor.int64_data(), count);
  case onnx::TensorProto::INT32:
    return pack<int32_t>("int32_data", tensor.int32_data(), count);
  case onnx::TensorProto::UINT32:
    return pack<uint32_t>("uint64_data", tensor.uint64_data(), count);
  case onnx::TensorProto::UINT64:
    return pack<uint64_t>("uint64_data", tensor.uint64_data(), count);
  case onnx::TensorProto::FLOAT16:
  case onnx::TensorProto::BFLOAT16:
  case onnx::TensorProto::INT16:
  case onnx::TensorProto::UINT16:
    return pack<uint16_t>("int32_data", tensor.int32_data(), count);
  default:
    return pack<int8_t>("int32_data", tensor.int32_data(), count);
  }
}

DenseElementsAttr makeElements(RankedTensorType type, ArrayRef<char> bytes) {
  if (!type.getElementType().isInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  auto flags = llvm::map_to_vector(bytes, [](char byte) { return byte != 0; });
  return DenseElementsAttr::get(type, ArrayRef<bool>(flags));
}

} // namespace

llvm::Expected<DenseElementsAttr>
attn::readTensor(Type element, const onnx::TensorProto &t, StringRef folder) {
  if (!element)
    return makeError("element type {0} is not supported",
                     stringifyDataType(t.data_type()));
  if (t.has_segment())
    return makeError("tensors in segments are not supported");
  SmallVector<int64_t> shape(t.dims().begin(), t.dims().end());
  llvm::Expected<int64_t> count = checkedElementCount(shape);
  if (!count)
    return count.takeError();
  auto type = RankedTensorType::get(shape, element);

  ExternalData external;
  StringRef raw;
  if (t.data_location() == onnx::TensorProto::EXTERNAL) {
    auto opened = openExternal(t, folder);
    if (!opened)
      return opened.takeError();
    external = std::move(*opened);
    raw = external.bytes;
  } else if (t.has_raw_data()) {
    raw = t.raw_data();
  } else {
    llvm::Expected<std::vector<char>> bytes = readField(t, *count);
    if (!bytes)
      return bytes.takeError();
    return makeElements(type, *bytes);
  }
  uint64_t expected = *count * storedSize(element);
  if (raw.size() != expected)
    return makeError("{0} must have {1} bytes for {2}, got {3}",
                     external.file ? "external data" : "raw_data", expected,
                     stringifyType(type), raw.size());
  // Files lie anywhere; elements are copied to where they are aligned.
  std::vector<char> bytes(raw.begin(), raw.end());
  return makeElements(type, bytes);
}
