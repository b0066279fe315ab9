"""What the gate of `plan-inference` refuses, rule by rule, and what it accepts: derived texts, edited and read again."""

from __future__ import annotations

import re
from functools import cache

import pytest
from raw import symbol_of, work_of
from support import (
    UNDECIDED,
    dropped,
    edited,
    example,
    example_text,
    gate,
    labels,
    line_of,
    network_text,
    read,
    replaced,
    run,
    shown,
    statement,
)

from bpir.dialects.bp import Work
from bpir.ir.attributes import StringAttr
from bpir.ir.diagnostic import Diagnostic
from bpir.ir.operation import Operation, clone
from bpir.ir.printer import print_module
from bpir.verifiers import boundary

RULE = "plan-inference."


@cache
def distributed(phase: str = "decode") -> Operation:
    """The distributed example, read from its text, so that diagnostics have places in it."""
    return read(print_module(run(example("transformer_block"), f"distribute-inference{{phase={phase}}}")), "dist.bpir")


@cache
def planned(phase: str = "decode") -> str:
    """The text of its plan."""
    return print_module(run(distributed(phase), "plan-inference"))


def verdict(text: str, source: Operation | None = None) -> list[Diagnostic]:
    return gate(source or distributed(), read(text, "plan.bpir"))


def refused(text: str, *expected: str, at: str, source: Operation | None = None) -> None:
    """The gate finds exactly the rules, and the first names the line."""
    found = verdict(text, source)
    assert labels(found) == set(expected), shown(found)
    first = next(d for d in found if f"[{expected[0]}]" in d.message)
    assert at in line_of(first), shown([first])


def accepted(text: str, source: Operation | None = None) -> None:
    found = verdict(text, source)
    assert not found, shown(found)


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_the_derived_plan_passes(phase: str) -> None:
    accepted(planned(phase), distributed(phase))


GELU = "plan.task @mlp.gelu.decode"
EXPAND = "plan.task @mlp.expand.decode"
CORE = "plan.task @attention.core.decode"
COLLECTIVE = "plan.task @mlp.output_collective.decode"


# R1: every task of the plan comes from a task of the source


def extra(change: tuple[str, str]) -> str:
    """The plan with a barrier without work at its end: `from` as the change says."""
    barrier = '  plan.task @sync barrier wait\n    from "sync"\n    work <>\n'
    return planned().replace("  plan.concurrent", replaced(barrier, change) + "  plan.concurrent")


def test_r1_a_task_from_no_task_of_the_source() -> None:
    refused(extra(("sync barrier", "sync barrier")), RULE + "R1", at="plan.task @sync")


def test_r1_a_task_that_does_not_say_where_it_comes_from() -> None:
    refused(extra(('    from "sync"\n', "")), RULE + "R1", at="plan.task @sync")


def test_r1_a_source_without_blocks() -> None:
    source = run(example("mlp"), "distribute-inference")
    plan = run(source, "plan-inference")
    changed = clone(source)
    changed.regions[0].blocks[0].operations = [o for o in source.body if o.name != "dist.block"]
    found = boundary.verify(changed, plan)
    assert labels(found) == {RULE + "R1"} and "this one has none" in found[0].message, shown(found)


def test_a_source_of_two_blocks_is_not_what_the_plan_of_one_plans() -> None:
    source = run(example("mlp"), "distribute-inference")
    plan = run(source, "plan-inference")
    body = source.regions[0].blocks[0].operations
    (block,) = (o for o in body if o.name == "dist.block")
    other = clone(block)
    other.properties["sym_name"] = StringAttr("other")
    changed = clone(source)
    changed.regions[0].blocks[0].operations = [*body, other]
    found = boundary.verify(changed, plan)
    assert {RULE + "R1", RULE + "R2", RULE + "R9", RULE + "R17"} <= labels(found), shown(found)


# R2: every task of the source is planned, once


def without_gelu() -> str:
    """The plan without one task, all else consistent by itself: dependencies, lifetimes, users."""
    text = dropped(planned(), GELU)
    text = replaced(text, ("after [@mlp.gelu.decode]", "after [@mlp.expand.decode]"))
    return re.sub(r"live \[(\d+), (\d+)\]", lambda m: f"live [{earlier(m[1])}, {earlier(m[2])}]", text)


