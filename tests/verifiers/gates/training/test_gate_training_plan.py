"""The gate of `plan-training` refuses a wrong plan by the rule that it breaks, and accepts other valid ones."""

from __future__ import annotations

import re

import pytest
from corruptions.corruption import Change
from corruptions.plan import consistent
from raw import symbol_of
from support import edited, gate, read, replaced, shown, statement
from training_gate import (
    ATTENTION,
    PLAN,
    added,
    check,
    planned,
    refused_plan,
    source,
)
from training_texts import ALL, BARRIER, EXPAND, SCATTERED

from bpir.ir.attributes import ArrayAttr, SymbolRefAttr
from bpir.ir.operation import Operation


def changed(change: Change) -> Operation:
    """The plan after a change, with users and lifetimes of buffers that agree with it."""
    found = read(planned(), "plan.bpir")
    consistent(change)(list(found.walk()))
    return found


def named(operations: list[Operation], name: str) -> Operation:
    return next(o for o in operations if o.name == "plan.task" and symbol_of(o) == name)


def test_plan_r1_a_task_from_nowhere() -> None:
    refused_plan(added(planned(), "plan.concurrent @group.0", BARRIER), "R1", at="plan.task @sync")


def test_plan_r2_a_task_planned_twice() -> None:
    again = re.sub(r"work <[^>]*>", "work <>", statement(planned(), "plan.task @mlp.gelu.forward"))
    again = re.sub(r"    (reads|writes) .*\n", "", again).replace("@mlp.gelu.forward", "@twice")
    refused_plan(added(planned(), "plan.concurrent @group.0", again), "R2", at="plan.task @twice")


def test_plan_r3_changed_work() -> None:
    refused_plan(edited(planned(), EXPAND, ("work <ops = 2*", "work <ops = 3*")), "R3", at=EXPAND)


def test_plan_r4_a_buffer_of_another_task() -> None:
    head = "plan.buffer @input.x"
    refused_plan(edited(planned(), head, ("    consumers", '    from "mlp.gelu.forward"\n    consumers')), "R4", at=head)


def test_plan_r5_a_wrong_resource() -> None:
    refused_plan(edited(planned(), EXPAND, ("resources <compute = 2*", "resources <compute = 3*")), "R5", at=EXPAND)


@pytest.mark.parametrize("change", [("phase activation_gradient", "phase weight_gradient"), ("compute linear", "host linear")])
def test_plan_r6_another_phase_or_kind(change: tuple[str, str]) -> None:
    refused_plan(edited(planned(), EXPAND, change), "R6", at=EXPAND)


@pytest.mark.parametrize("change", [("[matrix_multiply]", "[softmax]"), ("[matrix_multiply]", "[matrix_multiply, matrix_multiply]")])
def test_plan_r7_another_capability(change: tuple[str, str]) -> None:
    refused_plan(edited(planned(), EXPAND, change), "R7", at=EXPAND)


def test_plan_r8_a_dependency_that_is_missing() -> None:
    refused_plan(edited(planned(), EXPAND, ("    after [@mlp.gelu.activation_gradient]\n", "")), "R8", at=EXPAND)


def test_plan_r8_an_optimizer_that_does_not_wait_for_the_readers_of_its_weights() -> None:
    head = "plan.task @mlp.expand.optimizer"
    refused_plan(edited(planned(), head, (", @mlp.expand.activation_gradient]", "]")), "R8", at=head)


def test_plan_r5_of_the_structure_a_group_that_races() -> None:
    group = "  plan.concurrent @race [@mlp.expand.activation_gradient, @mlp.expand.optimizer]\n"
    found = gate(source(), read(added(planned(), "plan.concurrent @group.0", group), "plan.bpir"))
    check(found, {"plan.R5"}, "plan.concurrent @race")


@pytest.mark.parametrize("size", ["F*H*e/t - 1", "F*H*e/t + 1/2", "H*e"])
def test_plan_r9_a_buffer_too_small_or_no_whole_number_of_bytes(size: str) -> None:
    head = "plan.buffer @mlp.expand.weights"
    refused_plan(edited(planned(), head, ("size <F*H*e/t>", f"size <{size}>")), "R9", at=head)


@pytest.mark.parametrize("options", [ATTENTION, SCATTERED, ALL])
def test_plan_buffers_may_stand_in_any_order(options: str) -> None:
    plan = read(planned(options))
    body = plan.regions[0].blocks[0].operations
    turned = iter([o for o in reversed(body) if o.name == "plan.buffer"])
    plan.regions[0].blocks[0].operations = [next(turned) if o.name == "plan.buffer" else o for o in body]
    found = gate(source(options), plan)
    assert not found, shown(found)


def test_plan_r10_a_task_that_reads_another_buffer() -> None:
    def other(operations: list[Operation]) -> None:
        names = ("mlp.contract.activation_gradient.value", "mlp.gelu.forward.value")
        task = named(operations, "mlp.gelu.activation_gradient")
        task.properties["reads"] = ArrayAttr(tuple(SymbolRefAttr((n,)) for n in names))

    check(gate(source(), changed(other)), {PLAN + "R10"}, "plan.task @mlp.gelu.activation_gradient")


def test_plan_r11_an_assumption_that_was_lost() -> None:
    refused_plan(replaced(planned(), ("  bp.assume t > 1\n", "")), "R11", at="bp.assume")


def test_plan_r12_another_storage_class() -> None:
    head = "plan.buffer @mlp.expand.optimizer_state"
    refused_plan(edited(planned(), head, ("<persistent>", "<transient>")), "R12", at=head)


@pytest.mark.parametrize("change", [("holds <activation = ", "holds <activation = 2*"), ('"mlp.gelu"', '"mlp.gelu" dropped [activation]')])
def test_plan_r13_a_changed_memory_fact(change: tuple[str, str]) -> None:
    refused_plan(edited(planned(), 'plan.memory "mlp.gelu"', change), "R13", at='plan.memory "mlp.gelu"')
