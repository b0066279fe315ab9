"""Descriptions of machines: each mistake is told at its line; seconds of tasks, messages and measured rows by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support import ROOT, read, run

from bpir.cost.estimate import Estimate, estimate
from bpir.cost.system import System
from bpir.ir.diagnostic import DiagnosticError, Source
from bpir.tools import bp_cost

MACHINE = """\
name = "toy"
overlap = "none"
source = "by hand"

[matrix]
operations_per_second = 1000
efficiency = [[100, 0.5], [0, 0.1]]

[vector]
operations_per_second = 100
efficiency = 1

[memory]
bytes = 1000000
bytes_per_second = 2000
efficiency = 0.5

[[network]]
devices = 2
bytes_per_second = 100
efficiency = 0.5
latency = 0.25
all_reduce = {factor = 2.0, share = -1}
"""

BLOCK = """\
module @toy {
  bp.symbols B, S, H, F, t, e where t | F, t | H
  bind.workload @step training {}
  bind.strategy @tp {tensor = t}
  model.block @block(%x: !bp.tensor<B x S x H, e>) {
    %y = model.linear "mlp.expand" %x : [F]
    %g = model.gelu "mlp.gelu" %y
    %z = model.linear "mlp.contract" %g : [H]
    model.return %z
  }
}
"""
NUMBERS = "bind-symbols{B=1 S=2 H=4 F=8 e=2 t=2}"


def machine(text: str = MACHINE, *evidence: str) -> System:
    return System(Source("toy.toml", text), [Source(f"evidence{n}.toml", other) for n, other in enumerate(evidence)])


def toy(text: str = MACHINE, *evidence: str) -> Estimate:
    plan = run(read(BLOCK), "distribute-training", "plan-training", NUMBERS)
    return estimate(plan, machine(text, *evidence), {})


def of(found: Estimate, name: str) -> float:
    return next(cost.seconds.value for cost in found.tasks if cost.task.name == name)


def test_a_task_takes_its_operations_and_its_traffic() -> None:
    """A column-parallel linear of 2 tokens, 4 to 8/2 features: 2*2*4*4 = 64 operations at 1000*0.1 a second (below 100: the second entry),
    and 2*(2*4 + 4*4 + 2*4) = 64 bytes at 2000*0.5."""
    assert of(toy(), "mlp.expand.forward") == pytest.approx(64 / 100 + 64 / 1000, rel=1e-12)


def test_a_roofline_takes_the_longer_one() -> None:
    assert of(toy(MACHINE.replace('"none"', '"roofline"')), "mlp.expand.forward") == pytest.approx(64 / 100, rel=1e-12)


def test_a_collective_takes_its_own_work_and_its_message() -> None:
    """2*4 = 8 elements over 2 ranks: 8/2 = 4 additions at 100 a second, 16 + 16 bytes at 1000; the wire has 16*2 - 16*2/2 = 16 bytes."""
    expected = 4 / 100 + 32 / 1000 + 0.25 + 16 / (100 * 0.5)
    assert of(toy(), "mlp.output_collective.forward") == pytest.approx(expected, rel=1e-12)


def test_what_a_task_waits_for_and_its_share_of_the_peak() -> None:
    found = toy()
    cost = next(cost for cost in found.tasks if cost.task.name == "mlp.expand.forward")
    assert cost.bottleneck == "operations"
    assert cost.share == pytest.approx(64 / (64 / 100 + 64 / 1000) / 1000, rel=1e-12)
    assert next(c.bottleneck for c in found.tasks if c.task.name == "mlp.output_collective.forward") == "network"


def test_the_step_is_the_sum_of_its_tasks() -> None:
    found = toy()
    assert found.seconds["total"].value == pytest.approx(sum(cost.seconds.value for cost in found.tasks), rel=1e-12)
    assert found.seconds["tensor_parallel"].value == pytest.approx(
        sum(cost.seconds.value for cost in found.tasks if cost.task.collective), rel=1e-12
    )


def test_utilisation_counts_what_the_model_needs() -> None:
    """Two linears forward and two gradients each: 6 * 64 matrix operations of a rank; 2 tokens a step."""
    found = toy()
    total = found.seconds["total"].value
    assert found.utilisation == pytest.approx(6 * 64 / total / 1000, rel=1e-12)
    assert found.tokens == pytest.approx(2 / total, rel=1e-12)


def test_what_was_measured_comes_first() -> None:
    row = '[[measured]]\nkind = "linear"\noperations = 64\nbytes = 64\nseconds = 0.125\nsource = "bench 7"\ndate = "2026-11-30"\n'
    found = toy(MACHINE, row)
    cost = next(cost for cost in found.tasks if cost.task.name == "mlp.expand.forward")
    assert cost.seconds.value == 0.125 and cost.bottleneck == "measured"
    assert cost.evidence[0].text == "measured linear (evidence0.toml:5; bench 7, 2026-11-30)"
    assert of(found, "mlp.gelu.forward") == of(toy(), "mlp.gelu.forward")


def test_a_curve_of_evidence_comes_before_the_system_s() -> None:
    found = toy(MACHINE, "[matrix]\nefficiency = 0.64\n")
    assert of(found, "mlp.expand.forward") == pytest.approx(64 / 640 + 64 / 1000, rel=1e-12)
    assert any(e.place == "evidence0.toml:2" for e in found.evidence)


def test_limits_of_figures_give_limits_of_seconds() -> None:
    text = MACHINE.replace("efficiency = [[100, 0.5], [0, 0.1]]", "efficiency = [[0, 0.1, 0.08, 0.2]]")
    cost = next(cost for cost in toy(text).tasks if cost.task.name == "mlp.expand.forward")
    memory = 64 / 1000
    assert cost.seconds.least == pytest.approx(64 / 200 + memory) and cost.seconds.most == pytest.approx(64 / 80 + memory)
    assert toy(text).seconds["total"].least < toy(text).seconds["total"].value < toy(text).seconds["total"].most


ROW = '\n[[measured]]\nkind = "linear"\noperations = 1\nbytes = 1\nseconds = {}\n'
WRONG = {
    "a figure is missing": (
        ("operations_per_second = 1000\n", ""),
        "toy.toml:5:2: error: 'operations_per_second' is missing in [matrix]: how much matrix does a second",
    ),
    "a curve is missing": (("efficiency = 1\n", ""), "toy.toml:9:2: error: 'efficiency' is missing in [vector]"),
    "a table is missing": (("[vector]\noperations_per_second = 100\nefficiency = 1\n", ""), "error: 'vector' is missing in the file"),
    "a collective is missing": (("all_reduce =", "all_gather ="), "toy.toml:18:3: error: 'all_reduce' is missing in [[network]]"),
    "a name is missing": (('name = "toy"\n', ""), "error: 'name' is missing in the file"),
    "a key is misspelt": (("latency", "latancy"), "toy.toml:22:1: error: [[network]] has no 'latancy'; did you mean 'latency'?"),
    "an engine is unknown": (("[memory]", '[engines]\ngelu = "vectr"\n\n[memory]'), "toy.toml:14:1: error: there is no engine 'vectr'"),
    "an overlap is unknown": (('"none"', '"rooflin"'), "toy.toml:2:1: error: 'overlap' is none or roofline, not 'rooflin'"),
    "an efficiency above 1": (("efficiency = 1\n", "efficiency = 1.5\n"), "toy.toml:11:1: error: an efficiency is above 0 and at most 1"),
    "a word for a number": (("= 1000\n", '= "fast"\n'), "toy.toml:6:1: error: 'operations_per_second' must be a number above 0"),
    "two entries at one bound": (("[0, 0.1]", "[100, 0.1]"), "toy.toml:7:1: error: the curve has two entries at 100: which one holds?"),
    "a curve upside down": (("[0, 0.1]", "[200, 0.1]"), "toy.toml:7:1: error: the entries of a curve stand from the largest down"),
    "a curve that ends": (("[0, 0.1]", "[90, 0.1]"), "toy.toml:7:1: error: the curve has no entry for 64"),
    "a malformed entry": (("[0, 0.1]", "[0]"), "toy.toml:7:1: error: an entry of a curve is [at least, efficiency]"),
    "not TOML": (("[vector]", "[vector"), "toy.toml:9:8: error: this is not TOML"),
    "no tier": (("[memory]", "[axes]\ntensor = 3\n\n[memory]"), "error: there is no network tier 3, which 'tensor' is on"),
    "measured twice": (("all_reduce", "all_reduce"), "toy.toml:35:1: error: this task was measured as 1 s already, and here as 2 s"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_at_its_line(name: str) -> None:
    change, said = WRONG[name]
    text = MACHINE.replace(*change)
    if name == "measured twice":
        text += ROW.format(1) + ROW.format(2)
    with pytest.raises(DiagnosticError) as caught:
        toy(text)
    assert said in "\n".join(d.render() for d in caught.value.diagnostics)


def test_two_files_of_evidence_that_disagree() -> None:
    with pytest.raises(DiagnosticError, match="two files have different curves of matrix"):
        toy(MACHINE, "[matrix]\nefficiency = 0.5\n", "[matrix]\nefficiency = 0.6\n")
    assert toy(MACHINE, "[matrix]\nefficiency = 0.5\n", "[matrix]\nefficiency = 0.5\n").seconds["total"].value


def test_symbols_are_no_numbers() -> None:
    plan = run(read(BLOCK), "distribute-training", "plan-training")
    with pytest.raises(DiagnosticError, match="holds B, F, H, S: an estimate needs numbers"):
        estimate(plan, machine(), {"t": 2})
    with pytest.raises(DiagnosticError, match="an estimate is of a plan"):
        estimate(read(BLOCK), machine(), {})


def test_curves_are_read_exactly() -> None:
    """An operation of exactly the bound gets the entry; one less does not."""
    curve = machine().engine("matrix").efficiency
    assert curve.at(Fraction(100)).value == 0.5 and curve.at(Fraction(199, 2)).value == 0.1


def test_a_plan_is_not_changed(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    from pathlib import Path

    from bpir.ir.printer import print_module

    folder = Path(str(tmp_path))
    plan, toml = folder / "plan.bpir", folder / "toy.toml"
    text = print_module(run(read(BLOCK), "distribute-training", "plan-training", NUMBERS))
    plan.write_text(text)
    toml.write_text(MACHINE)
    for form in ("table", "json", "trace"):
        assert bp_cost.main([str(plan), f"--system={toml}", f"--format={form}"]) == 0
        assert "estimate" in capsys.readouterr().out
    assert plan.read_text() == text


def test_the_systems_of_the_examples_are_read() -> None:
    for path in sorted((ROOT / "examples" / "systems").glob("*.toml")):
        System(Source(path.name, path.read_text()))


STACK = """
  model.network @stack(%x: !bp.tensor<B x S x H, e>) {
    %z = model.repeat 3 @block %x
    model.return %z
  }
