"""The Python API answers what the tools print; its errors show the place; importing it imports nothing else."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import sympy
from mypy import api as mypy
from support import ROOT

import bpir
from bpir.dialects.levels import ConcretePlanIR, DistributedTaskIR, ModelIR, PortablePlanIR
from bpir.passes.inference.distribute_inference import DistributeTransformerInferencePass

EXAMPLE = ROOT / "examples" / "gpt3_175b.bpir"
WRONG = "model.block @b(%x: !bp.tensor<S x H, 2>) {\n  model.retrun %x\n}\n"


def tool(name: str, *arguments: str, text: str = "") -> str:
    done = subprocess.run([Path(sys.executable).parent / name, *arguments], input=text, capture_output=True, text=True, check=True)
    return done.stdout


def test_importing_it_imports_nothing_else() -> None:
    """An empty interpreter and the face differ by one module; so what it costs is to find and read one small file."""
    code = "import sys; before = set(sys.modules); import bpir; print(*sorted(set(sys.modules) - before))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "bpir\n"


def test_every_name_of_the_face_is_there() -> None:
    assert {name for name in bpir.__all__ if getattr(bpir, name, None) is None} == set()
    assert set(bpir.__all__) <= set(dir(bpir))
    with pytest.raises(AttributeError, match="module 'bpir' has no attribute 'laod'"):
        bpir.laod  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.campaign(keep=3)
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.bpir")), ids=lambda path: path.stem)
def test_the_text_is_what_bp_opt_prints(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = bpir.load(path)
    assert str(module) == tool("bp-opt", str(path))
    assert module.text(generic=True) == tool("bp-opt", str(path), "--print-op-generic")


@pytest.mark.campaign
def test_passes_and_reports_are_those_of_the_tools() -> None:
    pipeline = "distribute-inference{tensor=8},plan-inference"
    plan = bpir.load(EXAMPLE).run(pipeline)
    text = tool("bp-opt", str(EXAMPLE), f"--pass-pipeline={pipeline}")
    assert str(plan) == text
    report = plan.report(B=1, c=2048)
    bind = ("--bind=B=1", "--bind=c=2048")
    for by in ("task", "phase", "layer", "total"):
        assert report.to_dict(by) == json.loads(tool("bp-report", "-", "--format=json", f"--by={by}", *bind, text=text))
        for format in ("table", "csv", "markdown"):
            assert report.text(by, format) == tool("bp-report", "-", f"--format={format}", f"--by={by}", *bind, text=text)
    assert dict(report) == report.to_dict()
    assert str(report) == report.text()


def test_the_work_by_hand() -> None:
    """The linear `mlp.expand` of one rank of 8, one token: 2*H*F/8 operations of the product, F/8 for the bias; H = 12288, F = 4*H."""
    tasks = bpir.load(EXAMPLE).run("distribute-inference{tensor=8}")
    row = next(task for task in tasks.report(B=1)["tasks"] if task["name"] == "mlp.expand.decode")
    assert row["ops"] == 2 * 12288 * 49152 // 8 + 49152 // 8
    symbolic = next(task for task in tasks.report().to_sympy()["tasks"] if task["name"] == "mlp.expand.decode")
    batch = sympy.Symbol("B", integer=True, positive=True)
    assert symbolic["ops"] == row["ops"] * batch
    assert symbolic["times"] == sympy.Integer(1)


def test_steps_one_by_one_are_a_pipeline() -> None:
    model = bpir.load(EXAMPLE)
    whole = model.run("distribute-inference", "plan-inference", "bind-queue")
    assert str(model.run("distribute-inference").run("plan-inference").run("bind-queue")) == str(whole)
    assert str(model.run(DistributeTransformerInferencePass())) == str(model.run("distribute-inference"))
    levels = [model, model.run("distribute-inference"), model.run("distribute-inference,plan-inference"), whole]
    assert [type(module.ir) for module in levels] == [ModelIR, DistributedTaskIR, PortablePlanIR, ConcretePlanIR]
    assert [module.level for module in levels] == ["model", "dist", "plan", "concrete"]
    assert {module.name for module in levels} == {"gpt3_175b"}


def test_a_verdict_is_true_only_where_it_is_proved() -> None:
    model = bpir.load(EXAMPLE)
    tasks = model.run("distribute-inference")
    assert tasks.verify(model)
    assert str(tasks.verify(model)) == "proved"
    text = str(tasks)
    assert text.count("ops = 9*B*H,") == 2  # two layer norms: 9 operations an element
    forged = bpir.parse(text.replace("ops = 9*B*H,", "ops = 8*B*H,", 1)).verify(model)
    assert (forged.answer, forged.proved, bool(forged)) == ("refuted", False, False)
    assert "expected 9*B*H" in str(forged)
    odd = bpir.parse(text.replace("ops = 9*B*H,", "ops = 9*B*H + max((B - c)**2 * (B - 2*c)**2 - 1, 0) * 0 + 9*B*H - 9*B*H,", 1))
    assert odd.verify(model)  # equal as an expression is equal


def test_verification_skips_no_level() -> None:
    model = bpir.load(EXAMPLE)
    with pytest.raises(bpir.DiagnosticError, match="between a model and a plan module lies a dist module"):
        model.run("distribute-inference,plan-inference").verify(model)


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        (lambda m: bpir.parse(WRONG, "mine.bpir"), ["mine.bpir:2:3: error: unknown operation 'model.retrun'; did", "  ^~~~~~~~~~~~"]),
        (lambda m: m.run("distribute-inference{tensr=8}"), ["<passes>:1:22: error: unknown option 'tensr'", "did you mean 'tensor'?"]),
        (lambda m: m.run("plan-inference"), ["gpt3_175b.bpir:9:1: error: pass 'plan-inference' expects a dist module"]),
        (lambda m: m.run("distribute-inference").report(t=5), ["<arguments>:1:8: error: the numbers break the relation 't | h'"]),
        (lambda m: m.report(H=3), ["<arguments>:1:8: error: the module binds 'H' to 12288 already"]),
        (lambda m: m.report(B=0), ["<arguments>:1:8: error: 'B' stands for a positive integer", "report(B=0)"]),
        (lambda m: m.report(B=True), ["report(B=True)"]),
        (lambda m: m.report(S=2, B=1.5), ["<arguments>:1:13: error: 'B'", "report(S=2, B=1.5)"]),
        (lambda m: bpir.load("no/such.bpir"), ["cannot read 'no/such.bpir': No such file or directory"]),
        (lambda m: bpir.load("a\0b"), ["cannot read"]),
        (lambda m: bpir.parse("// \ud800"), ["half of a character at index 3"]),
    ],
    ids=range(11),
)
def test_errors_show_the_place(action: object, shown: list[str]) -> None:
    with pytest.raises(bpir.DiagnosticError) as caught:
        action(bpir.load(EXAMPLE))  # type: ignore[operator]
    for part in shown:
        assert part in str(caught.value)
    assert "".join(caught.value._render_traceback_()).startswith("DiagnosticError:")


def test_an_error_can_be_pickled() -> None:
    """A sweep in several processes sends it from one to the other."""
    with pytest.raises(bpir.DiagnosticError) as caught:
        bpir.parse(WRONG)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_warning_is_one_of_the_line_that_asked() -> None:
    plan = bpir.load(EXAMPLE).run("distribute-inference,plan-inference")
    with pytest.warns(bpir.DiagnosticWarning, match="cc: no such symbol in the report; did you mean 'c'") as caught:
        plan.report(cc=1)
    assert caught[0].filename == __file__


def test_warnings_are_kept() -> None:
    text = EXAMPLE.read_text().replace(" : [F]\n", " : [49152]\n")
    with pytest.warns(bpir.DiagnosticWarning, match="of 'mlp.expand' stay whole on each of the t ranks: 49152 is no symbol") as caught:
        module = bpir.parse(text).run("distribute-inference")
    assert [str(warning.message) for warning in caught] == [d.render() for d in module.warnings]
    assert {d.severity for d in module.warnings} == {"warning"}


def test_words_beyond_ascii_are_the_same_on_both_sides() -> None:
    block = 'model.block @"blöck"(%x: !bp.tensor<B x S x H, 2>) {\n    %y = model.relu "schräg" %x\n    model.return %y\n  }\n'
    text = f"// größe\nmodule {{\n  bp.symbols B, S, H\n  {block}}}\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = bpir.parse(text)
    assert str(module) == tool("bp-opt", "-", text=text)  # where MLIR's escapes stand for bytes
    assert str(bpir.parse(str(module))) == str(module)
    assert bpir.parse('module @"größe" {\n}\n').name == "größe"
    run = module.run("distribute-inference{tensor=1 phase=prefill context=S}")
    assert run.report()["tasks"][0]["layer"] == "schräg"
    with pytest.raises(bpir.DiagnosticError, match="größe"):
        bpir.parse("größe")


def test_a_notebook_shows_a_listing_and_a_table() -> None:
    plan = bpir.load(EXAMPLE).run("distribute-inference{tensor=8},plan-inference")
    html = plan._repr_html_()
    assert html.count("<table>") == 2  # work by phase, memory
    assert ">plan</span>" in html and "background" not in html
    assert "<script" not in html and "http" not in html
    assert plan.report(B=1, c=1)._repr_html_().count("<tr>") >= len(plan.report()["tasks"])
    assert "&lt;" in html and "<B x" not in html  # a text of the module is no markup
    assert bpir.parse("module {\n}\n")._repr_html_().startswith("<details open>")


def test_a_frame_has_a_row_a_task() -> None:
    pytest.importorskip("pandas")
    plan = bpir.load(EXAMPLE).run("distribute-inference{tensor=8},plan-inference")
    report = plan.report(B=1, c=2048)
    frame = report.to_frame()
    assert list(frame.index) == [task["name"] for task in report["tasks"]]
    assert int(frame["ops"].sum()) == report["totals"]["ops"]
    assert int(report.to_frame("memory")["value"]["weights"]) == report["memory"]["weights"]
    assert int(bpir.load(EXAMPLE).report().to_frame()["value"]["total"]) == bpir.load(EXAMPLE).report()["parameters"]["total"]


def test_without_pandas_the_frame_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'bpir\[pandas\]'"):
        bpir.load(EXAMPLE).report().to_frame()


SCRIPT = """
import bpir

