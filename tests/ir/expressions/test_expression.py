"""The normal form agrees with arithmetic written here independently: plain Fractions on grids, and sympy."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from rational_trees import NAMES, SYMPY, Tree, build, built, in_sympy, polynomials, trees, value
from tiers import examples

from bpir.ir.expressions.expression import ONE, ZERO, Expr, ExpressionError, constant, literal, quotient, symbol, term, total

GRID = [dict(zip(NAMES, p, strict=True)) for p in product((1, 2, 5), repeat=len(NAMES))]


@settings(max_examples=examples(300), deadline=None)
@given(trees)
def test_evaluation_agrees_with_fractions(tree: Tree) -> None:
    expr = built(tree)
    for point in GRID[::4]:
        try:
            expected = value(tree, point)
        except ZeroDivisionError:
            continue  # undefined as written; the normal form may have cancelled the factor
        assert expr is not None
        assert expr.evaluate(point) == expected


@settings(max_examples=examples(200), deadline=None)
@given(trees, trees)
def test_same_object_exactly_where_sympy_sees_equality(first: Tree, second: Tree) -> None:
    a, b = built(first), built(second)
    if a is not None and b is not None:
        difference = sympy.cancel(sympy.together(in_sympy(first) - in_sympy(second)))
        assert (a is b) == (difference == 0)


@settings(max_examples=examples(200), deadline=None)
@given(polynomials)
def test_expanded_form_is_the_same_object(tree: Tree) -> None:
    expanded = sympy.Poly(in_sympy(tree), *SYMPY.values(), domain="QQ")
    parts = []
    for exponents, c in expanded.terms():
        part = constant(Fraction(int(c.p), int(c.q)))
        for name, n in zip(NAMES, exponents, strict=True):
            part = part * symbol(name) ** n
        parts.append(part)
    assert total(parts) is build(tree)


@settings(max_examples=examples(200), deadline=None)
@given(trees, trees, trees)
def test_field_axioms(first: Tree, second: Tree, third: Tree) -> None:
    a, b, c = built(first), built(second), built(third)
    if a is None or b is None or c is None:
        return
    assert a + b is b + a
    assert a * b is b * a
    assert (a + b) + c is a + (b + c)
    assert (a * b) * c is a * (b * c)
    assert a * (b + c) is a * b + a * c
    assert a - a is ZERO
    assert a + (-a) is ZERO
    assert a - b is -(b - a)
    assert total((a, b, c)) is a + b + c
    assert a * ONE is a and a + ZERO is a and a * ZERO is ZERO
    if b is not ZERO:
        assert a / b * b is a
        assert b / b is ONE
        assert b**-2 is ONE / (b * b)
    assert a**3 is a * a * a
    assert a**0 is ONE


@settings(max_examples=examples(150), deadline=None)
@given(trees, st.lists(trees, min_size=2, max_size=2))
def test_substitution_commutes_with_evaluation(tree: Tree, replacements: list[Tree]) -> None:
    expr, first, second = built(tree), built(replacements[0]), built(replacements[1])
    if expr is None or first is None or second is None:
        return
    try:
        replaced = expr.substitute({"a": first, "b": second})  # simultaneous: they mention a and b
    except ExpressionError as error:
        assert str(error) == "division by zero"
        return
    for point in GRID[::7]:
        try:
            a, b = first.evaluate(point), second.evaluate(point)
            swapped = expr.substitute({"a": constant(a), "b": constant(b)})
            expected = swapped.evaluate(point)
            found = replaced.evaluate(point)
        except ExpressionError:
            continue
        assert found == expected


def test_substitution_is_simultaneous() -> None:
    a, b = symbol("a"), symbol("b")
    assert (a + 2 * b).substitute({"a": b, "b": a}) is b + 2 * a
    # a kept factor meets the same factor out of a replacement
    assert (a * b / symbol("t")).substitute({"a": symbol("t") * b}) is b**2
    assert (6 * a * b).substitute({}) is 6 * a * b


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (4 * symbol("B") * symbol("c") * symbol("d") * symbol("h") / symbol("t"), "4*B*c*d*h/t"),
        (symbol("B") * symbol("H") ** 2 / (2 * symbol("t")), "B*H**2/(2*t)"),
        (3 * symbol("x") / 4, "3*x/4"),
        (1 / symbol("t"), "1/t"),
        (-symbol("x"), "-x"),
        (symbol("x") / (symbol("t") * symbol("u")), "x/(t*u)"),
        (symbol("x") / symbol("t") ** 2, "x/t**2"),
        ((symbol("a") + symbol("b")) / (symbol("a") * symbol("c") + 1), "(a + b)/(a*c + 1)"),
        (1 / (2 * symbol("t") * (symbol("b") + symbol("a"))), "1/(2*t*(a + b))"),
        (-symbol("x") / (symbol("b") - symbol("a")), "x/(a - b)"),
        (ZERO, "0"),
        (constant(Fraction(-3, 4)), "-3/4"),
        (1 + symbol("x"), "x + 1"),
        (1 - symbol("x"), "-x + 1"),
        (symbol("x") + symbol("X") + symbol("a") * symbol("Z"), "Z*a + X + x"),
        (symbol("b") * symbol("a") + symbol("a") ** 2, "a**2 + a*b"),
        (
            5 * symbol("B") * symbol("c") * symbol("h") / symbol("t")
            + 4 * symbol("B") * symbol("c") * symbol("d") * symbol("h") / symbol("t"),
            "4*B*c*d*h/t + 5*B*c*h/t",
        ),
        (symbol("x") / symbol("t") + symbol("x") - Fraction(1, 2), "x + x/t - 1/2"),
    ],
)
def test_text(expr: Expr, text: str) -> None:
    assert expr.text == text
    assert str(expr) == text


def test_properties() -> None:
    x = symbol("x")
    assert (x + symbol("B") / symbol("a")).symbols == ("B", "a", "x")
    assert (x - x + 3).integer == 3
    assert constant(Fraction(6, 3)) is constant(2)
    assert type(constant(Fraction(6, 3)).integer) is int
    assert constant(Fraction(1, 2)).integer is None
    assert constant(Fraction(1, 2)).constant == Fraction(1, 2)
    for expr in (x, x + 1, 1 / (x + 1), 2 / (x + 1), 3 * x):
        assert expr.constant is None and expr.integer is None
    assert ZERO.integer == 0 and ZERO.symbols == ()
    assert literal("0012") is constant(12)


def test_mixed_operands() -> None:
    x = symbol("x")
    half = Fraction(1, 2)
    assert 2 + x is x + 2 and 2 - x is -(x - 2) and half * x is x / 2 and 2 / x is constant(2) / x
    for other in (0.5, "x", None, True):
        with pytest.raises(TypeError):
            _ = x + other  # type: ignore[operator]
    with pytest.raises(ExpressionError, match="not an exact number"):
        constant(0.5)  # type: ignore[arg-type]
    with pytest.raises(ExpressionError, match="exponent must be an integer"):
        _ = x ** symbol("y")
    assert x ** constant(2) is x * x


def test_interning_survives_copies_and_nothing_changes_an_expression() -> None:
    x = symbol("x") + 1
    assert copy.copy(x) is x and copy.deepcopy([x])[0] is x
    with pytest.raises(AttributeError):
        x.denominator = ONE
    with pytest.raises(TypeError):
        pickle.dumps(x)


@pytest.mark.parametrize("name", ["", "1x", "a b", "a-b", "é", "x\n", "a.b"])
def test_names_that_are_not_identifiers(name: str) -> None:
    with pytest.raises(ExpressionError, match="not the name of a symbol"):
        symbol(name)


@pytest.mark.parametrize("text", ["", "1x", "-1", "1.0", "٣"])
def test_literals_that_are_no_digits(text: str) -> None:
    with pytest.raises(ExpressionError, match=f"'{text}' is not an integer"):
        literal(text)


@pytest.mark.parametrize("name", ["S", "E", "I", "N", "O", "Q", "pi", "lambda", "x", "phase", "_"])
def test_every_identifier_is_a_symbol(name: str) -> None:
    assert symbol(name).symbols == (name,)
    assert symbol(name).text == name


def test_division_by_zero() -> None:
    x, y = symbol("x"), symbol("y")
    acts: list[Callable[[], Expr]] = [lambda: x / ZERO, lambda: x / 0, lambda: 1 / (x - x), lambda: ZERO**-1]
    for act in acts:
        with pytest.raises(ExpressionError, match="division by zero"):
            act()
    with pytest.raises(ExpressionError, match="division by zero"):
        (1 / (x - y)).evaluate({"x": 2, "y": 2})
    with pytest.raises(ExpressionError, match="division by zero"):
        (1 / (x - y)).substitute({"x": y})
    with pytest.raises(ExpressionError, match="'y' has no value"):
        (x + y).evaluate({"x": 2})


def test_cancelled_factors_have_any_leading_coefficient() -> None:
    x, y, z = symbol("x"), symbol("y"), symbol("z")
    assert (2 * x + 1) * (x + y) / (2 * x + 1) is x + y
    assert (2 * x + 1) * (3 * x + y) / (2 * x * z + z) is (3 * x + y) / z
    assert (2 * x + 3 * y) * (5 * x + 1) / ((2 * x + 3 * y) * (7 * x + z)) is (5 * x + 1) / (7 * x + z)
    assert (4 * x + 2) / (6 * y + 9 * z) is Fraction(2, 3) * ((2 * x + 1) / (2 * y + 3 * z))


def test_products_and_quotients_of_single_terms() -> None:
    x, y = symbol("x"), symbol("y")
    assert quotient([x, 3 * y, x], [2 * x, y**2]) is 3 * x / (2 * y)
    assert quotient([x], [x + 1]) is None and quotient([x / (x + 1)], [x]) is None
    assert quotient([], []) is ONE
    big = constant(10**2000)
    with pytest.raises(ExpressionError, match="a coefficient is too large: the limit is 4000 digits"):
        quotient([x], [big, big])


def test_exact_where_floats_are_not() -> None:
    expr = 2 * symbol("L") * symbol("B") * symbol("S") * symbol("H") ** 2
    assert expr.evaluate({"L": 96, "B": 1536, "S": 2048, "H": 12288}) == 91197892454252544
    numbers = {"L": constant(96), "B": constant(1536), "S": constant(2048), "H": constant(12288)}
    assert expr.substitute(numbers).integer == 91197892454252544


def test_a_term_is_the_product_of_its_powers() -> None:
    expected = constant(Fraction(3, 2)) * symbol("B") * symbol("H") ** 2 / symbol("t")
    assert term(Fraction(3, 2), {"B": 1, "H": 2, "t": -1, "e": 0}) is expected
    assert term(0, {"B": 1}) is ZERO
    with pytest.raises(ExpressionError):
        term(1, {"not a name": 1})
