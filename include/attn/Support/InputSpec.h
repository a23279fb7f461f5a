//===- InputSpec.h - Where a tool's input tensor comes from -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The SPEC of `--input=`:
//
//   [NAME=] x.npy | w.safetensors:tensor.name | random[:seed=N][:2x8x64]
//         | zeros[:SHAPE] | ones[:SHAPE] | NUMBER
//
// NAME is a letter or '_' followed by letters, digits, '_', '.' and '-'; a file
// whose name would read as `NAME=...` is written with a leading `./`.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SUPPORT_INPUTSPEC_H
#define ATTN_SUPPORT_INPUTSPEC_H

#include "attn/Support/HostTensor.h"

#include <cstdint>
#include <optional>
#include <string>

namespace attn {

/// A parsed SPEC.
struct InputSpec {
  enum class Kind { Npy, Safetensors, Random, Zeros, Ones, Number };

  /// The argument's name; empty when the position decides.
  std::string name;
  Kind kind = Kind::Zeros;
  /// The text it was parsed from, for errors.
  std::string text;
  /// Npy, Safetensors.
  std::string path;
  /// Safetensors.
  std::string tensorName;
  /// Random; without one the caller's default is taken.
  std::optional<uint64_t> seed;
  /// Random, Zeros, Ones; without one the argument's shape is taken.
  std::optional<llvm::SmallVector<int64_t>> shape;
  /// Number: fills the tensor. `inf`, `-inf` and `nan` are numbers.
  double number = 0.0;
  /// Number: its exact value when it is written as an integer of 64 bits.
  std::optional<int64_t> integer;

  /// Number: the exact integer; none for a fraction, for what 64 bits cannot
  /// hold, and for a magnitude from 2^53 that is not written as an integer,
  /// whose f64 value may not be the text's.
  std::optional<int64_t> asInteger() const;
};

/// Parses a SPEC; reads no file.
llvm::Expected<InputSpec> parseInputSpec(llvm::StringRef text);

/// Parses `2x8x64`: unsigned decimal sizes, at least one, zero allowed.
llvm::Expected<llvm::SmallVector<int64_t>> parseShape(llvm::StringRef text);

/// Makes the tensor of an argument of type `type` and shape `shape`, in which a
/// kDynamicSize matches any size of a file or of the SPEC's own shape. Errors
/// for another element type (files are never converted), rank or size, for a
/// size that nothing gives, and for a NUMBER the element type cannot hold.
llvm::Expected<HostTensor> materialise(const InputSpec &spec, ElementType type,
                                       llvm::ArrayRef<int64_t> shape,
                                       uint64_t defaultSeed = 0);

/// Element `index` of the pseudo-random sequence `seed`, standard normal.
///
/// The generator is counter based: with G = 0x9E3779B97F4A7C15 and mix() the
/// finaliser of splitmix64 (Steele, Lea, Flood, 2014), 64 random bits number n
/// are mix(mix(seed) + (n + 1) * G), modulo 2^64. Elements 2k and 2k + 1 are
/// the cosine and sine branch of the Box-Muller transform of bits 2k and 2k +
/// 1, each turned into (0, 1] by ((bits >> 11) + 1) * 2^-53. The result is
/// rounded to a multiple of 2^-20: that is exact in f32 and swallows the
/// differences between mathematical libraries, so a seed gives the same numbers
/// everywhere.
double randomNormal(uint64_t seed, uint64_t index);

/// The random bits number `index` of the sequence `seed`, as above. Integer
/// tensors take `bits >> 61`, in [0, 8); i1 tensors take `bits >> 63`.
uint64_t randomBits(uint64_t seed, uint64_t index);

} // namespace attn

#endif // ATTN_SUPPORT_INPUTSPEC_H