def earlier(place: str) -> int:
    """The place of a task after the one at 11 is gone."""
    return int(place) - (int(place) > 11)


def test_r2_a_dropped_task() -> None:
    refused(without_gelu(), RULE + "R2", RULE + "R3", RULE + "R8", at='"mlp.gelu.decode"')


def test_r2_a_task_planned_twice() -> None:
    second = re.sub(r"work <[^>]*>", "work <>", statement(planned(), GELU)).replace("@mlp.gelu.decode", "@twice")
    text = planned().replace("  plan.concurrent", second + "  plan.concurrent")
    refused(edited(text, "plan.buffer @workspace ", ("live [0, 14]", "live [0, 15]")), RULE + "R2", at="plan.task @twice")


# R3: the work of each task, and its sum


@pytest.mark.parametrize(
    ("task", "change"),
    [
        (EXPAND, ("work <ops = 2*", "work <ops = 3*")),
        (EXPAND, ("read = B*H*e + F*H*e/t", "read = B*H*e")),
        (GELU, ("write = B*F*e/t", "write = B*F*e")),
        (COLLECTIVE, ("msg = B*H*e", "msg = B*H*e/t")),
    ],
)
def test_r3_changed_work(task: str, change: tuple[str, str]) -> None:
    refused(edited(planned(), task, change), RULE + "R3", at=task)


def test_r3_alone_work_moved_from_one_task_to_another() -> None:
    text = edited(planned(), EXPAND, ("work <ops = 2*B*F*H/t", "work <ops = 2*B*F*H/t + B"))
    text = edited(text, "plan.task @mlp.contract.decode", ("work <ops = 2*B*F*H/t", "work <ops = 2*B*F*H/t - B"))
    refused(text, RULE + "R3", at=EXPAND)


def test_r3_work_hidden_in_a_task_from_nowhere() -> None:
    found = verdict(extra(("work <>", "work <ops = 7>")))
    assert labels(found) == {RULE + "R1", RULE + "R3"}, shown(found)


def test_r3_work_that_differs_for_some_numbers_only_is_shown_with_such_numbers() -> None:
    found = verdict(edited(planned(), EXPAND, ("work <ops = 2*B*F*H/t", "work <ops = 2*B*F*H/t + max(S, 3) - S")))
    moved = next(d for d in found if "[plan-inference.R3]" in d.message)
    assert any(re.search(r"with .*\bS = [12]\b.* it is \d+, expected \d+", n.message) for n in moved.notes), shown([moved])


def test_r3_a_comparison_that_cannot_be_decided_is_refused() -> None:
    text = edited(planned(), EXPAND, ("work <ops = 2*B*F*H/t", f"work <ops = 2*B*F*H/t + {UNDECIDED}"))
    refused(text, RULE + "R3", at=EXPAND)
    assert all("unknown is not success" in d.message for d in verdict(text))


def test_r3_no_component_of_the_work_of_any_task_can_change() -> None:
    source, plan = distributed(), read(planned())
    count = sum(operation.name == "plan.task" for operation in plan.body)
    assert count > 10
    for index in range(count):
        for component in range(4):
            changed = clone(plan)
            task = [o for o in changed.body if o.name == "plan.task"][index]
            work = work_of(task)
            assert work is not None
            task.properties["work"] = Work(*(c + 1 if i == component else c for i, c in enumerate(work.components)))
            assert labels(gate(source, changed)) == {RULE + "R3"}


def test_r2_no_task_can_be_left_out() -> None:
    source, plan = distributed(), read(planned())
    for name in [symbol_of(o) for o in plan.body if o.name == "plan.task"]:
        changed = clone(plan)
        body = changed.regions[0].blocks[0]
        body.operations = [o for o in body.operations if o.name != "plan.task" or symbol_of(o) != name]
        assert RULE + "R2" in labels(boundary.verify(source, changed)), name


