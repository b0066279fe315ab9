"""Actions of `affine_map<...>` and `affine_set<...>`: read fully, printed with `d0`, `s0` for dimensions and symbols.

An affine expression is a pair of its text and its kind: a constant (an `int`), symbolic (of symbols and constants) or general.
What the grammar cannot say is checked here: a product has a symbolic factor, a divisor is symbolic.
"""

from __future__ import annotations

from typing import Any

from bpir.ir.attributes import Attribute
from bpir.ir.builtin.attributes import AffineAttr
from bpir.ir.diagnostic import fail, suggestion
from bpir.ir.records import Record
from bpir.parser.actions.attributes import integer
from bpir.parser.engine import RawAction
from bpir.parser.state import ParserState

_DIVISIONS = ("mod", "floordiv", "ceildiv")
_LIMIT = 1 << 63
_MAXIMUM_TOKENS = 5000
_SYMBOL = "'symbol' is before an SSA value in parentheses, and an affine attribute holds none"


Check = tuple[list[tuple[str, int]], list[tuple[str, int]] | None, int, int]
"""The names of two factors, or of a divisor and None, and where the operation is."""


class Affine(metaclass=Record):
    """An expression whose names are not yet resolved: tokens of its text, its names with their places."""

    tokens: list[str | tuple[str, int]]  # text, or a name and its offset
    value: int | None  # of a constant
    names: list[tuple[str, int]]
    checks: list[Check]
    level: int  # 0 atom, 1 product, 2 sum


def affine_name(p: ParserState, v: list[Any], start: int, end: int) -> Affine:
    if v[0] == "symbol":
        raise fail(_SYMBOL, p.span(start, end))
    name = (v[0], start)
    return Affine([name], None, [name], [], 0)


def affine_integer(p: ParserState, v: list[Any], start: int, end: int) -> Affine:
    value = integer(p, v, start, end)
    if value >= _LIMIT:
        raise fail("a number of an affine expression has at most 63 bits", p.span(start, end))
    return Affine([str(value)], value, [], [], 0)


def affine_call(p: ParserState, v: list[Any], start: int, end: int) -> Affine:
    if v[0] == "symbol":
        raise fail(_SYMBOL, p.span(start, end))
    raise fail(f"unknown function '{v[0][:60]}' in an affine expression", p.span(start, end))


def _wrapped(expression: Affine, level: int) -> list[str | tuple[str, int]]:
    if expression.level <= level:
        return expression.tokens
    return ["(", *expression.tokens, ")"]


def affine_parentheses(p: ParserState, v: list[Any], start: int, end: int) -> Affine:
    found: Affine = v[1]
    return found


def affine_negate(p: ParserState, v: list[Any], start: int, end: int) -> Affine:
    inner: Affine = v[1]
    if inner.value is not None:
        return Affine([str(-inner.value)], -inner.value, [], [], 0)
    return Affine(["-", *_wrapped(inner, 0)], None, inner.names, inner.checks, 1)


def affine_binary(p: ParserState, v: list[Any], start: int, end: int) -> Affine:
    left, operator, right = v
    place = p.span(start, end)
    if operator not in "+-*" and operator not in _DIVISIONS:
        raise fail(f"unknown operator '{operator[:60]}'{suggestion(operator, _DIVISIONS)}", place)
    checks = [*left.checks, *right.checks, *_checks(left, operator, right, start, end)]
    value = _constant(left.value, operator, right.value)
    if value is not None:
        if not -_LIMIT <= value < _LIMIT:
            raise fail("the value of this affine expression does not fit in 64 bits", place)
        return Affine([str(value)], value, [], checks, 0)
    if len(left.tokens) + len(right.tokens) > _MAXIMUM_TOKENS:
        raise fail("this affine expression is too large", place)
    level = 2 if operator in "+-" else 1
    tokens = [*_wrapped(left, level), f" {operator} ", *_wrapped(right, level - 1)]
    return Affine(tokens, None, [*left.names, *right.names], checks, level)


def _checks(left: Affine, operator: str, right: Affine, start: int, end: int) -> list[Check]:
    """A term that must be symbolic once the names are resolved: one of two factors, a divisor."""
    if operator == "*" and left.value is None and right.value is None:
        return [(left.names, right.names, start, end)]
    if operator in _DIVISIONS and right.value is None:
        return [(right.names, None, start, end)]
    return []


