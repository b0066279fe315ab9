// Each part that fails has a reproducer of its own, and a note names it.
// RUN: %not bp-opt %s --split-input-file --allow-unregistered-dialect --pass=plan-inference --crash-reproducer=%t.mlir 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: FileCheck %s --input-file=%t.mlir --check-prefix=FIRST
// RUN: FileCheck %s --input-file=%t.2.mlir --check-prefix=SECOND
// RUN: %not bp-opt %t.2.mlir --allow-unregistered-dialect --pass=plan-inference 2>&1 | FileCheck %s --check-prefix=AGAIN

// ERROR: error: pass 'plan-inference' expects a dist module
// ERROR: note: what the pass was given, and the command, are in '{{.*}}.mlir'
// ERROR: error: pass 'plan-inference' expects a dist module
// ERROR: note: what the pass was given, and the command, are in '{{.*}}.2.mlir'
// FIRST: // bp-opt {{.*}}.mlir --pass=plan-inference
// FIRST: "ext.a"() : () -> ()
// SECOND: // bp-opt {{.*}}.2.mlir --pass=plan-inference
// SECOND: "ext.b"() : () -> ()
// AGAIN: error: pass 'plan-inference' expects a dist module
"ext.a"() : () -> ()
// -----
"ext.b"() : () -> ()
