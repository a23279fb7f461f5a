//===- PreparedCall.cpp - Check and make calls of compiled functions ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Generated code trusts its arguments. Everything that could make it read or
// write out of bounds is therefore refused here: number, type, rank and static
// extents by the module's description, the rest by its shape function.
//
//===----------------------------------------------------------------------===//

#include "CompiledModuleImpl.h"
#include "attn/ExecutionEngine/CompiledModule.h"
#include "attn/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

using namespace attn;
using namespace llvm;

namespace {

/// The most values a shape check may report.
constexpr size_t kCheckValues = 2;

/// Whether the addresses of all elements of `view`, which has some, and one
/// step beyond them exist, so that code may compute with them.
bool isAddressable(const TensorView &view) {
  int64_t begin = 0, end = 0;
  for (auto [extent, stride] : llvm::zip_equal(view.shape, view.strides)) {
    // The stride of a single element is never used and may hold anything.
    if (extent == 1)
      continue;
    int64_t reach;
    int64_t &side = stride < 0 ? begin : end;
    if (MulOverflow(extent, stride, reach) || AddOverflow(side, reach, side))
      return false;
  }
  const auto start =
      static_cast<int64_t>(reinterpret_cast<intptr_t>(view.data));
  const int64_t size = elementSize(view.type);
  return !AddOverflow<int64_t>(end, 1, end) &&
         !MulOverflow(begin, size, begin) && !MulOverflow(end, size, end) &&
         !AddOverflow(start, begin, begin) && !AddOverflow(start, end, end) &&
         begin > 0;
}

Error checkTensor(const ValueInfo &info, const TensorView &view) {
  if (elementTypeName(view.type) != info.type)
    return makeError("argument '{0}': expected {1}, got {2}", info.name,
                     info.type, elementTypeName(view.type));
  if (view.shape.size() != info.shape.size())
    return makeError("argument '{0}': expected rank {1}, got {2}", info.name,
                     info.shape.size(), view.shape.size());
  if (view.strides.size() != view.shape.size())
    return makeError("argument '{0}': expected {1} strides, got {2}", info.name,
                     view.shape.size(), view.strides.size());
  for (size_t i = 0; i < view.shape.size(); ++i)
    if (info.shape[i] != kDynamicSize && info.shape[i] != view.shape[i])
      return makeError("argument '{0}': extent {1} is {2}, expected {3}",
                       info.name, i, view.shape[i], info.shape[i]);
  auto count = checkedElementCount(view.shape);
  if (!count)
    return makeError("argument '{0}': {1}", info.name,
                     toString(count.takeError()));
  if (*count > 0 && !view.data)
    return makeError("argument '{0}': expected {1} elements, got no data",
                     info.name, *count);
  if (*count > 0 && !isAddressable(view))
    return makeError("argument '{0}': expected memory that exists, but strides "
                     "{1} of shape {2} leave the address space",
                     info.name, formatShape(view.strides),
                     formatShape(view.shape));
  return Error::success();
}

/// Checks a scalar and writes its value, as the C interface takes it, into
/// `word`.
Error encodeScalar(const ValueInfo &info, const CallArgument &argument,
                   int64_t &word) {
  word = 0;
  ElementType type = info.type == "index" ? ElementType::i64
                                          : parseElementType(info.type).value();
  const int64_t *integer = std::get_if<int64_t>(&argument);
  if (isFloat(type)) {
    double value =
        integer ? static_cast<double>(*integer) : std::get<double>(argument);
    encodeElements(type, &value, &word, 1);
    return Error::success();
  }
  if (!integer)
    return makeError("argument '{0}': expected an integer ({1}), got {2}",
                     info.name, info.type, std::get<double>(argument));
  bool isBool = type == ElementType::i1;
  bool isUnsigned = isBool || type == ElementType::u8;
  unsigned bits = isBool ? 1 : 8 * elementSize(type);
  bool fits = isUnsigned ? isUIntN(bits, static_cast<uint64_t>(*integer))
                         : isIntN(bits, *integer);
  if (!fits)
    return makeError("argument '{0}': {1} does not fit {2}", info.name,
                     *integer, info.type);
  std::memcpy(&word, integer, elementSize(type)); // little-endian
  return Error::success();
}

/// Checks all inputs and flattens their extents for the shape function.
Expected<std::vector<int64_t>> checkInputs(const FunctionInfo &function,
                                           ArrayRef<CallArgument> inputs) {
  if (inputs.size() != function.args.size())
    return makeError("function '{0}': expected {1} arguments, got {2}",
                     function.name, function.args.size(), inputs.size());
  std::vector<int64_t> dims;
  for (auto [info, input] : llvm::zip_equal(function.args, inputs)) {
    const auto *view = std::get_if<TensorView>(&input);
    if (info.isScalar != !view)
      return makeError("argument '{0}': expected a {1}, got a {2}", info.name,
                       info.isScalar ? "scalar" : "tensor",
                       view ? "tensor" : "scalar");
    if (view) {
      if (Error error = checkTensor(info, *view))
        return error;
      dims.insert(dims.end(), view->shape.begin(), view->shape.end());
      continue;
    }
    int64_t word;
    if (Error error = encodeScalar(info, input, word))
      return error;
    const bool isFloatType =
        info.type != "index" && isFloat(*parseElementType(info.type));
    dims.push_back(isFloatType ? 0 : std::get<int64_t>(input));
  }
  return dims;
}

/// `text` with {0} and {1} replaced by the two values.
std::string formatCheck(StringRef text, ArrayRef<int64_t> values) {
  std::string result;
  while (!text.empty()) {
    if (text.size() >= 3 && text[0] == '{' && text[2] == '}' &&
        text[1] >= '0' && size_t(text[1] - '0') < values.size()) {
      result += std::to_string(values[text[1] - '0']);
      text = text.drop_front(3);
      continue;
    }
    result += text.front();
    text = text.drop_front();
  }
  return result;
}

/// Asks the shape function; the inputs are checked already.
Expected<std::vector<std::vector<int64_t>>>
computeShapes(const EntryPoint &entry, std::vector<int64_t> dims) {
  size_t extents = 0;
  for (const ValueInfo &result : entry.info->results)
    extents += result.shape.size();
  // Never empty, so that generated code gets an address in any case.
  std::vector<int64_t> resultDims(extents + 1);
  int64_t values[kCheckValues] = {0, 0};
  dims.push_back(0);
  int64_t failed = entry.shape(dims.data(), resultDims.data(), values);
  if (failed != 0) {
    const auto &checks = entry.info->checks;
    if (failed < 0 || static_cast<uint64_t>(failed) > checks.size())
      return makeError("function '{0}': shape check {1} failed ({2} and {3})",
                       entry.info->name, failed, values[0], values[1]);
    return makeError("{0}", formatCheck(checks[failed - 1], values));
  }

  std::vector<std::vector<int64_t>> shapes;
  auto next = resultDims.begin();
  for (const auto &[index, result] : llvm::enumerate(entry.info->results)) {
    auto end = next + static_cast<ptrdiff_t>(result.shape.size());
    shapes.emplace_back(next, end);
    next = end;
    for (auto [axis, size] : llvm::enumerate(shapes.back()))
      if (result.shape[axis] != kDynamicSize && result.shape[axis] != size)
        return makeError("result {0}: extent {1} is {2}, expected {3}", index,
                         axis, size, result.shape[axis]);
    auto count = checkedElementCount(shapes.back());
    if (!count)
      return makeError("result {0}: {1}", index, toString(count.takeError()));
  }
  return shapes;
}

Error checkOutput(size_t index, const ValueInfo &info, ArrayRef<int64_t> shape,
                  const TensorView &view) {
  if (elementTypeName(view.type) != info.type)
    return makeError("result {0}: expected {1}, got {2}", index, info.type,
                     elementTypeName(view.type));
  if (ArrayRef<int64_t>(view.shape) != shape)
    return makeError("result {0}: expected shape {1}, got {2}", index,
                     formatShape(shape), formatShape(view.shape));
  if (view.strides.size() != view.shape.size() || !view.isContiguous())
    return makeError("result {0}: expected row-major memory without gaps, got "
                     "strides {1}",
                     index, formatShape(view.strides));
  if (!view.data && !llvm::is_contained(shape, 0))
    return makeError("result {0}: expected memory for {1}, got none", index,
                     formatShape(shape));
  return Error::success();
}

// Views are addressable from here on: nothing below overflows.

/// Bytes [begin, end) of memory.
struct ByteRange {
  intptr_t begin, end;
};

/// From the first to past the last byte of the elements in dimensions `axis`
/// and up, the others' indices being 0; not empty.
ByteRange rangeOf(const TensorView &view, size_t axis = 0) {
  ByteRange range{0, 0};
  for (size_t d = axis; d < view.shape.size(); ++d) {
    const int64_t last = (view.shape[d] - 1) * view.strides[d];
    (last < 0 ? range.begin : range.end) += last;
  }
  const auto start = reinterpret_cast<intptr_t>(view.data);
  const int64_t size = elementSize(view.type);
  return {start + range.begin * size, start + (range.end + 1) * size};
}

/// Whether an element of `view`, which has some, lies in `bytes`. What is in
/// the gaps of its strides does not count. `shift` are the bytes that the
/// indices before `axis` add.
bool touches(const TensorView &view, ByteRange bytes, size_t axis = 0,
             intptr_t shift = 0) {
  const ByteRange range = rangeOf(view, axis);
  if (range.begin + shift >= bytes.end || range.end + shift <= bytes.begin)
    return false;
  if (axis == view.shape.size())
    return true;
  if (view.shape[axis] == 1)
    return touches(view, bytes, axis + 1, shift);
  const int64_t step = view.strides[axis] * elementSize(view.type);
  for (int64_t i = 0; i < view.shape[axis]; ++i) {
    if (touches(view, bytes, axis + 1, shift + i * step))
      return true;
    if (step == 0)
      return false;
  }
  return false;
}

std::string formatRange(ByteRange range) {
  return formatv("bytes {0:x} to {1:x}", range.begin, range.end).str();
}

bool isSame(const TensorView &a, const TensorView &b) {
  return a.data == b.data && a.shape == b.shape && a.strides == b.strides;
}

/// The kernels read inputs after they have begun to write outputs, but for the
/// very buffer that a result updates.
Error checkNoOverlap(const FunctionInfo &function,
                     ArrayRef<CallArgument> inputs,
                     ArrayRef<TensorView> outputs) {
  for (auto [index, output] : llvm::enumerate(outputs)) {
    if (llvm::is_contained(output.shape, 0))
      continue;
    const ByteRange bytes = rangeOf(output);
    for (auto [number, info, input] : llvm::enumerate(function.args, inputs)) {
      const auto *view = std::get_if<TensorView>(&input);
      if (view &&
          function.results[index].updates == static_cast<int64_t>(number) &&
          isSame(*view, output))
        continue;
      if (view && !llvm::is_contained(view->shape, 0) && touches(*view, bytes))
        return makeError("result {0}: expected memory apart from the "
                         "arguments, got {1}, which overlaps argument '{2}' in "
                         "{3}",
                         index, formatRange(bytes), info.name,
                         formatRange(rangeOf(*view)));
    }
    for (auto [otherIndex, other] : llvm::enumerate(outputs.take_front(index)))
      if (!llvm::is_contained(other.shape, 0) && touches(other, bytes))
        return makeError("result {0}: expected memory apart from the other "
                         "results, got {1}, which overlaps result {2} in {3}",
                         index, formatRange(bytes), otherIndex,
                         formatRange(rangeOf(other)));
  }
  return Error::success();
}

/// Why a checked input cannot be passed as it lies in memory; empty when it
/// can.
std::string reasonToCopy(const ValueInfo &info, const TensorView &view) {
  auto address = reinterpret_cast<uintptr_t>(view.data);
  if (address % static_cast<uintptr_t>(elementSize(view.type)))
    return "its address is not a multiple of the element size";
  if (info.contiguous && !view.isContiguous())
    return "the function takes it in row-major order without gaps only";
  if (!view.shape.empty() && view.shape.back() > 1 && view.strides.back() != 1)
    return ("its innermost stride is " + Twine(view.strides.back()) +
            ", expected 1")
        .str();
  return {};
}

/// Zeros in the place of a tensor without elements: programs clamp the indices
/// of what they gather, lanes of hidden pairs included, and read element 0 of
/// an extent of 0. With strides of 0 that is the first row, whatever the other
/// indices are; code for a fixed layout needs the whole shape.
Expected<HostTensor> standInForEmpty(const ValueInfo &info,
                                     const TensorView &view) {
  // Loads of a register of lanes begin inside.
  constexpr int64_t kMostLanes = 64;
  int64_t count = 1;
  size_t outer = info.contiguous ? 0 : view.shape.size() - 1;
  for (int64_t extent : ArrayRef(view.shape).drop_front(outer))
    if (extent != 0 && MulOverflow(count, extent, count))
      return makeError("shape {0} is too large", formatShape(view.shape));
  if (AddOverflow(count, kMostLanes, count))
    return makeError("shape {0} is too large", formatShape(view.shape));
  return HostTensor::create(view.type, count);
}

/// The strided memref descriptor of `view`:
/// {allocated, aligned, offset, sizes[rank], strides[rank]}.
std::vector<int64_t> descriptorOf(const TensorView &view) {
  auto address = static_cast<int64_t>(reinterpret_cast<intptr_t>(view.data));
  std::vector<int64_t> words = {address, address, 0};
  words.insert(words.end(), view.shape.begin(), view.shape.end());
  // Strides of extents below two are never used and may hold anything; code for
  // a fixed layout still expects that layout's.
  SmallVector<int64_t> strides =
      view.isContiguous() ? rowMajorStrides(view.shape) : view.strides;
  if (!strides.empty())
    strides.back() = 1;
  words.insert(words.end(), strides.begin(), strides.end());
  return words;
}

} // namespace

