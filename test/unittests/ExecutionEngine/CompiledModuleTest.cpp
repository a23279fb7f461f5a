//===- CompiledModuleTest.cpp - From the LLVM dialect to a checked call ---===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles hand-written modules, loads them and calls them rightly and wrongly.
//
//===----------------------------------------------------------------------===//

#include "attn/ExecutionEngine/CompiledModule.h"

#include "../Support/TestFiles.h"
#include "TestModule.h"
#include "attn/ExecutionEngine/CodeGenerator.h"
#include "attn/ExecutionEngine/ObjectCache.h"
#include "attn/Support/Error.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <gmock/gmock.h>

#include <algorithm>

using namespace attn;
using namespace attn::test;
using testing::HasSubstr;
using testing::Not;

namespace {

/// The global that describes the module, as the compiler writes it.
std::string infoGlobal(std::string json) {
  json.erase(std::remove(json.begin(), json.end(), '\n'), json.end());
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "llvm.mlir.global external constant @__attn_module_info(\"";
  llvm::printEscapedString(json, stream);
  stream << "\\00\") {addr_space = 0 : i32}\n";
  return text;
}

std::string generate(const std::string &text, CodeKind kind = CodeKind::Object,
                     llvm::StringRef targetName = "native",
                     CodegenOptions options = {}) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::LLVM::LLVMDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "the test module does not parse";
    return {};
  }
  Target target = valueOf(resolveTarget(targetName));
  return valueOf(generateCode(*module, target, options, kind));
}

std::string scaleAddText() { return infoGlobal(kScaleAddInfo) + kScaleAdd; }

/// The module with `scale_add`, compiled once.
CompiledModule &scaleAdd() {
  static auto module = valueOf(CompiledModule::load(generate(scaleAddText())));
  return *module;
}

HostTensor tensor(ElementType type, llvm::ArrayRef<int64_t> shape) {
  return valueOf(HostTensor::create(type, shape));
}

/// A tensor [rows, 4] with 0, 1, 2, ... times `step`.
HostTensor ramp(int64_t rows, double step) {
  HostTensor result = tensor(ElementType::f32, {rows, 4});
  for (int64_t i = 0; i < result.numElements(); ++i)
    result.set(i, i * step);
  return result;
}

std::string runError(std::vector<CallArgument> inputs,
                     std::vector<TensorView> outputs,
                     llvm::StringRef function = "scale_add") {
  return errorText(scaleAdd().run(function, inputs, outputs));
}

TEST(CompiledModule, RunsAndDescribesItself) {
  ASSERT_EQ(scaleAdd().info().functions.size(), 1u);
  EXPECT_EQ(scaleAdd().info().functions[0].args[1].name, "s");
  for (int64_t rows : {0, 1, 3, 17}) {
    HostTensor a = ramp(rows, 1), b = ramp(rows, 0.5);
    std::vector<CallArgument> inputs = {a.view(), 2.0, b.view()};
    auto shapes = valueOf(scaleAdd().resultShapes("scale_add", inputs));
    EXPECT_THAT(shapes, testing::ElementsAre(std::vector<int64_t>{rows, 4}));
    HostTensor r = ramp(rows, -1);
    TensorView out = r.view();
    ASSERT_EQ(llvm::toString(scaleAdd().run("scale_add", inputs, out)), "");
    for (int64_t i = 0; i < 4 * rows; ++i)
      EXPECT_EQ(r.get(i), 2.5 * i);
  }
}

TEST(CompiledModule, WorksAtEveryLevelAndOnEveryTarget) {
  HostTensor a = ramp(5, 1), b = ramp(5, 0.5);
  std::vector<CallArgument> inputs = {a.view(), 2.0, b.view()};
  for (const char *name : {"x86-64", "x86-64-v3", "native"})
    for (unsigned level = 0; level <= 3; ++level) {
      llvm::Error error = hostCanExecute(valueOf(resolveTarget(name)));
      if (error) {
        llvm::consumeError(std::move(error));
        continue;
      }
      CodegenOptions options;
      options.optLevel = level;
      options.vectorize = options.unroll = level == 3;
      auto module = valueOf(CompiledModule::load(
          generate(scaleAddText(), CodeKind::Object, name, options)));
      HostTensor r = ramp(5, -1);
      TensorView out = r.view();
      ASSERT_EQ(llvm::toString(module->run("scale_add", inputs, out)), "");
      for (int64_t i = 0; i < 20; ++i)
        EXPECT_EQ(r.get(i), 2.5 * i);
    }
}