# R4: buffers say whose values they hold


@pytest.mark.parametrize("buffer", ["@input", "@workspace"])
def test_r4_a_buffer_that_says_to_be_of_a_task_whose_values_it_does_not_hold(buffer: str) -> None:
    text = edited(planned(), f"plan.buffer {buffer} ", ("    size", '    from "mlp.gelu.decode"\n    size'))
    text = re.sub(r'(    from "mlp.gelu.decode"\n)(    size <[^\n]*>\n)', r"\2\1", text)
    refused(text, RULE + "R4", at=f"plan.buffer {buffer}")


# R5: resources are the projections of the work


@pytest.mark.parametrize(
    ("task", "change"),
    [
        (EXPAND, ("resources <compute = 2*", "resources <compute = 3*")),
        (GELU, ("memory = 2*B*F*e/t", "memory = B*F*e/t")),
        (COLLECTIVE, ("network = B*H*e", "network = 2*B*H*e")),
        (GELU, ("resources <compute = 8*B*F/t", "resources <network = 1, compute = 8*B*F/t")),
    ],
)
def test_r5_a_wrong_resource(task: str, change: tuple[str, str]) -> None:
    refused(edited(planned(), task, change), RULE + "R5", at=task)


def test_r5_resources_left_out() -> None:
    text = edited(planned(), GELU, ("    resources <compute = 8*B*F/t,\n               memory = 2*B*F*e/t>\n", ""))
    refused(text, RULE + "R5", at=GELU)


# R6: kind, operation, phase


@pytest.mark.parametrize(
    "change",
    [("compute gelu", "host gelu"), ("compute gelu", "compute silu"), ("phase decode", "phase prefill"), (" phase decode", "")],
)
def test_r6_another_kind_operation_or_phase(change: tuple[str, str]) -> None:
    refused(edited(planned(), GELU, change), RULE + "R6", at=GELU)


# R7: capabilities, alternatives, matrix products


@pytest.mark.parametrize(
    ("task", "change"),
    [
        (CORE, ("[matrix_multiply, softmax]", "[matrix_multiply]")),
        (GELU, ("[elementwise]", "[elementwise, softmax]")),
        (CORE, ("unfused, ", "")),
        (CORE, ("paged_attention]", "paged_attention, other_attention]")),
        (CORE, ("[unfused, fused_attention, paged_attention]", "[paged_attention, unfused, fused_attention]")),
        (EXPAND, ("matmul <2*", "matmul <")),
        (GELU, ("    reads", "    matmul <1>\n    reads")),
    ],
)
def test_r7_another_capability_alternative_or_matrix_product(task: str, change: tuple[str, str]) -> None:
    refused(edited(planned(), task, change), RULE + "R7", at=task)


# R8: dependencies are the data flow


@pytest.mark.parametrize(
    "change",
    [
        ("    after [@mlp.expand.decode]\n", ""),
        ("[@mlp.expand.decode]", "[@mlp.layer_norm.decode]"),
    ],
)
def test_r8_a_dependency_missing_or_wrong(change: tuple[str, str]) -> None:
    refused(edited(planned(), GELU, change), RULE + "R8", at=GELU)


def test_r8_a_dependency_too_much() -> None:
    value = "plan.task @attention.value.decode"
    change = ("after [@attention.layer_norm.decode]", "after [@attention.layer_norm.decode, @attention.query.decode]")
    refused(edited(dropped(planned(), "plan.concurrent"), value, change), RULE + "R8", at=value)


def test_r8_a_dependency_that_others_imply_may_be_said_or_left_out() -> None:
    """gelu is after expand, which is after the norm; the block's second residual is after its first, and after what the first feeds."""
    accepted(edited(planned(), GELU, ("[@mlp.expand.decode]", "[@mlp.layer_norm.decode, @mlp.expand.decode]")))
    residual = "plan.task @mlp.residual.decode"
    line = next(line for line in statement(planned(), residual).splitlines() if "after" in line)
    assert line.strip() == "after [@mlp.output_collective.decode, @attention.residual.decode]"
    accepted(edited(planned(), residual, (line, "    after [@mlp.output_collective.decode]")))
    refused(edited(planned(), residual, (line, "    after [@attention.residual.decode]")), RULE + "R8", at=residual)


