"""Each diff of docs/extending.md is applied to a copy of the project, and used there as the page says.

The diffs are read from the page, so they can't drift. Each adds one file, and all that the project does with what it has of its own it
does with what is added.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from newcomer import Copy, changed_files, diffs
from support import ROOT

pytestmark = pytest.mark.slow

PAGE = "extending.md"
ADDED = {name: diff for diff in diffs(PAGE) for name in changed_files(diff)}
"""The diffs of the page by the file that each adds."""

INFERENCE = [f"phase={phase} tensor={t}" for phase, t in product(("prefill", "decode"), ("1", "t", "2"))]
TRAINING = [
    f"tensor={t} communication={communication} recompute={recompute}"
    for t, communication, recompute in product(("1", "t", "2"), ("all_reduce", "reduce_scatter_all_gather"), ("none", "full"))
]


def copy_with(folder: Path, *names: str) -> Copy:
    """A copy of the project with the files that the page adds."""
    found = Copy.of_project(folder)
    for name in names:
        found.apply(ADDED[name])
    return found


def test_each_change_of_the_page_is_one_new_file() -> None:
    assert [changed_files(diff) for diff in diffs(PAGE)] == [
        ["dialects/model/relu2.py"],
        ["run/operations/relu2.py"],
        ["dialects/model/rotary.py"],
        ["run/operations/rotary.py"],
        ["dialects/energy.py"],
        ["dialects/tape.py"],
        ["passes/remove_dropout.py"],
    ]
    assert all("--- /dev/null" in diff for diff in diffs(PAGE))


# --- operations

HEAD = "bp.symbols B, S, c, H, F, h, {g}d, t, e where {shared}t | h, t | F, t | H, t | S\n"
WORKLOAD = "bind.workload @w inference {phase = decode, context = c}\n"
MLP = """bind.strategy @s {tensor = t}
model.block @block(%x: !bp.tensor<B x S x H, e>) {
  %u = model.linear "mlp.expand" %x : [F]
  %a = model.relu2 "mlp.relu2" %u
  %y = model.linear "mlp.contract" %a : [H]
  %z = model.add "mlp.residual" %y, %x
  model.return %z
}
"""
MACRO = """bind.strategy @s {tensor = t}
model.block @block(%x: !bp.tensor<B x S x H, e>) {
  %y = model.transformer_block %x heads h head_size d feed_forward F context c activation relu2 dropout
  model.return %y
}
"""
ATTENTION = """bind.strategy @s {tensor = t}
model.block @block(%x: !bp.tensor<B x S x H, e>) {
  %n = model.rms_norm "attention.norm" %x
  %q, %k, %v = model.linear "attention.qkv" %n : [h x d], [HEADS x d], [HEADS x d]
ROTARY  %o = model.attention "attention.core" CORE, %v context c
  %y = model.linear "attention.output_projection" %o : [H]
  %z = model.add "attention.residual" %y, %x
  model.return %z
}
"""
TURNED = '  %qr, %kr = model.rotary "attention.rotary" %q, %k\n'


def attention(heads: str, turned: bool = True) -> str:
    core = "%qr, %kr" if turned else "%q, %k"
    text = ATTENTION.replace("HEADS", heads).replace("ROTARY", TURNED if turned else "").replace("CORE", core)
    g, shared = ("g, ", "g | h, t | g, ") if heads == "g" else ("", "")
    return HEAD.format(g=g, shared=shared) + text


MODELS = {
    "relu2": HEAD.format(g="", shared="") + MLP,
    "relu2 in a macro": HEAD.format(g="", shared="") + MACRO,
    "rotary, one head of K": attention("1"),
    "rotary, shared heads": attention("g"),
}
SIZES = {"B": 2, "S": 4, "H": 8, "F": 12, "h": 4, "g": 2, "d": 6, "e": 4}


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy with both operations, beside the project's own."""
    files = ("dialects/model/relu2.py", "run/operations/relu2.py", "dialects/model/rotary.py", "run/operations/rotary.py")
    found = copy_with(tmp_path_factory.mktemp("operations"), *files)
    for name, text in MODELS.items():
        found.write(f"{name}.bpir", WORKLOAD + text)
        found.write(f"{name} trained.bpir", text)
    return found


