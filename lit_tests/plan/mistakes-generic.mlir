// Plans in generic form, where a word may be any string; and lists and lifetimes in custom form.
// RUN: bp-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{'kind' of 'plan.task' must be one of compute, collective, transfer, barrier, host, not "think"}}
"plan.task"() <{sym_name = "a", kind = "think", operation = "gelu", work = #bp.work<>}> : () -> ()
// -----
// expected-error@+1 {{unknown phase 'forwards'; did you mean 'forward'?}}
"plan.task"() <{sym_name = "a", kind = "compute", operation = "gelu", phase = "forwards", work = #bp.work<>}> : () -> ()
// -----
// expected-error@+1 {{unknown role or storage class of a buffer}}
"plan.buffer"() <{sym_name = "b", role = "inn", storage = "persistent", alignment = 16, live = [0, 0],
  size = #bp.expr<1>}> : () -> ()
// -----
// expected-error@+2 {{'reads' names a buffer twice [plan.R1]}}
plan.buffer @in : input<device_local> align 16 live [0, 0] size <4> consumers [@a]
plan.task @a compute gelu work <read = 4> reads [@in, @in]
// -----
// It is given back before b reads it.
// expected-error@+1 {{@in is used by tasks 0 to 1, but lives from 0 to 0 [plan.R3]}}
plan.buffer @in : input<device_local> align 16 live [0, 0] size <4> consumers [@a, @b]
plan.task @a compute gelu work <read = 4> reads [@in]
plan.task @b compute gelu work <read = 4> reads [@in]
// -----
// expected-error@+1 {{'other_form' and 'other_work' come together: another form of the operation, and its work}}
"plan.task"() <{sym_name = "a", kind = "compute", operation = "gelu", other_form = "absorbed", work = #bp.work<>}> : () -> ()
