"""What the gate refuses of a concrete plan: for every rule a text that breaks this one only."""

from __future__ import annotations

import pytest
from concrete_support import PLAN, bound_text, broken, labels, plan
from support import dropped, edited, example, example_text, gate, line_of, read, replaced, run, statement

from bpir.dialects.queue import QueueMachine
from bpir.dialects.slot import SlotMachine
from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module


def queue(*changes: tuple[str, str]) -> str:
    return replaced(bound_text("queue"), *changes)


def slot(*changes: tuple[str, str]) -> str:
    return replaced(bound_text("slot"), *changes)


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

LEFT, RIGHT, SUM, SEND = "concrete.launch @left", "concrete.launch @right", "concrete.collective @sum", "concrete.transfer @send"


def test_r1_a_command_from_nowhere() -> None:
    found = broken("queue", edited(bound_text("queue"), RIGHT, ('from "right"', 'from "wright"')))
    assert found == {"bind-queue.R1", "bind-queue.R2"}


def test_r2_a_task_bound_twice() -> None:
    text = bound_text("queue")
    sample = statement(text, "concrete.host_call @sample")
    text = replaced(text, (sample, sample + sample.replace("@sample ", "@again ")), ("[@fence, @sample]", "[@fence, @sample, @again]"))
    assert broken("queue", text) == {"bind-queue.R2"}


def test_r2_a_task_left_out() -> None:
    text = dropped(queue(("[@fence, @sample]", "[@fence]")), "concrete.host_call @sample")
    assert broken("queue", text) == {"bind-queue.R2"}


def test_r3_another_kind_of_command() -> None:
    text = edited(bound_text("queue"), RIGHT, ("concrete.launch @right", "concrete.host_call @right"))
    text = replaced(text, ("issue [@left, @right]", "issue [@left]"), ("[@fence, @sample]", "[@right, @fence, @sample]"))
    assert broken("queue", text) == {"bind-queue.R3"}


@pytest.mark.parametrize("change", [("phase forward", "phase recompute"), ("@right gelu", "@right silu")])
def test_r3_another_operation_or_phase(change: tuple[str, str]) -> None:
    assert broken("queue", edited(bound_text("queue"), RIGHT, change)) == {"bind-queue.R3"}


@pytest.mark.parametrize(
    ("head", "change"),
    [
        (SUM, ("after [@left, @right, @fence]", "after [@left, @right]")),
        (SEND, ("after [@sum]", "after [@left]")),
    ],
)
@pytest.mark.parametrize("kind", ["queue", "slot"])
def test_r4_a_changed_dependency(kind: str, head: str, change: tuple[str, str]) -> None:
    assert broken(kind, edited(bound_text(kind), head, change)) == {f"bind-{kind}.R4"}


@pytest.mark.parametrize("kind", ["queue", "slot"])
def test_r4_a_dependency_that_others_imply_may_be_said(kind: str) -> None:
    assert broken(kind, edited(bound_text(kind), SEND, ("after [@sum]", "after [@left, @sum]"))) == set()


@pytest.mark.parametrize(
    ("head", "change"),
    [
        (SUM, ("reads [@a, @b]", "reads [@a]")),
        (LEFT, ("reads [@x]\n    writes [@a]", "reads [@x, @a]")),  # written, not read
        (SEND, ("reads [@y]", "writes [@y]")),
    ],
)
def test_r5_a_wrong_access(head: str, change: tuple[str, str]) -> None:
    assert broken("queue", edited(bound_text("queue"), head, change)) == {"bind-queue.R5"}


@pytest.mark.parametrize(
    "change", [("ops = n", "ops = 2*n"), ("read = 4*n,\n", "read = 4*n + 1,\n"), ("write = 2*n", "write = 2*n, msg = 1")]
)
def test_r6_changed_work(change: tuple[str, str]) -> None:
    assert broken("queue", edited(bound_text("queue"), RIGHT, change)) == {"bind-queue.R6"}


def test_r6_other_matrix_products() -> None:
    assert broken("queue", edited(bound_text("queue"), LEFT, ("    matmul <8*m*n>\n", ""))) == {"bind-queue.R6"}


