// The body of a parallel loop becomes a function of the task's number; what it
// reads is passed, its static allocations become slices of the scratch.

// RUN: attn-opt %s --attn-cpu-outline-tasks --split-input-file | FileCheck %s

// CHECK: func.func private @f_task_0(%[[N:.*]]: index, %[[SCRATCH:.*]]: memref<?xi8>, %[[X:.*]]: memref<?xf32>, %[[ROWS:.*]]: index) {
// The last loop variable runs fastest.
// CHECK: %[[J:.*]] = arith.remui %[[N]], %{{.*}}
// CHECK: %[[I:.*]] = arith.divui %[[N]], %{{.*}}
// CHECK-DAG: memref.view %[[SCRATCH]][%c0{{.*}}][] : memref<?xi8> to memref<3xf32>
// CHECK-DAG: memref.view %[[SCRATCH]][%c64{{.*}}][] : memref<?xi8> to memref<5xf32>
// CHECK-NOT: memref.alloc
// CHECK: return
// CHECK: func.func private @f_parallel_0(index, memref<?xf32>, index) attributes {attn.scratch_bytes = 128 : i64, attn.task = @f_task_0}
// CHECK-LABEL: func.func @f
// CHECK: %[[TASKS:.*]] = arith.muli
// CHECK: call @f_parallel_0(%[[TASKS]], %{{.*}}, %{{.*}})
func.func @f(%x: memref<?xf32>, %rows: index) {
  scf.forall (%i, %j) in (%rows, 4) {
    %a = memref.alloc() : memref<3xf32>
    %b = memref.alloc() : memref<5xf32>
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %a[%j] : memref<3xf32>
    memref.store %v, %b[%j] : memref<5xf32>
  }
  return
}

// -----

// The runtime knows how many threads there are.
// CHECK: func.func private @attnThreadCount() -> i64
// CHECK-LABEL: func.func @threads
// CHECK: %[[COUNT:.*]] = call @attnThreadCount() : () -> i64
// CHECK: %[[THREADS:.*]] = arith.index_cast %[[COUNT]] : i64 to index
// CHECK: return %[[THREADS]], %[[THREADS2:.*]] : index, index
func.func @threads() -> (index, index) {
  %n = attn.thread_count
  %m = attn.thread_count
  return %n, %m : index, index
}

// -----

// A user's function of that name stays itself.
// CHECK: func.func private @f_task_0_{{[0-9]+}}(
// CHECK: func.func private @f_parallel_0({{.*}}attn.task = @f_task_0_{{[0-9]+}}
// CHECK: func.func @f_task_0() -> i32
func.func @f(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (4) {
    memref.store %zero, %x[%i] : memref<4xf32>
  }
  return
}
func.func @f_task_0() -> i32 {
  %c = arith.constant 1 : i32
  return %c : i32
}
