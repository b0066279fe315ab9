"""The gate of `plan-inference`: derived texts, edited and read again, are refused by the rule they break, or accepted."""

from __future__ import annotations

import re

import pytest
from planning_gate import CORE, RULE, accepted, distributed, planned, refused, verdict
from raw import symbol_of, work_of
from support import (
    UNDECIDED,
    dropped,
    edited,
    example,
    gate,
    labels,
    read,
    replaced,
    run,
    shown,
    statement,
)

from bpir.dialects.bp import Work
from bpir.ir.attributes import StringAttr
from bpir.ir.operation import clone
from bpir.verifiers import derivation


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_the_derived_plan_passes(phase: str) -> None:
    accepted(planned(phase), distributed(phase))


GELU = "plan.task @mlp.gelu.decode"
EXPAND = "plan.task @mlp.expand.decode"
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
    found = derivation.verify(changed, plan)
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
    found = derivation.verify(changed, plan)
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


@pytest.mark.campaign
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
        assert RULE + "R2" in labels(derivation.verify(source, changed)), name


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


# R10: a task reads and writes the buffers of its values


# R11: symbols, numbers and bindings are kept


# R12: storage class


# R13: memory facts are kept as they are


# What is another spelling of the same plan is accepted


# R14: the objective of the phase; R15: alignment


# R17 to R19: sections, and how often what they run and need is there
