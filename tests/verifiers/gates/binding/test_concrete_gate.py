"""The gate refuses a concrete plan by the rule that it breaks: for every rule a text that breaks this one only."""

from __future__ import annotations

import pytest
from bound_plans import queue, slot
from concrete_support import PLAN, bound_text, broken, labels, plan
from support import gate, read, replaced, run, statement

from bpir.ir.printer import print_module


@pytest.mark.parametrize("kind", ["queue", "slot"])
def test_what_binding_makes_is_accepted(kind: str) -> None:
    assert broken(kind, bound_text(kind)) == set()


# --- the envelope by itself


@pytest.mark.parametrize(
    "change",
    [
        ("reads [@a, @b]", "reads [@a, @c]"),
        ("after [@left, @right, @fence]", "after [@left, @wright, @fence]"),
        ("after [@left, @right, @fence]", "after [@left, @left, @right, @fence]"),
        ("    target @queues", "    target @queue"),
        ("    deployment @node ", "    deployment @queues "),
        ("on @node.devices", "on @node"),
        ("issue [@left, @right]", "issue [@left, @a]"),
    ],
)
def test_concrete_r1_references(change: tuple[str, str]) -> None:
    assert broken("queue", queue(change)) == {"concrete.R1"}


def test_concrete_r1_one_plan() -> None:
    text = bound_text("queue")
    header = statement(text, "concrete.plan")
    assert broken("queue", replaced(text, (header, header * 2))) == {"concrete.R1"}
    assert broken("queue", replaced(text, (header, ""))) == {"concrete.R1"}


def test_concrete_r2_a_command_before_what_it_needs() -> None:
    text = bound_text("slot")
    send, total = statement(text, "concrete.transfer @send"), statement(text, "concrete.collective @sum")
    assert broken("slot", replaced(text, (total + send, send + total))) == {"concrete.R2"}


@pytest.mark.parametrize(("old", "new"), [("offset <64*ceildiv(n, 16)>", "offset <64*ceildiv(n, 16) + 16>"), ("offset <0>", "offset <n>")])
def test_concrete_r3_a_misaligned_buffer(old: str, new: str) -> None:
    assert "concrete.R3" in broken("queue", queue((old, new)))


def test_concrete_r4_overlapping_buffers() -> None:
    assert broken("queue", queue(("offset <64*ceildiv(n, 16)>", "offset <64*ceildiv(n, 32)>"))) == {"concrete.R4"}
    assert broken("queue", queue(("offset <64*ceildiv(n, 16)>", "offset <0>"))) == {"concrete.R4"}


def test_concrete_r4_buffers_out_of_order() -> None:
    text = bound_text("queue")
    a, b = statement(text, "concrete.buffer @a"), statement(text, "concrete.buffer @b")
    assert broken("queue", replaced(text, (a + b, b + a))) == {"concrete.R4"}


def test_concrete_r5_a_memory_overflow() -> None:
    module = run(plan(), "bind-symbols{n=1000 m=10}")
    text = print_module(run(module, "bind-queue{memory=50000}")) + "\n"
    assert labels(gate(module, read(text))) == set()
    small = replaced(text, ("size <50000>", "size <46000>"))
    assert labels(gate(module, read(small))) == {"concrete.R5"}
    # a size that the deployment does not have hides nothing
    assert labels(gate(module, read(replaced(text, ("size <50000>", "size <60000>"))))) == {"bind-queue.R14"}


@pytest.mark.parametrize("devices", ["[0]", "[1, 1]", "[0, 1, 0]", "[0, 2]"])
def test_concrete_r6_a_transfer_is_between_two_devices(devices: str) -> None:
    assert broken("queue", queue(("between [0, 1]", f"between {devices}"))) == {"concrete.R6"}


def test_concrete_r7_operations_of_another_target() -> None:
    text = queue(("  queue.queue @queue.transfer", "  slot.issue @left cycle 0 slot 0\n  queue.queue @queue.transfer"))
    assert broken("queue", text) == {"concrete.R7"}


def test_concrete_r8_a_kind_of_target_that_nothing_knows() -> None:
    assert "concrete.R8" in broken("queue", queue(("@queues queue {", "@queues tape {")))


# --- the queue machine


def test_queue_r1_two_queues_of_a_kind() -> None:
    text = queue(("queue.queue @queue.transfer transfer", "queue.queue @more host\n  queue.queue @queue.transfer transfer"))
    assert broken("queue", text) == {"queue.R1"}


def test_queue_r2_a_command_on_the_wrong_queue() -> None:
    text = queue(("issue [@send]", "issue [@send, @sample]"), ("issue [@fence, @sample]", "issue [@fence]"))
    assert broken("queue", text) == {"queue.R2"}


def test_queue_r3_a_command_on_no_queue_or_on_two() -> None:
    assert broken("queue", queue(("issue [@left, @right]", "issue [@left]"))) == {"queue.R3"}
    assert broken("queue", queue(("    issue [@send]\n", ""))) == {"queue.R3"}


def test_queue_r4_issued_before_what_it_needs() -> None:
    source = read(replaced(PLAN, ("phase forward\n    work <ops = n,", "phase forward\n    after [@left]\n    work <ops = n,")))
    text = print_module(run(source, "bind-queue")) + "\n"
    swapped = replaced(text, ("issue [@left, @right]", "issue [@right, @left]"))
    assert broken("queue", swapped, source) == {"queue.R4"}


# --- the slot machine


def test_slot_r1_a_command_is_issued_once() -> None:
    assert broken("slot", slot(("  slot.issue @right cycle 1 slot 0\n", ""))) == {"slot.R1"}
    again = "  slot.issue @right cycle 1 slot 0\n"
    assert broken("slot", slot((again, again + again.replace("slot 0", "slot 1")))) == {"slot.R1"}


def test_slot_r2_two_commands_in_one_slot() -> None:
    assert broken("slot", slot(("@right cycle 1", "@right cycle 0"))) == {"slot.R2"}


@pytest.mark.parametrize(
    "change",
    [
        [("@send cycle 4", "@send cycle 3"), ("@sum cycle 3", "@sum cycle 4")],
        [("@sum cycle 3 slot 0", "@sum cycle 2 slot 1")],  # in the cycle of what it needs
        [("@fence cycle 2", "@fence cycle 9")],
    ],
)
def test_slot_r3_a_command_before_what_it_needs(change: list[tuple[str, str]]) -> None:
    assert broken("slot", slot(*change)) == {"slot.R3"}


def test_slot_r4_a_missing_route() -> None:
    assert broken("slot", slot(("  slot.route @send from 0 to 1\n", ""))) == {"slot.R4"}
    assert broken("slot", slot(("slot.route @send from", "slot.route @left from 0 to 1\n  slot.route @send from"))) == {"slot.R4"}


@pytest.mark.parametrize("ends", ["from 1 to 0", "from 0 to 0"])
def test_slot_r5_a_route_that_the_transfer_does_not_take(ends: str) -> None:
    assert broken("slot", slot(("from 0 to 1", ends))) == {"slot.R5"}


# --- the boundary


# --- what is as good
