//===- Safetensors.cpp - Tensors by name from safetensors -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Support/Safetensors.h"

#include "attn/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace attn;

namespace {
struct Dtype {
  llvm::StringLiteral name;
  int64_t size;
  std::optional<ElementType> type;
};
} // namespace

// Of the types without a HostTensor type, those of whole bytes: their sizes are
// still checked, and a file may hold them as long as nobody loads them.
static const Dtype dtypes[] = {
    {"F64", 8, ElementType::f64}, {"F32", 4, ElementType::f32},
    {"F16", 2, ElementType::f16}, {"BF16", 2, ElementType::bf16},
    {"I64", 8, ElementType::i64}, {"I32", 4, ElementType::i32},
    {"I8", 1, ElementType::i8},   {"U8", 1, ElementType::u8},
    {"BOOL", 1, ElementType::i1}, {"I16", 2, std::nullopt},
    {"U16", 2, std::nullopt},     {"U32", 4, std::nullopt},
    {"U64", 8, std::nullopt},     {"F8_E4M3", 1, std::nullopt},
    {"F8_E5M2", 1, std::nullopt}, {"F8_E8M0", 1, std::nullopt},
    {"C64", 8, std::nullopt},
};

// The limit of the format's own library.
static constexpr uint64_t longestHeader = 100'000'000;

/// Refuses what the JSON parser would not: nesting that would exhaust its
/// recursion, and keys of the outermost object that occur twice (it would keep
/// the last). Text that is not JSON at all is left to the parser.
static llvm::Error prescan(llvm::StringRef text) {
  constexpr int deepest = 8;
  llvm::StringSet<> keys;
  int depth = 0;
  for (size_t n = 0; n < text.size(); ++n) {
    const char c = text[n];
    if (c == '{' || c == '[') {
      if (++depth > deepest)
        return makeError("header: nested deeper than {0} levels", deepest);
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == '"') {
      const size_t begin = n + 1;
      for (++n; n < text.size() && text[n] != '"'; ++n)
        if (text[n] == '\\')
          ++n;
      if (n >= text.size())
        return makeError("header: a string is not closed");
      if (depth != 1 || !text.drop_front(n + 1).ltrim().starts_with(":"))
        continue;
      const llvm::StringRef key = text.slice(begin, n);
      if (!keys.insert(key).second)
        return makeError("tensor {0} occurs twice", quoteName(key));
    }
  }
  return llvm::Error::success();
}

static llvm::Expected<uint64_t> asSize(const llvm::json::Value &value,
                                       llvm::StringRef what) {
  // The parser keeps integers exact; anything else (1.5, 1e3, "1") is refused
  // or is an integer all the same.
  if (std::optional<int64_t> number = value.getAsInteger()) {
    if (*number < 0)
      return makeError("{0} {1} is negative", what, *number);
    return static_cast<uint64_t>(*number);
  }
  if (std::optional<uint64_t> number = value.getAsUINT64())
    return *number;
  return makeError("{0} is not an integer that fits 64 bits", what);
}

static llvm::Error parseEntry(const llvm::json::Value &value, uint64_t dataSize,
                              SafetensorsFile::Entry &entry) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return makeError("expected an object");
  for (const auto &[key, unused] : *object)
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return makeError("unknown key {0}", quoteName(key));

  const std::optional<llvm::StringRef> dtypeName = object->getString("dtype");
  if (!dtypeName)
    return makeError("'dtype' is missing or not a string");
  const Dtype *dtype = llvm::find_if(
      dtypes, [&](const Dtype &known) { return known.name == *dtypeName; });
  if (dtype == std::end(dtypes))
    return makeError("unknown dtype {0}", quoteName(*dtypeName));
  entry.dtype = dtypeName->str();
  entry.type = dtype->type;

  const llvm::json::Array *shape = object->getArray("shape");
  if (!shape)
    return makeError("'shape' is missing or not a list");
  for (const llvm::json::Value &element : *shape) {
    llvm::Expected<uint64_t> size = asSize(element, "size");
    if (!size)
      return size.takeError();
    if (*size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return makeError("size {0} is too large", *size);
    entry.shape.push_back(static_cast<int64_t>(*size));
  }
  llvm::Expected<int64_t> count = checkedElementCount(entry.shape);
  if (!count)
    return count.takeError();

  const llvm::json::Array *offsets = object->getArray("data_offsets");
  if (!offsets || offsets->size() != 2)
    return makeError("'data_offsets' is missing or not a list of two");
  llvm::Expected<uint64_t> begin = asSize((*offsets)[0], "data offset");
  if (!begin)
    return begin.takeError();
  llvm::Expected<uint64_t> end = asSize((*offsets)[1], "data offset");
  if (!end)
    return end.takeError();
  entry.begin = *begin;
  entry.end = *end;
  if (entry.begin > entry.end)
    return makeError("data begins at {0}, behind its end {1}", entry.begin,
                     entry.end);
  if (entry.end > dataSize)
    return makeError("data ends at {0}, the file has {1} bytes of data",
                     entry.end, dataSize);
  const uint64_t expected = *count * dtype->size;
  if (entry.end - entry.begin != expected)
    return makeError("shape {0} of {1} needs {2} bytes, the offsets give {3}",
                     formatShape(entry.shape), entry.dtype, expected,
                     entry.end - entry.begin);
  return llvm::Error::success();
}

