//===- FusedBeatsTwinTest.cpp - Fusion must be worth it -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One graph, compiled by both lowerings, timed in turn in one process on one
// thread: what slows this machine down slows both.
//
//===----------------------------------------------------------------------===//

#include "attn/Pipelines/Compiler.h"
#include "attn/Support/HostTensor.h"
#include "attn/Support/InputSpec.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <chrono>
#include <limits>

using namespace attn;
using namespace llvm;

/// Two heads of GPT-2 at its full context.
static constexpr StringLiteral kGraph = R"mlir(
!t = tensor<?x2x?x64xf32>
!s = tensor<?x2x?x?xf32>
func.func @attention(%q: !t, %k: !t, %v: !t) -> !t {
  %s = attn.qk %q, %k : !t, !t -> !s
  %c = attn.scale %s by 0.125 : !s
  %p = attn.masked_softmax %c causal(top_left) : !s
  %o = attn.weighted_sum %p, %v : !s, !t -> !t
  return %o : !t
}
)mlir";
static constexpr int64_t kShape[] = {1, 2, 1024, 64};

namespace {

/// The graph compiled by one lowering, ready to run.
class Kernel {
public:
  explicit Kernel(Lowering lowering, MutableArrayRef<HostTensor> inputs)
      : output(cantFail(HostTensor::create(ElementType::f32, kShape))) {
    CompileRequest request;
    request.input = kGraph;
    request.lowering = lowering;
    request.target = cantFail(resolveTarget("native"));
    compilation = cantFail(compileToMemory(request));
    std::vector<CallArgument> arguments;
    for (HostTensor &input : inputs)
      arguments.push_back(input.view());
    TensorView view = output.view();
    call = std::make_unique<PreparedCall>(
        cantFail(compilation.module->prepare("attention", arguments, view)));
  }

  /// Runs once and keeps the best time.
  void time() {
    auto start = std::chrono::steady_clock::now();
    cantFail(call->invoke());
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count());
  }

  double bestSeconds() const { return best; }
  const HostTensor &result() const { return output; }

private:
  HostTensor output;
  Compilation compilation;
  std::unique_ptr<PreparedCall> call;
  double best = std::numeric_limits<double>::infinity();
};

TEST(Performance, FusedBeatsTwinByFive) {
  std::vector<HostTensor> inputs;
  InputSpec random;
  random.kind = InputSpec::Kind::Random;
  for (uint64_t seed = 0; seed < 3; ++seed)
    inputs.push_back(
        cantFail(materialise(random, ElementType::f32, kShape, seed)));
  Kernel fused(Lowering::Fused, inputs), twin(Lowering::Twin, inputs);
  for (int n = 0; n < 4; ++n) {
    twin.time();
    fused.time();
  }
  EXPECT_GT(twin.bestSeconds(), 5 * fused.bestSeconds())
      << "twin " << twin.bestSeconds() * 1e3 << " ms, fused "
      << fused.bestSeconds() * 1e3 << " ms";
  RecordProperty("ratio",
                 std::to_string(twin.bestSeconds() / fused.bestSeconds()));
  // They computed the same thing.
  for (int64_t n = 0; n < fused.result().numElements(); ++n)
    ASSERT_NEAR(fused.result().get(n), twin.result().get(n), 1e-4) << n;
}

} // namespace
