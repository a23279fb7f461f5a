// Calls the shape function of chain.mlir with extents of q, k and v.
memref.global "private" constant @good : memref<12xi64> = dense<[2, 8, 5, 64, 2, 4, 5, 64, 2, 2, 5, 32]>
memref.global "private" constant @empty : memref<12xi64> = dense<[0, 8, 0, 64, 0, 8, 0, 64, 0, 8, 0, 32]>
memref.global "private" constant @batch : memref<12xi64> = dense<[2, 8, 5, 64, 3, 4, 5, 64, 2, 2, 6, 32]>
memref.global "private" constant @heads : memref<12xi64> = dense<[2, 8, 5, 64, 2, 3, 5, 64, 2, 2, 5, 32]>
memref.global "private" constant @no_heads : memref<12xi64> = dense<[2, 8, 5, 64, 2, 0, 5, 64, 2, 2, 5, 32]>
memref.global "private" constant @keys : memref<12xi64> = dense<[2, 8, 5, 64, 2, 4, 5, 64, 2, 2, 6, 32]>

func.func private @report(%dims: memref<12xi64>) {
  %result = memref.alloca() : memref<4xi64>
  %values = memref.alloca() : memref<2xi64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %code = func.call @__attn_shape_chain(%dims, %result, %values)
      : (memref<12xi64>, memref<4xi64>, memref<2xi64>) -> i64
  vector.print %code : i64
  %passed = arith.cmpi eq, %code, %zero : i64
  scf.if %passed {
    %extents = vector.load %result[%c0] : memref<4xi64>, vector<4xi64>
    vector.print %extents : vector<4xi64>
  } else {
    %pair = vector.load %values[%c0] : memref<2xi64>, vector<2xi64>
    vector.print %pair : vector<2xi64>
  }
  return
}

func.func @main() {
  %0 = memref.get_global @good : memref<12xi64>
  func.call @report(%0) : (memref<12xi64>) -> ()
  %1 = memref.get_global @empty : memref<12xi64>
  func.call @report(%1) : (memref<12xi64>) -> ()
  %2 = memref.get_global @batch : memref<12xi64>
  func.call @report(%2) : (memref<12xi64>) -> ()
  %3 = memref.get_global @heads : memref<12xi64>
  func.call @report(%3) : (memref<12xi64>) -> ()
  %4 = memref.get_global @no_heads : memref<12xi64>
  func.call @report(%4) : (memref<12xi64>) -> ()
  %5 = memref.get_global @keys : memref<12xi64>
  func.call @report(%5) : (memref<12xi64>) -> ()
  return
}
