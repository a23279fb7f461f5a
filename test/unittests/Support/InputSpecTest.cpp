//===- InputSpecTest.cpp - Input specifications and generated data --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"

#include "attn/Support/InputSpec.h"
#include "attn/Support/Npy.h"

#include <cmath>
#include <numeric>

using namespace attn;
using namespace attn::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using Kind = InputSpec::Kind;

namespace {

InputSpec spec(llvm::StringRef text) { return valueOf(parseInputSpec(text)); }

std::string failure(llvm::StringRef text) {
  std::string error = errorText(parseInputSpec(text));
  EXPECT_THAT(error, StartsWith("input '"));
  return error;
}

HostTensor tensor(llvm::StringRef text, ElementType type,
                  llvm::ArrayRef<int64_t> shape) {
  return valueOf(materialise(spec(text), type, shape));
}

std::string failure(llvm::StringRef text, ElementType type,
                    llvm::ArrayRef<int64_t> shape) {
  return errorText(materialise(spec(text), type, shape));
}

TEST(InputSpec, Parses) {
  EXPECT_EQ(spec("x.npy").kind, Kind::Npy);
  EXPECT_EQ(spec("dir:1/x.npy").path, "dir:1/x.npy");
  InputSpec weights = spec("w=m/w.safetensors:layer.0.q");
  EXPECT_EQ(weights.kind, Kind::Safetensors);
  EXPECT_EQ(weights.name, "w");
  EXPECT_EQ(weights.path, "m/w.safetensors");
  EXPECT_EQ(weights.tensorName, "layer.0.q");
  EXPECT_EQ(spec("w.safetensors:a:b=c").tensorName, "a:b=c");

  InputSpec random = spec("random:seed=7:2x8x64");
  EXPECT_EQ(random.kind, Kind::Random);
  EXPECT_EQ(random.name, "");
  EXPECT_EQ(random.seed, 7u);
  EXPECT_THAT(*random.shape, ElementsAre(2, 8, 64));
  EXPECT_EQ(spec("random").seed, std::nullopt);
  EXPECT_EQ(spec("random").shape, std::nullopt);
  EXPECT_EQ(spec("random:seed=18446744073709551615").seed, ~uint64_t(0));
  EXPECT_THAT(*spec("q=random:4").shape, ElementsAre(4));
  EXPECT_EQ(spec("q=random:seed=3").name, "q");
  EXPECT_THAT(*spec("zeros:0x3").shape, ElementsAre(0, 3));
  EXPECT_EQ(spec("ones").kind, Kind::Ones);

  EXPECT_EQ(spec("-1.5e-3").number, -1.5e-3);
  EXPECT_EQ(spec("n=42").number, 42);
  EXPECT_EQ(spec("-inf").number, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(spec("nan").number));
}

TEST(InputSpec, Refuses) {
  EXPECT_THAT(failure(""), HasSubstr("it is empty"));
  EXPECT_THAT(failure("x="), HasSubstr("it is empty"));
  EXPECT_THAT(failure("rnd"), HasSubstr("expected x.npy"));
  EXPECT_THAT(failure("2x8"), HasSubstr("expected x.npy"));
  EXPECT_THAT(failure("1e999"), HasSubstr("does not fit f64"));
  EXPECT_THAT(failure("w.safetensors"), HasSubstr("tensor name is missing"));
  EXPECT_THAT(failure("w.safetensors:"), HasSubstr("tensor name is missing"));
  EXPECT_THAT(failure("random:"), HasSubstr("size '' in shape ''"));
  EXPECT_THAT(failure("random:2xx3"), HasSubstr("size ''"));
  EXPECT_THAT(failure("random:nan"), HasSubstr("size 'nan'"));
  EXPECT_THAT(failure("random:2xNaN"), HasSubstr("size 'NaN'"));
  EXPECT_THAT(failure("zeros:2x-3"),
              HasSubstr("size -3 in shape '2x-3' is neg"));
  EXPECT_THAT(failure("zeros:1.5"), HasSubstr("not an unsigned integer"));
  EXPECT_THAT(failure("zeros:+2"), HasSubstr("not an unsigned integer"));
  EXPECT_THAT(failure("ones:99999999999999999999"), HasSubstr("does not fit"));
  EXPECT_THAT(failure("ones:4294967296x4294967296"),
              HasSubstr("too many elements"));
  EXPECT_THAT(failure("random:seed="), HasSubstr("seed ''"));
  EXPECT_THAT(failure("random:seed=-1"), HasSubstr("seed '-1'"));
  EXPECT_THAT(failure("random:seed=18446744073709551616"), HasSubstr("seed"));
  EXPECT_THAT(failure("random:seed=1:seed=2"), HasSubstr("given twice"));
  EXPECT_THAT(failure("random:2:3"), HasSubstr("unexpected '3'"));
  EXPECT_THAT(failure("zeros:seed=1"), HasSubstr("size 'seed=1'"));
}

TEST(InputSpec, MaterialisesConstants) {
  EXPECT_THAT(tensor("ones", ElementType::bf16, {2}).toDoubles(),
              ElementsAre(1, 1));
  EXPECT_THAT(tensor("zeros:3", ElementType::i1, {kDynamicSize}).toDoubles(),
              ElementsAre(0, 0, 0));
  EXPECT_EQ(tensor("0.5", ElementType::f32, {}).get(0), 0.5);
  EXPECT_THAT(tensor("-3", ElementType::i32, {2}).toDoubles(),
              ElementsAre(-3, -3));
  EXPECT_TRUE(std::isnan(tensor("nan", ElementType::f16, {}).get(0)));

  EXPECT_EQ(failure("70000", ElementType::f16, {}),
            "input '70000': 70000.00 cannot be held by element type f16");
  EXPECT_THAT(failure("300", ElementType::i8, {}), HasSubstr("i8"));
  EXPECT_THAT(failure("0.5", ElementType::i32, {}), HasSubstr("i32"));
  EXPECT_THAT(failure("nan", ElementType::i64, {}), HasSubstr("i64"));
  EXPECT_THAT(failure("1e19", ElementType::i64, {}), HasSubstr("i64"));
  EXPECT_THAT(failure("2", ElementType::i1, {}), HasSubstr("i1"));
}

TEST(InputSpec, KeepsIntegersBeyondF64) {
  auto number = [](llvm::StringRef text) {
    HostTensor values = tensor(text, ElementType::i64, {2});
    EXPECT_EQ(values.dataAs<int64_t>()[0], values.dataAs<int64_t>()[1]);
    return values.dataAs<int64_t>()[1];
  };
  // 2^53 + 1 is the first integer that f64 lacks.
  EXPECT_EQ(number("9007199254740993"), 9007199254740993);
  EXPECT_EQ(number("+9007199254740993"), 9007199254740993);
  EXPECT_EQ(number("-9007199254740993"), -9007199254740993);
  EXPECT_EQ(number("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(number("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(number("1e3"), 1000);
  EXPECT_EQ(number("9007199254740991.0"), 9007199254740991);
  EXPECT_EQ(failure("9007199254740993.0", ElementType::i64, {}),
            "input '9007199254740993.0': an integer from 2^53 is expected in "
            "digits only");
  EXPECT_THAT(failure("1e18", ElementType::i64, {}), HasSubstr("digits only"));
  EXPECT_THAT(failure("9223372036854775808", ElementType::i64, {}),
              HasSubstr("cannot be held by element type i64"));

  EXPECT_EQ(spec("9007199254740993").asInteger(), 9007199254740993);
  EXPECT_EQ(spec("2.0").asInteger(), 2);
  EXPECT_EQ(spec("1.5").asInteger(), std::nullopt);
  EXPECT_EQ(spec("1e18").asInteger(), std::nullopt);
  EXPECT_EQ(spec("nan").asInteger(), std::nullopt);
  EXPECT_EQ(spec("-inf").asInteger(), std::nullopt);
}

TEST(InputSpec, ChecksShapes) {
  EXPECT_THAT(failure("random", ElementType::f32, {2, kDynamicSize}),
              HasSubstr("size of dimension 1 of shape 2x? is not known"));
  EXPECT_THAT(failure("random:2x3", ElementType::f32, {2, 4}),
              HasSubstr("expected shape 2x4, got 2x3"));
  EXPECT_THAT(failure("random:2x3", ElementType::f32, {2}),
              HasSubstr("expected rank 1, got 2"));
  EXPECT_THAT(tensor("random:2x3", ElementType::f32, {2, kDynamicSize}).shape(),
              ElementsAre(2, 3));
}

TEST(InputSpec, ReadsFiles) {
  TemporaryFolder folder;
  const std::string path = folder.path("x.npy");
  llvm::cantFail(writeNpy(
      path, valueOf(HostTensor::fromDoubles(ElementType::f32, {2}, {3, 4}))));
  EXPECT_THAT(tensor("x=" + path, ElementType::f32, {kDynamicSize}).toDoubles(),
              ElementsAre(3, 4));
  EXPECT_THAT(failure(path, ElementType::f16, {2}),
              HasSubstr("expected element type f16, got f32"));
  EXPECT_THAT(failure(path, ElementType::f32, {2, 1}),
              HasSubstr("expected rank 2, got 1"));
  EXPECT_THAT(failure(path, ElementType::f32, {3}),
              HasSubstr("expected shape 3, got 2"));
  EXPECT_THAT(failure(path + ".npy", ElementType::f32, {2}),
              HasSubstr("cannot read"));
  const std::string weights = folder.write(
      "w.safetensors",
      littleEndian<uint64_t>(54) +
          R"({"a":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}} )" +
          "\x01\x02");
  EXPECT_THAT(tensor(weights + ":a", ElementType::i8, {2}).toDoubles(),
              ElementsAre(1, 2));
  EXPECT_THAT(failure(weights + ":b", ElementType::i8, {2}),
              HasSubstr("has no tensor 'b'"));
}

// splitmix64 is published with its sequence for seed 0; the counter form with
// the mixed seed reproduces that sequence where the mixed seed is 0, and
// mix(0) is 0.
TEST(Random, BitsAreSplitmix64) {
  EXPECT_EQ(randomBits(0, 0), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(randomBits(0, 1), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(randomBits(0, 2), 0x06C45D188009454Fu);
  EXPECT_NE(randomBits(1, 0), randomBits(0, 0));
}

// An independent evaluation of the documented formula, in closed form from the
// two published words above.
TEST(Random, NormalIsBoxMuller) {
  const double u =
      static_cast<double>((0xE220A8397B1DCDAFu >> 11) + 1) * 0x1p-53;
  const double v =
      static_cast<double>((0x6E789E6AA1B965F4u >> 11) + 1) * 0x1p-53;
  const double radius = std::sqrt(-2 * std::log(u));
  EXPECT_NEAR(randomNormal(0, 0), radius * std::cos(2 * M_PI * v), 0x1p-20);
  EXPECT_NEAR(randomNormal(0, 1), radius * std::sin(2 * M_PI * v), 0x1p-20);
  const HostTensor values = tensor("random", ElementType::f32, {5});
  for (int64_t n = 0; n < 5; ++n)
    EXPECT_EQ(values.get(n), randomNormal(0, n));
}

// Moments of a standard normal, within five standard errors.
TEST(Random, NormalMoments) {
  const int64_t count = 100000;
  const std::vector<double> values =
      tensor("random:seed=12345", ElementType::f64, {count}).toDoubles();
  double sum = 0, squares = 0, fourth = 0;
  for (double value : values) {
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
    ASSERT_EQ(value, static_cast<float>(value));
  }
  EXPECT_NEAR(sum / count, 0.0, 5 * std::sqrt(1.0 / count));
  EXPECT_NEAR(squares / count, 1.0, 5 * std::sqrt(2.0 / count));
  EXPECT_NEAR(fourth / count, 3.0, 5 * std::sqrt(96.0 / count));
}

TEST(Random, SeedsAndIntegers) {
  const auto values = [](llvm::StringRef text, ElementType type) {
    return tensor(text, type, {4096}).toDoubles();
  };
  EXPECT_EQ(values("random:seed=1", ElementType::f32),
            values("random:seed=1", ElementType::f32));
  EXPECT_NE(values("random:seed=1", ElementType::f32),
            values("random:seed=2", ElementType::f32));
  // Without a seed the caller's default counts.
  EXPECT_EQ(valueOf(materialise(spec("random"), ElementType::f32, {4096}, 2))
                .toDoubles(),
            values("random:seed=2", ElementType::f32));
  int histogram[8] = {};
  for (double value : values("random", ElementType::i32)) {
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 8);
    ++histogram[static_cast<int>(value)];
  }
  // 512 expected in each bin, standard deviation 21.2.
  for (int bin : histogram)
    EXPECT_NEAR(bin, 512, 106);
  const std::vector<double> bits = values("random", ElementType::i1);
  EXPECT_NEAR(std::accumulate(bits.begin(), bits.end(), 0.0), 2048, 160);
}

} // namespace