TEST(CompiledModule, TakesStridedInputs) {
  // Columns 2..5 of a [3, 8] tensor, and a row repeated by stride 0.
  HostTensor wide = tensor(ElementType::f32, {3, 8});
  for (int64_t i = 0; i < 24; ++i)
    wide.set(i, i);
  TensorView a{ElementType::f32, wide.dataAs<float>() + 2, {3, 4}, {8, 1}};
  HostTensor row = ramp(1, 100);
  TensorView b{ElementType::f32, row.data(), {3, 4}, {0, 1}};
  HostTensor r = ramp(3, -1);
  TensorView out = r.view();
  RunConfig config;
  config.remark = [](llvm::StringRef text) { ADD_FAILURE() << text.str(); };
  ASSERT_EQ(llvm::toString(
                scaleAdd().run("scale_add", {a, int64_t(3), b}, out, config)),
            "");
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 4; ++j)
      EXPECT_EQ(r.get(4 * i + j), 3 * (8 * i + 2 + j) + 100 * j);
}

TEST(CompiledModule, CopiesWhatItCannotTake) {
  // A transposed input has no unit innermost stride.
  HostTensor columns = tensor(ElementType::f32, {4, 3});
  for (int64_t i = 0; i < 12; ++i)
    columns.set(i, i);
  TensorView a{ElementType::f32, columns.data(), {3, 4}, {1, 3}};
  // An input that starts at an odd address.
  std::vector<char> bytes(12 * 4 + 1);
  HostTensor b = ramp(3, 1);
  memcpy(bytes.data() + 1, b.data(), 48);
  TensorView odd{ElementType::f32, bytes.data() + 1, {3, 4}, {4, 1}};
  HostTensor r = ramp(3, -1);
  TensorView out = r.view();
  std::vector<std::string> remarks;
  RunConfig config;
  config.remark = [&](llvm::StringRef text) { remarks.push_back(text.str()); };
  ASSERT_EQ(
      llvm::toString(scaleAdd().run("scale_add", {a, 1.0, odd}, out, config)),
      "");
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 4; ++j)
      EXPECT_EQ(r.get(4 * i + j), (3 * j + i) + (4 * i + j));
  EXPECT_THAT(
      remarks,
      testing::ElementsAre(
          "argument 'a' is copied: its innermost stride is 3, expected 1",
          HasSubstr("argument 'b' is copied")));
}

TEST(CompiledModule, ContiguousArgumentsAreCopiedWhenTheyAreNot) {
  std::string info = kScaleAddInfo;
  std::string shape = R"("shape":[null,4]})";
  info.replace(info.find(shape), shape.size(),
               R"("shape":[null,4],"contiguous":true})");
  auto module =
      valueOf(CompiledModule::load(generate(infoGlobal(info) + kScaleAdd)));
  HostTensor a = ramp(1, 1), b = ramp(2, 0), r = ramp(2, -1);
  TensorView repeated{ElementType::f32, a.data(), {2, 4}, {0, 1}};
  TensorView out = r.view();
  std::string remark;
  RunConfig config;
  config.remark = [&](llvm::StringRef text) { remark = text.str(); };
  ASSERT_EQ(llvm::toString(module->run("scale_add", {repeated, 1.0, b.view()},
                                       out, config)),
            "");
  EXPECT_THAT(remark, HasSubstr("row-major order"));
  EXPECT_EQ(r.get(7), 3);
}

