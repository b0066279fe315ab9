// What is printed in generic form is what mlir-opt prints, and mlir-opt reads it as the same module.
// REQUIRES: mlir-opt
// RUN: bp-opt %s --allow-unregistered-dialect --print-op-generic > %t.ours
// RUN: bp-opt %s --allow-unregistered-dialect --mlir-print-op-generic | diff - %t.ours
// RUN: %mlir-opt %t.ours --allow-unregistered-dialect --mlir-print-op-generic > %t.again
// RUN: %mlir-opt %s --allow-unregistered-dialect --mlir-print-op-generic | diff - %t.again
// RUN: FileCheck %s --input-file=%t.ours

module @outer {
  // CHECK: %[[A:[0-9]+]] = "ext.a"() <{n = 1 : i32}> : () -> i32
  %0 = "ext.a"() <{n = 1 : i32}> : () -> i32
  // CHECK: "ext.b"(%[[A]]) ({
  "ext.b"(%0) ({
  ^bb0(%x: i32):
    "ext.c"(%x) {s = "a\0Ab", u} : (i32) -> ()
  }) : (i32) -> ()
}
