"""Binding: all kinds of commands on both targets, targets from files, what is refused, and a third target in one file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from concrete_support import PLAN, bound_text, gpt3_plan, gpt3_training_plan, labels, plan
from raw import is_command, kind_of, names_of, symbol_of, text_of
from support import ROOT, example, gate, line_of, read, replaced, report, run, shown

from bpir import dialects
from bpir.dialects.concrete.contract import plan_fingerprint
from bpir.dialects.concrete.extension import EXTENSIONS
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import Diagnostic, DiagnosticError
from bpir.ir.dialect import DIALECTS
from bpir.ir.operation import Operation
from bpir.ir.printer import print_module
from bpir.verifiers.structure import module as structure

TARGETS = ROOT / "examples" / "targets"


def refused(module: Operation, *passes: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(DiagnosticError) as caught:
        run(module, *passes)
    return caught.value.diagnostics


def envelope(module: Operation) -> list[str]:
    """The commands and buffers, without what the target decides: implementations and addresses."""
    mine = {"implementation", "alignment", "offset", "region"}
    kept = [o for o in module.body if is_command(o) or o.name == "concrete.buffer"]
    return [f"{o.name} " + " ".join(f"{k} = {v.text}" for k, v in sorted(o.properties.items()) if k not in mine) for o in kept]


@pytest.mark.parametrize("source", [gpt3_plan, gpt3_training_plan, plan], ids=["inference", "training", "by hand"])
class TestEveryPlan:
    def test_queue_and_slot_keep_work_commands_and_buffers(self, source: object) -> None:
        assert callable(source)
        queue, slot = run(source(), "bind-queue"), run(source(), "bind-slot")
        assert envelope(queue) == envelope(slot)
        assert report(queue).tasks == report(slot).tasks
        assert [attrs.evolve(t, source="") for t in report(queue).tasks] == [attrs.evolve(t, source="") for t in report(source()).tasks]

    @pytest.mark.parametrize("kind", ["queue", "slot"])
    def test_the_same_plan_gives_the_same_bytes(self, source: object, kind: str) -> None:
        assert callable(source)
        first, second = (print_module(run(read(print_module(source())), f"bind-{kind}")) for _ in range(2))
        assert first == second
        assert print_module(read(first)) == first

    def test_issue_order_is_the_stable_subsequence(self, source: object) -> None:
        assert callable(source)
        module = run(source(), "bind-queue")
        order = [symbol_of(o) for o in module.body if is_command(o)]
        assert order == [symbol_of(o) for o in source().body if o.name == "plan.task"]
        queues = [names_of(o, "issue") for o in module.body if o.name == "queue.queue"]
        assert len(queues) == 4
        assert sorted(n for names in queues for n in names) == sorted(order)
        for names in queues:
            assert list(names) == [n for n in order if n in names]

    def test_every_dependency_is_issued_in_an_earlier_cycle(self, source: object) -> None:
        assert callable(source)
        module = run(source(), "bind-slot")
        issued = [o.properties["command"].text[1:] for o in module.body if o.name == "slot.issue"]
        for command in module.body:
            if is_command(command):
                for needed in names_of(command, "after"):
                    assert issued.index(needed) < issued.index(symbol_of(command))


def test_every_kind_of_command_is_reached() -> None:
    kinds = [kind_of(o) for o in run(plan(), "bind-queue").body if is_command(o)]
    assert kinds == ["launch", "launch", "barrier", "collective", "transfer", "host_call"]
    assert [t.kind for t in report(run(plan(), "bind-slot")).tasks] == ["compute", "compute", "barrier", "collective", "transfer", "host"]


def test_an_implementation_is_for_launch_collective_and_host_call() -> None:
    for command in run(plan(), "bind-queue").body:
        if is_command(command):
            assert bool(text_of(command, "implementation")) == (kind_of(command) not in ("transfer", "barrier"))


@pytest.mark.parametrize("ranks", ["[0]", "[1, 1]", "[0, 1, 0]"])
@pytest.mark.parametrize("kind", ["queue", "slot"])
def test_a_transfer_between_one_rank_is_refused(ranks: str, kind: str) -> None:
    found = refused(read(replaced(PLAN, ("between [0, 1]", f"between {ranks}"))), f"bind-{kind}")
    assert labels(list(found)) == {"plan.R6"}
    assert line_of(found[0]).startswith("plan.task @send")


@pytest.mark.parametrize("kind", ["queue", "slot"])
def test_a_transfer_on_one_device_is_refused(kind: str) -> None:
    found = refused(read(PLAN.replace("{devices = 2}\n    links [0 -> 1]", "{devices = 1}")), f"bind-{kind}")
    assert found[0].message == "the transfer @send needs 2 devices, there are 1 [concrete.R6]"
    assert line_of(found[0]).startswith("plan.task @send")


@pytest.mark.parametrize("kind", ["queue", "slot"])
def test_a_transfer_needs_a_link(kind: str) -> None:
    found = refused(read(replaced(PLAN, ("links [0 -> 1]", "links [1 -> 0]"))), f"bind-{kind}")
    assert f"no link leads from device 0 to device 1 [bind-{kind}.R15]" in found[0].message
    assert line_of(found[0]).startswith("plan.task @send")


def test_other_tasks_are_between_no_ranks() -> None:
    text = replaced(PLAN, ("    after [@left, @right]\n    work <>", "    after [@left, @right]\n    between [0, 1]\n    work <>"))
    assert labels(structure.verify(read(text))) == {"plan.R6"}


def test_all_missing_implementations_are_named() -> None:
    text = PLAN.replace('elementwise = "qm.map", host = "qm.host", ', "")
    found = refused(read(text), "bind-queue")
    assert [d.message for d in found] == [f"the target @queues has no implementation of @{name}" for name in ("right", "sample")]
    assert "add 'gelu = ...' or 'elementwise = ...'" in found[0].notes[0].message


def test_an_operation_goes_before_alternatives_and_capabilities() -> None:
    def chosen(implements: str, requires: str) -> str:
        text = replaced(PLAN, ("requires [elementwise]", requires)).replace('elementwise = "qm.map"', implements)
        commands = {symbol_of(o): o for o in run(read(text), "bind-queue").body if is_command(o)}
        return text_of(commands["right"], "implementation")

    both = "requires [elementwise]\n    alternatives [table, polynomial]"
    assert chosen('elementwise = "c", gelu = "o", table = "t"', both) == "o"
    assert chosen('elementwise = "c", polynomial = "p", table = "t"', both) == "t"
    assert chosen('elementwise = "c", polynomial = "p"', both) == "p"
    assert chosen('elementwise = "c"', both) == "c"


def test_the_target_is_chosen_by_kind_or_by_name() -> None:
    assert 'by "sm.map"' in bound_text("slot")
    second = PLAN.replace("  bind.target @slots slot", "  bind.target @spare queue").replace('"sm.', '"spare.')
    assert "several candidates for bind.target" in refused(read(second), "bind-queue")[0].message
    assert 'by "spare.map"' in print_module(run(read(second), "bind-queue{target=@spare}"))
    assert "did you mean '@queues'" in refused(plan(), "bind-queue{target=@queue}")[0].message
    assert "there is no bind.target @slots of kind queue" in refused(plan(), "bind-queue{target=@slots}")[0].message
    assert print_module(run(plan(), "bind-target{target=@slots}")).rstrip("\n") + "\n" == bound_text("slot")


def test_a_missing_target_or_deployment_is_named() -> None:
    bare = read("\n".join(line for line in PLAN.splitlines() if "bind.target" not in line and "implements" not in line))
    (found,) = refused(bare, "bind-slot")
    assert found.message.startswith("pass 'bind-slot' needs a slot target: add 'bind.target @machine slot")
    text = replaced(PLAN, ("  bind.deployment @node {devices = 2}\n    links [0 -> 1]\n", ""))
    (found,) = refused(read(text), "bind-slot")
    assert "needs a deployment" in found.message
    assert "concrete.devices @deployment.devices count <2>" in print_module(run(read(text), "bind-slot{devices=2}"))


# --- targets from files


def bare_plan() -> Operation:
    """The plan of GPT-3 with numbers, without target and deployment."""
    module = run(example("gpt3_175b"), "distribute-inference", "plan-inference", "bind-symbols{B=1 S=1 c=2048 t=2}")
    module.regions[0].blocks[0].operations = [o for o in module.body if o.name not in ("bind.target", "bind.deployment")]
    return read(print_module(module))


@pytest.mark.parametrize("kind", ["queue", "slot"])
def test_a_target_of_a_file_is_used_without_pasting(kind: str) -> None:
    path = TARGETS / f"{kind}_machine.bpir"
    module = run(bare_plan(), f"bind-{kind}{{target_file={path}}}")
    assert [symbol_of(o) for o in module.body if o.name == "bind.target"] == [f"{kind}_machine"]
    assert gate(bare_plan(), read(print_module(module))) == []


@pytest.mark.parametrize("path", sorted(TARGETS.glob("*.bpir")), ids=lambda p: p.stem)
def test_the_ready_targets_are_well_formed(path: Path) -> None:
    assert structure.verify(read(path.read_text(), path.name)) == []


def test_files_that_are_no_targets(tmp_path: Path) -> None:
    assert "cannot read" in refused(plan(), "bind-queue{target_file=/none/such.bpir}")[0].message
    empty = tmp_path / "empty.bpir"
    empty.write_text("bp.symbols n\n")
    assert "has no bind.target" in refused(plan(), f"bind-queue{{target_file={empty}}}")[0].message
    wrong = tmp_path / "wrong.bpir"
    wrong.write_text('bind.target @t queue {abi = 1, alignment = 24} implements {x = "y"}\n')
    (found,) = refused(plan(), f"bind-queue{{target_file={wrong}}}")
    assert found.message == "the alignment of a target is a power of two, not 24"
    twice = tmp_path / "twice.bpir"
    twice.write_text('bind.target @queues queue {abi = 1, alignment = 16} implements {x = "y"}\n')
    assert "the module has a @queues already" in refused(plan(), f"bind-queue{{target_file={twice}}}")[0].message


# --- inputs that are malformed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("{abi = 3, alignment = 64}", "{abi = 3}"), "a target needs its 'alignment'"),
        (("{abi = 3, alignment = 64}", "{alignment = 64}"), "a target needs its 'abi'"),
        (("{abi = 3, alignment = 64}", "{abi = n, alignment = 64}"), "'abi' of a target must be a positive number, not n"),
        (("{abi = 3, alignment = 64}", "{abi = 3, alignment = 48}"), "a power of two, not 48"),
        (("links [0 -> 1]", "links [0 -> 0]"), "a link leads from a device to another one"),
        (("links [0 -> 1]", "links [0 -> 2]"), "names a device that the deployment does not have"),
    ],
)
def test_malformed_bindings(change: tuple[str, str], message: str) -> None:
    found = structure.verify(read(replaced(PLAN, change)))
    assert len(found) == 1
    assert message in found[0].message


def test_a_thing_implemented_twice() -> None:
    with pytest.raises(DiagnosticError, match="'host' is implemented twice"):
        read(PLAN.replace('elementwise = "qm.map"', 'host = "qm.map"'))


# --- fingerprints


def test_the_fingerprint_of_a_plan_is_that_of_its_structure() -> None:
    first = plan_fingerprint(plan().body)
    assert first == plan_fingerprint(read(print_module(plan(), generic=True)).body)
    assert first == plan_fingerprint(run(plan(), "bind-symbols{n=3 m=4}").body)
    assert first == plan_fingerprint(reversed(plan().body))
    changes = (
        ("reads [@a, @b]", "reads [@b]"),
        ("align 1024", "align 2048"),
        ("between [0, 1]", "between [1, 0]"),
        ("sample host sample", "sample host draw"),
    )
    for change in changes:
        assert first != plan_fingerprint(read(replaced(PLAN, change)).body)


# --- a third target: one file, nothing else

TAPE = '''
"""The `tape` dialect: a machine that reads its commands from a tape."""

from bpir.dialects.concrete.envelope import Command
from bpir.dialects.concrete.extension import TargetExtension, Violation
from bpir.ir.attributes import ArrayAttr, StringAttr, SymbolRefAttr
from bpir.ir.declaration import OperationDeclaration
from bpir.ir.dialect import Dialect, declare
from bpir.ir.property_parts import References, Text
from bpir.ir.rulebook import RuleBook

declare(Dialect("tape", level="concrete", uses=("concrete",)))


class Tape(OperationDeclaration):
    """`tape.tape "main" [@a, @b]`"""

    name = "tape.tape"
    label = Text()
    commands = References()
    syntax = (label, commands)


class TapeMachine(TargetExtension):
    kind = "tape"
    rules = RuleBook(kind)

    def operations(self, commands):
        names = ArrayAttr(tuple(SymbolRefAttr((command.symbol,)) for command in Command.each(commands)))
        return [Tape.build(properties={"label": StringAttr("main"), "commands": names})]

    def identity(self, operation):
        return Tape(operation).label

    @rules.rule("R1", "every command is on the tape")
    def violations(self, commands, operations):
        named = {name for tape in Tape.each(operations) for name in tape.commands}
        for command in Command.each(commands):
            if command.symbol not in named:
                yield Violation("R1", command, f"@{command.symbol} is not on the tape")
'''


@pytest.fixture
def tape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "tape.py").write_text(TAPE)
    dialects._loaded.pop("tape", None)  # another test may have looked for it
    monkeypatch.setattr(dialects, "_available", [])
    monkeypatch.setattr(dialects, "__path__", [*dialects.__path__, str(tmp_path)])
    yield
    EXTENSIONS.pop("tape", None)
    DIALECTS.pop("tape", None)
    DECLARATIONS.pop("tape.tape", None)
    dialects._loaded.pop("tape", None)
    sys.modules.pop("bpir.dialects.tape", None)


@pytest.mark.usefixtures("tape")
def test_a_third_target_is_one_file() -> None:
    source = read(PLAN.replace("bind.target @slots slot", "bind.target @machine tape"))
    module = run(source, "bind-target{target=@machine}")
    text = print_module(module) + "\n"
    assert 'tape.tape "main" [@left, @right, @fence, @sum, @send, @sample]' in text
    assert gate(source, read(text)) == [], shown(gate(source, read(text)))
    for change, rule in (("@right, @fence", "tape.R1"), ("@right, @left, @fence", "bind-tape.R16")):
        assert labels(gate(source, read(replaced(text, ('"main" [@left, @right, @fence', f'"main" [{change}'))))) == {rule}
    # what the contract has not, and its structure alone does not refuse
    found = gate(source, read(text.replace("  tape.tape", '  tape.tape "spare" [@sum]\n  tape.tape')))
    assert [d.message for d in found] == ["the contract has no 'tape.tape' of spare [bind-tape.R16]"]
    assert line_of(found[0]) == 'tape.tape "spare" [@sum]'
    found = gate(source, read(replaced(text, ('"main"', '"spare"'))))
    assert [d.message for d in found] == [
        "'tape.tape' of main is missing [bind-tape.R16]",
        "the contract has no 'tape.tape' of spare [bind-tape.R16]",
    ]
    assert envelope(module) == envelope(run(plan(), "bind-queue"))


def test_a_kind_that_nothing_extends() -> None:
    source = read(PLAN.replace("bind.target @slots slot", "bind.target @machine tape"))
    assert refused(source, "bind-target{target=@machine}")[0].message == "nothing is known of targets of the kind 'tape'"