# R9: every obligation has its buffer, which is large enough


@pytest.mark.parametrize(
    ("buffer", "change"),
    [
        ("@workspace", ("3*d*h", "2*d*h")),
        ("@workspace", ("H*t + max(", "max(")),
        ("@workspace", ("c*h + d*h)", "d*h)")),
        ("@attention.kv_cache", ("size <2*", "size <")),
        ("@attention.kv_cache", ("B*c*", "B*")),
        ("@mlp.expand.weights", ("size <F*H*e/t>", "size <F*H*e/t - 1>")),
        ("@input", ("size <B*H*e>", "size <H*e>")),
        ("@output", ("size <B*H*e>", "size <0>")),
        ("@attention.residual", ("size <B*H*e>", "size <B*H*e/t>")),
    ],
)
def test_r9_a_buffer_too_small(buffer: str, change: tuple[str, str]) -> None:
    refused(edited(planned(), f"plan.buffer {buffer} ", change), RULE + "R9", at=f"plan.buffer {buffer}")


def test_r9_a_buffer_that_may_be_too_small_is_refused() -> None:
    refused(edited(planned(), "plan.buffer @input ", ("size <B*H*e>", "size <S*c*F>")), RULE + "R9", at="plan.buffer @input")


def test_r9_a_missing_buffer() -> None:
    text = dropped(replaced(planned(), ("[@workspace, @mlp.expand.weights]", "[@workspace]")), "plan.buffer @mlp.expand.weights")
    refused(text, RULE + "R9", at="dist.block")


def test_r9_a_buffer_that_nothing_needs() -> None:
    text = planned() .replace("  plan.task @attention.layer_norm", "  plan.buffer @more : activation<device_local> align 256 live [0, 0]\n"
                              "    size <1>\n  plan.task @attention.layer_norm", 1)  # fmt: skip
    refused(text, RULE + "R9", at="plan.buffer @more")


# R10: a task reads and writes the buffers of its values


def test_r10_a_task_that_reads_another_buffer() -> None:
    text = edited(planned(), "plan.task @mlp.layer_norm.decode", ("reads [@attention.residual,", "reads [@input,"))
    text = edited(text, "plan.buffer @attention.residual ", ("[@mlp.layer_norm.decode, @mlp.residual.decode]", "[@mlp.residual.decode]"))
    text = edited(text, "plan.buffer @input ", ("live [0, 8]", "live [0, 9]"), ("@attention.residual.decode]", "@attention.residual.decode, @mlp.layer_norm.decode]"))  # fmt: skip # noqa: E501
    refused(text, RULE + "R10", at="plan.task @mlp.layer_norm.decode")


def test_r10_an_append_that_does_not_write_the_cache() -> None:
    text = edited(planned(), "plan.task @attention.kv_append.decode", ("writes [@attention.kv_cache]", "writes [@workspace]"))
    text = edited(text, "plan.buffer @attention.kv_cache ", ("    producers [@attention.kv_append.decode]\n", ""))
    refused(text, RULE + "R10", at="plan.task @attention.kv_append.decode")


# R11: symbols, numbers and bindings are kept


@pytest.mark.parametrize(
    ("change", "at"),
    [
        (("  bp.assume t > 1\n", ""), "bp.assume"),
        (("bp.assume t > 1", "bp.assume t > 1, B > 1"), "bp.assume"),
        (("{tensor = t}", "{tensor = t, pipeline = 2}"), "bind.strategy"),
        (("phase = decode, context = c", "phase = decode, context = c, batch = B"), "bind.workload"),
        ((", t | H", ""), "bp.symbols"),
        (("  bp.assume", "  bp.bind B = 2\n  bp.assume"), "bp.bind"),
        (("  bp.assume", "  bind.strategy @two {tensor = 2}\n  bp.assume"), "bind.strategy @two"),
    ],
)
def test_r11_an_input_changed_lost_or_added(change: tuple[str, str], at: str) -> None:
    found = verdict(replaced(planned(), change))
    assert labels(found) == {RULE + "R11"}, shown(found)
    assert at in line_of(found[0])