@pytest.mark.parametrize("name", ["qm.map2", "sm.map", "qm.matmul"])
def test_r7_a_wrong_implementation(name: str) -> None:
    assert broken("queue", edited(bound_text("queue"), RIGHT, ("qm.map", name))) == {"bind-queue.R7"}


def test_r8_another_abi() -> None:
    assert broken("queue", queue(("    target @queues abi 3", "    target @queues abi 4"))) == {"bind-queue.R8"}
    found = gate(plan(), read(queue(("    target @queues abi 3", "    target @queues abi 4")), "concrete.bpir"))
    assert "the plan is bound to ABI revision 4 of @queues, which has 3 [bind-queue.R8]" in [d.message for d in found]


def test_r9_a_buffer_from_nowhere_or_left_out() -> None:
    found = broken("queue", queue(('from "y"', 'from "z"')))
    assert found == {"bind-queue.R9"}


@pytest.mark.parametrize("change", [("activation<device_local> in @node.memory align 64", "state<device_local> in @node.memory align 64")])
def test_r9_another_role(change: tuple[str, str]) -> None:
    assert broken("queue", queue(change)) == {"bind-queue.R9"}


def test_r10_a_size_below_the_obligation() -> None:
    assert broken("queue", queue(("size <8*m>", "size <8*m - 1>"))) == {"bind-queue.R10"}
    assert broken("queue", queue(("size <8*m>", "size <8*m + 1>"))) == set()  # more is no harm


def test_r11_another_alignment() -> None:
    assert broken("queue", queue(("align 1024", "align 512"))) == {"bind-queue.R11"}


def test_r12_an_offset_that_leaves_a_gap() -> None:
    last = "offset <1024*ceildiv(m*n + 16*ceildiv(n, 16), 256) + 64*ceildiv(n, 32)>"
    assert broken("queue", queue((last, last.replace(">", " + 64>")))) == {"bind-queue.R12"}


@pytest.mark.parametrize("index", [0, 1, 2])
def test_r13_a_fingerprint_that_is_not_one(index: int) -> None:
    text = bound_text("queue")
    lines = statement(text, "concrete.plan").splitlines()[1:]
    old = lines[index].split('"')[1]
    assert broken("queue", replaced(text, (old, "0" * 16))) == {"bind-queue.R13"}


def test_r13_a_plan_that_changed_since() -> None:
    source = read(replaced(PLAN, ("requires [elementwise]", "requires [elementwise]\n    alternatives [unfused]")))
    assert broken("queue", bound_text("queue"), source) == {"bind-queue.R13"}


def test_r13_a_target_that_changed_since() -> None:
    changed = ('sum_all = "qm.sum_all"', 'sum_all = "qm.sum_all", tanh = "qm.tanh"')
    assert broken("queue", queue(changed), read(replaced(PLAN, changed))) == {"bind-queue.R13"}


def test_r14_other_devices() -> None:
    assert broken("queue", queue(("count <2>", "count <3>"))) == {"bind-queue.R14"}


def message(text: str, source: Operation | None = None) -> str:
    (found,) = gate(source or plan(), read(text, "concrete.bpir"))
    return found.message


def test_r14_what_only_one_side_states() -> None:
    source = read(replaced(PLAN, ("where m > 1", "where m > 1, 1000 > n, 50 > m")))
    region = "concrete.region @node.memory on @node.devices\n"
    text = replaced(print_module(run(source, "bind-queue")), (region, region + "    size <2**40>\n"))
    assert message(text, source) == ("the size of @node.memory is 1099511627776, 'memory' of the deployment left open [bind-queue.R14]")


def test_r14_too_few_devices_for_the_strategy() -> None:
    source = run(example("gpt3_175b"), "distribute-inference", "plan-inference", "bind-symbols{t=8}")
    text = print_module(run(source, "bind-queue")) + "\n"
    few = replaced(text, ("{devices = t}", "{devices = 4}"), ("count <8>", "count <4>"))
    assert labels(gate(source, read(few))) == {"bind-queue.R13", "bind-queue.R14"}


