//===- TestModule.h - A hand-written module in the LLVM dialect -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// See the LICENSE file for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler hands to the execution engine, written by hand, so that the
// calling convention is tested without the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_UNITTESTS_EXECUTIONENGINE_TESTMODULE_H
#define ATTN_UNITTESTS_EXECUTIONENGINE_TESTMODULE_H

namespace attn::test {

/// r = a * s + b for tensors [N, 4] of f32; all strides are honoured. N of `a`
/// and `b` must agree.
inline constexpr const char *kScaleAddInfo =
    R"({"functions":[{"name":"scale_add",
        "args":[{"name":"a","kind":"tensor","type":"f32","shape":[null,4]},
                {"name":"s","kind":"scalar","type":"f32"},
                {"name":"b","kind":"tensor","type":"f32","shape":[null,4]}],
        "results":[{"type":"f32","shape":[null,4]}],
        "checks":["argument 'b': extent 0 is {1}, expected {0} as in 'a'"]}]})";

inline constexpr const char *kScaleAdd = R"mlir(
llvm.func @_mlir_ciface_scale_add(%a: !llvm.ptr, %s: f32, %b: !llvm.ptr,
                                  %r: !llvm.ptr) {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c4 = llvm.mlir.constant(4 : i64) : i64
  %np = llvm.getelementptr %a[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %n = llvm.load %np : !llvm.ptr -> i64
  %empty = llvm.icmp "eq" %n, %c0 : i64
  llvm.cond_br %empty, ^exit, ^rows(%c0 : i64)
^rows(%i: i64):
  llvm.br ^columns(%c0 : i64)
^columns(%j: i64):
  %pa = llvm.call @element(%a, %i, %j) : (!llvm.ptr, i64, i64) -> !llvm.ptr
  %pb = llvm.call @element(%b, %i, %j) : (!llvm.ptr, i64, i64) -> !llvm.ptr
  %pr = llvm.call @element(%r, %i, %j) : (!llvm.ptr, i64, i64) -> !llvm.ptr
  %va = llvm.load %pa : !llvm.ptr -> f32
  %vb = llvm.load %pb : !llvm.ptr -> f32
  %m = llvm.fmul %va, %s : f32
  %v = llvm.fadd %m, %vb : f32
  llvm.store %v, %pr : f32, !llvm.ptr
  %j1 = llvm.add %j, %c1 : i64
  %moreColumns = llvm.icmp "slt" %j1, %c4 : i64
  llvm.cond_br %moreColumns, ^columns(%j1 : i64), ^nextRow
^nextRow:
  %i1 = llvm.add %i, %c1 : i64
  %moreRows = llvm.icmp "slt" %i1, %n : i64
  llvm.cond_br %moreRows, ^rows(%i1 : i64), ^exit
^exit:
  llvm.return
}
// Address of element (i, j) of a memref descriptor of rank 2.
llvm.func @element(%d: !llvm.ptr, %i: i64, %j: i64) -> !llvm.ptr {
  %dp = llvm.getelementptr %d[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %data = llvm.load %dp : !llvm.ptr -> !llvm.ptr
  %op = llvm.getelementptr %d[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %offset = llvm.load %op : !llvm.ptr -> i64
  %s0p = llvm.getelementptr %d[40] : (!llvm.ptr) -> !llvm.ptr, i8
  %s0 = llvm.load %s0p : !llvm.ptr -> i64
  %row = llvm.mul %i, %s0 : i64
  %base = llvm.add %row, %offset : i64
  // The innermost stride is 1 by agreement.
  %index = llvm.add %base, %j : i64
  %p = llvm.getelementptr %data[%index] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.return %p : !llvm.ptr
}
// dims = [Na, 4, 0, Nb, 4]
llvm.func @__attn_shape_scale_add(%dims: !llvm.ptr, %results: !llvm.ptr,
                                  %values: !llvm.ptr) -> i64 {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c4 = llvm.mlir.constant(4 : i64) : i64
  %na = llvm.load %dims : !llvm.ptr -> i64
  %nbp = llvm.getelementptr %dims[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %nb = llvm.load %nbp : !llvm.ptr -> i64
  %same = llvm.icmp "eq" %na, %nb : i64
  llvm.cond_br %same, ^fine, ^bad
^fine:
  llvm.store %na, %results : i64, !llvm.ptr
  %r1 = llvm.getelementptr %results[1] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %c4, %r1 : i64, !llvm.ptr
  llvm.return %c0 : i64
^bad:
  llvm.store %na, %values : i64, !llvm.ptr
  %v1 = llvm.getelementptr %values[1] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %nb, %v1 : i64, !llvm.ptr
  llvm.return %c1 : i64
}
)mlir";

/// r[i] = i * i by tasks, through a temporary of 8 * n bytes. n comes as a
/// scalar.
inline constexpr const char *kSquaresInfo =
    R"({"functions":[{"name":"squares",
        "args":[{"name":"n","kind":"scalar","type":"index"}],
        "results":[{"type":"i64","shape":[null]}],"checks":[],
        "remarks":["a remark"]}]})";