def _constant(a: int | None, operator: str, b: int | None) -> int | None:
    """The value of an operation on constants; None if one is no constant, or a divisor is not positive."""
    if a is None or b is None or (operator in _DIVISIONS and b <= 0):
        return None
    if operator == "+":
        return a + b
    if operator == "-":
        return a - b
    if operator == "*":
        return a * b
    if operator == "mod":
        return a % b
    return a // b if operator == "floordiv" else -(-a // b)


def affine_names(p: ParserState, v: list[Any], start: int, end: int) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """`(d0, d1)[s0]`: the dimensions and symbols."""
    lists = [item for item in v if isinstance(item, list)]
    dimensions = lists[0] if "(" in v and isinstance(v[1], list) else []
    symbols = lists[-1] if "[" in v and isinstance(v[-2], list) else []
    return dimensions, symbols


def affine_bound(p: ParserState, v: list[Any], start: int, end: int) -> tuple[str, int]:
    return v[0], start


def _renamed(p: ParserState, header: Any) -> tuple[dict[str, str], set[str], str]:
    dimensions, symbols = header
    names: dict[str, str] = {}
    for prefix, group in (("d", dimensions), ("s", symbols)):
        for index, (name, offset) in enumerate(group):
            if name in names:
                raise fail(f"redefinition of '{name}'", p.span(offset, offset + len(name)))
            names[name] = f"{prefix}{index}"
    text = "(" + ", ".join(f"d{i}" for i in range(len(dimensions))) + ")"
    if symbols:
        text += "[" + ", ".join(f"s{i}" for i in range(len(symbols))) + "]"
    return names, {name for name, _ in dimensions}, text


def _text(p: ParserState, expression: Affine, names: dict[str, str], dimensions: set[str]) -> str:
    for name, offset in expression.names:
        if name not in names:
            raise fail(
                f"undeclared name '{name}' in an affine expression{suggestion(name, names)}",
                p.span(offset, offset + len(name)),
            )
    for left, right, start, end in expression.checks:
        general = any(name in dimensions for name, _ in left)
        if right is not None:
            general = general and any(name in dimensions for name, _ in right)
        if general:
            rule = "one factor of a product" if right is not None else "a divisor"
            raise fail(f"{rule} must be made of symbols and constants in an affine expression", p.span(start, end))
    return "".join(token if isinstance(token, str) else names[token[0]] for token in expression.tokens)


def affine_map(symbols: tuple[str, ...]) -> RawAction:
    """`affine_map<(d0)[s0] -> (d0 + s0)>`"""
    results_at = symbols.index("affine_exprs") if "affine_exprs" in symbols else -1

    def action(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
        names, dimensions, head = _renamed(p, v[2])
        results = [_text(p, e, names, dimensions) for e in (v[results_at] if results_at >= 0 else [])]
        return AffineAttr("affine_map", f"{head} -> ({', '.join(results)})", len(v[2][0]))

    return action


def affine_set(p: ParserState, v: list[Any], start: int, end: int) -> Attribute:
    names, dimensions, head = _renamed(p, v[2])
    constraints = []
    for left, relation, right in v[5] if isinstance(v[5], list) else []:
        texts = [_text(p, side, names, dimensions) for side in (left, right)]
        constraints.append(f"{texts[0]} {relation} {texts[1]}")
    constraints = constraints or ["0 == 0"]
    return AffineAttr("affine_set", f"{head} : ({', '.join(constraints)})", len(v[2][0]))


def affine_constraint(p: ParserState, v: list[Any], start: int, end: int) -> tuple[Affine, str, Affine]:
    return v[0], v[1] + v[2], v[3]


AFFINE_ACTIONS: dict[str, RawAction] = {
    "affine_name": affine_name,
    "affine_integer": affine_integer,
    "affine_call": affine_call,
    "affine_parentheses": affine_parentheses,
    "affine_negate": affine_negate,
    "affine_binary": affine_binary,
    "affine_names": affine_names,
    "affine_bound": affine_bound,
    "affine_set": affine_set,
    "affine_constraint": affine_constraint,
}
AFFINE_FACTORIES = {"affine_map": affine_map}
