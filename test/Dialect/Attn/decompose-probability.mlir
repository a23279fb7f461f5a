// A program on weights that is not known to be homogeneous makes attention two
// ops: the log-sum-exp, then weights from it. One that is stays.

// RUN: attn-opt %s --attn-decompose-probability --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-decompose-probability --split-input-file --remarks-filter-missed=attn \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// One feature of the values for the log-sum-exp; the weights are e to the score
// minus it, which comes in two parts; its row is counted from the offsets.
// CHECK-LABEL: func.func @square
// CHECK-SAME: %[[Q:[^:]*]]: tensor<?x8x?x64xf32>, %[[V:[^:]*]]: tensor<?x2x?x32xf32>, %[[O:[^:]*]]: tensor<?x8x?x32xf32>, %[[OB:[^:]*]]: index
// CHECK: %[[COLUMN:.*]] = tensor.extract_slice %[[V]][0, 0, 0, 0] [%{{.*}}, 2, %{{.*}}, 1] [1, 1, 1, 1]
// CHECK: %[[ONE:.*]] = tensor.empty(%{{.*}}) : tensor<?x8x?x1xf32>
// CHECK: %[[L:.*]] = tensor.empty(%{{.*}}) : tensor<?x8x?xf32>
// CHECK: %[[R:.*]] = tensor.empty(%{{.*}}) : tensor<?x8x?xf32>
// CHECK: %[[FIRST:.*]]:3 = attn.attention ins(%[[Q]], %{{.*}}, %[[COLUMN]] : {{.*}}) outs(%[[ONE]], %[[L]], %[[R]] : {{.*}}) scale 1.250000e-01 offsets({{.*}}) sink(%{{.*}} : tensor<8xf32>) mask {
// CHECK: attn.attention ins(%[[Q]], %{{.*}}, %[[V]] : {{.*}}) outs(%[[O]] : {{.*}}) scale 1.250000e-01 offsets({{.*}}) unnormalized score {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %{{.*}}: index):
// CHECK-NEXT: %[[ROWB:.*]] = arith.subi %[[B]], %[[OB]] : index
// CHECK: %[[LSE:.*]] = tensor.extract %[[FIRST]]#1[%[[ROWB]], %{{.*}}, %{{.*}}] : tensor<?x8x?xf32>
// CHECK: %[[T:.*]] = arith.subf %[[S]], %[[LSE]] : f32
// CHECK: %[[REST:.*]] = tensor.extract %[[FIRST]]#2[%[[ROWB]], %{{.*}}, %{{.*}}] : tensor<?x8x?xf32>
// CHECK: arith.subf %[[T]], %[[REST]] : f32
// CHECK: %[[P:.*]] = math.exp2 %{{.*}} : f32
// CHECK-NEXT: %[[SQUARE:.*]] = arith.mulf %[[P]], %[[P]] : f32
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[SQUARE]] : f32
// CHECK: mask {
// REMARK: two-passes | {{.*}}Function=square {{.*}}'arith.mulf' in the program on weights needs normalised weights: the keys are passed twice
func.func @square(%q: tensor<?x8x?x64xf32>, %v: tensor<?x2x?x32xf32>, %o: tensor<?x8x?x32xf32>, %at: index, %k: tensor<?x2x?x64xf32>, %sink: tensor<8xf32>) -> tensor<?x8x?x32xf32> {
  %r = attn.attention ins(%q, %k, %v : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x32xf32>) outs(%o : tensor<?x8x?x32xf32>)
      scale 0.125 offsets(%at, %at, %at, %at) sink(%sink : tensor<8xf32>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.cmpi sle, %j, %i : index
    attn.yield %x : i1
  } probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.mulf %p, %p : f32
    attn.yield %x : f32
  } -> tensor<?x8x?x32xf32>
  return %r : tensor<?x8x?x32xf32>
}

// -----

