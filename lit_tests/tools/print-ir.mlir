// RUN: bp-opt %s --allow-unregistered-dialect --pass=canonicalize --print-ir-before-all --print-ir-after-all 2>&1 >%t.out | FileCheck %s
// RUN: bp-opt %s --allow-unregistered-dialect --pass=canonicalize --print-ir-before=canonicalize --print-ir-after=canonicalize 2>&1 >%t.out | FileCheck %s
// RUN: bp-opt %s --allow-unregistered-dialect --pass=canonicalize --mlir-print-ir-before-all --mlir-print-ir-after-all 2>&1 >%t.out | FileCheck %s
// RUN: bp-opt %s --allow-unregistered-dialect --pass=canonicalize --print-ir-after-change 2>&1 | FileCheck %s --check-prefix=CHANGE

// CHECK: // -----// IR Dump Before canonicalize //----- //
// CHECK: "ext.a"() : () -> ()
// CHECK: // -----// IR Dump After canonicalize //----- //
// CHECK: "ext.a"() : () -> ()
// CHANGE-NOT: IR Dump
// CHANGE: "ext.a"() : () -> ()
"ext.a"() : () -> ()