inline constexpr const char *kSquares = R"mlir(
llvm.func @attnParallelFor(i64, i64, !llvm.ptr, !llvm.ptr)
llvm.func @_mlir_memref_to_llvm_alloc(i64) -> !llvm.ptr
llvm.func @_mlir_memref_to_llvm_free(!llvm.ptr)
llvm.func @memcpy(!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
llvm.func @task(%context: !llvm.ptr, %i: i64, %scratch: !llvm.ptr) {
  %square = llvm.mul %i, %i : i64
  // By way of the scratch, so that it is really there.
  llvm.store volatile %square, %scratch : i64, !llvm.ptr
  %again = llvm.load volatile %scratch : !llvm.ptr -> i64
  %p = llvm.getelementptr %context[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %again, %p : i64, !llvm.ptr
  llvm.return
}
llvm.func @_mlir_ciface_squares(%n: i64, %r: !llvm.ptr) {
  %c8 = llvm.mlir.constant(8 : i64) : i64
  %bytes = llvm.mul %n, %c8 : i64
  %t = llvm.call @_mlir_memref_to_llvm_alloc(%bytes) : (i64) -> !llvm.ptr
  %fn = llvm.mlir.addressof @task : !llvm.ptr
  llvm.call @attnParallelFor(%n, %c8, %fn, %t)
      : (i64, i64, !llvm.ptr, !llvm.ptr) -> ()
  %dp = llvm.getelementptr %r[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %data = llvm.load %dp : !llvm.ptr -> !llvm.ptr
  %d = llvm.call @memcpy(%data, %t, %bytes)
      : (!llvm.ptr, !llvm.ptr, i64) -> !llvm.ptr
  llvm.call @_mlir_memref_to_llvm_free(%t) : (!llvm.ptr) -> ()
  llvm.return
}
llvm.func @__attn_shape_squares(%dims: !llvm.ptr, %results: !llvm.ptr,
                                %values: !llvm.ptr) -> i64 {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %n = llvm.load %dims : !llvm.ptr -> i64
  llvm.store %n, %results : i64, !llvm.ptr
  llvm.return %c0 : i64
}
)mlir";

/// Scalars of every kind, and f32 to 16-bit floats and back: results are
/// [f16 of x, bf16 of x, half] as f32, [i + wide] as i64.
inline constexpr const char *kScalarsInfo =
    R"({"functions":[{"name":"scalars",
        "args":[{"name":"x","kind":"scalar","type":"f32"},
                {"name":"half","kind":"scalar","type":"f16"},
                {"name":"flag","kind":"scalar","type":"i1"},
                {"name":"i","kind":"scalar","type":"i32"},
                {"name":"wide","kind":"scalar","type":"f64"}],
        "results":[{"type":"f32","shape":[3]},{"type":"f64","shape":[1]}],
        "checks":[]}]})";

inline constexpr const char *kScalars = R"mlir(
llvm.func @_mlir_ciface_scalars(%x: f32, %half: f16, %flag: i1, %i: i32,
                                %wide: f64, %r: !llvm.ptr, %w: !llvm.ptr) {
  %dp = llvm.getelementptr %r[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %data = llvm.load %dp : !llvm.ptr -> !llvm.ptr
  %h = llvm.fptrunc %x : f32 to f16
  %h32 = llvm.fpext %h : f16 to f32
  llvm.store %h32, %data : f32, !llvm.ptr
  %b = llvm.fptrunc %x : f32 to bf16
  %b32 = llvm.fpext %b : bf16 to f32
  %p1 = llvm.getelementptr %data[1] : (!llvm.ptr) -> !llvm.ptr, f32
  llvm.store %b32, %p1 : f32, !llvm.ptr
  %half32 = llvm.fpext %half : f16 to f32
  %p2 = llvm.getelementptr %data[2] : (!llvm.ptr) -> !llvm.ptr, f32
  llvm.store %half32, %p2 : f32, !llvm.ptr
  %wp = llvm.getelementptr %w[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %wdata = llvm.load %wp : !llvm.ptr -> !llvm.ptr
  %i64 = llvm.sitofp %i : i32 to f64
  %sum = llvm.fadd %i64, %wide : f64
  %zero = llvm.mlir.constant(0.0 : f64) : f64
  %chosen = llvm.select %flag, %sum, %zero : i1, f64
  llvm.store %chosen, %wdata : f64, !llvm.ptr
  llvm.return
}
llvm.func @__attn_shape_scalars(%dims: !llvm.ptr, %results: !llvm.ptr,
                                %values: !llvm.ptr) -> i64 {
  %c0 = llvm.mlir.constant(0 : i64) : i64
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %c3 = llvm.mlir.constant(3 : i64) : i64
  llvm.store %c3, %results : i64, !llvm.ptr
  %r1 = llvm.getelementptr %results[1] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %c1, %r1 : i64, !llvm.ptr
  llvm.return %c0 : i64
}
)mlir";

} // namespace attn::test

#endif // ATTN_UNITTESTS_EXECUTIONENGINE_TESTMODULE_H
