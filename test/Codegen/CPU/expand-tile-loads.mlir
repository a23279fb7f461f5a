// Streamed tile loads, which the dialect has no op for, by the intrinsic; the
// others stay. The address is that of the element, the stride that of the rows.

// RUN: attn-opt %s --attn-cpu-expand-tile-loads --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @streamed
// CHECK-SAME: (%[[M:.*]]: memref<?x8x64xbf16, strided<[?, 128, 1], offset: ?>>, %[[I:.*]]: index, %[[J:.*]]: index)
// CHECK: %{{.*}}, %[[OFFSET:.*]], %{{.*}}:3, %[[STRIDES:.*]]:3 = memref.extract_strided_metadata %[[M]]
// CHECK: %[[AT0:.*]] = arith.muli %[[I]], %[[STRIDES]]#0
// CHECK: %[[SUM0:.*]] = arith.addi %[[OFFSET]], %[[AT0]]
// CHECK: %[[AT1:.*]] = arith.muli %[[I]], %[[STRIDES]]#1
// CHECK: %[[SUM1:.*]] = arith.addi %[[SUM0]], %[[AT1]]
// CHECK: %[[AT2:.*]] = arith.muli %[[J]], %[[STRIDES]]#2
// CHECK: %[[SUM2:.*]] = arith.addi %[[SUM1]], %[[AT2]]
// CHECK: %[[START:.*]] = memref.extract_aligned_pointer_as_index %[[M]]
// CHECK: %[[BYTES:.*]] = arith.muli %[[SUM2]], %c2
// CHECK: %[[ADDRESS:.*]] = arith.addi %[[START]], %[[BYTES]]
// CHECK: %[[INTEGER:.*]] = arith.index_cast %[[ADDRESS]] : index to i64
// CHECK: %[[POINTER:.*]] = llvm.inttoptr %[[INTEGER]]
// CHECK: %[[ROW:.*]] = arith.muli %[[STRIDES]]#1, %c2
// CHECK: %[[STRIDE:.*]] = arith.index_cast %[[ROW]] : index to i64
// CHECK: %[[TILE:.*]] = llvm.call_intrinsic "llvm.x86.tileloaddt164.internal"(%c16_i16, %c64_i16, %[[POINTER]], %[[STRIDE]])
// CHECK: builtin.unrealized_conversion_cast %[[TILE]] : !llvm.x86_amx to !amx.tile<16x32xbf16>
// CHECK-NOT: amx.tile_load
func.func @streamed(%m: memref<?x8x64xbf16, strided<[?, 128, 1], offset: ?>>, %i: index, %j: index) -> !amx.tile<16x32xbf16> {
  %t = amx.tile_load %m[%i, %i, %j] {attn.streamed} : memref<?x8x64xbf16, strided<[?, 128, 1], offset: ?>> into !amx.tile<16x32xbf16>
  return %t : !amx.tile<16x32xbf16>
}

// -----

// A given stride is in elements, as the op's is.
// CHECK-LABEL: func.func @given_stride
// CHECK: %[[ROW:.*]] = arith.muli %c96, %c4
// CHECK: %[[STRIDE:.*]] = arith.index_cast %[[ROW]]
// CHECK: llvm.call_intrinsic "llvm.x86.tileloaddt164.internal"(%c16_i16, %c64_i16, %{{.*}}, %[[STRIDE]])
func.func @given_stride(%m: memref<4096xf32>, %i: index) -> !amx.tile<16x16xf32> {
  %c96 = arith.constant 96 : index
  %t = amx.tile_load %m[%i], %c96 {attn.streamed} : memref<4096xf32> into !amx.tile<16x16xf32>
  return %t : !amx.tile<16x16xf32>
}

// -----

// CHECK-LABEL: func.func @plain
// CHECK: amx.tile_load
// CHECK-NOT: llvm.call_intrinsic
func.func @plain(%m: memref<16x32xbf16>, %i: index) -> !amx.tile<16x32xbf16> {
  %t = amx.tile_load %m[%i, %i] : memref<16x32xbf16> into !amx.tile<16x32xbf16>
  return %t : !amx.tile<16x32xbf16>
}
