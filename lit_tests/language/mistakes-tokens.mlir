// What is no token.
// RUN: bp-opt %s --split-input-file --verify-diagnostics --verify-only

// expected-error@+1 {{a name must follow '@' of a symbol}}
module @ {}
// -----
// expected-error@+1 {{unexpected character '$'}}
module $a {}
// -----
// expected-error@+1 {{unexpected byte \C3: only strings may hold text that is not ASCII}}
module é {}
// -----
// expected-error@+1 {{unknown escape '\q' in a string; use \\, \", \n, \t or \XX}}
module @"a\q" {}
// -----
// expected-error@+1 {{this string does not end on its line}}
module @a attributes {bp.a = "b} {}
