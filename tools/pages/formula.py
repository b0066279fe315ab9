r"""Equations of docstrings: the LaTeX that they are written in, read by a small grammar, so that a proof can check them.

    relation := sum ("=" sum)*                     sum    := ["-"] term (("+" | "-") term)*
    term     := factor (["\cdot" | "/"] factor)*   factor := atom ["^" exponent]
    atom     := number | name | "(" sum ")" | "[" "\neg" name "]" | "\frac{sum}{sum}" | "\max(sum, ...)" | "\lceil sum \rceil"
              | "\sum_i" factor...
    name     := letter or "\mathrm{word}", with "_{index}" and a superscript of several letters

Factors that are side by side are multiplied; "/" divides by the one factor behind it. A name is known by its text: `W_{QKV}` is
`W_QKV`, `\mathrm{ops}_{dX}` is `ops_dX`. The three uses of a formula (HTML, terminal, proof) start from the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs


class FormulaError(ValueError):
    """The text is outside the grammar."""


@attrs.frozen
class Number:
    value: int


@attrs.frozen
class Name:
    """A symbol: its letters, index and superscript."""

    base: str
    index: str = ""
    superscript: str = ""

    @property
    def key(self) -> str:
        index = f"_{{{self.index}}}" if re.search(r"\W", self.index) else f"_{self.index}" if self.index else ""
        return self.base + index + (f"^{self.superscript}" if self.superscript else "")


@attrs.frozen
class Sum:
    """Terms, each with its sign, `+` or `-`."""

    terms: tuple[tuple[str, Node], ...]


@attrs.frozen
class Product:
    """Factors, each with what joins it to those before: nothing, `·` or `/`."""

    factors: tuple[tuple[str, Node], ...]


@attrs.frozen
class Fraction:
    above: Node
    below: Node


@attrs.frozen
class Power:
    base: Node
    exponent: int


@attrs.frozen
class Group:
    """A sum in parentheses."""

    inner: Node


@attrs.frozen
class Truth:
    r"""`[\neg x]`: 1 where `x` does not hold, else 0."""

    name: Name
    negated: bool


@attrs.frozen
class Call:
    """`max`, `min`, `ceil` or `floor` of its arguments."""

    function: str
    arguments: tuple[Node, ...]


@attrs.frozen
class BigSum:
    """The sum of a term over an index."""

    index: str
    inner: Node


Node = Number | Name | Sum | Product | Fraction | Power | Group | Truth | Call | BigSum

_TOKEN = re.compile(r"\s*(?:\\[A-Za-z]+|(?P<space>\\[,;:! ])|[0-9]+|[A-Za-z]|[-+/=^_{}()\[\],|])")
_IGNORED = frozenset((r"\left", r"\right", r"\quad"))
_WORDS = frozenset((r"\mathrm", r"\mathit", r"\text"))
_CLOSING = frozenset((")", "]", "}", ",", "=", "", r"\rceil", r"\rfloor"))


def parse(text: str) -> tuple[Node, ...]:
    """The sides of an equation, or the one side of an expression.

    Raises:
        FormulaError: the text is outside the grammar.
    """
    return _Parser(text).relation()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(_tokens(text))
        self.place = 0

    @property
    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.next
        if not token or (expected and token != expected):
            raise FormulaError(f"expected {expected or 'more'}, found {token or 'the end'} in '{self.text}'")
        self.place += 1
        return token

    def accept(self, token: str) -> bool:
        found = self.next == token
        self.place += found
        return found

    def relation(self) -> tuple[Node, ...]:
        sides = [self.sum()]
        while self.accept("="):
            sides.append(self.sum())
        if self.next:
            raise FormulaError(f"unexpected {self.next} in '{self.text}'")
        return tuple(sides)

    def sum(self) -> Node:
        terms = [("-" if self.accept("-") else "+", self.term())]
        while self.next in ("+", "-"):
            terms.append((self.take(), self.term()))
        return terms[0][1] if len(terms) == 1 and terms[0][0] == "+" else Sum(tuple(terms))

    def term(self) -> Node:
        factors = [("", self.factor())]
        while self.next not in _CLOSING and self.next not in ("+", "-"):
            joint = ""
            if self.next in ("/", r"\cdot", r"\times"):
                joint = "/" if self.take() == "/" else "·"
            factors.append((joint, self.factor()))
        return factors[0][1] if len(factors) == 1 else Product(tuple(factors))

    def factor(self) -> Node:
        atom = self.atom()
        if not self.accept("^"):
            return atom
        exponent = self.argument()
        if isinstance(atom, Name) and not exponent.isdigit():
            return attrs.evolve(atom, superscript=exponent)
        if not exponent.isdigit():
            raise FormulaError(f"an exponent is a number, found {exponent} in '{self.text}'")
        return Power(atom, int(exponent))

    def atom(self) -> Node:
        token = self.take()
        if token.isdigit():
            return Number(int(token))
        if token == "(":
            inner = self.sum()
            self.take(")")
            return Group(inner)
        if token == "[":
            negated = self.accept(r"\neg")
            name = self.factor()
            self.take("]")
            if not isinstance(name, Name):
                raise FormulaError(f"[...] holds one name in '{self.text}'")
            return Truth(name, negated)
        if token == r"\frac":
            return Fraction(self.braced(), self.braced())
        if token in (r"\max", r"\min"):
            self.take("(")
            arguments = [self.sum()]
            while self.accept(","):
                arguments.append(self.sum())
            self.take(")")
            return Call(token[1:], tuple(arguments))
        if token in (r"\lceil", r"\lfloor"):
            inner = self.sum()
            self.take(token.replace(r"\l", r"\r"))
            return Call(token[2:], (inner,))
        if token == r"\sum":
            self.take("_")
            return BigSum(self.argument(), self.term())
        return self.name(token)

    def name(self, token: str) -> Name:
        if token in _WORDS:
            base = self.argument()
        elif token.isalpha():
            base = token
        else:
            raise FormulaError(f"unexpected {token} in '{self.text}'")
        return Name(base, self.argument() if self.accept("_") else "")

    def braced(self) -> Node:
        self.take("{")
        inner = self.sum()
        self.take("}")
        return inner

    def argument(self) -> str:
        """The text of one token, or of what is in braces."""
        if not self.accept("{"):
            return self.take()
        found, depth = "", 1
        while True:
            token = self.take()
            depth += (token == "{") - (token == "}")
            if not depth:
                return found
            if token not in _WORDS and token not in "{}":
                found += token


def _tokens(text: str) -> Iterator[str]:
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise FormulaError(f"unexpected {text[place:].strip()[:1]} in '{text}'")
        place = match.end()
        token = match.group().strip()
        if match.lastgroup != "space" and token not in _IGNORED:
            yield token


# --- as readable Unicode

_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUBSCRIPTS = dict(zip("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True))


def unicode_text(text: str) -> str:
    r"""The formula for a terminal: `\frac{a}{b}` is `a/b`, `S^2` is `S²`, `\sum_l A_l` is `Σₗ Aₗ`."""
    return " = ".join(_show(side) for side in parse(text))


def _show(node: Node) -> str:
    match node:
        case Number(value):
            return str(value)
        case Name():
            return _show_name(node)
        case Sum(terms):
            return "".join(_signed(i, sign, term) for i, (sign, term) in enumerate(terms))
        case Product(factors):
            return _show_product(factors)
        case Fraction(above, below):
            return f"{_tight(above)}/{_tight(below, below=True)}"
        case Power(base, exponent):
            return _tight(base, below=True) + str(exponent).translate(_SUPERSCRIPTS)
        case Group(inner):
            return f"({_show(inner)})"
        case Truth(name, negated):
            return f"[{'¬' if negated else ''}{_show_name(name)}]"
        case Call("ceil", (inner,)):
            return f"⌈{_show(inner)}⌉"
        case Call("floor", (inner,)):
            return f"⌊{_show(inner)}⌋"
        case Call(function, arguments):
            return f"{function}({', '.join(map(_show, arguments))})"
        case BigSum(index, inner):
            return f"Σ{_lowered(index)} {_show(inner)}"


def _signed(index: int, sign: str, term: Node) -> str:
    if index == 0:
        return ("-" if sign == "-" else "") + _show(term)
    return f" {sign} {_show(term)}"


def _show_name(name: Name) -> str:
    shown = name.base + (_lowered(name.index) if name.index else "")
    return shown + (f"^{name.superscript}" if name.superscript else "")


def _lowered(index: str) -> str:
    """The index in small letters where Unicode has all of them and it is short."""
    if all(c in _SUBSCRIPTS for c in index) and (len(index) == 1 or not index.isalpha()):
        return "".join(_SUBSCRIPTS[c] for c in index)
    return f"_{index}"


def _show_product(factors: tuple[tuple[str, Node], ...]) -> str:
    shown, wordy = "", False
    for joint, factor in factors:
        was, wordy = wordy, _is_word(factor)
        text = f"({_show(factor)})" if isinstance(factor, Sum) else _show(factor)
        apart = shown and not joint and (was or wordy) and not isinstance(factor, Group | Truth)
        shown += joint + (" " if apart else "") + text
    return shown


def _is_word(node: Node) -> bool:
    """Whether what is shown needs a blank between it and a letter."""
    if isinstance(node, Power):
        return _is_word(node.base)
    if isinstance(node, Call):
        return node.function in ("max", "min")
    return isinstance(node, BigSum) or (isinstance(node, Name) and (len(node.base) > 1 or "_" in _show_name(node)))


def _tight(node: Node, below: bool = False) -> str:
    """The node as an operand of a quotient or the base of a power."""
    loose = (Sum, BigSum, Fraction, Product) if below else (Sum, BigSum, Fraction)
    return f"({_show(node)})" if isinstance(node, loose) else _show(node)
