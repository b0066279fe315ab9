"""The facts about the nodes of an expression: those that always hold, and those under the relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bpir.ir.expressions.atoms import Atom
from bpir.ir.expressions.bounds import integral, positive
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.expressions.normal_form import atom_expression
from bpir.ir.expressions.values import Substitution, nodes_of
from bpir.ir.prover.refutation import Fact
from bpir.ir.relations.system import System, with_fresh_excess

NODES = 12  # of an expression; of more, nothing is said
_RELEVANT = 12  # facts of the relations


def of_nodes(nodes: Iterable[Atom]) -> Iterator[Fact]:
    """The facts about nodes that follow from their kinds."""
    for node in nodes:
        yield from of_node(node, atom_expression(node))
        if node.positive and node.kind in ("max", "min"):  # a rational number may be positive and have no lower bound above 0
            yield Fact(atom_expression(node), True)


def of_node(node: Atom, value: Expr) -> Iterator[Fact]:
    """The facts about a node that has the value, which follow from its kind.

    `max(x, y) >= x`; `floordiv(n, d) <= n/d < floordiv(n, d) + 1`, and for integers `n/d <= floordiv(n, d) + 1 - 1/d`.
    """
    if node.kind in ("max", "min"):
        for argument in node.arguments:
            yield Fact(value - argument if node.kind == "max" else argument - value)
        return
    above, below = node.arguments
    sign = 1 if node.kind == "floordiv" else -1
    if not positive(below):  # nor zero, where the node has a value: by the square of the divisor the sign does not matter
        yield Fact(sign * (above * below - below * below * value))
        yield Fact(below * below - sign * (above * below - below * below * value), True)
        return
    rest = sign * (above - below * value)
    yield Fact(rest)
    if integral(above) and integral(below):
        yield Fact(below - 1 - rest)
    else:
        yield Fact(below - rest, True)


def choices(node: Atom) -> list[tuple[Expr, list[Fact]]]:
    """The arguments of a max or min, one of which is its value, and what is known then."""
    sign = 1 if node.kind == "max" else -1
    return [(a, [Fact(sign * (a - other)) for other in node.arguments if other is not a]) for a in node.arguments]


def divisors(nodes: Iterable[Atom]) -> list[Expr]:
    """The divisors of rounded quotients, each once."""
    found = [node.arguments[1] for node in nodes if node.kind in ("ceildiv", "floordiv")]
    return [divisor for divisor in dict.fromkeys(found) if divisor is not ONE]


def of_relations(system: System, symbols: Sequence[str]) -> list[Fact]:
    """The values that the relations leave open for the symbols, and for others that they tie to them."""
    open_ = [with_fresh_excess(bound, system.larger) for bound in system.bounds]
    found: list[Fact] = []
    names = set(symbols)
    changed = True
    while changed and len(found) < _RELEVANT:
        changed = False
        for bound in list(open_):
            if names.intersection(bound.symbols):
                open_.remove(bound)
                found.append(Fact(bound))
                names.update(bound.symbols)
                changed = True
    return found[:_RELEVANT]


def replaced(facts: Iterable[Fact], node: Atom, value: Expr) -> list[Fact]:
    """The facts with the node replaced."""
    step = Substitution({}, {node: value})
    return [Fact(step.apply(fact.expr), fact.strict) for fact in facts]


def nodes_in(expr: Expr, facts: Iterable[Fact]) -> list[Atom]:
    """The nodes of an expression and of facts, inner ones first."""
    return nodes_of(expr, *(fact.expr for fact in facts))
