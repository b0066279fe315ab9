// Without --allow-unregistered-dialect, what belongs to no dialect of ours is an error that names the option.
// RUN: bp-opt %s --split-input-file --verify-diagnostics --verify-only

// expected-error@+1 {{operation 'x.op' is not registered; use --allow-unregistered-dialect}}
"x.op"() : () -> ()
// -----
// expected-error@+1 {{attribute '#x.a' belongs to the unknown dialect 'x'; use --allow-unregistered-dialect}}
module attributes {bp.a = #x.a<1>} {}
// -----
// expected-error@+1 {{type '!x.t' belongs to the unknown dialect 'x'; use --allow-unregistered-dialect}}
module attributes {bp.a = !x.t} {}
