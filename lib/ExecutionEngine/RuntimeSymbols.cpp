//===- RuntimeSymbols.cpp - The names generated code may refer to ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A closed list: a name that is not here is an error when an object is loaded,
// not whatever the process happens to export under it.
//
//===----------------------------------------------------------------------===//

#include "RuntimeFunctions.h"
#include "attn/ExecutionEngine/CPURuntime.h"

#include <cmath>
#include <cstring>

using namespace attn;

using Int128 = __int128;
using UInt128 = unsigned __int128;

// The compiler's own library has these.
extern "C" {
Int128 __divti3(Int128 left, Int128 right);
Int128 __modti3(Int128 left, Int128 right);
UInt128 __udivti3(UInt128 left, UInt128 right);
UInt128 __umodti3(UInt128 left, UInt128 right);
Int128 __fixsfti(float value);
Int128 __fixdfti(double value);
UInt128 __fixunssfti(float value);
UInt128 __fixunsdfti(double value);
float __floattisf(Int128 value);
double __floattidf(Int128 value);
float __floatuntisf(UInt128 value);
double __floatuntidf(UInt128 value);
}

namespace {

template <typename Function> void *address(Function *function) {
  return reinterpret_cast<void *>(function);
}

using Unary32 = float(float);
using Unary64 = double(double);
using Binary32 = float(float, float);
using Binary64 = double(double, double);

// The casts choose between the overloads that C++ adds to libm's functions.
#define UNARY(NAME)                                                            \
  {#NAME "f", address<Unary32>(::NAME##f)}, { #NAME, address<Unary64>(::NAME) }
#define BINARY(NAME)                                                           \
  {#NAME "f", address<Binary32>(::NAME##f)}, {                                 \
    #NAME, address<Binary64>(::NAME)                                           \
  }

const RuntimeSymbol symbols[] = {
    // The project's own.
    {"attnParallelFor", address(attnParallelFor)},
    {"attnThreadCount", address(attnThreadCount)},
    {"_mlir_memref_to_llvm_alloc", address(attnAllocate)},
    {"_mlir_memref_to_llvm_aligned_alloc", address(attnAlignedAllocate)},
    {"_mlir_memref_to_llvm_free", address(attnFree)},
    {"memrefCopy", address(attnMemRefCopy)},
    // compiler-rt's names.
    {"__truncsfhf2", address(attnTruncF32ToF16)},
    {"__truncdfhf2", address(attnTruncF64ToF16)},
    {"__truncsfbf2", address(attnTruncF32ToBF16)},
    {"__truncdfbf2", address(attnTruncF64ToBF16)},
    {"__extendhfsf2", address(attnExtendF16ToF32)},
    {"__extendhfdf2", address(attnExtendF16ToF64)},
    {"__extendbfsf2", address(attnExtendBF16ToF32)},
    {"__gnu_f2h_ieee", address(attnTruncF32ToF16Bits)},
    {"__gnu_h2f_ieee", address(attnExtendF16BitsToF32)},
    {"__powisf2", address(attnPowiF32)},
    {"__powidf2", address(attnPowiF64)},
    {"__divti3", address(__divti3)},
    {"__modti3", address(__modti3)},
    {"__udivti3", address(__udivti3)},
    {"__umodti3", address(__umodti3)},
    {"__fixsfti", address(__fixsfti)},
    {"__fixdfti", address(__fixdfti)},
    {"__fixunssfti", address(__fixunssfti)},
    {"__fixunsdfti", address(__fixunsdfti)},
    {"__floattisf", address(__floattisf)},
    {"__floattidf", address(__floattidf)},
    {"__floatuntisf", address(__floatuntisf)},
    {"__floatuntidf", address(__floatuntidf)},
    // libc.
    {"memcpy", address<void *(void *, const void *, size_t)>(::memcpy)},
    {"memmove", address<void *(void *, const void *, size_t)>(::memmove)},
    {"memset", address<void *(void *, int, size_t)>(::memset)},
    {"memcmp", address<int(const void *, const void *, size_t)>(::memcmp)},
    {"bcmp", address<int(const void *, const void *, size_t)>(::memcmp)},
    // libm.
    UNARY(acos),
    UNARY(acosh),
    UNARY(asin),
    UNARY(asinh),
    UNARY(atan),
    UNARY(atanh),
    UNARY(cbrt),
    UNARY(ceil),
    UNARY(cos),
    UNARY(cosh),
    UNARY(erf),
    UNARY(erfc),
    UNARY(exp),
    UNARY(exp10),
    UNARY(exp2),
    UNARY(expm1),
    UNARY(fabs),
    UNARY(floor),
    UNARY(log),
    UNARY(log10),
    UNARY(log1p),
    UNARY(log2),
    UNARY(nearbyint),
    UNARY(rint),
    UNARY(round),
    UNARY(roundeven),
    UNARY(sin),
    UNARY(sinh),
    UNARY(sqrt),
    UNARY(tan),
    UNARY(tanh),
    UNARY(trunc),
    BINARY(atan2),
    BINARY(copysign),
    BINARY(fmax),
    BINARY(fmin),
    BINARY(fmod),
    BINARY(pow),
    {"fmaf", address<float(float, float, float)>(::fmaf)},
    {"fma", address<double(double, double, double)>(::fma)},
    {"ldexpf", address<float(float, int)>(::ldexpf)},
    {"ldexp", address<double(double, int)>(::ldexp)},
    {"sincosf", address<void(float, float *, float *)>(::sincosf)},
    {"sincos", address<void(double, double *, double *)>(::sincos)},
};

#undef UNARY
#undef BINARY

} // namespace

llvm::ArrayRef<RuntimeSymbol> attn::runtimeSymbols() { return symbols; }
