// RUN: bp-opt %s --allow-unregistered-dialect --pass=canonicalize --timing --verify-replay 2>&1 >%t.out | FileCheck %s
// RUN: FileCheck %s --input-file=%t.out --check-prefix=OUT

// CHECK: Execution time report
// CHECK: Total Execution Time: {{[0-9.]+}} seconds
// CHECK: Parser
// CHECK: canonicalize
// CHECK: Replay
// CHECK: Total
// CHECK: Verification: {{[0-9.]+}}% of the total

// OUT-NOT: Execution
// OUT: "ext.a"() : () -> ()
// OUT-NOT: Execution
"ext.a"() : () -> ()
