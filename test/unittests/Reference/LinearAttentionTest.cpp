//===- LinearAttentionTest.cpp - Linear attention in closed forms ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReferenceTest.h"

using namespace attn;
using namespace attn::reference;
using namespace attn::reference::test;
using testing::HasSubstr;

namespace {

/// Two heads of queries read one state: q [1, 2, S, 4], k [1, 1, S, 4],
/// v [1, 1, S, 3].
struct Inputs {
  explicit Inputs(int64_t tokens)
      : q(generate(0, {1, 2, tokens, 4})), k(generate(1, {1, 1, tokens, 4})),
        v(generate(2, {1, 1, tokens, 3})) {}
  LinearAttentionResult run(const LinearAttentionOptions &options = {}) const {
    return valueOf(linearAttention(q, k, v, options));
  }
  Tensor64 q, k, v;
};

/// Without a decay it is causal attention whose weights are the scores, and
/// with one these times the gates after the key.
TEST(LinearAttention, IsAttentionWithoutSoftmax) {
  constexpr int64_t tokens = 9;
  Inputs inputs(tokens);
  Tensor64 decay({1, 1, tokens});
  for (int64_t t = 0; t < tokens; ++t)
    decay.data[t] = patternAt(3, t) / 4 - 0.5;
  for (bool gated : {false, true}) {
    SCOPED_TRACE(gated);
    AttentionOptions attention;
    attention.normalizer = Normalizer::None;
    attention.mask = causalTopLeft();
    LinearAttentionOptions options;
    if (gated) {
      options.decay = decay;
      attention.score = [&](double s, int64_t, int64_t, int64_t i, int64_t j) {
        for (int64_t t = j + 1; t <= i; ++t)
          s *= std::exp(decay.data[t]);
        return s;
      };
    }
    auto expected =
        valueOf(reference::attention(inputs.q, inputs.k, inputs.v, attention));
    EXPECT_THAT(inputs.run(options).o.data, isNear(expected.o.data, 1e-12));
  }
}

/// Tokens in two calls give what they give in one, the state in between.
TEST(LinearAttention, StatePassesOn) {
  Inputs all(7), first(7), second(7);
  auto cut = [](Tensor64 &x, int64_t begin, int64_t end) {
    Tensor64 y({x.shape[0], x.shape[1], end - begin, x.shape[3]});
    for (int64_t h = 0; h < x.shape[1]; ++h)
      for (int64_t t = begin; t < end; ++t)
        for (int64_t d = 0; d < x.shape[3]; ++d)
          y.at({0, h, t - begin, d}) = x.at({0, h, t, d});
    x = y;
  };
  for (Tensor64 Inputs::*operand : {&Inputs::q, &Inputs::k, &Inputs::v}) {
    cut(first.*operand, 0, 3);
    cut(second.*operand, 3, 7);
  }
  LinearAttentionOptions options;
  options.initial = first.run().state;
  LinearAttentionResult expected = all.run(), got = second.run(options);
  EXPECT_THAT(got.state.data, isNear(expected.state.data, 1e-12));
  EXPECT_NEAR(got.o.at({0, 1, 3, 2}), expected.o.at({0, 1, 6, 2}), 1e-12);
}

/// A decay of each row, by hand: two rows, two tokens.
TEST(LinearAttention, DecayOfRows) {
  LinearAttentionOptions options;
  options.scale = 1;
  options.decay = Tensor64({1, 1, 2, 2}, {0, 0, std::log(0.5), -kInf});
  auto result =
      valueOf(linearAttention(Tensor64({1, 1, 2, 2}, {1, 1, 1, 1}),
                              Tensor64({1, 1, 2, 2}, {1, 2, 3, 4}),
                              Tensor64({1, 1, 2, 1}, {10, 100}), options));
  EXPECT_THAT(result.o.data, isNear({30, 705}, 1e-12));
  EXPECT_THAT(result.state.data, isNear({305, 400}, 1e-12));
}

/// At rate 1 and with keys of length 1, what the state had for a key is
/// replaced: the query that is the key reads the value.
TEST(LinearAttention, DeltaRuleReplaces) {
  LinearAttentionOptions options;
  options.scale = 1;
  options.beta = Tensor64({1, 1, 3}, 1.0);
  options.initial = generate(5, {1, 1, 2, 2});
  Tensor64 keys({1, 1, 3, 2}, {0.6, 0.8, -0.8, 0.6, 0.6, 0.8});
  Tensor64 values = generate(2, {1, 1, 3, 2});
  auto result = valueOf(linearAttention(keys, keys, values, options));
  EXPECT_THAT(result.o.data, isNear(values.data, 1e-12));
}

TEST(LinearAttention, NamesWhatDoesNotFit) {
  Inputs inputs(3);
  auto text = [&](const LinearAttentionOptions &options) {
    return errorText(linearAttention(inputs.q, inputs.k, inputs.v, options));
  };
  LinearAttentionOptions options;
  options.beta = Tensor64({1, 2, 3});
  EXPECT_THAT(text(options), HasSubstr("extent 1 of beta: expected 1, got 2"));
  options.beta.reset();
  options.decay = Tensor64({1, 1, 3, 3});
  EXPECT_THAT(text(options), HasSubstr("extent 3 of decay: expected 4, got 3"));
  options.decay.reset();
  options.initial = Tensor64({1, 1, 4, 4});
  EXPECT_THAT(text(options),
              HasSubstr("extent 3 of initial: expected 3, got 4"));
  inputs.v = generate(2, {1, 1, 2, 3});
  EXPECT_THAT(text({}), HasSubstr("extent 2 of value: expected 3, got 2"));
}

} // namespace