TEST(CompiledModule, RefusesWrongArguments) {
  HostTensor a = ramp(3, 1), b = ramp(3, 1), r = ramp(3, 0);
  TensorView out = r.view();
  EXPECT_EQ(runError({a.view(), 1.0}, {out}),
            "function 'scale_add': expected 3 arguments, got 2");
  EXPECT_EQ(runError({a.view(), a.view(), b.view()}, {out}),
            "argument 's': expected a scalar, got a tensor");
  EXPECT_EQ(runError({1.0, 1.0, b.view()}, {out}),
            "argument 'a': expected a tensor, got a scalar");
  HostTensor cube = tensor(ElementType::f32, {3, 4, 1});
  EXPECT_EQ(runError({cube.view(), 1.0, b.view()}, {out}),
            "argument 'a': expected rank 2, got 3");
  HostTensor half = tensor(ElementType::f16, {3, 4});
  EXPECT_EQ(runError({a.view(), 1.0, half.view()}, {out}),
            "argument 'b': expected f32, got f16");
  HostTensor narrow = tensor(ElementType::f32, {3, 3});
  EXPECT_EQ(runError({narrow.view(), 1.0, b.view()}, {out}),
            "argument 'a': extent 1 is 3, expected 4");
  HostTensor longer = ramp(5, 1);
  EXPECT_EQ(runError({a.view(), 1.0, longer.view()}, {out}),
            "argument 'b': extent 0 is 5, expected 3 as in 'a'");
  TensorView negative{ElementType::f32, a.data(), {-3, 4}, {4, 1}};
  EXPECT_THAT(runError({negative, 1.0, b.view()}, {out}),
              HasSubstr("argument 'a': "));
  TensorView huge{ElementType::f32, a.data(), {int64_t(1) << 62, 4}, {4, 1}};
  EXPECT_THAT(runError({huge, 1.0, b.view()}, {out}),
              HasSubstr("argument 'a': "));
  TensorView nothing{ElementType::f32, nullptr, {3, 4}, {4, 1}};
  EXPECT_EQ(runError({nothing, 1.0, b.view()}, {out}),
            "argument 'a': expected 12 elements, got no data");
  TensorView noStrides{ElementType::f32, a.data(), {3, 4}, {1}};
  EXPECT_EQ(runError({noStrides, 1.0, b.view()}, {out}),
            "argument 'a': expected 2 strides, got 1");
  // Strides that leave the address space: by one product, by their sum, by the
  // size of an element, backwards, and by the address alone.
  constexpr int64_t far = int64_t(1) << 62;
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{far, 1},
                               {-far, 1},
                               {INT64_MIN, 1},
                               {INT64_MAX, 1},
                               {far / 2, far / 2},
                               {int64_t(1) << 60, 1},
                               {-(int64_t(1) << 60), 1},
                               {-(int64_t(1) << 50), 1}}) {
    TensorView wild{ElementType::f32, a.data(), {3, 4}, {rows, columns}};
    EXPECT_EQ(runError({wild, 1.0, b.view()}, {out}),
              "argument 'a': expected memory that exists, but strides " +
                  formatShape({rows, columns}) +
                  " of shape 3x4 leave the address space");
  }
  // The stride of a single row is not used.
  HostTensor row = ramp(1, 1), rowOut = ramp(1, 0);
  TensorView single{ElementType::f32, row.data(), {1, 4}, {INT64_MIN, 1}};
  TensorView result = rowOut.view();
  EXPECT_EQ(llvm::toString(
                scaleAdd().run("scale_add", {single, 1.0, row.view()}, result)),
            "");
  EXPECT_EQ(runError({a.view(), 1.0, b.view()}, {out}, "scale"),
            "unknown function 'scale', the module has: scale_add");
}

