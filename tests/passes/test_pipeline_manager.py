"""The pass manager verifies each result, prints what was asked for on the way, and publishes nothing that fails."""

from __future__ import annotations

from typing import ClassVar

import pytest

from bpir import dialects
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, Source, Span
from bpir.ir.effort import PER_OPERATION, EffortError, limited, spend
from bpir.ir.operation import Block, Operation, Region
from bpir.ir.printer import print_module
from bpir.parser import parse_module
from bpir.passes.base import Pass
from bpir.passes.manager import PassManager
from bpir.passes.observers import Dumps, Observer, Reporting
from bpir.passes.pipeline import command_line, parse_pipeline
from bpir.passes.timing import Timing
from bpir.verifiers.structure.levels import level_of

pytestmark = pytest.mark.usefixtures("fake_passes")
dialects.load_all(("dist", "plan", "queue", "slot"))  # a level is known of the dialects that are loaded

TEXT = '%0 = "e.a"() : () -> i32\n"e.b"() : () -> ()\n'


def module(text: str = TEXT) -> Operation:
    return parse_module(Source("f", text), allow_unregistered=True)


def manager(pipeline: str, **how: object) -> PassManager:
    return PassManager(parse_pipeline(command_line(pipeline)), print_module, **how)  # type: ignore[arg-type]


def refusal(pipeline: str, **how: object) -> str:
    with pytest.raises(DiagnosticError) as caught:
        manager(pipeline, **how).run(module())
    return "\n".join(d.render() for d in caught.value.diagnostics)


def test_passes_run_in_order() -> None:
    result = manager("fake-mark{text=first},fake-mark{text=second}").run(module())
    assert print_module(result).count('mark = "second"') == 2
    assert "first" not in print_module(result)


def test_a_derived_operation_allows_steps_as_a_read_one_does() -> None:
    """A module of 10,000 tasks comes from a short text: what is derived counts, not only what is read."""
    derived = 3  # the module and its two operations
    given = module()
    with limited(0):
        manager("fake-mark{text=first}").run(given)
        spend(derived * PER_OPERATION)
        with pytest.raises(EffortError):
            spend(1)


def test_a_pass_of_another_level_is_refused() -> None:
    expected = "error: pass 'fake-model' expects a model module, found a module without operations of a level"
    assert expected in refusal("fake-model")


def test_a_failed_gate_says_that_nothing_is_published() -> None:
    said = refusal("fake-gate")
    assert "f:1:" in said
    assert "error: work differs" in said
    assert said.endswith("note: pass 'fake-gate' publishes nothing, because its gate failed")


def test_the_gate_is_no_matter_of_verify_each() -> None:
    assert "work differs" in refusal("fake-gate", verify_each=False)


def test_the_structure_of_a_result_is_verified() -> None:
    assert refusal("fake-broken").endswith("note: found in the result of pass 'fake-broken'")
    manager("fake-broken", verify_each=False).run(module())


def test_replay_refuses_a_pass_that_answers_differently() -> None:
    said = refusal("fake-random", replay=True)
    assert "error: pass 'fake-random' is not deterministic: its second run differs from line" in said
    assert "note: first run: " in said
    manager("fake-random").run(module())


def test_replay_refuses_a_pass_that_changes_its_input() -> None:
    assert "pass 'fake-impure' is not pure" in refusal("fake-impure", replay=True)


def test_warnings_are_reported_and_stop_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from fake_passes import Mark

    monkeypatch.setattr(Mark, "gate", lambda *_: [Diagnostic("careful", severity="warning")])
    seen: list[Diagnostic] = []
    manager("fake-mark", observers=[Reporting(seen.append)]).run(module())
    assert [d.message for d in seen] == ["careful"]


