//===- ObjectCache.cpp - Compiled objects on disk -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file is a header (magic, key, length and checksum of the object) and the
// object. The checksum finds accidents; it does not defend against somebody who
// may write into the folder, just as a build folder is not defended.
//
//===----------------------------------------------------------------------===//

#include "attn/ExecutionEngine/ObjectCache.h"

#include "attn/Support/AtomicFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

#ifdef __linux__
#include <link.h>
#endif

using namespace attn;
using namespace llvm;

namespace {

constexpr StringLiteral kMagic = "ATTNOBJ1";
constexpr size_t kKeyDigits = 64;

/// What stands before the object in a file. Only bytes and little-endian
/// numbers.
struct Header {
  char magic[8];
  char key[kKeyDigits];
  support::ulittle64_t length;
  uint8_t checksum[32];
};

BLAKE3Result<32> hashOf(StringRef bytes) {
  BLAKE3 hasher;
  hasher.update(bytes);
  return hasher.final<32>();
}

/// Adds one part with its length, so that no two lists of parts run together to
/// the same bytes.
void addPart(BLAKE3 &hasher, StringRef part) {
  uint8_t length[8];
  support::endian::write64le(length, part.size());
  hasher.update(ArrayRef<uint8_t>(length));
  hasher.update(part);
}

std::string hexOf(BLAKE3 &hasher) {
  return toHex(hasher.final<32>(), /*LowerCase=*/true);
}

void addTarget(BLAKE3 &hasher, const Target &target) {
  addPart(hasher, target.triple);
  addPart(hasher, target.cpu);
  addPart(hasher, target.features);
  // Schedules depend on the caches as well.
  for (int64_t bytes : {target.l1dBytes, target.l2Bytes, target.l3Bytes})
    addPart(hasher, std::to_string(bytes));
}

#ifdef __linux__
/// Size and time of the last change of a file, as text.
std::string stampOf(StringRef path) {
  sys::fs::file_status status;
  if (sys::fs::status(path, status))
    return "missing";
  return (Twine(status.getSize()) + ":" +
          Twine(status.getLastModificationTime().time_since_epoch().count()))
      .str();
}

/// Adds the identity of one file of the process: its path and stamp.
int addLoadedFile(dl_phdr_info *info, size_t, void *hasher) {
  StringRef path = info->dlpi_name ? info->dlpi_name : "";
  if (path.empty()) // the executable comes first and without a name
    path = "/proc/self/exe";
  // The kernel's own page has no file and belongs to no build.
  if (!path.starts_with("/"))
    return 0;
  addPart(*static_cast<BLAKE3 *>(hasher), path);
  addPart(*static_cast<BLAKE3 *>(hasher), stampOf(path));
  return 0;
}
#endif

} // namespace

std::string attn::compilerBuildId() {
  static const std::string id = [] {
    BLAKE3 hasher;
#ifdef __linux__
    dl_iterate_phdr(addLoadedFile, &hasher);
#else
    addPart(hasher, __DATE__ " " __TIME__);
#endif
    return hexOf(hasher);
  }();
  return id;
}

std::string attn::objectKey(StringRef input, ArrayRef<std::string> options,
                            const Target &target) {
  BLAKE3 hasher;
  addPart(hasher, kMagic);
  addPart(hasher, compilerBuildId());
  addPart(hasher, input);
  addPart(hasher, std::to_string(options.size()));
  for (StringRef option : options)
    addPart(hasher, option);
  addTarget(hasher, target);
  return hexOf(hasher);
}

std::string attn::scheduleKey(StringRef input, StringRef function,
                              const Target &target) {
  BLAKE3 hasher;
  addPart(hasher, "tuned schedule");
  addPart(hasher, input);
  addPart(hasher, function);
  addTarget(hasher, target);
  return hexOf(hasher);
}

Expected<ObjectCache> ObjectCache::open(StringRef directory) {
  if (std::error_code code = sys::fs::create_directories(directory))
    return createStringError(code, "cannot make the cache folder '" +
                                       directory + "': " + code.message());
  if (!sys::fs::is_directory(directory))
    return createStringError("the cache folder '" + directory +
                             "' is not a folder");
  return ObjectCache(directory.str());
}

std::string ObjectCache::pathOf(StringRef key) const {
  SmallString<256> path(directory);
  sys::path::append(path, key + ".o");
  return std::string(path);
}

std::string ObjectCache::schedulePathOf(StringRef key) const {
  SmallString<256> path(directory);
  sys::path::append(path, key + ".schedule");
  return std::string(path);
}

std::unique_ptr<MemoryBuffer> ObjectCache::lookup(StringRef key) const {
  // Read, not mapped: another process may replace or cut the file meanwhile.
  auto file = MemoryBuffer::getFile(pathOf(key), /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false,
                                    /*IsVolatile=*/true);
  if (!file)
    return nullptr;
  StringRef bytes = (*file)->getBuffer();
  if (bytes.size() < sizeof(Header) || key.size() != kKeyDigits)
    return nullptr;
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  StringRef object = bytes.drop_front(sizeof(header));
  if (StringRef(header.magic, sizeof(header.magic)) != kMagic ||
      StringRef(header.key, kKeyDigits) != key ||
      header.length != object.size())
    return nullptr;
  BLAKE3Result<32> checksum = hashOf(object);
  if (std::memcmp(checksum.data(), header.checksum, checksum.size()) != 0)
    return nullptr;
  return MemoryBuffer::getMemBufferCopy(object, pathOf(key));
}

Error ObjectCache::store(StringRef key, StringRef object) const {
  if (key.size() != kKeyDigits)
    return createStringError("cache key of " + Twine(key.size()) +
                             " digits, expected " + Twine(kKeyDigits));
  Header header;
  std::memcpy(header.magic, kMagic.data(), sizeof(header.magic));
  std::memcpy(header.key, key.data(), kKeyDigits);
  header.length = object.size();
  BLAKE3Result<32> checksum = hashOf(object);
  std::memcpy(header.checksum, checksum.data(), checksum.size());
  return writeFileAtomically(pathOf(key), [&](raw_ostream &stream) {
    stream.write(reinterpret_cast<const char *>(&header), sizeof(header));
    stream << object;
  });
}
