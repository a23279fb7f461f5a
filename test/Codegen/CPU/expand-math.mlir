// Math functions on one register become instructions of the target.

// RUN: attn-opt %s --attn-cpu-expand-math --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-cpu-expand-math --split-input-file --remarks-filter-missed=attn \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
// AVX-512: reduce, a polynomial of degree 5, scalef.
// CHECK-LABEL: func.func @exp2_avx512
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"
// CHECK-COUNT-5: vector.fma
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK-NOT: math.
func.func @exp2_avx512(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp2 %x : vector<16xf32>
  return %y : vector<16xf32>
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v3", isa = avx2, l1 = 32768, l2 = 1048576>} {
// AVX2: clamp, floor by a magic number, polynomial, shift. Far below, the result
// is 0, and computed from 0, for no step may be denormal.
// CHECK-LABEL: func.func @exp2_avx2
// CHECK-SAME: %[[T:.*]]: vector<8xf32>)
// CHECK-NOT: llvm.call_intrinsic
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK: %[[LOW:.*]] = arith.constant dense<-1.260000e+02>
// CHECK: %[[VANISHES:.*]] = arith.cmpf olt, %[[T]], %[[LOW]]
// CHECK: arith.select %[[VANISHES]], %[[ZERO]], %[[T]]
// CHECK-COUNT-5: vector.fma
// CHECK: arith.shli
// CHECK: %[[RESULT:.*]] = arith.mulf
// CHECK: arith.select %[[VANISHES]], %[[ZERO]], %[[RESULT]]
// CHECK-NOT: math.
func.func @exp2_avx2(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.exp2 %x : vector<8xf32>
  return %y : vector<8xf32>
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64", isa = portable, l1 = 32768, l2 = 1048576>} {
// Without the instruction, fma is a product and a sum, also in polynomials.
// CHECK-LABEL: func.func @portable
// CHECK-NOT: fma
// CHECK-NOT: math.{{exp2|tanh}}
// CHECK: return
func.func @portable(%x: vector<4xf32>) -> vector<4xf32> {
  %y = math.exp2 %x : vector<4xf32>
  %z = math.tanh %y : vector<4xf32>
  return %z : vector<4xf32>
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v3", isa = avx2, l1 = 32768, l2 = 1048576>} {
// The multiple of pi / 2 is taken away in f64; beyond, each lane is a call.
// CHECK-LABEL: func.func @sine
// CHECK: scf.if
// CHECK: scf.for
// CHECK: math.sin %{{.*}} : f32
// CHECK: } else {
// CHECK: arith.extf %{{.*}} : vector<8xf32> to vector<8xf64>
// CHECK-NOT: math.
// A scalar is one call.
// CHECK: %[[Y:.*]] = math.sin %{{.*}} : f32
// CHECK: return {{.*}}, %[[Y]]
func.func @sine(%x: vector<8xf32>, %y: f32) -> (vector<8xf32>, f32) {
  %z = math.sin %x : vector<8xf32>
  %w = math.sin %y : f32
  return %z, %w : vector<8xf32>, f32
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v3", isa = avx2, l1 = 32768, l2 = 1048576>} {
// An expansion into another function is expanded in turn.
// CHECK-LABEL: func.func @nested
// CHECK-NOT: math.log
// CHECK: return
func.func @nested(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.log1p %x : vector<8xf32>
  return %y : vector<8xf32>
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v3", isa = avx2, l1 = 32768, l2 = 1048576>} {
// What has no expansion stays, with a remark; on scalars it is what it was.
// REMARK: Function=power {{.*}}math.powf is one library call for each pair of query and key
// CHECK-LABEL: func.func private @power_task_0
// CHECK: math.powf
func.func private @power_task_0(%x: vector<8xf32>, %y: f32) -> (vector<8xf32>, f32) {
  %z = math.powf %x, %x : vector<8xf32>
  %w = math.powf %y, %y : f32
  return %z, %w : vector<8xf32>, f32
}
// REMARK: Function=rest {{.*}}arith.remf is one library call for each pair of query and key
// CHECK-LABEL: func.func @rest
func.func @rest(%x: vector<8xf32>, %y: f32) -> (vector<8xf32>, f32) {
  %z = arith.remf %x, %x : vector<8xf32>
  %w = arith.remf %y, %y : f32
  return %z, %w : vector<8xf32>, f32
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v4", isa = avx512, l1 = 32768, l2 = 1048576>} {
// f64: the same by a polynomial of degree 11, in registers of half as many lanes.
// CHECK-LABEL: func.func @exp2_f64_avx512
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.pd.512"({{.*}}) : (vector<8xf64>, i32, vector<8xf64>, i8, i32)
// CHECK-COUNT-11: vector.fma
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.pd.512"
// CHECK-NOT: math.
func.func @exp2_f64_avx512(%x: vector<8xf64>) -> vector<8xf64> {
  %y = math.exp2 %x : vector<8xf64>
  return %y : vector<8xf64>
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v3", isa = avx2, l1 = 32768, l2 = 1048576>} {
// CHECK-LABEL: func.func @exp2_f64_avx2
// CHECK: arith.constant dense<-1.022000e+03>
// CHECK-COUNT-11: vector.fma
// CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : vector<4xf64> to vector<4xi64>
// CHECK: arith.shli %[[BITS]]
// CHECK-NOT: math.
func.func @exp2_f64_avx2(%x: vector<4xf64>) -> vector<4xf64> {
  %y = math.exp2 %x : vector<4xf64>
  return %y : vector<4xf64>
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64", isa = portable, l1 = 32768, l2 = 1048576>} {
// Functions of f64 that scores and sums are made of, on vectors of any length.
// CHECK-LABEL: func.func @functions_f64
// CHECK-NOT: math.{{exp|log|tanh}}
// CHECK-NOT: fma
// CHECK: return
func.func @functions_f64(%x: vector<2xf64>, %y: vector<16xf64>) -> (vector<2xf64>, vector<16xf64>) {
  %0 = math.exp %x : vector<2xf64>
  %1 = math.log %0 : vector<2xf64>
  %2 = math.tanh %y : vector<16xf64>
  return %1, %2 : vector<2xf64>, vector<16xf64>
}
}

// -----

module attributes {attn.target = #attn.target<cpu = "x86-64-v3", isa = avx2, l1 = 32768, l2 = 1048576>} {
// Others are those of libm.
// REMARK: Function=erf_f64 {{.*}}math.erf is one library call for each pair of query and key
// REMARK-NOT: Function=
// CHECK-LABEL: func.func @erf_f64
// CHECK: math.erf
func.func @erf_f64(%x: vector<4xf64>) -> vector<4xf64> {
  %y = math.erf %x : vector<4xf64>
  return %y : vector<4xf64>
}
}