model = bpir.load("model.bpir")
plan = model.run("distribute-inference{tensor=8},plan-inference")
reveal_type(model)
reveal_type(plan.level)
reveal_type(plan.verify(model).proved)
reveal_type(plan.report(B=1).text("phase", "csv"))
reveal_type(bpir.parse("").warnings)


def total(module: bpir.Module) -> int:
    try:
        return int(module.report(B=1)["totals"]["ops"])
    except bpir.DiagnosticError as error:
        print(error, error.diagnostics[0].message)
        return 0


def verdict(answer: bpir.Verdict, report: bpir.Report) -> bool:
    return bool(answer) and len(report) > 0
"""


def check(text: str, folder: Path) -> tuple[str, int]:
    """The output of mypy for a user's script, outside of the project."""
    (folder / "script.py").write_text(text)
    said, errors, status = mypy.run(["--strict", f"--cache-dir={folder / 'cache'}", "--follow-imports=silent", str(folder / "script.py")])
    assert not errors
    return said, status


def test_a_users_script_is_typed(tmp_path: Path) -> None:
    said, status = check(SCRIPT, tmp_path)
    assert status == 0, said
    shown = [line.partition('Revealed type is "')[2].rstrip('"').replace("builtins.", "") for line in said.splitlines()]
    assert [kind for kind in shown if kind] == [
        "bpir.api.module.Module",
        "str",
        "bool",
        "str",
        "tuple[bpir.ir.diagnostic.Diagnostic, ...]",
    ]
    said, _ = check('import bpir\n\nbpir.load("a").run(3)\nbpir.laod("a")\nbpir.load("a").report(B="x")\n', tmp_path)
    assert 'Argument 1 to "run" of "Module" has incompatible type "int"' in said
    assert 'Module has no attribute "laod"' in said
    assert 'Argument "B" to "report" of "Module" has incompatible type "str"; expected "int"' in said
