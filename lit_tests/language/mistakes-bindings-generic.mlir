// Fields of bindings in generic form, where a field may hold anything.
// RUN: bp-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{unknown field 'tenser'; did you mean 'tensor'?}}
"bind.strategy"() <{sym_name = "s", fields = {tenser = #bp.expr<2>}}> : () -> ()
// -----
// expected-error@+1 {{'communication' must be one of all_reduce, reduce_scatter_all_gather}}
"bind.strategy"() <{sym_name = "s", fields = {communication = "gossip"}}> : () -> ()
// -----
// expected-error@+1 {{'tensor' must be an expression (#bp.expr<...>)}}
"bind.strategy"() <{sym_name = "s", fields = {tensor = "two"}}> : () -> ()
// -----
// Half a rank.
// expected-error@+1 {{'tensor' must be a positive integer, not 1/2}}
"bind.strategy"() <{sym_name = "s", fields = {tensor = #bp.expr<1/2>}}> : () -> ()
// -----
// A revision is a number, not a symbol.
bp.symbols r
// expected-error@+1 {{'abi' of a target must be a positive number, not r}}
bind.target @t queue {abi = r, alignment = 64} implements {gelu = "qm.map"}
// -----
// Fields are a dictionary, an empty one if nothing is said.
// expected-error@+1 {{'fields' of 'bind.workload' must be a dictionary of fields, not unit}}
"bind.workload"() <{sym_name = "w", kind = "training", fields}> : () -> ()
"bind.strategy"() <{sym_name = "s", fields = {}}> : () -> ()
// -----
// expected-error@+1 {{'fields' of 'bind.workload' must be a dictionary of fields, not #bp.work<>}}
"bind.workload"() <{sym_name = "w", kind = "training", fields = #bp.work<>}> : () -> ()
// -----
// expected-error@+1 {{'fields' of 'bind.deployment' must be a dictionary of fields, not [#bp.expr<8>]}}
"bind.deployment"() <{sym_name = "n", fields = [#bp.expr<8>]}> : () -> ()
// -----
// expected-error@+1 {{'stages' must be an array of positive integers (#bp.expr<...>)}}
"bind.strategy"() <{fields = {stages = [#bp.expr<0>], tensor = #bp.expr<1>}, sym_name = "s"}> : () -> ()
