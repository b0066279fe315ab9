// What mlir-opt's users type works as they expect it, under its names and under ours.

// RUN: bp-opt %s --allow-unregistered-dialect --print-locations | FileCheck %s --check-prefix=LOCATIONS
// RUN: bp-opt %s --allow-unregistered-dialect --mlir-print-debuginfo | FileCheck %s --check-prefix=LOCATIONS
// LOCATIONS: %a = "x.def"() : () -> i32 loc("first.py":3:7)
// LOCATIONS: "x.use"(%a) : (i32) -> () loc(fused["a", "b"])

// RUN: bp-opt %s -allow-unregistered-dialect -mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// GENERIC: "builtin.module"() ({
// GENERIC-NEXT: %a = "x.def"() : () -> i32{{$}}

// RUN: bp-opt %s --allow-unregistered-dialect --color=always | FileCheck %s --check-prefix=COLOR
// RUN: bp-opt %s --allow-unregistered-dialect --color=never | FileCheck %s --check-prefix=PLAIN
// RUN: bp-opt %s --allow-unregistered-dialect --color=always -o %t.mlir
// RUN: FileCheck %s --check-prefix=PLAIN --input-file=%t.mlir
// COLOR: {{.*}}[38;5;{{[0-9]+}}
// PLAIN: {{^}}%a = "x.def"() : () -> i32{{$}}

// RUN: bp-opt %s --allow-unregistered-dialect --pass=canonicalize --mlir-print-ir-after-change > %t.out 2>&1
// RUN: FileCheck %s --check-prefix=CHANGE --input-file=%t.out
// CHANGE-NOT: IR Dump
// CHANGE: "x.use"

// RUN: bp-opt %s --allow-unregistered-dialect --pass=canonicalize --mlir-print-ir-after=canonicalize > %t.out 2>&1
// RUN: FileCheck %s --check-prefix=AFTER --input-file=%t.out
// AFTER: // -----// IR Dump After canonicalize //----- //

// RUN: bp-opt %s --allow-unregistered-dialect --mlir-timing > %t.out 2>&1
// RUN: FileCheck %s --check-prefix=TIMING --input-file=%t.out
// TIMING: Parser

// RUN: bp-opt %s --allow-unregistered-dialect --pass=canonicalize --no-verify-each --verify-replay --verify-only > %t.out
// RUN: test ! -s %t.out

%a = "x.def"() : () -> i32 loc("first.py":3:7)
"x.use"(%a) : (i32) -> () loc(fused["a", "b"])