def meshed(relations: str, mesh: str) -> Operation:
    """The plan on another mesh, with two devices."""
    symbols = ("n, m where m > 1", f"n, m, t, u where m > 1, {relations}")
    return read(replaced(PLAN, symbols, ('plan.mesh <["tensor"=2]>', f"plan.mesh <[{mesh}]>")))


@pytest.mark.parametrize(
    ("relations", "mesh", "needed"),
    [
        ("t > 2", '"tensor"=t', "t"),  # for every number more than the two that there are
        ("t > u, u > 1", '"tensor"=t', "t"),
        ("t > 1", '"data"=2, "tensor"=t', "2*t"),  # every axis counts
        ("t > 1", '"pipeline"=3', "3"),
    ],
)
def test_r14_fewer_devices_than_ranks_for_every_number(relations: str, mesh: str, needed: str) -> None:
    with pytest.raises(DiagnosticError) as refusal:
        run(meshed(relations, mesh), "bind-queue")
    assert refusal.value.diagnostics[0].message == f"the strategy needs {needed} devices, the deployment has 2 [bind-queue.R14]"


@pytest.mark.parametrize(
    ("relations", "mesh", "assumed"),
    [
        ("t > 1", '"tensor"=t', "3 > t"),  # 2 is enough for 2
        ("u | t", '"pipeline"=t, "data"=u', "3 > t*u"),
        ("3 > t", '"tensor"=t', ""),
        ("t > 1", '"tensor"=2', ""),
        ("t > 1", "", ""),  # one rank
    ],
)
def test_r14_enough_devices_are_proved_or_assumed_and_never_unknown(relations: str, mesh: str, assumed: str) -> None:
    source = meshed(relations, mesh)
    text = print_module(run(source, "bind-queue")) + "\n"
    assert (f"bp.assume {assumed}\n" in text) == bool(assumed) and text.count("bp.assume") == bool(assumed)
    if not assumed:
        return
    unproved = replaced(text, (f"  bp.assume {assumed}\n", ""))
    found = gate(source, read(unproved))
    assert labels(found) == {"bind-queue.R14"}
    with pytest.raises(DiagnosticError, match="the numbers break the relation"):
        run(read(text), "bind-symbols{t=8 u=8}")


def test_r14_a_plan_that_names_no_mesh_is_not_taken_for_one_of_one_rank() -> None:
    with pytest.raises(DiagnosticError, match=r"the plan does not name its mesh \(plan.mesh\)"):
        run(read(replaced(PLAN, ('  plan.mesh <["tensor"=2]> strategy @tp\n', ""))), "bind-queue")


def test_r14_of_two_strategies_the_one_counts_that_the_plan_is_under() -> None:
    """One device holds one rank, and not eight."""
    strategies = "".join(f"  bind.strategy @s{degree} {{tensor = {degree}}}\n" for degree in (1, 8))
    changes = ("  bind.strategy @tp {tensor = t}\n", strategies), ("{devices = t}", "{devices = 1}")
    source = read(replaced(example_text("gpt3_175b"), *changes))
    run(source, "distribute-inference{strategy=@s1}", "plan-inference", "bind-queue")
    with pytest.raises(DiagnosticError, match="the strategy needs 8 devices, the deployment has 1"):
        run(source, "distribute-inference{strategy=@s8}", "plan-inference", "bind-queue")


@pytest.mark.parametrize("kind", ["queue", "slot"])
def test_r15_a_transfer_without_a_link(kind: str) -> None:
    source = read(PLAN.replace("links [0 -> 1]", "links [1 -> 0]"))
    found = broken(kind, bound_text(kind).replace("links [0 -> 1]", "links [1 -> 0]"), source)
    assert found == {f"bind-{kind}.R13", f"bind-{kind}.R15"}


def test_r15_the_other_way_round() -> None:
    source = read(PLAN.replace("    links [0 -> 1]\n", ""))
    text = print_module(run(source, "bind-queue")) + "\n"
    assert broken("queue", replaced(text, ("between [0, 1]", "between [1, 0]")), source) == {"bind-queue.R15"}


def test_r16_swapped_issue_order() -> None:
    assert broken("queue", queue(("issue [@left, @right]", "issue [@right, @left]"))) == {"bind-queue.R16"}
    assert broken("slot", slot(("@left cycle 0", "@left cycle 1"), ("@right cycle 1", "@right cycle 0"))) == {"bind-slot.R16"}