TEST(CompiledModule, RefusesWrongOutputs) {
  HostTensor a = ramp(3, 1), b = ramp(3, 1), r = ramp(3, 0);
  std::vector<CallArgument> inputs = {a.view(), 1.0, b.view()};
  EXPECT_EQ(runError(inputs, {}),
            "function 'scale_add': expected 1 outputs, got 0");
  HostTensor wrongType = tensor(ElementType::i32, {3, 4});
  EXPECT_EQ(runError(inputs, {wrongType.view()}),
            "result 0: expected f32, got i32");
  HostTensor wrongShape = ramp(2, 0);
  EXPECT_EQ(runError(inputs, {wrongShape.view()}),
            "result 0: expected shape 3x4, got 2x4");
  TensorView gaps{ElementType::f32, r.data(), {3, 4}, {8, 1}};
  EXPECT_THAT(runError(inputs, {gaps}),
              HasSubstr("result 0: expected row-major memory without gaps"));
  TensorView nothing{ElementType::f32, nullptr, {3, 4}, {4, 1}};
  EXPECT_THAT(runError(inputs, {nothing}), HasSubstr("got none"));
}

TEST(CompiledModule, RefusesOutputsThatOverlapInputs) {
  // 4 rows of 4; views begin at any of the 64 elements behind them.
  HostTensor a = ramp(16, 1), b = ramp(4, 1);
  auto at = [&](int64_t element, int64_t stride) {
    return TensorView{
        ElementType::f32, a.dataAs<float>() + element, {4, 4}, {stride, 1}};
  };
  auto error = [&](const TensorView &input, const TensorView &output) {
    std::vector<CallArgument> inputs = {input, 1.0, b.view()};
    TensorView result = output;
    return llvm::toString(scaleAdd().run("scale_add", inputs, result));
  };
  auto bytes = [&](int64_t begin, int64_t end) {
    float *base = a.dataAs<float>();
    return llvm::formatv("bytes {0:x} to {1:x}",
                         reinterpret_cast<intptr_t>(base + begin),
                         reinterpret_cast<intptr_t>(base + end))
        .str();
  };
  auto overlap = [&](int64_t output, int64_t input, int64_t inputEnd) {
    return "result 0: expected memory apart from the arguments, got " +
           bytes(output, output + 16) + ", which overlaps argument 'a' in " +
           bytes(input, inputEnd);
  };
  // The same memory, one element at either end, and neighbours.
  EXPECT_EQ(error(at(16, 4), at(16, 4)), overlap(16, 16, 32));
  EXPECT_EQ(error(at(16, 4), at(31, 4)), overlap(31, 16, 32));
  EXPECT_EQ(error(at(16, 4), at(1, 4)), overlap(1, 16, 32));
  EXPECT_EQ(error(at(16, 4), at(32, 4)), "");
  EXPECT_EQ(error(at(16, 4), at(0, 4)), "");
  // Rows 20 apart leave gaps of 16 elements, in which an output fits.
  EXPECT_EQ(error(at(0, 20), at(4, 4)), "");
  EXPECT_EQ(error(at(0, 20), at(24, 4)), "");
  EXPECT_EQ(error(at(0, 20), at(23, 4)), overlap(23, 0, 64));
  EXPECT_EQ(error(at(0, 20), at(25, 4)), overlap(25, 0, 64));
  // Backwards, and one row again and again.
  EXPECT_EQ(error(at(60, -20), at(3, 4)), overlap(3, 0, 64));
  EXPECT_EQ(error(at(60, -20), at(4, 4)), "");
  EXPECT_EQ(error(at(8, 0), at(11, 4)), overlap(11, 8, 12));
  EXPECT_EQ(error(at(8, 0), at(12, 4)), "");
  // Nothing overlaps nothing.
  TensorView none{ElementType::f32, a.data(), {0, 4}, {4, 1}};
  std::vector<CallArgument> inputs = {none, 1.0, none};
  EXPECT_EQ(llvm::toString(scaleAdd().run("scale_add", inputs, none)), "");
}

