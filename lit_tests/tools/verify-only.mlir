// RUN: bp-opt %s --allow-unregistered-dialect --verify-only > %t.out
// RUN: bp-opt %s --allow-unregistered-dialect >> %t.out
// RUN: FileCheck %s --input-file=%t.out

// CHECK-COUNT-1: "ext.a"() : () -> ()
// CHECK-NOT: "ext.a"
"ext.a"() : () -> ()