# R12: storage class


@pytest.mark.parametrize(
    ("buffer", "change"),
    [
        ("@workspace", ("<transient>", "<persistent>")),
        ("@attention.kv_cache", ("<persistent>", "<transient>")),
        ("@mlp.expand.weights", ("<persistent>", "<device_local>")),
        ("@input", ("<device_local>", "<transient>")),
        ("@output", ("<device_local>", "<persistent>")),
        ("@attention.residual", ("<device_local>", "<transient>")),
    ],
)
def test_r12_another_storage_class(buffer: str, change: tuple[str, str]) -> None:
    refused(edited(planned(), f"plan.buffer {buffer} ", change), RULE + "R12", at=f"plan.buffer {buffer}")


@pytest.mark.parametrize(
    ("buffer", "change"),
    [("@attention.kv_cache", ("state<", "constant<")), ("@attention.residual", ("activation<", "gradient<"))],
)
def test_r9_another_role_leaves_the_obligation_without_a_buffer(buffer: str, change: tuple[str, str]) -> None:
    refused(edited(planned(), f"plan.buffer {buffer} ", change), RULE + "R9", at="dist.block")


# R13: memory facts are kept as they are


FACT = 'memory "mlp.gelu" dropped [activation]\n    holds <activation = B*F*e/t,\n           output = B*F*e/t>\n'


def with_facts(*facts: str) -> str:
    """The plan with memory facts at its end."""
    return planned().replace("  plan.concurrent", "".join(f"  plan.{fact}" for fact in facts) + "  plan.concurrent")


def source_with_facts() -> Operation:
    return read(replaced(print_module(distributed()), ("    dist.return", f"    dist.{FACT}    dist.return")))


def test_r13_facts_that_are_kept_are_accepted() -> None:
    accepted(with_facts(FACT), source_with_facts())


@pytest.mark.parametrize(
    ("facts", "at"),
    [
        ((), 'dist.memory "mlp.gelu"'),
        ((FACT.replace("output = B*F*e/t", "output = B*F*e"),), 'plan.memory "mlp.gelu"'),
        ((FACT.replace(" dropped [activation]", ""),), 'plan.memory "mlp.gelu"'),
        ((FACT, FACT.replace("mlp.gelu", "mlp.expand")), 'plan.memory "mlp.expand"'),
        ((FACT.replace("output = B*F*e/t", "output = 1"), FACT), 'plan.memory "mlp.gelu"'),
    ],
    ids=["missing", "another number", "another word", "of no source", "twice"],
)
def test_r13_facts_missing_changed_or_from_nowhere(facts: tuple[str, ...], at: str) -> None:
    refused(with_facts(*facts), RULE + "R13", at=at, source=source_with_facts())


# What is another spelling of the same plan is accepted


def test_terms_in_another_order_are_accepted() -> None:
    text = edited(planned(), CORE, ("work <ops = 4*B*c*d*h/t + 5*B*c*h/t", "work <ops = (5 + d*4)*c*B*(h/t)"))
    size = ("<B*e*max(H*t + max(3*d*h, F, c*h), c*h + d*h)/t>", "<B*max(h*(d + c)/t, H + max(h*c, F, h*3*d)/t)*e>")
    accepted(edited(text, "plan.buffer @workspace ", size))


def test_r16_the_mesh_and_the_strategy_of_the_plan_are_those_of_its_block() -> None:
    mesh = 'plan.mesh <["tensor"=t]> strategy @tp'
    refused(dropped(planned(), "plan.mesh"), RULE + "R16", at="dist.block")
    refused(replaced(planned(), (mesh, mesh.replace("=t", "=2*t"))), RULE + "R16", at="plan.mesh")
    refused(replaced(planned(), (mesh, mesh.replace("tensor", "data"))), RULE + "R16", at="plan.mesh")


