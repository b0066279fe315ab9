"""Every equation of a docstring is read from it and proved equal to what the passes and the work rules give.

The docstring is the text that users see (`--explain`, the site), so a formula and its code can only change together: the equation fails
if either side changes alone. What the names stand for is in `equation_meanings.py`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from equation_meanings import MEANINGS, meanings
from support import ROOT

from bpir.dialects.model import conventions, elementwise, linear
from bpir.dialects.model.base import ModelOperation
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expression import Expr
from bpir.ir.relations import Facts
from bpir.tools import documentation
from bpir.tools.documentation import Equation
from bpir.tools.formula import FormulaError, Node, parse
from bpir.tools.formula_proof import Meaning, errors

EQUATIONS = documentation.equations()
FREE = Facts((), {})

every_equation = pytest.mark.parametrize("label", EQUATIONS)


def chosen(label: str, words: str) -> list[Meaning]:
    """The meanings in which a formula must hold: those of the words behind it."""
    known = meanings(label)
    found = list(next((known[key] for key in known if key and key in words), known.get("", ())))
    assert found, f"nothing says what {label} is about{words}"
    return found


def sides(equation: Equation) -> Iterator[tuple[Node, Node, list[Meaning]]]:
    """The two sides of each equality, with the meanings in which it must hold."""
    for text, words in equation.formulas:
        formula = parse(text)
        if len(formula) > 1:
            for left, right in pairwise(formula):
                yield left, right, chosen(equation.label, words)


def holds(left: Node, right: Node, known: list[Meaning]) -> bool:
    """Whether the two sides are proved equal in every meaning."""
    return all(FREE.equal(meaning.value(left), meaning.value(right)).proved for meaning in known)


def proved(label: str) -> bool:
    found = list(sides(EQUATIONS[label]))
    assert found, f"{label} has no equation"
    return all(holds(*side) for side in found)


@every_equation
def test_equation(label: str) -> None:
    for left, right, known in sides(EQUATIONS[label]):
        for meaning in known:
            ours, theirs = meaning.value(left), meaning.value(right)
            assert FREE.equal(ours, theirs).proved, f"{label}: derived {ours.text}, the docstring says {theirs.text}"


@every_equation
def test_an_error_in_the_equation_is_found(label: str) -> None:
    count = 0
    for left, right, known in sides(EQUATIONS[label]):
        for wrong in errors(right):
            count += 1
            assert not holds(left, wrong, known), f"{label} still holds as {wrong}"
    assert count


def test_every_equation_has_its_meaning_and_every_meaning_an_equation(capsys: pytest.CaptureFixture[str]) -> None:
    for label in EQUATIONS:
        assert list(sides(EQUATIONS[label])), f"{label} has no equation"
    names = {label.rpartition(".")[0] for label in EQUATIONS}
    assert [key for key in MEANINGS if key not in EQUATIONS and key not in names] == []
    count = sum(1 for equation in EQUATIONS.values() for _ in sides(equation))
    with capsys.disabled():
        print(f"\n{len(EQUATIONS)} labelled equations, {count} equalities proved from docstrings")


def test_every_work_rule_has_an_equation() -> None:
    names = {label.rpartition(".")[0] for label in EQUATIONS}
    rules = [name for name, d in DECLARATIONS.items() if isinstance(d, ModelOperation) and name != "model.transformer_block"]
    assert [name for name in rules if name not in names] == []
    assert {"dist.all_reduce", "dist.all_gather", "dist.reduce_scatter"} <= names
    assert set(documentation.passes()) <= names


# --- the other side: the code changes, the docstring stays


@pytest.fixture
def fresh() -> Iterator[None]:
    """Work rules are asked anew, before and after."""
    known = [function for function in MEANINGS.values() if hasattr(function, "cache_clear")]
    for function in known:
        function.cache_clear()
    yield
    for function in known:
        function.cache_clear()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("label", "owner", "name", "change"),
    [
        ("model.linear.E1", linear.Linear, "matmul_operations", lambda old: lambda *a: old(*a) + 1),
        ("model.linear.E4", linear.Linear, "gradient_operations", lambda old: lambda *a: 2 * old(*a)),
        ("model.linear.E4", linear.Linear, "gradient_weights", lambda old: lambda *a: old(*a) - 1),
        ("model.gelu.E1", elementwise.Gelu, "factor", lambda old: elementwise.Factor(9, 13)),
        ("model.softmax.E3", conventions.Standard, "_needed", lambda old: staticmethod(lambda *a: old(*a) * 2)),
    ],
)
def test_a_change_of_the_code_is_found(label: str, owner: type, name: str, change: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert proved(label)
    test = pytest.MonkeyPatch()
    for function in MEANINGS.values():
        getattr(function, "cache_clear", lambda: None)()
    test.setattr(owner, name, change(getattr(owner, name)))  # type: ignore[operator]
    try:
        assert not proved(label)
    finally:
        test.undo()


# --- the grammar


def value(text: str, **names: int) -> Expr:
    from bpir.ir.expression import constant

    (node,) = parse(text)
    return Meaning({name: constant(number) for name, number in names.items()}).value(node)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2ab/c", "2*3*5/15"),
        (r"\frac{a+b}{c-a}", "2/3"),
        ("a^2 b - a(b - 1)", "33"),
        (r"-a + b \cdot 2", "7"),
        (r"\max(a, b) + \min(a, b)", "8"),
        (r"\lceil (a + b) / a \rceil a", "9"),
        (r"\left( a + b \right)\, a", "24"),
    ],
)
def test_how_formulas_are_read(text: str, expected: str) -> None:
    from fractions import Fraction

    numbers = value(text, a=3, b=5, c=15).constant
    assert numbers == Fraction(eval(expected)) or abs(float(numbers or 0) - eval(expected)) < 1e-12  # noqa: S307


@pytest.mark.parametrize("text", ["", "2 +", "(a", r"\foo a", "a ^ {b+1}", "[ab]", "a b)", "a & b", "a_{b", "a = "])
def test_what_is_no_formula(text: str) -> None:
    with pytest.raises(FormulaError):
        for node in parse(text):
            Meaning({}).value(node)


# --- labels of rules

RULE = re.compile(r"^[RFP]\d+$")
FULL = re.compile(r"\[?\b((?:[a-z]+(?:-[a-z]+)?)\.[RFP]\d+)\b")
VERIFIERS = ROOT / "verifiers"


def raised() -> dict[str, set[str]]:
    """The short labels that each verifier's file names in code, docstrings left out; those of targets by their dialect."""
    found: dict[str, set[str]] = {}
    for path in (*sorted(VERIFIERS.glob("*.py")), ROOT / "dialects" / "queue.py", ROOT / "dialects" / "slot.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        documented = {node.value.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
        for text in texts:
            if text in documented:
                continue
            if RULE.match(text):
                found.setdefault(path.stem, set()).add(text)
            for number in re.findall(r"\.([RFP]\d+)\]?", text):
                found.setdefault(path.stem, set()).add(number)
    return found


OWNERS = {
    "symbols": ("bp",),
    "placement": ("model",),
    "forbidden": ("model",),
    "dist": ("dist",),
    "plan": ("plan",),
    "concrete": ("concrete",),
    "queue": ("queue",),
    "slot": ("slot",),
    "distribution": ("distribute-inference",),
    "training": ("distribute-training",),
    "training_block": ("distribute-training",),
    "training_memory": ("distribute-training",),
    "planning": ("plan-inference", "plan-training"),
    "plan_training": ("plan-training",),
    "binding": ("bind-queue", "bind-slot"),
}
"""The prefixes under which the rules of a file are raised."""


def test_the_labels_that_are_raised_are_those_that_are_documented() -> None:
    found = raised()
    assert set(found) <= set(OWNERS), "a verifier without an entry in OWNERS"
    labels = {f"{prefix}.{number}" for file, numbers in found.items() for prefix in OWNERS[file] for number in numbers}
    documented = {label for label in documentation.rules() if label.partition(".")[0] in {p for ps in OWNERS.values() for p in ps}}
    documented -= {f"{prefix}.{number}" for prefix, number in re.findall(r"(\w+)\.([FP]\d+)", " ".join(documented)) if prefix != "model"}
    assert sorted(labels - documented) == [], "raised, but in no docstring"
    assert sorted(documented - labels) == [], "in a docstring, but never raised"


def named_by_tests() -> set[str]:
    """The labels that tests name: in full, or as a number behind a prefix that the file has (`RULE + "R3"`)."""
    found: set[str] = set()
    files = (*Path(ROOT / "tests").glob("*.py"), *(p for p in (ROOT / "lit_tests").rglob("*.*") if "Output" not in p.parts))
    for path in files:
        if path.name in ("test_equations.py", "equation_meanings.py"):
            continue
        text = path.read_text(encoding="latin-1")
        found |= set(FULL.findall(text))
        prefixes = set(re.findall(r"([a-z]+(?:-[a-z]+)?)\.(?=[\"'{])", text))
        found |= {f"{prefix}.{number}" for prefix in prefixes for number in re.findall(r"\b([RFP]\d+)\b", text)}
    return found


def test_every_rule_is_named_by_a_test() -> None:
    documented = {label for label in documentation.rules() if not re.fullmatch(r"(?!model)\w+\.[FP]\d+", label)}
    missing = sorted(documented - named_by_tests())
    assert missing == [], f"{len(missing)} rules that no test names"