def numbers(text: str, options: str) -> list[str]:
    """Small numbers for the symbols of a text, as options of bp-run."""
    declared = text.partition("where")[0]
    chosen = {**SIZES, "c": SIZES["S"] if "prefill" in options else 7, "t": 2}
    names = [n for n in chosen if f" {n}," in declared and n != "c"] + ["e"]
    names += ["c"] if "phase" in options else []
    return [f"--bind={name}={chosen[name]}" for name in dict.fromkeys(names) if name != "t" or "tensor=t" in options]


@pytest.mark.campaign(keep=1)
@pytest.mark.parametrize("name", MODELS)
def test_an_operation_is_parsed_and_printed_in_both_forms(operations: Copy, name: str) -> None:
    plain, generic = operations.good(["bp-opt", f"{name}.bpir"], ["bp-opt", f"{name}.bpir", "--print-op-generic"])
    assert plain == operations.read(f"{name}.bpir")
    again = operations.write("generic.mlir", generic)
    assert operations.good(["bp-opt", again]) == [plain]
    assert "model.relu2" in plain or "activation relu2" in plain or '"model.rotary"(' in generic


def session(name: str, options: str) -> Iterator[list[str]]:
    """Derive, plan, verify, report and run, as a user would; everything but the first reads files."""
    side = "inference" if "phase" in options else "training"
    source = f"{name}.bpir" if side == "inference" else f"{name} trained.bpir"
    yield ["bp-opt", source, f"--pass=distribute-{side}{{{options}}}", "-o", "d.bpir"]
    yield ["bp-verify", source, "d.bpir"]
    yield ["bp-opt", "d.bpir", f"--pass=plan-{side}", "-o", "p.bpir"]
    yield ["bp-verify", "d.bpir", "p.bpir"]
    yield ["bp-report", "d.bpir", "--format=json"]
    yield ["bp-report", "p.bpir", "--by=layer"]
    plan = ["--plan=p.bpir"] if side == "inference" else []
    yield ["bp-run", "d.bpir", f"--source={source}", *plan, *numbers(MODELS[name], options)]


@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize("options", [*INFERENCE, *TRAINING])
def test_operations_are_derived_planned_judged_reported_and_run(operations: Copy, options: str) -> None:
    commands = [command for name in MODELS for command in session(name, options)]
    printed = operations.good(*commands)
    for index, name in enumerate(MODELS):
        found = dict(zip((command[0] + command[1] for command in session(name, options)), printed[7 * index :], strict=False))
        verified = [text for tool, text in found.items() if tool.startswith("bp-verify")]
        assert len(verified) == 2 and all("proved" in text for text in verified)
        (ran,) = (text for tool, text in found.items() if tool.startswith("bp-run"))
        assert "matrix products and bytes as stated" in ran
        report = json.loads(found["bp-reportd.bpir"])
        kind = "rotary" if "rotary" in name else "relu2"
        assert {task["phase"] for task in report["tasks"] if kind in task["layer"]} == (
            {"prefill" if "prefill" in options else "decode"}
            if "phase" in options
            else {"forward", "activation_gradient", *(["recompute"] if "recompute=full" in options else [])}
        )


def works(copy: Copy, name: str, options: str, layer: str) -> dict[str, dict[str, object]]:
    """The work of the tasks of a layer in training, by phase."""
    commands = list(session(name, options))
    report = json.loads(copy.good(commands[0], commands[4])[1])
    return {task["phase"]: task for task in report["tasks"] if task["layer"] == layer}


@pytest.mark.campaign
def test_the_work_is_that_of_the_rules(operations: Copy) -> None:
    """By hand: 2 and 3 operations an element of F; 3 an element of the heads of Q, and of the one head of K."""
    found = works(operations, "relu2", "tensor=t", "mlp.relu2")
    assert found["forward"]["ops"] == "2*B*F*S/t" and found["forward"]["read"] == "B*F*S*e/t"
    assert found["activation_gradient"]["ops"] == "3*B*F*S/t" and found["activation_gradient"]["read"] == "2*B*F*S*e/t"
    for options, share in (("tensor=t", "3*B*S*d"), ("tensor=t communication=reduce_scatter_all_gather", "3*B*S*d/t")):
        turned = works(operations, "rotary, one head of K", options, "attention.rotary")
        expected = {f"3*B*S*d*h/t + {share}", f"{share} + 3*B*S*d*h/t"}
        assert {turned[phase]["ops"] for phase in ("forward", "activation_gradient")} <= expected