def test_r9_tasks_that_may_run_at_once_have_room_beside_each_other() -> None:
    """Expand and contract, which need each other, may not; the query and the wide layer, taken as one group, need room for both."""
    text = """
  bp.symbols B, S, c, H, F, e
  bind.workload @w inference {phase = decode, context = c}
  bind.strategy @s {tensor = 1}
  model.block @b(%x: !bp.tensor<B x S x H, e>) {
    %n = model.layer_norm "n" %x
    %u = model.linear "up" %n : [F]
    %a = model.linear "down" %u : [H]
    %v = model.linear "up2" %n : [F]
    %y = model.linear "down2" %v : [H]
    model.return %a, %y
  }
"""
    source = run(read(text), "distribute-inference")
    plan = print_module(run(source, "plan-inference"))
    # The norm and both wide layers at once: up2 may run beside up.
    assert "size <2*B*F*e + B*H*e>" in statement(plan, "plan.buffer @workspace")
    smaller = replaced(plan, ("size <2*B*F*e + B*H*e>", "size <B*H*e + B*F*e>"))
    refused(smaller, RULE + "R9", at="plan.buffer @workspace", source=source)
    accepted(dropped(smaller, "plan.concurrent"), source)


def test_another_name_of_a_product_is_accepted_under_its_relation_only() -> None:
    change = (CORE, ("work <ops = 4*B*c*d*h/t", "work <ops = 4*B*c*H/t"))
    refused(edited(planned(), *change), RULE + "R3", at=CORE)
    source = read(replaced(example_text("transformer_block"), ("where t | h", "where H = h * d, t | h")))
    source = run(source, "distribute-inference")
    accepted(edited(print_module(run(source, "plan-inference")), *change), source)


def test_other_names_of_tasks_and_buffers_are_accepted() -> None:
    accepted(re.sub(r"@([\w.]+)", lambda m: m[0] if m[1] in ("transformer_block", "serve", "tp") else f"@other.{m[1]}", planned()))


def test_independent_tasks_in_another_order_are_accepted() -> None:
    text = planned()
    query, key = statement(text, "plan.task @attention.query.decode"), statement(text, "plan.task @attention.key.decode")
    text = replaced(text, (query + key, key + query))
    text = edited(text, "plan.buffer @attention.query.weights ", ("live [1, 1]", "live [2, 2]"))
    accepted(edited(text, "plan.buffer @attention.key.weights ", ("live [2, 2]", "live [1, 1]")))


@pytest.mark.parametrize(
    ("buffer", "change"),
    [
        ("@workspace", ("size <", "size <1024 + ")),
        ("@workspace", ("max(3*d*h, F, c*h)", "(3*d*h + F + c*h)")),
        ("@attention.kv_cache", ("size <2*", "size <3*")),
        ("@attention.kv_cache", ("/t", "")),
        ("@input", ("live [0, 8]", "live [0, 14]")),
        ("@mlp.expand.weights", ("live [10, 10]", "live [0, 14]")),
        ("@output", ("align 256", "align 4096")),
    ],
)
def test_a_larger_longer_lived_or_better_aligned_buffer_is_accepted(buffer: str, change: tuple[str, str]) -> None:
    accepted(edited(planned(), f"plan.buffer {buffer} ", change))


def test_no_groups_are_accepted() -> None:
    accepted(dropped(planned(), "plan.concurrent"))


# R14: the objective of the phase; R15: alignment


@pytest.mark.parametrize(("phase", "words"), [("decode", "memory, network, compute"), ("prefill", "compute, memory, network")])
def test_r14_the_objective_is_that_of_the_phase(phase: str, words: str) -> None:
    said = f"plan.objective minimize [{words}]"
    assert said in planned(phase)
    for other in ("compute, network, memory", words.rpartition(",")[0]):
        text = replaced(planned(phase), (said, f"plan.objective minimize [{other}]"))
        refused(text, RULE + "R14", at="plan.objective", source=distributed(phase))
    twice = replaced(planned(phase), (said, f"{said}\n  {said}"))
    refused(twice, RULE + "R14", at="plan.objective", source=distributed(phase))
    refused(dropped(planned(phase), "plan.objective"), RULE + "R14", at="plan.task", source=distributed(phase))


