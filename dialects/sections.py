"""Sections: the tasks of a block as parts of a whole plan, and how often they run. What the levels `plan` and `concrete` share of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bpir.dialects.bp.parts import Times
from bpir.dialects.network import OneOrMore
from bpir.ir.attributes import ArrayAttr, Attribute, SymbolRefAttr
from bpir.ir.declaration import Fragment, OperationDeclaration, Piece, wanted_items
from bpir.ir.property_parts import Property, SymbolName, references
from bpir.ir.syntax import Clause
from bpir.ir.syntax_part import Part

Flow = tuple[str, str]
"""The buffer that a value is in, and the one that takes it over."""


class Flows(Property[tuple[Flow, ...]]):
    """`[@layer.output -> @layer.input]`: the buffers whose contents other buffers take over; stored as an array of pairs."""

    def value(self, attribute: Attribute | None) -> tuple[Flow, ...]:
        pairs = map(references, attribute.values) if isinstance(attribute, ArrayAttr) else ()
        return tuple((pair[0], pair[1]) for pair in pairs if len(pair) == 2)

    def fragment(self, rule: str) -> Fragment:
        rules = (
            f'{rule}: "[" {rule}_items "]" -> {rule}_is\n'
            f'{rule}_items: {rule}_item ("," {rule}_item)* -> {rule}_list\n'
            f'{rule}_item: symbol_ref "->" symbol_ref -> {rule}_pair\n'
        )
        return Fragment(
            rules,
            {
                rule + "_is": lambda c, v, s: ArrayAttr(tuple(v[0])),
                rule + "_list": lambda c, v, s: list(v),
                rule + "_pair": lambda c, v, s: ArrayAttr((v[0], v[1])),
            },
        )

    def spelling(self, attribute: Attribute) -> Iterable[Piece]:
        pairs = [wanted_items(pair, SymbolRefAttr) for pair in wanted_items(attribute, ArrayAttr)]
        yield "[" + ", ".join(f"{one.text} -> {other.text}" for one, other in pairs) + "]"

    def expected(self, attribute: Attribute) -> str:
        pairs = attribute.values if isinstance(attribute, ArrayAttr) else ()
        good = pairs and all(isinstance(p, ArrayAttr) and len(p.values) == len(references(p)) == 2 for p in pairs)
        return "" if good else "an array of pairs of symbols, each as [@output, @input]"


def flows_attribute(flows: Sequence[Flow]) -> ArrayAttr:
    return ArrayAttr(tuple(ArrayAttr((SymbolRefAttr((one,)), SymbolRefAttr((other,)))) for one, other in flows))


class Section(OperationDeclaration):
    """A block that runs: which tasks are its, how often, after which sections, and what goes from one repetition to the next."""

    symbol = SymbolName()
    times = Times()
    after = OneOrMore()
    takes = Flows()
    carries = Flows()

    @property
    def extent(self) -> range:
        """The places of its tasks among all; empty if what is said is no extent."""
        raise NotImplementedError


def extent(said: Sequence[int]) -> range:
    """From the first to the last place; empty if that is not what is said."""
    return range(said[0], said[1] + 1) if len(said) == 2 else range(0)


def section_syntax(keyword: str, members: Property[tuple[int, ...]]) -> tuple[Part, ...]:
    """The custom form: `@layer times L tasks [2, 17] after @embedding carries [@layer.output -> @layer.input]`."""
    return (
        Section.symbol,
        Clause("times", (Section.times,), line=False),
        Clause(keyword, (members,), optional=False, line=False),
        Clause("after", (Section.after,), line=False),
        Clause("takes", (Section.takes,), line=False),
        Clause("carries", (Section.carries,), line=False),
    )