def test_no_task_changes_its_name(operations: Copy) -> None:
    """Between projection and attention a rotation adds its own tasks, and Q is still Q."""
    operations.write("plain.bpir", attention("g", turned=False))
    passed = "--pass=distribute-training{tensor=t communication=reduce_scatter_all_gather}"
    commands = [[tool, *rest] for name in ("plain", "rotary, shared heads trained") for tool, *rest in _reported(name, passed)]
    _, plain, _, turned = operations.good(*commands)
    before, after = ([task["name"] for task in json.loads(text)["tasks"]] for text in (plain, turned))
    own = {f"attention.rotary.{phase}" for phase in ("forward", "activation_gradient")}
    assert [name for name in after if name not in own] == before and set(after) - set(before) == own


def _reported(name: str, passed: str) -> list[list[str]]:
    return [["bp-opt", f"{name}.bpir", passed, "-o", "d.bpir"], ["bp-report", "d.bpir", "--format=json"]]


def test_an_operation_is_explained_and_has_its_place_in_the_reference(operations: Copy) -> None:
    relu2, rotary, equation, page = operations.good(
        ["bp-opt", "--explain=model.relu2"],
        ["bp-opt", "--explain=model.rotary"],
        ["bp-opt", "--explain=model.rotary.E1"],
        ["page", "language/model.md"],
    )
    assert "ops = 2n, ops_dX = 3n" in relu2 and "So et al. 2021" in relu2
    assert "ops = 3n, ops_dX = 3n" in rotary and rotary.startswith("model.rotary (operation)")
    assert equation.startswith("model.rotary.E1 (equation)")
    assert "## model.relu2 {: #model.relu2 }" in page and "## model.rotary {: #model.rotary }" in page


def test_what_is_wrong_with_an_operation_is_refused_at_its_place(operations: Copy) -> None:
    model = MODELS["rotary, one head of K"]
    one = operations.write("one.bpir", model.replace("%qr, %kr = model.rotary", "%qr = model.rotary").replace("%q, %k\n", "%q\n"))
    near = operations.write("near.bpir", model.replace("model.rotary", "model.rotarry"))
    flat = model.replace('"attention.rotary" %q, %k', '"attention.rotary" %n, %k')
    flat = operations.write("flat.bpir", flat.replace('"attention.core" %qr', '"attention.core" %q'))
    passed = "--pass=distribute-training{tensor=t}"
    operations.good(["bp-opt", "rotary, one head of K trained.bpir", passed, "-o", "d.bpir"])
    task = operations.read("d.bpir")
    swapped = operations.write("swapped.bpir", task.replace("rotary %q, %k", "rotary %k, %q"))
    cheap = operations.write("cheap.bpir", task.replace("3*B*S*d*h/t", "2*B*S*d*h/t"))
    source = "rotary, one head of K trained.bpir"
    found = operations.run(
        ["bp-opt", one],
        ["bp-opt", near],
        ["bp-opt", flat],
        ["bp-verify", source, swapped],
        ["bp-verify", source, cheap],
        ["bp-run", swapped, f"--source={source}", *numbers(model, "tensor=t")],
    )
    assert [done.status for done in found] == [1] * 6
    assert "one.bpir:6:" in found[0].err and "expected 2 operand(s), found 1" in found[0].err
    assert "near.bpir:6:" in found[1].err and "did you mean 'model.rotary'?" in found[1].err
    assert "flat.bpir:6:" in found[2].err and "a tensor of 3 dimensions is not 'b s h d'" in found[2].err
    assert "[distribute-training.R3]" in found[3].err
    assert "[distribute-training.R6]" in found[4].err
    assert "attention.rotary.forward" in found[5].err + found[5].out