// Products, quotients, sums and selections of multiples are one.
// CHECK-LABEL: func.func @linear
// CHECK-NOT: unnormalized
func.func @linear(%q: tensor<?x8x?x64xf32>, %o: tensor<?x8x?x64xf32>, %g: tensor<8x?xf32>) -> tensor<?x8x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%o : tensor<?x8x?x64xf32>) scale 0.125 probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %g[%h, %j] : tensor<8x?xf32>
    %c = arith.cmpi slt, %i, %j : index
    %zero = arith.constant 0.0 : f32
    %m = arith.mulf %x, %p : f32
    %n = arith.negf %m : f32
    %d = arith.divf %p, %x : f32
    %a = arith.addf %n, %d : f32
    %y = arith.select %c, %a, %zero : f32
    attn.yield %y : f32
  } -> tensor<?x8x?x64xf32>
  return %r : tensor<?x8x?x64xf32>
}

// -----

// 0 is a multiple.
// CHECK-LABEL: func.func @nothing
// CHECK-NOT: unnormalized
func.func @nothing(%q: tensor<?x8x?x64xf32>, %o: tensor<?x8x?x64xf32>, %g: tensor<8x?xf32>) -> tensor<?x8x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%o : tensor<?x8x?x64xf32>) scale 0.125 probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %g[%h, %j] : tensor<8x?xf32>
    %c = arith.cmpi slt, %i, %j : index
    %zero = arith.constant 0.0 : f32
    %y = arith.mulf %zero, %p : f32
    attn.yield %y : f32
  } -> tensor<?x8x?x64xf32>
  return %r : tensor<?x8x?x64xf32>
}

// -----

// Not what is divided by the weight.
// CHECK-LABEL: func.func @inverse
// CHECK: unnormalized
// REMARK: Function=inverse {{.*}}'arith.divf'
func.func @inverse(%q: tensor<?x8x?x64xf32>, %o: tensor<?x8x?x64xf32>, %g: tensor<8x?xf32>) -> tensor<?x8x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%o : tensor<?x8x?x64xf32>) scale 0.125 probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %g[%h, %j] : tensor<8x?xf32>
    %c = arith.cmpi slt, %i, %j : index
    %zero = arith.constant 0.0 : f32
    %y = arith.divf %x, %p : f32
    attn.yield %y : f32
  } -> tensor<?x8x?x64xf32>
  return %r : tensor<?x8x?x64xf32>
}

// -----

// Nor a sum with something else.
// CHECK-LABEL: func.func @shifted
// CHECK: unnormalized
// REMARK: Function=shifted {{.*}}'arith.addf'
func.func @shifted(%q: tensor<?x8x?x64xf32>, %o: tensor<?x8x?x64xf32>, %g: tensor<8x?xf32>) -> tensor<?x8x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%o : tensor<?x8x?x64xf32>) scale 0.125 probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %g[%h, %j] : tensor<8x?xf32>
    %c = arith.cmpi slt, %i, %j : index
    %zero = arith.constant 0.0 : f32
    %y = arith.addf %p, %x : f32
    attn.yield %y : f32
  } -> tensor<?x8x?x64xf32>
  return %r : tensor<?x8x?x64xf32>
}

// -----

// Nor what the weight decides.
// CHECK-LABEL: func.func @threshold
// CHECK: unnormalized
// REMARK: Function=threshold {{.*}}'arith.cmpf'
func.func @threshold(%q: tensor<?x8x?x64xf32>, %o: tensor<?x8x?x64xf32>, %g: tensor<8x?xf32>) -> tensor<?x8x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%o : tensor<?x8x?x64xf32>) scale 0.125 probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %g[%h, %j] : tensor<8x?xf32>
    %c = arith.cmpi slt, %i, %j : index
    %zero = arith.constant 0.0 : f32
    %t = arith.cmpf ogt, %p, %x : f32
    %y = arith.select %t, %p, %zero : f32
    attn.yield %y : f32
  } -> tensor<?x8x?x64xf32>
  return %r : tensor<?x8x?x64xf32>
}

// -----

