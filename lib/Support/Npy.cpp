//===- Npy.cpp - NumPy .npy files -------------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/Support/Npy.h"

#include "attn/Support/AtomicFile.h"
#include "attn/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace attn;

static_assert(llvm::endianness::native == llvm::endianness::little,
              "tensor files are little-endian and are copied as they are");

static constexpr llvm::StringLiteral magic = "\x93NUMPY";

namespace {

struct Dtype {
  llvm::StringLiteral descr;
  ElementType type;
};

/// What the header's dict says.
struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortranOrder;
  std::optional<llvm::SmallVector<int64_t>> shape;
};

/// Parses the one dict literal that a .npy header is: three known keys, each
/// exactly once, whose values are a string, a bool and a tuple of integers.
class HeaderParser {
public:
  HeaderParser(llvm::StringRef text) : text(text), rest(text) {}

  llvm::Expected<Header> parse();

private:
  template <typename... Ts>
  llvm::Error fail(const char *format, Ts &&...values) const {
    return makeError("header, byte {0}: {1}", text.size() - rest.size(),
                     llvm::formatv(format, std::forward<Ts>(values)...).str());
  }
  void skipSpaces() { rest = rest.ltrim(' '); }
  bool consume(char c) {
    skipSpaces();
    return rest.consume_front(llvm::StringRef(&c, 1));
  }
  llvm::Error parseEntry(Header &header);
  llvm::Expected<std::string> parseString();
  llvm::Expected<bool> parseBool();
  llvm::Expected<llvm::SmallVector<int64_t>> parseTuple();
  llvm::Expected<int64_t> parseInteger();

  llvm::StringRef text, rest;
};

} // namespace

// The first descr of a type is the one that is written.
static constexpr Dtype dtypes[] = {
    {"<f8", ElementType::f64},  {"<f4", ElementType::f32},
    {"<f2", ElementType::f16},  {"<V2", ElementType::bf16},
    {"|V2", ElementType::bf16}, {"<i8", ElementType::i64},
    {"<i4", ElementType::i32},  {"|i1", ElementType::i8},
    {"|u1", ElementType::u8},   {"|b1", ElementType::i1},
};

//===----------------------------------------------------------------------===//
// Header
//===----------------------------------------------------------------------===//

llvm::Expected<std::string> HeaderParser::parseString() {
  skipSpaces();
  if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
    return fail("expected a string");
  const size_t end = rest.find(rest.front(), 1);
  if (end == llvm::StringRef::npos)
    return fail("the string is not closed");
  const llvm::StringRef value = rest.slice(1, end);
  if (value.contains('\\') || value.contains('\n'))
    return fail("escapes and line ends are not allowed in a string");
  rest = rest.drop_front(end + 1);
  return value.str();
}

llvm::Expected<bool> HeaderParser::parseBool() {
  skipSpaces();
  if (rest.consume_front("True"))
    return true;
  if (rest.consume_front("False"))
    return false;
  return fail("expected True or False");
}

llvm::Expected<int64_t> HeaderParser::parseInteger() {
  skipSpaces();
  const bool negative = rest.consume_front("-");
  const llvm::StringRef digits = rest.take_while(llvm::isDigit);
  if (digits.empty())
    return fail("expected an integer");
  int64_t value;
  if (digits.getAsInteger(10, value))
    return fail("size {0} does not fit 64 bits", quoteName(digits));
  if (negative)
    return fail("size -{0} is negative", digits);
  rest = rest.drop_front(digits.size());
  return value;
}

llvm::Expected<llvm::SmallVector<int64_t>> HeaderParser::parseTuple() {
  if (!consume('('))
    return fail("expected a tuple of sizes");
  llvm::SmallVector<int64_t> sizes;
  while (!consume(')')) {
    llvm::Expected<int64_t> size = parseInteger();
    if (!size)
      return size.takeError();
    sizes.push_back(*size);
    if (static_cast<int64_t>(sizes.size()) > kMaxRank)
      return fail("more than {0} dimensions", kMaxRank);
    if (consume(','))
      continue;
    // In Python `(3)` is an integer, not a tuple.
    if (sizes.size() == 1 || !consume(')'))
      return fail("expected ',' in the tuple of sizes");
    break;
  }
  return sizes;
}

llvm::Error HeaderParser::parseEntry(Header &header) {
  llvm::Expected<std::string> key = parseString();
  if (!key)
    return key.takeError();
  if (!consume(':'))
    return fail("expected ':' after key {0}", quoteName(*key));
  const auto store = [&](auto &field, auto value) -> llvm::Error {
    if (!value)
      return value.takeError();
    if (field)
      return fail("key {0} occurs twice", quoteName(*key));
    field = std::move(*value);
    return llvm::Error::success();
  };
  if (*key == "descr") {
    skipSpaces();
    if (rest.starts_with("["))
      return fail("structured dtypes are not supported");
    return store(header.descr, parseString());
  }
  if (*key == "fortran_order")
    return store(header.fortranOrder, parseBool());
  if (*key == "shape")
    return store(header.shape, parseTuple());
  return fail("unknown key {0}", quoteName(*key));
}

llvm::Expected<Header> HeaderParser::parse() {
  Header header;
  if (!consume('{'))
    return fail("expected '{{'");
  while (!consume('}')) {
    if (llvm::Error error = parseEntry(header))
      return error;
    if (consume(','))
      continue;
    if (!consume('}'))
      return fail("expected ',' or '}'");
    break;
  }
  skipSpaces();
  rest.consume_front("\n");
  if (!rest.empty())
    return fail("unexpected text after the dict");
  if (!header.descr)
    return fail("key 'descr' is missing");
  if (!header.fortranOrder)
    return fail("key 'fortran_order' is missing");
  if (!header.shape)
    return fail("key 'shape' is missing");
  return header;
}