def test_the_equations_of_an_operation_are_proved(operations: Copy) -> None:
    """By the test that proves those of the project, which finds them: nothing is to be said of their letters."""
    for name in (
        "conftest.py",
        "fake_passes.py",
        *(path.name for path in (ROOT / "tests" / "project" / "equations").glob("*.py")),
        "raw.py",
        "support.py",
        "support_training.py",
        "tiers.py",
    ):
        file = next(path for folder in ("tests", "evidence") for path in (ROOT / folder).rglob(name))
        operations.write(name, file.read_text(encoding="utf-8").replace("Path(__file__).parent.parent", "Path()"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_equations.py", "-k", "relu2 or rotary"],
        cwd=operations.folder,
        env={**os.environ, "PYTHONPATH": "src"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "14 passed" in done.stdout  # 4 equations and 3, each also with deliberate errors


@pytest.mark.campaign
def test_an_operation_without_semantics_is_refused_by_the_run_alone(tmp_path: Path) -> None:
    copy = copy_with(tmp_path, "dialects/model/rotary.py")
    copy.write("m.bpir", MODELS["rotary, shared heads"])
    derived = ["bp-opt", "m.bpir", "--pass=distribute-training{tensor=2}", "-o", "d.bpir"]
    found = copy.run(derived, ["bp-verify", "m.bpir", "d.bpir"], ["bp-run", "d.bpir", "--source=m.bpir"])
    assert [done.status for done in found] == [0, 0, 1]
    assert "'model.rotary' can't run: no semantics says what it computes" in found[2].err + found[2].out


# --- a dialect

TARIFF = "bp.symbols B, S, H, F, p, t, e where t | F, t | H\nenergy.tariff @night costs <op = p, byte = 30*p>\n"


@pytest.mark.campaign
def test_a_dialect_has_attributes_of_its_own(tmp_path: Path) -> None:
    copy = copy_with(tmp_path, "dialects/energy.py")
    block = MLP.replace('  %a = model.relu2 "mlp.relu2" %u\n', '  %a = model.gelu "mlp.gelu" %u\n')
    copy.write("m.bpir", TARIFF + block)
    price = "#energy.price<op = 2*p, byte = 1>"
    copy.write("free.bpir", f'bp.symbols p\nenergy.tariff @a costs <op = p>\n"x.y"() {{price = {price}}} : () -> ()\n')
    plain, generic, dist, bound, free, shown, page, dialects = copy.good(
        ["bp-opt", "m.bpir"],
        ["bp-opt", "m.bpir", "--print-op-generic"],
        ["bp-opt", "m.bpir", "--pass=distribute-training{tensor=t}", "--pass=plan-training"],
        ["bp-opt", "m.bpir", "--pass=bind-symbols{p=2}"],
        ["bp-opt", "free.bpir", "--allow-unregistered-dialect", "--pass=bind-symbols{p=3}"],
        ["bp-opt", "--explain=energy.tariff"],
        ["page", "language/energy.md"],
        ["bp-opt", "--show-dialects"],
    )
    line = "energy.tariff @night costs <op = p, byte = 30*p>\n"
    assert plain == TARIFF + block and line in dist  # it says what a derivation is given, so every pass keeps it
    assert '"energy.tariff"() <{price = #energy.price<op = p, byte = 30*p>, sym_name = "night"}>' in generic
    assert copy.good(["bp-opt", copy.write("g.mlir", generic)]) == [plain]
    assert "bp.bind p = 2" in bound and line in bound  # numbers are bound beside inputs, which stay as they are written
    assert "price = #energy.price<op = 6, byte = 1>" in free  # elsewhere the expressions of an attribute get them
    assert "energy.tariff @SYM_NAME" in shown or "energy.tariff @NAME" in shown
    assert page.startswith("# The `energy` dialect") and "## energy.tariff {: #energy.tariff }" in page
    assert ", energy" in dialects
    wrong = {
        "<op = p, bite = 3>": "unknown price 'bite'",
        "<op = q>": "q",
        "op = p": "",
    }
    for body, message in wrong.items():
        text = copy.write("wrong.bpir", TARIFF.replace("<op = p, byte = 30*p>", body))
        (done,) = copy.run(["bp-opt", text])
        assert done.status == 1 and "wrong.bpir:2:" in done.err and message in done.err
    copy.write("holder.bpir", TARIFF + block.replace("  model.return", "  energy.tariff @day costs <op = 1>\n  model.return"))
    (done,) = copy.run(["bp-opt", "holder.bpir"])
    assert done.status == 1 and "energy.tariff" in done.err


# --- a target


@pytest.mark.campaign
def test_a_third_target_has_its_rules(tmp_path: Path) -> None:
    copy = copy_with(tmp_path, "dialects/tape.py")
    machine = copy.read("examples/targets/queue_machine.bpir").replace("@queue_machine queue", "@tapes tape")
    copy.write("machine.bpir", machine.replace(", memory = 85899345920", ""))  # sizes are symbols here, and so fit into nothing
    bound = "bind-target{target_file=machine.bpir}"
    passes = [f"--pass={name}" for name in ("distribute-training{tensor=8}", "plan-training")]
    copy.good(["bp-opt", "examples/transformer_block.bpir", *passes, "-o", "p.bpir"])
    copy.good(["bp-opt", "p.bpir", f"--pass={bound}", "-o", "c.bpir"])
    text = copy.read("c.bpir")
    (line,) = (line for line in text.splitlines() if "tape.tape" in line)
    first, second = line.partition("[")[2].split(", ")[:2]
    copy.write("twice.bpir", text.replace(f"[{first}, {second}", f"[{first}, {first}"))
    copy.write("turned.bpir", text.replace(f"[{first}, {second}", f"[{second}, {first}"))
    plain, generic, verified, report, explained, rule, gate, page = copy.good(
        ["bp-opt", "c.bpir"],
        ["bp-opt", "c.bpir", "--print-op-generic"],
        ["bp-verify", "p.bpir", "c.bpir"],
        ["bp-report", "c.bpir", "--by=total"],
        ["bp-opt", "--explain=tape.tape"],
        ["bp-opt", "--explain=tape.R2"],
        ["bp-opt", "--explain=bind-tape.R16"],
        ["page", "language/tape.md"],
    )
    assert plain == text and 'tape.tape "main" [@' in line and "proved" in verified and "total" in report
    assert copy.good(["bp-opt", copy.write("g.mlir", generic)]) == [text]
    assert "tape.tape (operation)" in explained
    assert rule.startswith("tape.R2 (rule of verification)") and "no command is on it twice" in rule
    assert gate.startswith("bind-tape.R16 (rule of verification)")
    assert page.startswith("# The `tape` dialect") and "reads its commands from one tape" in page
    twice, turned, queue, unknown = copy.run(
        ["bp-verify", "p.bpir", "twice.bpir"],
        ["bp-verify", "p.bpir", "turned.bpir"],
        ["bp-opt", "p.bpir", f"--pass={bound.replace('bind-target', 'bind-queue')}"],
        ["bp-opt", "--explain=tape.R3"],
    )
    assert twice.status == 1 and "[tape.R2]" in twice.err and "[tape.R1]" in twice.err
    assert turned.status == 1 and "[bind-tape.R16]" in turned.err
    assert queue.status == 1 and "tape" in queue.err
    assert unknown.status == 1 and "it has P1, F2, R1, R2" in unknown.err


# --- a pass


@pytest.mark.campaign
def test_a_helper_pass_is_one_file(tmp_path: Path) -> None:
    copy = copy_with(tmp_path, "passes/remove_dropout.py")
    source = "examples/gpt3_175b_training.bpir"
    passed = "--pass=remove-dropout"
    derived = ["bp-opt", source, "--pass=distribute-training", "-o", "d.bpir"]
    before = json.loads(copy.good(derived, ["bp-report", "d.bpir", "--format=json"])[1])
    removed, derived, listed, explained = copy.good(
        ["bp-opt", source, "--pass=expand-blocks", passed, "-o", "r.bpir"],
        ["bp-opt", source, "--pass=expand-blocks", passed, "--pass=distribute-training", "--verify-replay", "-o", "d.bpir"],
        ["bp-opt", "--list-passes"],
        ["bp-opt", "--explain=remove-dropout"],
    )
    assert removed == derived == "" and "dropout" in copy.read(source)
    assert "model.dropout" not in copy.read("r.bpir")
    after = json.loads(copy.good(["bp-verify", "r.bpir", "d.bpir"], ["bp-report", "d.bpir", "--format=json"])[1])
    names = [{task["name"] for task in report["tasks"]} for report in (before, after)]
    assert any("output_dropout" in name for name in names[0]) and not any("output_dropout" in name for name in names[1])
    assert "remove-dropout" in listed and "Drops every `model.dropout`" in listed
    assert explained.startswith("remove-dropout (pass, model, RemoveDropoutPass)")
    near, level = copy.run(["bp-opt", source, "--pass=remove-dropuot"], ["bp-opt", "d.bpir", passed])
    assert near.status == 1 and "did you mean 'remove-dropout'?" in near.err
    assert level.status == 1 and "model" in level.err
