// What is not produced, and what is not expected, fails the run.
// RUN: %not bp-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics 2>&1 | FileCheck %s

// CHECK: differ.mlir:5:4: error: expected error 'nothing is wrong' was not produced
// expected-error@below {{nothing is wrong}}
"ext.good"() : () -> ()
// -----
// CHECK: differ.mlir:9:{{[0-9]+}}: error: unexpected error: {{.}}
"ext.bad"( : () -> ()