/// The data must be covered exactly once; what is left over or shared is a sign
/// of a damaged or hostile header.
static llvm::Error checkCover(llvm::ArrayRef<SafetensorsFile::Entry> entries,
                              uint64_t dataSize) {
  llvm::SmallVector<const SafetensorsFile::Entry *> order;
  for (const SafetensorsFile::Entry &entry : entries)
    order.push_back(&entry);
  llvm::sort(order, [](const auto *a, const auto *b) {
    return std::tie(a->begin, a->end, a->name) <
           std::tie(b->begin, b->end, b->name);
  });
  uint64_t covered = 0;
  llvm::StringRef last;
  for (const SafetensorsFile::Entry *entry : order) {
    if (entry->begin < covered)
      return makeError("tensors {0} and {1} overlap: the first ends at {2}, "
                       "the second begins at {3}",
                       quoteName(last), quoteName(entry->name), covered,
                       entry->begin);
    if (entry->begin > covered)
      return makeError("tensor {0} begins at {1}, expected {2}: the data has a "
                       "gap",
                       quoteName(entry->name), entry->begin, covered);
    covered = entry->end;
    last = entry->name;
  }
  if (covered != dataSize)
    return makeError("the tensors end at {0}, the file has {1} bytes of data",
                     covered, dataSize);
  return llvm::Error::success();
}

static llvm::Expected<std::vector<SafetensorsFile::Entry>>
parseHeader(llvm::StringRef text, uint64_t dataSize) {
  if (!text.starts_with("{"))
    return makeError("the header does not begin with '{{'");
  if (llvm::Error error = prescan(text))
    return error;
  llvm::Expected<llvm::json::Value> header = llvm::json::parse(text);
  if (!header)
    return makeError("header: {0}", llvm::toString(header.takeError()));
  // It begins with a brace and parses, so it is an object.
  std::vector<SafetensorsFile::Entry> entries;
  for (const auto &[key, value] : *header->getAsObject()) {
    if (key == "__metadata__") {
      const llvm::json::Object *metadata = value.getAsObject();
      if (!metadata || llvm::any_of(*metadata, [](const auto &item) {
            return !item.second.getAsString();
          }))
        return makeError("'__metadata__' is not a map of strings");
      continue;
    }
    SafetensorsFile::Entry entry;
    entry.name = key.str();
    if (llvm::Error error = parseEntry(value, dataSize, entry))
      return makeError("tensor {0}: {1}", quoteName(entry.name),
                       llvm::toString(std::move(error)));
    entries.push_back(std::move(entry));
  }
  llvm::sort(entries,
             [](const auto &a, const auto &b) { return a.name < b.name; });
  if (llvm::Error error = checkCover(entries, dataSize))
    return error;
  return entries;
}

llvm::Expected<SafetensorsFile>
SafetensorsFile::parse(std::unique_ptr<llvm::MemoryBuffer> buffer) {
  const std::string name = quoteName(buffer->getBufferIdentifier());
  const llvm::StringRef bytes = buffer->getBuffer();
  if (bytes.size() < 8)
    return makeError("{0}: truncated: {1} bytes, expected at least 8", name,
                     bytes.size());
  const uint64_t headerLength = llvm::support::endian::read64le(bytes.data());
  if (headerLength > bytes.size() - 8)
    return makeError("{0}: the header is said to have {1} bytes, the file has "
                     "{2} left",
                     name, headerLength, bytes.size() - 8);
  if (headerLength > longestHeader)
    return makeError("{0}: the header has {1} bytes, at most {2} are allowed",
                     name, headerLength, longestHeader);
  SafetensorsFile file;
  file.data = bytes.drop_front(8 + headerLength);
  llvm::Expected<std::vector<Entry>> entries =
      parseHeader(bytes.substr(8, headerLength), file.data.size());
  if (!entries)
    return makeError("{0}: {1}", name, llvm::toString(entries.takeError()));
  file.tensors = std::move(*entries);
  file.buffer = std::move(buffer);
  return file;
}

llvm::Expected<SafetensorsFile> SafetensorsFile::open(llvm::StringRef path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                  /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("cannot read {0}: {1}", quoteName(path),
                     buffer.getError().message());
  return parse(std::move(*buffer));
}

const SafetensorsFile::Entry *
SafetensorsFile::find(llvm::StringRef name) const {
  const auto *at = llvm::lower_bound(
      entries(), name,
      [](const Entry &entry, llvm::StringRef key) { return entry.name < key; });
  return at != entries().end() && at->name == name ? at : nullptr;
}

llvm::Expected<HostTensor> SafetensorsFile::load(llvm::StringRef name) const {
  const std::string file = quoteName(buffer->getBufferIdentifier());
  const Entry *entry = find(name);
  if (!entry) {
    constexpr size_t candidates = 3;
    std::vector<std::pair<unsigned, llvm::StringRef>> nearest;
    for (const Entry &other : tensors)
      nearest.emplace_back(
          name.edit_distance(llvm::StringRef(other.name).take_front(200)),
          other.name);
    llvm::sort(nearest);
    nearest.resize(std::min(nearest.size(), candidates));
    std::string list;
    for (const auto &[distance, other] : nearest)
      list += (list.empty() ? ", nearest are " : ", ") + quoteName(other);
    return makeError("{0} has no tensor {1}{2}", file, quoteName(name), list);
  }
  if (!entry->type)
    return makeError("{0}: tensor {1} has dtype {2}, which is not supported",
                     file, quoteName(name), entry->dtype);
  llvm::Expected<HostTensor> tensor =
      HostTensor::create(*entry->type, entry->shape);
  if (!tensor)
    return makeError("{0}: tensor {1}: {2}", file, quoteName(name),
                     llvm::toString(tensor.takeError()));
  if (entry->end > entry->begin)
    std::memcpy(tensor->data(), data.data() + entry->begin,
                entry->end - entry->begin);
  // A kernel that loads an i1 may rely on 0 and 1.
  if (*entry->type == ElementType::i1)
    for (int64_t n = 0; n < tensor->numElements(); ++n)
      tensor->dataAs<char>()[n] = tensor->dataAs<char>()[n] != 0;
  return tensor;
}
