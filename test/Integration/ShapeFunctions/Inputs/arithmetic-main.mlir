// Calls the shape function of arithmetic.mlir with (extents of x, n).
func.func private @report(%rows: i64, %columns: i64, %n: i64) {
  %dims = memref.alloca() : memref<3xi64>
  %result = memref.alloca() : memref<4xi64>
  %values = memref.alloca() : memref<2xi64>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0 : i64
  memref.store %rows, %dims[%c0] : memref<3xi64>
  memref.store %columns, %dims[%c1] : memref<3xi64>
  memref.store %n, %dims[%c2] : memref<3xi64>
  %code = func.call @__attn_shape_arithmetic(%dims, %result, %values)
      : (memref<3xi64>, memref<4xi64>, memref<2xi64>) -> i64
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
  %lowest = arith.constant -9223372036854775808 : i64
  %wraps = arith.constant 4611686018427387904 : i64
  %m1 = arith.constant -1 : i64
  %c0 = arith.constant 0 : i64
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %c5 = arith.constant 5 : i64
  %c8 = arith.constant 8 : i64
  func.call @report(%c5, %c8, %c2) : (i64, i64, i64) -> ()
  func.call @report(%c5, %c8, %c3) : (i64, i64, i64) -> ()
  func.call @report(%c5, %c8, %c0) : (i64, i64, i64) -> ()
  func.call @report(%c5, %c8, %m1) : (i64, i64, i64) -> ()
  func.call @report(%c5, %c8, %lowest) : (i64, i64, i64) -> ()
  func.call @report(%c5, %c0, %wraps) : (i64, i64, i64) -> ()
  return
}