Expected<std::vector<std::vector<int64_t>>>
CompiledModule::resultShapes(StringRef function,
                             ArrayRef<CallArgument> inputs) const {
  auto entry = impl->find(function);
  if (!entry)
    return entry.takeError();
  auto dims = checkInputs(*(*entry)->info, inputs);
  if (!dims)
    return dims.takeError();
  return computeShapes(**entry, std::move(*dims));
}

Expected<PreparedCall>
CompiledModule::prepare(StringRef function, ArrayRef<CallArgument> inputs,
                        MutableArrayRef<TensorView> outputs,
                        const std::function<void(StringRef)> &remark) const {
  auto entry = impl->find(function);
  if (!entry)
    return entry.takeError();
  auto shapes = resultShapes(function, inputs);
  if (!shapes)
    return shapes.takeError();
  const FunctionInfo &info = *(*entry)->info;
  if (outputs.size() != info.results.size())
    return makeError("function '{0}': expected {1} outputs, got {2}", info.name,
                     info.results.size(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (Error error = checkOutput(i, info.results[i], (*shapes)[i], outputs[i]))
      return error;
  if (Error error = checkNoOverlap(info, inputs, outputs))
    return error;

  PreparedCall call;
  call.entry = (*entry)->packed;
  for (auto [argument, input] : llvm::zip_equal(info.args, inputs)) {
    const auto *view = std::get_if<TensorView>(&input);
    if (!view) {
      int64_t word;
      if (Error error = encodeScalar(argument, input, word))
        return error;
      call.storage.push_back({word});
      continue;
    }
    if (llvm::is_contained(view->shape, 0)) {
      auto zeros = standInForEmpty(argument, *view);
      if (!zeros)
        return makeError("argument '{0}': {1}", argument.name,
                         toString(zeros.takeError()));
      TensorView empty = *view;
      empty.data = zeros->data();
      std::vector<int64_t> &words =
          call.storage.emplace_back(descriptorOf(empty));
      if (!argument.contiguous)
        std::fill(words.end() - view->shape.size(), words.end() - 1, 0);
      call.copies.push_back(std::move(*zeros));
      continue;
    }
    std::string reason = reasonToCopy(argument, *view);
    if (reason.empty()) {
      call.storage.push_back(descriptorOf(*view));
      continue;
    }
    auto copy = HostTensor::copyOf(*view);
    if (!copy)
      return makeError("argument '{0}': {1}", argument.name,
                       toString(copy.takeError()));
    if (remark)
      remark("argument '" + argument.name + "' is copied: " + reason);
    call.storage.push_back(descriptorOf(copy->view()));
    call.copies.push_back(std::move(*copy));
  }
  for (const TensorView &output : outputs)
    call.storage.push_back(descriptorOf(output));

  // Addresses are taken once all blocks are in place.
  call.values.resize(call.storage.size());
  for (size_t i = 0; i < call.storage.size(); ++i) {
    call.values[i] = call.storage[i].data();
    bool isScalar = i < info.args.size() && info.args[i].isScalar;
    call.packed.push_back(isScalar ? call.values[i]
                                   : static_cast<void *>(&call.values[i]));
  }
  return call;
}

Error PreparedCall::invoke(const RunConfig &config) const {
  return runOnThreads(
      config.threads, [&] { entry(const_cast<void **>(packed.data())); },
      config.statistics);
}

Error CompiledModule::run(StringRef function, ArrayRef<CallArgument> inputs,
                          MutableArrayRef<TensorView> outputs,
                          const RunConfig &config) const {
  auto call = prepare(function, inputs, outputs, config.remark);
  if (!call)
    return call.takeError();
  return call->invoke(config);
}
