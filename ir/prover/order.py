"""Whether an expression is never negative: by the negation, which is refuted, in cases where that is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from bpir.ir.effort import Effort, Exhausted
from bpir.ir.expressions.atoms import Atom, monomial
from bpir.ir.expressions.expression import Expr, ExpressionError, constant
from bpir.ir.expressions.fraction import common_monomial, rational_content
from bpir.ir.expressions.intervals import Interval, interval
from bpir.ir.expressions.normal_form import intern
from bpir.ir.expressions.terms import multiply
from bpir.ir.expressions.values import Substitution
from bpir.ir.prover.integers import is_integral
from bpir.ir.prover.node_facts import NODES, choices, divisors, nodes_in, of_node, of_nodes, of_relations, replaced
from bpir.ir.prover.refutation import Fact, impossible, without_divisors
from bpir.ir.prover.squares import shown_by_squares
from bpir.ir.relations.system import System, with_fresh_excess

STEPS = 200_000  # that one claim may take
_CASE_STEPS = 50_000  # of these, that one case may take before it is split
_PARTS = 6  # of them are one step of arithmetic: they are operations on small integers
_CASES = 4  # values of a node that are tried one after the other


def is_nonnegative(system: System, expr: Expr, strict: bool = False) -> bool:
    """Whether no value is negative (with `strict`, nor zero); False where that is not seen.

    Raises:
        ExpressionError: an expression on the way exceeds a bound, or is divided by zero.
    """
    effort = Effort(STEPS, _PARTS)
    expr = with_fresh_excess(expr, system.larger)
    try:
        if shown_by_squares(expr, system.lower, strict, effort):
            return True
        return _Goal(system, strict, effort).shown(expr, of_relations(system, expr.symbols))
    except Exhausted:
        return False


class _Goal:
    def __init__(self, system: System, strict: bool, effort: Effort) -> None:
        self.system = system
        self.strict = strict
        self.effort = effort

    def shown(self, expr: Expr, facts: Sequence[Fact]) -> bool:
        """Whether it is shown under the facts, in all cases of one node after the other."""
        nodes = nodes_in(expr, facts)
        if len(nodes) > NODES:
            return False
        negation = self._negation(expr)
        known = [*facts, *of_nodes(nodes)]
        with self.effort.at_most(_CASE_STEPS):
            if impossible(negation, known, self.system.lower, divisors(nodes), self.effort):
                return True
        for node in nodes:
            cases = self._cases(node)
            if cases:
                return all(self._case(expr, facts, node, value, known) for value, known in cases)
        return False

    def _case(self, expr: Expr, facts: Sequence[Fact], node: Atom, value: Expr, known: Sequence[Fact]) -> bool:
        """Whether it is shown where the node has the value."""
        try:
            inside = Substitution({}, {node: value}).apply(expr)
            under = [*replaced(facts, node, value), *known]
        except ExpressionError:  # a divisor is zero there, or a bound is exceeded
            return False
        return self.shown(inside, under)

    def _cases(self, node: Atom) -> Sequence[tuple[Expr, Sequence[Fact]]]:
        """The values that a node may have and what is known then; nothing where they are many."""
        if node.kind in ("max", "min"):
            return choices(node)
        least, largest = interval(intern({monomial({node: 1}): 1}), self._intervals(node))
        if least is None or largest is None or largest - least >= _CASES:
            return ()
        values = [constant(n) for n in range(int(least), int(largest) + 1)]
        return [(value, list(of_node(node, value))) for value in values]

    def _intervals(self, node: Atom) -> Mapping[str, Interval]:
        lower = {atom.text: n for atom, n in self.system.lower.items()}
        return {name: (Fraction(lower.get(name, 1)), None) for name in node.symbols}

    def _negation(self, expr: Expr) -> Fact:
        """The negation: of integers, `-x > 0` is `-x - 1 >= 0`."""
        expr = without_divisors(expr)
        common = common_monomial(expr.terms)
        outside = monomial({atom: -n for atom, n in common.factors if atom.positive})
        expr = intern(multiply({outside: 1}, expr.terms))
        if self.strict:
            return Fact(-expr)
        if not expr.terms:
            return Fact(constant(-1))
        expr = expr / constant(Fraction(rational_content(expr.terms)))
        if is_integral(self.system, expr):
            return Fact(-expr - 1)
        return Fact(-expr, True)
