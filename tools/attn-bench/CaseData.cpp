//===- CaseData.cpp - Inputs of a case ------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaseData.h"

#include "attn/Support/Error.h"
#include "attn/Support/InputSpec.h"
#include "attn/Support/Npy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace attn;
using namespace llvm;

std::vector<CallArgument> CaseData::arguments() {
  std::vector<CallArgument> list = {query.view(), key.view(), value.view()};
  if (extra)
    list.push_back(extra->view());
  return list;
}

int64_t CaseData::inputBytes() const {
  return query.sizeInBytes() + key.sizeInBytes() + value.sizeInBytes();
}

/// `folder/name.npy`, which must hold `shape` elements of `type`.
static Expected<HostTensor> readInput(StringRef folder, StringRef name,
                                      ElementType type,
                                      ArrayRef<int64_t> shape) {
  SmallString<128> path(folder);
  sys::path::append(path, name + ".npy");
  auto tensor = readNpy(path);
  if (!tensor)
    return tensor.takeError();
  if (tensor->type() != type)
    return makeError("{0}: expected element type {1}, got {2}", quoteName(path),
                     elementTypeName(type), elementTypeName(tensor->type()));
  if (tensor->shape() != shape)
    return makeError("{0}: expected shape {1}, got {2}", quoteName(path),
                     formatShape(shape), formatShape(tensor->shape()));
  return tensor;
}

/// q, k or v.
static Expected<HostTensor> makeInput(const BenchCase &bench, StringRef folder,
                                      StringRef name, uint64_t seed,
                                      ArrayRef<int64_t> shape) {
  if (folder.empty()) {
    InputSpec spec;
    spec.kind = InputSpec::Kind::Random;
    return materialise(spec, bench.type, shape, seed);
  }
  auto tensor = readInput(folder, name, ElementType::f32, shape);
  if (!tensor || bench.type == ElementType::f32)
    return tensor;
  return tensor->convertTo(bench.type);
}

static Expected<HostTensor> makeMask(const BenchCase &bench, StringRef folder) {
  SmallVector<int64_t> shape = maskShape(bench);
  if (!folder.empty())
    return readInput(folder, "mask", ElementType::i1, shape);
  auto mask = HostTensor::create(ElementType::i1, shape);
  if (!mask)
    return mask;
  constexpr uint64_t kSeed = 3;
  uint8_t *bits = mask->dataAs<uint8_t>();
  for (int64_t n = 0; n < mask->numElements(); ++n)
    bits[n] = n % bench.keys == 0 || randomBits(kSeed, n) % 10 < 7;
  return mask;
}

/// The fourth argument of the function, if it has one.
static Expected<std::optional<HostTensor>> makeExtra(const BenchCase &bench,
                                                     StringRef folder) {
  Expected<HostTensor> extra = [&]() -> Expected<HostTensor> {
    switch (bench.mask) {
    case CaseMask::Lengths: {
      std::vector<int64_t> lengths = caseLengths(bench);
      return HostTensor::fromDoubles(
          ElementType::i32, {bench.batch},
          std::vector<double>(lengths.begin(), lengths.end()));
    }
    case CaseMask::ALiBi:
      return HostTensor::fromDoubles(ElementType::f32, {bench.queryHeads},
                                     caseSlopes(bench));
    default:
      return makeMask(bench, folder);
    }
  }();
  if (!extra)
    return extra.takeError();
  return std::optional<HostTensor>(std::move(*extra));
}

Expected<CaseData> attn::makeCaseData(const BenchCase &bench,
                                      StringRef folder) {
  auto query = makeInput(bench, folder, "q", 0, queryShape(bench));
  if (!query)
    return query.takeError();
  auto key = makeInput(bench, folder, "k", 1, keyShape(bench));
  if (!key)
    return key.takeError();
  auto value = makeInput(bench, folder, "v", 2, valueShape(bench));
  if (!value)
    return value.takeError();
  auto result = HostTensor::create(bench.type, resultShape(bench));
  if (!result)
    return result.takeError();
  CaseData data{std::move(*query), std::move(*key), std::move(*value),
                std::move(*result), std::nullopt};
  ArrayRef<uint8_t> boolMask;
  if (is_contained({CaseMask::Lengths, CaseMask::ALiBi, CaseMask::Bool},
                   bench.mask)) {
    auto extra = makeExtra(bench, folder);
    if (!extra)
      return extra.takeError();
    data.extra = std::move(*extra);
    if (bench.mask == CaseMask::Bool)
      boolMask = {data.extra->dataAs<uint8_t>(),
                  static_cast<size_t>(data.extra->numElements())};
  }
  data.pairs = visiblePairs(bench, boolMask);
  return data;
}
