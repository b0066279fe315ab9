"""Stages of a pipeline: which parts of a network each device runs, and how often. What the levels `dist` and `plan` share of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bpir.dialects.bp import ExprAttr
from bpir.dialects.bp.parts import Integer, Times
from bpir.ir.attributes import ArrayAttr, Attribute, SymbolRefAttr
from bpir.ir.declaration import Fragment, OperationDeclaration, ParseContext, Piece
from bpir.ir.diagnostic import Span
from bpir.ir.expressions.expression import ONE, Expr
from bpir.ir.property_parts import Property
from bpir.ir.syntax import Clause
from bpir.ir.syntax_part import Part

PIPELINE = "pipeline"
"""The mesh axis of the stages of a pipeline."""

Run = tuple[str, Expr]
"""A block or a section, and how often it runs."""


class Runs(Property[tuple[Run, ...]]):
    """`[@embedding, @layer times ceildiv(L, 4)]`: what runs, in order, and how often; stored as an array of pairs."""

    def value(self, attribute: Attribute | None) -> tuple[Run, ...]:
        found = map(_run, attribute.values if isinstance(attribute, ArrayAttr) else ())
        return tuple(run for run in found if run is not None)

    def fragment(self, rule: str) -> Fragment:
        def item(context: ParseContext, values: list[Any], span: Span) -> ArrayAttr:
            return ArrayAttr((values[0], ExprAttr(values[1] if len(values) > 1 else ONE)))

        rules = (
            f'{rule}: "[" {rule}_items "]" -> {rule}_is\n'
            f'{rule}_items: {rule}_item ("," {rule}_item)* -> {rule}_list\n'
            f'{rule}_item: symbol_ref -> {rule}_run\n    | symbol_ref "times" expr -> {rule}_run\n'
        )
        return Fragment(
            rules,
            {
                rule + "_is": lambda c, v, s: ArrayAttr(tuple(v[0])),
                rule + "_list": lambda c, v, s: list(v),
                rule + "_run": item,
            },
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        runs = [pair.values for pair in attribute.values if isinstance(pair, ArrayAttr)] if isinstance(attribute, ArrayAttr) else []
        shown = [name.text + (f" times {times.expr.text}" if times.expr is not ONE else "") for name, times in map(_parts, runs)]
        yield "[" + ", ".join(shown) + "]"

    def expected(self, attribute: Attribute) -> str:
        pairs = attribute.values if isinstance(attribute, ArrayAttr) else ()
        good = pairs and all(_run(pair) is not None for pair in pairs)
        return "" if good else "an array of pairs, each as [@section, #bp.expr<L>]"


def _parts(pair: tuple[Attribute, ...]) -> tuple[SymbolRefAttr, ExprAttr]:
    name, times = pair
    assert isinstance(name, SymbolRefAttr) and isinstance(times, ExprAttr)
    return name, times


def _run(attribute: Attribute) -> Run | None:
    """The run that an attribute says; None if it says none."""
    pair = attribute.values if isinstance(attribute, ArrayAttr) else ()
    if len(pair) != 2 or not isinstance(pair[0], SymbolRefAttr) or not isinstance(pair[1], ExprAttr):
        return None
    return pair[0].name, pair[1].expr


def runs_attribute(runs: Iterable[Run]) -> ArrayAttr:
    return ArrayAttr(tuple(ArrayAttr((SymbolRefAttr((name,)), ExprAttr(times))) for name, times in runs))


class StageRow(OperationDeclaration):
    """What one device runs, or one chunk of it, and of how many microbatches it holds what backward reads."""

    in_module = True
    place = Integer()
    chunk = Integer()
    runs = Runs()
    microbatches = Times()
    in_flight = Times()

    def times(self) -> Mapping[str, Expr]:
        """How often each block or section runs."""
        found: dict[str, Expr] = {}
        for name, times in self.runs:
            found[name] = found[name] + times if name in found else times
        return found


def stage_syntax() -> tuple[Part, ...]:
    """The custom form: `0 chunk 1 runs [@layer times 2] microbatches n in_flight 4`."""
    return (
        StageRow.place,
        Clause("chunk", (StageRow.chunk,), line=False),
        Clause("runs", (StageRow.runs,), optional=False, line=False),
        Clause("microbatches", (StageRow.microbatches,), optional=False, line=False),
        Clause("in_flight", (StageRow.in_flight,), optional=False, line=False),
    )