def test_r16_a_queue_left_out() -> None:
    source = read(dropped(PLAN, "plan.task @send").replace("consumers [@send, @sample]", "consumers [@sample]").replace("[3, 5]", "[3, 4]"))
    text = print_module(run(source, "bind-queue")) + "\n"
    less = replaced(text, ("  queue.queue @queue.transfer transfer\n", ""))
    assert broken("queue", less, source) == {"bind-queue.R16"}
    assert message(less, source) == "'queue.queue' of transfer is missing [bind-queue.R16]"


def test_r16_a_cycle_left_idle() -> None:
    assert broken("slot", slot(("@sample cycle 5", "@sample cycle 6"))) == {"bind-slot.R16"}


def test_r16_more_than_the_contract_has_where_the_dialect_does_not_refuse_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlotMachine, "violations", lambda *_: ())
    text = slot(("  slot.route @send from 0 to 1\n", "  slot.route @send from 0 to 1\n  slot.route @left from 0 to 1\n"))
    (found,) = gate(plan(), read(text))
    assert found.message == "the contract has no 'slot.route' of left [bind-slot.R16]"


def test_r16_a_construction_with_a_mistake_is_not_taken_for_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate states the construction of queue and slot itself: it does not call what binding calls."""
    for machine, kind, text in ((QueueMachine, "queue", queue()), (SlotMachine, "slot", slot())):
        construction = machine.operations
        monkeypatch.setattr(
            machine, "operations", lambda self, commands, made=construction: made(self, [commands[1], commands[0], *commands[2:]])
        )
        assert broken(kind, text) == set()
        with pytest.raises(DiagnosticError) as refused:
            run(plan(), f"bind-{kind}")
        assert f"bind-{kind}.R16" in labels(refused.value.diagnostics)


def test_r17_changed_inputs() -> None:
    assert broken("queue", queue(("where m > 1", "where m > 0"))) == {"bind-queue.R17"}
    assert broken("queue", queue(("{abi = 5, alignment = 512}", "{abi = 6, alignment = 512}"))) == {"bind-queue.R17"}


# --- what is as good


def test_another_spelling_is_accepted() -> None:
    text = queue(("size <4*m*n>", "size <2*n*(m + m)>"), ("issue [@left, @right]", "issue [@left,\n           @right] // a comment"))
    assert broken("queue", text) == set()
    assert broken("queue", print_module(read(bound_text("queue")), generic=True)) == set()


def test_another_order_of_independent_tasks_is_accepted() -> None:
    text = bound_text("queue")
    left, right = statement(text, LEFT), statement(text, RIGHT)
    text = replaced(text, (left + right, right + left), ("issue [@left, @right]", "issue [@right, @left]"))
    assert broken("queue", text) == set()
    other = bound_text("slot")
    left, right = statement(other, LEFT), statement(other, RIGHT)
    other = replaced(other, (left + right, right + left), ("@left cycle 0", "@left cycle 1"), ("@right cycle 1", "@right cycle 0"))
    assert broken("slot", other) == set()


def test_a_plan_in_another_order_has_the_same_bindings() -> None:
    left, right = statement(PLAN, "plan.task @left"), statement(PLAN, "plan.task @right")
    lives = (("align 8 live [0, 3]", "align 8 live [1, 3]"), ("align 1024 live [1, 3]", "align 1024 live [0, 3]"))
    swapped = replaced(PLAN, (left + right, right + left), *lives)
    assert broken("queue", bound_text("queue"), read(swapped)) == set()
    assert broken("slot", bound_text("slot"), read(swapped)) == set()


def test_diagnostics_point_into_both_files() -> None:
    found = gate(plan(), read(edited(bound_text("queue"), SUM, ("reads [@a, @b]", "reads [@a]")), "concrete.bpir"))
    (problem,) = found
    assert line_of(problem).startswith(SUM)
    assert problem.span is not None and problem.span.source.name == "concrete.bpir"
    assert problem.notes[0].span is not None and problem.notes[0].span.source.name == "plan.bpir"
