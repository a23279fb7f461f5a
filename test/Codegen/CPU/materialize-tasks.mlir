// A parallel call gets its body: the captures go through a struct on the stack of
// the caller, and the pool calls the task with each number.

// RUN: attn-opt %s --attn-cpu-materialize-tasks | FileCheck %s

// CHECK: llvm.func @attnParallelFor(i64, i64, !llvm.ptr, !llvm.ptr)
// CHECK-LABEL: llvm.func internal @task_invoke(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// CHECK: %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
// CHECK: llvm.call @task({{.*}}, %[[X]])
// CHECK-LABEL: llvm.func internal @parallel(%{{.*}}: i64, %{{.*}}: f32)
// CHECK: llvm.alloca
// CHECK: llvm.store
// CHECK: llvm.mlir.addressof @task_invoke
// CHECK: llvm.call @attnParallelFor
llvm.func @parallel(i64, f32) attributes {attn.task = @task, attn.scratch_bytes = 64 : i64}
llvm.func @task(%n: i64, %base: !llvm.ptr, %aligned: !llvm.ptr, %offset: i64, %size: i64, %stride: i64, %x: f32) {
  llvm.return
}