@pytest.mark.parametrize("buffer", ["@input", "@workspace", "@attention.kv_cache", "@output", "@mlp.expand.weights"])
def test_r15_alignment_is_a_multiple_of_256_bytes(buffer: str) -> None:
    head = f"plan.buffer {buffer} "
    for less in (1, 16, 128):
        refused(edited(planned(), head, ("align 256", f"align {less}")), RULE + "R15", at=head)
    accepted(edited(planned(), head, ("align 256", "align 1024")))


def test_numbers_in_place_of_symbols_that_the_source_binds_are_accepted() -> None:
    model = run(example("gpt3_175b"), "bind-symbols{B=1 S=1 c=128 t=8}")
    source = run(model, "distribute-inference")
    accepted(print_module(run(source, "plan-inference", "bind-symbols")), source)


def test_two_results_of_one_task_have_a_buffer_each() -> None:
    text = """module {
  bp.symbols B, S, c, H, h, d, e
  bind.workload @w inference {phase = decode, context = c}
  bind.strategy @s {tensor = 1}
  model.block @b(%x: !bp.tensor<B x S x H, e>) {
    %q, %k = model.linear "a.qk" %x : [h x d], [d]
    model.return %q, %k
  }
}
"""
    source = run(read(text), "distribute-inference")
    plan = print_module(run(source, "plan-inference"))
    accepted(plan, source)
    refused(edited(plan, "plan.buffer @output.1 ", ("size <B*d*e>", "size <d*e>")), RULE + "R9", at="plan.buffer @output.1", source=source)


def prefill(arguments: str, *lines: str) -> Operation:
    """A block on one rank, distributed for prefill."""
    inputs = "bp.symbols B, S, T, H, h, d, e, c\nbind.workload @w inference {phase = prefill, context = c}\nbind.strategy @one {tensor = 1}"
    block = "\n  ".join((f"model.block @block({arguments}) {{", *lines))
    return run(read(f"{inputs}\n{block}\n}}"), "distribute-inference")


def test_inputs_of_one_reader_are_told_apart_by_their_sizes() -> None:
    """Q and K of one product, in another order in the text: each buffer is large enough for the one, and would not be for the other."""
    source = prefill(
        "%q: !bp.tensor<B x S x h x d, e>, %k: !bp.tensor<B x T x h x d, e>",
        '%y = model.batch_matmul "scores" %q, %k transposed',
        "model.return %y",
    )
    text = print_module(run(source, "plan-inference"))
    first, second = (statement(text, f"plan.buffer @input.{name}") for name in "qk")
    assert "size <B*c*d*e*h>" in first and "size <B*T*d*e*h>" in second
    turned = text.replace(first, "").replace(second, second + first)
    assert turned.index("@input.k :") < turned.index("@input.q :")
    assert gate(source, read(turned)) == [], shown(gate(source, read(turned)))


def test_two_results_in_one_buffer() -> None:
    """In whatever order the buffers stand: what a value has is no other's."""
    lines = ('%a, %b = model.linear "a" %x : [H], [H]', '%z = model.linear "z" %x : [H]', "model.return %a, %b, %z")
    source = prefill("%x: !bp.tensor<B x S x H, e>", *lines)
    text = print_module(run(source, "plan-inference"))
    names = [f"output.{index}" for index in range(3)]
    first, second, third = (statement(text, f"plan.buffer @{name}") for name in names)
    without = text.replace(second, "").replace("[@output.0, @output.1]", "[@output.0]")
    turned = without.replace(first, "").replace(third, third + first)
    assert turned != without
    for order in (without, turned):
        found = gate(source, read(order))
        assert RULE + "R9" in labels(found), shown(found)