TEST(CompiledModule, RefusesOutputsThatOverlapEachOther) {
  // f32 [3], then f64 [1].
  static auto module = valueOf(
      CompiledModule::load(generate(infoGlobal(kScalarsInfo) + kScalars)));
  HostTensor memory = tensor(ElementType::f64, {4});
  std::vector<CallArgument> inputs = {1.0, 1.0, int64_t(1), int64_t(1), 1.0};
  auto error = [&](int64_t second) {
    std::vector<TensorView> outputs = {
        {ElementType::f32, memory.data(), {3}, {1}},
        {ElementType::f64, memory.dataAs<double>() + second, {1}, {1}}};
    return llvm::toString(module->run("scalars", inputs, outputs));
  };
  EXPECT_THAT(error(1), HasSubstr("result 1: expected memory apart from the "
                                  "other results, got bytes"));
  EXPECT_THAT(error(1), HasSubstr("which overlaps result 0 in bytes"));
  EXPECT_EQ(error(2), "");
}

TEST(CompiledModule, PreparedCallsCanBeRepeated) {
  HostTensor a = ramp(2, 1), b = ramp(2, 0), r = ramp(2, 0);
  TensorView out = r.view();
  PreparedCall call =
      valueOf(scaleAdd().prepare("scale_add", {a.view(), 2.0, b.view()}, out));
  PreparedCall moved = std::move(call);
  for (int i = 0; i < 3; ++i) {
    a.set(7, i);
    ASSERT_EQ(llvm::toString(moved.invoke()), "");
    EXPECT_EQ(r.get(7), 2 * i);
  }
}

TEST(CompiledModule, RunsTasksAndReportsMemory) {
  auto module = valueOf(
      CompiledModule::load(generate(infoGlobal(kSquaresInfo) + kSquares)));
  EXPECT_THAT(module->info().find("squares")->remarks,
              testing::ElementsAre("a remark"));
  for (unsigned threads : {1u, 2u, 4u})
    for (int64_t n : {0, 1, 1000}) {
      HostTensor r = tensor(ElementType::i64, {n});
      TensorView out = r.view();
      RunStatistics statistics;
      RunConfig config;
      config.threads = threads;
      config.statistics = &statistics;
      ASSERT_EQ(llvm::toString(module->run("squares", {n}, out, config)), "");
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(r.dataAs<int64_t>()[i], i * i);
      EXPECT_EQ(statistics.peakBytes,
                8 * n + 8 * std::min<int64_t>(threads, n));
      EXPECT_EQ(statistics.leakedBytes, 0);
    }
  // A result shape that makes no sense.
  EXPECT_THAT(errorText(module->resultShapes("squares", {int64_t(-1)})),
              HasSubstr("result 0: "));
}

TEST(CompiledModule, PassesScalarsAndConvertsHalves) {
  // Without F16C and AVX512-BF16 LLVM calls the runtime's conversions.
  for (const char *target : {"x86-64", "native"}) {
    auto module = valueOf(CompiledModule::load(generate(
        infoGlobal(kScalarsInfo) + kScalars, CodeKind::Object, target)));
    HostTensor r = tensor(ElementType::f32, {3});
    HostTensor w = tensor(ElementType::f64, {1});
    TensorView outs[] = {r.view(), w.view()};
    auto call = [&](CallArgument flag, CallArgument i) {
      return module->run("scalars",
                         {1.0009765625 + 1e-5, 0.333251953125, flag, i, 1e300},
                         outs);
    };
    ASSERT_EQ(llvm::toString(call(int64_t(1), int64_t(-7))), "");
    EXPECT_EQ(r.get(0), 1.0009765625); // 11 bits
    EXPECT_EQ(r.get(1), 1.0);          // 8 bits
    EXPECT_EQ(r.get(2), 0.333251953125);
    EXPECT_EQ(w.get(0), 1e300 - 7);
    ASSERT_EQ(llvm::toString(call(int64_t(0), int64_t(-7))), "");
    EXPECT_EQ(w.get(0), 0.0);
    EXPECT_EQ(errorText(call(int64_t(2), int64_t(0))),
              "argument 'flag': 2 does not fit i1");
    EXPECT_EQ(errorText(call(int64_t(1), int64_t(1) << 31)),
              "argument 'i': 2147483648 does not fit i32");
    EXPECT_THAT(errorText(call(int64_t(1), 0.5)),
                HasSubstr("argument 'i': expected an integer (i32), got 0.5"));
  }
}

