// A name hides no other one, even in what is isolated from above, so that LLVM reads what is printed; names of neighbours may be equal.
// RUN: bp-opt --allow-unregistered-dialect --print-op-generic %s | FileCheck %s

// CHECK: "builtin.module"() ({
// CHECK-NEXT: %0 = "test.v"() : () -> i32
// CHECK-NEXT: "func.func"()
// CHECK-NEXT: ^bb0(%arg0: i32):
// CHECK-NEXT: %2 = "test.v"() : () -> i32
// CHECK: "func.func"()
// CHECK-NEXT: ^bb0(%arg0: i32):
// CHECK-NEXT: %2 = "test.v"() : () -> i32
// CHECK: %1 = "test.v"() : () -> i32
%0 = "test.v"() : () -> i32
func.func @f(%arg0: i32) {
  %1 = "test.v"() : () -> i32
  return
}
func.func @g(%arg0: i32) {
  %1 = "test.v"() : () -> i32
  return
}
%2 = "test.v"() : () -> i32
