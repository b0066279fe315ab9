// Short names where another dialect is the default, and names that are around a function, which sees none of them: as in LLVM.
// RUN: bp-opt --allow-unregistered-dialect %s --split-input-file --verify-diagnostics

"test.holder"() ({
  // expected-error@+1 {{'return' is short for 'func.return' only in a function in custom form: here write 'func.return'}}
  return
}) : () -> ()

// -----

"func.func"() <{function_type = (i32) -> i32, sym_name = "f"}> ({
^bb0(%x: i32):
  // expected-error@+1 {{'call' is short for 'func.call' only in a function in custom form}}
  %y = call @f(%x) : (i32) -> i32
  "func.return"(%y) : (i32) -> ()
}) : () -> ()

// -----

func.func @f() {
  // expected-error@+1 {{'module' is short for 'builtin.module' only outside of functions: here write 'builtin.module'}}
  module {
  }
  return
}

// -----

// expected-note@+1 {{'%0' is first defined here}}
%0 = "test.v"() : () -> i32
func.func @f() {
  // expected-error@+1 {{redefinition of value '%0'}}
  %0 = "test.v"() : () -> i32
  return
}

// -----

// expected-note@+1 {{it is defined here}}
%0 = "test.v"() : () -> i32
"func.func"() <{function_type = () -> (), sym_name = "f"}> ({
  // expected-error@+1 {{operand 0 is defined outside of 'func.func', which sees no value around it}}
  "test.use"(%0) : (i32) -> ()
  "func.return"() : () -> ()
}) : () -> ()
