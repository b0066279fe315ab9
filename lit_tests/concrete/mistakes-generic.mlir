// Concrete plans in generic form, where a word may be any string.
// RUN: bp-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{unknown phase 'forwards'; did you mean 'forward'?}}
"concrete.barrier"() <{sym_name = "a", operation = "wait", source = "a", phase = "forwards", work = #bp.work<>}> : () -> ()
// -----
// 48 is no power of two, and no buffer is an inn.
// expected-error@+2 {{unknown role or storage class of a buffer}}
// expected-error@+1 {{the alignment of a buffer is a power of two, not 48}}
"concrete.buffer"() <{sym_name = "b", role = "inn", storage = "persistent", region = @memory, alignment = 48,
  offset = #bp.expr<0>, size = #bp.expr<1>, source = "b"}> : () -> ()
