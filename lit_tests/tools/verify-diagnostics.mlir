// RUN: bp-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

"ext.good"() : () -> ()
// -----
"ext.bad"( : () -> () // expected-error {{expected}}
// -----
// expected-error@+1 {{undeclared}} expected-error@below {{undeclared}}
"ext.use"(%a, %b) : (i32, i32) -> ()