// Nor a rounding, which a factor changes.
// CHECK-LABEL: func.func @rounded
// CHECK: unnormalized
// REMARK: Function=rounded {{.*}}'arith.truncf'
func.func @rounded(%q: tensor<?x8x?x64xf32>, %o: tensor<?x8x?x64xf32>, %g: tensor<8x?xf32>) -> tensor<?x8x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%o : tensor<?x8x?x64xf32>) scale 0.125 probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %g[%h, %j] : tensor<8x?xf32>
    %c = arith.cmpi slt, %i, %j : index
    %zero = arith.constant 0.0 : f32
    %t = arith.truncf %p : f32 to bf16
    %y = arith.extf %t : bf16 to f32
    attn.yield %y : f32
  } -> tensor<?x8x?x64xf32>
  return %r : tensor<?x8x?x64xf32>
}

// -----

// A branch is not looked into.
// CHECK-LABEL: func.func @branch
// CHECK: unnormalized
// REMARK: Function=branch {{.*}}'scf.if'
func.func @branch(%q: tensor<?x8x?x64xf32>, %o: tensor<?x8x?x64xf32>, %g: tensor<8x?xf32>) -> tensor<?x8x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%o : tensor<?x8x?x64xf32>) scale 0.125 probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %g[%h, %j] : tensor<8x?xf32>
    %c = arith.cmpi slt, %i, %j : index
    %zero = arith.constant 0.0 : f32
    %y = scf.if %c -> f32 {
      scf.yield %p : f32
    } else {
      scf.yield %zero : f32
    }
    attn.yield %y : f32
  } -> tensor<?x8x?x64xf32>
  return %r : tensor<?x8x?x64xf32>
}

// -----

// What does not depend on the weight is no multiple of it.
// CHECK-LABEL: func.func @constant
// CHECK: unnormalized
// REMARK: Function=constant {{.*}}the program on weights needs normalised weights
func.func @constant(%q: tensor<?x8x?x64xf32>, %o: tensor<?x8x?x64xf32>, %g: tensor<8x?xf32>) -> tensor<?x8x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) outs(%o : tensor<?x8x?x64xf32>) scale 0.125 probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = tensor.extract %g[%h, %j] : tensor<8x?xf32>
    %c = arith.cmpi slt, %i, %j : index
    %zero = arith.constant 0.0 : f32
    %y = arith.addf %x, %x : f32
    attn.yield %y : f32
  } -> tensor<?x8x?x64xf32>
  return %r : tensor<?x8x?x64xf32>
}

// -----

// Weights of f64 need a log-sum-exp of f64, whatever is asked for.
// CHECK-LABEL: func.func @double
// CHECK-SAME: %[[L:[^:]*]]: tensor<1x1x5xf32>)
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<1x1x5xf64>
// CHECK: %[[FIRST:.*]]:3 = attn.attention {{.*}} outs(%{{.*}}, %[[EMPTY]], %{{.*}} : tensor<1x1x5x1xf64>, tensor<1x1x5xf64>, tensor<1x1x5xf64>)
// CHECK: attn.attention {{.*}} unnormalized score {
// CHECK: tensor.extract %[[FIRST]]#1[{{.*}}] : tensor<1x1x5xf64>
// CHECK: linalg.map { arith.truncf } ins(%[[FIRST]]#1 : tensor<1x1x5xf64>) outs(%[[L]] : tensor<1x1x5xf32>)
func.func @double(%q: tensor<1x1x5x8xf64>, %l: tensor<1x1x5xf32>) -> (tensor<1x1x5x8xf64>, tensor<1x1x5xf32>) {
  %r:2 = attn.attention ins(%q, %q, %q : tensor<1x1x5x8xf64>, tensor<1x1x5x8xf64>, tensor<1x1x5x8xf64>) outs(%q, %l : tensor<1x1x5x8xf64>, tensor<1x1x5xf32>) scale 1.0 probability {
  ^bb0(%p: f64, %b: index, %h: index, %i: index, %j: index):
    %x = arith.mulf %p, %p : f64
    attn.yield %x : f64
  } -> tensor<1x1x5x8xf64>, tensor<1x1x5xf32>
  return %r#0, %r#1 : tensor<1x1x5x8xf64>, tensor<1x1x5xf32>
}

