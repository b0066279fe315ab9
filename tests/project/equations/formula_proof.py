"""The value of a formula: an exact expression, given the expressions of its names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from bpir.ir.expressions.expression import Expr, ceildiv, floordiv, literal, maximum, minimum, total
from bpir.tools.pages.formula import BigSum, Call, FormulaError, Fraction, Group, Name, Node, Number, Power, Product, Sum, Truth


@attrs.frozen
class Meaning:
    """The meanings of the names in a formula.

    Attributes:
        names: the expression of each name.
        ranges: for each index of a sum, what its names stand for in each term.
    """

    names: Mapping[str, Expr]
    ranges: Mapping[str, Sequence[Mapping[str, Expr]]] = attrs.field(factory=dict)

    def value(self, node: Node) -> Expr:
        """The value of the node.

        Raises:
            FormulaError: a name or an index has no meaning.
        """
        match node:
            case Number(value):
                return literal(str(value))
            case Name():
                return self._name(node)
            case Sum(terms):
                return total(self.value(term) if sign == "+" else -self.value(term) for sign, term in terms)
            case Product(factors):
                return self._product(factors)
            case Fraction(above, below):
                return self.value(above) / self.value(below)
            case Power(base, exponent):
                return self.value(base) ** exponent
            case Group(inner):
                return self.value(inner)
            case Truth(name, negated):
                return 1 - self._name(name) if negated else self._name(name)
            case Call():
                return self._call(node)
            case BigSum(index, inner):
                return self._sum_over(index, inner)

    def _sum_over(self, index: str, inner: Node) -> Expr:
        if index not in self.ranges:
            raise FormulaError(f"nothing says what {index} runs over")
        return total(attrs.evolve(self, names={**self.names, **names}).value(inner) for names in self.ranges[index])

    def _name(self, name: Name) -> Expr:
        if name.key not in self.names:
            raise FormulaError(f"nothing says what {name.key} is; known are {', '.join(sorted(self.names))}")
        return self.names[name.key]

    def _product(self, factors: tuple[tuple[str, Node], ...]) -> Expr:
        value = self.value(factors[0][1])
        for joint, factor in factors[1:]:
            value = value / self.value(factor) if joint == "/" else value * self.value(factor)
        return value

    def _call(self, call: Call) -> Expr:
        if call.function in ("max", "min"):
            return (maximum if call.function == "max" else minimum)(*map(self.value, call.arguments))
        rounded = ceildiv if call.function == "ceil" else floordiv
        above, below = _parts(call.arguments[0])
        return rounded(self.value(above), self.value(below))


def _parts(node: Node) -> tuple[Node, Node]:
    if isinstance(node, Fraction):
        return node.above, node.below
    if isinstance(node, Product) and node.factors[-1][0] == "/":
        return Product(node.factors[:-1]), node.factors[-1][1]
    return node, Number(1)


def errors(node: Node) -> Iterator[Node]:
    """The formula with one deliberate error: each number and each name, one after the other, is one too large."""
    match node:
        case Number(value):
            yield Number(value + 1)
        case Name():
            yield Group(Sum((("+", node), ("+", Number(1)))))
        case Truth(name, negated):
            yield Truth(name, not negated)
        case Sum(terms):
            yield from _errors_of_sum(terms)
        case Power(base, exponent):
            yield from (Power(wrong, exponent) for wrong in errors(base))
            yield Power(base, exponent + 1)
        case _:
            yield from _errors_inside(node)


def _errors_of_sum(terms: tuple[tuple[str, Node], ...]) -> Iterator[Node]:
    """Each term with an error, and each with the other sign."""
    for i, (sign, term) in enumerate(terms):
        yield from (Sum((*terms[:i], (sign, wrong), *terms[i + 1 :])) for wrong in errors(term))
        yield Sum((*terms[:i], ("-" if sign == "+" else "+", term), *terms[i + 1 :]))


def _errors_inside(node: Node) -> Iterator[Node]:
    """The node with an error in one of its parts."""
    match node:
        case Product(factors):
            for i, (joint, factor) in enumerate(factors):
                yield from (Product((*factors[:i], (joint, wrong), *factors[i + 1 :])) for wrong in errors(factor))
        case Fraction(above, below):
            yield from (Fraction(wrong, below) for wrong in errors(above))
            yield from (Fraction(above, wrong) for wrong in errors(below))
        case Group(inner):
            yield from map(Group, errors(inner))
        case Call(function, arguments):
            for i, argument in enumerate(arguments):
                yield from (Call(function, (*arguments[:i], wrong, *arguments[i + 1 :])) for wrong in errors(argument))
        case BigSum(index, inner):
            yield from (BigSum(index, wrong) for wrong in errors(inner))