CACHE = """
  bp.symbols B, c, h, d, e
  bind.workload @decode inference {phase = decode, context = c}
  bind.strategy @one {tensor = 1}
  dist.mesh @mesh = <[]>
  dist.block @block from "block" on @mesh workload @decode strategy @one(%q: T1, %k: T1, %v: T1) {
    %kc, %vc = dist.state "a.kv_cache" from "a.core" : Tc, Tc
    %o = dist.compute "a.core.decode" attention %q, %kc, %vc : T1
      from "a.core" phase decode effects [read] work <ops = 1>
    %k2, %v2 = dist.compute "a.kv_append.decode" kv_append %k, %v, %kc, %vc : Tc, Tc
      from "a.core" phase decode effects [write] work <read = 2*B*d*e*h, write = 2*B*d*e*h>
    dist.return %o
  }
""".replace("T1", "!bp.tensor<B x 1 x h x d, e>").replace("Tc", "!bp.tensor<B x c x h x d, e>")


def test_r8_the_cache_is_written_after_it_is_read() -> None:
    source = run(read(CACHE))
    plan = print_module(run(source, "plan-inference"))
    append = "plan.task @a.kv_append.decode"
    assert "after [@a.core.decode]" in statement(plan, append)
    refused(edited(plan, append, ("  after [@a.core.decode]\n", "")), RULE + "R8", at=append, source=source)


def test_r8_what_reads_a_cache_that_was_written_by_then_is_refused() -> None:
    plan = run(read(CACHE), "plan-inference")
    core, append = (statement(CACHE, head) for head in ("%o = dist", "%k2, %v2 = dist"))
    found = gate(read(CACHE.replace(core + append, append + core)), plan)
    assert any("'a.core.decode' reads a state as it was before 'a.kv_append.decode'" in d.message for d in found), shown(found)


# R17 to R19: sections, and how often what they run and need is there


@cache
def network() -> tuple[Operation, str]:
    """A distributed network, and the text of its plan."""
    source = read(print_module(run(read(network_text()), "distribute-inference")), "dist.bpir")
    return source, print_module(run(source, "plan-inference"))


def test_r17_the_sections_of_a_network() -> None:
    source, text = network()
    accepted(text, source)
    sections = re.findall(r"plan.section (.*)", text)
    assert sections == ["@block times L tasks [0, 14] carries [@output -> @input]", "@block.2 tasks [0, 14] after @block"]


@pytest.mark.parametrize(
    ("change", "runs", "rules"),
    [
        (("@block times L tasks", "@block times L + 1 tasks"), "L + 2", {"R17", "R18", "R19"}),
        (("@block times L tasks", "@block tasks"), "2", {"R17", "R18", "R19"}),
        (("@block.2 tasks", "@block.2 times L tasks"), "2*L", {"R17", "R18", "R19"}),
        ((" carries [@output -> @input]", ""), "L + 1", {"R17"}),
        (("tasks [0, 14] after @block\n", "tasks [0, 14]\n"), "L + 1", {"R17"}),
    ],
)
def test_r17_and_r19_sections_that_differ(change: tuple[str, str], runs: str, rules: set[str]) -> None:
    """What a careful forger writes: the buffers are there as often as the sections run."""
    source, text = network()
    text = replaced(text, change).replace("<persistent> times L + 1 align", f"<persistent> times {runs} align")
    found = verdict(text, source)
    assert labels(found) == {RULE + rule for rule in rules}, shown(found)


def test_r18_weights_and_caches_are_there_once_a_repetition() -> None:
    source, text = network()
    assert len(re.findall(r"<persistent> times L \+ 1 align", text)) == len(re.findall(r"<persistent>", text)) == 9
    for buffer in re.findall(r"plan.buffer (@\S+) : \w+<persistent>", text):
        refused(edited(text, f"plan.buffer {buffer} ", (" times L + 1", "")), RULE + "R18", at=buffer, source=source)
    for buffer in re.findall(r"plan.buffer (@\S+) : \w+<device_local>", text):
        refused(edited(text, f"plan.buffer {buffer} ", (" align", " times L + 1 align")), RULE + "R18", at=buffer, source=source)


def test_r17_a_plan_of_one_block_without_a_network_has_no_sections() -> None:
    text = replaced(planned(), ("  plan.buffer @input ", "  plan.section @block tasks [0, 14]\n  plan.buffer @input "))
    refused(text, RULE + "R17", at="plan.section")