TEST(CompiledModule, NamesWhatCannotBeLinked) {
  std::string text = scaleAddText() + R"(
llvm.func @attn_not_there()
llvm.func @_mlir_ciface_other() {
  llvm.call @attn_not_there() : () -> ()
  llvm.return
})";
  EXPECT_EQ(errorText(CompiledModule::load(generate(text))),
            "unresolved symbol 'attn_not_there' in the compiled object");
  // What the process has is not there for generated code.
  text = scaleAddText() + R"(
llvm.func @system(!llvm.ptr) -> i32
llvm.func @_mlir_ciface_other(%p: !llvm.ptr) {
  %0 = llvm.call @system(%p) : (!llvm.ptr) -> i32
  llvm.return
})";
  EXPECT_EQ(errorText(CompiledModule::load(generate(text))),
            "unresolved symbol 'system' in the compiled object");
  // An entry in the description without a function.
  std::string info = kScaleAddInfo;
  info.replace(info.find("scale_add"), 9, "scale_sub");
  EXPECT_THAT(
      errorText(CompiledModule::load(generate(infoGlobal(info) + kScaleAdd))),
      HasSubstr("__attn_packed_scale_sub"));
  EXPECT_THAT(errorText(CompiledModule::load(generate(kScaleAdd))),
              HasSubstr("__attn_module_info"));
}

TEST(CompiledModule, RefusesWhatIsNoObject) {
  EXPECT_THAT(errorText(CompiledModule::load("")),
              HasSubstr("not a compiled object"));
  EXPECT_THAT(errorText(CompiledModule::load("MZ no object")),
              HasSubstr("not a compiled object"));
  std::string object = generate(scaleAddText());
  for (size_t length : {size_t(10), size_t(63), object.size() / 2})
    EXPECT_NE(errorText(CompiledModule::load(object.substr(0, length))), "");
}

TEST(CompiledModule, ComesFromTheCache) {
  TemporaryFolder folder;
  ObjectCache cache = valueOf(ObjectCache::open(folder.path("cache")));
  std::string key =
      objectKey(scaleAddText(), {}, valueOf(resolveTarget("native")));
  ASSERT_EQ(llvm::toString(cache.store(key, generate(scaleAddText()))), "");
  auto object = cache.lookup(key);
  ASSERT_NE(object, nullptr);
  auto module = valueOf(CompiledModule::load(object->getBuffer()));
  object.reset();
  HostTensor a = ramp(2, 1), b = ramp(2, 1), r = ramp(2, 0);
  TensorView out = r.view();
  ASSERT_EQ(
      llvm::toString(module->run("scale_add", {a.view(), 1.0, b.view()}, out)),
      "");
  EXPECT_EQ(r.get(7), 14);
}

TEST(CodeGenerator, WritesTextForReaders) {
  std::string ir = generate(scaleAddText(), CodeKind::LLVMIR, "x86-64-v3");
  EXPECT_THAT(ir, HasSubstr("define void @__attn_packed_scale_add(ptr"));
  EXPECT_THAT(ir, HasSubstr("\"target-cpu\"=\"x86-64-v3\""));
  EXPECT_THAT(ir, HasSubstr("\"prefer-vector-width\"=\"256\""));
  EXPECT_THAT(ir, HasSubstr("+avx2"));
  std::string assembly =
      generate(scaleAddText(), CodeKind::Assembly, "x86-64-v3");
  EXPECT_THAT(assembly, HasSubstr("__attn_packed_scale_add:"));
  // No unwind tables: nothing unwinds.
  EXPECT_THAT(assembly, Not(HasSubstr(".cfi_startproc")));
  // Product and sum are separate operations of the source, and stay so.
  EXPECT_THAT(assembly, HasSubstr("vmulss"));
  EXPECT_THAT(assembly, Not(HasSubstr("vfmadd")));
}

} // namespace