static llvm::Expected<ElementType> parseDescr(llvm::StringRef descr) {
  for (const Dtype &dtype : dtypes)
    if (dtype.descr == descr)
      return dtype.type;
  if (descr.starts_with(">"))
    return makeError("dtype {0} is big-endian, expected little-endian",
                     quoteName(descr));
  std::string known;
  llvm::raw_string_ostream os(known);
  llvm::interleave(
      dtypes, os, [&](const Dtype &dtype) { os << dtype.descr; }, " ");
  return makeError("dtype {0} is not supported, expected one of {1}",
                   quoteName(descr), known);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static llvm::Expected<HostTensor> parse(llvm::StringRef bytes) {
  if (!bytes.starts_with(magic))
    return makeError("not a npy file: it does not start with \\x93NUMPY");
  if (bytes.size() < magic.size() + 2)
    return makeError("truncated: {0} bytes end before the version",
                     bytes.size());
  const unsigned major = static_cast<uint8_t>(bytes[magic.size()]);
  const unsigned minor = static_cast<uint8_t>(bytes[magic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0)
    return makeError("version {0}.{1} is not supported, expected 1.0, 2.0 or "
                     "3.0",
                     major, minor);
  const size_t lengthSize = major == 1 ? 2 : 4;
  const size_t headerAt = magic.size() + 2 + lengthSize;
  if (bytes.size() < headerAt)
    return makeError("truncated: {0} bytes end before the header length",
                     bytes.size());
  const char *lengthAt = bytes.data() + magic.size() + 2;
  const uint64_t headerLength =
      major == 1 ? uint64_t(llvm::support::endian::read16le(lengthAt))
                 : uint64_t(llvm::support::endian::read32le(lengthAt));
  const uint64_t behindLength = bytes.size() - headerAt;
  if (headerLength > behindLength)
    return makeError("the header is said to have {0} bytes, the file has {1} "
                     "left",
                     headerLength, behindLength);
  llvm::Expected<Header> header =
      HeaderParser(bytes.substr(headerAt, headerLength)).parse();
  if (!header)
    return header.takeError();
  llvm::Expected<ElementType> type = parseDescr(*header->descr);
  if (!type)
    return type.takeError();
  const llvm::ArrayRef<int64_t> shape = *header->shape;
  if (*header->fortranOrder && shape.size() > 1)
    return makeError("the data is in Fortran order, expected C order: save "
                     "numpy.ascontiguousarray of it");
  llvm::Expected<int64_t> count = checkedElementCount(shape);
  if (!count)
    return count.takeError();
  const uint64_t expected = *count * elementSize(*type);
  const llvm::StringRef data = bytes.substr(headerAt + headerLength);
  // Compared before memory is asked for: a hostile shape costs nothing.
  if (data.size() != expected)
    return makeError("{0}: shape {1} of {2} needs {3} bytes of data, the file "
                     "has {4}",
                     data.size() < expected ? "truncated" : "trailing bytes",
                     formatShape(shape), elementTypeName(*type), expected,
                     data.size());
  llvm::Expected<HostTensor> tensor = HostTensor::create(*type, shape);
  if (!tensor)
    return tensor;
  if (!data.empty())
    std::memcpy(tensor->data(), data.data(), data.size());
  if (*type == ElementType::i1)
    for (int64_t n = 0; n < *count; ++n)
      tensor->dataAs<char>()[n] = tensor->dataAs<char>()[n] != 0;
  return tensor;
}

llvm::Expected<HostTensor> attn::parseNpy(llvm::StringRef bytes,
                                          llvm::StringRef name) {
  llvm::Expected<HostTensor> tensor = parse(bytes);
  if (!tensor)
    return makeError("{0}: {1}", quoteName(name),
                     llvm::toString(tensor.takeError()));
  return tensor;
}

llvm::Expected<HostTensor> attn::readNpy(llvm::StringRef path) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                  /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("cannot read {0}: {1}", quoteName(path),
                     buffer.getError().message());
  return parseNpy((*buffer)->getBuffer(), path);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static llvm::StringRef descrOf(ElementType type) {
  return llvm::find_if(dtypes,
                       [&](const Dtype &dtype) { return dtype.type == type; })
      ->descr;
}

void attn::writeNpy(llvm::raw_ostream &out, const HostTensor &tensor) {
  std::string header;
  llvm::raw_string_ostream os(header);
  os << "{'descr': '" << descrOf(tensor.type())
     << "', 'fortran_order': False, 'shape': (";
  llvm::interleave(tensor.shape(), os, ", ");
  os << (tensor.rank() == 1 ? ",), }" : "), }");
  const size_t before = magic.size() + 4;
  // The header ends in a line end; spaces before it align the data.
  header.resize(llvm::alignTo(before + header.size() + 1, 64) - before - 1,
                ' ');
  header += '\n';
  char lead[4] = {1, 0, 0, 0};
  llvm::support::endian::write16le(lead + 2,
                                   static_cast<uint16_t>(header.size()));
  out << magic;
  out.write(lead, sizeof(lead));
  out << header;
  out.write(tensor.dataAs<char>(), tensor.sizeInBytes());
}

llvm::Error attn::writeNpy(llvm::StringRef path, const HostTensor &tensor) {
  return writeFileAtomically(
      path, [&](llvm::raw_ostream &out) { writeNpy(out, tensor); });
}
