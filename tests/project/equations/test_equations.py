"""Every equation of a docstring is read from it and proved equal to what the passes and the work rules give.

The docstring is the text that users see (`--explain`, the site), so a formula and its code can only change together: the equation fails
if either side changes alone. What the names stand for is in `equation_meanings.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from equation_meanings import meanings
from equation_names import MEANINGS
from formula_proof import Meaning, errors

from bpir.dialects.model import elementwise, linear
from bpir.dialects.model.rules import conventions
from bpir.dialects.model.rules.operation import ModelOperation
from bpir.ir.declaration import DECLARATIONS
from bpir.ir.expressions.expression import constant
from bpir.ir.relations.facts import Facts
from bpir.tools.pages import documentation
from bpir.tools.pages.documentation import Equation
from bpir.tools.pages.formula import FormulaError, Node, parse, unicode_text

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
    found = [side for equation in EQUATIONS.values() for side in sides(equation)]
    wrong = sum(1 for _, right, _ in found for _ in errors(right))
    with capsys.disabled():
        print(f"\n{len(EQUATIONS)} labelled equations, {len(found)} equalities proved from docstrings, {wrong} deliberate errors refused")


def test_every_work_rule_has_an_equation() -> None:
    names = {label.rpartition(".")[0] for label in EQUATIONS}
    rules = [name for name, d in DECLARATIONS.items() if isinstance(d, ModelOperation) and name != "model.transformer_block"]
    assert [name for name in rules if name not in names] == []
    assert {"dist.all_reduce", "dist.all_gather", "dist.reduce_scatter"} <= names
    assert set(documentation.passes()) <= names


# --- the other side: the code changes, the docstring stays


def forget() -> None:
    """Ask passes and work rules anew."""
    rules = [type(declaration) for declaration in DECLARATIONS.values()]
    owners = {owner for rule in (*rules, *conventions.CONVENTIONS.values()) for owner in rule.__mro__}
    for function in (*MEANINGS.values(), *(method for owner in owners for method in vars(owner).values())):
        getattr(function, "cache_clear", lambda: None)()


@pytest.fixture
def fresh() -> Iterator[None]:
    forget()
    yield
    forget()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("label", "owner", "name", "change"),
    [
        ("model.linear.E1", linear.Linear, "matmul_operations", lambda old: lambda *a: old(*a) + 1),
        ("model.linear.E4", linear.Linear, "gradient_operations", lambda old: lambda *a: 2 * old(*a)),
        ("model.linear.E4", linear.Linear, "gradient_weights", lambda old: lambda *a: old(*a) - 1),
        ("model.gelu.E1", elementwise.Gelu, "factor", lambda old: elementwise.Factor(9, 13)),
        ("model.softmax.E3", conventions.Standard, "_needed", lambda old: staticmethod(lambda *a: 2 * old(*a))),
    ],
)
def test_a_change_of_the_code_is_found(
    label: str, owner: type, name: str, change: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert proved(label)
    forget()
    with monkeypatch.context() as code:
        code.setattr(owner, name, change(getattr(owner, name)))
        assert not proved(label)


# --- the grammar


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2ab/c", 2),
        (r"\frac{a+b}{c-a}", Fraction(2, 3)),
        ("a^2 b - a(b - 1)", 33),
        (r"-a + b \cdot 2", 7),
        (r"\max(a, b) + \min(a, b)", 8),
        (r"\lceil (a + b) / a \rceil a", 9),
        (r"\lfloor \frac{c}{4} \rfloor", 3),
        (r"\left( a + b \right)\, a", 24),
        (r"\sum_l x_l [\neg \mathrm{on}_l] + a", 8),
    ],
)
def test_how_formulas_are_read(text: str, expected: int | Fraction) -> None:
    rows = [{"x_l": constant(4), "on_l": constant(1)}, {"x_l": constant(5), "on_l": constant(0)}]
    (node,) = parse(text)
    assert Meaning({"a": constant(3), "b": constant(5), "c": constant(15)}, {"l": rows}).value(node) is constant(expected)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"W_{QKV} = 6BS\mathrm{hidden}^2/t", "W_QKV = 6BS hidden²/t"),
        (r"\frac{N(t-1)}{2t}", "N(t - 1)/(2t)"),
        (r"C = \sum_l (A_l - O_l [\neg \mathrm{kept}_l])", "C = Σₗ (Aₗ - Oₗ[¬keptₗ])"),
        (r"o_i = \lceil (o_{i-1} + s_{i-1}) / a_i \rceil a_i", "oᵢ = ⌈(oᵢ₋₁ + sᵢ₋₁)/aᵢ⌉aᵢ"),
        (r"W_i^{plan} = D + e\max(a, b)", "Wᵢ^plan = D + e max(a, b)"),
        (r"\mathrm{ops}_{dX} = 2 \cdot m", "ops_dX = 2·m"),
    ],
)
def test_how_formulas_are_shown_in_a_terminal(text: str, shown: str) -> None:
    assert unicode_text(text) == shown


@pytest.mark.parametrize("text", ["", "2 +", "(a", r"\foo a", "a ^ {b+1}", "[ab]", "a b)", "a & b", "a_{b", "a = "])
def test_what_is_no_formula(text: str) -> None:
    with pytest.raises(FormulaError):
        for node in parse(text):
            Meaning({}).value(node)
