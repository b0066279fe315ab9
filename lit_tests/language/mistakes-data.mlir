// Affine attributes, elements, resources and properties that LLVM refuses as well.
// RUN: bp-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --verify-only

// expected-error@+1 {{'symbol' is before an SSA value in parentheses, and an affine attribute holds none}}
"e.a"() {v = affine_map<(i) -> (symbol(i))>} : () -> ()
// -----
// expected-error@+1 {{'symbol' is before an SSA value in parentheses, and an affine attribute holds none}}
"e.a"() {v = affine_map<(symbol) -> (symbol)>} : () -> ()
// -----
// expected-error@+1 {{a pair has two elements, no lists}}
"e.a"() {v = dense<([1], 2)> : tensor<1xcomplex<i32>>} : () -> ()
// -----
// expected-error@+1 {{data needs a tensor, vector or memref type, not i32}}
"e.a"() {v = dense_resource<a> : i32} : () -> ()
// -----
"e.a"() : () -> ()
// expected-error@+1 {{the alignment of 'a', its first four bytes, is 3, no power of two}}
{-# dialect_resources: { builtin: { a: "0x0300000001000000" } } #-}
// -----
// expected-error@+2 {{'func.return' has no properties}}
"func.func"() <{sym_name = "f", function_type = () -> ()}> ({
  "func.return"() <{a = 1}> : () -> ()
}) : () -> ()
