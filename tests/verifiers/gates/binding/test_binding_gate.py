"""The gate of binding refuses a wrong plan by the rule that it breaks, and accepts other valid ones."""

from __future__ import annotations

import pytest
from bound_plans import LEFT, RIGHT, SEND, SUM, queue, slot
from concrete_support import PLAN, bound_text, broken, labels, plan
from support import dropped, edited, example, example_text, gate, line_of, read, replaced, run, statement

from bpir.dialects.queue import QueueMachine
from bpir.dialects.slot import SlotMachine
from bpir.ir.diagnostic import DiagnosticError
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module


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
