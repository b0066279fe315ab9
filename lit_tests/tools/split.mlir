// Each part is a module of its own; lines in messages are those of the file.
// RUN: %not bp-opt %s --allow-unregistered-dialect --split-input-file 2>%t.err | FileCheck %s
// RUN: FileCheck %s --input-file=%t.err --check-prefix=ERROR

// CHECK: "ext.first"
// CHECK: // -----
"ext.first"() : () -> ()
// -----
// The next line is line 11.
// ERROR: split.mlir:11:15: error:
"ext.second"( : () -> ()
// -----
// CHECK-NEXT: // -----
// CHECK: "ext.third"
"ext.third"() : () -> ()