// -----

// Both ops have all that the one had, attributes of users too, but for the
// schedule, which was chosen for the one.
// CHECK-LABEL: func.func @everything
// CHECK: attn.attention ins({{.*}}) outs({{.*}} : tensor<2x4x5x1xf32>, tensor<2x4x5xf32>, tensor<2x4x5xf32>) scale 5.000000e-01 offsets(
// CHECK-SAME: sink({{.*}}) table({{.*}}) key_scale({{.*}}) value_scale({{.*}}) rotated half({{.*}}) {note = "kept"} score {
// CHECK: } mask {
// CHECK-NOT: probability
// CHECK: attn.attention ins({{.*}}) outs({{.*}} : tensor<2x4x5x16xf32>) scale 5.000000e-01 offsets(
// CHECK-SAME: table({{.*}}) key_scale({{.*}}) value_scale({{.*}}) rotated half({{.*}}) unnormalized {note = "kept"} score {
// CHECK: } mask {
// CHECK-NOT: probability
// CHECK: return
!q = tensor<2x4x5x16xf32>
!p = tensor<9x2x16x16xi8>
!n = tensor<9x2x16xf32>
func.func @everything(%q: !q, %k: !p, %ks: !n, %t: tensor<2x4xi32>, %c: tensor<5x8xf32>, %sink: tensor<4xf32>, %at: index) -> !q {
  %r = attn.attention ins(%q, %k, %k : !q, !p, !p) outs(%q : !q) scale 0.5 offsets(%at, %at, %at, %at) sink(%sink : tensor<4xf32>)
      table(%t : tensor<2x4xi32>) key_scale(%ks : !n) value_scale(%ks : !n) rotated half(%c, %c : tensor<5x8xf32>, tensor<5x8xf32>)
      schedule(<kernel = queries_in_lanes, tile = [64, 60], registers = [6, 2], lanes = 8>) {note = "kept"} score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %s : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %x = arith.cmpi sle, %j, %i : index
    attn.yield %x : i1
  } probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %x = arith.mulf %p, %p : f32
    attn.yield %x : f32
  } -> !q
  return %r : !q
}

// -----

// Who asks for the remainder has that of the first pass.
// CHECK-LABEL: func.func @remainder
// CHECK-SAME: %[[L:[^:]*]]: tensor<1x1x5xf32>, %[[R:[^:]*]]: tensor<1x1x5xf32>)
// CHECK: %[[FIRST:.*]]:3 = attn.attention {{.*}} outs(%{{.*}}, %[[L]], %[[R]] : tensor<1x1x5x1xf32>, tensor<1x1x5xf32>, tensor<1x1x5xf32>)
// CHECK: %[[O:.*]] = attn.attention {{.*}} unnormalized score {
// CHECK: return %[[O]], %[[FIRST]]#1, %[[FIRST]]#2
func.func @remainder(%q: tensor<1x1x5x8xf32>, %l: tensor<1x1x5xf32>, %x: tensor<1x1x5xf32>) -> (tensor<1x1x5x8xf32>, tensor<1x1x5xf32>, tensor<1x1x5xf32>) {
  %r:3 = attn.attention ins(%q, %q, %q : tensor<1x1x5x8xf32>, tensor<1x1x5x8xf32>, tensor<1x1x5x8xf32>)
      outs(%q, %l, %x : tensor<1x1x5x8xf32>, tensor<1x1x5xf32>, tensor<1x1x5xf32>) scale 1.0 probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
    %y = arith.mulf %p, %p : f32
    attn.yield %y : f32
  } -> tensor<1x1x5x8xf32>, tensor<1x1x5xf32>, tensor<1x1x5xf32>
  return %r#0, %r#1, %r#2 : tensor<1x1x5x8xf32>, tensor<1x1x5xf32>, tensor<1x1x5xf32>
}
