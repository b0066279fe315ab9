// A pass that fails leaves its input and its command, and the command fails in the same way.
// RUN: %not bp-opt %s --allow-unregistered-dialect --pass-pipeline='canonicalize,plan-inference' --crash-reproducer=%t.mlir 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: %not bp-opt %t.mlir --allow-unregistered-dialect --pass=plan-inference 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: error: pass 'plan-inference' expects a dist module
// CHECK: // bp-opt {{.*}}reproducer.mlir{{.*}} --pass=plan-inference --allow-unregistered-dialect
// CHECK: "ext.a"() : () -> ()
"ext.a"() : () -> ()
