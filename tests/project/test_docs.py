"""The documentation: generated pages are whole, examples and the tutorial run, links and paths lead somewhere, formulas can be read.

Nothing here builds the site, except the last test, where what builds it (`make docs`) is installed.
"""

from __future__ import annotations

import importlib.util
import os
import posixpath
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import site_pages as site
from console import agrees, steps
from support import ROOT

from bpir.ir.declaration import DECLARATIONS
from bpir.ir.diagnostic import DiagnosticError
from bpir.passes import PASSES, load_pass
from bpir.tools.pages import documentation
from bpir.tools.pages.documentation import FORMULA, PASS_SECTIONS, readable
from bpir.tools.pages.explain import explain
from bpir.tools.pages.formula import parse

DOCS = ROOT / "docs"


@cache
def pages() -> dict[str, str]:
    """Every page of the site, written or generated, by its path; the output of examples is left out."""
    written = {str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    return {**written, **site.pages(ROOT, lambda command, root: "")}


def plain(text: str) -> str:
    """The text without code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE))


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"[-:] (\S+\.md)(?: #.*)?$", text[text.index("\nnav:") :], re.MULTILINE)
    assert sorted([*listed, *site.reference_paths()]) == sorted(pages())  # docs/hooks.py adds the pages of the dialects


def test_the_pass_page_shows_every_pass_with_every_section() -> None:
    page = pages()["passes.md"]
    for name in PASSES:
        assert re.search(rf"^###? {name}$", page, re.MULTILINE), name
        assert load_pass(name).__name__ in page
    for name in documentation.passes():
        for title in PASS_SECTIONS:
            assert f"#{name}-{title.lower().replace(' ', '-')} }}" in page
    for label in documentation.equations():
        assert any(f'id="{label}"' in text for text in pages().values()), label


def test_the_pass_page_shows_the_bases_the_typed_run_and_the_source() -> None:
    """By hand for one derivation and one helper; the source of every class that defines a `run` is there."""
    page = pages()["passes.md"]
    derivation = page[page.index("## distribute-inference\n") : page.index("## distribute-training\n")]
    assert "class DistributeTransformerInferencePass(DerivationPass[ModelIR, DistributedTaskIR])\n" in derivation
    assert "    def run(self, ir: ModelIR, context: PassContext) -> DistributedTaskIR\n" in derivation
    equation, source = derivation.index('id="distribute-inference.E8"'), derivation.index("        def run(self, ir: ModelIR")
    assert equation < source < derivation.rindex("### ")
    assert "    class DistributeTransformerInferencePass(DerivationPass[ModelIR, DistributedTaskIR]):\n        name = " in derivation
    assert "class CanonicalizePass(TransformationPass)\n" in page
    for name in PASSES:
        cls = next(base for base in load_pass(name).__mro__ if "run" in base.__dict__)
        assert f'??? abstract "Source of {cls.__name__}, passes/' in page


def test_the_source_of_an_operation_stands_under_its_equations() -> None:
    page = pages()["language/model.md"]
    linear = page[page.index("## model.linear ") : page.index("## model.", page.index("## model.linear ") + 3)]
    parts = ('id="model.linear.E1"', "Source of Linear, dialects/model/linear.py:", "def operations(")
    assert [linear.index(part) for part in parts] == sorted(linear.index(part) for part in parts)


def test_sections_stand_in_their_order() -> None:
    for name, text in documentation.passes().items():
        assert [title for title in text.sections if title in PASS_SECTIONS] == list(PASS_SECTIONS), name
        assert text.remarks["Evidence"], f"{name} says no status of its evidence"
        assert "Unverified:" in text.sections["Evidence"], f"{name} does not say what is unverified"


@pytest.mark.parametrize("title", PASS_SECTIONS)
def test_a_pass_without_a_section_has_no_page(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cls = load_pass("plan-training")
    text = re.sub(rf"^    {title}\b.*?(?=^    [A-Z][\w ]+?(?: \([^:]*\))?:|\Z)", "", cls.__doc__ or "", flags=re.DOTALL | re.MULTILINE)
    assert text != cls.__doc__
    monkeypatch.setattr(cls, "__doc__", text)
    with pytest.raises(site.DocumentationError, match=f"'plan-training' lacks: {title}"):
        site.passes_page(ROOT, lambda command, root: "")


def test_a_section_stands_once() -> None:
    with pytest.raises(ValueError, match="two sections 'Example'"):
        documentation.read("x", "A pass.\n\nExample: a\n\nExample: b")


def test_an_example_that_fails_has_no_page(tmp_path: Path) -> None:
    with pytest.raises(site.DocumentationError, match="an example fails: bp-opt nothing"):
        site.run_command("bp-opt nothing.bpir", tmp_path)


@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize("name", documentation.passes())
def test_the_example_of_a_pass_runs(name: str) -> None:
    command = documentation.passes()[name].sections["Example"]
    assert name in command
    output = site.run_command(re.sub(r"^\s*\$ ", "", command).replace("\\\n", " "), ROOT)
    assert f"{load_pass(name).target}." in output


def test_every_operation_is_in_the_reference() -> None:
    for name in documentation.operations():
        page = pages()[f"language/{name.partition('.')[0]}.md"]
        assert f"## {name} {{: #{name} }}" in page
        for row in (*DECLARATIONS[name].required, *DECLARATIONS[name].optional):
            assert f"| `{row}` |" in page, f"{name}: {row}"


def test_every_link_leads_somewhere() -> None:
    anchors = site.anchors(pages())
    count = 0
    for path, text in pages().items():
        for target in re.findall(r"\]\(([^)\s]+)\)", plain(text)):
            count += 1
            if target.startswith("https://arxiv.org/abs/"):
                continue
            file, _, anchor = target.partition("#")
            where = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
            assert where in anchors or (DOCS / where).is_file(), f"{path}: {target}"
            assert not anchor or anchor in anchors[where], f"{path}: {target}"
    assert count > 90


def test_every_named_file_exists() -> None:
    folders = "tests|evidence|dialects|passes|verifiers|tools|ir|parser|examples|docs|lit_tests"
    for path, text in pages().items():
        for name in re.findall(rf"`((?:{folders})/[\w./-]*)`", text):
            placeholder = re.search(r"/[A-Z]+(?:\.|$)", name)
            assert placeholder or (ROOT / name).exists(), f"{path}: {name}"


def test_every_formula_can_be_read() -> None:
    for path, text in pages().items():
        for formula in FORMULA.findall(plain(text)):
            assert parse(formula), f"{path}: {formula}"


# --- pages with commands


@pytest.mark.slow
@pytest.mark.campaign(keep=2)
@pytest.mark.parametrize(
    ("page", "least", "last"),
    [
        ("tutorial.md", 11, ("concrete.bpir", "concrete.")),
        ("reports.md", 5, ("plan.bpir", "plan.")),
        ("questions.md", 12, ("fits.csv", "t,B,c")),
        ("mistakes.md", 10, ("changed.bpir", "8*B*F")),
        pytest.param("strategies.md", 8, ("step.json", "traceEvents"), marks=pytest.mark.long),
    ],
)
def test_the_commands_of_a_page(page: str, least: int, last: tuple[str, str], tmp_path: Path) -> None:
    """The files are written as they are in the text, and each command prints what is shown."""
    text = (DOCS / page).read_text(encoding="utf-8")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    count = 0
    for opening, body in re.findall(r"^```(.*?)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        title = re.search(r'title="([^"]+)"', opening)
        if title is not None:
            (tmp_path / title.group(1)).write_text(body, encoding="utf-8")
        for step in steps(f"```{opening}\n{body}```\n"):
            count += 1
            done = subprocess.run(
                ["bash", "-c", step.command],
                cwd=tmp_path,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if step.output:
                assert agrees(done.stdout, step.output), f"{step.command}\n{done.stdout}"
            else:
                assert done.returncode == 0, f"{step.command}\n{done.stdout}"
    assert count >= least
    assert last[1] in (tmp_path / last[0]).read_text(encoding="utf-8")


# --- the terminal


@pytest.mark.parametrize("name", documentation.passes())
def test_explain_shows_the_text_of_the_page(name: str) -> None:
    shown = explain(name)
    for equation in documentation.passes()[name].equations:
        assert readable(equation.text) in " ".join(shown.split())
    assert "$W" not in shown and "\\" not in re.sub(r"\\\n", "", shown)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("distribute-inference", "E2: W_attention = 4bqchd/t + 5b(h/t)qc"),
        ("distribute-training", "C_act = Σₗ (Aₗ - Oₗ[¬storeOutputₗ] - Aₗ[¬storeActivationₗ])"),
        ("bind-slot", "oᵢ = ⌈(oᵢ₋₁ + sᵢ₋₁)/aᵢ⌉aᵢ"),
        ("model.linear", "ops_dX = 2mnk, read_dX = (nk + mk)e"),
        ("model.linear", 'model.linear "LAYER" %OPERAND [bias] [tied "TIED"] [stored f8E4M3FN|f8E5M2|i8|fp8_block|mxfp8|mxfp4|nvfp4] :'),
        ("bind.strategy", "recompute           what backward computes again (default: none): none, attention, core_attention, full"),
        ("plan-inference.E5", "e max(3bqhd/t, b(h/t)qc, bqF/t)"),
        ("plan-training.R9", "every obligation has its buffer, and it is large enough"),
        ("slot.R2", "no two in the same slot of a cycle"),
    ],
)
def test_explain(name: str, expected: str) -> None:
    assert expected in explain(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plan-inference.R99", "'plan-inference' has no rule and no equation R99: it has R1, R2"),
        ("model.liner", "no operation 'model.liner'; did you mean 'model.linear'?"),
        ("E5", "there is no pass and no operation 'E5'"),
    ],
)
def test_what_can_not_be_explained(name: str, expected: str) -> None:
    with pytest.raises(DiagnosticError, match=re.escape(expected)):
        explain(name)


def test_the_terminal_gets_utf_8() -> None:
    tool = Path(sys.executable).parent / "bp-opt"
    done = subprocess.run([tool, "--explain=distribute-training"], capture_output=True, check=True)
    assert "Σₗ" in done.stdout.decode("utf-8")


# --- the site


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="the site is built by 'make docs', which installs what it needs")
def test_the_site_builds_without_a_warning_and_needs_no_network(tmp_path: Path) -> None:
    copy = tmp_path / "bpir"
    unwanted = shutil.ignore_patterns(".*", "__pycache__", "Output", "build", "dist.bpir")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=unwanted)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"],
        cwd=copy,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    built = copy / "build" / "site"
    page = (built / "passes.html").read_text(encoding="utf-8")
    assert page.count("<math") >= len([e for e in documentation.equations() if e.partition(".")[0] in PASSES])
    assert (built / "assets" / "fonts" / "STIXTwoMath-Regular.ttf").is_file()
    for path in built.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?//[^"]+"', path.read_text(encoding="utf-8"))
        assert loaded == [], path