@pytest.mark.parametrize(
    ("dumps", "shown"),
    [
        (Dumps(print_module), []),
        (Dumps(print_module, before_all=True), ["Before fake-mark", "Before fake-options", "Before fake-mark"]),
        (Dumps(print_module, after_all=True), ["After fake-mark", "After fake-options", "After fake-mark"]),
        (Dumps(print_module, after=frozenset({"fake-options"})), ["After fake-options"]),
        (Dumps(print_module, before=frozenset({"fake-mark"})), ["Before fake-mark", "Before fake-mark"]),
        (Dumps(print_module, after_change=True), ["After fake-mark", "After fake-mark"]),
        (Dumps(print_module, after_change=True, after=frozenset({"fake-options"})), []),
    ],
)
def test_dumps(dumps: Dumps, shown: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    manager("fake-mark{text=a},fake-options,fake-mark{text=b}", observers=[dumps]).run(module())
    heads = [line for line in capsys.readouterr().err.splitlines() if line.startswith("// -----//")]
    assert heads == [f"// -----// IR Dump {when} //----- //" for when in shown]


def test_a_dump_is_the_module(capsys: pytest.CaptureFixture[str]) -> None:
    result = manager("fake-mark{text=a}", observers=[Dumps(print_module, after_all=True)]).run(module())
    head = "// -----// IR Dump After fake-mark //----- //\n"
    assert capsys.readouterr().err == head + print_module(result).rstrip() + "\n\n"


def test_it_is_known_which_pass_failed() -> None:
    running = manager("fake-mark{text=a},fake-gate,fake-mark{text=b}")
    with pytest.raises(DiagnosticError):
        running.run(module())
    assert running.reached is not None
    index, given = running.reached
    assert index == 1
    assert 'mark = "a"' in print_module(given)


def test_the_time_is_counted_by_pass_and_verifier() -> None:
    timing = Timing()
    manager("fake-mark,fake-options", replay=True, observers=[timing]).run(module())
    assert list(timing.seconds) == [
        "Verify structure",
        "fake-mark",
        "Replay",
        "Verify boundary",
        "fake-options",
    ]
    text = timing.render()
    assert "Total Execution Time" in text
    assert "% of the total" in text


def test_a_user_can_look_on() -> None:
    class Count(Observer):
        """Counts the operations before and behind each pass."""

        seen: ClassVar[list[tuple[str, int, int]]] = []

        def after(self, current: Pass, module: Operation, result: Operation) -> None:
            self.seen.append((current.name, len(module.body), len(result.body)))

    manager("fake-mark,fake-options", observers=[Count()]).run(module())
    assert Count.seen == [("fake-mark", 2, 2), ("fake-options", 2, 2)]


def tree(*children: str | Operation) -> Operation:
    """A module of empty operations with these names."""
    operations = [Operation(c) if isinstance(c, str) else c for c in children]
    return Operation("builtin.module", regions=[Region([Block([], operations)])])


def test_a_module_of_two_levels_is_refused() -> None:
    source = Source("f", "plan\ndist\n")
    first = Operation("plan.x", span=Span(source, 0, 4))
    second = Operation("dist.y", span=Span(source, 5, 9))
    with pytest.raises(DiagnosticError) as caught:
        level_of(tree(first, tree(second), "queue.z"))
    message = caught.value.diagnostics[0].render()
    assert message.startswith("f:2:1: error: a file holds operations of one level, found 'dist.y'")
    assert "f:1:1: note: the first operation of level plan is here" in message


@pytest.mark.parametrize(
    ("module", "level"),
    [
        (tree("e.a"), ""),
        (tree(), ""),
        (tree("bp.symbols", "plan.a"), "plan"),
        (tree(tree(tree("plan.a"))), "plan"),
        (tree("concrete.a", "queue.b", "slot.c"), "concrete"),
        (tree(Operation("e.a", regions=[Region([Block([], [Operation("plan.a")])])])), ""),  # not at the top
    ],
)
def test_the_level_is_that_of_the_top_operations(module: Operation, level: str) -> None:
    assert level_of(module) == level