"""
BETWEEN = """
[[network]]
devices = 64
bytes_per_second = 10
efficiency = 1
latency = 0.5
p2p = {factor = 1.0, share = 0}
"""


def test_the_busiest_stage_sets_the_pace_and_the_others_are_the_bubble() -> None:
    """Three blocks in two stages: the first one has two, sends one message forward a microbatch (2*4 elements of 2 bytes at 10 bytes a
    second after half a second), and waits for what the second one does with one microbatch: a block, and a message backward."""
    text = BLOCK.rstrip().removesuffix("}") + STACK + "}\n"
    plan = run(read(text), "distribute-training{pipeline=2 microbatches=5}", "plan-training", NUMBERS)
    found = estimate(plan, machine(MACHINE + BETWEEN), {})
    forward, backward, tensor = (
        sum(cost.seconds.value for cost in found.tasks if chosen(cost) and cost.task.moves is None)
        for chosen in (
            lambda cost: cost.task.phase == "forward" and not cost.task.collective,
            lambda cost: cost.task.phase in ("activation_gradient", "weight_gradient") and not cost.task.collective,
            lambda cost: cost.task.collective is not None,
        )
    )
    seconds = {key: value.value for key, value in found.seconds.items()}
    message = 0.5 + 16 / 10
    assert seconds["forward"] == pytest.approx(5 * 2 * forward)
    assert seconds["backward"] == pytest.approx(5 * 2 * backward)
    assert seconds["tensor_parallel"] == pytest.approx(5 * 2 * tensor)
    assert seconds["pipeline_parallel"] == pytest.approx(5 * message)
    assert seconds["bubble"] == pytest.approx(forward + backward + tensor + message)


def test_no_level_holds_a_second() -> None:
    """No estimate can be written into a plan: the structure of a module refuses time at every level."""
    from bpir.ir.attributes import StringAttr
    from bpir.verifiers.structure.module import verify

    plan = run(read(BLOCK), "distribute-training", "plan-training", NUMBERS)
    assert not verify(plan)
    task = next(operation for operation in plan.walk() if operation.name == "plan.task")
    task.attributes["estimated_seconds"] = StringAttr("0.5")
    assert any("time" in d.message for d in verify(plan))
